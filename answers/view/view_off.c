/* Of a tile: when its thread did not run for long, as switches say. Only their spans are read, and
 * where one is long enough the times of the two events that it is between: no other events. */
#include <tracetape/tiles.h>

#include "answers/view/view_internal.h"
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/reader_internal.h"

#define LEAST_BUCKETS  32 /* what is shorter is of no use to who looks at the tile */
#define MOMENT_MOST_NS (INT64_C(1) << 61)
#define BUCKET_MOST_NS (UINT64_C(1) << 54) /* 32 of these are longer than any span */

struct looking {
    struct ttape_view *view;
    uint32_t stream;
    ttape_cursor *cursor; /* NULL: none was needed so far */
    uint64_t from_ns;
    int64_t bucket_ns; /* the tile is shorter than 2^62 */
};

static ttape_status time_of(struct looking *look, uint64_t event, uint64_t *time_ns,
                            ttape_error *err)
{
    ttape_event_item item;
    if (look->cursor == NULL)
        TTP_TRY(ttape_cursor_open(&look->cursor, look->view->reader, look->stream, err));
    TTP_TRY(ttape_cursor_seek_event(look->cursor, event, err));
    TTP_TRY(ttape_cursor_next(look->cursor, &item, err));
    *time_ns = item.event.time_ns;
    return TTAPE_OK;
}

/* Since the tile's start; times wrap as those of an axis do. */
static int64_t since(const struct looking *look, uint64_t time_ns)
{
    return (int64_t)(time_ns - look->from_ns);
}

/* Buckets that lie in it altogether. */
static void put_buckets(const struct looking *look, int64_t from, int64_t to)
{
    const int64_t length = TTAPE_TILE_BUCKETS * look->bucket_ns;
    if (from >= length || to <= 0)
        return;
    from = from > 0 ? from : 0;
    to = to < length ? to : length;
    int64_t first = (from + look->bucket_ns - 1) / look->bucket_ns, end = to / look->bucket_ns;
    if (first >= end)
        return;
    ttp_view_number(look->view, NULL, (uint32_t)first);
    ttp_view_number(look->view, NULL, (uint32_t)(end - first));
}

/* Where exactly one of another kind was is not known. */
static bool is_long(const struct looking *look, const ttape_off_span *span)
{
    return (span->kind == TTAPE_OFF_PREEMPTED || span->kind == TTAPE_OFF_BLOCKED) &&
           span->event > 0 && (int64_t)span->length_ns >= LEAST_BUCKETS * look->bucket_ns;
}

static ttape_status put_span(struct looking *look, const ttape_off_span *span, ttape_error *err)
{
    uint64_t before, behind;
    TTP_TRY(time_of(look, span->event - 1, &before, err));
    TTP_TRY(time_of(look, span->event, &behind, err));
    int64_t start = since(look, before), end = since(look, behind);
    if (start > end || start < -MOMENT_MOST_NS || start > MOMENT_MOST_NS)
        return TTAPE_OK; /* its clock steps back, or is no clock */
    int64_t from = start + (span->start_ns > 0 ? span->start_ns : 0);
    int64_t to = start + span->start_ns + (int64_t)span->length_ns;
    put_buckets(look, from, to < end ? to : end);
    return TTAPE_OK;
}

static ttape_status put_segment(struct looking *look, const struct ttp_segment_entry *segment,
                                ttape_error *err)
{
    const ttape_reader *r = look->view->reader;
    const ttape_off_span *spans;
    uint32_t count;
    bool is_known;
    TTP_TRY(ttape_reader_get_off(look->view->reader, segment->partition,
                                 ttp_segment_number(r, segment), &spans, &count, &is_known, err));
    for (uint32_t i = 0; i < count; i++)
        if (is_long(look, &spans[i]))
            TTP_TRY(put_span(look, &spans[i], err));
    return TTAPE_OK;
}

/* Whether the time of a partition, or what leads up to it, is in the tile. `before_ns`: where the
 * stream's partition before it ends. */
static bool is_in(const struct looking *look, const struct ttp_partition_entry *entry,
                  uint64_t before_ns, uint64_t last_ns)
{
    return !entry->damaged && entry->resolution_ns != 0 && since(look, last_ns) >= 0 &&
           since(look, before_ns) < TTAPE_TILE_BUCKETS * look->bucket_ns;
}

static ttape_status put_all(struct looking *look, ttape_error *err)
{
    const ttape_reader *r = look->view->reader;
    uint64_t before_ns = look->from_ns;
    if (look->stream >= r->indexed_streams)
        return TTAPE_OK;
    uint32_t count = r->stream_first[look->stream + 1] - r->stream_first[look->stream];
    for (uint32_t i = 0; i < count && !ttp_view_stops(look->view); i++) {
        const struct ttp_segment_entry *segment = ttp_stream_segment(r, look->stream, i);
        const struct ttp_partition_entry *entry = &r->partitions[segment->partition];
        uint64_t last_ns = ttp_time_of((int64_t)((uint64_t)entry->end_tick - 1), entry->origin_ns,
                                       entry->resolution_ns);
        ttape_status status = TTAPE_OK;
        if (is_in(look, entry, before_ns, last_ns))
            status = put_segment(look, segment, err);
        if (status >= TTAPE_E_TRUNCATED) /* then it is not known of it, and the tile says so */
            status = TTAPE_OK;
        TTP_TRY(status);
        before_ns = last_ns;
    }
    return TTAPE_OK;
}

/* False: its buckets are longer than any stretch. */
static bool locate_tile(struct looking *look, const ttape_tile_axis *axis,
                        const ttape_tile_options *tile)
{
    if (!axis->has_times || axis->resolution_ns > BUCKET_MOST_NS >> tile->level)
        return false;
    look->bucket_ns = (int64_t)(axis->resolution_ns << tile->level);
    look->from_ns =
        axis->origin_ns + (uint64_t)tile->index * TTAPE_TILE_BUCKETS * (uint64_t)look->bucket_ns;
    return true;
}

ttape_status ttp_view_put_off(struct ttape_view *view, const ttape_tile_options *tile,
                              ttape_error *err)
{
    ttape_tile_axis axis;
    struct looking look = {.view = view, .stream = tile->stream};
    TTP_TRY(ttape_tile_get_axis(view->reader, tile->stream, &axis, err));
    ttp_view_begin(view, "off", '[');
    ttape_status status = locate_tile(&look, &axis, tile) ? put_all(&look, err) : TTAPE_OK;
    ttp_view_end(view, ']');
    ttape_cursor_close(look.cursor);
    return status;
}
