/* A trace without the calls that a filter leaves out.
 *
 *   steps (calls.h) -> look    where something goes by what comes later: half a byte for each call
 *   steps           -> keep    each call is kept or not as it begins; what is kept is written
 *
 * Both go through the same steps in the same order, so a call is known by its number. What a call
 * is in stands in the call around it (`user`): no stack of our own is kept. */
#include <tracetape/copy.h>

#include <string.h>

#include "answers/filter/trigger_state.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "libtrace/copy/filter_judge.h"
#include "libtrace/copy/filtered_out.h"
#include "reader/reader_internal.h"

#define MEMORY_BYTES (1024ull << 20)
#define ASK_EVERY    65536u /* events: whether it is still wanted */

/* While looking: user[0] the call's number, [1] its rules, [2] LEADS, AS_ALL, [3] its least time.
 * While keeping: [0] bits and, from DEPTH_BIT on, the depth of what is kept up to it, [1] rules of
 * triggers, [2] where depths end in it, [3] the least time of calls in it. */
#define LEADS     1u /* to what `to` names */
#define AS_ALL    2u /* the least time in it is that of all calls */
#define IS_KEPT   1u
#define IS_IN     2u /* below what is wanted */
#define IS_OUT    4u /* below what is not */
#define DEPTH_BIT 8

struct filtering {
    struct ttp_judge judge;
    struct ttp_filtered_out out;
    struct ttp_triggers triggers; /* of the scope at hand */
    bool is_finished;             /* by one of them: the rest of the scope is left out */
    struct ttp_region region;
    ttape_reader *reader;
    uint8_t *said; /* two calls a byte */
    size_t said_bytes;
    uint64_t call_count;
    ttape_error *err;
};

static ttape_call *top_of(const ttape_call_cursor *cursor)
{
    const ttape_call *calls;
    uint32_t count;
    ttape_call_cursor_stack(cursor, &calls, &count);
    return count > 0 ? (ttape_call *)(uintptr_t)&calls[count - 1] : NULL;
}

static const ttape_call *around_of(const ttape_call *call)
{
    return call->height > 0 ? call - 1 : NULL;
}

/* Those of the rules in user[1] that hold as the call ends. */
static uint64_t rules_at_end(struct filtering *f, const ttape_call *call,
                             const ttape_call_step *step)
{
    bool returned = call->end == TTAPE_CALL_RETURNED;
    return ttp_judge_end(&f->judge, call->user[1], call->site, call->duration_ns,
                         returned ? step->values : NULL, returned ? step->value_count : 0);
}

/* ---- looking ---- */

/* The least time changes: what all triggers do is followed, as while keeping. */
static bool looks_at_triggers(const struct filtering *f)
{
    return (f->triggers.actions & TTAPE_TRIGGER_TIME) != 0;
}

static uint64_t least_of(const struct filtering *f, const ttape_call *call)
{
    const ttape_call *around = around_of(call);
    struct ttp_limits limits = {TTP_AS_ALL, TTP_AS_ALL};
    if (around != NULL && (around->user[2] & AS_ALL) == 0)
        limits.min_ns = around->user[3];
    return ttp_judge_limits(&f->judge, call->user[1], 0, limits).min_ns;
}

static ttape_status note_begun(struct filtering *f, ttape_call *call, const ttape_call_step *step)
{
    call->user[0] = f->call_count++;
    call->user[1] = ttp_judge_begin(&f->judge, call->site, step->values, step->value_count);
    call->user[2] = (call->user[1] & f->judge.late & f->judge.of_kind[TTAPE_FILTER_TO]) == 0 &&
                            (call->user[1] & f->judge.of_kind[TTAPE_FILTER_TO]) != 0
                        ? LEADS
                        : 0;
    call->user[3] = least_of(f, call);
    if (call->user[3] == TTP_AS_ALL) {
        call->user[2] |= AS_ALL;
        call->user[3] = f->triggers.min_ns;
    }
    if (looks_at_triggers(f) && step->kind == TTAPE_STEP_EVENT && call->kind == TTAPE_EVENT_ENTER)
        (void)ttp_triggers_of_call(&f->triggers, call->user[1], TTAPE_TRIGGER_BEGIN);
    size_t before = f->said_bytes, bytes = (size_t)(f->call_count / 2 + 1);
    bool has_room = ttp_region_grow(&f->region, &f->said, &f->said_bytes, bytes, 1);
    if (has_room && f->said_bytes > before)
        memset(f->said + before, 0, f->said_bytes - before);
    if (!has_room)
        return ttp_fail(f->err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "the calls of the trace take more memory than the limit: a filter without "
                        "times, results and 'to' takes none");
    return TTAPE_OK;
}

/* What a call has come to; the one around it is the one before it on its stack. */
static void note_ended(struct filtering *f, ttape_call *call, ttape_call *around,
                       const ttape_call_step *step)
{
    uint64_t rules = rules_at_end(f, call, step);
    if (looks_at_triggers(f) && step->kind == TTAPE_STEP_EVENT)
        (void)ttp_triggers_of_call(&f->triggers, rules, TTAPE_TRIGGER_END);
    bool is_long = call->site == TTAPE_NONE || call->user[3] == 0 ||
                   call->duration_ns >= (int64_t)call->user[3];
    unsigned said = ttp_judge_call(&f->judge, rules, call->site, is_long);
    bool leads = (call->user[2] & LEADS) != 0 || (said & TTP_CALL_LEADS) != 0;
    said |= leads ? TTP_CALL_LEADS : 0;
    if (leads && around != NULL)
        around->user[2] |= LEADS;
    f->said[call->user[0] / 2] |= (uint8_t)(said << (call->user[0] % 2 * 4));
}

static void note_leaf(struct filtering *f, ttape_call *top, const ttape_call_step *step)
{
    if (f->judge.of_kind[TTAPE_FILTER_TO] == 0 && !looks_at_triggers(f))
        return;
    uint64_t rules = ~f->judge.late &
                     ttp_judge_begin(&f->judge, step->event->site, step->values, step->value_count);
    if (top != NULL && (rules & f->judge.of_kind[TTAPE_FILTER_TO]) != 0)
        top->user[2] |= LEADS;
    if (looks_at_triggers(f) && step->event->kind == TTAPE_EVENT_LEAF)
        (void)ttp_triggers_of_call(&f->triggers, rules, TTAPE_TRIGGER_BEGIN);
}

static ttape_status look(struct filtering *f, const ttape_call_cursor *cursor,
                         const ttape_call_step *step)
{
    if (looks_at_triggers(f) && step->kind == TTAPE_STEP_EVENT)
        (void)ttp_triggers_of_event(&f->triggers, step->event);
    for (uint32_t i = 0; i < step->began_count; i++)
        TTP_TRY(note_begun(f, &step->began[i], step));
    for (uint32_t i = step->ended_count; i-- > 0;)
        note_ended(f, &step->ended[i], i > 0 ? &step->ended[i - 1] : top_of(cursor), step);
    bool is_leaf = step->kind == TTAPE_STEP_EVENT && (step->event->kind == TTAPE_EVENT_LEAF ||
                                                      step->event->kind == TTAPE_EVENT_EXIT_UNSEEN);
    if (is_leaf)
        note_leaf(f, top_of(cursor), step);
    return TTAPE_OK;
}

/* ---- keeping ---- */

static unsigned said_of(const struct filtering *f, uint64_t call)
{
    return call / 2 < f->said_bytes ? f->said[call / 2] >> (call % 2 * 4) & 15 : 0;
}

/* A call is in what the call around it is in, and in itself. */
static unsigned bits_of(const ttape_call *around, unsigned said)
{
    unsigned bits = around != NULL ? (unsigned)around->user[0] & (IS_IN | IS_OUT) : 0;
    return bits | ((said & TTP_CALL_BELOW) != 0 ? IS_IN : 0) |
           ((said & TTP_CALL_NOT_BELOW) != 0 ? IS_OUT : 0);
}

static bool leads(const struct filtering *f, unsigned said)
{
    return f->judge.of_kind[TTAPE_FILTER_TO] == 0 || (said & TTP_CALL_LEADS) != 0;
}

static bool is_in(const struct filtering *f, unsigned bits)
{
    return (f->judge.of_kind[TTAPE_FILTER_BELOW] == 0 || (bits & IS_IN) != 0) &&
           (bits & IS_OUT) == 0;
}

static void act(struct filtering *f, uint32_t actions)
{
    f->is_finished |= (actions & TTAPE_TRIGGER_FINISH) != 0;
}

/* Whether the call, which begins, is left out as triggers have switched off; what it switches on it
 * is part of. */
static bool see_begin(struct filtering *f, ttape_call *call, uint64_t rules,
                      const ttape_call_step *step)
{
    bool was_off = f->triggers.is_off;
    call->user[1] = rules & f->triggers.rules;
    if (step->kind == TTAPE_STEP_EVENT && call->kind == TTAPE_EVENT_ENTER)
        act(f, ttp_triggers_of_call(&f->triggers, call->user[1], TTAPE_TRIGGER_BEGIN));
    return was_off && f->triggers.is_off;
}

/* The same of what has no length. */
static bool see_leaf(struct filtering *f, uint64_t rules, ttape_event_kind kind)
{
    bool was_off = f->triggers.is_off;
    if (kind == TTAPE_EVENT_LEAF)
        act(f, ttp_triggers_of_call(&f->triggers, rules & ~f->judge.late, TTAPE_TRIGGER_BEGIN));
    return was_off && f->triggers.is_off;
}

static void see_ends(struct filtering *f, const ttape_call_step *step)
{
    for (uint32_t i = step->ended_count; i-- > 0;) {
        const ttape_call *call = &step->ended[i];
        if (call->user[1] != 0)
            act(f,
                ttp_triggers_of_call(&f->triggers, rules_at_end(f, call, step), TTAPE_TRIGGER_END));
    }
}

/* Conditions of a call that begins are asked once, and only where something goes by them now. */
static uint64_t rules_at_begin(struct filtering *f, const ttape_call *call,
                               const ttape_call_step *step)
{
    const struct ttp_judge *judge = &f->judge;
    uint64_t wanted = judge->looks_ahead ? judge->limiting | f->triggers.rules : UINT64_MAX;
    if (call->site >= judge->site_count || (judge->site_rules[call->site] & wanted) == 0)
        return 0;
    return ttp_judge_begin(&f->judge, call->site, step->values, step->value_count);
}

static uint64_t depth_end_in(const struct filtering *f, struct ttp_limits limits)
{
    if (limits.depth_end != TTP_AS_ALL)
        return limits.depth_end;
    return f->triggers.depth != 0 ? f->triggers.depth : UINT64_MAX;
}

static void decide(struct filtering *f, ttape_call *call, const ttape_call_step *step)
{
    const struct ttp_judge *judge = &f->judge;
    const ttape_call *around = around_of(call);
    uint64_t number = f->call_count++, depth = around != NULL ? around->user[0] >> DEPTH_BIT : 0;
    uint64_t rules = rules_at_begin(f, call, step);
    struct ttp_limits limits = {TTP_AS_ALL, TTP_AS_ALL};
    if (around != NULL)
        limits = (struct ttp_limits){.depth_end = around->user[2], .min_ns = around->user[3]};
    limits = ttp_judge_limits(judge, rules, depth, limits);
    unsigned said =
        judge->looks_ahead ? said_of(f, number) : ttp_judge_call(judge, rules, call->site, true);
    unsigned bits = bits_of(around, said);
    bool is_wait = ttp_judge_waits(judge, call->site);
    bool is_shallow = call->site == TTAPE_NONE || is_wait || depth < depth_end_in(f, limits);
    bool is_kept = (said & TTP_CALL_FITS) != 0 &&
                   (is_wait ? depth > 0 : is_in(f, bits) && leads(f, said) && is_shallow);
    bool is_off = call->site != TTAPE_NONE && !is_wait && see_begin(f, call, rules, step);
    is_kept = is_kept && !is_off;
    call->user[0] = bits | (is_kept ? IS_KEPT : 0) | (depth + is_kept) << DEPTH_BIT;
    call->user[2] = limits.depth_end;
    call->user[3] = limits.min_ns;
}

static bool is_kept(const ttape_call *call) { return (call->user[0] & IS_KEPT) != 0; }

static ttape_status put(struct filtering *f, const ttape_call_step *step, ttape_event event)
{
    bool has_values = step->event != NULL && event.kind != TTAPE_EVENT_UNWIND;
    f->judge.counts.kept_event_count++;
    return ttp_filtered_put(&f->out, step->stream, &event, step->values,
                            has_values ? step->value_count : 0, f->err);
}

/* Calls end; the outermost by its own exit, where there is one. */
static ttape_status put_ends(struct filtering *f, const ttape_call_step *step, ttape_event event)
{
    bool unwinds = event.kind == TTAPE_EVENT_UNWIND || event.kind == TTAPE_EVENT_EXIT_ACROSS;
    bool has_exit =
        event.kind != TTAPE_EVENT_UNWIND && step->ended_count > (unwinds ? event.argument : 0u);
    uint32_t left = 0;
    for (uint32_t i = has_exit; i < step->ended_count; i++)
        left += is_kept(&step->ended[i]);
    bool exits = has_exit && is_kept(&step->ended[0]);
    if (!exits && left == 0)
        return TTAPE_OK;
    if (!unwinds)
        return put(f, step, event);
    event.argument = left;
    event.kind = !exits     ? TTAPE_EVENT_UNWIND
                 : left > 0 ? TTAPE_EVENT_EXIT_ACROSS
                            : TTAPE_EVENT_EXIT;
    event.site = exits ? event.site : TTAPE_NONE;
    event.lost_count = left > 0 ? event.lost_count : 0;
    return put(f, step, event);
}

/* What has no length is kept where the call around it is, or there is none, if its name and its
 * values are. */
static ttape_status put_leaf(struct filtering *f, const ttape_call_cursor *cursor,
                             const ttape_call_step *step)
{
    const struct ttp_judge *judge = &f->judge;
    const ttape_call *around = top_of(cursor);
    uint64_t rules = ttp_judge_begin(&f->judge, step->event->site, step->values, step->value_count);
    unsigned said = ttp_judge_call(judge, rules & ~judge->late, step->event->site, true);
    uint64_t min_ns = around == NULL ? 0 : around->user[3];
    bool is_long = (min_ns == TTP_AS_ALL ? f->triggers.min_ns : min_ns) == 0 || is_kept(around);
    bool is_off = see_leaf(f, rules, step->event->kind);
    return !is_off && (said & TTP_CALL_FITS) != 0 && is_in(f, bits_of(around, said)) &&
                   leads(f, said) && is_long
               ? put(f, step, *step->event)
               : TTAPE_OK;
}

static ttape_status keep_event(struct filtering *f, const ttape_call_cursor *cursor,
                               const ttape_call_step *step)
{
    f->judge.counts.event_count++;
    act(f, ttp_triggers_of_event(&f->triggers, step->event));
    see_ends(f, step);
    switch (step->event->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN:
    case TTAPE_EVENT_SIGNAL_BEGIN:
        decide(f, step->began, step);
        return is_kept(step->began) ? put(f, step, *step->event) : TTAPE_OK;
    case TTAPE_EVENT_EXIT:
    case TTAPE_EVENT_SIGNAL_END:
    case TTAPE_EVENT_UNWIND:
    case TTAPE_EVENT_EXIT_ACROSS: return put_ends(f, step, *step->event);
    case TTAPE_EVENT_LEAF:
    case TTAPE_EVENT_EXIT_UNSEEN: return put_leaf(f, cursor, step);
    default: return put(f, step, *step->event);
    }
}

static ttape_event switch_to(uint32_t stack, uint64_t time_ns)
{
    return (ttape_event){
        .kind = TTAPE_EVENT_SWITCH, .site = TTAPE_NONE, .argument = stack, .time_ns = time_ns};
}

/* Behind events that are missing, calls are gone, and others are open. */
static ttape_status keep_lost(struct filtering *f, const ttape_call_step *step)
{
    ttape_event event = {.kind = TTAPE_EVENT_UNWIND,
                         .site = TTAPE_NONE,
                         .time_ns = step->time_ns,
                         .lost_count = TTAPE_UNWIND_LOST};
    for (uint32_t i = 0; i < step->ended_count; i++)
        event.argument += is_kept(&step->ended[i]);
    if (event.argument == 0)
        return TTAPE_OK;
    TTP_TRY(put(f, step, switch_to(step->stack, step->time_ns)));
    return put(f, step, event);
}

static ttape_status keep_found(struct filtering *f, const ttape_call_step *step)
{
    bool is_start = f->out.streams[step->stream].event_count == 0;
    for (uint32_t i = 0; i < step->began_count; i++)
        decide(f, &step->began[i], step);
    for (uint32_t i = 0, shown = 0; i < step->began_count; i++) {
        const ttape_call *call = &step->began[i];
        ttape_event event = {
            .kind = TTAPE_EVENT_OPEN, .site = call->site, .time_ns = step->time_ns};
        if (!is_kept(call))
            continue;
        if (is_start) {
            TTP_TRY(ttp_filtered_found(&f->out, call, f->err));
            continue;
        }
        if (shown++ == 0)
            TTP_TRY(put(f, step, switch_to(step->stack, step->time_ns)));
        if (call->kind == TTAPE_EVENT_SIGNAL_BEGIN) {
            event.kind = TTAPE_EVENT_SIGNAL_BEGIN;
            event.argument = call->argument;
        }
        TTP_TRY(put(f, step, event));
    }
    return TTAPE_OK;
}

static ttape_status keep(struct filtering *f, const ttape_call_cursor *cursor,
                         const ttape_call_step *step)
{
    ttp_filtered_pass(&f->out, step);
    switch (step->kind) {
    case TTAPE_STEP_EVENT: return keep_event(f, cursor, step);
    case TTAPE_STEP_FOUND: return keep_found(f, step);
    case TTAPE_STEP_LOST: return keep_lost(f, step);
    case TTAPE_STEP_MISSING: return put(f, step, *step->event);
    case TTAPE_STEP_START:
        if (f->out.streams[step->stream].event_count == 0)
            ttp_filtered_start(&f->out, step);
        else
            return put(f, step, switch_to(step->stack, step->time_ns));
        return TTAPE_OK;
    default: return TTAPE_OK;
    }
}

/* ---- all ---- */

static bool goes_on(const struct filtering *f, uint64_t done, uint64_t all)
{
    const ttape_watch *watch = f->judge.asked.watch;
    return watch == NULL || watch->goes_on(watch->context, done, all);
}

/* Damage is told once: while events are kept. */
static ttape_status take_failure(const struct filtering *f, ttape_status status, bool is_looking)
{
    ttape_error none = {.status = status};
    if (status < TTAPE_E_TRUNCATED || f->judge.asked.damage == NULL)
        return status;
    if (!is_looking)
        f->judge.asked.damage(f->judge.asked.context, f->err != NULL ? f->err : &none);
    return TTAPE_OK;
}

static ttape_status walk_streams(struct filtering *f, const uint32_t *streams, uint32_t count,
                                 bool is_looking, uint64_t all)
{
    const ttape_call_options options = {.size = sizeof options,
                                        .streams = streams,
                                        .stream_count = count,
                                        .values = true,
                                        .switches = !is_looking};
    ttape_call_cursor *cursor;
    ttape_status status = ttape_call_cursor_open(&cursor, f->reader, &options, f->err);
    ttp_triggers_begin(&f->triggers, f->judge.asked.triggers, f->judge.filter_rule_count, false);
    f->triggers.min_ns = f->judge.limits.min_ns;
    f->triggers.depth =
        f->judge.limits.depth_end <= UINT32_MAX ? (uint32_t)f->judge.limits.depth_end : 0;
    f->is_finished = false;
    for (uint64_t done = 0; status == TTAPE_OK && !f->is_finished; done++) {
        const ttape_call_step *step;
        status = ttape_call_cursor_step(cursor, &step, f->err);
        if (status == TTAPE_OK)
            status = is_looking ? look(f, cursor, step) : keep(f, cursor, step);
        else if (status != TTAPE_END)
            status = take_failure(f, status, is_looking);
        if (status == TTAPE_OK && done % ASK_EVERY == 0 && !goes_on(f, done, all))
            status = ttp_fail(f->err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                              "the caller has ended it");
    }
    ttape_call_cursor_close(cursor);
    return status == TTAPE_END ? TTAPE_OK : status;
}

/* Events of a scope stand in partitions of their own. */
static ttape_status filter_scopes(struct filtering *f, bool is_looking)
{
    ttape_info info;
    ttape_reader_get_info(f->reader, &info);
    uint32_t *streams = ttp_region_take(&f->region, info.stream_count, sizeof *streams);
    if (streams == NULL)
        return ttp_fail(f->err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "threads of a filtered trace take more memory than the limit");
    f->call_count = 0;
    ttape_status status = TTAPE_OK;
    for (uint32_t scope = 0; scope < info.scope_count && status == TTAPE_OK; scope++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < info.stream_count; i++) {
            ttape_stream_info stream;
            if (ttape_reader_get_stream(f->reader, i, &stream) == TTAPE_OK && stream.scope == scope)
                streams[count++] = i;
        }
        if (count > 0)
            status = walk_streams(f, streams, count, is_looking, info.event_count);
        if (status == TTAPE_OK && !is_looking)
            status = ttp_seal(f->out.writer, f->err);
    }
    ttp_region_give(&f->region, streams);
    return status;
}

static ttape_status check_traces(const ttape_writer *writer, const ttape_reader *reader,
                                 const ttape_filtering *filtering, ttape_filtering *taken,
                                 ttape_error *err)
{
    *taken = (ttape_filtering){.size = sizeof *taken};
    if (filtering != NULL)
        TTP_TRY(ttp_take_sized(taken, sizeof *taken, filtering, "filtering", err));
    if (writer == NULL || reader == NULL || taken->names == NULL || taken->text == NULL ||
        taken->argument == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "filtering takes a writer, a reader, and who knows names and values");
    taken->memory_bytes = taken->memory_bytes != 0 ? taken->memory_bytes : MEMORY_BYTES;
    return TTAPE_OK;
}

ttape_status ttape_copy_filtered(ttape_writer *writer, ttape_reader *reader,
                                 const ttape_filtering *filtering, ttape_filtered *counts,
                                 ttape_error *err)
{
    ttape_filtering taken;
    ttape_error own = {0};
    TTP_TRY(check_traces(writer, reader, filtering, &taken, err));
    TTP_TRY(ttp_writer_check(writer, err));
    struct filtering f = {.reader = reader, .err = err != NULL ? err : &own};
    f.region = ttp_region_of(taken.memory_bytes);
    ttape_status status = ttp_judge_open(&f.judge, reader, &taken, &f.region, f.err);
    if (status == TTAPE_OK)
        status = ttp_filtered_open(&f.out, writer, reader, &f.region, f.err);
    if (status == TTAPE_OK && f.judge.looks_ahead)
        status = filter_scopes(&f, true);
    if (status == TTAPE_OK)
        status = filter_scopes(&f, false);
    if (counts != NULL)
        *counts = f.judge.counts;
    if (f.out.writer != NULL)
        ttp_filtered_close(&f.out);
    ttp_region_close(&f.region);
    return status;
}
