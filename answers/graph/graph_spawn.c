/* Which thread started a thread, by the most certain source that knows it:
 *
 *   the recorder's facts     thread_create by the starter, thread_start by the thread, one number;
 *                            process_create by the starter, the process's id (spec/facts.md)
 *   the program's markers    the same names, one handle
 *   frames open at the start a forked process goes on in the frames that its parent had
 *   what others were doing   the thread that was creating threads (processes) at that time, or the
 *                            process's main thread: a guess, marked as such
 *
 * Threads are visited in the order of their start, so the starter of a thread was visited before
 * it. */
#include <string.h>

#include "answers/graph/graph_internal.h"
#include "format/base/fail.h"

#define MARKER_CREATE  "tracetape:thread_create"
#define MARKER_START   "tracetape:thread_start"
#define MARKER_PROCESS "tracetape:process_create"
#define PEEKED_EVENTS  64u /* of a thread, for its marker */
#define FORK_EVENTS                                                                                \
    4096u /* in which a forked process leaves the frames that it has from its parent */
#define CREATOR_CALLS 8u /* innermost frames among which a creating function may be */

enum { SCORE_NONE, SCORE_OTHER, SCORE_MAIN, SCORE_CREATING };

#define FACT_VALUES 2u
#define KEY_PROCESS (UINT64_C(1) << 63) /* key of a creation: of a process, or of a thread */
#define KEY_SHIFT   32u                 /* the starter's process; below it number or pid */
#define KEY_MAX     UINT32_MAX

struct creation {
    uint64_t handle, time_ns;
    uint32_t thread;
    uint32_t next, last; /* with the same key; last: of the first one */
    bool is_used, is_fact;
    struct ttp_graph_origin origin, open;
};

struct ttp_graph_spawns {
    uint32_t create_row, process_row;   /* functions, or TTAPE_NONE */
    struct ttp_key_map creation_by_key; /* the first fact; creations that are facts only */
    struct ttp_key_map thread_by_id;    /* by process and tid, the last that was visited */
    struct creation *creations;
    uint32_t creation_count, creation_capacity;
    uint32_t *waiting;       /* threads by what their starter's process would be, in order */
    uint32_t *first_waiting; /* by process, its first place in `waiting`; one more at the end */
    uint32_t *main_thread;   /* by process, or TTAPE_NONE */
    uint32_t process_count, thread_count; /* of these arrays */
    uint32_t alarm, alarm_end;            /* of the thread at hand, in `waiting` */
};

static bool is_named(const struct ttape_graph *graph, uint32_t site, const char *name)
{
    ttape_site found;
    return ttape_reader_get_site(graph->reader, site, &found) == TTAPE_OK &&
           found.symbol.size_bytes == strlen(name) &&
           memcmp(found.symbol.data, name, found.symbol.size_bytes) == 0;
}

/* Markers of any scope are one function; TTAPE_NONE: there is none. */
static uint32_t find_marker(const struct ttape_graph *graph, const char *name)
{
    ttape_info info;
    uint32_t found = TTAPE_NONE;
    ttape_reader_get_info(graph->reader, &info);
    for (uint32_t i = 0; i < info.site_count; i++)
        if (is_named(graph, i, name))
            found = ttp_graph_row(graph, i);
    return found;
}

static bool contains(ttape_string text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size_bytes; i++)
        if (memcmp(text.data + i, word, size) == 0)
            return true;
    return false;
}

static bool is_creator(const struct ttape_graph *graph, uint32_t site, bool of_process)
{
    static const char *const of_threads[] = {"pthread_create", "thrd_create", "_M_start_thread",
                                             "clone", NULL};
    static const char *const of_processes[] = {"fork", "clone", "posix_spawn", "popen", NULL};
    ttape_site found;
    if (ttape_reader_get_site(graph->reader, site, &found) != TTAPE_OK)
        return false;
    for (const char *const *name = of_process ? of_processes : of_threads; *name != NULL; name++)
        if (contains(found.symbol, *name))
            return true;
    return false;
}

/* ---- which threads wait for which process ---- */

static bool is_main(const struct ttp_graph_spawns *spawns, const struct ttape_graph *graph,
                    uint32_t thread)
{
    return spawns->main_thread[graph->threads[thread].shown.process] == thread;
}

/* The process whose threads may have started a thread; TTAPE_NONE: none here. */
static uint32_t starter_of(const struct ttp_graph_spawns *spawns, const struct ttape_graph *graph,
                           uint32_t thread)
{
    uint32_t process = graph->threads[thread].shown.process;
    ttape_process found;
    if (!is_main(spawns, graph, thread))
        return process;
    if (ttape_reader_get_process(graph->reader, process, &found) != TTAPE_OK ||
        found.parent >= spawns->process_count || found.parent == process)
        return TTAPE_NONE;
    return found.parent;
}

static void sort_waiting(struct ttp_graph_spawns *spawns, const struct ttape_graph *graph)
{
    uint32_t *first = spawns->first_waiting;
    for (uint32_t i = 0; i < graph->info.thread_count; i++) {
        uint32_t starter = starter_of(spawns, graph, i);
        if (starter != TTAPE_NONE)
            first[starter + 1]++;
    }
    for (uint32_t i = 0; i < spawns->process_count; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < graph->info.thread_count; i++) {
        uint32_t starter = starter_of(spawns, graph, i);
        if (starter != TTAPE_NONE)
            spawns->waiting[first[starter]++] = i;
    }
    for (uint32_t i = spawns->process_count; i > 0; i--) /* each is where the next began */
        first[i] = first[i - 1];
    first[0] = 0;
}

void ttp_spawn_open(struct ttape_graph *graph)
{
    ttape_info info;
    ttape_reader_get_info(graph->reader, &info);
    struct ttp_graph_spawns *spawns = ttp_graph_take(graph, 1, sizeof *spawns);
    if (spawns == NULL)
        return;
    *spawns = (struct ttp_graph_spawns){.create_row = find_marker(graph, MARKER_CREATE),
                                        .process_row = find_marker(graph, MARKER_PROCESS),
                                        .process_count = info.process_count,
                                        .thread_count = graph->info.thread_count};
    graph->spawns = spawns;
    spawns->waiting = ttp_graph_take(graph, spawns->thread_count, sizeof *spawns->waiting);
    spawns->first_waiting =
        ttp_graph_take(graph, info.process_count + 2u, sizeof *spawns->first_waiting);
    spawns->main_thread =
        ttp_graph_take(graph, info.process_count + 1u, sizeof *spawns->main_thread);
    if (graph->status != TTAPE_OK)
        return;
    memset(spawns->main_thread, 0xFF, (info.process_count + 1u) * sizeof(uint32_t));
    for (uint32_t i = graph->info.thread_count; i-- > 0;) {
        spawns->main_thread[graph->threads[i].shown.process] = i;
        graph->threads[i].guess = TTAPE_NONE;
        graph->threads[i].guess_score = SCORE_NONE;
    }
    if (graph->info.has_times)
        sort_waiting(spawns, graph);
}

void ttp_spawn_close(struct ttape_graph *graph)
{
    struct ttp_graph_spawns *spawns = graph->spawns;
    struct ttp_memory *memory = &graph->memory;
    if (spawns == NULL)
        return;
    ttp_key_map_close(&spawns->creation_by_key, memory);
    ttp_key_map_close(&spawns->thread_by_id, memory);
    ttp_memory_give(memory, spawns->creations, spawns->creation_capacity,
                    sizeof *spawns->creations);
    ttp_memory_give(memory, spawns->waiting, spawns->thread_count, sizeof *spawns->waiting);
    ttp_memory_give(memory, spawns->first_waiting, spawns->process_count + 2u,
                    sizeof *spawns->first_waiting);
    ttp_memory_give(memory, spawns->main_thread, spawns->process_count + 1u,
                    sizeof *spawns->main_thread);
    ttp_memory_give(memory, spawns, 1, sizeof *spawns);
    graph->spawns = NULL;
}

/* ---- facts and markers ---- */

/* F-FCT-01. The program's own markers have one value. */
static bool read_carried(const ttape_event_item *item, uint32_t second_type,
                         struct ttp_graph_carried *out)
{
    if (item->value_count == 0)
        return false;
    *out = (struct ttp_graph_carried){
        .first = item->values[0].number, .time_ns = item->event.time_ns, .is_there = true};
    out->is_fact = item->value_count >= FACT_VALUES &&
                   item->values[0].type == TTAPE_VALUE_UNSIGNED &&
                   item->values[1].type == second_type;
    out->second = out->is_fact ? item->values[1].number : 0;
    return true;
}

static bool read_event(struct ttape_graph *graph, uint64_t number, struct ttp_graph_carried *out)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    if (ttape_cursor_open(&cursor, graph->reader, graph->threads[graph->current].shown.stream,
                          &err) != TTAPE_OK) {
        ttp_graph_peek_failed(graph, &err);
        return false;
    }
    bool found = ttape_cursor_seek_event(cursor, number, &err) == TTAPE_OK &&
                 ttape_cursor_next(cursor, &item, &err) == TTAPE_OK && item.number == number &&
                 read_carried(&item, TTAPE_VALUE_POINTER, out);
    ttp_graph_peek_failed(graph, &err);
    ttape_cursor_close(cursor);
    return found;
}

static uint64_t key_of(uint32_t process, uint64_t number)
{
    return (uint64_t)process << KEY_SHIFT | number;
}

static struct ttp_graph_origin open_here(const struct ttape_graph *graph,
                                         const struct ttp_graph_stack *stack)
{
    const struct ttp_graph_thread *here = &graph->threads[graph->current];
    bool is_open = stack->count > 0 && stack->calls[0].kind == TTAPE_EVENT_OPEN;
    return is_open ? here->open : here->first;
}

/* Its place is behind those with its key. */
static void add_fact(struct ttape_graph *graph, uint64_t key)
{
    struct ttp_graph_spawns *spawns = graph->spawns;
    uint32_t new = (uint32_t)spawns->creation_count - 1;
    uint32_t *first = ttp_graph_at(graph, &spawns->creation_by_key, key, TTAPE_NONE);
    if (*first == TTAPE_NONE)
        *first = new;
    else
        spawns->creations[spawns->creations[*first].last].next = new;
    spawns->creations[*first].last = new;
}

void ttp_spawn_leaf(struct ttape_graph *graph, uint64_t number, const ttape_event *event)
{
    struct ttp_graph_spawns *spawns = graph->spawns;
    struct ttp_graph_carried carried;
    if (spawns->create_row == TTAPE_NONE && spawns->process_row == TTAPE_NONE)
        return;
    uint32_t function = ttp_graph_row(graph, event->site);
    bool of_process = function == spawns->process_row;
    if ((function != spawns->create_row && !of_process) || !read_event(graph, number, &carried) ||
        (of_process && !carried.is_fact) || (carried.is_fact && carried.first > KEY_MAX))
        return;
    const struct ttp_graph_stack *stack = &graph->stacks[graph->current_stack];
    struct creation new = {.handle = carried.first,
                           .time_ns = carried.time_ns,
                           .thread = graph->current,
                           .next = TTAPE_NONE,
                           .is_fact = carried.is_fact,
                           .origin = ttp_graph_here(graph, stack),
                           .open = open_here(graph, stack)};
    if (!ttp_graph_reserve(graph, &spawns->creations, &spawns->creation_capacity,
                           (uint64_t)spawns->creation_count + 1, sizeof new))
        return;
    spawns->creations[spawns->creation_count++] = new;
    if (new.is_fact)
        add_fact(graph, (of_process ? KEY_PROCESS : 0) |
                            key_of(graph->threads[graph->current].shown.process, new.handle));
}

static uint64_t distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

/* F-FCT-05: handles come again: of the creations with this one, the nearest in time that is still
 * free. */
static struct creation *find_marked(const struct ttape_graph *graph, uint32_t thread,
                                    const struct ttp_graph_carried *start)
{
    struct ttp_graph_spawns *spawns = graph->spawns;
    struct creation *best = NULL;
    for (uint32_t i = 0; i < spawns->creation_count; i++) {
        struct creation *one = &spawns->creations[i];
        if (one->handle == start->first && !one->is_used && !one->is_fact &&
            graph->threads[one->thread].shown.process == graph->threads[thread].shown.process &&
            (best == NULL ||
             distance(one->time_ns, start->time_ns) < distance(best->time_ns, start->time_ns)))
            best = one;
    }
    if (best != NULL)
        best->is_used = true;
    return best;
}

/* F-FCT-02 */
static struct creation *find_number(struct ttape_graph *graph, uint32_t process, uint64_t number)
{
    struct ttp_graph_spawns *spawns = graph->spawns;
    if (number == 0 || number > KEY_MAX)
        return NULL;
    uint32_t found =
        *ttp_graph_at(graph, &spawns->creation_by_key, key_of(process, number), TTAPE_NONE);
    return found == TTAPE_NONE || spawns->creations[found].next != TTAPE_NONE
               ? NULL
               : &spawns->creations[found];
}

/* F-FCT-04 */
static struct creation *take_process(struct ttape_graph *graph, uint32_t parent, uint64_t pid)
{
    struct ttp_graph_spawns *spawns = graph->spawns;
    if (pid > KEY_MAX)
        return NULL;
    uint32_t *place = ttp_graph_at(graph, &spawns->creation_by_key,
                                   KEY_PROCESS | key_of(parent, pid), TTAPE_NONE);
    if (*place == TTAPE_NONE)
        return NULL;
    struct creation *found = &spawns->creations[*place];
    if (found->next != TTAPE_NONE)
        spawns->creations[found->next].last = found->last;
    *place = found->next;
    return found;
}

static void start_from(struct ttp_graph_thread *thread, const struct creation *creation,
                       ttape_graph_source how)
{
    thread->shown.parent = creation->thread;
    thread->shown.source = how;
    thread->first = creation->origin;
    thread->open = how == TTAPE_GRAPH_BY_MARKER
                       ? (struct ttp_graph_origin){.node = TTAPE_GRAPH_START}
                       : creation->open;
}

static void read_start(struct ttape_graph *graph, struct ttp_graph_thread *thread,
                       uint32_t start_site)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    bool found = false;
    if (ttape_cursor_open(&cursor, graph->reader, thread->shown.stream, &err) != TTAPE_OK) {
        ttp_graph_peek_failed(graph, &err);
        return;
    }
    for (uint32_t i = 0; i < PEEKED_EVENTS && !found; i++) {
        if (ttape_cursor_next(cursor, &item, &err) != TTAPE_OK) {
            ttp_graph_peek_failed(graph, &err);
            break;
        }
        found = item.event.kind == TTAPE_EVENT_LEAF &&
                ttp_graph_row(graph, item.event.site) == start_site &&
                read_carried(&item, TTAPE_VALUE_UNSIGNED, &thread->start);
    }
    ttape_cursor_close(cursor);
}

void ttp_spawn_read_starts(struct ttape_graph *graph)
{
    uint32_t site = find_marker(graph, MARKER_START);
    for (uint32_t i = 0; site != TTAPE_NONE && i < graph->info.thread_count; i++)
        read_start(graph, &graph->threads[i], site);
}

/* F-FCT-03: the starter without the place. */
static bool begin_by_id(struct ttape_graph *graph, uint32_t thread, uint64_t starter_id)
{
    struct ttp_graph_thread *t = &graph->threads[thread];
    if (starter_id > KEY_MAX)
        return false;
    t->shown.parent = *ttp_graph_at(graph, &graph->spawns->thread_by_id,
                                    key_of(t->shown.process, starter_id), TTAPE_NONE);
    t->shown.source =
        t->shown.parent != TTAPE_NONE ? TTAPE_GRAPH_BY_RECORDER : TTAPE_GRAPH_BY_NOTHING;
    return t->shown.parent != TTAPE_NONE;
}

static bool begin_thread(struct ttape_graph *graph, uint32_t thread)
{
    struct ttp_graph_thread *t = &graph->threads[thread];
    const struct ttp_graph_carried *start = &t->start;
    if (!start->is_there)
        return false;
    struct creation *found = start->is_fact ? find_number(graph, t->shown.process, start->first)
                                            : find_marked(graph, thread, start);
    if (found == NULL)
        return start->is_fact && begin_by_id(graph, thread, start->second);
    start_from(t, found, start->is_fact ? TTAPE_GRAPH_BY_RECORDER : TTAPE_GRAPH_BY_MARKER);
    return true;
}

static bool begin_process(struct ttape_graph *graph, uint32_t thread)
{
    const struct ttp_graph_spawns *spawns = graph->spawns;
    struct ttp_graph_thread *t = &graph->threads[thread];
    uint32_t parent = starter_of(spawns, graph, thread);
    if (spawns->process_row == TTAPE_NONE || parent == TTAPE_NONE)
        return false;
    struct creation *found = take_process(graph, parent, t->shown.pid);
    if (found != NULL)
        start_from(t, found, TTAPE_GRAPH_BY_RECORDER);
    return found != NULL;
}

static bool begin_by_fact(struct ttape_graph *graph, uint32_t thread)
{
    struct ttp_graph_thread *t = &graph->threads[thread];
    bool is_known = begin_thread(graph, thread) ||
                    (is_main(graph->spawns, graph, thread) && begin_process(graph, thread));
    if (t->shown.tid <= KEY_MAX)
        *ttp_graph_at(graph, &graph->spawns->thread_by_id, key_of(t->shown.process, t->shown.tid),
                      TTAPE_NONE) = thread;
    return is_known;
}

/* ---- frames that were open, and guesses ---- */

static bool has_open_frames(struct ttape_graph *graph, uint32_t stream)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event event;
    ttape_edge edge;
    size_t count = 0;
    if (ttape_cursor_open(&cursor, graph->reader, stream, &err) != TTAPE_OK) {
        ttp_graph_peek_failed(graph, &err);
        return false;
    }
    bool has = ttape_cursor_get_open_frames(cursor, &edge, &err) == TTAPE_OK &&
               edge.frame_count > 0 && edge.frames[0].kind == TTAPE_EVENT_OPEN;
    has = has || (ttape_cursor_next_events(cursor, &event, 1, &count, &err) == TTAPE_OK &&
                  count == 1 && event.kind == TTAPE_EVENT_OPEN);
    ttp_graph_peek_failed(graph, &err);
    ttape_cursor_close(cursor);
    return has;
}

/* A forked process may begin inside frames that its recording does not show. The first of them that
 * it leaves is the function that forked it. TTAPE_NONE: the process leaves none early on, or the
 * function is pruned. */
static uint32_t find_fork(struct ttape_graph *graph, uint32_t stream)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    uint32_t node = TTAPE_NONE;
    size_t count = 0;
    if (ttape_cursor_open(&cursor, graph->reader, stream, &err) != TTAPE_OK) {
        ttp_graph_peek_failed(graph, &err);
        return node;
    }
    ttape_event *events = ttp_graph_take(graph, FORK_EVENTS, sizeof *events);
    if (events != NULL &&
        ttape_cursor_next_events(cursor, events, FORK_EVENTS, &count, &err) != TTAPE_OK)
        ttp_graph_peek_failed(graph, &err);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == TTAPE_EVENT_EXIT_UNSEEN) {
            node = graph->plain[ttp_graph_row(graph, events[i].site)];
            break;
        }
    }
    ttp_memory_give(&graph->memory, events, FORK_EVENTS, sizeof *events);
    ttape_cursor_close(cursor);
    return node != TTAPE_NONE && graph->nodes[node].is_kept ? node : TTAPE_NONE;
}

uint64_t ttp_spawn_begin(struct ttape_graph *graph, uint32_t thread)
{
    struct ttp_graph_spawns *spawns = graph->spawns;
    struct ttp_graph_thread *t = &graph->threads[thread];
    t->shown.parent = TTAPE_NONE;
    t->shown.source = TTAPE_GRAPH_BY_NOTHING;
    t->shown.level = 0;
    t->first = t->open = (struct ttp_graph_origin){.node = TTAPE_GRAPH_START};
    if (!begin_by_fact(graph, thread) && t->guess != TTAPE_NONE) {
        bool is_child = is_main(spawns, graph, thread);
        bool is_fork = is_child && has_open_frames(graph, t->shown.stream);
        uint32_t place = is_child && !is_fork ? find_fork(graph, t->shown.stream) : TTAPE_NONE;
        t->shown.parent = t->guess;
        t->first = place != TTAPE_NONE ? (struct ttp_graph_origin){.node = place} : t->guess_first;
        t->first.is_inferred = !is_fork && place == TTAPE_NONE;
        t->shown.source = t->first.is_inferred ? TTAPE_GRAPH_BY_GUESS : TTAPE_GRAPH_BY_FORK;
        t->open = t->guess_open;
    }
    if (t->shown.parent != TTAPE_NONE)
        t->shown.level = graph->threads[t->shown.parent].shown.level + 1;
    t->first.level = t->shown.level;
    spawns->alarm = spawns->first_waiting[t->shown.process];
    spawns->alarm_end = spawns->first_waiting[t->shown.process + 1];
    while (spawns->alarm < spawns->alarm_end && spawns->waiting[spawns->alarm] <= thread)
        spawns->alarm++;
    return spawns->alarm < spawns->alarm_end
               ? graph->threads[spawns->waiting[spawns->alarm]].shown.start_ns
               : UINT64_MAX;
}

static uint32_t score_of(const struct ttape_graph *graph, const struct ttp_graph_stack *stack,
                         uint32_t thread)
{
    const struct ttp_graph_spawns *spawns = graph->spawns;
    bool of_process = is_main(spawns, graph, thread);
    for (size_t i = stack->count; i > 0 && i + CREATOR_CALLS > stack->count; i--)
        if (stack->calls[i - 1].kind != TTAPE_EVENT_SIGNAL_BEGIN &&
            is_creator(graph, stack->calls[i - 1].site, of_process))
            return SCORE_CREATING;
    return is_main(spawns, graph, graph->current) ? SCORE_MAIN : SCORE_OTHER;
}

/* The thread at hand is where it was when another started. */
static void consider(struct ttape_graph *graph, const struct ttp_graph_stack *stack,
                     uint32_t thread)
{
    struct ttp_graph_thread *t = &graph->threads[thread];
    uint32_t score = score_of(graph, stack, thread);
    if (score <= t->guess_score)
        return;
    t->guess = graph->current;
    t->guess_score = score;
    t->guess_first = ttp_graph_here(graph, stack);
    t->guess_open = open_here(graph, stack);
}

void ttp_spawn_alarm(struct ttape_graph *graph)
{
    struct ttp_graph_spawns *spawns = graph->spawns;
    uint64_t alarm_ns = graph->alarm_ns;
    while (spawns->alarm < spawns->alarm_end &&
           graph->threads[spawns->waiting[spawns->alarm]].shown.start_ns <= alarm_ns)
        consider(graph, &graph->stacks[graph->current_stack], spawns->waiting[spawns->alarm++]);
    graph->alarm_ns = spawns->alarm < spawns->alarm_end
                          ? graph->threads[spawns->waiting[spawns->alarm]].shown.start_ns
                          : UINT64_MAX;
}
