/* A tile's inside. Its instants are filled in from segment to segment of the stream, each by what
 * knows it (tile_events.c, tile_instants.c, tile_overviews.c); then paths and bars are made of them
 * (tile_paths.c).
 *
 * An instant has a *node*: a frame of a stack, with the one below it. One call is one node at all
 * instants that it is seen at, so a node says what is on the stack and which call it is. */
#ifndef TTP_READER_TILES_INTERNAL_H
#define TTP_READER_TILES_INTERNAL_H

#include <tracetape/tiles.h>

#include "base/memory.h"
#include "format/levels/instants.h"
#include "format/levels/merged.h"
#include "reader/levels/merged_reader.h"
#include "reader/partition/partition_decoder.h"
#include "reader/reader_internal.h"

#define TTP_NODE_NONE    UINT32_MAX /* nothing is on the stack */
#define TTP_NODE_UNKNOWN (UINT32_MAX - 1)

struct ttp_tile_node {
    uint32_t below; /* or TTP_NODE_NONE */
    uint32_t depth; /* frames below it */
    uint32_t name;  /* file-wide site, or number of a signal */
    uint32_t bar;   /* the last one that counted it, + 1 */
    bool is_signal;
};

struct ttp_tile_instant {
    uint32_t node;
    bool has_gap; /* events are missing since the last one before it that is known */
};

/* What stays open between two segments of the stream: nodes + 1 of the frames of the edge, as the
 * edges section has them; 0: not seen at any instant. */
struct ttp_tile_carry {
    uint32_t *nodes;
    uint32_t count, capacity;
    bool is_valid;
    uint64_t next_event; /* number of the event behind the edge */
};

/* The overview that was asked last. */
struct ttp_tile_overview {
    uint32_t number_plus_one, scope;
    bool is_good; /* it tells of instants, on the tile's axis */
    uint32_t partitions[TTP_OVERVIEW_PARTITIONS], partition_count;
    struct ttp_read_merged merged;
};

/* A trial finds out how many instants can be had without more events. */
struct ttp_tile_trial {
    uint32_t spacing; /* the most that a segment's instants need, up to one a bucket */
    bool goes_on, has_failed;
};

struct ttape_tile {
    struct ttp_memory memory;
    struct ttp_trace_decoder *decoder;
    ttape_tile_options options;
    ttape_tile_info info;
    ttape_tile_axis axis;
    /* Instants: multiples of 2^spacing ticks. The first is the one before the tile, if there is
     * one, so that what it says of changes is right at its start. */
    uint32_t spacing, lead; /* lead: 1 if it is there */
    int64_t first;          /* number of the tile's first instant */
    int64_t next;           /* the least number that no segment has given yet */
    uint32_t instant_count; /* with the one before */
    struct ttp_tile_instant *instants;
    bool has_gap; /* before the next instant */
    struct ttp_tile_node *nodes;
    uint32_t node_count, node_capacity;
    struct ttp_tile_carry carry;
    struct ttp_tile_overview overview;
    struct ttp_tile_trial trial;
    uint32_t *scratch; /* frames without a node */
    uint32_t scratch_capacity;
    ttape_tile_bucket *buckets;
    ttape_tile_bar *bars;
    uint32_t bar_capacity;
};

/* The number of the first instant at or behind a tick. */
static inline int64_t ttp_tile_instant_from(const struct ttape_tile *t, int64_t tick)
{
    return ttp_instant_from(tick, t->spacing);
}

/* Whether the tile has one of these instants. */
static inline bool ttp_tile_wants(const struct ttape_tile *t, int64_t from, int64_t end)
{
    int64_t low = t->first - (int64_t)t->lead;
    return end > low && (from < low || (uint64_t)from - (uint64_t)low < t->instant_count);
}

/* All that the tile has were given, or cannot be any more (F-TIL-02): what follows adds nothing. */
static inline bool ttp_tile_is_complete(const struct ttape_tile *t)
{
    int64_t low = t->first - (int64_t)t->lead;
    return t->next > low && (uint64_t)t->next - (uint64_t)low >= t->instant_count;
}

/* Instants `from` to before `end` of a segment, ascending, have this node. */
void ttp_tile_give(struct ttape_tile *t, int64_t from, int64_t end, uint32_t node);
/* A node for a frame above *node; what is too deep for the tile has that of the last one that is
 * not. */
ttape_status ttp_tile_name_frame(struct ttape_tile *t, bool is_signal, uint32_t name,
                                 uint32_t *node, ttape_error *err);

/* A segment of a partition that is decoded: gives its instants and leaves what stays open in
 * t->carry. */
ttape_status ttp_tile_from_events(struct ttape_tile *t, const struct ttp_loaded *p,
                                  uint32_t segment, ttape_error *err);
/* The same from its instants, which are at most as far apart as the tile's. */
ttape_status ttp_tile_from_instants(struct ttape_tile *t, const struct ttp_loaded *p,
                                    uint32_t segment, const struct ttp_instants *in,
                                    ttape_error *err);
/* The same of the first segments of a stream in an overview. */
ttape_status ttp_tile_from_series(struct ttape_tile *t, const struct ttp_merged *merged,
                                  const struct ttp_merged_series *one, uint32_t scope,
                                  ttape_error *err);
/* From the overview that covers the stream's segment `ordinal`, where it is fine enough. *count:
 * segments from this one on that are told of; 0: it is not. */
ttape_status ttp_tile_from_overview(struct ttape_tile *t, uint32_t ordinal, uint32_t *count,
                                    ttape_error *err);
void ttp_tile_drop_overview(struct ttape_tile *t);
/* The tick of the tile's axis that has a tick of the partition. */
int64_t ttp_tile_tick(const struct ttape_tile *t, uint64_t origin_ns, uint64_t resolution_ns,
                      int64_t tick);

/* Makes buckets and bars of the instants. */
ttape_status ttp_tile_make_bars(struct ttape_tile *t, ttape_error *err);

#endif
