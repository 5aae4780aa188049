/* Field 7 of an overview: of each stream instants of its partitions, as if these were one, at
 * larger distances than each of them has its own. A tile in which a partition is less than a bucket
 * wide needs no partition then.
 *
 * A stream has a *series* of its first segments there; how many depends on what their partitions
 * tell and on whether they follow one another. */
#ifndef TTP_FORMAT_MERGED_H
#define TTP_FORMAT_MERGED_H

#include "format/levels/instants.h"

/* What sections of an overview's partitions have together, at most. */
#define TTP_MERGED_INSTANTS_MOST 65536u
#define TTP_MERGED_FRAMES_MOST   262144u

/* A segment: of the overview's partitions by number, by number in there. By ascending stream, then
 * by partition. */
struct ttp_merged_ref {
    uint32_t stream, partition, segment;
};

struct ttp_merged_series {
    uint32_t stream;
    uint32_t first_ref, segment_count; /* that it tells of, from the first on; 0: of nothing */
    uint32_t start_frame, start_frame_count; /* open where the first begins: in in.frames */
    uint32_t end_frame_count;                /* open where the last one ends */
    struct ttp_instant_segment in;
};

struct ttp_merged {
    struct ttp_merged_series *series; /* one for each stream: ttp_merged_list */
    uint32_t series_count;
    struct ttp_instants in; /* segments NULL; room for TTP_INSTANTS_MOST and _FRAMES_MOST */
};

/* A partition, for who merges. */
struct ttp_merged_source {
    struct ttp_segments segments;
    struct ttp_instants in; /* segments NULL: it tells nothing */
    int64_t first_tick;
};

struct ttp_merged_in {
    const struct ttp_merged_source *sources;
    const struct ttp_merged_ref *refs;
    uint32_t ref_count;
};

/* Fills in streams and their first refs; returns how many streams there are. `series` may be NULL,
 * and has room for one for each ref. */
uint32_t ttp_merged_list(const struct ttp_merged_ref *refs, uint32_t ref_count,
                         struct ttp_merged_series *series);

/* How many segments of the series' stream may be told of, one behind the other, and the least
 * exponent of so many as `segment_count` says, or of all. */
uint32_t ttp_merged_length(const struct ttp_merged_in *in, const struct ttp_merged_series *one,
                           uint32_t segment_count, uint32_t *least_exponent);
/* Series as long as they may be, with about so many instants of all. */
void ttp_merged_choose(const struct ttp_merged_in *in, uint32_t wanted,
                       struct ttp_merged_series *series, uint32_t series_count);
/* Series say of how many segments and with which exponents. `stack` has room for the start frames
 * of any segment and TTP_INSTANT_FRAMES_MOST more. 0: `out` is too small, or there is too much. */
size_t ttp_merged_write(const struct ttp_merged_in *in, const struct ttp_merged_series *series,
                        uint32_t series_count, struct ttp_symbol *stack, uint8_t *out,
                        size_t out_bytes);

/* first_ticks: of the partitions. series are filled in by ttp_merged_list; `stack` has room for
 * TTP_INSTANT_FRAMES_MOST. */
ttape_status ttp_merged_read(const uint8_t *data, size_t size_bytes,
                             const struct ttp_merged_ref *refs, uint32_t ref_count,
                             const int64_t *first_ticks, struct ttp_symbol *stack,
                             struct ttp_merged *io, ttape_error *err);

#endif
