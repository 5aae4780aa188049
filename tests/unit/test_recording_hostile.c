/* Blocks full of nonsense: the recorder never crashes, never fails, and what it writes verifies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena_player.h"
#include "tests/unit/every.h"

#define ROUNDS  5
#define THREADS 5u

static struct ttest_player player;
static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t high = seed >> 32;
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (high << 32 | seed >> 32) % below;
}

static uint64_t draw_word(void) { return draw(UINT64_MAX); }

static void put_nonsense(struct ttest_block *b)
{
    static uint8_t bytes[2048];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)draw(draw(4) == 0 ? 256 : 9);
    uint32_t size = (uint32_t)draw(draw(8) == 0 ? sizeof bytes : 96);
    uint32_t records = 1 + (size + TTP_DATA_BYTES - 1) / TTP_DATA_BYTES;
    if (b->used + records < TTP_BLOCK_RECORDS)
        ttest_message(b, (uint32_t)draw(9), bytes, size);
}

/* Mostly what could be, here and there what could not. */
static void put_something(struct ttest_block *b)
{
    uint64_t address = 0x10000 + draw(8) * 16, clock = draw(1 << 16);
    uint64_t what = draw(100);
    if (what < 35)
        ttest_put(b, ttp_record_call(TTP_TAG_ENTER, clock, address));
    else if (what < 70)
        ttest_put(b, ttp_record_call(TTP_TAG_EXIT, clock, address));
    else if (what < 90)
        ttest_put(b, ttp_record_extension(draw(16), clock, draw(draw(2) == 0 ? 12 : 1ull << 43)));
    else if (what < 95)
        put_nonsense(b);
    else
        ttest_put(b, draw_word());
}

static void fill_head(struct ttest_block *b)
{
    if (draw(3) != 0)
        return;
    struct ttp_block_head *head = b->head;
    uint64_t *fields[] = {&head->sequence, &head->epoch, &head->started, &head->image,
                          &head->serial};
    *fields[draw(5)] = draw(2) == 0 ? draw_word() : draw(4);
    head->thread_id = (uint32_t)draw(4);
    memset(head->name, (int)draw(256), sizeof head->name);
}

static void play(uint32_t rounds)
{
    uint32_t pid = (uint32_t)getpid();
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t serial = 1 + draw(THREADS), image = draw(2) == 0 ? 1 : serial;
        struct ttest_block b = ttest_block_take(&player, pid, image, serial, 1 + round / 3);
        fill_head(&b);
        uint32_t count = 1 + (uint32_t)draw(TTP_BLOCK_RECORDS - 1);
        bool only_words = draw(6) == 0;
        while (b.used < count)
            if (only_words)
                ttest_put(&b, draw_word());
            else
                put_something(&b);
        for (uint64_t holes = draw(4) == 0 ? draw(5) : 0; holes > 0; holes--)
            ttest_put_at(&b, (uint32_t)draw(count), 0);
        ttest_block_state(&b, draw(12) == 0 ? TTP_BLOCK_FILLING : TTP_BLOCK_DONE);
        if (draw(3) == 0)
            ttest_poll(&player);
        if (draw(9) == 0)
            ttest_flush(&player);
    }
}

static void name_anything(void *context, ttape_site *site, const ttape_module *module)
{
    (void)context;
    (void)module;
    if (site->symbol.size_bytes == 0)
        site->symbol = (ttape_string){"\x1b[2J\n\xff", 6};
}

static uint32_t select_some(void *context, const ttape_site *site, const ttape_module *module)
{
    (void)context;
    (void)module;
    return site->address / 16 % 3;
}

static bool no_finding(void *context, const ttape_finding *finding)
{
    (void)context;
    ck_abort_msg("seed %lu: %s %s", (unsigned long)seed, finding->error.rule,
                 finding->error.message);
    return false;
}

static void verify_all(void)
{
    for (uint32_t i = 0; ttape_recording_file(player.recording, i) != NULL; i++) {
        ttape_source source;
        uint64_t findings;
        TTEST_DONE(
            ttape_source_file_open(&source, ttape_recording_file(player.recording, i), &err));
        TTEST_DONE(ttape_verify(&source, NULL, no_finding, NULL, NULL, &findings, &err));
        ttape_source_file_close(&source);
    }
}

static void run(ttape_recording_options options, uint64_t first_seed)
{
    options.size = sizeof options;
    seed = first_seed;
    ttest_player_open(&player, &options);
    play(40);
    (void)ttest_finish(&player);
    verify_all();
    bool pieces = options.keep_bytes != 0;
    if (pieces) /* they lie in the directory, to be merged */
        ttest_player_discard(&player);
    else
        ttest_player_close(&player);
}

START_TEST(plain)
{
    run((ttape_recording_options){.clock = TTAPE_CLOCK_NONE}, 1000u + (uint64_t)_i);
}
END_TEST

START_TEST(timed)
{
    run((ttape_recording_options){.clock = TTAPE_CLOCK_TSC + (uint32_t)_i % 3},
        2000u + (uint64_t)_i);
}
END_TEST

START_TEST(filtered)
{
    ttape_site_rules rules = {.name = name_anything,
                              .select = select_some,
                              .has_below = _i % 2 == 0,
                              .cull_hot = _i % 3 == 0,
                              .max_depth = (uint32_t)_i % 4,
                              .min_ns = (uint64_t)_i % 5 * 1000};
    run((ttape_recording_options){.clock = TTAPE_CLOCK_MONOTONIC, .rules = rules},
        3000u + (uint64_t)_i);
}
END_TEST

START_TEST(in_pieces)
{
    ttape_recording_options options = {.clock = TTAPE_CLOCK_MONOTONIC};
    switch (_i % 5) {
    case 0: options.rotate_bytes = 2000; break;
    case 1: options.keep_bytes = 20000; break;
    case 2: options.separate_files = true; break;
    case 3: options.live = true; break;
    default: options.max_bytes = 20000; break;
    }
    run(options, 4000u + (uint64_t)_i);
}
END_TEST

/* States and the head as no runtime would leave them. */
START_TEST(a_hostile_arena)
{
    ttape_recording_options options = {.size = sizeof options, .clock = TTAPE_CLOCK_NONE};
    seed = 5000u + (uint64_t)_i;
    ttest_player_open(&player, &options);
    for (int round = 0; round < 20; round++) {
        uint32_t index = (uint32_t)draw(player.head->block_ready);
        uint64_t *words = (uint64_t *)(void *)(player.blocks + (size_t)index * TTP_BLOCK_BYTES);
        for (uint32_t i = 0; i < TTP_BLOCK_BYTES / 8; i++)
            words[i] = draw(8) == 0 ? 0 : draw_word();
        player.states[index] = (uint32_t)draw_word();
        player.head->flags = (uint32_t)draw_word();
        player.head->block_ready = (uint32_t)draw(TTP_ARENA_BLOCKS_MAX);
        player.head->next_serial = draw_word();
        player.head->lost = draw(100);
        player.head->magic = draw_word();
        ttest_poll(&player);
        player.head->block_ready = 128;
    }
    (void)ttest_finish(&player);
    verify_all();
    ttest_player_close(&player);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording hostile");
    TCase *tests = tcase_create("hostile");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, plain, 0, ROUNDS / (int)ttest_every(2));
    tcase_add_loop_test(tests, timed, 0, ROUNDS / (int)ttest_every(2));
    tcase_add_loop_test(tests, filtered, 0, ROUNDS / (int)ttest_every(2));
    tcase_add_loop_test(tests, in_pieces, 0, ROUNDS / (int)ttest_every(2));
    tcase_add_loop_test(tests, a_hostile_arena, 0, ROUNDS / (int)ttest_every(2));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
