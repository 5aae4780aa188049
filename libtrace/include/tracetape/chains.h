/* What the order of a partition is made of: its chains, which are sequences of events that recur
 * and stand in the file once, and its sequence-frequency records, which say for an event what came
 * immediately after it, and how often.
 *
 *   literal form (level 0)   a chain is its events; the data section points into it
 *   full form                a chain is a call with all calls in it: an event, chains, an event
 *   raw form                 no chains
 *
 * Records are counted from the events, whatever the form: a file has no use for them once its
 * chains are made.
 *
 * Threads: as for tracetape/reach.h: made by one thread, read by any. */
#ifndef TRACETAPE_CHAINS_H
#define TRACETAPE_CHAINS_H

#include <stdbool.h>

#include <tracetape/error.h>
#include <tracetape/reader.h>
#include <tracetape/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ttape_chains ttape_chains;

typedef enum ttape_order_form {
    TTAPE_ORDER_RAW = 0,
    TTAPE_ORDER_LITERAL = 1,
    TTAPE_ORDER_FULL = 2
} ttape_order_form;

typedef struct ttape_chains_info {
    ttape_order_form form;
    uint32_t event_count; /* of the partition */
    uint32_t chain_count, record_count;
    uint64_t chained_count; /* events in chains; what is left stands by itself */
    uint64_t reserved[2];
} ttape_chains_info;

/* A kind of event, or a chain. */
typedef struct ttape_chain_item {
    uint32_t chain;        /* TTAPE_NONE: an event */
    ttape_event_kind kind; /* of the event, as in ttape_event */
    uint32_t site;         /* or TTAPE_NONE */
    uint32_t argument;
} ttape_chain_item;

typedef struct ttape_chain {
    uint64_t length;    /* events, those of chains in it too; UINT32_MAX: more than any partition */
    uint64_t use_count; /* literal form: records of the data section that point into it; full form:
                         * how often it happened, by itself and within other chains; 0: a model
                         * brought it, and it was not needed */
    uint64_t event_count; /* events of the partition that stand in these uses */
    uint32_t item_count;
    bool is_primed; /* it is a model's */
    uint64_t reserved[2];
} ttape_chain;

typedef struct ttape_sequence_record {
    ttape_chain_item event;
    uint32_t successor_count; /* different ones */
    uint64_t count;           /* occurrences of the event, with those at the end of a segment */
} ttape_sequence_record;

typedef struct ttape_successor {
    ttape_chain_item event;
    uint64_t count; /* it came so often immediately after the record's event */
} ttape_successor;

/* Decodes the order of one partition; times and values are not. *out is NULL on failure. Its memory
 * is the reader's, and bounded with it (TTAPE_E_LIMIT); the reader must outlive it. */
TTAPE_API ttape_status ttape_chains_make(ttape_chains **out, ttape_reader *reader,
                                         uint32_t partition, ttape_error *err);
TTAPE_API void ttape_chains_close(ttape_chains *chains);

TTAPE_API void ttape_chains_get_info(const ttape_chains *chains, ttape_chains_info *info);
/* TTAPE_E_NOT_FOUND: there is no such chain. */
TTAPE_API ttape_status ttape_chains_get_chain(const ttape_chains *chains, uint32_t chain,
                                              ttape_chain *out);
/* What a chain consists of: events, and in the full form chains of lower numbers. */
TTAPE_API const ttape_chain_item *ttape_chains_get_items(const ttape_chains *chains, uint32_t chain,
                                                         uint32_t *count);
/* The first events of a chain, with those of chains in it: at most `capacity`; returns how many.
 * A chain can be as long as its partition. */
TTAPE_API size_t ttape_chains_get_events(const ttape_chains *chains, uint32_t chain,
                                         ttape_chain_item *out, size_t capacity);
/* One for each kind of event, the most frequent first. The exit of a frame that was open when its
 * stream began is another kind than that of one whose enter was seen. */
TTAPE_API const ttape_sequence_record *ttape_chains_get_records(const ttape_chains *chains,
                                                                uint32_t *count);
/* Of a record, the most frequent first. */
TTAPE_API const ttape_successor *ttape_chains_get_successors(const ttape_chains *chains,
                                                             uint32_t record, uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
