/* Flags, codes and errors of system calls in words. */
#ifndef TOOL_KERNEL_FLAGS_H
#define TOOL_KERNEL_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/types.h>

#include "tools/command/output.h"

/* False: the letter (kernel_calls.h) has no words, and nothing was written. */
bool tool_kernel_put_flags(struct tool_output *out, char letter, uint64_t value);

struct tool_kernel_error {
    char name[24];    /* "ENOENT" */
    const char *text; /* "No such file or directory" */
};

/* False: none is known. */
bool tool_kernel_find_error(uint64_t number, struct tool_kernel_error *error);
/* What a system call returns that fails with the error of that name: a number below zero. */
bool tool_kernel_error_number(ttape_string name, int64_t *result);
/* What a constant is: of an error, or one that arguments of system calls have. */
bool tool_kernel_find_constant(ttape_string name, int64_t *value);

#endif
