/* Items that are likely not to be shown, as few bytes: whether they are, what is folded into them
 * later says, so nothing may be lost. An item is written as what its words differ by from those of
 * the one before it: siblings have most of them in common.
 *
 *   a bit for each word, 1: it differs | the differences of these, zigzag, 7 bits a byte
 *   its children in the same way, one after the other */
#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"
#include "tools/tree/tree_view.h"

#define ITEM_WORDS (sizeof(struct tool_item) / sizeof(uint64_t))
#define MAP_BYTES  ((ITEM_WORDS + 7) / 8)
#define ITEM_MOST  (MAP_BYTES + 10 * ITEM_WORDS)

_Static_assert(sizeof(struct tool_item) % sizeof(uint64_t) == 0, "words");

struct tool_packed {
    uint8_t *bytes;
    size_t size_bytes, capacity;
    uint64_t count, run_hash;
    uint64_t words[ITEM_WORDS]; /* of the item before */
};

uint64_t tool_packed_count(const struct tool_packed *packed)
{
    return packed != NULL ? packed->count : 0;
}

uint64_t tool_packed_hash(const struct tool_packed *packed)
{
    return packed != NULL ? packed->run_hash : 0;
}

/* Words that others tell become 0. */
static void take_words(const struct tool_item *item, uint64_t *words)
{
    struct tool_item flat = *item;
    ttape_node *node = &flat.node;
    flat.time_ns = (int64_t)((uint64_t)flat.time_ns - (uint64_t)node->time_ns);
    node->end_most_ns -= node->end_ns;
    node->end_ns -= node->start_ns + (uint64_t)node->time_ns;
    node->start_ns -= node->enter_ns;
    flat.hash = flat.shape = 0;
    flat.children = NULL;
    flat.child_capacity = 0;
    memcpy(words, &flat, sizeof(flat));
}

static void set_words(const uint64_t *words, struct tool_item *item)
{
    memcpy(item, words, sizeof(*item));
    ttape_node *node = &item->node;
    node->start_ns += node->enter_ns;
    node->end_ns += node->start_ns + (uint64_t)node->time_ns;
    node->end_most_ns += node->end_ns;
    item->time_ns = (int64_t)((uint64_t)item->time_ns + (uint64_t)node->time_ns);
}

static void put_words(struct tool_packed *to, const struct tool_item *item)
{
    uint64_t words[ITEM_WORDS];
    take_words(item, words);
    tool_grow((void **)&to->bytes, &to->capacity, to->size_bytes + ITEM_MOST, 1);
    uint8_t *map = to->bytes + to->size_bytes, *at = map + MAP_BYTES;
    memset(map, 0, MAP_BYTES);
    for (size_t i = 0; i < ITEM_WORDS; i++) {
        uint64_t step = words[i] - to->words[i];
        if (step == 0)
            continue;
        map[i / 8] |= (uint8_t)(1u << i % 8);
        for (step = step << 1 ^ (0 - (step >> 63)); step >= 0x80; step >>= 7)
            *at++ = (uint8_t)(step | 0x80);
        *at++ = (uint8_t)step;
    }
    to->size_bytes = (size_t)(at - to->bytes);
    memcpy(to->words, words, sizeof(words));
}

static void put_item(struct tool_packed *to, struct tool_item *item)
{
    put_words(to, item);
    for (size_t i = 0; i < item->child_count; i++)
        put_item(to, &item->children[i]);
    free(item->children);
}

void tool_pack(struct tool_item *parent, size_t count)
{
    if (parent->packed == NULL)
        parent->packed = tool_allocate(1, sizeof(*parent->packed));
    struct tool_packed *to = parent->packed;
    for (size_t i = 0; i < count; i++) {
        to->run_hash = tool_hash_child(to->run_hash, &parent->children[i]);
        put_item(to, &parent->children[i]);
    }
    to->count += count;
    parent->child_count -= count;
    memmove(parent->children, parent->children + count,
            parent->child_count * sizeof(*parent->children));
    if (parent->child_count > 0)
        return;
    to->bytes = tool_reallocate(to->bytes, to->size_bytes, 1);
    to->capacity = to->size_bytes;
}

static void get_item(struct tool_unpacking *u, struct tool_item *item)
{
    const uint8_t *map = u->from->bytes + u->at, *at = map + MAP_BYTES;
    for (size_t i = 0; i < ITEM_WORDS; i++) {
        uint64_t step = 0;
        if ((map[i / 8] >> i % 8 & 1) == 0)
            continue;
        for (uint32_t shift = 0;; shift += 7) {
            step |= (uint64_t)(*at & 0x7f) << shift;
            if (*at++ < 0x80)
                break;
        }
        u->from->words[i] += step >> 1 ^ (0 - (step & 1));
    }
    u->at = (size_t)(at - u->from->bytes);
    set_words(u->from->words, item);
    if (item->child_count > 0)
        item->children = tool_allocate(item->child_count, sizeof(*item->children));
    item->child_capacity = item->child_count;
    for (size_t i = 0; i < item->child_count; i++)
        get_item(u, &item->children[i]);
    tool_item_describe(item);
}

struct tool_unpacking tool_unpack_begin(struct tool_item *parent)
{
    struct tool_unpacking u = {.from = parent->packed, .left = tool_packed_count(parent->packed)};
    if (u.from != NULL)
        memset(u.from->words, 0, sizeof(u.from->words));
    parent->packed = NULL;
    return u;
}

bool tool_unpack_next(struct tool_unpacking *u, struct tool_item *item)
{
    if (u->left == 0) {
        if (u->from != NULL)
            free(u->from->bytes);
        free(u->from);
        u->from = NULL;
        return false;
    }
    u->left--;
    get_item(u, item);
    return true;
}

void tool_unpack(struct tool_item *parent)
{
    if (parent->packed == NULL)
        return;
    size_t count = (size_t)parent->packed->count, rest = parent->child_count;
    struct tool_item *all = tool_allocate(count + rest, sizeof(*all));
    struct tool_unpacking u = tool_unpack_begin(parent);
    for (size_t i = 0; tool_unpack_next(&u, &all[i]); i++)
        continue;
    if (rest > 0)
        memcpy(all + count, parent->children, rest * sizeof(*all));
    free(parent->children);
    parent->children = all;
    parent->child_count = parent->child_capacity = count + rest;
}
