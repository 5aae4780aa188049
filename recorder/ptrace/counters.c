#define _GNU_SOURCE /* syscall */
#include "recorder/ptrace/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tracetape/syscalls.h>

#define DATA_TLB_MISSES                                                                            \
    (PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_READ << 8 |                                 \
     PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct ttp_counter counters[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0},
    {"tlb-misses", PERF_TYPE_HW_CACHE, DATA_TLB_MISSES, 0},
    {"cpu-time", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1},
};

#define COUNT (sizeof(counters) / sizeof(*counters))

const struct ttp_counter *ttp_counter_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(counters[i].name, name) == 0)
            return &counters[i];
    return NULL;
}

const char *ttape_trace_counter(uint32_t number)
{
    return number < COUNT ? counters[number].name : NULL;
}

int ttp_counter_open(const struct ttp_counter *counter, uint32_t tid)
{
    struct perf_event_attr attributes = {
        .size = sizeof(attributes), .type = counter->type, .config = counter->config};
    long descriptor =
        syscall(SYS_perf_event_open, &attributes, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return descriptor >= 0 ? (int)descriptor : -errno;
}

bool ttp_counter_read(int descriptor, uint64_t *count)
{
    return read(descriptor, count, sizeof(*count)) == (ssize_t)sizeof(*count);
}
