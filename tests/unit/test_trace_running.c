/* Tracing the system calls of a process that runs already, with two threads: what they call while
 * it is traced is recorded, once and exactly; then it is let go, runs on, and ends as it would. */
#define _GNU_SOURCE /* gettid, wait4 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tracetape/syscalls.h>

#include "arena_player.h"

#define CALLS   50u
#define THREADS 2u
#define STATUS  7

static int go[2], done[2], ready[2], result[2]; /* pipes */

static void pass(int *pipe_ends) { ck_assert_int_eq(write(pipe_ends[1], "", 1), 1); }

static void await(int *pipe_ends)
{
    char byte;
    ck_assert_int_eq(read(pipe_ends[0], &byte, 1), 1);
}

/* ---- the process: calls before, while, and after it is traced ---- */

static void *make_calls(void *unused)
{
    for (unsigned phase = 0; phase < 3; phase++) {
        await(go);
        for (unsigned i = 0; i < CALLS; i++)
            (void)getppid();
        pass(done);
    }
    return unused;
}

static _Noreturn void be_traced(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, make_calls, NULL) != 0)
        _exit(1);
    (void)make_calls(NULL);
    (void)pthread_join(other, NULL);
    _exit(STATUS);
}

static void run_phase(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        pass(go);
    for (unsigned i = 0; i < THREADS; i++)
        await(done);
}

/* ---- the tracer ---- */

static bool is_told; /* the tracer is told to leave just before a wait that nothing ends */

/* The tracer's own waits, too. */
pid_t waitpid(pid_t pid, int *status, int options)
{
    const struct timespec pause = {0, 20000000};
    siginfo_t next = {0};
    if (pid == -1 && is_told && nanosleep(&pause, NULL) == 0 &&
        waitid(P_ALL, 0, &next, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
        next.si_pid == 0)
        (void)raise(SIGTERM);
    return wait4(pid, status, options, NULL);
}

static void on_term(int number)
{
    (void)number;
    ttape_trace_leave();
}

static void say_ready(void *context)
{
    (void)context;
    pass(ready);
}

static _Noreturn void trace(const char *arena, pid_t process)
{
    const struct sigaction term = {.sa_handler = on_term};
    ttape_error err = {0};
    ttape_trace_counts counts;
    const ttape_trace_options options = {.size = sizeof options,
                                         .arena = arena,
                                         .pid = (uint32_t)process,
                                         .is_running = true,
                                         .ready = say_ready};
    (void)sigaction(SIGTERM, &term, NULL);
    ttape_status status = ttape_trace_calls(&options, &counts, &err);
    (void)!write(result[1], &status, sizeof status);
    _exit(0);
}

/* ---- what came of it ---- */

static uint64_t count_enters(struct ttest_player *p, const char *name)
{
    ttape_source source;
    ttape_cursor *cursor;
    ttape_event_item item;
    ttape_site site;
    uint64_t count = 0;
    ttape_reader *reader = ttest_read(p, p->output, &source);
    TTEST_DONE(ttape_cursor_open(&cursor, reader, TTAPE_ALL_STREAMS, &err));
    while (ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK)
        if (item.event.kind == TTAPE_EVENT_ENTER &&
            ttape_reader_get_site(reader, item.event.site, &site) == TTAPE_OK &&
            site.symbol.size_bytes == strlen(name) &&
            memcmp(site.symbol.data, name, site.symbol.size_bytes) == 0)
            count++;
    ttape_cursor_close(cursor);
    ttape_reader_close(reader);
    ttape_source_file_close(&source);
    return count;
}

START_TEST(a_running_process_is_traced_and_let_go)
{
    struct ttest_player p;
    int status;
    ttape_status traced;
    int *const pipes[] = {go, done, ready, result};
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(pipe(pipes[i]), 0);
    pid_t process = fork();
    if (process == 0)
        be_traced();
    run_phase();
    ttest_player_open(&p, NULL);
    pid_t tracer = fork();
    if (tracer == 0)
        trace(ttape_recording_arena(p.recording), process);
    await(ready);
    run_phase();
    ck_assert_int_eq(kill(tracer, SIGTERM), 0);
    ck_assert_int_eq(read(result[0], &traced, sizeof traced), (ssize_t)sizeof traced);
    ck_assert_int_eq(traced, TTAPE_OK);
    ck_assert_int_eq(waitpid(tracer, &status, 0), tracer);
    run_phase(); /* it would stand still if it were still stopped */
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    (void)ttest_finish(&p);
    ck_assert_uint_eq(count_enters(&p, "getppid"), (uint64_t)THREADS * CALLS);
    ttest_player_close(&p);
}
END_TEST

/* A signal that comes behind the tracer's last look and before its wait does not end the wait. */
START_TEST(it_leaves_when_it_is_told_just_before_it_waits)
{
    struct ttest_player p;
    ttape_status traced;
    int status, *const pipes[] = {go, done, ready, result};
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(pipe(pipes[i]), 0);
    pid_t process = fork();
    if (process == 0)
        be_traced();
    run_phase();
    ttest_player_open(&p, NULL);
    is_told = true;
    pid_t tracer = fork();
    if (tracer == 0)
        trace(ttape_recording_arena(p.recording), process);
    is_told = false;
    await(ready);
    ck_assert_int_eq(read(result[0], &traced, sizeof traced), (ssize_t)sizeof traced);
    ck_assert_int_eq(traced, TTAPE_OK);
    ck_assert_int_eq(waitpid(tracer, &status, 0), tracer);
    run_phase();
    run_phase();
    ck_assert_int_eq(waitpid(process, &status, 0), process);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    (void)ttest_finish(&p);
    ttest_player_close(&p);
}
END_TEST

START_TEST(a_process_that_is_not_there_is_refused)
{
    struct ttest_player p;
    ttape_error err = {0};
    ttape_trace_counts counts;
    ttest_player_open(&p, NULL);
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(gone, NULL, 0), gone);
    const ttape_trace_options options = {.size = sizeof options,
                                         .arena = ttape_recording_arena(p.recording),
                                         .pid = (uint32_t)gone,
                                         .is_running = true};
    ck_assert_int_eq(ttape_trace_calls(&options, &counts, &err), TTAPE_E_UNSUPPORTED);
    ck_assert_ptr_ne(strstr(err.message, "cannot trace process"), NULL);
    (void)ttest_finish(&p);
    ttest_player_close(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_running");
    TCase *tests = tcase_create("running");
    tcase_add_test(tests, a_running_process_is_traced_and_let_go);
    tcase_add_test(tests, it_leaves_when_it_is_told_just_before_it_waits);
    tcase_add_test(tests, a_process_that_is_not_there_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
