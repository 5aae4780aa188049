/* Chains and records of one partition: what the two files of this room share. */
#ifndef TTP_READER_CHAINS_INTERNAL_H
#define TTP_READER_CHAINS_INTERNAL_H

#include <tracetape/chains.h>

#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

struct ttp_listed_chain {
    ttape_chain chain;
    uint32_t first_item;
};

struct ttape_chains {
    struct ttp_memory own;
    struct ttp_memory *memory; /* that one */
    ttape_chains_info info;
    struct ttp_listed_chain *chains;
    ttape_chain_item *items;
    ttape_sequence_record *records;
    uint32_t *first_successors; /* by record, and the end */
    ttape_successor *successors;
    uint32_t chain_capacity, item_count, item_capacity;
    uint32_t event_capacity, successor_count, successor_capacity;
};

/* A code as an event. */
static inline ttape_chain_item ttp_chain_item_of(const struct ttp_loaded *p, uint32_t code)
{
    const struct ttp_code_view *v = &p->views[code];
    return (ttape_chain_item){TTAPE_NONE, v->kind, v->site, v->argument};
}

/* Fills in records and successors of a partition whose codes are there and checked. */
ttape_status ttp_chains_count_records(ttape_chains *c, const struct ttp_loaded *p,
                                      ttape_error *err);

#endif
