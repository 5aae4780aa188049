/* Counters of a thread, from outside: how often something happened to it, as the kernel counts. */
#ifndef TTP_WRITER_SYSCALLS_COUNTERS_H
#define TTP_WRITER_SYSCALLS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct ttp_counter {
    const char *name;
    uint32_t type;
    uint64_t config;
    uint64_t own; /* what the stop at a call's exit adds by itself */
};

/* NULL: there is none of that name. */
const struct ttp_counter *ttp_counter_find(const char *name);
/* A descriptor, or a negative error number. tid 0 is this thread. */
int ttp_counter_open(const struct ttp_counter *counter, uint32_t tid);
bool ttp_counter_read(int descriptor, uint64_t *count);

#endif
