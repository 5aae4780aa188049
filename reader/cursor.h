/* Cursors: a place in one stream (cursor.c), or in all of them by time (merge.c). */
#ifndef TTP_READER_CURSOR_H
#define TTP_READER_CURSOR_H

#include "reader/partition_reader.h"
#include "reader/reader_internal.h"

struct ttp_merge;

/* Values and their bytes of the last item: copies, because the partition may leave the cache. */
struct ttp_item_values {
    ttape_value *values;
    uint8_t *bytes;
    uint32_t value_capacity, byte_capacity;
};

struct ttape_cursor {
    ttape_reader *reader;
    uint32_t stream;
    /* the next event is number `place` of run `run` of the stream */
    uint32_t run, run_count, place;
    uint32_t damage_next; /* damaged partitions below this were reported */
    /* events of a run that are decoded: [window_first, window_first + window_count) */
    ttape_event *window;
    uint32_t window_run, window_first, window_count;
    /* where next_events left off */
    struct ttp_walker walker;
    uint32_t walker_run, walker_place;
    ttape_open_frame *frames;
    uint32_t frame_capacity;
    struct ttp_item_values values;
    struct ttp_merge *merge; /* TTAPE_ALL_STREAMS */
};

/* Gives an item the values of event `event` of a partition (stage VALUES); none where there are none. */
ttape_status ttp_item_set_values(ttape_reader *r, struct ttp_item_values *v,
                                 const struct ttp_loaded *p, uint32_t event, ttape_item *out,
                                 ttape_error *err);

/* First event of segment `segment`, from event `from` of the partition on, with time >= time_ns; the segment's end when
 * there is none. */
uint32_t ttp_loaded_find_time(const struct ttp_loaded *p, uint32_t segment, uint32_t from,
                              uint64_t time_ns);
/* True when every event of the partition is before time_ns, as far as is known without reading it. */
bool ttp_part_is_before(const struct ttp_part *part, uint64_t time_ns);

/* The error of the next damaged partition of [*next, end) that was not reported; TTAPE_OK when there is none. A
 * `scope` of TTAPE_NONE means any. */
ttape_status ttp_report_damage(ttape_reader *r, uint32_t scope, uint32_t *next, uint32_t end,
                               ttape_error *err);

ttape_status ttp_merge_open(struct ttp_merge **out, ttape_reader *r, ttape_error *err);
void ttp_merge_close(struct ttp_merge *merge);
ttape_status ttp_merge_next(struct ttp_merge *merge, struct ttp_item_values *values,
                            ttape_item *out, ttape_error *err);
ttape_status ttp_merge_seek(struct ttp_merge *merge, uint64_t time_ns, ttape_error *err);

#endif
