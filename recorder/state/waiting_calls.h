/* Calls as the filter sees them, and those that wait with their values until it is known whether
 * they are kept. */
#ifndef TTP_RECORDING_WAITING_CALLS_H
#define TTP_RECORDING_WAITING_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/error.h>
#include <tracetape/types.h>

#include "writer/growing.h"

struct ttp_encode;
struct ttp_thread;

#define TTP_TIME_OF_ALL UINT64_MAX /* a least time: that of all calls, which triggers change */

/* A frame. */
struct ttp_call {
    uint32_t site;   /* index in the layout, TTAPE_NONE for signals */
    uint32_t state;  /* enum in call_filter.c */
    uint32_t signal; /* of a handler: its number */
    uint64_t time_ns;
    bool opens_below, opens_without;
    bool leads;     /* to what is wanted, or is that: where nothing is, all do */
    bool was_open;  /* before the stream began: TTAPE_EVENT_OPEN */
    bool is_before; /* it was open when rules changed: nothing is in it */
    bool is_judged; /* a system call that keep_call is to be asked of; in held_calls.c
                                * a call that conditions are about, whose event has this number: */
    uint64_t held;
    uint64_t triggers;         /* there: rules that wait for its end */
    uint64_t min_ns;           /* there: the least time of what it calls, or TTP_TIME_OF_ALL */
    uint32_t depth_end;        /* so many calls around one that are kept are too many; 0: what
                                * holds of all says that */
    struct ttp_growing values; /* bytes of a message VALUES, while it waits */
};

struct ttp_call_stack {
    uint32_t number; /* of the stack */
    struct ttp_growing calls;
    uint32_t kept, below, without, pending; /* counts in calls */
};

/* Of a thread. */
struct ttp_waiting {
    bool has_entered; /* its last event was an enter that waits: values are to be kept */
    bool has_left;    /* its last event was this exit, whose call is judged by its result */
    uint32_t site;
    ttape_event left;
};

/* Values of the last event, where it waits. */
ttape_status ttp_wait_values(struct ttp_encode *e, struct ttp_thread *thread, const uint8_t *bytes,
                             uint32_t size_bytes, ttape_error *err);
/* Before anything else: no more is going to be known of the exit that waits. */
ttape_status ttp_wait_settle(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err);
/* Whether the rules of the recording's owner keep this system call; `result`: NULL: not known. */
bool ttp_wait_is_kept(struct ttp_encode *e, const struct ttp_thread *thread,
                      const struct ttp_call *call, const int64_t *result);

/* An event's site, and what is said of this call: of a site whose calls do not differ that of the
 * site. */
struct ttp_chosen {
    uint32_t site, select; /* TTAPE_SELECT_* */
    uint32_t depth;        /* that holds from here on; TTAPE_NONE: as around it */
    uint32_t all_depth;    /* of all calls; 0: any */
    bool is_timed;         /* without a length: it is kept where the call around it is */
};

/* call_filter.c: whether anything is left out by it. */
bool ttp_filter_is_on(const struct ttp_encode *e);
ttape_status ttp_filter_event(struct ttp_encode *e, struct ttp_thread *thread, ttape_event *event,
                              const struct ttp_chosen *chosen, ttape_error *err);
/* The calls of the stack that the thread is on, those that are not kept included; NULL: none. */
const struct ttp_call_stack *ttp_filter_stack(const struct ttp_thread *thread);
/* Whether that one of them, from the outermost, is a signal's handler. */
bool ttp_filter_is_signal(const struct ttp_call_stack *stack, uint32_t call);
/* Rules change: nothing waits any longer, by the old ones; then all that is open is before them. */
ttape_status ttp_filter_settle_all(struct ttp_encode *e, struct ttp_thread *thread,
                                   ttape_error *err);
void ttp_filter_begin_again(struct ttp_thread *thread);
ttape_status ttp_filter_settle(struct ttp_encode *e, struct ttp_thread *thread, ttape_error *err);
void ttp_filter_close(struct ttp_encode *e, struct ttp_thread *thread);
/* The innermost call is not left out by keep_call, or is. */
ttape_status ttp_filter_judged(struct ttp_encode *e, struct ttp_thread *thread, bool is_kept,
                               ttape_error *err);
/* record_decoder.c */
uint32_t ttp_decode_values(struct ttp_encode *e, const uint8_t *at, const uint8_t *end,
                           ttape_error *err);
ttape_status ttp_decode_attach(struct ttp_encode *e, struct ttp_thread *thread, const uint8_t *at,
                               const uint8_t *end, ttape_error *err);

#endif
