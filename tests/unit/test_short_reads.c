/* A file that is given in small pieces, with interruptions: the system may do so at any time, and
 * what is read is the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan plan = {.streams = 2, .events = 3000, .partition_events = 500};

static size_t piece_bytes;
static uint32_t reads, beyond;
static const struct ttest_file *asked_of;

/* In place of the system's: each third call is interrupted, none gives more than a piece. */
ssize_t pread(int fd, void *buffer, size_t size_bytes, off_t offset)
{
    if (++reads % 3 == 0) {
        errno = EINTR;
        return -1;
    }
    beyond += (uint64_t)offset + size_bytes > asked_of->size_bytes;
    if (lseek(fd, offset, SEEK_SET) != offset)
        return -1;
    return read(fd, buffer, size_bytes < piece_bytes ? size_bytes : piece_bytes);
}

static uint64_t hash_of(const char *path)
{
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *r;
    TTEST_OK(ttape_source_file_open(&source, path, &err));
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    struct ttest_sum one = ttest_read_stream(r, 0), two = ttest_read_stream(r, 1);
    ck_assert_uint_eq(one.errors + two.errors, 0);
    ck_assert_uint_eq(one.events + two.events, plan.events);
    ttape_reader_close(r);
    ttape_source_file_close(&source);
    return one.hash ^ two.hash;
}

START_TEST(the_same_in_pieces)
{
    struct ttest_file file = ttest_write(&plan);
    char path[] = "/tmp/test_short_reads.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, file.data, file.size_bytes), (ssize_t)file.size_bytes);
    (void)close(fd);
    asked_of = &file;
    piece_bytes = file.size_bytes;
    uint64_t whole = hash_of(path);
    static const size_t pieces[] = {1, 7, 100};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        piece_bytes = pieces[i];
        ck_assert_uint_eq(hash_of(path), whole);
    }
    ck_assert_uint_eq(beyond, 0); /* never more is asked for than there is */
    ck_assert_uint_gt(reads, file.size_bytes);
    ck_assert_int_eq(unlink(path), 0);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("short reads");
    TCase *tests = tcase_create("files");
    tcase_add_test(tests, the_same_in_pieces);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
