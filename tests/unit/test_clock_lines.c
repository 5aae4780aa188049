/* Ticks become nanoseconds within a microsecond of the clock that they follow, over a day in which
 * that clock is slewed and the readings are noisy; a tick has one time, and times ascend. The clock
 * is simulated: no test waits. */
#include <stdio.h>
#include <stdlib.h>

#include "recorder/state/clock_lines.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"

#define TICKS_PER_NS 2.9
#define DAY_NS       86400e9
#define ROUND_MAX_NS 4000000u /* what `record` sleeps when nothing comes */
#define SECOND_NS    1000000000u
#define ERROR_MAX_NS 1000u
#define NOISE_MAX_NS 120u
#define FIRST_TICKS  7000000000u
#define FIRST_NS     123456789000u

/* A counter, and a clock whose rate changes: ns since the start, exact enough as parts of 2^-20. */
struct simulation {
    struct ttp_clock_tracker tracker;
    struct ttp_clock clock;
    ttape_allocator allocator;
    uint64_t random;
    double rate;                  /* of the clock, in ns per ns of the counter */
    double wander_ppm, slew_ppm;  /* what it is made of */
    double slew_left_ns, next_ns; /* until it changes */
    uint64_t now_ticks, now_ns;   /* both clocks */
    double rest_ns;               /* of now_ns */
    uint64_t last_event_ns, worst_ns, line_count;
};

static uint32_t draw(struct simulation *s, uint32_t below)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((s->random >> 33) % below);
}

static void begin(struct simulation *s, double error_ppm)
{
    struct ttp_tick_rate first = {FIRST_TICKS, FIRST_NS, 0};
    first.scale = (uint64_t)((1 + error_ppm / 1e6) / TICKS_PER_NS * 4294967296.0);
    *s = (struct simulation){.random = 20, .rate = 1, .now_ticks = FIRST_TICKS, .now_ns = FIRST_NS};
    s->allocator = ttp_allocator_or_default(NULL);
    ttp_clock_track(&s->tracker, &first);
    ttp_clock_begin(&s->clock, &first);
}

static void end(struct simulation *s) { ttp_grown_free(&s->allocator, &s->clock.lines); }

static void go_on(struct simulation *s, uint64_t ticks)
{
    double ns = s->rest_ns + (double)ticks / TICKS_PER_NS * s->rate;
    s->now_ticks += ticks;
    s->now_ns += (uint64_t)ns;
    s->rest_ns = ns - (double)(uint64_t)ns;
}

/* A pair as the recorder reads it: the clock somewhere between two readings of the counter. */
static void sample(struct simulation *s)
{
    uint32_t width_ns = 30 + draw(s, NOISE_MAX_NS - 30), off = draw(s, width_ns + 1);
    if (ttp_clock_follow(&s->tracker, s->now_ticks, s->now_ns + off - width_ns / 2, width_ns) == 0)
        return;
    ck_assert(ttp_clock_add(&s->allocator, &s->clock, &s->tracker.bridge, NULL) == TTAPE_OK);
    ck_assert(ttp_clock_add(&s->allocator, &s->clock, &s->tracker.line, NULL) == TTAPE_OK);
    s->line_count += 2;
}

static void check_event(struct simulation *s, uint64_t ticks, uint64_t true_ns)
{
    uint64_t ns = ttp_clock_ns(&s->clock, ticks);
    uint64_t error = ns > true_ns ? ns - true_ns : true_ns - ns;
    ck_assert_msg(ns >= s->last_event_ns, "time went back");
    s->last_event_ns = ns;
    s->worst_ns = error > s->worst_ns ? error : s->worst_ns;
}

/* A time server's doings: the rate wanders by parts per million each few seconds; now and then the
 * clock is slewed by 500, which is the most that the kernel does. */
static void change_rate(struct simulation *s, double passed_ns)
{
    s->slew_left_ns -= passed_ns;
    s->next_ns -= passed_ns;
    if (s->slew_left_ns <= 0)
        s->slew_ppm = 0;
    if (s->next_ns <= 0) {
        s->next_ns = (1.0 + draw(s, 31)) * SECOND_NS;
        s->wander_ppm += ((double)draw(s, 2001) - 1000) / 100;
        s->wander_ppm = s->wander_ppm > 60 ? 50 : s->wander_ppm < -60 ? -50 : s->wander_ppm;
        if (draw(s, 40) == 0) {
            s->slew_ppm = draw(s, 2) == 0 ? 500 : -500;
            s->slew_left_ns = (0.1 + draw(s, 20) / 10.0) * SECOND_NS;
        }
    }
    s->rate = 1 + (s->wander_ppm + s->slew_ppm) / 1e6;
}

/* One round: the rate changes somewhere inside; two events of it are converted behind its pair. */
static void play_round(struct simulation *s)
{
    uint64_t ticks[2], ns[2];
    for (int i = 0; i < 2; i++) {
        uint64_t part = 100 + draw(s, (uint32_t)(ROUND_MAX_NS / 2 * TICKS_PER_NS));
        go_on(s, part);
        ticks[i] = s->now_ticks;
        ns[i] = s->now_ns;
        change_rate(s, (double)part / TICKS_PER_NS);
    }
    sample(s);
    for (int i = 0; i < 2; i++)
        check_event(s, ticks[i], ns[i]);
}

START_TEST(a_day_with_a_time_server)
{
    struct simulation s;
    begin(&s, 3);
    uint64_t rounds = 0, fixed_at = 0, fixed_ns = 0;
    while ((double)(s.now_ns - FIRST_NS) < DAY_NS / ttest_every(11)) {
        play_round(&s);
        if (++rounds == 1000000) {
            fixed_at = s.now_ticks - 1000;
            fixed_ns = ttp_clock_ns(&s.clock, fixed_at);
        }
    }
    ck_assert_msg(s.worst_ns <= ERROR_MAX_NS, "a time is wrong by %llu ns",
                  (unsigned long long)s.worst_ns);
    ck_assert_msg(s.worst_ns <= s.tracker.error_ns, "%llu ns are said, %llu were seen",
                  (unsigned long long)s.tracker.error_ns, (unsigned long long)s.worst_ns);
    ck_assert_uint_eq(s.tracker.jump_count, 0);
    ck_assert_msg(s.line_count < rounds / 200, "%llu lines in %llu rounds",
                  (unsigned long long)s.line_count, (unsigned long long)rounds);
    ck_assert_uint_eq(ttp_clock_ns(&s.clock, fixed_at), fixed_ns); /* hours later */
    end(&s);
}
END_TEST

/* Calibration was wrong by a hundred times what it is: right again after a few rounds. */
START_TEST(a_bad_start)
{
    struct simulation s;
    begin(&s, 100);
    for (int i = 0; i < 1000; i++)
        play_round(&s);
    ck_assert_uint_le(s.worst_ns, ERROR_MAX_NS);
    s.worst_ns = s.tracker.error_ns = 0;
    for (int i = 0; i < 1000; i++)
        play_round(&s);
    ck_assert_uint_le(s.tracker.error_ns, 3 * NOISE_MAX_NS);
    ck_assert_uint_le(ttp_clock_drift_ppb(&s.tracker), 10000); /* the clock's, not its start's */
    end(&s);
}
END_TEST

/* The machine sleeps: the counter goes on for an hour, the clock does not. */
START_TEST(a_machine_that_sleeps)
{
    struct simulation s;
    begin(&s, 0);
    for (int i = 0; i < 1000; i++)
        play_round(&s);
    s.now_ticks += (uint64_t)(3600e9 * TICKS_PER_NS);
    sample(&s);
    ck_assert_uint_eq(s.tracker.jump_count, 1);
    for (int i = 0; i < 1000; i++)
        play_round(&s);
    ck_assert_uint_eq(s.tracker.jump_count, 1);
    ck_assert_uint_le(s.worst_ns, ERROR_MAX_NS);
    ck_assert_uint_le(s.tracker.error_ns, ERROR_MAX_NS);
    end(&s);
}
END_TEST

/* It wakes with a counter that began again. */
START_TEST(a_counter_that_is_set_back)
{
    struct simulation s;
    begin(&s, 0);
    for (int i = 0; i < 1000; i++)
        play_round(&s);
    s.now_ticks = 5000;
    sample(&s);
    ck_assert_uint_eq(s.tracker.jump_count, 1);
    for (int i = 0; i < 1000; i++)
        play_round(&s);
    ck_assert_uint_eq(s.tracker.jump_count, 1);
    ck_assert_uint_le(s.worst_ns, ERROR_MAX_NS);
    end(&s);
}
END_TEST

/* Where a time is not known, it is that of no ticks at all: before all others, not behind them. */
START_TEST(a_counter_that_began_before_its_clock)
{
    struct ttp_clock clock = {0};
    const struct ttp_tick_rate first = {FIRST_TICKS, SECOND_NS, UINT64_C(1) << 32};
    ttp_clock_begin(&clock, &first);
    ck_assert_uint_eq(ttp_clock_ns(&clock, FIRST_TICKS), SECOND_NS);
    ck_assert_uint_eq(ttp_clock_ns(&clock, FIRST_TICKS - SECOND_NS + 1), 1);
    ck_assert_uint_eq(ttp_clock_ns(&clock, FIRST_TICKS - SECOND_NS - 1), 0);
    ck_assert_uint_eq(ttp_clock_ns(&clock, 0), 0);
}
END_TEST

/* A pair that was interrupted is no reason to change anything, nor is one from before. */
START_TEST(readings_that_say_nothing)
{
    struct simulation s;
    begin(&s, 0);
    for (int i = 0; i < 100; i++)
        play_round(&s);
    uint64_t error_ns = s.tracker.error_ns, used = s.tracker.used;
    ck_assert_uint_eq(ttp_clock_follow(&s.tracker, used + 1000, s.now_ns + 900000, 2000), 0);
    ck_assert_uint_eq(ttp_clock_follow(&s.tracker, used, s.now_ns, 50), 0);
    ck_assert_uint_eq(s.tracker.error_ns, error_ns);
    ck_assert_uint_eq(s.tracker.used, used + 1000);
    end(&s);
}
END_TEST

/* More lines than are kept: what is left still ascends, and the newest are right. */
START_TEST(very_many_lines)
{
    struct ttp_tick_rate first = {1000, 1000, UINT64_C(1) << 32};
    struct ttp_clock clock = {0};
    ttape_allocator allocator = ttp_allocator_or_default(NULL);
    ttp_clock_begin(&clock, &first);
    for (uint64_t i = 1; i <= 1200000; i++) {
        struct ttp_tick_rate line = {1000 + i * 10, 1000 + i * 11, UINT64_C(1) << 32};
        ck_assert(ttp_clock_add(&allocator, &clock, &line, NULL) == TTAPE_OK);
    }
    ck_assert_uint_lt(clock.lines.count, 1100000);
    ck_assert_uint_eq(ttp_clock_ns(&clock, 1000 + 1200000 * 10 + 5), 1000 + 1200000 * 11 + 5);
    ck_assert_uint_eq(ttp_clock_ns(&clock, 1000 + 1100000 * 10 + 9), 1000 + 1100000 * 11 + 9);
    uint64_t last = 0;
    for (uint64_t ticks = 6000000; ticks < 13000000; ticks += 997) {
        uint64_t ns = ttp_clock_ns(&clock, ticks);
        ck_assert(ns >= last);
        last = ns;
    }
    ttp_grown_free(&allocator, &clock.lines);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock_lines");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, a_day_with_a_time_server);
    tcase_add_test(tests, a_bad_start);
    tcase_add_test(tests, a_machine_that_sleeps);
    tcase_add_test(tests, a_counter_that_is_set_back);
    tcase_add_test(tests, a_counter_that_began_before_its_clock);
    tcase_add_test(tests, readings_that_say_nothing);
    tcase_add_test(tests, very_many_lines);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
