/* The arena's file: made exclusively in a directory of our own, in memory where there is room for
 * it (/dev/shm), beside the output otherwise. Blocks are allocated in the file before programs may
 * use them, so that no store into one can fail. */
#define _GNU_SOURCE /* asprintf, fallocate */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/arena/prototypes.h"
#include "recorder/arena/verdicts.h"
#include "recorder/state/recording_internal.h"

#define FEWEST_BLOCKS  4u
#define OWN_LINK_BYTES 32
#define FIRST_BYTES    (4u << 20)
#define GROWTH_BLOCKS  256u /* 8 MiB: some 2 ms of making pages */
#define BOUND_MS       200u /* how old the bound may be */
#define QUIET_MS       500u /* after so long with most blocks free, memory goes back */

static uint64_t blocks_offset(const struct ttp_arena_file *arena)
{
    uint64_t states = TTP_ARENA_HEAD_BYTES + (uint64_t)TTP_ARENA_BLOCKS_MAX * sizeof(uint32_t);
    uint64_t verdicts = arena->has_verdicts ? TTP_VERDICT_BYTES : 0;
    return (states + TTP_BLOCK_BYTES - 1) / TTP_BLOCK_BYTES * TTP_BLOCK_BYTES + verdicts;
}

static uint64_t file_bytes(const struct ttp_arena_file *arena, uint32_t blocks)
{
    return blocks_offset(arena) + (uint64_t)blocks * TTP_BLOCK_BYTES;
}

/* As many blocks as there is room for, of those wanted; 0: not even a few. */
static uint32_t allocate(const struct ttp_arena_file *arena, uint32_t wanted)
{
    for (uint32_t count = wanted; count >= FEWEST_BLOCKS; count /= 2) {
        int code = posix_fallocate(arena->fd, 0, (off_t)file_bytes(arena, count));
        if (code == 0)
            return count;
        errno = code; /* which it does not do */
    }
    return 0;
}

static bool map(struct ttp_arena_file *arena)
{
    uint64_t size_bytes = file_bytes(arena, arena->capacity);
    if (size_bytes > SIZE_MAX)
        return false;
    arena->map_bytes = (size_t)size_bytes;
    void *memory = mmap(NULL, arena->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd, 0);
    if (memory == MAP_FAILED)
        return false;
    (void)madvise(memory, arena->map_bytes, MADV_DONTFORK); /* helpers of the caller need none */
    arena->head = memory;
    arena->states = (void *)((uint8_t *)memory + TTP_ARENA_HEAD_BYTES);
    arena->blocks = (uint8_t *)memory + blocks_offset(arena);
    if (arena->has_verdicts)
        arena->verdicts = (void *)((uint8_t *)memory + TTP_VERDICTS_AT);
    return true;
}

static void discard(struct ttp_arena_file *arena, bool remove)
{
    if (remove && arena->path != NULL)
        (void)unlink(arena->path);
    if (remove && arena->directory != NULL)
        (void)rmdir(arena->directory);
    if (arena->fd >= 0)
        (void)close(arena->fd);
    free(arena->path);
    free(arena->directory);
    arena->path = arena->directory = NULL;
    arena->fd = -1;
}

/* Makes the file below `parent`; false (errno) where that is impossible. */
static bool make_in(struct ttp_arena_file *arena, const char *parent, uint32_t wanted)
{
    arena->fd = -1;
    if (asprintf(&arena->directory, "%s/tracetape-XXXXXX", parent) < 0)
        arena->directory = NULL;
    if (arena->directory == NULL || mkdtemp(arena->directory) == NULL) {
        free(arena->directory);
        arena->directory = NULL;
        return false;
    }
    if (asprintf(&arena->path, "%s/arena", arena->directory) < 0)
        arena->path = NULL;
    if (arena->path != NULL)
        arena->fd = open(arena->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (arena->fd >= 0) {
        arena->ready = allocate(arena, wanted);
        /* Room that is promised and not there yet: programs map all of it, and use what is ready.
         * Where files may not be as large, there is no more than what is ready. */
        arena->capacity = arena->most;
        if (ftruncate(arena->fd, (off_t)file_bytes(arena, arena->capacity)) != 0)
            arena->capacity = arena->ready;
        if (arena->ready != 0 && map(arena))
            return true;
    }
    int code = errno;
    discard(arena, true);
    errno = code;
    return false;
}

static uint32_t when_full(const ttape_recording_options *o)
{
    switch (o->when_full) {
    case TTAPE_FULL_BLOCK: return TTP_ARENA_BLOCKING;
    case TTAPE_FULL_DROP: return TTP_ARENA_DROPPING;
    default: return 0;
    }
}

/* Whoever finds the arena when the recorder was killed knows by it who still needs it. */
static void name_folder(struct ttp_arena_head *head, const char *folder)
{
    char *path = realpath(folder, NULL);
    if (path != NULL && strlen(path) < TTP_ARENA_FOLDER_BYTES)
        (void)strcpy((char *)head + TTP_ARENA_FOLDER_AT, path);
    free(path);
}

/* As recorder/runtime/process/status.c counts them. */
static uint32_t count_filters(void)
{
    char line[128];
    unsigned mode = 0, count = 0;
    bool is_counted = false;
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        (void)sscanf(line, "Seccomp: %u", &mode);
        is_counted |= sscanf(line, "Seccomp_filters: %u", &count) == 1;
    }
    if (status != NULL)
        (void)fclose(status);
    return is_counted ? count : mode;
}

static void choose_values(struct ttp_arena_head *head, const ttape_patch_options *patch)
{
    for (uint32_t i = 0; patch->values_wanted != NULL && i < TTP_PROTOTYPES; i++) {
        uint32_t wanted = patch->values_wanted(patch->plan_context, ttp_prototypes[i].name);
        head->left_given[i / 64] |= (uint64_t)((wanted & TTAPE_VALUES_GIVEN) == 0) << i % 64;
        head->left_returned[i / 64] |= (uint64_t)((wanted & TTAPE_VALUES_RETURNED) == 0) << i % 64;
    }
}

/* Without a folder of plans a program changes none of its code, and waits for no plan: another
 * process sees its calls. */
static void choose_calls(struct ttp_arena_head *head, const ttape_syscall_options *calls)
{
    _Static_assert(sizeof head->chosen_calls == sizeof calls->chosen, "the same bits");
    memcpy(head->chosen_calls, calls->chosen, sizeof head->chosen_calls);
    if (ttp_calls_are_chosen(calls) && calls->plan_folder != NULL)
        head->call_flags = TTP_CALLS_ON | (calls->no_results ? 0 : TTP_CALLS_RESULTS) |
                           (calls->arguments ? TTP_CALLS_ARGUMENTS : 0) |
                           (calls->stacks ? TTP_CALLS_STACKS : 0) |
                           (calls->traced ? TTP_CALLS_TRACED : 0);
    head->call_counter = ttp_counter_of(calls->measure);
    if (head->call_flags != 0 && head->call_counter != 0)
        head->call_flags |= TTP_CALLS_COUNTED | TTP_CALLS_RESULTS;
    head->stack_every = calls->stack_every;
    head->stack_rate = calls->stack_rate;
    head->call_data_bytes = (uint32_t)calls->data_bytes;
}

static void choose_lines(struct ttp_arena_head *head, const ttape_recording_options *o)
{
    head->line_descriptors = o->line_descriptors;
    if (o->line_descriptors != 0 && head->call_flags != 0)
        head->call_flags |= TTP_CALLS_LINES | TTP_CALLS_RESULTS;
}

static void fill_head(const struct ttp_arena_file *arena, const ttape_recording_options *o,
                      const char *folder)
{
    struct ttp_arena_head *head = arena->head;
    name_folder(head, folder);
    head->version = TTP_ARENA_VERSION;
    head->block_bytes = TTP_BLOCK_BYTES;
    head->block_capacity = arena->capacity;
    head->clock = o->clock;
    head->flags = when_full(o);
    head->no_blocks = o->no_blocks;
    head->hook_sites = o->hook_sites;
    head->stall_ticks = arena->stall_ticks;
    head->recorder_pid = (uint32_t)getpid();
    memcpy(head->trace_id, o->writer.trace_id, sizeof head->trace_id);
    head->blocks_offset = blocks_offset(arena);
    head->has_verdicts = arena->has_verdicts;
    struct stat namespace, processes;
    head->pid_namespace = stat("/proc/self/ns/pid", &namespace) == 0 ? namespace.st_ino : 0;
    /* Only where /proc has the processes by the numbers that we know. */
    char own[OWN_LINK_BYTES] = "";
    if (readlink("/proc/self", own, sizeof own - 1) > 0 && strtol(own, NULL, 10) == getpid() &&
        stat("/proc", &processes) == 0)
        head->proc_device = processes.st_dev;
    head->filters = count_filters();
    choose_calls(head, &o->syscalls);
    choose_lines(head, o);
    head->patch_choice = o->syscalls.plan_folder != NULL ? o->patch.choice : 0;
    head->patch_flags = (o->patch.all_modules ? TTP_PATCH_MODULES : 0) |
                        (o->patch.library_calls != 0 ? TTP_PATCH_CALLS : 0) |
                        (o->patch.library_calls > 1 ? TTP_PATCH_NESTED : 0) |
                        (o->patch.library_arguments ? TTP_PATCH_ARGUMENTS : 0) |
                        (o->syscalls.plan_folder != NULL ? TTP_PATCH_PLANS : 0);
    choose_values(head, &o->patch);
    head->off_ticks[0] = o->start_off ? ttp_clock_now(o->clock) : 0;
    head->mode = o->start_off ? TTP_MODE_OFF : TTP_MODE_ON;
    head->block_ready = arena->ready;
    __atomic_store_n(&head->magic, TTP_ARENA_MAGIC, __ATOMIC_RELEASE);
}

/* Memory for blocks within the file, which never grows by that: somebody may have truncated it, and
 * what came back would be a head of zeros, with which programs run on unseen. 0, or an error. */
static int allocate_within(const struct ttp_arena_file *arena, off_t from, off_t size_bytes)
{
    struct stat file;
    if (fallocate(arena->fd, FALLOC_FL_KEEP_SIZE, from, size_bytes) == 0)
        return 0;
    bool is_whole = fstat(arena->fd, &file) == 0 && file.st_size >= from + size_bytes;
    return errno == EOPNOTSUPP && is_whole ? posix_fallocate(arena->fd, from, size_bytes) : errno;
}

static bool change_ready(struct ttp_arena_file *arena, uint32_t from, uint32_t count)
{
    return __atomic_compare_exchange_n(&arena->head->block_ready, &from, count, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void ttp_arena_look(struct ttp_arena_file *arena)
{
    uint32_t ready = __atomic_load_n(&arena->head->block_ready, __ATOMIC_ACQUIRE);
    arena->ready = ready < arena->capacity ? ready : arena->capacity;
    arena->peak = arena->ready > arena->peak ? arena->ready : arena->peak;
}

/* Where the arena's size was asked for, it is more than that for threads only: each has a block
 * that it fills. */
static void set_bound(struct ttp_arena_file *arena, uint32_t thread_count, uint64_t now_ms)
{
    uint64_t blocks = arena->least + (uint64_t)thread_count * arena->thread_blocks;
    if (!arena->is_sized) {
        if (now_ms - arena->bound_ms < BOUND_MS && arena->bound != 0)
            return;
        arena->bound_ms = now_ms;
        blocks =
            ttp_arena_bound(arena->fd, (uint64_t)arena->ready * TTP_BLOCK_BYTES) / TTP_BLOCK_BYTES;
    }
    arena->bound = (uint32_t)(blocks < arena->capacity ? blocks : arena->capacity);
    __atomic_store_n(&arena->head->block_bound, arena->bound, __ATOMIC_RELAXED);
}

void ttp_arena_grow(struct ttp_arena_file *arena, uint32_t thread_count, uint64_t now_ms)
{
    arena->quiet_ms = 0;
    set_bound(arena, thread_count, now_ms);
    if (arena->is_full || arena->ready >= arena->bound)
        return;
    uint32_t count =
        arena->bound - arena->ready < GROWTH_BLOCKS ? arena->bound : arena->ready + GROWTH_BLOCKS;
    off_t from = (off_t)file_bytes(arena, arena->ready);
    if (allocate_within(arena, from, (off_t)file_bytes(arena, count) - from) != 0) {
        arena->is_full = true; /* no more room: not tried again before it shrinks */
        return;
    }
    if (change_ready(arena, arena->ready, count))
        ttp_blocks_offer(arena->states, arena->ready, count);
    ttp_arena_look(arena);
    ttp_arena_wake(arena);
}

static uint32_t withdraw(struct ttp_arena_file *arena, uint32_t kept)
{
    uint32_t count = arena->ready;
    for (; count > kept; count--) {
        uint32_t expected = TTP_BLOCK_FREE;
        if (!__atomic_compare_exchange_n(&arena->states[count - 1], &expected, TTP_BLOCK_WITHDRAWN,
                                         false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            break;
    }
    return count;
}

/* Gives memory back: the upper half of the blocks at most, those that nobody uses. A block is
 * withdrawn before its memory goes, so that no program takes it; and the memory is gone before
 * others may add blocks in its place. */
void ttp_arena_shrink(struct ttp_arena_file *arena, uint64_t now_ms)
{
    uint32_t kept = arena->ready / 2 > arena->least ? arena->ready / 2 : arena->least;
    if (arena->quiet_ms == 0)
        arena->quiet_ms = now_ms;
    if (now_ms - arena->quiet_ms < QUIET_MS || arena->ready <= arena->least)
        return;
    arena->quiet_ms = 0;
    uint32_t count = withdraw(arena, kept);
    off_t from = (off_t)file_bytes(arena, count),
          bytes = (off_t)file_bytes(arena, arena->ready) - from;
    if (count == arena->ready)
        return;
    (void)fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, bytes);
    /* Where a program has added some meanwhile, they have to come back. */
    if (!change_ready(arena, arena->ready, count) && allocate_within(arena, from, bytes) == 0)
        ttp_blocks_offer(arena->states, count, arena->ready);
    ttp_arena_look(arena);
    arena->is_full = false;
}

ttape_status ttp_arena_make(ttape_recording *r, ttape_error *err)
{
    struct ttp_arena_file *arena = &r->drain.arena;
    const ttape_recording_options *o = &r->encoder.options;
    const ttape_allocator *allocator = &r->drain.allocator;
    uint64_t bytes_wanted = o->buffer_bytes == 0 ? FIRST_BYTES : o->buffer_bytes;
    uint64_t most = (uint64_t)TTP_ARENA_BLOCKS_MAX * TTP_BLOCK_BYTES;
    uint64_t quarter = ttp_memory_free() / 4;
    most = quarter < most ? quarter : most;
    uint32_t wanted = (uint32_t)((bytes_wanted < most ? bytes_wanted : most) / TTP_BLOCK_BYTES);
    wanted = wanted < FEWEST_BLOCKS ? FEWEST_BLOCKS : wanted;
    arena->least = wanted;
    uint64_t mapped = ttp_addresses_free() / 4 / TTP_BLOCK_BYTES;
    arena->most = mapped < wanted                 ? wanted
                  : mapped < TTP_ARENA_BLOCKS_MAX ? (uint32_t)mapped
                                                  : TTP_ARENA_BLOCKS_MAX;
    arena->has_verdicts = ttp_verdicts_are_wanted(o);
    arena->is_sized = o->buffer_bytes != 0;
    arena->stall_ticks = ttp_clock_ticks(o->clock, &r->encoder.rate, TTP_ARENA_STALL_NS);
    arena->thread_blocks = (uint32_t)(o->thread_bytes / TTP_BLOCK_BYTES);
    if (!make_in(arena, "/dev/shm", wanted) && !make_in(arena, r->directory.path, wanted)) {
        int code = errno;
        ttape_status status = ttp_fail_plain(err, ttp_status_of(code),
                                             "no room for buffers in '/dev/shm' nor in '%s': %s",
                                             r->directory.path, strerror(code));
        if (err != NULL)
            err->os_errno = code;
        return status;
    }
    size_t bytes = TTP_ARENA_BLOCKS_MAX * sizeof *arena->seen;
    arena->seen = allocator->allocate(allocator->context, bytes);
    if (arena->seen == NULL)
        return ttp_fail_memory(err);
    memset(arena->seen, 0, bytes);
    fill_head(arena, o, r->directory.path);
    set_bound(arena, 0, 0);
    ttp_arena_look(arena);
    return TTAPE_OK;
}

void ttp_arena_wake(const struct ttp_arena_file *arena)
{
    struct ttp_arena_head *head = arena->head;
    if (__atomic_exchange_n(&head->waiters, 0, __ATOMIC_SEQ_CST) == 0)
        return;
    (void)__atomic_add_fetch(&head->wakes, 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &head->wakes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ttp_arena_free_block(struct ttp_arena_file *arena, uint32_t index)
{
    struct ttp_arena_head *head = arena->head;
    memset(arena->blocks + (size_t)index * TTP_BLOCK_BYTES, 0, TTP_BLOCK_BYTES);
    arena->seen[index] = (struct ttp_block_seen){0};
    __atomic_store_n(&arena->states[index], TTP_BLOCK_FREE, __ATOMIC_RELEASE);
    __atomic_store_n(&head->freed, head->freed + 1, __ATOMIC_RELEASE);
    if (index < __atomic_load_n(&head->free_from, __ATOMIC_RELAXED))
        __atomic_store_n(&head->free_from, index, __ATOMIC_RELAXED);
    ttp_arena_wake(arena);
}

/* Only what is async-signal-safe. Behind the first place that is gone all is. */
bool ttape_recording_mend(ttape_recording *r, const void *address)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), start = (size_t)r->drain.arena.head;
    size_t at = (size_t)address / page * page, end = start + r->drain.arena.map_bytes;
    if (start == 0 || at < start || at >= end ||
        mmap((void *)at, end - at, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        return false;
    r->shared.is_arena_cut = true;
    return true;
}

/* Programs that still run keep their mapping; its mode says to stop for ever. */
void ttp_arena_close(struct ttp_arena_file *arena, const ttape_allocator *allocator, bool remove)
{
    if (arena->head != NULL) {
        __atomic_store_n(&arena->head->mode, TTP_MODE_STOPPED, __ATOMIC_RELEASE);
        (void)munmap(arena->head, arena->map_bytes);
        arena->head = NULL;
    }
    if (arena->seen != NULL)
        allocator->release(allocator->context, arena->seen,
                           TTP_ARENA_BLOCKS_MAX * sizeof *arena->seen);
    arena->seen = NULL;
    discard(arena, remove);
}

/* One that was stopped stays so. */
void ttp_arena_set_mode(struct ttp_arena_file *arena, uint32_t mode, uint64_t now_ticks)
{
    struct ttp_arena_head *head = arena->head;
    if (head->mode == TTP_MODE_STOPPED || head->mode == mode)
        return;
    if (mode == TTP_MODE_ON)
        (void)__atomic_add_fetch(&head->periods, 1, __ATOMIC_RELEASE);
    else
        ttp_arena_note_off(head, now_ticks);
    __atomic_store_n(&head->mode, mode, __ATOMIC_RELEASE);
}
