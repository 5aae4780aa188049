/* Rows of calls: their counts, and what they say of the next one. */
#include "program/context/context_rows.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MOST   262144u /* with more, no longer rows */
#define SURE_PRIOR     512u
#define CONTEXTS_LEAST 65536u   /* with fewer, rows of three say more of one run than of others */
#define CALLS_MOST     2097152u /* in all rows; with more, longer ones have those of shorter ones */
#define STEP_COST      1u       /* of each call: no recursion goes on for nothing */
#define COST_MOST      (32 * TOOL_SEARCH_COST_BIT) /* of a call */
#define SHORTER_MOST   (2 * TOOL_SEARCH_COST_BIT)  /* of a call that only a shorter row has */
#define NEW_MOST       (5 * TOOL_SEARCH_COST_BIT)  /* of a call that no trace shows */
#define UNSEEN         0.3 /* of what comes next, for each that did, may be something else */

/* -log2, its fraction by the first terms of atanh's series. */
uint32_t tool_search_cost_of(double chance)
{
    uint64_t bits;
    double whole = chance < 1 ? chance : 1;
    memcpy(&bits, &whole, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1023 << 52;
    memcpy(&whole, &bits, sizeof whole); /* from 1 on, below 2 */
    double y = (whole - 1) / (whole + 1), square = y * y;
    double part =
        y * (1 + square * (1 / 3.0 + square * (1 / 5.0 + square / 7))) * 2.885390081777927;
    double cost = (-exponent - part) * TOOL_SEARCH_COST_BIT;
    return cost < 0 ? 0 : cost < COST_MOST ? (uint32_t)(cost + 0.5) : COST_MOST;
}

uint32_t tool_search_cost(uint64_t part, uint64_t whole)
{
    return tool_search_cost_of((double)(part | 1) / (double)(whole | 1));
}

double tool_search_chance(uint32_t cost)
{
    static const double parts[] = {0.95760328069857365, 0.91700404320467123, 0.84089641525371454,
                                   0.70710678118654752}; /* 2^(-1/16), 2^(-1/8), ... */
    uint32_t exponent = cost / TOOL_SEARCH_COST_BIT;
    uint64_t bits = (uint64_t)(exponent < 1022 ? 1023 - exponent : 1) << 52;
    double chance;
    memcpy(&chance, &bits, sizeof chance);
    for (uint32_t i = 0; i < 4; i++)
        chance *= (cost >> i & 1) != 0 ? parts[i] : 1;
    return chance;
}

static uint64_t step_key(uint32_t row, uint32_t function) { return (uint64_t)row << 32 | function; }

static uint32_t new_row(struct tool_rows *rows, uint32_t length, uint32_t function)
{
    struct tool_row *row = ttp_region_add(rows->region, &rows->rows, &rows->row_count,
                                          &rows->row_capacity, sizeof *row);
    if (row == NULL)
        return TOOL_ROW_NONE;
    *row = (struct tool_row){
        .shorter = TOOL_ROW_NONE, .function = function, .length = (uint16_t)length};
    return (uint32_t)rows->row_count - 1;
}

/* Counts a function behind a row. Returns the row that has it too; of one that is as long as rows
 * are, TOOL_ROW_NONE. */
static uint32_t add_weight(struct tool_rows *rows, uint32_t row, uint32_t function, uint64_t weight,
                           uint32_t most)
{
    if (rows->rows[row].length > 1 && rows->entry_count >= ENTRIES_MOST)
        return TOOL_ROW_NONE;
    uint32_t *number = ttp_region_at(rows->region, &rows->by_step, step_key(row, function), 0);
    if (*number == 0) {
        struct tool_row_entry *entry = ttp_region_add(
            rows->region, &rows->entries, &rows->entry_count, &rows->entry_capacity, sizeof *entry);
        if (entry == NULL)
            return TOOL_ROW_NONE;
        *number = (uint32_t)rows->entry_count;
        *entry = (struct tool_row_entry){.row = row, .function = function, .next = TOOL_ROW_NONE};
        if (rows->rows[row].length < most)
            entry->next = new_row(rows, rows->rows[row].length + 1u, function);
    }
    rows->entries[*number - 1].weight += weight;
    return rows->entries[*number - 1].next;
}

/* Behind a context's function, those around it: each context once. */
static void add_outwards(struct tool_rows *rows, const struct tool_edges *edges)
{
    for (size_t i = 1; i < edges->context_count; i++) {
        uint32_t at = (uint32_t)i, row = 0;
        for (uint32_t k = 0; k <= TOOL_ROW_CALLS_OUT && at != TTAPE_NONE && row != TOOL_ROW_NONE;
             k++) {
            row = add_weight(rows, row, edges->contexts[at].function, 1, TOOL_ROW_CALLS_OUT);
            at = edges->contexts[at].around;
        }
    }
}

/* A context's function behind those around it: with all contexts that are in it. */
static void add_inwards(struct tool_rows *rows, const struct tool_edges *edges)
{
    const uint32_t calls =
        edges->context_count > CONTEXTS_LEAST ? TOOL_ROW_CALLS : TOOL_ROW_CALLS - 1;
    const uint32_t each = calls + 1;
    uint32_t *of =
        ttp_region_take(rows->region, edges->context_count * each, sizeof *of); /* by length */
    for (size_t i = 0; of != NULL && i < edges->context_count; i++) {
        const struct tool_edge_context *context = &edges->contexts[i];
        const uint32_t *around = i > 0 ? &of[context->around * each] : NULL;
        for (uint32_t k = 0; k < each; k++)
            of[i * each + k] = TOOL_ROW_NONE;
        of[i * each] = 0;
        for (uint32_t k = 0; k < each; k++) {
            uint32_t row = around != NULL ? around[k] : k == 0 ? 0 : TOOL_ROW_NONE;
            if (row == TOOL_ROW_NONE)
                continue;
            uint32_t longer = add_weight(rows, row, context->function, context->weight + 1, calls);
            if (k + 1 < each)
                of[i * each + k + 1] = longer;
        }
    }
    ttp_region_give(rows->region, of);
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
    uint32_t number = ttp_key_map_find(&rows->by_step, step_key(row, function), 0);
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

static int compare_calls(const void *a, const void *b)
{
    const struct tool_row_call *one = a, *other = b;
    if (one->cost != other->cost)
        return one->cost < other->cost ? -1 : 1;
    return one->function < other->function ? -1 : one->function > other->function;
}

/* A row's entries, and what came behind the shorter one, which count as much as is unseen. */
struct mixing {
    struct tool_rows *rows;
    const uint32_t *first; /* entry, by row */
    uint32_t *place;       /* by function, plus 1: its call in the row that is made */
};

static void put_call(struct mixing *mixing, struct tool_row *row, const struct tool_row_call *call)
{
    struct tool_rows *rows = mixing->rows;
    uint32_t *place = &mixing->place[call->function];
    if (*place == 0) {
        struct tool_row_call *added = ttp_region_add(rows->region, &rows->calls, &rows->call_count,
                                                     &rows->call_capacity, sizeof *added);
        if (added == NULL)
            return;
        *added = *call;
        *place = ++row->count;
        return;
    }
    struct tool_row_call *there = &rows->calls[row->first + *place - 1];
    there->chance += call->chance;
    there->row = call->row;
}

static void mix(struct mixing *mixing, uint32_t number)
{
    struct tool_rows *rows = mixing->rows;
    struct tool_row *row = &rows->rows[number], none = {0};
    const struct tool_row *shorter =
        row->shorter != TOOL_ROW_NONE ? &rows->rows[row->shorter] : &none; /* or the empty one */
    uint32_t first = mixing->first[number], end = mixing->first[number + 1];
    uint32_t most = row->length > 1 ? SHORTER_MOST : NEW_MOST;
    if (row->length > 1 && rows->call_count + shorter->count + end - first > CALLS_MOST) {
        row->first = shorter->first;
        row->count = shorter->count;
        row->escape = shorter->escape;
        return;
    }
    double unseen = UNSEEN * (end - first), whole = (double)row->weight + unseen;
    double rest = unseen / whole;
    uint32_t escape = tool_search_cost_of(rest);
    row->first = (uint32_t)rows->call_count;
    row->escape = (uint16_t)(shorter->escape + (escape < most ? escape : most));
    for (uint32_t i = 0; i < shorter->count; i++) {
        struct tool_row_call call = rows->calls[shorter->first + i];
        call.chance = (float)(call.chance * rest);
        put_call(mixing, row, &call);
    }
    for (uint32_t i = first; i < end; i++) {
        const struct tool_row_entry *entry = &rows->entries[i];
        const struct tool_row_call call = {entry->function, entry->next,
                                           (float)((double)entry->weight / whole), 0};
        if (call.function != TOOL_EDGES_OUTSIDE)
            put_call(mixing, row, &call);
    }
    for (uint32_t i = 0; i < row->count; i++) {
        struct tool_row_call *call = &rows->calls[row->first + i];
        call->cost = (uint16_t)(STEP_COST + tool_search_cost_of(call->chance));
        mixing->place[call->function] = 0;
    }
    if (row->count > 0)
        qsort(rows->calls + row->first, row->count, sizeof *rows->calls, compare_calls);
}

static void weigh(struct tool_rows *rows, size_t function_count)
{
    uint32_t *first = ttp_region_take(rows->region, rows->row_count + 2, sizeof *first);
    struct mixing mixing = {
        rows, first, ttp_region_take(rows->region, function_count + 1, sizeof *mixing.place)};
    if (rows->region->is_short)
        return;
    for (size_t i = 0; i < rows->entry_count; i++) {
        rows->rows[rows->entries[i].row].weight += rows->entries[i].weight;
        first[rows->entries[i].row + 1]++;
    }
    for (size_t i = 0; i < rows->row_count; i++)
        first[i + 1] += first[i];
    for (uint32_t length = 1; length <= TOOL_ROW_CALLS; length++)
        for (uint32_t i = 1; i < rows->row_count; i++)
            if (rows->rows[i].length == length)
                mix(&mixing, i);
    ttp_region_give(rows->region, first);
    ttp_region_give(rows->region, mixing.place);
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
    uint64_t *priors = ttp_region_take(rows->region, count + 1, sizeof *priors);
    uint32_t *at = ttp_region_take(rows->region, count + 2, sizeof *at);
    rows->way_first = ttp_region_take(rows->region, count + 2, sizeof *rows->way_first);
    if (rows->region->is_short)
        return;
    uint32_t *first = at + 1;
    for (size_t i = 0; i < edges->edge_count; i++) {
        const struct tool_edge *edge = &edges->edges[i];
        uint32_t of = outwards ? edge->to : edge->from;
        first[of] += edge->last == 0;
        priors[of] += edge->last == 0 ? prior(edge) : 0;
    }
    for (size_t i = 0; i < count; i++)
        rows->way_first[i + 1] = at[i + 1] += at[i];
    rows->ways = ttp_region_take(rows->region, rows->way_first[count] + 1u, sizeof *rows->ways);
    if (rows->ways == NULL)
        return;
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
    ttp_region_give(rows->region, priors);
    ttp_region_give(rows->region, at);
}

void tool_rows_open(struct tool_rows *rows, struct ttp_region *region,
                    const struct tool_edges *edges, bool outwards)
{
    *rows = (struct tool_rows){.region = region};
    if (new_row(rows, 0, TOOL_EDGES_OUTSIDE) == TOOL_ROW_NONE)
        return;
    if (edges->context_count > 1 && outwards)
        add_outwards(rows, edges);
    else if (edges->context_count > 1)
        add_inwards(rows, edges);
    rows->of_function =
        ttp_region_take(region, edges->function_count + 1, sizeof *rows->of_function);
    if (region->is_short)
        return;
    link_rows(rows);
    for (uint32_t i = 0; i < edges->function_count; i++)
        rows->of_function[i] = next_of(rows, 0, i);
    ttp_region_close_map(region, &rows->by_step);
    if (rows->entry_count > 0)
        qsort(rows->entries, rows->entry_count, sizeof *rows->entries, compare_entries);
    weigh(rows, edges->function_count);
    ttp_region_give(region, rows->entries);
    rows->entries = NULL;
    make_ways(rows, edges, outwards);
}

struct tool_row_next tool_rows_read(const struct tool_rows *rows, uint32_t row, uint32_t function)
{
    const struct tool_row *from = &rows->rows[row == TOOL_ROW_NONE ? 0 : row];
    for (uint32_t i = 0; i < from->count; i++) {
        const struct tool_row_call *call = &rows->calls[from->first + i];
        if (call->function == function)
            return (struct tool_row_next){function, call->row, call->cost, false};
    }
    return (struct tool_row_next){function, rows->of_function[function], COST_MOST, false};
}
