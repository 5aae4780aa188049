/* Calls that go from one partition to the next have names by partition in a tree (s0p3f1): which
 * one that is, by its thread, begin, function and depth. */
#include "tools/calls/call_name.h"

#include <stdarg.h>
#include <stdio.h>

#include <tracetape/calls.h>

#include "tools/command/tool.h"

#define SAME_TIME_MAX 4096 /* events that are looked at where a call may begin */

bool tool_parse_call_name(const char *text, void *into)
{
    struct tool_call_name *name = into;
    *name = (struct tool_call_name){.text = text};
    if (tool_parse_call(text, &name->call))
        return true;
    name->is_node = tool_parse_node(text, &name->node) && name->node.kind != TTAPE_NODE_STREAM;
    name->text = name->is_node ? text : NULL;
    return name->is_node;
}

/* The enter of a node in its stream. */
static bool find_enter(ttape_reader *reader, const ttape_node *node, struct tool_lines_call *call)
{
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_error err = {0};
    bool is_found = false;
    if (ttape_cursor_open(&cursor, reader, node->id.stream, &err) != TTAPE_OK)
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
    *call = (struct tool_lines_call){node->id.stream, is_found ? item.number : 0};
    return is_found;
}

static ttape_status find_node(ttape_reader *reader, const struct tool_call_name *name,
                              ttape_node *node, ttape_error *err)
{
    ttape_tree *tree;
    ttape_status status = ttape_tree_open(&tree, reader, NULL, err);
    if (status == TTAPE_OK)
        status = ttape_tree_get_node(tree, &name->node, TTAPE_TREE_OPENED, node, err);
    ttape_tree_close(tree);
    return status;
}

TOOL_PRINTF(2, 3)
static ttape_status find_nothing(ttape_error *err, const char *format, ...)
{
    va_list values;
    *err = (ttape_error){.status = TTAPE_E_NOT_FOUND, .offset = TTAPE_ERROR_NO_OFFSET};
    va_start(values, format);
    (void)vsnprintf(err->message, sizeof err->message, format, values);
    va_end(values);
    return err->status;
}

ttape_status tool_find_call(ttape_reader *reader, const struct tool_call_name *name,
                            struct tool_lines_call *call, ttape_error *err)
{
    ttape_node node;
    *call = (struct tool_lines_call){name->call.stream, name->call.event};
    if (!name->is_node)
        return TTAPE_OK;
    if (name->node.kind == TTAPE_NODE_PART)
        return find_nothing(err,
                            "'%s' is what is inside of a partition, and no call: `tracetape tree "
                            "--open %s` shows the calls in it",
                            name->text, name->text);
    ttape_status status = find_node(reader, name, &node, err);
    if (status == TTAPE_E_NOT_FOUND)
        return find_nothing(err, "it has no call '%s'", name->text);
    if (status != TTAPE_OK)
        return status;
    if (node.frame_kind != TTAPE_EVENT_ENTER || !find_enter(reader, &node, call))
        return find_nothing(err,
                            "the begin of call '%s' is not in it, so that its lines are not known: "
                            "--function and --time choose what is there",
                            name->text);
    return TTAPE_OK;
}
