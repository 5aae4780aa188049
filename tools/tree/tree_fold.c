/* Items are pushed one by one; whenever the last `period` of them equal what stands before them,
 * they are added to it. The shortest period first, so that A A A is A three times, not a
 * sequence. */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/tree/tree_view.h"

#define PERIOD_MOST 16u

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

uint64_t tool_hash_child(uint64_t hash, const struct tool_item *child)
{
    return mix(hash, child->hash);
}

static uint64_t count_children(const struct tool_item *item)
{
    return item->child_count + tool_packed_count(item->packed);
}

/* Parts are never equal: what is in them is not known. */
void tool_item_describe(struct tool_item *item)
{
    uint64_t shape = tool_packed_hash(item->packed);
    item->repeats = item->kind != TOOL_ITEM_PARTS && item->node.id.kind != TTAPE_NODE_STREAM;
    for (size_t i = 0; i < item->child_count; i++) {
        shape = tool_hash_child(shape, &item->children[i]);
        item->repeats = item->repeats && item->children[i].repeats;
    }
    shape = mix(shape, (uint64_t)item->node.site << 32 | item->node.argument);
    shape = mix(shape, (uint64_t)item->node.frame_kind << 32 | item->kind);
    item->shape = mix(shape, count_children(item));
    item->hash = mix(item->shape, item->count);
}

static bool equal_lists(struct tool_item *a, struct tool_item *b, size_t count);

/* But for the count. */
static bool similar(struct tool_item *a, struct tool_item *b)
{
    if (a->shape != b->shape || !a->repeats || !b->repeats || a->kind != b->kind ||
        a->node.site != b->node.site || a->node.frame_kind != b->node.frame_kind ||
        a->node.argument != b->node.argument || count_children(a) != count_children(b))
        return false;
    tool_unpack(a);
    tool_unpack(b);
    return equal_lists(a->children, b->children, a->child_count);
}

static bool equal_lists(struct tool_item *a, struct tool_item *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].hash != b[i].hash || a[i].count != b[i].count)
            return false;
    for (size_t i = 0; i < count; i++)
        if (!similar(&a[i], &b[i]))
            return false;
    return true;
}

/* The children of `from` go to those of `to`, which are the same. */
static void merge(struct tool_item *to, struct tool_item *from)
{
    tool_item_sum(to, from);
    tool_shorts_sum(&to->shorts, &from->shorts);
    to->loose = 0;
    for (size_t i = 0; i < to->child_count; i++) {
        merge(&to->children[i], &from->children[i]);
        to->loose += 1 + to->children[i].loose;
    }
    from->child_count = 0;
    tool_item_clear(from);
}

struct folding {
    struct tool_item *items; /* the list itself: what was read is written over */
    size_t count;
};

/* A after A, or after n times A. */
static bool fold_one(struct folding *f)
{
    struct tool_item *last = &f->items[f->count - 1], *before = last - 1;
    if (f->count < 2 || last->kind != TOOL_ITEM_NODE || !similar(before, last))
        return false;
    uint64_t count = before->count + last->count;
    merge(before, last);
    before->count = count;
    tool_item_describe(before);
    f->count--;
    return true;
}

/* The sequence that stands before the last `period` items once more. */
static bool fold_again(struct folding *f, size_t period)
{
    if (f->count < period + 1)
        return false;
    struct tool_item *before = &f->items[f->count - period - 1], *last = before + 1;
    if (before->kind != TOOL_ITEM_SEQUENCE || before->child_count != period ||
        !equal_lists(before->children, last, period))
        return false;
    for (size_t i = 0; i < period; i++) {
        tool_item_sum(before, &last[i]);
        merge(&before->children[i], &last[i]);
    }
    before->count++;
    tool_item_describe(before);
    f->count -= period;
    return true;
}

/* The last `period` items equal those before them: both become a sequence. */
static bool fold_new(struct folding *f, size_t period)
{
    if (f->count < 2 * period)
        return false;
    struct tool_item *first = &f->items[f->count - 2 * period], *second = first + period;
    if (first[period - 1].hash != second[period - 1].hash) /* mostly so */
        return false;
    for (size_t i = 0; i < period; i++)
        if (first[i].kind != TOOL_ITEM_NODE || !first[i].repeats)
            return false;
    if (!equal_lists(first, second, period))
        return false;
    struct tool_item sequence = {.kind = TOOL_ITEM_SEQUENCE, .count = 2};
    sequence.node.site = TTAPE_NONE;
    sequence.node.id = first->node.id;
    sequence.node.start_ns = first->node.start_ns;
    sequence.node.self_exact = sequence.node.counts_exact = true;
    for (size_t i = 0; i < period; i++) {
        tool_item_sum(&sequence, &first[i]);
        tool_item_sum(&sequence, &second[i]);
        merge(&first[i], &second[i]);
        *tool_item_add(&sequence.children, &sequence.child_count, &sequence.child_capacity) =
            first[i];
    }
    tool_item_describe(&sequence);
    *first = sequence;
    f->count -= 2 * period - 1;
    return true;
}

void tool_items_fold(struct tool_item *items, size_t *count)
{
    struct folding f = {.items = items};
    for (size_t i = 0; i < *count; i++) {
        tool_item_describe(&items[i]);
        if (f.count != i)
            items[f.count] = items[i];
        f.count++;
        for (bool folded = true; folded;) { /* what was folded may complete a sequence */
            folded = fold_one(&f);
            for (size_t period = 2; period <= PERIOD_MOST && period < f.count && !folded; period++)
                folded = fold_again(&f, period) || fold_new(&f, period);
        }
    }
    *count = f.count;
}

/* Where the item that is equal to this one is kept in a table of indexes plus one. */
static uint32_t *find_equal(struct tool_item *items, uint32_t *table, size_t mask,
                            struct tool_item *item)
{
    size_t at = (size_t)item->shape & mask;
    while (table[at] != 0 && !similar(&items[table[at] - 1], item))
        at = (at + 1) & mask;
    return &table[at];
}

/* What a sequence repeats stands for itself. */
static void spread(struct tool_item *item, uint64_t times, struct tool_item **list, size_t *count,
                   size_t *capacity)
{
    if (item->kind != TOOL_ITEM_SEQUENCE) {
        struct tool_item *added = tool_item_add(list, count, capacity);
        *added = *item;
        added->count *= times;
        tool_item_describe(added);
        return;
    }
    for (size_t i = 0; i < item->child_count; i++)
        spread(&item->children[i], times * item->count, list, count, capacity);
    item->child_count = 0;
    tool_item_clear(item);
}

void tool_items_gather(struct tool_item **items, size_t *count, size_t *capacity)
{
    struct tool_item *list = NULL;
    size_t all = 0, room = 0, kept = 0, mask = 1;
    for (size_t i = 0; i < *count; i++)
        spread(&(*items)[i], 1, &list, &all, &room);
    while (mask < 2 * all)
        mask *= 2;
    uint32_t *table = tool_allocate(mask, sizeof(*table));
    for (size_t i = 0; i < all; i++) {
        uint32_t *at = list[i].repeats ? find_equal(list, table, mask - 1, &list[i]) : NULL;
        if (at == NULL || *at == 0) {
            if (kept != i)
                list[kept] = list[i];
            kept++;
            if (at != NULL)
                *at = (uint32_t)kept;
            continue;
        }
        struct tool_item *first = &list[*at - 1];
        uint64_t sum = first->count + list[i].count;
        merge(first, &list[i]);
        first->count = sum;
        first->is_apart = true;
    }
    free(table);
    free(*items);
    for (size_t i = 0; i < kept; i++)
        tool_item_describe(&list[i]);
    *items = list;
    *count = kept;
    *capacity = room;
}
