/* ttape_values: one row for each value that an event carries: arguments, results, payloads. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#include "duckdb/duck_query.h"
#include "tools/values/parameter_names.h"

enum column {
    PARTITION = DUCK_FIRST_OWN,
    STREAM,
    TID,
    NUMBER,
    POSITION,
    IS_RETURN,
    SITE,
    NAME,
    VALUE_NAME,
    TYPE,
    INTEGER,
    WORD,
    REAL,
    TEXT,
    BYTES,
    TARGET,
    COLUMNS
};

static const char *const type_words[] = {"unsigned", "signed", "pointer", "float",
                                         "bytes",    "text",   "null",    NULL};

static const struct duck_column columns[] = {DUCK_FIRST_COLUMNS,
                                             {"partition", DUCK_U32, NULL},
                                             {"stream", DUCK_U32, NULL},
                                             {"tid", DUCK_U64, NULL},
                                             {"number", DUCK_U64, NULL},
                                             {"position", DUCK_U32, NULL},
                                             {"is_return", DUCK_BOOL, NULL},
                                             {"site", DUCK_U32, NULL},
                                             {"name", DUCK_TEXT, NULL},
                                             {"value_name", DUCK_TEXT, NULL},
                                             {"type", DUCK_WORD, type_words},
                                             {"integer", DUCK_I64, NULL},
                                             {"word", DUCK_U64, NULL},
                                             {"real", DUCK_F64, NULL},
                                             {"text", DUCK_TEXT, NULL},
                                             {"bytes", DUCK_BYTES, NULL},
                                             {"target", DUCK_TEXT, NULL}};

struct item {
    uint64_t number, word;
    uint32_t site, position, count; /* the last: of the event's values */
    uint32_t from;                  /* which of them is where the call was made; count: none */
    bool is_return;
    ttape_value_type type;
    uint32_t bytes; /* of scan->texts, or TTAPE_NONE */
};

struct room {
    struct item items[DUCK_ROWS];
    ttape_event_item event; /* of which the values from `next` on were not kept yet */
    uint32_t next;
};

static ttape_status begin(struct duck_scan *scan, ttape_error *err)
{
    ttape_partition_info about;
    (void)ttape_reader_get_partition(scan->file->reader, scan->partition, &about);
    if (about.bytes.values == 0)
        return TTAPE_END;
    if (scan->room == NULL)
        scan->room = malloc(sizeof(struct room));
    if (scan->room == NULL)
        return duck_no_memory(err);
    struct room *room = scan->room;
    room->next = room->event.value_count = 0;
    return TTAPE_OK;
}

static bool begins(ttape_event_kind kind)
{
    return kind == TTAPE_EVENT_ENTER || kind == TTAPE_EVENT_LEAF || kind == TTAPE_EVENT_OPEN ||
           kind == TTAPE_EVENT_SIGNAL_BEGIN;
}

/* Files may have any number of values of an event: as many are kept as there is room for. */
static bool keep(struct duck_scan *scan)
{
    struct room *room = scan->room;
    const ttape_event_item *event = &room->event;
    bool asks = (scan->query->columns & 1u << VALUE_NAME) != 0 && begins(event->event.kind);
    uint32_t from = !asks || room->next >= event->value_count || scan->count >= DUCK_ROWS
                        ? event->value_count
                        : ttape_call_site_index(scan->file->reader, event->event.site,
                                                event->values, event->value_count);
    for (; room->next < event->value_count && scan->count < DUCK_ROWS; room->next++) {
        uint32_t i = room->next;
        const ttape_value *value = &event->values[i];
        struct item *item = &room->items[scan->count++];
        *item = (struct item){.number = event->number,
                              .word = value->number,
                              .site = event->event.site,
                              .position = i,
                              .count = event->value_count,
                              .from = from,
                              .is_return = !begins(event->event.kind),
                              .type = value->type,
                              .bytes = TTAPE_NONE};
        if (value->type != TTAPE_VALUE_BYTES && value->type != TTAPE_VALUE_STRING)
            continue;
        item->bytes = scan->text_count;
        if (!duck_keep_text(scan, value->bytes)) {
            scan->count--; /* those before it are whole */
            return false;
        }
    }
    return true;
}

static ttape_status next_segment(struct duck_scan *scan, ttape_error *err)
{
    ttape_segment_info segment;
    ttape_status status = duck_next_segment(scan, &segment, err);
    ttape_cursor_close(scan->events);
    scan->events = NULL;
    if (status == TTAPE_OK)
        status = ttape_cursor_open(&scan->events, scan->file->reader, scan->stream, err);
    return status == TTAPE_OK ? ttape_cursor_seek_event(scan->events, scan->number, err) : status;
}

static ttape_status next(struct duck_scan *scan, ttape_error *err)
{
    const struct duck_file *file = scan->file;
    struct room *room = scan->room;
    ttape_event_item *event = &room->event;
    ttape_status status = TTAPE_OK;
    duck_drop_texts(scan);
    if (!keep(scan))
        return duck_no_memory(err);
    if (scan->left == 0 && scan->count == 0)
        status = next_segment(scan, err);
    while (status == TTAPE_OK && scan->left > 0 && scan->count < DUCK_ROWS) {
        status = ttape_cursor_next(scan->events, event, err);
        scan->left -= status == TTAPE_OK ? 1 : scan->left; /* behind damage, the next segment */
        if (status != TTAPE_OK || !duck_has_site(file, event->event.site) ||
            !duck_has_time(file, event->event.time_ns))
            event->value_count = 0;
        room->next = 0;
        if (!keep(scan))
            return duck_no_memory(err);
        status = status == TTAPE_END ? TTAPE_OK : status;
    }
    return status;
}

/* ---- cells ---- */

/* Whether the value is of this column. */
static bool is_of(const struct item *item, unsigned column)
{
    switch (column) {
    case INTEGER:
        return item->type == TTAPE_VALUE_SIGNED ||
               (item->type == TTAPE_VALUE_UNSIGNED && item->word <= INT64_MAX);
    case WORD: return item->type == TTAPE_VALUE_UNSIGNED || item->type == TTAPE_VALUE_POINTER;
    case REAL: return item->type == TTAPE_VALUE_FLOAT;
    case TEXT: return item->type == TTAPE_VALUE_STRING;
    default: return item->type == TTAPE_VALUE_BYTES;
    }
}

static ttape_status put_value(const struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                              unsigned place, size_t row, ttape_error *err)
{
    const struct item *item = &((const struct room *)scan->room)->items[row];
    double real;
    if (!is_of(item, column)) {
        duck_none(rows, place, row);
        return TTAPE_OK;
    }
    if (column == INTEGER) {
        duck_put_i64(rows, place, row, (int64_t)item->word);
    } else if (column == WORD) {
        duck_put_u64(rows, place, row, item->word);
    } else if (column == REAL) {
        memcpy(&real, &item->word, sizeof real);
        duck_put_f64(rows, place, row, real);
    } else {
        ttape_string bytes = duck_kept_text(scan, item->bytes);
        if (column == BYTES)
            rows->copy(rows, place, row, bytes.size_bytes > 0 ? bytes.data : "", bytes.size_bytes);
        else if (!duck_put_text(rows, place, row, bytes))
            return duck_no_memory(err);
    }
    return TTAPE_OK;
}

/* What the manual pages call the parameters of system calls, whose values are all registers, and of
 * the C library's functions, as dump shows them; empty: nothing is known. */
static ttape_string find_known_name(const ttape_reader *reader, const struct item *item,
                                    uint32_t value_count)
{
    ttape_site site = {0};
    (void)ttape_reader_get_site(reader, item->site, &site);
    const char *words = item->is_return ? NULL
                        : site.kind == TTAPE_SITE_SYSCALL
                            ? tool_parameter_names(site.symbol)
                            : tool_library_parameters(reader, &site, value_count);
    ttape_string name = {"", 0};
    for (uint32_t i = 0; words != NULL && i <= item->position; i++)
        name = tool_next_parameter(&words);
    return name;
}

/* Where the call was made stands behind what is named. Where the file does not name it so, what it
 * names are other values. */
static ttape_string find_name(const ttape_reader *reader, const struct item *item)
{
    static const ttape_string from = {"from", 4};
    ttape_site_values names;
    (void)ttape_reader_get_site_values(reader, item->site, &names);
    uint32_t count = item->is_return ? names.exit_count : names.enter_count;
    const ttape_value_name *name = item->is_return ? names.exit : names.enter;
    if (item->position == item->from)
        return from;
    if (item->from + 1 == item->count &&
        (item->from >= count || !ttp_is_same_text(name[item->from].name, from)))
        return find_known_name(reader, item, item->count - 1);
    return item->position < count ? name[item->position].name
                                  : find_known_name(reader, item, item->count);
}

static ttape_status put_value_name(const struct duck_scan *scan, struct duck_rows *rows,
                                   unsigned place, size_t row, ttape_error *err)
{
    const struct item *item = &((const struct room *)scan->room)->items[row];
    ttape_string shown = find_name(scan->file->reader, item);
    if (shown.size_bytes > 0)
        return duck_put_text(rows, place, row, shown) ? TTAPE_OK : duck_no_memory(err);
    duck_none(rows, place, row);
    return TTAPE_OK;
}

/* What a pointer points to, or where the call was made. */
static ttape_status put_target(const struct duck_scan *scan, struct duck_rows *rows, unsigned place,
                               size_t row, ttape_error *err)
{
    const struct item *item = &((const struct room *)scan->room)->items[row];
    const ttape_reader *reader = scan->file->reader;
    uint32_t found = item->type == TTAPE_VALUE_POINTER
                         ? ttape_reader_find_target(reader, item->site, item->word)
                         : TTAPE_NONE;
    return duck_put_place(rows, place, row, reader, found, err);
}

static ttape_status put(struct duck_scan *scan, struct duck_rows *rows, unsigned column,
                        unsigned place, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < scan->count && status == TTAPE_OK; i++) {
        const struct item *item = &((const struct room *)scan->room)->items[i];
        switch (column) {
        case PARTITION: duck_put_u32(rows, place, i, scan->partition); break;
        case STREAM: duck_put_u32(rows, place, i, scan->stream); break;
        case TID: duck_put_u64(rows, place, i, scan->tid); break;
        case NUMBER: duck_put_u64(rows, place, i, item->number); break;
        case POSITION: duck_put_u32(rows, place, i, item->position); break;
        case IS_RETURN: duck_put_byte(rows, place, i, item->is_return); break;
        case SITE: duck_put_id(rows, place, i, item->site); break;
        case NAME: duck_put_name(rows, place, i, scan->file, item->site); break;
        case VALUE_NAME: status = put_value_name(scan, rows, place, i, err); break;
        case TARGET: status = put_target(scan, rows, place, i, err); break;
        case TYPE: duck_put_byte(rows, place, i, (uint8_t)item->type); break;
        default: status = put_value(scan, rows, column, place, i, err); break;
        }
    }
    return status;
}

static uint64_t estimate(const ttape_info *info) { return info->event_count; }

const struct duck_table duck_values = {.name = "ttape_values",
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
