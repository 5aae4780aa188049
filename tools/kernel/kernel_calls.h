/* The kernel's system calls of x86-64: numbers, names, classes, and what their arguments are. */
#ifndef TOOL_KERNEL_CALLS_H
#define TOOL_KERNEL_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct tool_kernel_call {
    uint32_t number;
    const char *name;
    const char *classes;   /* letters of tool_kernel_classes */
    const char *arguments; /* a letter each, below; NULL: not known, six numbers */
};

/* d number, u unsigned number, x bits, p pointer, s path, S other string, b bytes whose number is
 * the next argument, f descriptor, a descriptor of a folder or AT_FDCWD, o flags of open, m mode,
 * P protection of memory, M flags of a mapping, g signal, H how a signal mask changes, A access,
 * w options of wait, c clock, W whence, N address family, K kind of socket. */

struct tool_kernel_class {
    const char *name; /* "file" */
    char letter;
};

/* Ends with a class without name. */
extern const struct tool_kernel_class tool_kernel_classes[];

/* Ascending numbers. */
const struct tool_kernel_call *tool_kernel_calls(size_t *count);
/* NULL: there is none. */
const struct tool_kernel_call *tool_kernel_call_numbered(uint64_t number);
const struct tool_kernel_call *tool_kernel_call_named(const char *name, size_t size_bytes);

#endif
