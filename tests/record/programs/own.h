/* What a program says of itself: its calls, thread by thread, in a file that the test made and that
 * is mapped shared, so that the log survives any end of the program. The log's own functions are
 * not instrumented; they allocate nothing, keep errno, and may run in signal handlers.
 *
 *     0    number of entries, serials drawn, entries that found no room: u32 each
 *     64   entries of 32 bytes: serial u32, kind u8, 27 bytes of text
 *
 * Each thread draws a serial with its first entry; so does a forked child (own_forked). Where
 * OWN_LOG is not set, nothing is logged. */
#ifndef TTEST_OWN_H
#define TTEST_OWN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLAIN __attribute__((no_instrument_function))
#define ALONE __attribute__((noinline)) /* a frame of its own at any optimisation */

#define IN  own_put('E', __func__)
#define OUT own_put('X', __func__)

/* Kinds: E entered, X is about to return, B control came back by other ways than return, S and s a
 * signal's handler begins and ends, W goes on on stack N, f forks as N, F is the child of fork N,
 * T begins (serial's first entry: process and thread number), P the innermost frame is left by
 * unwinding, R all frames of this stack are, N a note. */
PLAIN void own_put(char kind, const char *text);
PLAIN void own_number(char kind, long number);
/* Now in `name`'s frame again: what was called from it and has not returned never will. */
PLAIN void own_back(const char *name);
PLAIN long own_forking(void);     /* before fork: a number for own_forked */
PLAIN void own_forked(long fork); /* first thing in the child */
/* Facts for the test's eyes, beside stdout, which must be the same in each run: OWN_REPORT. */
PLAIN void own_report(const char *key, long value);
PLAIN long own_argument(int argc, char **argv, int index, long otherwise);

#ifdef __cplusplus
}
#endif
#endif
