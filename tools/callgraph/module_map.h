/* Where a process had its modules: a copy of /proc/PID/maps, or the line that the runtime says with
 * TRACETAPE_CONTEXT_MAP (anywhere in a file, such as the log). */
#ifndef TOOL_MODULE_MAP_H
#define TOOL_MODULE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/reader.h>

#define TOOL_MAP_BUILD_ID_MAX 64u

struct tool_mapped {
    uint64_t start; /* of its first page */
    char *path;
    uint32_t build_id_bytes; /* 0: not known */
    uint8_t build_id[TOOL_MAP_BUILD_ID_MAX];
};

struct tool_module_map {
    struct tool_mapped *modules;
    size_t count, capacity;
};

/* Returns a tool_exit; what failed has been reported. */
int tool_module_map_read(struct tool_module_map *map, const char *path);
void tool_module_map_close(struct tool_module_map *map);
/* Where it has the module of that build id, or of that path where it knows none of build ids; of a
 * path the last part counts. False: it has none. */
bool tool_module_map_find(const struct tool_module_map *map, ttape_string path,
                          ttape_string build_id, uint64_t *start);
/* The address that a trace has, as it is in the map's process; without a map, or the module in it,
 * as it is. */
uint64_t tool_module_map_address(const struct tool_module_map *map, const ttape_module *module,
                                 uint64_t address);

#endif
