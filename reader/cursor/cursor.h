/* Cursors: a position in one stream (cursor.c), or in all of them by time (merge.c). What a cursor
 * hands out is its own: it has a decoder only where it must look at a partition. */
#ifndef TTP_READER_CURSOR_H
#define TTP_READER_CURSOR_H

#include "reader/decoder_pool.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

struct ttp_merge;

/* Values and their bytes of the last item: copies, because the partition may leave the cache. */
struct ttp_item_values {
    ttape_value *values;
    uint8_t *bytes;
    uint32_t value_capacity, byte_capacity;
};

struct ttape_cursor {
    struct ttp_lease lease;
    uint32_t stream;
    /* the next event is number `position` of segment `segment` of the stream */
    uint32_t ordinal, segment_count, position;
    uint32_t sought_ordinal; /* the segment that a seek led to, until the cursor leaves it */
    uint32_t damage_next;    /* damaged partitions below this were reported */
    /* events of a segment that are decoded: [window_first, window_first + window_count) */
    ttape_event *window;
    uint32_t window_ordinal, window_first, window_count;
    /* where next_events left off */
    struct ttp_walker walker;
    uint32_t walker_ordinal, walker_position;
    struct ttp_edge_frames frames;
    struct ttp_item_values values;
    bool is_untimed;         /* batches need no times */
    struct ttp_merge *merge; /* TTAPE_ALL_STREAMS */
};

/* A cursor inside of an answer, which has a decoder for as long as the cursor lives. */
ttape_status ttp_cursor_open_lent(ttape_cursor **out, struct ttp_trace_decoder *d, uint32_t stream,
                                  ttape_error *err);

/* Gives an item the values of event `event` of a partition (stage VALUES); none where there are
 * none. */
ttape_status ttp_item_set_values(struct ttp_memory *memory, struct ttp_item_values *v,
                                 const struct ttp_loaded *p, uint32_t event, ttape_event_item *out,
                                 ttape_error *err);

/* A search for the first event with time >= time_ns in a segment, from its event `position` on. */
struct ttp_search {
    uint32_t partition, segment;
    uint32_t position; /* afterwards of the event found, or the segment's event count */
    uint64_t time_ns;
    bool others; /* the same is wanted of the partition's other segments soon */
};
/* Decodes the blocks in which they are, where times do not step back. */
ttape_status ttp_search_time(struct ttp_trace_decoder *d, struct ttp_search *search,
                             ttape_error *err);
/* True when every event of the partition is before time_ns, as far as is known without reading it.
 * */
bool ttp_partition_is_before(const struct ttp_partition_entry *entry, uint64_t time_ns);

/* The error of the next damaged partition of [*next, end) that was not reported; TTAPE_OK when
 * there is none. A `scope` of TTAPE_NONE means any. */
ttape_status ttp_report_damage(struct ttp_trace_decoder *d, uint32_t scope, uint32_t *next,
                               uint32_t end, ttape_error *err);

/* For callers that follow a single stream batch by batch. The number of the next event; as
 * reading it, fails once where events cannot be read. */
ttape_status ttp_cursor_position(ttape_cursor *cursor, uint64_t *number, ttape_error *err);
/* As ttape_cursor_next_events; with `values` a failure to read them fails the batch. */
ttape_status ttp_cursor_next_batch(ttape_cursor *cursor, bool values, ttape_event *out,
                                   size_t capacity, size_t *count, ttape_error *err);
/* Values of the event that stands `back` events before the end of the last batch. */
ttape_status ttp_cursor_batch_values(ttape_cursor *cursor, uint32_t back, ttape_event_item *out,
                                     ttape_error *err);
/* True where the next event is the first of its segment, and by the index not before a time. */
bool ttp_cursor_is_behind(const ttape_cursor *cursor, uint64_t time_ns);
/* Goes on behind the events that are missing next. */
void ttp_cursor_skip_segment(ttape_cursor *cursor);

ttape_status ttp_merge_open(struct ttp_merge **out, struct ttp_lease *lease, ttape_error *err);
void ttp_merge_close(struct ttp_merge *merge);
ttape_status ttp_merge_next(struct ttp_merge *merge, struct ttp_item_values *values,
                            ttape_event_item *out, ttape_error *err);
ttape_status ttp_merge_seek(struct ttp_merge *merge, uint64_t time_ns, ttape_error *err);

#endif
