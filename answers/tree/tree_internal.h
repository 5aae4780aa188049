/* The tree's inside.
 *
 *   light sections, summary -> tree_ends.c  -> outline of a partition (tree_outlines.c, a cache)
 *   outlines             -> tree_span.c  -> spanning frames, parts        nothing is decoded
 *   events              -> tree_scan.c  -> local frames, exact ends      tree_local.c
 *                       -> tree_edges.c -> what scans tell, for all frames of the edges at once
 *                       -> tree_walk.c  -> children in order
 *                       -> tree_below.c -> local frames at all levels at once
 *
 * An *outline* is what the tree keeps of a partition. A stream's segments are numbered by
 * *ordinal*. Frames do not cross a hole between two segments. A frame is found by (stack,
 * level): level says how many frames are below it on its stack. */
#ifndef TTP_READER_TREE_INTERNAL_H
#define TTP_READER_TREE_INTERNAL_H

#include <tracetape/tree.h>

#include "reader/decoder_pool.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

/* Times of a hostile file may be anything: sums and differences wrap (F-NUM-07). */
static inline int64_t ttp_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t ttp_minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t ttp_between(uint64_t from_ns, uint64_t to_ns)
{
    return (int64_t)(to_ns - from_ns);
}
static inline void ttp_add_ns(int64_t *to, int64_t value) { *to = ttp_plus(*to, value); }

/* A frame that is open at an edge of a segment. */
struct ttp_tree_frame {
    uint64_t enter_ns;
    uint64_t end_ns;     /* start edge, not kept: when it ends, or the least that this can be */
    int64_t self_ns;     /* up to this edge */
    int64_t end_self_ns; /* start edge: up to the end edge or its own end, where that is known */
    int64_t known_ns; /* self time in the segment of this frame and those above it on its stack, as
                            far as it is known */
    uint32_t site, argument, stack;
    uint8_t kind; /* ttape_event_kind */
    bool end_known, self_known;
    bool stays; /* start edge: it is open at the end edge too */
};

/* What the part of a segment hangs below: of the frames that are open at one of its edges that
 * below which most of its unsplit time is. */
enum ttp_tree_holder {
    TTP_HOLDER_STREAM, /* no frame */
    TTP_HOLDER_STAYS,  /* the innermost frame that is open at both edges */
    TTP_HOLDER_ENDS,   /* one that ends in the segment */
    TTP_HOLDER_COMES   /* one that comes in the segment and stays */
};

/* Start frames; the first `kept` of them are the end edge's first too, and then come the added.
 *
 * Of a million frames that are open at an edge nearly all wait below others: of the first `quiet`
 * start frames of a segment on one stack the segment tells nothing but that they stay. All but one
 * of them are left out where the segment before tells what they are. */
struct ttp_tree_segment {
    uint64_t first_event, base_ns, end_ns;
    uint64_t call_count;
    int64_t held_ns;   /* the part's time */
    int64_t middle_ns; /* unsplit time of what stays, or of the stream, if that is not the
                          holder */
    int64_t start_known_ns, added_known_ns; /* on one stack: of the first start and added frame */
    uint32_t stream, event_count;
    uint32_t start_first, start_count, added_first, end_count, kept;
    uint32_t quiet, left_out;
    uint32_t holder_level;
    uint8_t holder;   /* enum ttp_tree_holder; a frame on stack 0 */
    bool one_stack;   /* stack 0, as far as the edges tell */
    bool calls_exact; /* otherwise shared out */
};

/* What the tree keeps of a partition; segments stand behind it in one block. Frames go first where
 * room is short. */
struct ttp_outline {
    struct ttp_outline *newer, *older;
    uint64_t size_bytes; /* without frames */
    uint32_t partition, segment_count, frame_count;
    uint32_t start_frame_count; /* of all segments; added frames follow */
    bool damaged;               /* it could not be read: no segments */
    bool has_frames;
    struct ttp_tree_segment *segments;
    struct ttp_tree_frame *frames;
    ttape_tree_share *shares; /* behind the segments */
    uint32_t share_count;
    uint64_t all; /* that shares are of */
};

/* What a partition's summary says. */
struct ttp_tree_measures {
    const struct ttp_measure *rows; /* by ascending site: those that matter */
    uint32_t row_count;
    uint64_t call_count, own_sum; /* of all rows; own_sum: what shares are of */
    bool is_there;                /* it has a summary */
};

struct ttp_outline_list {
    struct ttp_outline *newest, *oldest;
};

struct ttape_tree {
    const ttape_reader *reader;
    struct ttp_lease lease; /* during a call it has a decoder, with the tree's jobs */
    struct ttp_memory memory;
    struct ttp_outline **outlines; /* by partition; NULL: not in the cache */
    bool *whole;                   /* by partition: no frame may be left out */
    uint32_t *overview_of; /* by partition: that may tell its outline, or TTAPE_NONE. NULL: none */
    struct ttp_outline_list lists[2];             /* of outlines without and with frames */
    uint64_t cache_bytes, used_bytes, bare_bytes; /* bare: of outlines without frames */
    uint64_t made_count;                          /* outlines that were read, each time counted */
    uint32_t jobs, batch; /* partitions that are read at once where one is missed */
    uint32_t outline_capacity;
    ttape_tree_walk *walks;
    uint64_t work;                     /* events that were looked at, each time counted */
    struct ttp_stack_memo *stack_memo; /* tree_scan.c: of the segment that was asked for last */
    struct ttp_edge_memo *edges;       /* tree_edges.c: of segments that were asked for */
    struct ttp_openings *openings;     /* tree_openings.c: of the edge that was asked for last */
    struct ttp_scan_memo *memo;        /* tree_scan.c: NULL until there is something to remember */
    /* Who goes down a tree asks for events one behind the other: from the one before it is nearer
     * than from a checkpoint. partition: number + 1, 0: none yet. */
    struct {
        uint32_t partition, segment;
        struct ttp_walker walker;
    } level_at; /* tree_local.c */
    struct {
        uint32_t partition, segment, event;
        int64_t tick;
    } time_at;        /* tree_scan.c */
    ttape_node local; /* tree_local.c: the last one that began and ended in a segment; of kind
                         TRACE: none yet */
};

/* ---- tree_outlines.c ---- */

ttape_status ttp_outlines_open(struct ttape_tree *tree, ttape_error *err);
void ttp_outlines_close(struct ttape_tree *tree);

uint32_t ttp_tree_segment_count(const struct ttape_tree *tree, uint32_t stream);
const struct ttp_segment_entry *ttp_tree_entry(const struct ttape_tree *tree, uint32_t stream,
                                               uint32_t ordinal);
/* The ordinal of the stream's segment in a partition; TTAPE_NONE when there is none. */
uint32_t ttp_tree_ordinal(const struct ttape_tree *tree, uint32_t stream, uint32_t partition);

/* The outline that has a segment, read if need be; pointers are good until the next call.
 * *segment is NULL where the partition is damaged. */
ttape_status ttp_tree_outline(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                              const struct ttp_outline **o, const struct ttp_tree_segment **segment,
                              ttape_error *err);
/* The same for who asks for no frames: where the segment is on one stack there may be none. */
ttape_status ttp_tree_bare_outline(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                   const struct ttp_outline **o,
                                   const struct ttp_tree_segment **segment, ttape_error *err);
/* The same for who asks for start frames that no segment before tells: none is left out. */
ttape_status ttp_tree_whole_outline(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                    const struct ttp_outline **o,
                                    const struct ttp_tree_segment **segment, ttape_error *err);
/* That of a partition, whatever streams it has. NULL: it has no segments. */
ttape_status ttp_tree_partition_outline(struct ttape_tree *tree, uint32_t partition,
                                        const struct ttp_outline **o, ttape_error *err);
/* Why a partition is damaged. */
ttape_status ttp_tree_damage(struct ttape_tree *tree, uint32_t partition, ttape_error *err);

/* ---- tree_ends.c ---- */

/* Fills in what the partition's measures say of a new outline. */
ttape_status ttp_tree_find_ends(struct ttp_outline *o, const struct ttp_loaded *p,
                                const struct ttp_definition_tables *d,
                                const struct ttp_tree_measures *measures, struct ttp_memory *memory,
                                ttape_error *err);

/* ---- tree_shares.c ---- */

/* At most so many functions have a 64th each. */
#define TTP_TREE_SHARES 64u

/* All rows of a summary, added up; NULL: there is none. */
struct ttp_tree_measures ttp_tree_measures_of(const struct ttp_loaded *p,
                                              const struct ttp_measure *rows, uint32_t row_count);
/* Fills in the functions of a partition that have a 64th of it. Returns how many. */
uint32_t ttp_tree_find_shares(const struct ttp_loaded *p, const struct ttp_definition_tables *d,
                              const struct ttp_tree_measures *measures, ttape_tree_share *shares);

/* ---- tree.c ---- */

ttape_status ttp_tree_check_id(const struct ttape_tree *tree, const ttape_node_id *id,
                               ttape_error *err);

/* ---- frames of an outline ---- */

/* The frame at a level of a stack in the start (end) edge: its number there, or TTAPE_NONE. */
uint32_t ttp_tree_start_at(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                           uint32_t stack, uint32_t level);
uint32_t ttp_tree_end_at(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                         uint32_t stack, uint32_t level);
/* Where a start frame stands in the outline; of what is left out, a frame like it. */
static inline uint32_t ttp_tree_start_index(const struct ttp_tree_segment *segment, uint32_t number)
{
    return segment->start_first + (number > segment->left_out ? number - segment->left_out : 0);
}
const struct ttp_tree_frame *ttp_tree_start_frame(const struct ttp_outline *o,
                                                  const struct ttp_tree_segment *segment,
                                                  uint32_t number);
const struct ttp_tree_frame *ttp_tree_end_frame(const struct ttp_outline *o,
                                                const struct ttp_tree_segment *segment,
                                                uint32_t number);
/* Level of the frame `number` of an edge. */
uint32_t ttp_tree_level(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                        uint32_t number, bool at_start);
/* Finds out which start frames stay. `p` is at stage EVENTS where ttp_tree_needs_events. */
void ttp_tree_find_stays(struct ttp_outline *o, const struct ttp_loaded *p);
/* Without times frames of several stacks cannot be told apart by when they were entered. */
bool ttp_tree_needs_events(const struct ttp_loaded *p);
/* Frames of a stack that are open at the start edge; and those of them that stay open to the
 * end. */
uint32_t ttp_tree_start_height(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                               uint32_t stack);
uint32_t ttp_tree_stay_height(const struct ttp_outline *o, const struct ttp_tree_segment *segment,
                              uint32_t stack);

#endif
