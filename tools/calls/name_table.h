/* A table from byte strings to numbers whose memory is the command's: without memory it ends. */
#ifndef TOOL_NAME_TABLE_H
#define TOOL_NAME_TABLE_H

#include "base/names/text_map.h"

/* Zero is an empty one. */
struct tool_names {
    struct ttp_text_map table;
    struct ttp_region region;
};
/* Does what ttp_text_map_at does. */
uint32_t *tool_names_find(struct tool_names *names, const void *key, size_t size_bytes,
                          bool *is_new);
void tool_names_close(struct tool_names *names);

#endif
