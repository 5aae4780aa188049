/* Recordings: made and steered; and what a killed recorder left, recovered and removed. The test
 * plays the program, too. What is left has something of everything: partitions in a trace file,
 * slots in the spill file behind them, blocks in the arena behind those. */
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

static char *arena_path;    /* shared with the recorder */
static pid_t other_process; /* that is recorded, too */

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

/* Of two processes, one of which is the other's parent. */
static void take_blocks(struct ttest_player *p, struct ttest_block blocks[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t pid = (uint32_t)(i == 0 ? getpid() : other_process);
        blocks[i] = ttest_block_take(p, pid, i + 1, i + 1, 1);
        ttest_process_message(&blocks[i], i, (uint32_t)getpid(), "/bin/x");
        ttest_enter(&blocks[i], 0x2000);
    }
}

static void play_left(struct ttest_player *p)
{
    struct ttest_block blocks[2];
    take_blocks(p, blocks);
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
    other_process = ttest_process_start();
    (void)snprintf(p.output, sizeof p.output, "%s/" LEFT, folder);
    TTEST_DONE(ttape_recording_open(&p.recording, p.output, &o, &err));
    map_arena(&p);
    (void)snprintf(arena_path, 256, "%s", ttape_recording_arena(p.recording));
    play_left(&p);
    p.head->recorder_pid = (uint32_t)getppid(); /* other tests' recorders leave it here */
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
        ck_assert_int_eq(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, err), TTAPE_OK);
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

/* ---- recording ---- */

#define RECORDED     "out.ttape"
#define ROUNDS_MAX   500
#define FAILURES_MAX 5
#define PAUSE_US     200

static uint32_t played; /* events that programs have recorded */
static bool is_live;

static void play_round(struct ttest_player *p, struct ttest_block blocks[2], bool first)
{
    ttest_faults_hold(true);
    if (first)
        take_blocks(p, blocks);
    play_calls(&blocks[0], 9);
    play_calls(&blocks[1], 4);
    played += 2 * (9 + 4) + (first ? 2 : 0);
    ttest_faults_hold(false);
}

/* Rounds until that request is answered, or it is clear that it will not be. A failure is told,
 * and the next round goes on; TTAPE_E_STATE for a message that is not there. */
static ttape_status poll_until(struct ttest_player *p, const uint32_t *answer, uint32_t wanted)
{
    uint32_t failures = 0;
    for (int i = 0; i < ROUNDS_MAX && failures < FAILURES_MAX; i++) {
        ttape_error err = {0};
        ttape_recording_status now;
        uint64_t drained;
        ttape_status status = ttape_recording_poll(p->recording, &drained, &err);
        ttape_recording_get_status(p->recording, &now);
        if (status != TTAPE_OK && (err.status != status || err.message[0] == '\0'))
            return TTAPE_E_STATE;
        if (now.failed || __atomic_load_n(answer, __ATOMIC_ACQUIRE) == wanted)
            return TTAPE_OK;
        failures += status != TTAPE_OK;
        (void)usleep(PAUSE_US);
    }
    return TTAPE_OK; /* without a thread that encodes it is answered by none but the end */
}

static uint64_t take_files(const char *folder, const char *label);

void ttest_record_begin(const char *folder)
{
    (void)folder;
    other_process = ttest_process_start();
}

/* What a run has left that nobody looked at. */
void ttest_record_reset(const char *folder) { (void)take_files(folder, "before"); }

void ttest_record_end(const char *folder)
{
    ttest_record_reset(folder);
    ttest_process_end(other_process);
}

static ttape_status record_all(struct ttest_run *run, struct ttest_player *p)
{
    struct ttest_block blocks[2];
    struct ttp_arena_head *head = p->head;
    play_round(p, blocks, true);
    TTP_TRY(poll_until(p, &head->flushes_done, ++head->flush_requests));
    play_round(p, blocks, false);
    TTP_TRY(poll_until(p, &head->snapshots_done, ++head->snapshot_requests));
    play_round(p, blocks, false);
    ttape_status status = ttape_recording_set_number(p->recording, "answer", 42, &run->err);
    if (status != TTAPE_OK)
        return status;
    return ttape_recording_finish(p->recording, &run->err);
}

static ttape_status open_recording(struct ttest_run *run, struct ttest_player *p,
                                   ttape_recording_options *o)
{
    o->size = sizeof *o;
    o->clock = TTAPE_CLOCK_NONE;
    o->buffer_bytes = o->thread_bytes = 1;
    o->writer.allocator = &run->allocator;
    o->writer.partition_events = 300;
    *p = (struct ttest_player){.recording = NULL};
    (void)snprintf(p->output, sizeof p->output, "%s/" RECORDED, run->folder);
    played = 0;
    is_live = o->live;
    TTP_TRY(ttape_recording_open(&p->recording, p->output, o, &run->err));
    ttest_faults_hold(true);
    map_arena(p);
    ttest_faults_hold(false);
    return TTAPE_OK;
}

static ttape_status record_with(struct ttest_run *run, ttape_recording_options *o)
{
    struct ttest_player p;
    TTP_TRY(open_recording(run, &p, o));
    ttape_status status = record_all(run, &p);
    (void)munmap(p.head, p.map_bytes);
    ttape_recording_close(p.recording);
    return status;
}

ttape_status ttest_record(struct ttest_run *run)
{
    return record_with(run, &(ttape_recording_options){.command = "x"});
}

ttape_status ttest_record_live(struct ttest_run *run)
{
    return record_with(run, &(ttape_recording_options){.live = true});
}

ttape_status ttest_record_files(struct ttest_run *run)
{
    return record_with(run, &(ttape_recording_options){.rotate_bytes = 1});
}

ttape_status ttest_record_processes(struct ttest_run *run)
{
    return record_with(run, &(ttape_recording_options){.separate_files = true});
}

/* The recorder's own facts, of ends, and of programs that run on when recording ends. */
static bool is_end_fact(const ttape_reader *r, const ttape_event *event)
{
    char name[64];
    if (event->kind != TTAPE_EVENT_LEAF)
        return false;
    (void)ttape_site_name(r, event->site, name, sizeof name);
    return strcmp(name, "tracetape:thread_end") == 0 ||
           strcmp(name, "tracetape:process_end") == 0 || strcmp(name, "tracetape:stopped") == 0;
}

/* Those of the program. */
static uint64_t count_events(const ttape_source *source, const char *label)
{
    ttape_reader *reader;
    ttape_info info;
    uint64_t findings = 0, gaps = 0, facts = 0;
    ttape_error err = {0};
    ck_assert_msg(ttape_verify(source, NULL, NULL, NULL, NULL, &findings, &err) == TTAPE_OK &&
                      findings == 0,
                  "%s: what is written does not verify: %s", label, err.message);
    ck_assert_int_eq(ttape_reader_open(&reader, source, NULL, &err), TTAPE_OK);
    ttape_reader_get_info(reader, &info);
    for (uint32_t i = 0; i < info.stream_count; i++) {
        ttape_cursor *cursor;
        ttape_event_item item;
        ck_assert_int_eq(ttape_cursor_open(&cursor, reader, i, &err), TTAPE_OK);
        while (ttape_cursor_next(cursor, &item, NULL) == TTAPE_OK) {
            bool is_gap = item.event.kind == TTAPE_EVENT_GAP;
            bool has_stopped = is_gap && item.event.argument == TTAPE_GAP_REASON_STOPPED;
            gaps += is_gap && !has_stopped;
            facts += has_stopped || is_end_fact(reader, &item.event);
        }
        ttape_cursor_close(cursor);
    }
    ck_assert_msg(gaps == 0, "%s: gaps", label);
    ttape_reader_close(reader);
    return info.event_count - facts;
}

static uint64_t recover_events(const char *directory, const char *label)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_recover_report report = {0};
    ttape_error err = {0};
    uint64_t count = 0;
    ttape_status status = ttape_recover_recording(directory, &sink, NULL, &report, &err);
    ck_assert_msg(status == TTAPE_OK || status == TTAPE_E_STATE, "%s: recover: %s", label,
                  err.message);
    ck_assert_msg(report.loss_count == 0, "%s: recovered with a loss", label);
    if (status == TTAPE_OK) {
        ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
        count = count_events(&source, label);
    }
    ttape_memory_sink_close(&memory);
    return count;
}

/* Takes the files that the recording has given their names; how many events they hold. Snapshots
 * hold some of the same. */
static uint64_t take_files(const char *folder, const char *label)
{
    char path[512];
    uint64_t count = 0;
    DIR *listing = opendir(folder);
    for (const struct dirent *e; (e = readdir(listing)) != NULL;) {
        ttape_source source;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strncmp(e->d_name, "out.", 4) != 0 || strstr(e->d_name, ".recording") != NULL)
            continue;
        TTEST_DONE(ttape_source_file_open(&source, path, &err));
        uint64_t its = count_events(&source, label);
        count += strstr(e->d_name, ".snapshot-") == NULL ? its : 0;
        ttape_source_file_close(&source);
        (void)unlink(path);
    }
    (void)closedir(listing);
    return count;
}

/* All that was recorded is in the files, or in what recovery makes of the folder. */
void ttest_record_check(struct ttest_run *run, ttape_status status, const char *label)
{
    char path[256], arena[64];
    (void)snprintf(arena, sizeof arena, "%s", ttest_faults_folder());
    ttest_api_path(run->folder, RECORDED ".recording", path);
    bool stays = access(path, F_OK) == 0;
    ck_assert_msg(!stays || status != TTAPE_OK, "%s: done, but the folder is there", label);
    uint64_t count = stays ? recover_events(path, label) : 0;
    if (stays)
        TTEST_DONE(ttape_recover_remove(path, &err));
    if (stays && is_live) { /* it is not finished, and was read */
        ttest_api_path(run->folder, RECORDED, path);
        (void)unlink(path);
        ttest_api_path(run->folder, RECORDED ".recording", path);
    }
    count += take_files(run->folder, label);
    ck_assert_msg(count == played, "%s: status %d, %u events of %u", label, status, (unsigned)count,
                  played);
    ck_assert_msg(access(path, F_OK) != 0, "%s: the folder is still there", label);
    ck_assert_msg(*arena == '\0' || access(arena, F_OK) != 0, "%s: '%s' is still there", label,
                  arena);
}

/* ---- steering ---- */

static void mix_status(struct ttest_run *run, const ttape_control *control)
{
    ttape_control_status now;
    ttape_control_get_status(control, &now);
    uint32_t facts[] = {now.mode,       now.clock,       now.block_ready,   now.block_max,
                        now.block_used, now.block_bytes, now.recorder_lives};
    ttest_api_mix(run, facts, sizeof facts);
}

static ttape_status steer(struct ttest_run *run)
{
    static const uint32_t requests[] = {TTAPE_CONTROL_OFF, TTAPE_CONTROL_ON, TTAPE_CONTROL_FLUSH,
                                        TTAPE_CONTROL_SNAPSHOT, TTAPE_CONTROL_STOP};
    ttape_control *control;
    TTP_TRY(ttape_control_open(&control, (uint32_t)getpid(), &run->err));
    ttape_status status = TTAPE_OK;
    for (size_t i = 0; i < sizeof requests / sizeof *requests && status == TTAPE_OK; i++) {
        status = ttape_control_send(control, requests[i], 0, &run->err);
        mix_status(run, control);
    }
    ttape_control_close(control);
    return status;
}

ttape_status ttest_control(struct ttest_run *run)
{
    struct ttest_player p;
    ttape_recording_options o = {.command = "x"};
    ttest_faults_hold(true);
    ttape_status status = open_recording(run, &p, &o);
    ck_assert_int_eq(status, TTAPE_OK); /* that is held, too */
    ttest_faults_hold(false);
    status = steer(run);
    ttest_faults_hold(true);
    (void)munmap(p.head, p.map_bytes);
    ttape_recording_discard(p.recording);
    ttest_faults_hold(false);
    return status;
}
