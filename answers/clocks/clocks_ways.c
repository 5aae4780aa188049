/* What is possible of each clock against the first one (C-PAR-04): shortest ways over what is
 * possible of pairs of clocks, of the clocks of a boot, and of clocks and UTC.
 *
 *   clocks 0 .. n - 1 | boots, by their first clock: n .. 2 n - 1 | UTC: 2 n
 *
 * From the first clock on along edges: the most that each one's rest can be; against them: the
 * least. All the mosts, and all the leasts, are possible at once; so are the middles. */
#include <string.h>

#include "answers/clocks/clocks_internal.h"
#include "base/text.h"

#define NO_EDGE SIZE_MAX

struct ways {
    ttape_clocks *c;
    uint32_t node_count;
    int64_t *most;
    bool *is_reached;
    size_t *by; /* the edge that says so */
};

void ttp_clocks_add_edge(ttape_clocks *c, uint32_t from, uint32_t to, int64_t most_ns, size_t first,
                         size_t count)
{
    struct ttp_clock_edge *edge =
        ttp_region_add(&c->region, &c->edges, &c->edge_count, &c->edge_capacity, sizeof *edge);
    if (edge != NULL)
        *edge = (struct ttp_clock_edge){from, to, most_ns, first, count};
}

static void add_both(ttape_clocks *c, uint32_t a, uint32_t b, int64_t apart_ns)
{
    ttp_clocks_add_edge(c, a, b, apart_ns, 0, 0);
    ttp_clocks_add_edge(c, b, a, apart_ns, 0, 0);
}

/* The first clock of the same boot. */
static uint32_t find_boot(const ttape_clocks *c, uint32_t clock)
{
    ttape_string boot = ttp_clocks_best(c, clock)->boot_id;
    for (uint32_t i = 0; i < clock && boot.size_bytes != 0; i++)
        if (ttp_is_same_text(ttp_clocks_best(c, i)->boot_id, boot))
            return i;
    return clock;
}

bool ttp_clocks_apart(const ttape_clocks *c, uint32_t a, uint32_t b, int64_t *most_ns)
{
    const struct ttp_clock_scope *one = ttp_clocks_best(c, a), *two = ttp_clocks_best(c, b);
    bool is_boot = one->boot_id.size_bytes != 0 && ttp_is_same_text(one->boot_id, two->boot_id);
    if (!one->has_offset || !two->has_offset ||
        (!is_boot && (!one->has_utc_error || !two->has_utc_error)))
        return false;
    *most_ns = ttp_clocks_sum(ttp_clocks_sum(one->offset_error_ns, two->offset_error_ns),
                              ttp_clocks_sum(c->clocks[a].error_ns, c->clocks[b].error_ns));
    if (!is_boot)
        *most_ns = ttp_clocks_sum(*most_ns, ttp_clocks_sum(one->utc_error_ns, two->utc_error_ns));
    return true;
}

static void add_offsets(ttape_clocks *c)
{
    uint32_t count = (uint32_t)c->clock_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct ttp_clock_scope *s = ttp_clocks_best(c, i);
        uint32_t boot = count + find_boot(c, i);
        if (!s->has_offset)
            continue;
        add_both(c, i, boot, ttp_clocks_sum(s->offset_error_ns, c->clocks[i].error_ns));
        if (s->has_utc_error)
            add_both(c, boot, 2 * count, s->utc_error_ns);
    }
}

/* Goes back over what said the least so far, until something comes again: what is between is not
 * possible. Its pairs are named and its edges no longer there. */
static void leave_out(struct ways *w, uint32_t node)
{
    ttape_clocks *c = w->c;
    for (uint32_t i = 0; i < w->node_count; i++) /* now it is on the way around */
        node = c->edges[w->by[node]].from;
    uint32_t at = node;
    do {
        struct ttp_clock_edge *edge = &c->edges[w->by[at]];
        for (size_t i = edge->first; i < edge->first + edge->count; i++)
            if (!c->bounds[i].is_left_out)
                ttp_clocks_contradict(c, &c->bounds[i]);
        for (size_t i = 0; i < c->edge_count && edge->count != 0; i++)
            if (&c->edges[i] != edge && c->edges[i].count != 0 && c->edges[i].first == edge->first)
                c->edges[i].most_ns = TTP_CLOCKS_FAR;
        if (edge->count != 0)
            edge->most_ns = TTP_CLOCKS_FAR;
        at = edge->from;
    } while (at != node);
}

/* One round over all edges. Returns a node that got less, or TTAPE_NONE. */
static uint32_t shorten(struct ways *w, bool is_back)
{
    uint32_t changed = TTAPE_NONE;
    for (size_t i = 0; i < w->c->edge_count; i++) {
        const struct ttp_clock_edge *edge = &w->c->edges[i];
        uint32_t from = is_back ? edge->to : edge->from, to = is_back ? edge->from : edge->to;
        if (!w->is_reached[from] || edge->most_ns >= TTP_CLOCKS_FAR)
            continue;
        int64_t most = ttp_clocks_sum(w->most[from], edge->most_ns);
        if (w->is_reached[to] && most >= w->most[to])
            continue;
        w->most[to] = most;
        w->is_reached[to] = true;
        w->by[to] = i;
        changed = to;
    }
    return changed;
}

/* False: a way around is not possible, and was left out. */
static bool walk_ways(struct ways *w, uint32_t from, bool is_back)
{
    uint32_t changed = from;
    memset(w->is_reached, 0, w->node_count * sizeof *w->is_reached);
    w->is_reached[from] = true;
    w->most[from] = 0;
    w->by[from] = NO_EDGE;
    for (uint32_t i = 0; i < w->node_count && changed != TTAPE_NONE; i++)
        changed = shorten(w, is_back);
    if (changed == TTAPE_NONE || is_back) /* back: there is none, as there was none before */
        return true;
    leave_out(w, changed);
    return false;
}

/* Places what is reached from this clock, which stands by its offset, and reaches it. */
static void reach_from(struct ways *w, uint32_t from)
{
    ttape_clocks *c = w->c;
    uint32_t count = (uint32_t)c->clock_count;
    while (!walk_ways(w, from, false))
        continue;
    for (uint32_t i = from; i < count; i++)
        if (!c->clocks[i].is_placed) {
            c->clocks[i].is_reached = w->is_reached[i];
            c->clocks[i].high_ns = w->most[i];
        }
    (void)walk_ways(w, from, true);
    for (uint32_t i = from; i < count; i++) {
        struct ttp_clock *clock = &c->clocks[i];
        if (clock->is_placed || !clock->is_reached || !w->is_reached[i])
            continue;
        clock->is_placed = true;
        clock->anchor = from;
        clock->low_ns = -w->most[i];
    }
}

void ttp_clocks_ways(ttape_clocks *c)
{
    uint32_t count = (uint32_t)c->clock_count, nodes = 2 * count + 1;
    add_offsets(c);
    struct ways w = {.c = c,
                     .node_count = nodes,
                     .most = ttp_region_take(&c->region, nodes, sizeof(int64_t)),
                     .is_reached = ttp_region_take(&c->region, nodes, sizeof(bool)),
                     .by = ttp_region_take(&c->region, nodes, sizeof(size_t))};
    for (uint32_t i = 0; i < count && !c->region.is_short; i++)
        if (!c->clocks[i].is_placed)
            reach_from(&w, i);
}
