/* The loop works off a block of times at a time, so that nothing is decoded that is not looked at.
 * Events on other stacks only pass time. */
#include "answers/tree/tree_edges.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/partition/partition_decoder.h"
#include "reader/partition/times_reader.h"

#define LONG_STEP_EVENTS 16384u /* worth remembering */
#define STEPS_KEPT       8u

static ttape_status reach(struct ttape_tree *tree, uint32_t partition, uint32_t first, uint32_t end,
                          bool timed, const struct ttp_loaded **out, ttape_error *err)
{
    struct ttp_loaded *p;
    const struct ttp_range range = {timed ? first : 0, timed ? end : 0, end, false};
    ttape_status status = ttp_loaded_reach(tree->lease.decoder, partition, &range, &p, err);
    *out = p;
    return status;
}

static uint64_t time_at(const struct ttp_loaded *p, int64_t tick)
{
    return ttp_time_of(tick, p->head.origin_ns, p->head.resolution_ns);
}

/* The time of the event before `event`, or the segment's base. */
static ttape_status time_before(struct ttape_tree *tree, struct ttp_scan *scan, ttape_error *err)
{
    const struct ttp_loaded *p;
    TTP_TRY(reach(tree, scan->partition, 0, 0, false, &p, err));
    scan->timed = p->head.resolution_ns != 0;
    if (!scan->timed)
        return TTAPE_OK;
    uint32_t start = p->segment_start[scan->segment];
    if (scan->event == start) {
        scan->time_ns = time_at(p, p->segments.segments[scan->segment].base_tick);
        return TTAPE_OK;
    }
    uint32_t event = scan->event - 1, known = tree->time_at.event;
    bool is_near = tree->time_at.partition == scan->partition + 1 &&
                   tree->time_at.segment == scan->segment && known <= event &&
                   event - known < TTP_CHECKPOINT_EVENTS;
    TTP_TRY(reach(tree, scan->partition, is_near ? known : event, event + 1, true, &p, err));
    tree->time_at.tick = is_near ? ttp_times_tick_after(p, known, tree->time_at.tick, event)
                                 : ttp_times_tick_at(p, scan->segment, event);
    tree->time_at.partition = scan->partition + 1;
    tree->time_at.segment = scan->segment;
    tree->time_at.event = event;
    scan->time_ns = time_at(p, tree->time_at.tick);
    return TTAPE_OK;
}

ttape_status ttp_scan_open(struct ttp_scan *scan, struct ttape_tree *tree, ttape_error *err)
{
    const struct ttp_loaded *p;
    TTP_TRY(ttp_scan_stack(tree, scan->partition, scan->segment, scan->event, &scan->current, err));
    TTP_TRY(time_before(tree, scan, err));
    TTP_TRY(reach(tree, scan->partition, 0, 0, false, &p, err));
    scan->end = p->segment_start[scan->segment + 1];
    scan->node.enter_ns = scan->node.end_ns = scan->time_ns;
    if (scan->depth != 0)
        scan->child = (struct ttp_scan_frame){.enter_ns = scan->time_ns, .is_tail = true};
    return TTAPE_OK;
}

/* ---- what was done before ---- */

/* A frame is scanned for what it is, and again for its children. A step depends on nothing but the
 * scan's state. */
struct step {
    struct ttp_scan before, after;
    ttape_status status;
};

struct ttp_scan_memo {
    struct step steps[STEPS_KEPT];
    uint32_t step_count;  /* ever; the latest are kept */
    uint64_t step_events; /* a bit for each event, modulo 64, that a step began with */
};

static struct ttp_scan_memo *memo_of(struct ttape_tree *tree)
{
    if (tree->memo == NULL) {
        tree->memo = ttp_memory_take(&tree->memory, 1, sizeof *tree->memo, NULL);
        if (tree->memo != NULL)
            memset(tree->memo, 0, sizeof *tree->memo);
    }
    return tree->memo;
}

static bool recall_step(const struct ttape_tree *tree, struct ttp_scan *s, ttape_status *status)
{
    const struct ttp_scan_memo *m = tree->memo;
    if (m == NULL || (m->step_events >> (s->event & 63) & 1) == 0)
        return false;
    for (uint32_t i = 0; i < m->step_count && i < STEPS_KEPT; i++) {
        const struct step *step = &m->steps[i];
        if (step->before.event != s->event || memcmp(&step->before, s, sizeof *s) != 0)
            continue;
        *s = step->after;
        *status = step->status;
        return true;
    }
    return false;
}

static void remember_step(struct ttape_tree *tree, const struct ttp_scan *before,
                          const struct ttp_scan *after, ttape_status status)
{
    struct ttp_scan_memo *m = memo_of(tree);
    if (m == NULL)
        return;
    m->steps[m->step_count++ % STEPS_KEPT] = (struct step){*before, *after, status};
    m->step_events |= 1ull << (before->event & 63);
}

/* ---- the loop ---- */

static void pass_time(struct ttp_scan *s, uint64_t step)
{
    s->time_ns += step;
    if (s->depth > 1)
        return;
    struct ttp_scan_frame *top = s->depth == 0 ? &s->node : &s->child;
    int64_t *to = s->current == s->stack ? &top->self_ns : &top->away_ns;
    *to = (int64_t)((uint64_t)*to + step);
}

static void enter_frame(struct ttp_scan *s, uint32_t symbol, bool is_call)
{
    s->node.call_count += is_call;
    if (s->depth++ == 0)
        s->child = (struct ttp_scan_frame){
            .event = s->event, .symbol = symbol, .enter_ns = s->time_ns, .event_count = 1};
    else
        s->child.call_count += is_call;
}

/* `frames` end at this event, which leaves all of them so, or all but the outermost (an exit
 * across); true where the child is one of them. */
static bool leave_frames(struct ttp_scan *s, uint32_t frames, uint8_t kind, bool is_across)
{
    bool had_child = s->depth != 0;
    if (frames > s->depth && !s->root) {
        s->node.ended = true;
        s->node.end_kind = is_across && frames == s->depth + 1 ? TTAPE_UNWIND_LEFT : kind;
        s->over = true;
    }
    s->child.end_kind = is_across && frames == s->depth ? TTAPE_UNWIND_LEFT : kind;
    s->depth = frames > s->depth ? 0 : s->depth - frames;
    if (!had_child || s->depth != 0)
        return false;
    s->child.ended = true;
    s->child.end_ns = s->time_ns;
    return true;
}

/* Events while a grandchild is open: most of them, and little is asked about them. */
struct deep {
    uint32_t event, depth;
    uint64_t ticks, calls;
};

/* Up to `end`, or an event that more is to be done about. delta: NULL where times do not matter. */
static struct deep go_deep(const struct ttp_scan *s, const struct ttp_loaded *p,
                           const uint32_t *delta, uint32_t end)
{
    struct deep d = {.event = s->event, .depth = s->depth};
    for (; d.event < end; d.event++) {
        const struct ttp_code_view *v = &p->views[p->codes[d.event]];
        uint32_t frames = (uint32_t)-v->before, enters = v->before == 0 && v->after != 0;
        if (frames > d.depth - 2 || v->event_class == TTP_CLASS_SWITCH ||
            (delta != NULL && delta[d.event] == TTP_DELTA_WIDE))
            break;
        d.ticks += delta != NULL ? delta[d.event] : 0;
        d.depth += enters - frames; /* without a branch: no processor could tell which it is */
        d.calls += enters & (v->event_class == TTP_CLASS_ENTER);
    }
    return d;
}

static void add_deep(struct ttp_scan *s, const struct deep *d)
{
    s->node.event_count += d->event - s->event;
    s->child.event_count += d->event - s->event;
    s->node.call_count += d->calls;
    s->child.call_count += d->calls;
    s->event = d->event;
    s->depth = d->depth;
}

/* True where a child ended with it. */
static bool take_event(struct ttp_scan *s, const struct ttp_loaded *p, uint32_t code,
                       const struct ttp_code_view *v)
{
    bool is_here = s->current == s->stack;
    if (v->event_class == TTP_CLASS_SWITCH)
        s->current = v->argument;
    if (!is_here)
        return false;
    s->node.event_count++;
    s->child.event_count++;
    if (v->before != 0) {
        bool unwinds = p->end_count != 0 && ttp_code_unwinds(v, -2);
        uint32_t kind = unwinds ? ttp_loaded_unwind_kind(p, s->event) : TTAPE_UNWIND_LEFT;
        return leave_frames(s, (uint32_t)-v->before, (uint8_t)kind,
                            v->event_class == TTP_CLASS_EXIT_ACROSS);
    }
    if (v->after != 0)
        enter_frame(s, code >> 1, v->event_class == TTP_CLASS_ENTER);
    return false;
}

/* Events up to `end`, until a child ends or the node does; true where a child did. */
static bool scan_block(struct ttp_scan *s, const struct ttp_loaded *p, uint32_t end)
{
    const uint32_t *delta = s->timed ? p->delta : NULL;
    uint64_t step = p->head.resolution_ns;
    uint32_t wide = delta != NULL ? ttp_loaded_wide_from(p, s->event) : 0;
    bool ended = false;
    while (s->event < end && !ended && !s->over) {
        if (s->depth > 1 && s->current == s->stack) {
            struct deep d = go_deep(s, p, delta, end);
            s->time_ns += d.ticks * step;
            add_deep(s, &d);
            if (s->event == end)
                break;
        }
        uint32_t code = p->codes[s->event];
        if (delta != NULL) {
            uint64_t d = delta[s->event];
            d = d != TTP_DELTA_WIDE ? d : (uint64_t)p->wide[wide++];
            pass_time(s, d * step);
        }
        ended = take_event(s, p, code, &p->views[code]);
        s->event++;
    }
    s->node.end_ns = s->time_ns;
    return ended;
}

/* Where a grandchild is open until the block ends, no time in between is needed, and the
 * directory has the one there. False: it is not so, and nothing was done. */
static bool pass_block(struct ttp_scan *s, const struct ttp_loaded *p, uint32_t end)
{
    struct deep d = go_deep(s, p, NULL, end);
    if (d.event < end)
        return false;
    add_deep(s, &d);
    s->time_ns = s->node.end_ns = time_at(p, p->block_ticks[end / TTP_TIME_BLOCK_EVENTS]);
    return true;
}

static ttape_status go_on(struct ttp_scan *s, struct ttape_tree *tree, ttape_error *err)
{
    const struct ttp_loaded *p;
    while (!s->over && s->event < s->end) {
        uint32_t block =
            s->timed ? (s->event / TTP_TIME_BLOCK_EVENTS + 1) * TTP_TIME_BLOCK_EVENTS : s->end;
        uint32_t end = block < s->end ? block : s->end;
        if (s->timed && s->depth > 1 && s->current == s->stack && block < s->end) {
            TTP_TRY(reach(tree, s->partition, 0, end, false, &p, err));
            if (pass_block(s, p, end))
                continue;
        }
        TTP_TRY(reach(tree, s->partition, s->event, end, s->timed, &p, err));
        if (scan_block(s, p, end))
            return TTAPE_OK;
    }
    s->over = true;
    if (s->depth == 0)
        return TTAPE_END;
    s->depth = 0; /* a child that the segment leaves open: handed out once */
    s->child.ended = false;
    s->child.end_ns = s->time_ns;
    return TTAPE_OK;
}

ttape_status ttp_scan_next(struct ttp_scan *s, struct ttape_tree *tree, ttape_error *err)
{
    const struct ttp_scan before = *s;
    ttape_status status;
    if (recall_step(tree, s, &status))
        return status;
    status = go_on(s, tree, err);
    tree->work += s->event - before.event;
    if ((status == TTAPE_OK || status == TTAPE_END) && s->event - before.event >= LONG_STEP_EVENTS)
        remember_step(tree, &before, s, status);
    return status;
}

ttape_status ttp_scan_rest(struct ttp_scan *s, struct ttape_tree *tree, ttape_error *err)
{
    ttape_status status;
    while ((status = ttp_scan_next(s, tree, err)) == TTAPE_OK)
        continue;
    return status == TTAPE_END ? TTAPE_OK : status;
}

ttape_status ttp_scan_one(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                          uint32_t event, struct ttp_scan_frame *out, uint32_t *stack,
                          ttape_error *err)
{
    struct ttp_scan scan = {.partition = partition, .segment = segment, .event = event + 1};
    const struct ttp_loaded *p;
    TTP_TRY(ttp_scan_stack(tree, partition, segment, event, stack, err));
    scan.stack = *stack;
    TTP_TRY(ttp_scan_open(&scan, tree, err));
    TTP_TRY(ttp_scan_rest(&scan, tree, err));
    TTP_TRY(reach(tree, partition, 0, 0, false, &p, err));
    *out = scan.node;
    out->event = event;
    out->symbol = p->codes[event] >> 1;
    out->event_count++;
    return TTAPE_OK;
}

/* ---- stacks and enters ---- */

static bool has_one_stack(const struct ttp_loaded *p) { return p->stack_numbers.count == 1; }

static uint32_t stack_before(const struct ttp_loaded *p, uint32_t segment, uint32_t event)
{
    for (uint32_t i = event; i-- > p->segment_start[segment];)
        if (p->views[p->codes[i]].event_class == TTP_CLASS_SWITCH)
            return p->views[p->codes[i]].argument;
    return p->segments.segments[segment].start.stack;
}

ttape_status ttp_scan_stack(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                            uint32_t event, uint32_t *stack, ttape_error *err)
{
    const struct ttp_loaded *p;
    TTP_TRY(reach(tree, partition, 0, event, false, &p, err));
    *stack = has_one_stack(p) ? 0 : stack_before(p, segment, event);
    return TTAPE_OK;
}

static void consider(uint32_t number, uint32_t from, uint32_t *best)
{
    if (number >= from && number < *best)
        *best = number;
}

ttape_status ttp_scan_next_stack(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                                 uint32_t from, uint32_t *out, ttape_error *err)
{
    const struct ttp_loaded *p;
    *out = TTAPE_NONE;
    if (from == TTAPE_NONE)
        return TTAPE_OK;
    TTP_TRY(reach(tree, partition, 0, 0, false, &p, err));
    const struct ttp_segment *g = &p->segments.segments[segment];
    consider(g->start.stack, from, out);
    for (uint32_t i = 0; i < g->start.frame_count; i++)
        consider(p->segments.start_frames[g->start.frame_start + i].stack, from, out);
    for (uint32_t i = p->segment_start[segment];
         !has_one_stack(p) && i < p->segment_start[segment + 1]; i++)
        if (p->views[p->codes[i]].event_class == TTP_CLASS_SWITCH)
            consider(p->views[p->codes[i]].argument, from, out);
    if (!has_one_stack(p))
        tree->work += g->event_count;
    return TTAPE_OK;
}

/* ---- all stacks at once ---- */

/* Of one segment, by slot of its partition's stacks. */
struct ttp_stack_memo {
    uint32_t partition, segment, count;
    struct ttp_scan_frame sum;
    struct stack_state {
        uint32_t height;
        bool is_own;    /* the outermost frame was entered in the segment */
        bool has_child; /* such a frame ended */
    } states[];
};

static size_t memo_bytes(uint32_t count)
{
    return sizeof(struct ttp_stack_memo) + count * sizeof(struct stack_state);
}

static void drop_stacks(struct ttape_tree *tree)
{
    if (tree->stack_memo != NULL)
        ttp_memory_give(&tree->memory, tree->stack_memo, memo_bytes(tree->stack_memo->count), 1);
    tree->stack_memo = NULL;
}

static void pass_frames(struct ttp_stack_memo *m, struct stack_state *state,
                        const struct ttp_code_view *v)
{
    uint32_t frames = (uint32_t)-v->before;
    if (v->before != 0) {
        state->height = frames > state->height ? 0 : state->height - frames;
        state->has_child = state->has_child || (state->is_own && state->height == 0);
        state->is_own = state->is_own && state->height != 0;
    } else if (v->after != 0) {
        state->is_own = state->is_own || state->height == 0;
        state->height++;
        m->sum.call_count += v->event_class == TTP_CLASS_ENTER;
    }
}

static void pass_stacks(const struct ttp_loaded *p, uint32_t segment, struct ttp_stack_memo *m)
{
    const struct ttp_segment *g = &p->segments.segments[segment];
    const struct ttp_stack_numbers *n = &p->stack_numbers;
    struct stack_state *state = &m->states[ttp_stack_slot(n, g->start.stack)];
    uint32_t first = p->segment_start[segment];
    uint32_t wide = p->delta != NULL ? ttp_loaded_wide_from(p, first) : 0;
    for (uint32_t i = 0; i < g->start.frame_count; i++)
        m->states[ttp_stack_slot(n, p->segments.start_frames[g->start.frame_start + i].stack)]
            .height++;
    for (uint32_t event = first; event < p->segment_start[segment + 1]; event++) {
        const struct ttp_code_view *v = &p->views[p->codes[event]];
        uint64_t d = p->delta != NULL ? p->delta[event] : 0;
        if (p->delta != NULL && d == TTP_DELTA_WIDE)
            d = (uint64_t)p->wide[wide++];
        if (state->height == 0)
            m->sum.self_ns = (int64_t)((uint64_t)m->sum.self_ns + d * p->head.resolution_ns);
        m->sum.event_count++;
        if (v->event_class == TTP_CLASS_SWITCH)
            state = &m->states[ttp_stack_slot(n, v->argument)];
        else
            pass_frames(m, state, v);
    }
}

/* *out is NULL where the partition has one stack. */
static ttape_status find_stacks(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                                struct ttp_stack_memo **out, ttape_error *err)
{
    const struct ttp_loaded *p;
    *out = tree->stack_memo;
    if (*out != NULL && (*out)->partition == partition && (*out)->segment == segment)
        return TTAPE_OK;
    *out = NULL;
    TTP_TRY(reach(tree, partition, 0, 0, false, &p, err));
    if (has_one_stack(p))
        return TTAPE_OK;
    TTP_TRY(reach(tree, partition, p->segment_start[segment], p->segment_start[segment + 1],
                  p->head.resolution_ns != 0, &p, err));
    drop_stacks(tree);
    uint32_t count = p->stack_numbers.count;
    struct ttp_stack_memo *m = ttp_memory_take(&tree->memory, memo_bytes(count), 1, err);
    if (m == NULL)
        return tree->memory.status;
    memset(m, 0, memo_bytes(count));
    m->partition = partition;
    m->segment = segment;
    m->count = count;
    pass_stacks(p, segment, m);
    tree->work += m->sum.event_count;
    *out = tree->stack_memo = m;
    return TTAPE_OK;
}

void ttp_scan_forget(struct ttape_tree *tree)
{
    ttp_memory_give(&tree->memory, tree->memo, 1, sizeof *tree->memo);
    tree->memo = NULL;
    drop_stacks(tree);
    ttp_openings_forget(tree);
    ttp_tree_edges_forget(tree);
}

ttape_status ttp_scan_stacks(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                             bool *is_done, struct ttp_scan_frame *out, ttape_error *err)
{
    struct ttp_stack_memo *m;
    TTP_TRY(find_stacks(tree, partition, segment, &m, err));
    *is_done = m != NULL;
    if (m != NULL)
        *out = m->sum;
    return TTAPE_OK;
}

ttape_status ttp_scan_next_parent(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                                  uint32_t from, uint32_t *out, ttape_error *err)
{
    struct ttp_stack_memo *m;
    const struct ttp_loaded *p;
    *out = TTAPE_NONE;
    if (from == TTAPE_NONE)
        return TTAPE_OK;
    TTP_TRY(find_stacks(tree, partition, segment, &m, err));
    if (m == NULL)
        return ttp_scan_next_stack(tree, partition, segment, from, out, err);
    TTP_TRY(reach(tree, partition, 0, 0, false, &p, err));
    uint32_t slot = ttp_count_below(p->stack_numbers.numbers, 1, m->count, from);
    while (slot < m->count && !m->states[slot].has_child)
        slot++;
    *out = slot < m->count ? p->stack_numbers.numbers[slot] : TTAPE_NONE;
    return TTAPE_OK;
}

uint32_t ttp_scan_back(struct ttp_scan_back *b, const struct ttp_loaded *p)
{
    uint32_t start = p->segment_start[b->segment];
    while (b->event > start) {
        uint32_t event = --b->event;
        const struct ttp_code_view *v = &p->views[p->codes[event]];
        if (v->event_class == TTP_CLASS_SWITCH)
            b->current = stack_before(p, b->segment, event);
        if (v->event_class == TTP_CLASS_SWITCH || b->current != b->stack)
            continue;
        if (v->before != 0)
            b->closed += (uint32_t)-v->before;
        else if (v->after != 0 && b->closed > 0)
            b->closed--;
        else if (v->after != 0)
            return event;
    }
    return TTAPE_NONE;
}
