/* Memory that ends the command clearly when there is none, or no more than may be taken. */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "tools/command/memory_limit.h"
#include "tools/command/signals.h"
#include "tools/command/tool.h"

#define DEFAULT_BYTES (256ull << 20)
#define LEAST_BYTES   (16ull << 20) /* of an answer: what a process has before it reads anything */
#define LOOK_BYTES    (1ull << 20)  /* allocated between two looks at what the process has */

static uint64_t limit_bytes;       /* of the process; 0: none */
static _Atomic uint64_t allocated; /* since the last look */
static struct {
    void (*call)(void *context);
    void *context;
    pid_t owner;
} on_failure;

void tool_memory_give_back(void)
{
#ifdef M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, LOOK_BYTES);
#endif
}

void tool_memory_bound(uint64_t memory_bytes)
{
    tool_memory_give_back();
    if (!TTP_SANITIZED) /* sanitizers take several times as much for themselves */
        limit_bytes = memory_bytes != 0 ? memory_bytes : DEFAULT_BYTES;
}

void tool_memory_on_failure(void (*call)(void *context), void *context)
{
    on_failure.context = context;
    on_failure.owner = getpid();
    on_failure.call = call;
}

const char *tool_memory_hint(char *text, size_t size_bytes, uint64_t needed_bytes)
{
    uint64_t more = LOOK_BYTES;
    uint64_t least = limit_bytes > needed_bytes ? limit_bytes : needed_bytes;
    while (more / 2 < least && more < UINT64_MAX / 2)
        more *= 2;
    bool is_giga = more >> 30 > 0;
    snprintf(text, size_bytes, "--memory allows more");
    if (limit_bytes != 0) {
        snprintf(text, size_bytes, "--memory allows more than %" PRIu64 "M: --memory %" PRIu64 "%c",
                 limit_bytes >> 20, more >> (is_giga ? 30 : 20), is_giga ? 'G' : 'M');
    }
    return text;
}

_Noreturn void tool_out_of_memory(void)
{
    if (on_failure.call != NULL && on_failure.owner == getpid())
        on_failure.call(on_failure.context);
    tool_message("out of memory");
    tool_signals_remove_output();
    _exit(TOOL_CANNOT);
}

/* 0: not known. */
static uint64_t resident_bytes(void)
{
    char text[64];
    unsigned long long pages;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    return sscanf(text, "%*u %llu", &pages) == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

_Noreturn void tool_memory_over(uint64_t needed_bytes)
{
    char hint[TOOL_MEMORY_HINT_BYTES];
    uint64_t bytes = resident_bytes() + needed_bytes;
    tool_message("needs more memory than its limit of %llu bytes: %llu at least (%s)",
                 (unsigned long long)limit_bytes, (unsigned long long)bytes,
                 tool_memory_hint(hint, sizeof(hint), bytes));
    tool_signals_remove_output();
    _exit(TOOL_CANNOT);
}

_Noreturn void tool_memory_short(void)
{
    if (limit_bytes == 0)
        tool_out_of_memory();
    tool_memory_over(0);
}

uint64_t tool_memory_of_reader(uint64_t memory_bytes)
{
    return limit_bytes == 0 ? memory_bytes : limit_bytes - limit_bytes / 8;
}

uint64_t tool_memory_left(void)
{
    uint64_t bytes = resident_bytes();
    return limit_bytes == 0 ? UINT64_MAX : bytes < limit_bytes ? limit_bytes - bytes : 0;
}

uint64_t tool_memory_of_answer(void)
{
    uint64_t least = limit_bytes < LEAST_BYTES ? limit_bytes : LEAST_BYTES;
    uint64_t left = tool_memory_left();
    return (left > least ? left : least) | 1;
}

/* Before `more` bytes are taken. The system's own count sees the library's memory and that of
 * others, too; it is asked for once a megabyte. */
static void look_at_limit(size_t more)
{
    if (limit_bytes == 0 || (atomic_fetch_add(&allocated, more) + more < LOOK_BYTES))
        return;
    atomic_store(&allocated, 0);
    if (more > tool_memory_left())
        tool_memory_over(more);
}

void *tool_allocate(size_t count, size_t size_bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, size_bytes, &total))
        tool_out_of_memory();
    look_at_limit(total);
    void *memory = calloc(total > 0 ? total : 1, 1);
    if (memory == NULL)
        tool_out_of_memory();
    return memory;
}

void *tool_reallocate(void *memory, size_t count, size_t size_bytes)
{
    size_t total, before = memory != NULL ? malloc_usable_size(memory) : 0;
    if (__builtin_mul_overflow(count, size_bytes, &total))
        tool_out_of_memory();
    look_at_limit(total > before ? total - before : 0);
    void *bigger = realloc(memory, total > 0 ? total : 1);
    if (bigger == NULL)
        tool_out_of_memory();
    return bigger;
}

char *tool_copy_text(const char *text, size_t size_bytes)
{
    char *copy = tool_allocate(size_bytes + 1, 1);
    if (size_bytes > 0)
        memcpy(copy, text, size_bytes);
    return copy;
}

void tool_grow(void **array, size_t *capacity, size_t needed, size_t size_bytes)
{
    if (needed <= *capacity)
        return;
    size_t wanted = (size_t)ttp_next_capacity(*capacity, needed);
    *array = tool_reallocate(*array, wanted, size_bytes);
    *capacity = wanted;
}

static void *allocate_block(void *context, size_t size_bytes)
{
    (void)context;
    return tool_allocate(size_bytes, 1);
}

static void release_block(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    free(memory);
}

struct ttp_region tool_region(void)
{
    struct ttp_region region = ttp_region_of(UINT64_MAX);
    region.allocator = (ttape_allocator){NULL, allocate_block, release_block};
    return region;
}
