/* A stream's end while it is being read: calls as their events come. */
#ifndef TTP_READER_LAST_INTERNAL_H
#define TTP_READER_LAST_INTERNAL_H

#include <tracetape/last.h>

#include "base/memory.h"

struct ttp_last_reading {
    struct ttp_memory *memory;
    const ttape_reader *reader;
    ttape_cursor *cursor;
    ttape_last_call *calls;
    uint32_t count, capacity;
    uint32_t *open; /* by depth: the index of the call + 1, 0: none */
    uint32_t open_count, open_capacity;
    ttape_last_end end;
    uint64_t end_ns;
    uint64_t fault_signal, fault_address; /* of the last fact of a fault; 0: none */
    uint64_t lost;                        /* since the last call began, as lost_before */
    /* Recording stopped, and nothing of the thread has come since: when, and with which event. */
    bool is_stopped;
    uint64_t stop_ns, stop_number, stop_reason;
    uint64_t off_ns; /* for how long it was off since the last call began */
};

void ttp_last_begin(struct ttp_last_reading *r); /* nothing has been read yet */
ttape_status ttp_last_event(struct ttp_last_reading *r, const ttape_event_item *item,
                            ttape_error *err);
/* Calls one after the other that call nothing, of one function, become one. */
void ttp_last_fold(struct ttp_last_reading *r);
void ttp_last_mark_open(struct ttp_last_reading *r, const ttape_open_frame *frames,
                        uint32_t frame_count);
void ttp_last_reading_close(struct ttp_last_reading *r);

#endif
