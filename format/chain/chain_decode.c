/* Decoding writes each event once. A chain that is known is copied from where it stood first; a new
 * one is decoded in place, its definition's levels on an explicit stack.
 *
 *   level 0      the data section; the spine's frames are nodes (function value, node below), one
 *                top per stack
 *   level 1..    definitions in progress
 *
 * Spec: O-FUL-01 streams, O-FUL-02 and O-FUL-03 segments, O-FUL-07 stacks, O-FUL-27 level 0,
 * O-FUL-28 definitions, O-FUL-46 and O-FUL-47 tokens. */
#include "format/chain/chain_decode.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/chain/chain_decoder.h"

static uint32_t level_count(uint32_t event_count)
{
    return event_count / 2 + 2 < TTP_CHAIN_HEIGHT_MAX + 1 ? event_count / 2 + 2
                                                          : TTP_CHAIN_HEIGHT_MAX + 1;
}

/* What is used from the start comes first. Then the bodies of chains and the nodes, of which a
 * partition mostly needs the first few. */
static void place(struct ttp_chain_decoder *d, void *ws, uint32_t event_count,
                  uint32_t symbol_capacity, uint32_t open_count)
{
    struct ttp_chain_sizes sizes = ttp_chain_primed_sizes(event_count, symbol_capacity, d->primer);
    uint32_t stack_bits = ttp_chain_stacks_bits(event_count, open_count);
    struct ttp_carver from = {ws, 0};
    d->levels = ttp_carve(&from, level_count(event_count), sizeof *d->levels);
    d->spans = ttp_carve(&from, sizes.chain_limit, sizeof *d->spans);
    void *stacks = ttp_carve(&from, (size_t)1 << stack_bits, sizeof *d->stacks.entries);
    d->expansions =
        ttp_carve(&from, d->primer != NULL ? TTP_CHAIN_HEIGHT_MAX : 0, sizeof *d->expansions);
    void *model = ttp_carve(&from, 1, ttp_chain_model_bytes(&sizes));
    if (d->counter != NULL)
        d->counter->uses = ttp_carve(&from, sizes.chain_limit, sizeof *d->counter->uses);
    d->dense_bytes = from.used;
    if (d->recorder != NULL) {
        struct ttp_chain_recorder *r = d->recorder;
        r->starts = ttp_carve(&from, (size_t)sizes.chain_limit + 1, sizeof *r->starts);
        r->children = ttp_carve(&from, event_count, sizeof *r->children);
        r->open = ttp_carve(&from, event_count, sizeof *r->open);
    }
    d->nodes = ttp_carve(&from, (size_t)event_count + open_count + 1, sizeof *d->nodes);
    d->ws_bytes = from.used;
    if (ws == NULL)
        return;
    ttp_chain_stacks_init(&d->stacks, stacks, stack_bits, d->out->hash_key);
    d->coder.view = ttp_chain_model_start(model, &sizes, d->primer);
    if (d->recorder != NULL)
        d->recorder->starts[d->primer != NULL ? d->primer->chain_count : 0] = 0;
    for (uint32_t i = 0; d->primer != NULL && i < d->primer->chain_count; i++)
        d->spans[i].start = TTP_CHAIN_NONE;
}

size_t ttp_chain_decoder_bytes(struct ttp_chain_decoder *d, uint32_t event_count,
                               uint32_t symbol_capacity, uint32_t open_count)
{
    place(d, NULL, event_count, symbol_capacity, open_count);
    return d->ws_bytes;
}

size_t ttp_chain_decode_workspace(uint32_t event_count, uint32_t symbol_capacity,
                                  uint32_t open_count, const struct ttp_chain_primer *primer)
{
    struct ttp_chain_decoder d = {.primer = primer};
    return ttp_chain_decoder_bytes(&d, event_count, symbol_capacity, open_count);
}

size_t ttp_chain_decode_dense(uint32_t event_count, uint32_t symbol_capacity, uint32_t open_count,
                              const struct ttp_chain_primer *primer)
{
    struct ttp_chain_decoder d = {.primer = primer};
    (void)ttp_chain_decoder_bytes(&d, event_count, symbol_capacity, open_count);
    return d.dense_bytes;
}

static void stand_on(struct ttp_chain_decoder *d, uint32_t node)
{
    struct ttp_chain_context *x = &d->levels[0].context;
    d->top = node;
    x->frame = d->nodes[node].value;
    x->caller = d->nodes[d->nodes[node].below].value;
}

static void push_value(struct ttp_chain_decoder *d, uint32_t value)
{
    d->nodes[d->node_count] = (struct ttp_chain_node){value, d->top};
    d->top = d->node_count++;
}

static bool start_segment(struct ttp_chain_decoder *d, uint32_t s)
{
    const struct ttp_order_out *out = d->out;
    d->node_count = 1;
    ttp_chain_stacks_start(&d->stacks);
    for (uint32_t i = out->open_start[s]; i < out->open_start[s + 1]; i++) {
        uint32_t *top = ttp_chain_stack_top(&d->stacks, out->open_stack[i]);
        if (top == NULL)
            return false;
        d->top = *top;
        push_value(d, out->open[i] + 1);
        *top = d->top;
    }
    d->stack = out->start_stack[s];
    uint32_t *top = ttp_chain_stack_top(&d->stacks, d->stack);
    if (top == NULL)
        return false;
    d->at = out->segment_start[s];
    d->end = out->segment_start[s + 1];
    d->top = *top;
    ttp_chain_context_init(&d->levels[0].context, d->nodes[d->top].value,
                           d->nodes[d->nodes[d->top].below].value, false);
    return true;
}

static inline void put_code(struct ttp_chain_decoder *d, uint32_t code)
{
    if (d->counter == NULL)
        d->out->codes[d->at] = code;
    d->at++;
}

/* Who writes codes checks them afterwards; who counts does not, so frames must be there. */
static uint32_t below(struct ttp_chain_decoder *d, uint64_t frames, const char *rule)
{
    uint32_t node = d->top;
    uint64_t left = frames;
    for (; left != 0 && node != 0; left--)
        node = d->nodes[node].below;
    if (d->counter != NULL && (left != 0 || frames == 0))
        d->coder.rule = rule;
    return node;
}

static void settle_context(struct ttp_chain_decoder *d, struct ttp_chain_context *x,
                           const struct ttp_chain_lesson *lesson, uint32_t token, uint32_t value)
{
    /* A trusted token has nothing left to learn. */
    if ((lesson->levels | lesson->functions | lesson->chains) != 0)
        ttp_chain_learn_token(&d->coder, lesson, token, value);
    ttp_chain_context_advance(x, token, value);
}

/* The record that the context's next token is looked up in comes while something else is done. */
static inline void fetch_next(const struct ttp_chain_decoder *d, const struct ttp_chain_context *x)
{
    const struct ttp_chain_view *v = &d->coder.view;
    __builtin_prefetch(&v->records[ttp_chain_first_hash(x) >> (32 - v->model->record_bits)]);
}

/* The spine's event of a symbol has its effect on the stacks. */
static void take_symbol(struct ttp_chain_decoder *d, const struct ttp_chain_choice *t)
{
    struct ttp_chain_context *x = &d->levels[0].context;
    struct ttp_symbol s = d->out->symbols[t->value - 1];
    put_code(d, (t->value - 1) << 1);
    if (d->counter != NULL)
        ttp_chain_count_call(d, x->frame, t->value - 1, 1);
    settle_context(d, x, &t->lesson, t->token, t->value);
    if (ttp_class_pushes(s.event_class)) {
        ttp_chain_context_init(x, t->value, x->frame, false);
        push_value(d, t->value);
        return;
    }
    uint32_t node = d->top, *top;
    if (s.event_class == TTP_CLASS_UNWIND) {
        node = below(d, s.argument, "O-CHK-04");
    } else if (s.event_class == TTP_CLASS_EXIT_ACROSS) {
        node = below(d, (uint64_t)s.argument + 1, "O-CHK-05");
    } else if (s.event_class == TTP_CLASS_SWITCH) {
        top = ttp_chain_stack_top(&d->stacks, d->stack);
        if (top != NULL)
            *top = d->top;
        top = ttp_chain_stack_top(&d->stacks, s.argument);
        if (top == NULL) {
            d->coder.rule = "O-FUL-08";
            return;
        }
        node = *top;
        d->stack = s.argument;
    }
    stand_on(d, node);
}

static void take_close(struct ttp_chain_decoder *d, const struct ttp_chain_choice *t)
{
    put_code(d, (d->levels[0].context.frame - 1) << 1 | 1);
    settle_context(d, &d->levels[0].context, &t->lesson, TTP_CHAIN_CLOSE, 0);
    stand_on(d, d->nodes[d->top].below);
}

/* Most chains are short: sixteen codes at once cost less than a loop, where there is room for them.
 */
static void copy_codes(const struct ttp_order_out *out, uint32_t to, uint32_t from, uint32_t length)
{
    enum { BLOCK = 16 };
    if (length > BLOCK || out->event_count - to < BLOCK) {
        memcpy(out->codes + to, out->codes + from, length * sizeof *out->codes);
        return;
    }
    uint32_t block[BLOCK];
    memcpy(block, out->codes + from, sizeof block);
    memcpy(out->codes + to, block, sizeof block);
}

/* Writes out a chain of the primer that has not occurred yet, and so also the chains in it. */
static bool expand(struct ttp_chain_decoder *d, uint32_t chain)
{
    const uint32_t *starts = ttp_chain_primer_starts(d->primer);
    const uint32_t *children = ttp_chain_primer_children(d->primer);
    struct ttp_chain_expansion *base = d->expansions, *x = base;
    *x = (struct ttp_chain_expansion){chain, starts[chain], d->at};
    for (;;) {
        uint32_t code = (uint32_t)d->coder.view.chains[x->chain].symbol << 1;
        bool pushes = ttp_class_pushes(d->out->symbols[code >> 1].event_class);
        if (x->child == starts[x->chain] && x->start == d->at) {
            if (d->at == d->end)
                return false;
            d->out->codes[d->at++] = code;
        }
        if (x->child != starts[x->chain + 1]) {
            uint32_t child = children[x->child++];
            struct ttp_chain_span span = d->spans[child];
            if (span.start == TTP_CHAIN_NONE) {
                *++x = (struct ttp_chain_expansion){child, starts[child], d->at};
                continue;
            }
            if (span.length > d->end - d->at)
                return false;
            copy_codes(d->out, d->at, span.start, span.length);
            d->at += span.length;
            continue;
        }
        if (pushes) {
            if (d->at == d->end)
                return false;
            d->out->codes[d->at++] = code | 1;
        }
        d->spans[x->chain] = (struct ttp_chain_span){x->start, d->at - x->start};
        if (x == base)
            return true;
        x--;
    }
}

/* A definition, or the spine, has one more child. */
static void add_child(struct ttp_chain_decoder *d, struct ttp_chain_level *level, uint32_t chain)
{
    uint32_t height = d->coder.view.chains[chain].height;
    level->height = height > level->height ? height : level->height;
    if (d->recorder != NULL && level != d->levels)
        d->recorder->open[d->recorder->open_count++] = chain;
    if (d->counter == NULL || level != d->levels)
        return;
    d->counter->uses[chain]++;
    ttp_chain_count_call(d, level->context.frame, d->coder.view.chains[chain].symbol, 1);
}

static void take_chain(struct ttp_chain_decoder *d, struct ttp_chain_level *level,
                       const struct ttp_chain_choice *t)
{
    uint32_t chain = t->token - TTP_CHAIN_FIRST;
    struct ttp_chain_span span = d->spans[chain];
    settle_context(d, &level->context, &t->lesson, t->token, t->value);
    fetch_next(d, &level->context);
    if (span.start == TTP_CHAIN_NONE) {
        if (!expand(d, chain)) {
            d->coder.rule = "O-FUL-10";
            return;
        }
    } else if (span.length > d->end - d->at) {
        d->coder.rule = "O-FUL-10";
        return;
    } else {
        if (d->counter == NULL)
            copy_codes(d->out, d->at, span.start, span.length);
        d->at += span.length;
    }
    add_child(d, level, chain);
}

static void record_body(struct ttp_chain_recorder *r, uint32_t chain, uint32_t first_child)
{
    uint32_t count = r->open_count - first_child;
    memcpy(r->children + r->starts[chain], r->open + first_child, count * sizeof *r->open);
    r->starts[chain + 1] = r->starts[chain] + count;
    r->open_count = first_child;
}

/* The chain of `value` that started at event `start` is complete; `level` used it. */
static void add_chain(struct ttp_chain_decoder *d, struct ttp_chain_level *level,
                      const struct ttp_chain_lesson *lesson, const struct ttp_chain_level *body,
                      uint32_t value, uint32_t start)
{
    uint32_t height = body != NULL ? body->height + 1 : 1;
    if (d->coder.view.model->chain_count == d->coder.view.model->chain_limit) {
        d->coder.rule = "O-FUL-11";
        return;
    }
    if (height > TTP_CHAIN_HEIGHT_MAX) {
        d->coder.rule = "O-FUL-12";
        return;
    }
    uint32_t id = ttp_chain_add(&d->coder, value - 1, height);
    d->spans[id] = (struct ttp_chain_span){start, d->at - start};
    if (d->recorder != NULL)
        record_body(d->recorder, id, body != NULL ? body->first_child : d->recorder->open_count);
    add_child(d, level, id);
    settle_context(d, &level->context, lesson, TTP_CHAIN_FIRST + id, value);
}

/* A new chain's first event; returns the level on which decoding goes on. */
static struct ttp_chain_level *take_new(struct ttp_chain_decoder *d, struct ttp_chain_level *level,
                                        const struct ttp_chain_choice *t)
{
    uint32_t start = d->at;
    put_code(d, (t->value - 1) << 1);
    if (!ttp_class_pushes(d->out->symbols[t->value - 1].event_class)) {
        add_chain(d, level, &t->lesson, NULL, t->value, start);
        return level;
    }
    if (level == &d->levels[level_count(d->out->event_count) - 1]) {
        d->coder.rule = "O-FUL-12";
        return level;
    }
    level->lesson = t->lesson;
    level[1].start = start;
    level[1].height = 0;
    level[1].first_child = d->recorder != NULL ? d->recorder->open_count : 0;
    ttp_chain_context_init(&level[1].context, t->value, level->context.frame, true);
    return level + 1;
}

static struct ttp_chain_level *take_end(struct ttp_chain_decoder *d, struct ttp_chain_level *level,
                                        const struct ttp_chain_choice *t)
{
    uint32_t value = level->context.frame;
    put_code(d, (value - 1) << 1 | 1);
    ttp_chain_learn_token(&d->coder, &t->lesson, TTP_CHAIN_END, 0);
    add_chain(d, level - 1, &level[-1].lesson, level, value, level->start);
    return level - 1;
}

/* The tokens of a repeat count, without the detour through choices and lessons. */
static void repeat(struct ttp_chain_decoder *d, struct ttp_chain_level *level)
{
    struct ttp_chain_coder *c = &d->coder;
    const struct ttp_chain_view *v = &c->view;
    struct ttp_chain_context *x = &level->context;
    for (; c->repeats != 0 && d->at < d->end && c->rule == NULL; c->repeats--) {
        const struct ttp_chain_record *r =
            ttp_chain_find(v->records, v->model->record_bits, ttp_chain_first_hash(x));
        if (!ttp_chain_repeatable(r)) {
            c->rule = "O-FUL-25";
            return;
        }
        struct ttp_chain_choice t;
        t.token = r->next[0];
        t.value = v->chains[t.token - TTP_CHAIN_FIRST].symbol + 1u;
        t.lesson.levels = t.lesson.functions = t.lesson.chains = 0;
        take_chain(d, level, &t);
    }
}

static bool decode_segment(struct ttp_chain_decoder *d, uint32_t s)
{
    if (!start_segment(d, s)) {
        d->coder.rule = "O-FUL-08";
        return false;
    }
    struct ttp_chain_level *level = &d->levels[0];
    while (d->at < d->end) {
        struct ttp_chain_choice t;
        t.token = t.value = 0;
        ttp_chain_code_token(&d->coder, &level->context, &t, true);
        if (d->coder.rule != NULL)
            return false;
        if (t.token == TTP_CHAIN_NEW)
            level = take_new(d, level, &t);
        else if (t.token >= TTP_CHAIN_SYMBOL)
            take_symbol(d, &t);
        else if (t.token >= TTP_CHAIN_FIRST)
            take_chain(d, level, &t);
        else if (t.token == TTP_CHAIN_CLOSE)
            take_close(d, &t);
        else
            level = take_end(d, level, &t);
        if (d->coder.repeating)
            repeat(d, level);
        if (d->coder.rule != NULL)
            return false;
    }
    if (level != &d->levels[0])
        d->coder.rule = "O-FUL-10";
    if (d->coder.repeating && d->coder.repeats != 0)
        d->coder.rule = "O-FUL-25";
    d->coder.repeating = false;
    return d->coder.rule == NULL;
}

static ttape_status refuse_input(const struct ttp_chain_decoder *d, const uint8_t *header,
                                 const uint8_t *data, ttape_error *err)
{
    const struct ttp_decoder *h = &d->coder.port[TTP_PORT_HEADER].dec;
    const struct ttp_decoder *p = &d->coder.port[TTP_PORT_DATA].dec;
    if (ttp_decoder_cut(h))
        return ttp_fail(err, TTAPE_E_TRUNCATED, "O-FUL-05", (uint64_t)(h->at - header),
                        "header stream too short");
    if (ttp_decoder_cut(p))
        return ttp_fail(err, TTAPE_E_TRUNCATED, "O-FUL-05", (uint64_t)(p->at - data),
                        "data stream too short");
    if (d->coder.rule == NULL && h->at != h->end)
        return ttp_fail(err, TTAPE_E_CORRUPT, "O-FUL-06", (uint64_t)(h->at - header),
                        "header stream too long");
    if (d->coder.rule == NULL && p->at != p->end)
        return ttp_fail(err, TTAPE_E_CORRUPT, "O-FUL-06", (uint64_t)(p->at - data),
                        "data stream too long");
    if (d->coder.rule != NULL)
        return ttp_fail(err, TTAPE_E_CORRUPT, d->coder.rule, (uint64_t)(p->at - data),
                        "order breaks a rule, header stream at byte %llu, data stream",
                        (unsigned long long)(h->at - header));
    return TTAPE_OK;
}

ttape_status ttp_chain_decode_all(struct ttp_chain_decoder *d, struct ttp_bytes header,
                                  struct ttp_bytes data, struct ttp_workspace ws, ttape_error *err)
{
    struct ttp_order_out *out = d->out;
    uint32_t open_count = out->open_start[out->segment_count];
    uint32_t primed = d->primer != NULL ? d->primer->symbol_count : 0;
    if (ws.size < ttp_chain_decoder_bytes(d, out->event_count, out->symbol_capacity, open_count))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "workspace too small");
    if (out->given_count > out->symbol_capacity || out->given_count < primed ||
        out->given_count > TTP_CHAIN_SYMBOLS_MAX)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "given symbols without the primer's, or too many");
    place(d, ws.memory, out->event_count, out->symbol_capacity, open_count);
    d->coder.symbols = out->symbols;
    d->coder.symbol_capacity = out->symbol_capacity;
    d->coder.view.model->symbol_count = out->given_count;
    d->coder.port[TTP_PORT_HEADER].dec = ttp_decoder_init(header.data, header.size);
    d->coder.port[TTP_PORT_DATA].dec = ttp_decoder_init(data.data, data.size);
    d->nodes[0] = (struct ttp_chain_node){0, 0};
    if (d->counter != NULL)
        ttp_chain_calls_start(d);
    for (uint32_t s = 0; s < out->segment_count && d->coder.rule == NULL; s++)
        (void)decode_segment(d, s);
    TTP_TRY(refuse_input(d, header.data, data.data, err));
    out->symbol_count = d->coder.view.model->symbol_count;
    return TTAPE_OK;
}

ttape_status ttp_chain_decode(struct ttp_order_out *out, const struct ttp_chain_primer *primer,
                              struct ttp_bytes header, struct ttp_bytes data,
                              struct ttp_workspace ws, ttape_error *err)
{
    struct ttp_chain_decoder d = {.out = out, .primer = primer};
    return ttp_chain_decode_all(&d, header, data, ws, err);
}
