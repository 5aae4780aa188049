/* The dictionary of context values: a file that programs map and write, and `tracetape context`
 * reads. It is a table that is only ever added to, by any number of threads and processes at once,
 * without a lock (spec/context.md, 4).
 *
 *     0      head (struct ttp_context_head, 4 KiB)
 *     4096   modules, 4 KiB each
 *     ...    entries, 32 bytes each: a context, named by its last function and the entry of the
 *            context around it
 *
 * A word `check` is written last: 0, nobody's; 1, being written; else of what is beside it. What
 * a kill left half-written is never taken for an entry. */
#ifndef TTP_WRITER_CONTEXT_FILE_H
#define TTP_WRITER_CONTEXT_FILE_H

#include <stdint.h>

#define TTP_CONTEXT_MAGIC        UINT64_C(0x0A78746E6F637474) /* "ttcontx\n" */
#define TTP_CONTEXT_VERSION      1u
#define TTP_CONTEXT_HEAD_BYTES   4096u
#define TTP_CONTEXT_MODULE_BYTES 4096u
#define TTP_CONTEXT_MODULES      255u
#define TTP_CONTEXT_ENTRIES_AT                                                                     \
    (TTP_CONTEXT_HEAD_BYTES + TTP_CONTEXT_MODULES * TTP_CONTEXT_MODULE_BYTES)
#define TTP_CONTEXT_BUILD_ID_MAX  64u
#define TTP_CONTEXT_PATH_MAX      3968u
#define TTP_CONTEXT_BYTES         (UINT64_C(8) << 20) /* default, about */
#define TTP_CONTEXT_ENTRIES_MIN   1024u
#define TTP_CONTEXT_ENTRIES_MAX   (1u << 30)
#define TTP_CONTEXT_PROBES        64u /* places that an entry is looked for in, from its first on */
#define TTP_CONTEXT_OFFSET_BITS   48u /* of a place; above: the module's number, 0: none */
#define TTP_CONTEXT_DEPTH_MAX     0xFFFFFFu
#define TTP_CONTEXT_CHECK_WRITING UINT64_C(1)

struct ttp_context_head {
    uint64_t magic;
    uint32_t version;
    uint32_t operation;   /* ttape_context_operation */
    uint32_t ids;         /* ttape_context_ids */
    uint32_t entry_count; /* a power of two */
    uint64_t check;       /* of the above */
    /* counted while programs run */
    uint64_t lost; /* times that a context without an entry was asked for */
    uint64_t modules_lost;
};

struct ttp_context_module {
    uint64_t check; /* of seed and path_bytes; the last word that is written */
    uint64_t seed;
    uint64_t start; /* where a process had it that wrote it */
    uint32_t build_id_bytes, path_bytes;
    uint8_t build_id[TTP_CONTEXT_BUILD_ID_MAX];
    char path[TTP_CONTEXT_PATH_MAX];
};

struct ttp_context_entry {
    uint64_t value;
    uint64_t around; /* depth << 32 | number of the entry of the context around it, from 1 on; 0 */
    uint64_t place;  /* module << 48 | offset of the function */
    uint64_t check;
};

_Static_assert(sizeof(struct ttp_context_entry) == 32, "two in a line of the cache");
_Static_assert(sizeof(struct ttp_context_module) <= TTP_CONTEXT_MODULE_BYTES, "it has its place");

static inline uint64_t ttp_context_check(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t word = a * UINT64_C(0xD6E8FEB86659FD93);
    word = (word ^ word >> 32 ^ b) * UINT64_C(0xA0761D6478BD642F);
    word = (word ^ word >> 29 ^ c) * UINT64_C(0x9E3779B97F4A7C15);
    word ^= word >> 32;
    return word <= TTP_CONTEXT_CHECK_WRITING ? word + 2 : word;
}

static inline uint64_t ttp_context_entry_check(const struct ttp_context_entry *entry)
{
    return ttp_context_check(entry->value, entry->around, entry->place);
}

static inline uint64_t ttp_context_head_check(const struct ttp_context_head *head)
{
    return ttp_context_check(head->magic ^ head->version,
                             (uint64_t)head->operation << 32 | head->ids, head->entry_count);
}

/* The first place where an entry of that value may be. */
static inline uint32_t ttp_context_first(uint64_t value, uint32_t entry_count)
{
    return (uint32_t)((value * UINT64_C(0x9E3779B97F4A7C15)) >> 34) & (entry_count - 1);
}

#endif
