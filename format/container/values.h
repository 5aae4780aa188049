/* The values section (what events carry) and the depths section (where the recorded depth departs
 * from the frames). Both are columns of varints; the caller compresses them. */
#ifndef TTP_FORMAT_VALUES_H
#define TTP_FORMAT_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

/* Types on disk: those of ttape_value_type, and the count of a gap, which is not shown as a value.
 */
#define TTP_VALUE_GAP_COUNT  7u
#define TTP_VALUE_TYPE_COUNT 8u

struct ttp_value {
    uint8_t type;
    uint64_t number;      /* integers; for bytes and strings the length */
    uint32_t bytes_start; /* bytes and strings: where in `bytes` */
};

/* Event i of the section is event[i] of the partition and has values [value_start[i], value_start[i
 * + 1]). */
struct ttp_values {
    uint32_t *event;
    uint32_t *value_start; /* event_count + 1 entries */
    struct ttp_value *values;
    uint8_t *bytes;
    uint32_t event_count, value_count;
    uint32_t bytes_count;
};

size_t ttp_values_bound(const struct ttp_values *in);
/* Bytes are written in the order of the values, wherever they stand in `bytes`; all of `bytes` is
 * some value's. 0 when `out` is too small. */
size_t ttp_values_write(const struct ttp_values *in, uint8_t *out, size_t out_bytes);
/* Counts only, checked against the section's size: what to allocate. */
ttape_status ttp_values_count(const uint8_t *data, size_t size_bytes, struct ttp_values *counts,
                              ttape_error *err);
/* Reads into arrays of those counts; partition_events bounds the event numbers. */
ttape_status ttp_values_read(const uint8_t *data, size_t size_bytes, uint32_t partition_events,
                             struct ttp_values *io, ttape_error *err);

/* From event `event` of the partition on (it included), the segment's depth offset is `offset`. */
struct ttp_depth_change {
    uint32_t event;
    int32_t offset;
};

size_t ttp_depths_bound(uint32_t change_count);
size_t ttp_depths_write(const struct ttp_depth_change *changes, uint32_t change_count, uint8_t *out,
                        size_t out_bytes);
ttape_status ttp_depths_count(const uint8_t *data, size_t size_bytes, uint32_t *change_count,
                              ttape_error *err);
ttape_status ttp_depths_read(const uint8_t *data, size_t size_bytes, uint32_t partition_events,
                             struct ttp_depth_change *changes, uint32_t change_count,
                             ttape_error *err);

#endif
