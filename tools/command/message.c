/* Messages on standard error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "tools/command/memory_limit.h"
#include "tools/command/progress.h"
#include "tools/command/signals.h"
#include "tools/command/tool.h"

#define MESSAGE_BYTES 4096u

static void say_line(const char *format, va_list arguments) TOOL_PRINTF(1, 0);

static void write_all(const char *data, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t written = write(STDERR_FILENO, data, size_bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        data += written;
        size_bytes -= (size_t)written;
    }
}

static void say_line(const char *format, va_list arguments)
{
    static const char prefix[] = "tracetape: ";
    char text[MESSAGE_BYTES];
    char line[sizeof(prefix) + MESSAGE_BYTES * TTP_ESCAPE_MAX + 1];
    int length = vsnprintf(text, sizeof(text), format, arguments);
    if (length < 0)
        return;
    size_t size_bytes = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
    size_t used = sizeof(prefix) - 1;
    memcpy(line, prefix, used);
    used += ttp_escape(line + used, TTP_ESCAPE_TERMINAL, text, size_bytes);
    line[used++] = '\n';
    tool_progress_clear();
    write_all(line, used);
}

void tool_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_line(format, arguments);
    va_end(arguments);
}

int tool_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_line(format, arguments);
    va_end(arguments);
    return TOOL_CANNOT;
}

int tool_usage(const char *verb, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    tool_message("%s (see 'tracetape %s%s--help')", text, verb != NULL ? verb : "",
                 verb != NULL ? " " : "");
    return TOOL_USAGE;
}

int tool_fail_error(const char *subject, const ttape_error *err)
{
    char place[64] = "";
    char rule[32] = "";
    if (err->offset != TTAPE_ERROR_NO_OFFSET && err->status >= TTAPE_E_TRUNCATED)
        snprintf(place, sizeof(place), " at byte %llu", (unsigned long long)err->offset);
    if (err->rule[0] != '\0')
        snprintf(rule, sizeof(rule), " [%.16s]", err->rule);
    bool know_why = err->os_errno != 0 && strstr(err->message, strerror(err->os_errno)) == NULL;
    const char *message = err->message[0] != '\0' ? err->message : "failed";
    bool is_memory = err->status == TTAPE_E_LIMIT && strstr(message, "more memory") != NULL;
    const char *needed = is_memory ? strstr(message, "bytes: ") : NULL;
    uint64_t least = needed != NULL ? strtoull(needed + strlen("bytes: "), NULL, 10) : 0;
    char hint[TOOL_MEMORY_HINT_BYTES];
    return tool_fail("'%s': %s%s%s%s%s%s%s%s", subject, message, place, rule, know_why ? ": " : "",
                     know_why ? strerror(err->os_errno) : "", is_memory ? " (" : "",
                     is_memory ? tool_memory_hint(hint, sizeof(hint), least) : "",
                     is_memory ? ")" : "");
}
