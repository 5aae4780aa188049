/* The arena's file: made exclusively in a directory of our own, in memory where there is room for
 * it (/dev/shm), beside the output otherwise. Blocks are allocated in the file before programs may
 * use them, so that no store into one can fail. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/recording/recording_internal.h"

#define FEWEST_BLOCKS 4u

static uint64_t blocks_offset(void)
{
    uint64_t states = TTP_ARENA_HEAD_BYTES + (uint64_t)TTP_ARENA_BLOCKS_MAX * sizeof(uint32_t);
    return (states + TTP_BLOCK_BYTES - 1) / TTP_BLOCK_BYTES * TTP_BLOCK_BYTES;
}

static uint64_t file_bytes(uint32_t blocks)
{
    return blocks_offset() + (uint64_t)blocks * TTP_BLOCK_BYTES;
}

/* As many blocks as there is room for, of those wanted; 0: not even a few. */
static uint32_t allocate(int fd, uint32_t wanted)
{
    for (uint32_t count = wanted; count >= FEWEST_BLOCKS; count /= 2) {
        int code = posix_fallocate(fd, 0, (off_t)file_bytes(count));
        if (code == 0)
            return count;
        errno = code; /* which it does not do */
    }
    return 0;
}

static bool map(struct ttp_arena_file *arena)
{
    uint64_t size_bytes = file_bytes(arena->capacity);
    if (size_bytes > SIZE_MAX)
        return false;
    arena->map_bytes = (size_t)size_bytes;
    void *memory = mmap(NULL, arena->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd, 0);
    if (memory == MAP_FAILED)
        return false;
    (void)madvise(memory, arena->map_bytes, MADV_DONTFORK); /* helpers of the caller need none */
    arena->head = memory;
    arena->states = (void *)((uint8_t *)memory + TTP_ARENA_HEAD_BYTES);
    arena->blocks = (uint8_t *)memory + blocks_offset();
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
        arena->ready = allocate(arena->fd, wanted);
        /* Room that is promised and not there yet: programs map all of it, and use what is ready.
         * Where files may not be as large, there is no more than what is ready. */
        arena->capacity = TTP_ARENA_BLOCKS_MAX;
        if (ftruncate(arena->fd, (off_t)file_bytes(arena->capacity)) != 0)
            arena->capacity = arena->ready;
        if (arena->ready != 0 && map(arena))
            return true;
    }
    int code = errno;
    discard(arena, true);
    errno = code;
    return false;
}

static void fill_head(const struct ttp_arena_file *arena, const ttape_recording_options *o)
{
    struct ttp_arena_head *head = arena->head;
    head->version = TTP_ARENA_VERSION;
    head->block_bytes = TTP_BLOCK_BYTES;
    head->block_capacity = arena->capacity;
    head->clock = o->clock;
    head->flags = o->blocking ? TTP_ARENA_BLOCKING : 0;
    head->recorder_pid = (uint32_t)getpid();
    memcpy(head->trace_id, o->writer.trace_id, sizeof head->trace_id);
    head->blocks_offset = blocks_offset();
    struct stat namespace;
    head->pid_namespace = stat("/proc/self/ns/pid", &namespace) == 0 ? namespace.st_ino : 0;
    head->mode = o->start_off ? TTP_MODE_OFF : TTP_MODE_ON;
    head->block_ready = arena->ready;
    __atomic_store_n(&head->magic, TTP_ARENA_MAGIC, __ATOMIC_RELEASE);
}

ttape_status ttp_arena_make(ttape_recording *r, ttape_error *err)
{
    struct ttp_arena_file *arena = &r->drain.arena;
    const ttape_recording_options *o = &r->encoder.options;
    const ttape_allocator *allocator = &r->drain.allocator;
    uint32_t wanted = (uint32_t)(o->buffer_bytes / TTP_BLOCK_BYTES);
    wanted = wanted < FEWEST_BLOCKS ? FEWEST_BLOCKS : wanted;
    wanted = wanted > TTP_ARENA_BLOCKS_MAX ? TTP_ARENA_BLOCKS_MAX : wanted;
    arena->limit = wanted;
    arena->thread_blocks = (uint32_t)(o->thread_bytes / TTP_BLOCK_BYTES);
    if (!make_in(arena, "/dev/shm", wanted) && !make_in(arena, r->directory.path, wanted))
        return ttp_fail_plain(err, ttp_status_of(errno),
                              "no room for buffers in '/dev/shm' nor in '%s': %s",
                              r->directory.path, strerror(errno));
    size_t bytes = TTP_ARENA_BLOCKS_MAX * sizeof *arena->seen;
    arena->seen = allocator->allocate(allocator->context, bytes);
    if (arena->seen == NULL)
        return ttp_fail_memory(err);
    memset(arena->seen, 0, bytes);
    fill_head(arena, o);
    return TTAPE_OK;
}

void ttp_arena_grow(struct ttp_arena_file *arena, uint32_t thread_count)
{
    uint64_t allowed = arena->limit + thread_count * arena->thread_blocks;
    if (allowed > arena->capacity)
        allowed = arena->capacity;
    if (arena->ready >= allowed)
        return;
    uint32_t count = (uint32_t)allowed;
    off_t from = (off_t)file_bytes(arena->ready);
    if (posix_fallocate(arena->fd, from, (off_t)file_bytes(count) - from) != 0) {
        arena->limit = arena->ready; /* no more room: not tried again */
        arena->thread_blocks = 0;
        return;
    }
    arena->ready = count;
    __atomic_store_n(&arena->head->block_ready, count, __ATOMIC_RELEASE);
}

void ttp_arena_free_block(struct ttp_arena_file *arena, uint32_t index)
{
    memset(arena->blocks + (size_t)index * TTP_BLOCK_BYTES, 0, TTP_BLOCK_BYTES);
    arena->seen[index] = (struct ttp_block_seen){0};
    __atomic_store_n(&arena->states[index], TTP_BLOCK_FREE, __ATOMIC_RELEASE);
    __atomic_store_n(&arena->head->freed, arena->head->freed + 1, __ATOMIC_RELEASE);
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
