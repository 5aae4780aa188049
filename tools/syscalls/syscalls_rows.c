/* Rows: what has most time first; of paths also as a tree. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/syscalls/syscalls_view.h"

static int compare_sums(const struct tool_sys_sum *a, const struct tool_sys_sum *b)
{
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    if (a->calls != b->calls)
        return a->calls < b->calls ? 1 : -1;
    return 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct tool_sys_row *a = left, *b = right;
    int order = compare_sums(&a->within, &b->within);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static void add_row(struct tool_sys_rows *rows, uint32_t index, const struct tool_sys_sum *within,
                    const struct tool_sys_sum *exact)
{
    rows->rows[rows->count++] =
        (struct tool_sys_row){.index = index, .within = *within, .exact = *exact};
}

static bool is_deep(const struct tool_sys_node *node, const struct tool_sys_shape *shape)
{
    return shape->depth > 0 && node->depth > shape->depth;
}

/* Collapsed, a node has all calls below it: those of its own, and of what is not shown. */
static void list_paths(struct tool_sys_rows *rows, struct tool_sys *view,
                       const struct tool_sys_shape *shape)
{
    for (uint32_t i = 0; i < view->node_count; i++) {
        const struct tool_sys_node *node = &view->nodes[i];
        bool is_edge = shape->depth > 0 && node->depth == shape->depth;
        if (node->within.calls > 0 && !is_deep(node, shape) && (node->exact.calls > 0 || is_edge))
            add_row(rows, i, i == TOOL_SYS_ROOT ? &node->exact : &node->within, &node->exact);
    }
    qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
}

/* ---- the tree ---- */

struct ordering {
    struct tool_sys_row *rows;
    uint32_t *first; /* by node: where its children are in rows; they lie together */
    uint32_t *count;
};

static int compare_siblings(const void *left, const void *right)
{
    const struct tool_sys_row *a = left, *b = right;
    return a->parent != b->parent ? (a->parent > b->parent) - (a->parent < b->parent)
                                  : compare_rows(a, b);
}

static void put_subtrees(struct tool_sys_rows *rows, const struct ordering *order)
{
    size_t capacity = 0, depth = 0;
    uint32_t *todo = NULL; /* rows of `order`, the next one last */
    tool_grow((void **)&todo, &capacity, 1, sizeof(*todo));
    for (uint32_t i = order->count[TOOL_SYS_ROOT]; i > 0; i--) {
        tool_grow((void **)&todo, &capacity, depth + 1, sizeof(*todo));
        todo[depth++] = order->first[TOOL_SYS_ROOT] + i - 1;
    }
    while (depth > 0) {
        const struct tool_sys_row *row = &order->rows[todo[--depth]];
        add_row(rows, row->index, &row->within, &row->exact);
        for (uint32_t i = order->count[row->index]; i > 0; i--) {
            tool_grow((void **)&todo, &capacity, depth + 1, sizeof(*todo));
            todo[depth++] = order->first[row->index] + i - 1;
        }
    }
    free(todo);
}

static void expand_paths(struct tool_sys_rows *rows, struct tool_sys *view,
                         const struct tool_sys_shape *shape)
{
    struct tool_sys_rows all = {.rows = tool_allocate(view->node_count, sizeof(*all.rows))};
    struct ordering order = {.first = tool_allocate(view->node_count, sizeof(uint32_t)),
                             .count = tool_allocate(view->node_count, sizeof(uint32_t))};
    for (uint32_t i = 1; i < view->node_count; i++)
        if (view->nodes[i].within.calls > 0 && !is_deep(&view->nodes[i], shape))
            add_row(&all, i, &view->nodes[i].within, &view->nodes[i].exact);
    for (size_t i = 0; i < all.count; i++)
        all.rows[i].parent = view->nodes[all.rows[i].index].parent;
    qsort(all.rows, all.count, sizeof(*all.rows), compare_siblings);
    for (size_t i = 0; i < all.count; i++) {
        uint32_t above = all.rows[i].parent;
        if (order.count[above]++ == 0)
            order.first[above] = (uint32_t)i;
    }
    order.rows = all.rows;
    put_subtrees(rows, &order);
    free(all.rows);
    free(order.first);
    free(order.count);
}

/* ---- what is asked for ---- */

static void list_sums(struct tool_sys_rows *rows, const struct tool_sys_sum *sums, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (sums[i].calls > 0)
            add_row(rows, i, &sums[i], &sums[i]);
    qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
}

void tool_sys_rows_make(struct tool_sys_rows *rows, struct tool_sys *view,
                        const struct tool_sys_shape *shape)
{
    size_t most = view->asked.by == TOOL_SYS_BY_PATH   ? view->node_count
                  : view->asked.by == TOOL_SYS_BY_CALL ? view->functions.count
                                                       : view->module_count + 1u;
    *rows = (struct tool_sys_rows){.rows = tool_allocate(most, sizeof(*rows->rows))};
    if (view->asked.by == TOOL_SYS_BY_CALL)
        list_sums(rows, view->by_function, view->functions.count);
    else if (view->asked.by == TOOL_SYS_BY_MODULE)
        list_sums(rows, view->by_module, view->module_count + 1);
    else if (shape->expand)
        expand_paths(rows, view, shape);
    else
        list_paths(rows, view, shape);
    if (shape->limit > 0 && rows->count > shape->limit) {
        rows->left_out = rows->count - (size_t)shape->limit;
        rows->count = (size_t)shape->limit;
    }
}

void tool_sys_rows_free(struct tool_sys_rows *rows) { free(rows->rows); }

/* ---- names ---- */

const char *tool_sys_step_name(struct tool_sys *view, uint32_t function, char *buffer)
{
    if (function == TOOL_SYS_CUT)
        return "(not known)";
    if (function < view->functions.count)
        return tool_site_name(&view->names, view->functions.functions[function].site);
    snprintf(buffer, TOOL_SYS_NAME_BYTES, "(signal %" PRIu32 ")", function & ~TOOL_SYS_SIGNAL);
    return buffer;
}

/* Of a path that is longer than a cell the inner frames stay. */
void tool_sys_put_path(struct tool_sys *view, struct tool_output *text, uint32_t node,
                       const char *between)
{
    char buffer[TOOL_SYS_NAME_BYTES];
    uint32_t depth = view->nodes[node].depth, count = 0, *steps = tool_allocate(depth + 1u, 4);
    size_t size = 0;
    for (uint32_t at = node; at != TOOL_SYS_ROOT; at = view->nodes[at].parent) {
        size +=
            strlen(tool_sys_step_name(view, view->nodes[at].function, buffer)) + strlen(between);
        if (size > TOOL_OUTPUT_BYTES / 2)
            break;
        steps[count++] = view->nodes[at].function;
    }
    if (count < depth)
        tool_output_printf(text, "...%s", between);
    for (uint32_t i = count; i > 0; i--)
        tool_output_printf(text, "%s%s", tool_sys_step_name(view, steps[i - 1], buffer),
                           i > 1 ? between : "");
    if (depth == 0)
        tool_output_text(text, "(no path)");
    free(steps);
}
