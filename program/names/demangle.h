/* Names as compilers write them, turned back into names as people write them; C++ and Rust. */
#ifndef TOOL_DEMANGLE_H
#define TOOL_DEMANGLE_H

#include <stddef.h>

#define TOOL_DEMANGLE_INPUT_MAX  4096u         /* longer names stay as they are */
#define TOOL_DEMANGLE_OUTPUT_MAX (64u * 1024u) /* so do those that would become longer than this */

/* Puts the readable form of `name` into `out` (TOOL_DEMANGLE_OUTPUT_MAX bytes) and returns its
 * size (it ends with a zero that the size does not count); 0: the name stays as it is.
 *
 * Bounded in output and stack, and in time by a CPU timer of its own (SIGVTALRM), which goes on
 * once it was started: for single-threaded processes, which the symbol helper is. */
size_t tool_demangle(const char *name, char *out);

#endif
