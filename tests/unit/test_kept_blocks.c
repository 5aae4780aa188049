/* Blocks that a reader keeps: used again for the same sizes, within their bound and the limit. */
#include <stdlib.h>
#include <string.h>

#include "base/kept_blocks.h"
#include "base/memory.h"
#include "tests/asserts.h"

#define MIB ((uint64_t)1 << 20)

START_TEST(are_used_again)
{
    struct ttp_kept *kept = ttp_kept_open(16 * MIB);
    if (kept == NULL)
        return; /* a sanitizer watches */
    void *small = ttp_block_allocate(100), *large = ttp_block_allocate(3 * MIB);
    memset(large, 1, 3 * MIB);
    ttp_kept_give(kept, small, 100, 16 * MIB);
    ttp_kept_give(kept, large, 3 * MIB, 16 * MIB);
    ck_assert_ptr_null(ttp_kept_take(kept, 100));
    ck_assert_ptr_null(ttp_kept_take(kept, 2 * MIB));
    ck_assert_ptr_null(ttp_kept_take(kept, 4 * MIB));
    ck_assert_ptr_eq(ttp_kept_take(kept, 3 * MIB - 1000), large); /* rounds up to the same */
    ck_assert_ptr_null(ttp_kept_take(kept, 3 * MIB));
    memset(large, 2, 3 * MIB);
    ttp_kept_give(kept, large, 3 * MIB - 1000, 16 * MIB);
    ck_assert_ptr_eq(ttp_kept_take(kept, 3 * MIB), large);
    ttp_kept_give(kept, large, 3 * MIB, 16 * MIB);
    ttp_kept_close(kept);
}
END_TEST

static unsigned count(struct ttp_kept *kept, size_t size_bytes, unsigned most)
{
    unsigned n = 0;
    for (void *block; n < most && (block = ttp_kept_take(kept, size_bytes)) != NULL; n++)
        free(block);
    return n;
}

START_TEST(stay_within_their_bound)
{
    struct ttp_kept *kept = ttp_kept_open(16 * MIB);
    if (kept == NULL)
        return;
    for (unsigned i = 0; i < 10; i++)
        ttp_kept_give(kept, ttp_block_allocate(4 * MIB), 4 * MIB, 1024 * MIB);
    ck_assert_uint_eq(count(kept, 4 * MIB, 100), 4);
    for (unsigned i = 0; i < 10; i++)
        ttp_kept_give(kept, ttp_block_allocate(4 * MIB), 4 * MIB, 9 * MIB);
    ck_assert_uint_eq(count(kept, 4 * MIB, 100), 2);
    ttp_kept_give(kept, ttp_block_allocate(17 * MIB), 17 * MIB, 1024 * MIB);
    ck_assert_uint_eq(count(kept, 17 * MIB, 100), 0);
    for (unsigned i = 0; i < 100; i++)
        ttp_kept_give(kept, ttp_block_allocate(MIB / 8), MIB / 8, 1024 * MIB);
    ttp_kept_give(kept, ttp_block_allocate(MIB), MIB, 1024 * MIB); /* the oldest of the others go */
    ck_assert_uint_eq(count(kept, MIB, 100), 1);
    ck_assert_uint_lt(count(kept, MIB / 8, 100), 100);
    ttp_kept_close(kept);
}
END_TEST

/* What is kept makes no failure where all of it would have fitted without. */
START_TEST(give_way_to_the_limit)
{
    struct ttp_memory memory;
    ttape_error err = {0};
    ttp_memory_init(&memory, NULL, 64 * MIB);
    ttp_memory_keep(&memory);
    for (unsigned turn = 0; turn < 3; turn++) {
        void *a = ttp_memory_take(&memory, 5 * MIB, 1, &err);
        void *b = ttp_memory_take(&memory, 59 * MIB, 1, &err);
        ck_assert(a != NULL && b != NULL);
        ck_assert_ptr_null(ttp_memory_take(&memory, 1, 1, &err));
        ck_assert_int_eq(memory.status, TTAPE_E_LIMIT);
        ttp_memory_give(&memory, a, 5 * MIB, 1);
        ttp_memory_give(&memory, b, 59 * MIB, 1);
        ck_assert_uint_eq(memory.used_bytes, 0);
        void *c = ttp_memory_take(&memory, 64 * MIB, 1, &err);
        ck_assert_ptr_nonnull(c);
        if (memory.kept != NULL)
            ck_assert_ptr_null(ttp_kept_take(memory.kept, 5 * MIB));
        ttp_memory_give(&memory, c, 64 * MIB, 1);
    }
    ttp_memory_close(&memory);
}
END_TEST

START_TEST(whole_pages_leave_small_limits_alone)
{
    struct ttp_memory memory;
    ttp_memory_init(&memory, NULL, 63 * MIB);
    ttp_memory_keep(&memory);
    ck_assert_uint_eq(ttp_scratch_bytes(&memory, MIB), MIB);
    ttp_memory_close(&memory);
    ttp_memory_init(&memory, NULL, 64 * MIB);
    ck_assert_uint_eq(ttp_scratch_bytes(&memory, MIB), MIB);
    ttp_memory_keep(&memory);
    ck_assert_uint_eq(ttp_scratch_bytes(&memory, MIB), memory.kept != NULL ? 2 * MIB : MIB);
    ck_assert_uint_eq(ttp_scratch_bytes(&memory, MIB / 4), MIB / 4);
    ck_assert_uint_eq(ttp_scratch_bytes(&memory, UINT64_MAX), UINT64_MAX);
    ttp_memory_close(&memory);
}
END_TEST

static void *allocate(void *context, size_t size_bytes)
{
    ++*(unsigned *)context;
    return malloc(size_bytes);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    --*(unsigned *)context;
    free(memory);
}

START_TEST(are_none_of_the_callers)
{
    unsigned blocks = 0;
    const ttape_allocator own = {&blocks, allocate, release};
    struct ttp_memory memory;
    ttape_error err = {0};
    ttp_memory_init(&memory, &own, 64 * MIB);
    ttp_memory_keep(&memory);
    void *a = ttp_memory_take(&memory, 5 * MIB, 1, &err);
    ck_assert_uint_eq(blocks, 1);
    ttp_memory_give(&memory, a, 5 * MIB, 1);
    ck_assert_uint_eq(blocks, 0);
    ttp_memory_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept blocks");
    TCase *tests = tcase_create("kept");
    tcase_add_test(tests, are_used_again);
    tcase_add_test(tests, stay_within_their_bound);
    tcase_add_test(tests, give_way_to_the_limit);
    tcase_add_test(tests, whole_pages_leave_small_limits_alone);
    tcase_add_test(tests, are_none_of_the_callers);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
