/* Which calls of a tree can be looked up for their values: those that stand alone. */
#include "tools/tree/tree_view.h"

bool tool_tree_value_call(const struct tool_item *item, struct tool_value_call *call)
{
    const ttape_node *node = &item->node;
    bool is_numbered = node->id.by == TTAPE_NODE_BY_EVENT;
    if (item->kind != TOOL_ITEM_NODE || node->id.kind != TTAPE_NODE_FRAME || item->is_sum ||
        node->frame_kind != TTAPE_EVENT_ENTER)
        return false;
    *call = (struct tool_value_call){.stream = node->id.stream,
                                     .site = node->site,
                                     .partition = node->first_partition,
                                     .enter_ns = node->enter_ns,
                                     .enter_number =
                                         is_numbered ? node->id.place : TOOL_VALUE_NO_NUMBER,
                                     .end_number = TOOL_VALUE_NO_NUMBER};
    if (is_numbered && node->counts_exact && node->end == TTAPE_NODE_ENDED && !item->is_shell)
        call->end_number = node->id.place + node->event_count - 1;
    return true;
}
