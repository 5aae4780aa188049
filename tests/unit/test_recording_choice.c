/* System calls that are chosen by what they were given and what became of them, played: what is
 * asked of each, and what of it is in the trace. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena_player.h"

#define FUNCTION 0x1000u

static struct ttest_player player;
static char asked[256];

/* Keeps what failed, or is not known to have worked; of those that are given a "w" nothing. */
static bool keep(void *context, uint32_t number, const ttape_value *arguments, uint32_t count,
                 const int64_t *result)
{
    char *at = asked + strlen(asked);
    (void)context;
    ck_assert_uint_eq(number, 77);
    ck_assert_uint_eq(count, 1);
    char given = arguments[0].bytes.data[0];
    if (result == NULL)
        (void)sprintf(at, "%c? ", given);
    else
        (void)sprintf(at, "%c%d ", given, (int)*result);
    return given != 'w' && (result == NULL || *result < 0);
}

static void set_up(void)
{
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .keep_call = keep};
    ttest_player_open(&player, &options);
}

static void tear_down(void) { ttest_player_close(&player); }

static struct ttest_block begin(void)
{
    struct ttest_block b = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 1);
    ttest_site_message(&b, FUNCTION, TTAPE_SITE_FUNCTION, "f");
    ttest_site_message(&b, TTP_CALL_KEYS, TTAPE_SITE_SYSCALL, "read");
    return b;
}

static void enter(struct ttest_block *b, char text)
{
    uint8_t bytes[6] = {TTAPE_VALUE_STRING, 1, 0, 0, 0, (uint8_t)text};
    ttest_enter(b, TTP_CALL_KEYS);
    ttest_message(b, TTP_MESSAGE_VALUES, bytes, sizeof bytes);
}

static void say_result(struct ttest_block *b, int64_t result)
{
    uint8_t bytes[9] = {TTAPE_VALUE_SIGNED};
    memcpy(bytes + 1, &result, sizeof result);
    ttest_message(b, TTP_MESSAGE_VALUES, bytes, sizeof bytes);
}

static void leave(struct ttest_block *b, int64_t result)
{
    ttest_exit(b, TTP_CALL_KEYS);
    say_result(b, result);
}

static void run_function(struct ttest_block *b)
{
    ttest_enter(b, FUNCTION);
    ttest_exit(b, FUNCTION);
}

static void interrupt(struct ttest_block *b)
{
    ttest_extension(b, TTP_EXT_SIGNAL_BEGIN, 10);
    run_function(b);
    ttest_extension(b, TTP_EXT_SIGNAL_END, 0);
}

static void expect(const struct ttest_block *b, const char *wanted_asked, const char *wanted)
{
    ttest_block_state(b, TTP_BLOCK_DONE);
    ttest_poll(&player);
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    ttest_expect(&player, wanted, NULL);
    ck_assert_str_eq(asked, wanted_asked);
}

START_TEST(results_decide)
{
    struct ttest_block b = begin();
    ttest_enter(&b, FUNCTION);
    enter(&b, 'a');
    leave(&b, 3);
    enter(&b, 'b');
    leave(&b, -2);
    enter(&b, 'w');
    leave(&b, -2);
    enter(&b, 'c');
    ttest_exit(&b, TTP_CALL_KEYS); /* and no result */
    ttest_exit(&b, FUNCTION);
    expect(&b, "a3 b-2 w-2 c? ",
           "+f +read[\"b\"] -read[18446744073709551614] +read[\"c\"] -read -f");
}
END_TEST

/* Then what it was given alone decides, once. */
START_TEST(handlers_interrupt)
{
    struct ttest_block b = begin();
    enter(&b, 'a');
    interrupt(&b);
    leave(&b, 3);
    enter(&b, 'w');
    interrupt(&b);
    leave(&b, -2);
    expect(&b, "a? w? ", "+read[\"a\"] (10 +f -f )10 -read[3] (10 +f -f )10");
}
END_TEST

START_TEST(checkpoints_come)
{
    struct ttest_block b = begin();
    enter(&b, 'a');
    ttest_flush(&player);
    leave(&b, 3);
    enter(&b, 'b');
    ttest_exit(&b, TTP_CALL_KEYS);
    ttest_flush(&player);
    say_result(&b, 3);
    enter(&b, 'w');
    ttest_flush(&player);
    leave(&b, -2);
    run_function(&b);
    expect(&b, "a? b? w? ", "+read[\"a\"] -read[3] +read[\"b\"] -read +f -f");
}
END_TEST

START_TEST(some_never_end)
{
    struct ttest_block b = begin();
    enter(&b, 'w');
    enter(&b, 'a');
    expect(&b, "w? a? ", "+read[\"a\"]");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording choice");
    TCase *tests = tcase_create("choice");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, results_decide);
    tcase_add_test(tests, handlers_interrupt);
    tcase_add_test(tests, checkpoints_come);
    tcase_add_test(tests, some_never_end);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
