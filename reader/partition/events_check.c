/* A pass over freshly decoded codes, as far as they are wanted: it verifies what they do to the
 * stacks, so that no later step needs a stack to make events of them, and notes what that takes:
 *
 *   checkpoints  the walker's state every 1,024 events
 *   specials     the frame that an exit across ends; how high the stack is that a switch goes to */
#include <string.h>

#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/times/times.h"
#include "reader/definitions/placeholders.h"
#include "reader/partition/frame_stacks.h"
#include "reader/partition/partition_decoder.h"

/* ---- views ---- */

static void set_view(struct ttp_code_view *views, uint32_t symbol, bool has_ends,
                     struct ttp_symbol s, uint32_t site)
{
    struct ttp_code_view *open = &views[2ull * symbol], *close = &views[2ull * symbol + 1];
    *open = (struct ttp_code_view){.site = site, .event_class = s.event_class};
    *close = (struct ttp_code_view){
        .site = site, .before = -1, .kind = TTAPE_EVENT_EXIT, .event_class = s.event_class};
    switch (s.event_class) {
    case TTP_CLASS_ENTER:
        open->kind = TTAPE_EVENT_ENTER;
        open->after = 1;
        break;
    case TTP_CLASS_LEAF: open->kind = TTAPE_EVENT_LEAF; break;
    case TTP_CLASS_OPEN:
        open->kind = TTAPE_EVENT_OPEN;
        open->after = 1;
        break;
    case TTP_CLASS_SIGNAL:
        open->kind = TTAPE_EVENT_SIGNAL_BEGIN;
        open->after = 1;
        close->kind = TTAPE_EVENT_SIGNAL_END;
        open->argument = close->argument = s.argument;
        break;
    case TTP_CLASS_EXIT_UNSEEN:
        open->kind = TTAPE_EVENT_EXIT_UNSEEN;
        open->special = 1;
        break;
    case TTP_CLASS_UNWIND: /* the check sees to it that no more are left than there are */
        open->kind = TTAPE_EVENT_UNWIND;
        open->argument = s.argument;
        open->before = (int32_t)(0 - s.argument);
        open->special = has_ends;
        break;
    case TTP_CLASS_EXIT_ACROSS:
        open->kind = TTAPE_EVENT_EXIT_ACROSS;
        open->argument = s.argument;
        open->before = (int32_t)(0 - s.argument - 1);
        open->special = 1;
        break;
    case TTP_CLASS_SWITCH:
        open->kind = TTAPE_EVENT_SWITCH;
        open->argument = s.argument;
        open->special = 1;
        break;
    default:
        open->kind = TTAPE_EVENT_GAP;
        open->argument = s.argument;
        open->special = 1;
    }
}

static bool names_site(uint8_t event_class)
{
    return event_class == TTP_CLASS_ENTER || event_class == TTP_CLASS_LEAF ||
           event_class == TTP_CLASS_OPEN || event_class == TTP_CLASS_EXIT_UNSEEN;
}

/* File-wide. While a damaged file is recovered, one that is lost is made up. */
static uint32_t find_site(struct ttp_trace_decoder *d, uint32_t scope, uint32_t site)
{
    return d->mended != NULL
               ? ttp_placeholders_find(d->mended, scope, TTP_DEFINES_SITES, site)
               : ttp_definitions_find(&d->reader->definitions, scope, TTP_DEFINES_SITES, site);
}

ttape_status ttp_loaded_make_views(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err)
{
    p->views = ttp_memory_take(&d->memory, 2ull * p->symbol_count, sizeof *p->views, err);
    if (p->views == NULL)
        return d->memory.status;
    bool has_ends = ttp_loaded_has_ends(p);
    p->has_others = p->has_leaves = p->has_arguments = false;
    for (uint32_t i = 0; i < p->symbol_count; i++) {
        struct ttp_symbol s = p->symbols[i];
        uint32_t site = TTAPE_NONE;
        if (names_site(s.event_class)) {
            site = find_site(d, p->scope, s.argument);
            if (site == TTAPE_NONE)
                return ttp_fail(err, TTAPE_E_CORRUPT, "F-EVT-08", p->payload_offset,
                                "partition names site '%u', which is not defined", s.argument);
        }
        set_view(p->views, i, has_ends, s, site);
        p->has_leaves |= s.event_class == TTP_CLASS_LEAF;
        p->has_others |= s.event_class != TTP_CLASS_LEAF && !ttp_class_pushes(s.event_class);
        p->has_arguments |= p->views[2ull * i].argument != 0;
    }
    return TTAPE_OK;
}

/* ---- the pass ---- */

struct check {
    struct ttp_trace_decoder *decoder;
    struct ttp_loaded *p;
    struct ttp_frame_stacks *stacks;
    ttape_error *err;
};

static ttape_status broken(const struct check *c, const char *rule, uint32_t event,
                           const char *what)
{
    return ttp_fail(c->err, TTAPE_E_CORRUPT, rule, c->p->payload_offset,
                    "%s at event '%u' of a partition", what, event);
}

static ttape_status note_special(struct check *c, uint32_t event, uint32_t value)
{
    struct ttp_loaded *p = c->p;
    TTP_TRY(ttp_memory_reserve(&c->decoder->memory, &p->specials, &p->special_capacity,
                               p->special_count + 1ull, sizeof *p->specials, c->err));
    p->specials[p->special_count++] = (struct ttp_special){event, value};
    return TTAPE_OK;
}

static ttape_status unwind(struct check *c, uint32_t frames, uint32_t event, const char *rule)
{
    if (frames == 0 || frames > c->stacks->current->height)
        return broken(c, rule, event, "unwinding of no frames, or of more than are open");
    while (frames-- > 0)
        ttp_stacks_pop(c->stacks);
    return TTAPE_OK;
}

static void count_gap(struct check *c, uint32_t event)
{
    struct ttp_loaded *p = c->p;
    uint32_t first = 0, count = 0;
    p->gap_count++;
    ttp_loaded_values(p, event, &first, &count);
    for (uint32_t i = 0; i < count; i++)
        if (p->values.values[first + i].type == TTP_VALUE_GAP_COUNT)
            p->lost_count += p->values.values[first + i].number;
}

/* Events that are neither a push nor a pop nor a leaf. */
static ttape_status check_other(struct check *c, const struct ttp_code_view *v, uint32_t event,
                                struct ttp_walker *w)
{
    struct ttp_frame_stacks *s = c->stacks;
    switch (v->event_class) {
    case TTP_CLASS_UNWIND: return unwind(c, v->argument, event, "O-CHK-04");
    case TTP_CLASS_EXIT_ACROSS:
        if (v->argument == UINT32_MAX)
            return broken(c, "O-CHK-05", event, "unwinding of more frames than are open");
        TTP_TRY(unwind(c, v->argument, event, "O-CHK-05"));
        if (s->current->height == 0)
            return broken(c, "O-CHK-05", event, "unwinding of more frames than are open");
        TTP_TRY(note_special(c, event, s->frames[s->current->top].symbol));
        w->special++;
        ttp_stacks_pop(s);
        return TTAPE_OK;
    case TTP_CLASS_SWITCH:
        ttp_stacks_switch(s, v->argument);
        TTP_TRY(note_special(c, event, s->current->height));
        w->special++;
        return TTAPE_OK;
    case TTP_CLASS_EXIT_UNSEEN:
        w->unknown -= s->current->height == 0 && w->unknown > 0;
        return TTAPE_OK;
    case TTP_CLASS_GAP: count_gap(c, event); return TTAPE_OK;
    default: return TTAPE_OK;
    }
}

static inline ttape_status check_event(struct check *c, uint32_t event, struct ttp_walker *w)
{
    const struct ttp_loaded *p = c->p;
    struct ttp_frame_stacks *s = c->stacks;
    uint32_t code = p->codes[event], symbol = code >> 1;
    if (symbol >= p->symbol_count)
        return broken(c, "O-CHK-02", event, "undefined symbol");
    if (code & 1) {
        if (s->current->top == TTP_NO_FRAME || s->frames[s->current->top].symbol != symbol)
            return broken(c, "O-CHK-03", event, "end of a frame that is not on top of its stack");
        ttp_stacks_pop(s);
        return TTAPE_OK;
    }
    const struct ttp_code_view *v = &p->views[code];
    if (v->after != 0)
        return ttp_stacks_push(s, symbol, c->err);
    return v->event_class == TTP_CLASS_LEAF ? TTAPE_OK : check_other(c, v, event, w);
}

/* Enters, exits and leaves up to `end`, with what changes in registers: most events wait for what
 * the one before made of the stack, and through memory that takes longer. Stops before all else,
 * and before what is wrong or finds no free frame; returns where. */
static uint32_t check_plain(struct check *c, uint32_t event, uint32_t end)
{
    struct ttp_frame_stacks *s = c->stacks;
    struct ttp_stack_frame *frames = s->frames;
    const struct ttp_code_view *views = c->p->views;
    const uint32_t *codes = c->p->codes, symbol_count = c->p->symbol_count;
    uint32_t top = s->current->top, height = s->current->height, free_frame = s->free_frame;
    for (; event < end; event++) {
        uint32_t code = codes[event], symbol = code >> 1, frame;
        if (symbol >= symbol_count)
            break;
        if (code & 1) {
            if (top == TTP_NO_FRAME || frames[top].symbol != symbol)
                break;
            frame = top;
            top = frames[frame].below;
            frames[frame].below = free_frame;
            free_frame = frame;
            height--;
        } else if (views[code].after != 0) {
            if (free_frame == TTP_NO_FRAME)
                break;
            frame = free_frame;
            free_frame = frames[frame].below;
            frames[frame].symbol = symbol;
            frames[frame].below = top;
            top = frame;
            height++;
        } else if (views[code].event_class != TTP_CLASS_LEAF) {
            break;
        }
    }
    s->current->top = top;
    s->current->height = height;
    s->free_frame = free_frame;
    return event;
}

static ttape_status start_segment(struct check *c, uint32_t segment, struct ttp_walker *w)
{
    const struct ttp_loaded *p = c->p;
    const struct ttp_segment *g = &p->segments.segments[segment];
    ttp_stacks_start(c->stacks);
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        uint32_t frame = g->start.frame_start + i;
        uint32_t stack = p->segments.start_frames[frame].stack;
        if (i != 0 && stack < p->segments.start_frames[frame - 1].stack)
            return broken(c, "F-SEG-01", w->event, "open frames are not ordered by stack");
        ttp_stacks_switch(c->stacks, stack);
        TTP_TRY(ttp_stacks_push(c->stacks, p->open[frame], c->err));
    }
    ttp_stacks_switch(c->stacks, g->start.stack);
    w->segment = segment;
    w->tick = g->base_tick;
    w->unknown = g->start.unknown_depth;
    w->offset = g->start.depth_offset;
    w->frames = c->stacks->current->height;
    return TTAPE_OK;
}

/* Depth is least before or after the event, whichever counts; checking both is stricter by nothing,
 * because offsets change only before an event. */
static ttape_status check_depth(const struct check *c, const struct ttp_walker *w, uint32_t event)
{
    int64_t depth = (int64_t)w->offset + w->unknown + c->stacks->current->height;
    if (depth < 0 || depth > TTP_MAX_DEPTH)
        return broken(c, "F-EVT-05", event, "depth out of range");
    return TTAPE_OK;
}

/* F-EVT-05: which events take their depth from the state before them. The state between events may
 * well be out of range, on a stack that only a switch goes to. */
static bool depth_is_before(const struct ttp_loaded *p, uint32_t event)
{
    uint32_t code = p->codes[event];
    uint8_t event_class = p->symbols[code >> 1].event_class;
    return (code & 1) == 0 && (ttp_class_pushes(event_class) || event_class == TTP_CLASS_LEAF ||
                               event_class == TTP_CLASS_GAP || event_class == TTP_CLASS_SWITCH);
}

/* Codes that chains were decoded to end no frame but the one on top: the decoder has the stack, and
 * chains are whole subtrees. What is left to see are codes without a symbol (the end of a frame
 * where there is none is one of them), and how high the stack is at checkpoints. */
static bool has_height_only(const struct ttp_loaded *p)
{
    return !p->has_others && ttp_partition_section(&p->head, TTP_SECTION_CHAIN_HEADER) != NULL;
}

/* Adds what events change the height by; returns the first without a symbol, or `end`. */
static uint32_t add_heights(const struct ttp_loaded *p, uint32_t event, uint32_t end,
                            uint32_t *height)
{
    const uint32_t *restrict codes = p->codes;
    const uint32_t limit = 2 * p->symbol_count;
    uint32_t ends = 0, wrong = 0, leaves = 0;
    for (uint32_t i = event; i < end; i++) {
        ends += codes[i] & 1;
        wrong |= codes[i] >= limit;
    }
    for (uint32_t i = event; wrong != 0; i++)
        if (codes[i] >= limit)
            return i;
    for (uint32_t i = event; i < end && p->has_leaves; i++)
        leaves += p->views[codes[i]].event_class == TTP_CLASS_LEAF;
    *height += end - event - 2 * ends - leaves;
    return end;
}

static ttape_status check_heights(const struct check *c, uint32_t end, struct ttp_walker *w)
{
    struct ttp_loaded *p = c->p;
    for (uint32_t next; w->event < end; w->event = next) {
        next = (w->event / TTP_CHECKPOINT_EVENTS + 1) * TTP_CHECKPOINT_EVENTS;
        next = next < end ? next : end;
        if (w->event % TTP_CHECKPOINT_EVENTS == 0)
            p->checkpoints[w->event / TTP_CHECKPOINT_EVENTS] = *w;
        uint32_t at = add_heights(p, w->event, next, &w->frames);
        if (at != next)
            return broken(c, "O-CHK-02", at, "undefined symbol");
    }
    return TTAPE_OK;
}

/* Goes on at w->event, up to the segment's end or `end`. */
static ttape_status check_segment(struct check *c, uint32_t end, struct ttp_walker *w)
{
    struct ttp_loaded *p = c->p;
    uint32_t segment = w->segment, segment_end = p->segment_start[segment + 1], event = w->event;
    end = end < segment_end ? end : segment_end;
    if (event == p->segment_start[segment]) {
        TTP_TRY(start_segment(c, segment, w));
        p->starts[segment] = *w;
    }
    /* Frames alone make no depth that is out of range. */
    bool watch = p->change_count != 0 || w->offset < 0 ||
                 (int64_t)w->offset + w->unknown > TTP_MAX_DEPTH / 2;
    if (!watch && has_height_only(p)) {
        TTP_TRY(check_heights(c, end, w));
        event = end;
    }
    while (event < end) {
        if (event % TTP_CHECKPOINT_EVENTS == 0) {
            w->event = event;
            w->frames = c->stacks->current->height;
            p->checkpoints[event / TTP_CHECKPOINT_EVENTS] = *w;
        }
        if (!watch) {
            uint32_t next = (event / TTP_CHECKPOINT_EVENTS + 1) * TTP_CHECKPOINT_EVENTS;
            next = next < end ? next : end;
            event = check_plain(c, event, next);
            if (event == next)
                continue;
        }
        if (watch && w->change < p->change_count && p->changes[w->change].event == event)
            w->offset = p->changes[w->change++].offset;
        bool before = watch && depth_is_before(p, event);
        if (before)
            TTP_TRY(check_depth(c, w, event));
        TTP_TRY(check_event(c, event, w));
        if (watch && !before)
            TTP_TRY(check_depth(c, w, event));
        event++;
    }
    w->event = end;
    w->segment += end == segment_end;
    return TTAPE_OK;
}

/* ---- stacks ---- */

static bool number_less(const void *context, uint32_t a, uint32_t b)
{
    (void)context;
    return a < b;
}

static void add_number(struct ttp_stack_numbers *n, uint32_t number)
{
    if (n->numbers[n->count - 1] != number)
        n->numbers[n->count++] = number;
}

/* All that can come, 0 first; nothing is ordered yet, and some are there more than once. */
static void list_numbers(const struct ttp_loaded *p, struct ttp_stack_numbers *n)
{
    const struct ttp_segments *g = &p->segments;
    n->numbers[0] = 0;
    n->count = 1;
    for (uint32_t s = 0; s < g->segment_count; s++)
        add_number(n, g->segments[s].start.stack);
    for (uint32_t i = 0; i < g->start_frame_count; i++)
        add_number(n, g->start_frames[i].stack);
    for (uint32_t i = 0; i < p->symbol_count; i++)
        if (p->symbols[i].event_class == TTP_CLASS_SWITCH)
            add_number(n, p->symbols[i].argument);
}

static ttape_status find_stack_numbers(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                       ttape_error *err)
{
    struct ttp_memory *memory = &d->memory;
    struct ttp_stack_numbers *n = &p->stack_numbers, all;
    uint64_t most =
        1ull + p->segments.segment_count + p->segments.start_frame_count + p->symbol_count;
    all.numbers = ttp_memory_take(memory, most, sizeof *all.numbers, err);
    if (all.numbers == NULL)
        return memory->status;
    list_numbers(p, &all);
    ttp_sort(all.numbers, all.count, number_less, NULL);
    uint32_t count = 1;
    for (uint32_t i = 1; i < all.count; i++)
        if (all.numbers[i] != all.numbers[count - 1])
            all.numbers[count++] = all.numbers[i];
    bool too_large = all.numbers[count - 1] >= TTP_MAX_STACKS;
    n->numbers = too_large ? NULL : ttp_memory_take(memory, count, sizeof *n->numbers, err);
    if (n->numbers != NULL) {
        memcpy(n->numbers, all.numbers, count * sizeof *n->numbers);
        n->count = count;
    }
    ttp_memory_give(memory, all.numbers, most, sizeof *all.numbers);
    if (too_large)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-EVT-03", p->payload_offset,
                        "a partition has too large a stack number");
    return n->numbers != NULL ? TTAPE_OK : memory->status;
}

ttape_status ttp_loaded_check_open(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err)
{
    TTP_TRY(find_stack_numbers(d, p, err));
    p->starts = ttp_memory_take(&d->memory, p->segments.segment_count, sizeof *p->starts, err);
    if (p->starts == NULL)
        return d->memory.status;
    p->checkpoints = ttp_memory_take(&d->memory, p->head.event_count / TTP_CHECKPOINT_EVENTS + 1ull,
                                     sizeof *p->checkpoints, err);
    if (p->checkpoints == NULL)
        return d->memory.status;
    return ttp_stacks_open(&p->stacks, &d->memory, &p->stack_numbers, err);
}

ttape_status ttp_loaded_check(struct ttp_trace_decoder *d, struct ttp_loaded *p, uint32_t end,
                              ttape_error *err)
{
    struct check c = {.decoder = d, .p = p, .stacks = &p->stacks, .err = err};
    struct ttp_walker w = p->checked;
    while (w.event < end)
        TTP_TRY(check_segment(&c, end, &w));
    if (w.event == p->head.event_count && w.change != p->change_count)
        return broken(&c, "F-DEP-03", 0, "depth changes that belong to no event");
    p->checked = w;
    return TTAPE_OK;
}
