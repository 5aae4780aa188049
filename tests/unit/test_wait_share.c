/* How long programs may wait for blocks: spec/recording.md, 2.5. */
#include "recorder/arena/wait_share.h"
#include "tests/asserts.h"

enum { STALL = 1000, STEP = 10, LONG = 100 * STALL };

/* Threads wait in turn or at once, from `from` to `until`, as long as they may; each that waits
 * notes it after each step. Returns for how long somebody waited. */
static uint64_t wait_all(struct ttp_arena_head *head, uint32_t threads, uint64_t from,
                         uint64_t until)
{
    struct ttp_share_wait waits[8];
    bool is_waiting[8] = {false};
    uint64_t waited = 0;
    for (uint64_t now = from; now < until; now += STEP) {
        bool any = false;
        for (uint32_t i = 0; i < threads; i++) {
            if (is_waiting[i])
                ttp_share_note(head, &waits[i], now, STALL);
            bool may_wait = ttp_share_is_left(head, now, STALL);
            if (may_wait && !is_waiting[i])
                waits[i] = ttp_share_begin(head, now);
            is_waiting[i] = may_wait;
            any |= may_wait;
        }
        waited += any ? STEP : 0;
    }
    return waited;
}

START_TEST(half_of_the_time_whoever_waits)
{
    for (uint32_t threads = 1; threads <= 8; threads++) {
        struct ttp_arena_head head = {0};
        uint64_t waited = wait_all(&head, threads, LONG, 2 * LONG);
        ck_assert_msg(waited >= LONG / 2 - STALL && waited <= LONG / 2 + 2 * STALL,
                      "%u threads waited %llu", threads, (unsigned long long)waited);
    }
}
END_TEST

START_TEST(two_stalls_at_once_then_a_stall_without)
{
    struct ttp_arena_head head = {0};
    uint64_t now = LONG;
    struct ttp_share_wait wait = ttp_share_begin(&head, now);
    for (; ttp_share_is_left(&head, now, STALL); ttp_share_note(&head, &wait, now, STALL))
        now += STEP;
    ck_assert_uint_eq(now, LONG + 2 * STALL);
    ck_assert(ttp_share_was_spent(&head));
    for (; !ttp_share_is_left(&head, now, STALL); now += STEP)
        ;
    ck_assert_uint_eq(now, LONG + 3 * STALL);
    ck_assert(!ttp_share_was_spent(&head));
}
END_TEST

/* A thread that is killed while it waits notes no more; one that begins then is not charged. */
START_TEST(who_is_killed_takes_nothing)
{
    struct ttp_arena_head head = {0};
    struct ttp_share_wait killed = ttp_share_begin(&head, LONG);
    ttp_share_note(&head, &killed, LONG + STALL, STALL);
    ck_assert_uint_eq(wait_all(&head, 1, LONG + 10 * STALL, LONG + 11 * STALL), STALL);
}
END_TEST

/* It is stopped while it waits: then nobody waits for a stall, and not for as long as it stood. */
START_TEST(who_is_stopped_pays_little)
{
    struct ttp_arena_head head = {0};
    struct ttp_share_wait stopped = ttp_share_begin(&head, LONG);
    ttp_share_note(&head, &stopped, 2 * LONG, STALL);
    ck_assert(!ttp_share_is_left(&head, 2 * LONG, STALL));
    ck_assert(ttp_share_is_left(&head, 2 * LONG + STALL, STALL));
}
END_TEST

/* A clock that steps back, as of processors that do not agree, takes nothing back. */
START_TEST(steps_back_change_nothing)
{
    struct ttp_arena_head head = {0};
    struct ttp_share_wait wait = ttp_share_begin(&head, LONG);
    ttp_share_note(&head, &wait, LONG + STALL / 2, STALL);
    uint64_t word = head.wait_share;
    ttp_share_note(&head, &wait, LONG - STALL, STALL);
    ttp_share_note(&head, &wait, LONG + STALL / 4, STALL);
    ck_assert_uint_eq(head.wait_share, word);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("share of waits");
    tcase_add_test(tests, half_of_the_time_whoever_waits);
    tcase_add_test(tests, two_stalls_at_once_then_a_stall_without);
    tcase_add_test(tests, who_is_killed_takes_nothing);
    tcase_add_test(tests, who_is_stopped_pays_little);
    tcase_add_test(tests, steps_back_change_nothing);
    Suite *suite = suite_create("share of waits");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
