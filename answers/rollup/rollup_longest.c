/* The longest calls of each function: one pass over a trace's calls, of which those count that end
 * in the partitions that are added. */
#include <tracetape/calls.h>

#include "answers/rollup/rollup_internal.h"
#include "reader/definitions/site_words.h"
#include "reader/reader_internal.h"

#define CALLS_AT_ONCE 512u

struct longest {
    ttape_rollup *rollup;
    const ttape_rollup_selection *selection;
    uint32_t *rows; /* by site, TTAPE_NONE: not asked yet */
    uint32_t trace;
    uint64_t first, end; /* events of the stream at hand */
};

/* Which events of a stream are in the selection. */
static void set_events(struct longest *l, const ttape_reader *reader, uint32_t stream)
{
    l->first = UINT64_MAX;
    l->end = 0;
    for (uint32_t i = reader->stream_first[stream]; i < reader->stream_first[stream + 1]; i++) {
        const struct ttp_segment_entry *seg = &reader->segments[reader->stream_segments[i]];
        if (seg->partition < l->selection->first_partition ||
            seg->partition - l->selection->first_partition >= l->selection->partition_count)
            continue;
        uint64_t end = seg->first_event + seg->event_count;
        l->first = seg->first_event < l->first ? seg->first_event : l->first;
        l->end = end > l->end ? end : l->end;
    }
}

static bool counts(const struct longest *l, const ttape_call *call)
{
    return (call->end == TTAPE_CALL_RETURNED || call->end == TTAPE_CALL_UNWOUND) &&
           call->enter_number != TTAPE_CALL_NO_NUMBER && call->kind != TTAPE_EVENT_OPEN &&
           call->site != TTAPE_NONE && call->end_number >= l->first && call->end_number < l->end;
}

static bool add_calls(struct longest *l, const ttape_reader *reader, const ttape_call *calls,
                      size_t count)
{
    ttape_rollup *r = l->rollup;
    for (size_t i = 0; i < count; i++) {
        const ttape_call *call = &calls[i];
        if (!counts(l, call))
            continue;
        uint32_t *row = &l->rows[call->site];
        if (*row == TTAPE_NONE)
            *row = ttp_rollup_row_of_site(r, reader, call->site);
        const ttape_rollup_call one = {l->trace, call->stream, call->enter_number,
                                       call->duration_ns};
        if (*row == TTAPE_NONE || !ttp_rollup_add_call(r, &r->rows[*row], &one))
            return false;
    }
    return true;
}

static ttape_status walk_stream(struct longest *l, ttape_reader *reader, uint32_t stream,
                                ttape_error *err)
{
    const ttape_call_options options = {
        .size = sizeof options, .streams = &stream, .stream_count = 1};
    ttape_call calls[CALLS_AT_ONCE];
    ttape_call_cursor *cursor;
    ttape_status status = ttape_call_cursor_open(&cursor, reader, &options, err);
    bool fits = true;
    while (status == TTAPE_OK && fits) {
        size_t count = 0;
        ttape_error problem = {0};
        status = ttape_call_cursor_next_many(cursor, calls, CALLS_AT_ONCE, &count, &problem);
        fits = add_calls(l, reader, calls, count);
        /* damage was told when the report was made */
        if (status >= TTAPE_E_TRUNCATED && l->selection->report.damage != NULL)
            status = TTAPE_OK;
        else if (status != TTAPE_OK && status != TTAPE_END && err != NULL)
            *err = problem;
    }
    ttape_call_cursor_close(cursor);
    if (!fits)
        return ttp_rollup_fail_short(l->rollup, err);
    return status == TTAPE_END ? TTAPE_OK : status;
}

ttape_status ttp_rollup_add_longest(ttape_rollup *r, ttape_reader *reader,
                                    const ttape_rollup_selection *selection, uint32_t trace,
                                    ttape_error *err)
{
    struct longest l = {.rollup = r, .selection = selection, .trace = trace};
    uint32_t site_count = reader->definitions.site_count;
    ttape_status status = TTAPE_OK;
    l.rows = ttp_region_take(&r->region, site_count, sizeof *l.rows);
    if (l.rows == NULL)
        return ttp_rollup_fail_short(r, err);
    memset(l.rows, 0xff, site_count * sizeof *l.rows);
    for (uint32_t s = 0; s < reader->indexed_streams && status == TTAPE_OK; s++) {
        set_events(&l, reader, s);
        if (l.end != 0)
            status = walk_stream(&l, reader, s, err);
    }
    ttp_region_give(&r->region, l.rows);
    if (status != TTAPE_OK)
        r->has_failed = true; /* its sums are there */
    return status;
}
