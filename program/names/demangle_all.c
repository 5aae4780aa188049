/* Each answer is a size, 0 for "as it is", and so many bytes. The first child sends many answers at
 * once; of those that it had not sent when it died or hung, the next one sends each by itself, so
 * that only the name that kills it is lost. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "program/names/demangle.h"
#include "program/names/demangle_all.h"
#include "program/process/child.h"

#define CHILDREN_MOST 8
#define SECONDS_MOST  10u /* of each */
#define MEMORY_BYTES  (UINT64_C(64) << 20)

#define BATCH_BYTES (sizeof(uint32_t) + TOOL_DEMANGLE_OUTPUT_MAX) /* has room for any answer */

struct work {
    const ttape_string *names;
    size_t first, count;
    bool one_by_one;
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
    char name[TOOL_DEMANGLE_INPUT_MAX + 1];
    char *out = tool_child_allocate(2 * BATCH_BYTES, 1);
    size_t used = 0;
    tool_child_limit(RLIMIT_CPU, SECONDS_MOST);
    for (size_t i = work->first; i < work->count; i++) {
        ttape_string mangled = work->names[i];
        memcpy(name, mangled.data, mangled.size_bytes);
        name[mangled.size_bytes] = '\0';
        uint32_t size = (uint32_t)tool_demangle(name, out + used + sizeof(uint32_t));
        memcpy(out + used, &size, sizeof(size));
        used += sizeof(size) + size;
        if (used < BATCH_BYTES && !work->one_by_one && i + 1 < work->count)
            continue;
        if (!tool_child_send(fd, out, used, 0))
            break;
        used = 0;
    }
    free(out);
}

/* ---- the parent ---- */

static bool take_answer(struct tool_child_input *from, ttape_string *readable)
{
    uint32_t size;
    const char *data = tool_child_take(from, sizeof(size));
    if (data == NULL)
        return false;
    memcpy(&size, data, sizeof(size));
    if (size >= TOOL_DEMANGLE_OUTPUT_MAX)
        return false;
    if (size == 0)
        return true;
    const char *text = tool_child_take(from, size);
    if (text == NULL)
        return false;
    char *copy = malloc(size);
    if (copy == NULL)
        return false;
    *readable = (ttape_string){memcpy(copy, text, size), size};
    return true;
}

void tool_demangle_all(const ttape_string *names, size_t count, ttape_string *readable)
{
    struct work work = {.names = names, .count = count};
    for (size_t i = 0; i < count; i++)
        readable[i] = (ttape_string){NULL, 0};
    char *data = malloc(2 * BATCH_BYTES);
    for (int tried = data != NULL ? 0 : CHILDREN_MOST + 1;
         tried <= CHILDREN_MOST && work.first < count; tried++) {
        struct tool_child child = {0};
        if (!tool_child_start(&child, MEMORY_BYTES, answer, &work))
            break;
        struct tool_child_input from = {.fd = child.fd,
                                        .deadline_ms = tool_child_now_ms() + 2000u * SECONDS_MOST,
                                        .data = data,
                                        .room = 2 * BATCH_BYTES};
        while (work.first < count && take_answer(&from, &readable[work.first]))
            work.first++;
        (void)tool_child_end(&child, work.first < count);
        work.first += work.one_by_one; /* the name that it died of */
        work.one_by_one = true;
    }
    free(data);
}
