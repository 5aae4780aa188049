/* The raw form of times: every difference as a signed varint, and a directory that says where each
 * block of TTP_TIME_BLOCK_EVENTS events starts and what time it is there. spec/raw.md.
 *
 *   (offset u64, time i64) x blocks | svarint x event_count
 *
 * A block's offset counts from the end of the directory. Its time is relative to the base time of
 * the segment in which the block's first event lies: the sum of the differences of that segment's
 * events before the block. Thread-safe: no state. */
#ifndef TTP_FORMAT_RAW_TIMES_H
#define TTP_FORMAT_RAW_TIMES_H

#include "format/times/times.h"

#define TTP_RAW_TIMES_ENTRY_BYTES 16u

/* Bytes that the whole section takes at most. */
size_t ttp_raw_times_bound(uint32_t event_count);

/* TTAPE_E_ARGUMENT where `capacity` is smaller than what is written; ttp_raw_times_bound always
 * suffices. */
ttape_status ttp_raw_times_encode(const struct ttp_times *in, uint8_t *data, size_t capacity,
                                  size_t *size_bytes, ttape_error *err);

/* Fills delta, wide and wide_count, and checks the whole directory. Offsets in errors count from
 * the start of `data`. TTAPE_E_TRUNCATED, TTAPE_E_CORRUPT; TTAPE_E_LIMIT when there are more wide
 * differences than wide_capacity. */
ttape_status ttp_raw_times_decode(const uint8_t *data, size_t size_bytes, struct ttp_times *out,
                                  ttape_error *err);

/* Reads the directory only: ticks[b] is block b's time. Checks nothing but that it is all there. */
ttape_status ttp_raw_times_directory(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                                     size_t size_bytes, ttape_error *err);

/* Decodes one block alone: its events' differences go to their places in delta, its wide ones to
 * wide[0 ...], and *time_ticks is the directory's time. Checks that the block fills its bytes
 * exactly; whether *time_ticks fits the blocks before it, only ttp_raw_times_decode can see.
 * TTAPE_E_ARGUMENT when there is no such block. */
ttape_status ttp_raw_times_decode_block(const uint8_t *data, size_t size_bytes, uint32_t block,
                                        struct ttp_times *out, int64_t *time_ticks,
                                        ttape_error *err);

#endif
