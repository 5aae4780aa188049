/* Which events entered the frames that are open at a segment's end. Who goes down a tree asks for
 * one after the other, outermost first: on the way back to it all others are met. */
#include "answers/tree/tree_scan.h"

#include "format/base/fail.h"
#include "reader/cache/cache.h"
#include "reader/partition/partition_decoder.h"

/* These are of one stack of one segment. */
struct ttp_openings {
    uint32_t partition, segment, stack;
    uint32_t *events; /* innermost first */
    uint32_t count, capacity, height;
    struct ttp_scan_back back; /* where the search goes on */
};

void ttp_openings_forget(struct ttape_tree *tree)
{
    struct ttp_openings *o = tree->openings;
    if (o == NULL)
        return;
    ttp_memory_give(&tree->memory, o->events, o->capacity, sizeof *o->events);
    ttp_memory_give(&tree->memory, o, 1, sizeof *o);
    tree->openings = NULL;
}

static uint32_t end_height(const struct ttp_loaded *p, const struct ttp_segment *g, uint32_t stack)
{
    uint32_t height = 0;
    for (uint32_t i = 0; i < g->end.frame_count; i++) {
        const struct ttp_frame *f = i < g->kept
                                        ? &p->segments.start_frames[g->start.frame_start + i]
                                        : &p->segments.end_frames[g->end.frame_start + i - g->kept];
        height += f->stack == stack;
    }
    return height;
}

/* Those of the stack, as far as they are known. */
static ttape_status take_openings(struct ttape_tree *tree, const struct ttp_loaded *p,
                                  uint32_t segment, uint32_t stack, ttape_error *err)
{
    struct ttp_openings *o = tree->openings;
    if (o == NULL) {
        o = tree->openings = ttp_memory_take(&tree->memory, 1, sizeof *o, err);
        if (o == NULL)
            return tree->memory.status;
        *o = (struct ttp_openings){.partition = TTAPE_NONE};
    }
    if (o->partition == p->partition && o->segment == segment && o->stack == stack)
        return TTAPE_OK;
    o->partition = p->partition;
    o->segment = segment;
    o->stack = stack;
    o->count = 0;
    o->height = end_height(p, &p->segments.segments[segment], stack);
    o->back = (struct ttp_scan_back){.segment = segment,
                                     .event = p->segment_start[segment + 1],
                                     .stack = stack,
                                     .current = p->segments.segments[segment].end.stack};
    return TTAPE_OK;
}

ttape_status ttp_scan_enter_of(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                               uint32_t stack, uint32_t level, uint32_t *event, ttape_error *err)
{
    struct ttp_loaded *p;
    struct ttp_trace_decoder *d = tree->lease.decoder;
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err));
    const struct ttp_range range = {0, 0, p->segment_start[segment + 1], false};
    TTP_TRY(ttp_loaded_reach(d, partition, &range, &p, err));
    TTP_TRY(take_openings(tree, p, segment, stack, err));
    struct ttp_openings *o = tree->openings;
    uint32_t height = o->height, before = o->back.event;
    *event = TTAPE_NONE;
    TTP_TRY(ttp_memory_reserve(&tree->memory, &o->events, &o->capacity, height, sizeof *o->events,
                               err));
    while (o->count + level < height) {
        uint32_t found = ttp_scan_back(&o->back, p);
        if (found == TTAPE_NONE)
            break;
        o->events[o->count++] = found;
    }
    tree->work += before - o->back.event;
    if (height <= level || o->count + level < height)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-EDG-05", p->payload_offset,
                        "edge of a partition has a frame that its events do not open");
    *event = o->events[height - level - 1];
    return TTAPE_OK;
}
