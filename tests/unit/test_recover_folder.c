/* The folder of a killed recorder as a stranger may have left it, and as crashes do: recovery takes
 * what is the recording's, and removes nothing else. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stddef.h>

#include <tracetape/recover.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "recorder/state/journal.h"
#include "recover_left.h"

#define CALLS  10u
#define VICTIM "precious"

struct outcome {
    ttape_status status;
    ttape_error err;
    ttape_recover_report report;
    char lines[4096]; /* of losses */
};

static void play_calls(struct ttest_player *p)
{
    struct ttest_block b = ttest_block_take(p, 7, 1, 1, 1);
    ttest_process_message(&b, 0, 1, "/bin/x");
    for (uint32_t i = 0; i < CALLS; i++) {
        ttest_enter(&b, 0x1000);
        ttest_exit(&b, 0x1000);
    }
}

static void kill_recorder(void) { kill_with(NULL, play_calls); }

static size_t put_entry(uint8_t *at, uint32_t kind, const uint8_t *bytes, size_t size)
{
    ttp_store32(at, kind);
    ttp_store32(at + 4, (uint32_t)size);
    memmove(at + TTP_JOURNAL_HEAD_BYTES, bytes, size);
    ttp_store64(at + 8, ttp_checksum(at + TTP_JOURNAL_HEAD_BYTES, size) ^ kind);
    return TTP_JOURNAL_HEAD_BYTES + size;
}

/* The first entry of that kind has other bytes. */
static void change_journal(uint32_t kind, const uint8_t *bytes, size_t size)
{
    static uint8_t old[1 << 16], made[1 << 16];
    char *path = path_of(left->directory, "journal");
    size_t all = read_file(path, old, sizeof old), used = 0;
    for (size_t at = 0; at + TTP_JOURNAL_HEAD_BYTES <= all;) {
        uint32_t here = ttp_load32(old + at);
        size_t its = ttp_load32(old + at + 4);
        const uint8_t *from = here == kind ? bytes : old + at + TTP_JOURNAL_HEAD_BYTES;
        used += put_entry(made + used, here, from, here == kind ? size : its);
        at += TTP_JOURNAL_HEAD_BYTES + its;
    }
    write_file(path, made, used);
    free(path);
}

static void name_arena(const char *path)
{
    change_journal(TTP_JOURNAL_ARENA, (const uint8_t *)path, strlen(path));
}

static void take_line(void *context, bool is_loss, const char *line)
{
    struct outcome *o = context;
    size_t used = strlen(o->lines);
    if (is_loss)
        (void)snprintf(o->lines + used, sizeof o->lines - used, "%s\n", line);
}

static void recover(struct outcome *o)
{
    ttape_memory_sink out = {0};
    ttape_sink sink = ttape_sink_memory(&out);
    *o = (struct outcome){0};
    ttape_recover_options how = {.size = sizeof how, .found = take_line, .context = o};
    o->status = ttape_recover_recording(left->directory, &sink, &how, &o->report, &o->err);
    ttape_memory_sink_close(&out);
}

static void expect_all(struct outcome *o)
{
    recover(o);
    ck_assert_msg(o->status == TTAPE_OK, "%s", o->err.message);
    ck_assert_str_eq(o->lines, "");
    ck_assert_uint_eq(o->report.recovered_events, 2 * CALLS);
}

START_TEST(what_a_crash_leaves)
{
    struct outcome o;
    expect_all(&o);
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    ck_assert(!exists(left->directory));
    ck_assert(!exists(left->arena));
}
END_TEST

/* The name of a file that is no arena: it is not read as one, and stays. */
static void expect_left_alone(const char *victim)
{
    struct outcome o;
    struct stat before, after;
    ck_assert_int_eq(stat(victim, &before), 0);
    name_arena(victim);
    recover(&o);
    ck_assert_msg(o.status == TTAPE_OK, "%s", o.err.message);
    ck_assert_msg(strstr(o.lines, victim) != NULL, "told: '%s'", o.lines);
    ck_assert_uint_eq(o.report.recovered_events, 0);
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    ck_assert_msg(stat(victim, &after) == 0, "'%s' was removed", victim);
    ck_assert_int_eq(after.st_size, before.st_size);
    ck_assert(!exists(left->directory));
}

START_TEST(a_stranger_names_a_file)
{
    char *victim = path_of(left->folder, VICTIM);
    write_file(victim, VICTIM, strlen(VICTIM));
    expect_left_alone(victim);
    free(victim);
}
END_TEST

/* Called as a recorder calls its arena, where no recorder makes one. */
START_TEST(a_stranger_names_a_file_elsewhere)
{
    char *folder = path_of(left->folder, "tracetape-abcdef");
    char *victim = path_of(folder, "arena");
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    write_file(victim, VICTIM, strlen(VICTIM));
    expect_left_alone(victim);
    free(victim);
    free(folder);
}
END_TEST

/* Where recorders make theirs, and no arena. */
START_TEST(a_stranger_names_a_file_in_the_right_place)
{
    char folder[] = "/dev/shm/tracetape-XXXXXX";
    static uint8_t noise[1 << 18];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *victim = path_of(folder, "arena");
    write_file(victim, noise, sizeof noise);
    expect_left_alone(victim);
    remove_arena(victim);
    free(victim);
}
END_TEST

/* An arena, of another recording: its programs go on, and it stays. */
START_TEST(a_stranger_names_another_arena)
{
    struct ttest_player p;
    ttest_player_open(&p, NULL);
    char *arena = strdup(ttape_recording_arena(p.recording));
    expect_left_alone(arena);
    ck_assert_uint_eq(p.head->mode, TTP_MODE_ON);
    ttest_player_discard(&p);
    free(arena);
}
END_TEST

/* The trace is beside the folder already, and damaged; both are named without a path. */
START_TEST(called_from_its_own_folder)
{
    struct outcome o;
    ttape_memory_sink trace = {0};
    ttape_sink sink = ttape_sink_memory(&trace);
    ttape_writer *writer;
    TTEST_DONE(ttape_writer_open(&writer, &sink, NULL, &err));
    TTEST_DONE(ttape_writer_finish(writer, &err));
    ttape_writer_close(writer);
    trace.data[0] ^= 0xff;
    char *piece = path_of(left->directory, "trace.0"), *slash = strrchr(left->directory, '/');
    (void)unlink(piece);
    char *output = strndup(left->directory, strlen(left->directory) - strlen(".recording"));
    write_file(output, trace.data, trace.size_bytes);
    ttape_memory_sink_close(&trace);
    char *folder = strndup(left->directory, (size_t)(slash - left->directory));
    ck_assert_int_eq(chdir(folder), 0);
    memmove(left->directory, slash + 1, strlen(slash));
    recover(&o);
    ck_assert_msg(o.status == TTAPE_OK, "%s", o.err.message);
    ck_assert_uint_eq(o.report.recovered_events, 2 * CALLS);
    free(folder);
    free(output);
    free(piece);
}
END_TEST

/* The folder that holds the arena is a link. */
START_TEST(an_arena_behind_a_link)
{
    char *folder = path_of(left->folder, "moved");
    char *was = folder_of(left->arena);
    char *moved = path_of(folder, "arena");
    command("cp -a", was, folder);
    remove_arena(left->arena);
    ck_assert_int_eq(symlink(folder, was), 0);
    struct outcome o;
    recover(&o);
    ck_assert_int_eq(o.status, TTAPE_OK);
    ck_assert_msg(strstr(o.lines, left->arena) != NULL, "told: '%s'", o.lines);
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    ck_assert(exists(moved));
    (void)unlink(was);
    free(moved);
    free(was);
    free(folder);
}
END_TEST

/* Where shared memory had no room the arena is in the recording's folder, wherever that is now. */
START_TEST(an_arena_in_the_folder)
{
    struct outcome o;
    char *folder = path_of(left->directory, "tracetape-abcdef");
    char *was = folder_of(left->arena);
    command("cp -a", was, folder);
    remove_arena(left->arena);
    name_arena("a.ttape.recording/tracetape-abcdef/arena");
    expect_all(&o);
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    ck_assert(!exists(left->directory));
    free(was);
    free(folder);
}
END_TEST

/* Somebody's record that moved the arena was killed over it: its copy is of no use. */
START_TEST(a_move_that_was_killed)
{
    struct outcome o;
    char *was = folder_of(left->arena);
    char *folder = path_of(left->directory, strrchr(was, '/') + 1);
    char *copy = path_of(folder, "arena");
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    write_file(copy, VICTIM, strlen(VICTIM));
    expect_all(&o);
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    ck_assert(!exists(left->directory));
    ck_assert(!exists(left->arena));
    free(copy);
    free(folder);
    free(was);
}
END_TEST

/* Somebody's record: it has found the arena, and moves it as soon as somebody waits for it. */
static void move_arena(int told)
{
    sigset_t waits;
    struct stat info;
    int number, fd = open(left->arena, O_RDWR | O_CLOEXEC);
    char *was = folder_of(left->arena);
    char *folder = path_of(left->directory, strrchr(was, '/') + 1), *to = path_of(folder, "arena");
    (void)sigemptyset(&waits);
    (void)sigaddset(&waits, SIGIO);
    (void)sigprocmask(SIG_BLOCK, &waits, NULL);
    while (fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN)
        (void)usleep(1000); /* another test's record looks at it */
    if (fd < 0 || fstat(fd, &info) != 0 || write(told, "", 1) != 1 || sigwait(&waits, &number) != 0)
        _exit(1);
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED || mkdir(folder, 0700) != 0)
        _exit(1);
    write_file(to, bytes, (size_t)info.st_size);
    remove_arena(left->arena);
    _exit(0);
}

static pid_t start_mover(void)
{
    int told[2];
    char byte;
    ck_assert_int_eq(pipe(told), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        move_arena(told[1]);
    (void)close(told[1]);
    ck_assert_int_eq(read(told[0], &byte, 1), 1);
    (void)close(told[0]);
    return pid;
}

/* Who waited for it has the file open that has no name any more: the one in the folder counts. */
START_TEST(an_arena_that_is_moved_meanwhile)
{
    int status;
    pid_t mover = start_mover();
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    ck_assert_int_eq(waitpid(mover, &status, 0), mover);
    ck_assert_int_eq(status, 0);
    ck_assert(!exists(left->directory));
    ck_assert(!exists(left->arena));
}
END_TEST

/* The recorder was killed while it made a snapshot. */
START_TEST(a_snapshot_half_made)
{
    char *snapshot = path_of(left->directory, "snapshot");
    struct outcome o;
    write_file(snapshot, VICTIM, strlen(VICTIM));
    expect_all(&o);
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    ck_assert(!exists(left->directory));
    free(snapshot);
}
END_TEST

/* Somebody keeps a thing of his own in the folder: it stays, and so does all else. */
START_TEST(a_thing_that_no_recorder_made)
{
    static const char *const names[] = {"notes", "trace.x", "trace.", "trace.99999999999"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *notes = path_of(left->directory, names[i]);
        struct outcome o;
        ttape_error err = {0};
        write_file(notes, VICTIM, strlen(VICTIM));
        ck_assert_int_eq(ttape_recover_remove(left->directory, &err), TTAPE_E_STATE);
        ck_assert_ptr_nonnull(strstr(err.message, names[i]));
        ck_assert(exists(notes));
        expect_all(&o);
        ck_assert_int_eq(unlink(notes), 0);
        free(notes);
    }
    char *folder = path_of(left->directory, "trace.7");
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    ck_assert_int_eq(ttape_recover_remove(left->directory, NULL), TTAPE_E_STATE);
    ck_assert_int_eq(rmdir(folder), 0);
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    free(folder);
}
END_TEST

/* A program that still runs, and goes wild: it writes over the head as soon as it is told to stop,
 * which is after recovery has looked at it. */
static pid_t start_vandal(void)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return pid;
    int fd = open(left->arena, O_RDWR | O_CLOEXEC);
    struct ttp_arena_head *head =
        mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    while (head != MAP_FAILED && __atomic_load_n(&head->mode, __ATOMIC_ACQUIRE) != TTP_MODE_STOPPED)
        (void)usleep(1000);
    head->blocks_offset = UINT64_C(1) << 46;
    head->block_ready = UINT32_MAX;
    _exit(0);
}

START_TEST(a_program_that_writes_over_the_head)
{
    struct outcome o;
    pid_t pid = start_vandal();
    recover(&o);
    (void)kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(o.status, TTAPE_OK);
    ck_assert_uint_eq(o.report.recovered_events, 2 * CALLS);
}
END_TEST

static void set_version(uint32_t version)
{
    static uint8_t all[1 << 16];
    uint8_t start[TTP_JOURNAL_START_BYTES];
    char *path = path_of(left->directory, "journal");
    ck_assert_uint_gt(read_file(path, all, sizeof all), TTP_JOURNAL_HEAD_BYTES + sizeof start);
    memcpy(start, all + TTP_JOURNAL_HEAD_BYTES, sizeof start);
    ttp_store32(start + 52, version);
    change_journal(TTP_JOURNAL_START, start, sizeof start);
    free(path);
}

/* A recorder of another version left it: its records mean something else. Nothing is changed. */
START_TEST(a_folder_of_another_version)
{
    static const uint32_t versions[] = {0, TTP_ARENA_VERSION - 1, TTP_ARENA_VERSION + 1};
    struct outcome o;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        ttape_error err = {0};
        set_version(versions[i]);
        recover(&o);
        ck_assert_int_eq(o.status, TTAPE_E_VERSION);
        ck_assert_ptr_nonnull(strstr(o.err.message, "another version"));
        ck_assert_int_eq(ttape_recover_remove(left->directory, &err), TTAPE_E_VERSION);
    }
    set_version(TTP_ARENA_VERSION);
    expect_all(&o);
}
END_TEST

/* The arena alone is of another version. */
START_TEST(an_arena_of_another_version)
{
    struct outcome o;
    uint32_t version = TTP_ARENA_VERSION + 1;
    int fd = open(left->arena, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, &version, sizeof version, offsetof(struct ttp_arena_head, version)),
                     sizeof version);
    (void)close(fd);
    recover(&o);
    ck_assert_int_eq(o.status, TTAPE_OK);
    ck_assert_msg(strstr(o.lines, "is of version") != NULL, "told: '%s'", o.lines);
    TTEST_DONE(ttape_recover_remove(left->directory, &err));
    ck_assert(exists(left->arena));
}
END_TEST

/* By whatever name. */
START_TEST(the_folder_is_where_we_are)
{
    ck_assert_int_eq(chdir(left->directory), 0);
    TTEST_DONE(ttape_recover_remove(".", &err));
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert(!exists(left->directory));
}
END_TEST

static void play_process(struct ttest_player *p, uint64_t serial)
{
    struct ttest_block b = ttest_block_take(p, 7 + (uint32_t)serial, serial, serial, 1);
    ttest_process_message(&b, 0, 1, "/bin/x");
    for (uint32_t i = 0; i < CALLS; i++) {
        ttest_enter(&b, 0x1000);
        ttest_exit(&b, 0x1000);
    }
}

static void play_processes(struct ttest_player *p)
{
    for (uint64_t serial = 1; serial <= 3; serial++)
        play_process(p, serial);
    ttest_flush(p);
    play_process(p, 4);
}

/* The recorder was killed while it wrote a checkpoint of several files: wherever that was, what the
 * journal does not count is in the spill file. */
START_TEST(a_checkpoint_cut_anywhere)
{
    static uint8_t all[1 << 16];
    ttape_recording_options options = {
        .size = sizeof options, .clock = TTAPE_CLOCK_NONE, .separate_files = true};
    tear_down();
    kill_with(&options, play_processes);
    char *path = path_of(left->directory, "journal");
    size_t size = read_file(path, all, sizeof all), whole = 0;
    for (size_t at = 0; at < size; at += TTP_JOURNAL_HEAD_BYTES + ttp_load32(all + at + 4)) {
        struct outcome o;
        write_file(path, all, at);
        recover(&o);
        if (o.status != TTAPE_OK) /* not even the first checkpoint */
            continue;
        ck_assert_msg(o.report.copied_events + o.report.recovered_events == 4 * 2 * CALLS,
                      "cut at %zu of %zu: %lu and %lu events, '%s'", at, size,
                      (unsigned long)o.report.copied_events,
                      (unsigned long)o.report.recovered_events, o.lines);
        whole++;
    }
    ck_assert_uint_gt(whole, 5);
    free(path);
}
END_TEST

static void play_and_close(struct ttest_player *p)
{
    play_calls(p);
    (void)snprintf(left->arena, sizeof left->arena, "%s", ttape_recording_arena(p->recording));
    ttape_recording_close(p->recording);
    _exit(0);
}

/* As after a failure: what was not drained is in the arena, and nowhere else. */
START_TEST(closed_and_not_finished)
{
    struct outcome o;
    tear_down();
    kill_with(NULL, play_and_close);
    recover(&o);
    expect_all(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover_folder");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, kill_recorder, tear_down);
    tcase_add_test(tests, what_a_crash_leaves);
    tcase_add_test(tests, a_stranger_names_a_file);
    tcase_add_test(tests, a_stranger_names_a_file_elsewhere);
    tcase_add_test(tests, a_stranger_names_a_file_in_the_right_place);
    tcase_add_test(tests, a_stranger_names_another_arena);
    tcase_add_test(tests, called_from_its_own_folder);
    tcase_add_test(tests, an_arena_behind_a_link);
    tcase_add_test(tests, an_arena_in_the_folder);
    tcase_add_test(tests, a_move_that_was_killed);
    tcase_add_test(tests, an_arena_that_is_moved_meanwhile);
    tcase_add_test(tests, a_snapshot_half_made);
    tcase_add_test(tests, a_thing_that_no_recorder_made);
    tcase_add_test(tests, a_folder_of_another_version);
    tcase_add_test(tests, an_arena_of_another_version);
    tcase_add_test(tests, a_program_that_writes_over_the_head);
    tcase_add_test(tests, a_checkpoint_cut_anywhere);
    tcase_add_test(tests, closed_and_not_finished);
    tcase_add_test(tests, the_folder_is_where_we_are);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
