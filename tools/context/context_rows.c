/* Rows of calls: their counts, and what they say of the next one. */
#include "tools/context/context_rows.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MOST 262144u /* with more, no longer rows */
#define SURE_PRIOR   512u
#define STEP_COST    2u                         /* of each call: no recursion goes on for nothing */
#define SHORTER_MOST (2 * TOOL_SEARCH_COST_BIT) /* of a shorter row */
#define NEW_MOST     (5 * TOOL_SEARCH_COST_BIT) /* of a call that no trace shows */

uint32_t tool_search_cost(uint64_t part, uint64_t whole)
{
    uint32_t logs[2];
    uint64_t numbers[2] = {part, whole};
    for (int i = 0; i < 2; i++) {
        uint32_t high = 63u - (uint32_t)__builtin_clzll(numbers[i] | 1);
        uint64_t rest = (numbers[i] | 1) << (63 - high) << 1; /* below the highest bit */
        logs[i] = high * TOOL_SEARCH_COST_BIT + (uint32_t)(rest >> 61);
    }
    return logs[1] > logs[0] ? logs[1] - logs[0] : 0;
}

static uint64_t step_key(uint32_t row, uint32_t function) { return (uint64_t)row << 32 | function; }

static uint32_t new_row(struct tool_rows *rows, uint32_t length)
{
    tool_grow((void **)&rows->rows, &rows->row_capacity, rows->row_count + 1, sizeof *rows->rows);
    rows->rows[rows->row_count] =
        (struct tool_row){.shorter = TOOL_ROW_NONE, .length = (uint16_t)length};
    return (uint32_t)rows->row_count++;
}

/* Counts a function behind a row. Returns the row that has it too; of one that is as long as rows
 * are, TOOL_ROW_NONE. */
static uint32_t add(struct tool_rows *rows, uint32_t row, uint32_t function, uint64_t weight)
{
    if (rows->rows[row].length > 1 && rows->entry_count >= ENTRIES_MOST)
        return TOOL_ROW_NONE;
    uint32_t *number = tool_map_at(&rows->by_step, step_key(row, function), 0);
    if (*number == 0) {
        tool_grow((void **)&rows->entries, &rows->entry_capacity, rows->entry_count + 1,
                  sizeof *rows->entries);
        struct tool_row_entry *entry = &rows->entries[rows->entry_count];
        *number = (uint32_t)++rows->entry_count;
        *entry = (struct tool_row_entry){.row = row, .function = function, .next = TOOL_ROW_NONE};
        if (rows->rows[row].length < TOOL_ROW_CALLS)
            entry->next = new_row(rows, rows->rows[row].length + 1u);
    }
    rows->entries[*number - 1].weight += weight;
    return rows->entries[*number - 1].next;
}

/* Behind a context's function, those around it: each context once. */
static void add_outwards(struct tool_rows *rows, const struct tool_edges *edges)
{
    for (size_t i = 1; i < edges->context_count; i++) {
        uint32_t at = (uint32_t)i, row = 0;
        for (uint32_t k = 0; k <= TOOL_ROW_CALLS && at != TTAPE_NONE && row != TOOL_ROW_NONE; k++) {
            row = add(rows, row, edges->contexts[at].function, 1);
            at = edges->contexts[at].around;
        }
    }
}

/* A context's function behind those around it: with all contexts that are in it. */
static void add_inwards(struct tool_rows *rows, const struct tool_edges *edges)
{
    const uint32_t each = TOOL_ROW_CALLS + 1;
    uint32_t *of = tool_allocate(edges->context_count * each, sizeof *of); /* by length */
    for (size_t i = 0; i < edges->context_count; i++) {
        const struct tool_edge_context *context = &edges->contexts[i];
        const uint32_t *around = i > 0 ? &of[context->around * each] : NULL;
        for (uint32_t k = 0; k < each; k++)
            of[i * each + k] = TOOL_ROW_NONE;
        of[i * each] = 0;
        for (uint32_t k = 0; k < each; k++) {
            uint32_t row = around != NULL ? around[k] : k == 0 ? 0 : TOOL_ROW_NONE;
            if (row == TOOL_ROW_NONE)
                continue;
            uint32_t longer = add(rows, row, context->function, context->weight + 1);
            if (k + 1 < each)
                of[i * each + k + 1] = longer;
        }
    }
    free(of);
}

static int compare_entries(const void *a, const void *b)
{
    const struct tool_row_entry *one = a, *other = b;
    if (one->row != other->row)
        return one->row < other->row ? -1 : 1;
    if (one->weight != other->weight)
        return one->weight > other->weight ? -1 : 1;
    return one->function < other->function ? -1 : one->function > other->function;
}

static uint32_t next_of(const struct tool_rows *rows, uint32_t row, uint32_t function)
{
    uint32_t number = tool_map_find(&rows->by_step, step_key(row, function), 0);
    return number != 0 ? rows->entries[number - 1].next : TOOL_ROW_NONE;
}

/* A row is behind the one that it goes on from, so that one's shorter row is known. */
static void link_rows(struct tool_rows *rows)
{
    for (size_t i = 0; i < rows->entry_count; i++) {
        struct tool_row_entry *entry = &rows->entries[i];
        uint32_t shorter = rows->rows[entry->row].shorter;
        uint32_t next = shorter == TOOL_ROW_NONE ? 0 : next_of(rows, shorter, entry->function);
        if (entry->next == TOOL_ROW_NONE)
            entry->next = next;
        else
            rows->rows[entry->next].shorter = next;
    }
}

static void weigh(struct tool_rows *rows)
{
    for (size_t i = 0; i < rows->entry_count; i++) {
        struct tool_row *row = &rows->rows[rows->entries[i].row];
        row->first = row->count++ == 0 ? (uint32_t)i : row->first;
        row->weight += rows->entries[i].weight;
    }
    for (size_t i = 0; i < rows->entry_count; i++) {
        struct tool_row_entry *entry = &rows->entries[i];
        const struct tool_row *row = &rows->rows[entry->row];
        entry->cost = (uint16_t)(STEP_COST + tool_search_cost(entry->weight, row->weight));
        *tool_map_at(&rows->by_step, step_key(entry->row, entry->function), 0) = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < rows->row_count; i++) {
        struct tool_row *row = &rows->rows[i];
        uint32_t cost = tool_search_cost(row->count, 2 * row->weight);
        uint32_t most = row->length > 1 ? SHORTER_MOST : NEW_MOST;
        row->escape = (uint16_t)(cost < most ? cost : most);
    }
}

/* How likely a call is that no trace shows, beside others. */
static uint32_t prior(const struct tool_edge *edge)
{
    return (edge->kinds & TOOL_EDGE_SURE) != 0 ? SURE_PRIOR : 1;
}

static int compare_ways(const void *a, const void *b)
{
    const struct tool_row_way *one = a, *other = b;
    if (one->cost != other->cost)
        return one->cost < other->cost ? -1 : 1;
    return one->other < other->other ? -1 : one->other > other->other;
}

static void make_ways(struct tool_rows *rows, const struct tool_edges *edges, bool outwards)
{
    size_t count = edges->function_count;
    bool has_seen = edges->context_count > 1;
    uint64_t *priors = tool_allocate(count + 1, sizeof *priors);
    uint32_t *at = tool_allocate(count + 2, sizeof *at), *first = at + 1;
    for (size_t i = 0; i < edges->edge_count; i++) {
        const struct tool_edge *edge = &edges->edges[i];
        uint32_t of = outwards ? edge->to : edge->from;
        first[of] += edge->last == 0;
        priors[of] += edge->last == 0 ? prior(edge) : 0;
    }
    rows->way_first = tool_allocate(count + 2, sizeof *rows->way_first);
    for (size_t i = 0; i < count; i++)
        rows->way_first[i + 1] = at[i + 1] += at[i];
    rows->ways = tool_allocate(rows->way_first[count] + 1u, sizeof *rows->ways);
    for (size_t i = 0; i < edges->edge_count; i++) {
        const struct tool_edge *edge = &edges->edges[i];
        uint32_t of = outwards ? edge->to : edge->from;
        bool is_new = has_seen && (edge->kinds & TOOL_EDGE_SEEN) == 0;
        uint32_t cost = tool_search_cost(prior(edge), priors[of]);
        if (edge->last == 0)
            rows->ways[at[of]++] =
                (struct tool_row_way){outwards ? edge->from : edge->to, (uint16_t)cost, is_new};
    }
    for (size_t i = 0; i < count; i++)
        qsort(rows->ways + rows->way_first[i], rows->way_first[i + 1] - rows->way_first[i],
              sizeof *rows->ways, compare_ways);
    free(priors);
    free(at);
}

void tool_rows_open(struct tool_rows *rows, const struct tool_edges *edges, bool outwards)
{
    *rows = (struct tool_rows){0};
    (void)new_row(rows, 0);
    if (edges->context_count > 1 && outwards)
        add_outwards(rows, edges);
    else if (edges->context_count > 1)
        add_inwards(rows, edges);
    link_rows(rows);
    if (rows->entry_count > 0)
        qsort(rows->entries, rows->entry_count, sizeof *rows->entries, compare_entries);
    weigh(rows);
    rows->of_function = tool_allocate(edges->function_count + 1, sizeof *rows->of_function);
    for (uint32_t i = 0; i < edges->function_count; i++)
        rows->of_function[i] = next_of(rows, 0, i);
    make_ways(rows, edges, outwards);
}

void tool_rows_close(struct tool_rows *rows)
{
    free(rows->rows);
    free(rows->entries);
    free(rows->of_function);
    free(rows->ways);
    free(rows->way_first);
    tool_map_close(&rows->by_step);
    *rows = (struct tool_rows){0};
}

struct tool_row_next tool_rows_read(const struct tool_rows *rows, uint32_t row, uint32_t function)
{
    struct tool_row_next next = {function, TOOL_ROW_NONE, 0, false};
    for (; row != TOOL_ROW_NONE; row = rows->rows[row].shorter) {
        uint32_t number = tool_map_find(&rows->by_step, step_key(row, function), 0);
        if (number != 0) {
            next.row = rows->entries[number - 1].next;
            next.cost += rows->entries[number - 1].cost;
            break;
        }
        next.cost += rows->rows[row].escape;
    }
    return next;
}

/* Whether the row that the place came from has said that function. */
static bool was_said(const struct tool_rows *rows, const struct tool_row_place *place,
                     uint32_t longer, uint32_t function)
{
    return place->shorter > 0 && tool_map_find(&rows->by_step, step_key(longer, function), 0) != 0;
}

bool tool_rows_next(const struct tool_rows *rows, struct tool_row_place *place,
                    struct tool_row_next *next)
{
    uint32_t row = place->row, longer = TOOL_ROW_NONE;
    for (uint32_t i = 0; i < place->shorter && row != 0 && row != TOOL_ROW_NONE; i++) {
        longer = row;
        row = rows->rows[row].shorter;
    }
    while (row != 0 && row != TOOL_ROW_NONE) {
        const struct tool_row *from = &rows->rows[row];
        while (place->at < from->count) {
            const struct tool_row_entry *entry = &rows->entries[from->first + place->at++];
            if (entry->function == TOOL_EDGES_OUTSIDE ||
                was_said(rows, place, longer, entry->function))
                continue;
            *next = (struct tool_row_next){entry->function, entry->next,
                                           (uint32_t)place->cost + entry->cost, false};
            return true;
        }
        place->cost = (uint16_t)(place->cost + from->escape);
        place->shorter++;
        place->at = 0;
        longer = row;
        row = from->shorter;
    }
    const struct tool_row_way *ways = &rows->ways[rows->way_first[place->function]];
    uint32_t count = rows->way_first[place->function + 1] - rows->way_first[place->function];
    while (place->at < count) {
        const struct tool_row_way *way = &ways[place->at++];
        if (way->other == TOOL_EDGES_OUTSIDE)
            continue;
        *next = (struct tool_row_next){way->other, rows->of_function[way->other],
                                       (uint32_t)place->cost + way->cost, way->is_new != 0};
        return true;
    }
    return false;
}
