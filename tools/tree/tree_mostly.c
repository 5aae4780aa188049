/* What is inside of a bracket, by its largest functions: the shares of its partitions added up, of
 * which nothing is decoded; a function counts where it has a 64th of a partition. One bracket is
 * made at a time: parts that join it come one after the other. */
#include <stdlib.h>

#include "tools/command/tool.h"
#include "tools/tree/tree_view.h"

#define ROWS_MOST (UINT64_C(1) << 26) /* of shares, over all brackets: a second or two */

static void begin_shares(struct tool_tree *view)
{
    struct tool_tree_mostly *m = &view->mostly;
    if (m->weights == NULL) {
        m->weights = tool_allocate(view->names.site_count + 1u, sizeof(*m->weights));
        m->sites = tool_allocate(view->names.site_count + 1u, sizeof(*m->sites));
    }
    for (uint32_t i = 0; i < m->site_count; i++)
        m->weights[m->sites[i]] = 0;
    m->site_count = 0;
    m->all = 0;
}

/* Own time; where there is none, calls. Callers that are shown say themselves what they took. */
static void add_share(struct tool_tree *view, const ttape_tree_share *share, uint64_t *all)
{
    struct tool_tree_mostly *m = &view->mostly;
    if (share->site >= view->names.site_count)
        return;
    if (m->on_way != NULL && m->on_way[share->site] > 0) {
        *all -= share->weight;
        return;
    }
    if (m->weights[share->site] == 0)
        m->sites[m->site_count++] = share->site;
    m->weights[share->site] += share->weight;
}

/* Puts a site where it belongs among the largest. */
static void rank(const struct tool_tree_mostly *m, uint32_t site, struct tool_tree_largest *largest)
{
    uint32_t at = largest->count;
    if (at == TOOL_TREE_RANKED && m->weights[largest->sites[at - 1]] >= m->weights[site])
        return;
    largest->count += at < TOOL_TREE_RANKED;
    at -= at == TOOL_TREE_RANKED;
    for (; at > 0 && m->weights[largest->sites[at - 1]] < m->weights[site]; at--)
        largest->sites[at] = largest->sites[at - 1];
    largest->sites[at] = site;
}

static void rank_all(struct tool_tree_mostly *m, struct tool_tree_largest *largest)
{
    largest->count = 0;
    largest->all = m->all;
    for (uint32_t i = 0; i < m->site_count; i++)
        rank(m, m->sites[i], largest);
    for (uint32_t i = 0; i < largest->count; i++)
        largest->shares[i] = m->all > 0 ? (float)m->weights[largest->sites[i]] / (float)m->all : 0;
}

static struct tool_tree_largest *largest_of(struct tool_tree_mostly *m, struct tool_item *item)
{
    if (item->largest == 0) {
        tool_grow((void **)&m->list, &m->capacity, m->count + 1, sizeof(*m->list));
        m->list[m->count++] = (struct tool_tree_largest){0};
        item->largest = (uint32_t)m->count;
    }
    return &m->list[item->largest - 1];
}

void tool_tree_add_mostly(struct tool_tree *view, struct tool_item *item, bool is_new,
                          uint32_t partition)
{
    struct tool_tree_mostly *m = &view->mostly;
    const ttape_tree_share *shares;
    uint64_t all;
    ttape_partition_info info = {0};
    ttape_error err = {0};
    uint32_t count;
    if (m->row_count > ROWS_MOST)
        return;
    if (is_new)
        begin_shares(view);
    if (ttape_tree_get_shares(view->tree, partition, &shares, &count, &all, &err) != TTAPE_OK) {
        if (err.status <
            TTAPE_E_TRUNCATED) /* the walk tells of damage, and may not read this again */
            view->status = tool_fail_error(view->input->name, &err);
        return;
    }
    if (all > INT64_MAX - m->all) /* a hostile file */
        return;
    for (uint32_t i = 0; i < count; i++)
        add_share(view, &shares[i], &all);
    m->all += all;
    (void)ttape_reader_get_partition(view->reader, partition, &info);
    struct tool_tree_largest *largest = largest_of(m, item);
    largest->of_all_threads = largest->of_all_threads || info.segment_count > 1;
    rank_all(m, largest);
    m->row_count += count + m->site_count + 1;
}

/* The bracket's own functions are weighed again, and the other's added. */
static void join_largest(struct tool_tree *view, struct tool_item *parts,
                         const struct tool_item *item)
{
    struct tool_tree_mostly *m = &view->mostly;
    if (item->largest == 0)
        return;
    const struct tool_tree_largest other = m->list[item->largest - 1];
    struct tool_tree_largest *largest = largest_of(m, parts);
    const struct tool_tree_largest own = *largest;
    begin_shares(view);
    for (uint32_t i = 0; i < own.count + other.count; i++) {
        const struct tool_tree_largest *from = i < own.count ? &own : &other;
        uint32_t at = i < own.count ? i : i - own.count;
        uint64_t ignored = 0;
        const ttape_tree_share share = {
            .site = from->sites[at],
            .weight = (uint64_t)((double)from->shares[at] * (double)from->all)};
        add_share(view, &share, &ignored);
    }
    m->all = own.all > INT64_MAX - other.all ? INT64_MAX : own.all + other.all;
    largest->of_all_threads = own.of_all_threads || other.of_all_threads;
    rank_all(m, largest);
}

void tool_tree_join(struct tool_tree *view, struct tool_item *parts, const struct tool_item *item)
{
    if (item->kind == TOOL_ITEM_PARTS)
        join_largest(view, parts, item);
    for (size_t i = 0; i < item->child_count; i++)
        tool_tree_join(view, parts, &item->children[i]);
}

struct tool_tree_largest tool_tree_get_largest(const struct tool_tree *view,
                                               const struct tool_item *item)
{
    struct tool_tree_largest largest = {0};
    if (item->largest > 0)
        largest = view->mostly.list[item->largest - 1];
    largest.count = largest.count < TOOL_TREE_MOSTLY ? largest.count : TOOL_TREE_MOSTLY;
    return largest;
}

void tool_tree_step_in(struct tool_tree *view, const ttape_node *node, bool is_in)
{
    struct tool_tree_mostly *m = &view->mostly;
    if (node->id.kind != TTAPE_NODE_FRAME || node->site >= view->names.site_count)
        return;
    if (m->on_way == NULL)
        m->on_way = tool_allocate(view->names.site_count + 1u, sizeof(*m->on_way));
    m->on_way[node->site] += is_in ? 1u : UINT32_MAX;
}

void tool_tree_mostly_close(struct tool_tree *view)
{
    free(view->mostly.list);
    free(view->mostly.weights);
    free(view->mostly.sites);
    free(view->mostly.on_way);
    view->mostly = (struct tool_tree_mostly){0};
}
