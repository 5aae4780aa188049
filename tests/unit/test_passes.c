/* Passes of blocks, by a small run whose passes are known: whose they are, what came behind what,
 * calls that did not return; one call alone; what is refused. */
#include <tracetape/passes.h>

#include "tests/unit/test_reader_fixture.h"

/* f calls g; A and B are blocks of f, C is one of g. */
enum { F, G, A, B, C, SITES };

#define FIRST 5 /* the event that enters g first */

static const struct {
    ttape_event_kind kind;
    uint32_t number; /* a site, or how many frames are left */
} events[] = {
    {TTAPE_EVENT_ENTER, F}, {TTAPE_EVENT_LEAF, A},   {TTAPE_EVENT_LEAF, B}, {TTAPE_EVENT_LEAF, A},
    {TTAPE_EVENT_LEAF, C}, /* right in front of an enter of its function: of that call */
    {TTAPE_EVENT_ENTER, G}, {TTAPE_EVENT_EXIT, G},   {TTAPE_EVENT_LEAF, B}, {TTAPE_EVENT_ENTER, G},
    {TTAPE_EVENT_LEAF, C},  {TTAPE_EVENT_UNWIND, 1}, {TTAPE_EVENT_LEAF, A}, {TTAPE_EVENT_EXIT, F},
};

static struct ttest_file make(void)
{
    static const char *const names[SITES] = {"f", "g", "", "", ""};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    uint32_t id;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < SITES; i++) {
        const ttape_site site = {.module = TTAPE_NONE,
                                 .kind = i < A ? TTAPE_SITE_FUNCTION : TTAPE_SITE_BLOCK,
                                 .address = 16 + i,
                                 .symbol = ttest_string(names[i])};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    }
    const ttape_process process = {.pid = 1};
    ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
    const ttape_stream stream = {.tid = 1};
    ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < sizeof events / sizeof *events; i++) {
        bool is_unwind = events[i].kind == TTAPE_EVENT_UNWIND;
        const ttape_event event = {.time_ns = 100 + i,
                                   .kind = events[i].kind,
                                   .site = is_unwind ? TTAPE_NONE : events[i].number,
                                   .argument = is_unwind ? events[i].number : 0,
                                   .depth = TTAPE_DEPTH_AUTO};
        ck_assert_int_eq(ttape_writer_append(w, id, &event, 1, NULL), TTAPE_OK);
    }
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return ttest_take(&memory);
}

static const ttape_passes_site sites[SITES] = {
    [F] = {.function = 1},
    [G] = {.function = 2, .is_chosen = true},
    [A] = {.function = 1, .is_block = true},
    [B] = {.function = 1, .is_block = true},
    [C] = {.function = 2, .is_block = true, .is_first = true, .is_watched = true}};

static ttape_passes_options options_of(void)
{
    return (ttape_passes_options){
        .size = sizeof(ttape_passes_options), .sites = sites, .site_count = SITES};
}

static uint64_t count_of(const ttape_passes_pair *pairs, uint32_t count, uint32_t from, uint32_t to,
                         uint64_t *jumped)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            ck_assert(pairs[i - 1].from < pairs[i].from ||
                      (pairs[i - 1].from == pairs[i].from && pairs[i - 1].to < pairs[i].to));
        if (pairs[i].from == from && pairs[i].to == to) {
            *jumped = pairs[i].jumped;
            return pairs[i].count;
        }
    }
    return 0;
}

START_TEST(passes_are_of_the_calls_that_made_them)
{
    static const struct {
        uint32_t from, to;
        uint64_t count, jumped;
    } wanted[] = {{F, A, 1, 0}, {A, B, 2, 0}, {B, A, 2, 1}, {G, C, 2, 0}, {C, G, 1, 1}};
    struct ttest_trace t = ttest_open_trace(make());
    ttape_passes *passes;
    ttape_passes_info info;
    ttape_error err = {0};
    uint32_t count;
    uint64_t jumped = 0;
    const ttape_passes_options how = options_of();
    TTEST_OK(ttape_passes_make(&passes, t.reader, &how, &err));
    ttape_passes_get_info(passes, &info);
    ck_assert_uint_eq(info.call_count, 3);
    ck_assert(!info.is_partial && info.damaged_count == 0);
    const uint64_t *rows = ttape_passes_get_rows(passes, &count);
    ck_assert_uint_eq(count, SITES);
    ck_assert(rows[F] == 0 && rows[G] == 0 && rows[A] == 3 && rows[B] == 2 && rows[C] == 2);
    const ttape_passes_pair *pairs = ttape_passes_get_pairs(passes, &count);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        uint64_t found = count_of(pairs, count, wanted[i].from, wanted[i].to, &jumped);
        ck_assert_msg(found == wanted[i].count && jumped == wanted[i].jumped,
                      "%u, then %u: %llu, %llu jumped", wanted[i].from, wanted[i].to,
                      (unsigned long long)found, (unsigned long long)jumped);
    }
    ck_assert_uint_eq(count, sizeof wanted / sizeof *wanted);
    pairs = ttape_passes_get_left(passes, &count);
    ck_assert(count == 1 && count_of(pairs, count, B, G, &jumped) == 1);
    const ttape_passes_call *calls = ttape_passes_get_calls(passes, &count);
    ck_assert(count == 2 && calls[0].site == G && calls[0].count == 1);
    ck_assert_uint_eq(calls[0].enter_number, FIRST);
    ck_assert_uint_eq(calls[0].enter_ns, 100 + FIRST);
    ttape_passes_close(passes);
    ttest_close_trace(&t);
}
END_TEST

/* Chosen by function, as one call, and without what the code says. */
START_TEST(only_chosen_calls_count)
{
    struct ttest_trace t = ttest_open_trace(make());
    ttape_passes *passes;
    ttape_passes_info info;
    ttape_error err = {0};
    uint32_t count;
    ttape_passes_options how = options_of();
    how.only_chosen = true;
    TTEST_OK(ttape_passes_make(&passes, t.reader, &how, &err));
    ttape_passes_get_info(passes, &info);
    const uint64_t *rows = ttape_passes_get_rows(passes, &count);
    ck_assert(info.call_count == 2 && rows[A] == 0 && rows[B] == 0 && rows[C] == 2);
    ttape_passes_close(passes);

    how = options_of();
    how.has_call = true;
    how.call_event = FIRST; /* its block stands in front of it */
    TTEST_OK(ttape_passes_make(&passes, t.reader, &how, &err));
    ttape_passes_get_info(passes, &info);
    rows = ttape_passes_get_rows(passes, &count);
    ck_assert(info.call_count == 1 && rows[A] == 0 && rows[C] == 1);
    ttape_passes_close(passes);

    TTEST_OK(ttape_passes_make(&passes, t.reader, NULL, &err));
    ttape_passes_get_info(passes, &info);
    rows = ttape_passes_get_rows(passes, &count);
    ck_assert(info.call_count == 3 && rows[A] == 3 && rows[B] == 2 && rows[C] == 2);
    ttape_passes_close(passes);
    ttest_close_trace(&t);
}
END_TEST

static bool stop(void *context, uint64_t done, uint64_t all)
{
    (void)done;
    ck_assert_uint_eq(all, 0);
    return --*(uint32_t *)context != 0;
}

/* What cannot be read is not said to be no call. */
START_TEST(a_call_that_is_damaged_is_no_missing_one)
{
    struct ttest_file file = make();
    struct ttest_trace t = ttest_open_trace(file);
    ttape_passes *passes;
    ttape_partition_info about;
    ttape_error err = {0};
    ttape_passes_options how = options_of();
    how.has_call = true;
    how.call_event = FIRST;
    (void)ttape_reader_get_partition(t.reader, 0, &about);
    ttape_reader_close(t.reader);
    file.data[about.offset + about.stored_bytes - 2] ^= 1;
    t = ttest_open_trace(file);
    ck_assert_int_ge(ttape_passes_make(&passes, t.reader, &how, &err), TTAPE_E_TRUNCATED);
    ck_assert_ptr_null(passes);
    ttest_close_trace(&t);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_trace t = ttest_open_trace(make());
    ttape_passes *passes;
    ttape_error err = {0};
    uint32_t count, left = 1, refused = 0;
    const uint32_t none = 1;
    ttape_passes_options how = options_of();
    ck_assert_int_eq(ttape_passes_make(NULL, t.reader, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_passes_make(&passes, NULL, NULL, &err), TTAPE_E_ARGUMENT);
    how.has_call = true; /* event 0 enters f, event 1 is a block */
    how.call_event = 1;
    ck_assert_int_eq(ttape_passes_make(&passes, t.reader, &how, &err), TTAPE_E_NOT_FOUND);
    how.call_event = 1000;
    ck_assert_int_eq(ttape_passes_make(&passes, t.reader, &how, &err), TTAPE_E_NOT_FOUND);
    how.call_stream = 1;
    ck_assert_int_eq(ttape_passes_make(&passes, t.reader, &how, &err), TTAPE_E_NOT_FOUND);
    how = options_of();
    how.streams = &none;
    how.stream_count = 1;
    ck_assert_int_eq(ttape_passes_make(&passes, t.reader, &how, &err), TTAPE_E_NOT_FOUND);
    how = options_of();
    how.sites = NULL;
    ck_assert_int_eq(ttape_passes_make(&passes, t.reader, &how, &err), TTAPE_E_ARGUMENT);
    how = options_of();
    const ttape_watch watch = {stop, &left};
    how.watch = &watch;
    ck_assert_int_eq(ttape_passes_make(&passes, t.reader, &how, &err), TTAPE_E_STATE);
    ck_assert_ptr_null(passes);
    how.watch = NULL;
    for (how.memory_bytes = 1;
         ttest_is_short(ttape_passes_make(&passes, t.reader, &how, &err), &passes); refused++)
        how.memory_bytes += 100;
    ck_assert_uint_gt(refused, 20);
    ttape_passes_close(passes);
    ttape_passes_close(NULL);
    ck_assert_ptr_null(ttape_passes_get_rows(NULL, &count));
    ck_assert_ptr_null(ttape_passes_get_pairs(NULL, &count));
    ck_assert_ptr_null(ttape_passes_get_left(NULL, &count));
    ck_assert_ptr_null(ttape_passes_get_calls(NULL, &count));
    ck_assert_uint_eq(count, 0);
    ttest_close_trace(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("passes");
    TCase *tests = tcase_create("passes");
    tcase_add_test(tests, passes_are_of_the_calls_that_made_them);
    tcase_add_test(tests, only_chosen_calls_count);
    tcase_add_test(tests, a_call_that_is_damaged_is_no_missing_one);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
