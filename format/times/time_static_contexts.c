/* The contexts of the static time form: which events are predicted together.
 *
 * A trie of code histories, grown while the codes go by; the suffix link of a node is the same
 * history without its oldest code, so a node's count is the sum over the nodes that link to it,
 * and one lookup per event counts all orders at once. Programs repeat themselves: the successor
 * seen last at a node is nearly always the next one too, and then a step is one load and one
 * compare. */
#include "format/times/time_static.h"

#include <string.h>

#define NO_CODE UINT32_MAX
#define PIECE   2u /* events that are compared at once */

/* Codes can be made to fall on one spot of the hash table, and a decoder would look for hours.
 * True ones stay below 2 probes an event. */
#define PROBES_PER_EVENT 64u

/* T-STA-22: a node becomes a context when its history, of `depth` codes, is this frequent. Long
 * histories must pay for a row of the map; rare ones fall back to shorter ones, at last to the
 * empty one. */
static uint32_t threshold(uint32_t depth, uint32_t event_count)
{
    uint32_t history = TTP_STA_HISTORY_EVENTS + event_count / TTP_STA_HISTORY_GROWTH;
    if (depth > 2)
        return history < TTP_STA_HISTORY_MOST ? history : TTP_STA_HISTORY_MOST;
    return depth == 2 ? TTP_STA_EDGE_EVENTS : depth == 1 ? TTP_STA_CODE_EVENTS : 0;
}

/* T-STA-21 */
static uint32_t node_limit(uint32_t event_count)
{
    uint64_t most = 1 + (uint64_t)event_count * (TTP_STA_ORDER_MAX + 1);
    return most < TTP_STA_NODES_MAX ? (uint32_t)most : TTP_STA_NODES_MAX;
}

static unsigned hash_bits(uint32_t limit)
{
    unsigned bits = 4;
    while ((1u << bits) < 2 * limit)
        bits++;
    return bits;
}

static uint32_t context_limit(uint32_t limit)
{
    return limit < TTP_STA_CONTEXTS_MAX ? limit : TTP_STA_CONTEXTS_MAX;
}

/* All arrays in one piece of memory; with memory NULL it only adds up. */
static size_t carve(struct ttp_sta_contexts *c, uint8_t *memory)
{
    size_t n = c->node_limit, contexts = context_limit(c->node_limit);
    struct ttp_carver from = {memory, 0};
    c->successor = ttp_carve(&from, n, sizeof *c->successor);
    c->code = ttp_carve(&from, n, sizeof *c->code);
    c->count = ttp_carve(&from, n, sizeof *c->count);
    c->info = ttp_carve(&from, n, sizeof *c->info);
    c->parent = ttp_carve(&from, n, sizeof *c->parent);
    c->suffix = ttp_carve(&from, n, sizeof *c->suffix);
    c->context = ttp_carve(&from, n, sizeof *c->context);
    c->hash = ttp_carve(&from, (size_t)1 << c->hash_bits, sizeof *c->hash);
    c->node = ttp_carve(&from, contexts, sizeof *c->node);
    c->mean_of = ttp_carve(&from, contexts, sizeof *c->mean_of);
    c->row_like = ttp_carve(&from, contexts, sizeof *c->row_like);
    c->depth = ttp_carve(&from, n, sizeof *c->depth);
    return from.used;
}

size_t ttp_sta_contexts_bytes(uint32_t event_count)
{
    struct ttp_sta_contexts c = {.node_limit = node_limit(event_count)};
    c.hash_bits = hash_bits(c.node_limit);
    return carve(&c, NULL);
}

void ttp_sta_contexts_init(struct ttp_sta_contexts *c, uint32_t event_count, uint8_t *memory)
{
    memset(c, 0, sizeof(*c));
    c->node_limit = node_limit(event_count);
    c->hash_bits = hash_bits(c->node_limit);
    carve(c, memory);
}

/* The child of node `at` by `code`, or 0 and *slot where it belongs. The table is at most half
 * full. */
static uint32_t find_slot(struct ttp_sta_contexts *c, uint32_t at, uint32_t code, uint32_t *slot)
{
    uint32_t mask = (1u << c->hash_bits) - 1;
    uint32_t h = ((code * 0x9E3779B1u) ^ (at * 0x85EBCA6Bu)) >> (32 - c->hash_bits);
    for (;; h = (h + 1) & mask) {
        uint32_t node = c->hash[h];
        c->probes++;
        if (node == 0 || (c->code[node] == code && c->parent[node] == at)) {
            *slot = h;
            return node;
        }
    }
}

static uint16_t add_node(struct ttp_sta_contexts *c, uint32_t at, uint32_t code, uint32_t suffix)
{
    uint32_t slot, node = c->node_count++;
    find_slot(c, at, code, &slot);
    c->hash[slot] = (uint16_t)node;
    c->code[node] = code;
    c->parent[node] = (uint16_t)at;
    c->suffix[node] = (uint16_t)suffix;
    c->depth[node] = (uint8_t)(c->depth[at] + 1);
    c->count[node] = 0;
    c->successor[node].code = NO_CODE;
    return (uint16_t)node;
}

/* T-STA-20: the node of (history of `at`, code); shorter histories come into being before longer
 * ones. When the trie is full: the longest suffix of it that exists. */
static __attribute__((noinline)) uint32_t step(struct ttp_sta_contexts *c, uint32_t at,
                                               uint32_t code)
{
    uint32_t missing[TTP_STA_ORDER_MAX + 1], count = 0, slot, found;
    for (;;) {
        found = find_slot(c, at, code, &slot);
        if (found != 0)
            break;
        missing[count++] = at;
        if (at == 0)
            break;
        at = c->suffix[at];
    }
    while (count > 0 && c->node_count < c->node_limit)
        found = add_node(c, missing[--count], code, found);
    return found;
}

static void start_contexts(struct ttp_sta_contexts *c, uint32_t order)
{
    memset(c->hash, 0, sizeof(*c->hash) << c->hash_bits);
    c->order = order;
    c->probes = 0;
    c->exhausted = false;
    c->node_count = 1;
    c->code[0] = NO_CODE;
    c->count[0] = 0;
    c->parent[0] = c->suffix[0] = 0;
    c->depth[0] = 0;
    c->successor[0].code = NO_CODE;
}

/* The history that the next code extends: at most `order` codes. */
static inline uint16_t history_of(const struct ttp_sta_contexts *c, uint32_t node)
{
    return c->depth[node] > c->order ? c->suffix[node] : (uint16_t)node;
}

/* A node's children never change: what followed the same history with the same codes went through
 * the same nodes. So the events from `i` on take theirs from those from `before` on, which have
 * nodes already, as long as the codes agree. Returns how many, whole pieces only. */
static inline uint32_t follow_codes(struct ttp_sta_contexts *c, const uint32_t *codes,
                                    uint16_t *node_of, uint32_t before, uint32_t i, uint32_t end)
{
    uint32_t *count = c->count, first = i;
    if (i - before < PIECE)
        return 0;
    for (; end - i >= PIECE; i += PIECE, before += PIECE) {
        uint16_t node[PIECE];
        if (memcmp(codes + before, codes + i, PIECE * sizeof *codes) != 0)
            break;
        memcpy(node, node_of + before, sizeof node);
        memcpy(node_of + i, node, sizeof node);
        for (uint32_t k = 0; k < PIECE; k++)
            count[node[k]]++;
    }
    return i - first;
}

static void run_segment(struct ttp_sta_contexts *c, const uint32_t *codes, uint32_t begin,
                        uint32_t end, uint64_t most_probes, uint16_t *node_of)
{
    uint32_t from = 0;
    for (uint32_t i = begin; i < end; i++) {
        struct ttp_sta_successor *next = &c->successor[from];
        if (__builtin_expect(next->code != codes[i], 0)) {
            uint32_t node = step(c, from, codes[i]);
            if (c->probes > most_probes) {
                c->exhausted = true;
                return;
            }
            next->code = codes[i];
            next->node = (uint16_t)node;
            next->from = history_of(c, node);
            next->at = i;
        } else if (next->at >= begin) { /* what another segment's end is followed by says nothing */
            uint32_t length = follow_codes(c, codes, node_of, next->at, i, end);
            next->at = i;
            if (length != 0) {
                i += length - 1;
                from = history_of(c, node_of[i]);
                continue;
            }
        }
        next->at = i;
        node_of[i] = next->node;
        c->count[next->node]++;
        from = next->from;
    }
}

bool ttp_sta_contexts_run(struct ttp_sta_contexts *c, const struct ttp_times *times, uint32_t order,
                          uint16_t *node_of)
{
    uint64_t most_probes = ((uint64_t)times->event_count + TTP_STA_NODES_MAX) * PROBES_PER_EVENT;
    start_contexts(c, order);
    for (uint32_t s = 0; s < times->segment_count; s++) {
        run_segment(c, times->codes, times->segment_start[s], times->segment_start[s + 1],
                    most_probes, node_of);
        if (c->exhausted)
            return true;
    }
    for (uint32_t node = c->node_count - 1; node > 0; node--)
        c->count[c->suffix[node]] += c->count[node];
    return c->node_count == c->node_limit;
}

/* T-STA-25: whose row of the map resembles that of context x: the next shorter history's, if it
 * is an edge at least; else the first context's with the same edge; else nobody's. */
static uint16_t find_row_like(const struct ttp_sta_contexts *c, uint32_t x)
{
    uint32_t node = c->node[x];
    while (c->depth[node] > 2) {
        node = c->suffix[node];
        uint16_t other = c->context[node];
        if (c->depth[node] >= 2 && other < c->context_count && c->node[other] == node)
            return other;
    }
    return c->mean_of[x];
}

void ttp_sta_contexts_pick(struct ttp_sta_contexts *c)
{
    /* 1. Every node's representative (kept in context[]): itself where frequent, else its suffix's.
     * The successor cache is done: its memory holds what representatives keep for themselves. */
    uint32_t eligible = 0, limit = context_limit(c->node_limit);
    for (uint32_t node = 0; node < c->node_count; node++) {
        bool own = c->count[node] >= threshold(c->depth[node], c->count[0]) && eligible < limit;
        eligible += own;
        c->context[node] = own ? (uint16_t)node : c->context[c->suffix[node]];
        c->successor[node].code = c->count[node];
    }
    /* Events that stop at a node are its count less those of the nodes that link to it. */
    for (uint32_t node = c->node_count - 1; node > 0; node--)
        c->successor[c->suffix[node]].code -= c->count[node];
    for (uint32_t node = c->node_count - 1; node > 0; node--) {
        uint32_t to = c->context[node];
        if (to != node)
            c->successor[to].code += c->successor[node].code;
    }
    /* 2. T-STA-23: contexts are the representatives that events were left for, numbered in node
     * order. */
    c->context_count = 0;
    for (uint32_t node = 0; node < c->node_count; node++) {
        if (c->context[node] != node) {
            c->context[node] = c->context[c->context[node]]; /* a lower node: numbered already */
            continue;
        }
        c->context[node] = (uint16_t)c->context_count;
        if (c->successor[node].code == 0)
            continue;
        c->node[c->context_count++] = (uint16_t)node;
    }
    /* 3. T-STA-24: who shares a mean, and whose row is like whose. successor[].node maps edges
     * to contexts. */
    for (uint32_t node = 0; node < c->node_count; node++)
        c->successor[node].node = UINT16_MAX;
    for (uint32_t x = 0; x < c->context_count; x++) {
        uint32_t edge = c->node[x];
        while (c->depth[edge] > 2)
            edge = c->suffix[edge];
        if (c->successor[edge].node == UINT16_MAX)
            c->successor[edge].node = (uint16_t)x;
        c->mean_of[x] = c->successor[edge].node;
        c->row_like[x] = find_row_like(c, x);
    }
}

void ttp_sta_contexts_resolve(struct ttp_sta_contexts *c, uint32_t rule, uint32_t states,
                              const uint16_t *mean)
{
    const uint32_t unit = rule == TTP_STA_RULE_LOG ? TTP_STA_LOG_MEAN : 1;
    for (uint32_t node = 0; node < c->node_count; node++) {
        uint32_t x =
            c->context[node]; /* no event asks for a node whose context nothing was left for */
        c->info[node] =
            x >= c->context_count ? 0 : (x * states) << TTP_STA_INFO_SHIFT | unit * mean[x];
    }
}
