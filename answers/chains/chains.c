/* A partition's order decoded twice: to its chains, and to codes, of which the records are made. */
#include "answers/chains/chains_internal.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/chain/chain_model.h"
#include "reader/base/choice.h"
#include "reader/decoder_pool.h"
#include "reader/partition/partition_decoder.h"

struct listing {
    ttape_chains *chains;
    const struct ttp_loaded *p;
    ttape_error *err;
};

/* The items of a chain of the full form: the call's event, the chains in it, its end. */
static void put_call(ttape_chains *c, const struct ttp_loaded *p, const struct ttp_order_chain *in)
{
    uint32_t code = in->symbol << 1;
    c->items[c->item_count++] = ttp_chain_item_of(p, code);
    for (uint32_t i = 0; i < in->item_count; i++)
        c->items[c->item_count++] = (ttape_chain_item){.chain = in->items[i], .site = TTAPE_NONE};
    if (ttp_class_pushes(p->symbols[in->symbol].event_class))
        c->items[c->item_count++] = ttp_chain_item_of(p, code | 1);
}

static void put_codes(ttape_chains *c, const struct ttp_loaded *p, const struct ttp_order_chain *in)
{
    for (uint32_t i = 0; i < in->item_count; i++)
        c->items[c->item_count++] = ttp_chain_item_of(p, in->items[i]);
}

static ttape_status take_chain(void *context, const struct ttp_order_chain *in)
{
    struct listing *l = context;
    ttape_chains *c = l->chains;
    uint32_t first = c->item_count;
    TTP_TRY(ttp_memory_reserve(c->memory, &c->chains, &c->chain_capacity,
                               c->info.chain_count + 1ull, sizeof *c->chains, l->err));
    TTP_TRY(ttp_memory_reserve(c->memory, &c->items, &c->item_capacity,
                               (uint64_t)first + in->item_count + 2, sizeof *c->items, l->err));
    if (c->info.form == TTAPE_ORDER_FULL)
        put_call(c, l->p, in);
    else
        put_codes(c, l->p, in);
    c->chains[c->info.chain_count++] =
        (struct ttp_listed_chain){{.length = in->length,
                                   .use_count = in->uses,
                                   .event_count = in->event_count,
                                   .item_count = c->item_count - first,
                                   .is_primed = in->is_primed},
                                  first};
    return TTAPE_OK;
}

static ttape_order_form form_of(const struct ttp_loaded *p)
{
    if (ttp_loaded_has_chains(p))
        return TTAPE_ORDER_FULL;
    return ttp_partition_section(&p->head, TTP_SECTION_LITERAL_HEADER) != NULL ? TTAPE_ORDER_LITERAL
                                                                               : TTAPE_ORDER_RAW;
}

static ttape_status decode_chains(ttape_chains *c, struct ttp_trace_decoder *d, uint32_t partition,
                                  ttape_error *err)
{
    struct ttp_loaded *p;
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err));
    const struct ttp_range range = {.checked = p->head.event_count};
    TTP_TRY(ttp_loaded_reach(d, partition, &range, &p, err));
    c->info.form = form_of(p);
    c->info.event_count = p->head.event_count;
    struct listing l = {c, p, err};
    TTP_TRY(ttp_loaded_list_chains(
        d, p, (struct ttp_order_chain_sink){take_chain, &l, &c->info.chained_count}, err));
    return ttp_chains_count_records(c, p, err);
}

ttape_status ttape_chains_make(ttape_chains **out, ttape_reader *r, uint32_t partition,
                               ttape_error *err)
{
    if (out == NULL)
        return ttp_refuse(err, "no place for chains");
    *out = NULL;
    if (r == NULL)
        return ttp_refuse(err, "no reader");
    if (partition >= r->partition_count)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no partition %u",
                        partition);
    struct ttp_memory memory = ttp_memory_sharing(&r->memory);
    struct ttp_trace_decoder *d = NULL;
    ttape_chains *c = ttp_memory_take(&memory, 1, sizeof *c, err);
    if (c == NULL)
        return memory.status;
    *c = (ttape_chains){.own = memory};
    c->memory = &c->own;
    ttape_status status = ttp_decoder_take(&r->pool, &d, err);
    if (status == TTAPE_OK) {
        status = decode_chains(c, d, partition, err);
        ttp_decoder_give(d);
    }
    if (status != TTAPE_OK)
        ttape_chains_close(c);
    else
        *out = c;
    return status;
}

void ttape_chains_close(ttape_chains *c)
{
    if (c == NULL)
        return;
    struct ttp_memory *m = c->memory;
    ttp_memory_give(m, c->chains, c->chain_capacity, sizeof *c->chains);
    ttp_memory_give(m, c->items, c->item_capacity, sizeof *c->items);
    ttp_memory_give(m, c->records, c->event_capacity, sizeof *c->records);
    ttp_memory_give(m, c->first_successors, c->event_capacity + 1ull, sizeof(uint32_t));
    ttp_memory_give(m, c->successors, c->successor_capacity, sizeof *c->successors);
    ttp_memory_give(m, c, 1, sizeof *c);
}

/* ---- what is there ---- */

void ttape_chains_get_info(const ttape_chains *c, ttape_chains_info *info) { *info = c->info; }

ttape_status ttape_chains_get_chain(const ttape_chains *c, uint32_t chain, ttape_chain *out)
{
    *out = (ttape_chain){0};
    if (chain >= c->info.chain_count)
        return TTAPE_E_NOT_FOUND;
    *out = c->chains[chain].chain;
    return TTAPE_OK;
}

const ttape_chain_item *ttape_chains_get_items(const ttape_chains *c, uint32_t chain,
                                               uint32_t *count)
{
    *count = 0;
    if (chain >= c->info.chain_count)
        return NULL;
    *count = c->chains[chain].chain.item_count;
    return c->items + c->chains[chain].first_item;
}

/* Chains are as high as the decoder let them be, and each level begins with an event. */
size_t ttape_chains_get_events(const ttape_chains *c, uint32_t chain, ttape_chain_item *out,
                               size_t capacity)
{
    struct {
        const ttape_chain_item *at, *end;
    } levels[TTP_CHAIN_HEIGHT_MAX + 1];
    size_t written = 0;
    uint32_t height = 0, count;
    levels[0].at = ttape_chains_get_items(c, chain, &count);
    levels[0].end = count != 0 ? levels[0].at + count : levels[0].at;
    while (written < capacity) {
        if (levels[height].at == levels[height].end) {
            if (height-- == 0)
                break;
            continue;
        }
        const ttape_chain_item *item = levels[height].at++;
        if (item->chain == TTAPE_NONE) {
            out[written++] = *item;
            continue;
        }
        const struct ttp_listed_chain *within = &c->chains[item->chain];
        levels[++height].at = c->items + within->first_item;
        levels[height].end = levels[height].at + within->chain.item_count;
    }
    return written;
}

const ttape_sequence_record *ttape_chains_get_records(const ttape_chains *c, uint32_t *count)
{
    *count = c->info.record_count;
    return c->records;
}

const ttape_successor *ttape_chains_get_successors(const ttape_chains *c, uint32_t number,
                                                   uint32_t *count)
{
    *count = 0;
    if (number >= c->info.record_count)
        return NULL;
    *count = c->records[number].successor_count;
    return c->successors + c->first_successors[number];
}
