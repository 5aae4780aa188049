/* JSON into memory of bounded size. Strings of a trace may hold any byte: what is no UTF-8 becomes
 * U+FFFD, so that every response can be read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answers/view/view_internal.h"

void ttp_view_put(struct ttape_view *view, const char *bytes, size_t size_bytes)
{
    struct ttp_view_text *text = &view->text;
    if (text->capacity - text->count < size_bytes) {
        uint64_t wanted = text->count + size_bytes, capacity = text->capacity * 2;
        capacity = capacity > wanted ? capacity : wanted;
        capacity = capacity < text->limit ? capacity : text->limit;
        char *grown = wanted <= text->limit && text->bytes != NULL
                          ? ttp_memory_take(&view->memory, capacity, 1, NULL)
                          : NULL;
        if (grown == NULL) {
            text->count = text->limit + 1; /* for good: nothing fits behind it */
            return;
        }
        memcpy(grown, text->bytes, (size_t)text->count);
        ttp_memory_give(&view->memory, text->bytes, text->capacity, 1);
        text->bytes = grown;
        text->capacity = capacity;
    }
    if (text->count > text->limit)
        return;
    memcpy(text->bytes + text->count, bytes, size_bytes);
    text->count += size_bytes;
}

static void put_key(struct ttape_view *view, const char *key)
{
    if (view->needs_comma)
        ttp_view_put(view, ",", 1);
    view->needs_comma = true;
    if (key == NULL)
        return;
    ttp_view_put(view, "\"", 1);
    ttp_view_put(view, key, strlen(key));
    ttp_view_put(view, "\":", 2);
}

void ttp_view_begin(struct ttape_view *view, const char *key, char brace)
{
    put_key(view, key);
    ttp_view_put(view, &brace, 1);
    view->needs_comma = false;
}

void ttp_view_end(struct ttape_view *view, char brace)
{
    ttp_view_put(view, &brace, 1);
    view->needs_comma = true;
}

void ttp_view_number(struct ttape_view *view, const char *key, uint32_t number)
{
    char buffer[16];
    put_key(view, key);
    ttp_view_put(view, buffer, (size_t)snprintf(buffer, sizeof buffer, "%" PRIu32, number));
}

void ttp_view_wide(struct ttape_view *view, const char *key, uint64_t number)
{
    char buffer[32];
    put_key(view, key);
    ttp_view_put(view, buffer, (size_t)snprintf(buffer, sizeof buffer, "\"%" PRIu64 "\"", number));
}

void ttp_view_signed(struct ttape_view *view, const char *key, int64_t number)
{
    char buffer[32];
    put_key(view, key);
    ttp_view_put(view, buffer, (size_t)snprintf(buffer, sizeof buffer, "\"%" PRId64 "\"", number));
}

void ttp_view_bool(struct ttape_view *view, const char *key, bool value)
{
    put_key(view, key);
    ttp_view_put(view, value ? "true" : "false", value ? 4 : 5);
}

/* Length of the UTF-8 sequence at the front: no surrogates, none longer than needed; 0: none is
 * there. */
static size_t sequence_length(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || left < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool is_wrong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
                    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f);
    return is_wrong ? 0 : length;
}

static void put_escaped(struct ttape_view *view, const unsigned char *at, size_t length)
{
    char buffer[8];
    if (length == 0)
        ttp_view_put(view, "\\ufffd", 6);
    else if (length == 1 && (at[0] < 0x20 || at[0] == '"' || at[0] == '\\' || at[0] == 0x7f))
        ttp_view_put(view, buffer,
                     (size_t)snprintf(buffer, sizeof buffer, "\\u%04x", (unsigned)at[0]));
    else
        ttp_view_put(view, (const char *)at, length);
}

void ttp_view_string(struct ttape_view *view, const char *key, ttape_string string)
{
    const unsigned char *bytes = (const unsigned char *)string.data;
    size_t most = string.size_bytes < TTP_VIEW_NAME_BYTES ? string.size_bytes : TTP_VIEW_NAME_BYTES;
    put_key(view, key);
    ttp_view_put(view, "\"", 1);
    for (size_t at = 0; at < most;) {
        size_t length = sequence_length(bytes + at, string.size_bytes - at);
        put_escaped(view, bytes + at, length);
        at += length > 0 ? length : 1;
    }
    if (most < string.size_bytes)
        ttp_view_put(view, "\\u2026", 6);
    ttp_view_put(view, "\"", 1);
}

void ttp_view_hex(struct ttape_view *view, const char *key, const void *bytes, size_t size_bytes)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    put_key(view, key);
    ttp_view_put(view, "\"", 1);
    for (size_t i = 0; i < size_bytes; i++) {
        const char both[2] = {digits[at[i] >> 4], digits[at[i] & 15]};
        ttp_view_put(view, both, sizeof both);
    }
    ttp_view_put(view, "\"", 1);
}

void ttp_view_word(struct ttape_view *view, const char *key, const char *word)
{
    ttp_view_string(view, key, (ttape_string){word, strlen(word)});
}

void ttp_view_time(struct ttape_view *view, const char *key, uint64_t time_ns)
{
    char buffer[32];
    uint64_t start_ns = view->info.time_first_ns;
    bool is_before = time_ns < start_ns;
    put_key(view, key);
    ttp_view_put(view, buffer,
                 (size_t)snprintf(buffer, sizeof buffer, "\"%s%" PRIu64 "\"", is_before ? "-" : "",
                                  is_before ? start_ns - time_ns : time_ns - start_ns));
}

void ttp_view_error(struct ttape_view *view, const ttape_error *error)
{
    ttp_view_begin(view, "error", '{');
    ttp_view_word(view, "status", ttape_status_name(error->status));
    ttp_view_word(view, "message", error->message);
    if (error->rule[0] != '\0')
        ttp_view_word(view, "rule", error->rule);
    ttp_view_end(view, '}');
}
