/* From what a partition says of its instants, or an overview of a stream's, to those of the tile,
 * which are some of them. */
#include "answers/tiles/tiles_internal.h"
#include "format/base/fail.h"

struct frame {
    struct ttp_symbol symbol;
    uint32_t node; /* + 1; 0: none yet */
};

struct walk {
    struct ttape_tile *t;
    const struct ttp_instants *in;
    const struct ttp_instant_segment *from;
    uint32_t scope;
    uint64_t offset;          /* of what says it */
    uint32_t end_frame_count; /* open behind it */
    struct frame *stack;
    uint32_t height, capacity;
};

static ttape_status push_frame(struct walk *w, struct ttp_symbol symbol, uint32_t node,
                               ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&w->t->memory, &w->stack, &w->capacity, w->height + 1ull,
                               sizeof *w->stack, err));
    w->stack[w->height++] = (struct frame){symbol, node};
    return TTAPE_OK;
}

/* The node of the top frame: those without one stand above those that have one. */
static ttape_status name_stack(struct walk *w, uint32_t *node, ttape_error *err)
{
    uint32_t depth = w->height;
    while (depth != 0 && w->stack[depth - 1].node == 0)
        depth--;
    *node = depth == 0 ? TTP_NODE_NONE : w->stack[depth - 1].node - 1;
    for (; depth < w->height; depth++) {
        const struct ttp_symbol *symbol = &w->stack[depth].symbol;
        bool is_signal = symbol->event_class == TTP_CLASS_SIGNAL;
        uint32_t name = is_signal
                            ? symbol->argument
                            : ttp_scope_site(w->t->decoder->reader, w->scope, symbol->argument);
        if (!is_signal && name == TTAPE_NONE)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-EVT-08", w->offset,
                            "instants name site '%u', which is not defined", symbol->argument);
        TTP_TRY(ttp_tile_name_frame(w->t, is_signal, name, node, err));
        w->stack[depth].node = *node + 1;
    }
    return TTAPE_OK;
}

/* A frame that is open at its start, of so many. */
static ttape_status open_frame(struct walk *w, uint32_t number, uint32_t count,
                               struct ttp_symbol symbol, ttape_error *err)
{
    const struct ttp_tile_carry *carry = &w->t->carry;
    bool carries = carry->is_valid && carry->count == count;
    return push_frame(w, symbol, carries ? carry->nodes[number] : 0, err);
}

static ttape_status pass_instant(struct walk *w, const struct ttp_instant *at, int64_t number,
                                 uint32_t skip, ttape_error *err)
{
    uint32_t node = TTP_NODE_NONE;
    w->height = at->kept;
    for (uint32_t i = 0; i < at->added; i++)
        TTP_TRY(push_frame(w, w->in->frames[at->first + i], 0, err));
    w->t->has_gap = w->t->has_gap || at->has_gap;
    int64_t own = number >> skip; /* exact, or it is none of the tile's */
    if ((uint64_t)own << skip != (uint64_t)number)
        return TTAPE_OK;
    if (ttp_tile_wants(w->t, own, own + 1))
        TTP_TRY(name_stack(w, &node, err));
    ttp_tile_give(w->t, own, own + 1, node);
    return TTAPE_OK;
}

static ttape_status keep_open(struct walk *w, ttape_error *err)
{
    struct ttp_tile_carry *carry = &w->t->carry;
    TTP_TRY(ttp_memory_reserve(&w->t->memory, &carry->nodes, &carry->capacity, w->end_frame_count,
                               sizeof *carry->nodes, err));
    for (uint32_t i = 0; i < w->end_frame_count; i++)
        carry->nodes[i] = i < w->from->kept ? w->stack[i].node : 0;
    carry->count = w->end_frame_count;
    return TTAPE_OK;
}

static ttape_status walk_instants(struct walk *w, ttape_error *err)
{
    const struct ttp_instant_segment *from = w->from;
    for (uint32_t i = 0; i < from->count; i++)
        TTP_TRY(pass_instant(w, &w->in->instants[from->start + i], from->first + i,
                             w->t->spacing - from->exponent, err));
    w->t->has_gap = w->t->has_gap || from->has_gap;
    return keep_open(w, err);
}

ttape_status ttp_tile_from_instants(struct ttape_tile *t, const struct ttp_loaded *p,
                                    uint32_t segment, const struct ttp_instants *in,
                                    ttape_error *err)
{
    const struct ttp_segment *g = &p->segments.segments[segment];
    struct walk w = {.t = t,
                     .in = in,
                     .from = &in->segments[segment],
                     .scope = p->scope,
                     .offset = p->payload_offset,
                     .end_frame_count = g->end.frame_count};
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; i < g->start.frame_count && status == TTAPE_OK; i++) {
        const struct ttp_frame *f = &p->segments.start_frames[g->start.frame_start + i];
        status = open_frame(&w, i, g->start.frame_count,
                            (struct ttp_symbol){f->argument, f->event_class}, err);
    }
    if (status == TTAPE_OK)
        status = walk_instants(&w, err);
    ttp_memory_give(&t->memory, w.stack, w.capacity, sizeof *w.stack);
    return status;
}

ttape_status ttp_tile_from_series(struct ttape_tile *t, const struct ttp_merged *merged,
                                  const struct ttp_merged_series *one, uint32_t scope,
                                  ttape_error *err)
{
    struct walk w = {.t = t,
                     .in = &merged->in,
                     .from = &one->in,
                     .scope = scope,
                     .end_frame_count = one->end_frame_count};
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; i < one->start_frame_count && status == TTAPE_OK; i++)
        status =
            open_frame(&w, i, one->start_frame_count, merged->in.frames[one->start_frame + i], err);
    if (status == TTAPE_OK)
        status = walk_instants(&w, err);
    ttp_memory_give(&t->memory, w.stack, w.capacity, sizeof *w.stack);
    return status;
}
