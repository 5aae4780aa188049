/* From the library's walks to items: siblings side by side that are of no interest become one. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/tree/tree_view.h"

/* Items below a parent from which on only the largest are kept while the rest is read. */
#define ITEMS_MOST ((size_t)1 << 14)

#define LAZY_LEVELS 2u
#define ITEMS_LOOSE ((size_t)64) /* more than folding looks back */

/* ---- items ---- */

/* Most items have one child, and an item is some hundred bytes: few more than there are. */
struct tool_item *tool_item_add(struct tool_item **list, size_t *count, size_t *capacity)
{
    if (*count == *capacity && *count < 8) {
        *capacity = *count == 0 ? 1 : *count * 2;
        *list = tool_reallocate(*list, *capacity, sizeof(**list));
    }
    tool_grow((void **)list, capacity, *count + 1, sizeof(**list));
    struct tool_item *item = &(*list)[(*count)++];
    *item = (struct tool_item){.count = 1};
    return item;
}

void tool_item_clear(struct tool_item *item)
{
    struct tool_item packed;
    struct tool_unpacking u = tool_unpack_begin(item);
    while (tool_unpack_next(&u, &packed))
        tool_item_clear(&packed);
    for (size_t i = 0; i < item->child_count; i++)
        tool_item_clear(&item->children[i]);
    free(item->children);
    free(item->shorts.names);
    item->children = NULL;
    item->child_count = item->child_capacity = 0;
    item->shorts = (struct tool_shorts){0};
}

void tool_items_close(struct tool_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tool_item_clear(&items[i]);
    free(items);
}

/* Times of a hostile file may be anything. */
static void add_time(int64_t *to, int64_t time_ns)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)time_ns);
}

static bool is_unseen(ttape_node_end end)
{
    return end == TTAPE_NODE_UNSEEN || end == TTAPE_NODE_LATE;
}

void tool_item_sum(struct tool_item *to, const struct tool_item *from)
{
    ttape_node *a = &to->node;
    const ttape_node *b = &from->node;
    to->is_sum = true;
    add_time(&to->time_ns, from->time_ns);
    to->is_cut = to->is_cut || from->is_cut;
    to->deeper = to->deeper || from->deeper;
    to->open_count += from->open_count;
    add_time(&a->time_ns, b->time_ns);
    add_time(&a->self_ns, b->self_ns);
    add_time(&a->rest_ns, b->rest_ns);
    a->self_exact = a->self_exact && b->self_exact;
    a->counts_exact = a->counts_exact && b->counts_exact;
    a->event_count += b->event_count;
    a->call_count += b->call_count;
    a->pruned.part_count += b->pruned.part_count;
    a->pruned.event_count += b->pruned.event_count;
    a->pruned.call_count += b->pruned.call_count;
    a->pruned.calls_exact = a->pruned.calls_exact && b->pruned.calls_exact;
    add_time(&a->pruned.time_ns, b->pruned.time_ns);
    if (a->end != b->end)
        a->end = is_unseen(a->end) ? a->end : is_unseen(b->end) ? b->end : TTAPE_NODE_ENDED;
    a->last_partition = b->last_partition;
    a->end_ns = b->end_ns;
    a->end_most_ns = b->end_most_ns;
}

bool tool_tree_go_on(struct tool_tree *view, const ttape_error *err)
{
    return tool_input_go_on(view->input, err, &view->error_count, &view->status);
}

int64_t tool_tree_usual_min(int64_t longest_ns) { return longest_ns > 0 ? longest_ns / 1000 : 0; }

/* ---- filters ---- */

bool tool_tree_cut(const struct tool_tree *view, struct tool_item *item)
{
    const struct tool_selection *s = view->selection;
    const ttape_node *node = &item->node;
    item->time_ns = node->time_ns;
    if (!s->has_range)
        return true;
    if (node->start_ns >= s->to_ns || node->end_most_ns < s->from_ns)
        return false;
    item->is_cut = node->start_ns < s->from_ns || node->end_most_ns > s->to_ns;
    if (item->is_cut) {
        uint64_t from = node->start_ns > s->from_ns ? node->start_ns : s->from_ns;
        uint64_t to = node->end_ns < s->to_ns ? node->end_ns : s->to_ns;
        item->time_ns = to > from ? (int64_t)(to - from) : 0;
    }
    return true;
}

/* ---- building ---- */

struct building {
    struct tool_tree *view;
    uint32_t depth; /* levels that may follow */
    size_t below;   /* items there are below the parent, at most */
};

/* Returns how many items there are below it, at most. */
static size_t build_children(struct tool_tree *view, struct tool_item *item, uint32_t depth,
                             ttape_tree_mode mode);

/* A small file can have so many levels and stacks that each event is looked at for each of them. */
static bool is_worked_off(struct tool_tree *view)
{
    bool is_over = ttape_tree_get_work(view->tree) > view->work_most;
    view->is_bounded = view->is_bounded || is_over;
    return is_over;
}

static void add_parts(struct tool_tree *view, struct tool_item *parent,
                      const struct tool_item *part)
{
    struct tool_item *last =
        parent->child_count > 0 ? &parent->children[parent->child_count - 1] : NULL;
    if (last != NULL && last->kind == TOOL_ITEM_PARTS) {
        tool_item_sum(last, part);
        last->count++;
        tool_tree_add_mostly(view, last, false, part->node.first_partition);
        return;
    }
    last = tool_item_add(&parent->children, &parent->child_count, &parent->child_capacity);
    *last = *part;
    tool_tree_add_mostly(view, last, true, part->node.first_partition);
}

/* What is local to a partition that the range cuts is shown as far as it is inside. */
static void open_part(struct building *b, struct tool_item *parent, const ttape_node *part);

/* Local frames are whole already: their partition is decoded. */
static bool has_more(const ttape_node *node)
{
    return node->is_spanning || node->call_count > 0 || node->event_count > 2;
}

/* Where a node's children are that came before it, or will be put. */
static struct tool_tree_level *level_at(struct tool_tree *view, uint32_t depth)
{
    struct tool_tree_rows *rows = view->rows;
    size_t before = rows->level_capacity;
    tool_grow((void **)&rows->levels, &rows->level_capacity, depth + 1u, sizeof(*rows->levels));
    if (rows->level_capacity > before)
        memset(&rows->levels[before], 0, (rows->level_capacity - before) * sizeof(*rows->levels));
    return &rows->levels[depth];
}

static void clear_level(struct tool_tree_level *level)
{
    if (level->parent.child_count > 0 || level->parent.packed != NULL ||
        level->parent.shorts.count > 0)
        tool_item_clear(&level->parent);
    level->below = 0;
}

void tool_tree_rows_close(struct tool_tree *view)
{
    for (size_t i = 0; view->rows != NULL && i < view->rows->level_capacity; i++) {
        clear_level(&view->rows->levels[i]);
        free(view->rows->levels[i].parent.children);
    }
    if (view->rows != NULL)
        free(view->rows->levels);
    free(view->rows);
    view->rows = NULL;
}

/* What is not shown in the end may be most of what there is: of the largest few are kept, and to a
 * --min-time they are packed. What is not folded yet is at the end of the list. */
static bool may_pack(const struct tool_tree *view)
{
    return view->full && view->fold && view->largest_count == 0 && view->min_ns > 0;
}

static void pack_children(struct tool_tree *view, struct tool_item *parent)
{
    if (!may_pack(view) || parent->child_count < 2 * ITEMS_LOOSE)
        return;
    tool_tree_fold(view, parent);
    if (parent->child_count > ITEMS_LOOSE)
        tool_pack(parent, parent->child_count - ITEMS_LOOSE);
}

static void pack_all_children(const struct tool_tree *view, struct tool_item *item)
{
    item->loose = 0;
    for (size_t i = 0; i < item->child_count; i++)
        item->loose += 1 + item->children[i].loose;
    if (may_pack(view) && item->loose >= ITEMS_LOOSE) {
        tool_pack(item, item->child_count);
        item->loose = 0;
    }
}

/* The calls of a level are those of this item, in a block of their size; the level's own one is
 * used again. Returns how many items there are below it. */
static size_t take_level(struct tool_tree *view, struct tool_tree_level *level,
                         struct tool_item *item)
{
    struct tool_item *from = &level->parent;
    size_t below = level->below;
    if (view->fold && from->child_count > 0)
        tool_tree_fold(view, from);
    pack_all_children(view, from);
    item->loose = from->loose;
    item->packed = from->packed;
    from->packed = NULL;
    if (from->child_count > 0) {
        item->children = tool_reallocate(NULL, from->child_count, sizeof(*item->children));
        memcpy(item->children, from->children, from->child_count * sizeof(*item->children));
        item->child_count = item->child_capacity = from->child_count;
    }
    item->shorts = from->shorts;
    from->shorts = (struct tool_shorts){0};
    from->child_count = 0;
    level->below = 0;
    return below;
}

static void trim_children(struct tool_tree *view, struct tool_item *parent, size_t *below)
{
    if (view->largest_count > 0 && *below > ITEMS_MOST + 4 * (size_t)view->largest_count)
        *below = tool_tree_trim(view, parent);
    pack_children(view, parent);
}

/* A call whose partition is decoded: what is below it came before it. */
static void add_local(struct building *b, struct tool_item *parent, const ttape_node *node,
                      uint32_t depth)
{
    struct tool_tree *view = b->view;
    struct tool_tree_level *below = level_at(view, depth + 1);
    size_t *parent_below = depth > 1 ? &below[-1].below : &b->below;
    parent = depth > 1 ? &below[-1].parent : parent;
    struct tool_item *item =
        tool_item_add(&parent->children, &parent->child_count, &parent->child_capacity);
    item->node = *node;
    bool is_seen = tool_tree_cut(view, item);
    if (!is_seen || (!view->fold && tool_tree_is_short(view, item))) {
        if (is_seen)
            tool_shorts_add(&parent->shorts, item, 1);
        parent->child_count--;
        clear_level(below);
        return;
    }
    item->deeper = depth > b->depth && has_more(node);
    *parent_below += 1;
    if (below->parent.child_count > 0 || below->parent.packed != NULL ||
        below->parent.shorts.count > 0)
        *parent_below += take_level(view, below, item);
    trim_children(view, parent, parent_below);
}

static void add_child(struct building *b, struct tool_item *parent, const ttape_node *node)
{
    struct tool_tree *view = b->view;
    struct tool_item item = {.kind = TOOL_ITEM_NODE,
                             .node = *node,
                             .count = 1,
                             .open_count = node->end == TTAPE_NODE_OPEN};
    if (!tool_tree_cut(view, &item))
        return;
    if (node->id.kind == TTAPE_NODE_PART) {
        item.kind = TOOL_ITEM_PARTS;
        if (item.is_cut)
            open_part(b, parent, node);
        else
            add_parts(view, parent, &item);
        return;
    }
    if (!view->fold && tool_tree_is_short(view, &item)) {
        tool_shorts_add(&parent->shorts, &item, 1);
        return;
    }
    struct tool_item *added =
        tool_item_add(&parent->children, &parent->child_count, &parent->child_capacity);
    *added = item;
    b->below +=
        1 + build_children(view, added, b->depth, view->full ? TTAPE_TREE_FULL : TTAPE_TREE_PRUNED);
    trim_children(view, parent, &b->below);
}

/* Nodes that a walk told at once: only where they are local more than one. */
static void add_row(struct building *b, struct tool_item *parent, size_t count, bool is_deep)
{
    const struct tool_tree_rows *rows = b->view->rows;
    for (size_t i = 0; i < count; i++) {
        const ttape_node *node = &rows->nodes[i];
        if (is_deep && node->id.kind == TTAPE_NODE_FRAME && node->id.by == TTAPE_NODE_BY_EVENT)
            add_local(b, parent, node, rows->depths[i]);
        else
            add_child(b, parent, node);
    }
}

/* Callers that do not come any more. */
static void clear_levels(struct tool_tree *view)
{
    for (size_t i = 0; i < view->rows->level_capacity; i++)
        clear_level(&view->rows->levels[i]);
}

/* Few levels are looked at one by one: of long calls in between no times are decoded. */
static void walk_children(struct building *b, struct tool_item *parent, const ttape_node_id *id,
                          ttape_tree_mode mode)
{
    ttape_error err = {0};
    ttape_tree_walk *walk;
    struct tool_tree *view = b->view;
    bool is_deep = b->depth >= LAZY_LEVELS;
    if (ttape_tree_walk_open(&walk, view->tree, id, mode, &err) != TTAPE_OK) {
        (void)tool_tree_go_on(view, &err);
        return;
    }
    if (view->rows == NULL)
        view->rows = tool_allocate(1, sizeof(*view->rows));
    for (;;) {
        size_t count;
        ttape_status status =
            ttape_tree_walk_next_nodes(walk, is_deep ? b->depth + 1 : 1, view->rows->nodes,
                                       view->rows->depths, TOOL_TREE_ROW, &count, &err);
        if (status == TTAPE_OK)
            add_row(b, parent, count, is_deep);
        else if (status == TTAPE_END || !tool_tree_go_on(view, &err))
            break;
        else
            clear_levels(view);
        if (is_worked_off(view)) {
            parent->deeper = true;
            break;
        }
    }
    clear_levels(view);
    ttape_tree_walk_close(walk);
}

static void open_part(struct building *b, struct tool_item *parent, const ttape_node *part)
{
    walk_children(b, parent, &part->id, TTAPE_TREE_OPENED);
}

static size_t build_children(struct tool_tree *view, struct tool_item *item, uint32_t depth,
                             ttape_tree_mode mode)
{
    struct building b = {.view = view, .depth = depth > 0 ? depth - 1 : 0};
    if (!has_more(&item->node))
        return 0;
    if (depth == 0 || is_worked_off(view)) {
        item->deeper = true;
        return 0;
    }
    tool_tree_step_in(view, &item->node, true);
    walk_children(&b, item, &item->node.id, mode);
    tool_tree_step_in(view, &item->node, false);
    if (view->fold)
        tool_tree_fold(view, item);
    pack_all_children(view, item);
    return b.below;
}

void tool_tree_build_node(struct tool_tree *view, const ttape_node *node, bool opened,
                          struct tool_item **list, size_t *count, size_t *capacity)
{
    struct tool_item item = {.kind = node->id.kind == TTAPE_NODE_PART ? TOOL_ITEM_PARTS
                                                                      : TOOL_ITEM_NODE,
                             .node = *node,
                             .count = 1};
    if (!tool_tree_cut(view, &item))
        return;
    ttape_tree_mode mode = view->full ? TTAPE_TREE_FULL
                           : opened   ? TTAPE_TREE_OPENED
                                      : TTAPE_TREE_PRUNED;
    if (node->id.kind == TTAPE_NODE_PART) {
        item.node.is_spanning = true; /* to be opened */
        tool_tree_add_mostly(view, &item, true, node->first_partition);
    }
    (void)build_children(view, &item, view->depth, mode);
    *tool_item_add(list, count, capacity) = item;
}

/* ---- streams ---- */

static bool is_selected(const struct tool_selection *s, uint32_t stream)
{
    for (uint32_t i = 0; s->streams != NULL && i < s->stream_count; i++)
        if (s->streams[i] == stream)
            return true;
    return s->streams == NULL;
}

struct streams {
    ttape_node *nodes;
    size_t count, capacity;
    int64_t longest_ns;
};

static void list_streams(struct tool_tree *view, struct streams *list)
{
    ttape_error err = {0};
    ttape_tree_walk *walk;
    const ttape_node_id trace = {.kind = TTAPE_NODE_TRACE};
    ttape_node node;
    ttape_tree_mode mode = view->full ? TTAPE_TREE_FULL : TTAPE_TREE_PRUNED;
    if (ttape_tree_walk_open(&walk, view->tree, &trace, mode, &err) != TTAPE_OK) {
        (void)tool_tree_go_on(view, &err);
        return;
    }
    for (;;) {
        ttape_status status = ttape_tree_walk_next(walk, &node, &err);
        if (status == TTAPE_END || (status != TTAPE_OK && !tool_tree_go_on(view, &err)))
            break;
        struct tool_item item = {.node = node};
        if (status != TTAPE_OK || !is_selected(view->selection, node.id.stream) ||
            !tool_tree_cut(view, &item))
            continue;
        list->longest_ns = item.time_ns > list->longest_ns ? item.time_ns : list->longest_ns;
        tool_grow((void **)&list->nodes, &list->capacity, list->count + 1, sizeof(ttape_node));
        list->nodes[list->count++] = node;
    }
    ttape_tree_walk_close(walk);
}

void tool_tree_build_streams(struct tool_tree *view)
{
    struct streams list = {0};
    list_streams(view, &list);
    if (view->min_ns < 0)
        view->min_ns = tool_tree_usual_min(list.longest_ns);
    for (size_t i = 0; i < list.count && view->status != TOOL_CANNOT; i++) {
        struct tool_item item = {.kind = TOOL_ITEM_NODE, .node = list.nodes[i], .count = 1};
        (void)tool_tree_cut(view, &item);
        if (tool_tree_is_short(view, &item)) {
            tool_shorts_add(&view->shorts, &item, 1);
        } else {
            tool_tree_build_node(view, &list.nodes[i], false, &view->items, &view->item_count,
                                 &view->item_capacity);
        }
    }
    free(list.nodes);
}
