/* The tree for programs: one object; its nodes in the order of the text, each with its level, so
 * that no depth is too much for a reader. Times are nanoseconds; null: not known. */
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/io/json.h"
#include "tools/tree/tree_view.h"

struct printing {
    struct tool_tree *view;
    struct tool_json json;
};

static void put_name(struct printing *print, const struct tool_item *item)
{
    const ttape_node *node = &item->node;
    ttape_stream_info stream = {0};
    ttape_process process = {0};
    char buffer[TOOL_LABEL_BYTES];
    uint64_t starter;
    if (item->kind != TOOL_ITEM_NODE)
        return;
    if (node->id.kind == TTAPE_NODE_STREAM) {
        (void)ttape_reader_get_stream(print->view->reader, node->id.stream, &stream);
        (void)ttape_reader_get_process(print->view->reader, stream.stream.process, &process);
        tool_json_string(&print->json, "name",
                         stream.stream.name.size_bytes > 0 ? stream.stream.name : process.name);
        tool_json_number(&print->json, "tid", stream.stream.tid);
        tool_json_number(&print->json, "pid", stream.pid);
        if (tool_tree_starter(print->view, node->id.stream, &starter))
            tool_json_number(&print->json, "started_by", starter);
    } else if (node->frame_kind == TTAPE_EVENT_SIGNAL_BEGIN) {
        tool_json_text(&print->json, "name", "(signal)");
        tool_json_number(&print->json, "signal", node->argument);
    } else {
        tool_json_string(&print->json, "name",
                         tool_site_word(&print->view->names, node->site, buffer));
        tool_json_number(&print->json, "site", node->site);
    }
}

static const char *kind_of(const struct tool_item *item)
{
    switch (item->kind) {
    case TOOL_ITEM_PARTS: return "part";
    case TOOL_ITEM_SEQUENCE: return "sequence";
    default: break;
    }
    if (item->node.id.kind == TTAPE_NODE_STREAM)
        return "thread";
    return item->node.frame_kind == TTAPE_EVENT_SIGNAL_BEGIN ? "signal" : "call";
}

static void put_times(struct printing *print, const struct tool_item *item)
{
    static const char *const ends[] = {"ended", "open", "hidden", "lost", "unseen", "late"};
    const ttape_node *node = &item->node;
    struct tool_json *json = &print->json;
    if (!print->view->has_times)
        return;
    if (item->is_shell) {
        if (node->id.kind == TTAPE_NODE_FRAME)
            tool_json_number(json, "enter_ns", node->enter_ns);
        return;
    }
    tool_json_signed(json, "time_ns", item->time_ns);
    if (item->kind == TOOL_ITEM_SEQUENCE)
        return;
    tool_json_number(json, "enter_ns", node->enter_ns);
    tool_json_number(json, "start_ns", node->start_ns);
    tool_json_number(json, "end_ns", node->end_ns);
    if (item->kind == TOOL_ITEM_NODE && node->id.kind == TTAPE_NODE_FRAME) {
        if (node->frame_kind == TTAPE_EVENT_OPEN)
            tool_json_bool(json, "was_open", true);
        tool_json_text(json, "end", ends[node->end < 6 ? node->end : 0]);
        if (item->open_count > 0)
            tool_json_number(json, "open_frames", item->open_count);
        tool_json_number(json, "end_most_ns", node->end_most_ns);
    }
    if (item->kind == TOOL_ITEM_NODE && !item->is_cut) {
        tool_json_signed(json, "self_ns", node->self_ns);
        tool_json_bool(json, "self_exact", node->self_exact);
        tool_json_signed(json, "rest_ns", node->rest_ns);
    }
}

static void put_pruned(struct printing *print, const struct tool_item *item)
{
    const ttape_pruned *pruned = &item->node.pruned;
    struct tool_json *json = &print->json;
    if (pruned->part_count == 0 || item->is_cut)
        return;
    tool_json_begin(json, "pruned", '{');
    tool_json_number(json, "partitions", pruned->part_count);
    tool_json_number(json, "events", pruned->event_count);
    tool_json_number(json, "calls", pruned->call_count);
    tool_json_bool(json, "calls_exact", pruned->calls_exact);
    if (print->view->has_times)
        tool_json_signed(json, "time_ns", pruned->time_ns);
    tool_json_end(json, '}');
}

/* What is inside of parts, by the summaries. */
static void put_mostly(struct printing *print, const struct tool_item *item)
{
    struct tool_json *json = &print->json;
    char buffer[TOOL_LABEL_BYTES];
    if (item->kind != TOOL_ITEM_PARTS)
        return;
    struct tool_tree_largest largest = tool_tree_get_largest(print->view, item);
    tool_json_begin(json, "mostly", '[');
    for (uint32_t i = 0; i < largest.count; i++) {
        tool_json_begin(json, NULL, '{');
        tool_json_string(json, "name",
                         tool_site_word(&print->view->names, largest.sites[i], buffer));
        tool_json_real(json, "share", (double)largest.shares[i]);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    tool_json_bool(json, "mostly_of_all_threads", largest.of_all_threads);
}

static void put_shorts(struct printing *print, const struct tool_shorts *shorts, bool is_thread)
{
    struct tool_json *json = &print->json;
    const struct tool_short_name *shown[TOOL_TREE_MOSTLY];
    size_t count = tool_shorts_largest(shorts, shown);
    char buffer[TOOL_LABEL_BYTES];
    if (shorts->count == 0)
        return;
    tool_json_begin(json, "shorter", '{');
    tool_json_number(json, "count", shorts->count);
    tool_json_signed(json, "time_ns", shorts->time_ns);
    tool_json_number(json, "events", shorts->event_count);
    tool_json_number(json, "calls", shorts->call_count);
    tool_json_begin(json, "mostly", '[');
    for (size_t i = 0; i < count; i++) {
        tool_json_begin(json, NULL, '{');
        if (is_thread)
            tool_json_number(json, "stream", shown[i]->number);
        else
            tool_json_string(json, "name",
                             tool_site_word(&print->view->names, shown[i]->number, buffer));
        tool_json_number(json, "count", shown[i]->count);
        tool_json_signed(json, "time_ns", shown[i]->time_ns);
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
    tool_json_end(json, '}');
}

static void put_source(struct printing *print, const struct tool_item *item)
{
    const struct tool_tree_source *source = tool_tree_source(print->view, item);
    struct tool_json *json = &print->json;
    if (source == NULL)
        return;
    tool_json_begin(json, "source", '{');
    tool_json_text(json, "file", source->file);
    tool_json_number_if(json, "first_line", source->first > 0, source->first);
    tool_json_number_if(json, "last_line", source->last > 0, source->last);
    tool_json_end(json, '}');
}

static void put_item(struct printing *print, const struct tool_item *item, uint32_t level,
                     uint64_t times)
{
    struct tool_json *json = &print->json;
    const ttape_node *node = &item->node;
    char name[64];
    struct tool_value_call call;
    tool_json_begin(json, NULL, '{');
    tool_json_number(json, "level", level);
    tool_json_text(json, "kind", kind_of(item));
    if (item->kind != TOOL_ITEM_SEQUENCE)
        tool_json_string(json, "node", (ttape_string){name, tool_put_node(name, &node->id)});
    put_name(print, item);
    if (tool_tree_value_call(item, &call))
        tool_json_found_values(&print->view->values, json, &call);
    put_source(print, item);
    if (item->kind == TOOL_ITEM_NODE && node->id.kind == TTAPE_NODE_FRAME) {
        tool_json_number(json, "calls", item->count * times);
        tool_json_number(json, "stack", node->stack);
    } else if (item->kind == TOOL_ITEM_SEQUENCE) {
        tool_json_number(json, "repeats", item->count);
    }
    put_times(print, item);
    if (node->counts_exact && item->kind == TOOL_ITEM_NODE) {
        tool_json_number(json, "events_below", node->event_count);
        tool_json_number(json, "calls_below", node->call_count);
    }
    put_pruned(print, item);
    put_mostly(print, item);
    put_shorts(print, &item->shorts, false);
    tool_json_bool(json, "deeper", item->deeper);
    tool_json_end(json, '}');
    for (size_t i = 0; i < item->child_count && json->out->failed_errno == 0; i++)
        put_item(print, &item->children[i], level + 1, item->count * times);
}

void tool_tree_json(struct tool_tree *view, struct tool_output *out)
{
    struct printing print = {.view = view};
    tool_json_open(&print.json, out);
    tool_json_begin(&print.json, NULL, '{');
    tool_json_text(&print.json, "file", view->input->name);
    tool_json_bool(&print.json, "full", view->full);
    tool_json_number(&print.json, "lost_events", tool_lost_events(view->reader));
    if (view->selection->has_range) {
        tool_json_number(&print.json, "from_ns", view->selection->from_ns);
        tool_json_number(&print.json, "to_ns", view->selection->to_ns);
    }
    tool_json_signed(&print.json, "min_time_ns", view->min_ns > 0 ? view->min_ns : 0);
    put_shorts(&print, &view->shorts, true);
    tool_json_begin(&print.json, "nodes", '[');
    for (size_t i = 0; i < view->item_count; i++)
        put_item(&print, &view->items[i], 0, 1);
    tool_json_end(&print.json, ']');
    tool_json_end(&print.json, '}');
}
