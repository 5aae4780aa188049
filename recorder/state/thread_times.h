/* What the kernel counts of threads, where it does not tell of their switches: how long each was on
 * the CPU and how long it waited for one, as a sum. */
#ifndef TTP_RECORDING_THREAD_TIMES_H
#define TTP_RECORDING_THREAD_TIMES_H

#include <stdbool.h>

#include "recorder/state/word_map.h"
#include "writer/growing.h"

struct ttp_thread_times {
    struct ttp_growing threads; /* struct of thread_times.c */
    struct ttp_word_map by_tid;
    bool is_on;
    uint64_t read_ms; /* when they were read last */
};

struct ttp_thread_sums {
    uint64_t on_cpu_ns, waiting_ns;
    uint32_t thread_count;
};

/* The threads that the process has now, as far as there is memory for them. */
void ttp_thread_times_read(struct ttp_thread_times *t, const ttape_allocator *a, uint32_t pid);
/* As each was read last. */
struct ttp_thread_sums ttp_thread_times_sum(const struct ttp_thread_times *t);
void ttp_thread_times_close(struct ttp_thread_times *t, const ttape_allocator *a);

#endif
