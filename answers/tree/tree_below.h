/* The local frames below a node in one segment, at all levels, by one look at each event. */
#ifndef TTP_READER_TREE_BELOW_H
#define TTP_READER_TREE_BELOW_H

#include "answers/tree/tree_scan.h"

/* Where nodes go: depths[i] is how many levels below the walk's node nodes[i] is. */
struct ttp_tree_room {
    ttape_node *nodes;
    uint32_t *depths;
    size_t capacity, count;
    uint32_t depth_most;
};

struct ttp_below_frame;

struct ttp_below {
    struct ttp_scan scan;           /* event, time and stacks */
    struct ttp_below_frame *frames; /* entered and not left, outermost first */
    uint32_t height, capacity;
    uint32_t tails; /* frames that were open when it began, below all of these */
    uint64_t event_count, call_count, since_ns; /* since: the top frame has its time up to there */
    uint32_t leaving;                           /* frames that the event before still ends */
    uint8_t kind;                               /* how they end */
    bool is_across, is_on;
    ttape_node common; /* what all nodes have in common; level: of the outermost */
};

/* Begins where a scan is. `end`: the node's next frame that is not local begins there, or the
 * segment ends. */
ttape_status ttp_below_begin(struct ttp_below *b, struct ttape_tree *tree,
                             const struct ttp_scan *scan, uint32_t end, uint32_t stream,
                             uint32_t level, ttape_error *err);
/* The next local frames, each behind those below it. TTAPE_END: there is none. */
ttape_status ttp_below_next(struct ttp_below *b, struct ttape_tree *tree,
                            struct ttp_tree_room *room, ttape_error *err);
void ttp_below_close(struct ttp_below *b, struct ttape_tree *tree);

#endif
