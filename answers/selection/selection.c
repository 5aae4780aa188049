/* What of a trace is asked about (tracetape/selection.h). */
#include <tracetape/selection.h>
#include <tracetape/writer.h>

#include "base/ordered.h"
#include "base/region.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/reader_internal.h"

struct ttape_selection {
    struct ttp_region region;
    ttape_selection_info info;
    uint32_t *streams; /* NULL: all */
    uint32_t stream_count;
};

/* ---- the range ---- */

uint64_t ttape_selection_time_ns(const ttape_selection_time *time, const ttape_info *info)
{
    uint64_t time_ns = time->time_ns;
    bool is_early = time->is_span && time_ns < info->time_first_ns;
    if ((time->is_relative || is_early) &&
        __builtin_add_overflow(time_ns, info->time_first_ns, &time_ns))
        return UINT64_MAX;
    return time_ns;
}

static ttape_status choose_range(ttape_selection_info *chosen, const ttape_info *info,
                                 const ttape_selection_options *options, ttape_error *err)
{
    chosen->to_ns = UINT64_MAX;
    chosen->has_range = options->from.is_given || options->to.is_given;
    if (!chosen->has_range)
        return TTAPE_OK;
    if (info->resolution_ns == TTAPE_TIME_NONE)
        return ttp_fail(err, TTAPE_E_UNSUPPORTED, "", TTAPE_ERROR_NO_OFFSET,
                        "the trace has no times: no range can be chosen");
    if (options->from.is_given)
        chosen->from_ns = ttape_selection_time_ns(&options->from, info);
    if (options->to.is_given)
        chosen->to_ns = ttape_selection_time_ns(&options->to, info);
    chosen->is_outside = info->event_count > 0 && (chosen->to_ns <= info->time_first_ns ||
                                                   chosen->from_ns > info->time_last_ns);
    return ttp_check_range(true, chosen->from_ns, chosen->to_ns, err);
}

/* ---- streams ---- */

static bool has_number(const uint64_t *numbers, uint32_t count, uint64_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

static bool is_chosen(const ttape_selection_options *o, uint32_t number,
                      const ttape_stream_info *stream)
{
    bool is_named = o->tid_count + o->named_stream_count == 0 ||
                    has_number(o->streams, o->named_stream_count, number) ||
                    has_number(o->tids, o->tid_count, stream->stream.tid);
    return is_named && (o->pid_count == 0 || has_number(o->pids, o->pid_count, stream->pid));
}

static ttape_status choose_streams(struct ttape_selection *selection, const ttape_reader *reader,
                                   const ttape_info *info, const ttape_selection_options *options,
                                   ttape_error *err)
{
    selection->streams =
        ttp_region_take(&selection->region, info->stream_count, sizeof *selection->streams);
    if (selection->streams == NULL)
        return ttp_fail_region(err, "selections", options->memory_bytes);
    for (uint32_t i = 0; i < info->stream_count; i++) {
        ttape_stream_info stream;
        if (ttape_reader_get_stream(reader, i, &stream) == TTAPE_OK &&
            is_chosen(options, i, &stream))
            selection->streams[selection->stream_count++] = i;
    }
    if (selection->stream_count > 0)
        return TTAPE_OK;
    return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "the trace has no such %s",
                    options->tid_count > 0            ? "thread"
                    : options->named_stream_count > 0 ? "stream"
                                                      : "process");
}

/* ---- public ---- */

ttape_status ttape_selection_make(ttape_selection **out, const ttape_reader *reader,
                                  const ttape_selection_options *options, ttape_error *err)
{
    ttape_selection_options taken = {.size = sizeof taken};
    ttape_info info;
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    if (options != NULL)
        TTP_TRY(ttp_take_sized(&taken, sizeof taken, options, "a selection", err));
    if ((taken.tid_count > 0 && taken.tids == NULL) ||
        (taken.pid_count > 0 && taken.pids == NULL) ||
        (taken.named_stream_count > 0 && taken.streams == NULL))
        return ttp_refuse(err, "numbers are counted, but not given");
    struct ttp_region region;
    struct ttape_selection *selection =
        ttp_open_region(&region, reader->memory.allocator, &taken.memory_bytes, sizeof *selection);
    if (selection == NULL)
        return ttp_fail_region(err, "selections", taken.memory_bytes);
    selection->region = region;
    ttape_reader_get_info(reader, &info);
    ttape_status status = choose_range(&selection->info, &info, &taken, err);
    selection->info.has_streams = taken.tid_count + taken.pid_count + taken.named_stream_count > 0;
    if (status == TTAPE_OK && selection->info.has_streams)
        status = choose_streams(selection, reader, &info, &taken, err);
    if (status != TTAPE_OK) {
        ttape_selection_close(selection);
        return status;
    }
    *out = selection;
    return TTAPE_OK;
}

void ttape_selection_close(ttape_selection *selection)
{
    if (selection != NULL)
        ttp_close_region(&selection->region);
}

void ttape_selection_get_info(const ttape_selection *selection, ttape_selection_info *info)
{
    *info = selection->info;
}

const uint32_t *ttape_selection_get_rows(const ttape_selection *selection, uint32_t *row_count)
{
    *row_count = selection != NULL ? selection->stream_count : 0;
    return selection != NULL ? selection->streams : NULL;
}

bool ttape_selection_has(const ttape_selection *selection, uint32_t stream)
{
    struct ttp_bisect s = {.end = selection->stream_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, selection->streams[s.middle] < stream);
    return !selection->info.has_streams ||
           (s.first < selection->stream_count && selection->streams[s.first] == stream);
}
