/* Libraries that are loaded while their process is attached to: they are looked at, and patched in
 * stops of their own.
 *
 *     a library comes -> at the next look it is there still -> plan, windows
 *         stop: room for its stubs and their list        the program runs, stubs are written
 *         stop: jumps, but where somebody is inside
 *
 * What was changed of them stands in lists of their own in the segment, behind those that were
 * there before: a list counts when it is whole. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/arena/arena.h"
#include "recorder/attach/attach_handle.h"

#define LOOK_NS UINT64_C(500000000)

void ttp_later_close_one(struct ttp_later *later)
{
    ttp_targets_close(&later->targets);
    for (size_t i = 0; i < later->wishes.count; i++) {
        free((void *)(uintptr_t)later->wishes.list[i].module);
        if (later->owns_chosen)
            free((void *)(uintptr_t)later->wishes.list[i].chosen);
    }
    ttp_wishes_free(&later->wishes);
    free(later);
}

void ttp_later_close(struct ttp_attach *a)
{
    for (uint32_t i = 0; i < a->later_count; i++)
        ttp_later_close_one(a->later[i]);
    a->later_count = 0;
    ttp_modules_free(&a->seen);
}

/* ---- which have come ---- */

static bool is_new(const struct ttp_attach *a, const struct ttp_traced_module *module)
{
    return module->code_end != 0 && !ttp_modules_have(&a->modules, module->path) &&
           !ttp_modules_have(&a->seen, module->path);
}

static bool overlaps(const struct ttp_traced_modules *modules,
                     const struct ttp_traced_module *module)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->modules[i].start < module->end && modules->modules[i].end > module->start)
            return true;
    return false;
}

/* It lies where another one was: the trace would have its functions for that one's. */
static bool is_in_place(const struct ttp_attach *a, const struct ttp_traced_module *module)
{
    return overlaps(&a->modules, module) || overlaps(&a->seen, module);
}

/* What is not noted is looked at again. */
static void note_seen(struct ttp_attach *a, const struct ttp_traced_modules *now)
{
    for (size_t i = 0; i < now->count; i++) {
        if (!is_new(a, &now->modules[i]))
            continue;
        void *grown = ttp_traced_grow(a->seen.modules, a->seen.count, &a->seen.capacity,
                                      sizeof *a->seen.modules);
        if (grown == NULL)
            return;
        a->seen.modules = grown;
        struct ttp_traced_module *seen = &a->seen.modules[a->seen.count];
        *seen = now->modules[i];
        seen->path = strdup(now->modules[i].path);
        a->seen.count += seen->path != NULL;
    }
}

/* Modules as they are mapped now; with plans of their system calls, where those are recorded. */
static void look_at_modules(struct ttp_attach *a, struct ttp_traced_modules *now, bool has_plans)
{
    bool has_calls = has_plans && a->targets.chosen_calls != NULL;
    const ttape_trace_options how = {.plan = has_calls ? a->options.rows : NULL,
                                     .context = a->options.context};
    ttp_modules_read(now, &a->plans, ttp_living_task(a->options.pid), &how);
}

/* False: no memory. */
static bool add_wish(struct ttp_attach *a, struct ttp_wishes *wishes,
                     const struct ttp_traced_module *module)
{
    const void *chosen = NULL;
    const void *plan = a->options.patch == NULL
                           ? NULL
                           : a->options.patch(a->options.context, module->path, &chosen);
    bool has_calls = module->plan != NULL && module->plan->site_count != 0;
    if (plan == NULL && !has_calls)
        return true;
    char *path = strdup(module->path);
    if (path == NULL)
        return false;
    wishes->list[wishes->count++] = (struct ttp_attach_wish){
        .module = path, .plan = plan, .chosen = chosen, .calls = has_calls ? module->plan : NULL};
    return true;
}

static bool wish_for(struct ttp_attach *a, struct ttp_wishes *wishes,
                     const struct ttp_traced_modules *now)
{
    *wishes = (struct ttp_wishes){.list = calloc(now->count + 1, sizeof *wishes->list)};
    bool is_whole = wishes->list != NULL;
    for (size_t i = 0; i < now->count && is_whole; i++)
        if (is_new(a, &now->modules[i]) && !is_in_place(a, &now->modules[i]))
            is_whole = add_wish(a, wishes, &now->modules[i]);
    return is_whole;
}

/* ---- they are patched ---- */

static bool open_targets(struct ttp_attach *a, struct ttp_later *later)
{
    int memory = ttp_memory_open(a->options.pid, O_RDWR);
    struct ttp_target_look look = ttp_attach_target_look(a, memory);
    look.is_later = true;
    bool is_open = memory >= 0 && ttp_attach_look_at_maps(a) &&
                   ttp_targets_open(&later->targets, &look, later->wishes.list, later->wishes.count,
                                    NULL) == TTAPE_OK;
    if (memory >= 0)
        (void)close(memory);
    return is_open && later->targets.count != 0;
}

bool ttp_later_has_room(const struct ttp_attach *a, const struct ttp_targets *targets)
{
    return a->later_count < TTP_AGENT_LATER &&
           a->area_count + targets->cluster_count <= TTP_AGENT_AREAS &&
           a->module_count + targets->count <= TTP_AGENT_MODULES;
}

/* While the code is patched, other places for calls may be needed; and a program may have forbidden
 * itself that call meanwhile. */
static const char *map_later(struct ttp_attach *a, struct ttp_stop *stop)
{
    if (!ttp_segment_is_there(&a->segment, stop->memory))
        return "it has executed another program";
    if (!ttp_look_may_call(stop->status))
        return "it is under a filter of system calls by now";
    if (!ttp_call_places_find(&a->places, &a->maps, stop->memory))
        return "its code has no place from which a system call can be made";
    return ttp_attach_map_area(a, stop);
}

static const char *look_for_places(struct ttp_attach *a, int memory)
{
    return ttp_attach_look_at_maps(a) && ttp_call_places_find(&a->places, &a->maps, memory)
               ? NULL
               : "its code has no place from which a system call can be made";
}

/* A place that was mapped is unmapped at the end, whatever comes of it. */
ttape_status ttp_later_map(struct ttp_attach *a, struct ttp_targets *targets, ttape_error *err)
{
    ttp_targets_come_later(targets, a->area_count, a->module_count);
    a->now = targets;
    const char *why = ttp_attach_put(a, look_for_places);
    ttape_status status = why == NULL ? TTAPE_OK : ttp_attach_refuse_it(a, why, err);
    for (a->area = 0; a->area < targets->cluster_count && status == TTAPE_OK; a->area++) {
        status = ttp_attach_stop_where_room(a, map_later, err);
        a->area_count += status == TTAPE_OK;
    }
    if (status != TTAPE_OK)
        return status;
    a->module_count += (uint32_t)targets->count;
    ttp_targets_place(targets, &a->segment);
    ttp_targets_name(targets, &a->maps, a->shared->modules + targets->first_module);
    return TTAPE_OK;
}

static void patch_targets(struct ttp_attach *a, struct ttp_targets *targets)
{
    ttape_status status = ttp_later_map(a, targets, NULL);
    if (status == TTAPE_OK)
        status = ttp_attach_change(a, NULL);
    a->counts->followed += status == TTAPE_OK ? (uint32_t)targets->count : 0;
}

static void follow(struct ttp_attach *a)
{
    struct ttp_traced_modules now = {0};
    struct ttp_later *later = calloc(1, sizeof *later);
    look_at_modules(a, &now, true);
    if (later != NULL && wish_for(a, &later->wishes, &now) && later->wishes.count != 0 &&
        open_targets(a, later) && ttp_later_has_room(a, &later->targets)) {
        a->later[a->later_count++] = later;
        patch_targets(a, &later->targets);
    } else if (later != NULL) {
        ttp_later_close_one(later);
    }
    note_seen(a, &now);
    ttp_modules_free(&now);
}

/* One that is just being mapped may not be whole: it is looked at when nothing more has come. */
void ttp_attach_follow(struct ttp_attach *a)
{
    struct ttp_traced_modules now = {0};
    size_t count = 0;
    uint64_t time = ttp_attach_now_ns();
    if (a->modules.count == 0 || time - a->looked_ns < LOOK_NS)
        return;
    a->looked_ns = time;
    look_at_modules(a, &now, false);
    for (size_t i = 0; i < now.count; i++)
        count += is_new(a, &now.modules[i]);
    ttp_modules_free(&now);
    if (count != 0 && count == a->waiting_count)
        follow(a);
    a->waiting_count = count == a->waiting_count ? 0 : count;
}
