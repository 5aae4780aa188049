/* Paths that lead to functions: of a small trace, number by number; of traces with events of every
 * kind, against the model of analysis_fixture.h; of a truncated file; what is refused. */
#include <tracetape/reach.h>

#include "tests/unit/report_model.h"

static ttape_reach *find(ttape_reader *r, ttape_reach_options how)
{
    ttape_reach *reach;
    ttape_error err = {0};
    how.size = sizeof how;
    TTEST_OK(ttape_reach_find(&reach, r, &how, &err));
    return reach;
}

static bool is_site(void *context, uint32_t site) { return site == *(const uint32_t *)context; }

/* ---- a small trace ---- */

enum { MAIN, WORK, LEAF, TWIN, SITES };

static void append(ttape_writer *w, uint32_t stream, uint64_t time_ns, ttape_event_kind kind,
                   uint32_t number)
{
    bool is_signal = kind == TTAPE_EVENT_SIGNAL_BEGIN || kind == TTAPE_EVENT_SIGNAL_END;
    ttape_event e = {.time_ns = time_ns,
                     .kind = kind,
                     .site = is_signal ? TTAPE_NONE : number,
                     .argument = is_signal ? number : 0,
                     .depth = TTAPE_DEPTH_AUTO};
    ttape_error err = {0};
    TTEST_OK(ttape_writer_append(w, stream, &e, 1, &err));
}

static struct ttest_file make(void (*write)(ttape_writer *w))
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    write(w);
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return ttest_take(&memory);
}

/* LEAF is called by main and by work, which calls itself; in a handler; and in a second thread.
 * TWIN is LEAF in another process. */
static void write_small(ttape_writer *w)
{
    static const char *const names[SITES] = {"main", "work", "leaf", "leaf"};
    static const struct {
        uint32_t stream, time;
        ttape_event_kind kind;
        uint32_t number;
    } events[] = {
        {0, 100, TTAPE_EVENT_ENTER, MAIN},      {0, 110, TTAPE_EVENT_ENTER, LEAF},
        {0, 115, TTAPE_EVENT_EXIT, LEAF},       {0, 120, TTAPE_EVENT_ENTER, WORK},
        {0, 130, TTAPE_EVENT_ENTER, WORK},      {0, 140, TTAPE_EVENT_ENTER, LEAF},
        {0, 150, TTAPE_EVENT_ENTER, LEAF},      {0, 157, TTAPE_EVENT_EXIT, LEAF},
        {0, 160, TTAPE_EVENT_EXIT, LEAF},       {0, 170, TTAPE_EVENT_EXIT, WORK},
        {0, 180, TTAPE_EVENT_SIGNAL_BEGIN, 11}, {0, 190, TTAPE_EVENT_ENTER, LEAF},
        {0, 193, TTAPE_EVENT_EXIT, LEAF},       {0, 195, TTAPE_EVENT_SIGNAL_END, 11},
        {0, 200, TTAPE_EVENT_EXIT, WORK},       {0, 210, TTAPE_EVENT_EXIT, MAIN},
        {1, 300, TTAPE_EVENT_ENTER, MAIN},      {1, 310, TTAPE_EVENT_ENTER, TWIN},
        {1, 340, TTAPE_EVENT_ENTER, WORK},
    };
    uint32_t id;
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < SITES; i++) {
        ttape_site site = {.address = 16 * (i + 1),
                           .module = TTAPE_NONE,
                           .kind = TTAPE_SITE_FUNCTION,
                           .symbol = ttest_string(names[i])};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    }
    for (uint32_t i = 0; i < 2; i++) {
        ttape_stream stream = {.tid = i + 1};
        ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    }
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        append(w, events[i].stream, events[i].time, events[i].kind, events[i].number);
}

static void check_paths(const ttape_reach *reach, const ttape_reach_path *wanted, uint32_t count)
{
    uint32_t found;
    const ttape_reach_path *paths = ttape_reach_get_paths(reach, &found);
    ck_assert_uint_eq(found, count);
    for (uint32_t i = 0; i < count; i++) {
        const ttape_reach_path *p = &paths[i], *w = &wanted[i];
        ck_assert_uint_eq(p->before, w->before);
        ck_assert_uint_eq(p->site, w->site);
        ck_assert_int_eq(p->is_signal, w->is_signal);
        ck_assert_int_eq(p->is_end, w->is_end);
        ck_assert_uint_eq(p->signal, w->signal);
        ck_assert_uint_eq(p->length, w->length);
        ck_assert_uint_eq(p->call_count, w->call_count);
        ck_assert_uint_eq(p->recursion_count, w->recursion_count);
        ck_assert_int_eq(p->total_ns, w->total_ns);
        ck_assert_int_eq(p->self_ns, w->self_ns);
    }
}

static void check_small(ttape_reader *r, ttape_reach_options how, const ttape_reach_path *wanted,
                        uint32_t count, int64_t span_ns, uint64_t call_count)
{
    ttape_reach_info info;
    ttape_reach *reach = find(r, how);
    check_paths(reach, wanted, count);
    ttape_reach_get_info(reach, &info);
    ck_assert_uint_eq(info.path_count, count);
    ck_assert(info.has_times && info.damaged_count == 0);
    ck_assert_int_eq(info.span_ns, span_ns);
    ck_assert_uint_eq(info.call_count, call_count);
    ttape_reach_close(reach);
}

START_TEST(paths_of_a_small_trace)
{
    static const ttape_reach_path wanted[] = {
        {TTAPE_NONE, MAIN, .length = 1},
        {0, LEAF, .is_end = true, .length = 2, .call_count = 2, .total_ns = 35, .self_ns = 35},
        {0, WORK, .length = 2},
        {2, LEAF, .is_end = true, .length = 3, .call_count = 2, .recursion_count = 1,
         .total_ns = 20, .self_ns = 20},
        {2, TTAPE_NONE, .is_signal = true, .signal = 11, .length = 3},
        {4, LEAF, .is_end = true, .length = 4, .call_count = 1, .total_ns = 3, .self_ns = 3},
    };
    static const ttape_reach_path of_first[] = {
        {TTAPE_NONE, MAIN, .length = 1},
        {0, LEAF, .is_end = true, .length = 2, .call_count = 1, .total_ns = 5, .self_ns = 5},
    };
    static const ttape_reach_path of_middle[] = {
        {TTAPE_NONE, MAIN, .length = 1},
        {0, WORK, .length = 2},
        {1, LEAF, .is_end = true, .length = 3, .call_count = 1, .recursion_count = 1,
         .total_ns = 11, .self_ns = 11},
    };
    const struct ttest_file file = make(write_small);
    ttape_reader *r = ttest_open(&file);
    uint32_t leaf = LEAF, twin = TWIN, first = 0;
    ttape_reach_options how = {.selects = is_site, .context = &leaf};
    check_small(r, how, wanted, 6, 150, 10);
    how.context = &twin; /* the same function */
    check_small(r, how, wanted, 6, 150, 10);
    how.streams = &first;
    how.stream_count = 1;
    how.has_range = true;
    how.to_ns = 120;
    check_small(r, how, of_first, 2, 20, 2);
    how.from_ns = 145; /* both works and a leaf are open there */
    how.to_ns = 156;
    check_small(r, how, of_middle, 3, 11, 1);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* ---- how sites are grouped ---- */

/* Two executions map one module. Which of the sites before it is the same function as each: */
static const struct {
    uint32_t module, offset;
    const char *file, *symbol;
    uint32_t same_as;
} alike[] = {
    {0, 16, "a.c", "f", 0}, {0, 32, "a.c", "f", 0}, {1, 48, "a.c", "f", 0}, /* by file */
    {0, 16, "b.c", "f", 3}, {2, 16, "a.c", "f", 4},                         /* others' */
    {0, 16, "", "f", 5},    {1, 16, "", "f", 5},    {0, 32, "", "f", 7},    /* by offset */
    {0, 16, "", "", 8},     {1, 16, "", "", 8},     {0, 32, "", "", 10},
    {3, 16, "", "f", 11},   {3, 32, "", "f", 11},   {3, 16, "", "", 13}, /* in no module */
    {3, 32, "", "", 14},
};

#define ALIKE (sizeof alike / sizeof alike[0])

static void write_alike(ttape_writer *w)
{
    static const char *const paths[] = {"/bin/a", "/bin/a", "/bin/b"};
    const ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    const ttape_stream stream = {.tid = 1};
    uint32_t id;
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        const ttape_module module = {.start = 4096 * (i + 1),
                                     .end = 4096 * (i + 2),
                                     .process = TTAPE_NONE,
                                     .path = ttest_string(paths[i])};
        ck_assert_int_eq(ttape_writer_add_module(w, &module, &id, NULL), TTAPE_OK);
    }
    for (uint32_t i = 0; i < ALIKE; i++) {
        bool has_module = alike[i].module < 3;
        const ttape_site site = {.address = alike[i].offset +
                                            (has_module ? 4096 * (alike[i].module + 1) : 0),
                                 .module = has_module ? alike[i].module : TTAPE_NONE,
                                 .kind = TTAPE_SITE_FUNCTION,
                                 .symbol = ttest_string(alike[i].symbol),
                                 .file = ttest_string(alike[i].file)};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
        append(w, 0, 100 + 20 * i, TTAPE_EVENT_ENTER, id);
        append(w, 0, 110 + 20 * i, TTAPE_EVENT_EXIT, id);
    }
}

START_TEST(sites_are_grouped_by_what_they_say)
{
    const struct ttest_file file = make(write_alike);
    ttape_reader *r = ttest_open(&file);
    ttape_reach *reach = find(r, (ttape_reach_options){0});
    uint32_t count, at = 0;
    const ttape_reach_path *paths = ttape_reach_get_paths(reach, &count);
    for (uint32_t i = 0; i < ALIKE; i++) {
        uint64_t calls = 0;
        for (uint32_t other = 0; other < ALIKE; other++)
            calls += alike[other].same_as == i;
        if (calls == 0)
            continue;
        ck_assert_uint_lt(at, count);
        ck_assert_uint_eq(paths[at].site, i);
        ck_assert_uint_eq(paths[at++].call_count, calls);
    }
    ck_assert_uint_eq(count, at);
    ttape_reach_close(reach);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

static uint32_t all_one(void *context, uint32_t site)
{
    (void)context;
    return site == MAIN ? TTAPE_NONE : 3;
}

static uint32_t too_many(void *context, uint32_t site)
{
    (void)context;
    return site + 1;
}

START_TEST(sites_are_grouped_as_the_caller_says)
{
    static const ttape_reach_path wanted[] = {
        {TTAPE_NONE, TTAPE_NONE, .length = 1},
        {0, WORK, .is_end = true, .length = 2, .call_count = 7, .recursion_count = 4,
         .total_ns = 115, .self_ns = 100},
        {1, TTAPE_NONE, .is_signal = true, .signal = 11, .length = 3},
        {2, WORK, .is_end = true, .length = 4, .call_count = 1, .total_ns = 3, .self_ns = 3},
    };
    const struct ttest_file file = make(write_small);
    ttape_reader *r = ttest_open(&file);
    uint32_t work = WORK;
    ttape_error err = {0};
    ttape_reach *reach;
    ttape_reach_options how = {
        .size = sizeof how, .selects = is_site, .group = all_one, .context = &work};
    check_small(r, how, wanted, 4, 150, 10);
    how.group = too_many;
    ck_assert_int_eq(ttape_reach_find(&reach, r, &how, &err), TTAPE_E_ARGUMENT);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* ---- against the model ---- */

/* Of all functions: each call, and its time on top, is in one path. */
START_TEST(all_calls_are_in_paths)
{
    struct ttest_opened o = open_plan(_i);
    ttape_reach *reach = find(o.reader, (ttape_reach_options){0});
    uint64_t calls[TTEST_SITES] = {0}, wanted_calls[TTEST_SITES] = {0};
    int64_t self[TTEST_SITES] = {0}, wanted_self[TTEST_SITES] = {0};
    uint32_t count;
    const ttape_reach_path *paths = ttape_reach_get_paths(reach, &count);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert(paths[i].before == TTAPE_NONE || paths[i].before < i);
        ck_assert_uint_eq(paths[i].length,
                          paths[i].before == TTAPE_NONE ? 1 : paths[paths[i].before].length + 1);
        ck_assert_int_eq(paths[i].is_end, !paths[i].is_signal);
        if (!paths[i].is_end)
            continue;
        calls[paths[i].site] += paths[i].call_count;
        self[paths[i].site] += paths[i].self_ns;
    }
    for (size_t i = 0; i < o.model.frame_count; i++) {
        const struct ttest_frame *f = &o.model.frames[i];
        if (f->site == TTAPE_NONE)
            continue;
        wanted_calls[f->site] += f->kind == TTAPE_EVENT_ENTER;
        wanted_self[f->site] += f->self_ns;
    }
    for (uint32_t site = 0; site < TTEST_SITES; site++) {
        ck_assert_uint_eq(calls[site], wanted_calls[site]);
        ck_assert_int_eq(self[site], wanted_self[site]);
    }
    ttape_reach_close(reach);
    close_plan(&o);
}
END_TEST

/* ---- damage ---- */

static void count_damage(void *context, uint32_t stream, const ttape_error *error)
{
    ck_assert_uint_lt(stream, 64);
    ck_assert_int_ge(error->status, TTAPE_E_TRUNCATED);
    ++*(uint64_t *)context;
}

/* What is left of a truncated file, and of one with a damaged partition, is in the answer. */
START_TEST(what_can_be_read_is_found)
{
    struct ttest_opened o = open_plan(0);
    ttape_error err = {0};
    ttape_reach_info whole, info;
    ttape_reach *reach = find(o.reader, (ttape_reach_options){0});
    ttape_reach_get_info(reach, &whole);
    ttape_reach_close(reach);
    const struct ttest_file part = {.data = o.file.data, .size_bytes = o.file.size_bytes / 2};
    ttape_reader *r = ttest_open(&part);
    reach = find(r, (ttape_reach_options){0});
    ttape_reach_get_info(reach, &info);
    ck_assert(info.call_count > 0 && info.call_count < whole.call_count);
    ttape_reach_close(reach);
    ttape_reader_close(r);
    uint64_t damage_count = 0;
    const ttape_reach_options how = {
        .size = sizeof how, .damage = count_damage, .context = &damage_count};
    o.file.data[o.file.size_bytes / 2] ^= 0xff;
    r = ttest_open(&o.file);
    ck_assert_int_ge(ttape_reach_find(&reach, r, NULL, &err), TTAPE_E_TRUNCATED);
    ck_assert_ptr_null(reach);
    reach = find(r, how);
    ttape_reach_get_info(reach, &info);
    ck_assert(info.damaged_count > 0 && info.damaged_count == damage_count);
    ck_assert(info.call_count > 0 && info.call_count < whole.call_count);
    ttape_reach_close(reach);
    ttape_reader_close(r);
    close_plan(&o);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_opened o = open_plan(0);
    ttape_reach *reach = (ttape_reach *)1;
    ttape_error err = {0};
    uint32_t count = 1, stream = 99;
    const ttape_reach_options bad[] = {
        {.size = sizeof bad[0], .has_range = true, .from_ns = 2, .to_ns = 1},
        {.size = sizeof bad[0], .stream_count = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(ttape_reach_find(&reach, o.reader, &bad[i], &err), TTAPE_E_ARGUMENT);
        ck_assert_ptr_null(reach);
    }
    ttape_reach_options one = {.size = sizeof one, .streams = &stream, .stream_count = 1};
    ck_assert_int_eq(ttape_reach_find(&reach, o.reader, &one, &err), TTAPE_E_NOT_FOUND);
    for (uint64_t bytes = 100; bytes <= 1600; bytes *= 4) {
        ttape_reach_options small = {.size = sizeof small, .memory_bytes = bytes};
        ck_assert_int_eq(ttape_reach_find(&reach, o.reader, &small, &err), TTAPE_E_LIMIT);
    }
    ck_assert_int_eq(ttape_reach_find(&reach, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_reach_find(NULL, o.reader, NULL, &err), TTAPE_E_ARGUMENT);
    ttape_reach_close(NULL);
    ck_assert_ptr_null(ttape_reach_get_paths(NULL, &count));
    ck_assert_uint_eq(count, 0);
    close_plan(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reach");
    TCase *tests = tcase_create("reach");
    tcase_add_test(tests, paths_of_a_small_trace);
    tcase_add_test(tests, sites_are_grouped_by_what_they_say);
    tcase_add_test(tests, sites_are_grouped_as_the_caller_says);
    tcase_add_loop_test(tests, all_calls_are_in_paths, 0, TTEST_PLANS);
    tcase_add_test(tests, what_can_be_read_is_found);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
