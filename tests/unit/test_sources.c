/* Where bytes come from: files and descriptors, whole, in pieces, interrupted, and what cannot be
 * read at all. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan plan = {.streams = 2, .events = 3000, .partition_events = 500};

static uint64_t count_forward(int fd, ttape_status *last, ttape_error *err)
{
    ttape_input input = ttape_input_fd(fd);
    ttape_forward *forward;
    ttape_reader *part;
    ttape_info info;
    uint64_t events = 0;
    *last = ttape_forward_open(&forward, &input, NULL, err);
    if (*last != TTAPE_OK) {
        ck_assert_ptr_null(forward);
        return 0;
    }
    while ((*last = ttape_forward_next(forward, &part, err)) == TTAPE_OK) {
        ttape_cursor *cursor;
        ttape_event_item item;
        ck_assert_int_eq(ttape_cursor_open(&cursor, part, TTAPE_ALL_STREAMS, NULL), TTAPE_OK);
        while (ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK)
            events++;
        ttape_cursor_close(cursor);
    }
    if (*last == TTAPE_END) {
        ttape_reader_get_info(part, &info);
        ck_assert(info.complete);
    }
    ttape_forward_close(forward);
    return events;
}

static void write_slowly(int fd, const struct ttest_file *file)
{
    for (size_t at = 0; at < file->size_bytes;) {
        size_t left = file->size_bytes - at, piece = left < 4001 ? left : 4001;
        ssize_t done = write(fd, file->data + at, piece);
        if (done < 0)
            _exit(1);
        at += (size_t)done;
        (void)usleep(2000);
    }
}

static void nothing(int number) { (void)number; }

/* Reads that signals interrupt are tried again, short ones go on. */
START_TEST(a_pipe_with_signals)
{
    struct ttest_file file = ttest_write(&plan);
    struct sigaction action = {.sa_handler = nothing}; /* without SA_RESTART */
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    ttape_error err = {0};
    ttape_status last;
    int ends[2], status;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        write_slowly(ends[1], &file);
        _exit(0);
    }
    (void)close(ends[1]);
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
    uint64_t events = count_forward(ends[0], &last, &err);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
    ck_assert_msg(last == TTAPE_END, "%s", err.message);
    ck_assert_uint_eq(events, plan.events);
    (void)close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    free(file.data);
}
END_TEST

/* The system's reason comes with the error. */
START_TEST(descriptors_that_cannot_be_read)
{
    ttape_error err = {0};
    ttape_status last;
    int fd = open("/dev/null", O_WRONLY);
    (void)count_forward(fd, &last, &err);
    ck_assert_int_eq(last, TTAPE_E_IO);
    ck_assert_int_eq(err.os_errno, EBADF);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot read"));
    (void)close(fd);
    fd = open("/", O_RDONLY);
    (void)count_forward(fd, &last, &err);
    ck_assert_int_eq(last, TTAPE_E_IO);
    ck_assert_int_eq(err.os_errno, EISDIR);
    (void)close(fd);
}
END_TEST

START_TEST(files_that_cannot_be_opened)
{
    ttape_error err = {0};
    ttape_source source = {.size_bytes = 5};
    ck_assert_int_eq(ttape_source_file_open(&source, "/nonexistent/a.ttape", &err), TTAPE_E_IO);
    ck_assert_int_eq(err.os_errno, ENOENT);
    ck_assert(source.read_at == NULL && source.size_bytes == 0);
    ck_assert_int_eq(ttape_source_file_open(&source, "/", &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_source_file_open(&source, "/dev/zero", &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_source_file_open(&source, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_source_file_open(NULL, "/", &err), TTAPE_E_ARGUMENT);
    ttape_source_file_close(&source); /* that is none */
    ttape_source_file_close(NULL);
    ttape_source memory = ttape_source_memory("x", 1);
    ttape_source_file_close(&memory); /* is no file's */
    ck_assert(memory.read_at != NULL && memory.size_bytes == 1);
}
END_TEST

/* A file whose descriptor somebody closed: an error of the system, at opening and later. */
START_TEST(a_file_that_is_closed_under_the_reader)
{
    struct ttest_file file = ttest_write(&plan);
    char path[] = "/tmp/test_sources.XXXXXX";
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *r;
    int fd = mkstemp(path), last = open("/dev/null", O_RDONLY);
    ck_assert_int_eq(write(fd, file.data, file.size_bytes), (ssize_t)file.size_bytes);
    (void)close(last); /* the next descriptor */
    TTEST_OK(ttape_source_file_open(&source, path, &err));
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ck_assert_int_eq(close(last), 0);
    struct ttest_sum sum = ttest_read_stream(r, 0);
    ck_assert_uint_gt(sum.errors, 0);
    ck_assert_uint_eq(sum.events, 0);
    ttape_reader_close(r);
    ck_assert_int_eq(ttape_reader_open(&r, &source, NULL, &err), TTAPE_E_IO);
    ck_assert_int_eq(err.os_errno, EBADF);
    ck_assert_ptr_null(r);
    (void)close(fd);
    (void)unlink(path);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sources");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_pipe_with_signals);
    tcase_add_test(tests, descriptors_that_cannot_be_read);
    tcase_add_test(tests, files_that_cannot_be_opened);
    tcase_add_test(tests, a_file_that_is_closed_under_the_reader);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
