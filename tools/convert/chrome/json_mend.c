/* Text that is nearly JSON becomes JSON: what other programs write and JSON has no place for costs
 * the character or the value, not the event.
 *
 *   in texts     control characters become escapes; bytes that are no UTF-8, halves of surrogate
 *                pairs and \u0000 become U+FFFD; a wrong escape is its characters
 *   elsewhere    words that are no JSON (NaN, -Infinity, undefined, 0x1f, a number that is too
 *                large) become texts; commas that are missing or too many are set right; what
 *                lies too deep is null */
#include <string.h>

#include "tools/command/tool.h"
#include "tools/convert/chrome/convert_chrome.h"

#define DEPTH_MAX 64u /* of brackets in an object that is mended */

struct mending {
    const char *at, *end;
    char **into;
    size_t size, *capacity;
    uint64_t *counts;
    unsigned depth;
    bool needs_comma; /* a value stands before */
    bool has_key;     /* a colon does */
};

static void put_mended(struct mending *m, const char *text, size_t size_bytes)
{
    tool_grow((void **)m->into, m->capacity, m->size + size_bytes + 1, 1);
    memcpy(*m->into + m->size, text, size_bytes);
    m->size += size_bytes;
}

static void put_lost(struct mending *m)
{
    put_mended(m, "\xEF\xBF\xBD", 3);
    m->counts[TOOL_CHROME_ODD_BYTES]++;
}

/* ---- texts ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number of \uXXXX at a place, -1: there is none. */
static int escaped_unit(const char *at, const char *end)
{
    int unit = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* At a backslash. */
static void mend_escape(struct mending *m)
{
    int unit = escaped_unit(m->at, m->end);
    if (unit > 0 && (unit < 0xD800 || unit > 0xDFFF)) {
        put_mended(m, m->at, 6);
        m->at += 6;
    } else if (unit >= 0) {
        int low = unit >= 0xD800 && unit < 0xDC00 ? escaped_unit(m->at + 6, m->end) : -1;
        bool is_pair = low >= 0xDC00 && low < 0xE000;
        if (is_pair)
            put_mended(m, m->at, 12);
        else
            put_lost(m);
        m->at += is_pair ? 12 : 6;
    } else if (m->end - m->at > 1 && m->at[1] != '\0' && strchr("\"\\/bfnrt", m->at[1]) != NULL) {
        put_mended(m, m->at, 2);
        m->at += 2;
    } else { /* a path of Windows, say */
        put_mended(m, "\\\\", 2);
        m->counts[TOOL_CHROME_ODD_CHARACTER]++;
        m->at++;
    }
}

/* Bytes of the UTF-8 character at a place, 0: it is none. */
static size_t character_bytes(const char *at, const char *end)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t bytes;
    } forms[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                 {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
                 {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
                 {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    unsigned char first = (unsigned char)*at;
    if (first < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (first < forms[i].first_low || first > forms[i].first_high)
            continue;
        if ((size_t)(end - at) < forms[i].bytes)
            return 0;
        unsigned char second = (unsigned char)at[1];
        bool is_good = second >= forms[i].second_low && second <= forms[i].second_high;
        for (size_t k = 2; k < forms[i].bytes; k++)
            is_good = is_good && ((unsigned char)at[k] & 0xC0u) == 0x80u;
        return is_good ? forms[i].bytes : 0;
    }
    return 0;
}

static void put_control(struct mending *m, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    const char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15u]};
    put_mended(m, escape, sizeof(escape));
    m->counts[TOOL_CHROME_ODD_CHARACTER]++;
}

/* One character of a text. */
static void mend_character(struct mending *m)
{
    unsigned char c = (unsigned char)*m->at;
    size_t bytes = character_bytes(m->at, m->end);
    if (c == '\\') {
        mend_escape(m);
    } else if (bytes == 0 || c == 0) {
        put_lost(m);
        m->at++;
    } else if (c < 0x20) {
        put_control(m, c);
        m->at++;
    } else {
        put_mended(m, m->at, bytes);
        m->at += bytes;
    }
}

/* Behind an opening quote. */
static void mend_text(struct mending *m)
{
    put_mended(m, "\"", 1);
    while (m->at < m->end && *m->at != '"')
        mend_character(m);
    put_mended(m, "\"", 1);
    m->at += m->at < m->end;
}

/* ---- words ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static size_t digits_at(const char *at, const char *end)
{
    size_t count = 0;
    while (at + count < end && at[count] >= '0' && at[count] <= '9')
        count++;
    return count;
}

/* A number as JSON spells it, that a JSON library can hold for certain. */
static bool is_number(const char *at, const char *end)
{
    at += at < end && *at == '-';
    size_t whole = digits_at(at, end), count;
    if (whole == 0 || whole > 18 || (whole > 1 && *at == '0'))
        return false;
    at += whole;
    if (at < end && *at == '.') {
        count = digits_at(at + 1, end);
        if (count == 0)
            return false;
        at += 1 + count;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        count = digits_at(at, end);
        if (count == 0 || count > 2)
            return false;
        at += count;
    }
    return at == end;
}

static bool is_word(const char *text, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

/* Numbers and words, up to what ends them. */
static void mend_word(struct mending *m)
{
    const char *start = m->at;
    while (m->at < m->end && strchr(",:{}[]\"", *m->at) == NULL)
        m->at++;
    if (m->at == start) /* a zero byte */
        m->at++;
    const char *stop = m->at;
    while (stop > start && is_blank(stop[-1]))
        stop--;
    size_t size = (size_t)(stop - start);
    if (is_number(start, stop) || is_word(start, size, "true") || is_word(start, size, "false") ||
        is_word(start, size, "null")) {
        put_mended(m, start, size);
        return;
    }
    struct mending word = *m;
    word.at = start;
    word.end = stop;
    put_mended(&word, "\"", 1);
    while (word.at < word.end)
        mend_character(&word);
    put_mended(&word, "\"", 1);
    m->size = word.size;
    /* a number of many digits loses nothing as a text */
    m->counts[TOOL_CHROME_ODD_VALUE] += strspn(start, "0123456789+-.eE") < size;
}

/* ---- structure ---- */

/* Passes over a bracket and what is in it. */
static void skip_inside(struct mending *m)
{
    uint64_t depth = 0;
    do {
        char c = *m->at++;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (c != '"')
            continue;
        while (m->at < m->end && *m->at != '"')
            m->at += *m->at == '\\' && m->end - m->at > 1 ? 2 : 1;
        m->at += m->at < m->end;
    } while (depth > 0 && m->at < m->end);
    put_mended(m, "null", 4);
    m->counts[TOOL_CHROME_ODD_SIZE]++;
}

static void begin_value(struct mending *m)
{
    if (m->needs_comma && !m->has_key)
        put_mended(m, ",", 1);
    m->needs_comma = true;
    m->has_key = false;
}

/* A key that no value follows. */
static void put_missing(struct mending *m)
{
    if (m->has_key) {
        put_mended(m, "null", 4);
        m->counts[TOOL_CHROME_ODD_VALUE]++;
    }
    m->has_key = false;
}

static void mend_next(struct mending *m)
{
    char c = *m->at;
    if (c == ',' || c == '}' || c == ']')
        put_missing(m);
    if (is_blank(c) || c == ',') {
        m->at++;
    } else if (c == ':') {
        put_mended(m, ":", 1);
        m->has_key = true;
        m->at++;
    } else if (c == '}' || c == ']') {
        put_mended(m, m->at++, 1);
        m->depth -= m->depth > 0;
        m->needs_comma = true;
    } else {
        begin_value(m);
        if (c == '"') {
            m->at++;
            mend_text(m);
        } else if ((c == '{' || c == '[') && m->depth == DEPTH_MAX) {
            skip_inside(m);
        } else if (c == '{' || c == '[') {
            put_mended(m, m->at++, 1);
            m->depth++;
            m->needs_comma = false;
        } else {
            mend_word(m);
        }
    }
}

size_t tool_json_mend(const char *text, size_t size_bytes, char **into, size_t *capacity,
                      uint64_t counts[TOOL_CHROME_ODDITIES])
{
    struct mending m = {
        .at = text, .end = text + size_bytes, .into = into, .capacity = capacity, .counts = counts};
    while (m.at < m.end)
        mend_next(&m);
    return m.size;
}
