/* Escaping of names that come from files, so that no byte of them acts on a terminal or breaks a
 * format. */
#ifndef TOOL_ESCAPE_H
#define TOOL_ESCAPE_H

#include <stddef.h>

enum tool_escape_style {
    TOOL_ESCAPE_TERMINAL, /* control, C1, bidi and invalid bytes as \xNN */
    TOOL_ESCAPE_TEXT,     /* the same, and a backslash as \\: unambiguous */
    TOOL_ESCAPE_QUOTED,   /* the same, and a quotation mark as \": what stands between two */
    TOOL_ESCAPE_JSON      /* the inside of a JSON string; an invalid byte NN as \\xNN */
};

/* Bytes that one byte can become, at most. */
#define TOOL_ESCAPE_MAX 6u

/* Writes the escaped form (at most TOOL_ESCAPE_MAX * size_bytes bytes) and returns its size. */
size_t tool_escape(char *out, enum tool_escape_style style, const char *data, size_t size_bytes);

#endif
