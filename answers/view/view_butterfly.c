/* Who called a function, and whom it called, over a time and some threads: of the call graph, which
 * reads each event. So it is made piece by piece of time, some pieces with each question: an answer
 * says how much has been read, and asking again goes on. Pieces are taken from all over the time,
 * so that the first rows are like the last. What is kept is of all functions: the next one that is
 * asked for is answered from it.
 *
 * Counts of pieces add up: a call is counted where it is entered, times are cut. */
#include <string.h>

#include <tracetape/graph.h>
#include <tracetape/writer.h>

#include "answers/view/view_internal.h"
#include "base/key_map.h"
#include "base/sort.h"
#include "base/task.h"
#include "format/base/fail.h"

#define PIECES_WANTED  64u /* of a small trace; a large one has more */
#define PIECE_EVENTS   2000000u
#define PIECE_SMALLEST 50000u
#define WORKERS_MOST   8u
#define PIECES_EACH    4u /* of a worker's, in a question */
#define PIECES_MOST    (WORKERS_MOST * PIECES_EACH)
#define ROWS_USUAL     50u
#define ROWS_MOST      1000u
#define KEY_START      UINT32_MAX
#define KEY_SIGNAL     0x80000000u /* and its number */

struct counts {
    uint64_t calls, recursion, starts, unseen, late;
    int64_t total_ns, self_ns;
};

/* to KEY_START: what `from` itself has. */
struct edge {
    uint32_t from, to; /* rows of functions, signals, or the start */
    struct counts sum;
};

struct ttp_view_butterfly {
    struct ttp_view_choice choice;
    uint64_t *borders; /* of pieces */
    uint32_t piece_count, done_count, stride;
    uint32_t most_at_once; /* pieces: as many as the memory is enough for */
    struct edge *edges;
    uint32_t edge_count, edge_capacity;
    struct ttp_key_map numbers; /* of edges, by both ends */
    uint32_t *row_of, *site_of; /* of sites, and of rows */
    uint32_t site_count, row_count;
};

/* ---- what is kept ---- */

void ttp_view_forget_butterfly(struct ttape_view *view)
{
    struct ttp_view_butterfly *b = view->butterfly;
    if (b == NULL)
        return;
    ttp_memory_give(&view->memory, b->borders, (uint64_t)b->piece_count + 1, sizeof *b->borders);
    ttp_memory_give(&view->memory, b->edges, b->edge_capacity, sizeof *b->edges);
    ttp_key_map_close(&b->numbers, &view->memory);
    ttp_memory_give(&view->memory, b->row_of, b->site_count, sizeof *b->row_of);
    ttp_memory_give(&view->memory, b->site_of, b->row_count, sizeof *b->site_of);
    ttp_memory_give(&view->memory, b, 1, sizeof *b);
    view->butterfly = NULL;
}

static uint64_t key_of_ends(uint32_t from, uint32_t to) { return (uint64_t)from << 32 | to; }

static ttape_status add_edge(struct ttape_view *view, uint32_t from, uint32_t to,
                             const ttape_graph_counts *more, ttape_error *err)
{
    struct ttp_view_butterfly *b = view->butterfly;
    if (ttp_key_map_is_full(&b->numbers))
        TTP_TRY(ttp_key_map_grow(&b->numbers, &view->memory, err));
    TTP_TRY(ttp_memory_reserve(&view->memory, &b->edges, &b->edge_capacity,
                               (uint64_t)b->edge_count + 1, sizeof *b->edges, err));
    uint32_t *number = ttp_key_map_at(&b->numbers, key_of_ends(from, to), TTAPE_NONE);
    if (*number == TTAPE_NONE) {
        b->edges[b->edge_count] = (struct edge){.from = from, .to = to};
        *number = b->edge_count++;
    }
    struct counts *sum = &b->edges[*number].sum;
    sum->calls += more->call_count;
    sum->recursion += more->recursion_count;
    sum->starts += more->start_count;
    sum->unseen += more->unseen_count;
    sum->late += more->late_count;
    sum->total_ns = (int64_t)((uint64_t)sum->total_ns + (uint64_t)more->total_ns);
    sum->self_ns = (int64_t)((uint64_t)sum->self_ns + (uint64_t)more->self_ns);
    return TTAPE_OK;
}

/* A function is one row at all nesting levels of threads. */
static uint32_t key_of(const ttape_graph_node *node)
{
    return node->kind == TTAPE_GRAPH_FUNCTION ? node->function
           : node->kind == TTAPE_GRAPH_SIGNAL ? KEY_SIGNAL | node->signal
                                              : KEY_START;
}

static ttape_status merge(struct ttape_view *view, const ttape_graph *graph, ttape_error *err)
{
    uint32_t node_count, edge_count;
    const ttape_graph_node *nodes = ttape_graph_get_nodes(graph, &node_count);
    const ttape_graph_edge *edges = ttape_graph_get_edges(graph, &edge_count);
    for (uint32_t i = 0; i < node_count; i++)
        TTP_TRY(add_edge(view, key_of(&nodes[i]), KEY_START, &nodes[i].sum, err));
    for (uint32_t i = 0; i < edge_count; i++)
        TTP_TRY(add_edge(view, key_of(&nodes[edges[i].from]), key_of(&nodes[edges[i].to]),
                         &edges[i].sum, err));
    return TTAPE_OK;
}

/* ---- pieces of time ---- */

static bool starts_before(const void *context, uint32_t a, uint32_t b)
{
    const uint64_t *times = context;
    return times[a] != times[b] ? times[a] < times[b] : a < b;
}

/* Borders behind so many events, where partitions begin; returns how many pieces there are. */
static uint32_t cut(struct ttape_view *view, const uint64_t *times, const uint32_t *order,
                    uint64_t *borders)
{
    ttape_partition_info info;
    uint64_t events = 0, wanted = view->info.event_count / PIECES_WANTED;
    uint32_t count = 0;
    wanted = wanted < PIECE_SMALLEST ? PIECE_SMALLEST
             : wanted > PIECE_EVENTS ? PIECE_EVENTS
                                     : wanted;
    for (uint64_t i = 0; i < view->info.partition_count; i++) {
        (void)ttape_reader_get_partition(view->reader, order[i], &info);
        if (events >= wanted && times[order[i]] > borders[count]) {
            borders[++count] = times[order[i]];
            events = 0;
        }
        events += info.event_count;
    }
    return count + 1;
}

static ttape_status find_borders(struct ttape_view *view, struct ttp_view_butterfly *b,
                                 ttape_error *err)
{
    const struct ttp_view_choice *choice = &b->choice;
    uint32_t all = (uint32_t)view->info.partition_count;
    uint64_t *times = ttp_memory_take(&view->memory, all, sizeof *times, err);
    uint32_t *order = ttp_memory_take(&view->memory, all, sizeof *order, err);
    uint64_t *borders = ttp_memory_take(&view->memory, (uint64_t)all + 2, sizeof *borders, err);
    ttape_status status = view->memory.status;
    if (times != NULL && order != NULL && borders != NULL) {
        ttape_partition_info info = {0};
        for (uint32_t i = 0; i < all; i++) {
            (void)ttape_reader_get_partition(view->reader, i, &info);
            uint64_t time = info.time_first_ns;
            time = time > choice->from_ns ? time : choice->from_ns;
            times[i] = time < choice->to_ns ? time : choice->to_ns;
            order[i] = i;
        }
        ttp_sort(order, all, starts_before, times);
        borders[0] = choice->from_ns;
        uint32_t count =
            view->info.resolution_ns != TTAPE_TIME_NONE ? cut(view, times, order, borders) : 1;
        borders[count] = choice->to_ns;
        b->borders = ttp_memory_take(&view->memory, (uint64_t)count + 1, sizeof *borders, err);
        b->piece_count = b->borders != NULL ? count : 0;
        if (b->borders != NULL)
            memcpy(b->borders, borders, ((size_t)count + 1) * sizeof *borders);
        status = b->borders != NULL ? TTAPE_OK : view->memory.status;
    }
    ttp_memory_give(&view->memory, times, all, sizeof *times);
    ttp_memory_give(&view->memory, order, all, sizeof *order);
    ttp_memory_give(&view->memory, borders, (uint64_t)all + 2, sizeof *borders);
    return status;
}

/* Which sites are one function: what they are in each piece's graph, too. */
static ttape_status find_rows(struct ttape_view *view, struct ttp_view_butterfly *b,
                              ttape_error *err)
{
    const ttape_functions_options how = {.size = sizeof how,
                                         .memory_bytes = view->options.memory_bytes};
    const ttape_reader *reader = view->reader;
    ttape_functions *functions;
    TTP_TRY(ttape_functions_make(&functions, &reader, 1, &how, err));
    const ttape_function *rows = ttape_functions_get_rows(functions, &b->row_count);
    const uint32_t *row_of = ttape_functions_get_sites(functions, 0, &b->site_count);
    b->site_of = ttp_memory_take(&view->memory, b->row_count, sizeof *b->site_of, err);
    b->row_of = ttp_memory_take(&view->memory, b->site_count, sizeof *b->row_of, err);
    ttape_status status = view->memory.status;
    if (b->site_of != NULL && b->row_of != NULL) {
        for (uint32_t i = 0; i < b->row_count; i++)
            b->site_of[i] = rows[i].site;
        for (uint32_t i = 0; i < b->site_count; i++)
            b->row_of[i] = row_of[i];
        status = TTAPE_OK;
    }
    ttape_functions_close(functions);
    return status;
}

/* So that each piece comes once: no divisor of the number of pieces. */
static uint32_t stride_of(uint32_t count)
{
    uint32_t stride = count / 2 + count / 8;
    for (;; stride++) {
        uint32_t a = count, b = stride;
        while (b != 0) {
            uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1 || count <= 1)
            return stride > 0 ? stride : 1;
    }
}

static ttape_status begin_graph(struct ttape_view *view, const struct ttp_view_choice *choice,
                                ttape_error *err)
{
    struct ttp_view_butterfly *b = view->butterfly;
    if (b != NULL && ttp_view_same_choice(&b->choice, choice))
        return TTAPE_OK;
    ttp_view_forget_butterfly(view);
    b = ttp_memory_take(&view->memory, 1, sizeof *b, err);
    if (b == NULL)
        return view->memory.status;
    *b = (struct ttp_view_butterfly){.choice = *choice, .most_at_once = PIECES_MOST};
    view->butterfly = b;
    ttape_status status = find_borders(view, b, err);
    if (status == TTAPE_OK)
        status = find_rows(view, b, err);
    if (status != TTAPE_OK)
        ttp_view_forget_butterfly(view);
    else
        b->stride = stride_of(b->piece_count);
    return status;
}

/* ---- work ---- */

struct work {
    struct ttape_view *view;
    uint32_t piece;
    uint64_t memory_bytes, damage_count;
    ttape_graph *graph;
    ttape_status status;
    ttape_error err;
};

/* Pieces that are read for one question: each worker takes the next one. */
struct team {
    struct work works[PIECES_MOST];
    _Atomic uint32_t next;
    uint32_t count;
};

static void note_damage(void *context, uint32_t stream, const ttape_error *error)
{
    struct work *work = context;
    (void)stream;
    (void)error;
    work->damage_count++;
}

static bool goes_on(void *context, uint64_t event_count)
{
    const struct work *work = context;
    (void)event_count;
    return !ttp_view_stops(work->view);
}

static void read_piece(struct work *work)
{
    const struct ttape_view *view = work->view;
    const struct ttp_view_butterfly *b = view->butterfly;
    const struct ttp_view_choice *choice = &b->choice;
    const ttape_graph_options how = {
        .size = sizeof how,
        .streams = choice->streams.given ? choice->streams.numbers : NULL,
        .stream_count = choice->streams.count,
        .has_range = b->piece_count > 1 || choice->has_range,
        .from_ns = b->borders[work->piece],
        .to_ns = b->borders[work->piece + 1],
        .memory_bytes = work->memory_bytes,
        .damage = note_damage,
        .goes_on = goes_on,
        .context = work,
    };
    work->status = ttape_graph_make(&work->graph, view->reader, &how, &work->err);
}

static void read_pieces(void *context)
{
    struct team *team = context;
    for (uint32_t i = team->next++; i < team->count; i = team->next++)
        read_piece(&team->works[i]);
}

static void read_together(struct team *team, uint32_t worker_count)
{
    struct ttp_task tasks[WORKERS_MOST];
    uint32_t others = (worker_count < team->count ? worker_count : team->count) - 1;
    for (uint32_t i = 0; i < others; i++)
        ttp_task_begin(&tasks[i], read_pieces, team);
    read_pieces(team);
    for (uint32_t i = 0; i < others; i++)
        ttp_task_end(&tasks[i]);
}

/* What was read is kept up to the first piece that failed: asking again goes on with that one. */
static ttape_status keep_pieces(struct ttape_view *view, struct team *team, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; i < team->count; i++) {
        struct work *work = &team->works[i];
        if (status == TTAPE_OK && work->status != TTAPE_OK) {
            status = work->status;
            *err = work->err;
        } else if (status == TTAPE_OK) {
            status = merge(view, work->graph, err);
            view->butterfly->done_count += status == TTAPE_OK;
            view->damage_count += work->damage_count; /* others are read again, and tell again */
            if (status != TTAPE_OK)                   /* some of it may be there, and some not */
                ttp_view_forget_butterfly(view);
        }
        ttape_graph_close(work->graph);
    }
    return status;
}

/* Each worker reads one piece at first, so that there are rows at once. All of a question's pieces
 * share the memory; where that does not suffice, there are fewer. */
static ttape_status go_on(struct ttape_view *view, ttape_error *err)
{
    struct ttp_view_butterfly *b = view->butterfly;
    uint32_t workers = view->options.jobs > 0 ? view->options.jobs : 1;
    workers = workers < WORKERS_MOST ? workers : WORKERS_MOST;
    struct team *team = ttp_memory_take(&view->memory, 1, sizeof *team, err);
    if (team == NULL)
        return view->memory.status;
    ttape_status status = TTAPE_E_LIMIT;
    uint32_t most = b->done_count == 0 ? workers : workers * PIECES_EACH, done = b->done_count;
    for (; status == TTAPE_E_LIMIT && most > 0 && view->butterfly != NULL; most /= 2) {
        uint32_t left = b->piece_count - b->done_count;
        most = most < b->most_at_once ? most : b->most_at_once;
        *team = (struct team){.count = most < left ? most : left};
        for (uint32_t i = 0; i < team->count; i++) {
            uint64_t number = (uint64_t)(b->done_count + i) * b->stride % b->piece_count;
            team->works[i] = (struct work){.view = view,
                                           .piece = (uint32_t)number,
                                           .memory_bytes = view->options.memory_bytes / most};
        }
        read_together(team, workers);
        status = keep_pieces(view, team, err);
        if (status == TTAPE_E_LIMIT && view->butterfly != NULL)
            b->most_at_once = most > 1 ? most / 2 : 1;
        if (status == TTAPE_E_LIMIT && view->butterfly != NULL && b->done_count > done)
            status = TTAPE_OK; /* the rest of it with the next question */
    }
    ttp_memory_give(&view->memory, team, 1, sizeof *team);
    return status;
}

/* ---- an answer ---- */

static bool is_larger(const void *context, uint32_t a, uint32_t b)
{
    const struct edge *edges = context;
    const struct counts *left = &edges[a].sum, *right = &edges[b].sum;
    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns;
    return left->calls != right->calls ? left->calls > right->calls : a < b;
}

static void put_counts(struct ttape_view *view, const struct counts *sum)
{
    ttp_view_wide(view, "calls", sum->calls);
    ttp_view_signed(view, "total", sum->total_ns);
    if (sum->starts > 0)
        ttp_view_wide(view, "starts", sum->starts);
    if (sum->unseen > 0)
        ttp_view_wide(view, "unseen", sum->unseen);
    if (sum->late > 0)
        ttp_view_wide(view, "late", sum->late);
}

static void put_row(struct ttape_view *view, uint32_t key, const struct counts *sum)
{
    const struct ttp_view_butterfly *b = view->butterfly;
    ttp_view_begin(view, NULL, '{');
    if (key != KEY_START && (key & KEY_SIGNAL) != 0)
        ttp_view_number(view, "signal", key & ~KEY_SIGNAL);
    else if (key < b->row_count && b->site_of[key] != TTAPE_NONE)
        ttp_view_number(view, "site", b->site_of[key]);
    put_counts(view, sum);
    ttp_view_end(view, '}');
}

/* Edges to (from) a row: where `to` is KEY_START, it is the row itself. */
static ttape_status put_side(struct ttape_view *view, uint32_t row, bool is_callers, uint32_t most,
                             ttape_error *err)
{
    const struct ttp_view_butterfly *b = view->butterfly;
    uint32_t *found = ttp_memory_take(&view->memory, b->edge_count, sizeof *found, err);
    uint32_t count = 0;
    if (found == NULL)
        return view->memory.status;
    for (uint32_t i = 0; i < b->edge_count; i++) {
        const struct edge *edge = &b->edges[i];
        if (edge->to != KEY_START && (is_callers ? edge->to : edge->from) == row)
            found[count++] = i;
    }
    ttp_sort(found, count, is_larger, b->edges);
    ttp_view_number(view, is_callers ? "caller_count" : "callee_count", count);
    ttp_view_begin(view, is_callers ? "callers" : "callees", '[');
    for (uint32_t i = 0; i < count && i < most; i++) {
        const struct edge *edge = &b->edges[found[i]];
        put_row(view, is_callers ? edge->from : edge->to, &edge->sum);
    }
    ttp_view_end(view, ']');
    ttp_memory_give(&view->memory, found, b->edge_count, sizeof *found);
    return TTAPE_OK;
}

static ttape_status put_butterfly(struct ttape_view *view, uint32_t row, uint32_t most,
                                  ttape_error *err)
{
    const struct ttp_view_butterfly *b = view->butterfly;
    ttp_view_number(view, "pieces", b->piece_count);
    ttp_view_number(view, "done", b->done_count);
    ttp_view_bool(view, "complete", b->done_count == b->piece_count);
    uint32_t number = ttp_key_map_find(&b->numbers, key_of_ends(row, KEY_START), TTAPE_NONE);
    if (number == TTAPE_NONE)
        return TTAPE_OK;
    const struct counts *sum = &b->edges[number].sum;
    ttp_view_begin(view, "function", '{');
    put_counts(view, sum);
    ttp_view_signed(view, "self", sum->self_ns);
    ttp_view_wide(view, "recursion", sum->recursion);
    ttp_view_end(view, '}');
    TTP_TRY(put_side(view, row, true, most, err));
    return put_side(view, row, false, most, err);
}

ttape_status ttp_view_get_butterfly(struct ttape_view *view,
                                    const struct ttp_view_question *question, ttape_error *err)
{
    struct ttp_view_choice choice;
    uint32_t site, count = ROWS_USUAL;
    TTP_TRY(ttp_view_take_choice(view, question, &choice, err));
    TTP_TRY(ttp_view_take_site(view, question, &site, err));
    TTP_TRY(ttp_view_take_number(question, "count", ROWS_MOST, &count, err));
    TTP_TRY(begin_graph(view, &choice, err));
    if (view->butterfly->done_count < view->butterfly->piece_count &&
        !ttp_view_is(question, "wait", "0"))
        TTP_TRY(go_on(view, err));
    ttp_view_number(view, "site", site);
    return put_butterfly(view, view->butterfly->row_of[site], count, err);
}
