/* Calls by their paths: a flame graph, where width is time, and a tree, a line for each path. Both
 * keep the largest paths; what is below these is said. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/export/export_stacks.h"
#include "tools/export/picture/picture.h"
#include "tools/io/table.h"

#define KEPT_MOST  20000u /* paths while they are counted */
#define FLAME_MOST (TOOL_PICTURE_SHAPES - 8)
#define TREE_MOST  60u
#define FLAME_PART 4000u             /* of the whole, that a bar has at least: a third of a pixel */
#define TREE_PART  1000u             /* ... and a line */
#define ALL_LABEL  (TTAPE_NONE - 1u) /* of the first node, which is the whole run */
#define TOP        50
#define TREE_BAR   220.0
#define INDENT     14

struct node {
    uint32_t depth, label;
    uint32_t parent;
    uint64_t self, total;
    bool is_open;
    double x; /* nanoseconds from the left */
};

struct tree {
    struct tool_export *export;
    struct node *nodes; /* parents before what is in them */
    size_t count, capacity;
    size_t *open; /* nodes of the path that is visited, by depth */
    size_t open_capacity;
    uint32_t open_count;
    uint64_t left_out;
};

static int compare_sizes(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a < *b) - (*a > *b);
}

/* The `most` largest nodes stay, and those that are open. A node is as large as its largest child
 * at least, so parents stay. */
static void keep_largest(struct tree *tree, size_t most)
{
    if (tree->count <= most)
        return;
    uint64_t *sizes = tool_allocate(tree->count, sizeof(uint64_t));
    size_t *places = tool_allocate(tree->count, sizeof(size_t));
    size_t kept = 0, equal_count = 0; /* that may stay of those as large as the smallest */
    for (size_t i = 0; i < tree->count; i++)
        sizes[i] = tree->nodes[i].total;
    qsort(sizes, tree->count, sizeof(uint64_t), compare_sizes);
    const uint64_t smallest = sizes[most - 1];
    for (size_t i = 0; i < most; i++)
        equal_count += sizes[i] == smallest;
    for (size_t i = 0; i < tree->count; i++) {
        struct node node = tree->nodes[i];
        bool stays = node.total > smallest || (node.total == smallest && equal_count > 0);
        equal_count -= stays && node.total == smallest;
        if (!stays && !node.is_open) {
            tree->left_out++;
            continue;
        }
        node.parent = (uint32_t)(i > 0 ? places[node.parent] : 0);
        places[i] = kept;
        tree->nodes[kept++] = node;
    }
    for (uint32_t i = 0; i < tree->open_count; i++)
        tree->open[i] = places[tree->open[i]];
    tree->count = kept;
    free(sizes);
    free(places);
}

/* What is not larger goes; the first node stays. */
static void drop_small(struct tree *tree, uint64_t least)
{
    size_t large = 1;
    for (size_t i = 1; i < tree->count; i++)
        large += tree->nodes[i].total > least;
    keep_largest(tree, large);
}

static void close_nodes(struct tree *tree, uint32_t depth)
{
    while (tree->open_count > depth)
        tree->nodes[tree->open[--tree->open_count]].is_open = false;
}

/* Each stack comes before those on top of it. */
static void take_stack(void *context, uint32_t depth, uint32_t label, uint64_t weight)
{
    struct tree *tree = context;
    close_nodes(tree, depth + 1);
    if (tree->count >= KEPT_MOST && tree->open_count < KEPT_MOST / 4)
        keep_largest(tree, KEPT_MOST / 2);
    uint32_t parent = (uint32_t)tree->open[depth];
    tool_grow((void **)&tree->nodes, &tree->capacity, tree->count + 1, sizeof(struct node));
    tool_grow((void **)&tree->open, &tree->open_capacity, (size_t)depth + 2, sizeof(size_t));
    tree->nodes[tree->count] = (struct node){
        .depth = depth + 1, .label = label, .parent = parent, .self = weight, .is_open = true};
    tree->open[tree->open_count++] = tree->count++;
    for (uint32_t i = 0; i < tree->open_count; i++)
        tree->nodes[tree->open[i]].total += weight;
}

static int fold(struct tree *tree, struct tool_export *export, size_t most)
{
    *tree = (struct tree){.export = export};
    tool_grow((void **)&tree->nodes, &tree->capacity, 1, sizeof(struct node));
    tool_grow((void **)&tree->open, &tree->open_capacity, 1, sizeof(size_t));
    tree->nodes[tree->count++] = (struct node){.label = ALL_LABEL, .is_open = true};
    tree->open[tree->open_count++] = 0;
    int status = tool_export_fold(export, take_stack, tree);
    close_nodes(tree, 1);
    keep_largest(tree, most);
    return status;
}

static void close_tree(struct tree *tree)
{
    free(tree->nodes);
    free(tree->open);
}

static const char *name_of(struct tree *tree, const struct node *node, char room[32])
{
    if (node->label == ALL_LABEL)
        return "all threads";
    if (node->label == TOOL_FOLDED_UNKNOWN)
        return "...";
    if ((node->label & TOOL_FOLDED_SIGNAL) == 0)
        return tool_site_name(&tree->export->names, node->label);
    (void)snprintf(room, 32, "signal %" PRIu32, node->label & ~TOOL_FOLDED_SIGNAL);
    return room;
}

static int64_t fill_of(const struct node *node)
{
    if (node->label == ALL_LABEL || node->label == TOOL_FOLDED_UNKNOWN)
        return TOOL_PICTURE_MIXED;
    return node->label & TOOL_FOLDED_SIGNAL ? TOOL_PICTURE_SIGNAL : (int64_t)node->label;
}

/* Siblings by their size, the largest first. */
struct sibling {
    uint32_t parent, label, node;
    uint64_t total;
};

static int compare_siblings(const void *left, const void *right)
{
    const struct sibling *one = left, *two = right;
    if (one->parent != two->parent)
        return one->parent < two->parent ? -1 : 1;
    if (one->total != two->total)
        return one->total > two->total ? -1 : 1;
    return one->label < two->label ? -1 : one->label > two->label;
}

/* All nodes but the first, by parent, then by size. */
static struct sibling *order_siblings(const struct tree *tree)
{
    struct sibling *order = tool_allocate(tree->count, sizeof(struct sibling));
    for (size_t i = 1; i < tree->count; i++)
        order[i - 1] = (struct sibling){tree->nodes[i].parent, tree->nodes[i].label, (uint32_t)i,
                                        tree->nodes[i].total};
    if (tree->count > 1)
        qsort(order, tree->count - 1, sizeof(struct sibling), compare_siblings);
    return order;
}

static size_t put_size(char *text, size_t room, const struct tree *tree, const struct node *node)
{
    char time[40];
    double all = tree->nodes[0].total > 0 ? (double)tree->nodes[0].total : 1;
    if (tree->export->has_times)
        time[tool_put_time(time, (int64_t)node->total)] = '\0';
    else
        time[tool_put_count(time, node->total)] = '\0';
    return (size_t)snprintf(text, room, "%s%s, %.2f %%", time,
                            tree->export->has_times ? "" : " events",
                            100 * (double)node->total / all);
}

static void put_head(struct tool_output *out, const struct tree *tree, double height)
{
    char about[160];
    size_t size = put_size(about, sizeof about, tree, &tree->nodes[0]);
    if (tree->left_out > 0)
        (void)snprintf(about + size, sizeof about - size, "; %" PRIu64 " smaller ones are left out",
                       tree->left_out);
    tool_picture_begin(out, height, tool_picture_title(tree->export), about);
}

int tool_picture_draw_flame(struct tool_export *export, struct tool_output *out)
{
    struct tree tree;
    uint32_t depth = 0;
    int status = fold(&tree, export, FLAME_MOST);
    drop_small(&tree, tree.nodes[0].total / FLAME_PART);
    struct sibling *order = order_siblings(&tree);
    double width = TOOL_PICTURE_WIDTH - 2 * TOOL_PICTURE_MARGIN;
    double scale = width / (tree.nodes[0].total > 0 ? (double)tree.nodes[0].total : 1);
    double *ends = tool_allocate(tree.count, sizeof(double)); /* where the next sibling begins */
    for (size_t i = 0; i < tree.count; i++) {
        const struct node *node = &tree.nodes[i];
        depth = node->depth > depth ? node->depth : depth;
    }
    /* Parents have lower numbers, and so come first. */
    for (size_t i = 1; i < tree.count; i++) {
        struct node *node = &tree.nodes[order[i - 1].node];
        node->x = tree.nodes[node->parent].x + ends[node->parent];
        ends[node->parent] += (double)node->total;
    }
    put_head(out, &tree, TOP + (depth + 1) * TOOL_PICTURE_ROW + 10);
    for (size_t i = 0; i < tree.count && status != TOOL_CANNOT; i++) {
        const struct node *node = &tree.nodes[i];
        char room[32], about[512];
        const char *name = name_of(&tree, node, room);
        int size = snprintf(about, 420, "%.400s: ", name);
        (void)put_size(about + (size < 420 ? size : 419), 80, &tree, node);
        tool_picture_put_bar(out,
                             &(struct tool_picture_bar){.x = TOOL_PICTURE_MARGIN + node->x * scale,
                                                        .y = TOP + node->depth * TOOL_PICTURE_ROW,
                                                        .width = (double)node->total * scale,
                                                        .fill = fill_of(node),
                                                        .label = name,
                                                        .about = about});
    }
    tool_picture_end(out);
    free(ends);
    free(order);
    close_tree(&tree);
    return status;
}

/* ---- tree ---- */

struct rows {
    struct tree *tree;
    struct tool_output *out;
    const struct sibling *order;
    size_t *firsts; /* by node: its children's first place in the order */
    double y, scale;
};

static void put_row(struct rows *rows, uint32_t number)
{
    const struct node *node = &rows->tree->nodes[number];
    char room[32], text[80], line[600];
    double x = TOOL_PICTURE_MARGIN + 190;
    const char *name = name_of(rows->tree, node, room);
    (void)put_size(text, sizeof text, rows->tree, node);
    tool_picture_put_text(rows->out, TOOL_PICTURE_MARGIN + 180, rows->y + 11, false, true, text);
    tool_picture_put_bar(rows->out,
                         &(struct tool_picture_bar){.x = x,
                                                    .y = rows->y,
                                                    .width = (double)node->total * rows->scale,
                                                    .fill = fill_of(node),
                                                    .label = "",
                                                    .about = name});
    (void)snprintf(line, sizeof line, "%.590s", name);
    line[ttp_text_cut(line, strlen(line), 100)] = '\0';
    tool_picture_put_text(rows->out, x + TREE_BAR + 10 + node->depth * INDENT, rows->y + 11, false,
                          false, line);
    rows->y += TOOL_PICTURE_ROW;
}

static void put_below(struct rows *rows, uint32_t number)
{
    const struct tree *tree = rows->tree;
    put_row(rows, number);
    for (size_t i = rows->firsts[number]; i + 1 < tree->count && rows->order[i].parent == number;
         i++)
        put_below(rows, rows->order[i].node); /* at most TREE_MOST levels */
}

int tool_picture_draw_tree(struct tool_export *export, struct tool_output *out)
{
    struct tree tree;
    int status = fold(&tree, export, TREE_MOST);
    drop_small(&tree, tree.nodes[0].total / TREE_PART);
    struct sibling *order = order_siblings(&tree);
    struct rows rows = {.tree = &tree,
                        .out = out,
                        .order = order,
                        .firsts = tool_allocate(tree.count, sizeof(size_t)),
                        .y = TOP,
                        .scale =
                            TREE_BAR / (tree.nodes[0].total > 0 ? (double)tree.nodes[0].total : 1)};
    for (size_t i = 0; i < tree.count; i++)
        rows.firsts[i] = tree.count;
    for (size_t i = tree.count - 1; i > 0; i--)
        rows.firsts[order[i - 1].parent] = i - 1;
    put_head(out, &tree, TOP + (double)tree.count * TOOL_PICTURE_ROW + 10);
    put_below(&rows, 0);
    tool_picture_end(out);
    free(rows.firsts);
    free(order);
    close_tree(&tree);
    return status;
}
