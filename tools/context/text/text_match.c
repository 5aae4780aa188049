/* A string's literal pieces are looked for one behind the other, with another place tried where the
 * rest does not fit; so many steps at most. */
#include <string.h>

#include "tools/context/text/text_match.h"

#define PARTS_MOST 256u
#define STEPS_MOST 20000u

enum part_kind {
    LITERAL,
    NOTHING, /* no gap */
    ONE,     /* a character */
    INTEGER,
    NUMBER, /* hexadecimal, with a point, nan */
    ANYTHING
};
enum style { PRINTF, BRACES, PLAIN };

struct part {
    uint8_t kind;
    size_t start, size; /* of a literal, in the bytes */
};

struct pattern {
    struct part parts[PARTS_MOST];
    size_t count;
    char bytes[TOOL_TEXT_STRING_MOST];
    size_t size;
};

struct matching {
    const struct pattern *pattern;
    struct tool_text text;
    bool may_be_cut; /* the text may end before the pattern does */
    bool is_cut;
    size_t places[PARTS_MOST];
    size_t end; /* of what matches */
    uint32_t steps_left;
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || ((uint8_t)c & 0x80) != 0;
}
static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* ---- strings into patterns ---- */

static void add_gap(struct pattern *pattern, enum part_kind kind)
{
    if (pattern->count < PARTS_MOST)
        pattern->parts[pattern->count++].kind = (uint8_t)kind;
}

static void add_byte(struct pattern *pattern, char byte)
{
    struct part *last = pattern->count > 0 ? &pattern->parts[pattern->count - 1] : NULL;
    if (last == NULL || last->kind != LITERAL) {
        if (pattern->count == PARTS_MOST)
            return;
        last = &pattern->parts[pattern->count++];
        *last = (struct part){LITERAL, pattern->size, 0};
    }
    pattern->bytes[pattern->size++] = byte;
    last->size++;
}

/* What a letter of printf prints; NOTHING: it is none. */
static enum part_kind kind_of(char letter)
{
    if (letter == '\0')
        return NOTHING;
    if (strchr("diu", letter) != NULL)
        return INTEGER;
    if (strchr("xXopeEfFgGaAbB", letter) != NULL)
        return NUMBER;
    return letter == 'c' || letter == 'C'   ? ONE
           : strchr("sSmn", letter) != NULL ? ANYTHING
                                            : NOTHING;
}

static size_t skip_any(struct tool_text line, size_t at, const char *bytes)
{
    while (at < line.size_bytes && line.bytes[at] != '\0' && strchr(bytes, line.bytes[at]) != NULL)
        at++;
    return at;
}

/* A conversion behind a '%'; returns where it ends, or where it began: it is none. */
static size_t add_conversion(struct pattern *pattern, struct tool_text line, size_t at)
{
    size_t from = at;
    at = skip_any(line, skip_any(line, at, "0123456789"), "$");
    at = skip_any(line, at > from && line.bytes[at - 1] == '$' ? at : from, "-+ #'I0");
    size_t wide = skip_any(line, at, "*.$0123456789");
    bool is_wide = wide > at;
    at = skip_any(line, wide, "hlLqjzt");
    enum part_kind kind = at < line.size_bytes ? kind_of(line.bytes[at]) : NOTHING;
    if (kind == NOTHING) { /* "%1" and "%1%" of other libraries' */
        at = skip_any(line, from, "0123456789");
        if (at == from)
            return from;
        add_gap(pattern, ANYTHING);
        return at + (at < line.size_bytes && line.bytes[at] == '%');
    }
    add_gap(pattern, kind == ONE && is_wide ? ANYTHING : kind);
    return at + 1;
}

/* What stands between braces is an argument's name and how it is to look. */
static size_t braces_end(struct tool_text line, size_t at)
{
    size_t depth = 1;
    for (; at < line.size_bytes; at++) {
        depth += line.bytes[at] == '{';
        depth -= line.bytes[at] == '}';
        if (depth == 0)
            return at + 1;
    }
    return 0;
}

static void compile(struct pattern *pattern, struct tool_text line, enum style style)
{
    char mark = style == PRINTF ? '%' : '{';
    pattern->count = pattern->size = 0;
    for (size_t at = 0; at < line.size_bytes;) {
        char byte = line.bytes[at++], next = at < line.size_bytes ? line.bytes[at] : '\0';
        size_t end = 0;
        if (style == PLAIN) {
            end = 0;
        } else if (byte == mark && next == mark) {
            at++;
        } else if (byte == mark && style == PRINTF) {
            end = add_conversion(pattern, line, at);
            end = end == at ? 0 : end;
        } else if (byte == mark && (end = braces_end(line, at)) != 0) {
            add_gap(pattern, ANYTHING);
        } else if (style == BRACES && byte == '}' && next == '}') {
            at++;
        }
        if (end == 0)
            add_byte(pattern, byte);
        else
            at = end;
    }
}

/* ---- patterns in texts ---- */

static enum part_kind join_gaps(enum part_kind one, enum part_kind other)
{
    if (one == NOTHING)
        return other;
    bool are_numbers = (one == INTEGER || one == NUMBER) && (other == INTEGER || other == NUMBER);
    return !are_numbers ? ANYTHING : one > other ? one : other;
}

/* May this byte be in a gap? */
static bool fits_gap(enum part_kind gap, char byte)
{
    if (gap == ANYTHING || gap == ONE)
        return true;
    bool is_integer = is_digit(byte) || (byte != '\0' && strchr("+- ,.'_", byte) != NULL);
    return is_integer ||
           (gap == NUMBER && (((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f') ||
                              (byte != '\0' && strchr("xXpPnNiItTyYlL()", byte) != NULL)));
}

/* The end of the bytes from `at` on that a gap may have. */
static size_t gap_end(const struct matching *matching, enum part_kind gap, size_t at)
{
    const struct tool_text *text = &matching->text;
    if (gap == NOTHING)
        return at;
    if (gap == ANYTHING)
        return text->size_bytes;
    if (gap == ONE)
        return at < text->size_bytes ? at + 1 : at;
    while (at < text->size_bytes && fits_gap(gap, text->bytes[at]))
        at++;
    return at;
}

static bool end_here(struct matching *matching, size_t part, size_t end, bool is_cut)
{
    for (size_t i = part; i < matching->pattern->count; i++)
        matching->places[i] = SIZE_MAX;
    matching->end = end;
    matching->is_cut = is_cut;
    return true;
}

/* The parts from `part` on, at `at`, behind nothing. */
static bool go_on(struct matching *matching, size_t part, size_t at)
{
    const struct pattern *pattern = matching->pattern;
    const struct tool_text *text = &matching->text;
    enum part_kind gap = NOTHING;
    for (; part < pattern->count && pattern->parts[part].kind != LITERAL; part++) {
        gap = join_gaps(gap, (enum part_kind)pattern->parts[part].kind);
        matching->places[part] = SIZE_MAX;
    }
    if (part == pattern->count)
        return end_here(matching, part, at, false);
    const char *literal = pattern->bytes + pattern->parts[part].start;
    size_t size = pattern->parts[part].size, last = gap_end(matching, gap, at);
    size_t first = gap == NOTHING || gap == ANYTHING ? at : at + 1;
    for (size_t place = first; place <= last && matching->steps_left > 0; place++) {
        matching->steps_left--;
        const char *found = memchr(text->bytes + place, literal[0], text->size_bytes - place);
        if (found == NULL)
            break;
        place = (size_t)(found - text->bytes);
        if (place > last)
            break;
        size_t left = text->size_bytes - place;
        if (memcmp(found, literal, left < size ? left : size) != 0 ||
            (left < size && !matching->may_be_cut))
            continue;
        matching->places[part] = place;
        if (left < size)
            return end_here(matching, part + 1, text->size_bytes, true);
        if (go_on(matching, part + 1, place + size))
            return true;
    }
    /* it ends in an argument */
    return matching->may_be_cut && last == text->size_bytes && at < last &&
           end_here(matching, part, last, gap == ANYTHING);
}

static bool parts_words(struct tool_text text, size_t at)
{
    return at > 0 && at < text.size_bytes && is_letter(text.bytes[at - 1]) &&
           is_letter(text.bytes[at]);
}

/* What matches from `part` on, the first `skipped` bytes of it left out, at `from`: how many. */
static uint32_t count(const struct matching *matching, size_t part, size_t skipped, size_t from,
                      uint8_t *marks)
{
    const struct pattern *pattern = matching->pattern;
    uint32_t bytes = 0, letters = 0;
    for (size_t i = part; i < pattern->count; i++) {
        if (pattern->parts[i].kind != LITERAL || (i != part && matching->places[i] == SIZE_MAX))
            continue;
        size_t at = i == part ? from : matching->places[i];
        size_t size = pattern->parts[i].size - (i == part ? skipped : 0);
        size_t end = size < matching->text.size_bytes - at ? at + size : matching->text.size_bytes;
        for (; at < end; at++) {
            letters += is_letter(matching->text.bytes[at]);
            bytes++;
        }
    }
    if (letters < TOOL_TEXT_LETTERS || (matching->is_cut && bytes < TOOL_TEXT_CUT_LEAST))
        return 0;
    for (size_t i = part; marks != NULL && i < pattern->count; i++) {
        if (pattern->parts[i].kind != LITERAL || (i != part && matching->places[i] == SIZE_MAX))
            continue;
        size_t at = i == part ? from : matching->places[i];
        size_t size = pattern->parts[i].size - (i == part ? skipped : 0);
        size_t left = matching->text.size_bytes - at;
        memset(marks + at, 1, size < left ? size : left);
    }
    return bytes;
}

/* The whole pattern, anywhere in the text. */
static uint32_t match_inside(struct matching *matching, enum tool_text_how how, uint8_t *marks)
{
    const struct pattern *pattern = matching->pattern;
    size_t first = 0;
    while (first < pattern->count && pattern->parts[first].kind != LITERAL)
        first++;
    if (first == pattern->count)
        return 0;
    size_t size = pattern->parts[first].size;
    char byte = pattern->bytes[pattern->parts[first].start];
    matching->may_be_cut = how == TOOL_TEXT_CUT;
    for (size_t at = 0; at < matching->text.size_bytes && matching->steps_left > 0; at++) {
        const char *found = memchr(matching->text.bytes + at, byte, matching->text.size_bytes - at);
        if (found == NULL)
            return 0;
        at = (size_t)(found - matching->text.bytes);
        size_t left = matching->text.size_bytes - at;
        matching->steps_left--;
        if (memcmp(found, pattern->bytes + pattern->parts[first].start,
                   left < size ? left : size) != 0 ||
            (left < size && !matching->may_be_cut) ||
            (first == 0 && parts_words(matching->text, at)))
            continue;
        bool is_found = left < size ? end_here(matching, first + 1, at + left, true)
                                    : go_on(matching, first + 1, at + size);
        bool ends_word = pattern->parts[pattern->count - 1].kind != LITERAL ||
                         (is_found && !parts_words(matching->text, matching->end));
        uint32_t bytes =
            is_found && (ends_word || matching->is_cut) ? count(matching, first, 0, at, marks) : 0;
        if (bytes != 0)
            return bytes;
    }
    return 0;
}

/* The text, from its beginning to its end, within the pattern. */
static uint32_t match_around(struct matching *matching, uint8_t *marks)
{
    const struct pattern *pattern = matching->pattern;
    const struct tool_text *text = &matching->text;
    matching->may_be_cut = true;
    for (size_t i = 0; i < pattern->count && text->size_bytes > 0; i++) {
        struct tool_text literal = {pattern->bytes + pattern->parts[i].start,
                                    pattern->parts[i].size};
        for (size_t k = 0; pattern->parts[i].kind == LITERAL && k < literal.size_bytes; k++) {
            size_t left = literal.size_bytes - k;
            size_t size = left < text->size_bytes ? left : text->size_bytes;
            if (matching->steps_left == 0)
                return 0;
            matching->steps_left--;
            if (memcmp(literal.bytes + k, text->bytes, size) != 0 || parts_words(literal, k))
                continue;
            bool is_inside = text->size_bytes <= left;
            if (is_inside && parts_words(literal, k + text->size_bytes))
                continue;
            bool is_found = is_inside ? end_here(matching, i + 1, text->size_bytes, false)
                                      : go_on(matching, i + 1, left);
            /* behind the pattern's end, it is not within */
            is_found = is_found && (matching->is_cut || matching->end == text->size_bytes ||
                                    pattern->parts[pattern->count - 1].kind != LITERAL);
            uint32_t bytes = is_found ? count(matching, i, k, 0, marks) : 0;
            if (bytes != 0)
                return bytes;
        }
    }
    return 0;
}

static uint32_t match_line(struct pattern *pattern, struct tool_text line, enum style style,
                           struct tool_text text, enum tool_text_how how, uint8_t *marks)
{
    struct matching matching = {.pattern = pattern, .text = text, .steps_left = STEPS_MOST};
    compile(pattern, line, style);
    uint32_t bytes = match_inside(&matching, TOOL_TEXT_WHOLE, marks);
    if (bytes == 0)
        bytes = match_around(&matching, marks);
    if (bytes == 0 && how == TOOL_TEXT_CUT)
        bytes = match_inside(&matching, how, marks);
    return bytes;
}

static struct tool_text trimmed(struct tool_text text)
{
    while (text.size_bytes > 0 && is_blank(text.bytes[text.size_bytes - 1]))
        text.size_bytes--;
    for (; text.size_bytes > 0 && is_blank(text.bytes[0]); text.size_bytes--)
        text.bytes++;
    return text;
}

struct tool_text_found tool_text_match(struct tool_text string, struct tool_text text,
                                       enum tool_text_how how, uint8_t *marks)
{
    struct pattern pattern;
    struct tool_text_found most = {0};
    size_t size =
        string.size_bytes < TOOL_TEXT_STRING_MOST ? string.size_bytes : TOOL_TEXT_STRING_MOST;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(string.bytes + at, '\n', size - at);
        size_t next = end != NULL ? (size_t)(end - string.bytes) : size;
        struct tool_text line = trimmed((struct tool_text){string.bytes + at, next - at});
        at = next + 1;
        if (line.size_bytes == 0)
            continue;
        uint32_t bytes = match_line(&pattern, line, PRINTF, text, how, marks);
        if (bytes == 0 && memchr(line.bytes, '{', line.size_bytes) != NULL)
            bytes = match_line(&pattern, line, BRACES, text, how, marks);
        if (bytes == 0 && memchr(line.bytes, '%', line.size_bytes) != NULL)
            bytes = match_line(&pattern, line, PLAIN, text, how, marks);
        if (bytes > most.bytes)
            most = (struct tool_text_found){bytes, line};
    }
    return most;
}
