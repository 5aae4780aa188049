/* Switches: spans go through writer, reader and copier as they are, in any partitions; and how an
 * interval was spent (F-SWI-06). */
#include <stdlib.h>
#include <string.h>

#include <tracetape/calls.h>
#include <tracetape/copy.h>
#include <tracetape/writer.h>

#include "format/container/switches.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"
#include "tests/asserts.h"

enum { STREAMS = 3, EVENTS = 500, SPANS_MAX = 3 };

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % below;
}

/* What was told of the event's interval: the same whoever asks. */
static uint32_t spans_of(uint32_t stream, uint64_t event, ttape_off_span *out)
{
    uint64_t before = seed;
    seed = stream * 1000003ull + event;
    uint32_t count = draw(4) == 0 ? 1 + draw(SPANS_MAX) : 0;
    for (uint32_t i = 0; i < count; i++)
        out[i] = (ttape_off_span){.event = event,
                                  .start_ns = (int64_t)draw(100) - 20,
                                  .length_ns = draw(1000000),
                                  .kind = (ttape_off_kind)draw(5)};
    seed = before;
    return count;
}

/* Stream 2's switches are never told. */
static void write_batch(ttape_writer *w, uint32_t stream, uint64_t first, uint32_t count)
{
    ttape_event events[64];
    ttape_off_span spans[64 * SPANS_MAX];
    uint32_t span_count = 0;
    ttape_error err;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t added = spans_of(stream, first + i, spans + span_count);
        for (uint32_t k = 0; k < added; k++)
            spans[span_count++].event = i;
        events[i] =
            (ttape_event){.time_ns = (first + i) * 50,
                          .kind = (first + i) % 2 == 0 ? TTAPE_EVENT_ENTER : TTAPE_EVENT_EXIT,
                          .depth = TTAPE_DEPTH_AUTO};
    }
    if (stream != 2)
        ck_assert_int_eq(ttape_writer_add_off(w, stream, spans, span_count, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_append(w, stream, events, count, &err), TTAPE_OK);
}

static void write_all(ttape_writer *w)
{
    uint64_t done[STREAMS] = {0};
    uint32_t id;
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ttape_site site = {.address = 16, .module = TTAPE_NONE};
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < STREAMS; i++) {
        ttape_stream stream = {.tid = i + 1};
        ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    }
    while (done[0] + done[1] + done[2] < STREAMS * EVENTS) {
        uint32_t stream = draw(STREAMS), count = 1 + draw(64);
        count = done[stream] + count > EVENTS ? (uint32_t)(EVENTS - done[stream]) : count;
        if (count != 0)
            write_batch(w, stream, done[stream], count);
        done[stream] += count;
    }
}

static ttape_memory_sink make_trace(uint32_t partition_events, uint32_t jobs)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {
        .size = sizeof options, .partition_events = partition_events, .jobs = jobs};
    ttape_writer *w;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, NULL), TTAPE_OK);
    write_all(w);
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return memory;
}

static void check_segment(const ttape_reader *r, const struct ttp_loaded *p, uint32_t s,
                          uint64_t *seen)
{
    const struct ttp_segment_entry *entry = ttp_partition_segment(r, p->partition, s);
    const struct ttp_switches *in = &p->switches;
    seen[entry->stream] += entry->event_count;
    if (entry->stream == 2) {
        ck_assert(in->segment_count == 0 || !in->is_known[s]);
        return;
    }
    ck_assert(in->segment_count != 0 && in->is_known[s]);
    uint32_t at = in->span_start[s];
    for (uint32_t i = 0; i < entry->event_count; i++) {
        ttape_off_span told[SPANS_MAX];
        uint32_t count = spans_of(entry->stream, entry->first_event + i, told);
        for (uint32_t k = 0; k < count; k++, at++) {
            const struct ttp_off_span *have = &in->spans[at];
            ck_assert_uint_lt(at, in->span_start[s + 1]);
            ck_assert_uint_eq(have->event, p->segment_start[s] + i);
            ck_assert(have->kind == told[k].kind && have->start_ns == told[k].start_ns &&
                      have->length_ns == told[k].length_ns);
        }
    }
    ck_assert_uint_eq(at, in->span_start[s + 1]);
}

/* As who reads no events is told of them; before they are decoded, and then. */
static void check_off(ttape_reader *r, uint32_t partition, uint32_t s)
{
    const struct ttp_segment_entry *entry = ttp_partition_segment(r, partition, s);
    const ttape_off_span *spans;
    uint32_t all, at = 0;
    bool is_known;
    ttape_error err;
    ck_assert_int_eq(ttape_reader_get_off(r, partition, s, &spans, &all, &is_known, &err),
                     TTAPE_OK);
    ck_assert_int_eq(is_known, entry->stream != 2);
    for (uint32_t i = 0; is_known && i < entry->event_count; i++) {
        ttape_off_span told[SPANS_MAX];
        uint32_t count = spans_of(entry->stream, entry->first_event + i, told);
        for (uint32_t k = 0; k < count; k++, at++) {
            ck_assert_uint_lt(at, all);
            ck_assert(spans[at].event == told[k].event && spans[at].kind == told[k].kind &&
                      spans[at].start_ns == told[k].start_ns &&
                      spans[at].length_ns == told[k].length_ns);
        }
    }
    ck_assert_uint_eq(at, all);
}

static void check_trace(const ttape_memory_sink *memory)
{
    ttape_reader *r;
    ttape_error err;
    uint64_t seen[STREAMS] = {0};
    ttape_source source = ttape_source_memory(memory->data, memory->size_bytes);
    ck_assert_int_eq(ttape_reader_open(&r, &source, NULL, &err), TTAPE_OK);
    for (uint32_t i = 0; i < r->partition_count; i++) {
        struct ttp_loaded *p;
        for (uint32_t s = 0; s < r->partitions[i].segment_count; s++)
            check_off(r, i, s);
        ck_assert_int_eq(ttp_loaded_get(&r->pool.first, i, TTP_STAGE_EVENTS, &p, &err), TTAPE_OK);
        for (uint32_t s = 0; s < p->segments.segment_count; s++) {
            check_segment(r, p, s, seen);
            check_off(r, i, s);
        }
    }
    for (uint32_t i = 0; i < STREAMS; i++)
        ck_assert_uint_eq(seen[i], EVENTS);
    ttape_reader_close(r);
}

/* Copies a trace in pieces: whole partitions, and others in two parts. */
static ttape_memory_sink copy_trace(const ttape_memory_sink *memory)
{
    ttape_memory_sink copy = {0};
    ttape_sink sink = ttape_sink_memory(&copy);
    ttape_source source = ttape_source_memory(memory->data, memory->size_bytes);
    ttape_reader *r;
    ttape_writer *w;
    ttape_copier *c;
    ttape_error err;
    ck_assert_int_eq(ttape_reader_open(&r, &source, NULL, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_copier_open(&c, w, r, &err), TTAPE_OK);
    for (uint32_t i = 0; i < r->partition_count; i++) {
        if (draw(2) == 0) {
            ck_assert_int_eq(ttape_copier_partition(c, i, &err), TTAPE_OK);
            continue;
        }
        uint64_t from[STREAMS] = {0}, middle[STREAMS], end[STREAMS];
        for (uint32_t s = 0; s < STREAMS; s++) {
            middle[s] = draw(EVENTS);
            end[s] = EVENTS;
        }
        ck_assert_int_eq(ttape_copier_part(c, i, from, middle, &err), TTAPE_OK);
        ck_assert_int_eq(ttape_copier_part(c, i, middle, end, &err), TTAPE_OK);
    }
    ttape_copier_close(c);
    ck_assert_int_eq(ttape_writer_finish(w, &err), TTAPE_OK);
    ttape_writer_close(w);
    ttape_reader_close(r);
    return copy;
}

START_TEST(kept)
{
    static const uint32_t partitions[] = {7, 64, 100, 1000, 100000};
    for (uint32_t i = 0; i < 20; i++) {
        seed = i + 1;
        ttape_memory_sink memory = make_trace(partitions[i % 5], i % 3);
        check_trace(&memory);
        ttape_memory_sink copy = copy_trace(&memory);
        check_trace(&copy);
        ttape_memory_sink_close(&memory);
        ttape_memory_sink_close(&copy);
    }
}
END_TEST

/* Known from the middle of a partition on: from the next partition on. */
START_TEST(told_late)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    ttape_reader *r;
    struct ttp_loaded *p;
    ttape_event event = {.kind = TTAPE_EVENT_GAP, .depth = TTAPE_DEPTH_AUTO};
    ttape_stream stream = {.tid = 1};
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ttape_off_span span = {.length_ns = 5};
    uint32_t id;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < 4; i++) {
        if (i % 2 == 1)
            ck_assert_int_eq(ttape_writer_add_off(w, 0, &span, 1, NULL), TTAPE_OK);
        event.time_ns = 10 * i;
        ck_assert_int_eq(ttape_writer_append(w, 0, &event, 1, NULL), TTAPE_OK);
        if (i == 1)
            ck_assert_int_eq(ttape_writer_seal(w, NULL), TTAPE_OK);
    }
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    ck_assert_int_eq(ttape_reader_open(&r, &source, NULL, NULL), TTAPE_OK);
    ck_assert_int_eq(ttp_loaded_get(&r->pool.first, 0, TTP_STAGE_ORDER, &p, NULL), TTAPE_OK);
    ck_assert_uint_eq(p->switches.segment_count, 0);
    ck_assert_int_eq(ttp_loaded_get(&r->pool.first, 1, TTP_STAGE_ORDER, &p, NULL), TTAPE_OK);
    ck_assert(p->switches.segment_count == 1 && p->switches.is_known[0]);
    ck_assert_uint_eq(p->switches.span_count, 1);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

START_TEST(refused)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    static const ttape_off_span bad[] = {{.kind = (ttape_off_kind)5},
                                         {.length_ns = TTP_SPAN_MAX_NS},
                                         {.start_ns = -(int64_t)TTP_SPAN_MAX_NS},
                                         {.start_ns = (int64_t)TTP_SPAN_MAX_NS}};
    for (uint32_t i = 0; i < 7; i++) {
        ttape_writer_options options = {.size = sizeof options,
                                        .resolution_ns = i == 4 ? TTAPE_TIME_NONE : 0};
        ttape_off_span late[] = {{.event = 1}, {.event = 0}};
        ttape_writer *w;
        ttape_stream stream = {.tid = 1};
        ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
        uint32_t id;
        ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, NULL), TTAPE_OK);
        ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
        ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
        ttape_status status = i < 4    ? ttape_writer_add_off(w, 0, &bad[i], 1, NULL)
                              : i == 5 ? ttape_writer_add_off(w, 0, late, 2, NULL)
                                       : ttape_writer_add_off(w, i == 6, NULL, 0, NULL);
        ck_assert_int_eq(status, TTAPE_E_ARGUMENT);
        ttape_writer_close(w);
    }
    ttape_memory_sink_close(&memory);
}
END_TEST

/* An interval of 100 ns; spans of (kind, start, length). */
static const struct {
    const char *what;
    uint32_t count;
    struct {
        uint8_t kind;
        int64_t start_ns;
        uint64_t length_ns;
    } spans[3];
    struct ttp_off_time off;
} spent[] = {
    {"nothing", 0, {{0}}, {0, 0, 0}},
    {"preempted", 1, {{0, 10, 30}}, {30, 0, 0}},
    {"blocked", 1, {{1, 10, 30}}, {0, 30, 0}},
    {"both", 2, {{0, 10, 30}, {1, 50, 20}}, {30, 20, 0}},
    {"beyond its ends", 2, {{0, -5, 30}, {1, 90, 20}}, {25, 10, 0}},
    {"longer than the interval", 1, {{1, -5, 300}}, {0, 100, 0}},
    {"one over another", 2, {{0, 10, 30}, {1, 20, 30}}, {30, 10, 0}},
    {"one in another", 2, {{0, 10, 50}, {1, 20, 30}}, {50, 0, 0}},
    {"near", 2, {{2, 10, 30}, {3, 50, 20}}, {0, 0, 50}},
    {"outside", 2, {{0, -30, 20}, {0, 100, 50}}, {0, 0, 0}},
    {"unknown", 3, {{0, 10, 30}, {4, 0, 0}, {1, 60, 10}}, {0, 0, 100}},
};

START_TEST(how_spent)
{
    for (size_t i = 0; i < sizeof spent / sizeof spent[0]; i++) {
        struct ttp_off_span spans[4];
        uint8_t known[] = {1};
        uint32_t start[] = {0, spent[i].count + 1};
        for (uint32_t k = 0; k < spent[i].count; k++)
            spans[k] = (struct ttp_off_span){3, spent[i].spans[k].kind, spent[i].spans[k].start_ns,
                                             spent[i].spans[k].length_ns};
        spans[spent[i].count] = (struct ttp_off_span){4, 1, 0, 7};
        struct ttp_switches in = {known, start, spans, 1, spent[i].count + 1};
        struct ttp_switch_walk w = ttp_switch_walk_init(&in, 0);
        ck_assert_uint_eq(ttp_switch_walk_next(&w), spent[i].count != 0 ? 3 : 4);
        struct ttp_off_time off = ttp_switch_walk_take(&w, 3, 100, 0, INT64_MAX);
        ck_assert_msg(off.preempted_ns == spent[i].off.preempted_ns &&
                          off.blocked_ns == spent[i].off.blocked_ns &&
                          off.unknown_ns == spent[i].off.unknown_ns,
                      "%s: %d, %d, %d", spent[i].what, (int)off.preempted_ns, (int)off.blocked_ns,
                      (int)off.unknown_ns);
        ck_assert_uint_eq(ttp_switch_walk_next(&w), 4);
        ck_assert_uint_eq(ttp_switch_walk_take(&w, 4, -5, 0, INT64_MAX).blocked_ns, 0);
        ck_assert_uint_eq(ttp_switch_walk_next(&w), UINT32_MAX);
        known[0] = 0;
        w = ttp_switch_walk_init(&in, 0);
        ck_assert_uint_eq(ttp_switch_walk_next(&w), 0);
        ck_assert_uint_eq(ttp_switch_walk_take(&w, 3, 100, 0, INT64_MAX).unknown_ns, 100);
    }
}
END_TEST

/* Time of a call that may be off the CPU, as it was told; it takes the interval of its exit. */
static struct ttp_off_time told_of(uint32_t stream, uint64_t exit_number, int64_t from, int64_t to)
{
    ttape_off_span told[SPANS_MAX];
    struct ttp_off_span spans[SPANS_MAX];
    uint8_t known[] = {stream != 2};
    uint32_t start[] = {0, spans_of(stream, exit_number, told)};
    for (uint32_t k = 0; k < start[1]; k++)
        spans[k] =
            (struct ttp_off_span){0, (uint8_t)told[k].kind, told[k].start_ns, told[k].length_ns};
    struct ttp_switches in = {known, start, spans, 1, start[1]};
    struct ttp_switch_walk w = ttp_switch_walk_init(&in, 0);
    return ttp_switch_walk_take(&w, 0, 50, from, to);
}

struct off_sums {
    int64_t off_ns, unknown_ns;
    uint32_t calls;
};

/* Calls of one stream, or of all (STREAMS), in [from, to). */
static struct off_sums sum_calls(ttape_reader *r, uint32_t stream, uint64_t from, uint64_t to)
{
    struct off_sums sums = {0};
    ttape_call_options options = {.size = sizeof options,
                                  .has_range = from != 0 || to != UINT64_MAX,
                                  .from_ns = from,
                                  .to_ns = to,
                                  .streams = stream < STREAMS ? &stream : NULL,
                                  .stream_count = stream < STREAMS,
                                  .switches = true};
    ttape_call_cursor *c;
    ttape_call call;
    ttape_error err;
    ck_assert_int_eq(ttape_call_cursor_open(&c, r, &options, &err), TTAPE_OK);
    while (ttape_call_cursor_next(c, &call, &err) == TTAPE_OK) {
        if (!options.has_range) {
            struct ttp_off_time off = told_of(call.stream, call.end_number, 0, INT64_MAX);
            ck_assert_int_eq(call.off_ns, (int64_t)(off.preempted_ns + off.blocked_ns));
            ck_assert_int_eq(call.unknown_ns, (int64_t)off.unknown_ns);
        }
        ck_assert_int_ge(call.total_ns, call.off_ns + call.unknown_ns);
        sums.off_ns += call.off_ns;
        sums.unknown_ns += call.unknown_ns;
        sums.calls++;
    }
    ttape_call_cursor_close(c);
    return sums;
}

/* What steps tell, which the calls of a stream that ended say together: a call's is that of its
 * outermost one. */
static struct off_sums sum_steps(ttape_reader *r)
{
    struct off_sums sums = {0};
    ttape_call_options options = {.size = sizeof options, .switches = true};
    ttape_call_cursor *c;
    const ttape_call_step *step;
    ttape_error err;
    ck_assert_int_eq(ttape_call_cursor_open(&c, r, &options, &err), TTAPE_OK);
    while (ttape_call_cursor_step(c, &step, &err) == TTAPE_OK) {
        int64_t off_ns = step->preempted_ns + step->blocked_ns;
        ck_assert(step->preempted_ns >= 0 && step->blocked_ns >= 0 && off_ns <= step->elapsed_ns);
        sums.off_ns += off_ns;
        sums.unknown_ns += step->blocked_ns;
    }
    ttape_call_cursor_close(c);
    return sums;
}

static struct off_sums sum_told(void)
{
    struct off_sums sums = {0};
    for (uint32_t stream = 0; stream < STREAMS; stream++)
        for (uint32_t event = 0; event < EVENTS; event++) {
            struct ttp_off_time off = told_of(stream, event, 0, INT64_MAX);
            sums.off_ns += (int64_t)(off.preempted_ns + off.blocked_ns);
            sums.unknown_ns += (int64_t)off.blocked_ns;
        }
    return sums;
}

START_TEST(of_calls)
{
    for (uint32_t i = 0; i < 10; i++) {
        seed = i + 1;
        ttape_memory_sink memory = make_trace(i % 2 == 0 ? 64 : 100000, 0);
        ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
        ttape_reader *r;
        ck_assert_int_eq(ttape_reader_open(&r, &source, NULL, NULL), TTAPE_OK);
        struct off_sums all = {0}, merged = sum_calls(r, STREAMS, 0, UINT64_MAX);
        for (uint32_t stream = 0; stream < STREAMS; stream++) {
            uint64_t middle = draw(EVENTS * 50);
            struct off_sums whole = sum_calls(r, stream, 0, UINT64_MAX);
            struct off_sums a = sum_calls(r, stream, 0, middle);
            struct off_sums b = sum_calls(r, stream, middle, UINT64_MAX);
            ck_assert_uint_eq(whole.calls, EVENTS / 2);
            ck_assert_int_eq(a.off_ns + b.off_ns, whole.off_ns);
            ck_assert_int_eq(a.unknown_ns + b.unknown_ns, whole.unknown_ns);
            ck_assert(stream == 2 ? whole.off_ns == 0 : whole.off_ns > 0);
            all.off_ns += whole.off_ns;
            all.unknown_ns += whole.unknown_ns;
        }
        ck_assert(merged.off_ns == all.off_ns && merged.unknown_ns == all.unknown_ns);
        struct off_sums steps = sum_steps(r), told = sum_told();
        ck_assert_int_eq(steps.off_ns, told.off_ns);
        ck_assert_int_eq(steps.unknown_ns, told.unknown_ns);
        ttape_reader_close(r);
        ttape_memory_sink_close(&memory);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("switches");
    TCase *tests = tcase_create("switches");
    tcase_add_test(tests, kept);
    tcase_add_test(tests, told_late);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, how_spent);
    tcase_add_test(tests, of_calls);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
