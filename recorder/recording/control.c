/* Steering a recording from another process: by the arena that it shares with the recorder.
 *
 *   process id --> /proc/PID/maps: a shared mapping of a file called "arena"
 *              --> that file, opened anew and checked: the same inode, ours alone, an arena
 *              --> its head: mode, request counters, the recorder's answers
 *
 * The recorder removes the file when it ends; then the mapping itself is the only way to it, which
 * the kernel opens for root only. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tracetape/recording.h>

#include "recorder/state/function_change.h"
#include "recorder/state/proc_maps.h"
#include "recorder/state/recording_internal.h"
#include "writer/os_status.h"

#define PAUSE_NS     2000000
#define STALL_NS     2000000000u /* without a round of the recorder: it does nothing any more */
#define NAME_TRIES   1000        /* the next snapshot is being made by then */
#define OWNER_SHIFT  2u
#define FILE_NAME    "/arena"
#define FILE_DELETED " (deleted)"
#define FOLDER_END   ".recording" /* of the recording's folder, behind the output's name */
#define FOLDER_ROOM  (TTP_ARENA_HEAD_BYTES - TTP_ARENA_FOLDER_AT)

struct ttape_control {
    struct ttp_arena_head *head;
    const uint32_t *states;
    size_t map_bytes;
    dev_t device;
    ino_t inode;
    uint32_t pid, task;                     /* by which /proc shows its memory */
    uint32_t capacity, clock, recorder_pid; /* as the head said, once: programs can write there */
    char names[TTP_ARENA_NAMES_BYTES + 1];  /* files of the last snapshot, each ended by a zero */
    size_t names_bytes;
    char output[FOLDER_ROOM]; /* empty: not known */
};

/* A mapping that may be an arena's. */
struct candidate {
    struct ttp_mapping mapping;
    bool is_deleted; /* its path goes without the kernel's word for that */
};

static bool ends_with(const char *text, size_t size, const char *end)
{
    size_t end_size = strlen(end);
    return size >= end_size && memcmp(text + size - end_size, end, end_size) == 0;
}

static bool parse_candidate(char *line, struct candidate *c)
{
    if (!ttp_mapping_parse(line, &c->mapping) || !c->mapping.is_shared || c->mapping.path[0] != '/')
        return false;
    char *path = c->mapping.path;
    size_t size = strlen(path);
    c->is_deleted = ends_with(path, size, FILE_DELETED);
    if (c->is_deleted) {
        size -= strlen(FILE_DELETED);
        path[size] = '\0';
    }
    return ends_with(path, size, FILE_NAME);
}

static ttape_status fail_open(uint32_t pid, ttape_error *err)
{
    int code = errno;
    ttape_status status = ttp_status_of(code);
    if (code == ENOENT || code == ESRCH)
        status = ttp_fail_plain(err, TTAPE_E_NOT_FOUND, "there is no process %" PRIu32, pid);
    else
        (void)ttp_fail_plain(err, status, "looking at process %" PRIu32 " failed: %s", pid,
                             code == EACCES || code == EPERM ? "it is not yours" : strerror(code));
    if (err != NULL)
        err->os_errno = code;
    return status;
}

/* The mapped file itself: by its name, as seen from here or from the task; where it has none any
 * more, by the mapping. What is opened must be what is mapped. */
static int open_mapped(const struct candidate *c, uint32_t task)
{
    const struct ttp_mapping *m = &c->mapping;
    char *names[2] = {NULL, NULL};
    int fd = -1, flags = O_RDWR | O_CLOEXEC | O_NONBLOCK;
    if (c->is_deleted) {
        if (asprintf(&names[0], "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, task, m->start,
                     m->end) < 0)
            return -1;
    } else {
        names[0] = strdup(m->path);
        if (asprintf(&names[1], "/proc/%" PRIu32 "/root%s", task, m->path) < 0)
            names[1] = NULL;
        flags |= O_NOFOLLOW;
    }
    for (int i = 0; i < 2 && fd < 0; i++) {
        struct stat file;
        if (names[i] == NULL || (fd = open(names[i], flags)) < 0)
            continue;
        if (fstat(fd, &file) != 0 || !ttp_mapping_is_of(m, file.st_dev, file.st_ino)) {
            (void)close(fd);
            fd = -1;
            errno = ENOENT;
        }
    }
    free(names[0]);
    free(names[1]);
    return fd;
}

static bool is_ours(const struct stat *file)
{
    return S_ISREG(file->st_mode) && file->st_uid == geteuid() && (file->st_mode & 077) == 0;
}

/* Keeps of the head what is needed later: what was checked may be overwritten by the program. */
static bool is_arena(ttape_control *c, const struct ttp_arena_head *head, const struct stat *file)
{
    if (__atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) != TTP_ARENA_MAGIC ||
        head->version != TTP_ARENA_VERSION || head->block_bytes != TTP_BLOCK_BYTES)
        return false;
    uint64_t offset = __atomic_load_n(&head->blocks_offset, __ATOMIC_RELAXED);
    uint64_t size = (uint64_t)file->st_size;
    c->capacity = __atomic_load_n(&head->block_capacity, __ATOMIC_RELAXED);
    c->clock = __atomic_load_n(&head->clock, __ATOMIC_RELAXED);
    c->recorder_pid = __atomic_load_n(&head->recorder_pid, __ATOMIC_RELAXED);
    return c->capacity != 0 && c->capacity <= TTP_ARENA_BLOCKS_MAX &&
           offset >= TTP_ARENA_HEAD_BYTES + (uint64_t)c->capacity * sizeof(uint32_t) &&
           offset <= size && size - offset >= (uint64_t)c->capacity * TTP_BLOCK_BYTES;
}

/* Programs can write there: what is no such path is not believed. */
static void read_output(ttape_control *c)
{
    const char *folder = (const char *)c->head + TTP_ARENA_FOLDER_AT;
    size_t size = strnlen(folder, FOLDER_ROOM);
    if (size == FOLDER_ROOM || folder[0] != '/' || !ends_with(folder, size, FOLDER_END))
        return;
    memcpy(c->output, folder, size - strlen(FOLDER_END));
}

/* Maps head and block states. TTAPE_E_NOT_FOUND: it is some other file. */
static ttape_status map(ttape_control *c, int fd, ttape_error *err)
{
    struct stat file;
    c->map_bytes = TTP_ARENA_HEAD_BYTES + TTP_ARENA_BLOCKS_MAX * sizeof(uint32_t);
    if (fstat(fd, &file) != 0 || !is_ours(&file))
        return ttp_fail_plain(err, TTAPE_E_IO, "process %" PRIu32 " is recorded by somebody else",
                              c->pid);
    if ((uint64_t)file.st_size < c->map_bytes)
        return ttp_fail_plain(err, TTAPE_E_NOT_FOUND, "not an arena");
    void *memory = mmap(NULL, c->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return ttp_fail_plain(err, TTAPE_E_IO, "mapping the arena failed: %s", strerror(errno));
    if (!is_arena(c, memory, &file)) {
        (void)munmap(memory, c->map_bytes);
        return ttp_fail_plain(err, TTAPE_E_NOT_FOUND, "not an arena");
    }
    c->head = memory;
    c->states = (const void *)((const uint8_t *)memory + TTP_ARENA_HEAD_BYTES);
    read_output(c);
    c->device = file.st_dev;
    c->inode = file.st_ino;
    return TTAPE_OK;
}

static ttape_status try_candidate(ttape_control *c, const struct candidate *found, ttape_error *err)
{
    int fd = open_mapped(found, c->task);
    if (fd < 0) {
        int code = errno;
        ttape_status status = ttp_status_of(code);
        (void)ttp_fail_plain(err, status,
                             found->is_deleted ? "the recording of process %" PRIu32 " has ended"
                                               : "opening the arena of process %" PRIu32
                                                 " failed: %s",
                             c->pid, strerror(code));
        if (err != NULL)
            err->os_errno = code;
        return status;
    }
    ttape_status status = map(c, fd, err);
    (void)close(fd);
    return status;
}

static ttape_status find_arena(ttape_control *c, FILE *maps, ttape_error *err)
{
    char *line = NULL;
    size_t capacity = 0;
    struct candidate found;
    ttape_status status =
        ttp_fail_plain(err, TTAPE_E_NOT_FOUND, "process %" PRIu32 " is not being recorded", c->pid);
    while (c->head == NULL && getline(&line, &capacity, maps) > 0) {
        ttape_error why = {0};
        if (!parse_candidate(line, &found))
            continue;
        ttape_status tried = try_candidate(c, &found, &why);
        if (tried != TTAPE_OK && tried != TTAPE_E_NOT_FOUND && err != NULL)
            *err = why;
        status = tried == TTAPE_E_NOT_FOUND ? status : tried;
    }
    if (c->head == NULL && !feof(maps)) /* what is behind is not known */
        status = fail_open(c->pid, err);
    free(line);
    return status;
}

/* Of a process into which nothing is loaded: who traces it, and has the arena. 0: nobody. */
static uint32_t find_tracer(uint32_t pid)
{
    static const char key[] = "TracerPid:";
    char path[32], line[256];
    uint32_t tracer = 0;
    (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", pid);
    FILE *status = fopen(path, "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, key, sizeof key - 1) == 0)
            tracer = (uint32_t)strtoul(line + sizeof key - 1, NULL, 10);
    if (status != NULL)
        (void)fclose(status);
    return tracer;
}

static ttape_status open_of(ttape_control **out, uint32_t pid, ttape_error *err)
{
    char path[32];
    *out = NULL;
    uint32_t task = ttp_living_task(pid);
    (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", task);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return fail_open(pid, err);
    ttape_control *c = calloc(1, sizeof *c);
    if (c == NULL) {
        (void)fclose(maps);
        return ttp_fail_memory(err);
    }
    c->pid = pid;
    c->task = task;
    ttape_status status = find_arena(c, maps, err);
    (void)fclose(maps);
    if (status != TTAPE_OK) {
        ttape_control_close(c);
        return status;
    }
    *out = c;
    return TTAPE_OK;
}

ttape_status ttape_control_open(ttape_control **out, uint32_t pid, ttape_error *err)
{
    ttape_error other = {0};
    ttape_status status = open_of(out, pid, err);
    uint32_t tracer = status == TTAPE_E_NOT_FOUND ? find_tracer(pid) : 0;
    return tracer != 0 && open_of(out, tracer, &other) == TTAPE_OK ? TTAPE_OK : status;
}

void ttape_control_close(ttape_control *c)
{
    if (c == NULL)
        return;
    if (c->head != NULL)
        (void)munmap(c->head, c->map_bytes);
    free(c);
}

/* The recorder has the arena mapped, too; another process may have its number by now. Where that
 * cannot be looked at, the number has to do. */
static bool recorder_lives(const ttape_control *c)
{
    char process[16];
    if (c->recorder_pid == 0 || (kill((pid_t)c->recorder_pid, 0) != 0 && errno == ESRCH))
        return false;
    (void)snprintf(process, sizeof process, "%" PRIu32, c->recorder_pid);
    int is_mapped = ttp_process_maps(process, c->device, c->inode);
    return is_mapped < 0 ? errno != ENOENT && errno != ESRCH : is_mapped;
}

void ttape_control_get_status(const ttape_control *c, ttape_control_status *status)
{
    const struct ttp_arena_head *head = c->head;
    uint32_t mode = __atomic_load_n(&head->mode, __ATOMIC_ACQUIRE);
    *status = (ttape_control_status){
        .mode = mode,
        .clock = c->clock,
        .block_ready = __atomic_load_n(&head->block_ready, __ATOMIC_ACQUIRE),
        .block_max = c->capacity,
        .block_bytes = TTP_BLOCK_BYTES,
        .event_count = __atomic_load_n(&head->event_count, __ATOMIC_RELAXED),
        .lost_count = __atomic_load_n(&head->lost_count, __ATOMIC_RELAXED) +
                      __atomic_load_n(&head->lost, __ATOMIC_RELAXED),
        .snapshot_count = __atomic_load_n(&head->snapshots_written, __ATOMIC_RELAXED),
        .recorder_pid = c->recorder_pid,
        .recorder_lives = recorder_lives(c)};
    if (status->block_ready > c->capacity)
        status->block_ready = c->capacity;
    for (uint32_t i = 0; i < status->block_ready; i++)
        status->block_used += __atomic_load_n(&c->states[i], __ATOMIC_RELAXED) != TTP_BLOCK_FREE;
}

/* By the arena's clock; 0: it has one that we do not know. */
static uint64_t now_ticks(const ttape_control *c)
{
    bool is_known = c->clock >= TTP_CLOCK_TSC && c->clock <= TTP_CLOCK_COARSE;
    return is_known ? ttp_clock_now((ttape_clock)c->clock) : 0; /* which have the same numbers */
}

/* Threads notice by the count that there was a time of being off: it goes first. */
static void ask_on(struct ttp_arena_head *head)
{
    uint32_t expected = TTP_MODE_OFF;
    if (__atomic_load_n(&head->mode, __ATOMIC_ACQUIRE) == TTP_MODE_OFF)
        (void)__atomic_add_fetch(&head->periods, 1, __ATOMIC_RELEASE);
    (void)__atomic_compare_exchange_n(&head->mode, &expected, TTP_MODE_ON, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE);
}

static ttape_status set_mode(const ttape_control *c, bool on, ttape_error *err)
{
    struct ttp_arena_head *head = c->head;
    if (on)
        ask_on(head);
    else
        ttp_arena_ask_off(head, now_ticks(c));
    if (__atomic_load_n(&head->mode, __ATOMIC_ACQUIRE) == TTP_MODE_STOPPED)
        return ttp_fail_plain(err, TTAPE_E_STATE, "the recording has stopped for good");
    return TTAPE_OK;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Until the answer has come up to the request. A recorder that makes no rounds will not answer. */
static ttape_status wait_for(const ttape_control *c, const uint32_t *answer, uint32_t request,
                             uint64_t wait_ns, ttape_error *err)
{
    const struct ttp_arena_head *head = c->head;
    struct timespec pause = {0, PAUSE_NS};
    uint64_t start = now_ns(), moved = start;
    uint64_t rounds = __atomic_load_n(&head->heartbeat, __ATOMIC_RELAXED);
    while ((int32_t)(__atomic_load_n(answer, __ATOMIC_ACQUIRE) - request) < 0) {
        uint64_t now = now_ns(), seen = __atomic_load_n(&head->heartbeat, __ATOMIC_RELAXED);
        moved = seen != rounds ? now : moved;
        rounds = seen;
        if (now - moved >= STALL_NS && !recorder_lives(c))
            return ttp_fail_plain(err, TTAPE_E_STATE, "the recorder has ended before it answered");
        if (now - start >= wait_ns)
            return ttp_fail_plain(err, TTAPE_E_IO, "the recorder has not answered yet");
        (void)nanosleep(&pause, NULL);
    }
    return TTAPE_OK;
}

/* A request that only a living recorder can serve. */
static ttape_status ask(const ttape_control *c, uint32_t *counter, const uint32_t *answer,
                        uint64_t wait_ns, ttape_error *err)
{
    if (!recorder_lives(c))
        return ttp_fail_plain(err, TTAPE_E_STATE, "the recorder, process %" PRIu32 ", is gone",
                              c->recorder_pid);
    uint32_t request = __atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL);
    return wait_ns == 0 ? TTAPE_OK : wait_for(c, answer, request, wait_ns, err);
}

bool ttp_control_takes_functions(const ttape_control *c)
{
    return __atomic_load_n(&c->head->takes_functions, __ATOMIC_ACQUIRE) != 0;
}

ttape_status ttp_control_ask_functions(const ttape_control *c, uint64_t wait_ns, ttape_error *err)
{
    return ask(c, &c->head->function_requests, &c->head->functions_done, wait_ns, err);
}

/* The names, where they are not just being changed: those of a snapshot that was asked for in the
 * same moment have to do as well. */
static bool read_names(ttape_control *c)
{
    const struct ttp_arena_head *head = c->head;
    uint32_t turn = __atomic_load_n(&head->snapshot_turn, __ATOMIC_SEQ_CST);
    uint32_t size = __atomic_load_n(&head->snapshot_names_bytes, __ATOMIC_RELAXED);
    c->names_bytes = size <= TTP_ARENA_NAMES_BYTES ? size : 0;
    for (size_t i = 0; i < c->names_bytes; i++)
        c->names[i] = __atomic_load_n(&head->snapshot_names[i], __ATOMIC_RELAXED);
    c->names[c->names_bytes] = '\0';
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return turn % 2 == 0 && turn == __atomic_load_n(&head->snapshot_turn, __ATOMIC_SEQ_CST);
}

const char *ttape_control_snapshot_file(const ttape_control *c, uint32_t index)
{
    for (size_t at = 0; at < c->names_bytes; at += strlen(c->names + at) + 1)
        if (index-- == 0)
            return c->names + at;
    return NULL;
}

static ttape_status take_snapshot(ttape_control *c, uint64_t wait_ns, ttape_error *err)
{
    struct ttp_arena_head *head = c->head;
    uint32_t failed = __atomic_load_n(&head->snapshots_failed, __ATOMIC_RELAXED);
    TTP_TRY(ask(c, &head->snapshot_requests, &head->snapshots_done, wait_ns, err));
    if (wait_ns != 0 && __atomic_load_n(&head->snapshots_failed, __ATOMIC_RELAXED) != failed)
        return ttp_fail_plain(err, TTAPE_E_IO, "the recorder could not write the snapshot");
    struct timespec pause = {0, PAUSE_NS};
    for (int i = 0; wait_ns != 0 && !read_names(c); i++) {
        c->names_bytes = 0;
        if (i == NAME_TRIES)
            break;
        (void)nanosleep(&pause, NULL);
    }
    return TTAPE_OK;
}

/* Sets the mode as well: without a recorder nothing else would stop the programs. */
static void stop(const ttape_control *c)
{
    struct ttp_arena_head *head = c->head;
    (void)__atomic_add_fetch(&head->stop_requests, 1, __ATOMIC_ACQ_REL);
    ttp_arena_note_off(head, now_ticks(c));
    __atomic_store_n(&head->mode, TTP_MODE_STOPPED, __ATOMIC_RELEASE);
}

ttape_status ttape_control_send(ttape_control *c, ttape_control_request request, uint64_t wait_ns,
                                ttape_error *err)
{
    struct ttp_arena_head *head = c->head;
    switch (request) {
    case TTAPE_CONTROL_ON:
    case TTAPE_CONTROL_OFF: return set_mode(c, request == TTAPE_CONTROL_ON, err);
    case TTAPE_CONTROL_FLUSH:
        return ask(c, &head->flush_requests, &head->flushes_done, wait_ns, err);
    case TTAPE_CONTROL_SNAPSHOT: return take_snapshot(c, wait_ns, err);
    case TTAPE_CONTROL_STOP: stop(c); return TTAPE_OK;
    default: return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "no such request");
    }
}

const char *ttape_control_output(const ttape_control *c)
{
    return c->output[0] != '\0' ? c->output : NULL;
}
