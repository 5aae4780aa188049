/* Layout of a snapshot, and how a model goes on from one. The decoding itself is in chain_decode.c.
 */
#include "format/chain/chain_prime.h"

#include <string.h>

struct ttp_chain_sizes ttp_chain_primed_sizes(uint32_t event_count, uint32_t symbol_count,
                                              const struct ttp_chain_primer *primer)
{
    struct ttp_chain_sizes z = ttp_chain_sizes_for(event_count, symbol_count);
    if (primer == NULL)
        return z;
    z.record_bits = primer->sizes.record_bits;
    z.function_bits = primer->sizes.function_bits;
    z.slot_bits = primer->sizes.slot_bits;
    z.chain_limit += primer->chain_count;
    if (z.edge_limit < primer->sizes.edge_limit)
        z.edge_limit = primer->sizes.edge_limit;
    return z;
}

struct ttp_chain_view ttp_chain_model_start(void *blob, const struct ttp_chain_sizes *z,
                                            const struct ttp_chain_primer *primer)
{
    struct ttp_chain_view v = ttp_chain_model_init(blob, z);
    if (primer == NULL)
        return v;
    struct ttp_chain_view from = ttp_chain_primer_view(primer);
    struct ttp_chain_model limits = *v.model;
    *v.model = *from.model;
    v.model->symbol_limit = limits.symbol_limit;
    v.model->chain_limit = limits.chain_limit;
    v.model->edge_limit = limits.edge_limit;
    memcpy(v.records, from.records, sizeof *v.records << z->record_bits);
    memcpy(v.functions, from.functions, sizeof *v.functions << z->function_bits);
    memcpy(v.slots, from.slots, sizeof *v.slots << z->slot_bits);
    memcpy(v.frames, from.frames, ((size_t)from.model->symbol_count + 1) * sizeof *v.frames);
    memcpy(v.edges, from.edges, from.model->edge_count * sizeof *v.edges);
    memcpy(v.chains, from.chains, from.model->chain_count * sizeof *v.chains);
    return v;
}
