/* The kernel's system calls of x86-64: classes, and what their arguments are. Names are the
 * library's (ttape_system_call_name). */
#ifndef TOOL_KERNEL_CALLS_H
#define TOOL_KERNEL_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct tool_kernel_call {
    uint32_t number;
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

/* NULL: nothing is known of it. */
const struct tool_kernel_call *tool_kernel_call_numbered(uint32_t number);
#define TOOL_KERNEL_NONE UINT32_MAX
/* The number of a name; TOOL_KERNEL_NONE: there is none. */
uint32_t tool_kernel_number(const char *name);

#endif
