/* What files of plans share, of system calls and of patches: modules, names, folders. */
#ifndef TOOL_PLAN_STORE_H
#define TOOL_PLAN_STORE_H

#include <sys/stat.h>

#include "tools/binary/plan_file.h"

/* Opens a module and says what its plan is called. Returns NULL, or why not; *fd may be open in any
 * case. */
const char *tool_plan_module_open(const char *path, const char *suffix, int *fd,
                                  struct stat *status, char name[TOOL_PLAN_NAME_BYTES]);
const char *tool_plan_module_read(int fd, const struct stat *status, struct tool_plan_input *input);

/* Whoever opens NAME finds a whole plan: it is written elsewhere and renamed. */
bool tool_plan_write(int folder, const char *name, const uint8_t *plan, size_t size_bytes);
/* The same, by the folder's path. Returns NULL, or why not. */
const char *tool_plan_put(const char *folder, const char *name, const uint8_t *plan,
                          size_t size_bytes);
/* Reads what a file of ours begins with. False: there is none, or it has less. */
bool tool_plan_head_read(int folder, const char *name, void *head, size_t head_bytes);
/* Reads a file of ours from a folder into memory of malloc; NULL: there is none, or it has more
 * than `most` bytes. What is in it is not looked at. */
uint8_t *tool_plan_read(int folder, const char *name, uint64_t most, size_t *size_bytes);

#endif
