/* Escaping of names that come from files, so that no byte of them acts on a terminal or breaks a
 * format. */
#ifndef TTP_BASE_ESCAPE_H
#define TTP_BASE_ESCAPE_H

#include <stddef.h>

enum ttp_escape_style {
    TTP_ESCAPE_TERMINAL, /* control, C1, bidi and invalid bytes as \xNN */
    TTP_ESCAPE_TEXT,     /* the same, and a backslash as \\: unambiguous */
    TTP_ESCAPE_QUOTED,   /* the same, and a quotation mark as \": what stands between two */
    TTP_ESCAPE_JSON      /* the inside of a JSON string; an invalid byte NN as \\xNN */
};

/* Bytes that one byte can become, at most. */
#define TTP_ESCAPE_MAX 6u

/* Writes the escaped form (at most TTP_ESCAPE_MAX * size_bytes bytes) and returns its size. */
size_t ttp_escape(char *out, enum ttp_escape_style style, const char *data, size_t size_bytes);

#endif
