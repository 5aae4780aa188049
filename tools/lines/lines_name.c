/* Calls that go from one partition to the next have names by partition in a tree (s0p3f1): which
 * one that is, by its thread, begin, function and depth. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/tree.h>

#include "tools/calls/stream_choice.h"
#include "tools/command/options.h"
#include "program/lines/lines_inside.h"

#define SAME_TIME_MAX 4096 /* events that are looked at where a call may begin */

bool tool_lines_parse_call(const char *text, void *into)
{
    struct tool_lines_name *name = into;
    *name = (struct tool_lines_name){.text = text};
    if (tool_parse_call(text, &name->call))
        return true;
    name->call.given = name->is_node =
        tool_parse_node(text, &name->node) && name->node.kind != TTAPE_NODE_STREAM;
    return name->is_node;
}

/* The enter of a node in its stream. */
static bool find_enter(const struct tool_lines *view, const ttape_node *node,
                       struct tool_call_id *call)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_error err = {0};
    bool is_found = false;
    if (ttape_cursor_open(&cursor, view->reader, node->id.stream, &err) != TTAPE_OK)
        return false;
    if (ttape_cursor_seek_time(cursor, node->enter_ns, &err) == TTAPE_OK)
        for (int i = 0; i < SAME_TIME_MAX && !is_found; i++) {
            if (ttape_cursor_next(cursor, &item, &err) != TTAPE_OK ||
                item.event.time_ns != node->enter_ns)
                break;
            is_found = item.event.kind == TTAPE_EVENT_ENTER && item.event.site == node->site &&
                       item.event.depth == node->level;
        }
    ttape_cursor_close(cursor);
    *call = (struct tool_call_id){
        .given = true, .stream = node->id.stream, .event = is_found ? item.number : 0};
    return is_found;
}

int tool_lines_find_call(const struct tool_lines *view, const struct tool_lines_name *name,
                         struct tool_call_id *call)
{
    ttape_tree *tree;
    ttape_node node;
    ttape_error err = {0};
    *call = name->call;
    if (!name->is_node)
        return TOOL_OK;
    if (name->node.kind == TTAPE_NODE_PART)
        return tool_fail("'%s' is what is inside of a partition, and no call: `tracetape tree "
                         "--open %s` shows the calls in it",
                         name->text, name->text);
    ttape_status status = ttape_tree_open(&tree, view->reader, NULL, &err);
    if (status == TTAPE_OK)
        status = ttape_tree_get_node(tree, &name->node, TTAPE_TREE_OPENED, &node, &err);
    ttape_tree_close(tree);
    if (status != TTAPE_OK && status != TTAPE_E_NOT_FOUND)
        return tool_fail_error(view->input->name, &err);
    if (status != TTAPE_OK)
        return tool_fail("'%s' has no call '%s'", view->input->name, name->text);
    if (node.frame_kind != TTAPE_EVENT_ENTER || !find_enter(view, &node, call))
        return tool_fail("'%s': the begin of call '%s' is not in it, so that its lines are not "
                         "known: --function and --time choose what is there",
                         view->input->name, name->text);
    return TOOL_OK;
}
