/* A session: what each engine makes of a command, what fails how, and what is left then. */
#define _GNU_SOURCE /* nftw, strdup */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracetape/reader.h>
#include <tracetape/session.h>

#include "tests/asserts.h"

static char folder[64], output[128], runtime[512];

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

static void set_up(void)
{
    const char *build = getenv("TTAPE_BUILD");
    strcpy(folder, "/tmp/ttest-session-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(output, sizeof output, "%s/run.ttape", folder);
    (void)snprintf(runtime, sizeof runtime, "%s/libtracetape-rt.so.0", build != NULL ? build : ".");
}

static void tear_down(void) { (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static uint32_t count_files(void)
{
    uint32_t count = 0;
    DIR *stream = opendir(folder);
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(stream);
    return count;
}

static const char *within(const char *name)
{
    static char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* `sh -c SCRIPT` */
struct command {
    char *words[4];
    ttape_session_options options;
};

static const ttape_session_options *of(struct command *c, ttape_engine engine, const char *script)
{
    *c = (struct command){.words = {(char *)"/bin/sh", (char *)"-c", (char *)script, NULL}};
    c->options = (ttape_session_options){.size = sizeof c->options,
                                         .engine = engine,
                                         .output = engine == TTAPE_ENGINE_BARE ? NULL : output,
                                         .argv = c->words,
                                         .runtime = runtime};
    return &c->options;
}

static ttape_session_result record(ttape_engine engine, const char *script)
{
    struct command c;
    ttape_error err = {0};
    ttape_session_result result;
    ttape_status status = ttape_session_record(of(&c, engine, script), &result, &err);
    ck_assert_msg(status == TTAPE_OK, "%s", err.message);
    return result;
}

static ttape_session *start(const ttape_session_options *options)
{
    ttape_error err = {0};
    ttape_session *session;
    ck_assert_msg(ttape_session_open(&session, options, &err) == TTAPE_OK, "%s", err.message);
    ck_assert_msg(ttape_session_start(session, &err) == TTAPE_OK, "%s", err.message);
    return session;
}

static uint64_t number_in_trace(const char *key)
{
    uint64_t value = UINT64_MAX;
    ttape_reader *reader;
    ttape_metadata_entry entry;
    ck_assert_int_eq(ttape_reader_open_path(&reader, output, NULL, NULL), TTAPE_OK);
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++)
        if (entry.key.size_bytes == strlen(key) &&
            memcmp(entry.key.data, key, entry.key.size_bytes) == 0)
            value = entry.number;
    ttape_reader_close(reader);
    return value;
}

START_TEST(a_command_without_hooks_is_told_of)
{
    ttape_session_result result = record(TTAPE_ENGINE_IN_PROCESS, "exit 5");
    ck_assert(result.has_status && !result.was_traced);
    ck_assert_int_eq(result.exit_code, 5);
    ck_assert_int_eq(result.signal_number, 0);
    ck_assert_uint_eq(result.recording.event_count, 0);
    ck_assert_uint_eq(result.unrecorded[TTAPE_UNRECORDED_NOT_INSTRUMENTED], 1);
    ck_assert_uint_eq(number_in_trace("exit_code"), 5);
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(a_signal_is_told_of)
{
    ttape_session_result result = record(TTAPE_ENGINE_IN_PROCESS, "kill -9 $$");
    ck_assert(result.has_status);
    ck_assert_int_eq(result.signal_number, SIGKILL);
    ck_assert_int_eq(result.exit_code, 0);
    ck_assert_uint_eq(number_in_trace("signal"), SIGKILL);
}
END_TEST

START_TEST(ptrace_sees_all_calls)
{
    ttape_session_result result = record(TTAPE_ENGINE_PTRACE, "exit 3");
    ck_assert_int_eq(result.exit_code, 3);
    ck_assert(result.was_traced);
    ck_assert_uint_gt(result.traced.calls, 10);
    ck_assert_uint_eq(result.traced.lost, 0);
    ck_assert_uint_eq(result.traced.processes, 1);
    /* exit_group has no end */
    ck_assert_uint_gt(result.recording.event_count, result.traced.calls);
    ck_assert_uint_eq(result.recording.lost_count, 0);
}
END_TEST

/* Without plans the runtime records no system calls: all are seen from outside. */
START_TEST(complete_sees_what_the_runtime_does_not)
{
    ttape_session_result result = record(TTAPE_ENGINE_COMPLETE, "exit 3");
    ck_assert_int_eq(result.exit_code, 3);
    ck_assert(result.was_traced);
    ck_assert_uint_gt(result.traced.calls, 10);
    ck_assert_uint_gt(result.recording.event_count, result.traced.calls);
}
END_TEST

START_TEST(bare_only_runs)
{
    ttape_session_result result =
        record(TTAPE_ENGINE_BARE, "test -z \"$TRACETAPE_ARENA\" && exit 6");
    ck_assert(result.has_status);
    ck_assert_int_eq(result.exit_code, 6);
    ck_assert_uint_eq(count_files(), 0);
}
END_TEST

static void prepare(void *context) { (void)!chdir(context); }

START_TEST(a_command_has_the_environment_and_what_prepare_does)
{
    static char *const environment[] = {(char *)"LD_PRELOAD=libm.so.6",
                                        (char *)"TRACETAPE_ARENA=/other", (char *)"MINE=1", NULL};
    struct command c;
    ttape_session_options options =
        *of(&c, TTAPE_ENGINE_IN_PROCESS,
            "echo \"$MINE $LD_PRELOAD\" > said; test -f \"$TRACETAPE_ARENA\"");
    ttape_session_result result;
    char said[1024] = "", wanted[1024];
    options.environment = environment;
    options.prepare = prepare;
    options.context = folder;
    ck_assert_int_eq(ttape_session_record(&options, &result, NULL), TTAPE_OK);
    ck_assert_int_eq(result.exit_code, 0);
    (void)snprintf(wanted, sizeof wanted, "1 %s:libm.so.6\n", runtime);
    int file = open(within("said"), O_RDONLY);
    ck_assert_int_gt(read(file, said, sizeof said - 1), 0);
    (void)close(file);
    ck_assert_str_eq(said, wanted);
}
END_TEST

/* ---- what fails ---- */

static ttape_status fail_start(char *name, ttape_error *err)
{
    char *words[] = {name, NULL};
    struct command c;
    ttape_session_state state;
    ttape_session *session;
    of(&c, TTAPE_ENGINE_IN_PROCESS, "");
    c.options.argv = words;
    ck_assert_int_eq(ttape_session_open(&session, &c.options, err), TTAPE_OK);
    ttape_status status = ttape_session_start(session, err);
    ttape_session_get_state(session, &state);
    ck_assert_uint_ne(state.pid, 0); /* there was a process; it could not become the program */
    ck_assert_int_eq(ttape_session_round(session, NULL), TTAPE_E_STATE);
    ck_assert_int_eq(ttape_session_start(session, NULL), TTAPE_E_STATE);
    ttape_session_run(session); /* comes back */
    ttape_session_close(session);
    ck_assert_uint_eq(count_files(), 0);
    return status;
}

START_TEST(a_command_that_is_not_there_leaves_nothing)
{
    ttape_error err = {0};
    ck_assert_int_eq(fail_start((char *)"/nonexistent/command", &err), TTAPE_E_NOT_FOUND);
    ck_assert_int_eq(err.os_errno, ENOENT);
    ck_assert_str_eq(err.message, "cannot run '/nonexistent/command': No such file or directory");
    ck_assert_int_eq(fail_start((char *)"/etc/passwd", &err), TTAPE_E_IO);
    ck_assert_int_eq(err.os_errno, EACCES);
    ck_assert_int_eq(fail_start((char *)"no-such-command-in-path", &err), TTAPE_E_NOT_FOUND);
}
END_TEST

static void expect_refused(const ttape_session_options *options, ttape_status wanted,
                           const char *message)
{
    ttape_error err = {0};
    ttape_session *session = (ttape_session *)&err;
    ck_assert_int_eq(ttape_session_open(&session, options, &err), wanted);
    ck_assert_ptr_null(session);
    ck_assert_str_eq(err.message, message);
    ck_assert_uint_eq(count_files(), 0);
}

START_TEST(what_does_not_go_together_is_refused)
{
    struct command c;
    ttape_session_options both = *of(&c, TTAPE_ENGINE_PTRACE, "exit 0"), neither = both,
                          kind = both, attached = both, silent = both, bare = both, measured = both,
                          absent = both;
    both.pid = (uint32_t)getppid();
    expect_refused(&both, TTAPE_E_ARGUMENT, "a session needs a command or a process, and not both");
    neither.argv = NULL;
    expect_refused(&neither, TTAPE_E_ARGUMENT,
                   "a session needs a command or a process, and not both");
    kind.engine = (ttape_engine)4;
    expect_refused(&kind, TTAPE_E_ARGUMENT, "there is no engine 4");
    attached.argv = NULL;
    attached.pid = (uint32_t)getppid();
    attached.engine = TTAPE_ENGINE_IN_PROCESS;
    expect_refused(&attached, TTAPE_E_UNSUPPORTED,
                   "this engine cannot attach to a process that runs");
    attached.engine = TTAPE_ENGINE_PTRACE;
    attached.pid = (uint32_t)getpid();
    expect_refused(&attached, TTAPE_E_ARGUMENT, "a session cannot attach to its own process");
    silent.output = NULL;
    expect_refused(&silent, TTAPE_E_ARGUMENT, "a session needs a path for its trace");
    bare.engine = TTAPE_ENGINE_BARE;
    expect_refused(&bare, TTAPE_E_ARGUMENT, "nothing is recorded: no trace can be written");
    measured.engine = TTAPE_ENGINE_IN_PROCESS;
    measured.measure = "cpu-time";
    expect_refused(&measured, TTAPE_E_ARGUMENT,
                   "'cpu-time' is measured by engines that trace only");
    absent.engine = TTAPE_ENGINE_IN_PROCESS;
    absent.runtime = "/nonexistent/runtime.so";
    expect_refused(&absent, TTAPE_E_NOT_FOUND,
                   "cannot load '/nonexistent/runtime.so' into a command: No such file or "
                   "directory");
    expect_refused(NULL, TTAPE_E_ARGUMENT, "a session needs options");
}
END_TEST

START_TEST(an_output_that_is_there_stays)
{
    struct command c;
    ttape_session *session;
    int file = open(output, O_WRONLY | O_CREAT, 0600);
    (void)close(file);
    of(&c, TTAPE_ENGINE_PTRACE, "exit 0");
    ck_assert_int_eq(ttape_session_open(&session, &c.options, NULL), TTAPE_E_EXISTS);
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

/* ---- rounds ---- */

static ttape_status make_round(ttape_session *session, ttape_session_state *state)
{
    ttape_status status = ttape_session_round(session, NULL);
    ttape_session_get_state(session, state);
    ck_assert_uint_ge(state->pause_ns, 300000);
    ck_assert_uint_le(state->pause_ns, 4000000);
    (void)usleep((useconds_t)(state->pause_ns / 1000));
    return status;
}

START_TEST(a_caller_may_drive_the_rounds)
{
    struct command c;
    ttape_session_state state;
    ttape_session_result result;
    ttape_status status;
    uint32_t rounds = 0;
    ttape_session *session = start(of(&c, TTAPE_ENGINE_IN_PROCESS, "exec tail -f /dev/null"));
    ck_assert_int_eq(ttape_session_end(session, &result, NULL), TTAPE_E_STATE); /* it runs */
    ck_assert(!result.has_status);
    while ((status = make_round(session, &state)) == TTAPE_OK)
        if (rounds++ == 3)
            (void)kill((pid_t)state.pid, SIGTERM);
    ck_assert_int_eq(status, TTAPE_END);
    ck_assert_int_eq(ttape_session_round(session, NULL), TTAPE_END);
    ttape_session_get_state(session, &state);
    ck_assert(state.has_ended && state.has_command_ended);
    ck_assert_int_eq(ttape_session_end(session, &result, NULL), TTAPE_OK);
    ck_assert_int_eq(ttape_session_end(session, NULL, NULL), TTAPE_E_STATE);
    ck_assert_int_eq(result.signal_number, SIGTERM);
    ttape_session_close(session);
}
END_TEST

/* Whoever waits for children takes the status: the session ends, and says that it is not known. */
START_TEST(a_status_may_be_unknown)
{
    (void)signal(SIGCHLD, SIG_IGN);
    ttape_session_result result = record(TTAPE_ENGINE_IN_PROCESS, "exit 5");
    (void)signal(SIGCHLD, SIG_DFL);
    ck_assert(!result.has_status);
    ck_assert_uint_eq(number_in_trace("exit_code"), UINT64_MAX);
}
END_TEST

START_TEST(closing_early_leaves_a_recording)
{
    struct command c;
    ttape_session_state state;
    ttape_session *session = start(of(&c, TTAPE_ENGINE_IN_PROCESS, "exec tail -f /dev/null"));
    char arena[256];
    (void)snprintf(arena, sizeof arena, "%s",
                   ttape_recording_arena(ttape_session_recording(session)));
    ttape_session_get_state(session, &state);
    ttape_session_close(session);
    ck_assert_uint_eq(count_files(), 1);
    ck_assert_int_eq(access(within("run.ttape.recording"), F_OK), 0);
    ck_assert_int_eq(unlink(arena), 0); /* it is there for recovery, which does not come */
    *strrchr(arena, '/') = '\0';
    ck_assert_int_eq(rmdir(arena), 0);
    ck_assert_int_eq(kill((pid_t)state.pid, SIGKILL), 0); /* it still runs */
    ck_assert_int_eq(waitpid((pid_t)state.pid, NULL, 0), (pid_t)state.pid);
    ttape_session_close(NULL);
}
END_TEST

/* ---- a process that runs ---- */

static pid_t start_process(void)
{
    pid_t child = fork();
    while (child == 0)
        (void)getppid();
    return child;
}

START_TEST(a_process_is_held_and_let_go)
{
    pid_t child = start_process();
    const ttape_session_options options = {.size = sizeof options,
                                           .engine = TTAPE_ENGINE_PTRACE,
                                           .output = output,
                                           .pid = (uint32_t)child};
    ttape_recording_status now = {0};
    ttape_session_state state;
    ttape_session_result result;
    ttape_session *session = start(&options);
    while (now.event_count < 1000) {
        ck_assert_int_eq(make_round(session, &state), TTAPE_OK);
        ttape_recording_get_status(ttape_session_recording(session), &now);
    }
    ttape_session_leave(session);
    ttape_session_run(session);
    ck_assert_int_eq(ttape_session_end(session, &result, NULL), TTAPE_OK);
    ttape_session_close(session);
    ck_assert(!result.has_status); /* it runs on */
    ck_assert_int_eq(waitpid(child, NULL, WNOHANG), 0);
    ck_assert_uint_ge(result.recording.event_count, 1000);
    ck_assert_uint_gt(result.traced.calls, 0);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}
END_TEST

START_TEST(a_process_that_is_not_there_cannot_be_held)
{
    pid_t child = start_process();
    const ttape_session_options options = {.size = sizeof options,
                                           .engine = TTAPE_ENGINE_PTRACE,
                                           .output = output,
                                           .pid = (uint32_t)child};
    ttape_session *session;
    ttape_error err = {0};
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    ck_assert_int_eq(ttape_session_open(&session, &options, &err), TTAPE_OK);
    ck_assert_int_eq(ttape_session_start(session, &err), TTAPE_E_UNSUPPORTED);
    ck_assert_str_ne(err.message, "");
    ttape_session_close(session);
    ck_assert_uint_eq(count_files(), 0);
}
END_TEST

/* ---- several at once ---- */

static void *record_one(void *context)
{
    char path[160], *words[] = {(char *)"/bin/sh", (char *)"-c", (char *)"exit 4", NULL};
    ttape_session_result result;
    (void)snprintf(path, sizeof path, "%s/%s.ttape", folder, (const char *)context);
    const ttape_session_options options = {
        .size = sizeof options, .output = path, .argv = words, .runtime = runtime};
    ttape_status status = ttape_session_record(&options, &result, NULL);
    return status == TTAPE_OK && result.exit_code == 4 ? context : NULL;
}

START_TEST(threads_have_sessions_of_their_own)
{
    static char *const names[] = {(char *)"a", (char *)"b", (char *)"c"};
    pthread_t threads[3];
    void *done;
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, record_one, names[i]), 0);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &done), 0);
        ck_assert_ptr_eq(done, names[i]);
    }
    ck_assert_uint_eq(count_files(), 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, a_command_without_hooks_is_told_of);
    tcase_add_test(all, a_signal_is_told_of);
    tcase_add_test(all, ptrace_sees_all_calls);
    tcase_add_test(all, complete_sees_what_the_runtime_does_not);
    tcase_add_test(all, bare_only_runs);
    tcase_add_test(all, a_command_has_the_environment_and_what_prepare_does);
    tcase_add_test(all, a_command_that_is_not_there_leaves_nothing);
    tcase_add_test(all, what_does_not_go_together_is_refused);
    tcase_add_test(all, an_output_that_is_there_stays);
    tcase_add_test(all, a_caller_may_drive_the_rounds);
    tcase_add_test(all, a_status_may_be_unknown);
    tcase_add_test(all, closing_early_leaves_a_recording);
    tcase_add_test(all, a_process_is_held_and_let_go);
    tcase_add_test(all, a_process_that_is_not_there_cannot_be_held);
    tcase_add_test(all, threads_have_sessions_of_their_own);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
