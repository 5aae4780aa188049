/* Memory of the runtime's own in a program that limits or locks its memory: the program comes
 * first. Ours is small under a limit, and is not locked. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "recorder/runtime/library/front_calls.h"
#include "recorder/runtime/loader/lookup.h"
#include "recorder/runtime/slow.h"

#define REGIONS_MAX   256u
#define LIMITED_SHARE 32u /* at most such a part of a limited address space holds blocks */
#define PAGE          4096u

struct region {
    uintptr_t start, end;
};

/* Private memory that is ours. What has no room here is locked with the program's. */
static struct region regions[REGIONS_MAX];

static void note_region(uintptr_t start, size_t bytes)
{
    for (uint32_t i = 0; i < REGIONS_MAX; i++) {
        uintptr_t none = 0;
        if (__atomic_load_n(&regions[i].start, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&regions[i].start, &none, start, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            __atomic_store_n(&regions[i].end, start + bytes, __ATOMIC_RELEASE);
            return;
        }
    }
}

static void forget_region(uintptr_t start)
{
    for (uint32_t i = 0; i < REGIONS_MAX; i++)
        if (__atomic_load_n(&regions[i].start, __ATOMIC_RELAXED) == start) {
            __atomic_store_n(&regions[i].end, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&regions[i].start, 0, __ATOMIC_RELEASE);
            return;
        }
}

/* A program that is started under a filter gets what it needs before this. */
static bool is_closed(void)
{
    return ttp_process.avoids_system_calls != 0 &&
           __atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) == TTP_PROCESS_ON;
}

/* Where the program locks what it will map, pages come with the mapping, unless it has no rights.
 */
long ttp_room_map(size_t bytes)
{
    bool is_locked = ttp_process.locks_memory;
    if (is_closed())
        return -EPERM;
    long memory =
        ttp_syscall(SYS_mmap, 0, (long)bytes, is_locked ? PROT_NONE : PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ttp_failed(memory))
        return memory;
    if (is_locked) {
        ttp_syscall(SYS_munlock, memory, (long)bytes, 0, 0, 0, 0);
        long result =
            ttp_syscall(SYS_mprotect, memory, (long)bytes, PROT_READ | PROT_WRITE, 0, 0, 0);
        if (ttp_failed(result)) {
            ttp_syscall(SYS_munmap, memory, (long)bytes, 0, 0, 0, 0);
            return result;
        }
    }
    note_region((uintptr_t)memory, bytes);
    return memory;
}

void ttp_room_unmap(void *memory, size_t bytes)
{
    if (is_closed())
        return;
    forget_region((uintptr_t)memory);
    ttp_syscall(SYS_munmap, (long)memory, (long)bytes, 0, 0, 0, 0);
}

static uint64_t limit_of(int which)
{
    struct rlimit limit;
    if (ttp_process.avoids_system_calls ||
        ttp_syscall(SYS_prlimit64, 0, which, 0, (long)&limit, 0, 0) != 0)
        return RLIM_INFINITY;
    return limit.rlim_cur;
}

bool ttp_room_is_limited(void)
{
    return ttp_process.locks_memory || limit_of(RLIMIT_AS) != RLIM_INFINITY ||
           limit_of(RLIMIT_DATA) != RLIM_INFINITY;
}

bool ttp_room_has(uint64_t block_bytes)
{
    uint64_t limit = limit_of(RLIMIT_AS);
    return limit == RLIM_INFINITY || block_bytes <= limit / LIMITED_SHARE;
}

/* -- locking -- */

struct locking {
    uint64_t bytes; /* of the program's mappings */
    uint32_t flags; /* of mlock2 */
    bool is_count;  /* only counts them */
};

#ifdef TTP_RUNTIME_SHARED
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static struct region own_image(void)
{
    uintptr_t end = ((uintptr_t)_end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return (struct region){(uintptr_t)__ehdr_start, end};
}
#else
static struct region own_image(void) { return (struct region){0, 0}; } /* the program's */
#endif

/* The lowest of our regions, the library's image among them, that ends behind `from`. */
static struct region next_region(uintptr_t from)
{
    struct region next = own_image();
    if (next.end <= from)
        next = (struct region){UINTPTR_MAX, UINTPTR_MAX};
    for (uint32_t i = 0; i < REGIONS_MAX; i++) {
        uintptr_t start = __atomic_load_n(&regions[i].start, __ATOMIC_ACQUIRE);
        uintptr_t end = __atomic_load_n(&regions[i].end, __ATOMIC_ACQUIRE);
        if (start != 0 && end > from && start < next.start)
            next = (struct region){start, end};
    }
    return next;
}

/* The kernel may have joined our memory and the program's to one mapping. */
static void see_mapping(void *context, uintptr_t low, uintptr_t high, bool is_arena)
{
    struct locking *locking = (struct locking *)context;
    if (is_arena)
        return;
    while (low < high) {
        struct region own = next_region(low);
        uintptr_t end = own.start < high ? own.start : high;
        if (low < end) {
            locking->bytes += end - low;
            if (!locking->is_count) /* mlockall does not say what it could not lock, either */
                ttp_syscall(SYS_mlock2, (long)low, (long)(end - low), locking->flags, 0, 0, 0);
        }
        low = end < own.end ? own.end : end;
        if (end == high)
            break;
    }
}

static void unlock_own(void)
{
    struct region image = own_image();
    ttp_arena_unlock();
    ttp_syscall(SYS_munlock, (long)image.start, (long)(image.end - image.start), 0, 0, 0, 0);
    for (uint32_t i = 0; i < REGIONS_MAX; i++) {
        uintptr_t start = __atomic_load_n(&regions[i].start, __ATOMIC_ACQUIRE);
        uintptr_t end = __atomic_load_n(&regions[i].end, __ATOMIC_ACQUIRE);
        if (start != 0 && end > start)
            ttp_syscall(SYS_munlock, (long)start, (long)(end - start), 0, 0, 0, 0);
    }
}

/* What the kernel refused because of our memory: all but ours is locked, mapping by mapping. */
static long lock_program(int flags)
{
    struct locking locking = {.flags = (flags & MCL_ONFAULT) != 0 ? MLOCK_ONFAULT : 0,
                              .is_count = true};
    if (!ttp_mappings_visit(see_mapping, &locking) || locking.bytes > limit_of(RLIMIT_MEMLOCK))
        return -ENOMEM;
    locking.is_count = false;
    ttp_mappings_visit(see_mapping, &locking);
    return (flags & MCL_FUTURE) == 0
               ? 0
               : ttp_syscall(SYS_mlockall, flags & ~MCL_CURRENT, 0, 0, 0, 0, 0);
}

static long lock_all(int flags)
{
    bool is_known = (flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) == 0;
    bool is_ours = __atomic_load_n(&ttp_process.state, __ATOMIC_ACQUIRE) == TTP_PROCESS_ON &&
                   !ttp_process.avoids_system_calls && is_known;
    bool was_locked = ttp_process.locks_memory;
    if (is_ours) /* before: what another thread maps meanwhile */
        ttp_process.locks_memory = true;
    long result = ttp_syscall(SYS_mlockall, flags, 0, 0, 0, 0, 0);
    if (result == -ENOMEM && is_ours && (flags & MCL_CURRENT) != 0)
        result = lock_program(flags);
    if (ttp_failed(result))
        ttp_process.locks_memory = was_locked;
    else if (is_ours)
        unlock_own();
    return result;
}

/* As which it is recorded. */
static const void *find_real(void)
{
#ifdef TTP_RUNTIME_SHARED
    return ttp_process.fronted_bytes != 0 ? ttp_next_function("mlockall") : NULL;
#else
    return NULL;
#endif
}

/* A plain system call in each C library, and so ours. */
TTP_EXPORT int mlockall(int flags)
{
    uintptr_t caller = (uintptr_t)__builtin_return_address(0), sp = TTP_CALLER_SP();
    const uintptr_t frame_sp = sp - sizeof(uintptr_t);
    const struct ttp_begun_call call = {
        .number = SYS_mlockall, .first = (uintptr_t)flags, .frame_sp = frame_sp};
    const void *real = find_real();
    ttp_front_begin_call(real, caller, sp);
    if (!ttp_is_aside)
        ttp_call_begins(&call, caller, sp);
    long result = lock_all(flags);
    if (!ttp_is_aside)
        ttp_call_ended(SYS_mlockall, (uint64_t)result, caller, frame_sp);
    ttp_front_end_call(real, caller, sp);
    if (!ttp_failed(result))
        return 0;
    errno = (int)-result;
    return -1;
}
