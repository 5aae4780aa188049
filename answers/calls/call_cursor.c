/* Reading. An event is a step at once; everything else (where reading begins, what is missing, the
 * end) is a list of steps, a stack at a time, that `phase` goes through.
 *
 *   OPEN -> FIND -> GO -> READ -> STOP -> LEFT -> DONE     of one stream
 *                         READ -> MISSING -> LOSE -> FIND -> GO -> READ
 *
 * Several streams: all are opened, one after the other; then READ takes items of the merged
 * cursor, and a stream stops behind its last event. */
#include <string.h>

#include "answers/calls/call_cursor.h"
#include "answers/calls/call_off.h"
#include "format/base/fail.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE      __attribute__((noinline))

/* ---- events ---- */

ALWAYS_INLINE void begin_call(ttape_call_cursor *c, struct ttp_call_stack *stack,
                              const ttape_event *e)
{
    ttape_call *call = ttp_call_push(c->s, stack);
    call->kind = e->kind;
    call->site = e->site;
    call->argument = e->argument;
    call->depth = e->depth;
    call->enter_number = c->step.number;
    call->enter_ns = e->time_ns;
    c->step.began = call;
    c->step.began_count = 1;
}

/* Without memory there is no next step. */
static void give_up(ttape_call_cursor *c)
{
    c->phase = TTP_CALLS_DONE;
    c->plain_end = c->next;
}

static NOINLINE ttape_status begin_in_more_room(ttape_call_cursor *c, const ttape_event *e,
                                                ttape_error *err)
{
    ttape_status status = ttp_call_stack_grow(c->s, c->s->current, err);
    if (status == TTAPE_OK)
        begin_call(c, c->s->current, e);
    else
        give_up(c);
    return status;
}

ALWAYS_INLINE void end_call(ttape_call_cursor *c, struct ttp_call_stack *stack, ttape_call_end end)
{
    if (__builtin_expect(stack->count > 0, 1)) {
        c->step.ended = ttp_call_pop(c->s, stack, c->step.number, end);
        c->step.ended_count++;
    }
}

static NOINLINE ttape_status set_values(ttape_call_cursor *c, ttape_error *err)
{
    ttape_event_item item = {0};
    if (c->is_merged)
        item = c->item;
    else
        TTP_TRY(ttp_cursor_batch_values(c->cursor, (uint32_t)(c->end - c->next), &item, err));
    c->step.values = item.values;
    c->step.value_count = item.value_count;
    return TTAPE_OK;
}

ALWAYS_INLINE struct ttp_call_stack *start_event(ttape_call_cursor *c, const ttape_event *e)
{
    struct ttp_call_stream *s = c->s;
    struct ttp_call_stack *stack = s->current;
    ttape_call_step *step = &c->step;
    step->kind = TTAPE_STEP_EVENT;
    step->stream = s->stream;
    step->event = e;
    step->stack = stack->number;
    step->number = s->number++;
    step->time_ns = e->time_ns;
    step->began_count = step->ended_count = 0;
    step->elapsed_ns = ttp_call_pass_time(s, e->time_ns);
    return stack;
}

/* Seldom: what a step is besides an enter or an exit. */
static NOINLINE ttape_status take_other(ttape_call_cursor *c, const ttape_event *e,
                                        ttape_error *err)
{
    struct ttp_call_stack *stack = start_event(c, e);
    bool unwinds = e->kind == TTAPE_EVENT_UNWIND || e->kind == TTAPE_EVENT_EXIT_ACROSS;
    ttape_call_end end = ttp_call_end_of(e->lost_count);
    for (uint32_t left = unwinds ? e->argument : 0; left > 0 && stack->count > 0; left--)
        end_call(c, stack, end);
    if (e->kind == TTAPE_EVENT_EXIT_ACROSS)
        end_call(c, stack, TTAPE_CALL_RETURNED);
    if (e->kind != TTAPE_EVENT_SWITCH)
        return TTAPE_OK;
    ttape_status status = ttp_call_stack_get(c->s, e->argument, &c->s->current, err);
    if (status != TTAPE_OK)
        give_up(c);
    return status;
}

static NOINLINE ttape_status take_exit(ttape_call_cursor *c, const ttape_event *e)
{
    struct ttp_call_stack *stack = start_event(c, e);
    end_call(c, stack, TTAPE_CALL_RETURNED);
    return TTAPE_OK;
}

static NOINLINE ttape_status take_enter(ttape_call_cursor *c, const ttape_event *e,
                                        ttape_error *err)
{
    struct ttp_call_stack *stack = start_event(c, e);
    if (__builtin_expect(stack->count == stack->capacity, 0))
        return begin_in_more_room(c, e, err);
    begin_call(c, stack, e);
    return TTAPE_OK;
}

/* The next event at hand, which there is. */
ALWAYS_INLINE ttape_status take_event(ttape_call_cursor *c, const ttape_event *e, ttape_error *err)
{
    c->next = e + 1;
    if (e->kind == TTAPE_EVENT_ENTER)
        return take_enter(c, e, err);
    if (e->kind == TTAPE_EVENT_EXIT || e->kind == TTAPE_EVENT_SIGNAL_END)
        return take_exit(c, e);
    if (e->kind == TTAPE_EVENT_OPEN || e->kind == TTAPE_EVENT_SIGNAL_BEGIN)
        return take_enter(c, e, err);
    return take_other(c, e, err);
}

/* ---- steps that are not events ---- */

static void set_step(ttape_call_cursor *c, ttape_call_step_kind kind, uint32_t stack)
{
    const struct ttp_call_stream *s = c->s;
    c->step = (ttape_call_step){.kind = kind,
                                .stream = s->stream,
                                .stack = stack,
                                .number = s->number,
                                .time_ns = s->now_ns};
}

/* Ends all but `kept` calls of a stack. True: there were some. */
static bool end_step(ttape_call_cursor *c, struct ttp_call_stack *stack, uint32_t kept,
                     ttape_call_end end)
{
    if (stack->count <= kept)
        return false;
    set_step(c, end == TTAPE_CALL_LOST ? TTAPE_STEP_LOST : TTAPE_STEP_LEFT, stack->number);
    while (stack->count > kept)
        end_call(c, stack, end);
    return true;
}

/* Nothing was read between the edge and the event that is next. */
static void settle_call(ttape_call_cursor *c, bool is_start)
{
    ttp_call_stream_order(c->s);
    c->place = 0;
    c->phase = is_start ? TTP_CALLS_FIND : TTP_CALLS_MISSING;
}

static void missing_step(ttape_call_cursor *c)
{
    struct ttp_call_stream *s = c->s;
    uint64_t number = c->edge.event_number;
    c->gap = (ttape_event){.time_ns = s->now_ns,
                           .lost_count = number > s->number ? number - s->number : 0,
                           .kind = TTAPE_EVENT_GAP,
                           .site = TTAPE_NONE,
                           .argument = c->damaged ? TTAPE_GAP_REASON_DAMAGE : TTAPE_GAP_REASON_CUT,
                           .depth = s->current->count};
    set_step(c, TTAPE_STEP_MISSING, s->current->number);
    c->step.event = &c->gap;
    c->damaged = c->damaged && c->is_merged;
    c->phase = TTP_CALLS_LOSE;
}

/* Calls of a stretch are whole: what goes on behind missing events has its time in them, too. */
static void keep_whole(ttape_call_cursor *c)
{
    const ttape_edge *edge = &c->edge;
    for (uint32_t i = 0, height = 0; i < edge->frame_count; i++) {
        const ttape_open_frame *open = &edge->frames[i];
        struct ttp_call_stack *stack = *ttp_call_stack_slot(c->s, open->stack);
        height = i > 0 && open[-1].stack == open->stack ? height + 1 : 0;
        if (stack != NULL && height < stack->count)
            stack->calls[height].self_ns = open->self_ns;
    }
}

static bool lose_step(ttape_call_cursor *c)
{
    struct ttp_call_stream *s = c->s;
    while (c->place < s->stack_count) {
        struct ttp_call_stack *stack = *ttp_call_stack_slot(s, s->numbers[c->place++]);
        if (end_step(c, stack, ttp_call_stack_common(stack, &c->edge), TTAPE_CALL_LOST))
            return true;
    }
    if (c->options.has_stretch)
        keep_whole(c);
    if (c->edge.event_number > s->number)
        s->now_ns = c->edge.time_ns; /* nothing is known of the time between */
    ttp_call_off_start(s, c->edge.time_ns);
    s->number = c->edge.event_number;
    c->place = 0;
    c->phase = TTP_CALLS_FIND;
    return false;
}

static ttape_status find_step(ttape_call_cursor *c, bool *is_step, ttape_error *err)
{
    while (c->place < c->edge.frame_count) {
        struct ttp_call_stack *stack;
        uint32_t count;
        TTP_TRY(ttp_call_stack_get(c->s, c->edge.frames[c->place].stack, &stack, err));
        uint32_t before = stack->count;
        TTP_TRY(ttp_call_stack_find(c->s, &c->edge, c->place, &stack, &count, err));
        c->place += count;
        if (stack->count == before)
            continue;
        set_step(c, TTAPE_STEP_FOUND, stack->number);
        c->step.began = &stack->calls[before];
        c->step.began_count = stack->count - before;
        *is_step = true;
        return TTAPE_OK;
    }
    c->phase = TTP_CALLS_GO;
    return TTAPE_OK;
}

static ttape_status go_step(ttape_call_cursor *c, ttape_error *err)
{
    TTP_TRY(ttp_call_stack_get(c->s, c->edge.stack, &c->s->current, err));
    set_step(c, TTAPE_STEP_START, c->edge.stack);
    c->phase = c->opened < c->stream_count ? TTP_CALLS_OPEN : TTP_CALLS_READ;
    return TTAPE_OK;
}

/* The interval of the event behind the range; behind the last event nothing is known. */
static void pass_off_to_end(ttape_call_cursor *c, uint64_t time_ns)
{
    const ttape_event *next = c->is_merged ? &c->item.event : c->next;
    bool is_there =
        c->is_cut &&
        (!c->is_merged || (c->item.stream == c->s->stream && c->item.number == c->s->number));
    if (is_there && next != NULL)
        ttp_call_pass_off(c, time_ns, next->time_ns);
    else
        c->s->current->unknown_clock += time_ns - c->s->now_ns;
}

static void stop_step(ttape_call_cursor *c)
{
    struct ttp_call_stream *s = c->s;
    uint64_t time_ns = c->is_cut ? c->to_ns : c->is_over && c->is_merged ? c->now_ns : s->now_ns;
    if (c->options.switches && time_ns > s->now_ns)
        pass_off_to_end(c, time_ns);
    int64_t elapsed_ns = time_ns > s->now_ns ? ttp_call_pass_time(s, time_ns) : 0;
    set_step(c, TTAPE_STEP_STOP, s->current->number);
    c->step.is_cut = c->is_cut;
    c->step.elapsed_ns = elapsed_ns;
    s->is_finished = true;
    ttp_call_stream_order(s);
    c->place = 0;
    c->phase = TTP_CALLS_LEFT;
}

static bool left_step(ttape_call_cursor *c)
{
    struct ttp_call_stream *s = c->s;
    if (end_step(c, s->current, 0, TTAPE_CALL_LEFT))
        return true;
    while (c->place < s->stack_count)
        if (end_step(c, *ttp_call_stack_slot(s, s->numbers[c->place++]), 0, TTAPE_CALL_LEFT))
            return true;
    c->phase = c->is_merged ? TTP_CALLS_READ : TTP_CALLS_DONE;
    return false;
}

/* ---- one stream ---- */

static ttape_status find_start(ttape_call_cursor *c, ttape_cursor *cursor, ttape_error *err)
{
    if (c->options.has_stretch) {
        TTP_TRY(ttape_cursor_seek_event(cursor, c->options.first_event, err));
        cursor->sought_ordinal = UINT32_MAX; /* reading goes on from here */
        return ttape_cursor_get_edge(cursor, &c->edge, err);
    }
    if (c->options.has_range && c->options.from_ns > 0)
        TTP_TRY(ttape_cursor_seek_time(cursor, c->options.from_ns, err));
    return ttape_cursor_get_open_frames(cursor, &c->edge, err);
}

/* What is open where a stream begins; without knowing it, nothing is. */
static ttape_status open_start(ttape_call_cursor *c, ttape_cursor *cursor, ttape_error *err)
{
    struct ttp_call_stream *s = c->s;
    ttape_status status = find_start(c, cursor, err);
    if (status != TTAPE_OK) {
        c->edge = (ttape_edge){.event_number =
                                   c->options.has_stretch ? c->options.first_event : s->number};
        c->damaged = true;
    }
    s->number = c->edge.event_number;
    s->now_ns = c->edge.time_ns;
    ttp_call_off_start(s, s->now_ns);
    if (c->options.has_range && s->now_ns < c->options.from_ns)
        s->now_ns = c->options.from_ns;
    settle_call(c, true);
    return status;
}

static void stop(ttape_call_cursor *c, bool is_cut)
{
    c->is_cut = is_cut;
    c->is_over = true;
    c->phase = TTP_CALLS_STOP;
}

static void set_events(ttape_call_cursor *c, const ttape_event *events, size_t count)
{
    c->next = events;
    c->end = events + count;
}

/* What is behind a stretch says whether its last calls go on; that it cannot be read is a failure
 * of another one. */
static void end_stretch(ttape_call_cursor *c)
{
    uint64_t number;
    ttape_status status = ttp_cursor_position(c->cursor, &number, NULL);
    for (uint32_t i = c->reader->damaged_count; status >= TTAPE_E_TRUNCATED && i > 0; i--)
        status = ttp_cursor_position(c->cursor, &number, NULL);
    if (status == TTAPE_END)
        stop(c, false);
    else if (status != TTAPE_OK || number == c->s->number)
        c->phase = TTP_CALLS_DONE;
    else if (ttape_cursor_get_open_frames(c->cursor, &c->edge, NULL) == TTAPE_OK)
        settle_call(c, false);
    else
        ttp_cursor_skip_segment(c->cursor);
}

static size_t batch_capacity(const ttape_call_cursor *c)
{
    uint64_t left = c->options.end_event - c->s->number;
    return c->options.has_stretch && left < TTP_CALL_BATCH_EVENTS ? (size_t)left
                                                                  : TTP_CALL_BATCH_EVENTS;
}

/* The state behind missing events. */
static ttape_status find_edge(ttape_call_cursor *c, ttape_error *err)
{
    return c->options.has_stretch ? ttape_cursor_get_edge(c->cursor, &c->edge, err)
                                  : ttape_cursor_get_open_frames(c->cursor, &c->edge, err);
}

/* More events, or what is missing before them. */
static ttape_status read_batch(ttape_call_cursor *c, ttape_error *err)
{
    uint64_t number;
    size_t count;
    c->next = c->end = NULL;
    if (c->damaged && find_edge(c, NULL) == TTAPE_OK) {
        settle_call(c, false);
        return TTAPE_OK;
    }
    if (c->options.has_stretch && c->s->number >= c->options.end_event) {
        end_stretch(c);
        return TTAPE_OK;
    }
    ttape_status status = ttp_cursor_position(c->cursor, &number, err);
    if (status == TTAPE_OK && number != c->s->number) {
        status = find_edge(c, err);
        if (status == TTAPE_OK) {
            settle_call(c, false);
            return TTAPE_OK;
        }
        ttp_cursor_skip_segment(c->cursor);
    }
    /* Nothing of the next segment is in the range: it need not be decoded to see that. What is said
     * of switches, it would tell. */
    bool is_behind = status == TTAPE_OK && c->to_ns != UINT64_MAX && !c->options.switches &&
                     ttp_cursor_is_behind(c->cursor, c->to_ns);
    if (is_behind) {
        stop(c, true);
        return TTAPE_OK;
    }
    if (status == TTAPE_OK)
        status = ttp_cursor_next_batch(c->cursor, c->options.values, c->batch, batch_capacity(c),
                                       &count, err);
    if (status == TTAPE_OK)
        set_events(c, c->batch, count);
    else if (status == TTAPE_END)
        stop(c, false);
    c->damaged = status != TTAPE_OK && status != TTAPE_END;
    return status == TTAPE_END ? TTAPE_OK : status;
}

/* ---- several streams ---- */

static ttape_status open_edge_cursor(ttape_call_cursor *c, ttape_error *err)
{
    ttape_cursor_close(c->edge_cursor);
    c->edge_cursor = NULL;
    return ttape_cursor_open(&c->edge_cursor, c->reader, c->s->stream, err);
}

static ttape_status open_stream(ttape_call_cursor *c, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    c->s = &c->streams[c->opened++];
    if (!c->is_merged)
        return open_start(c, c->cursor, err);
    status = open_edge_cursor(c, err);
    if (status == TTAPE_OK)
        status = open_start(c, c->edge_cursor, err);
    c->s->is_finished = c->s->number >= c->s->end_number; /* nothing of it is in the range */
    if (c->s->is_finished)
        c->phase = c->opened < c->stream_count ? TTP_CALLS_OPEN : TTP_CALLS_READ;
    return status;
}

/* Where numbers jump, a cursor over the stream says what is open behind the missing events. */
static void resume(ttape_call_cursor *c)
{
    if (open_edge_cursor(c, NULL) == TTAPE_OK &&
        ttape_cursor_seek_event(c->edge_cursor, c->item.number, NULL) == TTAPE_OK &&
        ttape_cursor_get_open_frames(c->edge_cursor, &c->edge, NULL) == TTAPE_OK)
        settle_call(c, false);
    else
        c->s->number = c->item.number;
}

static void stop_next(ttape_call_cursor *c)
{
    while (c->stopped < c->stream_count && c->streams[c->stopped].is_finished)
        c->stopped++;
    c->phase = c->stopped < c->stream_count ? TTP_CALLS_STOP : TTP_CALLS_DONE;
    if (c->phase == TTP_CALLS_STOP)
        c->s = &c->streams[c->stopped];
}

static ttape_status seek_merged(ttape_call_cursor *c, ttape_error *err)
{
    c->is_sought = true;
    if (!c->options.has_range || c->options.from_ns == 0)
        return TTAPE_OK;
    ttape_status status = ttape_cursor_seek_time(c->cursor, c->options.from_ns, err);
    return status == TTAPE_END ? TTAPE_OK : status;
}

static ttape_status read_item(ttape_call_cursor *c, ttape_error *err)
{
    c->next = c->end = NULL;
    if (c->is_over) {
        stop_next(c);
        return TTAPE_OK;
    }
    if (!c->s->is_finished && c->s->number >= c->s->end_number) {
        c->phase = TTP_CALLS_STOP;
        return TTAPE_OK;
    }
    if (!c->is_sought)
        TTP_TRY(seek_merged(c, err));
    ttape_status status = ttape_cursor_next(c->cursor, &c->item, err);
    c->is_cut = status == TTAPE_OK && c->item.event.time_ns >= c->to_ns && c->to_ns != UINT64_MAX;
    c->is_over = status == TTAPE_END || c->is_cut;
    if (c->is_over)
        return TTAPE_OK;
    if (status != TTAPE_OK) {
        c->damaged = true;
        return status;
    }
    c->now_ns = c->item.event.time_ns > c->now_ns ? c->item.event.time_ns : c->now_ns;
    uint32_t index = c->index_of[c->item.stream];
    if (index == 0 || c->streams[index - 1].is_finished)
        return TTAPE_OK;
    c->s = &c->streams[index - 1];
    set_events(c, &c->item.event, 1);
    if (c->item.number != c->s->number)
        resume(c);
    return TTAPE_OK;
}

/* ---- steps ---- */

static ttape_status read_on(ttape_call_cursor *c, bool *is_step, ttape_error *err)
{
    if (c->next == c->end)
        return c->is_merged ? read_item(c, err) : read_batch(c, err);
    if (c->next->time_ns >= c->to_ns && c->to_ns != UINT64_MAX) {
        stop(c, true);
        return TTAPE_OK;
    }
    *is_step = true;
    if (c->options.values)
        TTP_TRY(set_values(c, err));
    if (c->options.switches)
        ttp_call_pass_off(c, c->next->time_ns, c->next->time_ns);
    return take_event(c, c->next, err);
}

static ttape_status go_through(ttape_call_cursor *c, bool *is_step, ttape_error *err)
{
    *is_step = true;
    switch (c->phase) {
    case TTP_CALLS_MISSING: missing_step(c); return TTAPE_OK;
    case TTP_CALLS_LOSE: *is_step = lose_step(c); return TTAPE_OK;
    case TTP_CALLS_GO: return go_step(c, err);
    case TTP_CALLS_STOP: stop_step(c); return TTAPE_OK;
    case TTP_CALLS_LEFT: *is_step = left_step(c); return TTAPE_OK;
    default: *is_step = false; return find_step(c, is_step, err);
    }
}

static ttape_status step_somehow(ttape_call_cursor *c, ttape_error *err)
{
    bool is_step = false;
    if (c->options.values && c->step.ended_count > 0)
        ttp_call_drop_values(c->s, c->step.ended, c->step.ended_count);
    while (!is_step) {
        ttape_status status;
        bool reads = c->phase == TTP_CALLS_OPEN || c->phase == TTP_CALLS_READ;
        if (c->phase == TTP_CALLS_DONE)
            return TTAPE_END;
        if (c->phase == TTP_CALLS_OPEN)
            status = open_stream(c, err);
        else if (c->phase == TTP_CALLS_READ)
            status = read_on(c, &is_step, err);
        else
            status = go_through(c, &is_step, err);
        if (status != TTAPE_OK) {
            c->phase = reads && !is_step ? c->phase : TTP_CALLS_DONE;
            return status;
        }
    }
    return TTAPE_OK;
}

static NOINLINE ttape_status step_slowly(ttape_call_cursor *c, ttape_error *err)
{
    ttape_status status = step_somehow(c, err);
    bool is_plain = c->phase == TTP_CALLS_READ && !c->options.values && !c->options.switches;
    if (status == TTAPE_OK && c->options.switches)
        ttp_call_settle_off(c);
    c->plain_end = is_plain ? c->end : c->next;
    if (is_plain && c->to_ns != UINT64_MAX)
        for (c->plain_end = c->next; c->plain_end != c->end && c->plain_end->time_ns < c->to_ns;)
            c->plain_end++;
    return status;
}

ttape_status ttape_call_cursor_step(ttape_call_cursor *c, const ttape_call_step **out,
                                    ttape_error *err)
{
    *out = &c->step;
    if (__builtin_expect(c->next == c->plain_end, 0))
        return step_slowly(c, err);
    return take_event(c, c->next, err);
}

/* Enters that are next, of which nobody is told; there is room for them. */
static void begin_quietly(ttape_call_cursor *c)
{
    const ttape_event *e = c->next, *end = c->plain_end;
    if (e == end) /* there may be no stream yet */
        return;
    struct ttp_call_stream *s = c->s;
    struct ttp_call_stack *stack = s->current;
    for (; e != end && e->kind == TTAPE_EVENT_ENTER && stack->count < stack->capacity; e++) {
        c->step.number = s->number++;
        (void)ttp_call_pass_time(s, e->time_ns);
        begin_call(c, stack, e);
    }
    c->next = e;
}

ttape_status ttape_call_cursor_step_ended(ttape_call_cursor *c, const ttape_call_step **out,
                                          ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    do {
        begin_quietly(c);
        status = ttape_call_cursor_step(c, out, err);
    } while (status == TTAPE_OK && c->step.ended_count == 0);
    return status;
}
