/* R8: keys that were chosen to collide crowd no table: what is counted is how long the runs of
 * occupied places are, through which every search has to go.
 *
 * What collides under a secret nobody can choose: the keys are those that did under the constants
 * that the tables had before. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/report/account.h"
#include "base/active.h"
#include "base/secret.h"
#include "format/chain/chain_stacks.h"
#include "recorder/state/word_map.h"
#include "tests/asserts.h"
#include "tools/command/tool_map.h"
#include "tools/export/export_stacks.h"

#define KEYS   20000u
#define CROWD  80u /* of 65,536 places: where the chosen keys were */
#define FACTOR 3.0
#define STACKS 10500u /* a segment's table has room for few more than half of the keys */

static uint64_t chosen[KEYS], others[KEYS];

/* The first numbers that `was_at` has among the first places of its 65,536; and any others. */
static void choose(uint64_t (*was_at)(uint64_t key), uint64_t (*key_of)(uint64_t number))
{
    uint32_t count = 0, seed = 1;
    for (uint64_t i = 1; count < KEYS && i < 1u << 25; i++)
        if (was_at(key_of(i)) % 65536 < CROWD)
            chosen[count++] = key_of(i);
    ck_assert_uint_eq(count, KEYS);
    for (uint32_t i = 0; i < KEYS; i++)
        others[i] = key_of((seed = seed * 1664525u + 1013904223u) >> 7);
}

/* The mean over the occupied places of their runs' lengths. */
static double crowding(const void *table, size_t count, bool (*is_used)(const void *, size_t))
{
    double squares = 0, used = 0, run = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && is_used(table, i)) {
            run++;
            continue;
        }
        squares += run * run;
        used += run;
        run = 0;
    }
    ck_assert(used > KEYS / 2.0);
    return squares / used;
}

static void compare(const char *what, double (*fill)(const uint64_t *keys))
{
    double bad = fill(chosen), random = fill(others);
    printf("%s: runs of %.1f chosen, %.1f random\n", what, bad, random);
    ck_assert(bad < FACTOR * random);
}

static uint64_t plain(uint64_t number) { return number; }

/* 4,096 functions that call each other. */
static uint64_t pair(uint64_t number) { return (number >> 12) << 32 | (number & 4095); }

static uint64_t address(uint64_t number) { return UINT64_C(0x555555550000) + 16 * number; }

/* ---- orders, in both directions ---- */

static uint64_t stack_was_at(uint64_t key) { return (uint32_t)key * 0x9e3779b1u >> 16; }

static bool stack_is_used(const void *table, size_t at)
{
    return ((const struct ttp_chain_stack *)table)[at].segment != 0;
}

static double fill_switches(const uint64_t *keys)
{
    struct ttp_chain_stacks stacks;
    struct ttp_chain_stack *entries = malloc(sizeof *entries << TTP_CHAIN_STACKS_BITS_MAX);
    ck_assert_ptr_nonnull(entries);
    ttp_chain_stacks_init(&stacks, entries, TTP_CHAIN_STACKS_BITS_MAX, ttp_secret_key());
    ttp_chain_stacks_start(&stacks);
    for (uint32_t i = 0; i < STACKS; i++)
        ck_assert_ptr_nonnull(ttp_chain_stack_top(&stacks, (uint32_t)keys[i]));
    double crowd = crowding(entries, (size_t)1 << TTP_CHAIN_STACKS_BITS_MAX, stack_is_used);
    free(entries);
    return crowd;
}

START_TEST(r8_switches_between_stacks)
{
    choose(stack_was_at, plain);
    compare("switches", fill_switches);
}
END_TEST

/* ---- the reader ---- */

static uint64_t row_was_at(uint64_t key)
{
    return (key ^ key >> 29) * UINT64_C(0x9e3779b97f4a7c15) >> 48;
}

/* Rows by site have no caller. */
static uint64_t uncalled_was_at(uint64_t key)
{
    return row_was_at((uint64_t)TTAPE_NONE << 32 | key);
}

static bool row_is_used(const void *table, size_t at) { return ((const uint32_t *)table)[at] != 0; }

static double fill_rows(const uint64_t *keys, bool has_caller)
{
    struct ttp_memory memory;
    struct ttp_account_rows rows;
    ttp_memory_init(&memory, NULL, UINT64_MAX);
    ck_assert_int_eq(ttp_account_rows_open(&rows, &memory, 3, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t caller = has_caller ? (uint32_t)(keys[i] >> 32) : TTAPE_NONE;
        ck_assert_uint_ne(ttp_account_find(&rows, caller, (uint32_t)keys[i], NULL), 0);
    }
    double crowd = crowding(rows.slots, (size_t)1 << rows.slot_bits, row_is_used);
    ttp_account_rows_close(&rows);
    return crowd;
}

static double fill_rows_by_site(const uint64_t *keys) { return fill_rows(keys, false); }

static double fill_rows_by_call(const uint64_t *keys) { return fill_rows(keys, true); }

START_TEST(r8_rows_of_a_report)
{
    choose(uncalled_was_at, plain);
    compare("rows by site", fill_rows_by_site);
    choose(row_was_at, pair);
    compare("rows by call", fill_rows_by_call);
}
END_TEST

static uint64_t active_was_at(uint64_t key) { return key * UINT64_C(0x9e3779b97f4a7c15) >> 48; }

static bool active_is_used(const void *table, size_t at)
{
    return ((const struct ttp_active *)table)[at].count != 0;
}

static double fill_active(const uint64_t *keys)
{
    struct ttp_memory memory;
    ttp_memory_init(&memory, NULL, UINT64_MAX);
    struct ttp_active_table table = {.memory = &memory};
    bool is_first;
    ttp_active_start(&table);
    for (uint32_t i = 0; i < KEYS; i++)
        ck_assert_int_eq(ttp_active_add(&table, keys[i], &is_first, NULL), TTAPE_OK);
    double crowd = crowding(table.entries, (size_t)1 << table.bits, active_is_used);
    ttp_active_close(&table);
    return crowd;
}

START_TEST(r8_frames_on_stacks)
{
    choose(active_was_at, pair);
    compare("frames on stacks", fill_active);
}
END_TEST

/* ---- the command ---- */

static bool map_is_used(const void *table, size_t at)
{
    return ((const struct ttp_key_slot *)table)[at].is_used != 0;
}

static double fill_map(const uint64_t *keys)
{
    struct ttp_key_map map = {0};
    for (uint32_t i = 0; i < KEYS; i++)
        *tool_map_at(&map, keys[i], TTAPE_NONE) = i;
    double crowd = crowding(map.slots, map.slot_count, map_is_used);
    tool_map_close(&map);
    return crowd;
}

START_TEST(r8_calls_of_a_graph)
{
    choose(ttp_mix64, pair);
    compare("calls", fill_map);
}
END_TEST

static double fill_stacks(const uint64_t *keys)
{
    struct tool_stacks stacks;
    tool_stacks_open(&stacks);
    for (uint32_t i = 0; i < KEYS; i++)
        (void)tool_stacks_child(&stacks, 0, (uint32_t)keys[i]);
    double crowd = crowding(stacks.slots, stacks.slot_count, row_is_used);
    tool_stacks_close(&stacks);
    return crowd;
}

START_TEST(r8_stacks_of_an_export)
{
    choose(ttp_mix64, plain);
    compare("stacks", fill_stacks);
}
END_TEST

/* ---- recordings ---- */

static uint64_t word_was_at(uint64_t key) { return key * UINT64_C(0x9e3779b97f4a7c15) >> 32; }

static bool word_is_used(const void *table, size_t at)
{
    return ((const struct ttp_map_slot *)table)[at].key != 0;
}

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    return malloc(size_bytes);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

static double fill_words(const uint64_t *keys)
{
    const ttape_allocator allocator = {NULL, allocate, release};
    struct ttp_word_map map = {0};
    for (uint32_t i = 0; i < KEYS; i++)
        ck_assert_int_eq(ttp_map_set(&allocator, &map, keys[i], i, NULL), TTAPE_OK);
    double crowd = crowding(map.slots, map.capacity, word_is_used);
    ttp_map_free(&allocator, &map);
    return crowd;
}

START_TEST(r8_addresses_of_a_recording)
{
    choose(word_was_at, address);
    compare("addresses", fill_words);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep_tables");
    TCase *tests = tcase_create("tables");
    tcase_set_timeout(tests, 280);
    tcase_add_test(tests, r8_switches_between_stacks);
    tcase_add_test(tests, r8_rows_of_a_report);
    tcase_add_test(tests, r8_frames_on_stacks);
    tcase_add_test(tests, r8_calls_of_a_graph);
    tcase_add_test(tests, r8_stacks_of_an_export);
    tcase_add_test(tests, r8_addresses_of_a_recording);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
