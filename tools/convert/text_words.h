/* The words of a line of text, as the plain text raw form has them (spec/raw-text.md). */
#ifndef TOOL_TEXT_WORDS_H
#define TOOL_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

/* A word of a line; bytes are in the line, unescaped in place. */
struct tool_token {
    char *text; /* NUL-terminated (a quoted word may hold NULs of its own) */
    size_t size_bytes;
    bool quoted;
};

/* The next word. TTAPE_END: there is none; TTAPE_E_CORRUPT: a quote is not closed or an escape is
 * wrong. */
ttape_status tool_next_token(char **at, struct tool_token *token);
/* A word as a value. False: a string over the limit. */
bool tool_token_value(const struct tool_token *token, ttape_value *value);
bool tool_token_u64(const struct tool_token *token, uint64_t *value);
/* 0x... */
bool tool_token_address(const struct tool_token *token, uint64_t *value);
/* The text behind "key=", or NULL. */
const char *tool_token_after(const struct tool_token *token, const char *key);

/* Whether a line begins as one of the raw form does: a directive, or a time and a thread. */
bool tool_text_is_line(const char *line);

#endif
