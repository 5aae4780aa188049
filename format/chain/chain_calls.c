/* The decoder goes through the spine and the definitions, and keeps the definitions' bodies. Calls
 * within chains are counted at the end, from the last chain to the first: a chain's children come
 * before it, and are used as often as it is. */
#include "format/chain/chain_calls.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/chain/chain_decoder.h"

struct body {
    const uint32_t *children, *end;
};

static struct body body_of(const struct ttp_chain_decoder *d, uint32_t chain)
{
    const uint32_t *starts = d->recorder->starts, *children = d->recorder->children;
    if (d->primer != NULL && chain < d->primer->chain_count) {
        starts = ttp_chain_primer_starts(d->primer);
        children = ttp_chain_primer_children(d->primer);
    }
    return (struct body){children + starts[chain], children + starts[chain + 1]};
}

/* A chain of a primer is never written out: all that is needed is how long it would be. Too long
 * for any partition is long enough. */
static void measure_primer(struct ttp_chain_decoder *d, const struct ttp_symbol *symbols)
{
    for (uint32_t chain = 0; chain < d->primer->chain_count; chain++) {
        struct body body = body_of(d, chain);
        uint64_t length =
            1u + ttp_class_pushes(symbols[d->coder.view.chains[chain].symbol].event_class);
        for (const uint32_t *child = body.children; child != body.end && length < UINT32_MAX;
             child++)
            length += d->spans[*child].length;
        d->spans[chain] =
            (struct ttp_chain_span){0, length < UINT32_MAX ? (uint32_t)length : UINT32_MAX};
    }
}

void ttp_chain_calls_start(struct ttp_chain_decoder *d)
{
    memset(d->counter->uses, 0, d->coder.view.model->chain_limit * sizeof *d->counter->uses);
    if (d->primer != NULL)
        measure_primer(d, d->out->symbols);
}

static void count_within(const struct ttp_chain_decoder *d)
{
    uint64_t *uses = d->counter->uses;
    for (uint32_t chain = d->coder.view.model->chain_count; chain-- > 0;) {
        uint64_t times = uses[chain];
        if (times == 0)
            continue;
        struct body body = body_of(d, chain);
        uint32_t caller = d->coder.view.chains[chain].symbol + 1u;
        for (const uint32_t *child = body.children; child != body.end; child++) {
            uses[*child] += times;
            ttp_chain_count_call(d, caller, d->coder.view.chains[*child].symbol, times);
        }
    }
}

size_t ttp_chain_calls_workspace(uint32_t event_count, uint32_t symbol_capacity,
                                 uint32_t open_count, const struct ttp_chain_primer *primer)
{
    struct ttp_chain_recorder r;
    struct ttp_chain_counter c;
    struct ttp_chain_decoder d = {.primer = primer, .recorder = &r, .counter = &c};
    return ttp_chain_decoder_bytes(&d, event_count, symbol_capacity, open_count);
}

ttape_status ttp_chain_calls(struct ttp_order_out *out, const struct ttp_chain_primer *primer,
                             struct ttp_bytes header, struct ttp_bytes data,
                             struct ttp_workspace ws, struct ttp_chain_call_sink to,
                             ttape_error *err)
{
    struct ttp_chain_recorder r = {.open_count = 0};
    struct ttp_chain_counter c = {.to = to};
    struct ttp_chain_decoder d = {.out = out, .primer = primer, .recorder = &r, .counter = &c};
    TTP_TRY(ttp_chain_decode_all(&d, header, data, ws, err));
    count_within(&d);
    return TTAPE_OK;
}

static void count_nothing(void *context, uint32_t caller, uint32_t symbol, uint64_t times)
{
    (void)context, (void)caller, (void)symbol, (void)times;
}

/* Before count_within chains on the spine are counted only. */
static uint64_t count_chained(const struct ttp_chain_decoder *d)
{
    uint64_t events = 0;
    for (uint32_t chain = 0; chain < d->coder.view.model->chain_count; chain++)
        events += d->counter->uses[chain] * d->spans[chain].length;
    return events;
}

ttape_status ttp_chain_list(struct ttp_order_out *out, const struct ttp_chain_primer *primer,
                            struct ttp_bytes header, struct ttp_bytes data, struct ttp_workspace ws,
                            struct ttp_order_chain_sink to, ttape_error *err)
{
    struct ttp_chain_recorder r = {.open_count = 0};
    struct ttp_chain_counter c = {.to = {count_nothing, NULL}};
    struct ttp_chain_decoder d = {.out = out, .primer = primer, .recorder = &r, .counter = &c};
    TTP_TRY(ttp_chain_decode_all(&d, header, data, ws, err));
    *to.chained_count = count_chained(&d);
    count_within(&d);
    for (uint32_t i = 0; i < d.coder.view.model->chain_count; i++) {
        struct body body = body_of(&d, i);
        const struct ttp_order_chain chain = {.items = body.children,
                                              .item_count = (uint32_t)(body.end - body.children),
                                              .symbol = d.coder.view.chains[i].symbol,
                                              .is_primed =
                                                  primer != NULL && i < primer->chain_count,
                                              .length = d.spans[i].length,
                                              .uses = c.uses[i],
                                              .event_count = c.uses[i] * d.spans[i].length};
        TTP_TRY(to.chain(to.context, &chain));
    }
    return TTAPE_OK;
}
