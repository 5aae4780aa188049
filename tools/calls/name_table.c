#include "tools/calls/name_table.h"

#include "tools/command/memory_limit.h"

uint32_t *tool_names_find(struct tool_names *names, const void *key, size_t size_bytes,
                          bool *is_new)
{
    if (names->region.blocks == NULL)
        names->region = tool_region();
    return ttp_text_map_at(&names->region, &names->table, key, size_bytes, is_new);
}

void tool_names_close(struct tool_names *names)
{
    ttp_region_close(&names->region);
    *names = (struct tool_names){0};
}
