/* One call: from the event that entered it to the one that ended it, both included. */
#include <inttypes.h>

#include "tools/dump/dump.h"

/* How many frames an event adds to its stack. */
static int64_t frames_of(const ttape_event *event)
{
    switch (event->kind) {
    case TTAPE_EVENT_ENTER:
    case TTAPE_EVENT_OPEN:
    case TTAPE_EVENT_SIGNAL_BEGIN: return 1;
    case TTAPE_EVENT_EXIT:
    case TTAPE_EVENT_SIGNAL_END: return -1;
    case TTAPE_EVENT_UNWIND: return -(int64_t)event->argument;
    case TTAPE_EVENT_EXIT_ACROSS: return -(int64_t)event->argument - 1;
    default: return 0;
    }
}

/* Goes on to the end of the call that the first event enters; *count: events read so far. */
static ttape_status find_end(ttape_cursor *cursor, uint64_t *count, ttape_error *err)
{
    ttape_edge edge;
    ttape_event_item item;
    int64_t height = 0;
    ttape_status status = ttape_cursor_get_open_frames(cursor, &edge, err);
    uint32_t stack = status == TTAPE_OK ? edge.stack : 0, current = stack;
    for (*count = 0; status == TTAPE_OK; ++*count) {
        status = ttape_cursor_next(cursor, &item, err);
        if (status != TTAPE_OK)
            break;
        if (*count == 0 && frames_of(&item.event) != 1)
            return TTAPE_E_NOT_FOUND;
        height += current == stack ? frames_of(&item.event) : 0;
        if (item.event.kind == TTAPE_EVENT_SWITCH)
            current = item.event.argument;
        if (height <= 0) {
            ++*count;
            return TTAPE_OK;
        }
    }
    return status;
}

int tool_dump_choose_call(struct tool_dump *dump)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_stream_info stream;
    uint64_t count = 0;
    const struct tool_call_id *call = &dump->call;
    ttape_status status = ttape_reader_get_stream(dump->reader, call->stream, &stream);
    if (status == TTAPE_OK)
        status = ttape_cursor_open(&cursor, dump->reader, call->stream, &err);
    if (status == TTAPE_OK) {
        status = ttape_cursor_seek_event(cursor, call->event, &err);
        if (status == TTAPE_OK)
            status = find_end(cursor, &count, &err);
        ttape_cursor_close(cursor);
    }
    /* what ends in damage, or at the end of the file, is printed up to there, and damage told */
    if (count == 0 || status == TTAPE_E_NOT_FOUND)
        return tool_fail("'%s' has no call 's%" PRIu32 "e%" PRIu64 "'", dump->input->name,
                         call->stream, call->event);
    dump->events = (struct tool_range){true, call->event, call->event + count};
    if (status != TTAPE_OK)
        dump->events.to = UINT64_MAX;
    return TOOL_OK;
}
