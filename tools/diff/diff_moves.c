/* Functions whose calls moved to another caller, out of call paths: of each function, the calls
 * that its callers lost and those that other callers gained. */
#include <stdlib.h>
#include <string.h>

#include "tools/calls/ranks.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/command/tool_map.h"
#include "tools/diff/diff_view.h"
#include "tools/io/json.h"
#include "tools/io/table.h"

/* A caller and what it calls, over all paths. */
struct edge {
    uint32_t key, caller; /* caller: TTAPE_NONE: the function is outermost */
    uint64_t calls[2];
};

struct edges {
    struct edge *edges;
    size_t count, capacity;
};

static void list_edges(const struct tool_diff_rows *paths, struct edges *edges)
{
    struct ttp_key_map map = {0};
    for (size_t i = 0; i < paths->count; i++) {
        const struct tool_diff_row *row = &paths->rows[i];
        uint32_t caller = row->parent != TTAPE_NONE ? paths->rows[row->parent].key : TTAPE_NONE;
        uint32_t *place = tool_map_at(&map, (uint64_t)row->key << 32 | caller, TTAPE_NONE);
        if (*place == TTAPE_NONE) {
            *place = (uint32_t)edges->count;
            tool_grow((void **)&edges->edges, &edges->capacity, edges->count + 1,
                      sizeof(*edges->edges));
            edges->edges[edges->count++] = (struct edge){.key = row->key, .caller = caller};
        }
        for (int side = 0; side < 2; side++)
            edges->edges[*place].calls[side] += tool_diff_sides(paths, i)[side].calls;
    }
    tool_map_close(&map);
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *one = a, *two = b;
    if (one->key != two->key)
        return one->key < two->key ? -1 : 1;
    return one->caller < two->caller ? -1 : one->caller > two->caller;
}

/* One caller more or less of those that lost calls (side 0), or gained some (side 1). */
static void note_caller(struct tool_diff_move *move, int side, const struct edge *edge,
                        uint64_t change)
{
    struct tool_diff_caller *most = &move->callers[side];
    most->others += most->calls > 0;
    if (change > most->change)
        *most = (struct tool_diff_caller){edge->caller, most->others, edge->calls[side], change};
}

/* What the callers of one function say: edges[0] to edges[count - 1]. */
static struct tool_diff_move judge(const struct tool_diff_rows *paths, const struct edge *edges,
                                   size_t count)
{
    struct tool_diff_move move = {.key = edges[0].key};
    uint64_t moved[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        uint64_t a = edges[i].calls[0], b = edges[i].calls[1];
        int side = b > a;
        if (a == b || !tool_diff_is_other_count(&paths->noise, a, b))
            continue;
        moved[side] += a > b ? a - b : b - a;
        note_caller(&move, side, &edges[i], a > b ? a - b : b - a);
    }
    move.calls = moved[0] < moved[1] ? moved[0] : moved[1];
    return move;
}

void tool_diff_find_moves(const struct tool_diff_rows *paths, struct tool_diff_moves *moves)
{
    struct edges edges = {0};
    struct tool_diff_move *found = NULL;
    size_t count = 0, capacity = 0;
    list_edges(paths, &edges);
    if (edges.count > 1)
        qsort(edges.edges, edges.count, sizeof(*edges.edges), compare_edges);
    for (size_t i = 0, end; i < edges.count; i = end) {
        for (end = i + 1; end < edges.count && edges.edges[end].key == edges.edges[i].key;)
            end++;
        struct tool_diff_move move = judge(paths, &edges.edges[i], end - i);
        if (move.calls == 0)
            continue;
        tool_grow((void **)&found, &capacity, count + 1, sizeof(*found));
        found[count++] = move;
    }
    struct tool_rank *ranks = tool_allocate(count + 1, sizeof(*ranks));
    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct tool_rank){.index = (uint32_t)i, .weight = found[i].calls};
    tool_sort_ranks(ranks, count);
    moves->moves = tool_allocate(count + 1, sizeof(*moves->moves));
    for (moves->count = 0; moves->count < count; moves->count++)
        moves->moves[moves->count] = found[ranks[moves->count].index];
    free(ranks);
    free(found);
    free(edges.edges);
}

void tool_diff_moves_close(struct tool_diff_moves *moves)
{
    free(moves->moves);
    *moves = (struct tool_diff_moves){0};
}

/* ---- printing ---- */

const char *tool_diff_caller_name(struct tool_diff *diff, uint32_t key)
{
    return key == TTAPE_NONE ? "(outermost)" : tool_diff_name(diff, key);
}

static void put_caller(struct tool_diff *diff, struct tool_table *table,
                       const struct tool_diff_caller *caller)
{
    const char *name = tool_diff_caller_name(diff, caller->key);
    if (caller->others == 0)
        tool_table_text(table, TOOL_PLAIN, name);
    else
        tool_table_printf(table, TOOL_PLAIN, "%.200s and %u more", name, (unsigned)caller->others);
}

void tool_diff_print_moves(struct tool_diff *diff, const struct tool_diff_moves *moves,
                           uint64_t limit, struct tool_output *out)
{
    const struct tool_column columns[] = {
        {"CALLS", .rank = 0},
        {"FUNCTION", .is_text = true, .rank = 0},
        {"CALLED IN A BY", .is_text = true, .rank = 0},
        {"CALLED IN B BY", .is_text = true, .gives_way = true},
    };
    struct tool_table table;
    if (moves->count == 0)
        return;
    size_t shown = moves->count < limit ? moves->count : (size_t)limit;
    tool_output_printf(out, "\nOther callers: calls of %zu function%s moved\n", moves->count,
                       moves->count == 1 ? "" : "s");
    tool_table_open(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < shown; i++) {
        const struct tool_diff_move *move = &moves->moves[i];
        const char *name = tool_diff_name(diff, move->key);
        tool_table_count(&table, TOOL_PLAIN, move->calls);
        tool_table_text(&table, TOOL_PLAIN, name);
        put_caller(diff, &table, &move->callers[0]);
        put_caller(diff, &table, &move->callers[1]);
    }
    tool_table_print(&table, out, tool_table_width(&table, tool_diff_is_shortened(diff)),
                     tool_terminal_colours());
    tool_table_close(&table);
    if (shown < moves->count)
        tool_output_printf(out, "(%zu more: --limit)\n", moves->count - shown);
}

void tool_diff_json_name(const struct tool_diff *diff, struct tool_json *json, const char *key,
                         uint32_t function)
{
    char buffer[20];
    ttape_string symbol, module, file;
    if (function == TTAPE_NONE) {
        tool_json_null(json, key);
        return;
    }
    tool_diff_describe(diff, function, buffer, &symbol, &module, &file);
    tool_json_string(json, key, symbol);
}

void tool_diff_json_moves(const struct tool_diff *diff, const struct tool_diff_moves *moves,
                          uint64_t limit, struct tool_json *json)
{
    tool_json_begin(json, "other_callers", '[');
    for (size_t i = 0; i < moves->count && i < limit && json->out->failed_errno == 0; i++) {
        const struct tool_diff_move *move = &moves->moves[i];
        tool_json_begin(json, NULL, '{');
        tool_diff_json_name(diff, json, "name", move->key);
        tool_json_number(json, "calls", move->calls);
        for (int side = 0; side < 2; side++) {
            const struct tool_diff_caller *caller = &move->callers[side];
            tool_json_begin(json, side == 0 ? "a" : "b", '{');
            tool_diff_json_name(diff, json, "caller", caller->key);
            tool_json_number(json, "calls", caller->calls);
            tool_json_number(json, "change", caller->change);
            tool_json_number(json, "more_callers", caller->others);
            tool_json_end(json, '}');
        }
        tool_json_end(json, '}');
    }
    tool_json_end(json, ']');
}
