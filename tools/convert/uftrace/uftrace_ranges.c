/* What lies at an address: one map, at all times, or one of several whose libraries were loaded
 * there one after the other (DLOP lines of task.txt; that they went, no line says).
 *
 * Which it is depends on the time and the process: what a process loads its parent does not have,
 * and a child has what was loaded before it was forked. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "tools/convert/uftrace/uftrace.h"

static int compare_u64(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int compare_maps(const void *a, const void *b)
{
    const struct tool_uft_map *one = a, *two = b;
    return one->start != two->start ? compare_u64(one->start, two->start)
                                    : compare_u64(one->place, two->place);
}

static int compare_loads(const void *a, const void *b)
{
    const struct tool_uft_load *one = a, *two = b;
    if (one->range != two->range)
        return compare_u64(one->range, two->range);
    return one->time_ns != two->time_ns ? compare_u64(one->time_ns, two->time_ns)
                                        : compare_u64(one->map, two->map);
}

/* Maps by start; loads say which is theirs. */
static void sort_maps(struct tool_uft_session *session)
{
    uint32_t *place_of = tool_allocate(session->map_count, sizeof(uint32_t));
    qsort(session->maps, session->map_count, sizeof(struct tool_uft_map), compare_maps);
    for (uint32_t i = 0; i < session->map_count; i++)
        place_of[session->maps[i].place] = i;
    for (size_t i = 0; i < session->load_count; i++)
        session->loads[i].map = place_of[session->loads[i].map];
    for (size_t i = 0; i < session->map_count; i++)
        session->maps[i].place = 0;
    free(place_of);
}

/* Runs of maps that overlap become ranges. */
static void find_ranges(struct tool_uft_session *session)
{
    for (size_t first = 0, last; first < session->map_count; first = last) {
        uint64_t end = session->maps[first].end;
        for (last = first + 1; last < session->map_count && session->maps[last].start < end; last++)
            end = session->maps[last].end > end ? session->maps[last].end : end;
        if (last == first + 1)
            continue;
        tool_grow((void **)&session->ranges, &session->range_capacity, session->range_count + 1,
                  sizeof(struct tool_uft_range));
        session->ranges[session->range_count++] =
            (struct tool_uft_range){.start = session->maps[first].start, .end = end};
        for (size_t i = first; i < last; i++)
            session->maps[i].place = (uint32_t)session->range_count;
    }
}

/* Maps of the session's begin are loads, too, of time 0 and all processes. */
static void add_first(struct tool_uft_session *session)
{
    for (uint32_t i = 0; i < session->map_count; i++) {
        if (!session->maps[i].is_first || session->maps[i].place == 0)
            continue;
        tool_grow((void **)&session->loads, &session->load_capacity, session->load_count + 1,
                  sizeof(struct tool_uft_load));
        session->loads[session->load_count++] = (struct tool_uft_load){.map = i};
    }
}

static void sort_loads(const struct tool_uft_recording *recording, struct tool_uft_session *session)
{
    for (size_t i = 0; i < session->load_count; i++) {
        struct tool_uft_load *load = &session->loads[i];
        const struct tool_uft_thread *thread = tool_uft_find_thread(recording, load->tid);
        load->pid = thread != NULL ? thread->pid : load->tid;
        load->range = session->maps[load->map].place;
    }
    qsort(session->loads, session->load_count, sizeof(struct tool_uft_load), compare_loads);
    for (size_t i = 0; i < session->load_count; i++) {
        if (session->loads[i].range == 0)
            continue;
        struct tool_uft_range *range = &session->ranges[session->loads[i].range - 1];
        range->first_load = range->load_count == 0 ? i : range->first_load;
        range->load_count++;
    }
}

void tool_uft_sort_maps(struct tool_uft_recording *recording, struct tool_uft_session *session)
{
    if (session->map_count == 0)
        return;
    sort_maps(session);
    find_ranges(session);
    if (session->range_count > 0) {
        add_first(session);
        sort_loads(recording, session);
    }
}

/* ---- looking up ---- */

static bool covers(const struct tool_uft_session *session, const struct tool_uft_load *load,
                   uint64_t address)
{
    const struct tool_uft_map *map = &session->maps[load->map];
    return map->start <= address && address < map->end;
}

/* How many of a range's loads were at or before a time. */
static size_t loads_until(const struct tool_uft_session *session,
                          const struct tool_uft_range *range, uint64_t time_ns)
{
    struct ttp_bisect s = {.end = range->load_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, session->loads[range->first_load + s.middle].time_ns <= time_ns);
    return s.first;
}

/* The last load that a process sees, of its own or inherited; NULL: there is none. */
static const struct tool_uft_load *find_load(const struct tool_uft_recording *recording,
                                             const struct tool_uft_session *session,
                                             const struct tool_uft_range *range, uint64_t pid,
                                             uint64_t time_ns, uint64_t address)
{
    const struct tool_uft_load *loads = &session->loads[range->first_load];
    for (size_t steps = 0; steps <= recording->process_count; steps++) {
        for (size_t i = loads_until(session, range, time_ns); i-- > 0;)
            if (loads[i].tid != 0 && loads[i].pid == pid && covers(session, &loads[i], address))
                return &loads[i];
        const struct tool_uft_process *process = tool_uft_find_process(recording, pid);
        if (process == NULL || !process->has_parent)
            break;
        time_ns = process->start_ns < time_ns ? process->start_ns : time_ns;
        pid = process->parent_pid;
    }
    const struct tool_uft_load *first = NULL;
    for (size_t i = 0; i < range->load_count; i++) {
        if (!covers(session, &loads[i], address))
            continue;
        if (loads[i].tid == 0 || first == NULL) /* of the first maps the nearest start */
            first = &loads[i];
        if (loads[i].tid != 0)
            break;
    }
    return first;
}

struct tool_uft_place tool_uft_find_place(struct tool_uft_recording *recording,
                                          const struct tool_uft_session *session, uint64_t pid,
                                          uint64_t time_ns, uint64_t address)
{
    struct ttp_bisect s = {.end = session->map_count};
    struct tool_uft_place place = {.map = TTAPE_NONE};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, session->maps[s.middle].start <= address);
    const struct tool_uft_map *map = s.first > 0 ? &session->maps[s.first - 1] : NULL;
    if (map != NULL && map->place > 0) {
        const struct tool_uft_range *range = &session->ranges[map->place - 1];
        const struct tool_uft_load *loads = &session->loads[range->first_load], *load = NULL;
        size_t until = loads_until(session, range, time_ns);
        if (address < range->end)
            load = find_load(recording, session, range, pid, time_ns, address);
        if (load != NULL) {
            return (struct tool_uft_place){
                .map = load->map,
                .is_shared = true,
                .from_ns = until > 0 ? loads[until - 1].time_ns : 0,
                .until_ns = until < range->load_count ? loads[until].time_ns : TOOL_UFT_NO_TIME};
        }
    } else if (map != NULL && address < map->end) {
        place.map = (uint32_t)(map - session->maps);
    }
    if (place.map == TTAPE_NONE && recording->python != TTAPE_NONE &&
        address <= tool_uft_symbols_end(recording, &recording->modules[recording->python]))
        place.map = TOOL_UFT_PYTHON;
    return place;
}

void tool_uft_close_maps(struct tool_uft_session *session)
{
    tool_names_close(&session->map_of);
    tool_names_close(&session->shared_of);
    free(session->maps);
    free(session->loads);
    free(session->ranges);
    free(session->shared);
}
