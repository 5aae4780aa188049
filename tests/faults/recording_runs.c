/* What a killed recorder left, recovered and removed. The recorder is a process of the test's own,
 * which plays the program too, into a folder that has something of everything: partitions in a
 * trace file, slots in the spill file behind them, blocks in the arena behind those. */
#define _GNU_SOURCE /* nanosleep is ours */
#include "api_runs.h"

#include <errno.h>
#include <sys/syscall.h>

#include <tracetape/recover.h>

#include "../unit/arena_player.c"
#include "fault_calls.h"

#define LEFT       "left.ttape"
#define KEPT_FILES 4

static struct kept {
    char path[256];
    uint8_t *data;
    size_t size_bytes;
} kept[KEPT_FILES];

static char *arena_path; /* shared with the recorder */

/* Recovery waits for hooks and recorders that may be at work: there are none when all is left. */
static bool is_left;

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    return is_left ? 0 : (int)syscall(SYS_nanosleep, wanted, left);
}

static void play_calls(struct ttest_block *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ttest_enter(b, 0x1000 + 16 * (i % 3));
        ttest_exit(b, 0x1000 + 16 * (i % 3));
    }
}

static void play_left(struct ttest_player *p)
{
    uint32_t pid = (uint32_t)getpid();
    struct ttest_block blocks[2];
    for (uint32_t t = 0; t < 2; t++) {
        blocks[t] = ttest_block_take(p, pid, 1, t + 1, 1);
        if (t == 0)
            ttest_process_message(&blocks[t], 0, 1, "/bin/x");
        ttest_enter(&blocks[t], 0x2000);
    }
    ttest_module_message(&blocks[0], 0x1000, 0x3000, "/bin/x");
    ttest_modules_end(&blocks[0], 1);
    ttest_site_message(&blocks[0], 0x1000, TTAPE_SITE_FUNCTION, "f");
    for (uint32_t round = 0; round < 2; round++) { /* a partition each */
        play_calls(&blocks[0], 8);
        play_calls(&blocks[1], 5);
        ttest_flush(p);
    }
    play_calls(&blocks[1], 5);
    ttest_block_state(&blocks[1], TTP_BLOCK_DONE); /* into the spill file */
    for (int i = 0; i < 3; i++)
        ttest_poll(p);
    play_calls(&blocks[0], 7);
}

static void record_and_die(const char *folder)
{
    struct ttest_player p = {0};
    ttape_recording_options o = {.size = sizeof o,
                                 .clock = TTAPE_CLOCK_NONE,
                                 .buffer_bytes = 1,
                                 .thread_bytes = 1,
                                 .command = "x"};
    (void)snprintf(p.output, sizeof p.output, "%s/" LEFT, folder);
    TTEST_DONE(ttape_recording_open(&p.recording, p.output, &o, &err));
    map_arena(&p);
    (void)snprintf(arena_path, 256, "%s", ttape_recording_arena(p.recording));
    play_left(&p);
    (void)kill(getpid(), SIGKILL);
}

/* Of the arena, what there is room for. */
static void keep(struct kept *k, size_t most)
{
    struct stat info;
    int fd = open(k->path, O_RDONLY);
    ck_assert_msg(fd >= 0 && fstat(fd, &info) == 0, "'%s' is not there", k->path);
    k->size_bytes = (size_t)info.st_size < most ? (size_t)info.st_size : most;
    k->data = malloc(k->size_bytes);
    ck_assert_ptr_nonnull(k->data);
    ck_assert_int_eq(read(fd, k->data, k->size_bytes), (ssize_t)k->size_bytes);
    (void)close(fd);
}

static void recovered(const char *folder, ttape_status *status, ttape_error *err)
{
    char path[256];
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttest_api_path(folder, LEFT ".recording", path);
    *status = ttape_recover_recording(path, &sink, NULL, NULL, err);
    if (*status == TTAPE_OK) {
        uint64_t findings = 0;
        ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
        TTEST_DONE(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
        ck_assert_uint_eq(findings, 0);
    }
    ttape_memory_sink_close(&memory);
}

void ttest_left_begin(const char *folder)
{
    static const char *const names[] = {"journal", "spill", "trace.0"};
    ttape_error err = {0};
    ttape_status status;
    arena_path = mmap(NULL, 256, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(arena_path, MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0)
        record_and_die(folder);
    ck_assert_int_gt(pid, 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    is_left = true;
    recovered(folder, &status, &err); /* tells the arena to stop */
    ck_assert_msg(status == TTAPE_OK, "%s", err.message);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(kept[i].path, sizeof kept[i].path, "%s/" LEFT ".recording/%s", folder,
                       names[i]);
        keep(&kept[i], SIZE_MAX);
    }
    (void)snprintf(kept[3].path, sizeof kept[3].path, "%s", arena_path);
    keep(&kept[3], 1u << 18);
}

/* All is there, as it was left. */
void ttest_left_reset(const char *folder)
{
    (void)folder;
    for (int i = 0; i < KEPT_FILES; i++) {
        char *slash = strrchr(kept[i].path, '/');
        *slash = '\0';
        ck_assert_msg(mkdir(kept[i].path, 0700) == 0 || errno == EEXIST, "'%s'", kept[i].path);
        *slash = '/';
        int fd = open(kept[i].path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, kept[i].data, kept[i].size_bytes), (ssize_t)kept[i].size_bytes);
        (void)close(fd);
    }
}

void ttest_left_end(const char *folder)
{
    char path[256];
    ttest_api_path(folder, LEFT ".recording", path);
    ttest_left_reset(folder);
    TTEST_DONE(ttape_recover_remove(path, &err));
    for (int i = 0; i < KEPT_FILES; i++)
        free(kept[i].data);
    (void)munmap(arena_path, 256);
}

static void take_line(void *context, bool is_loss, const char *line)
{
    ttest_api_mix(context, &is_loss, sizeof is_loss);
    ttest_api_mix(context, line, strlen(line));
}

static ttape_status fill_left(struct ttest_run *run, const ttape_sink *sink)
{
    char path[256];
    ttape_recover_report report = {0};
    ttape_recover_options o = {
        .size = sizeof o, .found = take_line, .context = run, .allocator = &run->allocator};
    ttest_api_path(run->folder, LEFT ".recording", path);
    ttape_status status = ttape_recover_recording(path, sink, &o, &report, &run->err);
    ttest_api_mix(run, &report, sizeof report);
    return status;
}

ttape_status ttest_recover_left(struct ttest_run *run)
{
    return ttest_api_with_file(run, fill_left);
}

/* Nothing of it is changed. */
void ttest_recover_left_check(struct ttest_run *run, ttape_status status, const char *label)
{
    (void)run;
    (void)status;
    for (int i = 0; i < KEPT_FILES; i++) {
        struct kept now = {.size_bytes = 0};
        memcpy(now.path, kept[i].path, sizeof now.path);
        keep(&now, kept[i].size_bytes + (i + 1 < KEPT_FILES));
        ck_assert_msg(now.size_bytes == kept[i].size_bytes &&
                          memcmp(now.data, kept[i].data, now.size_bytes) == 0,
                      "%s: '%s' is changed", label, now.path);
        free(now.data);
    }
}

ttape_status ttest_remove_left(struct ttest_run *run)
{
    char path[256];
    ttest_api_path(run->folder, LEFT ".recording", path);
    return ttape_recover_remove(path, &run->err);
}

/* What a failure leaves is recovered as far as it is there, and removed by the next who tries; but
 * a folder that is empty is any folder. */
void ttest_remove_left_check(struct ttest_run *run, ttape_status status, const char *label)
{
    char path[256], arena[256];
    ttape_error err = {0};
    ttest_api_path(run->folder, LEFT ".recording", path);
    (void)snprintf(arena, sizeof arena, "%s", arena_path);
    *strrchr(arena, '/') = '\0';
    if (status != TTAPE_OK && rmdir(path) != 0) {
        ttape_status again;
        recovered(run->folder, &again, &err);
        ck_assert_msg(again == TTAPE_OK, "%s: recovery of what is left: %s", label, err.message);
        again = ttape_recover_remove(path, &err);
        ck_assert_msg(again == TTAPE_OK, "%s: and once more: %s", label, err.message);
    }
    ck_assert_msg(access(path, F_OK) != 0, "%s: '%s' is still there", label, path);
    ck_assert_msg(access(arena, F_OK) != 0, "%s: '%s' is still there", label, arena);
}
