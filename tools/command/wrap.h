/* Text for people, no wider than their terminal. */
#ifndef TOOL_WRAP_H
#define TOOL_WRAP_H

#include <stddef.h>

struct tool_output;

/* A line of text, and its end. It begins in column `at`; what does not fit goes on in lines that
 * begin with so many blanks. columns: of the terminal; 0: any. */
void tool_put_wrapped(struct tool_output *out, const char *text, size_t size_bytes, size_t at,
                      size_t blanks, unsigned columns);

/* Lines, and their last one's end. Where one is too wide, lines of a paragraph are joined and
 * broken anew; what begins with a blank stays a line. */
void tool_put_paragraphs(struct tool_output *out, const char *text, unsigned columns);

#endif
