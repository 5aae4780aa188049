/* ttape_syscalls: one row for each system call, where it ends, with its result; where its
 * arguments or its number are asked for, streams are read from their beginning, as for
 * ttape_calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "duckdb/duck_query.h"

#define ERROR_MOST 4095 /* the kernel returns errors as numbers from -4095 to -1 */

enum column {
    PARTITION = DUCK_FIRST_OWN,
    STREAM,
    TID,
    CALL,
    SITE,
    NAME,
    NUMBER,
    START,
    DURATION,
    RESULT,
    ERROR,
    ARGUMENTS,
    STACK,
    ENDING,
    COLUMNS
};

static const char *const ending_words[] = {"running", "returned", "unwound", "open",
                                           "lost",    "unseen",   "late",    NULL};

static const struct duck_column columns[] = {DUCK_FIRST_COLUMNS,
                                             {"partition", DUCK_U32, NULL},
                                             {"stream", DUCK_U32, NULL},
                                             {"tid", DUCK_U64, NULL},
                                             {"call", DUCK_U64, NULL},
                                             {"site", DUCK_U32, NULL},
                                             {"name", DUCK_TEXT, NULL},
                                             {"number", DUCK_U32, NULL},
                                             {"start_ns", DUCK_I64, NULL},
                                             {"duration_ns", DUCK_I64, NULL},
                                             {"result", DUCK_I64, NULL},
                                             {"error", DUCK_U32, NULL},
                                             {"arguments", DUCK_TEXTS, NULL},
                                             {"stack", DUCK_TEXT, NULL},
                                             {"ending", DUCK_WORD, ending_words}};

struct item {
    ttape_call call;
    bool has_result, has_arguments;
    int64_t result;
    uint32_t first_argument, argument_count; /* of scan's texts */
    uint32_t stack;                          /* a text, of functions that were recorded; or none */
};

static ttape_status open_calls(struct duck_scan *scan, const ttape_segment_info *part,
                               ttape_error *err)
{
    ttape_call_options how = {
        .size = sizeof how, .streams = &scan->stream, .stream_count = 1, .values = true};
    if (part != NULL) {
        how.has_stretch = true;
        how.first_event = part->start.event_number;
        how.end_event = how.first_event + part->event_count;
    }
    return ttape_call_cursor_open(&scan->calls, scan->file->reader, &how, err);
}

static ttape_status begin(struct duck_scan *scan, ttape_error *err)
{
    if (scan->room == NULL)
        scan->room = malloc(DUCK_ROWS * sizeof(struct item));
    if (scan->room == NULL)
        return duck_no_memory(err);
    if (scan->file->unit == DUCK_BY_PARTITION)
        return duck_has_function(scan, err);
    ttape_stream_info about;
    (void)ttape_reader_get_stream(scan->file->reader, scan->stream, &about);
    scan->tid = about.stream.tid;
    return open_calls(scan, NULL, err);
}

/* ---- calls ---- */

static bool keep_arguments(struct duck_scan *scan, struct item *item)
{
    item->has_arguments = !item->call.is_found;
    item->first_argument = scan->text_count;
    for (uint32_t i = 0; i < item->call.argument_count; i++)
        if (!duck_keep_value(scan, &item->call.arguments[i]))
            return false;
    item->argument_count = scan->text_count - item->first_argument;
    return true;
}

/* Where functions are recorded, those that are open led to the call; elsewhere its site knows. */
static bool keep_stack(struct duck_scan *scan, struct item *item)
{
    const ttape_call *open;
    uint32_t count;
    ttape_site site;
    item->stack = TTAPE_NONE;
    (void)ttape_reader_get_site(scan->file->reader, item->call.site, &site);
    ttape_call_cursor_stack(scan->calls, &open, &count);
    if (site.path != 0 || count == 0)
        return true;
    item->stack = scan->text_count;
    return duck_keep_stack(scan, open, count);
}

static ttape_status take_call(struct duck_scan *scan, ttape_error *err)
{
    struct item *item = (struct item *)scan->room + scan->count;
    ttape_status status = ttape_call_cursor_next(scan->calls, &item->call, err);
    if (status != TTAPE_OK)
        return status;
    const ttape_call *call = &item->call;
    if (call->kind == TTAPE_EVENT_EXIT_UNSEEN || !duck_has_site(scan->file, call->site) ||
        !duck_has_time(scan->file, call->end_ns))
        return TTAPE_OK;
    item->has_result = call->result_count > 0;
    item->result = item->has_result ? (int64_t)call->results[0].number : 0;
    if ((scan->query->columns & 1u << ARGUMENTS) != 0 && !keep_arguments(scan, item))
        return duck_no_memory(err);
    if ((scan->query->columns & 1u << STACK) != 0 && !keep_stack(scan, item))
        return duck_no_memory(err);
    scan->count++;
    return TTAPE_OK;
}

static ttape_status next(struct duck_scan *scan, ttape_error *err)
{
    ttape_segment_info segment;
    ttape_status status = TTAPE_OK;
    duck_drop_texts(scan);
    if (scan->calls == NULL) {
        status = duck_next_segment(scan, &segment, err);
        if (status == TTAPE_OK)
            status = open_calls(scan, &segment, err);
    }
    while (status == TTAPE_OK && scan->count < DUCK_ROWS)
        status = take_call(scan, err);
    if (status != TTAPE_END || scan->file->unit != DUCK_BY_PARTITION || scan->calls == NULL)
        return status;
    ttape_call_cursor_close(scan->calls);
    scan->calls = NULL;
    return TTAPE_OK;
}

/* ---- cells ---- */

static void put_call_number(struct duck_rows *rows, unsigned place, size_t row, uint64_t number)
{
    duck_put_u64(rows, place, row, number);
    if (number == TTAPE_CALL_NO_NUMBER)
        duck_none(rows, place, row);
}

static void put_result(struct duck_rows *rows, unsigned place, size_t row, const struct item *item,
                       bool is_error)
{
    bool failed = item->has_result && item->result < 0 && item->result >= -ERROR_MOST;
    if (is_error)
        duck_put_u32(rows, place, row, failed ? (uint32_t)-item->result : 0);
    else
        duck_put_i64(rows, place, row, item->result);
    if (is_error ? !failed : !item->has_result)
        duck_none(rows, place, row);
}

static void put_number(struct duck_scan *scan, struct duck_rows *rows, unsigned place, size_t row,
                       uint32_t number)
{
    ttape_site site;
    (void)ttape_reader_get_site(scan->file->reader, number, &site);
    duck_put_u32(rows, place, row, (uint32_t)site.address);
}

static ttape_status put_arguments(struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                                  size_t row, const struct item *item, ttape_error *err)
{
    if (!item->has_arguments) {
        duck_none(rows, place, row);
        return duck_put_texts(scan, rows, place, row, 0, 0) ? TTAPE_OK : duck_no_memory(err);
    }
    return duck_put_texts(scan, rows, place, row, item->first_argument, item->argument_count)
               ? TTAPE_OK
               : duck_no_memory(err);
}

static ttape_status put_stack(struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                              size_t row, const struct item *item, ttape_error *err)
{
    if (item->stack == TTAPE_NONE)
        return duck_put_stack(scan, rows, place, row, item->call.site, err);
    return duck_put_known(rows, place, row, duck_kept_text(scan, item->stack), err);
}

static uint32_t partition_of(const struct duck_scan *scan, const ttape_call *call)
{
    return scan->file->unit == DUCK_BY_PARTITION
               ? scan->partition
               : duck_partition_of(scan->file, scan->stream, duck_last_event(call));
}

static ttape_status put(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                        unsigned place, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < scan->count && status == TTAPE_OK; i++) {
        const struct item *item = (const struct item *)scan->room + i;
        const ttape_call *call = &item->call;
        switch (column) {
        case PARTITION: duck_put_id(rows, place, i, partition_of(scan, call)); break;
        case STREAM: duck_put_u32(rows, place, i, call->stream); break;
        case TID: duck_put_u64(rows, place, i, scan->tid); break;
        case CALL: put_call_number(rows, place, i, call->enter_number); break;
        case SITE: duck_put_id(rows, place, i, call->site); break;
        case NAME: duck_put_name(rows, place, i, scan->file, call->site); break;
        case NUMBER: put_number(scan, rows, place, i, call->site); break;
        case START: duck_put_time(rows, place, i, scan->file, (int64_t)call->enter_ns); break;
        case DURATION: duck_put_time(rows, place, i, scan->file, call->duration_ns); break;
        case RESULT:
        case ERROR: put_result(rows, place, i, item, column == ERROR); break;
        case ARGUMENTS: status = put_arguments(scan, rows, place, i, item, err); break;
        case STACK: status = put_stack(scan, rows, place, i, item, err); break;
        default: duck_put_byte(rows, place, i, (uint8_t)call->end); break;
        }
    }
    return status;
}

static uint64_t estimate(const ttape_info *info) { return info->event_count / 16; }

const struct duck_table duck_syscalls = {.name = "ttape_syscalls",
                                         .columns = columns,
                                         .column_count = COLUMNS,
                                         .unit = DUCK_BY_PARTITION,
                                         .by_stream = 1u << CALL | 1u << ARGUMENTS,
                                         .name_columns = 1u << NAME,
                                         .place_columns = 1u << PARTITION,
                                         .only_syscalls = true,
                                         .has_function = true,
                                         .has_thread = true,
                                         .has_time = true,
                                         .has_damaged = true,
                                         .begin = begin,
                                         .next = next,
                                         .put = put,
                                         .estimate = estimate};
