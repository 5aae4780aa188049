/* Flags and codes of system calls in words, by the system's own headers: which numbers have which
 * names is asked of the compiler, their order is what users of strace expect. */
#ifndef TOOL_KERNEL_FLAGS_H
#define TOOL_KERNEL_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/command/output.h"

/* False: the letter (kernel_calls.h) has no words, and nothing was written. */
bool tool_kernel_put_flags(struct tool_output *out, char letter, uint64_t value);
/* "ENOENT"; NULL: none is known. */
const char *tool_kernel_error_name(uint64_t number);

#endif
