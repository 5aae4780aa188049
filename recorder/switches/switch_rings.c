/* An event of a task that is inherited can be read through a ring only where it is of one
 * processor: so there is one event for each, and a thread's records are in the rings of the
 * processors that it ran on. Records of one ring ascend, rings are put together later
 * (switch_threads.c).
 *
 * An event counts nothing and samples nothing: the kernel only writes that a thread was switched in
 * or out, that it ended, and how many records found no room. For ordinary users it must leave out
 * the kernel's own code, of which it tells nothing in any case. */
#define _GNU_SOURCE /* syscall */
#include "recorder/state/switch_rings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGES_MOST  32u /* 128 KiB of data for a processor: 5,400 switches ... */
#define PAGES_MANY  8u  /* ... where there are many */
#define PAGES_LEAST 4u
#define MANY_RINGS  64u
#define RECORD_MAX  256u

/* What stands behind each record (sample_id_all). */
struct record_end {
    uint32_t pid, tid;
    uint64_t time_ns;
};

static int open_event(uint32_t pid, int processor)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_DUMMY,
                                         .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
                                         .inherit = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1,
                                         .task = 1,
                                         .sample_id_all = 1,
                                         .use_clockid = 1,
                                         .context_switch = 1,
                                         .clockid = CLOCK_MONOTONIC};
    return (int)syscall(SYS_perf_event_open, &attributes, pid, processor, -1,
                        (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

int ttp_switch_rings_prepare(void) { return open_event(0, -1); }

/* Users may lock so much memory for rings: where that does not suffice, rings are smaller. */
static int map_ring(int fd, uint32_t pages, struct ttp_switch_ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; pages >= PAGES_LEAST; pages /= 2) {
        void *memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED) {
            *ring = (struct ttp_switch_ring){.memory = memory, .data_bytes = pages * page};
            return 0;
        }
        if (errno != EPERM)
            break;
    }
    return errno;
}

/* The mapping keeps the event: no descriptor stays. */
static int add_ring(struct ttp_switch_rings *rings, uint32_t pid, uint32_t processor,
                    uint32_t pages)
{
    int fd = open_event(pid, (int)processor);
    if (fd < 0)
        return errno;
    int code = map_ring(fd, pages, &rings->rings[rings->count]);
    (void)close(fd);
    rings->count += code == 0;
    return code;
}

int ttp_switch_rings_open(struct ttp_switch_rings *rings, uint32_t pid)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    uint32_t count = processors > 0 ? (uint32_t)processors : 1;
    *rings = (struct ttp_switch_rings){.rings = calloc(count, sizeof *rings->rings)};
    if (rings->rings == NULL)
        return ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        int code = add_ring(rings, pid, i, count > MANY_RINGS ? PAGES_MANY : PAGES_MOST);
        if (code == 0 || code == ENODEV) /* a processor that is switched off */
            continue;
        ttp_switch_rings_close(rings);
        return code;
    }
    if (rings->count == 0) {
        ttp_switch_rings_close(rings);
        return ENODEV;
    }
    return 0;
}

void ttp_switch_rings_close(struct ttp_switch_rings *rings)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (uint32_t i = 0; i < rings->count; i++)
        (void)munmap(rings->rings[i].memory, rings->rings[i].data_bytes + page);
    free(rings->rings);
    *rings = (struct ttp_switch_rings){0};
}

/* Out of a ring, whose end is its beginning. */
static void copy_out(const struct ttp_switch_ring *ring, const uint8_t *data, uint64_t at,
                     void *out, size_t bytes)
{
    size_t from = (size_t)(at % ring->data_bytes), first = ring->data_bytes - from;
    first = bytes < first ? bytes : first;
    memcpy(out, data + from, first);
    memcpy((uint8_t *)out + first, data, bytes - first);
}

static bool read_record(const struct perf_event_header *head, const uint8_t *bytes,
                        struct ttp_switch *record)
{
    struct record_end end;
    uint64_t lost[2];
    memcpy(&end, bytes + head->size - sizeof end, sizeof end);
    *record = (struct ttp_switch){.time_ns = end.time_ns, .tid = end.tid};
    switch (head->type) {
    case PERF_RECORD_SWITCH:
        record->kind = (head->misc & PERF_RECORD_MISC_SWITCH_OUT) == 0 ? TTP_SWITCH_IN
                       : (head->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0
                           ? TTP_SWITCH_PREEMPTED
                           : TTP_SWITCH_BLOCKED;
        return true;
    case PERF_RECORD_EXIT: record->kind = TTP_SWITCH_EXIT; return true;
    case PERF_RECORD_LOST:
        memcpy(lost, bytes + sizeof *head, sizeof lost);
        record->kind = TTP_SWITCH_LOST;
        record->lost_count = lost[1];
        return true;
    default: return false;
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void ttp_switch_ring_parse(struct ttp_switch_ring *ring, const uint8_t *data, uint64_t tail,
                           uint64_t head, void (*take)(void *context, const struct ttp_switch *),
                           void *context)
{
    struct ttp_switch record;
    bool is_bad = head - tail > ring->data_bytes;
    while (!is_bad && tail != head) {
        uint8_t bytes[RECORD_MAX];
        struct perf_event_header header;
        is_bad = head - tail < sizeof header;
        if (is_bad)
            break;
        copy_out(ring, data, tail, &header, sizeof header);
        is_bad = header.size < sizeof header + sizeof(struct record_end) +
                                   sizeof(uint64_t) * 2 * (header.type == PERF_RECORD_LOST) ||
                 header.size > sizeof bytes || header.size > head - tail;
        if (is_bad)
            break;
        copy_out(ring, data, tail, bytes, header.size);
        tail += header.size;
        if (!read_record(&header, bytes, &record))
            continue;
        record.from_ns = ring->last_ns;
        ring->last_ns = record.time_ns > ring->last_ns ? record.time_ns : ring->last_ns;
        take(context, &record);
    }
    if (!is_bad)
        return;
    record =
        (struct ttp_switch){.time_ns = now_ns(), .from_ns = ring->last_ns, .kind = TTP_SWITCH_LOST};
    ring->last_ns = record.time_ns;
    take(context, &record);
}

/* A ring that was full may have turned records away: the kernel says so only with the next one that
 * finds room, which may never come. */
static void say_full(struct ttp_switch_ring *ring, uint64_t used,
                     void (*take)(void *context, const struct ttp_switch *record), void *context)
{
    struct ttp_switch record = {
        .time_ns = now_ns(), .from_ns = ring->last_ns, .kind = TTP_SWITCH_LOST};
    if (used + RECORD_MAX <= ring->data_bytes)
        return;
    ring->last_ns = record.time_ns;
    take(context, &record);
}

void ttp_switch_rings_read(struct ttp_switch_rings *rings,
                           void (*take)(void *context, const struct ttp_switch *record),
                           void *context)
{
    size_t page = rings->count != 0 ? (size_t)sysconf(_SC_PAGESIZE) : 0;
    for (uint32_t i = 0; i < rings->count; i++) {
        struct ttp_switch_ring *ring = &rings->rings[i];
        struct perf_event_mmap_page *control = (struct perf_event_mmap_page *)(void *)ring->memory;
        uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
        uint64_t tail = control->data_tail;
        if (head == tail)
            continue;
        ttp_switch_ring_parse(ring, ring->memory + page, tail, head, take, context);
        say_full(ring, head - tail, take, context);
        __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
    }
}
