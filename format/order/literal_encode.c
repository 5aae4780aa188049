/* How chains come from records:
 *
 *   1. Count every event's immediate successors: the sequence-frequency records.
 *   2. Of the successors that reach the threshold, most frequent first, join event and successor to
 * a chain (each event takes one part in a pass), and put the chain where the two stood.
 *   3. A chain is an event of its own from now on: again from 1, until no successor reaches the
 * threshold.
 *
 * What is left of the sequence is the data section: one pointer for every chain and every lone
 * event in it. A chain that stands alone only now and then is not stored again where it is part of
 * a longer one: a pointer to its position there, and bits that leave the chain in time, say the
 * same.
 *
 * The threshold is high on purpose. The compressor behind us finds repeats by itself; a chain pays
 * when its successors are nearly certain, and costs when it only sometimes applies, because one
 * stretch of events then has several spellings. Figures:
 * spec/decisions/0013-literal-order-coder.md. */
#include "format/order/literal.h"

#include "format/base/fail.h"
#include "format/order/literal_pairs.h"
#include "format/order/raw_order.h"

#define SEGMENT_FIRST  (UINT32_C(1) << 31) /* on a token: nothing may be joined over this edge */
#define LENGTH_MAX     128u                /* events of a chain: longer ones measured no better */
#define PASSES_MAX     64u                 /* real programs need 8 to 25 */
#define RULES_MAX      (TTP_LITERAL_POSITIONS_MAX / 2)
#define PAIR_SLOTS_MAX (UINT32_C(1) << 17)
#define PAIR_SLOTS_MIN 256u
#define FREE_SYMBOLS   65536u /* this many are always encoded */
#define OWN_CHAIN_USES                                                                             \
    128u /* used this often alone, a part of a longer chain is stored by itself too */
#define MIN_REPEATS       32u /* fewer rounds are left to the compressor, which is better at them */
#define DEFAULT_DIVISOR   1024u
#define DEFAULT_MIN_COUNT 8u
#define DEFAULT_SHARE     900u
#define NOBODY            UINT32_MAX

/* Two tokens that were joined. A token below `alphabet` is an event, the others are rules in order
 * of making. */
struct rule {
    uint32_t left, right, length;
    uint32_t parent;   /* the rule in whose chain this one's events can be pointed to, or NOBODY */
    uint32_t position; /* of its first event, once it has one */
    uint8_t own_chain, is_end; /* stored by itself; its last event is the last of a chain */
};

struct work {
    uint32_t *tokens, *uses,
        *joined;       /* joined[t]: 1 + the rule that begins with t in this pass, or 0 */
    uint8_t *is_right; /* t is the second of a rule in this pass */
    struct ttp_literal_pairs records;
    struct rule *rules;
    uint32_t token_count, alphabet, rule_count, rule_max, positions;
    uint32_t min_count, min_share;
};

static uint32_t pair_slots(uint32_t event_count)
{
    uint32_t slots = PAIR_SLOTS_MIN;

    while (slots < PAIR_SLOTS_MAX && slots < (uint64_t)event_count * 2)
        slots *= 2;
    return slots;
}

static uint32_t rule_max(uint32_t event_count)
{
    return event_count / 2 < RULES_MAX ? event_count / 2 : RULES_MAX;
}

static uint32_t symbol_max(uint32_t event_count)
{
    return event_count / 4 > FREE_SYMBOLS ? event_count / 4 : FREE_SYMBOLS;
}

size_t ttp_literal_encode_workspace(uint32_t event_count, uint32_t symbol_count)
{
    uint32_t symbols =
        symbol_count < symbol_max(event_count) ? symbol_count : symbol_max(event_count);
    size_t rules = rule_max(event_count), kinds = (size_t)symbols * 2 + rules;

    return (size_t)event_count * sizeof(uint32_t) + kinds * (2 * sizeof(uint32_t) + 1) +
           pair_slots(event_count) * sizeof(struct ttp_literal_pair) + rules * sizeof(struct rule) +
           sizeof(uint64_t);
}

static void work_init(struct work *w, const struct ttp_order *in,
                      const struct ttp_literal_options *opt, void *ws)
{
    uint32_t events = in->event_count;
    uint8_t *at = ws;

    memset(w, 0, sizeof *w);
    at += (0 - (uintptr_t)at) % sizeof(uint64_t);
    w->rule_max = rule_max(events);
    w->alphabet = in->symbol_count * 2;
    size_t kinds = (size_t)w->alphabet + w->rule_max;
    w->tokens = (uint32_t *)(void *)at;
    w->uses = w->tokens + events;
    w->joined = w->uses + kinds;
    uint32_t slots = pair_slots(events);
    struct ttp_literal_pair *pairs = (struct ttp_literal_pair *)(void *)(w->joined + kinds);
    w->records = (struct ttp_literal_pairs){pairs, slots, 0, in->hash_key | 1};
    w->rules = (struct rule *)(void *)(pairs + slots);
    w->is_right = (uint8_t *)(w->rules + w->rule_max);
    w->min_count = opt != NULL ? opt->min_count : 0;
    w->min_share = opt != NULL ? opt->min_share_permille : 0;
    if (w->min_count == 0) {
        w->min_count = events / DEFAULT_DIVISOR;
        if (w->min_count < DEFAULT_MIN_COUNT)
            w->min_count = DEFAULT_MIN_COUNT;
    }
    if (w->min_count < 2)
        w->min_count = 2;
    if (w->min_share == 0)
        w->min_share = DEFAULT_SHARE;
    if (w->min_share > 1000)
        w->min_share = 1000;
}

static void tokens_init(struct work *w, const struct ttp_order *in)
{
    memset(w->uses, 0, ((size_t)w->alphabet + w->rule_max) * sizeof *w->uses);
    for (uint32_t i = 0; i < in->event_count; i++) {
        w->tokens[i] = in->codes[i];
        w->uses[in->codes[i]]++;
    }
    w->token_count = in->event_count;
    for (uint32_t s = 0; s < in->segment_count; s++)
        if (in->segment_start[s] < in->segment_start[s + 1])
            w->tokens[in->segment_start[s]] |= SEGMENT_FIRST;
}

static uint32_t token_length(const struct work *w, uint32_t token)
{
    return token < w->alphabet ? 1 : w->rules[token - w->alphabet].length;
}

/* Counts who follows whom. Tokens below the threshold cannot have a successor above it. An event
 * that follows itself is left to the repeat count. */
static void count_records(struct work *w)
{
    ttp_literal_pairs_start(&w->records);
    if (w->token_count == 0)
        return;
    uint32_t left = w->tokens[0] & ~SEGMENT_FIRST;
    for (uint32_t i = 1; i < w->token_count; i++) {
        uint32_t right = w->tokens[i], before = left;
        left = right & ~SEGMENT_FIRST;
        if (right != left || right == before || w->uses[before] < w->min_count ||
            w->uses[right] < w->min_count)
            continue;
        ttp_literal_pair_count(&w->records, before, right);
    }
}

/* Most frequent first; numbers decide between equals, so that the order is total. */
static bool pair_before(const struct ttp_literal_pair *a, const struct ttp_literal_pair *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

static void sift(struct ttp_literal_pair *pairs, uint32_t root, uint32_t count)
{
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && pair_before(&pairs[child], &pairs[child + 1]))
            child++;
        if (!pair_before(&pairs[root], &pairs[child]))
            return;
        struct ttp_literal_pair swap = pairs[root];
        pairs[root] = pairs[child];
        pairs[child] = swap;
    }
}

/* Heapsort: qsort of some C libraries allocates. */
static void pairs_sort(struct ttp_literal_pair *pairs, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sift(pairs, i, count);
    for (uint32_t i = count; i-- > 1;) {
        struct ttp_literal_pair swap = pairs[0];
        pairs[0] = pairs[i];
        pairs[i] = swap;
        sift(pairs, 0, i);
    }
}

/* Moves the lines that reach the threshold to the front, most frequent first; returns how many. */
static uint32_t keep_frequent(struct work *w)
{
    struct ttp_literal_pair *pairs = w->records.pairs;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < w->records.slot_count; i++) {
        struct ttp_literal_pair p = pairs[i];
        if (p.count >= w->min_count &&
            (uint64_t)p.count * 1000 >= (uint64_t)w->uses[p.left] * w->min_share)
            pairs[kept++] = p;
    }
    pairs_sort(pairs, kept);
    return kept;
}

/* Makes a rule of each kept line whose two tokens have no part in another one of this pass. */
static uint32_t make_rules(struct work *w, uint32_t kept)
{
    size_t kinds = (size_t)w->alphabet + w->rule_count;
    uint32_t before = w->rule_count;

    memset(w->joined, 0, kinds * sizeof *w->joined);
    memset(w->is_right, 0, kinds);
    for (uint32_t i = 0; i < kept && w->rule_count < w->rule_max; i++) {
        struct ttp_literal_pair p = w->records.pairs[i];
        uint32_t length = token_length(w, p.left) + token_length(w, p.right);
        if (w->joined[p.left] || w->is_right[p.left] || w->joined[p.right] ||
            w->is_right[p.right] || length > LENGTH_MAX ||
            length > TTP_LITERAL_POSITIONS_MAX - w->positions)
            continue;
        w->rules[w->rule_count++] =
            (struct rule){.left = p.left, .right = p.right, .length = length, .parent = NOBODY};
        w->joined[p.left] = w->rule_count;
        w->is_right[p.right] = 1;
        w->positions += length;
    }
    return w->rule_count - before;
}

static void join_tokens(struct work *w)
{
    uint32_t to = 0;

    for (uint32_t i = 0; i < w->token_count; i++) {
        uint32_t token = w->tokens[i] & ~SEGMENT_FIRST, edge = w->tokens[i] & SEGMENT_FIRST;
        uint32_t rule = w->joined[token];
        if (rule != 0 && i + 1 < w->token_count && w->tokens[i + 1] == w->rules[rule - 1].right) {
            w->uses[token]--;
            w->uses[w->tokens[++i]]--;
            token = w->alphabet + rule - 1;
            w->uses[token]++;
        }
        w->tokens[to++] = token | edge;
    }
    w->token_count = to;
}

/* Says of a rule's two halves that their events can be pointed to in its chain. */
static void lend_halves(struct work *w, uint32_t rule)
{
    const uint32_t half[2] = {w->rules[rule].left, w->rules[rule].right};

    for (unsigned i = 0; i < 2; i++)
        if (half[i] >= w->alphabet && w->rules[half[i] - w->alphabet].parent == NOBODY)
            w->rules[half[i] - w->alphabet].parent = rule;
}

/* Decides which rules are stored, gives positions to all that are used, and leaves the stored ones
 * in `pairs`, most used first so that their pointers are the shortest. Returns how many;
 * w->positions becomes exact. */
static uint32_t place_chains(struct work *w)
{
    uint32_t stored = 0, position = 0;

    for (uint32_t r = w->rule_count; r-- > 0;) {
        uint32_t uses = w->uses[w->alphabet + r];
        struct rule *rule = &w->rules[r];
        rule->own_chain = uses > 0 && (rule->parent == NOBODY || uses > OWN_CHAIN_USES);
        if (rule->own_chain)
            w->records.pairs[stored++] = (struct ttp_literal_pair){.left = r, .count = uses};
        if (rule->own_chain || rule->parent != NOBODY)
            lend_halves(w, r);
    }
    pairs_sort(w->records.pairs, stored);
    for (uint32_t i = 0; i < stored; i++) {
        struct rule *rule = &w->rules[w->records.pairs[i].left];
        rule->position = position;
        rule->is_end = 1;
        position += rule->length;
    }
    for (uint32_t r = w->rule_count; r-- > 0;) {
        struct rule *rule = &w->rules[r];
        if (rule->own_chain || rule->parent == NOBODY)
            continue;
        const struct rule *parent = &w->rules[rule->parent];
        bool is_right = parent->right == w->alphabet + r;
        rule->position = parent->position + (is_right ? token_length(w, parent->left) : 0);
        rule->is_end = is_right && parent->is_end;
    }
    w->positions = position;
    return stored;
}

/* Base, then deltas. A rule of LENGTH_MAX events is at most that deep, and so is the stack. */
static void chain_write(struct ttp_writer_cursor *to, const struct work *w, uint32_t rule)
{
    uint32_t stack[LENGTH_MAX], depth = 0, token = w->alphabet + rule;
    int64_t last = -1;

    for (;;) {
        while (token >= w->alphabet) {
            stack[depth++] = w->rules[token - w->alphabet].right;
            token = w->rules[token - w->alphabet].left;
        }
        if (last < 0)
            ttp_write_varint(to, token);
        else
            ttp_write_svarint(to, (int64_t)token - last);
        last = token;
        if (depth == 0)
            return;
        token = stack[--depth];
    }
}

static void header_write(struct ttp_writer_cursor *to, const struct work *w,
                         const struct ttp_order *in, uint32_t stored)
{
    ttp_symbols_write(to, in);
    ttp_write_varint(to, stored);
    for (uint32_t i = 0; i < stored; i++)
        ttp_write_varint(to, w->rules[w->records.pairs[i].left].length);
    for (uint32_t i = 0; i < stored; i++)
        chain_write(to, w, w->records.pairs[i].left);
}

/* A pointer, and bits for `successors` more events. `to_end`: they are the rest of the chain, once.
 */
static inline void record_write(struct ttp_writer_cursor *to, uint32_t position,
                                uint64_t successors, bool to_end)
{
    ttp_write_varint(to, (uint64_t)position << 1 | to_end);
    if (to_end)
        return;
    if (successors < TTP_LITERAL_ESCAPE_COUNT) {
        ttp_write8(to, (uint8_t)(0xff00u >> successors));
    } else {
        ttp_write8(to, TTP_LITERAL_ESCAPE);
        ttp_write_varint(to, successors - TTP_LITERAL_ESCAPE_COUNT);
    }
}

static void data_write(struct ttp_writer_cursor *to, const struct work *w)
{
    for (uint32_t i = 0, rounds; i < w->token_count && !to->full; i += rounds) {
        uint32_t token = w->tokens[i] & ~SEGMENT_FIRST;
        bool lone = token < w->alphabet;
        const struct rule *rule = lone ? NULL : &w->rules[token - w->alphabet];
        uint32_t position = lone ? w->positions + token : rule->position;
        uint32_t length = lone ? 1 : rule->length;
        for (rounds = 1; i + rounds < w->token_count && w->tokens[i + rounds] == token;)
            rounds++;
        /* A chain within a longer one cannot be followed round by itself. */
        if (rounds < MIN_REPEATS || (!lone && !rule->own_chain))
            rounds = 1;
        record_write(to, position, (uint64_t)length * rounds - 1,
                     rounds == 1 && (lone || rule->is_end));
    }
}

ttape_status ttp_literal_encode(const struct ttp_order *in, const struct ttp_literal_options *opt,
                                struct ttp_workspace ws, struct ttp_buffer *header,
                                struct ttp_buffer *data, ttape_error *err)
{
    struct ttp_writer_cursor head = ttp_writer_cursor_init(header->data, header->capacity);
    struct ttp_writer_cursor to = ttp_writer_cursor_init(data->data, data->capacity);
    struct work w;

    if (ws.size < ttp_literal_encode_workspace(in->event_count, in->symbol_count))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "workspace too small for the literal form of order");
    if (in->symbol_count > symbol_max(in->event_count) ||
        in->symbol_count > (SEGMENT_FIRST - RULES_MAX) / 2)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "literal form does not pay: %u symbols", in->symbol_count);
    work_init(&w, in, opt, ws.memory);
    tokens_init(&w, in);
    for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
        count_records(&w);
        if (make_rules(&w, keep_frequent(&w)) == 0)
            break;
        join_tokens(&w);
    }
    header_write(&head, &w, in, place_chains(&w));
    data_write(&to, &w);
    if (head.full || to.full)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "literal form does not pay: over its capacity");
    header->size = ttp_written(&head);
    data->size = ttp_written(&to);
    return TTAPE_OK;
}
