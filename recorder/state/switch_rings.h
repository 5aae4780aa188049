/* The kernel's side of switches: one ring of records for each processor, of one process and all
 * that it starts (perf_event_open). Nothing is done in the program for it. */
#ifndef TTP_RECORDING_SWITCH_RINGS_H
#define TTP_RECORDING_SWITCH_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ttp_switch_kind {
    TTP_SWITCH_IN = 0, /* the thread runs from here on */
    TTP_SWITCH_PREEMPTED = 1,
    TTP_SWITCH_BLOCKED = 2,
    TTP_SWITCH_EXIT = 3, /* it is not followed any more */
    TTP_SWITCH_LOST = 4  /* records may be missing, of any thread, from from_ns to time_ns */
};

struct ttp_switch {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t from_ns, lost_count;
    uint32_t tid; /* as the recorder knows it */
    enum ttp_switch_kind kind;
};

struct ttp_switch_ring {
    uint8_t *memory; /* a page, then the data */
    size_t data_bytes;
    uint64_t last_ns; /* of its last record */
};

struct ttp_switch_rings {
    struct ttp_switch_ring *rings;
    uint32_t count;
};

/* An event of the calling thread's that makes the kernel ready for others: where nobody else has
 * such an event it takes 10 ms, in which it waits for all processors. A descriptor, or -1. */
int ttp_switch_rings_prepare(void);
/* The process has one thread, which waits for us. errno of what failed, or 0. */
int ttp_switch_rings_open(struct ttp_switch_rings *rings, uint32_t pid);
void ttp_switch_rings_close(struct ttp_switch_rings *rings);
/* Hands over what is there, ring by ring. */
void ttp_switch_rings_read(struct ttp_switch_rings *rings,
                           void (*take)(void *context, const struct ttp_switch *record),
                           void *context);
/* What stands in a ring's data from `tail` to `head`, both without end; moves no tail. The kernel's
 * bytes are not believed: a record of an impossible size ends it, and counts as a loss. */
void ttp_switch_ring_parse(struct ttp_switch_ring *ring, const uint8_t *data, uint64_t tail,
                           uint64_t head, void (*take)(void *context, const struct ttp_switch *),
                           void *context);

#endif
