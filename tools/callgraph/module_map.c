/* Lines of two kinds; others are passed over. */
#include "tools/callgraph/module_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/callgraph/graph_functions.h"
#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/io/lines.h"

#define MODULES_MOST 100000u
#define HEX_MOST     16u

static const char line_mark[] = "tracetape map:\t";

static bool take_hex(const char **at, const char *end, uint64_t *number)
{
    size_t digits = 0;
    for (*number = 0; *at < end && tool_hex_digit(**at) >= 0; ++*at, digits++)
        *number = *number << 4 | (uint64_t)tool_hex_digit(**at);
    return digits > 0 && digits <= HEX_MOST;
}

static bool take_byte(const char **at, const char *end, char byte)
{
    bool is_there = *at < end && **at == byte;
    *at += is_there;
    return is_there;
}

static struct tool_mapped *add_mapping(struct tool_module_map *map, uint64_t start,
                                       const char *path, const char *end)
{
    if (map->count == MODULES_MOST)
        return NULL;
    tool_grow((void **)&map->modules, &map->capacity, map->count + 1, sizeof *map->modules);
    map->modules[map->count] =
        (struct tool_mapped){.start = start, .path = tool_copy_text(path, (size_t)(end - path))};
    return &map->modules[map->count++];
}

/* 55d0c0000000-55d0c0001000 r--p 00000000 fd:00 1234   /usr/bin/program */
static void take_mapping(struct tool_module_map *map, const char *at, const char *end)
{
    uint64_t start, other, offset;
    if (!take_hex(&at, end, &start) || !take_byte(&at, end, '-') || !take_hex(&at, end, &other) ||
        end - at < 6 || at[0] != ' ' || at[5] != ' ')
        return;
    at += 6;
    const char *path = memchr(at, '/', (size_t)(end - at));
    if (take_hex(&at, end, &offset) && offset == 0 && path != NULL)
        (void)add_mapping(map, start, path, end);
}

static void take_module(struct tool_module_map *map, const char *at, const char *end)
{
    struct tool_mapped found = {0};
    if (!take_hex(&at, end, &found.start) || !take_byte(&at, end, ' '))
        return;
    for (; end - at >= 2 && tool_hex_digit(at[0]) >= 0 && tool_hex_digit(at[1]) >= 0; at += 2)
        if (found.build_id_bytes < TOOL_MAP_BUILD_ID_MAX)
            found.build_id[found.build_id_bytes++] =
                (uint8_t)(tool_hex_digit(at[0]) << 4 | tool_hex_digit(at[1]));
    if (found.build_id_bytes == 0 && !take_byte(&at, end, '-'))
        return;
    struct tool_mapped *kept =
        take_byte(&at, end, ' ') ? add_mapping(map, found.start, at, end) : NULL;
    if (kept != NULL) {
        kept->build_id_bytes = found.build_id_bytes;
        memcpy(kept->build_id, found.build_id, found.build_id_bytes);
    }
}

/* Behind the mark that the runtime's line has; NULL: it is no such line. */
static const char *find_modules(const char *text, const char *end)
{
    size_t mark = sizeof line_mark - 1;
    for (const char *tab = text; (tab = memchr(tab, '\t', (size_t)(end - tab))) != NULL; tab++)
        if ((size_t)(tab + 1 - text) >= mark && memcmp(tab + 1 - mark, line_mark, mark) == 0)
            return tab + 1;
    return NULL;
}

static void take_line(struct tool_module_map *map, const char *text, size_t size)
{
    const char *end = text + size;
    const char *at = find_modules(text, end);
    if (at == NULL) {
        take_mapping(map, text, end);
        return;
    }
    while (at < end) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        take_module(map, at, tab != NULL ? tab : end);
        at = tab != NULL ? tab + 1 : end;
    }
}

int tool_module_map_read(struct tool_module_map *map, const char *path)
{
    struct tool_lines lines;
    struct tool_line line = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tool_fail("cannot open '%s': %s", path, strerror(errno));
    tool_lines_open(&lines, fd, NULL, 0);
    while (tool_lines_next(&lines, &line))
        take_line(map, line.text, line.size_bytes);
    int failed = lines.failed_errno;
    tool_lines_close(&lines);
    close(fd);
    if (failed != 0)
        return tool_fail("cannot read '%s': %s", path, strerror(failed));
    return map->count != 0 ? TOOL_OK
                           : tool_fail("'%s' is no copy of /proc/PID/maps, and has no line that "
                                       "TRACETAPE_CONTEXT_MAP asks for",
                                       path);
}

void tool_module_map_close(struct tool_module_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        free(map->modules[i].path);
    free(map->modules);
    *map = (struct tool_module_map){0};
}

static bool same(ttape_string one, ttape_string other)
{
    return one.size_bytes == other.size_bytes &&
           (one.size_bytes == 0 || memcmp(one.data, other.data, one.size_bytes) == 0);
}

bool tool_module_map_find(const struct tool_module_map *map, ttape_string path,
                          ttape_string build_id, uint64_t *start)
{
    ttape_string base = ttp_path_base(path);
    for (size_t i = 0; i < map->count; i++) {
        const struct tool_mapped *module = &map->modules[i];
        const ttape_string own = {module->path, strlen(module->path)},
                           own_id = {(const char *)module->build_id, module->build_id_bytes};
        bool by_build = own_id.size_bytes != 0 && build_id.size_bytes != 0;
        if (by_build ? !same(own_id, build_id)
                     : base.size_bytes == 0 || !same(ttp_path_base(own), base))
            continue;
        *start = module->start;
        return true;
    }
    return false;
}

uint64_t tool_module_map_address(const struct tool_module_map *map, const ttape_module *module,
                                 uint64_t address)
{
    uint64_t start;
    bool is_there =
        map != NULL && tool_module_map_find(map, module->path, module->build_id, &start);
    return is_there ? address - module->start + start : address;
}
