/* Events and calls, batch after batch: one file after the other, one thread after the other. */
#include "python/native/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_words[] = {"enter",        "exit",       "leaf",        "open",
                                         "signal begin", "signal end", "exit unseen", "unwind",
                                         "exit across",  "switch",     "gap",         NULL};
const char *const ending_words[] = {"running", "returned", "unwound", "open",
                                    "lost",    "unseen",   "late",    NULL};

/* The last two only where places are asked for. */
static const struct column event_columns[] = {
    {"file", 'I', false, NULL},       {"stream", 'I', false, NULL},
    {"number", 'Q', false, NULL},     {"time_ns", 'q', false, NULL},
    {"kind", 'B', false, kind_words}, {"site", 'I', true, NULL},
    {"argument", 'I', false, NULL},   {"depth", 'I', false, NULL},
    {"from_site", 'I', true, NULL},   {"called_from", COLUMN_TEXT, false, NULL}};
enum { EVENT_COLUMNS = sizeof event_columns / sizeof event_columns[0], EVENT_FROM = 8 };

/* The last one only where parents are asked for. */
static const struct column call_columns[] = {
    {"file", 'I', false, NULL},        {"stream", 'I', false, NULL},
    {"stack", 'I', false, NULL},       {"call", 'Q', true, NULL},
    {"depth", 'I', false, NULL},       {"site", 'I', true, NULL},
    {"caller", 'I', true, NULL},       {"start_ns", 'q', false, NULL},
    {"duration_ns", 'q', false, NULL}, {"total_ns", 'q', false, NULL},
    {"self_ns", 'q', false, NULL},     {"ending", 'B', false, ending_words},
    {"was_open", 'B', false, NULL},    {"parent", 'Q', true, NULL}};
enum { CALL_COLUMNS = sizeof call_columns / sizeof call_columns[0] };

ttape_status say_no_memory(ttape_error *err)
{
    *err = (ttape_error){.status = TTAPE_E_MEMORY, .offset = TTAPE_ERROR_NO_OFFSET};
    (void)snprintf(err->message, sizeof err->message, "out of memory");
    return TTAPE_E_MEMORY;
}

/* ---- files ---- */

struct file *file_open(const char *path, uint64_t memory_bytes, uint32_t jobs, ttape_error *err)
{
    ttape_reader_options how = {.size = sizeof how, .jobs = jobs};
    struct file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        (void)say_no_memory(err);
        return NULL;
    }
    how.limits.memory_bytes = memory_bytes;
    atomic_init(&file->owners, 1);
    if (ttape_reader_open_path(&file->reader, path, &how, err) == TTAPE_OK)
        return file;
    free(file);
    return NULL;
}

struct file *file_keep(struct file *file)
{
    atomic_fetch_add(&file->owners, 1);
    return file;
}

void file_drop(struct file *file)
{
    if (file == NULL || atomic_fetch_sub(&file->owners, 1) != 1)
        return;
    ttape_reader_close(file->reader);
    free(file);
}

void query_free(struct query *query)
{
    for (uint32_t i = 0; query->parts != NULL && i < query->part_count; i++) {
        file_drop(query->parts[i].file);
        free((void *)query->parts[i].streams);
        free((void *)query->parts[i].sites);
    }
    free(query->parts);
    *query = (struct query){0};
}

const struct column *query_columns(const struct query *query, unsigned *count)
{
    switch (query->table) {
    case TABLE_EVENTS: *count = query->has_more ? EVENT_COLUMNS : EVENT_FROM; return event_columns;
    case TABLE_CALLS: *count = CALL_COLUMNS - !query->has_more; return call_columns;
    case TABLE_REPORT:
        *count = report_column_count - (query->has_more ? 0 : 2);
        return report_columns;
    case TABLE_SLOW: *count = slow_column_count; return slow_columns;
    case TABLE_SITES: *count = site_column_count; return site_columns;
    default: *count = stream_column_count; return stream_columns;
    }
}

/* ---- walking ---- */

struct walk {
    struct query query;
    const struct column *columns;
    unsigned column_count;
    uint32_t part, place; /* the next thread of this part */
    uint32_t stream;      /* the current one */
    ttape_cursor *events;
    ttape_call_cursor *calls;
    bool is_over;
    const ttape_watch *watch;    /* of the call; may be NULL */
    uint32_t unasked;            /* steps since it was asked */
    const ttape_call_step *step; /* of which so many calls are left to put */
    uint32_t left_count;
    struct batch *recent[2]; /* the last ones: filled again when nobody else has them */
};

enum { EVENTS_AT_ONCE = 2048 };    /* what a cache holds */
enum { STEPS_UNASKED = 1u << 18 }; /* some milliseconds */
enum { STEPS_AT_ONCE = 1u << 16 };

static bool is_walked(const struct query *query)
{
    return query->table == TABLE_EVENTS || query->table == TABLE_CALLS;
}

static uint32_t streams_of(const struct part *part)
{
    ttape_info info;
    if (part->streams != NULL)
        return part->stream_count;
    ttape_reader_get_info(part->file->reader, &info);
    return info.stream_count;
}

/* Whether reading goes on behind a damage. */
static bool goes_on(const struct walk *walk, const struct part *part, const ttape_error *err)
{
    if (!walk->query.skips_damage || err->status < TTAPE_E_TRUNCATED ||
        err->status == TTAPE_E_LIMIT)
        return false;
    atomic_fetch_add(&part->file->damaged, 1);
    return true;
}

static void close_cursors(struct walk *walk)
{
    ttape_cursor_close(walk->events);
    ttape_call_cursor_close(walk->calls);
    walk->left_count = 0;
    walk->events = NULL;
    walk->calls = NULL;
}

/* The next thread; TTAPE_END: there is none. */
static ttape_status open_next(struct walk *walk, ttape_error *err)
{
    while (walk->part < walk->query.part_count &&
           walk->place >= streams_of(&walk->query.parts[walk->part])) {
        walk->part++;
        walk->place = 0;
    }
    if (walk->part >= walk->query.part_count)
        return TTAPE_END;
    const struct part *part = &walk->query.parts[walk->part];
    walk->stream = part->streams != NULL ? part->streams[walk->place] : walk->place;
    walk->place++;
    if (walk->query.table == TABLE_CALLS) {
        ttape_call_options how = {.size = sizeof how,
                                  .streams = &walk->stream,
                                  .stream_count = 1,
                                  .has_range = part->has_range,
                                  .from_ns = part->from_ns,
                                  .to_ns = part->to_ns,
                                  .memory_bytes = walk->query.memory_bytes};
        return ttape_call_cursor_open(&walk->calls, part->file->reader, &how, err);
    }
    ttape_status status = ttape_cursor_open(&walk->events, part->file->reader, walk->stream, err);
    if (status == TTAPE_OK && part->has_range)
        status = ttape_cursor_seek_time(walk->events, part->from_ns, err);
    return status;
}

/* Where the next rows of events go. */
static ttape_event_columns columns_at(struct batch *batch, size_t row)
{
    return (ttape_event_columns){.size = sizeof(ttape_event_columns),
                                 .number = batch_longs(batch, 2) + row,
                                 .time_ns = batch_longs(batch, 3) + row,
                                 .kind = batch_bytes(batch, 4) + row,
                                 .site = batch_words(batch, 5) + row,
                                 .argument = batch_words(batch, 6) + row,
                                 .depth = batch_words(batch, 7) + row};
}

/* The rows of chosen sites move up, of `count` that were put behind those of the batch. */
static size_t keep_chosen(struct batch *batch, const struct part *part, size_t count)
{
    const ttape_event_columns to = columns_at(batch, batch->rows);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (to.site[i] >= part->site_count || part->sites[to.site[i]] == 0)
            continue;
        to.number[kept] = to.number[i];
        to.time_ns[kept] = to.time_ns[i];
        to.kind[kept] = to.kind[i];
        to.site[kept] = to.site[i];
        to.argument[kept] = to.argument[i];
        to.depth[kept++] = to.depth[i];
    }
    return kept;
}

static void fill_words(uint32_t *words, uint32_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[i] = value;
}

/* Makes rows of `count` events that are there already; false: behind the range. */
static bool take_rows(struct batch *batch, const struct walk *walk, size_t count)
{
    const struct part *part = &walk->query.parts[walk->part];
    const uint64_t *times = batch_longs(batch, 3) + batch->rows;
    size_t in_range = part->has_range ? 0 : count;
    while (in_range < count && times[in_range] < part->to_ns)
        in_range++;
    size_t rows = part->sites == NULL ? in_range : keep_chosen(batch, part, in_range);
    fill_words(batch_words(batch, 0) + batch->rows, part->number, rows);
    fill_words(batch_words(batch, 1) + batch->rows, walk->stream, rows);
    batch->rows += rows;
    return in_range == count;
}

/* Whether somebody still wants to wait, when so many steps went by. */
static ttape_status ask_watch(struct walk *walk, uint32_t steps, ttape_error *err)
{
    const ttape_watch *watch = walk->watch;
    walk->unasked += steps;
    if (walk->unasked < STEPS_UNASKED)
        return TTAPE_OK;
    walk->unasked = 0;
    if (watch == NULL || watch->goes_on(watch->context, 0, 0))
        return TTAPE_OK;
    *err = (ttape_error){.status = TTAPE_E_STATE, .offset = TTAPE_ERROR_NO_OFFSET};
    (void)snprintf(err->message, sizeof err->message, "nobody waits any more");
    return TTAPE_E_STATE;
}

/* More events of the current thread into the batch; TTAPE_END: there are none. */
static ttape_status add_events(struct walk *walk, struct batch *batch, ttape_error *err)
{
    const ttape_event_columns to = columns_at(batch, batch->rows);
    size_t left = batch->capacity - batch->rows, count = 0;
    ttape_status status = ask_watch(walk, EVENTS_AT_ONCE, err);
    if (status != TTAPE_OK)
        return status;
    status = ttape_cursor_next_columns(walk->events, &to,
                                       left < EVENTS_AT_ONCE ? left : EVENTS_AT_ONCE, &count, err);
    if (!take_rows(batch, walk, count))
        return TTAPE_END;
    if (status != TTAPE_OK && status != TTAPE_END &&
        goes_on(walk, &walk->query.parts[walk->part], err))
        return TTAPE_OK;
    return status;
}

static inline bool is_chosen(const struct part *part, uint32_t site)
{
    return part->sites == NULL || (site < part->site_count && part->sites[site] != 0);
}

static bool put_event(struct walk *walk, struct batch *batch, const ttape_event_item *item)
{
    const struct part *part = &walk->query.parts[walk->part];
    const ttape_event_columns to = columns_at(batch, batch->rows);
    uint32_t place = ttape_event_call_site(part->file->reader, item);
    fill_words(batch_words(batch, 0) + batch->rows, part->number, 1);
    fill_words(batch_words(batch, 1) + batch->rows, walk->stream, 1);
    to.number[0] = item->number;
    to.time_ns[0] = item->event.time_ns;
    to.kind[0] = (uint8_t)item->event.kind;
    to.site[0] = item->event.site;
    to.argument[0] = item->event.argument;
    to.depth[0] = item->event.depth;
    fill_words(batch_words(batch, EVENT_FROM) + batch->rows, place, 1);
    bool is_put = put_place(batch, EVENT_FROM + 1, part, place);
    batch->rows += is_put;
    return is_put;
}

/* The same as add_events, event by event, as values come with them in no other way. */
static ttape_status add_places(struct walk *walk, struct batch *batch, ttape_error *err)
{
    const struct part *part = &walk->query.parts[walk->part];
    ttape_event_item item;
    ttape_status status = ask_watch(walk, EVENTS_AT_ONCE, err);
    if (status != TTAPE_OK)
        return status;
    for (unsigned i = 0; i < EVENTS_AT_ONCE && batch->rows < batch->capacity; i++) {
        status = ttape_cursor_next(walk->events, &item, err);
        if (status != TTAPE_OK)
            break;
        if (part->has_range && item.event.time_ns >= part->to_ns)
            return TTAPE_END;
        if (is_chosen(part, item.event.site) && !put_event(walk, batch, &item))
            return say_no_memory(err);
    }
    return status != TTAPE_OK && status != TTAPE_END && goes_on(walk, part, err) ? TTAPE_OK
                                                                                 : status;
}

/* ---- calls ---- */

/* A batch's columns, looked up once. */
struct call_columns {
    uint32_t *file, *stream, *stack, *depth, *site, *caller;
    uint64_t *call, *start, *duration, *total, *self, *parent;
    uint8_t *ending, *was_open;
};

static struct call_columns columns_of(struct batch *batch, bool has_parents)
{
    return (struct call_columns){.file = batch_words(batch, 0),
                                 .stream = batch_words(batch, 1),
                                 .stack = batch_words(batch, 2),
                                 .call = batch_longs(batch, 3),
                                 .depth = batch_words(batch, 4),
                                 .site = batch_words(batch, 5),
                                 .caller = batch_words(batch, 6),
                                 .start = batch_longs(batch, 7),
                                 .duration = batch_longs(batch, 8),
                                 .total = batch_longs(batch, 9),
                                 .self = batch_longs(batch, 10),
                                 .ending = batch_bytes(batch, 11),
                                 .was_open = batch_bytes(batch, 12),
                                 .parent = has_parents ? batch_longs(batch, 13) : NULL};
}

static inline void put_call(const struct call_columns *to, size_t row, const ttape_call *call)
{
    to->stream[row] = call->stream;
    to->stack[row] = call->stack;
    to->call[row] = call->enter_number;
    to->depth[row] = call->depth;
    to->site[row] = call->site;
    to->caller[row] = call->caller == TTAPE_CALL_SIGNAL ? TTAPE_NONE : call->caller;
    to->start[row] = call->enter_ns;
    to->duration[row] = (uint64_t)call->duration_ns;
    to->total[row] = (uint64_t)call->total_ns;
    to->self[row] = (uint64_t)call->self_ns;
    to->ending[row] = (uint8_t)call->end;
    to->was_open[row] = call->is_found || call->kind == TTAPE_EVENT_OPEN;
    if (to->parent != NULL)
        to->parent[row] = call->user[0];
}

/* A call that begins remembers the call below it; those that were found open have none, nor
 * those of which the call below has no number. */
static void note_parents(struct walk *walk, const ttape_call_step *step)
{
    const ttape_call *open;
    uint32_t count;
    if (step->began_count == 0)
        return;
    ttape_call_cursor_stack(walk->calls, &open, &count);
    for (uint32_t i = 0; i < step->began_count; i++) {
        uint32_t height = step->began[i].height;
        step->began[i].user[0] =
            height > 0 && height <= count ? open[height - 1].enter_number : TTAPE_CALL_NO_NUMBER;
    }
}

/* The next step that ends calls, which are left to put; or any, where a call knows its parent from
 * where it began. */
static ttape_status take_step(struct walk *walk, ttape_error *err)
{
    if (!walk->query.has_more)
        return ttape_call_cursor_step_ended(walk->calls, &walk->step, err);
    ttape_status status = ttape_call_cursor_step(walk->calls, &walk->step, err);
    if (status == TTAPE_OK)
        note_parents(walk, walk->step);
    return status;
}

/* Calls as they end; exits whose calls were not seen are events only. A step may end more calls
 * than there is room for: the rest goes into the next batch. */
static ttape_status add_steps(struct walk *walk, struct batch *batch, ttape_error *err)
{
    const struct part *part = &walk->query.parts[walk->part];
    const struct call_columns to = columns_of(batch, walk->query.has_more);
    const size_t first = batch->rows, capacity = batch->capacity;
    size_t rows = first;
    uint32_t left = walk->left_count;
    ttape_status status = ask_watch(walk, STEPS_AT_ONCE, err);
    for (uint32_t i = 0; status == TTAPE_OK && i < STEPS_AT_ONCE && rows < capacity; i++) {
        if (left == 0 && (status = take_step(walk, err)) == TTAPE_OK)
            left = walk->step->ended_count;
        for (; left > 0 && rows < capacity; left--) {
            const ttape_call *call = &walk->step->ended[left - 1];
            if (is_chosen(part, call->site))
                put_call(&to, rows++, call);
        }
    }
    fill_words(to.file + first, part->number, rows - first);
    walk->left_count = left;
    batch->rows = rows;
    return status;
}

static ttape_status add_calls(struct walk *walk, struct batch *batch, ttape_error *err)
{
    ttape_status status = add_steps(walk, batch, err);
    if (status != TTAPE_OK && status != TTAPE_END &&
        goes_on(walk, &walk->query.parts[walk->part], err))
        return TTAPE_OK;
    return status;
}

/* ---- batches ---- */

static ttape_status fill_batch(struct walk *walk, struct batch *batch, ttape_error *err)
{
    ttape_status (*add)(struct walk * walk, struct batch * batch, ttape_error * err) =
        walk->query.table == TABLE_CALLS ? add_calls
        : walk->query.has_more           ? add_places
                                         : add_events;
    while (batch->rows < batch->capacity) {
        ttape_status status = TTAPE_OK;
        if (walk->events == NULL && walk->calls == NULL)
            status = open_next(walk, err);
        if (status == TTAPE_END) {
            walk->is_over = true;
            return TTAPE_OK;
        }
        if (status == TTAPE_OK)
            status = add(walk, batch, err);
        if (status == TTAPE_END)
            close_cursors(walk);
        else if (status != TTAPE_OK)
            return status;
    }
    return TTAPE_OK;
}

/* A batch without rows. Memory that was just used is faster than what the system gives anew. */
static struct batch *take_batch(struct walk *walk)
{
    for (unsigned i = 0; i < 2; i++)
        if (walk->recent[i] != NULL && atomic_load(&walk->recent[i]->owners) == 1) {
            walk->recent[i]->rows = 0;
            return batch_keep(walk->recent[i]);
        }
    struct batch *batch = batch_make(walk->columns, walk->column_count, BATCH_ROWS);
    if (batch == NULL)
        return NULL;
    batch_drop(walk->recent[1]);
    walk->recent[1] = walk->recent[0];
    walk->recent[0] = batch_keep(batch);
    return batch;
}

static ttape_status next_walked(struct walk *walk, struct batch **out, ttape_error *err)
{
    struct batch *batch = take_batch(walk);
    if (batch == NULL)
        return say_no_memory(err);
    ttape_status status = fill_batch(walk, batch, err);
    if (status != TTAPE_OK || batch->rows == 0) {
        batch_drop(batch);
        return status;
    }
    *out = batch;
    return TTAPE_OK;
}

static ttape_status fill_rows(void *state, const ttape_watch *watch, struct batch *into,
                              ttape_error *err)
{
    struct walk *walk = state;
    walk->watch = watch;
    ttape_status status = walk->is_over ? TTAPE_OK : fill_batch(walk, into, err);
    walk->is_over = walk->is_over || status != TTAPE_OK;
    return status;
}

static ttape_status next_batch(void *state, const ttape_watch *watch, struct batch **out,
                               ttape_error *err)
{
    struct walk *walk = state;
    *out = NULL;
    walk->watch = watch;
    if (walk->is_over)
        return TTAPE_OK;
    ttape_status status = TTAPE_OK;
    if (is_walked(&walk->query)) {
        status = next_walked(walk, out, err);
    } else {
        if (walk->part < walk->query.part_count)
            status = answer_make(&walk->query, &walk->query.parts[walk->part++], watch, out, err);
        walk->is_over = *out == NULL;
    }
    if (status != TTAPE_OK)
        walk->is_over = true;
    return status;
}

static void close_walk(void *state)
{
    struct walk *walk = state;
    close_cursors(walk);
    query_free(&walk->query);
    batch_drop(walk->recent[0]);
    batch_drop(walk->recent[1]);
    free(walk);
}

bool query_start(struct source *source, struct query *query)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL) {
        query_free(query);
        return false;
    }
    walk->query = *query;
    walk->columns = query_columns(query, &walk->column_count);
    bool has_texts = !is_walked(query) || walk->columns[walk->column_count - 1].kind == COLUMN_TEXT;
    *query = (struct query){0};
    *source = (struct source){.next = next_batch,
                              .fill = has_texts ? NULL : fill_rows,
                              .close = close_walk,
                              .state = walk,
                              .columns = walk->columns,
                              .column_count = walk->column_count};
    return true;
}
