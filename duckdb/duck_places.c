/* ttape_streams and ttape_partitions. Three columns of the latter read all of a partition, to say
 * whether it can be read, and what is missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duckdb/duck_query.h"

/* ---- streams ---- */

enum stream_column {
    STREAM_HOST = DUCK_FIRST_OWN,
    STREAM_STREAM,
    STREAM_PID,
    STREAM_TID,
    STREAM_PROCESS,
    STREAM_NAME,
    STREAM_START,
    STREAM_FIRST,
    STREAM_EVENTS,
    STREAM_MISSING,
    STREAM_COLUMNS
};

static const struct duck_column stream_columns[] = {
    DUCK_FIRST_COLUMNS,         {"host", DUCK_TEXT, NULL},    {"stream", DUCK_U32, NULL},
    {"pid", DUCK_U64, NULL},    {"tid", DUCK_U64, NULL},      {"process", DUCK_TEXT, NULL},
    {"name", DUCK_TEXT, NULL},  {"start_ns", DUCK_I64, NULL}, {"first_event", DUCK_U64, NULL},
    {"events", DUCK_I64, NULL}, {"missing", DUCK_I64, NULL}};

static ttape_status next_streams(struct duck_scan *scan, ttape_error *err)
{
    (void)err;
    return duck_next_numbered(scan, scan->file->info.stream_count);
}

/* The machine that a scope was recorded on. */
static ttape_string host_of(const struct duck_file *file, uint32_t scope)
{
    ttape_metadata_entry entry;
    for (uint32_t i = 0; ttape_reader_get_metadata(file->reader, i, &entry) == TTAPE_OK; i++)
        if (entry.scope == scope && entry.type == TTAPE_METADATA_TEXT &&
            entry.key.size_bytes == 4 && memcmp(entry.key.data, "host", 4) == 0)
            return entry.text;
    return (ttape_string){"", 0};
}

static ttape_status put_stream(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                               unsigned place, size_t row, ttape_error *err)
{
    const struct duck_file *file = scan->file;
    uint32_t number = (uint32_t)(scan->first_item + row);
    ttape_stream_info about;
    ttape_process process;
    (void)ttape_reader_get_stream(file->reader, number, &about);
    (void)ttape_reader_get_process(file->reader, about.stream.process, &process);
    switch (column) {
    case STREAM_HOST: return duck_put_known(rows, place, row, host_of(file, about.scope), err);
    case STREAM_STREAM: duck_put_u32(rows, place, row, number); break;
    case STREAM_PID: duck_put_u64(rows, place, row, about.pid); break;
    case STREAM_TID: duck_put_u64(rows, place, row, about.stream.tid); break;
    case STREAM_PROCESS: return duck_put_known(rows, place, row, process.name, err);
    case STREAM_NAME: return duck_put_known(rows, place, row, about.stream.name, err);
    case STREAM_START:
        duck_put_time(rows, place, row, file, (int64_t)about.stream.start_time_ns);
        break;
    case STREAM_FIRST: duck_put_u64(rows, place, row, about.first_event); break;
    case STREAM_EVENTS: duck_put_i64(rows, place, row, (int64_t)about.event_count); break;
    default: duck_put_i64(rows, place, row, (int64_t)about.missing_count); break;
    }
    return TTAPE_OK;
}

static ttape_status put_streams(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                                unsigned place, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < scan->count && status == TTAPE_OK; i++)
        status = put_stream(scan, rows, column, place, i, err);
    return status;
}

static uint64_t estimate_streams(const ttape_info *info) { return info->stream_count; }

const struct duck_table duck_streams = {.name = "ttape_streams",
                                        .columns = stream_columns,
                                        .column_count = STREAM_COLUMNS,
                                        .unit = DUCK_BY_FILE,
                                        .begin = duck_begin_nothing,
                                        .next = next_streams,
                                        .put = put_streams,
                                        .estimate = estimate_streams};

/* ---- partitions ---- */

enum partition_column {
    PARTITION_PARTITION = DUCK_FIRST_OWN,
    PARTITION_OFFSET,
    PARTITION_BYTES,
    PARTITION_EVENTS,
    PARTITION_SEGMENTS,
    PARTITION_FIRST,
    PARTITION_END,
    PARTITION_GAPS,
    PARTITION_LOST,
    PARTITION_DAMAGE,
    PARTITION_COLUMNS
};

static const struct duck_column partition_columns[] = {
    DUCK_FIRST_COLUMNS,           {"partition", DUCK_U32, NULL},
    {"offset", DUCK_U64, NULL},   {"stored_bytes", DUCK_I64, NULL},
    {"events", DUCK_I64, NULL},   {"segments", DUCK_U32, NULL},
    {"first_ns", DUCK_I64, NULL}, {"end_ns", DUCK_I64, NULL},
    {"gaps", DUCK_I64, NULL},     {"lost", DUCK_I64, NULL},
    {"damage", DUCK_TEXT, NULL}};

static ttape_status next_partition(struct duck_scan *scan, ttape_error *err)
{
    (void)err;
    scan->is_counted = false;
    return duck_next_numbered(scan, 1);
}

static void count_gaps(struct duck_scan *scan, const ttape_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        scan->gaps += events[i].kind == TTAPE_EVENT_GAP;
        scan->lost += events[i].kind == TTAPE_EVENT_GAP ? events[i].lost_count : 0;
    }
}

static ttape_status read_segment(struct duck_scan *scan, ttape_error *err)
{
    ttape_event events[256];
    size_t count = 0;
    ttape_status status = ttape_cursor_open(&scan->events, scan->file->reader, scan->stream, err);
    if (status == TTAPE_OK)
        status = ttape_cursor_seek_event(scan->events, scan->number, err);
    for (; status == TTAPE_OK && scan->left > 0; scan->left -= count) {
        size_t wanted = sizeof events / sizeof events[0];
        wanted = scan->left < wanted ? (size_t)scan->left : wanted;
        status = ttape_cursor_next_events(scan->events, events, wanted, &count, err);
        count_gaps(scan, events, status == TTAPE_OK ? count : 0);
    }
    ttape_cursor_close(scan->events);
    scan->events = NULL;
    return status == TTAPE_END ? TTAPE_OK : status;
}

/* Reads all of it, once. TTAPE_OK: nothing is damaged. */
static ttape_status read_partition(struct duck_scan *scan, ttape_error *err)
{
    ttape_segment_info segment;
    const ttape_summary_row *rows;
    uint32_t count;
    if (scan->is_counted)
        return TTAPE_OK;
    scan->gaps = scan->lost = 0;
    ttape_status status =
        ttape_reader_get_summary(scan->file->reader, scan->partition, &rows, &count, err);
    while (status == TTAPE_OK) {
        status = duck_next_segment(scan, &segment, err);
        if (status == TTAPE_OK)
            status = read_segment(scan, err);
    }
    scan->is_counted = status == TTAPE_END;
    return status == TTAPE_END ? TTAPE_OK : status;
}

/* What a damaged partition has is not known. */
static ttape_status put_counted(struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                                const uint64_t *counted, ttape_error *err)
{
    ttape_status status = read_partition(scan, err);
    if (status != TTAPE_OK && status < TTAPE_E_TRUNCATED)
        return status;
    if (status == TTAPE_OK)
        duck_put_i64(rows, place, 0, (int64_t)*counted);
    else
        duck_none(rows, place, 0);
    return TTAPE_OK;
}

static ttape_status put_damage(struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                               ttape_error *err)
{
    char text[sizeof err->message + 64];
    ttape_status status = read_partition(scan, err);
    if (status != TTAPE_OK && status < TTAPE_E_TRUNCATED)
        return status;
    if (status == TTAPE_OK) {
        duck_none(rows, place, 0);
        return TTAPE_OK;
    }
    if (err->offset == TTAPE_ERROR_NO_OFFSET)
        (void)snprintf(text, sizeof text, "%s", err->message);
    else
        (void)snprintf(text, sizeof text, "%s (%s%sat byte %llu)", err->message, err->rule,
                       err->rule[0] != '\0' ? " " : "", (unsigned long long)err->offset);
    return duck_put_known(rows, place, 0, (ttape_string){text, strlen(text)}, err);
}

static ttape_status put_partition(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                                  unsigned place, ttape_error *err)
{
    ttape_partition_info about;
    (void)ttape_reader_get_partition(scan->file->reader, scan->partition, &about);
    switch (column) {
    case PARTITION_PARTITION: duck_put_u32(rows, place, 0, scan->partition); break;
    case PARTITION_OFFSET: duck_put_u64(rows, place, 0, about.offset); break;
    case PARTITION_BYTES: duck_put_i64(rows, place, 0, (int64_t)about.stored_bytes); break;
    case PARTITION_EVENTS: duck_put_i64(rows, place, 0, about.event_count); break;
    case PARTITION_SEGMENTS: duck_put_u32(rows, place, 0, about.segment_count); break;
    case PARTITION_FIRST:
        duck_put_time(rows, place, 0, scan->file, (int64_t)about.time_first_ns);
        break;
    case PARTITION_END:
        duck_put_time(rows, place, 0, scan->file, (int64_t)about.time_end_ns);
        break;
    case PARTITION_GAPS: return put_counted(scan, rows, place, &scan->gaps, err);
    case PARTITION_LOST: return put_counted(scan, rows, place, &scan->lost, err);
    default: return put_damage(scan, rows, place, err);
    }
    return TTAPE_OK;
}

static uint64_t estimate_partitions(const ttape_info *info) { return info->partition_count; }

const struct duck_table duck_partitions = {.name = "ttape_partitions",
                                           .columns = partition_columns,
                                           .column_count = PARTITION_COLUMNS,
                                           .unit = DUCK_BY_PARTITION,
                                           .begin = duck_begin_nothing,
                                           .next = next_partition,
                                           .put = put_partition,
                                           .estimate = estimate_partitions};
