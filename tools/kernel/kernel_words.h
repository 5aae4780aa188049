/* A system call as users of strace read it:
 *
 *     openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC)    = 3
 *
 * Values of the enter are the arguments, the first of the exit is the result, what else it has are
 * contents of buffers (spec/format.md, F-SIT-11). What was not recorded is an address. */
#ifndef TOOL_KERNEL_WORDS_H
#define TOOL_KERNEL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/types.h>

#include "tools/command/output.h"

/* Says what a descriptor is: strace -y's "</etc/passwd>". */
struct tool_kernel_descriptors {
    void (*put)(void *context, struct tool_output *out, int32_t descriptor);
    void *context;
};

struct tool_call_values {
    uint64_t number; /* of the call: its site's address */
    const ttape_value *arguments, *results;
    uint32_t argument_count, result_count;
    const struct tool_kernel_descriptors *descriptors; /* NULL: they are numbers */
};

/* A call that failed returns -errno, which is above -4096. */
static inline bool tool_kernel_is_error(int64_t result) { return result < 0 && result > -4096; }

/* A letter (kernel_calls.h) for each argument that this call has; a blank: it is not asked for. */
const char *tool_kernel_letters(const struct tool_call_values *call);
/* One of its path arguments is this, or something below it, as the program wrote it. */
bool tool_kernel_has_path(const struct tool_call_values *call, const char *path);
/* One of its arguments is this descriptor. */
bool tool_kernel_has_descriptor(const struct tool_call_values *call, int32_t descriptor);

/* One argument, by its letter (kernel_calls.h). */
void tool_kernel_put_number(struct tool_output *out, char letter, uint64_t value);
/* What a descriptor is stands behind its number, where that is asked for. */
void tool_kernel_put_descriptor(struct tool_output *out, const struct tool_call_values *call,
                                int32_t descriptor);
/* "(AT_FDCWD, ...)"; nothing where no arguments were recorded. */
void tool_kernel_put_arguments(struct tool_output *out, const struct tool_call_values *call);
/* " = -1 ENOENT (No such file or directory)"; nothing where no result was recorded. */
void tool_kernel_put_result(struct tool_output *out, const struct tool_call_values *call);

#endif
