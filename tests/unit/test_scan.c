/* Scans of files that are not as they were written: a footer that says something else than the file
 * has does not complete it, although its own checksum is right; and memory that runs out while the
 * next chunk is looked for is said. */
#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan plan = {.streams = 2, .events = 800, .partition_events = 100};

static bool is_complete(const struct ttest_file *file)
{
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_reader_options o = {.size = sizeof o, .ignore_index = true};
    ttape_error err = {0};
    ttape_reader *r;
    ttape_info info;
    TTEST_OK(ttape_reader_open(&r, &source, &o, &err));
    ttape_reader_get_info(r, &info);
    ck_assert_uint_eq(info.event_count, plan.events);
    ttape_reader_close(r);
    return info.complete;
}

START_TEST(each_field)
{
    struct ttest_file file = ttest_write(&plan);
    uint64_t at = file.size_bytes - TTP_FOOTER_BYTES;
    uint8_t *bytes = file.data + at;
    ttape_error err = {0};
    struct ttp_footer right;
    TTEST_OK(ttp_footer_read(bytes, at, &right, &err));
    ck_assert(is_complete(&file));
    struct ttp_footer wrong[] = {right, right, right, right};
    wrong[0].chunk_count++;
    wrong[1].chunk_count--;
    wrong[2].index_offset++;
    wrong[3].index_offset = TTP_FILE_HEADER_BYTES;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ttp_footer_write(&wrong[i], bytes);
        ck_assert(!is_complete(&file));
    }
    ttp_footer_write(&right, bytes);
    ck_assert(is_complete(&file));
    free(file.data);
}
END_TEST

static uint32_t left; /* allocations that are granted */

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    if (left == 0)
        return NULL;
    left--;
    return malloc(size_bytes);
}

static void release(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

/* The second partition's header is not one, and chunks come behind it. */
START_TEST(memory_for_the_search)
{
    static const ttape_allocator allocator = {NULL, allocate, release};
    struct ttest_file file = ttest_write(&plan);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader_options o = {.size = sizeof o, .ignore_index = true, .allocator = &allocator};
    ttape_error err = {0};
    ttape_reader *r;
    ttape_partition_info second;
    ttape_status status = TTAPE_E_MEMORY;
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    TTEST_OK(ttape_reader_get_partition(r, 1, &second));
    ttape_reader_close(r);
    file.data[second.offset] ^= 1;
    for (uint32_t granted = 0; status == TTAPE_E_MEMORY; granted++) {
        left = granted;
        status = ttape_reader_open(&r, &source, &o, &err);
        ck_assert_ptr_null(r);
    }
    ck_assert_int_eq(status, TTAPE_E_CORRUPT);
    ck_assert_str_eq(err.rule, "F-CHK-01");
    ck_assert_uint_eq(err.offset, second.offset);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan");
    TCase *tests = tcase_create("scan");
    tcase_add_test(tests, each_field);
    tcase_add_test(tests, memory_for_the_search);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
