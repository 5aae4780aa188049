/* Recovery and its memory: every block is given back as it was taken, and where one is refused the
 * error says so, whatever was being looked at. Also whose trace chunks are, where only the first of
 * them tells. */
#define _GNU_SOURCE /* the fixture's memmem */
#include <stddef.h>

#include "recover_fixture.h"

/* Blocks with their size in front; one of them is refused. */
struct counted {
    uint64_t used_bytes, calls, fail_at; /* fail_at 0: none is refused */
};

#define FRONT_BYTES 16u

static void *allocate(void *context, size_t size_bytes)
{
    struct counted *c = context;
    if (++c->calls == c->fail_at)
        return NULL;
    uint8_t *block = malloc(FRONT_BYTES + size_bytes);
    ck_assert_ptr_nonnull(block);
    memcpy(block, &size_bytes, sizeof size_bytes);
    c->used_bytes += size_bytes;
    return block + FRONT_BYTES;
}

static void give_back(void *context, void *memory, size_t size_bytes)
{
    struct counted *c = context;
    if (memory == NULL)
        return;
    uint8_t *block = (uint8_t *)memory - FRONT_BYTES;
    size_t taken;
    memcpy(&taken, block, sizeof taken);
    ck_assert_uint_eq(size_bytes, taken);
    c->used_bytes -= size_bytes;
    free(block);
}

static ttape_status recover_counted(const void *data, size_t size_bytes, struct counted *c,
                                    ttape_recover_report *report, ttape_error *err)
{
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_source source = ttape_source_memory(data, size_bytes);
    ttape_allocator allocator = {c, allocate, give_back};
    ttape_recover_options how = {.size = sizeof how, .allocator = &allocator};
    ttape_status status = ttape_recover_trace(&source, &sink, &how, report, err);
    ttape_memory_sink_close(&out);
    ck_assert_uint_eq(c->used_bytes, 0);
    return status;
}

static void spoil(size_t place) { file.data[places[place].offset + TTP_CHUNK_HEADER_BYTES] ^= 1; }

/* An index whose own number is not that of the chunks in it is of no use. */
START_TEST(an_index_that_counts_wrong)
{
    struct counted c = {0};
    ttape_error err = {0};
    ttape_recover_report report;
    for (size_t i = 0; i < place_count; i++) {
        if (places[i].head.kind != TTP_CHUNK_INDEX)
            continue;
        struct ttp_chunk head = places[i].head;
        head.sequence++;
        ttp_chunk_write(&head, file.data + places[i].offset);
    }
    TTEST_OK(recover_counted(file.data, file.size_bytes, &c, &report, &err));
    ck_assert_uint_eq(report.copied_events, whole.count);
}
END_TEST

/* A partition is lost, so that the index is asked what was in it: at any moment, memory that is
 * refused is told as that, and nothing is left behind. */
START_TEST(any_block_is_refused)
{
    ttape_recover_report report;
    uint64_t refused = 0;
    spoil(find_kind(TTP_CHUNK_PARTITION, 1));
    for (;;) {
        struct counted c = {.fail_at = refused + 1};
        ttape_error err = {0};
        ttape_status status = recover_counted(file.data, file.size_bytes, &c, &report, &err);
        ck_assert_int_eq(err.status, status);
        if (c.calls < c.fail_at) {
            ck_assert_int_eq(status, TTAPE_OK);
            break;
        }
        ck_assert_msg(status == TTAPE_OK || status == TTAPE_E_MEMORY, "block %llu: %s",
                      (unsigned long long)c.fail_at, err.message);
        refused++;
    }
    ck_assert_uint_gt(refused, 100);
}
END_TEST

/* Chunks of another trace stand in front of those of the one that the file header names. Nothing
 * else in them tells whose they are; who came first would be taken for ours. */
START_TEST(first_chunks_name_their_traces)
{
    struct counted c = {0};
    ttape_recover_report report;
    ttape_error err = {0};
    size_t theirs = other.size_bytes - TTP_FILE_HEADER_BYTES - TTP_FOOTER_BYTES;
    uint8_t *copy = malloc(file.size_bytes + theirs), *at = copy + TTP_FILE_HEADER_BYTES;
    memcpy(copy, file.data, TTP_FILE_HEADER_BYTES);
    memcpy(at, other.data + TTP_FILE_HEADER_BYTES, theirs);
    memcpy(at + theirs, file.data + TTP_FILE_HEADER_BYTES, file.size_bytes - TTP_FILE_HEADER_BYTES);
    TTEST_OK(recover_counted(copy, file.size_bytes + theirs, &c, &report, &err));
    ck_assert_uint_eq(report.pieces[TTAPE_RECOVER_METADATA][TTAPE_RECOVER_KEPT], 1);
    ck_assert_uint_ge(report.pieces[TTAPE_RECOVER_METADATA][TTAPE_RECOVER_FOREIGN], 1);
    ck_assert_uint_eq(report.copied_events, whole.count);
    free(copy);
}
END_TEST

/* As for other structs that say their size. */
START_TEST(options_of_other_versions)
{
    struct {
        ttape_recover_options known;
        uint64_t later;
    } how = {.known.size = sizeof how, .later = 1};
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ck_assert_int_eq(ttape_recover_trace(&source, &sink, &how.known, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_recover_recording("/", &sink, &how.known, NULL, &err), TTAPE_E_ARGUMENT);
    how.known.size = 0;
    ck_assert_int_eq(ttape_recover_trace(&source, &sink, &how.known, NULL, &err), TTAPE_E_ARGUMENT);
    how.known.size = offsetof(ttape_recover_options, limits); /* of before there were any */
    how.known.limits.memory_bytes = 1;
    TTEST_OK(ttape_recover_trace(&source, &sink, &how.known, NULL, &err));
    ttape_memory_sink_close(&out);
}
END_TEST

static ttape_status recover_within(const ttape_limits *limits, ttape_recover_report *report)
{
    ttape_recover_options how = {.size = sizeof how, .limits = *limits};
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_status status = ttape_recover_trace(&source, &sink, &how, report, &err);
    ttape_memory_sink_close(&out);
    return status;
}

START_TEST(limits_of_a_recovery)
{
    ttape_recover_report report;
    ck_assert_int_eq(recover_within(&(ttape_limits){.memory_bytes = 2000}, &report), TTAPE_E_LIMIT);
    ck_assert_int_eq(recover_within(&(ttape_limits){.partition_events = 8}, &report), TTAPE_OK);
    ck_assert_uint_eq(report.copied_events, 0);
    ck_assert_uint_eq(report.lost_events, whole.count);
    ck_assert_uint_ne(report.loss_count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover_memory");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, an_index_that_counts_wrong);
    tcase_add_test(tests, any_block_is_refused);
    tcase_add_test(tests, first_chunks_name_their_traces);
    tcase_add_test(tests, options_of_other_versions);
    tcase_add_test(tests, limits_of_a_recovery);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
