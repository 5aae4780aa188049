/* Broken indexes. A reader that cannot use an index scans: every event is still there. One that is
 * sound in itself and contradicts a partition costs that partition, when it is read. Entries 0 .. 2
 * are definitions, 3 and 4 partitions. */
#include "invalid_vectors.h"

static struct ttest_partition *second(struct ttest_file *file)
{
    return ttest_partition_of(file, 1);
}

/* What the index says of partition 1. */
#define ENTRY(name, statement)                                                                     \
    static void name##_entry(struct ttp_index_entry *e) { statement; }                             \
    static void name(struct ttest_file *file) { second(file)->edit_entry = name##_entry; }
#define SEGMENT(name, statement)                                                                   \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        struct ttp_segment *g = second(file)->indexed;                                             \
        statement;                                                                                 \
    }

ENTRY(no_events, e->event_count = 0)
ENTRY(many_events, e->event_count = (1u << 24) + 1)
ENTRY(no_segments, e->segment_count = 0)
ENTRY(light_past, e->light_bytes = (uint32_t)e->stored_bytes + 1)
ENTRY(bytes_past, e->order_bytes = e->stored_bytes)
ENTRY(bytes_overflow, (e->order_bytes = UINT64_MAX, e->times_bytes = 2))
ENTRY(too_long, e->stored_bytes += 8)
ENTRY(too_short, e->stored_bytes -= 1)
ENTRY(huge, e->stored_bytes = (UINT64_C(1) << 30) + 1)
ENTRY(other_events, e->event_count = 9)
ENTRY(other_resolution, e->resolution_ns = 2)
ENTRY(other_origin, e->origin_ns = 1)
ENTRY(other_first, e->first_tick -= 1)
ENTRY(other_end, e->end_tick += 1)
ENTRY(other_light, e->light_bytes -= 1)
ENTRY(other_model, e->model = 0)
ENTRY(other_order, e->order_bytes -= 1)
ENTRY(other_gaps, e->gap_count = 2)
ENTRY(other_lost, e->lost_count = 6)
ENTRY(other_scope, e->scope = 1)
ENTRY(other_kind, e->kind = TTP_CHUNK_MODEL)
SEGMENT(segment_empty, g[1].event_count = 0)
SEGMENT(segment_stream, g[1].stream = 1u << 24)
SEGMENT(segment_undefined, g[1].stream = 2)
SEGMENT(segment_events, g[1].event_count = 3)
SEGMENT(segment_first, g[1].first_event = 7)
SEGMENT(segment_other, (g[0].event_count = 5, g[1].event_count = 3))

/* The index as it would be, to be patched by its bytes. */
static struct ttest_bytes *own_content(struct ttest_file *file)
{
    (void)ttest_file_write(file);
    file->fixed_index = true;
    file->index_content = ttest_index_content(file, file->chunk_count);
    return &file->index_content;
}

static void count_more(struct ttest_file *file) { own_content(file)->data[0]++; }
static void count_less(struct ttest_file *file) { own_content(file)->data[0]--; }
static void count_huge(struct ttest_file *file) { own_content(file)->data[0] = 127; }
static void trailing(struct ttest_file *file) { ttest_put8(own_content(file), 0); }
static void cut(struct ttest_file *file) { own_content(file)->size -= 3; }
static void entry_kind(struct ttest_file *file) { own_content(file)->data[1] = TTP_CHUNK_SITES; }

static void empty(struct ttest_file *file)
{
    own_content(file)->size = 0;
    ttest_put_text(&file->index_content, "");
}

static void wide_kind(struct ttest_file *file)
{
    struct ttest_bytes *content = own_content(file), rest = ttest_copy(content);
    content->size = 1;
    ttest_put_varint(content, 65536);
    ttest_put(content, rest.data + 2, rest.size - 2);
}

#define C   TTAPE_E_CORRUPT
#define ALL TTEST_ALL

static const struct ttest_break index_breaks[] = {
    {"idx-02-kind", "F-IDX-02", C, ALL, "chunk kind 2^16", wide_kind, NULL},
    {"idx-02-size", "F-IDX-02", C, ALL, "an entry of more than 2^30 bytes", huge, NULL},
    {"idx-02-huge", "F-IDX-08", C, ALL, "more entries than bytes", count_huge, NULL},
    {"idx-02-cut", "F-IDX-05", C, ALL, "ends inside the last entry's segments", cut, NULL},
    {"idx-02-empty", "F-IDX-08", C, ALL, "an index without a byte", empty, NULL},
    {"idx-03-events", "F-IDX-03", C, ALL, "a partition without events", no_events, NULL},
    {"idx-03-many", "F-IDX-03", C, ALL, "a partition of 2^24 + 1 events", many_events, NULL},
    {"idx-03-segments", "F-IDX-03", C, ALL, "a partition without segments", no_segments, NULL},
    {"idx-03-light", "F-IDX-03", C, ALL, "more light bytes than stored ones", light_past, NULL},
    {"idx-04-bytes", "F-IDX-04", C, ALL, "byte counts of more than the partition", bytes_past,
     NULL},
    {"idx-04-overflow", "F-IDX-04", C, ALL, "byte counts that add up to more than 64 bits",
     bytes_overflow, NULL},
    {"idx-05-empty", "F-IDX-05", C, ALL, "a segment without events", segment_empty, NULL},
    {"idx-05-stream", "F-IDX-05", C, ALL, "stream 2^24", segment_stream, NULL},
    {"idx-05-undefined", "F-IDX-08", C, ALL, "a stream that is not defined", segment_undefined,
     NULL},
    {"idx-05-events", "F-IDX-08", C, ALL, "segments that do not add up to the events",
     segment_events, NULL},
    {"idx-06-more", "F-IDX-08", C, ALL, "one entry more is announced than there is", count_more,
     NULL},
    {"idx-06-less", "F-IDX-08", C, ALL, "one entry less is announced than there is", count_less,
     NULL},
    {"idx-06-trailing", "F-IDX-06", C, ALL, "a byte behind the last entry", trailing, NULL},
    {"idx-06-long", "F-IDX-08", C, ALL, "a partition is 8 bytes too long", too_long, NULL},
    {"idx-06-short", "F-IDX-08", C, ALL, "a partition is a byte too short", too_short, NULL},
    {"idx-08-kind", "F-IDX-08", C, ALL, "metadata is called a site table", entry_kind, NULL},
    {"idx-08-events", "F-IDX-08", C, ALL, "an event too many", other_events, NULL},
    {"idx-08-resolution", "F-IDX-08", C, TTEST_FIRST, "another resolution", other_resolution, NULL},
    {"idx-08-origin", "F-IDX-08", C, TTEST_FIRST, "another origin", other_origin, NULL},
    {"idx-08-first", "F-IDX-08", C, TTEST_FIRST, "another first tick", other_first, NULL},
    {"idx-08-end", "F-IDX-08", C, TTEST_FIRST, "another end tick", other_end, NULL},
    {"idx-08-light", "F-IDX-08", C, TTEST_FIRST, "a light byte too few", other_light, NULL},
    {"idx-08-model", "F-IDX-08", C, TTEST_FIRST, "a model where there is none", other_model, NULL},
    {"idx-08-order", "F-IDX-08", C, ALL, "an order byte too few", other_order, NULL},
    {"idx-08-gaps", "F-IDX-08", C, ALL, "a gap too many", other_gaps, NULL},
    {"idx-08-lost", "F-IDX-08", C, ALL, "a lost event too many", other_lost, NULL},
    {"idx-08-scope", "F-IDX-08", C, ALL, "a partition of another scope", other_scope, NULL},
    {"idx-08-model-kind", "F-IDX-08", C, ALL, "a partition is called a model", other_kind, NULL},
    {"idx-08-first-event", "F-IDX-08", C, TTEST_FIRST, "another first event of a segment",
     segment_first, NULL},
    {"idx-08-segments", "F-IDX-08", C, TTEST_FIRST, "an event in another segment", segment_other,
     NULL},
};

void ttest_make_invalid_indexes(const struct ttest_output *out)
{
    ttest_emit_breaks(out, index_breaks, sizeof index_breaks / sizeof index_breaks[0], true);
}
