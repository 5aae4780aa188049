/* Calls against the model of analysis_fixture.h, and against what knows stacks by loops of its own:
 * reports (account.c), summaries, edges (edge.c, events_check.c, measure.c by verify), trees
 * (tree_scan.c). Traces hold events of every kind, in partitions of many sizes. */
#include <tracetape/calls.h>
#include <tracetape/report.h>
#include <tracetape/tree.h>

#include "tests/unit/report_model.h"

static ttape_call_cursor *open_calls(ttape_reader *r, ttape_call_options o)
{
    ttape_call_cursor *c;
    ttape_error err = {0};
    o.size = sizeof o;
    TTEST_OK(ttape_call_cursor_open(&c, r, &o, &err));
    return c;
}

/* ---- against the model ---- */

static const struct ttest_frame *find_frame(const struct ttest_model *m, const ttape_call *call)
{
    for (size_t i = 0; i < m->frame_count; i++)
        if (m->frames[i].stream == call->stream && m->frames[i].event == call->enter_number)
            return &m->frames[i];
    ck_abort_msg("no such call in the model");
    return NULL;
}

static ttape_call_end end_of(const struct ttest_model *m, const struct ttest_frame *f,
                             const ttape_call *call)
{
    if (!f->ended)
        return TTAPE_CALL_LEFT;
    const ttape_event *e = &m->streams[f->stream].events[call->end_number];
    bool last = call->height + 1 == f->level + 1 && e->kind == TTAPE_EVENT_EXIT_ACROSS &&
                call->site == e->site && call->end == TTAPE_CALL_RETURNED;
    return e->kind == TTAPE_EVENT_EXIT || e->kind == TTAPE_EVENT_SIGNAL_END || last
               ? TTAPE_CALL_RETURNED
           : e->lost_count == TTAPE_UNWIND_LOST ? TTAPE_CALL_LOST
                                                : TTAPE_CALL_UNWOUND;
}

static void check_call(const struct ttest_model *m, const ttape_call *call)
{
    const struct ttest_frame *f = find_frame(m, call);
    ck_assert_uint_eq(call->site, f->site);
    ck_assert_uint_eq(call->kind, f->kind);
    ck_assert_uint_eq(call->argument, f->argument);
    ck_assert_uint_eq(call->stack, f->stack);
    ck_assert_uint_eq(call->height, f->level);
    ck_assert_uint_eq(call->depth, m->streams[f->stream].events[f->event].depth);
    ck_assert_uint_eq(call->enter_ns, f->enter_ns);
    ck_assert_uint_eq(call->end_ns, f->end_ns);
    ck_assert_int_eq(call->duration_ns, (int64_t)(f->end_ns - f->enter_ns));
    ck_assert_int_eq(call->self_ns, f->self_ns);
    ck_assert_uint_eq(call->end, end_of(m, f, call));
    ck_assert(!call->is_found);
}

/* Those of the stack below a call, which are the ones around it. */
static void check_around(const ttape_call_cursor *c, const ttape_call *call)
{
    const ttape_call *around;
    uint32_t count;
    ttape_call_cursor_stack(c, &around, &count);
    ck_assert_uint_eq(count, call->height);
    uint32_t caller = TTAPE_NONE;
    if (count > 0)
        caller = around[count - 1].kind == TTAPE_EVENT_SIGNAL_BEGIN ? TTAPE_CALL_SIGNAL
                                                                    : around[count - 1].site;
    if (call->kind != TTAPE_EVENT_EXIT_UNSEEN)
        ck_assert_uint_eq(call->caller, caller);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_uint_eq(around[i].height, i);
        ck_assert_uint_eq(around[i].stack, call->stack);
    }
}

static void check_calls(const struct ttest_opened *o, ttape_call_options options)
{
    ttape_call_cursor *c = open_calls(o->reader, options);
    ttape_error err = {0};
    ttape_call call;
    ttape_status status;
    uint64_t end_ns[64] = {0};
    size_t count = 0;
    while ((status = ttape_call_cursor_next(c, &call, &err)) == TTAPE_OK) {
        check_around(c, &call);
        ck_assert(call.end_number >= end_ns[call.stream]);
        end_ns[call.stream] = call.end_number;
        if (call.kind == TTAPE_EVENT_EXIT_UNSEEN)
            continue;
        check_call(&o->model, &call);
        count++;
    }
    ck_assert_int_eq(status, TTAPE_END);
    ck_assert_int_eq(ttape_call_cursor_next(c, &call, &err), TTAPE_END);
    size_t wanted = 0;
    for (size_t i = 0; i < o->model.frame_count; i++)
        wanted += options.streams == NULL || o->model.frames[i].stream == options.streams[0];
    ck_assert_uint_eq(count, wanted);
    ttape_call_cursor_close(c);
}

START_TEST(calls_are_those_of_the_model)
{
    struct ttest_opened o = open_plan(_i);
    check_calls(&o, (ttape_call_options){0});
    check_calls(&o, (ttape_call_options){.values = true});
    for (uint32_t s = 0; s < o.info.stream_count; s++)
        check_calls(&o, (ttape_call_options){.streams = &s, .stream_count = 1, .values = s % 2});
    close_plan(&o);
}
END_TEST

/* ---- any size of partition ---- */

struct tally {
    uint64_t hash;
    size_t calls;
};

static void mix_call(struct ttest_sum *sum, const ttape_call *c)
{
    const uint64_t fields[] = {c->stream,
                               c->site,
                               c->caller,
                               c->kind,
                               c->argument,
                               c->stack,
                               c->height,
                               c->depth,
                               c->end,
                               c->is_found,
                               c->enter_number,
                               c->end_number,
                               c->enter_ns,
                               c->end_ns,
                               (uint64_t)c->duration_ns,
                               (uint64_t)c->total_ns,
                               (uint64_t)c->self_ns};
    ttest_mix(sum, fields, sizeof fields);
}

static struct tally tally_calls(ttape_reader *r, size_t capacity)
{
    struct tally t = {0};
    struct ttest_sum sum = {0};
    ttape_error err = {0};
    ttape_call calls[37];
    size_t count;
    ttape_call_cursor *c = open_calls(r, (ttape_call_options){.values = true});
    while (ttape_call_cursor_next_many(c, calls, capacity, &count, &err) == TTAPE_OK) {
        for (size_t i = 0; i < count; i++)
            mix_call(&sum, &calls[i]);
        t.calls += count;
    }
    ck_assert_uint_eq(count, 0);
    ttape_call_cursor_close(c);
    t.hash = sum.hash;
    return t;
}

/* Without times a stream's steps are the same, but for the times; of a part as well. */
START_TEST(untimed_steps_are_the_same)
{
    struct ttest_opened o = open_plan(_i);
    ttape_error err = {0};
    for (uint32_t s = 0; s < o.info.stream_count; s++)
        for (int part = 0; part < 2; part++) {
            const struct ttest_stream *of = &o.model.streams[s];
            ttape_call_options options = {.streams = &s,
                                          .stream_count = 1,
                                          .has_range = part == 1 && of->count > 0,
                                          .to_ns = UINT64_MAX};
            if (options.has_range)
                options.from_ns = of->events[of->count / 2].time_ns;
            ttape_call_cursor *timed = open_calls(o.reader, options);
            options.untimed = true;
            ttape_call_cursor *c = open_calls(o.reader, options);
            const ttape_call_step *a, *b;
            ttape_status status;
            while ((status = ttape_call_cursor_step(timed, &a, &err)) == TTAPE_OK) {
                TTEST_OK(ttape_call_cursor_step(c, &b, &err));
                ck_assert_uint_eq(a->kind, b->kind);
                ck_assert_uint_eq(a->number, b->number);
                ck_assert_uint_eq(a->began_count, b->began_count);
                ck_assert_uint_eq(a->ended_count, b->ended_count);
                if (a->kind == TTAPE_STEP_EVENT)
                    ck_assert(a->event->kind == b->event->kind &&
                              a->event->site == b->event->site &&
                              a->event->depth == b->event->depth);
            }
            ck_assert_int_eq(status, TTAPE_END);
            ck_assert_int_eq(ttape_call_cursor_step(c, &b, &err), TTAPE_END);
            ttape_call_cursor_close(timed);
            ttape_call_cursor_close(c);
        }
    close_plan(&o);
}
END_TEST

START_TEST(partitions_make_no_difference)
{
    static const uint32_t sizes[] = {1, 2, 3, 7, 50, 400, 100000};
    struct tally first = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct ttest_plan plan = {
            .streams = 3, .events = 1500, .partition_events = sizes[i], .literal = i % 2};
        struct ttest_file file = ttest_write(&plan);
        ttape_reader *r = ttest_open(&file);
        struct tally one = tally_calls(r, 1), many = tally_calls(r, 37);
        ck_assert_uint_eq(one.hash, many.hash);
        first = i == 0 ? one : first;
        ck_assert_uint_gt(one.calls, 500);
        ck_assert_uint_eq(one.calls, first.calls);
        ck_assert_uint_eq(one.hash, first.hash);
        ttape_reader_close(r);
        free(file.data);
    }
}
END_TEST

/* ---- against reports: whole, and a range ---- */

struct sums {
    uint64_t calls, exits, unseen;
    int64_t self, least, most, durations;
};

static void add_call(struct sums *sum, const ttape_call *call, const ttape_call_options *o)
{
    bool counts = !o->has_range || (call->end_ns >= o->from_ns && call->end_ns < o->to_ns);
    if (call->kind == TTAPE_EVENT_EXIT_UNSEEN) {
        sum->unseen++;
        return;
    }
    sum->self += call->self_ns;
    sum->calls += call->kind == TTAPE_EVENT_ENTER && !call->is_found;
    if (call->end == TTAPE_CALL_LEFT || !counts)
        return;
    if (call->end == TTAPE_CALL_LOST || call->kind == TTAPE_EVENT_OPEN)
        return; /* F-END-04 */
    sum->least = sum->exits == 0 || call->duration_ns < sum->least ? call->duration_ns : sum->least;
    sum->most = sum->exits == 0 || call->duration_ns > sum->most ? call->duration_ns : sum->most;
    sum->durations += call->duration_ns;
    sum->exits++;
}

static void check_report(ttape_reader *r, ttape_call_options o, bool exact)
{
    struct sums sums[TTEST_SITES] = {0};
    ttape_error err = {0};
    ttape_call call;
    ttape_report *report;
    uint32_t count;
    ttape_call_cursor *c = open_calls(r, o);
    while (ttape_call_cursor_next(c, &call, &err) == TTAPE_OK)
        if (call.kind != TTAPE_EVENT_SIGNAL_BEGIN)
            add_call(&sums[call.site], &call, &o);
    ttape_call_cursor_close(c);
    ttape_report_options how = {.size = sizeof how,
                                .exact = exact,
                                .has_range = o.has_range,
                                .from_ns = o.from_ns,
                                .to_ns = o.to_ns,
                                .streams = o.streams,
                                .stream_count = o.stream_count};
    TTEST_OK(ttape_report_make(&report, r, &how, &err));
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct sums *sum = &sums[rows[i].site];
        ck_assert_uint_eq(rows[i].call_count, sum->calls);
        ck_assert_uint_eq(rows[i].exit_count, sum->exits);
        ck_assert_int_eq(rows[i].self_ns, sum->self);
        ck_assert_int_eq(rows[i].min_ns, sum->least);
        ck_assert_int_eq(rows[i].max_ns, sum->most);
        ck_assert(!rows[i].decoded || rows[i].duration_ns == sum->durations);
        ck_assert(!rows[i].decoded || rows[i].unseen_count == sum->unseen);
    }
    ttape_report_close(report);
}

static bool no_finding(void *context, const ttape_finding *finding)
{
    (void)context;
    ck_abort_msg("%s: %s", finding->error.rule, finding->error.message);
    return false;
}

/* Verify measures each partition anew, by measure.c, against the summaries that reports use. */
static void check_summaries(const struct ttest_file *file)
{
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_error err = {0};
    uint64_t findings;
    TTEST_OK(ttape_verify(&source, NULL, no_finding, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
}

START_TEST(reports_add_up_calls)
{
    struct ttest_opened o = open_plan(_i);
    check_summaries(&o.file);
    check_report(o.reader, (ttape_call_options){0}, false);
    check_report(o.reader, (ttape_call_options){0}, true);
    for (uint32_t s = 0; s < o.info.stream_count; s++)
        check_report(o.reader, (ttape_call_options){.streams = &s, .stream_count = 1}, true);
    close_plan(&o);
}
END_TEST

/* Where no clock steps back, a range is a run of events. */
START_TEST(ranges_are_those_of_reports)
{
    struct ttest_opened o = open_plan(_i);
    uint64_t seed = 9, length = o.info.time_last_ns - o.info.time_first_ns;
    for (int i = 0; i < 25; i++) {
        uint64_t a = o.info.time_first_ns + ttest_random(&seed, (uint32_t)length + 2);
        uint64_t b = a + ttest_random(&seed, i % 2 ? 300 : (uint32_t)length);
        uint32_t stream = (uint32_t)i % o.info.stream_count;
        ttape_call_options options = {.has_range = true, .from_ns = a, .to_ns = b};
        check_report(o.reader, options, true);
        options.streams = &stream;
        options.stream_count = 1;
        check_report(o.reader, options, true);
    }
    close_plan(&o);
}
END_TEST

/* ---- against edges ---- */

/* The stack that a step was on is the edge's behind its event. */
static void check_edge(ttape_cursor *cursor, const ttape_call_cursor *calls,
                       const ttape_call_step *step, bool all_was_read)
{
    ttape_error err = {0};
    ttape_edge edge;
    const ttape_call *open;
    uint32_t count, found = 0;
    ttape_call_cursor_stack(calls, &open, &count);
    TTEST_OK(ttape_cursor_seek_event(cursor, step->number + 1, &err));
    TTEST_OK(ttape_cursor_get_edge(cursor, &edge, &err));
    if (edge.event_number != step->number + 1)
        return; /* behind the last event before missing ones */
    for (uint32_t i = 0; i < edge.frame_count; i++) {
        const ttape_open_frame *frame = &edge.frames[i];
        if (frame->stack != step->stack)
            continue;
        ck_assert_uint_lt(found, count);
        ck_assert_uint_eq(frame->kind, open[found].kind);
        ck_assert_uint_eq(frame->site, open[found].site);
        ck_assert_uint_eq(frame->argument, open[found].argument);
        ck_assert_uint_eq(frame->enter_time_ns, open[found].enter_ns);
        if (all_was_read)
            ck_assert_int_eq(frame->self_ns, open[found].self_ns);
        found++;
    }
    ck_assert_uint_eq(found, count);
    ck_assert_uint_eq(edge.time_ns, step->time_ns);
}

static void check_edges(ttape_reader *r, uint32_t stream, uint32_t every)
{
    ttape_error err = {0};
    ttape_cursor *cursor;
    const ttape_call_step *step;
    ttape_status status;
    uint64_t outermost[TTEST_STACKS] = {0};
    uint32_t failures = 0, missing = 0;
    ttape_call_cursor *c =
        open_calls(r, (ttape_call_options){.streams = &stream, .stream_count = 1});
    TTEST_OK(ttape_cursor_open(&cursor, r, stream, &err));
    while ((status = ttape_call_cursor_step(c, &step, &err)) != TTAPE_END) {
        failures += status != TTAPE_OK;
        if (status != TTAPE_OK)
            continue;
        missing += step->kind == TTAPE_STEP_MISSING;
        if (step->kind == TTAPE_STEP_EVENT && step->number % every == 0)
            check_edge(cursor, c, step, missing == 0);
        if (step->kind == TTAPE_STEP_LOST) {
            ck_assert_uint_gt(missing, 0);
            outermost[step->stack] = step->ended[0].enter_ns;
        }
        if (step->kind == TTAPE_STEP_FOUND &&
            step->time_ns > 0) /* it goes on: is not lost, found */
            ck_assert_uint_ne(step->began[0].enter_ns, outermost[step->stack]);
    }
    ck_assert_uint_le(failures, missing + 1);
    ttape_cursor_close(cursor);
    ttape_call_cursor_close(c);
}

START_TEST(edges_have_the_same_stacks)
{
    struct ttest_opened o = open_plan(_i);
    for (uint32_t s = 0; s < o.info.stream_count; s++)
        check_edges(o.reader, s, 11);
    close_plan(&o);
}
END_TEST

/* ---- behind damage ---- */

/* Each stream's events come in their order, stops once, and its calls end. */
static void check_together(ttape_reader *r)
{
    ttape_error err = {0};
    const ttape_call_step *step;
    ttape_status status;
    ttape_info info;
    uint64_t next[64] = {0};
    int64_t open[64] = {0};
    uint32_t stops = 0, failures = 0;
    ttape_reader_get_info(r, &info);
    ttape_call_cursor *c = open_calls(r, (ttape_call_options){.values = true});
    while ((status = ttape_call_cursor_step(c, &step, &err)) != TTAPE_END) {
        failures += status != TTAPE_OK;
        if (status != TTAPE_OK)
            continue;
        open[step->stream] += (int64_t)step->began_count - step->ended_count;
        stops += step->kind == TTAPE_STEP_STOP;
        if (step->kind == TTAPE_STEP_START)
            next[step->stream] = step->number;
        if (step->kind == TTAPE_STEP_EVENT)
            ck_assert_uint_eq(step->number, next[step->stream]++);
    }
    ck_assert_uint_eq(stops, info.stream_count);
    ck_assert_uint_gt(failures, 0);
    for (uint32_t s = 0; s < info.stream_count; s++)
        ck_assert_int_eq(open[s], 0);
    ttape_call_cursor_close(c);
}

START_TEST(behind_damage_the_stacks_are_right_again)
{
    struct ttest_opened o = open_plan(_i);
    for (uint32_t p = 0; p < o.info.partition_count; p += 1 + o.info.partition_count / 8) {
        ttape_partition_info about;
        ttape_reader_get_partition(o.reader, p, &about);
        uint8_t *byte = &o.file.data[about.offset + about.stored_bytes - 2];
        *byte ^= 1;
        ttape_reader *r = ttest_open(&o.file);
        for (uint32_t s = 0; s < o.info.stream_count; s++)
            check_edges(r, s, 5);
        check_together(r);
        ttape_reader_close(r);
        *byte ^= 1;
    }
    close_plan(&o);
}
END_TEST

/* ---- against trees ---- */

START_TEST(trees_have_the_same_calls)
{
    struct ttest_opened o = open_plan(_i);
    ttape_error err = {0};
    ttape_tree *tree;
    ttape_call call;
    TTEST_OK(ttape_tree_open(&tree, o.reader, NULL, &err));
    ttape_call_cursor *c = open_calls(o.reader, (ttape_call_options){0});
    while (ttape_call_cursor_next(c, &call, &err) == TTAPE_OK) {
        ttape_node node;
        ttape_node_id id = {.kind = TTAPE_NODE_FRAME,
                            .by = TTAPE_NODE_BY_EVENT,
                            .stream = call.stream,
                            .place = call.enter_number};
        if (call.kind == TTAPE_EVENT_EXIT_UNSEEN || call.end_number % 3 != 0)
            continue;
        TTEST_OK(ttape_tree_get_node(tree, &id, TTAPE_TREE_FULL, &node, &err));
        ck_assert_uint_eq(node.site, call.site);
        ck_assert_uint_eq(node.frame_kind, call.kind);
        ck_assert_uint_eq(node.argument, call.argument);
        ck_assert_uint_eq(node.stack, call.stack);
        ck_assert_uint_eq(node.level, call.height);
        ck_assert_uint_eq(node.enter_ns, call.enter_ns);
        ck_assert_uint_eq(node.end_ns, call.end_ns);
        ck_assert_int_eq(node.self_ns, call.self_ns);
        ck_assert_uint_eq(node.end,
                          call.end == TTAPE_CALL_LEFT ? TTAPE_NODE_OPEN : TTAPE_NODE_ENDED);
    }
    ttape_call_cursor_close(c);
    ttape_tree_close(tree);
    close_plan(&o);
}
END_TEST

/* ---- values ---- */

START_TEST(arguments_stay_until_the_end)
{
    struct ttest_opened o = open_plan(3);
    ttape_error err = {0};
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_call call;
    size_t with = 0;
    ttape_call_cursor *c = open_calls(o.reader, (ttape_call_options){.values = true});
    while (ttape_call_cursor_next(c, &call, &err) == TTAPE_OK) {
        if (call.kind != TTAPE_EVENT_ENTER)
            continue;
        TTEST_OK(ttape_cursor_open(&cursor, o.reader, call.stream, &err));
        TTEST_OK(ttape_cursor_seek_event(cursor, call.enter_number, &err));
        TTEST_OK(ttape_cursor_next(cursor, &item, &err));
        ck_assert_uint_eq(item.value_count, call.argument_count);
        for (uint32_t i = 0; i < item.value_count; i++) {
            const ttape_value *a = &item.values[i], *b = &call.arguments[i];
            ck_assert(a->type == b->type && a->number == b->number);
            ck_assert_uint_eq(a->bytes.size_bytes, b->bytes.size_bytes);
            ck_assert(a->bytes.size_bytes == 0 ||
                      memcmp(a->bytes.data, b->bytes.data, a->bytes.size_bytes) == 0);
        }
        with += call.argument_count > 0;
        ttape_cursor_close(cursor);
    }
    ck_assert_uint_gt(with, 50);
    ttape_call_cursor_close(c);
    close_plan(&o);
}
END_TEST

/* ---- limits ---- */

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_opened o = open_plan(3);
    ttape_call_cursor *c;
    ttape_error err = {0};
    uint32_t twice[] = {1, 1}, none = 99;
    ttape_call_options bad = {.size = sizeof bad, .has_range = true, .from_ns = 2, .to_ns = 1};
    ck_assert_int_eq(ttape_call_cursor_open(NULL, o.reader, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_call_cursor_open(&c, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_call_cursor_open(&c, o.reader, &bad, &err), TTAPE_E_ARGUMENT);
    bad = (ttape_call_options){.size = sizeof bad, .streams = twice, .stream_count = 2};
    ck_assert_int_eq(ttape_call_cursor_open(&c, o.reader, &bad, &err), TTAPE_E_ARGUMENT);
    bad.streams = &none;
    bad.stream_count = 1;
    ck_assert_int_eq(ttape_call_cursor_open(&c, o.reader, &bad, &err), TTAPE_E_NOT_FOUND);
    ck_assert_ptr_null(c);
    ttape_call_cursor_close(NULL);
    close_plan(&o);
}
END_TEST

START_TEST(memory_is_bounded)
{
    struct ttest_opened o = open_plan(3);
    ttape_error err = {0};
    int over = 0, done = 0;
    for (uint64_t bytes = 500; bytes < 200000; bytes += 1000) {
        ttape_call_cursor *c;
        ttape_call call;
        ttape_call_options options = {
            .size = sizeof options, .values = true, .memory_bytes = bytes};
        ttape_status status = ttape_call_cursor_open(&c, o.reader, &options, &err);
        while (status == TTAPE_OK)
            status = ttape_call_cursor_next(c, &call, &err);
        over += status == TTAPE_E_LIMIT;
        done += status == TTAPE_END;
        if (c != NULL)
            ck_assert_int_eq(ttape_call_cursor_next(c, &call, &err), TTAPE_END);
        ttape_call_cursor_close(c);
    }
    ck_assert_int_gt(over, 10);
    ck_assert_int_gt(done, 10);
    ck_assert_int_eq(over + done, 200);
    close_plan(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calls");
    TCase *tests = tcase_create("calls");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, calls_are_those_of_the_model, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, untimed_steps_are_the_same, 0, TTEST_PLANS);
    tcase_add_test(tests, partitions_make_no_difference);
    tcase_add_loop_test(tests, reports_add_up_calls, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, ranges_are_those_of_reports, 0, 2);
    tcase_add_loop_test(tests, edges_have_the_same_stacks, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, behind_damage_the_stacks_are_right_again, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, trees_have_the_same_calls, 0, TTEST_PLANS);
    tcase_add_test(tests, arguments_stay_until_the_end);
    tcase_add_test(tests, what_cannot_be_is_refused);
    tcase_add_test(tests, memory_is_bounded);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
