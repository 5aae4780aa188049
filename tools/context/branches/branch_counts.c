/* A way through blocks that counts is a walk: each run of a block but the first follows a run of
 * one that it may follow, and each but the last has one behind it. So runs are paired:
 *
 *     supply                    demand
 *     before the first, 1  -->  blocks that may be the first
 *     block, times         -->  blocks that may follow it, times each
 *                          -->  behind the last, 1
 *
 * Where no pairing takes all of both, no way has the counts. Where one does, and all that it pairs
 * hangs together, it is a way (Euler). Where it does not, pairs of two parts are crossed. */
#include "tools/context/branches/branch_counts.h"

#include <stdlib.h>
#include <string.h>

#include "tools/command/tool.h"

#define COUNTED_MOST 64u /* a value of counters has 32 at most, one of primes 15 */
#define NONE         UINT32_MAX
#define STEPS_MOST   (1u << 22)

struct pairing {
    const struct tool_branch_graph *graph;
    const uint32_t *times;
    uint32_t *number; /* by block: among those that ran and were counted, from 1 on; 0: no */
    uint32_t *blocks; /* by number */
    uint32_t count;   /* and 0, which stands for both ends */
    bool *may_follow; /* from * (count + 1) + to; to 0: behind the last */
    uint32_t *pairs;  /* as many runs */
    uint32_t *supply, *demand, *from;
    uint32_t *work;
    bool *seen;
};

static size_t at(const struct pairing *p, uint32_t from, uint32_t to)
{
    return (size_t)from * (p->count + 1) + to;
}

/* What may come after a place, through blocks that are not counted. */
static void follow_branches(struct pairing *p, uint32_t from, const uint32_t *next,
                            uint32_t next_count)
{
    const struct tool_branch_graph *graph = p->graph;
    uint32_t work_count = 0;
    memset(p->seen, 0, graph->count);
    for (;;) {
        for (uint32_t i = 0; i < next_count; i++) {
            uint32_t block = next[i];
            if (p->seen[block])
                continue;
            p->seen[block] = true;
            if (p->times[block] == TOOL_BRANCH_FREE)
                p->work[work_count++] = block;
            else if (p->number[block] != 0)
                p->may_follow[at(p, from, p->number[block])] = true;
        }
        if (work_count == 0)
            return;
        uint32_t block = p->work[--work_count];
        next = graph->next + graph->first[block];
        next_count = graph->first[block + 1] - graph->first[block];
    }
}

/* What is led to from the beginning; work: as many as blocks. */
static void mark_reached(const struct tool_branch_graph *graph, bool *seen, uint32_t *work)
{
    uint32_t work_count = 0;
    memset(seen, 0, graph->count);
    for (uint32_t i = 0; i < graph->start_count; i++)
        if (!seen[graph->starts[i]]) {
            seen[graph->starts[i]] = true;
            work[work_count++] = graph->starts[i];
        }
    while (work_count != 0) {
        uint32_t block = work[--work_count];
        for (uint32_t k = graph->first[block]; k < graph->first[block + 1]; k++)
            if (!seen[graph->next[k]]) {
                seen[graph->next[k]] = true;
                work[work_count++] = graph->next[k];
            }
    }
}

/* A block that nothing leads to is an exception's: its ways are not known. */
static bool has_unknown_ways(struct pairing *p)
{
    const struct tool_branch_graph *graph = p->graph;
    mark_reached(graph, p->seen, p->work);
    for (uint32_t i = 0; i < graph->count; i++)
        if (p->times[i] != 0 && p->times[i] != TOOL_BRANCH_FREE && !p->seen[i])
            return true;
    return false;
}

/* One more pair: from a place with supply left, over pairs that give way, to one with demand. */
static bool add_pair(struct pairing *p)
{
    uint32_t all = p->count + 1, work_count = 0;
    memset(p->seen, 0, 2 * (size_t)all);
    for (uint32_t i = 0; i < all; i++)
        if (p->supply[i] != 0) {
            p->seen[i] = true;
            p->from[i] = NONE;
            p->work[work_count++] = i;
        }
    for (uint32_t w = 0; w < work_count; w++) {
        uint32_t place = p->work[w], other = place - all;
        for (uint32_t i = 0; i < all; i++) {
            uint32_t to = place < all ? all + i : i;
            bool leads =
                place < all ? p->may_follow[at(p, place, i)] : p->pairs[at(p, i, other)] != 0;
            if (!leads || p->seen[to])
                continue;
            p->seen[to] = true;
            p->from[to] = place;
            p->work[work_count++] = to;
            if (to < all || p->demand[to - all] == 0)
                continue;
            p->demand[to - all]--;
            for (uint32_t step = to; p->from[step] != NONE; step = p->from[step])
                if (step >= all)
                    p->pairs[at(p, p->from[step], step - all)]++;
                else
                    p->pairs[at(p, step, p->from[step] - all)]--;
            while (p->from[to] != NONE)
                to = p->from[to];
            p->supply[to]--;
            return true;
        }
    }
    return false;
}

/* Marks what can be come to from the beginning, by pairs or by all that may follow, and whether
 * those are all. Pairs are as many to a place as from it, so what they lead to hangs together. */
static bool mark_all(struct pairing *p, bool by_pairs)
{
    uint32_t work_count = 0, marked = 0;
    memset(p->seen, 0, p->count + 1u);
    p->seen[0] = true;
    p->work[work_count++] = 0;
    while (work_count != 0) {
        uint32_t from = p->work[--work_count];
        marked++;
        for (uint32_t to = 1; to <= p->count; to++) {
            size_t both = at(p, from, to);
            if (p->seen[to] || !(by_pairs ? p->pairs[both] != 0 : p->may_follow[both]))
                continue;
            p->seen[to] = true;
            p->work[work_count++] = to;
        }
    }
    return marked == p->count + 1;
}

/* Two pairs, one of each part, cross: a to b and c to d become a to d and c to b. */
static bool cross(struct pairing *p)
{
    for (uint32_t a = 0; a <= p->count; a++)
        for (uint32_t b = 0; p->seen[a] && b <= p->count; b++) {
            if (p->pairs[at(p, a, b)] == 0)
                continue;
            for (uint32_t c = 1; c <= p->count; c++)
                for (uint32_t d = 1; !p->seen[c] && d <= p->count; d++) {
                    if (p->pairs[at(p, c, d)] == 0 || !p->may_follow[at(p, a, d)] ||
                        !p->may_follow[at(p, c, b)])
                        continue;
                    p->pairs[at(p, a, b)]--;
                    p->pairs[at(p, c, d)]--;
                    p->pairs[at(p, a, d)]++;
                    p->pairs[at(p, c, b)]++;
                    return true;
                }
        }
    return false;
}

/* Tries one way after the other, as far as steps go: crossing did not help. */
static enum tool_branch_fit try_ways(const struct pairing *p)
{
    uint32_t left = 0, depth = 0, steps = STEPS_MOST, all = p->count + 1;
    uint32_t *rest = tool_allocate(all, sizeof *rest);
    for (uint32_t i = 1; i < all; i++) {
        rest[i] = p->times[p->blocks[i]];
        left += rest[i];
    }
    uint32_t *way = tool_allocate((size_t)left + 1, sizeof *way);
    uint32_t *next = tool_allocate((size_t)left + 1, sizeof *next);
    next[0] = 1;
    while (left != 0 && steps != 0 && depth != NONE) {
        uint32_t from = way[depth], to = next[depth]++;
        steps--;
        if (to == all) { /* back */
            rest[from] += from != 0;
            left += from != 0;
            depth--;
        } else if (rest[to] != 0 && p->may_follow[at(p, from, to)]) {
            rest[to]--;
            left--;
            way[++depth] = to;
            next[depth] = 1;
        }
    }
    free(rest);
    free(way);
    free(next);
    return left == 0 ? TOOL_BRANCH_FITS : steps == 0 ? TOOL_BRANCH_MAY_FIT : TOOL_BRANCH_FITS_NEVER;
}

static enum tool_branch_fit pair_all(struct pairing *p)
{
    const struct tool_branch_graph *graph = p->graph;
    follow_branches(p, 0, graph->starts, graph->start_count);
    p->supply[0] = p->demand[0] = 1;
    for (uint32_t i = 1; i <= p->count; i++) {
        uint32_t block = p->blocks[i];
        p->supply[i] = p->demand[i] = p->times[block];
        follow_branches(p, i, graph->next + graph->first[block],
                        graph->first[block + 1] - graph->first[block]);
        p->may_follow[at(p, i, 0)] = true;
    }
    if (!mark_all(p, false))
        return TOOL_BRANCH_FITS_NEVER;
    while (add_pair(p)) {
    }
    for (uint32_t i = 0; i <= p->count; i++)
        if (p->demand[i] != 0)
            return TOOL_BRANCH_FITS_NEVER;
    for (uint32_t turn = 0; turn <= p->count; turn++) {
        if (mark_all(p, true))
            return TOOL_BRANCH_FITS;
        if (!cross(p))
            break;
    }
    return try_ways(p);
}

enum tool_branch_fit tool_branch_counts_fit(const struct tool_branch_graph *graph,
                                            const uint32_t *times)
{
    struct pairing p = {.graph = graph, .times = times};
    enum tool_branch_fit fit = TOOL_BRANCH_FITS;
    size_t rooms = (size_t)graph->count + 2;
    p.number = tool_allocate(rooms, sizeof *p.number);
    p.blocks = tool_allocate(rooms, sizeof *p.blocks);
    for (uint32_t i = 0; i < graph->count; i++)
        if (times[i] != 0 && times[i] != TOOL_BRANCH_FREE) {
            p.number[i] = ++p.count;
            p.blocks[p.count] = i;
        }
    size_t places = (size_t)p.count + 1;
    p.work = tool_allocate(2 * rooms, sizeof *p.work);
    p.seen = tool_allocate(2 * rooms, sizeof *p.seen);
    if (p.count > COUNTED_MOST || has_unknown_ways(&p)) {
        fit = TOOL_BRANCH_MAY_FIT;
    } else if (p.count != 0) {
        p.may_follow = tool_allocate(places * places, sizeof *p.may_follow);
        p.pairs = tool_allocate(places * places, sizeof *p.pairs);
        p.supply = tool_allocate(places, sizeof *p.supply);
        p.demand = tool_allocate(places, sizeof *p.demand);
        p.from = tool_allocate(2 * places, sizeof *p.from);
        fit = pair_all(&p);
    }
    free(p.number);
    free(p.blocks);
    free(p.work);
    free(p.seen);
    free(p.may_follow);
    free(p.pairs);
    free(p.supply);
    free(p.demand);
    free(p.from);
    return fit;
}

/* -- not all ways are known -- */

/* A graph with two blocks more, which are not counted: behind `any` comes any block, behind `pads`
 * those that nothing leads to. So it has a few edges more for each block, and not all of them. */
struct wide {
    const struct tool_branch_graph *from;
    uint32_t *first, *next, *starts, *times;
    bool *is_reached;
    uint32_t used; /* of next */
};

static void link_blocks(struct wide *w, const bool *is_unsure)
{
    const struct tool_branch_graph *from = w->from;
    uint32_t any = from->count, pads = any + 1;
    for (uint32_t i = 0; i < any; i++) {
        uint32_t own = from->first[i + 1] - from->first[i];
        w->first[i] = w->used;
        memcpy(w->next + w->used, from->next + from->first[i], own * sizeof *w->next);
        w->used += own;
        w->next[w->used++] = pads;
        if (is_unsure[i])
            w->next[w->used++] = any;
    }
    w->first[any] = w->used;
    for (uint32_t i = 0; i < any; i++)
        w->next[w->used++] = i;
    w->first[pads] = w->used;
    for (uint32_t i = 0; i < any; i++)
        if (!w->is_reached[i])
            w->next[w->used++] = i;
    w->first[pads + 1] = w->used;
}

enum tool_branch_fit tool_branch_counts_fit_widely(const struct tool_branch_graph *graph,
                                                   const bool *is_unsure, bool starts_unsure,
                                                   const uint32_t *times)
{
    size_t rooms = (size_t)graph->count + 3;
    struct wide w = {.from = graph,
                     .first = tool_allocate(rooms, sizeof *w.first),
                     .next = tool_allocate(4 * rooms + graph->first[graph->count], sizeof *w.next),
                     .starts = tool_allocate(graph->start_count + 2ull, sizeof *w.starts),
                     .times = tool_allocate(rooms, sizeof *w.times),
                     .is_reached = tool_allocate(rooms, sizeof *w.is_reached)};
    struct tool_branch_graph wide = *graph;
    mark_reached(graph, w.is_reached, w.times);
    link_blocks(&w, is_unsure);
    for (uint32_t i = 0; i < graph->start_count; i++)
        w.starts[i] = graph->starts[i];
    w.starts[wide.start_count++] = graph->count + 1;
    if (starts_unsure)
        w.starts[wide.start_count++] = graph->count;
    for (uint32_t i = 0; i < graph->count + 2; i++)
        w.times[i] = i < graph->count ? times[i] : TOOL_BRANCH_FREE;
    wide.count = graph->count + 2;
    wide.first = w.first;
    wide.next = w.next;
    wide.starts = w.starts;
    bool is_never = tool_branch_counts_fit(&wide, w.times) == TOOL_BRANCH_FITS_NEVER;
    free(w.first);
    free(w.next);
    free(w.starts);
    free(w.times);
    free(w.is_reached);
    return is_never ? TOOL_BRANCH_FITS_NEVER : TOOL_BRANCH_MAY_FIT;
}
