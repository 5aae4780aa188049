/* Memory maps: sid-*.map, in the kernel's /proc/PID/maps form with a build id behind the path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command/ordered.h"
#include "tools/convert/uftrace/uftrace.h"
#include "tools/io/lines.h"

static uint32_t find_module(struct tool_uft_recording *recording, const char *path,
                            const char *build_id)
{
    for (size_t i = 0; i < recording->module_count; i++)
        if (strcmp(recording->modules[i].path, path) == 0 &&
            strcmp(recording->modules[i].build_id, build_id) == 0)
            return (uint32_t)i;
    tool_grow((void **)&recording->modules, &recording->module_capacity,
              recording->module_count + 1, sizeof(struct tool_uft_module));
    struct tool_uft_module *module = &recording->modules[recording->module_count];
    *module = (struct tool_uft_module){.path = tool_copy_text(path, strlen(path)),
                                       .build_id = tool_copy_text(build_id, strlen(build_id))};
    return (uint32_t)recording->module_count++;
}

void tool_uft_add_map(struct tool_uft_recording *recording, struct tool_uft_session *session,
                      uint64_t start, uint64_t end, const char *path, const char *build_id)
{
    uint32_t module = find_module(recording, path, build_id);
    if (session->map_count > 0) {
        struct tool_uft_map *last = &session->maps[session->map_count - 1];
        if (last->module == module && start >= last->end && start > 0 && end > start) {
            last->end = end; /* the next segment of one file: addresses are relative to the first */
            return;
        }
    }
    tool_grow((void **)&session->maps, &session->map_capacity, session->map_count + 1,
              sizeof(struct tool_uft_map));
    session->maps[session->map_count++] = (struct tool_uft_map){start, end, module, TTAPE_NONE};
}

static bool take_line(struct tool_uft_recording *recording, struct tool_uft_session *session,
                      char *text)
{
    char *at = text, *end = NULL;
    char *range = tool_word(&at);
    if (range == NULL)
        return true;
    uint64_t start = strtoull(range, &end, 16);
    if (*end != '-')
        return false;
    uint64_t stop = strtoull(end + 1, &end, 16);
    if (*end != '\0' || stop <= start)
        return false;
    for (int skipped = 0; skipped < 4; skipped++)
        if (tool_word(&at) == NULL)
            return false;
    at += strspn(at, " \t");
    if (*at != '/')
        return true; /* stack, heap, anonymous */
    char *id = strstr(at, " build-id:");
    if (id != NULL) {
        *id = '\0';
        id += strlen(" build-id:");
    }
    tool_uft_add_map(recording, session, start, stop, at, id != NULL ? id : "");
    return true;
}

void tool_uft_read_map(struct tool_uft_recording *recording, struct tool_uft_session *session)
{
    char name[64];
    struct tool_conversion *conversion = recording->conversion;
    int length = snprintf(name, sizeof(name), "sid-%s.map", session->sid);
    bool plain = length > 0 && (size_t)length < sizeof(name) && strchr(session->sid, '/') == NULL;
    int fd = plain ? tool_uft_open(recording, name) : -1;
    if (fd < 0) {
        tool_conversion_warn(conversion, "cannot open the memory map 'sid-%s.map': %s",
                             session->sid, plain ? strerror(errno) : "no such name");
        return;
    }
    struct tool_lines lines;
    struct tool_line line = {0};
    tool_lines_open(&lines, fd, NULL, 0);
    while (tool_lines_next(&lines, &line)) {
        if (!take_line(recording, session, line.text)) {
            tool_conversion_warn(conversion, "cannot use line %llu of '%s'",
                                 (unsigned long long)line.number, name);
        }
    }
    tool_uft_close_lines(recording, &lines, name);
}

static int compare_maps(const void *a, const void *b)
{
    const struct tool_uft_map *one = a, *two = b;
    return one->start < two->start ? -1 : one->start > two->start;
}

void tool_uft_sort_maps(struct tool_uft_session *session)
{
    if (session->map_count > 0)
        qsort(session->maps, session->map_count, sizeof(struct tool_uft_map), compare_maps);
}

struct tool_uft_map *tool_uft_find_map(struct tool_uft_session *session, uint64_t address)
{
    struct tool_search s = {.end = session->map_count};
    while (tool_search_next(&s))
        tool_search_turn(&s, session->maps[s.middle].start <= address);
    bool found = s.first > 0 && address < session->maps[s.first - 1].end;
    return found ? &session->maps[s.first - 1] : NULL;
}
