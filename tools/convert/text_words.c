/* Words of a line: bare up to a blank, or quoted with escapes; and what they mean as values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/options.h"
#include "tools/convert/text_words.h"
#include "tools/io/lines.h"

/* One escape behind a backslash at *at; false when it is none. */
static bool unescape(const char **at, char *out)
{
    char c = *(*at)++;
    if (c == 'x') {
        int high = tool_hex_digit((*at)[0]);
        int low = high >= 0 ? tool_hex_digit((*at)[1]) : -1;
        if (low < 0)
            return false;
        *out = (char)(high << 4 | low);
        *at += 2;
        return true;
    }
    *out = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c);
    return c == 'n' || c == 't' || c == '"' || c == '\\';
}

static ttape_status take_quoted(char **at, struct tool_token *token)
{
    const char *from = token->text;
    char *to = token->text;
    while (*from != '"') {
        if (*from == '\0')
            return TTAPE_E_CORRUPT;
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        from++;
        if (!unescape(&from, to++))
            return TTAPE_E_CORRUPT;
    }
    char *end = token->text + (from - token->text) + 1;
    if (*end != '\0' && *end != ' ' && *end != '\t')
        return TTAPE_E_CORRUPT;
    *to = '\0';
    token->size_bytes = (size_t)(to - token->text);
    *at = end;
    return TTAPE_OK;
}

ttape_status tool_next_token(char **at, struct tool_token *token)
{
    char *start = *at + strspn(*at, " \t");
    *token = (struct tool_token){.text = start, .quoted = *start == '"'};
    if (*start == '\0') {
        *at = start;
        return TTAPE_END;
    }
    if (token->quoted) {
        token->text++;
        return take_quoted(at, token);
    }
    token->size_bytes = strcspn(start, " \t");
    char *end = start + token->size_bytes;
    *at = end + (*end != '\0');
    *end = '\0';
    return TTAPE_OK;
}

const char *tool_token_after(const struct tool_token *token, const char *key)
{
    return token->quoted ? NULL : tool_after(token->text, key);
}

static bool parse_number(const char *text, int base, uint64_t *value)
{
    char *end;
    bool starts = base == 16 ? tool_hex_digit(*text) >= 0 : *text >= '0' && *text <= '9';
    errno = 0;
    *value = strtoull(text, &end, base);
    return starts && errno == 0 && *end == '\0';
}

bool tool_token_u64(const struct tool_token *token, uint64_t *value)
{
    return !token->quoted && parse_number(token->text, 10, value);
}

bool tool_token_address(const struct tool_token *token, uint64_t *value)
{
    const char *digits = tool_token_after(token, "0x");
    return digits != NULL && parse_number(digits, 16, value);
}

static bool parse_signed(const char *text, uint64_t *value)
{
    bool negative = *text == '-';
    if ((!negative && *text != '+') || !parse_number(text + 1, 10, value) ||
        *value > (uint64_t)INT64_MAX + negative)
        return false;
    *value = negative ? 0 - *value : *value;
    return true;
}

static bool parse_float(const char *text, uint64_t *bits)
{
    char *end;
    double number = strtod(text, &end);
    memcpy(bits, &number, sizeof(*bits));
    return end != text && *end == '\0';
}

/* Turns hexadecimal digits into bytes where they stand. */
static bool unhex(char *text, ttape_string *bytes)
{
    size_t count = strlen(text) / 2;
    if (strlen(text) % 2 != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        int high = tool_hex_digit(text[2 * i]), low = tool_hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        text[i] = (char)(high << 4 | low);
    }
    *bytes = (ttape_string){text, count};
    return true;
}

bool tool_token_value(const struct tool_token *token, ttape_value *value)
{
    uint64_t number = 0;
    *value = (ttape_value){.type = TTAPE_VALUE_STRING, .bytes = {token->text, token->size_bytes}};
    if (token->size_bytes > TTAPE_VALUE_MAX_BYTES)
        return false;
    if (token->quoted)
        return true;
    if (strcmp(token->text, "null") == 0) {
        value->type = TTAPE_VALUE_NULL;
    } else if (tool_token_u64(token, &number)) {
        value->type = TTAPE_VALUE_UNSIGNED;
    } else if (tool_token_address(token, &number)) {
        value->type = TTAPE_VALUE_POINTER;
    } else if (parse_signed(token->text, &number)) {
        value->type = TTAPE_VALUE_SIGNED;
    } else if (tool_after(token->text, "hex:") != NULL) {
        value->type = TTAPE_VALUE_BYTES;
        return unhex(token->text + 4, &value->bytes);
    } else if (parse_float(token->text, &number)) {
        value->type = TTAPE_VALUE_FLOAT;
    }
    if (value->type != TTAPE_VALUE_STRING)
        *value = (ttape_value){.type = value->type, .number = number};
    return true;
}
