/* The mixing form with phases: round trips with each kind of period, partial decoding, damage, and
 * that a period is found where there is one. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/times/time_mix.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"

#define EVENTS_MOST 40000u

struct input {
    struct ttp_times times;
    uint32_t codes[EVENTS_MOST], segment_start[3], delta[EVENTS_MOST];
    int64_t wide[EVENTS_MOST];
};

static uint32_t random_below(uint32_t limit)
{
    static uint64_t seed = 3;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % limit);
}

/* Times that are 0, 1 or 2 modulo the period; 0: any. */
static void make_input(struct input *in, uint32_t events, uint32_t period, bool odd)
{
    uint32_t wide = 0, phase = 0;

    for (uint32_t i = 0; i < events; i++) {
        uint32_t delta = 30 + i % 24 * 7 + random_below(200);
        in->codes[i] = i % 24;
        if (period != 0)
            delta += (period - (phase + delta) % period) % period + random_below(3) % period;
        if (odd && random_below(50) == 0)
            delta = random_below(3) == 0 ? TTP_DELTA_WIDE : 1u << random_below(32);
        in->delta[i] = delta;
        if (delta == TTP_DELTA_WIDE)
            in->wide[wide++] = -(int64_t)random_below(1000) - 1;
        else if (period != 0)
            phase = (uint32_t)(((uint64_t)phase + delta) % period);
    }
    in->segment_start[0] = 0;
    in->segment_start[1] = odd ? events / 3 : events;
    in->segment_start[2] = events;
    in->times = (struct ttp_times){
        in->codes, in->segment_start, in->delta, in->wide, events, odd ? 2 : 1, 24, wide, wide};
}

/* In a block of just its size. */
static struct ttp_bytes encode(const struct input *in, uint32_t period)
{
    uint32_t n = in->times.event_count;
    size_t room = ttp_time_phase_workspace(n), bound = ttp_time_mix_encode_bound(n);
    void *workspace = malloc(room);
    struct ttp_buffer to = {malloc(bound), bound, 0};
    ttape_error err = {0};
    memset(workspace, 0xa5, room);
    ck_assert_int_eq(ttp_time_phase_encode_with(&in->times, period,
                                                (struct ttp_workspace){workspace, room}, &to, &err),
                     TTAPE_OK);
    free(workspace);
    uint8_t *exact = malloc(to.size + (to.size == 0));
    memcpy(exact, to.data, to.size);
    free(to.data);
    return (struct ttp_bytes){exact, to.size};
}

static ttape_status decode(const struct input *in, struct ttp_bytes from, uint32_t block,
                           uint32_t blocks, struct ttp_times *out, ttape_error *err)
{
    size_t room = ttp_time_phase_decode_workspace(in->times.event_count, 24);
    void *workspace = malloc(room);
    memset(workspace, 0x5a, room);
    ttape_status status = ttp_time_phase_decode(out, block, blocks, from,
                                                (struct ttp_workspace){workspace, room}, err);
    free(workspace);
    ck_assert(status == TTAPE_OK || strncmp(err->rule, "T-MIX-", 6) == 0);
    return status;
}

static struct ttp_times output(const struct input *in)
{
    struct ttp_times out = in->times;
    out.delta = calloc(in->times.event_count + 1, sizeof *out.delta);
    out.wide = calloc(in->times.wide_count + 1, sizeof *out.wide);
    return out;
}

static void free_output(struct ttp_times *out)
{
    free(out->delta);
    free(out->wide);
}

static void check_round_trip(const struct input *in, uint32_t period)
{
    struct ttp_bytes section = encode(in, period);
    struct ttp_times out = output(in);
    uint32_t n = in->times.event_count;
    int64_t ticks[2] = {0};
    ttape_error err = {0};
    ck_assert(n == 0 || section.data[0] == period);
    ck_assert_int_eq(decode(in, section, 0, UINT32_MAX, &out, &err), TTAPE_OK);
    ck_assert_uint_eq(out.wide_count, in->times.wide_count);
    ck_assert_mem_eq(out.delta, in->delta, n * sizeof *in->delta);
    ck_assert_mem_eq(out.wide, in->wide, out.wide_count * sizeof *in->wide);
    ck_assert_int_eq(ttp_time_phase_directory(n, ticks, section.data, section.size, &err),
                     TTAPE_OK);
    if (n > TTP_TIME_BLOCK_EVENTS) {
        uint32_t first = TTP_TIME_BLOCK_EVENTS;
        memset(out.delta, 0, n * sizeof *out.delta);
        ck_assert_int_eq(decode(in, section, 1, 1, &out, &err), TTAPE_OK);
        ck_assert_mem_eq(out.delta + first, in->delta + first, (n - first) * sizeof *out.delta);
        ck_assert_uint_eq(out.delta[first - 1], 0);
    }
    free_output(&out);
    free((void *)(uintptr_t)section.data);
}

static struct input in;

START_TEST(round_trip) /* T-MIX-21 to T-MIX-26 */
{
    static const uint32_t periods[] = {2, 3, 20, 127, 128}, sizes[] = {0, 1, 2, 457, 3000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        make_input(&in, sizes[s], periods[_i], false);
        check_round_trip(&in, periods[_i]);
        make_input(&in, sizes[s], 0, true); /* of no period at all */
        check_round_trip(&in, periods[_i]);
    }
    make_input(&in, EVENTS_MOST, 20, true);
    check_round_trip(&in, periods[_i]);
}
END_TEST

START_TEST(damage) /* T-MIX-21 */
{
    static const uint8_t bad[] = {0, 1, 129, 255};
    make_input(&in, 900, 20, true);
    struct ttp_bytes section = encode(&in, 20);
    struct ttp_times out = output(&in);
    uint8_t *bytes = malloc(section.size);
    ttape_error err = {0};
    int64_t ticks[1];
    for (size_t size = 0; size < section.size; size += 1 + ttest_every(7)) {
        ttape_status status =
            decode(&in, (struct ttp_bytes){section.data, size}, 0, UINT32_MAX, &out, &err);
        ck_assert(status != TTAPE_OK || size + 4 > section.size); /* or other numbers */
        ck_assert(size != 0 || strcmp(err.rule, "T-MIX-21") == 0);
    }
    for (size_t bit = 0; bit < 8 * section.size; bit += ttest_every(13)) {
        memcpy(bytes, section.data, section.size);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)decode(&in, (struct ttp_bytes){bytes, section.size}, 0, UINT32_MAX, &out, &err);
    }
    for (size_t i = 0; i < sizeof bad; i++) {
        memcpy(bytes, section.data, section.size);
        bytes[0] = bad[i];
        ck_assert_int_eq(
            decode(&in, (struct ttp_bytes){bytes, section.size}, 0, UINT32_MAX, &out, &err),
            TTAPE_E_CORRUPT);
        ck_assert_str_eq(err.rule, "T-MIX-21");
        ck_assert_int_eq(ttp_time_phase_directory(900, ticks, bytes, section.size, &err),
                         TTAPE_E_CORRUPT);
    }
    free(bytes);
    free_output(&out);
    free((void *)(uintptr_t)section.data);
}
END_TEST

START_TEST(finding)
{
    static const uint32_t periods[] = {5, 20, 41, 128};
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        make_input(&in, 20000, periods[i], false);
        uint32_t found = ttp_time_phase_find(&in.times);
        ck_assert_msg(found == periods[i], "%u in place of %u", found, periods[i]);
    }
    make_input(&in, 1023, 20, false);
    ck_assert_uint_eq(ttp_time_phase_find(&in.times), 0);
    make_input(&in, 20000, 0, false);
    ck_assert_uint_eq(ttp_time_phase_find(&in.times), 0);
    in.times.event_count = 3000;
    ck_assert_uint_eq(ttp_time_phase_find(&in.times), 0);
}
END_TEST

/* Three of twenty phases: 2.7 bits of each time are known, and the form without learns some of
 * them. */
START_TEST(worth_it)
{
    make_input(&in, EVENTS_MOST, 20, false);
    struct ttp_bytes section = encode(&in, 20);
    size_t room = ttp_time_mix_encode_workspace(EVENTS_MOST);
    size_t bound = ttp_time_mix_encode_bound(EVENTS_MOST);
    void *workspace = malloc(room);
    struct ttp_buffer to = {malloc(bound), bound, 0};
    ttape_error err;
    ck_assert_int_eq(
        ttp_time_mix_encode(&in.times, (struct ttp_workspace){workspace, room}, &to, &err),
        TTAPE_OK);
    ck_assert_uint_lt(section.size * 10, to.size * 9);
    free(workspace);
    free(to.data);
    free((void *)(uintptr_t)section.data);
    ck_assert_uint_le(ttp_time_phase_workspace(1000000), 42u << 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("time_phase");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 280);
    tcase_add_loop_test(tests, round_trip, 0, 5);
    tcase_add_test(tests, damage);
    tcase_add_test(tests, finding);
    tcase_add_test(tests, worth_it);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
