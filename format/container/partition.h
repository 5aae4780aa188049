/* The head of a partition's payload and its section directory.
 *
 *   | head, 96 bytes | directory: section_count entries of 24 bytes | section | section | ... |
 *
 * Sections stand in the directory's order, without holes.
 *
 * The head's hash covers the head and the directory, so both may be trusted (or not) without the
 * sections. */
#ifndef TTP_FORMAT_PARTITION_H
#define TTP_FORMAT_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "format/base/limits.h"
#include "format/container/layout.h"

struct ttp_section {
    uint16_t kind, flags;
    uint32_t stored_bytes, content_bytes;
    uint64_t hash;
    uint64_t offset; /* in the payload; not on disk, the sum of what stands before */
};

struct ttp_partition_head {
    uint32_t section_count;
    uint32_t event_count, segment_count;
    uint32_t symbol_count, given_count;
    uint32_t wide_count;
    uint32_t model;
    uint32_t start_frame_count, end_frame_count;
    uint64_t resolution_ns; /* 0: no times */
    uint64_t origin_ns;
    int64_t first_tick, end_tick; /* half-open; 0, 0 without times */
    uint32_t gap_count;           /* recorded gaps */
    uint64_t lost_count;          /* events that they count */
    struct ttp_section sections[TTP_MAX_SECTIONS];
};

static inline size_t ttp_partition_head_bytes(uint32_t section_count)
{
    return TTP_HEAD_BYTES + (size_t)section_count * TTP_SECTION_ENTRY_BYTES;
}

/* Writes head and directory to `out`, which has room for ttp_partition_head_bytes(section_count).
 */
void ttp_partition_head_write(const struct ttp_partition_head *head, uint8_t *out);

/* How many bytes head and directory have: needs the first TTP_HEAD_BYTES bytes only. Not verified
 * yet. */
ttape_status ttp_partition_head_size(const uint8_t *data, size_t size_bytes, size_t *head_bytes,
                                     ttape_error *err);

/* Verifies and reads both. payload_bytes is the size of the whole payload: the sections must fill
 * it exactly. Error offsets are relative to the payload. *out is filled only on success. */
ttape_status ttp_partition_head_read(const uint8_t *data, size_t size_bytes, uint64_t payload_bytes,
                                     struct ttp_partition_head *out, ttape_error *err);

/* The section of a kind, or NULL. */
const struct ttp_section *ttp_partition_section(const struct ttp_partition_head *head,
                                                uint16_t kind);

/* Ticks <-> nanoseconds. Arithmetic is modulo 2^64, so every u64 time has a tick at resolution 1.
 */
static inline int64_t ttp_tick_of(uint64_t time_ns, uint64_t origin_ns, uint64_t resolution_ns)
{
    int64_t since = (int64_t)(time_ns - origin_ns);
    if (resolution_ns == 1)
        return since;
    int64_t step = (int64_t)resolution_ns, half = step / 2;
    int64_t quotient = since / step, rest = since % step;
    if (rest < 0) {
        rest += step;
        quotient--;
    }
    return quotient + (rest >= step - half);
}

static inline uint64_t ttp_time_of(int64_t tick, uint64_t origin_ns, uint64_t resolution_ns)
{
    return origin_ns + (uint64_t)tick * resolution_ns;
}

#endif
