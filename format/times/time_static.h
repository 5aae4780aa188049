/* The static time form: how the times of a partition are written by default (spec/times-static.md).
 *
 *   codes --> context automaton --> context --+
 *                                             +--> table --> rANS --> symbol (+ raw low bits)
 *   symbols so far --> machine state ---------+
 *
 * An event's context is the longest recent history of codes that is frequent in the partition; the
 * machine state says whether the program has lately been slower or faster than it usually is there.
 * A stored map takes (context, state) to one of at most 64 stored tables. Blocks of
 * TTP_TIME_BLOCK_EVENTS events restart, and are each other's lanes when all are decoded.
 * Partitions of few events use an adaptive binary form instead (time_static_tiny.c).
 *
 * Pure and thread-safe: no allocation, no state but the caller's workspace, integers only. */
#ifndef TTP_FORMAT_TIME_STATIC_H
#define TTP_FORMAT_TIME_STATIC_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tracetape/error.h>

#include "format/base/bytes.h"
#include "format/base/coder.h"
#include "format/times/tick_symbol.h"
#include "format/times/times.h"

/* ---- the interface ---- */

/* Bytes of workspace and of output that ttp_time_static_encode needs for so many events. */
size_t ttp_time_static_encode_workspace(uint32_t event_count);
size_t ttp_time_static_encode_bound(uint32_t event_count);

/* Encodes all events of `in` (delta and wide are read only) into `out`. TTAPE_E_LIMIT: this form
 * would take more than 4.1 bytes an event, store raw varints instead. TTAPE_E_ARGUMENT:
 * workspace or out are smaller than asked for above. No event makes no bytes. */
ttape_status ttp_time_static_encode(const struct ttp_times *in, struct ttp_workspace workspace,
                                    struct ttp_buffer *out, ttape_error *err);

size_t ttp_time_static_decode_workspace(uint32_t event_count, uint32_t symbol_count);

/* Fills io->delta for the events of the blocks first_block .. first_block + block_count - 1 (all
 * of them: 0, UINT32_MAX), io->wide with the wide values of just these blocks, in order, and
 * io->wide_count. `codes`, `segment_start` and the counts are read; codes must be below 2^31.
 * Any `data` is safe; TTAPE_E_CORRUPT or TTAPE_E_TRUNCATED name the rule and the offset in
 * `data`; TTAPE_E_LIMIT: the codes were made to be slow to look up. What a failed call has
 * written to delta and wide is meaningless. */
ttape_status ttp_time_static_decode(struct ttp_times *io, uint32_t first_block,
                                    uint32_t block_count, struct ttp_bytes data,
                                    struct ttp_workspace workspace, ttape_error *err);

/* The same in two steps, for who comes back for other blocks: what open makes of codes and model
 * stays in the workspace, and data and io->codes stay where they are as long as blocks are asked
 * for. After a failure of open nothing can be asked for. */
ttape_status ttp_time_static_open(struct ttp_times *io, struct ttp_bytes data,
                                  struct ttp_workspace workspace, ttape_error *err);
ttape_status ttp_time_static_blocks(struct ttp_times *io, uint32_t first_block,
                                    uint32_t block_count, void *workspace, ttape_error *err);

/* The same on a thread of its own, while others ask for other blocks: it only reads the workspace.
 * `scratch` has ttp_time_static_scratch_bytes(), `io` gets the wide values of these blocks alone.
 * Not for the form of few events (TTAPE_E_ARGUMENT). */
ttape_status ttp_time_static_blocks_beside(struct ttp_times *io, uint32_t first_block,
                                           uint32_t block_count, const void *workspace,
                                           uint8_t *scratch, ttape_error *err);
size_t ttp_time_static_scratch_bytes(void);

uint32_t ttp_time_static_block_count(uint32_t event_count);

/* Reads the directory only: ticks[b] are the ticks from the base time of the segment that block b's
 * first event belongs to, to the event before that event in its segment (0 if it is the segment's
 * first). `ticks` has ttp_time_static_block_count entries. Needs no codes and no workspace. */
ttape_status ttp_time_static_directory(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                                       size_t size_bytes, ttape_error *err);

/* ---- numbers on disk ---- */

#define TTP_STA_FORM_TINY       1u
#define TTP_STA_FORM_TABLES     2u
#define TTP_STA_TINY_EVENTS_MAX 8192u
#define TTP_STA_TINY_EVENTS_MIN 512u  /* up to here the encoder tries nothing else */
#define TTP_STA_FLAG_WIDE       0x80u /* the directory has a column of wide sizes */
#define TTP_STA_RULE_LOG        0u    /* machine state from log residuals: fine clocks */
#define TTP_STA_RULE_PHASE      1u    /* machine state from the clock's phase: coarse clocks */
#define TTP_STA_MIX_MAX         3u
#define TTP_STA_ORDER_MAX       8u
#define TTP_STA_NODES_MAX       65535u
#define TTP_STA_CONTEXTS_MAX    8192u
#define TTP_STA_CODE_EVENTS     4u    /* how often a code, */
#define TTP_STA_EDGE_EVENTS     8u    /* an edge, */
#define TTP_STA_HISTORY_EVENTS  64u   /* a longer history must occur to be a context: so often, */
#define TTP_STA_HISTORY_GROWTH  4096u /* and once more per so many events of the partition, */
#define TTP_STA_HISTORY_MOST    256u  /* but no more often than this is asked for */
#define TTP_STA_TABLES_MAX      64u
#define TTP_STA_STATES_LOG      8u
#define TTP_STA_STATES_PHASE    16u
#define TTP_STA_STATES_MAX      16u
#define TTP_STA_SYMBOLS         246u
#define TTP_STA_PROB_BITS       12u
#define TTP_STA_PROB_ONE        4096u
#define TTP_STA_LEVEL_MAX       49u /* quantised probability: 0 never, else 2^((level - 1) / 4) */
#define TTP_STA_RANS_LOW        32768u
#define TTP_STA_LOG_OCTAVE      32u  /* steps of ttp_sta_scale per octave, log rule */
#define TTP_STA_TICK            128u /* steps per tick, phase rule */
#define TTP_STA_SCALE_MAX       1023u
#define TTP_STA_STATE_INDEXES   97u
#define TTP_STA_LOG_MEAN        4u  /* steps of the scale that a step of a mean is, log rule */
#define TTP_STA_LOG_CLIP        24u /* residuals are clipped at 3/4 octave */
#define TTP_STA_PHASE_CLIP      96u /* and phases at 3/4 tick */

/* ---- contexts (time_static_contexts.c) ---- */

struct ttp_sta_successor { /* the last code that followed a node, and where it led */
    uint32_t code;
    uint32_t at; /* an event of that code that followed the node */
    uint16_t node, from;
};

/* The context automaton: a trie of code histories with suffix links. Node 0 is the empty history;
 * every other node is (parent's history, code). */
struct ttp_sta_contexts {
    uint32_t node_limit, node_count, order;
    uint32_t context_count;
    uint64_t probes; /* of the hash table; too many, and the codes are hostile: */
    bool exhausted;  /* the run was given up, nothing else is valid */
    unsigned hash_bits;
    struct ttp_sta_successor *successor;
    uint32_t *code, *count; /* count: events whose history ends in the node's */
    uint16_t *parent, *suffix, *hash;
    uint8_t *depth;
    uint16_t *context; /* of an event at the node: its context's number */
    /* per context */
    uint16_t *node;     /* the node that the context is */
    uint16_t *mean_of;  /* the first context that has the same mean: their rows and means agree */
    uint16_t *row_like; /* the context whose row predicts this row, or itself */
    uint32_t *info;     /* per node, what an event there needs: first slot and mean */
};

size_t ttp_sta_contexts_bytes(uint32_t event_count);
void ttp_sta_contexts_init(struct ttp_sta_contexts *c, uint32_t event_count, uint8_t *memory);

/* Runs the automaton over all codes; node_of[i] is event i's node. Returns false when it ran
 * full. */
bool ttp_sta_contexts_run(struct ttp_sta_contexts *c, const struct ttp_times *times, uint32_t order,
                          uint16_t *node_of);

/* Picks the contexts by count; after this context[] and the per-context arrays are valid. */
void ttp_sta_contexts_pick(struct ttp_sta_contexts *c);

/* With the model's means known: fills info[]. A mean is given in steps of the rule's scale. */
void ttp_sta_contexts_resolve(struct ttp_sta_contexts *c, uint32_t rule, uint32_t states,
                              const uint16_t *mean);

#define TTP_STA_INFO_SHIFT 10u /* a mean is at most TTP_STA_SCALE_MAX */
#define TTP_STA_INFO_MEAN  TTP_STA_SCALE_MAX

/* ---- the model: states, tables, map, means (time_static_tables.c) ---- */

struct ttp_sta_model {
    uint32_t rule, mix, states, table_count;
    uint8_t (*level)[TTP_STA_SYMBOLS];       /* table_count quantised tables */
    uint8_t *map;                            /* context_count * states */
    uint16_t *mean;                          /* context_count */
    uint16_t scale[TTP_STA_SYMBOLS];         /* a symbol's size as the rule measures it */
    uint8_t state_of[TTP_STA_STATE_INDEXES]; /* state by index */
};

void ttp_sta_model_init(struct ttp_sta_model *m, uint32_t rule, uint32_t mix);

/* How an encoder levels the counts of a table; not all of them are 0. */
void ttp_sta_quantise(const uint32_t *count, uint8_t *level);

/* The counts of a table, which add up to TTP_STA_PROB_ONE. `level` must have a nonzero entry. */
void ttp_sta_frequencies(const uint8_t *level, uint16_t *frequency);

/* The mean of a table as the rule measures it, from its levels: predicts a context's mean. */
uint32_t ttp_sta_table_mean(const struct ttp_sta_model *m, const uint8_t *level);

struct ttp_sta_model_coder {
    struct ttp_encoder *encoder; /* NULL while decoding */
    struct ttp_decoder *decoder;
    struct ttp_prob tree[TTP_STA_TABLES_MAX + 1][TTP_STA_TABLES_MAX];
    struct ttp_prob same[6];
    struct ttp_prob zero[8], sign[3], size[3][16];
    struct ttp_number_model last, mean;
    uint32_t table_mean[TTP_STA_TABLES_MAX];
};

/* Writes the model, or reads it: one function, so that both agree. Reading, `level`, `map` and
 * `mean` are filled; false: not a model. */
bool ttp_sta_model_code(struct ttp_sta_model_coder *coder, struct ttp_sta_model *m,
                        const struct ttp_sta_contexts *c);

/* T-STA-42, T-STA-43: the machine state, one step per event. `level` is the log rule's running
 * mean of residuals (1/256 of a step of the scale), or the phase; `last` the last residual. Both
 * are kept from going negative, so that shifts mean the same everywhere. */
struct ttp_sta_state {
    uint32_t level, last;
};

static inline struct ttp_sta_state ttp_sta_state_start(uint32_t rule)
{
    if (rule == TTP_STA_RULE_PHASE)
        return (struct ttp_sta_state){TTP_STA_PHASE_CLIP, 0};
    return (struct ttp_sta_state){TTP_STA_LOG_CLIP << 8, TTP_STA_LOG_CLIP};
}

static inline uint32_t ttp_sta_state_index(struct ttp_sta_state s, uint32_t rule, uint32_t mix)
{
    if (rule == TTP_STA_RULE_PHASE)
        return s.level >> 1;
    return ((4 - mix) * s.level + mix * (s.last << 8)) >> 9;
}

static inline uint32_t ttp_sta_clamp(int32_t value, uint32_t most)
{
    return value < 0 ? 0 : (uint32_t)value > most ? most : (uint32_t)value;
}

/* `mean` as info[] has it. */
static inline struct ttp_sta_state ttp_sta_state_step(struct ttp_sta_state s, uint32_t rule,
                                                      uint32_t mean, uint32_t scale)
{
    if (rule == TTP_STA_RULE_PHASE) {
        s.level = ttp_sta_clamp((int32_t)(s.level + mean) - (int32_t)scale, 2 * TTP_STA_PHASE_CLIP);
        return s;
    }
    s.last =
        ttp_sta_clamp((int32_t)(scale + TTP_STA_LOG_CLIP) - (int32_t)mean, 2 * TTP_STA_LOG_CLIP);
    s.level += (s.last << 5) - (s.level >> 3);
    return s;
}

/* 256 * log2(x), within 2: for decisions of the encoder. x >= 1. */
uint32_t ttp_sta_log256(uint64_t x);

/* ---- clustering (time_static_cluster.c, encoder only) ---- */

/* Which table each slot (context, state) uses. `symbols` is a buffer of 2 * event_count bytes whose
 * upper half holds the events' symbols sorted by slot; it is used up. */
struct ttp_sta_clusters {
    const struct ttp_sta_contexts *contexts;
    uint32_t states, table_count;
    const uint32_t *slot_start; /* slots + 1 entries */
    uint32_t *pair_start;       /* slots + 1 entries of room */
    uint32_t *order;            /* slots entries of room */
    uint8_t *symbols;
    uint8_t *map; /* result, one entry a slot */
    uint32_t count[TTP_STA_TABLES_MAX][TTP_STA_SYMBOLS];
    uint16_t cost[TTP_STA_SYMBOLS][TTP_STA_TABLES_MAX];
};

void ttp_sta_clusters_find(struct ttp_sta_clusters *k);

/* ---- few events (time_static_tiny.c) ---- */

size_t ttp_sta_tiny_workspace(void);
/* Returns the size, or 0 when it does not fit. event_count <= TTP_STA_TINY_EVENTS_MAX. */
size_t ttp_sta_tiny_encode(const struct ttp_times *in, void *workspace, uint8_t *out,
                           size_t out_bytes);
/* False: not such a stream. Fills delta, wide, wide_count. */
bool ttp_sta_tiny_decode(struct ttp_times *io, void *workspace, const uint8_t *data,
                         size_t size_bytes);

#endif
