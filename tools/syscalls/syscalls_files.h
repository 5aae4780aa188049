/* Which files were used, how, and from which code: a row is a file, an operation and the path that
 * led to it. Files are what calls were given as paths, and what descriptors were opened as. */
#ifndef TOOL_SYSCALLS_FILES_H
#define TOOL_SYSCALLS_FILES_H

#include "tools/syscalls/syscalls_view.h"

struct tool_sys_files;

/* Calls come in the order of time, of all threads. */
struct tool_sys_files *tool_sys_files_open(void);
void tool_sys_files_close(struct tool_sys_files *files);
/* A call that has ended, with its arguments as they were kept; `is_asked`: it is one to show. */
void tool_sys_files_add(struct tool_sys *view, const struct tool_sys_kept *kept,
                        const ttape_call_step *step, const ttape_call *call, bool is_asked);
void tool_sys_files_table(struct tool_sys *view, uint64_t limit, struct tool_output *out);
void tool_sys_files_json(struct tool_sys *view, uint64_t limit, struct tool_output *out);

#endif
