/* Finding the arena and mapping it: only a regular file that is this user's alone, and says of
 * itself what we expect. No file descriptor is kept. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "writer/arena/record.h"
#include "writer/runtime/slow.h"

#define WIPE_ON_FORK 18 /* MADV_WIPEONFORK */
#define OWN_BYTES    4096u

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

/* Blocks lie at multiples of their size, so that an address says where in its block it is. */
static bool map_blocks(long fd, uint64_t offset, uint32_t capacity)
{
    for (uint32_t count = capacity; count > 0; count /= 4) {
        size_t bytes = (size_t)count * TTP_BLOCK_BYTES, room = bytes + TTP_BLOCK_BYTES;
        long start = ttp_syscall(SYS_mmap, 0, (long)room, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (ttp_failed(start))
            continue;
        long aligned = (start + TTP_BLOCK_BYTES - 1) & ~(long)(TTP_BLOCK_BYTES - 1);
        long blocks = ttp_syscall(SYS_mmap, aligned, (long)bytes, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (long)offset);
        if (!ttp_failed(blocks)) {
            ttp_process.blocks = (uint8_t *)blocks;
            ttp_process.block_limit = count;
            return true;
        }
        ttp_syscall(SYS_munmap, start, (long)room, 0, 0, 0, 0);
    }
    return false;
}

/* In another namespace the same process ids are other processes: the recorder could not see deaths.
 */
static bool is_same_namespace(const struct ttp_arena_head *head)
{
    struct stat here;
    return head->pid_namespace == 0 ||
           ttp_syscall(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&here, 0, 0, 0) !=
               0 ||
           here.st_ino == head->pid_namespace;
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
           is_same_namespace(head) && choose_clock(head->clock);
}

/* Zeroed in forked children: whoever finds it so knows that it is one. */
static bool map_own(void)
{
    if (ttp_process.page != NULL)
        return true;
    long own = ttp_syscall(SYS_mmap, 0, OWN_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ttp_failed(own))
        return false;
    if (ttp_syscall(SYS_madvise, own, OWN_BYTES, WIPE_ON_FORK, 0, 0, 0) != 0) {
        ttp_syscall(SYS_munmap, own, OWN_BYTES, 0, 0, 0, 0);
        return false;
    }
    ttp_process.page = (struct ttp_process_page *)own;
    return true;
}

static bool map_arena(long fd, const struct stat *file)
{
    size_t bytes = TTP_ARENA_HEAD_BYTES + TTP_ARENA_BLOCKS_MAX * sizeof(uint32_t);
    int protection = PROT_READ | PROT_WRITE;
    if ((uint64_t)file->st_size < bytes || !map_own())
        return false;
    long head = ttp_syscall(SYS_mmap, 0, (long)bytes, protection, MAP_SHARED, fd, 0);
    if (ttp_failed(head))
        return false;
    const struct ttp_arena_head *arena = (const struct ttp_arena_head *)head;
    if (check_head(arena, file) && map_blocks(fd, arena->blocks_offset, arena->block_capacity)) {
        ttp_process.block_states = (uint32_t *)(head + TTP_ARENA_HEAD_BYTES);
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
    return ttp_mapping_has_file(major(file->st_dev), minor(file->st_dev), file->st_ino);
}

bool ttp_arena_attach(const char *path, bool is_own)
{
    struct stat file;
    long fd =
        ttp_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
    if (ttp_failed(fd))
        return false;
    bool attached =
        ttp_syscall(SYS_fstat, fd, (long)&file, 0, 0, 0, 0) == 0 && S_ISREG(file.st_mode) &&
        file.st_uid == (uid_t)ttp_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0) &&
        (file.st_mode & 077) == 0 && (is_own || !is_taken(&file)) && map_arena(fd, &file);
    ttp_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    return attached;
}
