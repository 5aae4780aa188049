/* Calls that a filter chooses by their values and times while they are recorded, played: what is
 * held until it is known, and what comes of it; and what triggers do. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena_player.h"

#define F 0x1000u
#define G 0x2000u

static struct ttest_player player;
static ttape_filter *filter, *triggers;
static struct ttest_block block;

/* Patterns of these tests are names. */
static uint64_t match_rules(const ttape_filter *of, const ttape_site *site, uint32_t *count)
{
    uint64_t matched = 0;
    const ttape_filter_rule *rules = ttape_filter_get_rules(of, count);
    for (uint32_t i = 0; i < *count; i++)
        matched |= (uint64_t)(memchr(rules[i].function.data, site->symbol.data[0],
                                     rules[i].function.size_bytes) != NULL)
                   << i;
    return matched;
}

static uint64_t match(void *context, const ttape_site *site, const ttape_module *module)
{
    uint32_t count, more;
    uint64_t matched = match_rules(filter, site, &count);
    (void)context, (void)module;
    return matched | match_rules(triggers, site, &more) << count;
}

static uint32_t select_site(void *context, const ttape_site *site, const ttape_module *module)
{
    uint32_t count, bits = TTAPE_SELECT_KEEP;
    uint64_t matched = match(context, site, module);
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &count);
    bool has_only = false, is_only = false;
    for (uint32_t i = 0; i < count; i++) {
        bool is_its = (matched >> i & 1) != 0;
        if (is_its && rules[i].condition_count != 0)
            return TTAPE_SELECT_KEEP;
        has_only |= rules[i].kind == TTAPE_FILTER_ONLY;
        is_only |= is_its && rules[i].kind == TTAPE_FILTER_ONLY;
        bits |= is_its && rules[i].kind == TTAPE_FILTER_WITHOUT ? TTAPE_SELECT_DROP : 0;
    }
    return has_only && !is_only ? bits | TTAPE_SELECT_DROP : bits;
}

static uint32_t find_argument(void *context, const ttape_site *site, ttape_string name)
{
    (void)context, (void)site;
    return name.data[0] == 'n' ? 0 : TTAPE_NONE;
}

static bool find_constant(void *context, const ttape_site *site, ttape_string name, int64_t *value)
{
    (void)context, (void)site;
    *value = 7;
    return name.size_bytes == 5 && memcmp(name.data, "SEVEN", 5) == 0;
}

static bool compare_text(void *context, uint32_t rule, uint32_t condition, ttape_string text)
{
    (void)context, (void)rule, (void)condition;
    return text.size_bytes == 0 || text.data[0] == 'a'; /* as a* and nothing */
}

static void open_both(const char *text, const char *on, bool starts_off)
{
    TTEST_DONE(ttape_filter_parse(&filter, (ttape_string){text, strlen(text)}, NULL, &err));
    TTEST_DONE(ttape_filter_parse_triggers(&triggers, (ttape_string){on, strlen(on)}, NULL, &err));
    ttape_recording_options options = {.size = sizeof options,
                                       .clock = TTAPE_CLOCK_MONOTONIC,
                                       .rules = {.select = select_site},
                                       .conditions = {filter, triggers, match, find_argument,
                                                      find_constant, compare_text, NULL, starts_off,
                                                      NULL}};
    uint32_t count;
    const ttape_filter_rule *rules = ttape_filter_get_rules(filter, &count);
    for (uint32_t i = 0; i < count; i++) {
        options.rules.has_below |= rules[i].kind == TTAPE_FILTER_BELOW;
        options.rules.has_to |= rules[i].kind == TTAPE_FILTER_TO;
    }
    ttest_player_open(&player, &options);
    block = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 1);
    ttest_site_message(&block, F, TTAPE_SITE_FUNCTION, "f");
    ttest_site_message(&block, G, TTAPE_SITE_FUNCTION, "g");
}

static void open_filter(const char *text) { open_both(text, "", false); }

static void tear_down(void)
{
    ttest_player_close(&player);
    ttape_filter_close(filter);
    ttape_filter_close(triggers);
}

static void say(int64_t value)
{
    uint8_t bytes[9] = {TTAPE_VALUE_SIGNED};
    memcpy(bytes + 1, &value, sizeof value);
    ttest_message(&block, TTP_MESSAGE_VALUES, bytes, sizeof bytes);
}

static void enter_call(uint64_t ns, uint64_t address)
{
    ttest_put(&block, ttp_record_call(TTP_TAG_ENTER, ns, address));
}

static void exit_call(uint64_t ns, uint64_t address)
{
    ttest_put(&block, ttp_record_call(TTP_TAG_EXIT, ns, address));
}

static void call_g(uint64_t ns)
{
    enter_call(ns, G);
    exit_call(ns + 1, G);
}

/* f(given) with a g in it. */
static void call_f(uint64_t ns, int64_t given, int64_t result)
{
    enter_call(ns, F);
    say(given);
    call_g(ns + 1);
    exit_call(ns + 10, F);
    say(result);
}

static void expect(const char *wanted)
{
    ttest_block_state(&block, TTP_BLOCK_DONE);
    ttest_poll(&player);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    ttest_expect(&player, wanted, NULL);
}

START_TEST(arguments_decide_at_once)
{
    open_filter("f(n>3)");
    call_f(10, 3, 0);
    call_f(30, 4, 5);
    call_g(50);
    expect("+f[4] -f[5]");
}
END_TEST

START_TEST(calls_below_go_by_arguments)
{
    open_filter("below f(n=SEVEN)");
    call_g(5);
    call_f(10, 3, 0);
    call_f(30, 7, 1);
    call_g(50);
    expect("+f[7] +g -g -f[1]");
}
END_TEST

START_TEST(results_decide_what_is_below)
{
    open_filter("below f = -1");
    call_f(10, 3, 0);
    call_f(30, 4, -1);
    call_f(50, 5, 1);
    expect("+f[4] +g -g -f[18446744073709551615]");
}
END_TEST

/* What is held behind a call comes in its order, kept or not. */
START_TEST(others_wait_their_turn)
{
    open_filter("f(n>1) = 2, g");
    call_f(10, 1, 2);
    call_f(30, 2, 3);
    call_f(50, 2, 2);
    call_g(70);
    expect("+g -g +g -g +f[2] +g -g -f[2] +g -g");
}
END_TEST

START_TEST(calls_nest)
{
    open_filter("!below f = 0");
    enter_call(10, F);
    enter_call(11, F);
    say(1);
    call_g(12);
    exit_call(15, F);
    say(0);
    call_g(16);
    exit_call(20, F);
    say(9);
    expect("+f +g -g -f[9]");
}
END_TEST

START_TEST(times_decide)
{
    open_filter("below f > 100ns; !g");
    call_f(1000, 1, 1);
    enter_call(2000, F);
    call_g(2001);
    enter_call(2050, F);
    call_g(2101);
    exit_call(2102, F);
    exit_call(2110, F);
    expect("+f +f -f -f");
}
END_TEST

/* Without their exits they have no result. */
START_TEST(calls_are_left)
{
    open_filter("f != 1; !g");
    enter_call(10, F);
    enter_call(11, F);
    ttest_extension(&block, TTP_EXT_UNWIND, 1u << TTP_UNWIND_FORM_BITS | TTP_UNWIND_COUNT);
    exit_call(15, F);
    say(3);
    enter_call(20, F);
    exit_call(21, F); /* its result is not there */
    call_f(30, 0, 1);
    expect("+f -f[3]");
}
END_TEST

START_TEST(handlers_interrupt)
{
    open_filter("!f(n=1) = 1");
    enter_call(10, F);
    ttest_extension(&block, TTP_EXT_SIGNAL_BEGIN, 10); /* before its values */
    call_g(11);
    ttest_extension(&block, TTP_EXT_SIGNAL_END, 0);
    exit_call(15, F);
    say(1);
    enter_call(20, F);
    say(1);
    ttest_extension(&block, TTP_EXT_SIGNAL_BEGIN, 10);
    call_g(21);
    ttest_extension(&block, TTP_EXT_SIGNAL_END, 0);
    exit_call(25, F);
    say(1);
    expect("+f (10 +g -g )10 -f[1] (10 +g -g )10");
}
END_TEST

/* Then what would leave them out does not, and what keeps them does. */
START_TEST(checkpoints_come)
{
    open_filter("!f = 0");
    enter_call(10, F);
    ttest_flush(&player);
    exit_call(11, F);
    say(0);
    call_f(20, 1, 0);
    expect("+f -f[0] +g -g");
}
END_TEST

START_TEST(threads_end)
{
    open_filter("f = 0, f > 100ns; !g");
    enter_call(10, F);
    enter_call(200, F);
    enter_call(205, G);
    ttest_extension(&block, TTP_EXT_END, 0);
    expect("+f");
}
END_TEST

START_TEST(stacks_change)
{
    open_filter("f = 1");
    enter_call(10, F);
    ttest_extension(&block, TTP_EXT_SWITCH, 1);
    enter_call(12, F);
    exit_call(13, F);
    say(1);
    ttest_extension(&block, TTP_EXT_SWITCH, 0);
    exit_call(15, F);
    say(0);
    expect("s1 +f -f[1] s0");
}
END_TEST

/* A text, one that is empty, and a value that is not there, or not known (F-VNM-11). */
START_TEST(texts_are_compared)
{
    uint8_t text[6] = {TTAPE_VALUE_STRING, 1, 0, 0, 0, 'a'};
    open_filter("f(n=\"a\")");
    enter_call(10, F);
    ttest_message(&block, TTP_MESSAGE_VALUES, text, sizeof text);
    exit_call(11, F);
    text[5] = 'b';
    enter_call(12, F);
    ttest_message(&block, TTP_MESSAGE_VALUES, text, sizeof text);
    exit_call(13, F);
    enter_call(14, F);
    exit_call(15, F);
    text[1] = 0;
    enter_call(16, F);
    ttest_message(&block, TTP_MESSAGE_VALUES, text, 5);
    exit_call(17, F);
    text[0] = TTAPE_VALUE_BYTES;
    enter_call(18, F);
    ttest_message(&block, TTP_MESSAGE_VALUES, text, 5);
    exit_call(19, F);
    expect("+f[\"a\"] -f +f[\"\"] -f");
}
END_TEST

START_TEST(calls_lead)
{
    open_filter("to g = 1");
    call_f(10, 1, 1); /* its g has no result */
    enter_call(30, F);
    enter_call(31, G);
    exit_call(32, G);
    say(1);
    exit_call(33, F);
    expect("+f +g -g[1] -f");
}
END_TEST

/* ---- triggers ---- */

START_TEST(calls_switch_on)
{
    open_both("", "g(n=1) do on", true);
    call_f(10, 1, 1);
    enter_call(30, F);
    enter_call(31, G);
    say(1);
    call_g(32);
    exit_call(35, G);
    exit_call(36, F);
    call_g(40);
    expect("+g[1] +g -g -g +g -g");
}
END_TEST

START_TEST(calls_switch_off)
{
    open_both("!g", "f(n=2) do off; end f(n=4) do on", false);
    call_f(10, 1, 1);
    call_f(30, 2, 2);
    call_f(50, 3, 3);
    call_f(70, 4, 4);
    call_f(90, 5, 5);
    expect("+f[1] -f[1] +f[2] -f[2] +f[5] -f[5]");
}
END_TEST

START_TEST(ends_switch_off)
{
    open_both("", "f = 2 do off", false);
    call_f(10, 1, 1);
    call_f(30, 1, 2);
    call_f(50, 1, 2);
    expect("+f[1] +g -g -f[1] +f[1] +g -g -f[2]");
}
END_TEST

START_TEST(times_switch_off)
{
    open_both("!g", "f > 100ns do off", false);
    call_f(1000, 1, 1);
    enter_call(2000, F);
    enter_call(2001, F);
    ttest_extension(&block, TTP_EXT_UNWIND, 1u << TTP_UNWIND_FORM_BITS | TTP_UNWIND_COUNT);
    exit_call(2110, F);
    call_f(3000, 1, 1);
    expect("+f[1] -f[1] +f +f u1 -f");
}
END_TEST

START_TEST(counts_switch_off)
{
    open_both("", "g times 3 do off; f do on", false);
    for (uint64_t i = 1; i < 6; i++)
        call_g(10 * i);
    call_f(100, 1, 1);
    expect("+g -g +g -g +g -g +f[1] +g -g -f[1]");
}
END_TEST

START_TEST(signals_and_times_switch)
{
    open_both("", "signal SIGUSR1 do off; after 100ns do on", false);
    call_g(1000);
    ttest_extension(&block, TTP_EXT_SIGNAL_BEGIN, 10);
    call_g(1010);
    ttest_extension(&block, TTP_EXT_SIGNAL_END, 0);
    call_g(1050);
    call_g(1100);
    call_g(1200);
    expect("+g -g (10 )10 +g -g +g -g");
}
END_TEST

/* A depth holds behind the call that changes it; what a rule says below f holds there. */
START_TEST(depths_change)
{
    open_both("depth 3 below f(n=4)", "f(n=2) do depth 1; f(n=5) do depth 2", false);
    for (uint64_t n = 1; n < 7; n++)
        call_f(100 * n, n, 1);
    expect("+f[1] +g -g -f[1] +f[2] -f[1] +f[3] -f[1] +f[4] +g -g -f[1] +f[5] +g -g -f[1] "
           "+f[6] +g -g -f[1]");
}
END_TEST

START_TEST(least_times_change)
{
    open_both("", "f(n=2) do time 5ns; f(n=4) do time 0ns", false);
    for (uint64_t n = 1; n < 6; n++)
        call_f(100 * n, n, 1);
    expect("+f[1] +g -g -f[1] +f[2] -f[1] +f[3] -f[1] +f[4] +g -g -f[1] +f[5] +g -g -f[1]");
}
END_TEST

/* Where the filter leaves out the call, its trigger is seen. */
START_TEST(checkpoints_and_ends_are_asked_for)
{
    ttape_recording_status status;
    open_both("g", "f(n>1) do checkpoint; f = 9 do finish", false);
    call_f(10, 1, 1);
    call_f(30, 2, 1);
    call_f(50, 3, 1);
    ttest_flush(&player);
    ttape_recording_get_status(player.recording, &status);
    ck_assert_uint_eq(status.hit_count, 2);
    ck_assert(!status.stopped);
    call_f(70, 1, 9);
    ttest_flush(&player);
    call_g(90);
    ttest_poll(&player);
    ttape_recording_get_status(player.recording, &status);
    ck_assert(status.stopped);
    ck_assert_uint_eq(ttest_finish(&player).hit_count, 2);
}
END_TEST

int main(void)
{
    const TTest *const all[] = {arguments_decide_at_once,
                                calls_below_go_by_arguments,
                                results_decide_what_is_below,
                                others_wait_their_turn,
                                calls_nest,
                                times_decide,
                                calls_are_left,
                                handlers_interrupt,
                                checkpoints_come,
                                threads_end,
                                stacks_change,
                                texts_are_compared,
                                calls_lead,
                                calls_switch_on,
                                calls_switch_off,
                                ends_switch_off,
                                times_switch_off,
                                counts_switch_off,
                                signals_and_times_switch,
                                depths_change,
                                least_times_change,
                                checkpoints_and_ends_are_asked_for};
    Suite *suite = suite_create("recording conditions");
    TCase *tests = tcase_create("conditions");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tcase_add_test(tests, all[i]);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
