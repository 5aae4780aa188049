/* The kernel's system calls of x86-64: classes, and what their arguments are. Names are the
 * library's (ttape_system_call_name). */
#ifndef TOOL_KERNEL_CALLS_H
#define TOOL_KERNEL_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/types.h>

struct tool_kernel_call {
    uint32_t number;
    const char *classes;   /* letters of tool_kernel_classes */
    const char *arguments; /* a letter each, below; NULL: not known, six numbers */
};

/* Numbers: d int, 4 unsigned int, - user or group (-1: none), u unsigned,
 * + signed, x bits, = bits of an int, p address, m mode. Contents: s path, S other
 * string, b bytes whose number is the next argument, < the same, filled by the call, > with a
 * string, | a list of strings. Descriptors: f, and a of a folder or AT_FDCWD. Words of
 * kernel_flags.c: files o open, y descriptors, A access, @ *at, Q faccessat2, U unlinkat, R
 * renameat2, T statx and X its mask, W whence, k flock, & fadvise, $ fallocate, F fcntl, e FD_, I
 * ioctl, # memfd; memory P protection, M mapping, z mremap, Z msync, D madvise; signals g, H mask;
 * waiting w, J waitid, j futex, E epoll_ctl, B epoll_create1, % eventfd2; time c clock, t timer, i
 * interval; sockets N family, K kind, V protocol, G message, L level, O and Y options, h shutdown;
 * processes C clone, r prctl, q arch_prctl, l limit, v usage, ! priority; n getrandom. * is a
 * futex's bits. */

struct tool_kernel_class {
    const char *name; /* "file" */
    char letter;
};

/* A letter, and the sign in front of it: contents that are given ( or filled ) or both : and whose
 * letter is one of recorder/arena/call_parts.h; ' more words, whose letters have the top bit here;
 * 0: none. */
struct tool_kernel_token {
    char sign, letter;
};
/* Returns what is behind it; not to be called at the end. */
const char *tool_kernel_token(const char *at, struct tool_kernel_token *token);

/* Ends with a class without name. */
extern const struct tool_kernel_class tool_kernel_classes[];

/* NULL: nothing is known of it. */
const struct tool_kernel_call *tool_kernel_call_numbered(uint32_t number);
#define TOOL_KERNEL_NONE UINT32_MAX
/* The number of a name; TOOL_KERNEL_NONE: there is none. */
uint32_t tool_kernel_number(const char *name);
/* The same of a system call's site, whose address is its number unless somebody wrote another. */
uint32_t tool_kernel_number_of(const ttape_site *site);

#endif
