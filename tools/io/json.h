/* A small writer of JSON: commas and indentation by itself, strings escaped. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/command/output.h"

#define TOOL_JSON_DEPTH 16u

struct tool_json {
    struct tool_output *out;
    unsigned depth;
    bool has_items[TOOL_JSON_DEPTH];
};

void tool_json_open(struct tool_json *json, struct tool_output *out);
/* `key` is NULL inside arrays and for the outermost value. `brace` is '{' or '['. */
void tool_json_begin(struct tool_json *json, const char *key, char brace);
void tool_json_end(struct tool_json *json, char brace); /* '}' or ']' */
void tool_json_number(struct tool_json *json, const char *key, uint64_t value);
void tool_json_signed(struct tool_json *json, const char *key, int64_t value);
/* Of 192 bits, the least ones first. */
void tool_json_wide(struct tool_json *json, const char *key, bool is_negative,
                    const uint64_t words[3]);
void tool_json_fixed(struct tool_json *json, const char *key, double value); /* three decimals */
void tool_json_real(struct tool_json *json, const char *key, double value); /* null unless finite */
void tool_json_bool(struct tool_json *json, const char *key, bool value);
void tool_json_null(struct tool_json *json, const char *key);
void tool_json_string(struct tool_json *json, const char *key, ttape_string value);
void tool_json_text(struct tool_json *json, const char *key, const char *value);
/* Bytes as a text of two hexadecimal digits each. */
void tool_json_hex(struct tool_json *json, const char *key, const uint8_t *bytes, size_t count);
/* null where the number is not known, or the text is empty. */
void tool_json_number_if(struct tool_json *json, const char *key, bool is_known, uint64_t value);
void tool_json_string_if(struct tool_json *json, const char *key, ttape_string value);

#endif
