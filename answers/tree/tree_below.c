/* A frame is told of where it ends, and costs nothing until then: its counts and its time are what
 * was counted since its enter. What was open at the beginning is no local frame, nor is what is
 * below it: the scans of its own node tell that. */
#include "answers/tree/tree_below.h"

#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/cache/cache.h"
#include "reader/partition/partition_decoder.h"

struct ttp_below_frame {
    uint32_t event, symbol;
    uint64_t enter_ns, event_count, call_count; /* counts: before it */
    int64_t self_ns, away_ns;
};

void ttp_below_close(struct ttp_below *b, struct ttape_tree *tree)
{
    ttp_memory_give(&tree->memory, b->frames, b->capacity, sizeof *b->frames);
    *b = (struct ttp_below){0};
}

ttape_status ttp_below_begin(struct ttp_below *b, struct ttape_tree *tree,
                             const struct ttp_scan *scan, uint32_t end, uint32_t stream,
                             uint32_t level, ttape_error *err)
{
    struct ttp_loaded *p;
    TTP_TRY(ttp_loaded_get(tree->lease.decoder, scan->partition, TTP_STAGE_LIGHT, &p, err));
    const ttape_reader *r = tree->reader;
    uint32_t first = r->partitions[scan->partition].first_segment;
    const struct ttp_segment_entry *seg = &r->segments[first + scan->segment];
    b->scan = *scan;
    b->scan.end = end < scan->end ? end : scan->end;
    b->tails = scan->depth;
    b->height = b->leaving = 0;
    b->event_count = b->call_count = 0;
    b->since_ns = scan->time_ns;
    b->is_on = true;
    b->common = (ttape_node){.id = {.kind = TTAPE_NODE_FRAME,
                                    .by = TTAPE_NODE_BY_EVENT,
                                    .stream = stream,
                                    .partition = scan->partition,
                                    .place = seg->first_event - p->segment_start[scan->segment]},
                             .stack = scan->stack,
                             .level = level,
                             .first_partition = scan->partition,
                             .last_partition = scan->partition,
                             .self_exact = true,
                             .counts_exact = true};
    return TTAPE_OK;
}

/* The time up to now is that of the top frame. */
static void settle_time(struct ttp_below *b)
{
    if (b->height > 0) {
        struct ttp_below_frame *top = &b->frames[b->height - 1];
        int64_t *to = b->scan.current == b->scan.stack ? &top->self_ns : &top->away_ns;
        ttp_add_ns(to, ttp_between(b->since_ns, b->scan.time_ns));
    }
    b->since_ns = b->scan.time_ns;
}

static void put_node(struct ttp_below *b, const struct ttp_loaded *p, struct ttp_tree_room *room,
                     const struct ttp_below_frame *f, uint8_t kind)
{
    const struct ttp_scan_frame ended = {.end_kind = kind};
    const struct ttp_code_view *v = &p->views[2ull * f->symbol];
    ttape_node *node = &room->nodes[room->count];
    room->depths[room->count++] = b->height + 1;
    *node = b->common;
    node->id.place += f->event;
    node->frame_kind = v->kind;
    node->site = v->site;
    node->argument = v->argument;
    node->level += b->height;
    node->end = ttp_scan_end_of(&ended);
    node->enter_ns = node->start_ns = f->enter_ns;
    node->end_ns = node->end_most_ns = b->scan.time_ns;
    node->time_ns = ttp_between(f->enter_ns, b->scan.time_ns);
    node->self_ns = f->self_ns;
    node->rest_ns = f->away_ns;
    node->event_count = b->event_count - f->event_count;
    node->call_count = b->call_count - f->call_count;
}

/* Ends frames, the innermost first, as far as there is room. False: there is none left. */
static bool leave_frames(struct ttp_below *b, const struct ttp_loaded *p,
                         struct ttp_tree_room *room)
{
    while (b->leaving > 0 && b->height > 0) {
        bool is_shown = b->tails == 0 && b->height <= room->depth_most;
        if (is_shown && room->count == room->capacity)
            return false;
        settle_time(b);
        b->height--;
        if (is_shown)
            put_node(b, p, room, &b->frames[b->height],
                     b->is_across && b->leaving == 1 ? TTAPE_UNWIND_LEFT : b->kind);
        b->leaving--;
    }
    uint32_t tails = b->leaving < b->tails ? b->leaving : b->tails;
    b->tails -= tails;
    b->scan.over = b->scan.over || (b->leaving > tails && !b->scan.root);
    b->leaving = 0;
    return true;
}

static void enter_frame(struct ttp_below *b, uint32_t symbol, bool is_call)
{
    settle_time(b);
    b->call_count += is_call;
    b->frames[b->height++] = (struct ttp_below_frame){.event = b->scan.event,
                                                      .symbol = symbol,
                                                      .enter_ns = b->scan.time_ns,
                                                      .event_count = b->event_count - 1,
                                                      .call_count = b->call_count};
}

static void take_event(struct ttp_below *b, const struct ttp_loaded *p, uint32_t code)
{
    const struct ttp_code_view *v = &p->views[code];
    bool is_here = b->scan.current == b->scan.stack;
    if (v->event_class == TTP_CLASS_SWITCH) {
        settle_time(b);
        b->scan.current = v->argument;
    }
    if (!is_here)
        return;
    b->event_count++;
    if (v->before != 0) {
        bool unwinds = p->end_count != 0 && ttp_code_unwinds(v, -2);
        uint32_t kind = unwinds ? ttp_loaded_unwind_kind(p, b->scan.event) : TTAPE_UNWIND_LEFT;
        b->leaving = (uint32_t)-v->before;
        b->kind = (uint8_t)kind;
        b->is_across = v->event_class == TTP_CLASS_EXIT_ACROSS;
    } else if (v->after != 0) {
        enter_frame(b, code >> 1, v->event_class == TTP_CLASS_ENTER);
    }
}

/* Events up to `end`, until there is no more room for nodes or for a frame. */
static void pass_block(struct ttp_below *b, const struct ttp_loaded *p, uint32_t end,
                       struct ttp_tree_room *room)
{
    struct ttp_scan *s = &b->scan;
    const uint32_t *delta = s->timed ? p->delta : NULL;
    uint32_t wide = delta != NULL ? ttp_loaded_wide_from(p, s->event) : 0;
    while (s->event < end && !s->over && b->height < b->capacity) {
        if (delta != NULL) {
            uint64_t d = delta[s->event];
            d = d != TTP_DELTA_WIDE ? d : (uint64_t)p->wide[wide++];
            s->time_ns += d * p->head.resolution_ns;
        }
        take_event(b, p, p->codes[s->event]);
        s->event++;
        if (b->leaving > 0 && !leave_frames(b, p, room))
            return;
    }
}

/* The next block, or what is left of it. */
static ttape_status read_block(struct ttp_below *b, struct ttape_tree *tree,
                               struct ttp_tree_room *room, ttape_error *err)
{
    struct ttp_scan *s = &b->scan;
    struct ttp_loaded *p;
    uint32_t block = (s->event / TTP_TIME_BLOCK_EVENTS + 1) * TTP_TIME_BLOCK_EVENTS;
    uint32_t end = !s->timed || s->end < block ? s->end : block;
    const struct ttp_range range = {s->timed ? s->event : 0, s->timed ? end : 0, end, false};
    TTP_TRY(ttp_memory_reserve(&tree->memory, &b->frames, &b->capacity, b->height + 1ull,
                               sizeof *b->frames, err));
    TTP_TRY(ttp_loaded_reach(tree->lease.decoder, s->partition, &range, &p, err));
    if (leave_frames(b, p, room))
        pass_block(b, p, end, room);
    return TTAPE_OK;
}

ttape_status ttp_below_next(struct ttp_below *b, struct ttape_tree *tree,
                            struct ttp_tree_room *room, ttape_error *err)
{
    struct ttp_scan *s = &b->scan;
    uint32_t before = s->event;
    ttape_status status = TTAPE_OK;
    while (status == TTAPE_OK && room->count < room->capacity &&
           (b->leaving > 0 || (!s->over && s->event < s->end)))
        status = read_block(b, tree, room, err);
    tree->work += s->event - before;
    if (room->count > 0)
        return TTAPE_OK; /* what fails fails again */
    return status != TTAPE_OK ? status : TTAPE_END;
}
