/* Messages on standard error, and memory that ends the command clearly when there is none. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "progress.h"
#include "signals.h"
#include "tool.h"

#define MESSAGE_BYTES 4096u

static void say(const char *format, va_list arguments) TOOL_PRINTF(1, 0);

static void write_all(const char *data, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t written = write(STDERR_FILENO, data, size_bytes);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return;
        }
        data += written;
        size_bytes -= (size_t)written;
    }
}

static void say(const char *format, va_list arguments)
{
    static const char prefix[] = "tracetape: ";
    char text[MESSAGE_BYTES];
    char line[sizeof(prefix) + MESSAGE_BYTES * TOOL_ESCAPE_MAX + 1];
    int length = vsnprintf(text, sizeof(text), format, arguments);
    if (length < 0) {
        return;
    }
    size_t size_bytes = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
    size_t used = sizeof(prefix) - 1;
    memcpy(line, prefix, used);
    used += tool_escape(line + used, TOOL_ESCAPE_TERMINAL, text, size_bytes);
    line[used++] = '\n';
    tool_progress_clear();
    write_all(line, used);
}

void tool_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

int tool_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
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
    if (err->offset != TTAPE_ERROR_NO_OFFSET && err->status >= TTAPE_E_TRUNCATED) {
        snprintf(place, sizeof(place), " at byte %llu", (unsigned long long)err->offset);
    }
    if (err->rule[0] != '\0') {
        snprintf(rule, sizeof(rule), " [%.16s]", err->rule);
    }
    bool know_why = err->os_errno != 0 && strstr(err->message, strerror(err->os_errno)) == NULL;
    const char *message = err->message[0] != '\0' ? err->message : "failed";
    return tool_fail("'%s': %s%s%s%s%s", subject, message, place, rule, know_why ? ": " : "",
                     know_why ? strerror(err->os_errno) : "");
}

_Noreturn void tool_out_of_memory(void)
{
    tool_message("out of memory");
    tool_signals_remove_output();
    _exit(TOOL_CANNOT);
}

void *tool_allocate(size_t count, size_t size_bytes)
{
    void *memory = calloc(count > 0 ? count : 1, size_bytes > 0 ? size_bytes : 1);
    if (memory == NULL) {
        tool_out_of_memory();
    }
    return memory;
}

void *tool_reallocate(void *memory, size_t count, size_t size_bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, size_bytes, &total)) {
        tool_out_of_memory();
    }
    void *bigger = realloc(memory, total > 0 ? total : 1);
    if (bigger == NULL) {
        tool_out_of_memory();
    }
    return bigger;
}

char *tool_copy_text(const char *text, size_t size_bytes)
{
    char *copy = tool_allocate(size_bytes + 1, 1);
    if (size_bytes > 0) {
        memcpy(copy, text, size_bytes);
    }
    return copy;
}

void tool_grow(void **array, size_t *capacity, size_t needed, size_t size_bytes)
{
    if (needed <= *capacity) {
        return;
    }
    size_t wanted = *capacity < 8 ? 16 : *capacity * 2;
    if (wanted < needed) {
        wanted = needed;
    }
    *array = tool_reallocate(*array, wanted, size_bytes);
    *capacity = wanted;
}
