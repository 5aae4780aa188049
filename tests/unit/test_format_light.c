/* Segments, bases, edges and summary: round trips with extreme fields, each rule broken by the
 * field's name, and every truncation: refused, or decoded within bounds. */
#include <stdlib.h>
#include <string.h>

#include "format/container/measures/own_times.h"
#include "format/container/measures/summary.h"
#include "format/container/measures/unknown_ends.h"
#include "format/container/segments.h"
#include "tests/asserts.h"

enum { SEGMENTS = 3, STARTS = 4, ENDS = 2, ROOM = 32768 };

struct light {
    struct ttp_partition_head head;
    struct ttp_segment segment[SEGMENTS];
    struct ttp_frame start[STARTS], end[ENDS];
    struct ttp_segments view;
};

/* Stream 2 with two frames, stream 3 with none, stream 2^24 - 1 with two; extreme ticks. */
static void make(struct light *l, bool timed)
{
    *l = (struct light){
        .head = {.event_count = 30,
                 .segment_count = SEGMENTS,
                 .start_frame_count = STARTS,
                 .end_frame_count = ENDS,
                 .resolution_ns = timed,
                 .first_tick = timed ? -7 : 0},
        .segment = {{2, 10, 5, -7, 90, 1, 1, {0, 3, -3, 0, 2}, {9, 0, 100, 0, 2}},
                    {3, 1, 0, INT64_MAX, INT64_MIN, 0, 0, {1, 0, 0, 2, 0}, {1, 0, 0, 1, 0}},
                    {(1u << 24) - 1,
                     19,
                     UINT64_MAX,
                     0,
                     1,
                     0x7fffffff,
                     2,
                     {(1u << 20) - 1, 0x7fffffff, -0x7fffffff, 2, 2},
                     {0, 0x7fffffff, 0x7fffffff, 1, 3}}},
        .start = {{7, 0, TTP_CLASS_ENTER, -100, 5, 6},
                  {UINT32_MAX, 9, TTP_CLASS_SIGNAL, INT64_MIN, INT64_MAX, 0},
                  {0, 0, TTP_CLASS_OPEN, 1, 2, 3},
                  {7, (1u << 20) - 1, TTP_CLASS_ENTER, 4, INT64_MIN, -1}},
        .end = {{8, 9, TTP_CLASS_ENTER, 50, -4, 0}, {0, 2, TTP_CLASS_SIGNAL, -60, 0, 0}}};
    l->view = (struct ttp_segments){l->segment, l->start, l->end, SEGMENTS, STARTS, ENDS};
}

static void check_frames(const struct ttp_frame *a, const struct ttp_frame *b, size_t count,
                         bool timed)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert(a[i].argument == b[i].argument && a[i].stack == b[i].stack &&
                  a[i].event_class == b[i].event_class);
        if (timed)
            ck_assert(a[i].enter_tick == b[i].enter_tick && a[i].self_ticks == b[i].self_ticks);
    }
}

static void check_segment(const struct ttp_segment *a, const struct ttp_segment *b, bool timed)
{
    ck_assert(a->stream == b->stream && a->event_count == b->event_count &&
              a->first_event == b->first_event && a->min_depth == b->min_depth &&
              a->kept == b->kept);
    ck_assert(a->start.stack == b->start.stack && a->end.stack == b->end.stack);
    ck_assert(a->start.unknown_depth == b->start.unknown_depth &&
              a->start.depth_offset == b->start.depth_offset &&
              a->start.frame_count == b->start.frame_count);
    ck_assert(a->end.unknown_depth == b->end.unknown_depth &&
              a->end.depth_offset == b->end.depth_offset &&
              a->end.frame_count == b->end.frame_count);
    if (timed)
        ck_assert(a->base_tick == b->base_tick && a->end_tick == b->end_tick);
}

static void round_trip(bool timed)
{
    static uint8_t bytes[ROOM];
    struct light in, out = {0};
    ttape_error err = {0};
    make(&in, timed);
    out.head = in.head;
    out.view = (struct ttp_segments){out.segment, out.start, out.end, 0, 0, 0};
    size_t size = ttp_segments_write(&in.view, bytes, ROOM);
    ck_assert_int_eq(ttp_segments_read(&in.head, bytes, size, &out.view, &err), TTAPE_OK);
    if (timed) {
        size = ttp_bases_write(&in.view, in.head.first_tick, bytes, ROOM);
        ck_assert_int_eq(ttp_bases_read(&in.head, bytes, size, &out.view, &err), TTAPE_OK);
    }
    size = ttp_edges_write(&in.view, timed, bytes, ROOM);
    ck_assert_int_eq(ttp_edges_read(&in.head, bytes, size, &out.view, &err), TTAPE_OK);
    for (int i = 0; i < SEGMENTS; i++)
        check_segment(&in.segment[i], &out.segment[i], timed);
    check_frames(in.start, out.start, STARTS, timed);
    check_frames(in.end, out.end, ENDS, timed);
    ck_assert(!timed || (out.start[0].end_self_ticks == 6 && out.start[3].end_self_ticks == -1));
    ck_assert_uint_eq(ttp_segments_write(&in.view, bytes, 3), 0);
    ck_assert_uint_eq(ttp_edges_write(&in.view, timed, bytes, 3), 0);
    ck_assert_uint_ge(ttp_segments_bound(&in.view), size);
}

START_TEST(segments_round_trip)
{
    round_trip(true);
    round_trip(false);
}
END_TEST

/* Each edits one field and names the rule; `edges` says which section has it. */
struct edit {
    const char *field, *rule;
    bool edges;
    void (*apply)(struct light *l);
};

#define EDIT(name, statement)                                                                      \
    static void name(struct light *l) { statement; }
EDIT(stream, l->segment[2].stream = 1u << 24)
EDIT(events_none, l->segment[0].event_count = 0)
EDIT(events_many, l->segment[0].event_count = (1u << 24) + 1)
EDIT(start_stack, l->segment[0].start.stack = 1u << 20)
EDIT(start_unknown, l->segment[0].start.unknown_depth = 1u << 31)
EDIT(start_offset, l->segment[0].start.depth_offset = INT32_MIN)
EDIT(head_events_less, l->head.event_count--)
EDIT(head_events_more, l->head.event_count++)
EDIT(head_frames_less, l->head.start_frame_count--)
EDIT(head_frames_more, l->head.start_frame_count++)
EDIT(start_class, l->start[0].event_class = TTP_CLASS_LEAF)
EDIT(start_frame_stack, l->start[0].stack = 1u << 20)
EDIT(min_depth, l->segment[0].min_depth = 1u << 31)
EDIT(end_stack, l->segment[0].end.stack = 1u << 20)
EDIT(end_unknown, l->segment[0].end.unknown_depth = 1u << 31)
EDIT(end_offset, l->segment[0].end.depth_offset = INT32_MIN)
EDIT(kept, (l->segment[0].kept = 3, l->segment[0].end.frame_count = 4))
EDIT(head_ends_less, l->head.end_frame_count--)
EDIT(head_ends_more, l->head.end_frame_count++)
EDIT(end_class, l->end[0].event_class = TTP_CLASS_UNWIND)
EDIT(end_frame_stack, l->end[0].stack = 1u << 20)

static const struct edit edits[] = {
    {"stream", "F-SEG-02", false, stream},
    {"events 0", "F-SEG-03", false, events_none},
    {"events 2^24 + 1", "F-SEG-03", false, events_many},
    {"start stack", "F-SEG-03", false, start_stack},
    {"start unknown depth", "F-SEG-03", false, start_unknown},
    {"start depth offset", "F-SEG-03", false, start_offset},
    {"head events less", "F-SEG-04", false, head_events_less},
    {"head events more", "F-SEG-04", false, head_events_more},
    {"head frames less", "F-SEG-05", false, head_frames_less},
    {"head frames more", "F-SEG-05", false, head_frames_more},
    {"start frame class", "F-SEG-06", false, start_class},
    {"start frame stack", "F-SEG-07", false, start_frame_stack},
    {"min depth", "F-EDG-02", true, min_depth},
    {"end stack", "F-EDG-02", true, end_stack},
    {"end unknown depth", "F-EDG-02", true, end_unknown},
    {"end depth offset", "F-EDG-02", true, end_offset},
    {"kept", "F-EDG-02", true, kept},
    {"head end frames less", "F-EDG-03", true, head_ends_less},
    {"head end frames more", "F-EDG-03", true, head_ends_more},
    {"end frame class", "F-SEG-06", true, end_class},
    {"end frame stack", "F-SEG-07", true, end_frame_stack},
};

START_TEST(each_field_broken)
{
    static uint8_t bytes[ROOM];
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        struct light in, out;
        ttape_error err = {0};
        make(&in, true);
        make(&out, true);
        edits[i].apply(&in);
        size_t size = edits[i].edges ? ttp_edges_write(&in.view, true, bytes, ROOM)
                                     : ttp_segments_write(&in.view, bytes, ROOM);
        struct ttp_frame starts[STARTS + 1], ends[ENDS + 1];
        out.view.start_frames = edits[i].edges ? out.start : starts;
        out.view.end_frames = ends;
        ttape_status status = edits[i].edges
                                  ? ttp_edges_read(&in.head, bytes, size, &out.view, &err)
                                  : ttp_segments_read(&in.head, bytes, size, &out.view, &err);
        ck_assert_msg(status == TTAPE_E_CORRUPT && strcmp(err.rule, edits[i].rule) == 0,
                      "%s: status %d, rule %s: %s", edits[i].field, status, err.rule, err.message);
        ck_assert_uint_le(err.offset, size);
    }
}
END_TEST

/* Exact-size copies, so that a sanitizer sees one byte over. */
static uint8_t *copy(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size + (size == 0));
    memcpy(exact, bytes, size);
    return exact;
}

START_TEST(every_truncation_and_bit)
{
    static uint8_t bytes[ROOM];
    struct light in, out;
    ttape_error err = {0};
    make(&in, true);
    for (int section = 0; section < 3; section++) {
        size_t size = section == 0   ? ttp_segments_write(&in.view, bytes, ROOM)
                      : section == 1 ? ttp_bases_write(&in.view, in.head.first_tick, bytes, ROOM)
                                     : ttp_edges_write(&in.view, true, bytes, ROOM);
        for (size_t i = 0; i < size * 9; i++) {
            size_t cut = i < size ? i : size;
            uint8_t *exact = copy(bytes, cut);
            if (i >= size)
                exact[(i - size) / 8] ^= (uint8_t)(1u << i % 8);
            make(&out, true);
            if (section == 0)
                (void)ttp_segments_read(&in.head, exact, cut, &out.view, &err);
            else if (section == 1)
                (void)ttp_bases_read(&in.head, exact, cut, &out.view, &err);
            else
                (void)ttp_edges_read(&in.head, exact, cut, &out.view, &err);
            free(exact);
        }
    }
    make(&out, true);
    ck_assert_int_eq(ttp_bases_read(&in.head, bytes, 0, &out.view, &err), TTAPE_E_CORRUPT);
    ck_assert_str_eq(err.rule, "F-BAS-02");
}
END_TEST

/* Rows with 0, 1, 2 and 3 ended frames: what is implied is not stored. */
static const struct ttp_measure rows[] = {
    {0, 5, 0, 100, 200, 0, 0, {0, 0}, 0},
    {3, 1, 1, -5, 7, -9, -9, {81, 0}, -9},
    {4, UINT32_MAX, 2, 0, 0, 2, 3, {13, 0}, 2},
    {UINT32_MAX - 1,
     0,
     3,
     INT64_MIN,
     INT64_MAX,
     INT64_MIN,
     INT64_MAX,
     {UINT64_MAX, UINT64_MAX},
     INT64_MAX},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void check_row(const struct ttp_measure *a, const struct ttp_measure *b)
{
    ck_assert(a->site == b->site && a->call_count == b->call_count &&
              a->exit_count == b->exit_count);
    ck_assert(a->self_ticks == b->self_ticks && a->total_ticks == b->total_ticks &&
              a->min_ticks == b->min_ticks && a->max_ticks == b->max_ticks);
    ck_assert(a->squares.high == b->squares.high && a->squares.low == b->squares.low);
}

START_TEST(summary_round_trip)
{
    static uint8_t bytes[ROOM];
    struct ttp_measure out[ROWS];
    uint32_t count;
    ttape_error err = {0};
    size_t size = ttp_summary_write(rows, ROWS, true, bytes, ROOM);
    ck_assert_uint_le(size, ttp_summary_bound(ROWS));
    ck_assert_int_eq(ttp_summary_count(bytes, size, &count, &err), TTAPE_OK);
    ck_assert_uint_eq(count, ROWS);
    ck_assert_int_eq(ttp_summary_read(bytes, size, true, out, ROWS, &err), TTAPE_OK);
    for (int i = 0; i < ROWS; i++)
        check_row(&out[i], &rows[i]);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *exact = copy(bytes, cut);
        ttape_status status = ttp_summary_read(exact, cut, true, out, ROWS, &err);
        ck_assert(status == TTAPE_OK || strcmp(err.rule, "F-SUM-03") == 0 ||
                  strcmp(err.rule, "F-SUM-04") == 0);
        free(exact);
    }
    ck_assert_int_eq(ttp_summary_read(bytes, size / 2, true, out, ROWS, &err), TTAPE_E_CORRUPT);
    size = ttp_summary_write(rows, ROWS, false, bytes, ROOM);
    ck_assert_int_eq(ttp_summary_read(bytes, size, false, out, ROWS, &err), TTAPE_OK);
    ck_assert(out[3].exit_count == 3 && out[3].self_ticks == 0);
    ck_assert_uint_eq(ttp_summary_write(rows, ROWS, true, bytes, 4), 0);
    size = ttp_summary_write(rows, 0, true, bytes, ROOM);
    ck_assert_int_eq(ttp_summary_count(bytes, size, &count, &err), TTAPE_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(ttp_summary_count((const uint8_t *)"\0", 0, &count, &err), TTAPE_E_CORRUPT);
    ck_assert_str_eq(err.rule, "F-SUM-02");
}
END_TEST

/* Of four rows three have ended frames: one as long as its bound, and two that are not. */
/* Any kind behind any other, and a stream that ends early. */
START_TEST(ends_round_trip)
{
    uint8_t kinds[256], back[256], bytes[4096];
    ttape_error err;
    for (uint32_t i = 0; i < 256; i++)
        kinds[i] = (uint8_t)(i * i / 7 % 4);
    size_t size = ttp_ends_write(kinds, 256, bytes, sizeof bytes);
    ck_assert(size > 32 && size <= ttp_ends_bound(256));
    ck_assert_int_eq(ttp_ends_read(bytes, size, back, 256, &err), TTAPE_OK);
    ck_assert_mem_eq(kinds, back, sizeof kinds);
    ck_assert_int_eq(ttp_ends_read(bytes, size / 2, back, 256, &err), TTAPE_E_CORRUPT);
    ck_assert_str_eq(err.rule, "F-END-02");
    ck_assert_uint_eq(ttp_ends_write(kinds, 256, bytes, 8), 0);
    ck_assert_int_eq(ttp_ends_read(bytes, 0, back, 0, &err), TTAPE_OK);
}
END_TEST

START_TEST(own_times_round_trip)
{
    uint8_t bytes[64];
    struct ttp_measure out[ROWS];
    ttape_error err = {0};
    size_t size = ttp_own_times_write(rows, ROWS, bytes, sizeof bytes);
    ck_assert(size > 8 && size <= ttp_own_times_bound(ROWS));
    memcpy(out, rows, sizeof rows);
    for (int i = 0; i < ROWS; i++)
        out[i].max_self_ticks = 77;
    ck_assert_int_eq(ttp_own_times_read(bytes, size, out, ROWS, &err), TTAPE_OK);
    ck_assert_int_eq(out[0].max_self_ticks, 77);
    for (int i = 1; i < ROWS; i++)
        ck_assert_int_eq(out[i].max_self_ticks, rows[i].max_self_ticks);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *exact = copy(bytes, cut);
        ttape_status status = ttp_own_times_read(exact, cut, out, ROWS, &err);
        ck_assert(status == TTAPE_OK || strcmp(err.rule, "F-OWN-02") == 0);
        free(exact);
    }
    ck_assert_int_eq(ttp_own_times_read(bytes, size / 2, out, ROWS, &err), TTAPE_E_CORRUPT);
    ck_assert_uint_eq(ttp_own_times_write(rows, ROWS, bytes, 4), 0);
    ck_assert_uint_eq(ttp_own_times_write(rows, 1, bytes, sizeof bytes), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_light");
    TCase *cases = tcase_create("light");
    tcase_add_test(cases, segments_round_trip);
    tcase_add_test(cases, each_field_broken);
    tcase_add_test(cases, every_truncation_and_bit);
    tcase_add_test(cases, summary_round_trip);
    tcase_add_test(cases, own_times_round_trip);
    tcase_add_test(cases, ends_round_trip);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
