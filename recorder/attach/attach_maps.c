/* What a process has mapped, by the kernel's list, and where the segment may go. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/ordered.h"
#include "recorder/attach/attach_inside.h"

#define LINE_BYTES 4352u
#define REACH      UINT64_C(0x70000000)  /* of a jump, with room for sizes */
#define APART      UINT64_C(0x100000)    /* from what is mapped: guards, and what grows down */
#define HEAP_ROOM  UINT64_C(0x40000000)  /* that brk may grow into, where there is a choice */
#define STACK_ROOM UINT64_C(0x200000000) /* that a stack may grow into, always */
#define LOWEST     UINT64_C(0x10000)
#define HIGHEST    UINT64_C(0x7ffffff00000) /* behind it is what is the kernel's */
#define TOLD       512u                     /* pages at a time */
#define HAS_MEMORY (UINT64_C(3) << 62)      /* of a word on a page: it is there, or swapped */

static bool add_map(struct ttp_maps *maps, const struct ttp_map *map)
{
    if (maps->count == maps->capacity) {
        size_t wanted = maps->capacity == 0 ? 64 : 2 * maps->capacity;
        void *grown = realloc(maps->list, wanted * sizeof *maps->list);
        if (grown == NULL)
            return false;
        maps->list = grown;
        maps->capacity = wanted;
    }
    maps->list[maps->count] = *map;
    return maps->list[maps->count++].path != NULL;
}

static bool read_map(char *line, struct ttp_map *map)
{
    char rights[5] = "";
    unsigned major_number, minor_number;
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &map->start,
               &map->end, rights, &map->offset, &major_number, &minor_number, &map->inode,
               &at) < 7 ||
        at == 0)
        return false;
    map->device = makedev(major_number, minor_number);
    map->can_read = rights[0] == 'r';
    map->can_write = rights[1] == 'w';
    map->can_execute = rights[2] == 'x';
    map->is_shared = rights[3] == 's';
    map->path = strdup(line + at);
    return true;
}

bool ttp_maps_read(struct ttp_maps *maps, uint32_t pid)
{
    char path[64], line[LINE_BYTES];
    bool is_whole = true;
    *maps = (struct ttp_maps){0};
    (void)snprintf(path, sizeof path, "/proc/%u/maps", ttp_living_task(pid));
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (is_whole && fgets(line, sizeof line, file) != NULL) {
        struct ttp_map map;
        is_whole = read_map(line, &map) && add_map(maps, &map);
    }
    (void)fclose(file);
    return is_whole && maps->count > 0;
}

bool ttp_maps_is_guarded(const struct ttp_maps *maps, const struct ttp_map *stack)
{
    const struct ttp_map *below = ttp_maps_at(maps, stack->start - 1);
    return stack->inode == 0 && below != NULL && below->inode == 0 && !below->can_read &&
           !below->can_write && !below->can_execute;
}

void ttp_maps_free(struct ttp_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        free(maps->list[i].path);
    free(maps->list);
    *maps = (struct ttp_maps){0};
}

const struct ttp_map *ttp_maps_at(const struct ttp_maps *maps, uint64_t address)
{
    struct ttp_bisect s = {.end = maps->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, maps->list[s.middle].end <= address);
    return s.first < maps->count && maps->list[s.first].start <= address ? &maps->list[s.first]
                                                                         : NULL;
}

static bool is_reached(uint64_t low, uint64_t high, uint64_t at, uint64_t bytes)
{
    uint64_t from = at < low ? at : low, to = at + bytes > high ? at + bytes : high;
    return to - from < REACH;
}

/* The place is at the end of the gap behind a mapping, as far as is reached; what grows has the
 * gap's beginning. */
static uint64_t place_in(uint64_t start, uint64_t end, uint64_t low, uint64_t bytes)
{
    uint64_t most = low + REACH - TTP_PAGE;
    if (end > most)
        end = most;
    if (end <= start || end - start < bytes)
        return 0;
    return (end - bytes) & ~(UINT64_C(0x10000) - 1);
}

uint64_t ttp_maps_place(const struct ttp_maps *maps, uint64_t low, uint64_t high, uint64_t bytes)
{
    uint64_t found = 0, least = UINT64_MAX;
    for (size_t i = 0; i <= maps->count; i++) {
        const struct ttp_map *before = i == 0 ? NULL : &maps->list[i - 1];
        uint64_t start = before == NULL ? LOWEST : before->end + APART;
        uint64_t end =
            i == maps->count || maps->list[i].start > HIGHEST ? HIGHEST : maps->list[i].start;
        bool is_heap = before != NULL && strcmp(before->path, "[heap]") == 0;
        bool is_stack = i < maps->count && strcmp(maps->list[i].path, "[stack]") == 0;
        uint64_t apart = is_stack ? STACK_ROOM : APART;
        end = end > apart ? end - apart : 0;
        if (is_heap && end > start && end - start > HEAP_ROOM + bytes)
            start += HEAP_ROOM;
        uint64_t at = place_in(start, end, low, bytes);
        if (at < start || at == 0 || !is_reached(low, high, at, bytes))
            continue;
        uint64_t distance = at > low ? at - low : low - at;
        distance += is_heap || is_stack ? REACH : 0; /* only where there is nothing else */
        if (distance < least) {
            least = distance;
            found = at;
        }
    }
    return found;
}

/* The kernel has a word on each page. */
size_t ttp_maps_cut(uint32_t pid, struct ttp_agent_range whole, uint64_t pages,
                    struct ttp_agent_range *pieces, size_t most)
{
    char path[64];
    uint64_t words[TOLD], at = whole.low, count = 0;
    size_t done = 0;
    ssize_t got = -1;
    (void)snprintf(path, sizeof path, "/proc/%u/pagemap", ttp_living_task(pid));
    int file = open(path, O_RDONLY | O_CLOEXEC);
    pieces[0].low = whole.low;
    while (file >= 0 && at < whole.high && done + 1 < most &&
           (got = pread(file, words, sizeof words, (off_t)(at / TTP_PAGE * 8))) >= 8) {
        for (size_t i = 0; i < (size_t)got / 8 && at < whole.high && done + 1 < most; i++) {
            count += (words[i] & HAS_MEMORY) != 0;
            at += TTP_PAGE;
            if (count < pages || at == whole.high)
                continue;
            pieces[done++].high = at;
            pieces[done].low = at;
            count = 0;
        }
    }
    if (file >= 0)
        (void)close(file);
    pieces[done++].high = whole.high;
    return done;
}

bool ttp_maps_is_as_in_file(uint32_t pid, int memory, const struct ttp_map *map,
                            const struct ttp_agent_range *range)
{
    char name[4352];
    size_t size = range->high - range->low;
    off_t at = (off_t)(map->offset + (range->low - map->start));
    (void)snprintf(name, sizeof name, "/proc/%u/root%s", ttp_living_task(pid), map->path);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    uint8_t *there = malloc(size), *here = malloc(size);
    bool is_same = file >= 0 && there != NULL && here != NULL &&
                   pread(file, there, size, at) == (ssize_t)size &&
                   ttp_memory_read(memory, range->low, here, size) &&
                   memcmp(here, there, size) == 0;
    if (file >= 0)
        (void)close(file);
    free(there);
    free(here);
    return is_same;
}
