/* Leaving a process: its code is put back and becomes its file's again; the segment goes when no
 * task is inside. Until then who unwinds through it is told how, so that this is put back last.
 * What is ours stands in the segment itself, so that whoever comes later can do this, too. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder/arena/arena.h"
#include "recorder/attach/attach_inside.h"

#define TRIES          100u /* for the segment: a busy machine lets who is inside wait */
#define SOON           25u
#define PAUSE_NS       2000000
#define PAUSE_LATER_NS 20000000
#define PAUSE_MOST_NS  UINT64_C(400000000)
#define CHANGES_MOST   8000000u
#define LOCKED         24 /* MADV_DONTNEED_LOCKED, from Linux 5.18 on */

#define RANGES  256u /* of pages: mappings of code */
#define PIECES  32u
#define PARTS   (PIECES + 6u)
#define PAGE_NS 500u /* of a stop, for a page that is given back in the next: that takes a third */

/* A part of the segment lies behind its code. */
struct part {
    struct ttp_agent_range range; /* empty: it is given back */
    bool is_kept;                 /* its memory goes, and its place stays as it is */
};

struct leaving {
    struct ttp_leaving *said;
    struct ttp_agent_range ranges[RANGES];
    uint32_t range_count;
    bool was_compared;
    bool may_call; /* no filter of system calls has come meanwhile */
    bool is_last;  /* it is not tried again */
    bool is_empty; /* nobody is in the segment, and nobody comes into it any more */
    bool are_lists_gone, are_parts_cut;
    struct part parts[PARTS]; /* one after another */
    uint64_t stood_ns;        /* in the last stop */
    uint32_t put_back;        /* of the changes */
    const struct ttp_segment *segment;
    uint64_t shared_at; /* of struct ttp_agent_shared, as the segment's own head has it */
    struct ttp_agent_area areas[TTP_AGENT_AREAS];
    struct ttp_agent_module modules[TTP_AGENT_MODULES];
    struct ttp_agent_later lists[1 + TTP_AGENT_LATER];
    uint32_t list_count;
    struct ttp_change *all;     /* of these, one behind the other */
    struct ttp_changes changes; /* of modules that are there, sorted; but for */
    struct ttp_changes late;    /* what unwinders ask: 0 or 1, until it is put back */
    struct ttp_change late_change;
    uint64_t unwind_at; /* 0: that is back */
    struct ttp_call_places places;
    struct ttp_maps maps;
};

static bool call(struct ttp_stop *stop, const struct leaving *l, long number, uint64_t first,
                 uint64_t second, uint64_t third)
{
    struct ttp_called called = {.number = number, .arguments = {first, second, third}};
    return ttp_call(stop, &l->places, &called) && called.result == 0;
}

/* All changes are sorted, but for what is put back last, which is taken out of them. */
static void order_changes(struct leaving *l)
{
    uint32_t kept = 0;
    ttp_changes_sort(&l->changes);
    l->late = (struct ttp_changes){.list = &l->late_change};
    for (uint32_t i = 0; i < l->changes.count; i++)
        if (l->changes.list[i].at == l->unwind_at)
            l->late_change = l->changes.list[i], l->late.count = 1;
        else
            l->changes.list[kept++] = l->changes.list[i];
    l->changes.count = kept;
}

/* The list has room for what was taken out of it, and stays sorted. */
static void give_late(struct leaving *l)
{
    uint32_t i = l->changes.count++;
    for (; i > 0 && l->changes.list[i - 1].at > l->late_change.at; i--)
        l->changes.list[i] = l->changes.list[i - 1];
    l->changes.list[i] = l->late_change;
    l->unwind_at = l->late.count = 0;
}

/* The lists, one behind the other, and all of them as one that is sorted. */
static bool read_lists(struct leaving *l, int memory)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < l->list_count; i++) {
        const struct ttp_agent_later *list = &l->lists[i];
        if (!ttp_memory_read(memory, list->changes, l->all + done,
                             list->change_count * sizeof *l->all))
            return false;
        done += list->change_count;
    }
    memcpy(l->changes.list, l->all, done * sizeof *l->all);
    l->changes.count = done;
    order_changes(l);
    return true;
}

/* What is no part of the segment is none. */
static struct ttp_agent_range whole_pages(const struct ttp_segment *segment, uint64_t low,
                                          uint64_t high)
{
    bool is_part = low > segment->at && low < high && high <= segment->at + segment->bytes &&
                   low % TTP_PAGE == 0 && high % TTP_PAGE == 0;
    return is_part ? (struct ttp_agent_range){low, high} : (struct ttp_agent_range){0};
}

/* To give memory back takes as long as to take its mappings away: so each has stops of its own.
 * What is said in the segment goes last of all. */
static void set_parts(struct leaving *l, const struct ttp_agent_shared *shared, uint64_t low)
{
    uint64_t said = l->shared_at & ~(TTP_PAGE - 1), end = l->segment->at + l->segment->bytes;
    uint64_t behind = ttp_page_up(l->shared_at + offsetof(struct ttp_agent_shared, areas));
    struct part *next = l->parts + PIECES;
    l->parts[0] = (struct part){whole_pages(l->segment, shared->states, end), true};
    *next++ = (struct part){whole_pages(l->segment, low, said), true};
    *next++ = (struct part){whole_pages(l->segment, behind, shared->states), true};
    *next++ = (struct part){whole_pages(l->segment, shared->states, shared->changes), false};
    *next++ = (struct part){whole_pages(l->segment, shared->changes, end), false};
    *next++ = (struct part){whole_pages(l->segment, low, said), false};
    *next++ = (struct part){whole_pages(l->segment, said, shared->states), false};
}

/* Memory for states and blocks, which the first part is: by how long a stop takes, and in pieces
 * that are not too many. */
static void cut_parts(struct leaving *l)
{
    struct ttp_agent_range pieces[PIECES], whole = l->parts[0].range;
    if (l->are_parts_cut || !l->is_empty || whole.high == 0)
        return;
    size_t count = ttp_maps_cut(l->said->pid, whole, 1 + l->stood_ns / PAGE_NS, pieces, PIECES);
    for (size_t i = 0; i < count; i++)
        l->parts[i] = (struct part){pieces[i], true};
    l->are_parts_cut = true;
}

static bool read_changes(struct leaving *l, int memory)
{
    struct ttp_agent_shared shared;
    struct ttp_agent_head head;
    uint64_t at = l->segment->at, count = 0;
    if (!ttp_memory_read(memory, at, &head, sizeof head) || head.magic != TTP_AGENT_MAGIC ||
        !ttp_memory_read(memory, at + head.shared, &shared, sizeof shared) ||
        shared.later_count > TTP_AGENT_LATER)
        return false;
    l->shared_at = at + head.shared;
    l->unwind_at = shared.unwind_at;
    set_parts(l, &shared, at + head.code_bytes);
    memcpy(l->areas, shared.areas, sizeof l->areas);
    memcpy(l->modules, shared.modules, sizeof l->modules);
    l->lists[0] = (struct ttp_agent_later){.changes = shared.changes,
                                           .change_count = shared.change_count,
                                           .module_count = shared.module_count};
    memcpy(l->lists + 1, shared.later, sizeof shared.later);
    l->list_count = 1 + shared.later_count;
    for (uint32_t i = 0; i < l->list_count; i++)
        count += l->lists[i].change_count;
    if (count > CHANGES_MOST)
        return false;
    l->all = calloc(count + 1, sizeof *l->all);
    l->changes.list = calloc(count + 1, sizeof *l->changes.list);
    return l->all != NULL && l->changes.list != NULL && read_lists(l, memory);
}

static void free_changes(struct leaving *l)
{
    free(l->all);
    free(l->changes.list);
    l->all = l->changes.list = NULL;
}

/* They are read once. Lists that cannot be read are not empty ones: it is tried again. */
static bool know_changes(struct leaving *l, int memory)
{
    if (l->changes.list == NULL && !read_changes(l, memory))
        free_changes(l);
    return l->changes.list != NULL;
}

/* The changes of one list are [change, end) of all. */
static void keep_loaded(struct leaving *l, const struct ttp_agent_later *list, uint32_t change,
                        uint32_t end)
{
    for (uint32_t i = 0; i < list->module_count && i + list->first_module < TTP_AGENT_MODULES;
         i++) {
        const struct ttp_agent_module *module = &l->modules[list->first_module + i];
        const struct ttp_map *map = ttp_maps_at(&l->maps, module->low);
        bool is_there = map != NULL && map->inode == module->inode && map->device == module->device;
        for (; change < end && l->all[change].at < module->high; change++)
            if (is_there)
                l->changes.list[l->changes.count++] = l->all[change];
    }
}

/* What was changed in a module that has been unloaded is gone with it, whatever lies there now. */
static void forget_unloaded(struct leaving *l)
{
    uint32_t change = 0;
    l->changes.count = 0;
    for (uint32_t i = 0; i < l->list_count; i++) {
        keep_loaded(l, &l->lists[i], change, change + l->lists[i].change_count);
        change += l->lists[i].change_count;
    }
    order_changes(l);
}

/* Pages that were changed are the program's own copies; where they are what the file has again,
 * they can become the file's. That is found while the program runs, as nobody changes them now. */
static void find_ranges(struct leaving *l, int memory)
{
    for (uint32_t i = 0; i < l->changes.count && l->range_count < RANGES;) {
        uint64_t low = l->changes.list[i].at & ~(TTP_PAGE - 1);
        const struct ttp_map *map = ttp_maps_at(&l->maps, low);
        struct ttp_agent_range *range = &l->ranges[l->range_count];
        *range = (struct ttp_agent_range){low, low + TTP_PAGE};
        for (; i < l->changes.count; i++) { /* of one mapping at once */
            uint64_t page = l->changes.list[i].at & ~(TTP_PAGE - 1);
            if (page != low && (map == NULL || page >= map->end))
                break;
            range->high = page + TTP_PAGE;
        }
        if (map == NULL || map->path[0] != '/' || map->is_shared || map->can_write ||
            !ttp_maps_is_as_in_file(l->said->pid, memory, map, range))
            continue;
        const struct ttp_agent_range whole = *range;
        l->range_count += (uint32_t)ttp_maps_cut(l->said->pid, whole, 1 + l->stood_ns / PAGE_NS,
                                                 range, RANGES - l->range_count);
    }
}

/* Whether the module is there still: what was changed first of it is as it was. */
static bool has_module(const struct leaving *l, int memory, const struct ttp_agent_range *range)
{
    uint8_t bytes[8];
    uint32_t i = 0;
    while (i < l->changes.count && l->changes.list[i].at < range->low)
        i++;
    if (i == l->changes.count)
        return false;
    const struct ttp_change *change = &l->changes.list[i];
    return change->count <= sizeof bytes &&
           ttp_memory_read(memory, change->at, bytes, change->count) &&
           ttp_bytes_read(bytes, change->count) == change->was;
}

/* Those of one module, or a piece of them, in a stop. */
static void give_pages_back(struct ttp_stop *stop, struct leaving *l)
{
    const struct ttp_agent_range *range = &l->ranges[--l->range_count];
    uint64_t bytes = range->high - range->low;
    if (has_module(l, stop->memory, range) &&
        !call(stop, l, SYS_madvise, range->low, bytes, MADV_DONTNEED))
        (void)call(stop, l, SYS_madvise, range->low, bytes, LOCKED);
}

/* It is unmapped no second time, whoever comes after us. */
static bool forget_area(const struct leaving *l, int memory, uint32_t number)
{
    const struct ttp_agent_area none = {0};
    uint64_t said_at = l->shared_at + offsetof(struct ttp_agent_shared, areas);
    return ttp_memory_write(memory, said_at + number * sizeof none, &none, sizeof none);
}

/* Lists lie in areas, and behind the agent. By now all that they tell of is back; so whoever comes
 * after us does without them, and not with what cannot be read. */
static bool forget_lists(struct leaving *l, int memory)
{
    const uint32_t none = 0;
    if (l->are_lists_gone)
        return true;
    uint64_t later_at = l->shared_at + offsetof(struct ttp_agent_shared, later_count);
    uint64_t first_at = l->shared_at + offsetof(struct ttp_agent_shared, change_count);
    l->are_lists_gone = ttp_memory_write(memory, later_at, &none, sizeof none) &&
                        ttp_memory_write(memory, first_at, &none, sizeof none);
    return l->are_lists_gone;
}

/* Code of ours; returns how many ranges, the first of which is the segment. */
static size_t find_code(const struct leaving *l, struct ttp_agent_range code[TTP_AGENT_AREAS])
{
    const struct ttp_agent_area *areas = l->areas; /* the first one is in the segment */
    size_t count = 1;
    code[0] = (struct ttp_agent_range){l->segment->at, l->segment->at + l->segment->bytes};
    for (uint32_t i = 1; i < TTP_AGENT_AREAS; i++)
        if (areas[i].bytes != 0)
            code[count++] = (struct ttp_agent_range){areas[i].at, areas[i].at + areas[i].bytes};
    return count;
}

static void lead_out(struct ttp_stop *stop, const struct leaving *l)
{
    struct ttp_agent_range code[TTP_AGENT_AREAS];
    (void)ttp_stop_lead_out(stop, code, find_code(l, code));
}

static bool is_nobody_inside(const struct ttp_stop *stop, const struct leaving *l)
{
    struct ttp_agent_range code[TTP_AGENT_AREAS];
    struct ttp_points points = {0};
    bool is_free = ttp_points_find(&points, stop, &l->maps);
    for (size_t i = find_code(l, code); i-- > 0;)
        is_free = is_free && !ttp_points_hold(&points, code[i].low, code[i].high);
    ttp_points_free(&points);
    return is_free;
}

/* What is behind the agent's code goes in calls of its own, as one for all of it takes too long.
 * Its place stays, so that whoever comes after us may do all of it once more; what is said in the
 * segment goes last, and then only code is left to find. False: that is done. */
static bool empty_segment(struct ttp_stop *stop, struct leaving *l)
{
    uint32_t next = 0;
    while (next < PARTS && l->parts[next].range.high == 0)
        next++;
    if (next == PARTS || !forget_lists(l, stop->memory))
        return false;
    struct part *part = &l->parts[next];
    uint64_t low = part->range.low, bytes = part->range.high - low;
    struct ttp_called none = {.number = SYS_mmap,
                              .arguments = {low, bytes, PROT_NONE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                                            UINT64_MAX}};
    if (part->is_kept)
        (void)call(stop, l, SYS_madvise, low, bytes, MADV_DONTNEED);
    else
        (void)ttp_call(stop, &l->places, &none);
    part->range = (struct ttp_agent_range){0};
    return true;
}

/* Nobody comes into the segment any more; who is in it goes on there for a moment. It goes when
 * its areas elsewhere have gone, and what is in it; one of them in a stop. */
static void unmap(struct ttp_stop *stop, struct leaving *l)
{
    const struct ttp_segment *s = l->segment;
    struct ttp_agent_area *areas = l->areas;
    uint32_t next = 1;
    bool was_empty = l->is_empty;
    l->is_empty = was_empty || is_nobody_inside(stop, l);
    if (!l->is_empty)
        lead_out(stop, l);
    if (!was_empty)
        return;
    while (next < TTP_AGENT_AREAS && areas[next].bytes == 0)
        next++;
    if (next < TTP_AGENT_AREAS) {
        if (forget_lists(l, stop->memory) && forget_area(l, stop->memory, next) &&
            call(stop, l, SYS_munmap, areas[next].at, areas[next].bytes, 0))
            areas[next].bytes = 0;
    } else if (!empty_segment(stop, l)) {
        l->said->is_unmapped = call(stop, l, SYS_munmap, s->at, s->bytes, 0);
    }
}

/* False: not all of it. */
static bool put_late_back(int memory, struct leaving *l)
{
    struct ttp_restored restored;
    if (l->late.count == 0)
        return true;
    if (!ttp_code_restore(memory, &l->late, &restored))
        return false;
    l->said->foreign += restored.foreign;
    give_late(l);
    return restored.foreign == 0;
}

/* What is mapped, and which of the changes are there. False: the segment is not, or another one. */
static bool look_at_maps(struct leaving *l, int memory)
{
    ttp_maps_free(&l->maps);
    bool is_known = ttp_maps_read(&l->maps, l->said->pid) && know_changes(l, memory);
    if (is_known)
        forget_unloaded(l);
    return is_known;
}

/* A debugger holds all of its tasks: then bytes can be put back, and no more. */
static bool put_back_held(struct leaving *l)
{
    char path[64];
    struct ttp_restored restored;
    (void)snprintf(path, sizeof path, "/proc/%u/task", l->said->pid);
    DIR *folder = opendir(path);
    bool is_held = folder != NULL;
    for (const struct dirent *entry; is_held && (entry = readdir(folder)) != NULL;) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        is_held = tid <= 0 || ttp_task_state(tid) == 't';
    }
    if (folder != NULL)
        (void)closedir(folder);
    int memory = is_held ? ttp_memory_open(l->said->pid, O_RDWR) : -1;
    bool is_back =
        memory >= 0 && look_at_maps(l, memory) && ttp_code_restore(memory, &l->changes, &restored);
    if (is_back)
        l->said->foreign = restored.foreign;
    is_back = is_back && put_late_back(memory, l);
    l->said->is_back |= is_back && l->said->foreign == 0;
    if (memory >= 0)
        (void)close(memory);
    return is_back;
}

/* A stop puts back as many pages as it has time for, the last one all. */
static bool put_some_back(const struct ttp_stop *stop, struct leaving *l,
                          struct ttp_restored *restored)
{
    uint32_t from = l->put_back, pages = ttp_stop_pages(stop);
    if (!l->may_call || l->is_last)
        pages = UINT32_MAX;
    l->put_back = ttp_code_pages_end(&l->changes, from, pages);
    const struct ttp_changes some = {.list = l->changes.list + from, .count = l->put_back - from};
    return ttp_code_restore(stop->memory, &some, restored);
}

/* Only what is ours byte for byte is written to: so what is mapped matters where something else is
 * there, and is looked at then, as that takes longer than all the rest. */
static bool put_back(struct ttp_stop *stop, struct leaving *l)
{
    struct ttp_restored restored = {0};
    bool is_whole = l->changes.list != NULL && ttp_segment_is_there(l->segment, stop->memory) &&
                    put_some_back(stop, l, &restored);
    if (!is_whole || restored.foreign != 0) {
        is_whole = ttp_segment_is_there(l->segment, stop->memory) &&
                   look_at_maps(l, stop->memory) &&
                   ttp_code_restore(stop->memory, &l->changes, &restored);
        l->put_back = l->changes.count;
    }
    if (is_whole && l->put_back < l->changes.count)
        return true;
    l->said->foreign = restored.foreign;
    if (is_whole && (!l->may_call || restored.foreign != 0)) /* the segment stays */
        is_whole = put_late_back(stop->memory, l);
    l->said->is_back = is_whole && l->said->foreign == 0;
    if (l->said->is_back)
        ttp_calls_return(stop, l->modules);
    return is_whole;
}

/* Each step is a call of its own, and so in a stop of its own. Nobody is in the segment but who was
 * there before its code was put back: the stack of that task is among what was mapped when that was
 * looked at. */
static bool go_away(struct ttp_stop *stop, struct leaving *l)
{
    if (!ttp_segment_is_there(l->segment, stop->memory))
        return false;
    ttp_calls_return(stop, l->modules);
    if (l->late.count != 0) {
        if (!l->may_call || l->is_last || is_nobody_inside(stop, l))
            (void)put_late_back(stop->memory, l);
        else
            lead_out(stop, l);
        return true;
    }
    /* Code that calls are made by may have been patched, too: now it is as it was. */
    if (l->may_call && ttp_call_places_find(&l->places, &l->maps, stop->memory)) {
        if (l->range_count != 0)
            give_pages_back(stop, l);
        else
            unmap(stop, l);
    }
    return true;
}

/* While it runs: all that need not be known in a stop. */
static void look_ahead(struct leaving *l)
{
    int memory = ttp_memory_open(l->said->pid, O_RDONLY);
    if (memory < 0)
        return;
    if (!l->said->is_back) {
        (void)know_changes(l, memory);
    } else if (look_at_maps(l, memory)) {
        (void)ttp_call_places_find(&l->places, &l->maps, memory);
        if (!l->was_compared && l->late.count == 0)
            find_ranges(l, memory);
        l->was_compared = l->late.count == 0;
        cut_parts(l);
    }
    (void)close(memory);
}

/* Once; *is_again: it is to be tried again. */
static ttape_status leave_once(struct leaving *l, bool *is_again, ttape_error *err)
{
    struct ttp_stop stop;
    bool was_back = l->said->is_back;
    *is_again = false;
    look_ahead(l);
    TTP_TRY(ttp_stop_all(&stop, l->said->pid, &l->said->stood, err));
    l->may_call = ttp_look_may_call(stop.status);
    bool is_known = was_back ? go_away(&stop, l) : put_back(&stop, l);
    bool is_other = !is_known && !ttp_segment_is_there(l->segment, stop.memory);
    if (is_other)
        (void)look_at_maps(l, stop.memory);
    if (is_other && l->maps.count != 0) {
        l->said->is_gone = true; /* it has executed another program */
        ttp_stop_end(&stop, &l->said->stood);
        return TTAPE_OK;
    }
    *is_again = is_known && l->may_call && !l->said->is_unmapped && l->said->foreign == 0;
    l->stood_ns = ttp_attach_now_ns() - stop.began_ns;
    ttp_stop_end(&stop, &l->said->stood);
    return is_known ? TTAPE_OK
                    : ttp_attach_refuse(err, l->said->pid,
                                        "its memory cannot be put back: what "
                                        "was patched stays, and does nothing");
}

/* Its memory is no more; one that we may not look into any longer is there. */
static bool is_gone(uint32_t pid)
{
    char path[64], byte;
    (void)snprintf(path, sizeof path, "/proc/%u/maps", ttp_living_task(pid));
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT || errno == ESRCH;
    bool is_empty = read(file, &byte, 1) == 0;
    (void)close(file);
    return is_empty;
}

/* What has gone is no try that was in vain. */
static uint32_t steps_left(const struct leaving *l)
{
    uint32_t left = l->range_count + l->late.count + !l->is_empty;
    left += l->said->is_back ? 0 : l->changes.count - l->put_back + 1;
    for (uint32_t i = 0; i < PARTS; i++)
        left += l->parts[i].range.high != 0;
    for (uint32_t i = 1; i < TTP_AGENT_AREAS; i++)
        left += l->areas[i].bytes != 0;
    return left;
}

/* A machine on which a stop takes long lets each thread wait as long for its turn: so it runs for
 * no shorter time than it stood, and who is inside can leave. */
static void pause_before(const struct leaving *l, uint32_t tries)
{
    uint64_t least = tries < SOON ? PAUSE_NS : PAUSE_LATER_NS;
    uint64_t most = l->stood_ns < PAUSE_MOST_NS ? l->stood_ns : PAUSE_MOST_NS;
    const struct timespec pause = {0, (long)(most > least ? most : least)};
    (void)nanosleep(&pause, NULL);
}

ttape_status ttp_leave(struct ttp_leaving *leaving, const struct ttp_segment *segment,
                       ttape_error *err)
{
    struct leaving l = {.said = leaving, .segment = segment};
    ttape_status status = TTAPE_OK;
    bool is_again = true;
    for (uint32_t tries = 0, left = steps_left(&l); is_again && tries < TRIES;) {
        if (tries != 0)
            pause_before(&l, tries);
        l.is_last = tries + 1 == TRIES;
        status = leave_once(&l, &is_again, err);
        if (status != TTAPE_OK && is_gone(leaving->pid)) {
            leaving->is_gone = true;
            status = TTAPE_OK;
            break;
        }
        if (status != TTAPE_OK && (!leaving->is_back || l.late.count != 0))
            is_again = !put_back_held(&l);
        tries = steps_left(&l) == left ? tries + 1 : 1;
        left = steps_left(&l);
    }
    ttp_maps_free(&l.maps);
    free_changes(&l);
    return status;
}
