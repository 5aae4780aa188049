/* Verifies what decoded codes do to the stacks: the rules of format/order/order.h that no
 * single code can show. Every caller of an order decoder whose codes are literal runs it before
 * anybody builds frames from them. spec/raw.md, O-CHK. */
#ifndef TTP_FORMAT_ORDER_CHECK_H
#define TTP_FORMAT_ORDER_CHECK_H

#include "format/order/order.h"

/* What a check sees on its way, for callers that want it. Depths are numbers of frames on the
 * running stack, at the segment's start and after each of its events. A NULL array is not filled.
 */
struct ttp_order_edges {
    uint32_t *min_depth, *max_depth; /* segment_count entries each */
    /* The frames open at each segment's end, as ttp_order has those at its start; stacks ascending,
     * empty ones left out. All four arrays or, with end_start NULL, none. TTAPE_E_LIMIT when
     * end_capacity frames are too few. */
    uint32_t *end_start;         /* segment_count + 1 entries */
    uint32_t *end, *end_stack;   /* end_capacity entries: symbol and stack */
    uint32_t *end_running_stack; /* segment_count entries */
    uint32_t end_capacity;
};

/* Bytes, linear in both: open_count is the number of open frames of the segment with the most. */
size_t ttp_order_check_workspace(uint32_t event_count, uint32_t open_count);

/* TTAPE_OK, or TTAPE_E_CORRUPT with the rule; the message names the event, since no byte offset is
 * known here. Iterative; time is linear, apart from sorting the numbers of the stacks that a
 * segment switches to. */
ttape_status ttp_order_check(const struct ttp_order_out *order, void *ws, size_t ws_bytes,
                             ttape_error *err);

/* The same, and fills *edges. What it holds after a failure means nothing. */
ttape_status ttp_order_check_edges(const struct ttp_order_out *order, struct ttp_order_edges *edges,
                                   void *ws, size_t ws_bytes, ttape_error *err);

#endif
