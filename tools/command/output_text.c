/* Text into a buffer, digits two at a time. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/command/output.h"

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

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

bool tool_csv_needs_quotes(ttape_string text)
{
    bool needs = false;
    for (size_t i = 0; i < text.size_bytes; i++) {
        char c = text.data[i];
        needs = needs || c == ',' || c == '"' || c == '\n' || c == '\r';
    }
    return needs;
}

void tool_output_csv_text(struct tool_output *out, ttape_string text)
{
    for (size_t start = 0; start < text.size_bytes;) {
        const char *mark = memchr(text.data + start, '"', text.size_bytes - start);
        size_t end_at = mark != NULL ? (size_t)(mark - text.data) : text.size_bytes;
        tool_output_escaped(out, TTP_ESCAPE_TEXT,
                            (ttape_string){text.data + start, end_at - start});
        tool_output_text(out, mark != NULL ? "\"\"" : "");
        start = end_at + (mark != NULL);
    }
}

void tool_output_csv(struct tool_output *out, ttape_string text)
{
    bool quote = tool_csv_needs_quotes(text);
    tool_output_text(out, quote ? "\"" : "");
    tool_output_csv_text(out, text);
    tool_output_text(out, quote ? "\"" : "");
}
