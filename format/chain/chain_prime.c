/* Making a snapshot, its layout, and how a model goes on from one. The decoding itself is in
 * chain_decode.c. */
#include "format/chain/chain_prime.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/chain/chain_decoder.h"

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

size_t ttp_chain_prime_workspace(uint32_t event_count, uint32_t symbol_capacity,
                                 uint32_t open_count)
{
    struct ttp_chain_recorder r;
    struct ttp_chain_decoder d = {.recorder = &r};
    return ttp_chain_decoder_bytes(&d, event_count, symbol_capacity, open_count);
}

static size_t snapshot_layout(struct ttp_chain_primer *p)
{
    p->symbols = ttp_carve_round(sizeof *p);
    p->starts = ttp_carve_round(p->symbols + p->symbol_count * sizeof(struct ttp_symbol));
    p->children = ttp_carve_round(p->starts + ((size_t)p->chain_count + 1) * sizeof(uint32_t));
    p->model = ttp_carve_round(p->children + (size_t)p->child_count * sizeof(uint32_t));
    p->size_bytes = p->model + ttp_chain_model_bytes(&p->sizes);
    return p->size_bytes;
}

size_t ttp_chain_prime_capacity(uint32_t event_count, uint32_t symbol_capacity)
{
    struct ttp_chain_primer p = {
        .symbol_count = symbol_capacity,
        .chain_count = ttp_chain_limit(event_count),
        .child_count = event_count,
        .sizes = ttp_chain_sizes_for(event_count, symbol_capacity),
    };
    return snapshot_layout(&p);
}

/* Everything that the decoder knows, with tables as large as what they hold. */
static void take_snapshot(const struct ttp_chain_decoder *d, struct ttp_chain_primer *p)
{
    char *base = (char *)p;
    struct ttp_chain_view v = d->coder.view;
    uint32_t symbols = v.model->symbol_count, chains = v.model->chain_count;
    memset(p, 0, ttp_carve_round(sizeof *p));
    *p = (struct ttp_chain_primer){
        .symbol_count = symbols,
        .chain_count = chains,
        .child_count = d->recorder->starts[chains],
        .sizes = {v.model->record_bits, v.model->function_bits, v.model->slot_bits, symbols, chains,
                  v.model->edge_limit},
    };
    (void)snapshot_layout(p);
    if (symbols != 0)
        memcpy(base + p->symbols, d->out->symbols, symbols * sizeof(struct ttp_symbol));
    memcpy(base + p->starts, d->recorder->starts, ((size_t)chains + 1) * sizeof(uint32_t));
    memcpy(base + p->children, d->recorder->children, p->child_count * sizeof(uint32_t));
    struct ttp_chain_view to = ttp_chain_model_init(base + p->model, &p->sizes);
    struct ttp_chain_model limits = *to.model;
    *to.model = *v.model;
    to.model->symbol_limit = limits.symbol_limit;
    to.model->chain_limit = limits.chain_limit;
    memcpy(to.records, v.records, sizeof *to.records << v.model->record_bits);
    memcpy(to.functions, v.functions, sizeof *to.functions << v.model->function_bits);
    memcpy(to.slots, v.slots, sizeof *to.slots << v.model->slot_bits);
    memcpy(to.frames, v.frames, ((size_t)symbols + 1) * sizeof *to.frames);
    memcpy(to.edges, v.edges, v.model->edge_count * sizeof *to.edges);
    memcpy(to.chains, v.chains, chains * sizeof *to.chains);
}

ttape_status ttp_chain_prime(struct ttp_order_out *out, struct ttp_bytes header,
                             struct ttp_bytes data, struct ttp_workspace ws,
                             struct ttp_buffer *snapshot, ttape_error *err)
{
    struct ttp_chain_recorder r = {.open_count = 0};
    struct ttp_chain_decoder d = {.out = out, .recorder = &r};
    snapshot->size = 0;
    TTP_TRY(ttp_chain_decode_all(&d, header, data, ws, err));
    struct ttp_chain_primer p = {
        .symbol_count = out->symbol_count,
        .chain_count = d.coder.view.model->chain_count,
        .child_count = r.starts[d.coder.view.model->chain_count],
        .sizes = {d.coder.view.model->record_bits, d.coder.view.model->function_bits,
                  d.coder.view.model->slot_bits, out->symbol_count, d.coder.view.model->chain_count,
                  d.coder.view.model->edge_limit},
    };
    if (snapshot_layout(&p) > snapshot->capacity)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "snapshot capacity too small");
    take_snapshot(&d, (void *)snapshot->data);
    snapshot->size = p.size_bytes;
    return TTAPE_OK;
}
