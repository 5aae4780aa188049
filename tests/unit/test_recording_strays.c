/* A traced program that writes where it should not, while somebody looks: into the arena's head and
 * into heads of blocks that were looked at before. */
#define _GNU_SOURCE /* truncate, memfd_create */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena_player.h"
#include "recorder/state/recording_internal.h"

static struct ttest_player player;

static void set_up(void) { ttest_player_open(&player, NULL); }

static void tear_down(void) { ttest_player_close(&player); }

/* What was checked when the arena was found is not read again. */
START_TEST(control_keeps_what_it_checked)
{
    ttape_control *control;
    ttape_control_status before, after;
    uint32_t self = (uint32_t)getpid();
    struct ttest_block b = ttest_block_take(&player, self, 1, 1, 1);
    TTEST_DONE(ttape_control_open(&control, self, &err));
    ttape_control_get_status(control, &before);
    ck_assert_uint_eq(before.block_used, 1);
    ck_assert_uint_eq(before.recorder_pid, self);
    ck_assert(before.recorder_lives);
    player.head->block_capacity = UINT32_MAX;
    player.head->block_bytes = 1;
    player.head->clock = 77;
    player.head->recorder_pid = UINT32_MAX;
    player.head->blocks_offset = UINT64_MAX;
    ttape_control_get_status(control, &after);
    ck_assert_uint_eq(after.block_used, 1);
    ck_assert_uint_eq(after.block_ready, before.block_ready);
    ck_assert_uint_eq(after.block_max, before.block_max);
    ck_assert_uint_eq(after.block_bytes, TTP_BLOCK_BYTES);
    ck_assert_uint_eq(after.clock, before.clock);
    ck_assert_uint_eq(after.recorder_pid, self);
    ck_assert(after.recorder_lives);
    player.head->block_ready = UINT32_MAX;
    ttape_control_get_status(control, &after);
    ck_assert_uint_eq(after.block_used, 1);
    ck_assert_uint_eq(after.block_ready, before.block_max);
    ttape_control_close(control);
    ttest_block_state(&b, TTP_BLOCK_DONE);
    (void)ttest_finish(&player);
}
END_TEST

/* Before it is found, the same values are refused. */
START_TEST(control_finds_no_arena_that_cannot_be)
{
    ttape_control *control;
    uint32_t self = (uint32_t)getpid(), capacity = player.head->block_capacity;
    uint64_t offset = player.head->blocks_offset;
    player.head->block_capacity = UINT32_MAX;
    ck_assert_int_eq(ttape_control_open(&control, self, NULL), TTAPE_E_NOT_FOUND);
    player.head->block_capacity = 0;
    ck_assert_int_eq(ttape_control_open(&control, self, NULL), TTAPE_E_NOT_FOUND);
    player.head->block_capacity = capacity;
    player.head->blocks_offset = UINT64_MAX - TTP_BLOCK_BYTES + 1; /* the sum is small again */
    ck_assert_int_eq(ttape_control_open(&control, self, NULL), TTAPE_E_NOT_FOUND);
    player.head->blocks_offset = offset + 1;
    ck_assert_int_eq(ttape_control_open(&control, self, NULL), TTAPE_E_NOT_FOUND);
    player.head->blocks_offset = offset;
    TTEST_DONE(ttape_control_open(&control, self, &err));
    ttape_control_close(control);
    (void)ttest_finish(&player);
}
END_TEST

/* Memory that is taken by the draining thread: while it looks at blocks, and between that and their
 * copies. */
static pthread_t drainer; /* the threads that encode read it: it is there before they are */
static struct ttp_block_head *victim;
static uint32_t strays;

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    if (pthread_equal(pthread_self(), drainer) && victim != NULL) {
        strays++;
        *victim = (struct ttp_block_head){.sequence = 5, .image = 9, .process_id = 7};
    }
    return malloc(size_bytes);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

/* Whose a block is was seen when the round began; that it says something else by now costs nothing.
 */
START_TEST(a_head_that_goes_while_its_block_is_taken)
{
    ttape_allocator allocator = {NULL, allocate, release};
    ttape_recording_options options = {.size = sizeof options, .clock = TTAPE_CLOCK_NONE};
    options.writer.allocator = &allocator;
    ttest_player_discard(&player);
    drainer = pthread_self();
    ttest_player_open(&player, &options);
    struct ttest_block b = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 1);
    b.head->serial = 0;
    ttest_poll(&player); /* the process is known from here on */
    b.head->serial = 1;
    while (b.used < TTP_BLOCK_RECORDS)
        ttest_enter(&b, 0x1000);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    victim = b.head;
    strays = 0;
    ttest_poll(&player);
    victim = NULL;
    ck_assert_uint_gt(strays, 1);
    ck_assert(ttest_block_is_free(&b));
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_eq(status.lost_count, 0);
    ck_assert_uint_eq(status.event_count, TTP_BLOCK_RECORDS);
}
END_TEST

/* When nobody knows any more whose they are, records are lost: those of this block. */
START_TEST(a_block_without_serial_is_lost)
{
    uint32_t self = (uint32_t)getpid();
    struct ttest_block b = ttest_block_take(&player, self, 1, 1, 1);
    struct ttest_block fresh = ttest_block_take(&player, self, 1, 0, 0);
    ttest_enter(&b, 0x1000);
    ttest_flush(&player);
    struct ttest_block other = ttest_block_take(&player, self, 1, 2, 1);
    ttest_exit(&b, 0x1000);
    ttest_enter(&b, 0x2000);
    ttest_enter(&other, 0x3000);
    b.head->serial = 0;
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_block_state(&other, TTP_BLOCK_DONE);
    ttest_poll_ms(&player, 50);
    ck_assert(!ttest_block_is_free(&b)); /* its thread may be about to say whose it is */
    ck_assert(ttest_block_is_free(&other));
    ck_assert(!ttest_block_is_free(&fresh));
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 2);
    ttest_expect(&player, "+1000", "+3000", NULL);
}
END_TEST

START_TEST(the_dead_leave_a_block_without_serial)
{
    uint32_t pid = (uint32_t)ttest_process_start();
    struct ttest_block b = ttest_block_take(&player, pid, 1, 1, 1);
    struct ttest_block messages = ttest_block_take(&player, pid, 1, 2, 1);
    ttest_enter(&b, 0x1000);
    ttest_enter(&b, 0x2000);
    ttest_extension(&messages, TTP_EXT_NOTHING, 0); /* no event, but who knows */
    b.head->serial = messages.head->serial = 0;
    ttest_process_end((pid_t)pid);
    ttest_poll_ms(&player, 60);
    ck_assert(ttest_block_is_free(&b));
    ck_assert(ttest_block_is_free(&messages));
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 3);
}
END_TEST

/* Whose the block is says its state, too: that is what is compared when it is claimed. */
START_TEST(a_process_id_that_goes)
{
    struct ttest_block b = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 1);
    ttest_enter(&b, 0x1000);
    b.head->process_id = 77;
    ttest_block_state(&b, TTP_BLOCK_DONE);
    ttest_poll_ms(&player, 50);
    ck_assert(ttest_block_is_free(&b));
    ck_assert_uint_eq(ttest_finish(&player).lost_count, 0);
    ttest_expect(&player, "+1000", NULL);
}
END_TEST

static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (!ttape_recording_mend(player.recording, info->si_addr))
        _exit(1);
}

/* Somebody truncates the arena; the encoding thread is the first to touch what is gone. */
START_TEST(a_truncated_arena_can_be_finished)
{
    struct sigaction bus = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    struct ttest_block b = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 1);
    uint64_t kept = player.head->blocks_offset;
    ttest_enter(&b, 0x1000);
    ttest_flush(&player);
    ttest_enter(&b, 0x2000);
    ck_assert(!ttape_recording_mend(player.recording, &bus));
    ck_assert_int_eq(sigaction(SIGBUS, &bus, NULL), 0);
    ck_assert_int_eq(truncate(ttape_recording_arena(player.recording), (off_t)kept), 0);
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_eq(status.lost_count, 1);
    (void)signal(SIGBUS, SIG_DFL);
    ttest_expect(&player, "+1000", NULL);
}
END_TEST

#define CUT 20000u /* bytes of the last slot that are there */

/* Behind its end there is nothing: not what the memory held, which may be the same slot, whole. */
START_TEST(a_cut_slot_ends_in_zeros)
{
    struct ttp_slot *slot = malloc(sizeof *slot);
    ttape_error err = {0};
    int fd = memfd_create("spill", 0);
    ck_assert_int_ge(fd, 0);
    memset(slot, 0x5A, sizeof *slot);
    ck_assert_int_eq(pwrite(fd, slot, sizeof *slot, 0), sizeof *slot);
    ck_assert_int_eq(pwrite(fd, slot, CUT, sizeof *slot), CUT);
    for (uint32_t number = 0; number < 3; number++) {
        size_t there = number == 0 ? sizeof *slot : number == 1 ? CUT : 0;
        const uint8_t *bytes = (const uint8_t *)slot;
        memset(slot, 0x5A, sizeof *slot);
        ck_assert_int_eq(ttp_spill_read(fd, number, slot, &err), TTAPE_OK);
        for (size_t i = 0; i < sizeof *slot; i++)
            ck_assert_msg(bytes[i] == (i < there ? 0x5A : 0), "slot %u, byte %zu", number, i);
    }
    ck_assert_int_eq(close(fd), 0);
    free(slot);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording strays");
    TCase *tests = tcase_create("strays");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, control_keeps_what_it_checked);
    tcase_add_test(tests, control_finds_no_arena_that_cannot_be);
    tcase_add_test(tests, a_head_that_goes_while_its_block_is_taken);
    tcase_add_test(tests, a_block_without_serial_is_lost);
    tcase_add_test(tests, the_dead_leave_a_block_without_serial);
    tcase_add_test(tests, a_process_id_that_goes);
    tcase_add_test(tests, a_truncated_arena_can_be_finished);
    suite_add_tcase(suite, tests);
    tests = tcase_create("files");
    tcase_add_test(tests, a_cut_slot_ends_in_zeros);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
