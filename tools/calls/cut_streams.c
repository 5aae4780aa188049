/* Times become numbers of events once for each stream; then partitions are told by their heads. */
#include "tools/calls/cut_streams.h"

#include <stdlib.h>

#include "tools/command/tool.h"

/* The number of a stream's first event at or after a time. */
static ttape_status number_at(ttape_reader *reader, uint32_t stream, uint64_t time_ns,
                              uint64_t *number, ttape_error *err)
{
    ttape_cursor *cursor;
    ttape_edge edge;
    ttape_status status = ttape_cursor_open(&cursor, reader, stream, err);
    if (status != TTAPE_OK)
        return status;
    status = ttape_cursor_seek_time(cursor, time_ns, err);
    if (status == TTAPE_OK || status == TTAPE_END)
        status = ttape_cursor_get_open_frames(cursor, &edge, err);
    if (status == TTAPE_OK)
        *number = edge.event_number;
    ttape_cursor_close(cursor);
    return status;
}

static ttape_status select_stream(struct tool_cut *cut, uint32_t stream,
                                  const struct tool_span *time,
                                  const struct tool_selection *selection, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    if (!tool_selects(selection, stream))
        return status; /* both are 0: nothing of it */
    cut->to[stream] = UINT64_MAX;
    if (time->from.given)
        status = number_at(cut->reader, stream, selection->from_ns, &cut->from[stream], err);
    if (time->to.given && status == TTAPE_OK)
        status = number_at(cut->reader, stream, selection->to_ns, &cut->to[stream], err);
    return status;
}

int tool_cut_open(struct tool_cut *cut, const struct tool_input *input,
                  const struct tool_choice *choice)
{
    ttape_info info;
    ttape_error err = {0};
    struct tool_selection selection;
    ttape_reader_get_info(input->reader, &info);
    int status = tool_select(&selection, input, choice);
    if (status != TOOL_OK)
        return status;
    *cut = (struct tool_cut){.reader = input->reader,
                             .stream_count = info.stream_count,
                             .from = tool_allocate(info.stream_count, sizeof(uint64_t)),
                             .to = tool_allocate(info.stream_count, sizeof(uint64_t))};
    for (uint32_t i = 0; i < info.stream_count && status == TOOL_OK; i++)
        if (select_stream(cut, i, &choice->time, &selection, &err) != TTAPE_OK)
            status = tool_fail_error(input->name, &err);
    tool_selection_close(&selection);
    return status;
}

void tool_cut_close(struct tool_cut *cut)
{
    free(cut->from);
    free(cut->to);
    *cut = (struct tool_cut){0};
}

ttape_status tool_cut_cover(const struct tool_cut *cut, uint32_t partition, enum tool_cover *cover,
                            ttape_error *err)
{
    ttape_partition_info info;
    ttape_status status = ttape_reader_get_partition(cut->reader, partition, &info);
    uint32_t inside = 0, outside = 0;
    /* A damaged partition has no segments that are known: asking for one says what is wrong. */
    for (uint32_t i = 0; status == TTAPE_OK && (i == 0 || i < info.segment_count); i++) {
        ttape_segment_info segment;
        status = ttape_reader_get_segment(cut->reader, partition, i, &segment, err);
        if (status == TTAPE_OK && segment.stream < cut->stream_count) {
            uint64_t first = segment.start.event_number, end = first + segment.event_count;
            uint64_t from = cut->from[segment.stream], to = cut->to[segment.stream];
            inside += first < to && end > from;
            outside += first < from || end > to;
        }
    }
    *cover = inside == 0 ? TOOL_COVER_NONE : outside == 0 ? TOOL_COVER_WHOLE : TOOL_COVER_PART;
    return status;
}
