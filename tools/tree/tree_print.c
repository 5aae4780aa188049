/* The tree for people: numbers to the left, calls to the right, indented. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/io/table.h"
#include "tools/tree/tree_view.h"

#define INDENT_MOST    40u  /* levels that are shown by blanks */
#define NARROW_COLUMNS 100u /* of a terminal: names need what deep levels would take */
#define LEAST_TREE     36u  /* columns of a terminal: others are left out first */
#define LEAST_NAME     20u  /* at the deepest level */
#define LEAST_DEEP     44u  /* however deep: NODE stays */

enum column_id { TIME, SELF, CALLS, EVENTS, PRUNED_CALLS, PRUNED_TIME, NODE, TREE, COLUMN_COUNT };

static const struct tool_column columns[COLUMN_COUNT] = {
    [TIME] = {"TIME", .rank = 0},
    [SELF] = {"SELF", .rank = 2},
    [CALLS] = {"CALLS", .rank = 3},
    [EVENTS] = {"PRUNED EVENTS", .rank = 4},
    [PRUNED_CALLS] = {"PRUNED CALLS", .rank = 5},
    [PRUNED_TIME] = {"PRUNED TIME", .rank = 6},
    [NODE] = {"NODE", .is_text = true, .rank = 1},
    [TREE] = {"TREE", .is_text = true, .gives_way = true},
};

struct printing {
    struct tool_tree *view;
    struct tool_table table;
    int64_t longest_ns;
    size_t step;    /* blanks of a level */
    size_t deepest; /* blanks in front of a name, at most */
    bool colours;
    struct tool_output text; /* values */
};

/* ---- texts ---- */

static size_t put_text(char *at, size_t size_bytes, const char *text)
{
    size_t length = strlen(text);
    length = length < size_bytes ? length : size_bytes;
    memcpy(at, text, length);
    return length;
}

static size_t put_indent(struct printing *print, char *at, uint32_t level)
{
    size_t size = (level < INDENT_MOST ? level : INDENT_MOST) * print->step;
    print->deepest = size > print->deepest ? size : print->deepest;
    memset(at, ' ', size);
    return level <= INDENT_MOST ? size : size + (size_t)sprintf(at + size, "(%" PRIu32 ") ", level);
}

static size_t put_stream(struct printing *print, char *at, size_t size_bytes,
                         const struct tool_item *item)
{
    uint32_t number = item->node.id.stream;
    bool lacks_calls = item->deeper && print->view->is_bounded;
    ttape_stream_info stream = {0};
    ttape_process process = {0};
    char name[256 * TTP_ESCAPE_MAX];
    (void)ttape_reader_get_stream(print->view->reader, number, &stream);
    (void)ttape_reader_get_process(print->view->reader, stream.stream.process, &process);
    ttape_string shown = stream.stream.name.size_bytes > 0 ? stream.stream.name : process.name;
    size_t size = ttp_escape(name, TTP_ESCAPE_TERMINAL, shown.data,
                             shown.size_bytes < 256 ? shown.size_bytes : 256);
    uint64_t starter;
    char started[48] = "";
    if (tool_tree_starter(print->view, number, &starter))
        snprintf(started, sizeof(started), ", started by thread %" PRIu64, starter);
    int length = snprintf(at, size_bytes, "thread %" PRIu64 " of process %" PRIu64 "%s%.*s%s%s",
                          stream.stream.tid, stream.pid, size > 0 ? ", " : "", (int)size, name,
                          started, lacks_calls ? "  ..." : "");
    return length < 0 ? 0 : (size_t)length < size_bytes ? (size_t)length : size_bytes - 1;
}

static size_t put_end(const struct tool_tree *view, char *at, size_t size_bytes,
                      const struct tool_item *item)
{
    const ttape_node *node = &item->node;
    char text[64] = "";
    size_t size = 0;
    if (node->frame_kind == TTAPE_EVENT_OPEN)
        size = put_text(at, size_bytes, "  [was running already]");
    if (node->end == TTAPE_NODE_OPEN)
        snprintf(text, sizeof(text), "  [open at the end]");
    else if (node->end == TTAPE_NODE_LOST)
        snprintf(text, sizeof(text), "  [end is missing]");
    else if (node->end == TTAPE_NODE_UNSEEN || node->end == TTAPE_NODE_LATE)
        snprintf(text, sizeof(text), "  [end not seen]");
    else if (node->end == TTAPE_NODE_HIDDEN && !view->shows_partitions)
        snprintf(text, sizeof(text), "  [end not read: --open]");
    else if (node->end == TTAPE_NODE_HIDDEN)
        snprintf(text, sizeof(text), "  [ends in partition %" PRIu32 "]", node->last_partition);
    size += put_text(at + size, size_bytes - size, text);
    if (node->end == TTAPE_NODE_OPEN || item->open_count == 0)
        return size;
    snprintf(text, sizeof(text), "  [%" PRIu64 " open at the end]", item->open_count);
    return size + put_text(at + size, size_bytes - size, text);
}

/* " (program.c:12-40)" */
static size_t put_source(const struct tool_tree *view, char *at, size_t size_bytes,
                         const struct tool_item *item)
{
    const struct tool_tree_source *source = tool_tree_source(view, item);
    char name[256 * TTP_ESCAPE_MAX], lines[32] = "";
    if (source == NULL)
        return 0;
    const char *slash = strrchr(source->file, '/'),
               *base = slash != NULL ? slash + 1 : source->file;
    size_t size = put_text(at, size_bytes, " (");
    name[ttp_escape(name, TTP_ESCAPE_TERMINAL, base, strnlen(base, 255))] = '\0';
    size += put_text(at + size, size_bytes - size, name);
    if (source->last > source->first)
        snprintf(lines, sizeof(lines), ":%" PRIu32 "-%" PRIu32, source->first, source->last);
    else if (source->first > 0)
        snprintf(lines, sizeof(lines), ":%" PRIu32, source->first);
    size += put_text(at + size, size_bytes - size, lines);
    return size + put_text(at + size, size_bytes - size, ")");
}

/* "(fd=3) = 7" of a single call */
static size_t put_values(struct printing *print, char *at, size_t size_bytes,
                         const struct tool_item *item)
{
    struct tool_value_call call;
    if (!tool_tree_value_call(item, &call))
        return 0;
    print->text.size_bytes = 0;
    tool_put_found_values(&print->view->values, &print->text, &call);
    size_t size = print->text.size_bytes < size_bytes ? print->text.size_bytes : size_bytes;
    memcpy(at, print->text.data, size);
    return size;
}

static size_t put_frame(struct printing *print, char *at, size_t size_bytes,
                        const struct tool_item *item)
{
    const ttape_node *node = &item->node;
    size_t size = 0;
    char number[64];
    if (node->frame_kind == TTAPE_EVENT_SIGNAL_BEGIN) {
        snprintf(number, sizeof(number), "(signal %" PRIu32 ")", node->argument);
        size = put_text(at, size_bytes, number);
    } else {
        size = put_text(at, size_bytes, tool_site_name(&print->view->names, node->site));
        size += put_values(print, at + size, size_bytes - size, item);
        size += put_source(print->view, at + size, size_bytes - size, item);
    }
    if (item->count > 1) {
        snprintf(number, sizeof(number), " x %" PRIu64 "%s", item->count,
                 item->is_apart ? ", not in a row" : "");
        size += put_text(at + size, size_bytes - size, number);
    }
    if (node->stack != 0) {
        snprintf(number, sizeof(number), " (stack %" PRIu32 ")", node->stack);
        size += put_text(at + size, size_bytes - size, number);
    }
    size += put_end(print->view, at + size, size_bytes - size, item);
    if (item->deeper)
        size += put_text(at + size, size_bytes - size, "  ...");
    return size;
}

/* "parse_line 41 %, read_word 20 %": by own time. */
static size_t put_mostly(struct printing *print, char *at, size_t size_bytes,
                         const struct tool_item *item)
{
    char text[96];
    struct tool_tree_largest largest = tool_tree_get_largest(print->view, item);
    size_t size = put_text(at, size_bytes, largest.of_all_threads ? "[all threads: " : "[");
    for (uint32_t i = 0; i < largest.count; i++) {
        snprintf(text, sizeof(text), "%s%.64s %.0f %%", i > 0 ? ", " : "",
                 tool_site_name(&print->view->names, largest.sites[i]),
                 100 * (double)largest.shares[i]);
        size += put_text(at + size, size_bytes - size, text);
    }
    return size + put_text(at + size, size_bytes - size, largest.count > 0 ? "]" : "...]");
}

static size_t put_parts(char *at, size_t size_bytes, const struct tool_item *item)
{
    const ttape_pruned *pruned = &item->node.pruned;
    char text[40];
    size_t size = put_text(at, size_bytes, "[");
    size +=
        put_text(at + size, size_bytes - size, pruned->part_count == 1 ? "in partition " : "in ");
    size_t length = tool_put_count(text, pruned->part_count == 1 ? item->node.first_partition
                                                                 : pruned->part_count);
    text[length] = '\0';
    size += put_text(at + size, size_bytes - size, text);
    return size +
           put_text(at + size, size_bytes - size, pruned->part_count == 1 ? "]" : " partitions]");
}

/* ---- cells ---- */

static enum tool_tone tone_of(const struct printing *print, const struct tool_item *item)
{
    if (item->kind == TOOL_ITEM_PARTS)
        return TOOL_FAINT;
    if (print->longest_ns <= 0 || item->node.id.kind == TTAPE_NODE_STREAM)
        return TOOL_PLAIN;
    double share = (double)item->time_ns / (double)print->longest_ns;
    return share >= 0.2 ? TOOL_HOT : share >= 0.05 ? TOOL_WARM : TOOL_PLAIN;
}

/* Least values have a sign in front. */
static void put_time(struct printing *print, enum tool_tone tone, int64_t time_ns, bool is_least)
{
    tool_table_time_marked(&print->table, tone, time_ns, is_least ? ">=" : "");
}

static void put_blank(struct printing *print) { tool_table_text(&print->table, TOOL_PLAIN, ""); }

static void put_count(struct printing *print, enum tool_tone tone, uint64_t count, bool is_shared)
{
    char text[48];
    size_t lead = is_shared ? put_text(text, 1, "~") : 0;
    tool_table_bytes(&print->table, tone, text, lead + tool_put_count(text + lead, count));
}

static void put_times(struct printing *print, const struct tool_item *item, enum tool_tone tone)
{
    const ttape_node *node = &item->node;
    bool is_frame = item->kind == TOOL_ITEM_NODE && node->id.kind == TTAPE_NODE_FRAME;
    if (!print->view->has_times || item->is_shell) {
        put_blank(print);
        put_blank(print);
        return;
    }
    if (node->end == TTAPE_NODE_LATE)
        tool_table_time_marked(&print->table, tone, item->time_ns, "~");
    else
        put_time(print, tone, item->time_ns,
                 node->end == TTAPE_NODE_HIDDEN || node->end == TTAPE_NODE_UNSEEN);
    if (item->is_cut || !(is_frame || item->kind == TOOL_ITEM_SEQUENCE))
        put_blank(print);
    else
        put_time(print, TOOL_PLAIN, node->self_ns, !node->self_exact);
}

static void put_pruned(struct printing *print, const struct tool_item *item)
{
    const ttape_pruned *pruned = &item->node.pruned;
    if (pruned->part_count == 0 || item->is_cut) {
        put_blank(print);
        put_blank(print);
        put_blank(print);
        return;
    }
    put_count(print, TOOL_FAINT, pruned->event_count, false);
    put_count(print, TOOL_FAINT, pruned->call_count, !pruned->calls_exact);
    if (print->view->has_times) {
        put_time(print, TOOL_FAINT, item->kind == TOOL_ITEM_PARTS ? item->time_ns : pruned->time_ns,
                 false);
    } else {
        put_blank(print);
    }
}

static void put_tree(struct printing *print, const struct tool_item *item, uint32_t level,
                     enum tool_tone tone)
{
    char text[8192];
    size_t size = put_indent(print, text, level), room = sizeof(text) - 1024;
    if (item->kind == TOOL_ITEM_PARTS)
        size += print->view->shows_partitions ? put_parts(text + size, room, item)
                                              : put_mostly(print, text + size, room, item);
    else if (item->kind == TOOL_ITEM_SEQUENCE)
        size += (size_t)snprintf(text + size, room, "%" PRIu64 " times:", item->count);
    else if (item->node.id.kind == TTAPE_NODE_STREAM)
        size += put_stream(print, text + size, room, item);
    else
        size += put_frame(print, text + size, room, item);
    tool_table_bytes(&print->table, tone, text, size);
}

static size_t put_short_name(struct printing *print, char *at, size_t size_bytes,
                             const struct tool_short_name *name, bool is_thread)
{
    char text[192];
    ttape_stream_info stream = {0};
    if (is_thread) {
        (void)ttape_reader_get_stream(print->view->reader, name->number, &stream);
        snprintf(text, sizeof(text), "%" PRIu64, stream.stream.tid);
    } else if (name->count == 1) {
        snprintf(text, sizeof(text), "%.128s", tool_site_name(&print->view->names, name->number));
    } else {
        snprintf(text, sizeof(text), "%.128s x %" PRIu64,
                 tool_site_name(&print->view->names, name->number), name->count);
    }
    return put_text(at, size_bytes, text);
}

/* "[shorter: read x 3, close]", whose number is beside it: the largest by time. */
static void put_shorts(struct printing *print, const struct tool_shorts *shorts, uint32_t level,
                       bool is_thread)
{
    char text[1024];
    const struct tool_short_name *shown[TOOL_TREE_MOSTLY];
    if (shorts->count == 0)
        return;
    if (print->view->has_times)
        put_time(print, TOOL_FAINT, shorts->time_ns, false);
    else
        put_blank(print);
    put_blank(print);
    put_count(print, TOOL_FAINT, shorts->count, false);
    for (int i = 0; i < 4; i++)
        put_blank(print);
    size_t size = put_indent(print, text, level), count = tool_shorts_largest(shorts, shown);
    if (is_thread)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "[%" PRIu64 " shorter thread%s",
                                 shorts->count, shorts->count == 1 ? "" : "s");
    else
        size += put_text(text + size, sizeof(text) - size, "[shorter");
    for (size_t i = 0; i < count; i++) {
        size += put_text(text + size, sizeof(text) - size, i == 0 ? ": " : ", ");
        size += put_short_name(print, text + size, sizeof(text) - size, shown[i], is_thread);
    }
    size += put_text(text + size, sizeof(text) - size,
                     shorts->name_count > count && count > 0 ? ", ...]" : "]");
    tool_table_bytes(&print->table, TOOL_FAINT, text, size);
}

/* The node's time in the partitions where it begins and ends, which no child accounts for. */
static void put_rest(struct printing *print, const struct tool_item *item, uint32_t level)
{
    char text[512];
    if (item->node.rest_ns < print->view->min_ns || item->node.rest_ns == 0 || item->is_cut ||
        item->deeper || !print->view->has_times)
        return;
    put_time(print, TOOL_FAINT, item->node.rest_ns, false);
    for (int i = 0; i < 6; i++)
        put_blank(print);
    size_t size = put_indent(print, text, level);
    size += put_text(text + size, sizeof(text) - size, "[its begin and end: --open]");
    tool_table_bytes(&print->table, TOOL_FAINT, text, size);
}

/* `times`: how often the parent stands for. */
static void put_item(struct printing *print, const struct tool_item *item, uint32_t level,
                     uint64_t times)
{
    char name[64];
    enum tool_tone tone = tone_of(print, item);
    bool is_frame = item->kind == TOOL_ITEM_NODE && item->node.id.kind == TTAPE_NODE_FRAME;
    put_times(print, item, tone);
    if (is_frame)
        put_count(print, TOOL_PLAIN, item->count * times, false);
    else
        put_blank(print);
    put_pruned(print, item);
    if (item->kind == TOOL_ITEM_SEQUENCE)
        put_blank(print);
    else
        tool_table_bytes(&print->table, TOOL_FAINT, name, tool_put_node(name, &item->node.id));
    put_tree(print, item, level, tone);
    for (size_t i = 0; i < item->child_count; i++)
        put_item(print, &item->children[i], level + 1, item->count * times);
    put_shorts(print, &item->shorts, level + 1, false);
    put_rest(print, item, level + 1);
}

void tool_tree_print(struct tool_tree *view, struct tool_output *out)
{
    unsigned terminal = tool_terminal_columns();
    struct printing print = {.view = view,
                             .colours = tool_terminal_colours(),
                             .step = terminal > 0 && terminal < NARROW_COLUMNS ? 1 : 2};
    for (size_t i = 0; i < view->item_count; i++) {
        int64_t time = view->items[i].time_ns;
        print.longest_ns = time > print.longest_ns ? time : print.longest_ns;
    }
    tool_output_open(&print.text, -1);
    tool_table_open(&print.table, columns, COLUMN_COUNT);
    for (size_t i = 0; i < view->item_count; i++)
        put_item(&print, &view->items[i], 0, 1);
    put_shorts(&print, &view->shorts, 0, true);
    unsigned width = tool_table_width(&print.table, view->names.is_shortened);
    size_t least = print.deepest + LEAST_NAME;
    least = least < LEAST_TREE ? LEAST_TREE : least > LEAST_DEEP ? LEAST_DEEP : least;
    print.table.least = print.table.keeps_all ? print.table.least : least;
    tool_table_print(&print.table, out, width, print.colours);
    tool_table_close(&print.table);
    free(print.text.data);
}
