/* malloc as all of the program sees it (the linker's --wrap): it is counted, and with a sanitizer
 * large blocks are kept between inputs. zstd's contexts are kept too, whatever the compiler.
 *
 * A sanitizer's allocator maps and unmaps each large block, at the cost of a page fault a page.
 * What is kept, and what lies behind a block, is poisoned, so that a use after the release and a
 * use behind the end are found as before. Blocks in use are remembered by their inverted address:
 * one that nobody else knows is still a leak. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <zstd.h>

#include "fuzz_common.h"

#define KEPT_BLOCKS 64u
#define LIVE_BLOCKS 1024u /* more are not kept */
#define KEPT_LEAST  (32u << 10)
#define KEPT_MOST   (4u << 20)

/* Small blocks too are wanted again while they are warm. What ASAN_OPTIONS says comes before. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=8:malloc_context_size=2"; }

__attribute__((weak)) void __asan_poison_memory_region(const volatile void *start, size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void *start, size_t bytes);

void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t count, size_t size_bytes);
void *__real_realloc(void *block, size_t size_bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_realloc(void *block, size_t size_bytes);
void __wrap_free(void *block);

struct large {
    uintptr_t inverted; /* address of one in use; 0: none */
    void *idle;
    size_t size_bytes, room_bytes;
};

static struct {
    pthread_mutex_t lock;
    struct large idle[KEPT_BLOCKS]; /* the oldest first */
    struct large live[LIVE_BLOCKS]; /* by address, linear probes */
    unsigned idle_count, live_count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t used_bytes, begun_bytes, most_bytes;

/* ---- counting ---- */

static void count(int64_t bytes)
{
    int64_t used = __atomic_add_fetch(&used_bytes, bytes, __ATOMIC_RELAXED);
    if (used > __atomic_load_n(&most_bytes, __ATOMIC_RELAXED))
        __atomic_store_n(&most_bytes, used, __ATOMIC_RELAXED);
}

void fuzz_heap_begin(void)
{
    begun_bytes = __atomic_load_n(&used_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&most_bytes, begun_bytes, __ATOMIC_RELAXED);
}

uint64_t fuzz_heap_most(void)
{
    return (uint64_t)(__atomic_load_n(&most_bytes, __ATOMIC_RELAXED) - begun_bytes);
}

/* ---- large blocks ---- */

static size_t room_of(size_t size_bytes)
{
    size_t room = KEPT_LEAST;
    while (room < size_bytes)
        room += room / 2;
    return room;
}

static unsigned slot_of(uintptr_t inverted)
{
    return (unsigned)((inverted >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 40) % LIVE_BLOCKS;
}

/* With the lock: where the block is, or would be. */
static struct large *find_live(uintptr_t inverted)
{
    unsigned at = slot_of(inverted);
    while (kept.live[at].inverted != inverted && kept.live[at].inverted != 0)
        at = (at + 1) % LIVE_BLOCKS;
    return &kept.live[at];
}

/* With the lock: closes the gap, so that no probe ends early. */
static void remove_live(struct large *hole)
{
    unsigned empty = (unsigned)(hole - kept.live);
    for (unsigned at = (empty + 1) % LIVE_BLOCKS; kept.live[at].inverted != 0;
         at = (at + 1) % LIVE_BLOCKS) {
        unsigned home = slot_of(kept.live[at].inverted);
        if ((at - home) % LIVE_BLOCKS >= (at - empty) % LIVE_BLOCKS) {
            kept.live[empty] = kept.live[at];
            empty = at;
        }
    }
    kept.live[empty].inverted = 0;
    kept.live_count--;
}

/* An idle block of that room, or a new one. NULL: as if it were small. */
static void *take_large(size_t size_bytes)
{
    size_t room = room_of(size_bytes);
    void *block = NULL;
    (void)pthread_mutex_lock(&kept.lock);
    bool fits = kept.live_count < LIVE_BLOCKS / 2;
    for (unsigned i = kept.idle_count; i-- > 0 && fits && block == NULL;)
        if (kept.idle[i].room_bytes == room) {
            block = kept.idle[i].idle;
            memmove(&kept.idle[i], &kept.idle[i + 1],
                    (--kept.idle_count - i) * sizeof kept.idle[0]);
        }
    if (fits && block == NULL && (block = __real_malloc(room)) != NULL)
        __asan_poison_memory_region(block, room);
    if (block != NULL) {
        uintptr_t inverted = ~(uintptr_t)block;
        *find_live(inverted) = (struct large){inverted, NULL, size_bytes, room};
        kept.live_count++;
        __asan_unpoison_memory_region(block, size_bytes);
    }
    (void)pthread_mutex_unlock(&kept.lock);
    return block;
}

/* False: not one of these. */
static bool give_large(void *block, size_t *size_bytes)
{
    struct large old = {0};
    (void)pthread_mutex_lock(&kept.lock);
    struct large *live = find_live(~(uintptr_t)block), found = *live;
    if (found.inverted != 0) {
        remove_live(live);
        __asan_poison_memory_region(block, found.size_bytes);
        if (kept.idle_count == KEPT_BLOCKS) {
            old = kept.idle[0];
            memmove(&kept.idle[0], &kept.idle[1], --kept.idle_count * sizeof kept.idle[0]);
        }
        kept.idle[kept.idle_count++] = (struct large){0, block, 0, found.room_bytes};
    }
    (void)pthread_mutex_unlock(&kept.lock);
    if (old.idle != NULL) {
        __asan_unpoison_memory_region(old.idle, old.room_bytes);
        __real_free(old.idle);
    }
    *size_bytes = found.size_bytes;
    return found.inverted != 0;
}

static bool is_large(size_t size_bytes)
{
    return __asan_poison_memory_region != NULL && size_bytes >= KEPT_LEAST &&
           size_bytes <= KEPT_MOST;
}

/* ---- what the program calls ---- */

void *__wrap_malloc(size_t size_bytes)
{
    void *block = is_large(size_bytes) ? take_large(size_bytes) : NULL;
    bool large = block != NULL;
    if (!large)
        block = __real_malloc(size_bytes);
    if (block != NULL)
        count((int64_t)(large ? size_bytes : malloc_usable_size(block)));
    return block;
}

void *__wrap_calloc(size_t number, size_t size_bytes)
{
    size_t total;
    if (!__builtin_mul_overflow(number, size_bytes, &total) && is_large(total)) {
        void *block = __wrap_malloc(total);
        return block == NULL ? NULL : memset(block, 0, total);
    }
    void *block = __real_calloc(number, size_bytes);
    if (block != NULL)
        count((int64_t)malloc_usable_size(block));
    return block;
}

void __wrap_free(void *block)
{
    size_t size_bytes = 0;
    if (block == NULL)
        return;
    bool large = __asan_poison_memory_region != NULL && give_large(block, &size_bytes);
    count(-(int64_t)(large ? size_bytes : malloc_usable_size(block)));
    if (!large)
        __real_free(block);
}

static size_t size_of(void *block)
{
    size_t size_bytes = 0;
    (void)pthread_mutex_lock(&kept.lock);
    struct large *live = find_live(~(uintptr_t)block);
    if (live->inverted != 0)
        size_bytes = live->size_bytes;
    (void)pthread_mutex_unlock(&kept.lock);
    return size_bytes != 0 ? size_bytes : malloc_usable_size(block);
}

void *__wrap_realloc(void *block, size_t size_bytes)
{
    size_t before = block == NULL ? 0 : size_of(block);
    if (before == 0 || (!is_large(before) && !is_large(size_bytes))) {
        int64_t had = block == NULL ? 0 : (int64_t)malloc_usable_size(block);
        void *bigger = __real_realloc(block, size_bytes);
        if (bigger != NULL)
            count((int64_t)malloc_usable_size(bigger) - had);
        return bigger;
    }
    void *moved = __wrap_malloc(size_bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, before < size_bytes ? before : size_bytes);
    __wrap_free(block);
    return moved;
}

/* ---- zstd's contexts ---- */

/* Making one asks the processor three times what it can do (the instruction CPUID). A virtual
 * machine has to be left for each answer, which took from a quarter to two thirds of the time of
 * the targets that write traces. */
#define KEPT_CONTEXTS 8u
#define CONTEXT_MOST  (1u << 20) /* of bytes: larger ones are given back */

ZSTD_CCtx *__real_ZSTD_createCCtx(void);
ZSTD_DCtx *__real_ZSTD_createDCtx(void);
size_t __real_ZSTD_freeCCtx(ZSTD_CCtx *context);
size_t __real_ZSTD_freeDCtx(ZSTD_DCtx *context);
ZSTD_CCtx *__wrap_ZSTD_createCCtx(void);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void);
size_t __wrap_ZSTD_freeCCtx(ZSTD_CCtx *context);
size_t __wrap_ZSTD_freeDCtx(ZSTD_DCtx *context);

static struct contexts {
    void *idle[KEPT_CONTEXTS];
    unsigned count;
} compressing, decompressing;

static void *take_context(struct contexts *contexts)
{
    (void)pthread_mutex_lock(&kept.lock);
    void *context = contexts->count > 0 ? contexts->idle[--contexts->count] : NULL;
    (void)pthread_mutex_unlock(&kept.lock);
    return context;
}

static bool keep_context(struct contexts *contexts, void *context)
{
    (void)pthread_mutex_lock(&kept.lock);
    bool fits = contexts->count < KEPT_CONTEXTS;
    if (fits)
        contexts->idle[contexts->count++] = context;
    (void)pthread_mutex_unlock(&kept.lock);
    return fits;
}

ZSTD_CCtx *__wrap_ZSTD_createCCtx(void)
{
    ZSTD_CCtx *context = take_context(&compressing);
    return context != NULL ? context : __real_ZSTD_createCCtx();
}

ZSTD_DCtx *__wrap_ZSTD_createDCtx(void)
{
    ZSTD_DCtx *context = take_context(&decompressing);
    return context != NULL ? context : __real_ZSTD_createDCtx();
}

size_t __wrap_ZSTD_freeCCtx(ZSTD_CCtx *context)
{
    if (context == NULL || ZSTD_sizeof_CCtx(context) > CONTEXT_MOST)
        return __real_ZSTD_freeCCtx(context);
    (void)ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    return keep_context(&compressing, context) ? 0 : __real_ZSTD_freeCCtx(context);
}

size_t __wrap_ZSTD_freeDCtx(ZSTD_DCtx *context)
{
    if (context == NULL || ZSTD_sizeof_DCtx(context) > CONTEXT_MOST)
        return __real_ZSTD_freeDCtx(context);
    (void)ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters);
    return keep_context(&decompressing, context) ? 0 : __real_ZSTD_freeDCtx(context);
}
