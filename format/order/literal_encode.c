/* How chains come from records:
 *
 *   1. Count every event's immediate successors: the sequence-frequency records.
 *   2. Of the successors that reach the threshold, most frequent first, join event and successor to
 * a chain (each event takes one part in a pass), and put the chain where the two stood.
 *   3. A chain is an event of its own from now on: again from 1, until a pass joins few. All
 * passes together look at sixteen times as many tokens as there are events at most.
 *
 * No table of pairs: of an event's successors only one can have most of its occurrences. A vote
 * finds it, while the pass before writes its tokens, and a second look counts it.
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
#include "format/order/raw_order.h"

#define SEGMENT_FIRST (UINT32_C(1) << 31) /* on a token: nothing may be joined over this edge */
#define LENGTH_MAX    128u                /* events of a chain: longer ones measured no better */
#define PASSES_MAX    64u                 /* real programs need 5 to 20 */
#define LEAST_JOINED  16u                 /* a pass that joins one token in more is the last */
#define RULES_MAX     (TTP_LITERAL_POSITIONS_MAX / 2)
#define FREE_SYMBOLS  65536u /* this many are always encoded */
#define OWN_CHAIN_USES                                                                             \
    128u /* used this often alone, a part of a longer chain is stored by itself too */
#define MIN_REPEATS       32u /* fewer rounds are left to the compressor, which is better at them */
#define DEFAULT_DIVISOR   1024u
#define DEFAULT_MIN_COUNT 8u
#define DEFAULT_SHARE     900u
#define LEAST_SHARE       501u /* so that an event has one successor that reaches it at most */
#define NOBODY            UINT32_MAX
#define SECOND            UINT32_MAX

/* Two tokens that were joined. A token below `alphabet` is an event, the others are rules in order
 * of making. */
struct rule {
    uint32_t left, right, length;
    uint32_t parent;   /* the rule in whose chain this one's events can be pointed to, or NOBODY */
    uint32_t position; /* of its first event, once it has one */
    uint8_t own_chain, is_end; /* stored by itself; its last event is the last of a chain */
};

/* What is known of a token while chains are made. */
struct kind {
    uint32_t uses;
    uint32_t successor, count; /* its record: the only successor that can have most of its uses */
    uint32_t part; /* in this pass: 1 + the rule that begins with it, SECOND of another one, or 0 */
};

struct line {
    uint32_t token, count;
};

struct work {
    uint32_t *tokens;
    struct kind *kinds;
    struct line *lines;
    struct rule *rules;
    uint32_t token_count, alphabet, rule_count, rule_max, positions;
    uint32_t min_count, min_share;
};

static uint32_t rule_max(uint32_t event_count)
{
    return event_count / 2 < RULES_MAX ? event_count / 2 : RULES_MAX;
}

static uint32_t symbol_max(uint32_t event_count)
{
    return event_count / 4 > FREE_SYMBOLS ? event_count / 4 : FREE_SYMBOLS;
}

/* Records that are kept, one of a kind at most, whose successor came twice at least; then the rules
 * that are stored. */
static size_t line_max(uint32_t event_count, size_t kinds)
{
    return event_count / 2 < kinds ? event_count / 2 : kinds;
}

size_t ttp_literal_encode_workspace(uint32_t event_count, uint32_t symbol_count)
{
    uint32_t symbols =
        symbol_count < symbol_max(event_count) ? symbol_count : symbol_max(event_count);
    size_t rules = rule_max(event_count), kinds = (size_t)symbols * 2 + rules;

    return (size_t)event_count * sizeof(uint32_t) + kinds * sizeof(struct kind) +
           line_max(event_count, kinds) * sizeof(struct line) + rules * sizeof(struct rule) +
           sizeof(uint64_t);
}

#define POINTER_BYTES 5u /* of (65,536 + 2 * symbols) * 2 as a varint */
#define LENGTH_BYTES  2u /* of a chain's, which is at most LENGTH_MAX */

size_t ttp_literal_header_bound(uint32_t event_count, uint32_t symbol_count)
{
    size_t positions =
        event_count < TTP_LITERAL_POSITIONS_MAX ? event_count : TTP_LITERAL_POSITIONS_MAX;
    return ttp_symbols_bound(symbol_count) + POINTER_BYTES +
           positions * (POINTER_BYTES + LENGTH_BYTES);
}

/* A lone event is a pointer; two and more have the byte of bits, nine and more the count. */
size_t ttp_literal_data_bound(uint32_t event_count)
{
    return (size_t)event_count * POINTER_BYTES + 2 * POINTER_BYTES;
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
    w->kinds = (struct kind *)(void *)(w->tokens + events);
    w->lines = (struct line *)(void *)(w->kinds + kinds);
    w->rules = (struct rule *)(void *)(w->lines + line_max(events, kinds));
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
    if (w->min_share < LEAST_SHARE)
        w->min_share = LEAST_SHARE;
    if (w->min_share > 1000)
        w->min_share = 1000;
}

static uint32_t token_length(const struct work *w, uint32_t token)
{
    return token < w->alphabet ? 1 : w->rules[token - w->alphabet].length;
}

/* The vote of Boyer and Moore: whoever is more than half of those that came after `before` is its
 * candidate in the end. An event that follows itself is left to the repeat count. */
static inline void vote(struct kind *before, uint32_t self, uint32_t right)
{
    if (right == self)
        return;
    if (before->successor == right) {
        before->count++;
    } else if (before->count == 0) {
        before->successor = right;
        before->count = 1;
    } else {
        before->count--;
    }
}

/* A segment's first event has a mark, which no event is followed by. */
static void mark_segments(const struct work *w, const struct ttp_order *in)
{
    for (uint32_t i = 0; i < in->event_count; i++)
        w->tokens[i] = in->codes[i];
    for (uint32_t s = 0; s < in->segment_count; s++)
        if (in->segment_start[s] < in->segment_start[s + 1])
            w->tokens[in->segment_start[s]] |= SEGMENT_FIRST;
}

static void tokens_init(struct work *w, const struct ttp_order *in)
{
    struct kind *kinds = w->kinds;
    uint32_t before = 0;

    memset(kinds, 0, ((size_t)w->alphabet + w->rule_max) * sizeof *kinds);
    mark_segments(w, in);
    w->token_count = in->event_count;
    for (uint32_t i = 0, count = w->token_count; i < count; i++) {
        uint32_t token = w->tokens[i] & ~SEGMENT_FIRST;
        kinds[token].uses++;
        if (token == w->tokens[i])
            vote(&kinds[before], before, token);
        before = token;
    }
}

/* Votes become counts. */
static void count_records(struct work *w)
{
    const uint32_t *tokens = w->tokens;
    struct kind *kinds = w->kinds;

    for (size_t k = 0; k < (size_t)w->alphabet + w->rule_count; k++) {
        kinds[k].successor = kinds[k].count != 0 ? kinds[k].successor : NOBODY;
        kinds[k].count = 0;
    }
    for (uint32_t i = 1, count = w->token_count; i < count; i++) {
        struct kind *before = &kinds[tokens[i - 1] & ~SEGMENT_FIRST];
        before->count += before->successor == tokens[i];
    }
}

/* Most frequent first; numbers decide between equals, so that the order is total. */
static bool line_before(struct line a, struct line b)
{
    return a.count != b.count ? a.count > b.count : a.token < b.token;
}

static void sift(struct line *lines, uint32_t root, uint32_t count)
{
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && line_before(lines[child], lines[child + 1]))
            child++;
        if (!line_before(lines[root], lines[child]))
            return;
        struct line swap = lines[root];
        lines[root] = lines[child];
        lines[child] = swap;
    }
}

/* Heapsort: qsort of some C libraries allocates. */
static void lines_sort(struct line *lines, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sift(lines, i, count);
    for (uint32_t i = count; i-- > 1;) {
        struct line swap = lines[0];
        lines[0] = lines[i];
        lines[i] = swap;
        sift(lines, 0, i);
    }
}

/* The lines that reach the threshold, most frequent first; returns how many. */
static uint32_t keep_frequent(struct work *w)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < w->alphabet + w->rule_count; k++) {
        const struct kind *kind = &w->kinds[k];
        if (kind->count >= w->min_count &&
            (uint64_t)kind->count * 1000 >= (uint64_t)kind->uses * w->min_share)
            w->lines[kept++] = (struct line){k, kind->count};
    }
    lines_sort(w->lines, kept);
    return kept;
}

/* Makes a rule of each kept line whose two tokens have no part in another one of this pass. */
static uint32_t make_rules(struct work *w, uint32_t kept)
{
    size_t kinds = (size_t)w->alphabet + w->rule_count;
    uint32_t before = w->rule_count;

    for (size_t k = 0; k < kinds; k++)
        w->kinds[k].part = 0;
    for (uint32_t i = 0; i < kept && w->rule_count < w->rule_max; i++) {
        uint32_t left = w->lines[i].token, right = w->kinds[left].successor;
        struct kind *first = &w->kinds[left], *second = &w->kinds[right];
        uint32_t length = token_length(w, left) + token_length(w, right);
        if (first->part || second->part || length > LENGTH_MAX ||
            length > TTP_LITERAL_POSITIONS_MAX - w->positions)
            continue;
        w->rules[w->rule_count++] =
            (struct rule){.left = left, .right = right, .length = length, .parent = NOBODY};
        first->part = w->rule_count;
        second->part = SECOND;
        w->positions += length;
    }
    for (size_t k = 0; k < kinds; k++)
        w->kinds[k].count = 0;
    return w->rule_count - before;
}

/* Puts rules where their tokens stood, and votes on what is next to them now. Returns how many
 * tokens that took away. */
static uint32_t join_tokens(struct work *w)
{
    uint32_t *tokens = w->tokens, count = w->token_count, rules = w->rule_count, to = 0;
    uint32_t before = 0;
    struct kind *kinds = w->kinds;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t token = tokens[i] & ~SEGMENT_FIRST, edge = tokens[i] & SEGMENT_FIRST;
        uint32_t rule = kinds[token].part - 1; /* 0, SECOND: behind all rules */
        if (rule < rules && i + 1 < count && tokens[i + 1] == w->rules[rule].right) {
            kinds[token].uses--;
            kinds[tokens[++i]].uses--;
            token = w->alphabet + rule;
            kinds[token].uses++;
        }
        if (edge == 0)
            vote(&kinds[before], before, token);
        before = token;
        tokens[to++] = token | edge;
    }
    w->token_count = to;
    return count - to;
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
 * in `lines`, most used first so that their pointers are the shortest. Returns how many;
 * w->positions becomes exact. */
static uint32_t place_chains(struct work *w)
{
    uint32_t stored = 0, position = 0;

    for (uint32_t r = w->rule_count; r-- > 0;) {
        uint32_t uses = w->kinds[w->alphabet + r].uses;
        struct rule *rule = &w->rules[r];
        rule->own_chain = uses > 0 && (rule->parent == NOBODY || uses > OWN_CHAIN_USES);
        if (rule->own_chain)
            w->lines[stored++] = (struct line){r, uses};
        if (rule->own_chain || rule->parent != NOBODY)
            lend_halves(w, r);
    }
    lines_sort(w->lines, stored);
    for (uint32_t i = 0; i < stored; i++) {
        struct rule *rule = &w->rules[w->lines[i].token];
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
        ttp_write_varint(to, w->rules[w->lines[i].token].length);
    for (uint32_t i = 0; i < stored; i++)
        chain_write(to, w, w->lines[i].token);
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
        uint32_t tokens = w.token_count;
        if (make_rules(&w, keep_frequent(&w)) == 0 || join_tokens(&w) < tokens / LEAST_JOINED)
            break;
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
