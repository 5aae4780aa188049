/* What the recorder writes behind the last record of a thread, by how it ended. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena_player.h"

static struct ttest_player player;
static pid_t process;

static void set_up(void)
{
    ttest_player_open(&player, NULL);
    process = ttest_process_start();
}

static void tear_down(void) { ttest_player_close(&player); }

/* It stays a zombie: so any kernel knows how it ended. */
static void kill_process(void)
{
    siginfo_t info;
    ck_assert_int_eq(kill(process, SIGKILL), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT), 0);
}

static void bury_process(void) { ck_assert_int_eq(waitpid(process, NULL, 0), process); }

static struct ttest_block begin(uint64_t serial)
{
    struct ttest_block b = ttest_block_take(&player, (uint32_t)process, 1, serial, 1);
    if (serial == 1)
        ttest_process_message(&b, 0, 1, "/bin/x");
    ttest_enter(&b, 0x1000);
    return b;
}

/* The last event of a stream: address of its site (1 thread, 2 process), and its values. */
static void expect_end(uint32_t stream, uint64_t events, uint64_t address, uint64_t how,
                       uint64_t number)
{
    ttape_source source;
    ttape_cursor *cursor;
    ttape_event_item item, last = {0};
    ttape_value values[2] = {{0}};
    ttape_site site;
    uint64_t count = 0;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    TTEST_DONE(ttape_cursor_open(&cursor, reader, stream, &err));
    while (ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK) {
        last = item;
        for (uint32_t i = 0; i < item.value_count && i < 2; i++)
            values[i] = item.values[i];
        count++;
    }
    ck_assert_uint_eq(count, events);
    ck_assert_int_eq(last.event.kind, TTAPE_EVENT_LEAF);
    ck_assert_int_eq(ttape_reader_get_site(reader, last.event.site, &site), TTAPE_OK);
    ck_assert_uint_eq(site.address, address);
    ck_assert_uint_eq(last.value_count, address);
    ck_assert_uint_eq(values[0].number, how);
    ck_assert_uint_eq(values[1].number, number);
    ttape_cursor_close(cursor);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}

static void poll_and_finish(void)
{
    ttest_poll_few(&player);
    (void)ttest_finish(&player);
}

/* The process has no second thread: that one is gone, and nobody saw how. */
START_TEST(a_process_is_killed)
{
    struct ttest_block first = begin(1), second = begin(2);
    (void)first, (void)second;
    ttest_poll_few(&player);
    kill_process();
    poll_and_finish();
    expect_end(0, 2, 2, TTAPE_PROCESS_END_SIGNAL, SIGKILL);
    expect_end(1, 2, 1, TTAPE_THREAD_END_UNKNOWN, 0);
    bury_process();
}
END_TEST

/* By somebody who has waited for it: the kernel need not know any more. */
START_TEST(the_caller_says_how)
{
    struct ttest_block b = begin(1);
    (void)b;
    ttest_process_end(process);
    ttape_recording_note_ended(player.recording, (uint32_t)process, 7 << 8);
    poll_and_finish();
    expect_end(0, 2, 2, TTAPE_PROCESS_END_EXIT, 7);
}
END_TEST

START_TEST(a_thread_ends_by_itself)
{
    struct ttest_block b = begin(1);
    ttest_exit(&b, 0x1000);
    ttest_block_state(&b, TTP_BLOCK_DONE);
    poll_and_finish();
    expect_end(0, 3, 1, TTAPE_THREAD_END_ITSELF, 0);
    ttest_process_end(process);
}
END_TEST

START_TEST(recording_ends_before_the_thread)
{
    struct ttest_block b = begin(1);
    (void)b;
    poll_and_finish();
    expect_end(0, 4, 1, TTAPE_THREAD_END_RECORDING, 0); /* with the stop, and its gap */
    ttest_process_end(process);
}
END_TEST

/* Then the end has a slot of its own. */
START_TEST(a_block_without_room)
{
    struct ttest_block b = begin(1);
    uint64_t events = 1;
    for (; b.used < TTP_BLOCK_RECORDS; events++)
        ttest_enter(&b, 0x1000);
    kill_process();
    poll_and_finish();
    expect_end(0, events + 1, 2, TTAPE_PROCESS_END_SIGNAL, SIGKILL);
    bury_process();
}
END_TEST

/* A program that writes such a record ends nothing by it. */
START_TEST(a_program_says_so_itself)
{
    struct ttest_block b = begin(1);
    ttest_extension(&b, TTP_EXT_END, ttp_end_payload(true, 99, 5));
    ttest_exit(&b, 0x1000);
    kill_process();
    poll_and_finish();
    expect_end(0, 4, 2, TTAPE_PROCESS_END_SIGNAL, SIGKILL);
    bury_process();
}
END_TEST

static void say_end(struct ttest_block *b, uint32_t how, uint32_t number)
{
    ttest_extension(b, TTP_EXT_END, ttp_end_payload(true, how, number) | TTP_END_SAID);
}

/* It is gone before the recorder has seen it: the kernel knows no more, but the process said it. */
START_TEST(a_process_says_how_it_ends)
{
    struct ttest_block b = begin(1);
    say_end(&b, TTAPE_PROCESS_END_EXIT, 0);
    ttest_exit(&b, 0x1000);
    say_end(&b, TTAPE_PROCESS_END_QUICK_EXIT, 8);
    say_end(&b, 99, 5);
    say_end(&b, TTAPE_PROCESS_END_QUICK_EXIT, 256);
    say_end(&b, TTAPE_PROCESS_END_SIGNAL, SIGKILL);
    ttest_process_end(process);
    poll_and_finish();
    expect_end(0, 3, 2, TTAPE_PROCESS_END_QUICK_EXIT, 8);
}
END_TEST

START_TEST(a_process_is_killed_while_it_exits)
{
    struct ttest_block b = begin(1);
    say_end(&b, TTAPE_PROCESS_END_EXIT, 8);
    kill_process();
    poll_and_finish();
    expect_end(0, 2, 2, TTAPE_PROCESS_END_SIGNAL, SIGKILL);
    bury_process();
}
END_TEST

/* The thread that exits has recorded nothing else: another one has the fact, and there is one. */
START_TEST(a_thread_without_events_exits)
{
    struct ttest_block first = ttest_block_take(&player, (uint32_t)process, 1, 1, 1);
    ttest_process_message(&first, 0, 1, "/bin/x");
    struct ttest_block second = begin(2), third = begin(3);
    (void)second, (void)third;
    say_end(&first, TTAPE_PROCESS_END_EXIT, 7);
    ttest_process_end(process);
    poll_and_finish();
    expect_end(0, 2, 2, TTAPE_PROCESS_END_EXIT, 7);
    expect_end(1, 2, 1, TTAPE_THREAD_END_PROCESS, 0);
}
END_TEST

/* Of its threads the one that tells how the process ended comes first. */
START_TEST(a_later_thread_exits)
{
    struct ttest_block first = begin(1), second = begin(2);
    (void)first;
    say_end(&second, TTAPE_PROCESS_END_QUICK_EXIT, 7);
    ttest_process_end(process);
    poll_and_finish();
    expect_end(0, 2, 2, TTAPE_PROCESS_END_QUICK_EXIT, 7);
    expect_end(1, 2, 1, TTAPE_THREAD_END_CALLED, 0);
}
END_TEST

static uint64_t fill(struct ttest_block *b)
{
    uint64_t events = 1;
    for (; b->used < TTP_BLOCK_RECORDS; events++)
        ttest_enter(b, 0x1000);
    return events;
}

static void fill_and_lose(struct ttest_block *b)
{
    ttest_block_state(b, TTP_BLOCK_FULL);
    ttest_poll_few(&player);
    ck_assert(ttest_block_is_free(b));
}

/* Its block was full, and is given back. */
START_TEST(a_process_without_a_block)
{
    struct ttest_block b = begin(1);
    uint64_t events = fill(&b);
    fill_and_lose(&b);
    kill_process();
    poll_and_finish();
    expect_end(0, events + 1, 2, TTAPE_PROCESS_END_SIGNAL, SIGKILL);
    bury_process();
}
END_TEST

START_TEST(recording_ends_while_a_thread_has_no_block)
{
    struct ttest_block b = begin(1);
    uint64_t events = fill(&b);
    fill_and_lose(&b);
    poll_and_finish();
    expect_end(0, events + 3, 1, TTAPE_THREAD_END_RECORDING, 0);
    ttest_process_end(process);
}
END_TEST

/* It goes on in another block, so its end comes behind that. */
START_TEST(a_thread_takes_a_block_again)
{
    struct ttest_block b = begin(1);
    uint64_t events = fill(&b);
    fill_and_lose(&b);
    struct ttest_block next = ttest_block_take(&player, (uint32_t)process, 1, 1, 2);
    ttest_enter(&next, 0x1000);
    kill_process();
    poll_and_finish();
    expect_end(0, events + 2, 2, TTAPE_PROCESS_END_SIGNAL, SIGKILL);
    bury_process();
}
END_TEST

/* It has ended by itself, and its block has no room to say so: it may take another one until its
 * process has ended. */
START_TEST(a_thread_that_is_done_without_room)
{
    struct ttest_block first = begin(1), b = begin(2);
    (void)first;
    uint64_t events = fill(&b);
    ttest_block_state(&b, TTP_BLOCK_DONE);
    ttest_poll_few(&player);
    kill_process();
    poll_and_finish();
    expect_end(1, events + 1, 1, TTAPE_THREAD_END_ITSELF, 0);
    bury_process();
}
END_TEST

/* -- a round that is interrupted -- */

static void (*interruption)(void); /* at the next memory that this thread asks for */
static pthread_t interrupted;

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    void (*interrupt)(void) = interruption;
    if (interrupt != NULL && pthread_equal(pthread_self(), interrupted)) {
        interruption = NULL;
        interrupt();
    }
    return malloc(size_bytes);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)context, (void)size_bytes;
    free(memory);
}

static void take_block_and_die(void)
{
    struct ttest_block next = ttest_block_take(&player, (uint32_t)process, 1, 1, 2);
    ck_assert_uint_eq(next.index, 0);
    ttest_enter(&next, 0x1000);
    kill_process();
}

/* The recorder goes through the blocks, and has passed the first one, which is free. Then the
 * thread takes that, and dies: its end is not told behind the block that the recorder comes to. */
START_TEST(a_block_is_taken_behind_the_recorder)
{
    ttape_allocator allocator = {.allocate = allocate, .release = release};
    ttape_recording_options options = {
        .size = sizeof options,
        .clock = TTAPE_CLOCK_NONE,
        .writer = {.size = sizeof options.writer, .allocator = &allocator}};
    ttest_player_discard(&player);
    ttest_player_open(&player, &options);
    ttest_poll(&player); /* what is made once */
    struct ttest_block first = ttest_block_take(&player, (uint32_t)process, 1, 9, 1);
    struct ttest_block b = begin(1);
    uint64_t events = fill(&b);
    ttest_block_state(&b, TTP_BLOCK_FULL);
    ttest_block_give_back(&first);
    interrupted = pthread_self();
    interruption = take_block_and_die;
    ttest_poll(&player);
    ck_assert(interruption == NULL);
    poll_and_finish();
    ck_assert(ttest_block_is_free(&b));
    expect_end(0, events + 2, 2, TTAPE_PROCESS_END_SIGNAL, SIGKILL);
    bury_process();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording ends");
    TCase *tests = tcase_create("ends");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_process_is_killed);
    tcase_add_test(tests, the_caller_says_how);
    tcase_add_test(tests, a_thread_ends_by_itself);
    tcase_add_test(tests, recording_ends_before_the_thread);
    tcase_add_test(tests, a_block_without_room);
    tcase_add_test(tests, a_program_says_so_itself);
    tcase_add_test(tests, a_process_says_how_it_ends);
    tcase_add_test(tests, a_process_is_killed_while_it_exits);
    tcase_add_test(tests, a_thread_without_events_exits);
    tcase_add_test(tests, a_later_thread_exits);
    tcase_add_test(tests, a_process_without_a_block);
    tcase_add_test(tests, recording_ends_while_a_thread_has_no_block);
    tcase_add_test(tests, a_thread_takes_a_block_again);
    tcase_add_test(tests, a_thread_that_is_done_without_room);
    tcase_add_test(tests, a_block_is_taken_behind_the_recorder);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
