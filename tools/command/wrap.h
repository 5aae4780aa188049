/* Text for people, no wider than their terminal. */
#ifndef TOOL_WRAP_H
#define TOOL_WRAP_H

#include <stddef.h>

#include "tools/command/output.h"

/* A line of text, and its end. It begins in column `at`; what does not fit goes on in lines that
 * begin with so many blanks. columns: of the terminal; 0: any. */
void tool_put_wrapped(struct tool_output *out, const char *text, size_t size_bytes, size_t at,
                      size_t blanks, unsigned columns);

/* What is written to an output meanwhile, whose lines stay lines: where the terminal is too narrow
 * for one, the rest goes on below, two blanks further in; of a line that begins with a blank, in
 * column `blanks` at least. */
struct tool_folding {
    struct tool_output *out, into;
    size_t blanks;
};

struct tool_folding tool_folding_open(struct tool_output *out, size_t blanks);
void tool_folding_close(struct tool_folding *folding);

/* Lines, and their last one's end. Where one is too wide, lines of a paragraph are joined and
 * broken anew; what begins with a blank stays a line. */
void tool_put_paragraphs(struct tool_output *out, const char *text, unsigned columns);

#endif
