/* A module that has plans: its bytes, and what its plans are called by. */
#ifndef TOOL_PLAN_MODULE_H
#define TOOL_PLAN_MODULE_H

#include "program/binary/plans/plan_cache.h"
#include "recorder/arena/plan.h"

#define TOOL_PLAN_NAME_BYTES 128u
#define TOOL_PLAN_FILE_MAX   ((uint64_t)1 << 30) /* bytes of an ELF file that has a plan */

/* An ELF file read into memory, whole: what another process does to it meanwhile shows nowhere. */
struct tool_plan_input {
    uint8_t *bytes;
    size_t size_bytes;
};

/* Returns NULL, or why not (static text). Close it in any case. */
const char *tool_plan_input_open(struct tool_plan_input *input, const char *path);
/* The same of an open file. */
const char *tool_plan_input_read(struct tool_plan_input *input, int fd);
void tool_plan_input_close(struct tool_plan_input *input);

struct tool_plan_module {
    int fd;
    struct ttp_plan_stamp stamp;
    bool is_known; /* what is in it, by its hash */
    uint8_t content[TTP_PLAN_CONTENT_BYTES];
    struct tool_plan_input input; /* bytes NULL: it was not read */
};

/* Opens a file that may have plans. Returns NULL, or why not. Close it in any case. */
const char *tool_plan_module_open(struct tool_plan_module *module, const char *path);
void tool_plan_module_close(struct tool_plan_module *module);
/* Whether the folder knows what is in it. */
bool tool_plan_module_find(struct tool_plan_module *module, const struct tool_plan_cache *cache);
/* Reads it and hashes it; the folder (NULL: none) knows it then. What is read is of one time: a
 * file that is being changed has no content. Returns NULL, or why not. */
const char *tool_plan_module_read(struct tool_plan_module *module, struct tool_plan_cache *cache);

/* CONTENT and a suffix. */
void tool_plan_name(char name[TOOL_PLAN_NAME_BYTES], const uint8_t content[TTP_PLAN_CONTENT_BYTES],
                    const char *suffix);
#endif
