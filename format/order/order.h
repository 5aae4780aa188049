/* The order of a partition's events, as every order codec sees it: codes, symbols, segments.
 *
 *   symbol    partition-local number of an event type, by first appearance in the partition
 *             (0, 1, 2, ...), defined by (class, argument)
 *   code      symbol << 1 | close
 *   segment   a run of codes of one stream; segments stand one after the other in `codes`
 *
 * A *push* class (enter, open, signal) puts its symbol on the segment's stack; a code with the
 * close bit names the symbol on the top of the stack and takes it off: nothing else can be closed,
 * and a code with the close bit while the stack is empty cannot exist. A segment's stack starts
 * with its open symbols (frames that were open at its start edge, outermost first), whose defining
 * symbols may appear there before any code names them. */
#ifndef TTP_FORMAT_ORDER_H
#define TTP_FORMAT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "format/base/buffer.h"

/* Event classes. The numbers are on disk. */
enum ttp_class {
    TTP_CLASS_ENTER = 0,  /* push; argument: site. Closing it is the event "exit" */
    TTP_CLASS_LEAF = 1,   /* argument: site (block, branch, marker, system call) */
    TTP_CLASS_OPEN = 2,   /* push; argument: site. A frame that was open at the stream's start */
    TTP_CLASS_SIGNAL = 3, /* push; argument: signal number. Closing it is "signal end" */
    TTP_CLASS_EXIT_UNSEEN =
        4, /* argument: site. Exit of a frame whose enter was not seen; pops nothing */
    TTP_CLASS_UNWIND = 5, /* argument: n >= 1. The n top frames were left by unwinding (pops n) */
    TTP_CLASS_EXIT_ACROSS =
        6, /* argument: n >= 1. n frames left by unwinding, then exit of the next (pops n+1) */
    TTP_CLASS_SWITCH =
        7, /* argument: stack id. The stream goes on on another stack (pops nothing here) */
    TTP_CLASS_GAP =
        8, /* argument: reason. Events were lost (their count is a value of the event) */
    TTP_CLASS_COUNT = 9
};

static inline bool ttp_class_pushes(uint8_t event_class)
{
    return event_class == TTP_CLASS_ENTER || event_class == TTP_CLASS_OPEN ||
           event_class == TTP_CLASS_SIGNAL;
}

/* A chain (an interned subtree) holds only enter and signal frames, leaves and gaps. Everything
 * else stands in the data section, between chains. */
static inline bool ttp_class_chains(uint8_t event_class)
{
    return event_class == TTP_CLASS_ENTER || event_class == TTP_CLASS_SIGNAL ||
           event_class == TTP_CLASS_LEAF || event_class == TTP_CLASS_GAP;
}

struct ttp_symbol {
    uint32_t argument;
    uint8_t event_class;
};

/* What to encode. Borrowed; the codecs trust it (the writer made it).
 *
 * Segment s covers codes[segment_start[s] .. segment_start[s + 1]). A segment runs on *stacks*
 * (coroutines), numbered from 0; it starts on stack start_stack[s], and the stacks hold the open
 * frames open[open_start[s] .. open_start[s + 1]): entry i is a symbol, on stack open_stack[i],
 * outermost first within its stack. A switch event names the stack that the codes after it push to
 * and pop from.
 *
 * The first `given_count` symbols are those of the open frames of all segments, in order of first
 * appearance there; the segment table stores them, so that a decoder has them before it starts. The
 * codec stores the definitions of all others. */
struct ttp_order {
    const uint32_t *codes;
    const struct ttp_symbol *symbols;
    const uint32_t
        *segment_start;          /* segment_count + 1 entries; the first 0, the last event_count */
    const uint32_t *open_start;  /* segment_count + 1 entries */
    const uint32_t *open;        /* symbols, not codes */
    const uint32_t *open_stack;  /* parallel to open */
    const uint32_t *start_stack; /* segment_count entries */
    uint32_t event_count, symbol_count, given_count, segment_count;
    uint64_t hash_key; /* of the tables that encoding takes: secret_hash.h */
};

/* Where a decoder puts the same; the caller read segments, open frames and counts from the segment
 * table and checked them against its limits before. `codes` has room for event_count codes,
 * `symbols` for symbol_capacity definitions, the first given_count of them filled in. The decoder
 * fills the rest and symbol_count; it fails (never writes past) where the bytes ask for more. */
struct ttp_order_out {
    uint32_t *codes;
    struct ttp_symbol *symbols;
    const uint32_t *segment_start, *open_start, *open, *open_stack, *start_stack;
    uint32_t event_count, symbol_capacity, given_count, segment_count;
    uint32_t symbol_count;
    uint64_t hash_key; /* of the tables that decoding takes: secret_hash.h */
};

/* A chain as a partition stores it, for who lists them. */
struct ttp_order_chain {
    const uint32_t
        *items; /* full form: numbers of chains that come before this one, the children of
                            * `symbol`; literal form: codes */
    uint32_t item_count;
    uint32_t symbol; /* full form only */
    bool is_primed;  /* a model's */
    uint64_t length; /* events; UINT32_MAX: more than any partition has */
    uint64_t uses;   /* full form: how often it happened, with those within others; literal form:
                    * records of the data section that point into it */
    uint64_t event_count; /* of the partition, which stand in these */
};

/* Takes the chains of a partition, from the first to the last, once all is decoded. A failure of
 * `chain` ends it and is returned. */
struct ttp_order_chain_sink {
    ttape_status (*chain)(void *context, const struct ttp_order_chain *chain);
    void *context;
    uint64_t *chained_count; /* set first: events in chains, each once */
};

#endif
