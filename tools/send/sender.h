/* A trace on its way to a receiver, on a thread of its own: what is new in the file is sent, what
 * is acknowledged may give its room back, a connection that is lost is made again. Nobody who
 * writes the file waits: spec/send.md. */
#ifndef TOOL_SENDER_H
#define TOOL_SENDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/task.h"
#include "tools/send/arrival.h"
#include "tools/send/wire.h"

struct tool_sender {
    struct tool_send_place place; /* with a name */
    int fd;                       /* of the file; -1: nothing is sent */
    uint64_t spill_bytes;         /* what may be on this disk; 0: no limit, and all of it stays */
    bool (*gives_up)(void);       /* NULL: nobody says so */
    atomic_bool has_ended;        /* nothing more is written */
    atomic_bool is_dropped;       /* whatever is missing, it ends */
    atomic_bool is_full;          /* more than spill_bytes is not acknowledged */
    ttp_thread thread;
    bool has_thread;
    /* the thread's, and the caller's behind the end */
    uint64_t acknowledged_bytes, size_bytes;
    uint64_t progress_ms, answer_ms, given_back_bytes;
    uint32_t lost_count;               /* connections */
    bool is_complete, is_refused;      /* for good, by the last answer */
    char why[TOOL_SEND_TEXT_MOST + 1]; /* it could not go on, the last time */
    struct tool_arrival behind;        /* over what is acknowledged, for its room */
};

/* Whether the receiver would take a new trace of the name. False: that was said. */
bool tool_sender_ask(const struct tool_send_place *place);
/* `sender` has place, fd and the rest of its wishes, and stays where it is. */
void tool_sender_begin(struct tool_sender *sender);
/* The file has all that it will have: waits until all is acknowledged, or nothing goes on. With
 * `is_dropped` not even that. Closes the file. Returns whether the receiver has all. */
bool tool_sender_end(struct tool_sender *sender, bool is_dropped);

#endif
