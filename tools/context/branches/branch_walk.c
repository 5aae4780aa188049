/* Ways through blocks by value: see branch_walk.h. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/context.h>

#include "tools/command/tool.h"
#include "tools/context/branches/branch_walk.h"

#define NONE UINT32_MAX

struct state {
    uint64_t value;
    uint32_t block, level; /* level: blocks that the way to it has */
};

struct walk {
    const struct tool_branch_graph *graph;
    struct state *states; /* by level */
    size_t count, most;
    uint32_t *table; /* 1 more than a state's number; 0: free */
    size_t table_mask;
    uint32_t reached;                /* every state of up to so many blocks is there */
    bool is_short;                   /* states were left out */
    bool has_any_level;              /* a block with a value is one state, at the lowest level */
    uint32_t *before_first, *before; /* blocks that may come before each one */
    bool *is_start;
    uint64_t steps_left, first_value;
    tool_branch_take take;
    void *context;
    struct tool_branch_found found;
};

/* -- the arithmetic -- */

static uint64_t put_value(const struct walk *w, uint64_t value, uint32_t block)
{
    uint64_t id = w->graph->ids[block];
    switch (w->graph->operation) {
    case TTAPE_BRANCH_XOR: return value ^ id;
    case TTAPE_BRANCH_ADD: return value + id;
    default: return value * TTAPE_BRANCH_FACTOR + id;
    }
}

static uint64_t undo(const struct walk *w, uint64_t value, uint32_t block)
{
    uint64_t id = w->graph->ids[block];
    switch (w->graph->operation) {
    case TTAPE_BRANCH_XOR: return value ^ id;
    case TTAPE_BRANCH_ADD: return value - id;
    default: return (value - id) * TTAPE_CONTEXT_INVERSE;
    }
}

/* -- states -- */

static size_t place_of(const struct walk *w, uint32_t block, uint64_t value, uint32_t level)
{
    uint64_t key = value + block * UINT64_C(0xD6E8FEB86659FD93) +
                   (w->has_any_level ? 0 : level * UINT64_C(0xA0761D6478BD642F));
    size_t at = (size_t)ttape_context_mix(key) & w->table_mask;
    for (; w->table[at] != 0; at = (at + 1) & w->table_mask) {
        const struct state *state = &w->states[w->table[at] - 1];
        if (state->block == block && state->value == value &&
            (w->has_any_level || state->level == level))
            break;
    }
    return at;
}

static bool is_reached(const struct walk *w, uint32_t block, uint64_t value, uint32_t level)
{
    uint32_t number = w->table[place_of(w, block, value, level)];
    return number != 0 && w->states[number - 1].level == level;
}

static void reach(struct walk *w, uint32_t block, uint64_t value, uint32_t level)
{
    size_t at = place_of(w, block, value, level);
    if (w->table[at] != 0)
        return;
    if (w->count == w->most) {
        w->is_short = true;
        return;
    }
    w->states[w->count++] = (struct state){value, block, level};
    w->table[at] = (uint32_t)w->count;
}

/* One level after the other; the last one that did not fit is taken back. */
static void go_forwards(struct walk *w, uint32_t blocks_most)
{
    const struct tool_branch_graph *graph = w->graph;
    for (uint32_t i = 0; i < graph->start_count && blocks_most != 0; i++)
        reach(w, graph->starts[i], put_value(w, w->first_value, graph->starts[i]), 1);
    size_t from = 0;
    for (uint32_t level = 1; from < w->count && level <= blocks_most && !w->is_short; level++) {
        size_t end = w->count;
        w->reached = level;
        for (size_t i = from; i < end && level < blocks_most && !w->is_short; i++) {
            struct state state = w->states[i];
            for (uint32_t k = graph->first[state.block];
                 k < graph->first[state.block + 1] && !w->is_short; k++)
                reach(w, graph->next[k], put_value(w, state.value, graph->next[k]), level + 1);
        }
        from = end;
    }
    if (from == w->count && !w->is_short)
        w->reached = blocks_most; /* no way is longer */
}

/* -- backwards -- */

static void find_before(struct walk *w)
{
    const struct tool_branch_graph *graph = w->graph;
    uint32_t edges = graph->first[graph->count];
    w->before_first = tool_allocate((size_t)graph->count + 2, sizeof *w->before_first);
    w->before = tool_allocate((size_t)edges + 1, sizeof *w->before);
    w->is_start = tool_allocate((size_t)graph->count + 1, sizeof *w->is_start);
    for (uint32_t i = 0; i < edges; i++)
        w->before_first[graph->next[i] + 2]++;
    for (uint32_t i = 2; i <= graph->count + 1; i++)
        w->before_first[i] += w->before_first[i - 1];
    for (uint32_t block = 0; block < graph->count; block++)
        for (uint32_t i = graph->first[block]; i < graph->first[block + 1]; i++)
            w->before[w->before_first[graph->next[i] + 1]++] = block;
    for (uint32_t i = 0; i < graph->start_count; i++)
        w->is_start[graph->starts[i]] = true;
}

struct step {
    uint64_t value; /* with this block in it */
    uint32_t next;  /* of what may come before it, the one to look at next */
};

static bool may_be(const struct walk *w, uint32_t block, uint64_t value, uint32_t level)
{
    if (level <= w->reached)
        return is_reached(w, block, value, level);
    return true;
}

/* All ways of `level` blocks that end with this block and this value. */
static void go_backwards(struct walk *w, uint32_t block, uint64_t value, uint32_t level)
{
    uint32_t *way = tool_allocate(level, sizeof *way), at = level - 1;
    struct step *steps = tool_allocate(level, sizeof *steps);
    way[at] = block;
    steps[at] = (struct step){value, w->before_first[block]};
    while (at < level) {
        uint32_t here = way[at];
        uint64_t rest = undo(w, steps[at].value, here);
        if (w->steps_left-- == 0) {
            w->steps_left = 0;
            w->found.is_whole = false;
            break;
        }
        if (at == 0) {
            if (w->is_start[here] && rest == w->first_value) {
                w->found.ways++;
                w->take(w->context, way, level);
            }
            at++;
            continue;
        }
        if (steps[at].next == w->before_first[here + 1]) {
            at++;
            continue;
        }
        uint32_t before = w->before[steps[at].next++];
        if (may_be(w, before, rest, at)) {
            at--;
            way[at] = before;
            steps[at] = (struct step){rest, w->before_first[before]};
        }
    }
    free(way);
    free(steps);
}

static void find_ways(struct walk *w, uint64_t value, uint32_t blocks, uint32_t blocks_most)
{
    bool is_any = blocks == TOOL_BRANCH_ANY_BLOCKS;
    if (value == w->first_value && (is_any || blocks == 0)) {
        w->found.ways++;
        w->take(w->context, NULL, 0);
    }
    w->found.is_whole = !w->is_short && !(is_any && w->reached >= blocks_most);
    for (size_t i = 0; i < w->count; i++) {
        const struct state *state = &w->states[i];
        if (state->value == value && state->level <= w->reached &&
            (is_any || state->level == blocks))
            go_backwards(w, state->block, value, state->level);
    }
    if (is_any || blocks <= w->reached || blocks > blocks_most)
        return;
    w->found.is_whole = true;
    for (uint32_t block = 0; block < w->graph->count && w->steps_left != 0; block++)
        go_backwards(w, block, value, blocks);
}

struct tool_branch_found tool_branch_walk(const struct tool_branch_graph *graph, uint64_t value,
                                          uint32_t blocks, const struct tool_branch_bounds *bounds,
                                          tool_branch_take take, void *context)
{
    size_t room = 64;
    while (room < bounds->states_most * 2)
        room *= 2;
    struct walk w = {.graph = graph,
                     .most = bounds->states_most,
                     .states = tool_allocate(bounds->states_most + 1, sizeof *w.states),
                     .table = tool_allocate(room, sizeof *w.table),
                     .table_mask = room - 1,
                     .has_any_level =
                         blocks == TOOL_BRANCH_ANY_BLOCKS && graph->operation == TTAPE_BRANCH_XOR,
                     .steps_left = bounds->steps_most,
                     .first_value = ttape_branch_first(graph->operation).value,
                     .take = take,
                     .context = context};
    uint32_t most = blocks < bounds->blocks_most ? blocks : bounds->blocks_most;
    find_before(&w);
    go_forwards(&w, most);
    find_ways(&w, value, blocks, bounds->blocks_most);
    if (w.has_any_level)
        w.found.is_whole = false; /* longer ones have the same value */
    w.found.blocks = blocks == TOOL_BRANCH_ANY_BLOCKS ? w.reached : most;
    free(w.states);
    free(w.table);
    free(w.before_first);
    free(w.before);
    free(w.is_start);
    return w.found;
}
