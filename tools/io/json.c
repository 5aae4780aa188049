/* JSON, two blanks a level. */
#include <math.h>

#include "tools/io/json.h"

void tool_json_open(struct tool_json *json, struct tool_output *out)
{
    *json = (struct tool_json){.out = out};
}

static void put_line(struct tool_json *json)
{
    tool_output_text(json->out, "\n");
    for (unsigned i = 0; i < json->depth; i++)
        tool_output_text(json->out, "  ");
}

/* Comma, line and key before a value. */
static void lead(struct tool_json *json, const char *key)
{
    if (json->depth > 0) {
        bool *has_items = &json->has_items[json->depth - 1];
        tool_output_text(json->out, *has_items ? "," : "");
        *has_items = true;
        put_line(json);
    }
    if (key != NULL)
        tool_output_printf(json->out, "\"%s\": ", key);
}

void tool_json_begin(struct tool_json *json, const char *key, char brace)
{
    lead(json, key);
    tool_output_bytes(json->out, &brace, 1);
    json->has_items[json->depth++] = false;
}

void tool_json_end(struct tool_json *json, char brace)
{
    bool had_items = json->has_items[--json->depth];
    if (had_items)
        put_line(json);
    tool_output_bytes(json->out, &brace, 1);
    if (json->depth == 0)
        tool_output_text(json->out, "\n");
}

void tool_json_number(struct tool_json *json, const char *key, uint64_t value)
{
    lead(json, key);
    char *at = tool_output_reserve(json->out, 20);
    tool_output_commit(json->out, tool_put_decimal(at, value));
}

void tool_json_signed(struct tool_json *json, const char *key, int64_t value)
{
    lead(json, key);
    if (value < 0)
        tool_output_text(json->out, "-");
    char *at = tool_output_reserve(json->out, 20);
    tool_output_commit(json->out,
                       tool_put_decimal(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value));
}

void tool_json_wide(struct tool_json *json, const char *key, bool is_negative,
                    const uint64_t words[3])
{
    char text[64], *at = text + sizeof(text); /* 58 digits and a sign */
    uint32_t parts[6];
    uint32_t left;
    for (int i = 0; i < 6; i++)
        parts[i] = (uint32_t)(words[2 - i / 2] >> (i % 2 == 0 ? 32 : 0));
    do {
        uint64_t rest = 0;
        left = 0;
        for (int i = 0; i < 6; i++) {
            rest = rest << 32 | parts[i];
            parts[i] = (uint32_t)(rest / 10);
            left |= parts[i];
            rest %= 10;
        }
        *--at = (char)('0' + rest);
    } while (left != 0);
    if (is_negative)
        *--at = '-';
    lead(json, key);
    tool_output_bytes(json->out, at, (size_t)(text + sizeof(text) - at));
}

void tool_json_fixed(struct tool_json *json, const char *key, double value)
{
    lead(json, key);
    if (isfinite(value))
        tool_output_printf(json->out, "%.3f", value);
    else
        tool_output_text(json->out, "null");
}

void tool_json_real(struct tool_json *json, const char *key, double value)
{
    lead(json, key);
    if (isfinite(value))
        tool_output_printf(json->out, "%.6g", value);
    else
        tool_output_text(json->out, "null");
}

void tool_json_bool(struct tool_json *json, const char *key, bool value)
{
    lead(json, key);
    tool_output_text(json->out, value ? "true" : "false");
}

void tool_json_null(struct tool_json *json, const char *key)
{
    lead(json, key);
    tool_output_text(json->out, "null");
}

void tool_json_string(struct tool_json *json, const char *key, ttape_string value)
{
    lead(json, key);
    tool_output_text(json->out, "\"");
    tool_output_escaped(json->out, TTP_ESCAPE_JSON, value);
    tool_output_text(json->out, "\"");
}

void tool_json_text(struct tool_json *json, const char *key, const char *value)
{
    tool_json_string(json, key, (ttape_string){value, strlen(value)});
}

void tool_json_hex(struct tool_json *json, const char *key, const uint8_t *bytes, size_t count)
{
    lead(json, key);
    tool_output_text(json->out, "\"");
    for (size_t i = 0; i < count; i++) {
        char *at = tool_output_reserve(json->out, 2);
        at[0] = "0123456789abcdef"[bytes[i] >> 4];
        at[1] = "0123456789abcdef"[bytes[i] & 15];
        tool_output_commit(json->out, at + 2);
    }
    tool_output_text(json->out, "\"");
}

void tool_json_number_if(struct tool_json *json, const char *key, bool is_known, uint64_t value)
{
    if (is_known)
        tool_json_number(json, key, value);
    else
        tool_json_null(json, key);
}

void tool_json_string_if(struct tool_json *json, const char *key, ttape_string value)
{
    if (value.size_bytes > 0)
        tool_json_string(json, key, value);
    else
        tool_json_null(json, key);
}
