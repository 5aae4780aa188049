/* What descriptors are, by process: the paths that they were opened as, as the program wrote them,
 * or what else made them.
 *
 *   open, dup, socket, close ... -> files of descriptors, by process -> 3</etc/passwd> */
#ifndef TOOL_SYSCALLS_DESCRIPTORS_H
#define TOOL_SYSCALLS_DESCRIPTORS_H

#include "tools/kernel/kernel_words.h"
#include "tools/syscalls/syscalls_view.h"

#define TOOL_SYS_NO_FILE UINT32_MAX

struct tool_sys_descriptors *tool_sys_descriptors_open(void);
void tool_sys_descriptors_close(struct tool_sys_descriptors *known);

/* The file that a call is about, by its path or descriptor; one that is not known has a name in
 * brackets. TOOL_SYS_NO_FILE: it is about none. */
uint32_t tool_sys_descriptors_find(struct tool_sys *view, struct tool_sys_descriptors *known,
                                   uint32_t process, const struct tool_call_values *call);
/* What a call that succeeded does to descriptors; `file` is what it is about. Calls come in the
 * order of time, of all threads. */
void tool_sys_descriptors_follow(struct tool_sys_descriptors *known, uint32_t process,
                                 const char *name, uint32_t file,
                                 const struct tool_call_values *call, int64_t result);
const char *tool_sys_descriptors_text(const struct tool_sys_descriptors *known, uint32_t file);
/* "</etc/passwd>", "<socket>"; nothing where it is not known. */
void tool_sys_descriptors_put(struct tool_sys *view, struct tool_sys_descriptors *known,
                              struct tool_output *out, uint32_t process, int32_t descriptor);

#endif
