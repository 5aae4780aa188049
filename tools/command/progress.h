/* Progress on a terminal: rate and time left, only for what takes over a second. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdint.h>

/* Starts one; `what` ("convert") is borrowed. Silent where standard error is no terminal. */
void tool_progress_start(const char *what);

/* Says how far it is: done of total bytes (total 0: unknown), and events so far (0: not counted).
 * Cheap enough for every few thousand events. */
void tool_progress_update(uint64_t done_bytes, uint64_t total_bytes, uint64_t event_count);

/* Wipes the line, so that a message can be written. */
void tool_progress_clear(void);

void tool_progress_stop(void);

/* Of the monotonic clock. */
uint64_t tool_now_ns(void);
uint64_t tool_now_ms(void);

#endif
