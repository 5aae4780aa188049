/* All cells are kept until the last row is known: their texts in one block, so that a row costs no
 * allocation. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/io/table.h"

#define GAP           2u /* blanks between columns */
#define CUT           "..."
#define BY            " < " /* between a function and its caller */
#define COUNT_COLUMNS 30u   /* in which one name and a count are enough */
#define LEAST_CUT     16u   /* columns that the one which gives way keeps while it can */
#define RANK_TIGHT    2u
#define MORE_BYTES    40u  /* " and 7 more" */
#define PLAIN_COLUMNS 120u /* of files and pipes */
#define LEAST_PLAIN   64u  /* LEAST_CUT there */

struct tool_cell {
    size_t start, size_bytes;
    size_t names_bytes, more; /* of callers: in front of " and 7 more", which says how many */
    unsigned columns;
    enum tool_tone tone;
};

void tool_table_open(struct tool_table *table, const struct tool_column *columns,
                     size_t column_count)
{
    *table =
        (struct tool_table){.columns = columns, .column_count = column_count, .least = LEAST_CUT};
}

void tool_table_close(struct tool_table *table)
{
    free(table->cells);
    free(table->text);
    *table = (struct tool_table){0};
}

/* ---- text ---- */

size_t tool_put_count(char *at, uint64_t count)
{
    char digits[20];
    size_t length = (size_t)(tool_put_decimal(digits, count) - digits), size = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            at[size++] = ',';
        at[size++] = digits[i];
    }
    return size;
}

size_t tool_put_time(char *at, int64_t time_ns)
{
    static const struct {
        uint64_t scale;
        const char *name;
    } units[] = {{1000000000u, "s"}, {1000000u, "ms"}, {1000u, "us"}};
    uint64_t size = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
    size_t unit = size >= units[0].scale ? 0 : size >= units[1].scale ? 1 : 2;
    uint64_t scale = units[unit].scale;
    uint64_t rest = size % scale / (scale / 1000);
    if (time_ns == 0) {
        *at = '0';
        return 1;
    }
    *at = '-';
    char *end = tool_put_decimal(at + (time_ns < 0), size / scale);
    *end++ = '.';
    for (uint64_t place = 100; place > 0; place /= 10)
        *end++ = (char)('0' + rest / place % 10);
    *end++ = ' ';
    size_t length = strlen(units[unit].name);
    memcpy(end, units[unit].name, length);
    return (size_t)(end - at) + length;
}

/* ---- cells ---- */

static size_t put_more(char words[MORE_BYTES], size_t more)
{
    return (size_t)snprintf(words, MORE_BYTES, " and %zu more", more);
}

void tool_table_bytes(struct tool_table *table, enum tool_tone tone, const char *text,
                      size_t size_bytes)
{
    tool_grow((void **)&table->cells, &table->cell_capacity, table->cell_count + 1,
              sizeof(*table->cells));
    tool_grow((void **)&table->text, &table->text_capacity,
              table->text_count + TTP_ESCAPE_MAX * size_bytes + 1, 1);
    char *into = table->text + table->text_count;
    size_t size = ttp_escape(into, TTP_ESCAPE_TERMINAL, text, size_bytes);
    table->cells[table->cell_count++] =
        (struct tool_cell){.start = table->text_count,
                           .size_bytes = size,
                           .names_bytes = size,
                           .columns = (unsigned)ttp_text_columns(into, size),
                           .tone = tone};
    table->text_count += size;
    table->row_count = table->cell_count / table->column_count;
}

void tool_table_text(struct tool_table *table, enum tool_tone tone, const char *text)
{
    tool_table_bytes(table, tone, text, strlen(text));
}

void tool_table_callers(struct tool_table *table, enum tool_tone tone, const char *names,
                        size_t size_bytes, size_t more)
{
    char words[MORE_BYTES];
    tool_table_bytes(table, tone, names, size_bytes);
    if (more == 0)
        return;
    struct tool_cell *cell = &table->cells[table->cell_count - 1];
    size_t size = put_more(words, more);
    tool_grow((void **)&table->text, &table->text_capacity, table->text_count + size, 1);
    memcpy(table->text + table->text_count, words, size);
    table->text_count += size;
    cell->size_bytes += size;
    cell->columns += (unsigned)size;
    cell->more = more;
}

void tool_table_printf(struct tool_table *table, enum tool_tone tone, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    size_t size = length < 0 ? 0 : (size_t)length;
    tool_table_bytes(table, tone, text, size < sizeof(text) ? size : sizeof(text) - 1);
}

void tool_table_count(struct tool_table *table, enum tool_tone tone, uint64_t count)
{
    char text[40];
    tool_table_bytes(table, tone, text, tool_put_count(text, count));
}

void tool_table_time(struct tool_table *table, enum tool_tone tone, int64_t time_ns)
{
    tool_table_time_marked(table, tone, time_ns, "");
}

void tool_table_time_marked(struct tool_table *table, enum tool_tone tone, int64_t time_ns,
                            const char *mark)
{
    char text[48];
    size_t size = strlen(mark);
    memcpy(text, mark, size);
    size += tool_put_time(text + size, time_ns);
    /* So that points stand below points: " s" is as wide as "ms", and so is nothing. */
    size_t blanks = size < 3 ? 3 : text[size - 2] == ' ';
    memcpy(text + size, "   ", blanks);
    tool_table_bytes(table, tone, text, size + blanks);
}

/* ---- layout ---- */

struct layout {
    size_t widths[TOOL_TABLE_COLUMNS];
    bool shown[TOOL_TABLE_COLUMNS];
};

static size_t total_width(const struct tool_table *table, const struct layout *to)
{
    size_t width = 0;
    for (size_t i = 0; i < table->column_count; i++)
        width += to->shown[i] ? to->widths[i] + (width > 0 ? GAP : 0) : 0;
    return width;
}

static void measure(const struct tool_table *table, struct layout *to)
{
    for (size_t i = 0; i < table->column_count; i++) {
        to->widths[i] = strlen(table->columns[i].title);
        to->shown[i] = table->columns[i].rank == 0 || table->row_count == 0;
    }
    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        size_t column = i % table->column_count, *width = &to->widths[column];
        *width = table->cells[i].columns > *width ? table->cells[i].columns : *width;
        to->shown[column] |= table->cells[i].columns != 0;
    }
}

/* The column that is left out next, or column_count. */
static size_t least_wanted(const struct tool_table *table, const struct layout *to)
{
    size_t found = table->column_count;
    for (size_t i = 0; i < table->column_count; i++) {
        unsigned rank = table->columns[i].rank;
        if (to->shown[i] && rank > 0 &&
            (found == table->column_count || rank > table->columns[found].rank))
            found = i;
    }
    return found;
}

/* Columns that may be cut, from the last one on, until it fits. */
static void cut_others(const struct tool_table *table, struct layout *to, unsigned columns)
{
    for (size_t i = table->column_count; i-- > 0;) {
        size_t width = total_width(table, to), least = table->columns[i].cut;
        if (width <= columns || !to->shown[i] || least == 0 || to->widths[i] <= least)
            continue;
        size_t more = width - columns, room = to->widths[i] - least;
        to->widths[i] -= more < room ? more : room;
    }
}

/* What the column that gives way keeps, where `next` would be left out for it. */
static size_t least_of(const struct tool_table *table, size_t next)
{
    bool is_tight = table->least_tight > 0 && next < table->column_count &&
                    table->columns[next].rank <= RANK_TIGHT;
    return is_tight ? table->least_tight : table->least;
}

static void fit(const struct tool_table *table, struct layout *to, unsigned columns)
{
    size_t soft = table->column_count;
    for (size_t i = 0; i < table->column_count; i++)
        soft = table->columns[i].gives_way ? i : soft;
    size_t wanted = soft < table->column_count ? to->widths[soft] : 0;
    for (;;) {
        size_t next = table->keeps_all ? table->column_count : least_wanted(table, to);
        size_t least = least_of(table, next);
        least = wanted < least ? wanted : least;
        if (soft < table->column_count)
            to->widths[soft] = least;
        size_t width = total_width(table, to);
        if (width > columns && next == table->column_count)
            cut_others(table, to, columns);
        if (width <= columns || next == table->column_count) {
            size_t room = width < columns ? columns - width : 0;
            if (soft < table->column_count)
                to->widths[soft] += room < wanted - least ? room : wanted - least;
            return;
        }
        to->shown[next] = false;
    }
}

/* ---- printing ---- */

void tool_put_tone(struct tool_output *out, enum tool_tone tone, bool on)
{
    static const char *const codes[] = {"", "\033[1;31m", "\033[33m", "\033[2m"};
    if (tone != TOOL_PLAIN)
        tool_output_text(out, on ? codes[tone] : "\033[0m");
}

static void put_blanks(struct tool_output *out, size_t count)
{
    static const char blanks[] = "                                ";
    for (size_t part; count > 0; count -= part) {
        part = count < sizeof blanks - 1 ? count : sizeof blanks - 1;
        tool_output_bytes(out, blanks, part);
    }
}

/* Whether what a call was given, or types, begin here: not "(anonymous namespace)" or "operator()".
 */
static bool is_list(const char *text, size_t at)
{
    static const char operator_word[] = "operator";
    size_t size = sizeof operator_word - 1;
    return text[at] == '(' && at > 0 && text[at - 1] != ':' && text[at - 1] != ' ' &&
           (at < size || memcmp(text + at - size, operator_word, size) != 0);
}

/* Where the first name of a text ends: "a::b < c" has two, "a::b(c=1)", "a::b x 9, not in a row"
 * and "a::b [clone .part.0]" more than it. */
static size_t first_name_bytes(const char *text, size_t size_bytes)
{
    int depth = 0;
    for (size_t i = 0; i + 2 < size_bytes; i++) {
        bool is_between = text[i] == ' ' && text[i + 2] == ' ';
        if (is_between && (text[i + 1] == '<' || text[i + 1] == '>'))
            return i;
        if (depth == 0 && i > 0 &&
            (is_list(text, i) || (is_between && text[i + 1] == 'x') ||
             (text[i] == ' ' && text[i + 1] == '[')))
            return i;
        depth += (text[i] == '<' || text[i] == '(') - (text[i] == '>' || text[i] == ')');
    }
    return size_bytes;
}

/* Code without a name, "module+0x1234": where to begin so that the place is seen. 0: it is none. */
static size_t place_bytes(const char *text, size_t size_bytes, size_t columns)
{
    static const char mark[] = "+0x";
    for (size_t i = 1; i + sizeof mark <= size_bytes; i++)
        if (memcmp(text + i, mark, strlen(mark)) == 0 && memchr(text, ' ', i) == NULL &&
            size_bytes - i <= columns)
            return ttp_text_cut(text, size_bytes, ttp_text_columns(text, size_bytes) - columns);
    return 0;
}

/* Where to begin so that what a name ends with is seen: behind the first "::", out of brackets,
 * from which on it fits, or else behind the last. 0: at its beginning. */
static size_t scopes_bytes(const char *text, size_t size_bytes, size_t columns)
{
    size_t end = first_name_bytes(text, size_bytes), found = 0;
    int depth = 0;
    if (ttp_text_columns(text, end) <= columns)
        return 0;
    for (size_t i = 0; i + 1 < end && (depth != 0 || text[i] != ' '); i++) {
        depth += (text[i] == '<' || text[i] == '(') - (text[i] == '>' || text[i] == ')');
        if (depth != 0 || text[i] != ':' || text[i + 1] != ':')
            continue;
        found = i + 2;
        if (ttp_text_columns(text + found, end - found) <= columns)
            break;
    }
    size_t behind = end < size_bytes ? strlen(" <" CUT) : 0;
    return found != 0 || columns < behind ? found : place_bytes(text, end, columns - behind);
}

/* Where the name that begins there ends, in "a < b < c"; "(3 as above)" is none by itself. */
static size_t find_caller_end(const char *text, size_t size_bytes, size_t from)
{
    static const char above[] = " as above)";
    size_t at = from;
    while (at + strlen(BY) < size_bytes &&
           (memcmp(text + at, BY, strlen(BY)) != 0 ||
            (at > strlen(above) && memcmp(text + at - strlen(above), above, strlen(above)) == 0)))
        at++;
    return at + strlen(BY) < size_bytes ? at : size_bytes;
}

/* "a < b < c" in fewer columns: "a and 2 more". Returns the columns that it took; 0: it is no such
 * text, or there is so little room that a part of the second name tells more. */
static size_t put_callers(struct tool_output *out, const char *text, const struct tool_cell *cell,
                          size_t columns)
{
    char more[MORE_BYTES] = "";
    bool is_told = false;
    size_t left = cell->more, size_bytes = cell->names_bytes, kept = 0, width = 0;
    for (size_t at = 0; at < size_bytes; left++)
        at = find_caller_end(text, size_bytes, at) + strlen(BY);
    for (size_t at = 0; at < size_bytes && left > 1; at += strlen(BY)) {
        char next[MORE_BYTES];
        at = find_caller_end(text, size_bytes, at);
        size_t length = put_more(next, --left);
        if (ttp_text_columns(text, at) + length > columns)
            break;
        is_told = columns >= COUNT_COLUMNS || kept > 0;
        kept = at;
        width = ttp_text_columns(text, at) + length;
        memcpy(more, next, sizeof more);
    }
    if (!is_told)
        return 0;
    tool_output_bytes(out, text, kept);
    tool_output_text(out, more);
    return width;
}

/* Returns the columns that it took. */
static size_t put_cut(struct tool_output *out, const char *text, const struct tool_cell *cell,
                      size_t columns, bool keeps_end)
{
    size_t mark = strlen(CUT) < columns ? strlen(CUT) : columns, indent = 0;
    size_t size_bytes = cell->size_bytes, taken = put_callers(out, text, cell, columns);
    if (taken > 0)
        return taken;
    while (indent < size_bytes && text[indent] == ' ') /* of a tree */
        indent++;
    size_t left = columns > 2 * mark + indent
                      ? scopes_bytes(text + indent, size_bytes - indent, columns - mark - indent)
                      : 0;
    indent = left != 0 ? indent : 0;
    put_blanks(out, indent);
    text += indent;
    size_bytes -= indent;
    columns -= indent;
    if (keeps_end)
        left =
            ttp_text_cut(text, size_bytes, ttp_text_columns(text, size_bytes) - (columns - mark));
    size_t room = columns - (left != 0 ? mark : 0), rest = size_bytes - left;
    size_t wanted = ttp_text_columns(text + left, rest);
    if (left != 0)
        tool_output_bytes(out, CUT, mark);
    if (wanted <= room) {
        tool_output_bytes(out, text + left, rest);
        return indent + columns - room + wanted;
    }
    tool_output_bytes(out, text + left, ttp_text_cut(text + left, rest, room - mark));
    tool_output_bytes(out, CUT, mark);
    return indent + columns;
}

static void put_cell(struct tool_output *out, const struct tool_table *table,
                     const struct tool_cell *cell, size_t width, const struct tool_column *column,
                     bool is_last)
{
    const char *text = table->text + cell->start;
    size_t columns = cell->columns < width ? cell->columns : width;
    put_blanks(out, column->is_text ? 0 : width - columns);
    if (cell->columns > width)
        columns = put_cut(out, text, cell, width, column->keeps_end);
    else
        tool_output_bytes(out, text, cell->size_bytes);
    put_blanks(out, column->is_text && !is_last ? width - columns : 0);
}

static void put_titles(const struct tool_table *table, struct tool_output *out,
                       const struct layout *to, bool colours)
{
    bool first = true;
    tool_output_text(out, colours ? "\033[1m" : "");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tool_column *column = &table->columns[i];
        size_t length = strlen(column->title);
        if (!to->shown[i])
            continue;
        length = length < to->widths[i] ? length : to->widths[i];
        put_blanks(out, first ? 0 : GAP);
        put_blanks(out, column->is_text ? 0 : to->widths[i] - length);
        tool_output_bytes(out, column->title, length);
        put_blanks(out,
                   column->is_text && i + 1 < table->column_count ? to->widths[i] - length : 0);
        first = false;
    }
    tool_output_text(out, colours ? "\033[0m\n" : "\n");
}

unsigned tool_table_width(struct tool_table *table, bool is_shortened)
{
    unsigned columns = tool_terminal_columns();
    if (columns > 0 || !is_shortened)
        return columns;
    table->keeps_all = true;
    table->least = LEAST_PLAIN;
    return PLAIN_COLUMNS;
}

void tool_table_print(const struct tool_table *table, struct tool_output *out, unsigned columns,
                      bool colours)
{
    struct layout to;
    measure(table, &to);
    if (columns > 0)
        fit(table, &to, columns);
    put_titles(table, out, &to, colours);
    for (size_t row = 0; row < table->row_count && out->failed_errno == 0; row++) {
        bool first = true;
        for (size_t i = 0; i < table->column_count; i++) {
            const struct tool_cell *cell = &table->cells[row * table->column_count + i];
            if (!to.shown[i])
                continue;
            put_blanks(out, first ? 0 : GAP);
            tool_put_tone(out, colours ? cell->tone : TOOL_PLAIN, true);
            put_cell(out, table, cell, to.widths[i], &table->columns[i],
                     i + 1 == table->column_count);
            tool_put_tone(out, colours ? cell->tone : TOOL_PLAIN, false);
            first = false;
        }
        tool_output_text(out, "\n");
    }
}
