/* A recording whose trace goes to a receiver while it grows: -o tcp://HOST:PORT[/NAME]. */
#ifndef TOOL_RECORD_SEND_H
#define TOOL_RECORD_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/send/sender.h"

struct tool_record_send {
    bool is_asked;
    char *shown; /* what messages call the trace */
    char *local; /* what it is called here, until it is sent: no trace of the user's */
    struct tool_sender sender;
};

/* Whether the receiver would take it. Returns a tool_exit; what is wrong was said. `output` NULL,
 * or no tcp://: nothing is sent. */
int tool_record_send_open(struct tool_record_send *send, const char *verb, const char *output,
                          const char *command_name);
/* The trace has begun, in the recording's folder or (`is_live`) under its name. */
void tool_record_send_begin(struct tool_record_send *send, const char *output, bool is_live,
                            uint64_t spill_bytes, bool (*gives_up)(void));
/* More waits than may: recording is off meanwhile. */
bool tool_record_send_is_full(const struct tool_record_send *send);
/* The trace is complete, or (`is_complete` false) there is none. Returns `status`, or where that
 * is 0 what became of it. */
int tool_record_send_end(struct tool_record_send *send, const char *output, bool is_complete,
                         bool is_quiet, int status);
void tool_record_send_close(struct tool_record_send *send);

#endif
