/* The modules whose functions are patched: looked at together, and changed one after the other.
 *
 *     executable  library  library ...   sorted by address
 *     \___ 0 ___/ \_____ 1 _____/        clusters: a jump leads from any of it to its stubs
 *
 * Stubs of cluster 0 lie in the segment; those of another have a mapping of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/ordered.h"
#include "recorder/attach/attach_inside.h"

#define CLUSTER_BYTES UINT64_C(0x40000000) /* of its modules: so much that its stubs find room */

/* ---- looking ---- */

static void close_target(struct ttp_target *target)
{
    ttp_windows_close(&target->windows);
    ttp_code_close(&target->elf, &target->text);
    free(target->done);
    free(target->skip);
    free(target->order);
    free(target->turn);
    free(target->wanted);
    free(target->jumps);
    free(target->module);
    *target = (struct ttp_target){0};
}

void ttp_targets_close(struct ttp_targets *targets)
{
    for (size_t i = 0; i < targets->count; i++)
        close_target(&targets->list[i]);
    free(targets->list);
    *targets = (struct ttp_targets){0};
}

/* It calls nothing that is recorded. */
static bool is_only_called(const struct ttp_attach_wish *wish)
{
    return wish->plan == NULL ||
           (wish->chosen != NULL && (wish->chosen->flags & TTP_CHOSEN_CALLED) != 0);
}

static void reach_fixups(struct ttp_target *target, const void *plan, uint64_t at, uint32_t count)
{
    const struct ttp_plan_fixup *fixups = (const void *)((const uint8_t *)plan + at);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t to = target->elf.bias + fixups[i].target;
        target->near_low = to < target->near_low ? to : target->near_low;
        target->near_high = to > target->near_high ? to : target->near_high;
    }
}

static bool is_long(const struct ttp_target *target)
{
    return target->elf.high - target->elf.low > CLUSTER_BYTES;
}

/* A module that is longer than a cluster has zeros for the most part: of it the code is reached,
 * and what moved instructions refer to. A stub from which one is not reached is not used. */
static void find_near(struct ttp_target *target)
{
    const struct ttp_patch_head *plan = target->windows.plan;
    const struct ttp_plan_head *calls = target->windows.calls;
    target->near_low = target->elf.low;
    target->near_high = target->elf.high;
    if (!is_long(target))
        return;
    target->near_high = target->text.high;
    reach_fixups(target, plan, plan->fixups_at, plan->fixup_count);
    if (calls != NULL)
        reach_fixups(target, calls, calls->fixups_at, calls->fixup_count);
}

static ttape_status open_target(struct ttp_target *target, const struct ttp_target_look *look,
                                const struct ttp_attach_wish *wish, ttape_error *err)
{
    *target = (struct ttp_target){.wish = wish, .is_called = is_only_called(wish)};
    TTP_TRY(ttp_code_open(&target->elf, &target->text, look, wish->module, err));
    const char *why = ttp_windows_open(&target->windows, wish, look, &target->elf, &target->text);
    size_t room = (size_t)target->windows.changes.capacity + 1;
    target->done = calloc(room, sizeof *target->done);
    target->skip = calloc(room, sizeof *target->skip);
    target->order = calloc(room, sizeof *target->order);
    target->turn = calloc(room, sizeof *target->turn);
    target->wanted = calloc(room, sizeof *target->wanted);
    target->jumps = calloc(why == NULL ? (size_t)target->windows.plan->function_count + 1 : 1, 1);
    target->module = strdup(wish->module);
    if (why == NULL && (target->done == NULL || target->skip == NULL || target->order == NULL ||
                        target->turn == NULL || target->wanted == NULL || target->jumps == NULL ||
                        target->module == NULL))
        why = "memory is short";
    if (why == NULL)
        find_near(target);
    return why == NULL ? TTAPE_OK : ttp_attach_refuse(err, look->pid, "%s", why);
}

static int compare_targets(const void *a, const void *b)
{
    const struct ttp_target *x = a, *y = b;
    return x->elf.low < y->elf.low ? -1 : x->elf.low > y->elf.low;
}

/* Modules that follow one another are one. The first one has the executable, where that is
 * patched; but for a long one, near whose code is little room: then the first one is empty, for
 * what may lie anywhere. */
static void find_clusters(struct ttp_targets *t)
{
    const uint32_t empty = is_long(&t->list[0]);
    const uint64_t behind = t->list[0].elf.high;
    t->clusters[0] = (struct ttp_cluster){.low = behind, .high = behind};
    t->cluster_count = empty;
    for (size_t i = 0; i < t->count; i++) {
        struct ttp_target *target = &t->list[i];
        struct ttp_cluster *last =
            t->cluster_count == empty ? NULL : &t->clusters[t->cluster_count - 1];
        if (last == NULL || target->near_high - last->low > CLUSTER_BYTES) {
            last = &t->clusters[t->cluster_count++];
            *last = (struct ttp_cluster){.low = target->near_low};
        }
        last->high = target->near_high;
        target->cluster = t->cluster_count - 1;
        target->area = last->bytes;
        last->bytes += target->windows.area_bytes;
    }
}

/* How many clusters these modules and one more would be, by what is between them. */
static bool has_room(struct ttp_targets *t)
{
    qsort(t->list, t->count, sizeof *t->list, compare_targets);
    uint64_t low = 0;
    uint32_t clusters = is_long(&t->list[0]);
    for (size_t i = 0; i < t->count; i++)
        if (low == 0 || t->list[i].near_high - low > CLUSTER_BYTES) {
            low = t->list[i].near_low;
            clusters++;
        }
    return clusters <= TTP_AGENT_AREAS && t->count <= TTP_AGENT_MODULES;
}

static void drop_target(struct ttp_targets *t, const struct ttp_attach_wish *wish)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].wish == wish) {
            close_target(&t->list[i]);
            memmove(&t->list[i], &t->list[i + 1], (t->count - i - 1) * sizeof *t->list);
            t->count--;
        }
}

ttape_status ttp_targets_open(struct ttp_targets *t, const struct ttp_target_look *look,
                              const struct ttp_attach_wish *wishes, size_t count, ttape_error *err)
{
    *t = (struct ttp_targets){.list = calloc(count + 1, sizeof *t->list),
                              .chosen_calls = look->chosen_calls};
    if (t->list == NULL)
        return ttp_fail_memory(err);
    ttape_error first = {0};
    for (size_t i = 0; i < count; i++) {
        struct ttp_target *target = &t->list[t->count];
        ttape_status status = open_target(target, look, &wishes[i], i == 0 ? &first : NULL);
        if (status == TTAPE_OK) {
            t->count++;
            if (!has_room(t)) {
                drop_target(t, &wishes[i]);
                t->left++;
            }
            continue;
        }
        close_target(target);
        t->left++;
        /* what the executable is refused for is no smaller elsewhere */
        if (i == 0 && !look->is_later) {
            if (err != NULL)
                *err = first;
            return status;
        }
    }
    find_clusters(t);
    return TTAPE_OK;
}

/* ---- their stubs' places ---- */

const char *ttp_targets_map(struct ttp_targets *t, uint32_t cluster, const struct ttp_maps *maps,
                            const struct ttp_segment *segment, struct ttp_stop *stop,
                            const struct ttp_call_places *places)
{
    const struct ttp_cluster *c = &t->clusters[cluster];
    struct ttp_agent_area *area = &t->areas[cluster];
    uint64_t said_at = ttp_segment_shared(segment, offsetof(struct ttp_agent_shared, areas)) +
                       (t->first_area + cluster) * sizeof *area;
    *area = (struct ttp_agent_area){ttp_maps_place(maps, c->low, c->high, c->bytes), c->bytes};
    if (area->at == 0)
        return "there is no room near the code of its libraries";
    const char *why = ttp_segment_map_at(area->at, area->bytes, stop, places);
    if (why != NULL)
        return why;
    /* only what is said there is unmapped later */
    return ttp_memory_write(stop->memory, said_at, area, sizeof *area)
               ? NULL
               : "its memory cannot be written to";
}

void ttp_targets_place(struct ttp_targets *t, const struct ttp_segment *segment)
{
    if (t->first_area == 0)
        t->areas[0] = (struct ttp_agent_area){segment->at + segment->area, t->clusters[0].bytes};
    for (size_t i = 0; i < t->count; i++)
        t->list[i].area_at = t->areas[t->list[i].cluster].at + t->list[i].area;
}

/* ---- between the stops ---- */

static bool put_target(struct ttp_target *target, int memory, uint64_t changes_at)
{
    struct ttp_windows *w = &target->windows;
    return ttp_memory_write(memory, target->area_at, w->area, w->area_bytes) &&
           ttp_memory_write(memory, changes_at, w->changes.list,
                            w->changes.count * sizeof *w->changes.list);
}

/* Modules, with where the stubs of their system calls are: before anything is listed of them. */
static bool tell_modules(const struct ttp_targets *t, const struct ttp_segment *segment,
                         struct ttp_agent_shared *shared, int memory)
{
    struct ttp_agent_module *modules = shared->modules + t->first_module;
    size_t at = offsetof(struct ttp_agent_shared, modules) + t->first_module * sizeof *modules;
    for (size_t i = 0; i < t->count; i++) {
        const struct ttp_windows *w = &t->list[i].windows;
        if (w->calls == NULL)
            continue;
        modules[i].calls = t->list[i].area_at + w->calls_at;
        modules[i].calls_bytes = w->area_bytes - w->calls_at;
    }
    return ttp_memory_write(memory, ttp_segment_shared(segment, at), modules,
                            t->count * sizeof *modules);
}

/* The first list is there from the beginning, and empty; others count when they are whole. */
static bool tell_list(const struct ttp_targets *t, const struct ttp_segment *segment,
                      struct ttp_agent_shared *shared, uint32_t count, int memory)
{
    struct ttp_agent_later later = {.changes = t->areas[0].at + t->changes_room,
                                    .change_count = count,
                                    .first_module = t->first_module,
                                    .module_count = (uint32_t)t->count};
    size_t at = offsetof(struct ttp_agent_shared, later) + shared->later_count * sizeof later;
    if (t->first_area == 0)
        return ttp_memory_write(
            memory, ttp_segment_shared(segment, offsetof(struct ttp_agent_shared, change_count)),
            &count, sizeof count);
    shared->later_count++;
    return ttp_memory_write(memory, ttp_segment_shared(segment, at), &later, sizeof later) &&
           ttp_memory_write(
               memory, ttp_segment_shared(segment, offsetof(struct ttp_agent_shared, later_count)),
               &shared->later_count, sizeof shared->later_count);
}

/* The change by which unwinders are answered; their count: there is none. */
static uint32_t find_answer(const struct ttp_windows *w)
{
    uint32_t i = w->finds == 0 ? w->changes.count : 0;
    while (i < w->changes.count && w->list[i].function != w->finds - 1)
        i++;
    return i;
}

static uint64_t answer_at(const struct ttp_windows *w)
{
    uint32_t answer = find_answer(w);
    return answer == w->changes.count ? 0 : w->list[answer].at;
}

static bool tell_answer(const struct ttp_segment *segment, uint64_t unwind_at, int memory)
{
    return unwind_at == 0 ||
           ttp_memory_write(
               memory, ttp_segment_shared(segment, offsetof(struct ttp_agent_shared, unwind_at)),
               &unwind_at, sizeof unwind_at);
}

/* Modules are sorted by address, so all changes are. */
const char *ttp_targets_fill(struct ttp_targets *t, const struct ttp_segment *segment,
                             struct ttp_agent_shared *shared, int memory)
{
    uint64_t at =
        t->first_area == 0 ? segment->at + segment->changes : t->areas[0].at + t->changes_room;
    uint64_t unwind_at = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct ttp_target *target = &t->list[i];
        const char *why =
            ttp_windows_make(&target->windows, segment->at, target->area_at, t->chosen_calls);
        if (why != NULL)
            return why;
        if (!put_target(target, memory, at + count * sizeof(struct ttp_change)))
            return "its memory cannot be written to";
        count += target->windows.changes.count;
        unwind_at += answer_at(&target->windows); /* one of them has it */
    }
    if (count == 0 || (count == (unwind_at != 0) && t->chosen_calls == NULL))
        return "none of its functions can be patched";
    return tell_answer(segment, unwind_at, memory) && tell_modules(t, segment, shared, memory) &&
                   tell_list(t, segment, shared, count, memory)
               ? NULL
               : "its memory cannot be written to";
}

void ttp_targets_come_later(struct ttp_targets *t, uint32_t first_area, uint32_t first_module)
{
    t->first_area = first_area;
    t->first_module = first_module;
    t->is_answered = true;
    t->changes_room = ttp_page_up(t->clusters[0].bytes);
    t->clusters[0].bytes =
        t->changes_room + ttp_page_up(ttp_targets_changes(t) * sizeof(struct ttp_change));
}

/* ---- the jumps ---- */

static int compare_places(const void *a, const void *b)
{
    const struct ttp_place *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x->change < y->change ? -1 : x->change > y->change;
}

/* What answers unwinders comes first, and system calls last. */
static void order_target(struct ttp_target *target)
{
    const struct ttp_windows *w = &target->windows;
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->changes.count; i++) {
        uint32_t function = w->list[i].function;
        if (!target->done[i])
            target->order[count++] =
                (struct ttp_place){function + 1 == w->finds ? 0 : function + 1, i};
    }
    if (count != 0)
        qsort(target->order, count, sizeof *target->order, compare_places);
    target->next = target->turn_end = 0;
    target->order_count = count;
}

void ttp_targets_order(struct ttp_targets *t)
{
    for (size_t i = 0; i < t->count; i++)
        order_target(&t->list[i]);
}

static uint32_t function_end(const struct ttp_target *target, uint32_t from)
{
    uint32_t end = from;
    while (end < target->order_count && target->order[end].function == target->order[from].function)
        end++;
    return end;
}

/* A stop is for as many functions, whole ones, as have so many pages. */
static void limit_target(struct ttp_target *target, uint32_t *pages)
{
    uint64_t page = 0;
    uint32_t end = target->next;
    while (end < target->order_count && *pages != 0) {
        uint32_t next = function_end(target, end);
        for (; end < next; end++) {
            uint64_t at = target->windows.list[target->order[end].change].at / TTP_PAGE;
            *pages -= at != page && *pages != 0;
            page = at;
        }
    }
    target->turn_end = end;
}

static struct ttp_target *answering_first(struct ttp_targets *t, size_t i)
{
    struct ttp_target *target = &t->list[i % t->count];
    return (target->windows.finds != 0) == (i < t->count) ? target : NULL;
}

bool ttp_targets_limit(struct ttp_targets *t, uint32_t pages)
{
    bool is_last = true;
    for (size_t i = 0; i < 2 * t->count; i++) {
        struct ttp_target *target = answering_first(t, i);
        if (target == NULL)
            continue;
        limit_target(target, &pages);
        is_last &= target->turn_end == target->order_count;
    }
    return is_last;
}

static bool is_busy(const struct ttp_target *target, uint32_t from, uint32_t end,
                    const struct ttp_points *points)
{
    bool is_so = false;
    for (uint32_t i = from; i < end && !is_so; i++) {
        const struct ttp_window *window = &target->windows.list[target->order[i].change];
        is_so = ttp_points_hold(points, window->at + 1, window->at + window->bytes);
    }
    return is_so;
}

/* A function is changed as a whole, or not now. */
static uint32_t mark_busy(struct ttp_target *target, const struct ttp_points *points)
{
    const struct ttp_windows *w = &target->windows;
    uint32_t busy = 0;
    memset(target->skip, 1, w->changes.count);
    for (uint32_t i = target->next, end; i < target->turn_end; i = end) {
        end = function_end(target, i);
        bool is_one = is_busy(target, i, end, points);
        busy += is_one && target->order[i].function <= w->plan->function_count;
        for (uint32_t j = i; j < end; j++)
            target->skip[target->order[j].change] = is_one;
    }
    return busy;
}

/* Nobody waits in a stub before unwinders can be told of it. */
static void leave_calls(struct ttp_target *target)
{
    struct ttp_windows *w = &target->windows;
    for (uint32_t i = 0; i < w->changes.count; i++)
        target->skip[i] |= w->list[i].function >= w->plan->function_count;
}

static bool has_answer(const struct ttp_target *target, bool is_soon)
{
    uint32_t answer = find_answer(&target->windows);
    return answer != target->windows.changes.count &&
           (target->done[answer] || (is_soon && !target->skip[answer]));
}

static bool have_answers(const struct ttp_targets *t, bool is_soon)
{
    for (size_t i = 0; i < t->count; i++)
        if (has_answer(&t->list[i], is_soon))
            return true;
    return t->is_answered;
}

bool ttp_targets_lack_answers(const struct ttp_targets *t)
{
    return t->chosen_calls != NULL && !have_answers(t, false);
}

void ttp_targets_mark(struct ttp_targets *t, const struct ttp_points *points, uint32_t *busy)
{
    for (size_t i = 0; i < t->count; i++)
        *busy += mark_busy(&t->list[i], points);
    bool is_told = have_answers(t, true);
    for (size_t i = 0; i < t->count && !is_told; i++)
        leave_calls(&t->list[i]);
}

static bool change_target(struct ttp_target *target, int memory)
{
    const struct ttp_changes *all = &target->windows.changes;
    struct ttp_changes turn = {.list = target->turn};
    for (uint32_t i = target->next; i < target->turn_end; i++)
        if (!target->skip[target->order[i].change])
            turn.list[turn.count++] = all->list[target->order[i].change];
    ttp_changes_sort(&turn);
    if (!ttp_code_apply(memory, &turn))
        return false;
    for (; target->next < target->turn_end; target->next++) {
        uint32_t change = target->order[target->next].change;
        target->done[change] = !target->skip[change];
    }
    return true;
}

bool ttp_targets_change(struct ttp_targets *t, int memory)
{
    bool is_done = true;
    for (size_t i = 0; i < 2 * t->count && is_done; i++) {
        struct ttp_target *target = answering_first(t, i);
        is_done = target == NULL || change_target(target, memory);
    }
    return is_done;
}

/* ---- what is where ---- */

void ttp_targets_name(const struct ttp_targets *t, const struct ttp_maps *maps,
                      struct ttp_agent_module *modules)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct ttp_target *target = &t->list[i];
        const struct ttp_map *map = ttp_maps_at(maps, target->elf.low);
        modules[i] = (struct ttp_agent_module){.low = target->elf.low,
                                               .high = target->elf.high,
                                               .device = map == NULL ? 0 : map->device,
                                               .inode = map == NULL ? 0 : map->inode,
                                               .is_caller = !target->is_called};
    }
}

uint32_t ttp_targets_changes(const struct ttp_targets *t)
{
    uint32_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        count += t->list[i].windows.changes.capacity;
    return count;
}

bool ttp_targets_have_values(const struct ttp_targets *t, bool of_called_only)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].windows.values_bytes != 0 && (t->list[i].is_called || !of_called_only))
            return true;
    return false;
}

const struct ttp_target *ttp_targets_at(const struct ttp_targets *t, uint64_t address)
{
    struct ttp_bisect s = {.end = t->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, t->list[s.middle].elf.high <= address);
    return s.first < t->count && t->list[s.first].elf.low <= address ? &t->list[s.first] : NULL;
}

bool ttp_windows_is_entry(const struct ttp_windows *w, uint32_t change)
{
    const struct ttp_probe_decision *d = &w->decision;
    uint32_t function = w->list[change].function;
    return function < w->plan->function_count && function + 1 != w->finds &&
           w->list[change].at ==
               w->view.bias + d->probes[d->functions[function].first_probe].window;
}

uint32_t ttp_target_entries(const struct ttp_target *target, bool of_unwanted)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < target->windows.changes.count; i++)
        count += target->done[i] && !(of_unwanted && target->wanted[i]) &&
                 ttp_windows_is_entry(&target->windows, i);
    return count;
}

static void count_sites(const struct ttp_target *target, struct ttp_attach_counts *counts)
{
    const struct ttp_windows *w = &target->windows;
    uint32_t patched = 0;
    for (uint32_t i = 0; i < w->changes.count; i++)
        patched += target->done[i] && w->list[i].function >= w->plan->function_count;
    counts->sites += patched;
    counts->sites_left += w->call_sites - patched;
}

void ttp_targets_count(const struct ttp_targets *t, uint32_t busy, struct ttp_attach_counts *counts)
{
    uint32_t chosen = 0, entries = 0;
    counts->can_unwind |= have_answers(t, false);
    for (size_t i = 0; i < t->count; i++) {
        const struct ttp_windows *w = &t->list[i].windows;
        const struct ttp_probe_decision *d = &w->decision;
        count_sites(&t->list[i], counts);
        chosen += d->chosen_count - (w->finds != 0); /* that is not for the trace */
        entries += d->entries - (answer_at(w) != 0);
        counts->exits += d->exits;
        counts->exits_left += d->exits_left;
        counts->faults += w->faults;
    }
    counts->modules += (uint32_t)t->count;
    counts->modules_left += t->left;
    counts->functions += entries - busy;
    counts->functions_left += chosen - entries + busy;
    counts->busy += busy;
}
