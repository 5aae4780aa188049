/* The reader's inside: a catalogue of a file, and decoders.
 *
 *   source -> scan.c | index_reader.c -> partitions, segments, definitions  where things are
 *          -> cache.c -> partition_decoder.c -> ttp_loaded                  one partition in memory
 *          -> walk.c -> events -> cursor.c, merge.c, verify.c
 *
 * Who may touch what, when:
 *
 *   ttape_reader   the catalogue. Whoever opens it fills it; behind ttape_reader_open nothing in it
 *     |            changes but what is atomic: any number of threads read it without a lock
 *     |  account   bytes of all that was opened from it: atomic
 *     |  pool      its decoders: a list that only grows, until the close
 *     v
 *   ttp_decoder    one thread's, from ttp_decoder_take to ttp_decoder_give: memory, decompressor,
 *                  models, decoded partitions. `busy` is its lock, taken by a compare and swap;
 *                  nobody waits for it: who finds it busy takes another one. Whoever needs memory
 *                  takes those that are not busy, empties them and gives them back
 *   ttp_lease      a handle's way to decoders: it has one during a call, and none between calls
 *   pool.mutex     who decodes: many, or one alone who needs the memory of all (decoder_pool.h). No
 *                  other lock is taken while it is held, and none is held while it is waited for
 *
 * The forward reader fills its catalogue further between two calls, when no other is going on. */
#ifndef TTP_READER_INTERNAL_H
#define TTP_READER_INTERNAL_H

#include <stdatomic.h>

#include <tracetape/reader.h>

#include "base/memory.h"
#include "base/task.h"
#include "format/container/chunk.h"
#include "format/container/partition.h"
#include "reader/base/source.h"
#include "reader/base/zstd_decoder.h"
#include "reader/definitions/definitions_reader.h"

struct ttp_loaded;
struct ttp_prefetch;

/* What is known of a partition without reading it. */
struct ttp_partition_entry {
    uint64_t offset; /* of the chunk header */
    uint64_t sequence;
    uint64_t resolution_ns, origin_ns;
    int64_t first_tick, end_tick;
    uint64_t lost_count;
    uint32_t gap_count;
    uint32_t stored_bytes; /* payload */
    uint32_t light_bytes;
    uint32_t scope, event_count, segment_count, model;
    uint32_t order_bytes, times_bytes, values_bytes, summary_bytes;
    uint32_t first_segment;
    bool damaged; /* its light sections do not verify: only offset and size are known */
};

/* A segment as it stands in its stream. Segment s of a partition is entry first_segment + s. */
struct ttp_segment_entry {
    uint64_t first_event;
    uint32_t event_count;
    uint32_t stream; /* file-wide */
    uint32_t partition;
};

struct ttp_model_chunk {
    uint64_t offset;
    uint64_t sequence;
    uint32_t stored_bytes, scope;
    _Atomic uint64_t number_and_one; /* 0: it is not known yet. Each decoder may learn it */
};

/* An overview covers partitions of its scope that stand before it, the last ones. */
struct ttp_overview_chunk {
    uint64_t offset;
    uint32_t scope;
    uint32_t end; /* partitions of the file before it */
};

#define TTP_KEPT_MODELS 16u

/* Room for the open frames of an edge, of that memory. */
struct ttp_edge_frames {
    struct ttp_memory *memory;
    ttape_open_frame *items;
    uint32_t capacity;
};

/* Decoded partitions, most recently used first, and by number. */
struct ttp_cache {
    struct ttp_loaded *newest, *oldest;
    struct ttp_loaded **by_number; /* chains of those with the same low bits */
    uint32_t number_capacity;      /* a power of two */
    uint32_t count;
    uint64_t used_bytes;
    uint64_t evictions;
};

/* Decodes for one thread at a time. */
struct ttp_trace_decoder {
    const ttape_reader *reader;
    struct ttp_pool *pool; /* NULL: of a worker, whose partitions do not come into a cache */
    struct ttp_memory memory;
    struct ttp_zstd zstd;
    struct ttp_cache cache;
    struct ttp_loaded *kept_models[TTP_KEPT_MODELS]; /* newest first */
    uint32_t kept_model_count;
    uint64_t kept_model_bytes;
    struct ttp_definition_tables *mended; /* NULL but while a damaged file is recovered */
    uint32_t jobs;
    const ttape_watch *watch; /* while an answer has it: who is asked for each partition, or NULL */
    uint64_t watched_count;   /* partitions so far */
    struct ttp_prefetch *prefetch;  /* NULL until a cursor reads forward with jobs */
    struct ttp_trace_decoder *next; /* in the pool */
    uint64_t uses, seen_uses;       /* how often it was taken; when its cache was last looked at */
    _Atomic(ttp_thread) user;       /* the thread that had it last */
    atomic_bool busy;
};

/* What ttape_reader_get_segment, _get_summary and _get_off give a thread. */
struct ttp_thread_results {
    ttp_thread thread; /* whose */
    struct ttp_memory memory;
    struct ttp_edge_frames frames;
    ttape_summary_row *rows;
    ttape_off_span *spans;
    uint32_t row_capacity, span_capacity;
    struct ttp_thread_results *next;
};

/* decoder_pool.h */
struct ttp_pool {
    const ttape_reader *reader;
    struct ttp_trace_decoder first;
    _Atomic(struct ttp_trace_decoder *) more;
    _Atomic(struct ttp_thread_results *) results;
    atomic_uint decoder_count;
    _Atomic uint64_t cached_bytes; /* of all decoders */
    uint64_t cache_limit_bytes;
    ttp_mutex mutex; /* of what follows */
    ttp_cond changed;
    uint32_t decoding, alone_wanted;
    bool alone;
};

/* Forward reading: what the partitions that are gone add to ttape_info. */
struct ttp_past {
    uint64_t partition_count, event_count, gap_count, lost_count;
    uint64_t time_first_ns, time_last_ns, resolution_ns;
    ttape_byte_counts bytes;
    bool timed;
};

/* The catalogue. */
struct ttape_reader {
    ttape_source source;
    struct ttp_memory_account account;
    struct ttp_memory memory; /* of what is here; others are beside it */
    ttape_limits limits;
    struct ttp_file_header header;
    struct ttp_definition_tables definitions;
    struct ttp_partition_entry *partitions;
    struct ttp_segment_entry *segments;
    struct ttp_model_chunk *models;
    struct ttp_overview_chunk *overviews;
    uint32_t partition_count, partition_capacity, segment_count, segment_capacity;
    uint32_t model_count, model_capacity, overview_count, overview_capacity;
    uint32_t damaged_count;
    uint32_t *stream_first;    /* stream_count + 1 indexes of stream_segments */
    uint32_t *stream_segments; /* segments, stream by stream, by first event */
    uint32_t indexed_streams, indexed_segments;
    /* what ttape_info says, apart from what partitions and definitions say */
    uint64_t chunk_count, unknown_chunk_count, sites_bytes, models_bytes, truncated_at;
    struct ttp_past past;
    bool by_index, complete, truncated;
    bool ignore_index;
    uint64_t start_ns; /* of the options */
    bool owns_source;  /* a file, opened by path */
    bool is_forward;   /* models that were decoded stay: their bytes are gone */
    uint32_t jobs;     /* of decoders, unless who takes one says more */
    struct ttp_pool pool;
};

/* The number of a segment in its partition. */
static inline uint32_t ttp_segment_number(const ttape_reader *r,
                                          const struct ttp_segment_entry *seg)
{
    return (uint32_t)(seg - r->segments) - r->partitions[seg->partition].first_segment;
}

/* Segment `ordinal` of a stream, in the order of events. */
static inline const struct ttp_segment_entry *ttp_stream_segment(const ttape_reader *r,
                                                                 uint32_t stream, uint32_t ordinal)
{
    return &r->segments[r->stream_segments[r->stream_first[stream] + ordinal]];
}
/* How many segments of the stream start at or before an event of it. */
uint32_t ttp_segments_up_to(const ttape_reader *r, uint32_t stream, uint64_t event);

/* Reads and verifies the chunk header at an offset; the payload must fit the source. */
ttape_status ttp_reader_chunk(const ttape_reader *r, uint64_t offset, struct ttp_chunk *out,
                              ttape_error *err);
/* Reads, verifies and decompresses a chunk's payload. *content was taken from the decoder's memory
 * with *size_bytes bytes. */
ttape_status ttp_reader_content(struct ttp_trace_decoder *d, uint64_t offset,
                                const struct ttp_chunk *chunk, uint8_t **content,
                                size_t *size_bytes, ttape_error *err);

/* Takes a chunk in whose header was read: definitions, a partition's light sections, or just
 * where it is. */
ttape_status ttp_reader_add_chunk(ttape_reader *r, uint64_t offset, const struct ttp_chunk *chunk,
                                  ttape_error *err);
/* The same for definitions only; offsets in errors are the file's. */
ttape_status ttp_reader_add_definitions(ttape_reader *r, uint64_t offset,
                                        const struct ttp_chunk *chunk, ttape_error *err);
ttape_status ttp_reader_add_model(ttape_reader *r, uint64_t offset, uint64_t sequence,
                                  uint32_t stored_bytes, uint32_t scope, ttape_error *err);
ttape_status ttp_reader_add_overview(ttape_reader *r, uint64_t offset,
                                     const struct ttp_chunk *chunk, ttape_error *err);
/* Appends a partition without segments, then each of its segments; `stream` is the scope's id. */
ttape_status ttp_reader_add_partition(ttape_reader *r, const struct ttp_partition_entry *entry,
                                      ttape_error *err);
ttape_status ttp_reader_add_segment(ttape_reader *r, uint32_t stream, uint32_t event_count,
                                    uint64_t first_event, ttape_error *err);

/* Finds everything from header to header. */
ttape_status ttp_reader_scan(ttape_reader *r, ttape_error *err);
/* Finds everything by footer and index. On failure the reader may hold some of it:
 * ttp_reader_forget, then scan. */
ttape_status ttp_reader_read_index(ttape_reader *r, ttape_error *err);
void ttp_reader_forget(ttape_reader *r);
/* Adds what ttape_info counts of the reader's partitions to r->past; the caller then drops the
 * partitions. */
void ttp_reader_retire_partitions(ttape_reader *r);
/* Sorts segments by stream and by number. */
ttape_status ttp_reader_link_segments(ttape_reader *r, ttape_error *err);

/* Makes room for a number of each stream that is known; new ones are 0. */
ttape_status ttp_stream_numbers(ttape_reader *r, uint64_t **numbers, uint32_t *capacity,
                                ttape_error *err);

/* Offset of the first valid chunk header in [from, from + window_bytes), or the source's size. */
ttape_status ttp_reader_find_chunk(ttape_reader *r, uint64_t from, uint64_t window_bytes,
                                   uint64_t *offset, ttape_error *err);

/* An empty reader over a source; for ttape_reader_open and the forward reader. */
ttape_status ttp_reader_create(ttape_reader **out, const ttape_source *source,
                               const ttape_reader_options *options, ttape_error *err);

/* A copy of the options with defaults filled in; refuses what this version does not know. */
ttape_status ttp_reader_options(ttape_reader_options *out, const ttape_reader_options *options,
                                ttape_error *err);

#endif
