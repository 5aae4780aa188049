/* The command's binary search and heap, against a walk over all elements. */
#include <stdint.h>
#include <stdlib.h>

#include "base/ordered.h"
#include "tests/asserts.h"

#define MOST 200u

static uint32_t random_below(uint32_t below)
{
    static uint64_t seed = 1;
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

static int compare(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;
    return one < two ? -1 : one > two;
}

START_TEST(a_search_finds_the_first)
{
    uint32_t list[MOST];
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t count = round % MOST, first = 0, sought = random_below(60);
        for (uint32_t i = 0; i < count; i++)
            list[i] = random_below(50); /* many equal ones */
        qsort(list, count, sizeof list[0], compare);
        while (first < count && list[first] < sought)
            first++;
        struct ttp_bisect s = {.end = count};
        while (ttp_bisect_next(&s))
            ttp_bisect_turn(&s, list[s.middle] < sought);
        ck_assert_uint_eq(s.first, first);
    }
}
END_TEST

struct element {
    uint32_t key, order;
    char rest[56];
};

/* By key, equal keys by their order; the context says what the keys' highest bits are. */
static bool is_before(const void *context, const void *a, const void *b)
{
    const struct element *one = a, *two = b;
    uint32_t flip = *(const uint32_t *)context;
    return one->key != two->key ? (one->key ^ flip) < (two->key ^ flip) : one->order < two->order;
}

static size_t first_of(const struct element *list, size_t count, const uint32_t *flip)
{
    size_t first = 0;
    for (size_t i = 1; i < count; i++)
        if (is_before(flip, &list[i], &list[first]))
            first = i;
    return first;
}

START_TEST(a_heap_gives_the_first)
{
    static struct element elements[MOST];
    const uint32_t flip = _i == 0 ? 0 : UINT32_MAX;
    struct ttp_heap heap = {elements, 0, sizeof elements[0], is_before, &flip};
    for (uint32_t i = 0; i < MOST / 2; i++)
        elements[heap.count++] = (struct element){.key = random_below(40), .order = i};
    ttp_heap_make(&heap);
    for (uint32_t round = MOST / 2; round < 4000; round++) {
        struct element added = {.key = random_below(40), .order = round};
        uint32_t what = random_below(4);
        ck_assert_uint_eq(first_of(elements, heap.count, &flip), 0);
        if (heap.count == 0 || (what < 2 && heap.count < MOST)) {
            ttp_heap_add(&heap, &added);
        } else if (what == 2) {
            ttp_heap_drop(&heap);
        } else {
            elements[0].key = added.key;
            ttp_heap_sink(&heap, 0);
        }
    }
    for (struct element last = elements[0]; heap.count > 0; ttp_heap_drop(&heap)) {
        ck_assert(!is_before(&flip, &elements[0], &last));
        last = elements[0];
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ordered");
    TCase *test_case = tcase_create("ordered");
    tcase_set_timeout(test_case, 60);
    tcase_add_test(test_case, a_search_finds_the_first);
    tcase_add_loop_test(test_case, a_heap_gives_the_first, 0, 2);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
