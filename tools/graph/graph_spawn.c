/* Which thread started a thread, by the most certain source that knows it:
 *
 *   the recorder's markers   thread_create by the creator, thread_start by the thread, one handle
 *   frames open at the start a forked process goes on in the frames that its parent had
 *   what others were doing   the thread that was creating threads (processes) at that time, or the
 *                            process's main thread: a guess, marked as such
 *
 * Threads are visited in the order of their start, so the starter of a thread was visited before
 * it. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/graph/graph_model.h"

#define MARKER_CREATE "tracetape:thread_create"
#define MARKER_START  "tracetape:thread_start"
#define PEEKED_EVENTS 64u /* of a thread, for its marker */
#define FORK_EVENTS                                                                                \
    4096u /* in which a forked process leaves the frames that it has from its parent */
#define CREATOR_CALLS 8u /* innermost frames among which a creating function may be */

enum { SCORE_NONE, SCORE_OTHER, SCORE_MAIN, SCORE_CREATING };

struct creation {
    uint64_t handle, time_ns;
    uint32_t thread;
    bool is_used;
    struct tool_graph_origin origin;
};

struct tool_spawns {
    uint32_t create_site, start_site; /* markers of any scope are one function, or TTAPE_NONE */
    struct creation *creations;
    size_t creation_count, creation_capacity;
    uint32_t *waiting;       /* threads by what their starter's process would be, in order */
    uint32_t *first_waiting; /* by process, its first place in `waiting`; one more at the end */
    uint32_t *main_thread;   /* by process, or TTAPE_NONE */
    uint32_t process_count;
    uint32_t alarm, alarm_end; /* of the thread at hand, in `waiting` */
};

static bool is_named(const struct tool_graph *graph, uint32_t site, const char *name)
{
    ttape_site found;
    return ttape_reader_get_site(graph->input->reader, site, &found) == TTAPE_OK &&
           found.symbol.size_bytes == strlen(name) &&
           memcmp(found.symbol.data, name, found.symbol.size_bytes) == 0;
}

static bool contains(ttape_string text, const char *part)
{
    size_t size = strlen(part);
    for (size_t i = 0; i + size <= text.size_bytes; i++)
        if (memcmp(text.data + i, part, size) == 0)
            return true;
    return false;
}

static bool is_creator(const struct tool_graph *graph, uint32_t site, bool of_process)
{
    static const char *const of_threads[] = {"pthread_create", "thrd_create", "_M_start_thread",
                                             "clone", NULL};
    static const char *const of_processes[] = {"fork", "clone", "posix_spawn", "popen", NULL};
    ttape_site found;
    if (ttape_reader_get_site(graph->input->reader, site, &found) != TTAPE_OK)
        return false;
    for (const char *const *name = of_process ? of_processes : of_threads; *name != NULL; name++)
        if (contains(found.symbol, *name))
            return true;
    return false;
}

/* ---- which threads wait for which process ---- */

static bool is_main(const struct tool_spawns *spawns, const struct tool_graph *graph,
                    uint32_t thread)
{
    return spawns->main_thread[graph->threads[thread].process] == thread;
}

/* The process whose threads may have started a thread; TTAPE_NONE: none here. */
static uint32_t starter_of(const struct tool_spawns *spawns, const struct tool_graph *graph,
                           uint32_t thread)
{
    uint32_t process = graph->threads[thread].process;
    ttape_process found;
    if (!is_main(spawns, graph, thread))
        return process;
    if (ttape_reader_get_process(graph->input->reader, process, &found) != TTAPE_OK ||
        found.parent >= spawns->process_count || found.parent == process)
        return TTAPE_NONE;
    return found.parent;
}

static void sort_waiting(struct tool_spawns *spawns, const struct tool_graph *graph)
{
    uint32_t *first = spawns->first_waiting;
    for (uint32_t i = 0; i < graph->thread_count; i++) {
        uint32_t starter = starter_of(spawns, graph, i);
        if (starter != TTAPE_NONE)
            first[starter + 1]++;
    }
    for (uint32_t i = 0; i < spawns->process_count; i++)
        first[i + 1] += first[i];
    uint32_t *at = tool_allocate(spawns->process_count + 1u, sizeof(uint32_t));
    memcpy(at, first, spawns->process_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < graph->thread_count; i++) {
        uint32_t starter = starter_of(spawns, graph, i);
        if (starter != TTAPE_NONE)
            spawns->waiting[at[starter]++] = i;
    }
    free(at);
}

void tool_spawn_open(struct tool_graph *graph)
{
    struct tool_spawns *spawns = tool_allocate(1, sizeof(*spawns));
    ttape_info info;
    ttape_reader_get_info(graph->input->reader, &info);
    *spawns = (struct tool_spawns){
        .create_site = TTAPE_NONE, .start_site = TTAPE_NONE, .process_count = info.process_count};
    graph->spawns = spawns;
    for (uint32_t i = 0; i < info.site_count; i++)
        if (is_named(graph, i, MARKER_CREATE))
            spawns->create_site = tool_function_of(&graph->functions, i);
        else if (is_named(graph, i, MARKER_START))
            spawns->start_site = tool_function_of(&graph->functions, i);
    spawns->waiting = tool_allocate(graph->thread_count + 1u, sizeof(uint32_t));
    spawns->first_waiting = tool_allocate(info.process_count + 2u, sizeof(uint32_t));
    spawns->main_thread = tool_allocate(info.process_count + 1u, sizeof(uint32_t));
    memset(spawns->main_thread, 0xFF, (info.process_count + 1u) * sizeof(uint32_t));
    for (uint32_t i = graph->thread_count; i-- > 0;) {
        spawns->main_thread[graph->threads[i].process] = i;
        graph->threads[i].guess = TTAPE_NONE;
        graph->threads[i].guess_score = SCORE_NONE;
    }
    if (graph->has_times)
        sort_waiting(spawns, graph);
}

void tool_spawn_close(struct tool_graph *graph)
{
    struct tool_spawns *spawns = graph->spawns;
    free(spawns->creations);
    free(spawns->waiting);
    free(spawns->first_waiting);
    free(spawns->main_thread);
    free(spawns);
    graph->spawns = NULL;
}

/* ---- markers ---- */

/* The handle that an event carries. */
static bool handle_of(struct tool_graph *graph, uint32_t stream, uint64_t number, uint64_t *handle)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    if (ttape_cursor_open(&cursor, graph->input->reader, stream, &err) != TTAPE_OK) {
        tool_graph_peek_failed(graph, &err);
        return false;
    }
    bool found = ttape_cursor_seek_event(cursor, number, &err) == TTAPE_OK &&
                 ttape_cursor_next(cursor, &item, &err) == TTAPE_OK && item.number == number &&
                 item.value_count > 0;
    if (found)
        *handle = item.values[0].number;
    tool_graph_peek_failed(graph, &err);
    ttape_cursor_close(cursor);
    return found;
}

void tool_spawn_leaf(struct tool_graph *graph, const struct tool_calls *calls,
                     const ttape_event *event)
{
    struct tool_spawns *spawns = graph->spawns;
    if (spawns->create_site == TTAPE_NONE ||
        tool_function_of(&graph->functions, event->site) != spawns->create_site)
        return;
    struct creation new = {.time_ns = event->time_ns,
                           .thread = graph->current,
                           .origin = tool_graph_here(graph, calls->current)};
    if (!handle_of(graph, calls->stream, calls->number, &new.handle))
        return;
    tool_grow((void **)&spawns->creations, &spawns->creation_capacity, spawns->creation_count + 1,
              sizeof(new));
    spawns->creations[spawns->creation_count++] = new;
}

static uint64_t distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

/* Handles come again: of the creations with this one, the nearest in time that is still free. */
static struct creation *find_creation(const struct tool_graph *graph, uint32_t thread,
                                      uint64_t handle, uint64_t time_ns)
{
    struct tool_spawns *spawns = graph->spawns;
    struct creation *best = NULL;
    for (size_t i = 0; i < spawns->creation_count; i++) {
        struct creation *one = &spawns->creations[i];
        if (one->handle == handle && !one->is_used &&
            graph->threads[one->thread].process == graph->threads[thread].process &&
            (best == NULL || distance(one->time_ns, time_ns) < distance(best->time_ns, time_ns)))
            best = one;
    }
    return best;
}

static bool begin_by_marker(struct tool_graph *graph, uint32_t thread)
{
    struct tool_spawns *spawns = graph->spawns;
    struct tool_graph_thread *t = &graph->threads[thread];
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    struct creation *found = NULL;
    if (spawns->start_site == TTAPE_NONE || spawns->creation_count == 0)
        return false;
    if (ttape_cursor_open(&cursor, graph->input->reader, t->stream, &err) != TTAPE_OK) {
        tool_graph_peek_failed(graph, &err);
        return false;
    }
    for (uint32_t i = 0; i < PEEKED_EVENTS && found == NULL; i++) {
        if (ttape_cursor_next(cursor, &item, &err) != TTAPE_OK) {
            tool_graph_peek_failed(graph, &err);
            break;
        }
        if (item.event.kind == TTAPE_EVENT_LEAF && item.value_count > 0 &&
            tool_function_of(&graph->functions, item.event.site) == spawns->start_site) {
            found = find_creation(graph, thread, item.values[0].number, item.event.time_ns);
            break;
        }
    }
    ttape_cursor_close(cursor);
    if (found == NULL)
        return false;
    found->is_used = true;
    t->parent = found->thread;
    t->how = TOOL_SPAWN_MARKER;
    t->first = found->origin;
    t->open = (struct tool_graph_origin){.node = TOOL_GRAPH_START};
    return true;
}

/* ---- frames that were open, and guesses ---- */

static bool has_open_frames(struct tool_graph *graph, uint32_t stream)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event event;
    ttape_edge edge;
    size_t count = 0;
    if (ttape_cursor_open(&cursor, graph->input->reader, stream, &err) != TTAPE_OK) {
        tool_graph_peek_failed(graph, &err);
        return false;
    }
    bool has = ttape_cursor_get_open_frames(cursor, &edge, &err) == TTAPE_OK &&
               edge.frame_count > 0 && edge.frames[0].kind == TTAPE_EVENT_OPEN;
    has = has || (ttape_cursor_next_events(cursor, &event, 1, &count, &err) == TTAPE_OK &&
                  count == 1 && event.kind == TTAPE_EVENT_OPEN);
    tool_graph_peek_failed(graph, &err);
    ttape_cursor_close(cursor);
    return has;
}

/* A forked process may begin inside frames that its recording does not show. The first of them that
 * it leaves is the function that forked it. TTAPE_NONE: the process leaves none early on, or the
 * function is pruned. */
static uint32_t find_fork(struct tool_graph *graph, uint32_t stream)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    uint32_t node = TTAPE_NONE;
    size_t count = 0;
    if (ttape_cursor_open(&cursor, graph->input->reader, stream, &err) != TTAPE_OK) {
        tool_graph_peek_failed(graph, &err);
        return node;
    }
    ttape_event *events = tool_allocate(FORK_EVENTS, sizeof(*events));
    if (ttape_cursor_next_events(cursor, events, FORK_EVENTS, &count, &err) != TTAPE_OK)
        tool_graph_peek_failed(graph, &err);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == TTAPE_EVENT_EXIT_UNSEEN) {
            node = graph->plain[tool_function_of(&graph->functions, events[i].site)];
            break;
        }
    }
    free(events);
    ttape_cursor_close(cursor);
    return node != TTAPE_NONE && graph->nodes[node].is_kept ? node : TTAPE_NONE;
}

uint64_t tool_spawn_begin(struct tool_graph *graph, uint32_t thread)
{
    struct tool_spawns *spawns = graph->spawns;
    struct tool_graph_thread *t = &graph->threads[thread];
    t->parent = TTAPE_NONE;
    t->how = TOOL_SPAWN_START;
    t->level = 0;
    t->first = t->open = (struct tool_graph_origin){.node = TOOL_GRAPH_START};
    if (!begin_by_marker(graph, thread) && t->guess != TTAPE_NONE) {
        bool is_child = is_main(spawns, graph, thread);
        bool is_fork = is_child && has_open_frames(graph, t->stream);
        uint32_t place = is_child && !is_fork ? find_fork(graph, t->stream) : TTAPE_NONE;
        t->parent = t->guess;
        t->first = place != TTAPE_NONE ? (struct tool_graph_origin){.node = place} : t->guess_first;
        t->first.is_inferred = !is_fork && place == TTAPE_NONE;
        t->how = t->first.is_inferred ? TOOL_SPAWN_INFERRED : TOOL_SPAWN_FORK;
        t->open = t->guess_open;
    }
    if (t->parent != TTAPE_NONE)
        t->level = graph->threads[t->parent].level + 1;
    t->first.level = t->level;
    spawns->alarm = spawns->first_waiting[t->process];
    spawns->alarm_end = spawns->first_waiting[t->process + 1];
    while (spawns->alarm < spawns->alarm_end && spawns->waiting[spawns->alarm] <= thread)
        spawns->alarm++;
    return spawns->alarm < spawns->alarm_end
               ? graph->threads[spawns->waiting[spawns->alarm]].start_ns
               : UINT64_MAX;
}

static uint32_t score_of(const struct tool_graph *graph, const struct tool_call_stack *stack,
                         uint32_t thread)
{
    const struct tool_spawns *spawns = graph->spawns;
    bool of_process = is_main(spawns, graph, thread);
    for (size_t i = stack->count; i > 0 && i + CREATOR_CALLS > stack->count; i--)
        if (stack->calls[i - 1].kind != TTAPE_EVENT_SIGNAL_BEGIN &&
            is_creator(graph, stack->calls[i - 1].site, of_process))
            return SCORE_CREATING;
    return is_main(spawns, graph, graph->current) ? SCORE_MAIN : SCORE_OTHER;
}

/* The thread at hand is where it was when another started. */
static void consider(struct tool_graph *graph, const struct tool_call_stack *stack, uint32_t thread)
{
    struct tool_graph_thread *t = &graph->threads[thread];
    const struct tool_graph_thread *here = &graph->threads[graph->current];
    uint32_t score = score_of(graph, stack, thread);
    if (score <= t->guess_score)
        return;
    bool is_open = stack->count > 0 && stack->calls[0].kind == TTAPE_EVENT_OPEN;
    t->guess = graph->current;
    t->guess_score = score;
    t->guess_first = tool_graph_here(graph, stack);
    t->guess_open = is_open ? here->open : here->first;
}

void tool_spawn_alarm(struct tool_graph *graph, struct tool_calls *calls)
{
    struct tool_spawns *spawns = graph->spawns;
    uint64_t alarm_ns = calls->alarm_ns;
    while (spawns->alarm < spawns->alarm_end &&
           graph->threads[spawns->waiting[spawns->alarm]].start_ns <= alarm_ns)
        consider(graph, calls->current, spawns->waiting[spawns->alarm++]);
    calls->alarm_ns = spawns->alarm < spawns->alarm_end
                          ? graph->threads[spawns->waiting[spawns->alarm]].start_ns
                          : UINT64_MAX;
}
