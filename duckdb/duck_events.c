/* ttape_events: one row for each event. */
#include <stdlib.h>

#include "duckdb/duck_query.h"

enum column {
    PARTITION = DUCK_FIRST_OWN,
    STREAM,
    TID,
    NUMBER,
    TIME,
    KIND,
    SITE,
    NAME,
    ARGUMENT,
    LOST,
    DEPTH,
    CALLED_FROM,
    COLUMNS
};

static const char *const kind_words[] = {"enter",        "exit",       "leaf",        "open",
                                         "signal begin", "signal end", "exit unseen", "unwind",
                                         "exit across",  "switch",     "gap",         NULL};

static const struct duck_column columns[] = {DUCK_FIRST_COLUMNS,
                                             {"partition", DUCK_U32, NULL},
                                             {"stream", DUCK_U32, NULL},
                                             {"tid", DUCK_U64, NULL},
                                             {"number", DUCK_U64, NULL},
                                             {"time_ns", DUCK_I64, NULL},
                                             {"kind", DUCK_WORD, kind_words},
                                             {"site", DUCK_U32, NULL},
                                             {"name", DUCK_TEXT, NULL},
                                             {"argument", DUCK_U32, NULL},
                                             {"lost", DUCK_U64, NULL},
                                             {"depth", DUCK_U32, NULL},
                                             {"called_from", DUCK_TEXT, NULL}};

struct room {
    ttape_event events[DUCK_ROWS];
    uint64_t numbers[DUCK_ROWS];
    uint32_t from[DUCK_ROWS]; /* the sites of where calls were made; TTAPE_NONE: not known */
    bool has_from;            /* somebody asks, and the partition has values */
};

static ttape_status begin(struct duck_scan *scan, ttape_error *err)
{
    struct room *room = scan->room;
    ttape_partition_info about;
    if (room == NULL)
        room = scan->room = malloc(sizeof *room);
    if (room == NULL)
        return duck_no_memory(err);
    (void)ttape_reader_get_partition(scan->file->reader, scan->partition, &about);
    room->has_from = (scan->query->columns & 1u << CALLED_FROM) != 0 && about.bytes.values != 0;
    return TTAPE_OK;
}

/* The segment's events come next. */
static ttape_status seek(struct duck_scan *scan, ttape_error *err)
{
    ttape_cursor_close(scan->events);
    ttape_status status = ttape_cursor_open(&scan->events, scan->file->reader, scan->stream, err);
    return status == TTAPE_OK ? ttape_cursor_seek_event(scan->events, scan->number, err) : status;
}

/* Events one by one, as values come with them in no other way. */
static ttape_status read_places(struct duck_scan *scan, size_t wanted, size_t *count,
                                ttape_error *err)
{
    const ttape_reader *reader = scan->file->reader;
    struct room *room = scan->room;
    ttape_event_item item;
    ttape_status status = TTAPE_OK;
    for (*count = 0; *count < wanted; ++*count) {
        status = ttape_cursor_next(scan->events, &item, err);
        if (status != TTAPE_OK)
            break;
        room->events[*count] = item.event;
        room->from[*count] = ttape_event_call_site(reader, &item);
    }
    return status;
}

static void keep(struct duck_scan *scan, size_t count)
{
    const struct duck_file *file = scan->file;
    struct room *room = scan->room;
    bool keeps_all = file->sites == NULL && !file->has_range;
    for (size_t i = 0; i < count; i++) {
        const ttape_event *event = &room->events[i];
        room->numbers[scan->count] = scan->number++;
        if (keeps_all)
            scan->count++;
        else if (duck_has_site(file, event->site) && duck_has_time(file, event->time_ns)) {
            room->from[scan->count] = room->has_from ? room->from[i] : TTAPE_NONE;
            room->events[scan->count++] = *event;
        }
    }
}

static ttape_status next(struct duck_scan *scan, ttape_error *err)
{
    struct room *room = scan->room;
    ttape_segment_info segment;
    size_t count = 0;
    if (scan->left == 0) {
        ttape_status status = duck_next_segment(scan, &segment, err);
        if (status == TTAPE_OK)
            status = seek(scan, err);
        if (status != TTAPE_OK)
            return status;
    }
    size_t wanted = scan->left < DUCK_ROWS ? (size_t)scan->left : DUCK_ROWS;
    ttape_status status =
        room->has_from ? read_places(scan, wanted, &count, err)
                       : ttape_cursor_next_events(scan->events, room->events, wanted, &count, err);
    scan->left -= status == TTAPE_OK ? count : scan->left; /* behind damage, the next segment */
    keep(scan, count);
    return status == TTAPE_END ? TTAPE_OK : status;
}

static ttape_status put(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                        unsigned place, ttape_error *err)
{
    const struct room *room = scan->room;
    const struct duck_file *file = scan->file;
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < scan->count && status == TTAPE_OK; i++) {
        const ttape_event *event = &room->events[i];
        switch (column) {
        case PARTITION: duck_put_u32(rows, place, i, scan->partition); break;
        case STREAM: duck_put_u32(rows, place, i, scan->stream); break;
        case TID: duck_put_u64(rows, place, i, scan->tid); break;
        case NUMBER: duck_put_u64(rows, place, i, room->numbers[i]); break;
        case TIME: duck_put_time(rows, place, i, file, (int64_t)event->time_ns); break;
        case KIND: duck_put_byte(rows, place, i, (uint8_t)event->kind); break;
        case SITE: duck_put_id(rows, place, i, event->site); break;
        case NAME: duck_put_name(rows, place, i, file, event->site); break;
        case ARGUMENT: duck_put_u32(rows, place, i, event->argument); break;
        case LOST:
            duck_put_u64(rows, place, i, event->kind == TTAPE_EVENT_GAP ? event->lost_count : 0);
            break;
        case CALLED_FROM:
            status = duck_put_place(rows, place, i, file->reader,
                                    room->has_from ? room->from[i] : TTAPE_NONE, err);
            break;
        default: duck_put_u32(rows, place, i, event->depth); break;
        }
    }
    return status;
}

static uint64_t estimate(const ttape_info *info) { return info->event_count; }

const struct duck_table duck_events = {.name = "ttape_events",
                                       .columns = columns,
                                       .column_count = COLUMNS,
                                       .unit = DUCK_BY_PARTITION,
                                       .name_columns = 1u << NAME,
                                       .has_function = true,
                                       .has_thread = true,
                                       .has_time = true,
                                       .has_damaged = true,
                                       .begin = begin,
                                       .next = next,
                                       .put = put,
                                       .estimate = estimate};
