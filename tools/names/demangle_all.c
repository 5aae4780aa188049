/* Each answer is a size, 0 for "as it is", and so many bytes. A child that dies or hangs of a name
 * loses that name; the next one goes on behind it. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/command/tool.h"
#include "tools/io/child.h"
#include "tools/names/demangle.h"
#include "tools/names/demangle_all.h"

#define CHILDREN_MOST 8
#define SECONDS_MOST  10u /* of each */
#define MEMORY_BYTES  (UINT64_C(64) << 20)

struct work {
    const ttape_string *names;
    size_t first, count;
};

static bool starts(ttape_string name, const char *text)
{
    size_t size = strlen(text);
    return name.size_bytes >= size && memcmp(name.data, text, size) == 0;
}

bool tool_is_mangled(ttape_string name)
{
    return name.size_bytes <= TOOL_DEMANGLE_INPUT_MAX &&
           (starts(name, "_Z") || starts(name, "_R") || starts(name, "_GLOBAL_"));
}

/* ---- the child ---- */

static void answer(int fd, const void *context)
{
    const struct work *work = context;
    char *name = tool_allocate(TOOL_DEMANGLE_INPUT_MAX + 1, 1);
    char *out = tool_allocate(sizeof(uint32_t) + TOOL_DEMANGLE_OUTPUT_MAX, 1);
    tool_child_limit(RLIMIT_CPU, SECONDS_MOST);
    for (size_t i = work->first; i < work->count; i++) {
        ttape_string mangled = work->names[i];
        memcpy(name, mangled.data, mangled.size_bytes);
        name[mangled.size_bytes] = '\0';
        uint32_t size = (uint32_t)tool_demangle(name, out + sizeof(uint32_t));
        memcpy(out, &size, sizeof(size));
        if (!tool_child_send(fd, out, sizeof(size) + size, 0))
            break;
    }
    free(name);
    free(out);
}

/* ---- the parent ---- */

static bool take_answer(const struct tool_child *child, uint64_t deadline_ms,
                        ttape_string *readable)
{
    uint32_t size;
    if (!tool_child_receive(child->fd, &size, sizeof(size), deadline_ms) ||
        size >= TOOL_DEMANGLE_OUTPUT_MAX)
        return false;
    if (size == 0)
        return true;
    char *text = tool_allocate(size, 1);
    if (!tool_child_receive(child->fd, text, size, deadline_ms)) {
        free(text);
        return false;
    }
    *readable = (ttape_string){text, size};
    return true;
}

void tool_demangle_all(const ttape_string *names, size_t count, ttape_string *readable)
{
    struct work work = {.names = names, .count = count};
    for (size_t i = 0; i < count; i++)
        readable[i] = (ttape_string){NULL, 0};
    for (int tried = 0; tried < CHILDREN_MOST && work.first < count; tried++) {
        struct tool_child child = {0};
        uint64_t deadline_ms = tool_child_now_ms() + 2000u * SECONDS_MOST;
        if (!tool_child_start(&child, MEMORY_BYTES, answer, &work))
            return;
        while (work.first < count && take_answer(&child, deadline_ms, &readable[work.first]))
            work.first++;
        (void)tool_child_end(&child, work.first < count);
        work.first++; /* of the name that it died of */
    }
}
