/* Going through the events of one node in one decoded segment: its children there, one by one, and
 * what the node itself did.
 *
 * A scan holds no pointers: the partition may leave the cache between two calls. */
#ifndef TTP_READER_TREE_SCAN_H
#define TTP_READER_TREE_SCAN_H

#include "answers/tree/tree_internal.h"

/* A frame inside of a segment. Events are numbered in the partition. */
struct ttp_scan_frame {
    uint32_t event; /* of its enter */
    uint32_t symbol;
    uint64_t enter_ns, end_ns; /* end: of the last event that was looked at */
    int64_t self_ns, away_ns;  /* away: on top of its stack, which was not the current one */
    uint64_t event_count, call_count;
    bool is_tail; /* it was open when the scan began: counts are from there on */
    bool ended;
    uint8_t end_kind; /* ttape_unwind_kind */
};

/* How a frame that ended did. */
static inline ttape_node_end ttp_scan_end_of(const struct ttp_scan_frame *frame)
{
    return frame->end_kind == TTAPE_UNWIND_UNSEEN ? TTAPE_NODE_UNSEEN
           : frame->end_kind == TTAPE_UNWIND_LATE ? TTAPE_NODE_LATE
           : frame->end_kind == TTAPE_UNWIND_LOST ? TTAPE_NODE_LOST
                                                  : TTAPE_NODE_ENDED;
}

struct ttp_scan {
    uint32_t partition, segment;
    uint32_t event, end;     /* the next one, and the segment's end */
    uint32_t stack, current; /* the node's stack, and the current one */
    uint32_t depth;          /* frames above the node */
    uint64_t time_ns;        /* of the event before */
    bool timed;              /* the partition has times */
    bool root;               /* the node is the bottom of the stack: it does not end */
    bool over;               /* the node ended, or the segment */
    struct ttp_scan_frame node;
    struct ttp_scan_frame child; /* while depth is not 0, and the last one after that */
};

/* A scan of the node that has `depth` frames above it on `stack` before event `event` of the
 * segment; root: there is no node but the stack itself. The scan says these, its rest is zeros. */
ttape_status ttp_scan_open(struct ttp_scan *scan, struct ttape_tree *tree, ttape_error *err);
/* The next child, in scan->child: complete (ended), or open at the segment's end. TTAPE_END when
 * there is none; then the node itself is complete. */
ttape_status ttp_scan_next(struct ttp_scan *scan, struct ttape_tree *tree, ttape_error *err);
void ttp_scan_forget(struct ttape_tree *tree);
/* Goes on to the end, whatever the children are. */
ttape_status ttp_scan_rest(struct ttp_scan *scan, struct ttape_tree *tree, ttape_error *err);

/* The current stack before an event of a segment. */
ttape_status ttp_scan_stack(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                            uint32_t event, uint32_t *stack, ttape_error *err);
/* The least stack from `from` on that a segment has frames on or goes on; TTAPE_NONE when there
 * is none. */
ttape_status ttp_scan_next_stack(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                                 uint32_t from, uint32_t *out, ttape_error *err);
/* What a segment has on all its stacks together; self time is that below all frames. Not done where
 * there is one stack: a scan need not look at all of it. */
ttape_status ttp_scan_stacks(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                             bool *is_done, struct ttp_scan_frame *out, ttape_error *err);
/* ttp_scan_next_stack, where it is about outermost frames that begin and end in the segment: stacks
 * without such may be passed over. */
ttape_status ttp_scan_next_parent(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                                  uint32_t from, uint32_t *out, ttape_error *err);
/* Backwards from an event, which the partition is reached up to: the events that entered the frames
 * which are open on `stack` then, innermost first. */
struct ttp_scan_back {
    uint32_t segment, event, stack, current;
    uint32_t closed; /* at the segment's start: frames of its start edge that ended */
};
uint32_t ttp_scan_back(struct ttp_scan_back *back, const struct ttp_loaded *p);

/* The event that entered the frame at (stack, level) which is open at the segment's end, and was
 * not at its start. */
ttape_status ttp_scan_enter_of(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                               uint32_t stack, uint32_t level, uint32_t *event, ttape_error *err);

void ttp_openings_forget(struct ttape_tree *tree);

/* One frame, from the event that enters it on, as far as it goes in the segment. */
ttape_status ttp_scan_one(struct ttape_tree *tree, uint32_t partition, uint32_t segment,
                          uint32_t event, struct ttp_scan_frame *out, uint32_t *stack,
                          ttape_error *err);

#endif
