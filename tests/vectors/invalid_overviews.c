/* Broken overviews, of the base trace's two partitions. A reader goes on without them: every event
 * is still there. */
#include <string.h>

#include "format/container/measures/outlines.h"
#include "invalid_vectors.h"

enum { ROWS = 4, ROOM = 16384, PARTITIONS = 2, SEGMENTS = 4, FRAMES = 16 };

/* An overview taken apart. */
struct parts {
    struct ttp_overview head;
    struct ttp_measure rows[ROWS];
    struct ttp_overview_calls calls[ROWS];
    struct ttp_overview_leaf leaves[ROWS];
    struct ttp_cpu_measure cpu_rows[ROWS];
    struct ttp_cpu_times cpu;
    uint32_t row_count, leaf_count;
    size_t less[TTP_OVERVIEW_FIELDS]; /* bytes that are missing at the end of a part */
    bool no_leaves, no_cpu;
    struct ttp_outlines outlines;
    struct ttp_partition_outline outline_parts[PARTITIONS];
    struct ttp_segment segments[SEGMENTS];
    struct ttp_frame start_frames[FRAMES], end_frames[FRAMES];
    struct ttp_measure outline_rows[FRAMES];
};

static struct ttest_bytes *content_of(struct ttest_file *file)
{
    return &ttest_chunk_of(file, TTP_CHUNK_OVERVIEW, 0)->content;
}

static void need(ttape_status status) { ttest_require(status == TTAPE_OK, "the base's overview"); }

/* Both partitions have a segment of each of the two streams. */
static void take_outlines(struct parts *p)
{
    static const struct ttp_outline_origin before[SEGMENTS] = {
        {TTP_OUTLINE_NONE, 0}, {TTP_OUTLINE_NONE, 0}, {0, 0}, {0, 1}};
    p->outlines = (struct ttp_outlines){.each = p->outline_parts,
                                        .before = before,
                                        .segments = p->segments,
                                        .start_frames = p->start_frames,
                                        .end_frames = p->end_frames,
                                        .rows = p->outline_rows,
                                        .partition_count = PARTITIONS,
                                        .segment_count = SEGMENTS,
                                        .timed = true};
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        p->outline_parts[i].segments.segments = p->segments + 2 * i;
        p->outline_parts[i].segments.segment_count = 2;
    }
    need(ttp_outlines_count(&p->head, &p->outlines, NULL));
    ttest_require(p->outlines.start_frame_count < FRAMES && p->outlines.end_frame_count < FRAMES &&
                      p->outlines.row_count < FRAMES,
                  "the base has more frames");
    need(ttp_outlines_read(&p->head, &p->outlines, NULL));
}

static struct parts *take_apart(struct ttest_file *file)
{
    struct parts *p = ttest_take(sizeof *p);
    struct ttest_bytes *content = content_of(file);
    need(ttp_overview_open(content->data, content->size, &p->head, NULL));
    const uint8_t *summary = p->head.fields[TTP_OVERVIEW_SUMMARY].data;
    size_t size = p->head.fields[TTP_OVERVIEW_SUMMARY].size_bytes;
    need(ttp_summary_count(summary, size, &p->row_count, NULL));
    ttest_require(p->row_count < ROWS, "the base has more functions");
    need(ttp_summary_read(summary, size, true, p->rows, p->row_count, NULL));
    need(ttp_overview_calls_read(&p->head, p->rows, p->row_count, p->calls, NULL));
    need(ttp_overview_leaf_count(&p->head, &p->leaf_count, NULL));
    ttest_require(p->leaf_count < ROWS, "the base has more leaves");
    need(ttp_overview_leaves_read(&p->head, p->leaf_count, p->leaves, NULL));
    p->cpu = (struct ttp_cpu_times){.rows = p->cpu_rows, .row_count = p->row_count};
    p->no_cpu = p->head.fields[TTP_OVERVIEW_CPU_TIMES].data == NULL;
    if (!p->no_cpu)
        need(ttp_cpu_times_read(p->head.fields[TTP_OVERVIEW_CPU_TIMES].data,
                                p->head.fields[TTP_OVERVIEW_CPU_TIMES].size_bytes, p->rows, 1,
                                &p->cpu, NULL));
    take_outlines(p);
    return p;
}

static void put_part(struct ttest_bytes *to, const struct parts *p, enum ttp_overview_field kind,
                     const uint8_t *data, size_t size)
{
    uint8_t head[TTP_OVERVIEW_HEAD_BOUND];
    size -= p->less[kind] < size ? p->less[kind] : size;
    ttest_put(to, head, ttp_overview_field_write(kind, size, head));
    ttest_put(to, data, size);
}

static void put_together(struct ttest_file *file, const struct parts *p)
{
    struct ttest_bytes *to = content_of(file);
    uint8_t *room = ttest_take(ROOM);
    to->size = 0;
    ttest_put(to, room, ttp_overview_head_write(&p->head, room));
    put_part(to, p, TTP_OVERVIEW_SUMMARY, room,
             ttp_summary_write(p->rows, p->row_count, true, room, ROOM));
    if (!p->no_cpu)
        put_part(to, p, TTP_OVERVIEW_CPU_TIMES, room,
                 ttp_cpu_times_write(&p->cpu, p->rows, 1, room, ROOM));
    put_part(to, p, TTP_OVERVIEW_CALLS, room,
             ttp_overview_calls_write(p->calls, p->rows, p->row_count, p->head.partition_count,
                                      true, room, ROOM));
    if (!p->no_leaves)
        put_part(to, p, TTP_OVERVIEW_LEAVES, room,
                 ttp_overview_leaves_write(p->leaves, p->leaf_count, p->head.partition_count, room,
                                           ROOM));
    put_part(to, p, TTP_OVERVIEW_OUTLINES, room, ttp_outlines_write(&p->outlines, room, ROOM));
}

#define EDIT(name, statement)                                                                      \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        struct parts *p = take_apart(file);                                                        \
        statement;                                                                                 \
        put_together(file, p);                                                                     \
    }
/* The content's bytes themselves. */
#define PATCH(name, statement)                                                                     \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        struct ttest_bytes *c = content_of(file);                                                  \
        statement;                                                                                 \
    }

static void packed(struct ttest_file *file)
{
    ttest_chunk_of(file, TTP_CHUNK_OVERVIEW, 0)->packed = true;
}

/* F-OVR-01 */
PATCH(no_partitions, c->data[0] = 0)
PATCH(many_partitions, c->data[0] = 65)
PATCH(head_cut, c->size = 8)
PATCH(long_part, ttest_put(c, "\77\1", 2))
PATCH(same_part, ttest_put(c, "\4\0", 2))
PATCH(part_zero, (c->size = 11, ttest_put(c, "\0\0", 2)))
PATCH(no_summary, c->size = 11)
EDIT(no_time_at_all, p->head.resolution_ns = 1ull << 63)
/* F-OVR-02 */
EDIT(other_identity, p->head.identity ^= 1)
EDIT(more_partitions, p->head.partition_count = 3)
EDIT(fewer_partitions, p->head.partition_count = 1)
/* F-OVR-03 */
EDIT(other_resolution, p->head.resolution_ns = 2)
EDIT(other_span, p->head.span_ticks++)
/* F-OVR-04 */
EDIT(more_calls, p->rows[1].call_count++)
EDIT(many_calls, p->rows[1].call_count = 13)
EDIT(many_exits, p->rows[1].exit_count = 1ull << 32)
EDIT(more_self, p->rows[0].self_ticks++)
EDIT(more_total, p->rows[0].total_ticks++)
EDIT(other_least, p->rows[1].min_ticks--)
EDIT(other_most, p->rows[1].max_ticks++)
EDIT(other_squares, p->rows[1].squares.low++)
EDIT(row_missing, p->row_count--)
EDIT(row_more,
     (p->rows[p->row_count] = (struct ttp_measure){.site = 2, .call_count = 1}, p->row_count++))
EDIT(summary_cut, p->less[TTP_OVERVIEW_SUMMARY] = 12)
/* F-OVR-05 */
EDIT(other_mask, p->calls[0].mask ^= 2)
EDIT(other_counts, (p->calls[1].counts[3]--, p->calls[1].counts[4]++))
EDIT(more_counts, p->calls[1].counts[3] = 9)
EDIT(calls_cut, (p->calls[0].mask = 0, p->less[TTP_OVERVIEW_CALLS] = 8))
/* F-OVR-06 */
EDIT(other_leaf_count, p->leaves[0].count++)
EDIT(other_leaf_mask, p->leaves[0].mask ^= 1)
EDIT(other_leaf, p->leaves[0].site = 0)
EDIT(leaves_missing, p->no_leaves = true)
EDIT(many_leaves, (p->leaf_count = 1, p->leaves[0].site = 0xffffff00))
/* F-OVR-07 */
EDIT(cpu_missing, p->no_cpu = true)
EDIT(cpu_all, p->cpu.all_ns[TTP_OFF_BLOCKED]++)
EDIT(cpu_self, p->cpu_rows[0].self_ns[TTP_OFF_BLOCKED]++)
EDIT(cpu_total, p->cpu_rows[0].total_ns[TTP_OFF_PREEMPTED]++)
EDIT(cpu_most, p->cpu_rows[1].max_on_ns--)
EDIT(cpu_more, p->no_cpu = false)
/* F-OVR-09 */
EDIT(outlines_cut, p->less[TTP_OVERVIEW_OUTLINES] = 24)
EDIT(outline_frames, p->outlines.start_frame_count = 1 << 19)
EDIT(outline_fewer, p->outlines.row_count--)
EDIT(outline_more, p->outlines.end_frame_count++)
EDIT(outline_class, p->end_frames[0].event_class = TTP_CLASS_LEAF)
EDIT(outline_stack, p->end_frames[0].stack = 1 << 20)
EDIT(outline_argument, p->end_frames[0].argument = UINT32_MAX)
/* F-OVR-10 */
EDIT(outline_wide, p->outline_parts[0].has_wide = true)
EDIT(outline_current, p->segments[3].end.stack = 1)
EDIT(outline_tick, p->segments[0].end_tick++)
EDIT(outline_enter, p->end_frames[1].enter_tick--)
EDIT(outline_self, p->end_frames[0].self_ticks++)
EDIT(outline_apart, p->segments[2].base_tick--)
EDIT(outline_calls, p->outline_parts[1].call_count++)
EDIT(outline_sum, p->outline_parts[1].own_sum++)
EDIT(outline_own, p->outline_rows[0].self_ticks++)
EDIT(outline_site, p->outline_rows[p->outlines.row_count - 1].site = 7)
EDIT(outline_row, p->outline_parts[1].rows[1].max_ticks++)

static void summary_missing(struct ttest_file *file)
{
    ttest_drop_section(ttest_partition_of(file, 1), TTP_SECTION_SUMMARY);
}

#define C   TTAPE_E_CORRUPT
#define ALL TTEST_ALL

static const struct ttest_break breaks[] = {
    {"ovr-01-packed", "F-OVR-01", C, ALL, "an overview is compressed", packed, NULL},
    {"ovr-01-none", "F-OVR-01", C, ALL, "of no partition", no_partitions, NULL},
    {"ovr-01-many", "F-OVR-01", C, ALL, "of 65 partitions", many_partitions, NULL},
    {"ovr-01-cut", "F-OVR-01", C, ALL, "ends inside its identity", head_cut, NULL},
    {"ovr-01-long", "F-OVR-01", C, ALL, "a part ends behind the content", long_part, NULL},
    {"ovr-01-twice", "F-OVR-01", C, ALL, "a part stands twice", same_part, NULL},
    {"ovr-01-zero", "F-OVR-01", C, ALL, "a part of kind 0", part_zero, NULL},
    {"ovr-01-no-summary", "F-OVR-01", C, ALL, "no summary", no_summary, NULL},
    {"ovr-01-resolution", "F-OVR-01", C, ALL, "a resolution of 2^63", no_time_at_all, NULL},
    {"ovr-02-identity", "F-OVR-02", C, ALL, "another identity", other_identity, NULL},
    {"ovr-02-more", "F-OVR-02", C, ALL, "three partitions, of two", more_partitions, NULL},
    {"ovr-02-fewer", "F-OVR-02", C, ALL, "one partition, with the identity of two",
     fewer_partitions, NULL},
    {"ovr-03-resolution", "F-OVR-03", C, ALL, "another resolution", other_resolution, NULL},
    {"ovr-03-span", "F-OVR-03", C, ALL, "a tick too long", other_span, NULL},
    {"ovr-03-no-summary", "F-OVR-03", C, ALL, "of a partition without summary", summary_missing,
     NULL},
    {"ovr-04-calls", "F-OVR-04", C, ALL, "a call too many", more_calls, NULL},
    {"ovr-04-many", "F-OVR-04", C, ALL, "more calls than events", many_calls, NULL},
    {"ovr-04-ended", "F-OVR-04", C, ALL, "2^32 ended frames", many_exits, NULL},
    {"ovr-04-self", "F-OVR-04", C, ALL, "a tick of self too many", more_self, NULL},
    {"ovr-04-total", "F-OVR-04", C, ALL, "a tick of total too many", more_total, NULL},
    {"ovr-04-min", "F-OVR-04", C, ALL, "another min", other_least, NULL},
    {"ovr-04-max", "F-OVR-04", C, ALL, "another max", other_most, NULL},
    {"ovr-04-squares", "F-OVR-04", C, ALL, "other squared durations", other_squares, NULL},
    {"ovr-04-fewer", "F-OVR-04", C, ALL, "a row is missing", row_missing, NULL},
    {"ovr-04-more", "F-OVR-04", C, ALL, "a row for a site without frames", row_more, NULL},
    {"ovr-04-cut", "F-SUM-04", C, ALL, "F-OVR-04: twelve bytes of the summary are missing",
     summary_cut, NULL},
    {"ovr-05-mask", "F-OVR-05", C, ALL, "another mask", other_mask, NULL},
    {"ovr-05-counts", "F-OVR-05", C, ALL, "a duration in another bucket", other_counts, NULL},
    {"ovr-05-more", "F-OVR-05", C, ALL, "more durations than ended frames", more_counts, NULL},
    {"ovr-05-cut", "F-OVR-05", C, ALL, "eight bytes of the calls are missing", calls_cut, NULL},
    {"ovr-06-count", "F-OVR-06", C, ALL, "a leaf too many", other_leaf_count, NULL},
    {"ovr-06-mask", "F-OVR-06", C, ALL, "another mask of a leaf", other_leaf_mask, NULL},
    {"ovr-06-site", "F-OVR-06", C, ALL, "leaves of another site", other_leaf, NULL},
    {"ovr-06-missing", "F-OVR-06", C, ALL, "leaves without a part", leaves_missing, NULL},
    {"ovr-06-large", "F-OVR-06", C, ALL, "leaves of a site above 2^24", many_leaves, NULL},
    {"ovr-07-more", "F-OVR-07", C, ALL, "CPU times of partitions without them", cpu_more, NULL},
    {"ovr-09-cut", "F-OVR-09", C, ALL, "24 bytes of the outlines are missing", outlines_cut, NULL},
    {"ovr-09-many", "F-OVR-09", C, ALL, "2^19 start frames", outline_frames, NULL},
    {"ovr-09-fewer", "F-OVR-09", C, ALL, "a row more than it says", outline_fewer, NULL},
    {"ovr-09-more", "F-OVR-09", C, ALL, "an added frame less than it says", outline_more, NULL},
    {"ovr-09-class", "F-OVR-09", C, ALL, "an open frame of a leaf", outline_class, NULL},
    {"ovr-09-stack", "F-OVR-09", C, ALL, "an open frame on stack 2^20", outline_stack, NULL},
    {"ovr-10-site-of-frame", "F-OVR-10", C, ALL, "an open frame of another site", outline_argument,
     NULL},
    {"ovr-10-wide", "F-OVR-10", C, ALL, "wide time differences", outline_wide, NULL},
    {"ovr-10-current", "F-OVR-10", C, ALL, "another current stack", outline_current, NULL},
    {"ovr-10-tick", "F-OVR-10", C, ALL, "a segment that ends a tick later", outline_tick, NULL},
    {"ovr-10-enter", "F-OVR-10", C, ALL, "a frame that was entered a tick earlier", outline_enter,
     NULL},
    {"ovr-10-self", "F-OVR-10", C, ALL, "a frame with a tick more of its own", outline_self, NULL},
    {"ovr-10-base", "F-OVR-10", C, ALL, "another base", outline_apart, NULL},
    {"ovr-10-calls", "F-OVR-10", C, ALL, "a call too many", outline_calls, NULL},
    {"ovr-10-sum", "F-OVR-10", C, ALL, "a tick too many", outline_sum, NULL},
    {"ovr-10-own", "F-OVR-10", C, ALL, "a row with a tick more of its own", outline_own, NULL},
    {"ovr-10-site", "F-OVR-10", C, ALL, "a row of another site", outline_site, NULL},
    {"ovr-10-most", "F-OVR-10", C, ALL, "another max", outline_row, NULL},
};

static const struct ttest_break cpu_breaks[] = {
    {"ovr-07-missing", "F-OVR-07", C, ALL, "no CPU times of partitions with them", cpu_missing,
     NULL},
    {"ovr-07-all", "F-OVR-07", C, ALL, "blocked for a nanosecond more", cpu_all, NULL},
    {"ovr-07-self", "F-OVR-07", C, ALL, "a part of self is wrong", cpu_self, NULL},
    {"ovr-07-total", "F-OVR-07", C, ALL, "a part of total is wrong", cpu_total, NULL},
    {"ovr-07-most", "F-OVR-07", C, ALL, "a largest time on the CPU is wrong", cpu_most, NULL},
};

static struct ttest_file *base(const char *name, const char *group, const char *notes,
                               struct ttest_expectation *e)
{
    return ttest_base_overview(false, name, group, notes, e);
}

static struct ttest_file *base_cpu(const char *name, const char *group, const char *notes,
                                   struct ttest_expectation *e)
{
    return ttest_base_overview(true, name, group, notes, e);
}

void ttest_make_invalid_overviews(const struct ttest_output *out)
{
    ttest_emit_breaks_of(out, breaks, sizeof breaks / sizeof breaks[0], base);
    ttest_emit_breaks_of(out, cpu_breaks, sizeof cpu_breaks / sizeof cpu_breaks[0], base_cpu);
}
