/* Events of one stream, in one of two shapes. */
#ifndef TTP_WRITER_EVENT_BATCH_H
#define TTP_WRITER_EVENT_BATCH_H

#include <stddef.h>

#include <tracetape/writer.h>

struct ttp_events { /* the other one is NULL */
    const ttape_event *events;
    const ttape_enter_exit *calls;
};

static inline uint64_t ttp_event_time(const struct ttp_events *from, size_t i)
{
    return from->calls != NULL ? from->calls[i].time_ns : from->events[i].time_ns;
}

#endif
