/* Functions whose calls moved to another caller, out of call paths: of each function, the calls
 * that its callers lost and those that other callers gained. */
#include <stdlib.h>
#include <string.h>

#include "answers/diff/diff_internal.h"
#include "base/ranks.h"

/* A caller and what it calls, over all paths. */
struct edge {
    uint32_t key, caller; /* caller: TTAPE_NONE: the function is outermost */
    uint64_t calls[2];
};

struct edges {
    struct edge *edges;
    size_t count, capacity;
};

static void list_edges(struct ttp_region *region, const struct ttp_diff_rows *paths,
                       struct edges *edges)
{
    struct ttp_key_map map = {0};
    for (size_t i = 0; i < paths->count; i++) {
        const ttape_diff_row *row = &paths->rows[i];
        uint32_t caller = row->parent != TTAPE_NONE ? paths->rows[row->parent].key : TTAPE_NONE;
        uint32_t *place =
            ttp_region_at(region, &map, (uint64_t)row->key << 32 | caller, TTAPE_NONE);
        if (*place == TTAPE_NONE) {
            struct edge *edge = ttp_region_add(region, &edges->edges, &edges->count,
                                               &edges->capacity, sizeof *edge);
            if (edge == NULL)
                break;
            *place = (uint32_t)edges->count - 1;
            *edge = (struct edge){.key = row->key, .caller = caller};
        }
        for (int side = 0; side < 2; side++)
            edges->edges[*place].calls[side] += ttp_diff_sides(paths, i)[side].calls;
    }
    ttp_region_close_map(region, &map);
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *one = a, *two = b;
    if (one->key != two->key)
        return one->key < two->key ? -1 : 1;
    return one->caller < two->caller ? -1 : one->caller > two->caller;
}

/* One caller more or less of those that lost calls (side 0), or gained some (side 1). */
static void note_caller(ttape_diff_move *move, int side, const struct edge *edge, uint64_t change)
{
    ttape_diff_caller *most = &move->callers[side];
    most->others += most->calls > 0;
    if (change > most->change)
        *most = (ttape_diff_caller){edge->caller, most->others, edge->calls[side], change};
}

/* What the callers of one function say: edges[0] to edges[count - 1]. */
static ttape_diff_move judge_move(const struct ttp_diff_rows *paths, const struct edge *edges,
                                  size_t count)
{
    ttape_diff_move move = {.key = edges[0].key};
    uint64_t moved[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        uint64_t a = edges[i].calls[0], b = edges[i].calls[1];
        int side = b > a;
        if (a == b || !ttp_diff_is_other_count(&paths->noise, a, b))
            continue;
        moved[side] += a > b ? a - b : b - a;
        note_caller(&move, side, &edges[i], a > b ? a - b : b - a);
    }
    move.calls = moved[0] < moved[1] ? moved[0] : moved[1];
    return move;
}

void ttp_diff_find_moves(struct ttape_diff *diff)
{
    const struct ttp_diff_rows *paths = &diff->paths;
    struct ttp_region *region = &diff->region;
    struct edges edges = {0};
    ttape_diff_move *found = NULL;
    size_t count = 0, capacity = 0;
    if (region->is_short) /* the paths may have no sides */
        return;
    list_edges(region, paths, &edges);
    if (edges.count > 1)
        qsort(edges.edges, edges.count, sizeof(*edges.edges), compare_edges);
    for (size_t i = 0, end; i < edges.count; i = end) {
        for (end = i + 1; end < edges.count && edges.edges[end].key == edges.edges[i].key;)
            end++;
        ttape_diff_move move = judge_move(paths, &edges.edges[i], end - i);
        ttape_diff_move *kept =
            move.calls != 0 ? ttp_region_add(region, &found, &count, &capacity, sizeof *kept)
                            : NULL;
        if (kept != NULL)
            *kept = move;
    }
    struct ttp_rank *ranks = ttp_region_take(region, count, sizeof(*ranks));
    diff->moves = ttp_region_take(region, count, sizeof(*diff->moves));
    if (region->is_short)
        return;
    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct ttp_rank){.index = (uint32_t)i, .weight = found[i].calls};
    ttp_sort_ranks(ranks, count);
    for (diff->move_count = 0; diff->move_count < count; diff->move_count++)
        diff->moves[diff->move_count] = found[ranks[diff->move_count].index];
    ttp_region_give(region, ranks);
    ttp_region_give(region, found);
    ttp_region_give(region, edges.edges);
}
