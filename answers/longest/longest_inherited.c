/* Calls that a forked process was born in: its parent made them, and has them. In the child their
 * frames are the events that its first thread begins with, and each of class open. Other frames of
 * that class are calls of the thread's own: those that it was in when recording began, or went on.
 *
 *     open open switch open | enter ...      up to the time of the last open: inherited
 *     gap open open | enter ...              the same: events were lost as it was born */
#include "answers/longest/longest_internal.h"

#define EVENTS_AT_ONCE 64u

static bool is_born_by_fork(const ttape_reader *r, uint32_t stream)
{
    ttape_stream_info info;
    ttape_process process;
    return ttape_reader_get_stream(r, stream, &info) == TTAPE_OK &&
           ttape_reader_get_process(r, info.stream.process, &process) == TTAPE_OK &&
           process.parent != TTAPE_NONE && info.pid == info.stream.tid;
}

static void raise(struct ttp_long_fork *fork, uint64_t time_ns)
{
    fork->has_frames = true;
    fork->until_ns = time_ns > fork->until_ns ? time_ns : fork->until_ns;
}

/* A stream whose first events are not there any more begins with what was open then. */
static void take_edge(struct ttp_long_fork *fork, const ttape_edge *edge)
{
    for (uint32_t i = 0; i < edge->frame_count; i++)
        if (edge->frames[i].kind == TTAPE_EVENT_OPEN)
            raise(fork, edge->frames[i].enter_time_ns);
}

/* True while the frames that it was born in may go on. */
static bool take_event(struct ttp_long_fork *fork, const ttape_event *event, bool is_first)
{
    if (event->kind == TTAPE_EVENT_OPEN)
        raise(fork, event->time_ns);
    return event->kind == TTAPE_EVENT_OPEN || event->kind == TTAPE_EVENT_SWITCH ||
           event->kind == TTAPE_EVENT_SIGNAL_BEGIN || (is_first && event->kind == TTAPE_EVENT_GAP);
}

static void read_beginning(struct ttp_long_fork *fork, ttape_cursor *cursor)
{
    ttape_edge edge;
    ttape_event events[EVENTS_AT_ONCE];
    size_t count = 0;
    if (ttape_cursor_get_open_frames(cursor, &edge, NULL) != TTAPE_OK)
        return;
    take_edge(fork, &edge);
    bool goes_on = edge.event_number == 0, is_first = true;
    while (goes_on &&
           ttape_cursor_next_events(cursor, events, EVENTS_AT_ONCE, &count, NULL) == TTAPE_OK &&
           count > 0)
        for (size_t i = 0; i < count && goes_on; i++, is_first = false)
            goes_on = take_event(fork, &events[i], is_first);
}

bool ttp_long_is_inherited(struct ttp_long_fork *fork, ttape_reader *r, uint32_t stream,
                           uint64_t enter_ns)
{
    ttape_cursor *cursor;
    if (!fork->is_known || fork->stream != stream) {
        *fork = (struct ttp_long_fork){.stream = stream, .is_known = true};
        if (is_born_by_fork(r, stream) && ttape_cursor_open(&cursor, r, stream, NULL) == TTAPE_OK) {
            read_beginning(fork, cursor);
            ttape_cursor_close(cursor);
        }
    }
    return fork->has_frames && enter_ns <= fork->until_ns;
}
