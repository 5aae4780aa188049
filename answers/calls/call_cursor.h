/* A cursor over calls: call_cursor.c reads, call_open.c opens and hands out calls. */
#ifndef TTP_READER_CALL_CURSOR_H
#define TTP_READER_CALL_CURSOR_H

#include "answers/calls/call_stacks.h"
#include "reader/cursor/cursor.h"

#define TTP_CALL_BATCH_EVENTS 2048u

enum ttp_call_phase {
    TTP_CALLS_OPEN,
    TTP_CALLS_MISSING,
    TTP_CALLS_LOSE,
    TTP_CALLS_FIND,
    TTP_CALLS_GO,
    TTP_CALLS_READ,
    TTP_CALLS_STOP,
    TTP_CALLS_LEFT,
    TTP_CALLS_DONE
};

struct ttape_call_cursor {
    ttape_reader *reader;
    struct ttp_memory memory;
    ttape_call_options options;
    ttape_cursor *cursor; /* over the stream, or over all */
    ttape_event *batch;
    const ttape_event *next, *end; /* of the events at hand: a batch, or the merged item */
    const ttape_event *plain_end;  /* those before it are steps without more ado */
    uint64_t to_ns;                /* UINT64_MAX: no end */
    struct ttp_call_stream *s;     /* of the events at hand */
    ttape_call_step step;
    uint32_t to_hand; /* of step.ended, by ttape_call_cursor_next */
    enum ttp_call_phase phase;
    uint32_t place;       /* in what the phase goes through */
    bool is_cut, is_over; /* nothing is read any more */
    bool damaged;         /* behind a failure, what is open is not known yet */
    ttape_edge edge;
    ttape_event gap;
    /* several streams */
    ttape_cursor *edge_cursor;
    ttape_event_item item;
    uint64_t now_ns;  /* the latest time of all */
    uint32_t opened;  /* streams that were */
    uint32_t stopped; /* at the end: those before it have stopped */
    bool is_merged, is_sought;
    struct ttp_call_stream *streams;
    uint32_t stream_count;
    uint32_t stream_capacity, index_capacity;
    uint32_t *index_of; /* several: by number, index + 1, 0: not chosen */
};

#endif
