/* Enters and exits in 16 bytes give the bytes and the errors that events give, however both shapes
 * come by turns: wrong exits, recorded depths, clocks that step, sites that are not there. */
#include "test_reader_fixture.h"

#define SITES 5u /* those that ttest_define makes, and one behind them */
#define COUNT 4000u

struct input {
    ttape_event events[COUNT];
    ttape_enter_exit calls[COUNT];
};

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % below);
}

static uint64_t next_time(uint64_t *state, uint64_t time_ns)
{
    uint32_t which = draw(state, 100);
    if (which == 0)
        return time_ns - draw(state, 1000);
    return time_ns + (which == 1 ? UINT64_C(1) << 33 : draw(state, 500));
}

static void fill(struct input *in, uint64_t seed)
{
    uint64_t state = seed, time_ns = 1000000;
    uint32_t open[COUNT], depth = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        bool exits = depth > 0 && draw(&state, 2) != 0;
        uint32_t site = draw(&state, SITES);
        if (exits && draw(&state, 20) != 0)
            site = open[depth - 1];
        depth -= exits;
        uint32_t recorded = draw(&state, 4) != 0   ? depth
                            : draw(&state, 8) != 0 ? TTAPE_DEPTH_AUTO
                                                   : draw(&state, 40);
        time_ns = next_time(&state, time_ns);
        in->events[i] = (ttape_event){.time_ns = time_ns,
                                      .kind = exits ? TTAPE_EVENT_EXIT : TTAPE_EVENT_ENTER,
                                      .site = site,
                                      .depth = recorded};
        in->calls[i] = (ttape_enter_exit){time_ns, site, recorded << 1 | exits};
        if (!exits)
            open[depth++] = site;
    }
}

/* turns: 0 events alone, 1 calls alone, 2 by turns. */
static struct ttest_file written(const struct input *in, uint64_t resolution_ns, unsigned turns)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options o = {
        .size = sizeof o, .partition_events = 700, .resolution_ns = resolution_ns};
    ttape_writer *w;
    uint64_t state = 7;
    TTEST_OK(ttape_writer_open(&w, &sink, &o, &err));
    ttest_define(w, 1);
    for (uint32_t i = 0, n; i < COUNT; i += n) {
        n = 1 + draw(&state, 300);
        n = n < COUNT - i ? n : COUNT - i;
        if (turns == 1 || (turns == 2 && draw(&state, 2) != 0))
            TTEST_OK(ttape_writer_append_calls(w, 0, in->calls + i, n, &err));
        else
            TTEST_OK(ttape_writer_append(w, 0, in->events + i, n, &err));
    }
    TTEST_OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return ttest_take(&memory);
}

START_TEST(both_shapes_give_the_same_bytes)
{
    static const uint64_t resolutions[] = {0, 64, TTAPE_TIME_NONE};
    struct input *in = malloc(sizeof *in);
    for (uint64_t seed = 1; seed < 6; seed++) {
        fill(in, seed);
        for (unsigned r = 0; r < 3; r++) {
            struct ttest_file events = written(in, resolutions[r], 0);
            for (unsigned turns = 1; turns < 3; turns++) {
                struct ttest_file calls = written(in, resolutions[r], turns);
                ck_assert_uint_eq(calls.size_bytes, events.size_bytes);
                ck_assert_mem_eq(calls.data, events.data, events.size_bytes);
                free(calls.data);
            }
            free(events.data);
        }
    }
    free(in);
}
END_TEST

static ttape_status one_call(uint32_t stream, uint32_t site, uint32_t depth_exit, size_t count)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    ttape_enter_exit call = {1000, site, depth_exit};
    TTEST_OK(ttape_writer_open(&w, &sink, NULL, &err));
    ttest_define(w, 1);
    ttape_status status =
        ttape_writer_append_calls(w, stream, count != 0 ? &call : NULL, count, &err);
    ttape_writer_close(w);
    ttape_memory_sink_close(&memory);
    return status;
}

START_TEST(what_is_wrong_is_refused)
{
    ck_assert_int_eq(one_call(0, 0, TTAPE_DEPTH_AUTO - 1, 1), TTAPE_OK);
    ck_assert_int_eq(one_call(0, 0, TTAPE_DEPTH_AUTO, 1), TTAPE_OK);
    ck_assert_int_eq(one_call(0, UINT32_MAX, 0, 1), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(one_call(9, 0, 0, 1), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(one_call(0, 0, (TTAPE_DEPTH_AUTO >> 1) - 1, 1), TTAPE_OK);
    ck_assert_int_eq(one_call(0, 0, 0, 0), TTAPE_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("append_calls");
    TCase *tests = tcase_create("shapes");
    tcase_add_test(tests, both_shapes_give_the_same_bytes);
    tcase_add_test(tests, what_is_wrong_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
