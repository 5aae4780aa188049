/* Switches by thread: records of all rings in the order of time become spans, and spans find the
 * interval of events that they belong to. Locked: the draining thread fills it, so that no ring
 * runs over, and the encoding thread empties it. */
#ifndef TTP_RECORDING_SWITCH_THREADS_H
#define TTP_RECORDING_SWITCH_THREADS_H

#include <pthread.h>
#include <stdatomic.h>

#include <tracetape/types.h>

#include "recorder/state/switch_rings.h"
#include "recorder/state/word_map.h"
#include "writer/event_batch.h"
#include "writer/growing.h"

/* A time for which a thread's switches (or those of all) are not known. */
struct ttp_switch_hole {
    uint64_t from_ns, to_ns;
};

struct ttp_follower {
    ttape_allocator allocator;
    pthread_mutex_t lock;
    struct ttp_switch_rings rings;
    pthread_t preparing; /* a thread that makes the kernel ready */
    bool is_preparing;
    int prepared_fd;
    struct ttp_growing threads; /* struct of switch_threads.c */
    struct ttp_word_map by_tid;
    struct ttp_growing holes; /* struct ttp_switch_hole: of all threads, by their ends */
    struct ttp_growing spans; /* what the last call of place gave */
    uint64_t waiting;         /* records that no events have asked for yet */
    bool is_open, has_failed; /* failed: memory was missing, nothing more is known */
    _Atomic uint64_t lost_count;
};

void ttp_follower_init(struct ttp_follower *s, const ttape_allocator *allocator);
void ttp_follower_close(struct ttp_follower *s);
/* Makes the kernel ready meanwhile. */
void ttp_follower_prepare(struct ttp_follower *s);
/* As ttp_switch_rings_open. */
int ttp_follower_open(struct ttp_follower *s, uint32_t pid);
/* Takes what is in the rings. */
void ttp_follower_read(struct ttp_follower *s);
/* One record, as read does; for tests. */
void ttp_follower_take(void *seen, const struct ttp_switch *record);

/* When the thread exited, if it did in that time and no events behind it were placed. */
bool ttp_follower_find_exit(struct ttp_follower *s, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
                            uint64_t *exit_ns);

/* What there is to know of a run of events of one thread. */
struct ttp_switch_place {
    uint32_t tid;
    uint64_t before_ns; /* time of the event before, where has_before */
    bool has_before;
    uint64_t error_ns; /* by how much times of events and of switches may differ */
    bool is_recorders; /* the events are: the thread may not have run then */
};

/* The spans in the intervals of these events, numbered from 0 on: *spans lives until the next call.
 * false: nothing is known of the thread. */
bool ttp_follower_place(struct ttp_follower *s, const struct ttp_switch_place *place,
                        const struct ttp_events *events, size_t count, const ttape_off_span **spans,
                        size_t *span_count);

#endif
