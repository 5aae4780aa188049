/* A hash table from byte strings (names, pids, keys of several words) to 32-bit numbers. */
#ifndef TOOL_NAME_TABLE_H
#define TOOL_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Byte strings -> numbers: open addressing, grows. Places are found under a secret. */
struct tool_names {
    struct tool_name_slot *slots;
    size_t count, capacity;
    uint64_t secret; /* 0: it is made with the table; tables of a moment may share one */
};
/* The place of a key's number; *is_new: it was not there (and holds TTAPE_NONE). Lives until the
 * next call. */
uint32_t *tool_names_find(struct tool_names *names, const void *key, size_t size_bytes,
                          bool *is_new);
void tool_names_close(struct tool_names *names);

#endif
