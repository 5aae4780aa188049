/* Which thread started a thread: by the fact at its beginning (spec/facts.md, F-FCT-02). Nothing is
 * decoded where the beginning is not in the file; nor for many threads of a large trace, whose tree
 * is there at once without that. */
#include <string.h>

#include "tools/tree/tree_view.h"

#define FACT_START  "tracetape:thread_start"
#define EVENTS_MOST (UINT64_C(1) << 22) /* that are decoded for it in a view of summaries */
#define BEGINNING   8u /* events among which the fact is: frames may be open before it */

/* Each thread may begin in a partition of its own. */
static bool is_cheap(const ttape_reader *reader)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    uint64_t partitions = info.partition_count;
    return info.event_count <= EVENTS_MOST ||
           (info.stream_count < partitions &&
            info.event_count / partitions * info.stream_count <= EVENTS_MOST);
}

void tool_tree_find_starters(struct tool_tree *view, bool decodes_anyway)
{
    view->has_starters = (decodes_anyway || is_cheap(view->reader)) &&
                         tool_find_sites(&view->names, FACT_START, NULL, 0) != 0;
}

static bool is_start(const ttape_reader *reader, const ttape_event_item *item)
{
    ttape_site site;
    return item->event.kind == TTAPE_EVENT_LEAF && item->value_count >= 2 &&
           item->values[0].type == TTAPE_VALUE_UNSIGNED &&
           item->values[1].type == TTAPE_VALUE_UNSIGNED &&
           ttape_reader_get_site(reader, item->event.site, &site) == TTAPE_OK &&
           tool_text_is(site.symbol, FACT_START);
}

bool tool_tree_starter(const struct tool_tree *view, uint32_t stream, uint64_t *tid)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_stream_info info = {0};
    bool found = false;
    if (!view->has_starters || ttape_reader_get_stream(view->reader, stream, &info) != TTAPE_OK ||
        info.first_event != 0 || ttape_cursor_open(&cursor, view->reader, stream, NULL) != TTAPE_OK)
        return false;
    for (uint32_t i = 0; i < BEGINNING && !found; i++) {
        if (ttape_cursor_next(cursor, &item, NULL) != TTAPE_OK)
            break; /* damage is told where the tree meets it */
        found = is_start(view->reader, &item);
    }
    if (found)
        *tid = item.values[1].number;
    ttape_cursor_close(cursor);
    return found;
}
