/* The elements of a Chrome trace file one by one, from a file or pipe of any length: where an
 * object begins and ends is found here, what it says is a JSON library's matter. */
#ifndef TOOL_JSON_STREAM_H
#define TOOL_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_JSON_OBJECT_MAX (16u * 1024u * 1024u) /* of longer ones a value is left out */

struct tool_json_stream {
    int fd, failed_errno;
    char *buffer;
    size_t at, end, capacity;
    size_t kept;      /* bytes from here on must stay in the buffer */
    bool is_keeping;  /* `kept` counts */
    size_t value;     /* of what is kept: where the value of a key starts, 0: none */
    bool is_dropping; /* it is too long: it is null */
    bool has_dropped; /* so was a value of this object */
    bool is_looking;  /* what is kept will be read again */
    bool has_overrun; /* there was more to keep than TOOL_JSON_OBJECT_MAX: it is gone */
    uint64_t offset;  /* of buffer[0] in the input */
    bool ended;       /* the input did */
};

/* Part of an object's bytes. */
struct tool_json_part {
    size_t start, size_bytes; /* size 0: not there */
};

/* An object: its bytes live until the next call. */
struct tool_json_object {
    const char *text;
    size_t size_bytes;
    uint64_t offset;               /* in the input */
    struct tool_json_part ts, dur; /* the values of these keys, as written */
    bool is_complete;              /* false: the input ends in it */
    bool is_too_long;              /* for keys and short values alone */
    bool has_dropped;              /* a value was too long: it is null */
};

/* What an object is, as far as its keys tell. */
enum tool_json_what { TOOL_JSON_OTHER, TOOL_JSON_EVENT, TOOL_JSON_CONTAINER };

/* Reads fd from where it stands, after the bytes that were read before. Passes over a byte order
 * mark at their start; offsets count it. */
void tool_json_stream_open(struct tool_json_stream *json, int fd, const void *head,
                           size_t head_bytes);
void tool_json_stream_close(struct tool_json_stream *json);

/* The next byte that is no blank, left where it is; -1 at the end. */
int tool_json_stream_peek(struct tool_json_stream *json);
/* Takes the byte that peek saw. */
void tool_json_stream_skip(struct tool_json_stream *json);
uint64_t tool_json_stream_offset(const struct tool_json_stream *json);

/* The object that starts here (peek says '{'). */
void tool_json_stream_object(struct tool_json_stream *json, struct tool_json_object *out);
/* Which of the keys "ph" and "traceEvents" comes first in the object that starts here; nothing is
 * taken. */
enum tool_json_what tool_json_stream_look(struct tool_json_stream *json);
/* Passes over a value of any kind, however long. False: the input ends in it. */
bool tool_json_stream_pass(struct tool_json_stream *json);
/* Takes a string (peek says '"') up to `capacity` bytes, escapes as they are, NUL-terminated.
 * False: it does not fit or does not end; it was passed over. */
bool tool_json_stream_string(struct tool_json_stream *json, char *into, size_t capacity);

#endif
