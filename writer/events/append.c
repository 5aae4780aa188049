/* The hot path of the writer: events become codes and tick differences, frames are followed,
 * measures add up.
 *
 * One pass per event, no allocation but in growing lists of rare facts. What a frame has spent on
 * top of its stack stays in the frame until it ends or its partition does; whether a site is on the
 * stack at all (for its total) is counted per site, for one stream at a time: the *loaded* one. */
#include <string.h>

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/base/sized.h"
#include "format/container/partition.h"
#include "writer/encode/overview_writer.h"
#include "writer/events/append_fast.h"
#include "writer/events/off_times.h"
#include "writer/frames.h"
#include "writer/writer_internal.h"

struct ttp_pending *ttp_writer_pending(ttape_writer *w) { return &w->jobs[w->next_job].pending; }

static ttape_status grow_stack(ttape_writer *w, struct ttp_stack *stack, uint32_t more,
                               ttape_error *err)
{
    struct ttp_growing frames = {stack->frames, stack->count,
                                 stack->capacity * sizeof(struct ttp_open)};
    TTP_TRY(ttp_grow(&w->allocator, &frames, sizeof(struct ttp_open), stack->count + (size_t)more,
                     err));
    stack->frames = frames.data;
    stack->capacity = (uint32_t)(frames.capacity_bytes / sizeof(struct ttp_open));
    return TTAPE_OK;
}

/* Opens the stream's segment in the pending partition and writes down its start edge. */
static ttape_status open_segment(ttape_writer *w, struct ttp_pending *p, struct ttp_stream_state *s,
                                 uint32_t stream, ttape_error *err)
{
    struct ttp_segment *g = ttp_push(&w->allocator, &p->segments, sizeof *g, err);
    if (g == NULL)
        return TTAPE_E_MEMORY;
    g->stream = stream;
    g->first_event = s->next_event;
    g->base_tick = s->last_tick;
    g->min_depth = UINT32_MAX;
    TTP_TRY(ttp_off_start(w, p->scope, s, err));
    g->start = (struct ttp_edge_state){s->stacks[s->current].id, s->unknown_depth, s->depth_offset,
                                       (uint32_t)p->start_frames.count, 0};
    for (uint32_t k = 0; k < s->stack_count; k++) {
        struct ttp_stack *stack = &s->stacks[s->stack_order[k]];
        const struct ttp_off_entry *entries = stack->offs.data, *entry = entries;
        int64_t off_ns = 0;
        stack->low = stack->start_count = stack->count;
        for (size_t i = 0; i < stack->offs.count; i++)
            off_ns = (int64_t)((uint64_t)off_ns + (uint64_t)entries[i].off_ns);
        for (uint32_t i = 0; i < stack->count; i++) {
            struct ttp_frame *f = ttp_push(&w->allocator, &p->start_frames, sizeof *f, err);
            uint32_t *symbol = ttp_push(&w->allocator, &p->start_symbols, sizeof *symbol, err);
            if (f == NULL || symbol == NULL)
                return TTAPE_E_MEMORY;
            *symbol = stack->frames[i].symbol;
            *f = (struct ttp_frame){.argument = stack->frames[i].argument,
                                    .stack = stack->id,
                                    .event_class = stack->frames[i].event_class,
                                    .enter_tick = stack->frames[i].enter_tick,
                                    .self_ticks = stack->frames[i].self_ticks,
                                    .off_ns = off_ns};
            if (stack->offs.count != 0 && entry != entries + stack->offs.count &&
                entry->height == i + 1)
                off_ns = (int64_t)((uint64_t)off_ns - (uint64_t)entry++->off_ns);
            g->start.frame_count++;
        }
    }
    s->segment = (uint32_t)p->segments.count - 1;
    s->epoch = w->epoch;
    return TTAPE_OK;
}

/* Everything that the slow path of a batch of events needs at hand. */
struct batch {
    ttape_writer *w;
    struct ttp_pending *p;
    struct ttp_scope *scope;
    struct ttp_stream_state *s;
    struct ttp_segment *g;
    struct ttp_stack *stack;
    int64_t tick;    /* of the event */
    int64_t elapsed; /* since the one before */
    ttape_error *err;
};

static ttape_status add_fact(struct batch *b, struct ttp_growing *list, int64_t number)
{
    struct ttp_fact *fact = ttp_push(&b->w->allocator, list, sizeof *fact, b->err);
    if (fact == NULL)
        return TTAPE_E_MEMORY;
    *fact = (struct ttp_fact){b->s->segment, b->g->event_count, number};
    return TTAPE_OK;
}

/* The depth that the frames give, and what to do where the recording says otherwise. */
static ttape_status take_depth(struct batch *b, uint32_t recorded, uint32_t frames)
{
    int64_t depth = (int64_t)b->s->depth_offset + b->s->unknown_depth + frames;
    if (__builtin_expect(depth < 0 && recorded == TTAPE_DEPTH_AUTO, 0))
        recorded =
            0; /* depths that were recorded too low: nothing is further out than the outermost */
    if (__builtin_expect(recorded != TTAPE_DEPTH_AUTO && recorded != depth, 0)) {
        int64_t offset = (int64_t)recorded - b->s->unknown_depth - frames;
        if (recorded > TTP_MAX_DEPTH || offset < -(int64_t)TTP_MAX_DEPTH)
            return ttp_fail(b->err, TTAPE_E_ARGUMENT, "F-EVT-05", TTAPE_ERROR_NO_OFFSET,
                            "depth %u is out of range", recorded);
        b->s->depth_offset = (int32_t)offset;
        TTP_TRY(add_fact(b, &b->p->depths, offset));
        depth = recorded;
    }
    if (depth > (int64_t)TTP_MAX_DEPTH)
        return ttp_fail(b->err, TTAPE_E_ARGUMENT, "F-EVT-05", TTAPE_ERROR_NO_OFFSET,
                        "depth %lld is out of range", (long long)depth);
    if ((uint32_t)depth < b->g->min_depth)
        b->g->min_depth = (uint32_t)depth;
    return TTAPE_OK;
}

static inline void pop_frame(struct batch *b, bool is_unwound)
{
    struct ttp_stack *stack = b->stack;
    bool is_from_before = --stack->count < stack->low;
    if (is_from_before)
        stack->low = stack->count;
    const struct ttp_open *f = &stack->frames[stack->count];
    if (f->site != TTAPE_NONE &&
        ttp_frame_ticks(f, b->tick) >= ttp_site_state_at(b->scope, f->site)->wanted_ticks)
        ttp_listed_note(b->w, b->scope,
                        &(struct ttp_listed_end){b->g, stack, b->tick, is_unwound, is_from_before});
    if (ttp_off_height(stack) > stack->count)
        ttp_off_end_frame(b->w, b->scope, stack, f, b->tick);
    else if (f->site != TTAPE_NONE)
        ttp_end_frame(ttp_site_state_at(b->scope, f->site), f, b->tick);
}

static ttape_status push_frame(struct batch *b, uint8_t event_class, uint32_t argument,
                               uint32_t symbol)
{
    struct ttp_stack *stack = b->stack;
    if (__builtin_expect(stack->count == stack->capacity, 0))
        TTP_TRY(grow_stack(b->w, stack, 1, b->err));
    uint32_t site = event_class == TTP_CLASS_SIGNAL ? TTAPE_NONE : argument;
    stack->frames[stack->count++] =
        (struct ttp_open){b->tick, 0, 0, symbol, site, argument, event_class, b->g->event_count, 0};
    if (site == TTAPE_NONE)
        return TTAPE_OK;
    struct ttp_site_state *state = ttp_site_state_at(b->scope, site);
    TTP_TRY(ttp_group_site(b->w, state, b->err));
    ttp_touch(b->w, state);
    state->call_count += event_class == TTP_CLASS_ENTER;
    if (state->active++ == 0)
        state->active_since = b->tick;
    return TTAPE_OK;
}

static ttape_status append_enter(struct batch *b, const ttape_event *event, uint32_t *code)
{
    struct ttp_site_state *state = ttp_site_state_at(b->scope, event->site);
    if (__builtin_expect(state->enter_symbol == 0, 0)) {
        uint32_t symbol;
        TTP_TRY(ttp_scope_symbol(b->w, b->scope, TTP_CLASS_ENTER, event->site, &symbol, b->err));
        state->enter_symbol = symbol + 1;
    }
    uint32_t symbol = state->enter_symbol - 1;
    TTP_TRY(take_depth(b, event->depth, b->stack->count));
    *code = symbol << 1;
    return push_frame(b, TTP_CLASS_ENTER, event->site, symbol);
}

static ttape_status special_code(struct batch *b, uint8_t event_class, uint32_t argument,
                                 uint32_t *code)
{
    uint32_t symbol;
    TTP_TRY(ttp_scope_symbol(b->w, b->scope, event_class, argument, &symbol, b->err));
    *code = symbol << 1;
    return TTAPE_OK;
}

/* F-END-01: what was left right behind a gap ended where events are missing. */
static ttape_status note_ends(struct batch *b, const ttape_event *event)
{
    bool is_unwind = event->kind == TTAPE_EVENT_UNWIND || event->kind == TTAPE_EVENT_EXIT_ACROSS;
    uint64_t kind = is_unwind ? event->lost_count : TTAPE_UNWIND_LEFT;
    if (kind > TTAPE_UNWIND_LATE)
        return ttp_fail(b->err, TTAPE_E_ARGUMENT, "F-END-01", TTAPE_ERROR_NO_OFFSET,
                        "no kind of end: %llu", (unsigned long long)kind);
    if (b->s->behind_gap != 0 && b->s->behind_gap == b->s->next_event) {
        kind = TTAPE_UNWIND_LOST;
        b->s->behind_gap++;
    }
    return kind == TTAPE_UNWIND_LEFT ? TTAPE_OK : add_fact(b, &b->p->ends, (int64_t)kind);
}

/* Pops n frames that were left by unwinding and, for an exit across, the one that exits. */
static ttape_status append_unwind(struct batch *b, const ttape_event *event, uint8_t event_class,
                                  uint32_t n, uint32_t *code)
{
    uint32_t pops = n + (event_class == TTP_CLASS_EXIT_ACROSS);
    if (n == 0 || n == UINT32_MAX || pops > b->stack->count)
        return ttp_fail(b->err, TTAPE_E_ARGUMENT, "F-EVT-03", TTAPE_ERROR_NO_OFFSET,
                        "cannot unwind %u frames, %u are open", n, b->stack->count);
    TTP_TRY(special_code(b, event_class, n, code));
    TTP_TRY(note_ends(b, event));
    while (pops-- > 0) /* an exit across leaves all but the last */
        pop_frame(b, event_class == TTP_CLASS_UNWIND || pops != 0);
    return take_depth(b, event->depth, b->stack->count);
}

/* An exit that does not close the top frame: what it must have been. */
static ttape_status append_odd_exit(struct batch *b, const ttape_event *event, uint32_t *code)
{
    const struct ttp_stack *stack = b->stack;
    uint32_t reach = stack->count < TTP_ACROSS_MAX ? stack->count : TTP_ACROSS_MAX;
    for (uint32_t n = 1; n < reach; n++)
        if (stack->frames[stack->count - 1 - n].site == event->site)
            return append_unwind(b, event, TTP_CLASS_EXIT_ACROSS, n, code);
    TTP_TRY(special_code(b, TTP_CLASS_EXIT_UNSEEN, event->site, code));
    if (stack->count == 0 && b->s->unknown_depth > 0)
        b->s->unknown_depth--;
    return take_depth(b, event->depth, stack->count);
}

static ttape_status append_signal_end(struct batch *b, const ttape_event *event, uint32_t *code)
{
    const struct ttp_stack *stack = b->stack;
    for (uint32_t n = 0; n < stack->count && n < TTP_ACROSS_MAX; n++) {
        const struct ttp_open *f = &stack->frames[stack->count - 1 - n];
        if (f->event_class != TTP_CLASS_SIGNAL || f->argument != event->argument)
            continue;
        if (n > 0)
            return append_unwind(b, event, TTP_CLASS_EXIT_ACROSS, n, code);
        *code = f->symbol << 1 | 1;
        pop_frame(b, false);
        return take_depth(b, event->depth, stack->count);
    }
    return ttp_fail(b->err, TTAPE_E_ARGUMENT, "F-EVT-02", TTAPE_ERROR_NO_OFFSET,
                    "signal %u ends and no handler of it is open", event->argument);
}

static ttape_status append_switch(struct batch *b, const ttape_event *event, uint32_t *code)
{
    uint32_t index;
    TTP_TRY(take_depth(b, event->depth, b->stack->count));
    TTP_TRY(special_code(b, TTP_CLASS_SWITCH, event->argument, code));
    b->s->last_tick = b->tick; /* the frames of the stack that is left count up to here */
    ttp_unload(b->w);
    TTP_TRY(ttp_stream_stack(b->w, b->s, event->argument, &index, b->err));
    uint32_t from = b->s->current;
    b->s->current = index;
    b->s->behind_gap += b->s->behind_gap == b->s->next_event;
    TTP_TRY(ttp_off_switch(b->w, b->scope, b->s, from, b->tick, b->err));
    ttp_load(b->w, b->s);
    b->stack = &b->s->stacks[index];
    return TTAPE_OK;
}

static ttape_status append_gap(struct batch *b, const ttape_event *event, uint32_t *code)
{
    TTP_TRY(special_code(b, TTP_CLASS_GAP, event->argument, code));
    b->p->gap_count++;
    b->p->lost_count += event->lost_count;
    if (event->argument != TTAPE_GAP_REASON_FILTER && event->argument != TTAPE_GAP_REASON_CUT)
        b->s->behind_gap = b->s->next_event + 1;
    if (event->lost_count != 0) {
        TTP_TRY(add_fact(b, &b->p->valued, (int64_t)b->p->values.count));
        struct ttp_value *v = ttp_push(&b->w->allocator, &b->p->values, sizeof *v, b->err);
        if (v == NULL)
            return TTAPE_E_MEMORY;
        *v = (struct ttp_value){.type = TTP_VALUE_GAP_COUNT, .number = event->lost_count};
        b->s->valued = true;
    }
    return take_depth(b, event->depth, b->stack->count);
}

static ttape_status append_push(struct batch *b, const ttape_event *event, uint8_t event_class,
                                uint32_t argument, uint32_t *code)
{
    TTP_TRY(take_depth(b, event->depth, b->stack->count));
    TTP_TRY(special_code(b, event_class, argument, code));
    b->p->opened_count += event_class == TTP_CLASS_OPEN;
    return push_frame(b, event_class, argument, *code >> 1);
}

static ttape_status append_leaf(struct batch *b, const ttape_event *event, uint32_t *code)
{
    struct ttp_site_state *state = ttp_site_state_at(b->scope, event->site);
    if (state->leaf_symbol == 0) {
        uint32_t symbol;
        TTP_TRY(ttp_scope_symbol(b->w, b->scope, TTP_CLASS_LEAF, event->site, &symbol, b->err));
        state->leaf_symbol = symbol + 1;
    }
    *code = (state->leaf_symbol - 1) << 1;
    TTP_TRY(ttp_group_leaf(b->w, b->scope, event->site, b->err));
    return take_depth(b, event->depth, b->stack->count);
}

static ttape_status append_exit(struct batch *b, const ttape_event *event, uint32_t *code)
{
    struct ttp_stack *stack = b->stack;
    if (__builtin_expect(stack->count == 0 || stack->frames[stack->count - 1].site != event->site,
                         0))
        return append_odd_exit(b, event, code);
    *code = stack->frames[stack->count - 1].symbol << 1 | 1;
    pop_frame(b, false);
    return take_depth(b, event->depth, stack->count);
}

static bool kind_has_site(uint32_t kind)
{
    return kind == TTAPE_EVENT_ENTER || kind == TTAPE_EVENT_EXIT || kind == TTAPE_EVENT_LEAF ||
           kind == TTAPE_EVENT_OPEN || kind == TTAPE_EVENT_EXIT_UNSEEN;
}

static ttape_status append_other(struct batch *b, const ttape_event *event, uint32_t *code)
{
    switch (event->kind) {
    case TTAPE_EVENT_LEAF: return append_leaf(b, event, code);
    case TTAPE_EVENT_OPEN: return append_push(b, event, TTP_CLASS_OPEN, event->site, code);
    case TTAPE_EVENT_SIGNAL_BEGIN:
        return append_push(b, event, TTP_CLASS_SIGNAL, event->argument, code);
    case TTAPE_EVENT_SIGNAL_END: return append_signal_end(b, event, code);
    case TTAPE_EVENT_EXIT_UNSEEN:
        TTP_TRY(special_code(b, TTP_CLASS_EXIT_UNSEEN, event->site, code));
        if (b->stack->count == 0 && b->s->unknown_depth > 0)
            b->s->unknown_depth--;
        return take_depth(b, event->depth, b->stack->count);
    case TTAPE_EVENT_UNWIND:
        return append_unwind(b, event, TTP_CLASS_UNWIND, event->argument, code);
    case TTAPE_EVENT_EXIT_ACROSS:
        return append_unwind(b, event, TTP_CLASS_EXIT_ACROSS, event->argument, code);
    case TTAPE_EVENT_SWITCH: return append_switch(b, event, code);
    case TTAPE_EVENT_GAP: return append_gap(b, event, code);
    default:
        return ttp_fail(b->err, TTAPE_E_ARGUMENT, "F-EVT-01", TTAPE_ERROR_NO_OFFSET,
                        "unknown event kind %u", event->kind);
    }
}

/* The first event of a stream may be deep already: those frames are known by their number only. */
static void start_stream(struct batch *b, const ttape_event *event)
{
    b->s->started = true;
    b->s->last_tick = b->tick;
    b->g->base_tick = b->tick;
    b->elapsed = 0;
    if (event->depth == TTAPE_DEPTH_AUTO || event->depth >= TTP_MAX_DEPTH || b->stack->count != 0)
        return;
    bool exits = event->kind == TTAPE_EVENT_EXIT || event->kind == TTAPE_EVENT_EXIT_UNSEEN;
    b->s->unknown_depth = event->depth + exits;
    b->g->start.unknown_depth = b->s->unknown_depth;
}

static ttape_status take_time(struct batch *b, const ttape_event *event, uint32_t *delta)
{
    const ttape_writer *w = b->w;
    if (!w->timed) {
        b->s->started = b->s->started || (start_stream(b, event), true);
        *delta = 0;
        return TTAPE_OK;
    }
    b->tick = ttp_tick_of(event->time_ns, w->options.origin_ns, w->resolution);
    if (b->tick == INT64_MAX) /* the end tick of its partition is one more */
        return ttp_fail(b->err, TTAPE_E_ARGUMENT, "F-PAR-12", TTAPE_ERROR_NO_OFFSET,
                        "time %llu cannot be stored", (unsigned long long)event->time_ns);
    b->elapsed = (int64_t)((uint64_t)b->tick - (uint64_t)b->s->last_tick);
    if (__builtin_expect(!b->s->started, 0))
        start_stream(b, event);
    if (__builtin_expect((uint64_t)b->elapsed < UINT32_MAX, 1)) {
        *delta = (uint32_t)b->elapsed;
    } else {
        *delta = UINT32_MAX;
        TTP_TRY(add_fact(b, &b->p->wide, b->elapsed));
    }
    b->p->first_tick = b->tick < b->p->first_tick ? b->tick : b->p->first_tick;
    b->p->last_tick = b->tick > b->p->last_tick ? b->tick : b->p->last_tick;
    return TTAPE_OK;
}

static ttape_status append_batch(struct batch *b, const struct ttp_events *from, uint32_t count)
{
    uint32_t *codes = b->p->codes + b->p->event_count, *delta = b->p->delta + b->p->event_count;
    if (b->stack->frames != NULL && b->stack->capacity - b->stack->count < TTP_FRAMES_ROOM)
        TTP_TRY(grow_stack(b->w, b->stack, TTP_FRAMES_ROOM, b->err));
    for (uint32_t i = 0; i < count; i++) {
        i += ttp_append_fast(b->w, b->p, b->scope, b->s, b->g, from, i,
                             ttp_off_until(b->s, count - i));
        if (i == count)
            break;
        const ttape_event given =
            from->calls != NULL ? ttp_event_of(&from->calls[i]) : from->events[i];
        const ttape_event *event = &given;
        uint32_t code;
        if (__builtin_expect(kind_has_site(event->kind) && event->site >= b->scope->site_count, 0))
            return ttp_fail(b->err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "unknown site %u",
                            event->site);
        b->s->valued = false;
        TTP_TRY(take_time(b, event, &delta[i]));
        if (b->stack->count != 0) {
            struct ttp_open *top = &b->stack->frames[b->stack->count - 1];
            top->self_ticks = ttp_add_ticks(top->self_ticks, b->elapsed, 0);
        }
        if (__builtin_expect(ttp_off_until(b->s, 1) == 0, 0))
            TTP_TRY(ttp_off_take(b->w, b->scope, b->s, b->elapsed, b->err));
        if (event->kind == TTAPE_EVENT_ENTER)
            TTP_TRY(append_enter(b, event, &code));
        else if (event->kind == TTAPE_EVENT_EXIT)
            TTP_TRY(append_exit(b, event, &code));
        else
            TTP_TRY(append_other(b, event, &code));
        codes[i] = code;
        b->s->last_tick = b->tick;
        b->g->event_count++;
        b->s->next_event++;
        b->p->event_count++;
    }
    return TTAPE_OK;
}

static ttape_status add_to_stretches(ttape_writer *w, struct ttp_pending *p, uint32_t segment,
                                     uint32_t start, ttape_error *err)
{
    if (p->event_count == start)
        return TTAPE_OK;
    struct ttp_stretch *stretch =
        p->stretches.count != 0 ? (struct ttp_stretch *)p->stretches.data + p->stretches.count - 1
                                : NULL;
    if (stretch == NULL || stretch->segment != segment) {
        stretch = ttp_push(&w->allocator, &p->stretches, sizeof *stretch, err);
        if (stretch == NULL)
            return TTAPE_E_MEMORY;
        *stretch = (struct ttp_stretch){segment, start, 0};
    }
    stretch->count += p->event_count - start;
    return TTAPE_OK;
}

/* Each partition repeats the frames that are open at its start: where those of one stream alone are
 * too many, it has at least events in proportion to them. */
static bool pending_full(const ttape_writer *w, const struct ttp_pending *p)
{
    return p->event_count >= w->options.partition_events ||
           p->stretches.count >= TTP_MAX_STRETCHES ||
           (p->start_frames.count >= TTP_MAX_EDGE_FRAMES &&
            p->event_count >= p->start_frames.count / 4) ||
           p->value_bytes.count + p->values.count * 8 >= w->options.partition_bytes;
}

ttape_status ttp_append(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                        const ttape_event *events, size_t count, ttape_error *err)
{
    return ttp_append_from(w, scope, stream, (struct ttp_events){events, NULL}, count, err);
}

ttape_status ttp_append_from(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                             struct ttp_events from, size_t count, ttape_error *err)
{
    if (w->scope != scope) {
        TTP_TRY(ttp_seal(w, err));
        w->scope = scope;
    }
    if (stream >= scope->stream_count)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "unknown stream %u",
                        stream);
    struct ttp_stream_state *s = (struct ttp_stream_state *)scope->stream_states.data + stream;
    if (s->stale)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "stream %u has copied partitions: resume it at an edge first", stream);
    while (count > 0) {
        struct ttp_pending *p = ttp_writer_pending(w);
        if (pending_full(w, p)) {
            TTP_TRY(ttp_seal(w, err));
            continue;
        }
        p->scope = scope;
        if (s->epoch != w->epoch)
            TTP_TRY(open_segment(w, p, s, stream, err));
        ttp_load(w, s);
        if (p->event_count == p->event_room)
            TTP_TRY(ttp_pending_grow(w, p, err));
        uint32_t room = p->event_room - p->event_count, start = p->event_count;
        uint32_t n = count < room ? (uint32_t)count : room;
        struct ttp_segment *g = (struct ttp_segment *)p->segments.data + s->segment;
        struct batch b = {w, p, scope, s, g, &s->stacks[s->current], 0, 0, err};
        ttape_status status = append_batch(&b, &from, n);
        TTP_TRY(add_to_stretches(w, p, s->segment, start, err));
        TTP_TRY(status);
        if (from.calls != NULL)
            from.calls += n;
        else
            from.events += n;
        count -= n;
    }
    return TTAPE_OK;
}

static ttape_status resume_frame(ttape_writer *w, struct ttp_scope *scope,
                                 struct ttp_stream_state *s, const ttape_open_frame *frame,
                                 ttape_error *err)
{
    uint8_t event_class = frame->kind == TTAPE_EVENT_ENTER          ? TTP_CLASS_ENTER
                          : frame->kind == TTAPE_EVENT_OPEN         ? TTP_CLASS_OPEN
                          : frame->kind == TTAPE_EVENT_SIGNAL_BEGIN ? TTP_CLASS_SIGNAL
                                                                    : TTP_CLASS_COUNT;
    uint32_t argument = event_class == TTP_CLASS_SIGNAL ? frame->argument : frame->site;
    if (event_class == TTP_CLASS_COUNT ||
        (event_class != TTP_CLASS_SIGNAL && argument >= scope->site_count))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-SEG-06", TTAPE_ERROR_NO_OFFSET,
                        "bad open frame at an edge");
    uint32_t index, symbol;
    TTP_TRY(ttp_stream_stack(w, s, frame->stack, &index, err));
    TTP_TRY(ttp_scope_symbol(w, scope, event_class, argument, &symbol, err));
    if (event_class != TTP_CLASS_SIGNAL)
        TTP_TRY(ttp_group_site(w, ttp_site_state_at(scope, argument), err));
    struct ttp_stack *stack = &s->stacks[index];
    if (stack->count == stack->capacity)
        TTP_TRY(grow_stack(w, stack, 1, err));
    int64_t tick =
        w->timed ? ttp_tick_of(frame->enter_time_ns, w->options.origin_ns, w->resolution) : 0;
    int64_t self = w->timed ? frame->self_ns / (int64_t)w->resolution : 0;
    uint32_t site = event_class == TTP_CLASS_SIGNAL ? TTAPE_NONE : argument;
    stack->frames[stack->count++] =
        (struct ttp_open){tick, self, self, symbol, site, argument, event_class, 0, 0};
    return TTAPE_OK;
}

ttape_status ttp_resume(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                        const ttape_edge *edge, ttape_error *err)
{
    if (stream >= scope->stream_count || edge->unknown_depth > TTP_MAX_DEPTH ||
        edge->depth_offset < -(int64_t)TTP_MAX_DEPTH)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "unknown stream %u or bad edge", stream);
    TTP_TRY(ttp_check_reserved(edge->reserved, 2, "edge", err));
    struct ttp_stream_state *s = (struct ttp_stream_state *)scope->stream_states.data + stream;
    if (s->epoch == w->epoch)
        TTP_TRY(ttp_seal(w, err));
    if (w->loaded == s)
        ttp_unload(w);
    for (uint32_t i = 0; i < s->stack_count; i++)
        s->stacks[i].count = 0;
    for (uint32_t i = 0; i < edge->frame_count; i++)
        TTP_TRY(resume_frame(w, scope, s, &edge->frames[i], err));
    uint32_t index;
    TTP_TRY(ttp_stream_stack(w, s, edge->stack, &index, err));
    s->current = index;
    s->next_event = edge->event_number;
    s->last_tick = w->timed ? ttp_tick_of(edge->time_ns, w->options.origin_ns, w->resolution) : 0;
    s->unknown_depth = edge->unknown_depth;
    s->depth_offset = edge->depth_offset;
    ttp_forget_switches(s);
    s->started = true;
    s->stale = false;
    return TTAPE_OK;
}
