/* Which call over which stack: a table of the process's, filled by all its threads and never
 * emptied. What a walk read is kept by where it began: as long as all of it is there again, the
 * stack is the same one, because nothing else decides what a walk finds. Once a module is gone,
 * addresses may mean another one: paths are made anew. */
#include "recorder/runtime/patch/patch.h"

#define SLOTS       16384u /* a power of two */
#define POOL_BYTES  (8u << 20)
#define TABLE_BYTES (SLOTS * sizeof(uint64_t))
#define CACHE_SLOTS 64u
#define CACHE_WORDS 96u

struct known_walk {
    uint64_t after, sp, rbp;
    uint32_t number, word_count, gone_count;
    struct ttp_path_site *site;
    uint64_t words[CACHE_WORDS][2];
};

/* A thread's own; a handler that finds it in use goes without. */
struct ttp_walk_cache {
    uint64_t user_sp; /* 0: nobody uses it */
    struct ttp_walk walk;
    struct known_walk known[CACHE_SLOTS];
};

static uint64_t *table; /* of struct ttp_path_site * */
static uint8_t *pool;
static uint64_t pool_used;

static bool make_table(void)
{
    uint64_t *none = NULL;
    if (__atomic_load_n(&pool, __ATOMIC_ACQUIRE) != NULL)
        return true;
    long memory = ttp_room_map(TABLE_BYTES + POOL_BYTES);
    if (ttp_failed(memory))
        return false;
    if (!__atomic_compare_exchange_n(&table, &none, (uint64_t *)memory, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        ttp_room_unmap((void *)memory, TABLE_BYTES + POOL_BYTES);
        return __atomic_load_n(&pool, __ATOMIC_ACQUIRE) != NULL;
    }
    __atomic_store_n(&pool, (uint8_t *)memory + TABLE_BYTES, __ATOMIC_RELEASE);
    return true;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 29;
}

static bool is_same(const struct ttp_path_site *site, uint64_t hash, uint32_t number,
                    const struct ttp_walk *walk)
{
    if (site->hash != hash || site->number != number || site->count != walk->frame_count ||
        site->is_cut != walk->is_cut || site->gone_count != ttp_seen_modules_gone_count())
        return false;
    for (uint32_t i = 0; i < site->count; i++)
        if (site->frames[i] != walk->frames[i])
            return false;
    return true;
}

static struct ttp_path_site *make_site(uint64_t hash, uint32_t number, const struct ttp_walk *walk)
{
    size_t bytes = sizeof(struct ttp_path_site) + walk->frame_count * sizeof(uint64_t);
    uint64_t at = __atomic_fetch_add(&pool_used, bytes, __ATOMIC_RELAXED);
    if (at + bytes > POOL_BYTES) {
        __atomic_fetch_sub(&pool_used, bytes, __ATOMIC_RELAXED);
        return NULL;
    }
    struct ttp_path_site *site = (struct ttp_path_site *)(pool + at);
    site->hash = hash;
    site->number = number;
    site->count = walk->frame_count;
    site->is_cut = walk->is_cut;
    site->gone_count = ttp_seen_modules_gone_count();
    site->key =
        TTP_CALL_KEYS_PATH + __atomic_fetch_add(&ttp_arena.head.call_keys, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < site->count; i++)
        site->frames[i] = walk->frames[i];
    return site;
}

static struct ttp_path_site *find_site(uint32_t number, const struct ttp_walk *walk)
{
    uint64_t hash = mix(mix(walk->is_cut, number), ttp_seen_modules_gone_count());
    for (uint32_t i = 0; i < walk->frame_count; i++)
        hash = mix(hash, walk->frames[i]);
    struct ttp_path_site *made = NULL;
    for (uint32_t i = 0; i < SLOTS / 2; i++) {
        uint64_t *slot = &table[(hash + i) & (SLOTS - 1)];
        uint64_t there = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (there == 0) {
            made = made != NULL ? made : make_site(hash, number, walk);
            if (made == NULL ||
                __atomic_compare_exchange_n(slot, &there, (uint64_t)(uintptr_t)made, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return made;
        }
        struct ttp_path_site *site = (struct ttp_path_site *)(uintptr_t)there;
        if (is_same(site, hash, number, walk))
            return site;
    }
    return NULL;
}

/* -- walks that are known -- */

static struct known_walk *known_at(struct ttp_walk_cache *cache, uint32_t number, uint64_t after,
                                   uintptr_t sp)
{
    return &cache->known[mix(mix(after, sp), number) >> 32 & (CACHE_SLOTS - 1)];
}

/* Each word's place is decided by the words before it: while those hold, a walk would read it. */
static bool holds_path(const struct known_walk *known, uint32_t number, uint64_t after,
                       uintptr_t sp, uintptr_t rbp)
{
    if (known->site == NULL || known->after != after || known->sp != sp || known->rbp != rbp ||
        known->number != number || known->gone_count != ttp_seen_modules_gone_count())
        return false;
    for (uint32_t i = 0; i < known->word_count; i++)
        if (*(const uint64_t *)known->words[i][0] != known->words[i][1])
            return false;
    return true;
}

static void keep_walk(struct known_walk *known, const struct ttp_walk *walk,
                      struct ttp_path_site *site)
{
    known->site = NULL;
    known->gone_count = site != NULL ? site->gone_count : 0;
    if (!walk->is_whole || walk->word_count > CACHE_WORDS)
        return;
    known->word_count = walk->word_count;
    for (uint32_t i = 0; i < walk->word_count; i++) {
        known->words[i][0] = walk->words[i][0];
        known->words[i][1] = walk->words[i][1];
    }
    known->site = site;
}

static struct ttp_walk_cache *cache_of_thread(void)
{
    if (ttp_thread.walk_cache == NULL) {
        long memory = ttp_room_map(sizeof(struct ttp_walk_cache));
        if (ttp_failed(memory))
            return NULL;
        ttp_thread.walk_cache = (struct ttp_walk_cache *)memory;
    }
    return ttp_thread.walk_cache;
}

void ttp_path_prepare(void) { (void)(make_table() && cache_of_thread() != NULL); }

void ttp_walk_cache_end(void)
{
    struct ttp_walk_cache *cache = ttp_thread.walk_cache;
    ttp_thread.walk_cache = NULL;
    TTP_SIGNAL_FENCE();
    if (cache != NULL)
        ttp_room_unmap(cache, sizeof(*cache));
}

struct ttp_path_site *ttp_path_of(uint32_t number, uint64_t after, uintptr_t sp, uintptr_t rbp)
{
    struct ttp_walk_cache *cache = make_table() ? cache_of_thread() : NULL;
    if (cache == NULL || !ttp_use_begin(&cache->user_sp, sp))
        return NULL;
    struct known_walk *known = known_at(cache, number, after, sp);
    struct ttp_path_site *site = known->site;
    if (!holds_path(known, number, after, sp, rbp)) {
        ttp_walk_stack(&cache->walk, after, sp, rbp);
        site = find_site(number, &cache->walk);
        keep_walk(known, &cache->walk, site);
        known->after = after;
        known->sp = sp;
        known->rbp = rbp;
        known->number = number;
    }
    TTP_SIGNAL_FENCE();
    cache->user_sp = 0;
    return site;
}
