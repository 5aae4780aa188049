/* What the two sides of a connection say before and beside the trace's bytes: spec/send.md. Pure:
 * bytes in, values out. */
#ifndef TOOL_SEND_WIRE_H
#define TOOL_SEND_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/container/layout.h"

#define TOOL_SEND_VERSION    1
#define TOOL_SEND_NAME_MOST  200u
#define TOOL_SEND_TEXT_MOST  400u
#define TOOL_SEND_HELLO_MOST (16u + TTP_FILE_HEADER_BYTES + TOOL_SEND_NAME_MOST + 8u)
#define TOOL_SEND_SAID_BYTES 24u
#define TOOL_SEND_SAID_MOST  (TOOL_SEND_SAID_BYTES + TOOL_SEND_TEXT_MOST)
#define TOOL_SEND_SUFFIX     ".ttape"
#define TOOL_SEND_PORT       8271

struct tool_send_hello {
    char name[TOOL_SEND_NAME_MOST + 1];
    uint8_t header[TTP_FILE_HEADER_BYTES]; /* zeros: a question only */
};

enum tool_send_parsed {
    TOOL_SEND_MORE, /* it goes on behind these bytes */
    TOOL_SEND_GOOD,
    TOOL_SEND_OTHER_VERSION,
    TOOL_SEND_BAD
};

/* Whether it can be the name of a trace in a receiver's folder. */
bool tool_send_is_name(const char *name, size_t size_bytes);
bool tool_send_is_question(const struct tool_send_hello *hello);

/* Returns how many bytes were written. */
size_t tool_send_put_hello(const struct tool_send_hello *hello, uint8_t out[TOOL_SEND_HELLO_MOST]);
/* *taken: its bytes, where it is GOOD; *hello is untouched otherwise. */
enum tool_send_parsed tool_send_get_hello(const uint8_t *data, size_t size_bytes,
                                          struct tool_send_hello *hello, size_t *taken);

enum tool_send_kind { TOOL_SEND_HAS = 1, TOOL_SEND_NO = 2, TOOL_SEND_NOT_NOW = 3 };

/* What a receiver says. */
struct tool_send_said {
    enum tool_send_kind kind;
    uint64_t offset, prefix;
    char text[TOOL_SEND_TEXT_MOST + 1];
};

size_t tool_send_put_said(const struct tool_send_said *said, uint8_t out[TOOL_SEND_SAID_MOST]);
enum tool_send_parsed tool_send_get_said(const uint8_t *data, size_t size_bytes,
                                         struct tool_send_said *said, size_t *taken);

/* HOST:PORT, [HOST]:PORT, and with a name behind a slash. */
struct tool_send_place {
    char host[256], port[8];
    char name[TOOL_SEND_NAME_MOST + 1]; /* empty: none was given */
};

bool tool_send_is_url(const char *text);
/* False: `why` says what is wrong with it. */
bool tool_send_parse_place(const char *text, struct tool_send_place *place, const char **why);

#endif
