/* A line of `perf script`, by the fields that are in it, whatever -F chose, whichever perf wrote:
 *
 *   NAME PID[/TID] [[CPU]] SECONDS.FRACTION: [PERIOD] [EVENT:] FLAGS IP [SYMBOL[+OFF] [(FILE)]]
 *                                                              => ADDR [SYMBOL[+OFF] [(FILE)]]
 *    instruction trace error type N time S.F cpu N pid N tid N ip X code N: what was lost */
#include <stdlib.h>
#include <string.h>

#include "tools/convert/perf/convert_perf.h"
#include "tools/io/lines.h"

#define DECIMAL "0123456789"
#define HEX     "0123456789abcdef"
#define NANO    9u

/* What perf calls branches; the last one of a line counts. */
static const struct {
    const char *word;
    enum tool_perf_kind kind;
} flags[] = {{"call", TOOL_PERF_CALL},
             {"return", TOOL_PERF_RETURN},
             {"jcc", TOOL_PERF_JUMP},
             {"jmp", TOOL_PERF_JUMP},
             {"int", TOOL_PERF_INTERRUPT},
             {"iret", TOOL_PERF_RETURN},
             {"syscall", TOOL_PERF_SYSTEM_CALL},
             {"sysret", TOOL_PERF_RETURN},
             {"async", TOOL_PERF_INTERRUPT},
             {"hw", TOOL_PERF_INTERRUPT},
             {"tx", TOOL_PERF_JUMP},
             {"abrt", TOOL_PERF_JUMP},
             {"vmentry", TOOL_PERF_INTERRUPT},
             {"vmexit", TOOL_PERF_INTERRUPT},
             {"tr", TOOL_PERF_BARE},
             {"strt", TOOL_PERF_BARE},
             {"end", TOOL_PERF_BARE},
             {"(x)", TOOL_PERF_OTHER}};
#define FLAG_COUNT (sizeof flags / sizeof flags[0])

static size_t word_bytes(const char *at) { return strcspn(at, " \t"); }
static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

static bool is_word(const char *at, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(at, word, size) == 0;
}

/* Decimal digits, at most 19 of them. Returns their end, or NULL. */
static const char *read_number(const char *at, uint64_t *number)
{
    size_t size = strspn(at, DECIMAL);
    *number = 0;
    for (size_t i = 0; i < size && i < 19; i++)
        *number = *number * 10 + (uint64_t)(at[i] - '0');
    return size > 0 && size <= 19 ? at + size : NULL;
}

/* SECONDS.FRACTION, of 6 or 9 digits as perf writes it. Returns its end, or NULL. */
static const char *read_time(const char *at, uint64_t *time_ns)
{
    uint64_t seconds, rest;
    const char *end = read_number(at, &seconds);
    if (end == NULL || *end != '.' || seconds >= UINT64_MAX / 2000000000u)
        return NULL;
    const char *fraction = end + 1;
    end = read_number(fraction, &rest);
    if (end == NULL || end - fraction > (ptrdiff_t)NANO || end - fraction < 6)
        return NULL;
    for (ptrdiff_t digits = end - fraction; digits < (ptrdiff_t)NANO; digits++)
        rest *= 10;
    *time_ns = seconds * 1000000000u + rest;
    return end;
}

/* PID or PID/TID. */
static bool read_thread(const char *at, size_t size, struct tool_perf_line *line)
{
    const char *end = read_number(at, &line->pid);
    line->tid = line->pid;
    if (end != NULL && *end == '/')
        end = read_number(end + 1, &line->tid);
    return end == at + size;
}

/* All that stands before the flags. Returns what is behind it, or NULL. */
static const char *read_head(const char *text, struct tool_perf_line *line)
{
    const char *start = skip_blanks(text), *thread = NULL;
    for (const char *at = start; *at != '\0'; at = skip_blanks(at + word_bytes(at))) {
        size_t size = word_bytes(at);
        const char *end = read_time(at, &line->time_ns);
        if (end != NULL && *end == ':' && end + 1 == at + size && thread != NULL)
            return at + size;
        if (*at != '[' && at > start && read_thread(at, size, line)) {
            thread = at;
            line->name = (ttape_string){start, (size_t)(at - start)};
        }
    }
    return NULL;
}

/* A period and an event's name may stand before the flags. */
static const char *skip_event(const char *at)
{
    const char *next = skip_blanks(at), *behind = next;
    if (strspn(next, DECIMAL) == word_bytes(next))
        behind = next = skip_blanks(next + word_bytes(next));
    size_t size = word_bytes(next);
    return size > 0 && next[size - 1] == ':' ? next + size : behind;
}

static const char *read_flags(const char *at, struct tool_perf_line *line)
{
    bool has_trace = false;
    for (at = skip_blanks(at); *at != '\0'; at = skip_blanks(at + word_bytes(at))) {
        size_t size = word_bytes(at), i = 0;
        while (i < FLAG_COUNT && !is_word(at, size, flags[i].word))
            i++;
        if (i == FLAG_COUNT)
            break;
        line->begins = line->begins || (has_trace && is_word(at, size, "strt"));
        line->ends = line->ends || (has_trace && is_word(at, size, "end"));
        has_trace = has_trace || is_word(at, size, "tr");
        if (flags[i].kind != TOOL_PERF_OTHER &&
            (flags[i].kind != TOOL_PERF_BARE || line->kind == TOOL_PERF_OTHER))
            line->kind = flags[i].kind;
    }
    return at;
}

static ttape_string trim(const char *at, size_t size)
{
    while (size > 0 && strchr(" \t\r", at[size - 1]) != NULL)
        size--;
    return (ttape_string){at, size};
}

/* Where the bracket opens that a text ends with, or the text's end. A file's name may have some. */
static size_t find_bracket(ttape_string text)
{
    size_t depth = 0;
    for (size_t i = text.size_bytes; i-- > 0 && text.data[text.size_bytes - 1] == ')';) {
        depth += text.data[i] == ')';
        depth -= text.data[i] == '(';
        if (depth == 0 && i > 0 && text.data[i - 1] != ' ')
            break; /* a parameter list */
        if (depth == 0)
            return i;
    }
    return text.size_bytes;
}

/* "401136 main+0x10 (/bin/prog)" */
static void read_place(const char *at, size_t size, struct tool_perf_place *place)
{
    size_t digits = strspn(at, HEX);
    if (digits == 0 || digits > 16 || digits > size || (digits < size && at[digits] != ' '))
        return;
    place->has_address = true;
    place->address = strtoull(at, NULL, 16);
    const char *name = skip_blanks(at + digits);
    ttape_string rest = trim(name, (size_t)(at + size > name ? at + size - name : 0));
    size_t bracket = find_bracket(rest);
    if (bracket < rest.size_bytes) {
        place->module = (ttape_string){rest.data + bracket + 1, rest.size_bytes - bracket - 2};
        rest = trim(rest.data, bracket);
    }
    for (size_t i = rest.size_bytes; i-- > 0 && rest.data[i] != ' ';) {
        if (rest.data[i] != '+')
            continue;
        char *end;
        uint64_t offset = strtoull(rest.data + i + 1, &end, 16);
        if (end == rest.data + rest.size_bytes && end > rest.data + i + 1) {
            place->has_offset = true;
            place->offset = offset;
            rest.size_bytes = i;
        }
        break;
    }
    if (!is_word(rest.data, rest.size_bytes, "[unknown]"))
        place->symbol = rest;
    if (is_word(place->module.data, place->module.size_bytes, "[unknown]"))
        place->module = (ttape_string){"", 0};
}

/* The number or time behind a word. */
static const char *find_word(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at != NULL ? at + strlen(word) : "";
}

static void read_loss(const char *text, struct tool_perf_line *line)
{
    bool is_whole = read_number(find_word(text, " pid "), &line->pid) != NULL &&
                    read_number(find_word(text, " tid "), &line->tid) != NULL &&
                    read_time(find_word(text, " time "), &line->time_ns) != NULL;
    line->kind = is_whole ? TOOL_PERF_LOST : TOOL_PERF_OTHER;
    line->is_overflow = strstr(text, "Lost trace data") != NULL || strstr(text, "verflow") != NULL;
}

void tool_perf_parse(char *text, struct tool_perf_line *line)
{
    *line = (struct tool_perf_line){.name = {"", 0}};
    line->from.symbol = line->from.module = line->to.symbol = line->to.module =
        (ttape_string){"", 0};
    if (tool_after(skip_blanks(text), "instruction trace error") != NULL) {
        read_loss(text, line);
        return;
    }
    const char *at = read_head(text, line);
    const char *arrow = at != NULL ? strstr(at, "=> ") : NULL;
    if (arrow == NULL)
        return;
    line->name = trim(line->name.data, line->name.size_bytes);
    at = read_flags(skip_event(at), line);
    if (at > arrow)
        line->kind = TOOL_PERF_OTHER;
    if (line->kind == TOOL_PERF_OTHER)
        return;
    const char *to = skip_blanks(arrow + strlen("=> "));
    read_place(at, (size_t)(arrow - at), &line->from);
    read_place(to, strlen(to), &line->to);
    if (!line->from.has_address && !line->to.has_address)
        line->kind = TOOL_PERF_OTHER;
}
