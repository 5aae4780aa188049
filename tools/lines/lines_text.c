/* Source code with what ran of it, for people: a word or a number in front of each line, and
 * colours beside them where there is a terminal. */
#define _GNU_SOURCE /* asprintf */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "tools/command/pager.h"
#include "tools/io/table.h"
#include "program/lines/lines_inside.h"

#define NEAR_LINES 8u    /* between lines of code that are shown with what is between them */
#define TEXT_BYTES 4096u /* of a source line; the rest is left out */

enum tool_lines_state tool_lines_state(const struct tool_lines *view, const struct tool_line *line,
                                       size_t choice)
{
    if (line->count[choice] > 0)
        return TOOL_LINE_RAN;
    if (view->counts[choice].is_partial || !line->is_known)
        return TOOL_LINE_UNSEEN;
    return line->ran_elsewhere ? TOOL_LINE_ELSEWHERE : TOOL_LINE_NEVER;
}

const char *tool_lines_word(enum tool_lines_state state)
{
    static const char *const words[] = {"ran", "elsewhere", "never", "unseen"};
    return words[state];
}

/* -- source files -- */

/* A source file, read line by line; file NULL: it is not there. */
struct source {
    FILE *file;
    uint32_t line; /* that `text` is */
    char text[TEXT_BYTES];
};

/* As it was compiled; else below the folder that was given, by as many parts of its path as
 * possible. */
static FILE *open_source(const struct tool_lines *view, const char *path)
{
    FILE *file = NULL;
    const char *rest = path;
    if (view->sources == NULL)
        return fopen(path, "re");
    for (; rest != NULL && file == NULL; rest = strchr(rest, '/')) {
        char *full = NULL;
        rest += rest[0] == '/';
        if (asprintf(&full, "%s/%s", view->sources, rest) < 0)
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

static void put_state(const struct tool_lines *view, struct tool_output *out,
                      const struct tool_line *line, size_t choice, bool colours)
{
    static const char *const words[] = {"", "elsewhere", "never", "not seen"};
    char text[40] = "";
    if (line != NULL) {
        enum tool_lines_state state = tool_lines_state(view, line, choice);
        if (state == TOOL_LINE_RAN)
            (void)snprintf(text + tool_put_count(text, line->count[choice]), 2, "%s",
                           line->is_sure[choice] ? "" : "+");
        else
            (void)snprintf(text, sizeof text, "%s", words[state]);
        if (colours)
            tool_output_text(out, tones[state]);
    }
    tool_output_printf(out, "%12s", text);
    if (line != NULL && colours)
        tool_output_text(out, "\033[0m");
}

static void put_line(const struct tool_lines *view, struct tool_output *out,
                     const struct tool_line *line, uint32_t number, struct source *source)
{
    const char *inlined = line != NULL && line->inlined != NULL ? line->inlined : "";
    bool colours = tool_terminal_colours(), has_text = read_line(source, number);
    put_state(view, out, line, 0, colours);
    if (view->has_second)
        put_state(view, out, line, 1, colours);
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
    if (inlined[0] != '\0') {
        tool_output_text(out, "  [inlined: ");
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL, (ttape_string){inlined, strlen(inlined)});
        tool_output_text(out, "]");
    }
    tool_output_text(out, "\n");
}

/* Lines of one file, with what is between them where that is little. */
static size_t put_file(const struct tool_lines *view, struct tool_output *out, size_t first)
{
    const struct tool_line *lines = view->lines;
    struct source source = {.file = NULL};
    const char *path = view->files.list[lines[first].file];
    source.file = open_source(view, path);
    size_t i = first;
    tool_output_escaped(out, TTP_ESCAPE_TERMINAL, (ttape_string){path, strlen(path)});
    tool_output_text(out, source.file != NULL ? "\n" : ": not there (see --sources)\n");
    for (; i < view->line_count && lines[i].file == lines[first].file; i++) {
        bool is_near = i > first && lines[i].line - lines[i - 1].line <= NEAR_LINES;
        if (i > first && !is_near)
            tool_output_text(out, "\n");
        for (uint32_t n = is_near && source.file != NULL ? lines[i - 1].line + 1 : lines[i].line;
             n < lines[i].line; n++)
            put_line(view, out, NULL, n, &source);
        put_line(view, out, &lines[i], lines[i].line, &source);
    }
    if (source.file != NULL)
        (void)fclose(source.file);
    return i;
}

static void put_edges(const struct tool_lines *view, struct tool_output *out)
{
    tool_output_text(out, "\n       TIMES  FROM, TO\n");
    for (size_t i = 0; i < view->counts[0].edges.count; i++) {
        const ttape_passes_pair *edge = &view->counts[0].edges.list[i];
        const struct tool_lines_at *from = &view->begins[edge->from], *to = &view->begins[edge->to];
        char count[40];
        if (!tool_lines_is_edge(view, edge) || from->file == TOOL_LINES_NONE ||
            to->file == TOOL_LINES_NONE)
            continue;
        count[tool_put_count(count, edge->count)] = '\0';
        tool_output_printf(out, "%12s  ", count);
        const char *name = strrchr(view->files.list[from->file], '/');
        name = name != NULL ? name + 1 : view->files.list[from->file];
        tool_output_escaped(out, TTP_ESCAPE_TERMINAL, (ttape_string){name, strlen(name)});
        tool_output_printf(out, ":%" PRIu32 " -> %" PRIu32 "\n", from->line, to->line);
    }
}

static void put_calls(struct tool_lines *view, struct tool_output *out)
{
    static const struct tool_column columns[] = {
        {.title = "CALL", .is_text = true},
        {.title = "START"},
        {.title = "TIMES"},
        {.title = "FUNCTION", .is_text = true, .gives_way = true}};
    struct tool_table table;
    char id[TOOL_CALL_ID_BYTES];
    tool_table_open(&table, columns, 4);
    for (size_t i = 0; i < view->call_count; i++) {
        const ttape_passes_call *call = &view->calls[i];
        uint64_t start = call->enter_ns - view->info.time_first_ns;
        tool_table_text(&table, TOOL_PLAIN, tool_put_call(id, call->stream, call->enter_number));
        tool_table_printf(&table, TOOL_FAINT, "+%" PRIu64 ".%09" PRIu64 "s", start / 1000000000u,
                          start % 1000000000u);
        tool_table_count(&table, TOOL_PLAIN, call->count);
        tool_table_text(&table, TOOL_PLAIN, tool_site_name(&view->names, call->site));
    }
    tool_table_print(&table, out, tool_table_width(&table, view->names.is_shortened),
                     tool_terminal_colours());
    tool_table_close(&table);
}

void tool_lines_text(struct tool_lines *view, struct tool_output *out)
{
    if (view->line_sites != NULL) {
        put_calls(view, out);
        return;
    }
    tool_output_printf(out, "%12s", view->has_second ? "FIRST" : "TIMES");
    if (view->has_second)
        tool_output_printf(out, "%12s", "SECOND");
    tool_output_text(out, "    LINE  SOURCE\n");
    for (size_t i = 0; i < view->line_count;) {
        if (i > 0)
            tool_output_text(out, "\n");
        i = put_file(view, out, i);
    }
    if (view->wants_edges)
        put_edges(view, out);
}
