/* ttape_calls: one row for each call, where it ends.
 *
 *   partitions  each segment is a stretch of its stream: whole calls that end there, which any
 *               thread can read
 *   streams     where numbers of calls are asked for, and partitions do not say by which events
 *               the calls began that are open where they do: each stream is read from its beginning
 */
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
    CALLED_FROM,
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
                                             {"was_open", DUCK_BOOL, NULL},
                                             {"called_from", DUCK_TEXT, NULL}};

/* What a call remembers. */
enum user { USER_PARENT, USER_BELOW, USER_FROM };

/* What a row needs of a call. */
struct item {
    uint64_t number, last_event, start_ns, parent, below;
    int64_t duration_ns, self_ns;
    uint32_t site, caller, stack, depth;
    uint32_t from; /* the site of where it was made, + 1 */
    uint8_t ending;
    bool was_open;
};

struct room {
    struct item items[DUCK_ROWS];
    uint32_t origin_count, found; /* origins of calls that the stretch finds; found so far */
    const ttape_call_step *step;  /* of which so many calls are left to take */
    uint32_t left_count;
};

/* ---- units ---- */

static bool asks_from(const struct duck_scan *scan)
{
    return (scan->query->columns & 1u << CALLED_FROM) != 0;
}

static ttape_status open_calls(struct duck_scan *scan, uint64_t first_event, uint64_t end_event,
                               ttape_error *err)
{
    const ttape_call_options how = {.size = sizeof how,
                                    .streams = &scan->stream,
                                    .stream_count = 1,
                                    .has_stretch = true,
                                    .values = asks_from(scan),
                                    .first_event = first_event,
                                    .end_event = end_event};
    return ttape_call_cursor_open(&scan->calls, scan->file->reader, &how, err);
}

static ttape_status begin(struct duck_scan *scan, ttape_error *err)
{
    struct room *room = scan->room;
    if (room == NULL)
        room = scan->room = malloc(sizeof *room);
    if (room == NULL)
        return duck_no_memory(err);
    room->left_count = room->found = room->origin_count = 0;
    if (scan->file->unit == DUCK_BY_PARTITION)
        return duck_has_function(scan, err);
    ttape_stream_info about;
    (void)ttape_reader_get_stream(scan->file->reader, scan->stream, &about);
    scan->tid = about.stream.tid;
    return open_calls(scan, about.first_event, UINT64_MAX, err);
}

/* ---- calls ---- */

static void keep(struct duck_scan *scan, const ttape_call *call)
{
    struct item *item = &((struct room *)scan->room)->items[scan->count];
    if (!duck_has_site(scan->file, call->site) || !duck_has_time(scan->file, call->end_ns))
        return;
    scan->count++;
    *item = (struct item){.number = call->enter_number,
                          .last_event = duck_last_event(call),
                          .start_ns = call->enter_ns,
                          .parent = call->user[USER_PARENT],
                          .below = call->user[USER_BELOW],
                          .duration_ns = call->duration_ns,
                          .self_ns = call->self_ns,
                          .site = call->site,
                          .caller = call->caller,
                          .from = (uint32_t)call->user[USER_FROM],
                          .stack = call->stack,
                          .depth = call->depth,
                          .ending = (uint8_t)call->end,
                          .was_open = call->kind == TTAPE_EVENT_OPEN};
}

/* Those that are open where the stretch begins come in the order of its edge. */
static void note_origins(const struct duck_scan *scan, const ttape_call_step *step)
{
    struct room *room = scan->room;
    for (uint32_t i = 0; i < step->began_count && room->found < room->origin_count; i++) {
        const ttape_call_origin *origin = &scan->origins[room->found++];
        step->began[i].enter_number = origin->enter_number;
        step->began[i].user[USER_BELOW] = origin->below_count;
    }
}

/* A call that begins knows the one that it is in: the one before it on its stack. */
static void note_parents(const ttape_call_step *step)
{
    for (uint32_t i = 0; i < step->began_count; i++) {
        ttape_call *call = &step->began[i];
        call->user[USER_PARENT] = call->height > 0 ? call[-1].enter_number : TTAPE_CALL_NO_NUMBER;
    }
}

/* The event's values are those of the innermost call that it began. */
static void note_from(const struct duck_scan *scan, const ttape_call_step *step)
{
    const ttape_reader *reader = scan->file->reader;
    if (step->kind != TTAPE_STEP_EVENT || step->value_count == 0)
        return;
    ttape_call *call = &step->began[step->began_count - 1];
    uint32_t at = ttape_call_site_index(reader, call->site, step->values, step->value_count);
    if (at < step->value_count)
        call->user[USER_FROM] =
            1 + (uint64_t)ttape_reader_find_target(reader, call->site, step->values[at].number);
}

/* Innermost first; a step may end more calls than there is room for. */
static void take_ended(struct duck_scan *scan, struct room *room, bool has_numbers)
{
    for (; room->left_count > 0 && scan->count < DUCK_ROWS; room->left_count--) {
        ttape_call *call = &room->step->ended[room->left_count - 1];
        if (has_numbers && call->height > 0)
            call[-1].user[USER_BELOW] += call->user[USER_BELOW] + 1;
        keep(scan, call);
    }
}

/* Calls of the stream, or of its stretch; TTAPE_END: it has no more. */
static ttape_status take_calls(struct duck_scan *scan, ttape_error *err)
{
    struct room *room = scan->room;
    bool has_numbers = scan->file->unit == DUCK_BY_STREAM || scan->file->origins != NULL;
    take_ended(scan, room, has_numbers);
    while (scan->count < DUCK_ROWS) {
        ttape_status status = has_numbers
                                  ? ttape_call_cursor_step(scan->calls, &room->step, err)
                                  : ttape_call_cursor_step_ended(scan->calls, &room->step, err);
        if (status != TTAPE_OK)
            return status;
        room->left_count = room->step->ended_count;
        if (room->step->kind == TTAPE_STEP_FOUND)
            note_origins(scan, room->step);
        if (has_numbers && room->step->began_count > 0) {
            note_parents(room->step);
            if (asks_from(scan))
                note_from(scan, room->step);
        }
        if (room->left_count > 0)
            take_ended(scan, room, has_numbers);
    }
    return TTAPE_OK;
}

/* What is known of calls that a segment begins with. */
static ttape_status get_origins(struct duck_scan *scan, const ttape_segment_info *segment,
                                ttape_error *err)
{
    struct room *room = scan->room;
    uint32_t wanted = segment->start.frame_count;
    room->found = room->origin_count = 0;
    if (scan->file->origins == NULL || wanted == 0)
        return TTAPE_OK;
    if (wanted > scan->origin_room) {
        ttape_call_origin *grown = realloc(scan->origins, wanted * sizeof *grown);
        if (grown == NULL)
            return duck_no_memory(err);
        scan->origins = grown;
        scan->origin_room = wanted;
    }
    uint32_t count = ttape_call_origins_get(scan->file->origins, scan->partition, scan->segment - 1,
                                            scan->origins, wanted);
    room->origin_count = count < wanted ? count : wanted;
    return TTAPE_OK;
}

static ttape_status next(struct duck_scan *scan, ttape_error *err)
{
    ttape_segment_info segment;
    ttape_status status = TTAPE_OK;
    if (scan->calls == NULL) { /* by partitions, where a segment begins */
        status = duck_next_segment(scan, &segment, err);
        if (status == TTAPE_OK)
            status = get_origins(scan, &segment, err);
        if (status == TTAPE_OK)
            status = open_calls(scan, scan->number, scan->number + scan->left, err);
        if (status != TTAPE_OK)
            return status;
    }
    status = take_calls(scan, err);
    if (status != TTAPE_END || scan->file->unit == DUCK_BY_STREAM)
        return status;
    ttape_call_cursor_close(scan->calls);
    scan->calls = NULL;
    return TTAPE_OK;
}

/* ---- cells ---- */

static void put_number(struct duck_rows *rows, unsigned place, size_t row, uint64_t number)
{
    duck_put_u64(rows, place, row, number);
    if (number == TTAPE_CALL_NO_NUMBER)
        duck_none(rows, place, row);
}

static uint32_t partition_of(const struct duck_scan *scan, const struct item *item)
{
    return scan->file->unit == DUCK_BY_PARTITION
               ? scan->partition
               : duck_partition_of(scan->file, scan->stream, item->last_event);
}

static uint32_t parent_of(const struct item *item)
{
    return item->caller == TTAPE_CALL_SIGNAL ? TTAPE_NONE : item->caller;
}

static ttape_status put(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                        unsigned place, ttape_error *err)
{
    const struct item *items = ((struct room *)scan->room)->items;
    const struct duck_file *file = scan->file;
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < scan->count && status == TTAPE_OK; i++) {
        const struct item *item = &items[i];
        switch (column) {
        case PARTITION: duck_put_id(rows, place, i, partition_of(scan, item)); break;
        case STREAM: duck_put_u32(rows, place, i, scan->stream); break;
        case TID: duck_put_u64(rows, place, i, scan->tid); break;
        case STACK: duck_put_u32(rows, place, i, item->stack); break;
        case CALL: put_number(rows, place, i, item->number); break;
        case PARENT: put_number(rows, place, i, item->parent); break;
        case DEPTH: duck_put_u32(rows, place, i, item->depth); break;
        case SITE: duck_put_id(rows, place, i, item->site); break;
        case NAME: duck_put_name(rows, place, i, file, item->site); break;
        case PARENT_SITE: duck_put_id(rows, place, i, parent_of(item)); break;
        case PARENT_NAME: duck_put_name(rows, place, i, file, parent_of(item)); break;
        case START: duck_put_time(rows, place, i, file, (int64_t)item->start_ns); break;
        case DURATION: duck_put_time(rows, place, i, file, item->duration_ns); break;
        case SELF: duck_put_time(rows, place, i, file, item->self_ns); break;
        case BELOW: duck_put_u64(rows, place, i, item->below); break;
        case ENDING: duck_put_byte(rows, place, i, item->ending); break;
        case CALLED_FROM:
            status = duck_put_place(rows, place, i, file->reader, item->from - 1, err);
            break;
        default: duck_put_byte(rows, place, i, item->was_open); break;
        }
    }
    return status;
}

static uint64_t estimate(const ttape_info *info) { return info->event_count / 2; }

const struct duck_table duck_calls = {.name = "ttape_calls",
                                      .columns = columns,
                                      .column_count = COLUMNS,
                                      .unit = DUCK_BY_PARTITION,
                                      .by_stream = 1u << CALL | 1u << PARENT | 1u << BELOW |
                                                   1u << CALLED_FROM,
                                      .whole_columns = 1u << CALLED_FROM,
                                      .name_columns = 1u << NAME | 1u << PARENT_NAME,
                                      .place_columns = 1u << PARTITION,
                                      .has_origins = true,
                                      .has_function = true,
                                      .has_thread = true,
                                      .has_time = true,
                                      .has_damaged = true,
                                      .begin = begin,
                                      .next = next,
                                      .put = put,
                                      .estimate = estimate};
