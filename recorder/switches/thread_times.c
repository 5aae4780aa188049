/* /proc/PID/task/TID/schedstat: ns on the CPU, ns of waiting for one, turns. A number that is given
 * to another thread counts on: what its first owner had stays. */
#include "recorder/state/thread_times.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct thread_time {
    uint64_t before_on_ns, before_waiting_ns; /* of threads of that number that are gone */
    uint64_t on_ns, waiting_ns;
};

static struct thread_time *time_of(struct ttp_thread_times *t, const ttape_allocator *a,
                                   uint32_t tid)
{
    uint32_t index = ttp_map_find(&t->by_tid, tid);
    if (index != TTAPE_NONE)
        return (struct thread_time *)t->threads.data + index;
    struct thread_time *time = ttp_push(a, &t->threads, sizeof *time, NULL);
    if (time == NULL)
        return NULL;
    if (ttp_map_set(a, &t->by_tid, tid, (uint32_t)t->threads.count - 1, NULL) == TTAPE_OK)
        return time;
    t->threads.count--;
    return NULL;
}

static void read_thread(struct ttp_thread_times *t, const ttape_allocator *a, uint32_t pid,
                        uint32_t tid)
{
    char path[64];
    uint64_t on_ns, waiting_ns;
    (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/schedstat", pid, tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    bool is_read = fscanf(file, "%" SCNu64 " %" SCNu64, &on_ns, &waiting_ns) == 2;
    (void)fclose(file);
    struct thread_time *time = is_read ? time_of(t, a, tid) : NULL;
    if (time == NULL)
        return;
    if (on_ns < time->on_ns || waiting_ns < time->waiting_ns) {
        time->before_on_ns += time->on_ns;
        time->before_waiting_ns += time->waiting_ns;
    }
    time->on_ns = on_ns;
    time->waiting_ns = waiting_ns;
}

void ttp_thread_times_read(struct ttp_thread_times *t, const ttape_allocator *a, uint32_t pid)
{
    char path[32];
    const struct dirent *entry;
    (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
    DIR *all = opendir(path);
    while (all != NULL && (entry = readdir(all)) != NULL)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            read_thread(t, a, pid, (uint32_t)strtoul(entry->d_name, NULL, 10));
    if (all != NULL)
        (void)closedir(all);
}

struct ttp_thread_sums ttp_thread_times_sum(const struct ttp_thread_times *t)
{
    struct ttp_thread_sums sums = {.thread_count = (uint32_t)t->threads.count};
    const struct thread_time *times = t->threads.data;
    for (size_t i = 0; i < t->threads.count; i++) {
        sums.on_cpu_ns += times[i].before_on_ns + times[i].on_ns;
        sums.waiting_ns += times[i].before_waiting_ns + times[i].waiting_ns;
    }
    return sums;
}

void ttp_thread_times_close(struct ttp_thread_times *t, const ttape_allocator *a)
{
    ttp_grown_free(a, &t->threads);
    ttp_map_free(a, &t->by_tid);
}
