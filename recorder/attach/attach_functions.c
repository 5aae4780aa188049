/* Other functions are chosen while their process is attached to, in stops of their own.
 *
 *     what has a stub already --> its jumps are put back, or written again
 *     what has none           --> windows, room for stubs, a list: as of a library that came later
 *     a stop: all jumps at once, but where somebody is inside; again for those
 * The segment's lists say what may be ours: what is put back stays in them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder/attach/attach_handle.h"

#define PAUSE_NS   1000000
#define STUB_BYTES ((uint64_t)sizeof(struct ttp_probe_stub))

/* A jump that is to come, or to go. */
struct pick {
    struct ttp_change change; /* from what is there to what is to be there */
    struct ttp_target *target;
    uint32_t index; /* of the target's changes */
    bool was_done;
};

struct choosing {
    struct ttp_attach *a;
    const struct ttp_attach_wish *wishes;
    size_t wish_count;
    uint32_t rounds; /* of stops for functions that somebody is inside */
    struct ttp_attach_changed *changed;
    struct pick *picks;             /* sorted by address, and */
    struct ttp_changes changes;     /* the same */
    bool *skip;                     /* of each: it stays as it is */
    uint32_t waiting;               /* functions that are to come, and somebody is inside */
    struct ttp_agent_range *ranges; /* of modules and stubs, sorted */
    size_t range_count;
};

/* Where its tasks are while it stands still. */
struct where {
    struct ttp_points points, open; /* in the code and in stubs; exactly, and by open calls */
    bool is_agent_busy;             /* somebody is in a hook */
};

static uint32_t layer_count(const struct ttp_attach *a) { return 1 + a->later_count; }

static struct ttp_targets *layer_at(struct ttp_attach *a, uint32_t number)
{
    return number == 0 ? &a->targets : &a->later[number - 1]->targets;
}

/* ---- what is wanted ---- */

static bool is_among(const struct ttp_chosen_head *chosen, uint32_t function)
{
    const uint64_t *bits = chosen == NULL ? NULL : (const uint64_t *)(chosen + 1);
    return bits == NULL || (bits[function / 64] >> function % 64 & 1) != 0;
}

/* What others call in a library stays as it is. */
static bool is_choice(const struct ttp_attach_wish *wish)
{
    return wish->plan != NULL &&
           (wish->chosen == NULL || (wish->chosen->flags & TTP_CHOSEN_CALLED) == 0);
}

static const struct ttp_attach_wish *find_wish(const struct choosing *c, const char *module)
{
    for (size_t i = 0; i < c->wish_count; i++)
        if (is_choice(&c->wishes[i]) && strcmp(c->wishes[i].module, module) == 0)
            return &c->wishes[i];
    return NULL;
}

/* A function that is one of the choice, and not a system call, nor what unwinders ask. */
static bool is_function(const struct ttp_target *target, uint32_t function)
{
    return !target->is_called && function < target->windows.plan->function_count &&
           function + 1 != target->windows.finds;
}

static void want_changes(const struct choosing *c, struct ttp_target *target)
{
    const struct ttp_windows *w = &target->windows;
    const struct ttp_attach_wish *wish = find_wish(c, target->module);
    memset(target->jumps, 0, w->plan->function_count);
    for (uint32_t i = 0; i < w->changes.count; i++) {
        uint32_t function = w->list[i].function;
        if (function < w->plan->function_count && target->jumps[function] != UINT8_MAX)
            target->jumps[function]++;
        target->wanted[i] = is_function(target, function)
                                ? wish != NULL && is_among(wish->chosen, function)
                                : target->done[i];
    }
}

/* Functions have the same numbers. */
static bool is_same_plan(const struct ttp_target *target, const struct ttp_attach_wish *wish)
{
    const struct ttp_patch_head *one = target->windows.plan, *other = wish->plan;
    return one->function_count == other->function_count &&
           memcmp(one->content, other->content, sizeof one->content) == 0;
}

static ttape_status want_all(const struct choosing *c, ttape_error *err)
{
    for (uint32_t i = 0; i < layer_count(c->a); i++) {
        struct ttp_targets *t = layer_at(c->a, i);
        for (size_t j = 0; j < t->count; j++) {
            const struct ttp_attach_wish *wish = find_wish(c, t->list[j].module);
            if (wish != NULL && !t->list[j].is_called && !is_same_plan(&t->list[j], wish))
                return ttp_attach_refuse_it(c->a, "a file of its code was replaced", err);
            want_changes(c, &t->list[j]);
        }
    }
    return TTAPE_OK;
}

static uint32_t count_wanted(const struct choosing *c)
{
    uint32_t count = 0;
    for (size_t i = 0; i < c->wish_count; i++) {
        const struct ttp_attach_wish *wish = &c->wishes[i];
        for (uint32_t f = 0; is_choice(wish) && f < wish->plan->function_count; f++)
            count +=
                is_among(wish->chosen, f) && (wish->chosen == NULL || wish->chosen->finds != f + 1);
    }
    return count;
}

/* ---- functions without stubs ---- */

static struct ttp_chosen_head *copy_choice(const struct ttp_attach_wish *wish)
{
    size_t bits = ttp_chosen_bits_bytes(wish->plan->function_count);
    size_t bytes = wish->chosen != NULL ? wish->chosen->total_bytes : sizeof *wish->chosen + bits;
    struct ttp_chosen_head *copy = malloc(bytes);
    if (copy != NULL && wish->chosen != NULL) {
        memcpy(copy, wish->chosen, bytes);
    } else if (copy != NULL) {
        *copy = (struct ttp_chosen_head){.function_count = wish->plan->function_count};
        memset(copy + 1, 0xff, bits);
    }
    return copy;
}

/* What was looked at before, and could not be patched, cannot be now. */
static void leave_known(const struct choosing *c, const char *module,
                        struct ttp_chosen_head *chosen)
{
    uint64_t *bits = (uint64_t *)(chosen + 1);
    for (uint32_t i = 0; i < layer_count(c->a); i++) {
        const struct ttp_targets *t = layer_at(c->a, i);
        for (size_t j = 0; j < t->count; j++) {
            const struct ttp_target *target = &t->list[j];
            if (target->is_called || strcmp(target->module, module) != 0)
                continue;
            for (uint32_t f = 0; f < chosen->function_count; f++)
                if (is_among(target->windows.chosen, f))
                    bits[f / 64] &= ~(UINT64_C(1) << f % 64);
        }
    }
    if (chosen->finds != 0)
        bits[(chosen->finds - 1) / 64] &= ~(UINT64_C(1) << (chosen->finds - 1) % 64);
    chosen->finds = 0;
}

static bool is_any(const struct ttp_chosen_head *chosen)
{
    for (uint32_t f = 0; f < chosen->function_count; f++)
        if (is_among(chosen, f))
            return true;
    return false;
}

/* False: no memory. */
static bool wish_for_new(const struct choosing *c, struct ttp_wishes *wishes)
{
    wishes->list = calloc(c->wish_count + 1, sizeof *wishes->list);
    for (size_t i = 0; wishes->list != NULL && i < c->wish_count; i++) {
        const struct ttp_attach_wish *wish = &c->wishes[i];
        if (!is_choice(wish))
            continue;
        struct ttp_chosen_head *chosen = copy_choice(wish);
        if (chosen == NULL)
            return false;
        leave_known(c, wish->module, chosen);
        char *module = is_any(chosen) ? strdup(wish->module) : NULL;
        if (module != NULL)
            wishes->list[wishes->count++] =
                (struct ttp_attach_wish){.module = module, .plan = wish->plan, .chosen = chosen};
        else
            free(chosen);
    }
    return wishes->list != NULL;
}

static void add_changes(struct ttp_changes *into, struct ttp_targets *t)
{
    for (size_t j = 0; j < t->count; j++) {
        const struct ttp_changes *changes = &t->list[j].windows.changes;
        if (changes->count != 0)
            memcpy(into->list + into->count, changes->list, changes->count * sizeof *changes->list);
        into->count += changes->count;
    }
}

/* All that may be ours in its code; list NULL: no memory. */
static struct ttp_changes find_ours(struct ttp_attach *a)
{
    struct ttp_changes ours = {0};
    for (uint32_t i = 0; i < layer_count(a); i++)
        ours.capacity += ttp_targets_changes(layer_at(a, i));
    ours.list = calloc((size_t)ours.capacity + 1, sizeof *ours.list);
    for (uint32_t i = 0; ours.list != NULL && i < layer_count(a); i++)
        add_changes(&ours, layer_at(a, i));
    return ours;
}

/* Whatever the plan says, no jump comes into a window that has one. */
static void take_windows(struct ttp_attach *a, struct ttp_target *target)
{
    for (uint32_t i = 0; i < layer_count(a); i++) {
        const struct ttp_targets *t = layer_at(a, i);
        for (size_t j = 0; j < t->count; j++) {
            const struct ttp_windows *w = &t->list[j].windows;
            for (uint32_t k = 0; t->list[j].elf.low == target->elf.low && k < w->changes.count; k++)
                ttp_decide_take(&target->windows.decision, (uint32_t)(w->list[k].at - w->view.bias),
                                w->list[k].bytes);
        }
    }
}

/* False: none of them has a window. */
static bool open_new(struct choosing *c, struct ttp_later *later)
{
    struct ttp_attach *a = c->a;
    struct ttp_changes ours = find_ours(a);
    int memory = ttp_memory_open(a->options.pid, O_RDWR);
    struct ttp_target_look look = ttp_attach_target_look(a, memory);
    look.is_later = true;
    look.chosen_calls = NULL;
    look.ours = &ours;
    bool is_open = memory >= 0 && ours.list != NULL && ttp_attach_look_at_maps(a) &&
                   ttp_targets_open(&later->targets, &look, later->wishes.list, later->wishes.count,
                                    NULL) == TTAPE_OK;
    uint32_t stubs = 0;
    for (size_t i = 0; is_open && i < later->targets.count; i++) {
        take_windows(a, &later->targets.list[i]);
        stubs += later->targets.list[i].windows.decision.stub_count;
    }
    if (memory >= 0)
        (void)close(memory);
    free(ours.list);
    return stubs != 0;
}

static const char *put_new(struct ttp_attach *a, int memory)
{
    return ttp_targets_fill(a->now, &a->segment, a->shared, memory);
}

/* Their text is not needed any more; there may be many such. */
static void forget_text(struct ttp_targets *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->list[i].text.bytes);
        t->list[i].text.bytes = NULL;
    }
}

/* Stubs that no jump leads to do nothing. */
static ttape_status add_stubs(struct choosing *c, struct ttp_later *later, ttape_error *err)
{
    struct ttp_attach *a = c->a;
    TTP_TRY(ttp_later_map(a, &later->targets, err));
    a->later[a->later_count++] = later;
    const char *why = ttp_attach_put(a, put_new);
    forget_text(&later->targets);
    bool is_none = true;
    for (size_t i = 0; i < later->targets.count; i++) {
        is_none &= later->targets.list[i].windows.changes.count == 0;
        want_changes(c, &later->targets.list[i]);
    }
    return why == NULL || is_none ? TTAPE_OK : ttp_attach_refuse_it(a, why, err);
}

static ttape_status add_new(struct choosing *c, ttape_error *err)
{
    struct ttp_later *later = calloc(1, sizeof *later);
    if (later == NULL)
        return ttp_fail_memory(err);
    later->owns_chosen = true;
    bool is_whole = wish_for_new(c, &later->wishes);
    ttape_status status = is_whole ? TTAPE_OK : ttp_fail_memory(err);
    uint32_t before = c->a->later_count;
    if (is_whole && later->wishes.count != 0 && open_new(c, later))
        status =
            ttp_later_has_room(c->a, &later->targets)
                ? add_stubs(c, later, err)
                : ttp_attach_refuse_it(c->a, "functions were added too often: attach anew", err);
    if (c->a->later_count == before)
        ttp_later_close_one(later);
    return status;
}

/* ---- jumps that come and go ---- */

static int compare_picks(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;
    return x->change.at < y->change.at ? -1 : x->change.at > y->change.at;
}

/* A library may have been unloaded, and loaded again: then its jumps are gone. */
static bool settle_pick(const struct pick *pick, int memory)
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

static void pick_changes(struct choosing *c, struct ttp_target *target, int memory)
{
    const struct ttp_changes *changes = &target->windows.changes;
    for (uint32_t i = 0; i < changes->count; i++) {
        struct pick pick = {changes->list[i], target, i, target->done[i]};
        if (target->wanted[i] == target->done[i])
            continue;
        if (target->done[i]) {
            pick.change.was = changes->list[i].becomes;
            pick.change.becomes = changes->list[i].was;
        }
        if (settle_pick(&pick, memory))
            c->picks[c->changes.count++] = pick;
    }
}

static bool find_picks(struct choosing *c)
{
    int memory = ttp_memory_open(c->a->options.pid, O_RDONLY);
    size_t room = 1;
    for (uint32_t i = 0; i < layer_count(c->a); i++)
        room += ttp_targets_changes(layer_at(c->a, i));
    c->picks = calloc(room, sizeof *c->picks);
    c->changes.list = calloc(room, sizeof *c->changes.list);
    c->skip = calloc(room, sizeof *c->skip);
    bool is_there = memory >= 0 && c->picks != NULL && c->changes.list != NULL && c->skip != NULL;
    for (uint32_t i = 0; is_there && i < layer_count(c->a); i++)
        for (size_t j = 0; j < layer_at(c->a, i)->count; j++)
            pick_changes(c, &layer_at(c->a, i)->list[j], memory);
    if (memory >= 0)
        (void)close(memory);
    if (is_there && c->changes.count != 0)
        qsort(c->picks, c->changes.count, sizeof *c->picks, compare_picks);
    for (uint32_t i = 0; is_there && i < c->changes.count; i++)
        c->changes.list[i] = c->picks[i].change;
    return is_there;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct ttp_agent_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* Words of stacks in there may be places; a module that is there twice is the same twice. */
static bool find_ranges(struct choosing *c)
{
    size_t room = 1;
    for (uint32_t i = 0; i < layer_count(c->a); i++)
        room += layer_at(c->a, i)->count + TTP_AGENT_AREAS;
    c->ranges = calloc(room, sizeof *c->ranges);
    for (uint32_t i = 0; c->ranges != NULL && i < layer_count(c->a); i++) {
        const struct ttp_targets *t = layer_at(c->a, i);
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

/* One that comes: nobody stands in its window. One that goes: no call is open whose end is seen,
 * and nobody is in its stub, or in the agent and about to return there. */
static bool is_inside(const struct pick *pick, const struct where *where)
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

static void name_busy(struct choosing *c, const struct pick *pick)
{
    const struct ttp_windows *w = &pick->target->windows;
    uint32_t function = w->list[pick->index].function, number = c->changed->busy++;
    c->waiting += !pick->was_done;
    if (number >= TTP_ATTACH_NAMED)
        return;
    c->changed->inside[number].module = pick->target->module;
    c->changed->inside[number].address = w->decision.functions[function].start;
}

/* A function is changed as a whole, or not now. */
static void mark_busy(struct choosing *c, const struct where *where)
{
    c->changed->busy = c->waiting = 0;
    for (uint32_t i = 0; i < c->changes.count; i++) {
        struct ttp_windows *w = &c->picks[i].target->windows;
        w->is_busy[w->list[c->picks[i].index].function] = 0;
    }
    for (uint32_t i = 0; i < c->changes.count; i++) {
        const struct pick *pick = &c->picks[i];
        struct ttp_windows *w = &pick->target->windows;
        uint8_t *is_busy = &w->is_busy[w->list[pick->index].function];
        c->skip[i] = pick->target->done[pick->index] != pick->was_done;
        if (c->skip[i] || *is_busy != 0 || !is_inside(pick, where))
            continue;
        *is_busy = 1;
        name_busy(c, pick);
    }
    for (uint32_t i = 0; i < c->changes.count; i++) {
        const struct ttp_windows *w = &c->picks[i].target->windows;
        c->skip[i] |= w->is_busy[w->list[c->picks[i].index].function] != 0;
    }
}

static void note_done(struct choosing *c)
{
    for (uint32_t i = 0; i < c->changes.count; i++) {
        const struct pick *pick = &c->picks[i];
        if (c->skip[i])
            continue;
        pick->target->done[pick->index] = !pick->was_done;
        c->changed->added +=
            !pick->was_done && ttp_windows_is_entry(&pick->target->windows, pick->index);
        c->changed->removed +=
            pick->was_done && ttp_windows_is_entry(&pick->target->windows, pick->index);
    }
}

/* All of it is as it was before. */
static void undo_done(struct choosing *c, int memory)
{
    struct ttp_restored restored;
    (void)ttp_code_restore(memory, &c->changes, &restored);
    for (uint32_t i = 0; i < c->changes.count; i++)
        c->picks[i].target->done[c->picks[i].index] = c->picks[i].was_done;
}

static bool find_places(const struct choosing *c, struct ttp_stop *stop, struct where *where)
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

static const char *change_code(struct choosing *c, struct ttp_stop *stop)
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
    if (!ttp_code_apply(stop->memory, &c->changes, c->skip)) {
        undo_done(c, stop->memory);
        return "its code cannot be written to, or has just changed";
    }
    note_done(c);
    return NULL;
}

static ttape_status stop_for_changes(struct choosing *c, ttape_error *err)
{
    const struct timespec pause = {0, PAUSE_NS};
    struct ttp_attach *a = c->a;
    if (c->changes.count == 0)
        return TTAPE_OK;
    if (!ttp_attach_look_at_maps(a))
        return ttp_attach_refuse_it(a, "its mappings cannot be read", err);
    c->changed->busy = 1;
    for (uint32_t round = 0; round < c->rounds && c->changed->busy != 0; round++) {
        struct ttp_stop stop;
        if (round != 0)
            (void)nanosleep(&pause, NULL);
        ttape_status status =
            ttp_stop_all(&stop, a->options.pid, &a->counts->stood, round == 0 ? err : NULL);
        if (status != TTAPE_OK) /* who was inside stays so */
            return round == 0 ? status : TTAPE_OK;
        const char *why = change_code(c, &stop);
        ttp_stop_end(&stop, &a->counts->stood);
        if (why != NULL)
            return ttp_attach_refuse_it(a, why, err);
    }
    return TTAPE_OK;
}

/* ---- what became of it ---- */

static void count_all(struct choosing *c)
{
    struct ttp_attach_counts *counts = c->a->counts;
    uint32_t stay = 0, left = 0;
    c->changed->recorded = counts->functions = 0;
    for (uint32_t i = 0; i < layer_count(c->a); i++) {
        const struct ttp_targets *t = layer_at(c->a, i);
        for (size_t j = 0; j < t->count; j++) {
            const struct ttp_target *target = &t->list[j];
            uint32_t entries = ttp_target_entries(target, false);
            counts->functions += entries;
            c->changed->recorded += target->is_called ? 0 : entries;
            stay += target->is_called ? 0 : ttp_target_entries(target, true);
            left += target->is_called ? target->windows.decision.chosen_count -
                                            (target->windows.finds != 0) - entries
                                      : 0;
        }
    }
    uint32_t not_there = count_wanted(c) - (c->changed->recorded - stay);
    c->changed->left = not_there - c->waiting;
    counts->functions_left = left + not_there;
    counts->busy = c->waiting;
}

ttape_status ttp_attach_choose(struct ttp_attach *a, const struct ttp_attach_wish *wishes,
                               size_t count, bool is_once_more, struct ttp_attach_changed *changed,
                               ttape_error *err)
{
    struct choosing c = {.a = a, .wishes = wishes, .wish_count = count, .changed = changed};
    c.rounds = is_once_more ? 1 : TTP_ATTACH_TRIES;
    const struct ttp_stood before = a->counts->stood;
    *changed = (struct ttp_attach_changed){0};
    if (count_wanted(&c) == 0)
        return ttp_attach_refuse_it(a, "it has no such function", err);
    a->counts->stood = (struct ttp_stood){0};
    ttape_status status = want_all(&c, err);
    if (status == TTAPE_OK)
        status = add_new(&c, err);
    if (status == TTAPE_OK && !(find_picks(&c) && find_ranges(&c)))
        status = ttp_fail_memory(err);
    if (status == TTAPE_OK)
        status = stop_for_changes(&c, err);
    if (status == TTAPE_OK)
        count_all(&c);
    changed->stops = a->counts->stood.stops;
    changed->longest_ns = a->counts->stood.longest_ns;
    ttp_stood_add(&a->counts->stood, &before);
    free(c.picks);
    free(c.changes.list);
    free(c.skip);
    free(c.ranges);
    return status;
}
