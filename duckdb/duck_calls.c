/* ttape_calls: one row for each call, where it ends.
 *
 *   partitions  each segment is a stretch of its stream: whole calls that end there, which any
 *               thread can read
 *   streams     where numbers of calls are asked for: which event a call began with is known only
 *               to who was there, so each stream is read from its beginning */
#include <stdlib.h>
#include <string.h>

#include "duckdb/duck_query.h"

enum column {
    PARTITION = DUCK_FIRST_OWN,
    STREAM,
    TID,
    STACK,
    CALL,
    PARENT,
    DEPTH,
    SITE,
    NAME,
    PARENT_SITE,
    PARENT_NAME,
    START,
    DURATION,
    SELF,
    BELOW,
    ENDING,
    WAS_OPEN,
    COLUMNS
};

static const char *const ending_words[] = {"running", "returned", "unwound", "open",
                                           "lost",    "unseen",   "late",    NULL};

static const struct duck_column columns[] = {DUCK_FIRST_COLUMNS,
                                             {"partition", DUCK_U32, NULL},
                                             {"stream", DUCK_U32, NULL},
                                             {"tid", DUCK_U64, NULL},
                                             {"stack", DUCK_U32, NULL},
                                             {"call", DUCK_U64, NULL},
                                             {"parent", DUCK_U64, NULL},
                                             {"depth", DUCK_U32, NULL},
                                             {"site", DUCK_U32, NULL},
                                             {"name", DUCK_TEXT, NULL},
                                             {"parent_site", DUCK_U32, NULL},
                                             {"parent_name", DUCK_TEXT, NULL},
                                             {"start_ns", DUCK_I64, NULL},
                                             {"duration_ns", DUCK_I64, NULL},
                                             {"self_ns", DUCK_I64, NULL},
                                             {"calls_below", DUCK_U64, NULL},
                                             {"ending", DUCK_WORD, ending_words},
                                             {"was_open", DUCK_BOOL, NULL}};

/* What a call remembers. */
enum user { USER_PARENT, USER_BELOW };

struct room {
    ttape_call calls[DUCK_ROWS];
    const ttape_call_step *step; /* of which so many calls are left to take */
    uint32_t left_count;
};

/* ---- units ---- */

static ttape_status open_calls(struct duck_scan *scan, const ttape_segment_info *part,
                               ttape_error *err)
{
    ttape_call_options how = {.size = sizeof how, .streams = &scan->stream, .stream_count = 1};
    if (part != NULL) {
        how.has_stretch = true;
        how.first_event = part->start.event_number;
        how.end_event = how.first_event + part->event_count;
    }
    return ttape_call_cursor_open(&scan->calls, scan->file->reader, &how, err);
}

static ttape_status begin(struct duck_scan *scan, ttape_error *err)
{
    struct room *room = scan->room;
    if (room == NULL)
        room = scan->room = malloc(sizeof *room);
    if (room == NULL)
        return duck_no_memory(err);
    room->left_count = 0;
    if (scan->query->unit == DUCK_BY_PARTITION)
        return duck_has_function(scan, err);
    ttape_stream_info about;
    (void)ttape_reader_get_stream(scan->file->reader, scan->stream, &about);
    scan->tid = about.stream.tid;
    return open_calls(scan, NULL, err);
}

/* ---- calls ---- */

/* Calls that are asked for, of `count` behind those that are kept. */
static void keep(struct duck_scan *scan, size_t count)
{
    const struct duck_file *file = scan->file;
    ttape_call *calls = ((struct room *)scan->room)->calls;
    for (size_t i = scan->count, end = i + count; i < end; i++) {
        const ttape_call *call = &calls[i];
        if (call->kind == TTAPE_EVENT_EXIT_UNSEEN || !duck_has_site(file, call->site) ||
            !duck_has_time(file, call->end_ns))
            continue;
        if (scan->count != i)
            calls[scan->count] = *call;
        scan->count++;
    }
}

static ttape_status next_of_segment(struct duck_scan *scan, ttape_error *err)
{
    struct room *room = scan->room;
    ttape_segment_info segment;
    size_t count = 0;
    ttape_status status = TTAPE_OK;
    if (scan->calls == NULL) {
        status = duck_next_segment(scan, &segment, err);
        if (status == TTAPE_OK)
            status = open_calls(scan, &segment, err);
        if (status != TTAPE_OK)
            return status;
    }
    status = ttape_call_cursor_next_many(scan->calls, room->calls, DUCK_ROWS, &count, err);
    keep(scan, count);
    if (status != TTAPE_END)
        return status;
    ttape_call_cursor_close(scan->calls);
    scan->calls = NULL;
    return TTAPE_OK;
}

/* A call that begins knows the one that it is in: the one before it on its stack. */
static void note_parents(const ttape_call_step *step)
{
    for (uint32_t i = 0; i < step->began_count; i++) {
        ttape_call *call = &step->began[i];
        call->user[USER_PARENT] = call->height > 0 ? call[-1].enter_number : TTAPE_CALL_NO_NUMBER;
    }
}

static ttape_status next_of_stream(struct duck_scan *scan, ttape_error *err)
{
    struct room *room = scan->room;
    while (scan->count < DUCK_ROWS) {
        if (room->left_count == 0) {
            ttape_status status = ttape_call_cursor_step(scan->calls, &room->step, err);
            if (status != TTAPE_OK)
                return status;
            note_parents(room->step);
            room->left_count = room->step->ended_count;
        }
        for (; room->left_count > 0 && scan->count < DUCK_ROWS; room->left_count--) {
            ttape_call *call = &room->step->ended[room->left_count - 1];
            if (call->height > 0)
                call[-1].user[USER_BELOW] += call->user[USER_BELOW] + 1;
            room->calls[scan->count] = *call;
            keep(scan, 1);
        }
    }
    return TTAPE_OK;
}

static ttape_status next(struct duck_scan *scan, ttape_error *err)
{
    return scan->query->unit == DUCK_BY_PARTITION ? next_of_segment(scan, err)
                                                  : next_of_stream(scan, err);
}

/* ---- cells ---- */

static void put_number(struct duck_rows *rows, unsigned place, size_t row, uint64_t number)
{
    duck_put_u64(rows, place, row, number);
    if (number == TTAPE_CALL_NO_NUMBER)
        duck_none(rows, place, row);
}

static uint32_t partition_of(const struct duck_scan *scan, const ttape_call *call)
{
    return scan->query->unit == DUCK_BY_PARTITION
               ? scan->partition
               : duck_partition_of(scan->file, scan->stream, duck_last_event(call));
}

static uint32_t parent_of(const ttape_call *call)
{
    return call->caller == TTAPE_CALL_SIGNAL ? TTAPE_NONE : call->caller;
}

static ttape_status put(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                        unsigned place, ttape_error *err)
{
    const ttape_call *calls = ((struct room *)scan->room)->calls;
    const struct duck_file *file = scan->file;
    (void)err;
    for (size_t i = 0; i < scan->count; i++) {
        const ttape_call *call = &calls[i];
        switch (column) {
        case PARTITION: duck_put_id(rows, place, i, partition_of(scan, call)); break;
        case STREAM: duck_put_u32(rows, place, i, call->stream); break;
        case TID: duck_put_u64(rows, place, i, scan->tid); break;
        case STACK: duck_put_u32(rows, place, i, call->stack); break;
        case CALL: put_number(rows, place, i, call->enter_number); break;
        case PARENT: put_number(rows, place, i, call->user[USER_PARENT]); break;
        case DEPTH: duck_put_u32(rows, place, i, call->depth); break;
        case SITE: duck_put_id(rows, place, i, call->site); break;
        case NAME: duck_put_name(rows, place, i, file, call->site); break;
        case PARENT_SITE: duck_put_id(rows, place, i, parent_of(call)); break;
        case PARENT_NAME: duck_put_name(rows, place, i, file, parent_of(call)); break;
        case START: duck_put_time(rows, place, i, file, (int64_t)call->enter_ns); break;
        case DURATION: duck_put_time(rows, place, i, file, call->duration_ns); break;
        case SELF: duck_put_time(rows, place, i, file, call->self_ns); break;
        case BELOW: duck_put_u64(rows, place, i, call->user[USER_BELOW]); break;
        case ENDING: duck_put_byte(rows, place, i, (uint8_t)call->end); break;
        default: duck_put_byte(rows, place, i, call->kind == TTAPE_EVENT_OPEN); break;
        }
    }
    return TTAPE_OK;
}

static uint64_t estimate(const ttape_info *info) { return info->event_count / 2; }

const struct duck_table duck_calls = {.name = "ttape_calls",
                                      .columns = columns,
                                      .column_count = COLUMNS,
                                      .unit = DUCK_BY_PARTITION,
                                      .by_stream = 1u << CALL | 1u << PARENT | 1u << BELOW,
                                      .name_columns = 1u << NAME | 1u << PARENT_NAME,
                                      .place_columns = 1u << PARTITION,
                                      .has_function = true,
                                      .has_thread = true,
                                      .has_time = true,
                                      .has_damaged = true,
                                      .begin = begin,
                                      .next = next,
                                      .put = put,
                                      .estimate = estimate};
