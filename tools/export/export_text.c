/* Growing texts. Every byte of a name goes through ttp_escape. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/export/export_text.h"
#include "tools/io/dump_values.h"

#define JSON_INTEGER_MAX (UINT64_C(1) << 53)

/* Room for size_bytes more, and a NUL. */
static char *room_for(struct tool_buffer *buffer, size_t size_bytes)
{
    tool_grow((void **)&buffer->data, &buffer->capacity, buffer->size_bytes + size_bytes + 1, 1);
    return buffer->data + buffer->size_bytes;
}

static void commit(struct tool_buffer *buffer, size_t size_bytes)
{
    buffer->size_bytes += size_bytes;
    buffer->data[buffer->size_bytes] = '\0';
}

void tool_buffer_add(struct tool_buffer *buffer, const void *data, size_t size_bytes)
{
    char *at = room_for(buffer, size_bytes);
    if (size_bytes > 0)
        memcpy(at, data, size_bytes);
    commit(buffer, size_bytes);
}

void tool_buffer_text(struct tool_buffer *buffer, const char *text)
{
    tool_buffer_add(buffer, text, strlen(text));
}

void tool_buffer_number(struct tool_buffer *buffer, uint64_t number)
{
    char *at = room_for(buffer, 20);
    commit(buffer, (size_t)(tool_put_decimal(at, number) - at));
}

void tool_buffer_printf(struct tool_buffer *buffer, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length > 0) {
        size_t size = (size_t)length;
        tool_buffer_add(buffer, text, size < sizeof(text) ? size : sizeof(text) - 1);
    }
}

void tool_buffer_name(struct tool_buffer *buffer, enum ttp_escape_style style, ttape_string name)
{
    size_t size = name.size_bytes;
    if (size > TOOL_EXPORT_NAME_BYTES) {
        size = TOOL_EXPORT_NAME_BYTES;
        while (size > TOOL_EXPORT_NAME_BYTES - 4 &&
               ((unsigned char)name.data[size] & 0xC0u) == 0x80)
            size--; /* don't split a character */
    }
    char *at = room_for(buffer, size * TTP_ESCAPE_MAX);
    commit(buffer, ttp_escape(at, style, name.data, size));
    if (size < name.size_bytes)
        tool_buffer_text(buffer, "...");
}

void tool_buffer_json(struct tool_buffer *buffer, ttape_string name)
{
    tool_buffer_text(buffer, "\"");
    tool_buffer_name(buffer, TTP_ESCAPE_JSON, name);
    tool_buffer_text(buffer, "\"");
}

void tool_buffer_close(struct tool_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct tool_buffer){0};
}

static void put_hex(struct tool_buffer *buffer, ttape_string bytes)
{
    size_t size = bytes.size_bytes;
    size = size < TOOL_EXPORT_NAME_BYTES ? size : TOOL_EXPORT_NAME_BYTES;
    for (size_t i = 0; i < size; i++)
        tool_buffer_printf(buffer, "%02x", (unsigned char)bytes.data[i]);
    tool_buffer_text(buffer, size < bytes.size_bytes ? "..." : "");
}

/* Whether JSON, and what reads it as floating point, has this number. */
static bool is_plain(const ttape_value *value, const char *last)
{
    switch (value->type) {
    case TTAPE_VALUE_SIGNED:
        return (int64_t)value->number <= (int64_t)JSON_INTEGER_MAX &&
               (int64_t)value->number >= -(int64_t)JSON_INTEGER_MAX;
    case TTAPE_VALUE_FLOAT: return *last != 'f' && *last != 'n'; /* inf, nan */
    case TTAPE_VALUE_POINTER: return false;
    default: return value->number <= JSON_INTEGER_MAX;
    }
}

void tool_buffer_json_value(struct tool_buffer *buffer, const ttape_value *value)
{
    char number[48];
    switch (value->type) {
    case TTAPE_VALUE_NULL: tool_buffer_text(buffer, "null"); break;
    case TTAPE_VALUE_STRING: tool_buffer_json(buffer, value->bytes); break;
    case TTAPE_VALUE_BYTES:
        tool_buffer_text(buffer, "\"hex:");
        put_hex(buffer, value->bytes);
        tool_buffer_text(buffer, "\"");
        break;
    default: {
        char *end = tool_put_number(number, value);
        const char *quote = is_plain(value, end - 1) ? "" : "\"";
        tool_buffer_text(buffer, quote);
        tool_buffer_add(buffer, number, (size_t)(end - number));
        tool_buffer_text(buffer, quote);
        break;
    }
    }
}

/* "text", with \" for a quote in it: the converters read it back. */
static void put_quoted(struct tool_buffer *buffer, ttape_string text)
{
    struct tool_buffer escaped = {0};
    tool_buffer_name(&escaped, TTP_ESCAPE_TEXT, text);
    tool_buffer_text(buffer, "\"");
    for (size_t i = 0; i < escaped.size_bytes; i++) {
        tool_buffer_text(buffer, escaped.data[i] == '"' ? "\\" : "");
        tool_buffer_add(buffer, &escaped.data[i], 1);
    }
    tool_buffer_text(buffer, "\"");
    tool_buffer_close(&escaped);
}

static void put_value(struct tool_buffer *buffer, const ttape_value *value)
{
    char number[48];
    switch (value->type) {
    case TTAPE_VALUE_NULL: tool_buffer_text(buffer, "null"); break;
    case TTAPE_VALUE_STRING: put_quoted(buffer, value->bytes); break;
    case TTAPE_VALUE_BYTES:
        tool_buffer_text(buffer, "hex:");
        put_hex(buffer, value->bytes);
        break;
    default:
        tool_buffer_add(buffer, number, (size_t)(tool_put_number(number, value) - number));
        break;
    }
}

void tool_buffer_values(struct tool_buffer *buffer, const ttape_value *values, uint32_t count)
{
    tool_buffer_text(buffer, "(");
    for (uint32_t i = 0; i < count; i++) {
        tool_buffer_text(buffer, i > 0 ? ", " : "");
        put_value(buffer, &values[i]);
    }
    tool_buffer_text(buffer, ")");
}

const char *tool_value_name(char room[16], uint32_t event_kind, uint32_t index, uint32_t count)
{
    bool is_return = event_kind == TTAPE_EVENT_EXIT || event_kind == TTAPE_EVENT_EXIT_ACROSS ||
                     event_kind == TTAPE_EVENT_EXIT_UNSEEN;
    if (is_return && count == 1)
        return "return";
    size_t size = is_return ? 6 : 3;
    memcpy(room, is_return ? "return" : "arg", size);
    *tool_put_decimal(room + size, index + 1) = '\0';
    return room;
}
