/* Counting what follows what, in time that grows with the events and the alphabet, whatever they
 * are: the codes' successors are put together by a sort of numbers in one pass, and those of one
 * code are counted in a table by code.
 *
 *   codes -> starts, followers (by code) -> rows of one code -> records, most frequent first */
#include "answers/chains/chains_internal.h"

#include <string.h>

#include "base/sort.h"
#include "format/base/fail.h"

struct row { /* a successor of a code */
    uint32_t code, count;
};

struct counting {
    const struct ttp_loaded *p;
    uint32_t alphabet, row_count, kinds;
    uint32_t *occurrences; /* by code */
    uint32_t *starts;      /* by code: its first follower; then its first row */
    uint32_t *followers;
    uint32_t *counts; /* by code, of the followers of one; 0 between two */
    struct row *rows;
    uint32_t *order; /* sorted: codes that occur, and behind them the rows of one */
};

static ttape_status take_array(struct ttp_memory *m, uint32_t **array, uint64_t count,
                               ttape_error *err)
{
    *array = ttp_memory_take(m, count, sizeof **array, err);
    if (*array == NULL)
        return m->status;
    memset(*array, 0, (size_t)count * sizeof **array); /* there is that much memory */
    return TTAPE_OK;
}

static ttape_status open_counting(struct counting *n, struct ttp_memory *m, ttape_error *err)
{
    uint32_t events = n->p->head.event_count;
    TTP_TRY(take_array(m, &n->occurrences, n->alphabet, err));
    TTP_TRY(take_array(m, &n->starts, n->alphabet + 2ull, err));
    TTP_TRY(take_array(m, &n->counts, n->alphabet, err));
    TTP_TRY(take_array(m, &n->followers, events, err));
    TTP_TRY(take_array(m, &n->order, 2ull * n->alphabet, err));
    n->rows = ttp_memory_take(m, events, sizeof *n->rows, err);
    return n->rows == NULL ? m->status : TTAPE_OK;
}

static void close_counting(struct counting *n, struct ttp_memory *m)
{
    uint32_t events = n->p->head.event_count;
    ttp_memory_give(m, n->occurrences, n->alphabet, sizeof(uint32_t));
    ttp_memory_give(m, n->starts, n->alphabet + 2ull, sizeof(uint32_t));
    ttp_memory_give(m, n->counts, n->alphabet, sizeof(uint32_t));
    ttp_memory_give(m, n->followers, events, sizeof(uint32_t));
    ttp_memory_give(m, n->order, 2ull * n->alphabet, sizeof(uint32_t));
    ttp_memory_give(m, n->rows, events, sizeof *n->rows);
}

/* Nothing follows over the edge of a segment. */
static void group_followers(struct counting *n)
{
    const struct ttp_loaded *p = n->p;
    uint32_t *ends = n->starts + 2; /* of the code before; moves up as the code's are put there */
    for (uint32_t s = 0; s < p->segments.segment_count; s++) {
        uint32_t end = p->segment_start[s + 1];
        for (uint32_t i = p->segment_start[s]; i < end; i++) {
            n->occurrences[p->codes[i]]++;
            if (i + 1 < end)
                ends[p->codes[i]]++;
        }
    }
    for (uint32_t code = 1; code < n->alphabet; code++)
        ends[code] += ends[code - 1];
    for (uint32_t s = 0; s < p->segments.segment_count; s++)
        for (uint32_t i = p->segment_start[s]; i + 1 < p->segment_start[s + 1]; i++)
            n->followers[n->starts[p->codes[i] + 1]++] = p->codes[i + 1];
}

/* Makes one row of equal followers; starts[code] is the code's first row afterwards. */
static void count_followers(struct counting *n)
{
    uint32_t at = 0;
    for (uint32_t code = 0; code < n->alphabet; code++) {
        uint32_t end = n->starts[code + 1], first = at;
        uint32_t first_row = n->row_count;
        for (at = first; at < end; at++)
            n->counts[n->followers[at]]++;
        for (uint32_t i = first; i < end; i++) {
            uint32_t follower = n->followers[i];
            if (n->counts[follower] != 0)
                n->rows[n->row_count++] = (struct row){follower, n->counts[follower]};
            n->counts[follower] = 0;
        }
        n->starts[code] = first_row;
    }
    n->starts[n->alphabet] = n->row_count;
}

static bool is_commoner(const void *context, uint32_t a, uint32_t b)
{
    const struct counting *n = context;
    if (n->occurrences[a] != n->occurrences[b])
        return n->occurrences[a] > n->occurrences[b];
    return a < b;
}

static bool is_likelier(const void *context, uint32_t a, uint32_t b)
{
    const struct row *x = &((const struct counting *)context)->rows[a];
    const struct row *y = &((const struct counting *)context)->rows[b];
    return x->count != y->count ? x->count > y->count : x->code < y->code;
}

static void make_successors(ttape_chains *c, struct counting *n, uint32_t number, uint32_t code)
{
    uint32_t first = n->starts[code], count = n->starts[code + 1] - first;
    uint32_t *order = n->order + n->kinds;
    for (uint32_t i = 0; i < count; i++)
        order[i] = first + i;
    ttp_sort(order, count, is_likelier, n);
    c->first_successors[number] = c->successor_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct row *row = &n->rows[order[i]];
        c->successors[c->successor_count++] =
            (ttape_successor){ttp_chain_item_of(n->p, row->code), row->count};
    }
    c->records[number] =
        (ttape_sequence_record){ttp_chain_item_of(n->p, code), count, n->occurrences[code]};
}

static ttape_status make_records(ttape_chains *c, struct counting *n, ttape_error *err)
{
    struct ttp_memory *m = c->memory;
    c->event_capacity = n->kinds;
    c->successor_capacity = n->row_count;
    c->records = ttp_memory_take(m, n->kinds, sizeof *c->records, err);
    if (c->records == NULL)
        return m->status;
    c->first_successors = ttp_memory_take(m, n->kinds + 1ull, sizeof(uint32_t), err);
    if (c->first_successors == NULL)
        return m->status;
    c->successors = ttp_memory_take(m, n->row_count, sizeof *c->successors, err);
    if (c->successors == NULL)
        return m->status;
    for (uint32_t i = 0; i < n->kinds; i++)
        make_successors(c, n, i, n->order[i]);
    c->first_successors[n->kinds] = c->successor_count;
    c->info.record_count = n->kinds;
    return TTAPE_OK;
}

static void sort_kinds(struct counting *n)
{
    for (uint32_t code = 0; code < n->alphabet; code++)
        if (n->occurrences[code] != 0)
            n->order[n->kinds++] = code;
    ttp_sort(n->order, n->kinds, is_commoner, n);
}

ttape_status ttp_chains_count_records(ttape_chains *c, const struct ttp_loaded *p, ttape_error *err)
{
    struct counting n = {.p = p, .alphabet = 2 * p->symbol_count};
    ttape_status status = open_counting(&n, c->memory, err);
    if (status == TTAPE_OK) {
        group_followers(&n);
        count_followers(&n);
        sort_kinds(&n);
        status = make_records(c, &n, err);
    }
    close_counting(&n, c->memory);
    return status;
}
