/* Buffered output: one write per 256 KiB, digits two at a time. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/command/output.h"
#include "tools/command/progress.h"

#define MEMORY_BYTES 1024u /* most texts are short */

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

void tool_output_open(struct tool_output *out, int fd)
{
    size_t capacity = fd < 0 ? MEMORY_BYTES : TOOL_OUTPUT_BYTES;
    *out = (struct tool_output){.fd = fd, .data = tool_allocate(capacity, 1), .capacity = capacity};
}

void tool_output_flush(struct tool_output *out)
{
    const char *data = out->data;
    size_t left = out->size_bytes;
    if (out->fd < 0) { /* room for whatever may be asked for at once */
        tool_grow((void **)&out->data, &out->capacity, left + TOOL_OUTPUT_BYTES, 1);
        return;
    }
    out->size_bytes = 0;
    out->flush_count++;
    if (left > 0)
        tool_progress_clear();
    while (left > 0 && out->failed_errno == 0) {
        ssize_t written = write(out->fd, data, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            out->failed_errno = errno;
            return;
        }
        data += written;
        left -= (size_t)written;
    }
}

int tool_output_close(struct tool_output *out)
{
    tool_output_flush(out);
    free(out->data);
    out->data = NULL;
    if (out->failed_errno == EPIPE) {
        /* Only where SIGPIPE was ignored; otherwise the signal has ended us already. */
        return TOOL_OK;
    }
    if (out->failed_errno != 0)
        return tool_fail("cannot write standard output: %s", strerror(out->failed_errno));
    return TOOL_OK;
}

void tool_output_bytes(struct tool_output *out, const void *data, size_t size_bytes)
{
    const char *from = data;
    while (size_bytes > 0) {
        size_t part = size_bytes < TOOL_OUTPUT_BYTES ? size_bytes : TOOL_OUTPUT_BYTES;
        char *to = tool_output_reserve(out, part);
        tool_output_commit(out, tool_put_bytes(to, from, part));
        from += part;
        size_bytes -= part;
    }
}

void tool_output_text(struct tool_output *out, const char *text)
{
    tool_output_bytes(out, text, strlen(text));
}

void tool_output_printf(struct tool_output *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length > 0) {
        tool_output_bytes(out, text,
                          (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
    }
}

void tool_output_escaped(struct tool_output *out, enum ttp_escape_style style, ttape_string text)
{
    const size_t step = TOOL_OUTPUT_BYTES / TTP_ESCAPE_MAX / 2;
    const char *from = text.data;
    size_t left = text.size_bytes;
    while (left > 0) {
        size_t part = left < step ? left : step;
        while (part < left && part > step - 4 && ((unsigned char)from[part] & 0xC0u) == 0x80)
            part--; /* don't split a character */
        char *to = tool_output_reserve(out, part * TTP_ESCAPE_MAX);
        tool_output_commit(out, to + ttp_escape(to, style, from, part));
        from += part;
        left -= part;
    }
}

char *tool_put_decimal(char *at, uint64_t value)
{
    char digits[20];
    char *first = digits + sizeof(digits);
    while (value >= 100) {
        first -= 2;
        memcpy(first, digit_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        first -= 2;
        memcpy(first, digit_pairs + value * 2, 2);
    } else {
        *--first = (char)('0' + value);
    }
    return tool_put_bytes(at, first, (size_t)(digits + sizeof(digits) - first));
}

char *tool_put_hex(char *at, uint64_t value)
{
    int shift = value == 0 ? 0 : (63 - __builtin_clzll(value)) / 4 * 4;
    for (; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[value >> shift & 15];
    return at;
}
