/* The longest calls against the model of analysis_fixture.h, which has every call: of all functions
 * and of one, by duration and by own time, of streams and time ranges. Traces hold events of every
 * kind, in partitions of many sizes. */
#include <stdlib.h>

#include <tracetape/longest.h>
#include <tracetape/writer.h>

#include "tests/unit/every.h"
#include "tests/unit/report_model.h"

#define MORE_THAN_ALL 20000u /* calls of one of the traces */

struct asked {
    ttape_longest_options options;
    uint32_t site; /* TTAPE_NONE: all */
};

static bool selects(void *context, uint32_t site)
{
    const struct asked *a = context;
    return a->site == TTAPE_NONE || a->site == site;
}

static ttape_longest *find(ttape_reader *r, struct asked *a)
{
    ttape_longest *longest;
    ttape_error err = {0};
    a->options.size = sizeof a->options;
    a->options.selects = selects;
    a->options.context = a;
    TTEST_OK(ttape_longest_find(&longest, r, &a->options, &err));
    return longest;
}

static int64_t length_of(const struct asked *a, uint64_t enter_ns, uint64_t end_ns, int64_t self_ns)
{
    return a->options.by == TTAPE_LONGEST_BY_SELF    ? self_ns
           : a->options.by == TTAPE_LONGEST_BY_START ? -(int64_t)enter_ns
                                                     : (int64_t)(end_ns - enter_ns);
}

static int compare_lengths(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;
    return one < two ? 1 : one > two ? -1 : 0;
}

static bool is_between(const ttape_longest_options *o, int64_t duration_ns)
{
    return duration_ns >= 0 && (uint64_t)duration_ns >= o->least_ns &&
           (uint64_t)duration_ns <= o->most_ns;
}

static bool is_asked(const struct asked *a, const struct ttest_frame *f)
{
    const ttape_longest_options *o = &a->options;
    return f->site != TTAPE_NONE && (a->site == TTAPE_NONE || f->site == a->site) &&
           !(f->ended && f->kind == TTAPE_EVENT_OPEN) && (!o->ended_only || f->is_known) &&
           (o->streams == NULL || f->stream == o->streams[0]) &&
           (!o->has_durations || is_between(o, (int64_t)(f->end_ns - f->enter_ns))) &&
           (!o->has_range || (f->end_ns >= o->from_ns && f->end_ns < o->to_ns));
}

/* Marks the frames of which one callee that is asked for has nine tenths. */
static void mark_callers(const struct ttest_model *m, const struct asked *a, bool *is_told)
{
    for (size_t i = 0; i < m->frame_count; i++) {
        const struct ttest_frame *f = &m->frames[i];
        const struct ttest_frame *caller = NULL;
        if (!is_asked(a, f))
            continue;
        for (size_t k = i; k-- > 0 && caller == NULL && m->frames[k].stream == f->stream;)
            if (m->frames[k].stack == f->stack && m->frames[k].level + 1 == f->level)
                caller = &m->frames[k];
        if (caller == NULL)
            continue;
        int64_t own = (int64_t)(f->end_ns - f->enter_ns);
        int64_t all = (int64_t)(caller->end_ns - caller->enter_ns);
        bool *told = &is_told[caller - m->frames];
        *told = *told || (own <= all && own >= all - all / 10);
    }
}

/* The lengths of all calls that are asked for, the longest first. */
static int64_t *lengths_of(const struct ttest_model *m, const struct asked *a, size_t *count)
{
    int64_t *lengths = malloc((m->frame_count + 1) * sizeof *lengths);
    bool *is_told = calloc(m->frame_count + 1, sizeof *is_told);
    *count = 0;
    if (a->options.without_callers)
        mark_callers(m, a, is_told);
    for (size_t i = 0; i < m->frame_count; i++) {
        const struct ttest_frame *f = &m->frames[i];
        if (is_asked(a, f) && !is_told[i])
            lengths[(*count)++] = length_of(a, f->enter_ns, f->end_ns, f->self_ns);
    }
    free(is_told);
    qsort(lengths, *count, sizeof *lengths, compare_lengths);
    return lengths;
}

static void check_call(const struct ttest_model *m, const ttape_longest_call *call)
{
    const struct ttest_frame *f = NULL;
    for (size_t i = 0; i < m->frame_count && f == NULL; i++)
        if (m->frames[i].stream == call->stream && m->frames[i].event == call->enter_number)
            f = &m->frames[i];
    ck_assert_ptr_nonnull(f);
    const ttape_event *events = m->streams[f->stream].events;
    ck_assert_uint_eq(call->site, f->site);
    ck_assert_uint_eq(call->stack, f->stack);
    ck_assert_uint_eq(call->path_count, f->level);
    ck_assert_uint_eq(call->depth, events[f->event].depth);
    ck_assert_uint_eq(call->enter_ns, f->enter_ns);
    ck_assert_uint_eq(call->end_ns, f->end_ns);
    ck_assert_int_eq(call->self_ns, f->self_ns);
    ck_assert_int_eq(call->duration_ns, (int64_t)(f->end_ns - f->enter_ns));
    ck_assert_int_eq(call->end == TTAPE_CALL_LEFT, !f->ended);
    ck_assert(!call->is_found);
    if (f->ended) {
        ttape_event_kind kind = events[call->end_number].kind;
        ck_assert_uint_eq(events[call->end_number].time_ns, f->end_ns);
        ck_assert(ttest_pops(&events[call->end_number]) > 0);
        ck_assert(kind != TTAPE_EVENT_EXIT || call->end == TTAPE_CALL_RETURNED);
        ck_assert(kind != TTAPE_EVENT_UNWIND || call->end == TTAPE_CALL_UNWOUND ||
                  (call->end == TTAPE_CALL_LOST && !f->is_known));
    }
    for (uint32_t i = 0; i < call->path_count; i++)
        ck_assert_uint_eq(call->path[i].stack, call->stack);
}

/* Returns a hash of the answer. own_times: partitions say the largest ones. */
static uint64_t check_asked(const struct ttest_opened *o, struct asked a, bool own_times)
{
    struct ttest_sum sum = {0};
    ttape_longest *longest = find(o->reader, &a);
    ttape_longest_info info;
    uint32_t count;
    size_t all;
    ttape_longest_get_info(longest, &info);
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    int64_t *wanted = lengths_of(&o->model, &a, &all);
    uint32_t most = a.options.count != 0 ? a.options.count : 10;
    ck_assert_uint_lt(all, MORE_THAN_ALL);
    ck_assert_uint_eq(count, info.call_count);
    ck_assert_uint_eq(count, !info.has_times ? 0 : all < most ? all : most);
    for (uint32_t i = 0; i < count; i++) {
        int64_t length = length_of(&a, calls[i].enter_ns, calls[i].end_ns, calls[i].self_ns);
        if (a.options.without_callers && most < 100) /* a callee was not among the longest */
            ck_assert_int_ge(length, wanted[i]);
        else
            ck_assert_int_eq(length, wanted[i]);
        check_call(&o->model, &calls[i]);
        ttest_mix(&sum, &calls[i].stream, sizeof calls[i].stream);
        ttest_mix(&sum, &calls[i].enter_number, sizeof calls[i].enter_number);
    }
    if (a.options.streams == NULL && !a.options.has_range && !a.options.without_callers &&
        !a.options.has_durations &&
        (a.options.by == TTAPE_LONGEST_BY_DURATION ||
         (a.options.by == TTAPE_LONGEST_BY_SELF && own_times)))
        ck_assert_uint_le(info.decoded_count, most);
    ttape_longest_close(longest);
    free(wanted);
    return sum.hash;
}

static void check_plan(int plan, bool own_times)
{
    struct ttest_opened o = open_plan_with(plan, own_times);
    static const uint32_t counts[] = {0, 1, 3, 100, MORE_THAN_ALL};
    uint64_t seed = 3, length = o.info.time_last_ns - o.info.time_first_ns;
    for (uint32_t i = 0; i < 42; i += ttest_every(11)) {
        struct asked a = {.options = {.by = (ttape_longest_by)(i % 3), .count = counts[i % 5]},
                          .site = i < 6 ? TTAPE_NONE : ttest_random(&seed, o.info.site_count)};
        uint32_t stream = i % o.info.stream_count;
        if (i % 4 == 3) {
            a.options.streams = &stream;
            a.options.stream_count = 1;
        }
        if (i % 5 >= 3) {
            a.options.has_range = true;
            a.options.from_ns = o.info.time_first_ns + ttest_random(&seed, (uint32_t)length + 2);
            a.options.to_ns = a.options.from_ns + ttest_random(&seed, (uint32_t)length + 2);
        }
        a.options.ended_only = i % 7 == 2;
        uint64_t hash = check_asked(&o, a, own_times);
        a.options.jobs = 3;
        ck_assert_uint_eq(check_asked(&o, a, own_times), hash);
    }
    close_plan(&o);
}

/* From no time at all up to longer than any call; often the same one twice. */
START_TEST(durations_are_those_asked_for)
{
    struct ttest_opened o = open_plan_with(_i, true);
    static const uint32_t counts[] = {0, 1, 3, 100, MORE_THAN_ALL};
    uint64_t seed = 7;
    for (uint32_t i = 0; i < 42; i += ttest_every(11)) {
        struct asked a = {.options = {.by = (ttape_longest_by)(i % 3),
                                      .count = counts[i % 5],
                                      .has_durations = true},
                          .site = i < 6 ? TTAPE_NONE : ttest_random(&seed, o.info.site_count)};
        uint32_t one = ttest_random(&seed, (uint32_t)o.model.frame_count);
        int64_t some = (int64_t)(o.model.frames[one].end_ns - o.model.frames[one].enter_ns);
        a.options.most_ns = i % 8 == 7 ? UINT64_MAX : some < 0 ? 0 : (uint64_t)some;
        a.options.least_ns = i % 4 == 1   ? 0
                             : i % 4 == 2 ? a.options.most_ns
                                          : a.options.most_ns / 2;
        a.options.names_only = i % 2 == 0; /* overviews tell of calls */
        uint64_t hash = check_asked(&o, a, true);
        a.options.jobs = 3;
        ck_assert_uint_eq(check_asked(&o, a, true), hash);
    }
    close_plan(&o);
}
END_TEST

START_TEST(calls_are_those_of_the_model)
{
    check_plan(_i, false);
    check_plan(_i, true);
}
END_TEST

START_TEST(callers_are_left_out_for_their_callees)
{
    struct ttest_opened o = open_plan_with(_i, true);
    static const uint32_t counts[] = {0, 1, 3, 100, MORE_THAN_ALL};
    uint64_t seed = 5, length = o.info.time_last_ns - o.info.time_first_ns;
    for (uint32_t i = 0; i < 40; i += ttest_every(7)) {
        struct asked a = {.options = {.count = counts[i % 5], .without_callers = true},
                          .site = i % 8 != 7 ? TTAPE_NONE : ttest_random(&seed, o.info.site_count)};
        uint32_t stream = i % o.info.stream_count;
        if (i % 4 == 3) {
            a.options.streams = &stream;
            a.options.stream_count = 1;
        }
        if (i % 6 >= 4) {
            a.options.has_range = true;
            a.options.from_ns = o.info.time_first_ns + ttest_random(&seed, (uint32_t)length + 2);
            a.options.to_ns = a.options.from_ns + ttest_random(&seed, (uint32_t)length + 2);
        }
        a.options.ended_only = i % 7 == 2;
        a.options.names_only = i % 3 != 2; /* overviews tell of calls */
        uint64_t hash = check_asked(&o, a, true);
        a.options.jobs = 3;
        ck_assert_uint_eq(check_asked(&o, a, true), hash);
    }
    close_plan(&o);
}
END_TEST

/* ---- on the CPU ---- */

static const ttape_longest_call *same_call(const ttape_longest_call *calls, uint32_t count,
                                           const ttape_longest_call *call)
{
    for (uint32_t i = 0; i < count; i++)
        if (calls[i].stream == call->stream && calls[i].enter_number == call->enter_number)
            return &calls[i];
    return NULL;
}

/* What is said of each call alone, out of the switches from its enter to its end, against the
 * search by what partitions say. */
static void check_on_cpu(const struct ttest_opened *o, struct asked a)
{
    struct asked all = {.options = {.count = MORE_THAN_ALL}, .site = a.site};
    uint32_t count, all_count;
    ttape_longest_info info;
    a.options.by = TTAPE_LONGEST_BY_ON_CPU;
    ttape_longest *longest = find(o->reader, &a), *every = find(o->reader, &all);
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    const ttape_longest_call *others = ttape_longest_get_calls(every, &all_count);
    ttape_longest_get_info(longest, &info);
    ck_assert_uint_eq(count, all_count < a.options.count ? all_count : a.options.count);
    ck_assert_uint_le(info.decoded_count, a.options.count + o->info.stream_count);
    for (uint32_t i = 0; i < count; i++) {
        const ttape_longest_call *other = same_call(others, all_count, &calls[i]);
        ck_assert_ptr_nonnull(other);
        ck_assert(!other->off_known || other->on_cpu_ns == calls[i].on_cpu_ns);
        ck_assert(i == 0 || calls[i].on_cpu_ns <= calls[i - 1].on_cpu_ns);
        check_call(&o->model, &calls[i]);
    }
    for (uint32_t i = 0; i < all_count && count < all_count; i++)
        ck_assert(!others[i].off_known || others[i].on_cpu_ns <= calls[count - 1].on_cpu_ns ||
                  same_call(calls, count, &others[i]) != NULL);
    ttape_longest_close(longest);
    ttape_longest_close(every);
}

START_TEST(calls_on_the_cpu_are_those_that_were_there)
{
    struct ttest_opened o = open_plan_with(_i, true);
    uint64_t seed = 11;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t site = i == 0 ? TTAPE_NONE : ttest_random(&seed, o.info.site_count);
        struct asked a = {.options = {.count = i % 3 == 0 ? 10 : 3, .jobs = 1 + i % 2 * 2},
                          .site = site};
        check_on_cpu(&o, a);
    }
    close_plan(&o);
}
END_TEST

/* ---- off the CPU ---- */

static void append(ttape_writer *w, uint32_t stream, uint64_t time_ns, ttape_event_kind kind,
                   uint32_t argument, const ttape_off_span *span)
{
    ttape_event e = {.time_ns = time_ns, .kind = kind, .depth = TTAPE_DEPTH_AUTO};
    e.site = kind == TTAPE_EVENT_SWITCH ? TTAPE_NONE : argument;
    e.argument = kind == TTAPE_EVENT_SWITCH ? argument : 0;
    if (stream == 0)
        ck_assert_int_eq(ttape_writer_add_off(w, stream, span, span != NULL, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_append(w, stream, &e, 1, NULL), TTAPE_OK);
}

/* main calls one function that is blocked, and one that is preempted on its own stack, and while
 * another one is current. Of the second thread nothing is known. */
static void write_off(ttape_writer *w)
{
    const ttape_off_span blocked = {.start_ns = 100, .length_ns = 500, .kind = TTAPE_OFF_BLOCKED};
    const ttape_off_span preempted = {.start_ns = 10, .length_ns = 30, .kind = TTAPE_OFF_PREEMPTED};
    const ttape_off_span near = {.length_ns = 7, .kind = TTAPE_OFF_BLOCKED_NEAR};
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    uint32_t id;
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        ttape_site site = {.address = 16 * i + 16, .module = TTAPE_NONE};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    }
    for (uint32_t i = 0; i < 2; i++) {
        ttape_stream stream = {.tid = i + 1};
        ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    }
    for (uint32_t s = 0; s < 2; s++) {
        append(w, s, 1000, TTAPE_EVENT_ENTER, 0, NULL);
        append(w, s, 1100, TTAPE_EVENT_ENTER, 1, NULL);
        append(w, s, 2100, TTAPE_EVENT_EXIT, 1, &blocked);
        append(w, s, 2200, TTAPE_EVENT_ENTER, 2, NULL);
        append(w, s, 2300, TTAPE_EVENT_SWITCH, 1, &preempted);
        append(w, s, 2500, TTAPE_EVENT_SWITCH, 0, &preempted);
        append(w, s, 2600, TTAPE_EVENT_EXIT, 2, &near);
        append(w, s, 9000, TTAPE_EVENT_EXIT, 0, NULL);
    }
}

static void check_off(const ttape_longest_call *call, int64_t preempted, int64_t blocked,
                      int64_t unknown)
{
    ck_assert_int_eq(call->off_known, call->stream == 0);
    ck_assert_int_eq(call->preempted_ns, call->stream == 0 ? preempted : 0);
    ck_assert_int_eq(call->blocked_ns, call->stream == 0 ? blocked : 0);
    ck_assert_int_eq(call->unknown_ns, call->stream == 0 ? unknown : 0);
}

START_TEST(time_off_the_cpu_is_that_of_the_stack)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .partition_events = (uint32_t)_i + 1};
    ttape_writer *w;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, NULL), TTAPE_OK);
    write_off(w);
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    const struct ttest_file file = {.data = memory.data, .size_bytes = memory.size_bytes};
    ttape_reader *r = ttest_open(&file);
    struct asked all = {.site = TTAPE_NONE};
    ttape_longest *longest = find(r, &all);
    uint32_t count;
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    ck_assert_uint_eq(count, 6);
    for (uint32_t i = 0; i < count; i++)
        if (calls[i].site == 0)
            check_off(&calls[i], 30, 500, 7);
        else if (calls[i].site == 1)
            check_off(&calls[i], 0, 500, 0);
        else
            check_off(&calls[i], 30, 0, 7);
    ttape_longest_close(longest);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Of a call over many partitions, what is between its first and its last is in sums, unless another
 * stack was the current one there, or a span is cut off by its interval. */
static void write_long(ttape_writer *w, uint32_t leaves, bool goes_away, bool is_cut)
{
    const ttape_off_span off = {
        .start_ns = 1, .length_ns = is_cut ? 90 : 5, .kind = TTAPE_OFF_BLOCKED};
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ttape_stream stream = {.tid = 1};
    uint32_t id;
    uint64_t now = 1000;
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < 2; i++) {
        ttape_site site = {.address = 16 * i + 16, .module = TTAPE_NONE};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    }
    ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    append(w, 0, now, TTAPE_EVENT_ENTER, 0, NULL);
    for (uint32_t i = 0; i < leaves; i++) {
        append(w, 0, now += 20, TTAPE_EVENT_ENTER, 1, NULL);
        append(w, 0, now += 20, TTAPE_EVENT_EXIT, 1, &off);
        if (goes_away && i == leaves / 2) {
            append(w, 0, now += 20, TTAPE_EVENT_SWITCH, 1, NULL);
            append(w, 0, now += 20, TTAPE_EVENT_SWITCH, 0, NULL);
        }
    }
    append(w, 0, now + 20, TTAPE_EVENT_EXIT, 0, NULL);
}

START_TEST(time_off_the_cpu_over_many_partitions)
{
    bool goes_away = (_i & 1) != 0, is_cut = (_i & 2) != 0;
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .partition_events = (uint32_t)_i + 1};
    ttape_writer *w;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, NULL), TTAPE_OK);
    write_long(w, 30, goes_away, is_cut);
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    const struct ttest_file file = {.data = memory.data, .size_bytes = memory.size_bytes};
    ttape_reader *r = ttest_open(&file);
    struct asked first = {.options = {.count = 1}, .site = 0};
    ttape_longest *longest = find(r, &first);
    uint32_t count;
    const ttape_longest_call *call = ttape_longest_get_calls(longest, &count);
    int64_t blocked = 30 * (is_cut ? 19 : 5), length = 30 * 40 + 20 + (goes_away ? 40 : 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(call->duration_ns, length);
    if (call->off_known) { /* not over more than 32 partitions */
        ck_assert_int_eq(call->blocked_ns, blocked);
        ck_assert_int_eq(call->on_cpu_ns, length - blocked - (goes_away ? 20 : 0));
    }
    ck_assert_int_eq(call->off_known, _i > 0);
    ttape_longest_close(longest);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_opened o = open_plan(0);
    ttape_longest *longest = (ttape_longest *)1;
    ttape_error err = {0};
    uint32_t count = 1, stream = 99;
    const ttape_longest_options bad[] = {
        {.size = sizeof bad[0], .by = 4},
        {.size = sizeof bad[0], .count = (1u << 20) + 1},
        {.size = sizeof bad[0], .has_range = true, .from_ns = 2, .to_ns = 1},
        {.size = sizeof bad[0], .stream_count = 1},
        {.size = sizeof bad[0], .by = TTAPE_LONGEST_BY_SELF, .without_callers = true},
        {.size = sizeof bad[0], .has_durations = true, .without_callers = true, .most_ns = 1},
        {.size = sizeof bad[0], .has_durations = true, .least_ns = 2, .most_ns = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(ttape_longest_find(&longest, o.reader, &bad[i], &err), TTAPE_E_ARGUMENT);
        ck_assert_ptr_null(longest);
    }
    ttape_longest_options none = {.size = sizeof none, .streams = &stream, .stream_count = 1};
    ck_assert_int_eq(ttape_longest_find(&longest, o.reader, &none, &err), TTAPE_E_NOT_FOUND);
    ttape_longest_options small = {.size = sizeof small, .memory_bytes = 2000, .count = 1000};
    ck_assert_int_eq(ttape_longest_find(&longest, o.reader, &small, &err), TTAPE_E_LIMIT);
    ck_assert_int_eq(ttape_longest_find(&longest, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_longest_find(NULL, o.reader, NULL, &err), TTAPE_E_ARGUMENT);
    ttape_longest_close(NULL);
    ck_assert_ptr_null(ttape_longest_get_calls(NULL, &count));
    ck_assert_uint_eq(count, 0);
    close_plan(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("longest");
    TCase *tests = tcase_create("longest");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, callers_are_left_out_for_their_callees, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, calls_are_those_of_the_model, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, durations_are_those_asked_for, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, calls_on_the_cpu_are_those_that_were_there, 0, 5);
    tcase_add_loop_test(tests, time_off_the_cpu_is_that_of_the_stack, 0, 20);
    tcase_add_loop_test(tests, time_off_the_cpu_over_many_partitions, 0, 20);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
