/* Decoding: what records become, and what becomes of records that make no sense. */
#include <stdlib.h>
#include <unistd.h>

#include "arena_player.h"

#define LOW(clock)         ((clock)&TTP_RECORD_TIME_MASK)
#define LEFT(which, count) ttp_unwind_payload(TTP_UNWIND_##which, count)

static struct ttest_player player;
static struct ttest_block block;

static void open_with(uint32_t clock)
{
    ttape_recording_options options = {.size = sizeof options, .clock = clock};
    ttest_player_open(&player, &options);
    player.times = clock != TTAPE_CLOCK_NONE;
    block = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 1);
}

static void set_up(void) { open_with(TTAPE_CLOCK_NONE); }
static void tear_down(void) { ttest_player_close(&player); }

/* The thread ends, and its stream is this; so many events are lost. */
static void expect(const char *text, uint64_t lost)
{
    ttest_block_state(&block, TTP_BLOCK_DONE);
    ttape_recording_status status = ttest_finish(&player);
    ttest_expect(&player, text, NULL);
    ck_assert_uint_eq(status.lost_count, lost);
}

static void put_timed(uint64_t tag, uint64_t clock, uint64_t address)
{
    ttest_put(&block, ttp_record_call(tag, clock, address));
}

/* A clock of nanoseconds, so that times are what was put in. */
START_TEST(times_are_put_together)
{
    ttest_player_discard(&player);
    open_with(TTAPE_CLOCK_MONOTONIC);
    block.head->epoch = 5;
    put_timed(TTP_TAG_ENTER, (5 << 15) + 7, 0x1000);
    ttest_put(&block, ttp_record_epoch(6));
    put_timed(TTP_TAG_ENTER, (6 << 15) + 1, 0x2000);
    ttest_flush(&player); /* what follows is decoded by itself: the epoch is remembered */
    put_timed(TTP_TAG_EXIT, (6 << 15) + 32767, 0x2000);
    ttest_extension(&block, TTP_EXT_NOTHING, 0);
    put_timed(TTP_TAG_ENTER, (6 << 15) + 3, 0x3000); /* reserved before, stored after */
    ttest_put(&block, ttp_record_epoch(100));
    put_timed(TTP_TAG_EXIT, 100 << 15, 0x3000);
    expect("+1000@163847 +2000@196609 -2000@229375 +3000@229375 -3000@3276800", 0);
}
END_TEST

/* The next block's head has its own epoch, whatever the last record before it said. */
START_TEST(each_block_begins_with_its_epoch)
{
    ttest_player_discard(&player);
    open_with(TTAPE_CLOCK_COARSE);
    block.head->epoch = 1;
    put_timed(TTP_TAG_ENTER, 1 << 15, 0x1000);
    ttest_put(&block, ttp_record_epoch(2));
    ttest_block_state(&block, TTP_BLOCK_DONE);
    ttest_poll(&player);
    block = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 2);
    block.head->epoch = 3;
    put_timed(TTP_TAG_EXIT, (3 << 15) + 9, 0x1000);
    expect("+1000@32768 -1000@98313", 0);
}
END_TEST

START_TEST(times_beyond_all_bounds)
{
    ttest_player_discard(&player);
    open_with(TTAPE_CLOCK_MONOTONIC);
    put_timed(TTP_TAG_ENTER, 1, 0x1000);
    /* 2^63 - 1 ns, the one time that a trace cannot hold, then the largest epoch */
    ttest_put(&block, ttp_record_epoch(0xFFFFFFFFFFFFull));
    put_timed(TTP_TAG_EXIT, 32767, 0x1000);
    ttest_put(&block, ttp_record_epoch(UINT64_MAX >> TTP_EPOCH_SHIFT));
    put_timed(TTP_TAG_ENTER, 32767, 0x2000);
    put_timed(TTP_TAG_EXIT, 5, 0x2000);
    ttest_block_state(&block, TTP_BLOCK_DONE);
    ck_assert_uint_eq(ttest_finish(&player).event_count, 4);
    player.times = false;
    ttest_expect(&player, "+1000 -1000 +2000 -2000", NULL);
}
END_TEST

START_TEST(frames_that_were_open_and_exits_that_close_nothing)
{
    ttest_extension(&block, TTP_EXT_OPEN, 0);
    ttest_enter(&block, 0x1000);
    ttest_extension(&block, TTP_EXT_UNSEEN, 0);
    ttest_exit(&block, 0x9000);
    ttest_exit(&block, 0x1000);
    /* Marks before the wrong record mean nothing. */
    ttest_extension(&block, TTP_EXT_OPEN, 0);
    ttest_extension(&block, TTP_EXT_NOTHING, 0);
    ttest_enter(&block, 0x2000);
    ttest_extension(&block, TTP_EXT_UNSEEN, 0);
    ttest_enter(&block, 0x3000);
    ttest_extension(&block, TTP_EXT_OPEN, 0);
    ttest_exit(&block, 0x3000);
    ttest_extension(&block, TTP_EXT_OPEN, 0);
    expect("o1000 ?9000 -1000 +2000 +3000 -3000", 0);
}
END_TEST

START_TEST(unwinding_takes_what_there_is)
{
    ttest_extension(&block, TTP_EXT_UNWIND, LEFT(COUNT, 3)); /* nothing is open */
    ttest_enter(&block, 0x1000);
    ttest_extension(&block, TTP_EXT_UNWIND, LEFT(ALL_BUT, 1)); /* as many as there are */
    ttest_enter(&block, 0x2000);
    ttest_extension(&block, TTP_EXT_UNWIND, LEFT(COUNT, 1));
    ttest_enter(&block, 0x3000);
    ttest_extension(&block, TTP_EXT_UNWIND, LEFT(ALL_BUT, 0));
    ttest_enter(&block, 0x4000);
    ttest_extension(&block, TTP_EXT_UNWIND, (1ull << TTP_EXTENSION_PAYLOAD_BITS) - 1);
    ttest_enter(&block, 0x5000);
    ttest_exit(&block, 0x4000); /* not the innermost: the writer knows what that means */
    ttest_exit(&block, 0x6000);
    expect("+1000 +2000 u1 +3000 u2 +4000 +5000 x4000/1 ?6000", 0);
}
END_TEST

static uint64_t signals(uint64_t count, uint64_t stay) { return ttp_unwind_signals(count, stay); }

/* What stays is counted from the innermost signal that does. */
START_TEST(unwinding_down_to_a_signal)
{
    ttest_extension(&block, TTP_EXT_UNWIND, signals(0, 0)); /* nothing is open */
    ttest_enter(&block, 0x1000);
    ttest_enter(&block, 0x2000);
    ttest_extension(&block, TTP_EXT_UNWIND, signals(0, 1));
    ttest_extension(&block, TTP_EXT_UNWIND, signals(0, 5)); /* fewer are there */
    ttest_extension(&block, TTP_EXT_SIGNAL_BEGIN, 10);
    ttest_enter(&block, 0x2000);
    ttest_enter(&block, 0x3000);
    ttest_extension(&block, TTP_EXT_UNWIND, signals(0, 1)); /* within the handler */
    ttest_extension(&block, TTP_EXT_SIGNAL_BEGIN, 11);
    ttest_enter(&block, 0x3000);
    ttest_extension(&block, TTP_EXT_UNWIND, signals(1, 0)); /* into the first handler's caller */
    ttest_enter(&block, 0x4000);
    ttest_extension(&block, TTP_EXT_UNWIND, signals(1, 0)); /* and out of all: 1000 has gone too */
    ttest_enter(&block, 0x5000);
    ttest_extension(&block, TTP_EXT_UNWIND, signals(2, 1)); /* there are no such */
    ttest_extension(&block, TTP_EXT_UNWIND, signals(1u << 16, 0));
    expect("+1000 +2000 u1 (10 +2000 +3000 u1 (11 +3000 u3 +4000 u3 +5000 u1", 0);
}
END_TEST

START_TEST(signals_and_stacks)
{
    ttest_extension(&block, TTP_EXT_SIGNAL_END, 0); /* of none */
    ttest_enter(&block, 0x1000);
    ttest_extension(&block, TTP_EXT_SIGNAL_BEGIN, 11);
    ttest_enter(&block, 0x2000);
    ttest_exit(&block, 0x2000);
    ttest_extension(&block, TTP_EXT_SIGNAL_END, 0);
    ttest_extension(&block, TTP_EXT_SWITCH, 3);
    ttest_enter(&block, 0x3000);
    ttest_extension(&block, TTP_EXT_SIGNAL_END, 0); /* that of the other stack is over */
    ttest_extension(&block, TTP_EXT_SWITCH, 0);
    ttest_exit(&block, 0x1000);
    ttest_extension(&block, TTP_EXT_SIGNAL_BEGIN, 0);
    ttest_extension(&block, TTP_EXT_UNWIND, LEFT(COUNT, 1)); /* left by a jump */
    expect("+1000 (11 +2000 -2000 )11 s3 +3000 s0 -1000 (0 u1", 0);
}
END_TEST

START_TEST(gaps_keep_reason_and_count)
{
    ttest_enter(&block, 0x1000);
    ttest_extension(&block, TTP_EXT_GAP, 1000ull << 3 | TTAPE_GAP_REASON_OVERFLOW);
    ttest_extension(&block, TTP_EXT_GAP, TTAPE_GAP_REASON_FILTER);
    ttest_extension(&block, TTP_EXT_GAP,
                    7ull << 3 | TTAPE_GAP_REASON_FILTER); /* left out, not lost */
    ttest_extension(&block, TTP_EXT_GAP, ((1ull << 40) - 1) << 3 | TTAPE_GAP_REASON_OVERFLOW);
    ttest_extension(&block, TTP_EXT_GAP, 5ull << 3 | 7); /* no such reason */
    expect("+1000 g1:1000 g3:0 g3:7 g1:1099511627775 g7:5", (1ull << 40) - 1 + 1000);
}
END_TEST

/* What was open when it went off ends there, and is open again where it goes on. */
START_TEST(off_ends_what_is_open)
{
    ttest_player_discard(&player);
    open_with(TTAPE_CLOCK_MONOTONIC);
    ttest_extension(&block, TTP_EXT_GAP, TTAPE_GAP_REASON_STOPPED); /* it began while it was off */
    put_timed(TTP_TAG_ENTER, 1000, 0x1000);
    put_timed(TTP_TAG_ENTER, 2000, 0x2000);
    ttest_put(&block, ttp_record_extension(TTP_EXT_AGO, 9000, 4096 / TTP_AGO_TICKS));
    ttest_put(&block, ttp_record_extension(TTP_EXT_GAP, 9000, TTAPE_GAP_REASON_STOPPED));
    put_timed(TTP_TAG_EXIT, 9500, 0x2000);
    /* Longer ago than all, and off at the end of the thread */
    ttest_put(&block, ttp_record_extension(TTP_EXT_AGO, 9900, (1ull << 40) - 1));
    ttest_put(&block,
              ttp_record_extension(TTP_EXT_GAP, 9900,
                                   TTAPE_GAP_REASON_STOPPED | TTP_STOP_LAST << TTP_GAP_REASON_BITS |
                                       3u << TTP_STOP_COUNT_SHIFT));
    expect("!tracetape:stopped@0[1] g6:0@0 +1000@1000 +2000@2000 !tracetape:stopped@4904[1] "
           "g6:0@4904 u2@4904 o1000@9000 o2000@9000 -2000@9500 !tracetape:stopped@9900[1] "
           "g6:3@9900 u1@9900",
           0);
}
END_TEST

/* W25: a long run's blocks. Only where the first one begins is anything missing, and the count of
 * lost events that no thread could tell passes 32 bits as well. */
START_TEST(numbers_of_blocks_pass_bits)
{
    const uint64_t passes[] = {1ull << 31, 1ull << 32, 1ull << 48, 1ull << 63};
    uint32_t self = (uint32_t)getpid();
    for (uint64_t i = 0; i < 4; i++)
        for (uint64_t k = 0; k < 4; k++) {
            struct ttest_block b = ttest_block_take(&player, self, 1, i + 2, passes[i] - 2 + k);
            ttest_enter(&b, 0x1000 + k);
            ttest_block_state(&b, TTP_BLOCK_DONE);
        }
    __atomic_store_n(&player.head->lost, (1ull << 32) + 5, __ATOMIC_RELAXED);
    ttest_enter(&block, 0x1000);
    ttest_block_state(&block, TTP_BLOCK_DONE);
    ttest_poll_ms(&player, 50);
    ttape_recording_status status = ttest_finish(&player);
    ck_assert_uint_eq(status.lost_count, (1ull << 32) + 5 + 4);
    const char *wanted = "g2:0 +1000 +1001 +1002 +1003";
    ttest_expect(&player, "+1000", wanted, wanted, wanted, wanted, NULL);
}
END_TEST

START_TEST(records_that_are_none)
{
    ttest_enter(&block, 0x1000);
    ttest_put(&block, 4);                                    /* tag 0, not zero */
    ttest_put(&block, ttp_record_data(0x1122334455));        /* data without a head */
    ttest_put(&block, ttp_record_call(TTP_TAG_ENTER, 0, 0)); /* no such address */
    ttest_exit(&block, 0x1000);
    expect("+1000 g0:1 g2:1 g2:1 -1000", 3);
}
END_TEST

/* Messages */

START_TEST(messages_that_are_not_whole)
{
    uint8_t bytes[64] = {0};
    ttest_enter(&block, 0x1000);
    ttest_extension(&block, TTP_EXT_MESSAGE, (uint64_t)TTP_MESSAGE_LEAF << 24 | 20);
    ttest_put(&block, ttp_record_data(1)); /* one of three */
    ttest_exit(&block, 0x1000);
    ttest_extension(&block, TTP_EXT_MESSAGE, (uint64_t)TTP_MESSAGE_LEAF << 24 | 0xFFFFFF);
    ttest_message(&block, TTP_MESSAGE_LEAF, bytes, 7);   /* not even an address */
    ttest_message(&block, 200, bytes, 33);               /* of a newer runtime: passed over */
    ttest_message(&block, TTP_MESSAGE_MODULE, bytes, 3); /* too short for what it says it is */
    ttest_message(&block, TTP_MESSAGE_PROCESS, bytes, 0);
    ttest_message(&block, TTP_MESSAGE_SITE, bytes, 17);
    ttest_message(&block, TTP_MESSAGE_MODULES_END, bytes, 0);
    ttest_extension(&block, TTP_EXT_MESSAGE, (uint64_t)TTP_MESSAGE_LEAF << 24 | 9);
    expect("+1000 g2:1 g2:1 -1000 g2:1 g2:1 g2:1", 5);
}
END_TEST

/* A block ends inside of the message; its rest is nobody's. */
START_TEST(messages_do_not_cross_blocks)
{
    while (block.used < TTP_BLOCK_RECORDS - 2)
        ttest_extension(&block, TTP_EXT_NOTHING, 0);
    ttest_extension(&block, TTP_EXT_MESSAGE, (uint64_t)TTP_MESSAGE_THREAD << 24 | 14);
    ttest_put(&block, ttp_record_data(1));
    ttest_block_state(&block, TTP_BLOCK_FULL);
    ttest_poll(&player);
    block = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 2);
    ttest_put(&block, ttp_record_data(2));
    ttest_enter(&block, 0x1000);
    expect("g2:1 g2:1 g2:1 +1000", 3);
}
END_TEST

static uint32_t add_number(uint8_t *bytes, uint32_t at, uint8_t type, uint64_t value)
{
    bytes[at] = type;
    memcpy(bytes + at + 1, &value, 8);
    return at + 9;
}

static uint32_t add_text(uint8_t *bytes, uint32_t at, uint8_t type, const char *text)
{
    uint32_t size = (uint32_t)strlen(text);
    bytes[at] = type;
    memcpy(bytes + at + 1, &size, 4);
    memcpy(bytes + at + 5, text, size);
    return at + 5 + size;
}

START_TEST(leaves_have_values)
{
    uint8_t bytes[256];
    uint64_t address = 0x7000;
    memcpy(bytes, &address, 8);
    ttest_message(&block, TTP_MESSAGE_LEAF, bytes, 8);
    uint32_t at = add_number(bytes, 8, TTAPE_VALUE_UNSIGNED, 42);
    at = add_text(bytes, at, TTAPE_VALUE_STRING, "words");
    at = add_text(bytes, at, TTAPE_VALUE_BYTES, "");
    at = add_number(bytes, at, TTAPE_VALUE_POINTER, 99);
    at = add_number(bytes, at, TTAPE_VALUE_FLOAT, 1);
    at = add_number(bytes, at, TTAPE_VALUE_NULL, 0);
    ttest_message(&block, TTP_MESSAGE_LEAF, bytes, at);
    ttest_message(&block, TTP_MESSAGE_LEAF, bytes, at - 1); /* the last value is cut */
    bytes[8] = TTP_VALUE_HOOK_SITE + 1;                     /* no such type: none */
    ttest_message(&block, TTP_MESSAGE_LEAF, bytes, at);
    at = add_text(bytes, 8, TTAPE_VALUE_STRING, "long");
    memset(bytes + 9, 0xFF, 4); /* longer than the message */
    ttest_message(&block, TTP_MESSAGE_LEAF, bytes, at);
    expect("!7000 !7000[42 \"words\" \"\" 99 1 0] !7000[42 \"words\" \"\" 99 1] !7000 !7000", 0);
}
END_TEST

START_TEST(values_belong_to_the_event_before)
{
    uint8_t bytes[64];
    uint32_t size = add_number(bytes, 0, TTAPE_VALUE_UNSIGNED, 5);
    ttest_message(&block, TTP_MESSAGE_VALUES, bytes, size); /* of no event */
    ttest_enter(&block, 0x1000);
    ttest_message(&block, TTP_MESSAGE_VALUES, bytes, size);
    ttest_message(&block, TTP_MESSAGE_VALUES, bytes, size); /* once more */
    ttest_enter(&block, 0x2000);
    ttest_exit(&block, 0x2000);
    ttest_message(&block, TTP_MESSAGE_VALUES, bytes, size);
    ttest_message(&block, TTP_MESSAGE_VALUES, bytes, 0);
    ttest_extension(&block, TTP_EXT_GAP, 7ull << 3 | TTAPE_GAP_REASON_FILTER);
    ttest_message(&block, TTP_MESSAGE_VALUES, bytes, size); /* a gap has its count and no others */
    expect("+1000[5] +2000 -2000[5] g3:7", 0);
}
END_TEST

START_TEST(threads_have_names)
{
    ttest_message(&block, TTP_MESSAGE_THREAD, "worker of many words", 20);
    ttest_enter(&block, 0x1000);
    ttest_flush(&player);
    ttest_message(&block, TTP_MESSAGE_THREAD, "too late", 8);
    expect("+1000", 0);
    ttape_source source;
    ttape_stream_info info;
    ttape_reader *reader = ttest_read(&player, player.output, &source);
    ck_assert_int_eq(ttape_reader_get_stream(reader, 0, &info), TTAPE_OK);
    ck_assert_uint_eq(info.stream.name.size_bytes, 15);
    ck_assert_mem_eq(info.stream.name.data, "worker of many ", 15);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
}
END_TEST

/* Rotation: every piece says the same of its threads, what they called themselves in the first,
 * whatever they were called later. */
START_TEST(names_do_not_part_the_pieces)
{
    ttest_player_discard(&player);
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .rotate_bytes = 1};
    ttest_player_open(&player, &options);
    block = ttest_block_take(&player, (uint32_t)getpid(), 1, 1, 1);
    ttest_enter(&block, 0x1000);
    ttest_message(&block, TTP_MESSAGE_THREAD, "renamed", 7);
    ttest_flush(&player);
    ttest_poll_ms(&player, 150);
    ttest_message(&block, TTP_MESSAGE_THREAD, "too late", 8);
    ttest_exit(&block, 0x1000);
    ttest_block_state(&block, TTP_BLOCK_DONE);
    ck_assert_uint_ge(ttest_finish(&player).file_count, 2);
    for (uint32_t i = 0; ttape_recording_file(player.recording, i) != NULL; i++) {
        ttape_source source;
        ttape_stream_info info;
        ttape_reader *reader =
            ttest_read(&player, ttape_recording_file(player.recording, i), &source);
        if (ttape_reader_get_stream(reader, 0, &info) == TTAPE_OK)
            ck_assert_mem_eq(info.stream.name.data, "renamed", 7);
        ttape_reader_close(reader);
        ttape_source_file_close(&source);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording records");
    TCase *tests = tcase_create("records");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, times_are_put_together);
    tcase_add_test(tests, each_block_begins_with_its_epoch);
    tcase_add_test(tests, times_beyond_all_bounds);
    tcase_add_test(tests, frames_that_were_open_and_exits_that_close_nothing);
    tcase_add_test(tests, unwinding_takes_what_there_is);
    tcase_add_test(tests, unwinding_down_to_a_signal);
    tcase_add_test(tests, signals_and_stacks);
    tcase_add_test(tests, gaps_keep_reason_and_count);
    tcase_add_test(tests, off_ends_what_is_open);
    tcase_add_test(tests, numbers_of_blocks_pass_bits);
    tcase_add_test(tests, records_that_are_none);
    tcase_add_test(tests, messages_that_are_not_whole);
    tcase_add_test(tests, messages_do_not_cross_blocks);
    tcase_add_test(tests, leaves_have_values);
    tcase_add_test(tests, values_belong_to_the_event_before);
    tcase_add_test(tests, threads_have_names);
    tcase_add_test(tests, names_do_not_part_the_pieces);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
