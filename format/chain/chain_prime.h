/* Starting from a model chunk: the state of the full-form order codec at the end of an earlier
 * partition, so that other partitions begin with its symbols, chains (0 .. n - 1) and records.
 *
 *   snapshot   struct ttp_chain_primer | symbols | body starts | bodies | model
 *              offsets, no pointers
 *
 * A snapshot is read-only once made; it may be copied with memcpy, and any number of partitions, on
 * any number of threads, may start from one. Its bytes are not for storing: a file stores the
 * partition it came from.
 *
 * Spec: O-FUL-49. */
#ifndef TTP_FORMAT_CHAIN_PRIME_H
#define TTP_FORMAT_CHAIN_PRIME_H

#include <tracetape/error.h>

#include "format/chain/chain_model.h"

struct ttp_chain_primer {
    uint32_t symbol_count, chain_count, child_count;
    struct ttp_chain_sizes sizes; /* of the model in it */
    size_t symbols, starts, children, model, size_bytes;
};

/* Bytes of workspace and of snapshot that priming takes at most. */
size_t ttp_chain_prime_workspace(uint32_t event_count, uint32_t symbol_capacity,
                                 uint32_t open_count);
size_t ttp_chain_prime_capacity(uint32_t event_count, uint32_t symbol_capacity);

/* Decodes an (unprimed) order as ttp_chain_decode does, with the same failures, and makes the
 * snapshot of what was learnt, whose memory is aligned like malloc's. */
ttape_status ttp_chain_prime(struct ttp_order_out *out, struct ttp_bytes header,
                             struct ttp_bytes data, struct ttp_workspace ws,
                             struct ttp_buffer *snapshot, ttape_error *err);

/* The symbols with which every partition that starts from the snapshot begins. */
static inline const struct ttp_symbol *ttp_chain_primer_symbols(const struct ttp_chain_primer *p)
{
    return (const struct ttp_symbol *)(const void *)((const char *)p + p->symbols);
}

static inline const uint32_t *ttp_chain_primer_starts(const struct ttp_chain_primer *p)
{
    return (const uint32_t *)(const void *)((const char *)p + p->starts);
}

static inline const uint32_t *ttp_chain_primer_children(const struct ttp_chain_primer *p)
{
    return (const uint32_t *)(const void *)((const char *)p + p->children);
}

static inline struct ttp_chain_view ttp_chain_primer_view(const struct ttp_chain_primer *p)
{
    return ttp_chain_view_of((void *)((uintptr_t)p + p->model));
}

/* Sizes of a partition's model; primer may be NULL. */
struct ttp_chain_sizes ttp_chain_primed_sizes(uint32_t event_count, uint32_t symbol_count,
                                              const struct ttp_chain_primer *primer);

/* Starts a partition's model, fresh or from the primer. */
struct ttp_chain_view ttp_chain_model_start(void *blob, const struct ttp_chain_sizes *sizes,
                                            const struct ttp_chain_primer *primer);

#endif
