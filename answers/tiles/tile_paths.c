/* From instants to the path of each bucket, and from these to bars. What all instants of a bucket
 * have in common is read off one of them; above it at most 16 stacks are compared, depth by
 * depth. */
#include <string.h>

#include "answers/tiles/tiles_internal.h"
#include "base/sort.h"
#include "format/base/fail.h"

/* A depth of the bucket before: the bar that it belongs to, and the node, if it was one only. */
struct open_bar {
    uint32_t bar, node;
};

struct making {
    struct ttape_tile *t;
    struct open_bar *open;
    uint32_t open_count, open_capacity;
    uint32_t *path; /* room for the nodes of each instant's stack, from the common ones on */
    uint32_t path_capacity;
    uint32_t bucket;
    bool joins; /* so far as the paths of this bucket and the one before go together */
};

/* A stack of the bucket. */
struct stack {
    uint32_t first, count; /* in making.path */
    bool is_chosen;
};

static uint32_t below_both(const struct ttape_tile *t, uint32_t a, uint32_t b)
{
    const struct ttp_tile_node *nodes = t->nodes;
    while (a != b) {
        if (a == TTP_NODE_NONE || b == TTP_NODE_NONE)
            return TTP_NODE_NONE;
        if (nodes[a].depth > nodes[b].depth)
            a = nodes[a].below;
        else if (nodes[a].depth < nodes[b].depth)
            b = nodes[b].below;
        else {
            a = nodes[a].below;
            b = nodes[b].below;
        }
    }
    return a;
}

static uint32_t height(const struct ttape_tile *t, uint32_t node)
{
    return node == TTP_NODE_NONE ? 0 : t->nodes[node].depth + 1;
}

/* Appends the nodes of a stack from depth `from` on to the room. */
static ttape_status list_stack(struct making *m, uint32_t node, uint32_t from, uint32_t *used,
                               struct stack *out, ttape_error *err)
{
    struct ttape_tile *t = m->t;
    uint32_t count = height(t, node) > from ? height(t, node) - from : 0;
    TTP_TRY(ttp_memory_reserve(&t->memory, &m->path, &m->path_capacity, (uint64_t)*used + count,
                               sizeof *m->path, err));
    *out = (struct stack){*used, count, true};
    *used += count;
    for (uint32_t at = *used; at != out->first; node = t->nodes[node].below)
        m->path[--at] = node;
    return TTAPE_OK;
}

/* ---- bars ---- */

static bool same_name(const ttape_tile_bar *bar, const struct ttp_tile_node *node)
{
    return node->is_signal ? bar->site == TTAPE_NONE && bar->signal == node->name
                           : bar->site == node->name;
}

static ttape_status add_bar(struct making *m, uint32_t depth, const struct ttp_tile_node *node,
                            ttape_error *err)
{
    struct ttape_tile *t = m->t;
    TTP_TRY(ttp_memory_reserve(&t->memory, &t->bars, &t->bar_capacity, t->info.bar_count + 1ull,
                               sizeof *t->bars, err));
    TTP_TRY(ttp_memory_reserve(&t->memory, &m->open, &m->open_capacity, depth + 1ull,
                               sizeof *m->open, err));
    m->open[depth].bar = t->info.bar_count;
    t->bars[t->info.bar_count++] =
        (ttape_tile_bar){.start = m->bucket,
                         .depth = depth,
                         .site = node->is_signal ? TTAPE_NONE : node->name,
                         .signal = node->is_signal ? node->name : 0};
    return TTAPE_OK;
}

/* The path has `first` at this depth, and no other node if it is the `only` one (F-TIL-06). */
static ttape_status put_path(struct making *m, uint32_t depth, uint32_t first, bool only,
                             uint32_t instants, ttape_error *err)
{
    struct ttape_tile *t = m->t;
    const struct ttp_tile_node *node = &t->nodes[first];
    if (m->joins && depth < m->open_count) {
        const struct open_bar *open = &m->open[depth];
        bool other = only && open->node != TTP_NODE_NONE && open->node != first;
        m->joins = same_name(&t->bars[open->bar], node) && !other;
    } else {
        m->joins = false;
    }
    if (!m->joins)
        TTP_TRY(add_bar(m, depth, node, err));
    m->open[depth].node = only ? first : TTP_NODE_NONE;
    ttape_tile_bar *bar = &t->bars[m->open[depth].bar];
    bar->length = m->bucket + 1 - bar->start;
    bar->instants += instants;
    return TTAPE_OK;
}

static void count_call(struct making *m, uint32_t depth, uint32_t node)
{
    uint32_t bar = m->open[depth].bar;
    if (m->t->nodes[node].bar == bar + 1)
        return;
    m->t->nodes[node].bar = bar + 1;
    m->t->bars[bar].calls++;
}

/* ---- paths ---- */

static bool same_node_name(const struct ttp_tile_node *a, const struct ttp_tile_node *b)
{
    return a->name == b->name && a->is_signal == b->is_signal;
}

static uint32_t node_of(const struct making *m, const struct stack *stack, uint32_t i)
{
    return stack->is_chosen && i < stack->count ? m->path[stack->first + i] : TTP_NODE_NONE;
}

/* The name that most chosen stacks have there (F-TIL-05): the first stack that has it, and how
 * many. */
static uint32_t choose_frame(const struct making *m, const struct stack *stacks, uint32_t count,
                             uint32_t i, uint32_t *chosen)
{
    const struct ttp_tile_node *nodes = m->t->nodes;
    uint32_t most = 0;
    for (uint32_t a = 0; a < count; a++) {
        uint32_t node = node_of(m, &stacks[a], i), have = 0;
        for (uint32_t b = a; node != TTP_NODE_NONE && b < count; b++) {
            uint32_t other = node_of(m, &stacks[b], i);
            have += other != TTP_NODE_NONE && same_node_name(&nodes[other], &nodes[node]);
        }
        if (have > most) {
            most = have;
            *chosen = node;
        }
    }
    return most;
}

static ttape_status choose_path(struct making *m, struct stack *stacks, uint32_t count,
                                uint32_t depth, ttape_error *err)
{
    uint32_t node = TTP_NODE_NONE, most;
    uint32_t i = 0;
    for (; (most = choose_frame(m, stacks, count, i, &node)) != 0; i++) {
        bool only = true;
        for (uint32_t s = 0; s < count; s++) {
            uint32_t at = node_of(m, &stacks[s], i);
            stacks[s].is_chosen =
                at != TTP_NODE_NONE && same_node_name(&m->t->nodes[at], &m->t->nodes[node]);
            only = only && (!stacks[s].is_chosen || at == node);
        }
        TTP_TRY(put_path(m, depth + i, node, only, most, err));
        for (uint32_t s = 0; s < count; s++)
            if (stacks[s].is_chosen)
                count_call(m, depth + i, node_of(m, &stacks[s], i));
    }
    m->open_count = depth + i;
    return TTAPE_OK;
}

static ttape_status put_common(struct making *m, uint32_t common, uint32_t instants,
                               ttape_error *err)
{
    struct stack stack;
    uint32_t used = 0;
    TTP_TRY(list_stack(m, common, 0, &used, &stack, err));
    for (uint32_t i = 0; i < stack.count; i++) {
        uint32_t node = m->path[i];
        TTP_TRY(put_path(m, i, node, true, instants, err));
        count_call(m, i, node);
    }
    return TTAPE_OK;
}

static ttape_status make_bucket(struct making *m, const struct ttp_tile_instant *instants,
                                ttape_error *err)
{
    struct ttape_tile *t = m->t;
    ttape_tile_bucket *bucket = &t->buckets[m->bucket];
    struct stack stacks[TTAPE_TILE_INSTANTS];
    uint32_t nodes[TTAPE_TILE_INSTANTS], count = 0, used = 0, common = TTP_NODE_NONE;
    for (uint32_t i = 0; i < t->info.instants; i++) {
        bucket->has_gaps = bucket->has_gaps || instants[i].has_gap;
        if (instants[i].node == TTP_NODE_UNKNOWN)
            continue;
        nodes[count++] = instants[i].node;
        common = count == 1 ? nodes[0] : below_both(t, common, instants[i].node);
    }
    bucket->known = count;
    m->joins = true;
    if (count == 0) {
        m->open_count = 0;
        return TTAPE_OK;
    }
    TTP_TRY(put_common(m, common, count, err));
    uint32_t depth = height(t, common);
    for (uint32_t i = 0; i < count; i++)
        TTP_TRY(list_stack(m, nodes[i], depth, &used, &stacks[i], err));
    return choose_path(m, stacks, count, depth, err);
}

/* ---- all of them ---- */

/* By depth; those of one depth stand in the order of their starts already. */
static ttape_status sort_bars(struct making *m, ttape_error *err)
{
    struct ttape_tile *t = m->t;
    uint32_t count = t->info.bar_count, depths = 0;
    for (uint32_t i = 0; i < count; i++)
        depths = t->bars[i].depth >= depths ? t->bars[i].depth + 1 : depths;
    t->info.depth_count = depths;
    ttape_tile_bar *sorted = ttp_memory_take(&t->memory, count, sizeof *sorted, err);
    uint32_t *starts =
        sorted != NULL ? ttp_memory_take(&t->memory, depths + 1ull, sizeof *starts, err) : NULL;
    if (starts == NULL) {
        if (sorted != NULL)
            ttp_memory_give(&t->memory, sorted, count, sizeof *sorted);
        return t->memory.status;
    }
    memset(starts, 0, ((size_t)depths + 1) * sizeof *starts);
    for (uint32_t i = 0; i < count; i++)
        starts[t->bars[i].depth + 1]++;
    for (uint32_t d = 0; d < depths; d++)
        starts[d + 1] += starts[d];
    for (uint32_t i = 0; i < count; i++)
        sorted[starts[t->bars[i].depth]++] = t->bars[i];
    ttp_memory_give(&t->memory, starts, depths + 1ull, sizeof *starts);
    ttp_memory_give(&t->memory, t->bars, t->bar_capacity, sizeof *t->bars);
    t->bars = sorted;
    t->bar_capacity = count;
    return TTAPE_OK;
}

ttape_status ttp_tile_make_bars(struct ttape_tile *t, ttape_error *err)
{
    struct making m = {.t = t};
    ttape_status status = TTAPE_OK;
    for (; status == TTAPE_OK && m.bucket < TTAPE_TILE_BUCKETS; m.bucket++)
        status = make_bucket(&m, t->instants + t->lead + (size_t)m.bucket * t->info.instants, err);
    if (status == TTAPE_OK)
        status = sort_bars(&m, err);
    ttp_memory_give(&t->memory, m.open, m.open_capacity, sizeof *m.open);
    ttp_memory_give(&t->memory, m.path, m.path_capacity, sizeof *m.path);
    return status;
}
