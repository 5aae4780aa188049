/* One thread's way through a query: it takes a unit, reads it to its end, and takes the next
 * one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duckdb/duck_files.h"

struct duck_scan *duck_scan_open(struct duck_query *query)
{
    struct duck_scan *scan = calloc(1, sizeof *scan);
    if (scan == NULL)
        return NULL;
    scan->query = query;
    scan->table = query->question->table;
    scan->stack_site = TTAPE_NONE;
    return scan;
}

static void close_cursors(struct duck_scan *scan)
{
    ttape_cursor_close(scan->events);
    ttape_call_cursor_close(scan->calls);
    scan->events = NULL;
    scan->calls = NULL;
}

static void leave_file(struct duck_scan *scan)
{
    close_cursors(scan);
    if (scan->file == NULL)
        return;
    (void)pthread_mutex_lock(&scan->query->mutex);
    duck_file_leave(scan->file);
    (void)pthread_mutex_unlock(&scan->query->mutex);
    scan->file = NULL;
}

void duck_scan_close(struct duck_scan *scan)
{
    if (scan == NULL)
        return;
    leave_file(scan);
    free(scan->room);
    free(scan->origins);
    free(scan->bytes.data);
    free(scan->text_ends);
    free(scan->stack.data);
    free(scan);
}

/* ---- units ---- */

bool duck_has_stream(const struct duck_file *file, uint32_t stream)
{
    return file->streams == NULL || (stream < file->info.stream_count && file->streams[stream]);
}

bool duck_has_site(const struct duck_file *file, uint32_t site)
{
    return file->sites == NULL || (site < file->info.site_count && file->sites[site]);
}

/* The next unit of the query, with its file in use; TTAPE_END: there is none. The mutex is held. */
static ttape_status take(struct duck_scan *scan, ttape_error *err)
{
    struct duck_query *query = scan->query;
    for (; query->next_file < query->question->path_count; query->next_file++) {
        struct duck_file *file = &query->files[query->next_file];
        if (scan->file != file) {
            if (scan->file != NULL)
                duck_file_leave(scan->file);
            scan->file = NULL;
            ttape_status status = duck_file_use(query, file, err);
            if (status != TTAPE_OK)
                return status;
            scan->file = file;
        }
        if (query->next_unit < file->unit_count) {
            scan->unit = query->next_unit++;
            return TTAPE_OK;
        }
        query->next_unit = 0;
    }
    return TTAPE_END;
}

static ttape_status take_unit(struct duck_scan *scan, ttape_error *err)
{
    close_cursors(scan); /* they are of a reader that may be closed */
    scan->stack_site = TTAPE_NONE;
    (void)pthread_mutex_lock(&scan->query->mutex);
    ttape_status status = take(scan, err);
    (void)pthread_mutex_unlock(&scan->query->mutex);
    scan->count = 0;
    scan->first_item = scan->next_item = 0;
    scan->segment = scan->segment_count = 0;
    scan->left = 0;
    scan->failure = (ttape_error){0};
    return status;
}

/* Whether nothing that is chosen can be in the partition. */
static bool is_beside(const struct duck_scan *scan, const ttape_partition_info *about)
{
    const struct duck_file *file = scan->file;
    bool is_timed = about->time_end_ns > about->time_first_ns; /* times that wrap are looked at */
    return scan->table->has_time && file->has_range && is_timed &&
           (about->time_end_ns <= file->from_ns || about->time_first_ns >= file->to_ns);
}

static ttape_status begin_unit(struct duck_scan *scan, ttape_error *err)
{
    ttape_partition_info about;
    scan->is_on = true;
    if (scan->file->unit == DUCK_BY_PARTITION) {
        scan->partition = scan->unit;
        ttape_status status = ttape_reader_get_partition(scan->file->reader, scan->unit, &about);
        if (status != TTAPE_OK)
            return status;
        scan->is_on = !is_beside(scan, &about);
        scan->segment_count = about.segment_count;
    } else if (scan->file->unit == DUCK_BY_STREAM) {
        scan->stream = scan->unit;
        scan->is_on = duck_has_stream(scan->file, scan->unit);
    }
    return scan->is_on ? scan->table->begin(scan, err) : TTAPE_OK;
}

ttape_status duck_next_segment(struct duck_scan *scan, ttape_segment_info *out, ttape_error *err)
{
    ttape_reader *reader = scan->file->reader;
    while (scan->segment < scan->segment_count) {
        ttape_stream_info about;
        ttape_status status =
            ttape_reader_get_segment(reader, scan->partition, scan->segment, out, err);
        if (status != TTAPE_OK) {
            scan->segment = scan->segment_count; /* none of them can be read */
            return status;
        }
        scan->segment++;
        if (!duck_has_stream(scan->file, out->stream) || out->event_count == 0)
            continue;
        (void)ttape_reader_get_stream(reader, out->stream, &about);
        scan->stream = out->stream;
        scan->tid = about.stream.tid;
        scan->number = out->start.event_number;
        scan->left = out->event_count;
        return TTAPE_OK;
    }
    return TTAPE_END;
}

ttape_status duck_begin_nothing(struct duck_scan *scan, ttape_error *err)
{
    (void)scan;
    (void)err;
    return TTAPE_OK;
}

ttape_status duck_next_numbered(struct duck_scan *scan, uint64_t all)
{
    uint64_t left = all - scan->next_item;
    scan->first_item = scan->next_item;
    scan->count = left < DUCK_ROWS ? (size_t)left : DUCK_ROWS;
    scan->next_item += scan->count;
    return scan->count > 0 ? TTAPE_OK : TTAPE_END;
}

static bool has_frame(const struct duck_file *file, const ttape_edge *edge)
{
    for (uint32_t i = 0; i < edge->frame_count; i++)
        if (duck_has_site(file, edge->frames[i].site))
            return true;
    return false;
}

ttape_status duck_has_function(struct duck_scan *scan, ttape_error *err)
{
    struct duck_file *file = scan->file;
    const ttape_summary_row *rows;
    uint32_t count;
    if (file->sites == NULL)
        return TTAPE_OK;
    ttape_status status =
        ttape_reader_get_summary(file->reader, scan->partition, &rows, &count, err);
    if (status == TTAPE_OK && count == 0)
        return TTAPE_OK; /* there need not be a summary */
    for (uint32_t i = 0; status == TTAPE_OK && i < count; i++)
        if (duck_has_site(file, rows[i].site))
            return TTAPE_OK;
    /* Calls on a stack that was never the current one have no row: they may be left open there. */
    for (uint32_t i = 0; status == TTAPE_OK && i < scan->segment_count; i++) {
        ttape_segment_info segment;
        status = ttape_reader_get_segment(file->reader, scan->partition, i, &segment, err);
        if (status == TTAPE_OK && has_frame(file, &segment.end))
            return TTAPE_OK;
    }
    return status == TTAPE_OK ? TTAPE_END : status;
}

/* ---- rows ---- */

/* Says which file and unit it was; a failure that is no damage is one in any case. */
static void say_where(struct duck_scan *scan, const ttape_error *err)
{
    char offset[64] = "", unit[48] = "";
    bool is_damage = err->status >= TTAPE_E_TRUNCATED && err->status != TTAPE_E_LIMIT;
    bool is_of_file = scan->file == NULL; /* which says so itself */
    if (!is_of_file && scan->file->unit == DUCK_BY_PARTITION)
        (void)snprintf(unit, sizeof unit, ", partition %u", scan->unit);
    else if (!is_of_file && scan->file->unit == DUCK_BY_STREAM)
        (void)snprintf(unit, sizeof unit, ", stream %u", scan->unit);
    if (is_damage && err->offset != TTAPE_ERROR_NO_OFFSET)
        (void)snprintf(offset, sizeof offset, " (%s%sat byte %llu)", err->rule,
                       err->rule[0] != '\0' ? " " : "", (unsigned long long)err->offset);
    bool may_skip = is_damage && !is_of_file && scan->table->has_damaged;
    (void)snprintf(scan->said, sizeof scan->said, "%s%.600s%s%s%s%s%s", is_of_file ? "" : "'",
                   is_of_file ? "" : scan->file->path, is_of_file ? "" : "'", unit,
                   is_of_file ? "" : ": ", err->message, offset);
    if (may_skip)
        (void)strncat(scan->said, "; damaged := 'skip' leaves it out",
                      sizeof scan->said - strlen(scan->said) - 1);
}

/* More items of the current unit; TTAPE_END: it has no more. A failure comes behind the items that
 * were read before it. */
static ttape_status next_items(struct duck_scan *scan, ttape_error *err)
{
    ttape_status status = scan->failure.status;
    scan->count = 0;
    if (status != TTAPE_OK) {
        *err = scan->failure;
        scan->failure = (ttape_error){0};
        return status;
    }
    while (status == TTAPE_OK && scan->count == 0)
        status = scan->table->next(scan, err);
    if (scan->count == 0)
        return status;
    if (status != TTAPE_OK && status != TTAPE_END)
        scan->failure = *err;
    return TTAPE_OK;
}

static ttape_status put_items(struct duck_scan *scan, struct duck_rows *rows, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    for (unsigned place = 0; place < rows->column_count && status == TTAPE_OK; place++) {
        unsigned column = rows->columns[place];
        if (column >= scan->table->column_count)
            continue; /* rows are counted */
        struct duck_text cell =
            column == DUCK_TRACE ? scan->file->trace_cell : scan->file->path_cell;
        if (column < DUCK_FIRST_OWN)
            for (size_t i = 0; i < scan->count; i++)
                duck_put_lasting(rows, place, i, cell);
        else
            status = scan->table->put(scan, rows, column, place, err);
    }
    rows->count = scan->count;
    return status;
}

/* Whether the query goes on behind a failure. */
static bool goes_on(const struct duck_scan *scan, ttape_status status)
{
    return scan->query->question->skips_damage && scan->file != NULL &&
           status >= TTAPE_E_TRUNCATED && status != TTAPE_E_LIMIT;
}

static ttape_status begin_next(struct duck_scan *scan, bool *is_over, ttape_error *err)
{
    ttape_status status = take_unit(scan, err);
    *is_over = status == TTAPE_END;
    if (status == TTAPE_OK)
        status = begin_unit(scan, err);
    if (status != TTAPE_OK)
        scan->is_on = false;
    return status == TTAPE_END ? TTAPE_OK : status;
}

bool duck_scan_next(struct duck_scan *scan, struct duck_rows *rows, ttape_error *err)
{
    bool is_over = false;
    rows->count = 0;
    while (!is_over) {
        ttape_status status = TTAPE_OK;
        if (!scan->is_on)
            status = begin_next(scan, &is_over, err);
        if (status == TTAPE_OK && scan->is_on) {
            status = next_items(scan, err);
            if (status == TTAPE_OK)
                status = put_items(scan, rows, err);
            if (status == TTAPE_OK)
                return true;
            scan->is_on = status != TTAPE_END;
        }
        if (status != TTAPE_OK && status != TTAPE_END && !goes_on(scan, status)) {
            say_where(scan, err);
            return false;
        }
    }
    return true;
}
