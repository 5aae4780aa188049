/* Memory maps: sid-*.map, in the kernel's /proc/PID/maps form with a build id behind the path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ordered.h"
#include "tools/convert/uftrace/uftrace.h"
#include "tools/io/lines.h"

static uint32_t find_module(struct tool_uft_recording *recording, const char *path,
                            const char *build_id)
{
    size_t path_bytes = strlen(path) + 1, size = path_bytes + strlen(build_id);
    char *key = tool_allocate(size, 1);
    bool is_new;
    memcpy(key, path, path_bytes);
    memcpy(key + path_bytes, build_id, size - path_bytes);
    uint32_t *known = tool_names_find(&recording->module_of, key, size, &is_new);
    free(key);
    if (!is_new)
        return *known;
    *known = (uint32_t)recording->module_count;
    tool_grow((void **)&recording->modules, &recording->module_capacity,
              recording->module_count + 1, sizeof(struct tool_uft_module));
    struct tool_uft_module *module = &recording->modules[recording->module_count];
    *module = (struct tool_uft_module){.path = tool_copy_text(path, strlen(path)),
                                       .build_id = tool_copy_text(build_id, strlen(build_id))};
    return (uint32_t)recording->module_count++;
}

/* The number of a map by where it is and what; *is_new: there is none yet. */
static uint32_t *find_map(struct tool_uft_session *session, uint64_t start, const char *path,
                          bool *is_new)
{
    size_t size = sizeof(start) + strlen(path);
    char *key = tool_allocate(size, 1);
    memcpy(key, &start, sizeof(start));
    memcpy(key + sizeof(start), path, size - sizeof(start));
    uint32_t *known = tool_names_find(&session->map_of, key, size, is_new);
    free(key);
    return known;
}

static void add_map(struct tool_uft_session *session, uint64_t start, uint64_t end, uint32_t module)
{
    tool_grow((void **)&session->maps, &session->map_capacity, session->map_count + 1,
              sizeof(struct tool_uft_map));
    session->maps[session->map_count] =
        (struct tool_uft_map){.start = start,
                              .end = end,
                              .module = module,
                              .id = TTAPE_NONE,
                              .place = (uint32_t)session->map_count};
    session->map_count++;
}

static void take_map(struct tool_uft_recording *recording, struct tool_uft_session *session,
                     uint64_t start, uint64_t end, const char *path, const char *build_id)
{
    uint32_t module = find_module(recording, path, build_id);
    bool is_new;
    if (session->map_count > 0) {
        struct tool_uft_map *last = &session->maps[session->map_count - 1];
        if (last->module == module && start >= last->end && start > 0 && end > start) {
            last->end = end; /* the next segment of one file: addresses are relative to the first */
            return;
        }
    }
    uint32_t *known = find_map(session, start, path, &is_new);
    *known = is_new ? (uint32_t)session->map_count : *known;
    add_map(session, start, end, module);
    session->maps[session->map_count - 1].is_first = true;
}

void tool_uft_add_load(struct tool_uft_recording *recording, struct tool_uft_session *session,
                       uint64_t start, const char *path, uint64_t time_ns, uint64_t tid)
{
    bool is_new;
    uint32_t *known = find_map(session, start, path, &is_new);
    if (is_new) {
        *known = (uint32_t)session->map_count;
        uint32_t module = find_module(recording, path, "");
        uint64_t end = tool_uft_symbols_end(recording, &recording->modules[module]) + 1;
        add_map(session, start, end <= UINT64_MAX - start ? start + end : UINT64_MAX, module);
    }
    tool_grow((void **)&session->loads, &session->load_capacity, session->load_count + 1,
              sizeof(struct tool_uft_load));
    session->loads[session->load_count++] =
        (struct tool_uft_load){.time_ns = time_ns, .tid = tid, .map = *known};
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
    take_map(recording, session, start, stop, at, id != NULL ? id : "");
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

void tool_uft_find_python(struct tool_uft_recording *recording)
{
    int fd = tool_uft_open(recording, "python.fake.sym");
    recording->python = fd >= 0 ? find_module(recording, "python.fake", "") : TTAPE_NONE;
    if (fd >= 0)
        close(fd);
}
