/* Spanning frames and parts, out of outlines alone. */
#ifndef TTP_READER_TREE_SPAN_H
#define TTP_READER_TREE_SPAN_H

#include "answers/tree/tree_internal.h"

/* A spanning frame: where it is first open at an edge, and where it was followed to. */
struct ttp_span {
    ttape_node node;
    uint32_t stream, stack, level;
    uint32_t first;      /* ordinal of the segment at whose end (or start) it is first open */
    uint32_t last;       /* of the segment in which it ends, or the last one that it is open in */
    bool from_start;     /* first open at the start of segment `first` */
    uint32_t stay_count; /* segments that it stays open in from edge to edge */
    int64_t self_before_ns; /* self up to the segment in which it ends */
    int64_t middle_ns;      /* of node.rest_ns: in segments that it stays open in */
    int64_t
        between_ns; /* of its segments from edge to edge: time that no known frame was on top for */
};

/* True where no event is missing between a segment and the one before it. */
ttape_status ttp_tree_continues(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                bool *out, ttape_error *err);

/* The frame of an id by an edge, followed to its end. */
ttape_status ttp_tree_span(struct ttape_tree *tree, const ttape_node_id *id, struct ttp_span *out,
                           ttape_error *err);

/* What became of a span's frame in a segment that it is open at the start of. */
enum ttp_span_fate { TTP_SPAN_STAYS, TTP_SPAN_ENDS, TTP_SPAN_LOST };
enum ttp_span_fate ttp_tree_fate(const struct ttp_outline *o,
                                 const struct ttp_tree_segment *segment, uint32_t stack,
                                 uint32_t level);

/* True where the part of a segment hangs below the frame at (stack, level), which does there
 * what `as` says; or below the stream. */
bool ttp_tree_holds(const struct ttp_tree_segment *segment, enum ttp_tree_holder as, uint32_t stack,
                    uint32_t level);

ttape_status ttp_tree_part_node(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                ttape_node *out, ttape_error *err);
ttape_status ttp_tree_stream_node(struct ttape_tree *tree, uint32_t stream, ttape_node *out,
                                  ttape_error *err);
ttape_status ttp_tree_trace_node(struct ttape_tree *tree, ttape_node *out, ttape_error *err);

#endif
