/* What is kept of the calls: chosen sites, a depth, what is below chosen sites or leads to them,
 * calls of some length (spec/filters.md).
 *
 * The filter keeps the frames itself: a call that is left out takes nothing with it, and its exit
 * is left out with it, so that no frame is broken. A call whose length decides, or what it leads
 * to, waits (pending) until it ends or something below it is kept. What culling leaves out is
 * counted, in a gap per thread and checkpoint, and per function in the metadata. */
#include <string.h>

#include "format/base/fail.h"
#include "recorder/arena/verdicts.h"
#include "recorder/decode/layouts.h"

#define HOT_CALLS  65536u /* calls after which a function may be culled as hot */
#define HOT_NS     200u   /* shorter than that, most of the time */
#define HOT_SHARE  16u    /* of which all but one in so many */
#define SEARCH_MAX 1024u

enum call_state { CALL_DROPPED, CALL_PENDING, CALL_KEPT };

bool ttp_filter_is_on(const struct ttp_encode *e)
{
    const ttape_site_rules *rules = &e->options.rules;
    return rules->select != NULL || rules->max_depth != 0 || rules->min_ns != 0 ||
           rules->cull_hot || e->options.keep_call != NULL ||
           ttp_judging_is_on(&e->options.conditions);
}

/* Whether a function is hot goes by what it calls, left out or not. Hooks of a process that is
 * attached to have no table of verdicts. */
bool ttp_verdicts_are_wanted(const ttape_recording_options *options)
{
    return options->rules.select != NULL && !options->rules.cull_hot &&
           !options->syscalls.is_attached;
}

/* A full line takes no more: these calls are recorded, and left out here. */
static void tell_verdict(const struct ttp_encode *e, const struct ttp_thread *thread,
                         const struct ttp_site_seen *site)
{
    uint64_t image = ttp_image_at(e, thread->image)->serial, seed = ttp_verdict_seed(image);
    uint32_t slot = ttp_verdict_slot(seed, site->address);
    if (ttp_verdict_image(image) == 0 ||
        ttp_verdict_is_there(e->verdicts, seed, image, site->address))
        return;
    for (uint32_t i = 0; i < TTP_VERDICT_LINE; i++, slot = ttp_verdict_next(slot))
        if (e->verdicts[slot] == 0) {
            __atomic_store_n(&e->verdicts[slot], ttp_verdict_word(image, site->address),
                             __ATOMIC_RELAXED);
            return;
        }
}

/* Not of those below which calls are kept, and not of what is to be seen: it makes a checkpoint. */
static bool is_always_dropped(const struct ttp_encode *e, const struct ttp_site_seen *site)
{
    return site->select == TTAPE_SELECT_DROP && !site->is_checkpoint &&
           site->condition_count == 0 &&
           (site->rules & (e->judging.triggers.rules | e->judging.limiting)) == 0 &&
           site->kind == TTAPE_SITE_FUNCTION;
}

static ttape_status emit(struct ttp_encode *e, struct ttp_thread *thread, const ttape_event *event,
                         ttape_error *err)
{
    e->events[e->event_count++] = *event;
    thread->may_attach = event->kind != TTAPE_EVENT_GAP;
    return e->event_count == TTP_BATCH_EVENTS ? ttp_decode_flush(e, thread, err) : TTAPE_OK;
}

const struct ttp_call_stack *ttp_filter_stack(const struct ttp_thread *thread)
{
    const struct ttp_call_stack *stacks = thread->stacks.data;
    for (size_t i = 0; i < thread->stacks.count; i++)
        if (stacks[i].number == thread->stack)
            return &stacks[i];
    return NULL;
}

bool ttp_filter_is_signal(const struct ttp_call_stack *stack, uint32_t call)
{
    return ((const struct ttp_call *)stack->calls.data)[call].site == TTAPE_NONE;
}

static ttape_status stack_of(struct ttp_encode *e, struct ttp_thread *thread,
                             struct ttp_call_stack **out, ttape_error *err)
{
    *out = (struct ttp_call_stack *)(uintptr_t)ttp_filter_stack(thread);
    if (*out == NULL) {
        *out = ttp_push(&e->allocator, &thread->stacks, sizeof **out, err);
        if (*out == NULL)
            return TTAPE_E_MEMORY;
        (*out)->number = thread->stack;
    }
    return TTAPE_OK;
}

static ttape_status emit_enter(struct ttp_encode *e, struct ttp_thread *thread,
                               struct ttp_call *call, ttape_error *err)
{
    ttape_event event = {.time_ns = call->time_ns,
                         .kind = TTAPE_EVENT_SIGNAL_BEGIN,
                         .site = TTAPE_NONE,
                         .argument = call->signal,
                         .depth = TTAPE_DEPTH_AUTO};
    if (call->site != TTAPE_NONE) {
        event.kind = call->was_open ? TTAPE_EVENT_OPEN : TTAPE_EVENT_ENTER;
        event.site = ttp_site_at(e, thread, call->site)->id;
    }
    TTP_TRY(emit(e, thread, &event, err));
    const uint8_t *values = call->values.data;
    ttape_status status =
        values == NULL ? TTAPE_OK
                       : ttp_decode_attach(e, thread, values, values + call->values.count, err);
    ttp_grown_free(&e->allocator, &call->values);
    return status;
}

/* What is to be judged, and is not over: by what is known. */
static void judge_pending(struct ttp_encode *e, const struct ttp_thread *thread,
                          struct ttp_call_stack *stack, size_t first)
{
    struct ttp_call *calls = stack->calls.data;
    for (size_t i = first; i < stack->calls.count; i++) {
        if (calls[i].state != CALL_PENDING || !calls[i].is_judged)
            continue;
        calls[i].is_judged = false;
        if (ttp_wait_is_kept(e, thread, &calls[i], NULL))
            continue;
        calls[i].state = CALL_DROPPED;
        stack->pending--;
        stack->kept--;
        ttp_grown_free(&e->allocator, &calls[i].values);
    }
}

/* What waits is kept: something below it is, or it is long enough. */
static ttape_status keep_waiting(struct ttp_encode *e, struct ttp_thread *thread,
                                 struct ttp_call_stack *stack, bool only_leading, ttape_error *err)
{
    struct ttp_call *calls = stack->calls.data;
    size_t first = stack->calls.count;
    uint32_t left = stack->pending;
    while (left > 0 && first > 0)
        left -= calls[--first].state == CALL_PENDING;
    judge_pending(e, thread, stack, first);
    for (size_t i = first; stack->pending > 0 && i < stack->calls.count; i++)
        if (calls[i].state == CALL_PENDING && (calls[i].leads || !only_leading)) {
            calls[i].state = CALL_KEPT;
            stack->pending--;
            TTP_TRY(emit_enter(e, thread, &calls[i], err));
        }
    return TTAPE_OK;
}

static ttape_status keep_pending(struct ttp_encode *e, struct ttp_thread *thread,
                                 struct ttp_call_stack *stack, ttape_error *err)
{
    return keep_waiting(e, thread, stack, false, err);
}

/* Times that hold from some calls on are judged before, and with them those of all. */
static uint64_t least_ns(const struct ttp_encode *e)
{
    return e->judging.is_timed ? 0 : e->options.rules.min_ns;
}

static bool waits(const struct ttp_encode *e)
{
    return least_ns(e) != 0 || e->options.rules.cull_hot;
}

/* What the calls lead to is here. */
static ttape_status note_lead(struct ttp_encode *e, struct ttp_thread *thread,
                              struct ttp_call_stack *stack, ttape_error *err)
{
    struct ttp_call *calls = stack->calls.data;
    for (size_t i = stack->calls.count; i > 0 && !calls[i - 1].leads; i--)
        calls[i - 1].leads = true;
    return waits(e) ? TTAPE_OK : keep_pending(e, thread, stack, err);
}

static bool is_outside(const ttape_site_rules *rules, const struct ttp_call_stack *stack,
                       uint32_t select)
{
    return (rules->has_below && stack->below == 0 && (select & TTAPE_SELECT_BELOW) == 0) ||
           stack->without != 0 || (select & TTAPE_SELECT_NOT_BELOW) != 0;
}

/* Where depths end in what is called next; 0: where they do for all calls. */
static uint32_t depth_end_of(const struct ttp_call_stack *stack)
{
    const struct ttp_call *top = (const struct ttp_call *)stack->calls.data + stack->calls.count;
    return stack->calls.count > 0 && !top[-1].is_before ? top[-1].depth_end : 0;
}

static uint32_t limit_depth(const struct ttp_call_stack *stack, const struct ttp_chosen *chosen)
{
    if (chosen->depth == TTAPE_NONE)
        return depth_end_of(stack);
    return chosen->depth < UINT32_MAX - stack->kept ? stack->kept + chosen->depth : UINT32_MAX;
}

static bool is_deep(const struct ttp_call_stack *stack, const struct ttp_chosen *chosen)
{
    uint32_t end = limit_depth(stack, chosen);
    end = end != 0 ? end : chosen->all_depth;
    return end != 0 && stack->kept >= end;
}

/* What waits for the recorder is kept where it is in something that is. */
static bool is_dropped(const ttape_site_rules *rules, const struct ttp_call_stack *stack,
                       const struct ttp_site_seen *site, const struct ttp_chosen *chosen)
{
    uint32_t select = chosen->select;
    if (ttp_site_is_wait(site))
        return stack->kept == 0;
    return (select & TTAPE_SELECT_DROP) != 0 || site->is_culled ||
           is_outside(rules, stack, select) || is_deep(stack, chosen);
}

static void count_culled(struct ttp_encode *e, struct ttp_thread *thread,
                         struct ttp_site_seen *site)
{
    site->culled++;
    thread->may_attach = false;
    thread->culled += 2;
    e->culled++;
}

static ttape_status enter_call(struct ttp_encode *e, struct ttp_thread *thread,
                               struct ttp_call_stack *stack, const ttape_event *event,
                               const struct ttp_chosen *chosen, ttape_error *err)
{
    const ttape_site_rules *rules = &e->options.rules;
    uint32_t index = chosen->site, select = chosen->select;
    uint32_t depth_end = limit_depth(stack, chosen);
    struct ttp_site_seen *site = ttp_site_at(e, thread, index);
    const struct ttp_call *parent =
        stack->calls.count == 0 ? NULL
                                : (struct ttp_call *)stack->calls.data + stack->calls.count - 1;
    bool dropped = is_dropped(rules, stack, site, chosen),
         is_wanted = (select & TTAPE_SELECT_TO) != 0;
    if (is_wanted)
        TTP_TRY(note_lead(e, thread, stack, err));
    if (parent != NULL && parent->site != TTAPE_NONE)
        ttp_site_at(e, thread, parent->site)->has_callees = true;
    struct ttp_call *call = ttp_push(&e->allocator, &stack->calls, sizeof *call, err);
    if (call == NULL)
        return TTAPE_E_MEMORY;
    site->calls++;
    if (e->verdicts != NULL && site->calls % TTP_VERDICT_EVERY == 0 && is_always_dropped(e, site))
        tell_verdict(e, thread, site);
    *call = (struct ttp_call){.site = index,
                              .time_ns = event->time_ns,
                              .depth_end = depth_end,
                              .opens_below = (select & TTAPE_SELECT_BELOW) != 0,
                              .opens_without = (select & TTAPE_SELECT_NOT_BELOW) != 0,
                              .leads = !rules->has_to || is_wanted,
                              .was_open = event->kind == TTAPE_EVENT_OPEN,
                              .is_judged = e->options.keep_call != NULL && ttp_site_is_call(site)};
    call->state = dropped                                       ? CALL_DROPPED
                  : waits(e) || call->is_judged || !call->leads ? CALL_PENDING
                                                                : CALL_KEPT;
    thread->waiting.has_entered = call->state == CALL_PENDING;
    stack->below += call->opens_below;
    stack->without += call->opens_without;
    stack->kept += !dropped;
    stack->pending += call->state == CALL_PENDING;
    if (site->is_culled)
        count_culled(e, thread, site);
    if (call->state != CALL_KEPT)
        return TTAPE_OK;
    if (stack->pending != 0)
        TTP_TRY(keep_pending(e, thread, stack, err));
    return emit(e, thread, event, err);
}

/* Takes the innermost call off the list. */
static struct ttp_call pop_call(struct ttp_encode *e, struct ttp_call_stack *stack)
{
    struct ttp_call call = ((struct ttp_call *)stack->calls.data)[--stack->calls.count];
    ttp_grown_free(&e->allocator, &call.values);
    stack->below -= call.opens_below;
    stack->without -= call.opens_without;
    stack->kept -= call.state != CALL_DROPPED && !call.is_before;
    stack->pending -= call.state == CALL_PENDING;
    return call;
}

static void judge_hot(const ttape_site_rules *rules, struct ttp_site_seen *site, uint64_t ns)
{
    if (!rules->cull_hot || site->has_callees)
        return;
    site->short_calls += ns < HOT_NS;
    site->is_culled =
        site->calls >= HOT_CALLS && site->short_calls >= site->calls - site->calls / HOT_SHARE;
}

/* How calls end without their exits. */
struct leaving {
    uint64_t count, ns;
    uint64_t kind; /* ttape_unwind_kind */
};

/* A call whose exit cannot be seen may have been as long as it seems. */
static ttape_status keep_long(struct ttp_encode *e, struct ttp_thread *thread,
                              struct ttp_call_stack *stack, uint64_t ns, ttape_error *err)
{
    const struct ttp_call *top = (struct ttp_call *)stack->calls.data + stack->calls.count - 1;
    bool is_long = top->state == CALL_PENDING && !top->is_judged && top->leads &&
                   top->site != TTAPE_NONE && ns - top->time_ns >= least_ns(e);
    return is_long ? keep_pending(e, thread, stack, err) : TTAPE_OK;
}

/* Leaves calls without their exits; what of them is in the stream is unwound there. */
static ttape_status leave(struct ttp_encode *e, struct ttp_thread *thread,
                          struct ttp_call_stack *stack, const struct leaving *leaving,
                          ttape_error *err)
{
    uint64_t ns = leaving->ns;
    uint32_t kept = 0;
    for (uint64_t n = leaving->count; n > 0 && stack->calls.count > 0; n--) {
        if (leaving->kind == TTAPE_UNWIND_LATE)
            TTP_TRY(keep_long(e, thread, stack, ns, err));
        kept += pop_call(e, stack).state == CALL_KEPT;
    }
    ttape_event event = {.time_ns = ns,
                         .lost_count = leaving->kind,
                         .kind = TTAPE_EVENT_UNWIND,
                         .site = TTAPE_NONE,
                         .argument = kept,
                         .depth = TTAPE_DEPTH_AUTO};
    return kept == 0 ? TTAPE_OK : emit(e, thread, &event, err);
}

/* How many calls are above the one that exits; the list's length where it is not there. */
static size_t find_call(const struct ttp_call_stack *stack, uint32_t index)
{
    const struct ttp_call *calls = stack->calls.data;
    for (size_t n = 0; n < stack->calls.count && n < SEARCH_MAX; n++)
        if (calls[stack->calls.count - 1 - n].site == index)
            return n;
    return stack->calls.count;
}

static ttape_status leave_call(struct ttp_encode *e, struct ttp_thread *thread,
                               struct ttp_call_stack *stack, const ttape_event *event,
                               const struct ttp_chosen *chosen, ttape_error *err)
{
    const ttape_site_rules *rules = &e->options.rules;
    uint32_t index = chosen->site;
    struct ttp_site_seen *site = ttp_site_at(e, thread, index);
    size_t above = find_call(stack, index);
    if (above == stack->calls.count) /* entered before all that is known: the writer decides */
        return is_dropped(rules, stack, site, chosen) ? TTAPE_OK : emit(e, thread, event, err);
    if (above != 0)
        TTP_TRY(leave(e, thread, stack, &(struct leaving){above, event->time_ns, 0}, err));
    const struct ttp_call *call = (struct ttp_call *)stack->calls.data + stack->calls.count - 1;
    uint64_t ns = event->time_ns - call->time_ns;
    if (call->state == CALL_PENDING && call->is_judged) {
        thread->waiting.has_left = true;
        thread->waiting.left = *event;
        thread->waiting.site = index;
        return TTAPE_OK;
    }
    if (call->state == CALL_PENDING) {
        bool leads = call->leads;
        judge_hot(rules, site, ns);
        if (!leads || ns < least_ns(e)) {
            (void)pop_call(e, stack);
            if (leads)
                count_culled(e, thread, site);
            return TTAPE_OK;
        }
        TTP_TRY(keep_pending(e, thread, stack, err));
    }
    return pop_call(e, stack).state == CALL_DROPPED ? TTAPE_OK : emit(e, thread, event, err);
}

static ttape_status begin_signal(struct ttp_encode *e, struct ttp_thread *thread,
                                 struct ttp_call_stack *stack, const ttape_event *event,
                                 ttape_error *err)
{
    bool is_left = is_outside(&e->options.rules, stack, 0);
    bool is_waiting = !is_left && e->options.rules.has_to;
    uint32_t depth_end = depth_end_of(stack);
    if (!is_left && !is_waiting)
        TTP_TRY(keep_pending(e, thread, stack, err));
    struct ttp_call *call = ttp_push(&e->allocator, &stack->calls, sizeof *call, err);
    if (call == NULL)
        return TTAPE_E_MEMORY;
    *call = (struct ttp_call){.site = TTAPE_NONE,
                              .state = is_left      ? CALL_DROPPED
                                       : is_waiting ? CALL_PENDING
                                                    : CALL_KEPT,
                              .signal = event->argument,
                              .depth_end = depth_end,
                              .time_ns = event->time_ns};
    stack->kept += !is_left;
    stack->pending += is_waiting;
    return call->state == CALL_KEPT ? emit(e, thread, event, err) : TTAPE_OK;
}

static ttape_status end_signal(struct ttp_encode *e, struct ttp_thread *thread,
                               struct ttp_call_stack *stack, ttape_event *event, ttape_error *err)
{
    size_t above = find_call(stack, TTAPE_NONE);
    if (above == stack->calls.count)
        return TTAPE_OK;
    if (above != 0)
        TTP_TRY(leave(e, thread, stack, &(struct leaving){above, event->time_ns, 0}, err));
    const struct ttp_call *top = (struct ttp_call *)stack->calls.data + stack->calls.count - 1;
    if (top->state == CALL_PENDING && top->leads)
        TTP_TRY(keep_pending(e, thread, stack, err));
    struct ttp_call call = pop_call(e, stack);
    event->argument = call.signal;
    return call.state == CALL_KEPT ? emit(e, thread, event, err) : TTAPE_OK;
}

/* What has no length. */
static bool is_chosen(const struct ttp_encode *e, const struct ttp_call_stack *stack,
                      const struct ttp_chosen *chosen)
{
    const ttape_site_rules *rules = &e->options.rules;
    const struct ttp_call *calls = stack->calls.data;
    uint32_t select = chosen->select;
    if (chosen->is_timed && stack->calls.count > 0 &&
        calls[stack->calls.count - 1].state == CALL_DROPPED)
        return false;
    return (select & TTAPE_SELECT_DROP) == 0 && !is_outside(rules, stack, select) &&
           (!rules->has_to || (select & TTAPE_SELECT_TO) != 0);
}

ttape_status ttp_filter_judged(struct ttp_encode *e, struct ttp_thread *thread, bool is_kept,
                               ttape_error *err)
{
    struct ttp_call_stack *stack;
    TTP_TRY(stack_of(e, thread, &stack, err));
    if (is_kept)
        ((struct ttp_call *)stack->calls.data)[stack->calls.count - 1].is_judged = false;
    else
        (void)pop_call(e, stack);
    return TTAPE_OK;
}

ttape_status ttp_filter_event(struct ttp_encode *e, struct ttp_thread *thread, ttape_event *event,
                              const struct ttp_chosen *chosen, ttape_error *err)
{
    struct ttp_call_stack *stack;
    TTP_TRY(ttp_wait_settle(e, thread, err));
    thread->waiting.has_entered = false;
    TTP_TRY(stack_of(e, thread, &stack, err));
    switch (event->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN: return enter_call(e, thread, stack, event, chosen, err);
    case TTAPE_EVENT_EXIT: return leave_call(e, thread, stack, event, chosen, err);
    case TTAPE_EVENT_UNWIND:
        return leave(e, thread, stack,
                     &(struct leaving){event->argument, event->time_ns, event->lost_count}, err);
    case TTAPE_EVENT_SIGNAL_BEGIN: return begin_signal(e, thread, stack, event, err);
    case TTAPE_EVENT_SIGNAL_END: return end_signal(e, thread, stack, event, err);
    case TTAPE_EVENT_SWITCH:
        TTP_TRY(keep_pending(e, thread, stack, err));
        thread->stack = event->argument;
        return emit(e, thread, event, err);
    case TTAPE_EVENT_EXIT_UNSEEN:
    case TTAPE_EVENT_LEAF:
        if ((chosen->select & TTAPE_SELECT_TO) != 0)
            TTP_TRY(note_lead(e, thread, stack, err));
        if (!is_chosen(e, stack, chosen))
            return TTAPE_OK;
        break;
    default: break;
    }
    TTP_TRY(keep_pending(e, thread, stack, err));
    return emit(e, thread, event, err);
}

/* Before a checkpoint: nothing waits but for what it may lead to, and what was culled is said. */
ttape_status ttp_filter_settle(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err)
{
    struct ttp_call_stack *stack;
    if (!ttp_filter_is_on(e))
        return TTAPE_OK;
    TTP_TRY(ttp_held_settle(e, thread, err));
    TTP_TRY(ttp_wait_settle(e, thread, err));
    TTP_TRY(stack_of(e, thread, &stack, err));
    TTP_TRY(keep_waiting(e, thread, stack, true, err));
    if (thread->culled != 0 && thread->stream != TTAPE_NONE) {
        ttape_event event = {.time_ns = thread->last_ns,
                             .kind = TTAPE_EVENT_GAP,
                             .site = TTAPE_NONE,
                             .argument = TTAPE_GAP_REASON_FILTER,
                             .lost_count = thread->culled,
                             .depth = TTAPE_DEPTH_AUTO};
        thread->culled = 0;
        TTP_TRY(emit(e, thread, &event, err));
    }
    return ttp_decode_flush(e, thread, err);
}

ttape_status ttp_filter_settle_all(struct ttp_encode *e, struct ttp_thread *thread,
                                   ttape_error *err)
{
    struct ttp_call_stack *stack;
    TTP_TRY(ttp_filter_settle(e, thread, err));
    TTP_TRY(stack_of(e, thread, &stack, err));
    TTP_TRY(keep_pending(e, thread, stack, err));
    return ttp_decode_flush(e, thread, err);
}

void ttp_filter_begin_again(struct ttp_thread *thread)
{
    struct ttp_call_stack *stacks = thread->stacks.data;
    for (size_t i = 0; i < thread->stacks.count; i++) {
        struct ttp_call *calls = stacks[i].calls.data;
        for (size_t k = 0; k < stacks[i].calls.count; k++) {
            calls[k].is_before = calls[k].leads = true;
            calls[k].opens_below = calls[k].opens_without = false;
        }
        stacks[i].below = stacks[i].without = stacks[i].kept = 0;
    }
}

void ttp_filter_close(struct ttp_encode *e, struct ttp_thread *thread)
{
    struct ttp_call_stack *stacks = thread->stacks.data;
    for (size_t i = 0; i < thread->stacks.count; i++) {
        struct ttp_call *calls = stacks[i].calls.data;
        for (size_t k = 0; k < stacks[i].calls.count; k++)
            ttp_grown_free(&e->allocator, &calls[k].values);
        ttp_grown_free(&e->allocator, &stacks[i].calls);
    }
    ttp_grown_free(&e->allocator, &thread->stacks);
    ttp_held_close(e, thread);
}
