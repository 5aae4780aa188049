/* A stream's calls. A path is found when a function that is reached is entered: from there down its
 * stack to a call whose path is known already. So what never leads there costs nothing but being
 * read. */
#include <tracetape/calls.h>

#include <string.h>

#include "answers/reach/reach_internal.h"
#include "format/base/fail.h"
#include "format/base/secret_hash.h"
#include "reader/base/choice.h"

#define SLOTS_FIRST   256u
#define SLOTS_MOST    (UINT32_C(1) << 31)
#define STEPS_BETWEEN (1u << 16) /* two questions whether to go on */

static inline void add_ns(int64_t *sum, int64_t time_ns)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)time_ns);
}

/* ---- paths ---- */

static inline uint32_t last_step(const ttape_reach_path *path)
{
    if (path->is_signal)
        return TTP_REACH_SIGNAL | path->signal;
    return path->site != TTAPE_NONE ? path->site : TTP_REACH_UNKNOWN;
}

/* Of the path, or the free one where it belongs. */
static inline uint32_t *slot_of(const struct ttape_reach *reach, uint32_t before, uint32_t step)
{
    uint64_t key = (uint64_t)before << 32 | step;
    uint32_t mask = reach->slot_count - 1;
    uint32_t at = (uint32_t)ttp_secret_hash(key, reach->memory.hash_key) & mask;
    for (; reach->slots[at] != 0; at = (at + 1) & mask) {
        const ttape_reach_path *path = &reach->paths[reach->slots[at] - 1];
        if (path->before == before && last_step(path) == step)
            break;
    }
    return &reach->slots[at];
}

static ttape_status grow_slots(struct ttape_reach *reach, ttape_error *err)
{
    uint32_t old_count = reach->slot_count;
    if (old_count >= SLOTS_MOST)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET, "more than 2^30 paths");
    uint32_t count = old_count > 0 ? old_count * 2 : SLOTS_FIRST;
    uint32_t *grown = ttp_memory_take(&reach->memory, count, sizeof *grown, err);
    if (grown == NULL)
        return reach->memory.status;
    ttp_memory_give(&reach->memory, reach->slots, old_count, sizeof *grown);
    memset(grown, 0, count * sizeof *grown);
    reach->slots = grown;
    reach->slot_count = count;
    for (uint32_t i = 0; i < reach->info.path_count; i++)
        *slot_of(reach, reach->paths[i].before, last_step(&reach->paths[i])) = i + 1;
    return TTAPE_OK;
}

static inline uint32_t step_of(const struct ttape_reach *reach, const ttape_call *call)
{
    if (call->site < reach->site_count)
        return reach->step_of[call->site];
    return call->kind == TTAPE_EVENT_SIGNAL_BEGIN
               ? TTP_REACH_SIGNAL | (call->argument & ~TTP_REACH_SIGNAL)
               : TTP_REACH_UNKNOWN;
}

static inline bool is_reached(const struct ttape_reach *reach, const ttape_call *call)
{
    if (call->site < reach->site_count)
        return reach->is_reached[call->site] != 0;
    return reach->reaches_unknown && call->kind != TTAPE_EVENT_SIGNAL_BEGIN;
}

static ttape_status add_path(struct ttape_reach *reach, uint32_t before, uint32_t step, bool is_end,
                             ttape_error *err)
{
    bool is_signal = (step & TTP_REACH_SIGNAL) != 0;
    TTP_TRY(ttp_memory_reserve(&reach->memory, &reach->paths, &reach->path_capacity,
                               (uint64_t)reach->info.path_count + 1, sizeof *reach->paths, err));
    reach->paths[reach->info.path_count++] =
        (ttape_reach_path){.before = before,
                           .site = is_signal || step == TTP_REACH_UNKNOWN ? TTAPE_NONE : step,
                           .is_signal = is_signal,
                           .is_end = is_end,
                           .signal = is_signal ? step & ~TTP_REACH_SIGNAL : 0,
                           .length = before != TTAPE_NONE ? reach->paths[before].length + 1 : 1};
    return TTAPE_OK;
}

/* Gives a call the path of the one below it and one step more: as its word, plus one, so that 0
 * means that it was not asked for. */
static ttape_status go_on(struct ttape_reach *reach, uint32_t before, ttape_call *call,
                          ttape_error *err)
{
    uint32_t step = step_of(reach, call);
    if (before != TTAPE_NONE && last_step(&reach->paths[before]) == step) {
        call->user[0] = (uint64_t)before + 1;
        return TTAPE_OK;
    }
    if ((uint64_t)reach->info.path_count * 2 >= reach->slot_count)
        TTP_TRY(grow_slots(reach, err));
    uint32_t *slot = slot_of(reach, before, step);
    if (*slot == 0) {
        TTP_TRY(add_path(reach, before, step, is_reached(reach, call), err));
        *slot = reach->info.path_count;
    }
    call->user[0] = *slot;
    return TTAPE_OK;
}

/* The calls below one on its stack lie before it. */
static ttape_status find_path(struct ttape_reach *reach, ttape_call *call, ttape_error *err)
{
    ttape_call *outermost = call - call->height, *at = call;
    while (at > outermost && at[-1].user[0] == 0)
        at--;
    for (; at <= call; at++) {
        uint32_t before = at > outermost ? (uint32_t)(at[-1].user[0] - 1) : TTAPE_NONE;
        TTP_TRY(go_on(reach, before, at, err));
    }
    return TTAPE_OK;
}

/* ---- calls ---- */

/* It was made in what is read. */
static inline bool is_counted(const ttape_call *call)
{
    return call->kind != TTAPE_EVENT_OPEN && !call->is_found;
}

static inline ttape_status enter_call(struct ttape_reach *reach, ttape_call *call, ttape_error *err)
{
    reach->info.call_count += is_counted(call) && call->site != TTAPE_NONE;
    return is_reached(reach, call) ? find_path(reach, call, err) : TTAPE_OK;
}

static inline void leave_call(struct ttape_reach *reach, const ttape_call *call)
{
    if (call->user[0] == 0 || !is_reached(reach, call))
        return;
    ttape_reach_path *path = &reach->paths[call->user[0] - 1];
    bool is_own = call->height > 0 && call[-1].user[0] == call->user[0];
    path->call_count += is_counted(call);
    path->recursion_count += is_own && is_counted(call);
    add_ns(&path->self_ns, call->self_ns);
    if (!is_own)
        add_ns(&path->total_ns, call->total_ns);
}

static inline ttape_status take_step(struct ttape_reach *reach, const ttape_call_step *step,
                                     ttape_error *err)
{
    if (step->kind == TTAPE_STEP_EVENT || step->kind == TTAPE_STEP_STOP)
        add_ns(&reach->info.span_ns, step->elapsed_ns);
    for (uint32_t i = step->ended_count; i-- > 0;)
        leave_call(reach, &step->ended[i]);
    for (uint32_t i = 0; i < step->began_count; i++)
        TTP_TRY(enter_call(reach, &step->began[i], err));
    return TTAPE_OK;
}

/* What was read before damage stays. */
static ttape_status pass_damage(struct ttape_reach *reach, uint32_t stream,
                                const ttape_error *problem, ttape_error *err)
{
    const ttape_reach_options *o = &reach->options;
    if (problem->status < TTAPE_E_TRUNCATED || o->damage == NULL) {
        if (err != NULL)
            *err = *problem;
        return problem->status;
    }
    reach->info.damaged_count++;
    o->damage(o->context, stream, problem);
    return TTAPE_OK;
}

static ttape_status read_steps(struct ttape_reach *reach, ttape_call_cursor *cursor,
                               uint32_t stream, ttape_error *err)
{
    ttape_error problem = {0};
    const ttape_call_step *step;
    for (uint64_t count = 0;; count++) {
        if (count % STEPS_BETWEEN == 0)
            TTP_TRY(ttp_ask_watch(reach->options.watch, stream,
                                  reach->reader->definitions.stream_count, err));
        ttape_status status = ttape_call_cursor_step(cursor, &step, &problem);
        if (status == TTAPE_END)
            return TTAPE_OK;
        TTP_TRY(status == TTAPE_OK ? take_step(reach, step, err)
                                   : pass_damage(reach, stream, &problem, err));
    }
}

ttape_status ttp_reach_stream(struct ttape_reach *reach, uint32_t stream, ttape_error *err)
{
    const ttape_reach_options *o = &reach->options;
    const ttape_call_options options = {.size = sizeof options,
                                        .streams = &stream,
                                        .stream_count = 1,
                                        .has_range = o->has_range,
                                        .from_ns = o->from_ns,
                                        .to_ns = o->to_ns};
    ttape_call_cursor *cursor;
    ttape_error problem = {0};
    if (ttape_call_cursor_open(&cursor, reach->reader, &options, &problem) != TTAPE_OK)
        return pass_damage(reach, stream, &problem, err);
    ttape_status status = read_steps(reach, cursor, stream, err);
    ttape_call_cursor_close(cursor);
    return status;
}
