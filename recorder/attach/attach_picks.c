/* Jumps that come and go when other functions are chosen: of some functions in each stop, so that
 * it is about as short as one that does nothing; then again for those that somebody was inside. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/attach/attach_handle.h"

#define STUB_BYTES ((uint64_t)sizeof(struct ttp_probe_stub))

/* Where its tasks are while it stands still. */
struct where {
    struct ttp_points points, open; /* in the code and in stubs; exactly, and by open calls */
    bool is_agent_busy;             /* somebody is in a hook */
};

static uint32_t function_of(const struct ttp_pick *pick)
{
    return pick->target->windows.list[pick->index].function;
}

static bool is_one_function(const struct ttp_pick *x, const struct ttp_pick *y)
{
    return x->target == y->target && function_of(x) == function_of(y);
}

static int compare_picks(const void *a, const void *b)
{
    const struct ttp_pick *x = a, *y = b;
    if (x->target != y->target)
        return x->target->elf.low < y->target->elf.low ||
                       (x->target->elf.low == y->target->elf.low && x->target < y->target)
                   ? -1
                   : 1;
    if (function_of(x) != function_of(y))
        return function_of(x) < function_of(y) ? -1 : 1;
    return x->change.at < y->change.at ? -1 : x->change.at > y->change.at;
}

/* A library may have been unloaded, and loaded again: then its jumps are gone. */
static bool settle_pick(const struct ttp_pick *pick, int memory)
{
    uint8_t bytes[8];
    const struct ttp_change *change = &pick->change;
    if (!ttp_memory_read(memory, change->at, bytes, change->count))
        return false;
    uint64_t now = ttp_bytes_read(bytes, change->count);
    if (now == change->becomes)
        pick->target->done[pick->index] = pick->target->wanted[pick->index];
    return now == change->was;
}

/* It is entered and left in one window, and has two stubs in a row. */
static bool is_short(const struct ttp_windows *w, uint32_t function)
{
    const struct ttp_patch_function *f = &w->decision.functions[function];
    const struct ttp_patch_probe *probes = &w->decision.probes[f->first_probe];
    return f->probe_count > 1 && probes[1].window == probes[0].window;
}

/* Whether the end of each of its calls is seen. */
static bool sees_ends(const struct ttp_target *target, uint32_t function)
{
    uint32_t jumps = target->jumps[function] + (uint32_t)is_short(&target->windows, function);
    return jumps >= target->windows.decision.functions[function].probe_count;
}

static void pick_changes(struct ttp_choosing *c, struct ttp_target *target, int memory)
{
    const struct ttp_changes *changes = &target->windows.changes;
    for (uint32_t i = 0; i < changes->count; i++) {
        struct ttp_pick pick = {changes->list[i], target, i, target->done[i]};
        if (target->wanted[i] == target->done[i])
            continue;
        if (target->done[i]) {
            pick.change.was = changes->list[i].becomes;
            pick.change.becomes = changes->list[i].was;
        }
        if (settle_pick(&pick, memory))
            c->picks[c->count++] = pick;
    }
}

static bool find_changes(struct ttp_choosing *c)
{
    int memory = ttp_memory_open(c->a->options.pid, O_RDONLY);
    size_t room = 1;
    for (uint32_t i = 0; i < ttp_attach_layers(c->a); i++)
        room += ttp_targets_changes(ttp_attach_layer(c->a, i));
    c->picks = calloc(room, sizeof *c->picks);
    c->changes.list = calloc(room, sizeof *c->changes.list);
    c->skip = calloc(room, sizeof *c->skip);
    bool is_there = memory >= 0 && c->picks != NULL && c->changes.list != NULL && c->skip != NULL;
    for (uint32_t i = 0; is_there && i < ttp_attach_layers(c->a); i++)
        for (size_t j = 0; j < ttp_attach_layer(c->a, i)->count; j++)
            pick_changes(c, &ttp_attach_layer(c->a, i)->list[j], memory);
    if (memory >= 0)
        (void)close(memory);
    c->all = c->count;
    return is_there;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct ttp_agent_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* Words of stacks in there may be places; a module that is there twice is the same twice. */
static bool find_ranges(struct ttp_choosing *c)
{
    size_t room = 1;
    for (uint32_t i = 0; i < ttp_attach_layers(c->a); i++)
        room += ttp_attach_layer(c->a, i)->count + TTP_AGENT_AREAS;
    c->ranges = calloc(room, sizeof *c->ranges);
    for (uint32_t i = 0; c->ranges != NULL && i < ttp_attach_layers(c->a); i++) {
        const struct ttp_targets *t = ttp_attach_layer(c->a, i);
        for (size_t j = 0; j < t->count; j++)
            c->ranges[c->range_count++] =
                (struct ttp_agent_range){t->list[j].elf.low, t->list[j].elf.high};
        for (uint32_t j = 0; j < t->cluster_count; j++)
            if (t->areas[j].at != 0)
                c->ranges[c->range_count++] =
                    (struct ttp_agent_range){t->areas[j].at, t->areas[j].at + t->areas[j].bytes};
    }
    if (c->ranges != NULL)
        qsort(c->ranges, c->range_count, sizeof *c->ranges, compare_ranges);
    return c->ranges != NULL;
}

bool ttp_picks_find(struct ttp_choosing *c) { return find_changes(c) && find_ranges(c); }

void ttp_picks_free(struct ttp_choosing *c)
{
    free(c->picks);
    free(c->changes.list);
    free(c->skip);
    free(c->ranges);
}

/* One that comes: nobody stands in its window. One that goes: no call is open whose end is seen,
 * and nobody is in its stub, or in the agent and about to return there. */
static bool is_inside(const struct ttp_pick *pick, const struct where *where)
{
    const struct ttp_windows *w = &pick->target->windows;
    const struct ttp_window *window = &w->list[pick->index];
    if (!pick->was_done)
        return ttp_points_hold(&where->points, window->at + 1, window->at + window->bytes);
    bool is_first = ttp_windows_is_entry(w, pick->index);
    uint64_t start = w->view.bias + w->decision.functions[window->function].start;
    int32_t distance = (int32_t)(uint32_t)(pick->change.was >> 8);
    uint64_t stub = (pick->change.at + 5 + (uint64_t)(int64_t)distance) & ~(STUB_BYTES - 1);
    uint64_t end = stub + (is_first && is_short(w, window->function) ? 2 : 1) * STUB_BYTES;
    return ttp_points_hold(&where->open, stub, end) ||
           (where->is_agent_busy && ttp_points_hold(&where->points, stub, end)) ||
           (is_first && sees_ends(pick->target, window->function) &&
            ttp_points_hold(&where->open, start, start + 1));
}

static void name_busy(struct ttp_choosing *c, const struct ttp_pick *pick)
{
    const struct ttp_windows *w = &pick->target->windows;
    uint32_t function = function_of(pick), number = c->changed->busy++;
    c->waiting += !pick->was_done;
    if (number >= TTP_ATTACH_NAMED)
        return;
    c->changed->inside[number].module = pick->target->module;
    c->changed->inside[number].address = w->decision.functions[function].start;
}

static uint32_t function_end(const struct ttp_choosing *c, uint32_t from)
{
    uint32_t end = from;
    while (end < c->count && is_one_function(&c->picks[end], &c->picks[from]))
        end++;
    return end;
}

/* Whole functions, in so many pages or few more. */
static void limit(struct ttp_choosing *c, uint32_t pages)
{
    uint64_t page = 0;
    for (c->end = c->next; c->end < c->count && pages != 0;)
        for (uint32_t next = function_end(c, c->end); c->end < next; c->end++) {
            pages -= c->picks[c->end].change.at / TTP_PAGE != page && pages != 0;
            page = c->picks[c->end].change.at / TTP_PAGE;
        }
}

static bool is_changed(const struct ttp_pick *pick)
{
    return pick->target->done[pick->index] != pick->was_done;
}

/* A function is changed as a whole, or not now. */
static void mark_busy(struct ttp_choosing *c, const struct where *where)
{
    for (uint32_t i = c->next, end; i < c->end; i = end) {
        end = function_end(c, i);
        const struct ttp_pick *busy = NULL;
        for (uint32_t j = i; j < end && busy == NULL; j++)
            busy =
                !is_changed(&c->picks[j]) && is_inside(&c->picks[j], where) ? &c->picks[j] : NULL;
        if (busy != NULL)
            name_busy(c, busy);
        for (uint32_t j = i; j < end; j++)
            c->skip[j] = busy != NULL;
    }
}

static bool change_some(struct ttp_choosing *c, int memory)
{
    c->changes.count = 0;
    for (uint32_t i = c->next; i < c->end; i++)
        if (!c->skip[i])
            c->changes.list[c->changes.count++] = c->picks[i].change;
    ttp_changes_sort(&c->changes);
    return ttp_code_apply(memory, &c->changes);
}

static void note_done(struct ttp_choosing *c)
{
    for (; c->next < c->end; c->next++) {
        const struct ttp_pick *pick = &c->picks[c->next];
        if (c->skip[c->next])
            continue;
        pick->target->done[pick->index] = !pick->was_done;
        c->changed->added +=
            !pick->was_done && ttp_windows_is_entry(&pick->target->windows, pick->index);
        c->changed->removed +=
            pick->was_done && ttp_windows_is_entry(&pick->target->windows, pick->index);
    }
}

/* All of it is as it was before. */
static void undo_done(struct ttp_choosing *c, int memory)
{
    struct ttp_restored restored;
    for (c->changes.count = 0; c->changes.count < c->all; c->changes.count++)
        c->changes.list[c->changes.count] = c->picks[c->changes.count].change;
    ttp_changes_sort(&c->changes);
    (void)ttp_code_restore(memory, &c->changes, &restored);
    for (uint32_t i = 0; i < c->all; i++)
        c->picks[i].target->done[c->picks[i].index] = c->picks[i].was_done;
}

static bool find_places(const struct ttp_choosing *c, struct ttp_stop *stop, struct where *where)
{
    struct ttp_attach *a = c->a;
    const struct ttp_agent_head *head = ttp_agent_image_head();
    bool is_known = ttp_points_find(&where->points, stop, &a->maps);
    if (!is_known) /* a stack that is new */
        is_known = ttp_attach_look_at_maps(a) && ttp_points_find(&where->points, stop, &a->maps);
    where->is_agent_busy =
        ttp_points_hold(&where->points, a->segment.at, a->segment.at + head->code_bytes);
    return is_known && ttp_points_find_open(&where->open, stop, &a->segment);
}

static const char *change_code(struct ttp_choosing *c, struct ttp_stop *stop)
{
    struct where where = {.points = {.ranges = c->ranges, .range_count = c->range_count}};
    if (!ttp_segment_is_there(&c->a->segment, stop->memory))
        return "it has executed another program";
    bool is_known = find_places(c, stop, &where);
    if (is_known)
        mark_busy(c, &where);
    ttp_points_free(&where.points);
    ttp_points_free(&where.open);
    if (!is_known)
        return "a thread's stack cannot be read";
    if (!change_some(c, stop->memory)) {
        undo_done(c, stop->memory);
        return "its code cannot be written to, or has just changed";
    }
    note_done(c);
    return NULL;
}

/* Those that are done are set aside, behind the others. */
static void set_done_aside(struct ttp_choosing *c)
{
    for (uint32_t i = 0; i < c->count;) {
        struct ttp_pick pick = c->picks[i];
        if (!is_changed(&pick)) {
            i++;
            continue;
        }
        c->picks[i] = c->picks[--c->count];
        c->picks[c->count] = pick;
    }
    if (c->count != 0)
        qsort(c->picks, c->count, sizeof *c->picks, compare_picks);
}

/* Each is changed once; *is_over: the process cannot be stopped, and what was done stays. */
static ttape_status change_all(struct ttp_choosing *c, bool is_first, bool *is_over,
                               ttape_error *err)
{
    struct ttp_attach *a = c->a;
    c->changed->busy = c->waiting = c->next = 0;
    set_done_aside(c);
    bool is_begun = !is_first;
    for (uint64_t stood = 0; c->next < c->count; is_begun = true) {
        struct ttp_stop stop;
        if (is_begun)
            ttp_attach_pause(stood);
        bool is_none = is_first && c->next == 0; /* of them is done */
        ttape_status status =
            ttp_stop_all(&stop, a->options.pid, &a->counts->stood, is_none ? err : NULL);
        *is_over = status != TTAPE_OK;
        if (*is_over)
            return is_none ? status : TTAPE_OK;
        limit(c, ttp_stop_pages(&stop));
        const char *why = change_code(c, &stop);
        stood = ttp_attach_now_ns() - stop.began_ns;
        ttp_stop_end(&stop, &a->counts->stood);
        if (why != NULL)
            return ttp_attach_refuse_it(a, why, err);
    }
    return TTAPE_OK;
}

ttape_status ttp_picks_change(struct ttp_choosing *c, ttape_error *err)
{
    bool is_over = false;
    if (c->count == 0)
        return TTAPE_OK;
    if (!ttp_attach_look_at_maps(c->a))
        return ttp_attach_refuse_it(c->a, "its mappings cannot be read", err);
    c->changed->busy = 1;
    for (uint32_t round = 0; round < c->rounds && c->changed->busy != 0 && !is_over; round++)
        TTP_TRY(change_all(c, round == 0, &is_over, err));
    return TTAPE_OK;
}
