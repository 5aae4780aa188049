/* The only place that decides which bytes of a name may reach an output as they are. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"

/* Characters that change what a reader sees around them: controls, line breaks, bidi, byte order
 * mark. */
static bool is_active(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

static char *put_hex(char *out, uint32_t value, int digits)
{
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
        *out++ = "0123456789abcdef"[value >> shift & 15];
    return out;
}

static char *put_bytes(char *out, bool json, const unsigned char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        *out++ = '\\';
        if (json)
            *out++ = '\\';
        *out++ = 'x';
        out = put_hex(out, data[i], 2);
    }
    return out;
}

static char *put_json(char *out, uint32_t code)
{
    *out++ = '\\';
    *out++ = 'u';
    return put_hex(out, code, 4);
}

size_t ttp_escape(char *out, enum ttp_escape_style style, const char *data, size_t size_bytes)
{
    const unsigned char *from = (const unsigned char *)data;
    const unsigned char *end = size_bytes > 0 ? from + size_bytes : from; /* no name may be NULL */
    bool json = style == TTP_ESCAPE_JSON;
    char *to = out;
    while (from < end) {
        uint32_t code = 0;
        size_t length = ttp_utf8_decode(from, (size_t)(end - from), &code);
        if (length == 0) {
            to = put_bytes(to, json, from++, 1);
            continue;
        }
        if (is_active(code) || (json && code == '<')) {
            to = json ? put_json(to, code) : put_bytes(to, false, from, length);
        } else {
            if ((code == '\\' && style != TTP_ESCAPE_TERMINAL) ||
                (code == '"' && (json || style == TTP_ESCAPE_QUOTED)))
                *to++ = '\\';
            memcpy(to, from, length);
            to += length;
        }
        from += length;
    }
    return (size_t)(to - out);
}
