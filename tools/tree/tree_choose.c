/* Which items are shown: those that are not shorter than a time, or the largest, by two measures:
 * by all of their time, and by that which is not spent in functions that wait, so that neither
 * hides the other. What is not shown goes into its parent's bracket, by names. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/report.h>

#include "tools/command/tool.h"
#include "tools/tree/tree_view.h"

#define SIBLINGS_MOST 16u /* more are gathered by what they are */
#define LONG_PART     200 /* of a large trace: such a part of the longest thread's time is long */

/* Times of a hostile file may be anything. */
static void add_time(int64_t *to, int64_t time_ns)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)time_ns);
}

/* ---- brackets ---- */

static void add_name(struct tool_shorts *shorts, const struct tool_short_name *name)
{
    for (size_t i = 0; i < shorts->name_count; i++) {
        if (shorts->names[i].number != name->number)
            continue;
        shorts->names[i].count += name->count;
        add_time(&shorts->names[i].time_ns, name->time_ns);
        return;
    }
    if (shorts->name_count == TOOL_TREE_NAMES_MOST)
        return;
    tool_grow((void **)&shorts->names, &shorts->name_capacity, shorts->name_count + 1,
              sizeof(*shorts->names));
    shorts->names[shorts->name_count++] = *name;
}

void tool_shorts_add(struct tool_shorts *shorts, const struct tool_item *item, uint64_t times)
{
    const ttape_node *node = &item->node;
    bool is_call = node->frame_kind == TTAPE_EVENT_ENTER && node->site != TTAPE_NONE;
    bool is_stream = node->id.kind == TTAPE_NODE_STREAM;
    struct tool_short_name name = {is_stream ? node->id.stream : node->site, item->count * times,
                                   item->time_ns};
    if (item->kind == TOOL_ITEM_SEQUENCE) {
        for (size_t i = 0; i < item->child_count; i++)
            tool_shorts_add(shorts, &item->children[i], times * item->count);
        return;
    }
    shorts->count += name.count;
    add_time(&shorts->time_ns, item->time_ns);
    shorts->event_count += node->event_count + node->pruned.event_count;
    shorts->call_count += node->call_count + node->pruned.call_count + (is_call ? name.count : 0);
    if (is_stream || node->site != TTAPE_NONE)
        add_name(shorts, &name);
}

void tool_shorts_sum(struct tool_shorts *to, const struct tool_shorts *from)
{
    to->count += from->count;
    add_time(&to->time_ns, from->time_ns);
    to->event_count += from->event_count;
    to->call_count += from->call_count;
    for (size_t i = 0; i < from->name_count; i++)
        add_name(to, &from->names[i]);
}

static bool is_larger(const struct tool_short_name *a, const struct tool_short_name *b)
{
    return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->count > b->count;
}

size_t tool_shorts_largest(const struct tool_shorts *shorts,
                           const struct tool_short_name *out[TOOL_TREE_MOSTLY])
{
    size_t count = 0;
    for (size_t i = 0; i < shorts->name_count; i++) {
        size_t at = count < TOOL_TREE_MOSTLY ? count++ : TOOL_TREE_MOSTLY;
        for (; at > 0 && is_larger(&shorts->names[i], out[at - 1]); at--)
            if (at < TOOL_TREE_MOSTLY)
                out[at] = out[at - 1];
        if (at < TOOL_TREE_MOSTLY)
            out[at] = &shorts->names[i];
    }
    return count;
}

/* ---- by time ---- */

bool tool_tree_is_short(const struct tool_tree *view, const struct tool_item *item)
{
    uint64_t most = item->node.end_most_ns - item->node.start_ns;
    bool hidden = item->node.end == TTAPE_NODE_HIDDEN && most > (uint64_t)view->min_ns;
    return view->has_times && item->time_ns < view->min_ns &&
           !(hidden && item->node.pruned.part_count > 0);
}

static void drop_short(const struct tool_tree *view, struct tool_item *parent, uint64_t times);

/* False: the child went to the bracket. */
static bool is_left(const struct tool_tree *view, struct tool_item *parent, struct tool_item *child,
                    uint64_t times)
{
    if (child->is_shell || child->kind == TOOL_ITEM_PARTS || !tool_tree_is_short(view, child)) {
        drop_short(view, child, times * child->count);
        return true;
    }
    tool_shorts_add(&parent->shorts, child, times);
    tool_item_clear(child);
    return false;
}

static void drop_short(const struct tool_tree *view, struct tool_item *parent, uint64_t times)
{
    struct tool_item *list = NULL, child;
    size_t count = 0, capacity = 0;
    struct tool_unpacking packed = tool_unpack_begin(parent);
    while (tool_unpack_next(&packed, &child))
        if (is_left(view, parent, &child, times))
            *tool_item_add(&list, &count, &capacity) = child;
    for (size_t i = 0; i < parent->child_count; i++)
        if (is_left(view, parent, &parent->children[i], times))
            *tool_item_add(&list, &count, &capacity) = parent->children[i];
    free(parent->children);
    parent->children = list;
    parent->child_count = count;
    parent->child_capacity = capacity;
}

/* ---- the largest ---- */

struct weights {
    int64_t *list;
    size_t count, capacity;
};

/* Items above the least one are kept, and of those that are equal to it so many. */
struct bound {
    int64_t least;
    size_t equal_count;
};

struct choosing {
    struct tool_tree *view;
    bool only_long;
    int64_t long_time, long_busy;
    struct weights times, busy;
    struct bound by_time, by_busy;
    size_t kept;
};

enum { NOT_ASKED, WAITS, RUNS };

/* A name is looked up once for its site: most items are of few. */
static bool waits(const struct tool_tree *view, const struct tool_item *item)
{
    ttape_site site;
    uint32_t number = item->node.site;
    if (item->kind != TOOL_ITEM_NODE || item->node.frame_kind != TTAPE_EVENT_ENTER ||
        number >= view->names.site_count)
        return false;
    if (view->waiting[number] == NOT_ASKED)
        view->waiting[number] = ttape_reader_get_site(view->reader, number, &site) == TTAPE_OK &&
                                        ttape_is_idle_name(site.symbol)
                                    ? WAITS
                                    : RUNS;
    return view->waiting[number] == WAITS;
}

/* Without times: how many calls there are. */
static int64_t time_of(const struct tool_tree *view, const struct tool_item *item)
{
    uint64_t calls = item->count + item->node.call_count + item->node.pruned.call_count;
    return view->has_times ? item->time_ns : (int64_t)calls;
}

static bool is_ranked(const struct tool_item *item)
{
    return !item->is_shell && item->kind != TOOL_ITEM_PARTS;
}

static void add_weight(struct weights *to, int64_t weight)
{
    tool_grow((void **)&to->list, &to->capacity, to->count + 1, sizeof(*to->list));
    to->list[to->count++] = weight;
}

/* Returns the time in which an item waited. */
static int64_t weigh(struct choosing *c, struct tool_item *item)
{
    int64_t waited_ns = 0, time = time_of(c->view, item);
    for (size_t i = 0; i < item->child_count; i++)
        add_time(&waited_ns, weigh(c, &item->children[i]));
    if (!c->view->has_times)
        waited_ns = 0;
    else if (waits(c->view, item))
        waited_ns = time;
    item->busy_ns = (int64_t)((uint64_t)time - (uint64_t)waited_ns);
    if (is_ranked(item)) {
        add_weight(&c->times, time);
        add_weight(&c->busy, item->busy_ns);
    }
    return waited_ns;
}

/* A heap whose least stands first. */
static void sift(int64_t *heap, size_t count, size_t at)
{
    int64_t weight = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= weight)
            break;
        heap[at] = heap[child];
    }
    heap[at] = weight;
}

/* The `count` largest, in place, the least of them first; there are more. */
static void select_largest(int64_t *list, size_t all, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(list, count, i);
    for (size_t i = count; i < all; i++) {
        if (list[i] <= list[0])
            continue;
        list[0] = list[i];
        sift(list, count, 0);
    }
}

static struct bound bound_of(struct weights *weights, size_t count)
{
    struct bound bound = {INT64_MIN, 0};
    if (weights->count > count && count > 0) {
        select_largest(weights->list, weights->count, count);
        bound.least = weights->list[0];
        for (size_t i = 0; i < count; i++)
            bound.equal_count += weights->list[i] == bound.least;
    }
    free(weights->list);
    *weights = (struct weights){0};
    return bound;
}

static bool is_above(struct bound *bound, int64_t weight)
{
    if (weight == bound->least && bound->equal_count > 0) {
        bound->equal_count--;
        return true;
    }
    return weight > bound->least;
}

/* Of a large trace: a call that is not shown for its time is there since an edge of partitions lies
 * in it. The bracket before it takes it in, and the brackets that it stood between are one. */
static void join_bracket(struct choosing *c, struct tool_item *before, const struct tool_item *item)
{
    tool_tree_join(c->view, before, item);
    add_time(&before->time_ns, item->time_ns);
    add_time(&before->node.time_ns, item->node.time_ns);
    before->node.pruned.event_count += item->node.pruned.event_count;
    before->node.pruned.call_count += item->node.pruned.call_count;
    before->node.pruned.part_count += item->node.pruned.part_count;
}

static void keep_largest(struct choosing *c, struct tool_item *parent, uint64_t times);

/* Each call counts for itself where several were folded. */
static bool is_long(const struct choosing *c, const struct tool_item *item)
{
    int64_t count = item->count > 0 ? (int64_t)item->count : 1;
    return is_ranked(item) && (!c->only_long || time_of(c->view, item) / count > c->long_time ||
                               item->busy_ns / count > c->long_busy);
}

/* An item is kept with its callers, also where theirs are less: their stacks may be others. */
static bool is_kept(struct choosing *c, struct tool_item *item, uint64_t times)
{
    bool may_be = is_long(c, item),
         by_time = may_be && is_above(&c->by_time, time_of(c->view, item)),
         by_busy = may_be && is_above(&c->by_busy, item->busy_ns);
    size_t kept = c->kept;
    keep_largest(c, item, times * item->count);
    return !is_ranked(item) || by_time || by_busy || c->kept > kept;
}

static void keep_largest(struct choosing *c, struct tool_item *parent, uint64_t times)
{
    size_t kept = 0;
    for (size_t i = 0; i < parent->child_count; i++) {
        struct tool_item *child = &parent->children[i],
                         *before = kept > 0 ? &parent->children[kept - 1] : NULL;
        bool is_bracket = c->only_long && child->kind == TOOL_ITEM_PARTS,
             is_behind = c->only_long && before != NULL && before->kind == TOOL_ITEM_PARTS;
        if (is_kept(c, child, times) && !(is_bracket && is_behind)) {
            parent->children[kept++] = *child;
            c->kept += !is_bracket;
            continue;
        }
        if (is_behind)
            join_bracket(c, before, child);
        else
            tool_shorts_add(&parent->shorts, child, times);
        tool_item_clear(child);
    }
    parent->child_count = kept;
}

/* What is left out made others equal. */
static void fold_again(const struct tool_tree *view, struct tool_item *parent)
{
    for (size_t i = 0; i < parent->child_count; i++)
        fold_again(view, &parent->children[i]);
    tool_tree_fold(view, parent);
}

void tool_tree_fold(const struct tool_tree *view, struct tool_item *parent)
{
    tool_items_fold(parent->children, &parent->child_count);
    if (view->largest_count > 0 && parent->child_count > SIBLINGS_MOST)
        tool_items_gather(&parent->children, &parent->child_count, &parent->child_capacity);
}

/* A call that is neither long nor works long is not shown, however few there are. */
static void keep_long(struct choosing *c, const struct tool_item *parent)
{
    int64_t longest = 0, busiest = 0;
    for (size_t i = 0; i < parent->child_count; i++) {
        const struct tool_item *child = &parent->children[i];
        longest = time_of(c->view, child) > longest ? time_of(c->view, child) : longest;
        busiest = child->busy_ns > busiest ? child->busy_ns : busiest;
    }
    c->long_time = longest / LONG_PART;
    c->long_busy = busiest / LONG_PART;
    c->only_long = true;
}

/* Returns the time below which nothing is kept for its time. */
static int64_t choose_children(struct tool_tree *view, struct tool_item *parent, bool is_end,
                               size_t *kept)
{
    struct choosing c = {.view = view};
    if (view->waiting == NULL)
        view->waiting = tool_allocate(view->names.site_count + 1u, 1);
    for (size_t i = 0; i < parent->child_count; i++)
        (void)weigh(&c, &parent->children[i]);
    c.by_time = bound_of(&c.times, view->largest_count);
    c.by_busy = bound_of(&c.busy, view->largest_count);
    if (is_end && view->only_long)
        keep_long(&c, parent);
    int64_t least = c.by_time.least > c.long_time ? c.by_time.least : c.long_time;
    keep_largest(&c, parent, 1);
    fold_again(view, parent);
    *kept = c.kept;
    return least;
}

size_t tool_tree_trim(struct tool_tree *view, struct tool_item *parent)
{
    size_t kept;
    tool_tree_fold(view, parent);
    (void)choose_children(view, parent, false, &kept);
    return kept;
}

void tool_tree_choose(struct tool_tree *view)
{
    size_t kept;
    struct tool_item all = {.children = view->items,
                            .child_count = view->item_count,
                            .child_capacity = view->item_capacity,
                            .shorts = view->shorts};
    if (view->largest_count == 0) {
        for (size_t i = 0; i < view->item_count; i++)
            drop_short(view, &view->items[i], 1);
        return;
    }
    int64_t least = choose_children(view, &all, true, &kept);
    view->min_ns = least > 0 ? least : 0;
    view->items = all.children;
    view->item_count = all.child_count;
    view->item_capacity = all.child_capacity;
    view->shorts = all.shorts;
}
