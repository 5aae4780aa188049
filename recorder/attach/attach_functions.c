/* Other functions are chosen while their process is attached to, in stops of their own.
 *
 *     what has a stub already --> its jumps are put back, or written again
 *     what has none           --> windows, room for stubs, a list: as of a library that came later
 *     stops: jumps of some functions each, but where somebody is inside; again for those
 * The segment's lists say what may be ours: what is put back stays in them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/attach/attach_handle.h"

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

static const struct ttp_attach_wish *find_wish(const struct ttp_choosing *c, const char *module)
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

static void want_changes(const struct ttp_choosing *c, struct ttp_target *target)
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

static ttape_status want_all(const struct ttp_choosing *c, ttape_error *err)
{
    for (uint32_t i = 0; i < ttp_attach_layers(c->a); i++) {
        struct ttp_targets *t = ttp_attach_layer(c->a, i);
        for (size_t j = 0; j < t->count; j++) {
            const struct ttp_attach_wish *wish = find_wish(c, t->list[j].module);
            if (wish != NULL && !t->list[j].is_called && !is_same_plan(&t->list[j], wish))
                return ttp_attach_refuse_it(c->a, "a file of its code was replaced", err);
            want_changes(c, &t->list[j]);
        }
    }
    return TTAPE_OK;
}

static uint32_t count_wanted(const struct ttp_choosing *c)
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
static void leave_known(const struct ttp_choosing *c, const char *module,
                        struct ttp_chosen_head *chosen)
{
    uint64_t *bits = (uint64_t *)(chosen + 1);
    for (uint32_t i = 0; i < ttp_attach_layers(c->a); i++) {
        const struct ttp_targets *t = ttp_attach_layer(c->a, i);
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
static bool wish_for_new(const struct ttp_choosing *c, struct ttp_wishes *wishes)
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
    for (uint32_t i = 0; i < ttp_attach_layers(a); i++)
        ours.capacity += ttp_targets_changes(ttp_attach_layer(a, i));
    ours.list = calloc((size_t)ours.capacity + 1, sizeof *ours.list);
    for (uint32_t i = 0; ours.list != NULL && i < ttp_attach_layers(a); i++)
        add_changes(&ours, ttp_attach_layer(a, i));
    return ours;
}

/* Whatever the plan says, no jump comes into a window that has one. */
static void take_windows(struct ttp_attach *a, struct ttp_target *target)
{
    for (uint32_t i = 0; i < ttp_attach_layers(a); i++) {
        const struct ttp_targets *t = ttp_attach_layer(a, i);
        for (size_t j = 0; j < t->count; j++) {
            const struct ttp_windows *w = &t->list[j].windows;
            for (uint32_t k = 0; t->list[j].elf.low == target->elf.low && k < w->changes.count; k++)
                ttp_decide_take(&target->windows.decision, (uint32_t)(w->list[k].at - w->view.bias),
                                w->list[k].bytes);
        }
    }
}

/* False: none of them has a window. */
static bool open_new(struct ttp_choosing *c, struct ttp_later *later)
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
static ttape_status add_stubs(struct ttp_choosing *c, struct ttp_later *later, ttape_error *err)
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

static ttape_status add_new(struct ttp_choosing *c, ttape_error *err)
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

/* ---- what became of it ---- */

static void count_all(struct ttp_choosing *c)
{
    struct ttp_attach_counts *counts = c->a->counts;
    uint32_t stay = 0, left = 0;
    c->changed->recorded = counts->functions = 0;
    for (uint32_t i = 0; i < ttp_attach_layers(c->a); i++) {
        const struct ttp_targets *t = ttp_attach_layer(c->a, i);
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
    struct ttp_choosing c = {.a = a, .wishes = wishes, .wish_count = count, .changed = changed};
    c.rounds = is_once_more ? 1 : TTP_ATTACH_TRIES;
    const struct ttp_stood before = a->counts->stood;
    *changed = (struct ttp_attach_changed){0};
    if (count_wanted(&c) == 0)
        return ttp_attach_refuse_it(a, "it has no such function", err);
    a->counts->stood = (struct ttp_stood){0};
    ttape_status status = want_all(&c, err);
    if (status == TTAPE_OK)
        status = add_new(&c, err);
    if (status == TTAPE_OK && !(ttp_picks_find(&c)))
        status = ttp_fail_memory(err);
    if (status == TTAPE_OK)
        status = ttp_picks_change(&c, err);
    if (status == TTAPE_OK)
        count_all(&c);
    changed->stops = a->counts->stood.stops;
    changed->longest_ns = a->counts->stood.longest_ns;
    ttp_stood_add(&a->counts->stood, &before);
    ttp_picks_free(&c);
    return status;
}
