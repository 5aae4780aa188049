/* Source code with what ran of it, for people: a word or a number in front of each line, and
 * colours beside them where there is a terminal. */
#define _GNU_SOURCE /* asprintf */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/pager.h"
#include "tools/io/table.h"
#include "tools/lines/lines_print.h"

#define NEAR_LINES   8u    /* between lines of code that are shown with what is between them */
#define SCREEN_LINES 30u   /* more do not fit on a screen: there, */
#define FOLDED_LINES 6u    /* so many in a row that did not run, or more, are one */
#define TEXT_BYTES   4096u /* of a source line; the rest is left out */

/* -- source files -- */

/* A source file, read line by line; file NULL: it is not there. */
struct source {
    FILE *file;
    uint32_t line; /* that `text` is */
    char text[TEXT_BYTES];
};

/* As it was compiled; else below the folder that was given, by as many parts of its path as
 * possible. */
static FILE *open_source(const char *sources, const char *path)
{
    FILE *file = NULL;
    const char *rest = path;
    if (sources == NULL)
        return fopen(path, "re");
    for (; rest != NULL && file == NULL; rest = strchr(rest, '/')) {
        char *full = NULL;
        rest += rest[0] == '/';
        if (asprintf(&full, "%s/%s", sources, rest) < 0)
            tool_out_of_memory();
        file = fopen(full, "re");
        free(full);
    }
    return file != NULL ? file : fopen(path, "re");
}

/* The line's text without its end; false: the file has no such line. */
static bool read_line(struct source *source, uint32_t line)
{
    while (source->file != NULL && source->line < line) {
        if (fgets(source->text, sizeof source->text, source->file) == NULL)
            return false;
        size_t size = strlen(source->text);
        bool is_whole = size > 0 && source->text[size - 1] == '\n';
        source->text[size - is_whole] = '\0';
        for (int c = 0; !is_whole && c != '\n' && c != EOF;)
            c = fgetc(source->file);
        source->line++;
    }
    return source->file != NULL && source->line == line;
}

/* -- rows -- */

static const char *const tones[] = {"\033[32m", "\033[33m", "\033[31m", "\033[35m"};

static void put_state(struct tool_output *out, const struct tool_source_line *line, size_t choice,
                      bool colours)
{
    static const char *const words[] = {"", "elsewhere", "never", "not seen"};
    char text[40] = "";
    if (line != NULL) {
        enum tool_lines_state state = line->state[choice];
        if (state == TOOL_LINE_RAN)
            (void)snprintf(text + tool_put_count(text, line->count[choice]), 2, "%s",
                           line->is_joined         ? "~"
                           : line->is_sure[choice] ? ""
                                                   : "+");
        else
            (void)snprintf(text, sizeof text, "%s", words[state]);
        if (colours)
            tool_output_text(out, tones[state]);
    }
    tool_output_printf(out, "%12s", text);
    if (line != NULL && colours)
        tool_output_text(out, "\033[0m");
}

/* What is being printed: a table of lines with one or two choices. */
struct printing {
    struct tool_output *out;
    struct tool_lines_info info;
    bool colours, folds;
};

static void put_line(const struct printing *p, const struct tool_source_line *line, uint32_t number,
                     struct source *source)
{
    struct tool_output *out = p->out;
    bool has_text = read_line(source, number);
    for (size_t k = 0; k < 1 + (size_t)p->info.has_second; k++)
        put_state(out, line, k, p->colours);
    tool_output_printf(out, "  %6" PRIu32, number);
    if (has_text && source->text[0] != '\0') {
        tool_output_text(out, "  ");
        for (const char *at = source->text; *at != '\0';) { /* tabs stay what they are */
            size_t size = strcspn(at, "\t");
            tool_output_escaped(out, TTP_ESCAPE_TERMINAL, (ttape_string){at, size});
            at += size;
            if (*at == '\t') {
                tool_output_text(out, "\t");
                at++;
            }
        }
    }
    if (line != NULL && line->inlined != NULL && line->inlined[0] != '\0') {
        tool_output_text(out, "  [inlined: ");
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL,
                            (ttape_string){line->inlined, strlen(line->inlined)});
        tool_output_text(out, "]");
    }
    tool_output_text(out, "\n");
}

/* How many lines of a file, from the first on, did not run for the same reason. */
static size_t count_silent(const struct printing *p, const struct tool_source_line *lines,
                           size_t count)
{
    size_t i = 0;
    for (; i < count && lines[i].file == lines[0].file; i++)
        for (size_t k = 0; k < 1 + (size_t)p->info.has_second; k++)
            if (lines[i].state[k] == TOOL_LINE_RAN || lines[i].state[k] != lines[0].state[k])
                return i;
    return i;
}

static void put_silent(const struct printing *p, const struct tool_source_line *lines, size_t count)
{
    for (size_t k = 0; k < 1 + (size_t)p->info.has_second; k++)
        put_state(p->out, lines, k, p->colours);
    tool_output_printf(p->out, "  %6" PRIu32 "  to %" PRIu32 ": %zu lines (--all shows them)\n",
                       lines[0].line, lines[count - 1].line, count);
}

/* Lines of one file, with what is between them where that is little; returns how many. */
static size_t put_file(const struct printing *p, const char *path, const char *sources,
                       const struct tool_source_line *lines, size_t count)
{
    struct source source = {.file = open_source(sources, path)};
    size_t i = 0;
    tool_output_escaped(p->out, TTP_ESCAPE_TERMINAL, (ttape_string){path, strlen(path)});
    tool_output_text(p->out, source.file != NULL ? "\n" : ": not there (see --sources)\n");
    for (; i < count && lines[i].file == lines[0].file; i++) {
        bool is_near = i > 0 && lines[i].line - lines[i - 1].line <= NEAR_LINES;
        if (i > 0 && !is_near)
            tool_output_text(p->out, "\n");
        for (uint32_t n = is_near && source.file != NULL ? lines[i - 1].line + 1 : lines[i].line;
             n < lines[i].line; n++)
            put_line(p, NULL, n, &source);
        size_t silent = p->folds ? count_silent(p, lines + i, count - i) : 0;
        if (silent >= FOLDED_LINES) {
            put_silent(p, lines + i, silent);
            i += silent - 1;
        } else {
            put_line(p, &lines[i], lines[i].line, &source);
        }
    }
    if (source.file != NULL)
        (void)fclose(source.file);
    return i;
}

static void put_edges(const struct tool_lines_print *print, struct tool_output *out)
{
    size_t edge_count;
    const struct tool_lines_edge *edges = tool_source_lines_get_edges(print->lines, &edge_count);
    tool_output_text(out, "\n       TIMES  FROM, TO\n");
    for (size_t i = 0; i < edge_count; i++) {
        const struct tool_lines_at *from = &edges[i].from_at, *to = &edges[i].to_at;
        char count[40];
        if (from->file == TTAPE_NONE || to->file == TTAPE_NONE)
            continue;
        count[tool_put_count(count, edges[i].count)] = '\0';
        tool_output_printf(out, "%12s  ", count);
        const char *name = ttp_base_name(tool_source_lines_file(print->lines, from->file));
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL, (ttape_string){name, strlen(name)});
        tool_output_printf(out, ":%" PRIu32 " -> %" PRIu32 "\n", from->line, to->line);
    }
}

static void put_calls(const struct tool_lines_print *print, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "CALL", .is_text = true},
        {.title = "START"},
        {.title = "TIMES"},
        {.title = "FUNCTION", .is_text = true, .gives_way = true}};
    size_t count;
    ttape_info info;
    struct tool_table table;
    char id[TOOL_CALL_ID_BYTES];
    const ttape_passes_call *calls = tool_source_lines_get_calls(print->lines, &count);
    ttape_reader_get_info(print->reader, &info);
    tool_table_open(&table, columns, 4);
    for (size_t i = 0; i < count; i++) {
        const ttape_passes_call *call = &calls[i];
        uint64_t start = call->enter_ns - info.time_first_ns;
        tool_table_text(&table, TOOL_PLAIN, tool_put_call(id, call->stream, call->enter_number));
        tool_table_printf(&table, TOOL_FAINT, "+%" PRIu64 ".%09" PRIu64 "s", start / 1000000000u,
                          start % 1000000000u);
        tool_table_count(&table, TOOL_PLAIN, call->count);
        tool_table_text(&table, TOOL_PLAIN, tool_site_name(print->names, call->site));
    }
    tool_table_print(&table, out, tool_table_width(&table, print->names->is_shortened),
                     tool_terminal_colours());
    tool_table_close(&table);
}

void tool_lines_text(const struct tool_lines_print *print, struct tool_output *out)
{
    size_t count;
    struct printing p = {.out = out, .colours = tool_terminal_colours()};
    const struct tool_source_line *lines = tool_source_lines_get_rows(print->lines, &count);
    tool_source_lines_get_info(print->lines, &p.info);
    p.folds = !print->wants_all && count > SCREEN_LINES;
    if (p.info.lists_calls) {
        put_calls(print, out);
        return;
    }
    tool_output_printf(out, "%12s", p.info.has_second ? "FIRST" : "TIMES");
    if (p.info.has_second)
        tool_output_printf(out, "%12s", "SECOND");
    tool_output_text(out, "    LINE  SOURCE\n");
    for (size_t i = 0; i < count;) {
        const char *path = tool_source_lines_file(print->lines, lines[i].file);
        if (i > 0)
            tool_output_text(out, "\n");
        i += put_file(&p, path, print->sources, lines + i, count - i);
    }
    if (print->wants_edges)
        put_edges(print, out);
}
