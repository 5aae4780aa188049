/* Constants of modules that are never unloaded: the executable, and the libraries that it needed
 * when it began, by the loader's list (struct r_debug) and what each module in it asks for:
 *
 *     executable --needs--> the first one of that name --needs--> ...
 *
 * Libraries that were opened later come behind those in the list. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/attach/attach_inside.h"

#define MODULES_MOST  512u
#define DYNAMIC_MOST  256u /* entries of a module's */
#define NEEDED_MOST   64u
#define SEGMENTS_MOST 64u
#define NAME_BYTES    128u
#define PATH_BYTES    4096u

/* A module as the loader lists it. */
struct listed {
    uint64_t bias, dynamic;
    uint64_t needed[NEEDED_MOST]; /* addresses of names */
    uint32_t needed_count;
    char name[NAME_BYTES], file[NAME_BYTES]; /* by either of which others ask for it */
    bool stays, is_done;
    const struct ttp_map *own; /* a mapping of its file; NULL: it does not stay, or has none */
};

struct listing {
    int memory;
    struct listed *list;
    uint32_t count;
};

/* A text of the process's, page by page; "": it is too long, or not there. */
static void read_text(int memory, uint64_t at, char *text, size_t room)
{
    for (size_t done = 0; done < room;) {
        size_t left = room - done, bytes = TTP_PAGE - (at + done) % TTP_PAGE;
        bytes = bytes < left ? bytes : left;
        if (!ttp_memory_read(memory, at + done, text + done, bytes))
            break;
        if (memchr(text + done, '\0', bytes) != NULL)
            return;
        done += bytes;
    }
    text[0] = '\0';
}

/* The name is that of a file, without its folders. */
static void read_file_name(int memory, uint64_t at, char name[NAME_BYTES])
{
    char path[PATH_BYTES];
    read_text(memory, at, path, sizeof path);
    const char *slash = strrchr(path, '/'), *own = slash == NULL ? path : slash + 1;
    name[0] = '\0';
    if (strlen(own) < NAME_BYTES)
        memcpy(name, own, strlen(own) + 1);
}

/* What the entries say; loaders have put addresses in their places, or have not. */
static void read_dynamic(int memory, struct listed *module, uint64_t *debug)
{
    uint64_t strings = 0, own = UINT64_MAX;
    Elf64_Dyn entry = {0};
    for (uint32_t i = 0; i < DYNAMIC_MOST; i++) {
        if (!ttp_memory_read(memory, module->dynamic + i * sizeof entry, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_STRTAB)
            strings = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_SONAME)
            own = entry.d_un.d_val;
        else if (entry.d_tag == DT_NEEDED && module->needed_count < NEEDED_MOST)
            module->needed[module->needed_count++] = entry.d_un.d_val;
        else if (entry.d_tag == DT_DEBUG && debug != NULL)
            *debug = entry.d_un.d_ptr;
    }
    strings += strings < module->bias ? module->bias : 0;
    for (uint32_t i = 0; i < module->needed_count; i++)
        module->needed[i] += strings;
    if (own != UINT64_MAX)
        read_text(memory, strings + own, module->name, sizeof module->name);
}

/* The executable, by what the kernel has told it; false: it has no loader. */
static bool read_executable(uint32_t pid, int memory, struct listed *module, uint64_t *debug)
{
    char path[64];
    uint64_t words[2], segments_at = 0, count = 0;
    Elf64_Phdr segments[SEGMENTS_MOST];
    (void)snprintf(path, sizeof path, "/proc/%u/auxv", ttp_living_task(pid));
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read(file, words, sizeof words) == (ssize_t)sizeof words) {
        segments_at = words[0] == AT_PHDR ? words[1] : segments_at;
        count = words[0] == AT_PHNUM ? words[1] : count;
    }
    if (file >= 0)
        (void)close(file);
    if (count == 0 || count > SEGMENTS_MOST ||
        !ttp_memory_read(memory, segments_at, segments, count * sizeof *segments))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_PHDR)
            module->bias = segments_at - segments[i].p_vaddr;
    for (uint64_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_DYNAMIC)
            module->dynamic = module->bias + segments[i].p_vaddr;
    if (module->dynamic != 0)
        read_dynamic(memory, module, debug);
    else
        module->dynamic = segments_at; /* some place in it */
    return *debug != 0;
}

/* All that the loader lists: {bias, name, dynamic, next}. */
static void read_list(struct listing *l, uint64_t debug)
{
    uint64_t at = 0, words[4];
    (void)ttp_memory_read(l->memory, debug + sizeof at, &at, sizeof at);
    while (at != 0 && l->count < MODULES_MOST &&
           ttp_memory_read(l->memory, at, words, sizeof words)) {
        struct listed *module = &l->list[l->count++];
        *module = (struct listed){.bias = words[0], .dynamic = words[2]};
        read_file_name(l->memory, words[1], module->file);
        read_dynamic(l->memory, module, NULL);
        at = words[3];
    }
}

static void keep_needed(struct listing *l, const struct listed *by)
{
    char name[NAME_BYTES];
    for (uint32_t i = 0; i < by->needed_count; i++) {
        read_file_name(l->memory, by->needed[i], name);
        uint32_t k = 0;
        while (k < l->count && strcmp(l->list[k].name, name) != 0 &&
               strcmp(l->list[k].file, name) != 0)
            k++;
        if (k < l->count && name[0] != '\0')
            l->list[k].stays = true;
    }
}

static void keep_all_needed(struct listing *l)
{
    for (bool is_any = true; is_any;) {
        is_any = false;
        for (uint32_t i = 0; i < l->count; i++) {
            struct listed *module = &l->list[i];
            if (!module->stays || module->is_done)
                continue;
            module->is_done = is_any = true;
            keep_needed(l, module);
        }
    }
}

/* The place of a module's dynamic section tells what its file is called. */
static void find_files(struct listing *l, const struct ttp_maps *maps)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->list[i].stays)
            l->list[i].own = ttp_maps_at(maps, l->list[i].dynamic);
}

/* Whether the file is that of a module that stays. */
static bool is_kept(const struct listing *l, const struct ttp_map *map)
{
    for (uint32_t i = 0; i < l->count; i++) {
        const struct ttp_map *own = l->list[i].own;
        if (own != NULL && own->inode == map->inode && strcmp(own->path, map->path) == 0)
            return true;
    }
    return false;
}

static void put_ranges(const struct listing *l, const struct ttp_maps *maps,
                       struct ttp_agent_range ranges[TTP_AGENT_RANGES])
{
    uint32_t count = 0;
    for (size_t i = 0; i < maps->count; i++) {
        const struct ttp_map *map = &maps->list[i];
        if (!map->can_read || map->can_write || map->is_shared || map->inode == 0 ||
            !is_kept(l, map))
            continue;
        if (count != 0 && ranges[count - 1].high == map->start)
            ranges[count - 1].high = map->end;
        else if (count < TTP_AGENT_RANGES)
            ranges[count++] = (struct ttp_agent_range){map->start, map->end};
    }
}

void ttp_constants_find(uint32_t pid, int memory, const struct ttp_maps *maps,
                        struct ttp_agent_range ranges[TTP_AGENT_RANGES])
{
    struct listing l = {.memory = memory, .list = calloc(MODULES_MOST, sizeof *l.list)};
    struct listed executable = {0};
    uint64_t debug = 0;
    if (l.list == NULL)
        return;
    if (read_executable(pid, memory, &executable, &debug))
        read_list(&l, debug);
    if (l.count == 0)
        l.list[l.count++] = executable;
    l.list[0].stays = true;
    keep_all_needed(&l);
    find_files(&l, maps);
    put_ranges(&l, maps, ranges);
    free(l.list);
}
