/* Finding the arena and mapping it: only a regular file that is this user's alone, and says of
 * itself what we expect. No file descriptor is kept. */
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "recorder/arena/record.h"
#include "recorder/runtime/slow.h"

#define WIPE_ON_FORK   18 /* MADV_WIPEONFORK */
#define OWN_BYTES      4096u
#define ARENA_BYTES    (TTP_NOTES_AT + TTP_NOTES * sizeof(struct ttp_note))
#define PAGE           4096u
#define FIRST_BLOCKS   16u
#define LIMITED_BLOCKS 4u /* where address space is limited */
#define GROWTH_BLOCKS  16u
#define POPULATE_WRITE 23    /* MADV_POPULATE_WRITE, from Linux 5.14 on */
#define AHEAD_BLOCKS   1024u /* 32 MiB */

static uint64_t clock_tsc(void) { return ttp_tsc(); }
/* Not 0: where an epoch starts at 0, a forked child has left the page. */
static uint64_t clock_none(void) { return TTP_RECORD_TIME_MASK + 1; }

static bool choose_clock(uint32_t clock)
{
    switch (clock) {
    case TTP_CLOCK_TSC: ttp_process.clock = clock_tsc; return true;
    case TTP_CLOCK_MONOTONIC: ttp_process.clock = ttp_clock_monotonic; break;
    case TTP_CLOCK_COARSE: ttp_process.clock = ttp_clock_coarse; break;
    case TTP_CLOCK_NONE: ttp_process.clock = clock_none; return true;
    default: return false;
    }
    ttp_vdso_find();
    return true;
}

/* Extents: where blocks are mapped. Address space is what programs count, lock and limit: so a few
 * blocks at first, and as many again whenever those do not suffice. */

static uint32_t extent_end(uint32_t extent)
{
    uint32_t end = ttp_process.block_first << extent;
    return end < ttp_process.block_capacity ? end : ttp_process.block_capacity;
}

static uint32_t extent_start(uint32_t extent) { return extent == 0 ? 0 : extent_end(extent - 1); }

static uint8_t *extent_at(uint32_t extent)
{
    return __atomic_load_n(&ttp_process.extents[extent], __ATOMIC_ACQUIRE);
}

static uint32_t count_extents(void)
{
    uint32_t count = 0;
    while (count < TTP_EXTENTS_MAX && extent_at(count) != NULL)
        count++;
    return count;
}

uint32_t ttp_arena_mapped(void)
{
    uint32_t count = count_extents();
    return count == 0 ? 0 : extent_end(count - 1);
}

struct ttp_block_head *ttp_arena_block(uint32_t index)
{
    uint32_t ratio = index / ttp_process.block_first, extent = 0;
    for (; ratio != 0; ratio /= 2)
        extent++;
    return (struct ttp_block_head *)(extent_at(extent) +
                                     (size_t)(index - extent_start(extent)) * TTP_BLOCK_BYTES);
}

uint32_t ttp_arena_index(const struct ttp_block_head *block)
{
    for (uint32_t extent = 0; extent < TTP_EXTENTS_MAX; extent++) {
        const uint8_t *start = extent_at(extent);
        size_t bytes = (size_t)(extent_end(extent) - extent_start(extent)) * TTP_BLOCK_BYTES;
        size_t offset = (uintptr_t)block - (uintptr_t)start;
        if (start != NULL && offset < bytes)
            return extent_start(extent) + (uint32_t)(offset / TTP_BLOCK_BYTES);
    }
    return 0;
}

bool ttp_arena_holds(uint64_t address)
{
    for (uint32_t extent = 0; extent < TTP_EXTENTS_MAX; extent++) {
        const uint8_t *start = extent_at(extent);
        if (start == NULL)
            return false;
        if (address - (uintptr_t)start <
            (uint64_t)(extent_end(extent) - extent_start(extent)) * TTP_BLOCK_BYTES)
            return true;
    }
    return false;
}

static long map_room(size_t bytes)
{
    return ttp_syscall(SYS_mmap, 0, (long)bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void unmap(long from, long end)
{
    if (from < end)
        ttp_syscall(SYS_munmap, from, end - from, 0, 0, 0, 0);
}

/* Blocks lie at multiples of their size, so that an address says where in its block it is. */
static bool map_first(long fd, uint64_t offset, uint32_t capacity)
{
    uint32_t count = 1, wanted = ttp_process.avoids_system_calls ? AHEAD_BLOCKS
                                 : ttp_room_is_limited()         ? LIMITED_BLOCKS
                                                                 : FIRST_BLOCKS;
    while (count * 2 <= capacity && count < wanted)
        count *= 2;
    size_t bytes = (size_t)count * TTP_BLOCK_BYTES, room = bytes + TTP_BLOCK_BYTES;
    long start = map_room(room);
    if (ttp_failed(start))
        return false;
    long place = (start + TTP_BLOCK_BYTES - 1) & ~(long)(TTP_BLOCK_BYTES - 1);
    bool is_mapped =
        !ttp_failed(ttp_syscall(SYS_mmap, place, (long)bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (long)offset));
    unmap(start, place);
    unmap(place + (long)bytes, start + (long)room);
    if (!is_mapped)
        return false;
    ttp_process.block_first = count;
    ttp_process.block_capacity = capacity;
    ttp_process.extents[0] = (uint8_t *)place;
    return true;
}

/* There is no descriptor any more. A shared mapping is doubled where mremap is given an old size of
 * 0, and may be longer than the one that it came from: so the last page that is mapped comes once
 * more, and all that lies behind it in the file. */
static bool map_extent(uint32_t extent)
{
    if (extent == 0 || !ttp_room_has((uint64_t)extent_end(extent) * TTP_BLOCK_BYTES))
        return false;
    uint32_t first = extent_start(extent), last = extent - 1;
    size_t bytes = (size_t)(extent_end(extent) - first) * TTP_BLOCK_BYTES;
    long source = (long)extent_at(last) +
                  (long)(first - extent_start(last)) * (long)TTP_BLOCK_BYTES - (long)PAGE;
    long room = (long)(PAGE + bytes + TTP_BLOCK_BYTES), start = map_room((size_t)room);
    if (ttp_failed(start))
        return false;
    long place = (start + (long)PAGE + TTP_BLOCK_BYTES - 1) & ~(long)(TTP_BLOCK_BYTES - 1);
    long from = place - (long)PAGE, end = place + (long)bytes;
    long mapped =
        ttp_syscall(SYS_mremap, source, 0, end - from, MREMAP_MAYMOVE | MREMAP_FIXED, from, 0);
    unmap(start, from); /* where it failed, nothing is mapped between the two */
    unmap(end, start + room);
    if (ttp_failed(mapped))
        return false;
    uint8_t *none = NULL;
    if (!__atomic_compare_exchange_n(&ttp_process.extents[extent], &none, (uint8_t *)place, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        unmap(from, end); /* a handler or another thread was faster */
    return true;
}

static bool map_to(uint32_t count)
{
    for (uint32_t extent = count_extents(); ttp_arena_mapped() < count; extent++)
        if (extent == 0 || extent == TTP_EXTENTS_MAX || !map_extent(extent))
            return false;
    return true;
}

/* Makes the pages of these blocks, which fails where there is no room, instead of a store. */
static bool populate(uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++)
        if (ttp_syscall(SYS_madvise, (long)ttp_arena_block(i), TTP_BLOCK_BYTES, POPULATE_WRITE, 0,
                        0, 0) != 0)
            return false;
    return true;
}

/* Two that do the same make the same pages; one of them says that they are there. */
static bool make_ready(uint32_t ready, uint32_t count)
{
    if (!map_to(count) || !populate(ready, count))
        return false;
    uint32_t expected = ready;
    if (!__atomic_compare_exchange_n(&ttp_arena.head.block_ready, &expected, count, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return true;
    ttp_blocks_offer(ttp_process.block_states, ready, count);
    return true;
}

bool ttp_arena_grow(void)
{
    static uint64_t refused; /* mapped, ready: when there was no more to be had */
    uint32_t ready = __atomic_load_n(&ttp_arena.head.block_ready, __ATOMIC_ACQUIRE);
    uint32_t bound = __atomic_load_n(&ttp_arena.head.block_bound, __ATOMIC_RELAXED);
    uint32_t capacity = ttp_process.block_capacity, mapped = ttp_arena_mapped();
    uint64_t now = (uint64_t)mapped << 32 | ready;
    ready = ready < capacity ? ready : capacity;
    bound = bound < capacity ? bound : capacity;
    if (mapped == 0 || ttp_process.avoids_system_calls || (mapped >= ready && ready >= bound) ||
        now == __atomic_load_n(&refused, __ATOMIC_RELAXED))
        return false;
    uint32_t count = ready + GROWTH_BLOCKS < bound ? ready + GROWTH_BLOCKS : bound;
    bool is_more = mapped < ready ? map_extent(count_extents()) : make_ready(ready, count);
    if (!is_more)
        __atomic_store_n(&refused, now, __ATOMIC_RELAXED);
    return is_more;
}

/* Before the program forbids itself system calls: what it may ever need. */
void ttp_arena_map_ahead(void)
{
    uint32_t capacity = ttp_process.block_capacity;
    if (ttp_arena_mapped() != 0)
        (void)map_to(capacity < AHEAD_BLOCKS ? capacity : AHEAD_BLOCKS);
}

static bool check_head(const struct ttp_arena_head *head, const struct stat *file)
{
    return head->magic == TTP_ARENA_MAGIC && head->version == TTP_ARENA_VERSION &&
           head->block_bytes == TTP_BLOCK_BYTES && head->block_capacity != 0 &&
           head->block_capacity <= TTP_ARENA_BLOCKS_MAX &&
           head->blocks_offset % TTP_BLOCK_BYTES == 0 &&
           head->blocks_offset >=
               TTP_ARENA_HEAD_BYTES + (uint64_t)head->block_capacity * sizeof(uint32_t) &&
           head->blocks_offset <= (uint64_t)file->st_size &&
           ((uint64_t)file->st_size - head->blocks_offset) / TTP_BLOCK_BYTES >=
               head->block_capacity &&
           __atomic_load_n(&head->mode, __ATOMIC_RELAXED) != TTP_MODE_STOPPED &&
           choose_clock(head->clock);
}

void ttp_arena_unlock(void)
{
    uint32_t count = count_extents();
    ttp_syscall(SYS_munlock, (long)&ttp_arena, sizeof(ttp_arena), 0, 0, 0, 0);
    ttp_syscall(SYS_munlock, (long)ttp_process.block_states - TTP_ARENA_HEAD_BYTES, ARENA_BYTES, 0,
                0, 0, 0);
    if (ttp_process.verdicts != NULL)
        ttp_syscall(SYS_munlock, (long)ttp_process.verdicts, TTP_VERDICT_BYTES, 0, 0, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = (size_t)(extent_end(i) - extent_start(i)) * TTP_BLOCK_BYTES;
        long page = i == 0 ? 0 : (long)PAGE; /* doubled, and in front of the blocks */
        ttp_syscall(SYS_munlock, (long)extent_at(i) - page, (long)bytes + page, 0, 0, 0, 0);
    }
}

/* Started under a filter, a program need not be allowed to say what fork clears. The shared library
 * is in front of what forks. */
static bool clears_by_hand(void)
{
#ifdef TTP_RUNTIME_SHARED
    return ttp_process.avoids_system_calls != 0;
#else
    return false;
#endif
}

/* Zeroed in forked children: whoever finds it so knows that it is one. */
static bool map_own(void)
{
    ttp_process.forks_by_hand = clears_by_hand();
    if (ttp_process.page != NULL)
        return true;
    long own = ttp_room_map(OWN_BYTES);
    if (ttp_failed(own))
        return false;
    if (!ttp_process.forks_by_hand &&
        ttp_syscall(SYS_madvise, own, OWN_BYTES, WIPE_ON_FORK, 0, 0, 0) != 0) {
        ttp_room_unmap((void *)own, OWN_BYTES);
        return false;
    }
    ttp_process.page = (struct ttp_process_page *)own;
    return true;
}

/* Read only. Where that fails, each call is recorded; so it is in the static library, which stands
 * in front of no dlclose. */
static void map_verdicts(long fd, const struct ttp_arena_head *arena)
{
#ifndef TTP_RUNTIME_SHARED
    return;
#endif
    if (arena->has_verdicts == 0 || arena->blocks_offset < TTP_VERDICTS_AT + TTP_VERDICT_BYTES)
        return;
    long at =
        ttp_syscall(SYS_mmap, 0, TTP_VERDICT_BYTES, PROT_READ, MAP_SHARED, fd, TTP_VERDICTS_AT);
    if (!ttp_failed(at))
        ttp_process.verdicts = ttp_process.enter_verdicts = (const uint64_t *)at;
}

/* Where the tracer could not be told that the process records itself, it goes on recording it. */
static bool may_record(const struct ttp_arena_head *arena, const struct ttp_status *status)
{
    return (arena->call_flags & TTP_CALLS_TRACED) == 0 ||
           (!ttp_process.avoids_system_calls && status->threads == 1);
}

static bool map_arena(long fd, const struct stat *file, const struct ttp_status *status)
{
    size_t bytes = ARENA_BYTES;
    int protection = PROT_READ | PROT_WRITE;
    if ((uint64_t)file->st_size < TTP_NOTES_AT)
        return false;
    long head = ttp_syscall(SYS_mmap, 0, (long)bytes, protection, MAP_SHARED, fd, 0);
    if (ttp_failed(head))
        return false;
    const struct ttp_arena_head *arena = (const struct ttp_arena_head *)head;
    if (arena->magic == TTP_ARENA_MAGIC && arena->filters >= status->filters &&
        status->filters != 0) /* none that the recorder is not under, too */
        __atomic_sub_fetch(&ttp_process.avoids_system_calls, 1, __ATOMIC_RELAXED);
    if (check_head(arena, file) && map_own() && may_record(arena, status) &&
        ttp_ids_find(arena, false) && map_first(fd, arena->blocks_offset, arena->block_capacity)) {
        ttp_process.block_states = (uint32_t *)(head + TTP_ARENA_HEAD_BYTES);
        if (arena->blocks_offset >= bytes)
            ttp_process.notes = (struct ttp_note *)(head + TTP_NOTES_AT);
        map_verdicts(fd, arena);
        if (!ttp_failed(ttp_syscall(SYS_mmap, (long)&ttp_arena, sizeof(ttp_arena), protection,
                                    MAP_SHARED | MAP_FIXED, fd, 0)))
            return true;
    }
    ttp_syscall(SYS_munmap, head, (long)bytes, 0, 0, 0, 0);
    return false;
}

/* Another copy of the runtime in this process has it already. */
static bool is_taken(const struct stat *file)
{
    return ttp_mapping_has_file(file->st_dev, file->st_ino);
}

static uid_t user(void)
{
    if (ttp_process.avoids_system_calls)
        return (uid_t)getauxval(AT_EUID);
    return (uid_t)ttp_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

bool ttp_arena_attach(const char *path, bool is_own)
{
    struct stat file;
    struct ttp_status status;
    ttp_process.executed = (const char *)getauxval(AT_EXECFN);
    ttp_status_read(&status);
    if (status.filters != 0)
        __atomic_add_fetch(&ttp_process.avoids_system_calls, 1, __ATOMIC_RELAXED);
    long fd =
        ttp_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
    if (ttp_failed(fd))
        return false;
    bool attached =
        ttp_syscall(SYS_newfstatat, fd, (long)"", (long)&file, AT_EMPTY_PATH, 0, 0) == 0 &&
        S_ISREG(file.st_mode) && file.st_uid == user() && (file.st_mode & 077) == 0 &&
        (is_own || !is_taken(&file)) && map_arena(fd, &file, &status);
    ttp_process.user = file.st_uid;
    ttp_process.arena_device = file.st_dev;
    ttp_process.arena_file = file.st_ino;
    ttp_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    return attached;
}
