/* How threads and processes ended, and where recording of them stopped: what the draining thread
 * finds, and what of it comes into the trace. */
#ifndef TTP_WRITER_RECORDING_ENDED_H
#define TTP_WRITER_RECORDING_ENDED_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/error.h>

struct ttp_encode;
struct ttp_thread;

/* When and how a thread or process ended: spec/facts.md has the numbers. */
struct ttp_end {
    uint64_t ticks;
    uint32_t how, number;
};

/* The record that says so, and whose it is. */
struct ttp_end_word {
    struct ttp_end end; /* number: where the thread goes on, why it is not recorded any more */
    bool is_process;
    bool is_at_last;    /* the time is that of the thread's last record */
    uint64_t off_ticks; /* not 0: recording was switched off then, before the end */
};

/* Recording stopped at `ns`, or was off from then up to next_ns; what: of enum ttp_stop_what. */
struct ttp_stop {
    uint32_t reason, what;
    uint64_t count, ns, next_ns;
};

#define TTP_WAIT_SITE 4u /* its address, behind those of facts */
/* The site of calls in which the thread waits for the recorder. */
ttape_status ttp_wait_site(struct ttp_encode *e, struct ttp_thread *thread, uint32_t *index,
                           ttape_error *err);
ttape_status ttp_stop_put(struct ttp_encode *e, struct ttp_thread *thread,
                          const struct ttp_stop *stop, ttape_error *err);
/* Whether the thread of an END record went on when recording ended: of a file that is full all. */
bool ttp_end_goes_on(const struct ttp_encode *e, uint64_t payload);
/* Appends what the END record says. A thread of which nothing is kept has no end. */
ttape_status ttp_end_put(struct ttp_encode *e, struct ttp_thread *thread, uint64_t payload,
                         uint64_t ns, ttape_error *err);

#endif
