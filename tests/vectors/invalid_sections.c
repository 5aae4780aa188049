/* Broken light sections, values and depths of partition 1. It has the segments of streams 0 (6
 * events; main and work are open at its start, main at its end) and 1 (2 events; work is open, then
 * main). */
#include "format/base/coder.h"
#include "invalid_vectors.h"

static struct ttest_partition *second(struct ttest_file *file)
{
    return ttest_partition_of(file, 1);
}

/* Edits p's arrays and encodes them again. */
#define LIGHT(name, statement)                                                                     \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        struct ttest_partition *p = second(file);                                                  \
        statement;                                                                                 \
        ttest_encode_light(p);                                                                     \
    }

LIGHT(segment_stream, p->segment[1].stream = 1u << 24)
LIGHT(segment_no_stream, p->segment[1].stream = 2)
LIGHT(segment_no_events, (p->segment[0].event_count = 0, p->segment[1].event_count = 8))
LIGHT(segment_unknown, p->segment[0].start.unknown_depth = UINT32_MAX)
LIGHT(segment_offset, p->segment[0].start.depth_offset = INT32_MIN)
LIGHT(segment_stack, p->segment[0].start.stack = 1u << 20)
LIGHT(segment_fewer, p->segment[1].event_count = 1)
LIGHT(segment_more, p->segment[1].event_count = 3)
LIGHT(frame_class, p->start_frames[0].event_class = TTP_CLASS_LEAF)
LIGHT(frame_stack, p->start_frames[0].stack = 1u << 20)
LIGHT(frame_order, p->start_frames[0].stack = 1)
LIGHT(frame_other, p->start_frames[0].argument = TTEST_BASE_BLOCK)
LIGHT(base_wrong, p->segment[0].base_tick += 1)
LIGHT(edge_stack, p->segment[0].end.stack = 1u << 20)
LIGHT(edge_min_depth, p->segment[0].min_depth = UINT32_MAX)
LIGHT(edge_kept, (p->segment[0].kept += 9, p->segment[0].end.frame_count += 9))
LIGHT(edge_unknown, p->segment[0].end.unknown_depth = UINT32_MAX)
LIGHT(edge_class, p->end_frames[0].event_class = TTP_CLASS_GAP)
LIGHT(edge_wrong_depth, p->segment[0].min_depth += 1)
LIGHT(edge_wrong_tick, p->segment[1].end_tick += 1)
LIGHT(edge_wrong_stack, p->segment[1].end.stack = 1)
LIGHT(edge_wrong_self, p->start_frames[0].self_ticks += 1)
LIGHT(edge_wrong_end_self, p->start_frames[0].end_self_ticks += 1)
LIGHT(edge_wrong_enter, p->end_frames[0].enter_tick += 1)
LIGHT(edge_wrong_frame, p->end_frames[0].argument = TTEST_BASE_WORK)
LIGHT(edge_wrong_offset, p->segment[0].end.depth_offset = 1)
LIGHT(head_fewer_frames, p->head.start_frame_count = 2)
LIGHT(head_more_frames, p->head.start_frame_count = 4)
LIGHT(head_fewer_end_frames, p->head.end_frame_count = 0)
LIGHT(head_more_end_frames, p->head.end_frame_count = 2)
LIGHT(head_fewer_given, p->head.given_count = 1)
LIGHT(head_more_given, p->head.given_count = 3)

static struct ttest_bytes *content(struct ttest_file *file, uint16_t kind)
{
    return &ttest_section_of(second(file), kind)->content;
}

static void no_bases(struct ttest_file *file) { content(file, TTP_SECTION_BASES)->size = 0; }

/* The last frame gets numbers of many bits, so that the cut falls into them: any bits decode there.
 */
static void cut_edges(struct ttest_file *file)
{
    struct ttest_partition *p = second(file);
    p->end_frames[0].enter_tick = INT64_MAX / 3;
    p->end_frames[0].self_ticks = INT64_MAX / 5;
    ttest_encode_light(p);
    content(file, TTP_SECTION_EDGES)->size -= 9;
}

/* The summary's rows, to be changed and written again. */
static void edit_summary(struct ttest_file *file, void (*edit)(struct ttp_measure *rows))
{
    struct ttest_bytes *s = content(file, TTP_SECTION_SUMMARY);
    struct ttp_measure rows[8];
    uint32_t count;
    ttape_error err = {0};
    ttest_require(ttp_summary_count(s->data, s->size, &count, &err) == TTAPE_OK && count <= 8 &&
                      ttp_summary_read(s->data, s->size, true, rows, count, &err) == TTAPE_OK,
                  err.message);
    edit(rows);
    size_t bound = ttp_summary_bound(count);
    uint8_t *room = ttest_take(bound);
    s->size = 0;
    ttest_put(s, room, ttp_summary_write(rows, count, true, room, bound));
}

#define ROWS(name, statement)                                                                      \
    static void name##_rows(struct ttp_measure *rows) { statement; }                               \
    static void name(struct ttest_file *file) { edit_summary(file, name##_rows); }

ROWS(sum_calls, rows[0].call_count++)
ROWS(sum_exits, (rows[1].exit_count = 1))
ROWS(sum_self, rows[0].self_ticks++)
ROWS(sum_total, rows[0].total_ticks++)
ROWS(sum_max, rows[1].max_ticks++)
ROWS(sum_squares, rows[1].squares.low++)
ROWS(sum_site, rows[1].site = TTEST_BASE_BLOCK)
ROWS(sum_no_site, rows[1].site = 99)

/* A summary of these numbers, under one model: what its first fields are. */
static void put_numbers(struct ttest_file *file, uint64_t rows, uint64_t site)
{
    struct ttp_number_model model;
    struct ttest_bytes *s = content(file, TTP_SECTION_SUMMARY);
    uint8_t room[64];
    struct ttp_encoder e = ttp_encoder_init(room, sizeof room);
    ttp_number_init(&model);
    ttp_encode_number(&e, &model, rows);
    ttp_encode_number(&e, &model, site);
    s->size = 0;
    ttest_put(s, room, ttp_encoder_finish(&e));
}

static void sum_many(struct ttest_file *file) { put_numbers(file, UINT32_MAX, 0); }
static void sum_far(struct ttest_file *file) { put_numbers(file, 1, UINT64_C(1) << 33); }
static void sum_cut(struct ttest_file *file) { put_numbers(file, 1000000, 0); }

/* Values by hand. The base's are: 2 events, 3 values, 2 bytes | 0, 0 | 2, 1 | types 0, 5, 7 | 7, 2,
 * 5 | "hi". */
static void put_section(struct ttest_file *file, uint16_t kind, const char *bytes, size_t size)
{
    struct ttest_bytes *s = content(file, kind);
    s->size = 0;
    ttest_put(s, bytes, size);
}

#define VALUES(name, bytes)                                                                        \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        put_section(file, TTP_SECTION_VALUES, bytes, sizeof(bytes) - 1);                           \
    }
#define DEPTHS(name, bytes)                                                                        \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        put_section(file, TTP_SECTION_DEPTHS, bytes, sizeof(bytes) - 1);                           \
    }

VALUES(val_cut, "\2\3")
VALUES(val_many_events, "\7\7\2\0\0\2\1\0\5\7\7\2\5hi")
VALUES(val_many_values, "\2\x7f\2\0\0\2\1\0\5\7\7\2\5hi")
VALUES(val_many_bytes, "\2\3\xff\xff\xff\x7f\0\0\2\1\0\5\7\7\2\5hi")
VALUES(val_event, "\2\3\2\0\7\2\1\0\5\7\7\2\5hi")
VALUES(val_event_huge, "\2\3\2\0\xff\xff\xff\xff\x0f\2\1\0\5\7\7\2\5hi")
VALUES(val_none, "\2\3\2\0\0\3\0\0\5\7\7\2\5hi")
VALUES(val_less, "\2\3\2\0\0\1\1\0\5\7\7\2\5hi")
VALUES(val_more, "\2\3\2\0\0\2\2\0\5\7\7\2\5hi")
VALUES(val_type, "\2\3\2\0\0\2\1\0\x08\7\7\2\5hi")
VALUES(val_string, "\2\3\2\0\0\2\1\0\5\7\7\3\5hi")
VALUES(val_trailing, "\2\3\2\0\0\2\1\0\5\7\7\2\5hi!")
VALUES(val_unused, "\2\3\2\0\0\2\1\0\5\7\7\1\5hi")
VALUES(val_short, "\2\3\2\0\0\2\1\0\5\7\7\2\5h")
VALUES(val_count_elsewhere, "\2\3\0\0\0\2\1\0\7\7\7\2\5")
VALUES(val_count_and_more, "\2\4\2\0\0\2\2\0\5\7\0\7\2\5\0hi")

/* The base's: 2 changes | event 2, offset | event 3, offset. */
DEPTHS(dep_count, "\3\2\x10\0\2")
DEPTHS(dep_trailing, "\2\2\x10\0\2\0")
DEPTHS(dep_event, "\2\2\x10\x07\2")
DEPTHS(dep_offset, "\2\2\x80\x80\x80\x80\x10\0\2")
DEPTHS(dep_below, "\2\2\x0f\0\0")
DEPTHS(dep_above, "\2\2\xfe\xff\xff\xff\x0f\0\0")

/* A section that partition 1, of 6 and 2 events, does not have: spans + 1 of both | event
 * differences | kinds | starts | lengths. */
#define SWITCHES(name, bytes)                                                                      \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        ttest_put(&ttest_insert_section(second(file), TTP_SECTION_SWITCHES)->content, bytes,       \
                  sizeof(bytes) - 1);                                                              \
    }

SWITCHES(swi_cut, "\2")
SWITCHES(swi_many, "\3\1\0\0\0\2\2\5")
SWITCHES(swi_trailing, "\2\1\0\0\2\5\0")
SWITCHES(swi_short, "\2\1\0\0\2")
SWITCHES(swi_event, "\2\1\6\0\2\5")
SWITCHES(swi_second, "\1\2\2\0\2\5")
SWITCHES(swi_start, "\2\1\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x7f\5")
SWITCHES(swi_length, "\2\1\0\0\2\x80\x80\x80\x80\x80\x80\x80\x80\x40")

/* Own times of partition 1, of these numbers each time that a row has ended frames. */
static void put_own_times(struct ttest_file *file, int64_t each, size_t less)
{
    struct ttest_bytes *s = content(file, TTP_SECTION_SUMMARY);
    struct ttp_measure rows[8];
    uint8_t room[8 * 256 + 64];
    uint32_t count;
    ttape_error err = {0};
    ttest_require(ttp_summary_count(s->data, s->size, &count, &err) == TTAPE_OK && count <= 8 &&
                      ttp_summary_read(s->data, s->size, true, rows, count, &err) == TTAPE_OK,
                  err.message);
    for (uint32_t i = 0; i < count; i++)
        rows[i].max_self_ticks = each;
    size_t size = ttp_own_times_write(rows, count, room, sizeof room);
    ttest_put(&ttest_insert_section(second(file), TTP_SECTION_OWN_TIMES)->content, room,
              size - less);
}

static void own_wrong(struct ttest_file *file) { put_own_times(file, 1, 0); }
static void own_cut(struct ttest_file *file) { put_own_times(file, INT64_MAX / 3, 12); }

/* CPU times of partition 1, with switches of which nothing is known but that nothing is there. */
static void put_cpu_times(struct ttest_file *file, const char *switches,
                          void (*edit)(struct ttp_cpu_times *times), size_t less)
{
    struct ttest_bytes *s = content(file, TTP_SECTION_SUMMARY);
    struct ttp_measure rows[8];
    struct ttp_cpu_measure cpu[8] = {0};
    int64_t start_off[8] = {0};
    uint8_t room[16384];
    uint32_t count;
    ttape_error err = {0};
    ttest_require(ttp_summary_count(s->data, s->size, &count, &err) == TTAPE_OK && count <= 8 &&
                      ttp_summary_read(s->data, s->size, true, rows, count, &err) == TTAPE_OK,
                  err.message);
    struct ttp_cpu_times times = {.rows = cpu,
                                  .start_off_ns = start_off,
                                  .row_count = count,
                                  .start_count = second(file)->head.start_frame_count};
    for (uint32_t i = 0; i < count; i++)
        cpu[i].max_on_ns = rows[i].max_ticks;
    edit(&times);
    size_t size = ttp_cpu_times_write(&times, rows, 1, room, sizeof room);
    ttest_put(&ttest_insert_section(second(file), TTP_SECTION_SWITCHES)->content, switches, 2);
    ttest_put(&ttest_insert_section(second(file), TTP_SECTION_CPU_TIMES)->content, room,
              size - less);
}

#define CPU(name, switches, less, statement)                                                       \
    static void name##_times(struct ttp_cpu_times *times) { statement; }                           \
    static void name(struct ttest_file *file) { put_cpu_times(file, switches, name##_times, less); }

CPU(cpu_all, "\1\1", 0, times->all_ns[TTP_OFF_BLOCKED]++)
CPU(cpu_self, "\1\1", 0, times->rows[0].self_ns[TTP_OFF_PREEMPTED]++)
CPU(cpu_total, "\1\1", 0, times->rows[0].total_ns[TTP_OFF_BLOCKED]++)
CPU(cpu_most, "\1\1", 0, times->rows[1].max_on_ns--)
CPU(cpu_start, "\1\1", 0, (times->start_off_ns[1]++, times->start_off_ns[2]++))
CPU(cpu_cut, "\1\1", 12, times->start_off_ns[2] = INT64_MAX / 3)
CPU(cpu_unknown, "\1\0", 0, (void)times)

#define C    TTAPE_E_CORRUPT
#define LEFT TTEST_FIRST
#define ALL  TTEST_ALL

static const struct ttest_break light_breaks[] = {
    {"seg-02-stream", "F-SEG-02", C, LEFT, "stream 2^24", segment_stream, NULL},
    {"evt-08-stream", "F-EVT-08", C, LEFT, "a stream that is not defined", segment_no_stream, NULL},
    {"seg-03-events", "F-SEG-03", C, LEFT, "a segment without events", segment_no_events, NULL},
    {"seg-03-unknown", "F-SEG-03", C, LEFT, "an unknown depth of 2^32 - 1", segment_unknown, NULL},
    {"seg-03-offset", "F-SEG-03", C, LEFT, "a depth offset of -2^31", segment_offset, NULL},
    {"seg-03-stack", "F-SEG-03", C, LEFT, "stack 2^20", segment_stack, NULL},
    {"seg-04-fewer", "F-SEG-04", C, LEFT, "the segments have an event less than the head",
     segment_fewer, NULL},
    {"seg-04-more", "F-SEG-04", C, LEFT, "the segments have an event more than the head",
     segment_more, NULL},
    {"seg-05-fewer", "F-SEG-05", C, LEFT, "the head has an open frame less", head_fewer_frames,
     NULL},
    {"seg-05-more", "F-SEG-05", C, LEFT, "the head has an open frame more", head_more_frames, NULL},
    {"seg-06-class", "F-SEG-06", C, LEFT, "a leaf as an open frame", frame_class, NULL},
    {"seg-07-stack", "F-SEG-07", C, LEFT, "an open frame on stack 2^20", frame_stack, NULL},
    {"seg-08-fewer", "F-SEG-08", C, LEFT, "the head has a given symbol less", head_fewer_given,
     NULL},
    {"seg-08-more", "F-SEG-08", C, LEFT, "the head has a given symbol more", head_more_given, NULL},
    {"seg-01-order", "F-SEG-01", C, LEFT, "open frames whose stacks descend", frame_order, NULL},
    {"edg-05-start", "F-EDG-05", C, TTEST_CHANGED,
     "the open frames are not those that partition 0 left open", frame_other, NULL},
    {"bas-01-base", "F-EDG-05", C, TTEST_CHANGED,
     "a base that is not the tick of the event before (F-BAS-01)", base_wrong, NULL},
    {"bas-02-empty", "F-BAS-02", C, LEFT, "no byte in the bases section", no_bases, NULL},
    {"edg-02-stack", "F-EDG-02", C, LEFT, "stack 2^20 at the end", edge_stack, NULL},
    {"edg-02-depth", "F-EDG-02", C, LEFT, "a least depth of 2^32 - 1", edge_min_depth, NULL},
    {"edg-02-kept", "F-EDG-02", C, LEFT, "more kept frames than there were", edge_kept, NULL},
    {"edg-02-unknown", "F-EDG-02", C, LEFT, "an unknown depth of 2^32 - 1", edge_unknown, NULL},
    {"edg-03-fewer", "F-EDG-03", C, LEFT, "the head has a frame less", head_fewer_end_frames, NULL},
    {"edg-03-more", "F-EDG-03", C, LEFT, "the head has a frame more", head_more_end_frames, NULL},
    {"edg-01-class", "F-SEG-06", C, LEFT, "a gap as an added frame", edge_class, NULL},
    {"edg-04-cut", "F-EDG-04", C, LEFT, "nine bytes are missing", cut_edges, NULL},
    {"edg-05-depth", "F-EDG-05", C, ALL, "the least depth is wrong", edge_wrong_depth, NULL},
    {"edg-05-tick", "F-EDG-05", C, ALL, "the end tick is wrong", edge_wrong_tick, NULL},
    {"edg-05-stack", "F-EDG-05", C, ALL, "the end stack is wrong", edge_wrong_stack, NULL},
    {"edg-05-self", "F-EDG-05", C, ALL, "a start frame's self time is wrong", edge_wrong_self,
     NULL},
    {"edg-05-end-self", "F-EDG-05", C, ALL, "a kept frame's self time is wrong",
     edge_wrong_end_self, NULL},
    {"edg-05-enter", "F-EDG-05", C, ALL, "an added frame's enter tick is wrong", edge_wrong_enter,
     NULL},
    {"edg-05-frame", "F-EDG-05", C, ALL, "an added frame's site is wrong", edge_wrong_frame, NULL},
    {"edg-05-offset", "F-EDG-05", C, ALL, "the depth offset at the end is wrong", edge_wrong_offset,
     NULL},
};

static const struct ttest_break summary_breaks[] = {
    {"sum-02-many", "F-SUM-02", C, ALL, "2^32 - 1 rows", sum_many, NULL},
    {"sum-03-far", "F-SUM-03", C, ALL, "site 2^33", sum_far, NULL},
    {"sum-04-cut", "F-SUM-04", C, ALL, "a million rows in a few bytes", sum_cut, NULL},
    {"sum-05-calls", "F-SUM-05", C, ALL, "a call too many", sum_calls, NULL},
    {"sum-05-exits", "F-SUM-05", C, ALL, "an ended frame too few", sum_exits, NULL},
    {"sum-05-self", "F-SUM-05", C, ALL, "self is wrong", sum_self, NULL},
    {"sum-05-total", "F-SUM-05", C, ALL, "total is wrong", sum_total, NULL},
    {"sum-05-max", "F-SUM-05", C, ALL, "max is wrong", sum_max, NULL},
    {"sum-05-squares", "F-SUM-05", C, ALL, "the sum of squares is wrong", sum_squares, NULL},
    {"sum-05-site", "F-SUM-05", C, ALL, "a row for a site without frames", sum_site, NULL},
    {"sum-05-undefined", "F-SUM-05", C, ALL, "a row for a site that is not defined", sum_no_site,
     NULL},
    {"cpu-01-all", "F-CPU-01", C, ALL, "the partition was blocked for a nanosecond", cpu_all, NULL},
    {"cpu-01-self", "F-CPU-01", C, ALL, "a part of self is wrong", cpu_self, NULL},
    {"cpu-01-total", "F-CPU-01", C, ALL, "a part of total is wrong", cpu_total, NULL},
    {"cpu-01-most", "F-CPU-01", C, ALL, "a largest time on the CPU is wrong", cpu_most, NULL},
    {"cpu-01-start", "F-CPU-01", C, ALL, "start frames were off for a nanosecond more", cpu_start,
     NULL},
    {"cpu-02-cut", "F-CPU-02", C, ALL, "twelve bytes are missing", cpu_cut, NULL},
    {"cpu-03-unknown", "F-CPU-03", C, ALL, "CPU times, and nothing is known of a segment",
     cpu_unknown, NULL},
    {"own-01-wrong", "F-OWN-01", C, ALL, "a largest own time is wrong", own_wrong, NULL},
    {"own-02-cut", "F-OWN-02", C, ALL, "twelve bytes are missing", own_cut, NULL},
};

static const struct ttest_break value_breaks[] = {
    {"val-02-cut", "F-VAL-02", C, LEFT, "ends inside its counts", val_cut, NULL},
    {"val-02-events", "F-VAL-02", C, LEFT, "more events than values", val_many_events, NULL},
    {"val-02-values", "F-VAL-02", C, LEFT, "more values than bytes", val_many_values, NULL},
    {"val-02-bytes", "F-VAL-02", C, LEFT, "more bytes than there are", val_many_bytes, NULL},
    {"val-03-event", "F-VAL-03", C, LEFT, "values of event 8 of 8", val_event, NULL},
    {"val-03-huge", "F-VAL-03", C, LEFT, "values of event 2^32", val_event_huge, NULL},
    {"val-04-none", "F-VAL-04", C, LEFT, "an event with no values", val_none, NULL},
    {"val-04-less", "F-VAL-04", C, LEFT, "values per event add up to one less", val_less, NULL},
    {"val-04-more", "F-VAL-04", C, LEFT, "values per event add up to one more", val_more, NULL},
    {"val-05-type", "F-VAL-05", C, LEFT, "type 8", val_type, NULL},
    {"val-06-string", "F-VAL-06", C, LEFT, "a string is longer than the bytes", val_string, NULL},
    {"val-07-trailing", "F-VAL-07", C, LEFT, "a byte behind the end", val_trailing, NULL},
    {"val-07-unused", "F-VAL-07", C, LEFT, "a byte that belongs to no string", val_unused, NULL},
    {"val-07-short", "F-VAL-07", C, LEFT, "a byte is missing", val_short, NULL},
    {"val-08-elsewhere", "F-VAL-08", C, ALL, "a gap's count at an exit", val_count_elsewhere, NULL},
    {"val-08-not-alone", "F-VAL-08", C, ALL, "a gap's count with another value", val_count_and_more,
     NULL},
    {"dep-02-count", "F-DEP-02", C, LEFT, "more changes than bytes", dep_count, NULL},
    {"dep-02-trailing", "F-DEP-02", C, LEFT, "a byte behind the last change", dep_trailing, NULL},
    {"dep-03-event", "F-DEP-03", C, LEFT, "a change at event 10 of 8", dep_event, NULL},
    {"dep-04-offset", "F-DEP-04", C, LEFT, "an offset of 2^31", dep_offset, NULL},
    {"swi-02-cut", "F-SWI-02", C, LEFT, "no count of the second segment", swi_cut, NULL},
    {"swi-02-many", "F-SWI-02", C, LEFT, "more spans than bytes", swi_many, NULL},
    {"swi-02-trailing", "F-SWI-02", C, LEFT, "a byte behind the last length", swi_trailing, NULL},
    {"swi-02-short", "F-SWI-02", C, LEFT, "a length is missing", swi_short, NULL},
    {"swi-03-event", "F-SWI-03", C, LEFT, "a span of event 6 of 6", swi_event, NULL},
    {"swi-03-second", "F-SWI-03", C, LEFT, "a span of event 2 of 2", swi_second, NULL},
    {"swi-04-start", "F-SWI-04", C, LEFT, "a start of -2^62", swi_start, NULL},
    {"swi-04-length", "F-SWI-04", C, LEFT, "a length of 2^62", swi_length, NULL},
    {"evt-05-below", "F-EVT-05", C, LEFT, "a depth below 0", dep_below, NULL},
    {"evt-05-above", "F-EVT-05", C, LEFT, "a depth above 2^31 - 1", dep_above, NULL},
};

void ttest_make_invalid_sections(const struct ttest_output *out)
{
    ttest_emit_breaks(out, light_breaks, sizeof light_breaks / sizeof light_breaks[0], true);
    ttest_emit_breaks(out, summary_breaks, sizeof summary_breaks / sizeof summary_breaks[0], true);
    ttest_emit_breaks(out, value_breaks, sizeof value_breaks / sizeof value_breaks[0], true);
}
