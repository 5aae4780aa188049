/* Every truncation and every bit flip of small files: refused, or read as if nothing had happened,
 * and never silently less. The buffers are of exactly the file's size, so that ASan sees one byte
 * over. */
#include "tests/unit/every.h"
#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan plans[] = {
    {.streams = 2, .events = 160, .partition_events = 60},
    {.streams = 1, .events = 120, .partition_events = 60, .literal = true, .plain = true},
    {.streams = 2, .events = 60, .level = 9},
    {.streams = 1, .events = 90, .resolution_ns = TTAPE_TIME_NONE},
};
#define PLANS (sizeof plans / sizeof plans[0])

static ttape_reader *try_open(const uint8_t *data, size_t size_bytes, bool scan, ttape_error *err)
{
    ttape_reader *r = NULL;
    ttape_source source = ttape_source_memory(data, size_bytes);
    ttape_reader_options o = {.size = sizeof o, .ignore_index = scan};
    ttape_status status = ttape_reader_open(&r, &source, &o, err);
    ck_assert((status == TTAPE_OK) == (r != NULL));
    if (status != TTAPE_OK) {
        ck_assert_int_eq(status, err->status);
        ck_assert(err->message[0] != '\0');
    }
    return r;
}

/* Chunk ends of a sound file. */
static uint64_t chunk_end(const uint8_t *data, uint64_t at)
{
    struct ttp_chunk chunk;
    ck_assert_int_eq(ttp_chunk_read(data + at, at, &chunk, NULL), TTAPE_OK);
    return at + TTP_CHUNK_HEADER_BYTES + chunk.stored_bytes;
}

/* F-CHK-10, R1: what is complete is there, and the place of the cut is told. */
START_TEST(every_truncation)
{
    struct ttest_file file = ttest_write(&plans[_i]);
    uint64_t last_events = 0;
    for (size_t size = 0; size < file.size_bytes; size += ttest_every(5)) {
        uint8_t *cut = malloc(size + !size);
        ttape_error err = {0};
        memcpy(cut, file.data, size);
        ttape_reader *r = try_open(cut, size, false, &err);
        if (size < TTP_FILE_HEADER_BYTES) {
            ck_assert(r == NULL);
            ck_assert(err.status == TTAPE_E_TRUNCATED || err.status == TTAPE_E_NOT_TRACE);
        } else {
            ttape_info info;
            ck_assert_msg(r != NULL, "cut at %zu: %s", size, err.message);
            ttape_reader_get_info(r, &info);
            uint64_t at = TTP_FILE_HEADER_BYTES, end = at;
            while (at < file.size_bytes - TTP_FOOTER_BYTES &&
                   (end = chunk_end(file.data, at)) <= size)
                at = end;
            ck_assert_uint_eq(info.truncated_at, info.truncated ? at : size);
            ck_assert_int_eq(info.truncated, at != size);
            ck_assert(!info.complete);
            ck_assert(info.event_count >= last_events);
            last_events = info.event_count;
            struct ttest_sum sum = ttest_read_all(r);
            ck_assert_uint_eq(sum.errors, 0);
            ck_assert_uint_eq(sum.events, 2 * info.event_count);
        }
        ttape_reader_close(r);
        free(cut);
    }
    free(file.data);
}
END_TEST

/* R2: a flipped bit is refused when it is met, and harms only one partition; or it changes nothing.
 */
START_TEST(every_bit_flip)
{
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_error err = {0};
    ttape_reader *r = try_open(file.data, file.size_bytes, false, &err);
    struct ttest_sum want = ttest_read_all(r);
    ttape_reader_close(r);
    uint64_t refused = 0, partly = 0, same = 0;
    for (size_t bit = 0; bit < file.size_bytes * 8; bit += ttest_step(3, 13)) {
        file.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        for (int scan = 0; scan < 2; scan++) {
            r = try_open(file.data, file.size_bytes, scan, &err);
            if (r == NULL) {
                refused++;
                continue;
            }
            ttape_info info;
            ttape_reader_get_info(r, &info);
            struct ttest_sum sum = ttest_read_all(r);
            if (sum.errors > 0)
                partly++;
            else if (sum.hash == want.hash)
                same++;
            else
                ck_assert_msg(info.truncated && !info.complete,
                              "bit %zu changed what is read, silently", bit);
            ttape_reader_close(r);
        }
        file.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    ck_assert(refused != 0 && partly != 0 && same != 0);
    free(file.data);
}
END_TEST

static bool count_rules(void *context, const ttape_finding *f)
{
    (void)context;
    ck_assert(f->error.status != TTAPE_OK && f->error.message[0] != '\0');
    return true;
}

/* verify covers every bit of the file. */
START_TEST(verify_finds_every_bit_flip)
{
    struct ttest_file file = ttest_write(&plans[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    for (size_t bit = 0; bit < file.size_bytes * 8; bit += ttest_step(3, 13)) {
        uint64_t findings = 0;
        file.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        TTEST_OK(ttape_verify(&source, NULL, count_rules, NULL, NULL, &findings, &err));
        ck_assert_msg(findings != 0, "bit %zu is covered by nothing", bit);
        file.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    free(file.data);
}
END_TEST

START_TEST(random_damage)
{
    uint64_t seed = 77;
    struct ttest_file file = ttest_write(&plans[_i]);
    uint8_t *copy = malloc(file.size_bytes);
    for (int k = 0; k < 300; k += (int)ttest_every(5)) {
        ttape_error err = {0};
        uint64_t findings;
        memcpy(copy, file.data, file.size_bytes);
        uint32_t size = (uint32_t)file.size_bytes, hits = 1 + size / 100;
        if (k % 3 == 0) /* a block of zeros, a block from elsewhere, or noise */
            memset(copy + ttest_random(&seed, size - 64), 0, 64);
        else if (k % 3 == 1)
            memmove(copy + ttest_random(&seed, size / 2), copy + ttest_random(&seed, size / 2),
                    size / 2);
        else
            for (uint32_t i = 0; i < hits; i++)
                copy[ttest_random(&seed, size)] = (uint8_t)ttest_random(&seed, 256);
        ttape_reader *r = try_open(copy, file.size_bytes, k & 1, &err);
        if (r != NULL)
            (void)ttest_read_all(r);
        ttape_reader_close(r);
        ttape_source source = ttape_source_memory(copy, file.size_bytes);
        TTEST_OK(ttape_verify(&source, NULL, count_rules, NULL, NULL, &findings, &err));
    }
    free(copy);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader_damage");
    TCase *tests = tcase_create("plans");
    tcase_set_timeout(tests, 280);
    tcase_add_loop_test(tests, every_truncation, 0, PLANS);
    tcase_add_loop_test(tests, every_bit_flip, 0, PLANS);
    tcase_add_loop_test(tests, verify_finds_every_bit_flip, 0, PLANS);
    tcase_add_loop_test(tests, random_damage, 0, PLANS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
