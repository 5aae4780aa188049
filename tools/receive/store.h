/* The folder of a receiver, and the files that come into it. Names were checked, files are made
 * exclusively and never through a link, and what is written is whole chunks, but for the last. */
#ifndef TOOL_RECEIVE_STORE_H
#define TOOL_RECEIVE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/send/arrival.h"
#include "tools/send/wire.h"

struct receive_store {
    int fd;
    bool replaces;
    uint64_t max_bytes, used_bytes; /* max_bytes 0: no limit */
    uint64_t counted_seconds;       /* when, as files go that nobody told us of */
};

struct receive_file {
    int fd; /* -1: none */
    char name[TOOL_SEND_NAME_MOST + 1];
    struct tool_arrival arrival;
    uint64_t old_bytes; /* that were there, of which arrival says how many were checked */
    uint64_t charged_bytes;
};

/* Makes the folder where there is none. Returns a tool_exit; what failed was said. */
int receive_store_open(struct receive_store *store, const char *path);
void receive_store_close(struct receive_store *store);

/* What a sender is told. kind HAS: all is well. */
struct receive_answer {
    enum tool_send_kind kind;
    char text[TOOL_SEND_TEXT_MOST + 1];
};

/* Whether a new trace could have the name. */
bool receive_store_asks(struct receive_store *store, const char *name,
                        struct receive_answer *answer);
/* A new file, or the one that is the beginning of the same trace: that is checked first. */
bool receive_file_open(struct receive_file *file, struct receive_store *store,
                       const struct tool_send_hello *hello, struct receive_answer *answer);
/* Goes on checking what was there; when it is done, what does not verify is cut off. False: it
 * cannot be read. */
bool receive_file_check(struct receive_file *file, struct receive_store *store, bool *is_done,
                        struct receive_answer *answer);
/* Takes what came. False: the answer says why not; what is whole stays. */
bool receive_file_take(struct receive_file *file, struct receive_store *store, const uint8_t *data,
                       size_t size_bytes, struct receive_answer *answer);
/* What is whole is on the disk then. */
bool receive_file_sync(const struct receive_file *file, struct receive_answer *answer);
/* Cuts off what is not whole; a file without a partition is removed, and the result is false. */
bool receive_file_close(struct receive_file *file, struct receive_store *store);

#endif
