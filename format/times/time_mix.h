/* The mixing time form: the smallest, and slowest, way to write the times of a partition
 * (spec/times-mix.md).
 *
 *   codes, times so far --> 9 contexts + the node's own frequency --> mixers --> range coder
 *
 * A difference is coded as a path through a binary tree; every step's probability is mixed from
 * what followed in several contexts. One adaptive run over the whole partition: an event decodes
 * only after all events before it, so asking for some blocks costs the time of all blocks up to
 * the last one. A directory in front tells the time at every block without decoding anything.
 *
 * Pure and thread-safe: no allocation, no state but the caller's workspace, integers only. */
#ifndef TTP_FORMAT_TIME_MIX_H
#define TTP_FORMAT_TIME_MIX_H

#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "format/times/times.h"

/* Bytes of workspace (at most 12 MiB for a million events) and of output that ttp_time_mix_encode
 * needs for so many events. */
size_t ttp_time_mix_encode_workspace(uint32_t event_count);
size_t ttp_time_mix_encode_bound(uint32_t event_count);

/* Encodes all events of `in` (delta and wide are read only) into `out`. No event makes no bytes.
 * TTAPE_E_ARGUMENT: workspace or out are smaller than asked for above. TTAPE_E_LIMIT: this form
 * would take more than 16 bytes an event, store raw varints instead. */
ttape_status ttp_time_mix_encode(const struct ttp_times *in, struct ttp_workspace workspace,
                                 struct ttp_buffer *out, ttape_error *err);

/* The same size in either direction; symbol_count does not matter, it is there for symmetry with
 * the other forms. */
size_t ttp_time_mix_decode_workspace(uint32_t event_count, uint32_t symbol_count);

/* Fills io->delta for the events of the blocks first_block .. first_block + block_count - 1 (all
 * of them: 0, UINT32_MAX), io->wide with the wide values of just these blocks, in order, and
 * io->wide_count. `codes`, `segment_start` and the counts are read; codes may have any value.
 * Takes the time of decoding all blocks up to the last one. Any `data` is safe: TTAPE_E_CORRUPT or
 * TTAPE_E_TRUNCATED name the rule and the offset in `data`, TTAPE_E_LIMIT says that there are more
 * wide values than wide_capacity. What a failed call has written to delta and wide is
 * meaningless. */
ttape_status ttp_time_mix_decode(struct ttp_times *io, uint32_t first_block, uint32_t block_count,
                                 struct ttp_bytes data, struct ttp_workspace workspace,
                                 ttape_error *err);

uint32_t ttp_time_mix_block_count(uint32_t event_count);

/* Reads the directory only: ticks[b] are the ticks from the base time of the segment that block b's
 * first event belongs to, to the event before that event in its segment (0 if it is the segment's
 * first). `ticks` has ttp_time_mix_block_count entries. Needs no codes and no workspace. */
ttape_status ttp_time_mix_directory(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                                    size_t size_bytes, ttape_error *err);

/* ---- with phases (T-MIX-21 to T-MIX-26) ----
 *
 * Clocks are read at moments that recur with a period (of a bus, or of the counter's own steps), so
 * that some times modulo the period are likelier than others. The form is the one above with the
 * period in front, one more opinion in each mixer, and larger tables; its calls are those above.
 * Encoding looks for the period itself. */

#define TTP_TIME_PHASE_PERIOD_MAX 128u

/* The period in ticks that tells most; 0: none tells enough. */
uint32_t ttp_time_phase_find(const struct ttp_times *in);

/* At most 42 MiB for a million events, in either direction. */
size_t ttp_time_phase_workspace(uint32_t event_count);
size_t ttp_time_phase_decode_workspace(uint32_t event_count, uint32_t symbol_count);
/* period: 2 .. TTP_TIME_PHASE_PERIOD_MAX. */
ttape_status ttp_time_phase_encode_with(const struct ttp_times *in, uint32_t period,
                                        struct ttp_workspace workspace, struct ttp_buffer *out,
                                        ttape_error *err);
/* TTAPE_E_LIMIT also where there is no period. */
ttape_status ttp_time_phase_encode(const struct ttp_times *in, struct ttp_workspace workspace,
                                   struct ttp_buffer *out, ttape_error *err);
ttape_status ttp_time_phase_decode(struct ttp_times *io, uint32_t first_block, uint32_t block_count,
                                   struct ttp_bytes data, struct ttp_workspace workspace,
                                   ttape_error *err);
ttape_status ttp_time_phase_directory(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                                      size_t size_bytes, ttape_error *err);

#endif
