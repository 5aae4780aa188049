/* Lines that ran, printed: for people, as JSON, and as a tracefile of lcov. */
#ifndef TOOL_LINES_PRINT_H
#define TOOL_LINES_PRINT_H

#include "program/lines/lines_answer.h"
#include "tools/calls/site_name.h"
#include "tools/command/output.h"

struct tool_lines_print {
    const struct tool_source_lines *lines;
    const ttape_reader *reader;
    struct tool_site_names *names;
    const char *sources; /* a folder to look for source files in, too; or NULL */
    bool wants_edges, wants_all;
};

/* "ran", "elsewhere", "never", "unseen". */
const char *tool_lines_word(enum tool_lines_state state);

void tool_lines_text(const struct tool_lines_print *print, struct tool_output *out);
void tool_lines_json(const struct tool_lines_print *print, struct tool_output *out);
void tool_lines_lcov(const struct tool_source_lines *lines, struct tool_output *out);

#endif
