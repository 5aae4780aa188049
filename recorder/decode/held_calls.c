/* Where nothing waits, events pass at once: only what comes behind a call that is in question is
 * held. A call is decided by its values, which are the next record; by its time, as soon as that is
 * longer than what is asked for; else by its end. */
#include "recorder/state/held_calls.h"

#include <string.h>

#include "format/base/fail.h"
#include "recorder/decode/layouts.h"

#define SEARCH_MAX  1024u
#define COMPACT_MIN 1024u

static bool is_on(const struct ttp_encode *e) { return ttp_judging_is_on(&e->options.conditions); }

/* ---- the queue ---- */

static struct ttp_held_event *held_at(const struct ttp_held *held, size_t index)
{
    return (struct ttp_held_event *)held->events.data + index;
}

static bool is_empty(const struct ttp_held *held) { return held->done == held->events.count; }

static bool is_open(const struct ttp_held_event *event)
{
    return event->is_question || event->min_ns != 0;
}

static void decide(const struct ttp_encode *e, struct ttp_held_event *event, uint64_t rules)
{
    event->rules = rules;
    event->is_question = false;
    event->select |= ttp_judging_select(e, rules);
}

/* Nothing waits for how long a call takes that is left out anyway. */
static void decide_time(struct ttp_held_event *event, int64_t duration_ns, bool is_over)
{
    bool is_long = event->min_ns == 0 || duration_ns >= (int64_t)event->min_ns;
    if (is_long || is_over || (event->select & TTAPE_SELECT_DROP) != 0 || event->is_off) {
        event->select |= is_long ? 0 : TTAPE_SELECT_DROP;
        event->min_ns = 0;
    }
}

/* The call's event by its number; NULL: it was given on. */
static struct ttp_held_event *find_held(const struct ttp_held *held, uint64_t number)
{
    return number < held->first + held->done ? NULL : held_at(held, (size_t)(number - held->first));
}

static ttape_status give_calls(struct ttp_encode *e, struct ttp_thread *thread,
                               const struct ttp_held_event *held, const uint8_t *values,
                               ttape_error *err)
{
    ttape_event event = held->event;
    thread->may_attach = false;
    const struct ttp_chosen chosen = {.site = held->site,
                                      .select =
                                          held->select | (held->is_off ? TTAPE_SELECT_DROP : 0),
                                      .depth = ttp_judging_depth(e, held->rules),
                                      .all_depth = held->all_depth,
                                      .is_timed = held->is_timed};
    TTP_TRY(ttp_filter_event(e, thread, &event, &chosen, err));
    if (held->value_bytes == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_wait_values(e, thread, values, held->value_bytes, err));
    return ttp_decode_attach(e, thread, values, values + held->value_bytes, err);
}

static void forget_given(struct ttp_encode *e, struct ttp_held *held)
{
    size_t left = held->events.count - held->done, bytes = held->bytes.count - held->done_bytes;
    if (left != 0 && (held->done < COMPACT_MIN || held->done < left))
        return;
    e->judging.held_bytes -= held->done * sizeof(struct ttp_held_event) + held->done_bytes;
    if (left != 0)
        memmove(held->events.data, held_at(held, held->done), left * sizeof(struct ttp_held_event));
    if (bytes != 0)
        memmove(held->bytes.data, (uint8_t *)held->bytes.data + held->done_bytes, bytes);
    held->first += held->done;
    held->events.count = left;
    held->bytes.count = bytes;
    held->done = held->done_bytes = 0;
}

/* Its values come with the next record, if it has any. */
static bool is_last(const struct ttp_held *held, size_t index)
{
    return held->waits != TTP_HELD_NOTHING && index + 1 == held->events.count;
}

static bool is_decided(struct ttp_encode *e, const struct ttp_thread *thread,
                       struct ttp_held_event *event)
{
    uint64_t rules = event->rules;
    int64_t elapsed_ns = (int64_t)(thread->last_ns - event->event.time_ns);
    if (event->is_question && !event->is_short &&
        ttp_judging_knows(e, ttp_site_at(e, thread, event->site), &rules, elapsed_ns))
        decide(e, event, rules);
    decide_time(event, elapsed_ns, false);
    return !is_open(event);
}

static ttape_status release(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    struct ttp_held *held = &thread->held;
    while (!is_empty(held) && !is_last(held, held->done) &&
           is_decided(e, thread, held_at(held, held->done))) {
        const struct ttp_held_event event = *held_at(held, held->done++);
        const uint8_t *values = (const uint8_t *)held->bytes.data + held->done_bytes;
        held->done_bytes += event.value_bytes;
        TTP_TRY(give_calls(e, thread, &event, event.value_bytes == 0 ? NULL : values, err));
    }
    forget_given(e, held);
    return TTAPE_OK;
}

static ttape_status hold(struct ttp_encode *e, struct ttp_thread *thread,
                         const struct ttp_held_event *event, ttape_error *err)
{
    struct ttp_held_event *place =
        ttp_push(&e->allocator, &thread->held.events, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = *event;
    e->judging.held_bytes += sizeof *place;
    thread->held.takes_values = event->event.kind != TTAPE_EVENT_GAP;
    return TTAPE_OK;
}

/* ---- what calls come to ---- */

static struct ttp_call_stack *find_stack(const struct ttp_held *held)
{
    struct ttp_call_stack *stacks = held->stacks.data;
    for (size_t i = 0; i < held->stacks.count; i++)
        if (stacks[i].number == held->stack)
            return &stacks[i];
    return NULL;
}

static ttape_status stack_of(struct ttp_encode *e, struct ttp_held *held,
                             struct ttp_call_stack **out, ttape_error *err)
{
    *out = find_stack(held);
    if (*out != NULL)
        return TTAPE_OK;
    *out = ttp_push(&e->allocator, &held->stacks, sizeof **out, err);
    if (*out == NULL)
        return TTAPE_E_MEMORY;
    (*out)->number = held->stack;
    return TTAPE_OK;
}

/* What holds from a call on: its event is the last one, `rules` choose it. */
static void set_limits(struct ttp_encode *e, struct ttp_thread *thread,
                       struct ttp_held_event *event, uint64_t rules)
{
    struct ttp_call_stack *stack = e->judging.is_timed ? find_stack(&thread->held) : NULL;
    uint64_t all_ns = event->min_ns, least_ns = TTP_TIME_OF_ALL, own_ns;
    if (stack == NULL)
        return;
    size_t around = stack->calls.count - !event->is_short;
    event->min_ns = 0;
    struct ttp_call *calls = stack->calls.data;
    if (around > 0)
        least_ns = calls[around - 1].min_ns;
    if (event->is_short) {
        event->is_timed = (least_ns == TTP_TIME_OF_ALL ? all_ns : least_ns) != 0;
        return;
    }
    least_ns = ttp_judging_least(e, rules, &own_ns) ? own_ns : least_ns;
    calls[around].min_ns = least_ns;
    if (event->site == TTAPE_NONE)
        return;
    event->min_ns = least_ns == TTP_TIME_OF_ALL ? all_ns : least_ns;
    calls[around].is_judged |= event->min_ns != 0;
}

/* A call is over. */
static void conclude(struct ttp_encode *e, struct ttp_thread *thread, uint64_t number,
                     int64_t duration_ns, const ttape_value *result)
{
    struct ttp_held_event *event = find_held(&thread->held, number);
    if (event == NULL || !is_open(event))
        return;
    if (event->is_question)
        decide(e, event,
               ttp_judging_end(e, thread, ttp_site_at(e, thread, event->site), event->rules,
                               duration_ns, result));
    decide_time(event, duration_ns, true);
}

/* The call is over: what waits for that is due. */
static void end_call(struct ttp_encode *e, struct ttp_thread *thread,
                     const struct ttp_ended_call *ended, const ttape_value *result)
{
    conclude(e, thread, ended->number, ended->took_ns, result);
    if (ended->triggers != 0)
        ttp_judging_fire(e,
                         ttp_judging_end(e, thread, ttp_site_at(e, thread, ended->site),
                                         ended->triggers, ended->took_ns, result),
                         TTAPE_TRIGGER_END, ended->ns);
}

/* The call begins: `rules` choose it. What it switches on it is part of. */
static void see_begin(struct ttp_encode *e, struct ttp_thread *thread, struct ttp_held_event *event,
                      uint64_t rules)
{
    uint64_t triggers = rules & e->judging.triggers.rules;
    struct ttp_call_stack *stack = triggers != 0 ? find_stack(&thread->held) : NULL;
    if (triggers == 0)
        return;
    if (event->event.kind != TTAPE_EVENT_OPEN && event->event.kind != TTAPE_EVENT_EXIT_UNSEEN)
        ttp_judging_fire(e, triggers & (event->is_short ? ~e->judging.late : UINT64_MAX),
                         TTAPE_TRIGGER_BEGIN, event->event.time_ns);
    event->is_off = event->is_off && e->judging.triggers.is_off;
    if (!event->is_short && stack != NULL && stack->calls.count > 0)
        ((struct ttp_call *)stack->calls.data)[stack->calls.count - 1].triggers = triggers;
}

/* Its values are known, or that there are none. */
static void begin_last(struct ttp_encode *e, struct ttp_thread *thread, const ttape_value *values,
                       uint32_t count)
{
    struct ttp_held_event *event = held_at(&thread->held, thread->held.events.count - 1);
    uint64_t late = e->judging.late;
    event->rules = ttp_judging_begin(e, thread, ttp_site_at(e, thread, event->site), values, count);
    see_begin(e, thread, event, event->rules);
    set_limits(e, thread, event, event->rules);
    event->rules &= ~e->judging.triggers.rules;
    if (event->is_short)
        event->rules &= ~late;
    if ((event->rules & late) == 0)
        decide(e, event, event->rules);
}

/* Conditions may be about names of what pointers point to: a pointer that cannot be named has none
 * there either. */
static void name_pointers(struct ttp_encode *e, struct ttp_thread *thread, ttape_value *values,
                          uint32_t count)
{
    ttape_error err;
    (void)ttp_values_name(e, thread, values, count, e->judging.asks_words, &err);
}

static void settle_last(struct ttp_encode *e, struct ttp_thread *thread, ttape_value *values,
                        uint32_t count)
{
    struct ttp_held *held = &thread->held;
    if (held->waits != TTP_HELD_NOTHING)
        name_pointers(e, thread, values, count);
    if (held->waits == TTP_HELD_BEGIN)
        begin_last(e, thread, values, count);
    else if (held->waits == TTP_HELD_END)
        end_call(e, thread, &held->ended, count > 0 ? &values[0] : NULL);
    held->waits = TTP_HELD_NOTHING;
}

/* ---- frames ---- */

static struct ttp_ended_call ended_at(const struct ttp_call *call, uint64_t ns)
{
    return (struct ttp_ended_call){.number = call->held,
                                   .ns = ns,
                                   .took_ns = (int64_t)(ns - call->time_ns),
                                   .triggers = call->triggers,
                                   .site = call->site};
}

/* Calls that have left without a result. */
static void leave_frames(struct ttp_encode *e, struct ttp_thread *thread,
                         struct ttp_call_stack *stack, uint64_t count, uint64_t ns)
{
    for (; count > 0 && stack->calls.count > 0; count--) {
        const struct ttp_call *call = (struct ttp_call *)stack->calls.data + --stack->calls.count;
        const struct ttp_ended_call ended = ended_at(call, ns);
        if (call->is_judged || call->triggers != 0)
            end_call(e, thread, &ended, NULL);
    }
}

static size_t find_call(const struct ttp_call_stack *stack, uint32_t site)
{
    const struct ttp_call *calls = stack->calls.data;
    for (size_t n = 0; n < stack->calls.count && n < SEARCH_MAX; n++)
        if (calls[stack->calls.count - 1 - n].site == site)
            return n;
    return stack->calls.count;
}

/* The call of an exit ends; whether it waits for its result. */
static bool leave_call(struct ttp_encode *e, struct ttp_thread *thread,
                       struct ttp_call_stack *stack, uint32_t site, uint64_t ns)
{
    struct ttp_held *held = &thread->held;
    size_t above = find_call(stack, site);
    if (above == stack->calls.count)
        return false;
    leave_frames(e, thread, stack, above, ns);
    const struct ttp_call *call = (struct ttp_call *)stack->calls.data + stack->calls.count - 1;
    const struct ttp_held_event *event = call->is_judged ? find_held(held, call->held) : NULL;
    uint64_t rules = call->triggers | (event != NULL && event->is_question ? event->rules : 0);
    bool waits = rules != 0 && ttp_judging_wants_result(e, ttp_site_at(e, thread, site), rules);
    held->ended = ended_at(call, ns);
    if (waits)
        stack->calls.count--;
    else
        leave_frames(e, thread, stack, 1, ns);
    return waits;
}

static ttape_status enter_call(struct ttp_encode *e, struct ttp_thread *thread,
                               struct ttp_call_stack *stack, const ttape_event *event,
                               uint32_t site, ttape_error *err)
{
    struct ttp_call *call = ttp_push(&e->allocator, &stack->calls, sizeof *call, err);
    if (call == NULL)
        return TTAPE_E_MEMORY;
    call->site = event->kind == TTAPE_EVENT_SIGNAL_BEGIN ? TTAPE_NONE : site;
    call->time_ns = event->time_ns;
    call->held = thread->held.first + thread->held.events.count;
    call->is_judged =
        call->site != TTAPE_NONE && ttp_site_at(e, thread, site)->condition_count != 0;
    return TTAPE_OK;
}

/* A call, or what has no length, begins: what is known of it without its values. */
static void begin_plain(struct ttp_encode *e, struct ttp_thread *thread,
                        struct ttp_held_event *held)
{
    uint64_t rules = held->site == TTAPE_NONE ? 0 : ttp_site_at(e, thread, held->site)->rules;
    see_begin(e, thread, held, rules);
    set_limits(e, thread, held, rules);
    held->rules = rules & e->judging.limiting;
}

static bool begins(ttape_event_kind kind)
{
    return kind == TTAPE_EVENT_ENTER || kind == TTAPE_EVENT_OPEN ||
           kind == TTAPE_EVENT_SIGNAL_BEGIN || kind == TTAPE_EVENT_LEAF ||
           kind == TTAPE_EVENT_EXIT_UNSEEN;
}

/* What an event does to frames, and what is asked of it. */
static ttape_status follow_event(struct ttp_encode *e, struct ttp_thread *thread,
                                 struct ttp_held_event *held, ttape_error *err)
{
    const ttape_event *event = &held->event;
    struct ttp_call_stack *stack;
    bool has_conditions =
        held->site != TTAPE_NONE && ttp_site_at(e, thread, held->site)->condition_count != 0;
    TTP_TRY(stack_of(e, &thread->held, &stack, err));
    if (e->judging.is_timed && begins(event->kind))
        held->min_ns = e->judging.triggers.min_ns;
    switch (event->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN:
        held->is_question = has_conditions;
        TTP_TRY(enter_call(e, thread, stack, event, held->site, err));
        if (!has_conditions)
            begin_plain(e, thread, held);
        break;
    case TTAPE_EVENT_SIGNAL_BEGIN:
        TTP_TRY(enter_call(e, thread, stack, event, TTAPE_NONE, err));
        begin_plain(e, thread, held);
        break;
    case TTAPE_EVENT_LEAF:
    case TTAPE_EVENT_EXIT_UNSEEN:
        held->is_question = has_conditions;
        held->is_short = true;
        if (!has_conditions)
            begin_plain(e, thread, held);
        break;
    case TTAPE_EVENT_EXIT:
        if (leave_call(e, thread, stack, held->site, event->time_ns))
            thread->held.waits = TTP_HELD_END;
        break;
    case TTAPE_EVENT_UNWIND: leave_frames(e, thread, stack, event->argument, event->time_ns); break;
    case TTAPE_EVENT_SIGNAL_END: {
        size_t above = find_call(stack, TTAPE_NONE);
        if (above < stack->calls.count)
            leave_frames(e, thread, stack, above + 1, event->time_ns);
        break;
    }
    case TTAPE_EVENT_SWITCH: thread->held.stack = event->argument; break;
    default: break;
    }
    return TTAPE_OK;
}

/* Nobody waits any longer, but for values of the last event, which come next. */
static void give_up(struct ttp_encode *e, const struct ttp_held *held)
{
    for (size_t i = held->done; i < held->events.count; i++) {
        struct ttp_held_event *event = held_at(held, i);
        event->min_ns = 0;
        if (event->is_question && !is_last(held, i))
            decide(e, event, ttp_judging_unknown(e, event->rules));
    }
}

ttape_status ttp_held_event(struct ttp_encode *e, struct ttp_thread *thread,
                            const ttape_event *event, uint32_t site, ttape_error *err)
{
    struct ttp_held *held = &thread->held;
    struct ttp_held_event next = {.event = *event, .site = site};
    if (site != TTAPE_NONE)
        next.select = ttp_site_at(e, thread, site)->select;
    if (!is_on(e)) {
        const struct ttp_chosen chosen = {site, next.select, TTAPE_NONE, e->options.rules.max_depth,
                                          false};
        return ttp_filter_event(e, thread, &next.event, &chosen, err);
    }
    if (!e->judging.is_ready)
        ttp_judging_begin_all(e);
    settle_last(e, thread, NULL, 0);
    ttp_judging_see(e, event);
    next.is_off = e->judging.triggers.is_off && site != TTAPE_NONE;
    next.all_depth = e->judging.triggers.depth;
    TTP_TRY(follow_event(e, thread, &next, err));
    if (is_empty(held) && !is_open(&next)) {
        held->first++; /* the next one that is held has another number */
        return give_calls(e, thread, &next, NULL, err);
    }
    TTP_TRY(hold(e, thread, &next, err));
    if (next.is_question)
        held->waits = TTP_HELD_BEGIN;
    if (e->judging.held_bytes > TTP_HELD_MAX_BYTES)
        give_up(e, held);
    return release(e, thread, err);
}

ttape_status ttp_held_values(struct ttp_encode *e, struct ttp_thread *thread, const uint8_t *bytes,
                             uint32_t size_bytes, ttape_error *err)
{
    struct ttp_held *held = &thread->held;
    if (is_empty(held)) {
        if (held->waits != TTP_HELD_NOTHING) {
            uint32_t count = ttp_decode_values(e, bytes, bytes + size_bytes, err);
            settle_last(e, thread, e->values.data, count);
        }
        TTP_TRY(ttp_wait_values(e, thread, bytes, size_bytes, err));
        return ttp_decode_attach(e, thread, bytes, bytes + size_bytes, err);
    }
    if (!held->takes_values || size_bytes == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_push_bytes(&e->allocator, &held->bytes, bytes, size_bytes, err));
    held_at(held, held->events.count - 1)->value_bytes = size_bytes;
    e->judging.held_bytes += size_bytes;
    held->takes_values = false;
    if (held->waits != TTP_HELD_NOTHING) {
        uint32_t count = ttp_decode_values(e, bytes, bytes + size_bytes, err);
        settle_last(e, thread, e->values.data, count);
    }
    return release(e, thread, err);
}

ttape_status ttp_held_frames(struct ttp_encode *e, struct ttp_thread *thread,
                             const struct ttp_call_stack **out, ttape_error *err)
{
    if (!is_on(e)) {
        TTP_TRY(ttp_wait_settle(e, thread, err));
        *out = ttp_filter_stack(thread);
        return TTAPE_OK;
    }
    settle_last(e, thread, NULL, 0);
    *out = find_stack(&thread->held);
    return release(e, thread, err);
}

ttape_status ttp_held_settle(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    struct ttp_held *held = &thread->held;
    settle_last(e, thread, NULL, 0);
    give_up(e, held);
    return release(e, thread, err);
}

ttape_status ttp_held_end(struct ttp_encode *e, struct ttp_thread *thread, uint64_t last_ns,
                          ttape_error *err)
{
    struct ttp_call_stack *stacks = thread->held.stacks.data;
    settle_last(e, thread, NULL, 0);
    for (size_t i = 0; i < thread->held.stacks.count; i++)
        leave_frames(e, thread, &stacks[i], stacks[i].calls.count, last_ns);
    return release(e, thread, err);
}

/* Calls that are open are in the filter's frames: they end as before, nothing waits for that. */
ttape_status ttp_held_begin_again(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    struct ttp_held *held = &thread->held;
    const struct ttp_call_stack *stacks = thread->stacks.data;
    ttp_held_close(e, thread);
    held->stack = thread->stack;
    for (size_t i = 0; is_on(e) && i < thread->stacks.count; i++) {
        struct ttp_call_stack *stack = ttp_push(&e->allocator, &held->stacks, sizeof *stack, err);
        if (stack == NULL)
            return TTAPE_E_MEMORY;
        stack->number = stacks[i].number;
        for (size_t k = 0; k < stacks[i].calls.count; k++) {
            const struct ttp_call *call = (const struct ttp_call *)stacks[i].calls.data + k;
            struct ttp_call *copy = ttp_push(&e->allocator, &stack->calls, sizeof *copy, err);
            if (copy == NULL)
                return TTAPE_E_MEMORY;
            *copy = (struct ttp_call){.site = call->site,
                                      .signal = call->signal,
                                      .time_ns = call->time_ns,
                                      .min_ns = TTP_TIME_OF_ALL};
        }
    }
    return TTAPE_OK;
}

void ttp_held_close(struct ttp_encode *e, struct ttp_thread *thread)
{
    struct ttp_held *held = &thread->held;
    struct ttp_call_stack *stacks = held->stacks.data;
    for (size_t i = 0; i < held->stacks.count; i++)
        ttp_grown_free(&e->allocator, &stacks[i].calls);
    e->judging.held_bytes -= held->events.count * sizeof(struct ttp_held_event) + held->bytes.count;
    ttp_grown_free(&e->allocator, &held->stacks);
    ttp_grown_free(&e->allocator, &held->events);
    ttp_grown_free(&e->allocator, &held->bytes);
    *held = (struct ttp_held){0};
}
