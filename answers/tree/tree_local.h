/* Nodes that decoding tells: local frames, and spanning ones to the last nanosecond. */
#ifndef TTP_READER_TREE_LOCAL_H
#define TTP_READER_TREE_LOCAL_H

#include "answers/tree/tree_scan.h"
#include "answers/tree/tree_span.h"

/* The number of a segment in its partition. */
uint32_t ttp_tree_segment_number(const struct ttape_tree *tree, uint32_t stream, uint32_t ordinal);

/* A scan of what a frame (level TTAPE_NONE: the stack itself) does in a segment that it is
 * open at the start of. *there is false where it is not. */
ttape_status ttp_tree_scan_segment(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                   uint32_t stack, uint32_t level, struct ttp_scan *out,
                                   bool *there, ttape_error *err);
/* A scan of a spanning frame from its enter on; it is not from_start. */
ttape_status ttp_tree_scan_head(struct ttape_tree *tree, const struct ttp_span *span,
                                struct ttp_scan *out, ttape_error *err);

/* The node of a frame that a scan found in a segment. */
ttape_status ttp_tree_local_node(struct ttape_tree *tree, uint32_t stream, uint32_t ordinal,
                                 const struct ttp_scan_frame *frame, uint32_t stack, uint32_t level,
                                 ttape_node *out, ttape_error *err);
/* The frame that an event enters: local, or else followed as a span. */
ttape_status ttp_tree_event_node(struct ttape_tree *tree, uint32_t stream, uint64_t event,
                                 ttape_node *out, bool *is_span, struct ttp_span *span,
                                 ttape_error *err);

/* Decodes what a span's node lacks: for OPENED where it begins and ends, for FULL all of it. */
ttape_status ttp_tree_fill_span(struct ttape_tree *tree, struct ttp_span *span,
                                ttape_tree_mode mode, ttape_error *err);
/* The same for FULL streams: counts, and time without frames. */
ttape_status ttp_tree_fill_stream(struct ttape_tree *tree, ttape_node *node, ttape_error *err);

#endif
