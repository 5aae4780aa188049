/* Decoding writes each event once. A chain that is known is copied from where it stood first; a new
 * one is decoded in place, its definition's levels on an explicit stack.
 *
 *   level 0      the data section; the spine's frames are nodes (function value, node below), one
 * top per stack level 1..    definitions in progress */
#include "format/chain_decode.h"

#include <string.h>

#include "format/chain_stacks.h"
#include "format/chain_token.h"
#include "format/fail.h"

struct level {
    struct ttp_chain_context context;
    struct ttp_chain_lesson lesson; /* of the level's last token, while the level above is busy */
    uint32_t start;                 /* first event of the chain that is being defined */
};

struct node { /* a frame of the spine */
    uint32_t value, below;
};

struct span { /* where a chain's events stand in the output */
    uint32_t start, length;
};

struct decoder {
    struct ttp_order_out *out;
    struct ttp_chain_coder coder;
    struct ttp_chain_stacks stacks;
    struct level *levels;
    struct node *nodes; /* node 0 is the base of every stack */
    struct span *spans;
    uint32_t node_count, top, stack;
    uint32_t at, end; /* events written; the end of the segment */
    size_t ws_bytes;
};

static size_t pad(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static uint32_t level_count(uint32_t event_count)
{
    return event_count / 2 + 2 < TTP_CHAIN_HEIGHT_MAX + 1 ? event_count / 2 + 2
                                                          : TTP_CHAIN_HEIGHT_MAX + 1;
}

static void place(struct decoder *d, char *ws, uint32_t event_count, uint32_t symbol_capacity,
                  uint32_t open_count)
{
    struct ttp_chain_sizes sizes = ttp_chain_sizes_for(event_count, symbol_capacity);
    uint32_t stack_bits = ttp_chain_stacks_bits(event_count, open_count);
    size_t nodes = pad(level_count(event_count) * sizeof(struct level));
    size_t spans = nodes + pad(((size_t)event_count + open_count + 1) * sizeof(struct node));
    size_t stacks = spans + pad(sizes.chain_limit * sizeof(struct span));
    size_t model = stacks + pad(sizeof(struct ttp_chain_stack) << stack_bits);
    d->ws_bytes = model + ttp_chain_model_bytes(&sizes);
    if (ws == NULL)
        return;
    d->levels = (struct level *)(void *)ws;
    d->nodes = (struct node *)(void *)(ws + nodes);
    d->spans = (struct span *)(void *)(ws + spans);
    ttp_chain_stacks_init(&d->stacks, ws + stacks, stack_bits);
    d->coder.view = ttp_chain_model_init(ws + model, &sizes);
}

size_t ttp_chain_decode_workspace(uint32_t event_count, uint32_t symbol_capacity,
                                  uint32_t open_count, const void *primer)
{
    (void)primer;
    struct decoder d = {0};
    place(&d, NULL, event_count, symbol_capacity, open_count);
    return d.ws_bytes;
}

static void stand_on(struct decoder *d, uint32_t node)
{
    struct ttp_chain_context *x = &d->levels[0].context;
    d->top = node;
    x->frame = d->nodes[node].value;
    x->caller = d->nodes[d->nodes[node].below].value;
}

static void push(struct decoder *d, uint32_t value)
{
    d->nodes[d->node_count] = (struct node){value, d->top};
    d->top = d->node_count++;
}

static bool start_segment(struct decoder *d, uint32_t s)
{
    const struct ttp_order_out *out = d->out;
    d->node_count = 1;
    ttp_chain_stacks_start(&d->stacks);
    for (uint32_t i = out->open_start[s]; i < out->open_start[s + 1]; i++) {
        uint32_t *top = ttp_chain_stack_top(&d->stacks, out->open_stack[i]);
        if (top == NULL)
            return false;
        d->top = *top;
        push(d, out->open[i] + 1);
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

static uint32_t below(const struct decoder *d, uint64_t frames)
{
    uint32_t node = d->top;
    for (; frames != 0 && node != 0; frames--)
        node = d->nodes[node].below;
    return node;
}

static void settle(struct decoder *d, struct ttp_chain_context *x,
                   const struct ttp_chain_lesson *lesson, uint32_t token, uint32_t value)
{
    ttp_chain_learn_token(&d->coder, lesson, token, value);
    ttp_chain_context_advance(x, token, value);
}

/* The spine's event of a symbol has its effect on the stacks. */
static void take_symbol(struct decoder *d, const struct ttp_chain_choice *t)
{
    struct ttp_chain_context *x = &d->levels[0].context;
    struct ttp_symbol s = d->out->symbols[t->value - 1];
    d->out->codes[d->at++] = (t->value - 1) << 1;
    settle(d, x, &t->lesson, t->token, t->value);
    if (ttp_class_pushes(s.event_class)) {
        ttp_chain_context_init(x, t->value, x->frame, false);
        push(d, t->value);
        return;
    }
    uint32_t node = d->top, *top;
    if (s.event_class == TTP_CLASS_UNWIND) {
        node = below(d, s.argument);
    } else if (s.event_class == TTP_CLASS_EXIT_ACROSS) {
        node = below(d, (uint64_t)s.argument + 1);
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

static void take_close(struct decoder *d, const struct ttp_chain_choice *t)
{
    d->out->codes[d->at++] = (d->levels[0].context.frame - 1) << 1 | 1;
    settle(d, &d->levels[0].context, &t->lesson, TTP_CHAIN_CLOSE, 0);
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

static void take_chain(struct decoder *d, struct level *level, const struct ttp_chain_choice *t)
{
    struct span span = d->spans[t->token - TTP_CHAIN_FIRST];
    if (span.length > d->end - d->at) {
        d->coder.rule = "O-FUL-10";
        return;
    }
    copy_codes(d->out, d->at, span.start, span.length);
    d->at += span.length;
    settle(d, &level->context, &t->lesson, t->token, t->value);
}

/* The chain of `value` that started at event `start` is complete; `level` used it. */
static void add_chain(struct decoder *d, struct level *level, const struct ttp_chain_lesson *lesson,
                      uint32_t value, uint32_t start)
{
    if (d->coder.view.model->chain_count == d->coder.view.model->chain_limit) {
        d->coder.rule = "O-FUL-11";
        return;
    }
    uint32_t id = ttp_chain_add(&d->coder, value - 1);
    d->spans[id] = (struct span){start, d->at - start};
    settle(d, &level->context, lesson, TTP_CHAIN_FIRST + id, value);
}

/* A new chain's first event; returns the level on which decoding goes on. */
static struct level *take_new(struct decoder *d, struct level *level,
                              const struct ttp_chain_choice *t)
{
    uint32_t start = d->at;
    d->out->codes[d->at++] = (t->value - 1) << 1;
    if (!ttp_class_pushes(d->out->symbols[t->value - 1].event_class)) {
        add_chain(d, level, &t->lesson, t->value, start);
        return level;
    }
    if (level == &d->levels[level_count(d->out->event_count) - 1]) {
        d->coder.rule = "O-FUL-12";
        return level;
    }
    level->lesson = t->lesson;
    level[1].start = start;
    ttp_chain_context_init(&level[1].context, t->value, level->context.frame, true);
    return level + 1;
}

static struct level *take_end(struct decoder *d, struct level *level,
                              const struct ttp_chain_choice *t)
{
    uint32_t value = level->context.frame;
    d->out->codes[d->at++] = (value - 1) << 1 | 1;
    ttp_chain_learn_token(&d->coder, &t->lesson, TTP_CHAIN_END, 0);
    add_chain(d, level - 1, &level[-1].lesson, value, level->start);
    return level - 1;
}

static bool decode_segment(struct decoder *d, uint32_t s)
{
    if (!start_segment(d, s)) {
        d->coder.rule = "O-FUL-08";
        return false;
    }
    struct level *level = &d->levels[0];
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
        if (d->coder.rule != NULL)
            return false;
    }
    if (level != &d->levels[0])
        d->coder.rule = "O-FUL-10";
    return d->coder.rule == NULL;
}

static ttape_status fail(const struct decoder *d, const uint8_t *header, const uint8_t *data,
                         ttape_error *err)
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

ttape_status ttp_chain_decode(struct ttp_order_out *out, const void *primer, const uint8_t *header,
                              size_t header_bytes, const uint8_t *data, size_t data_bytes, void *ws,
                              size_t ws_bytes, ttape_error *err)
{
    (void)primer;
    struct decoder d = {.out = out};
    uint32_t open_count = out->open_start[out->segment_count];
    place(&d, NULL, out->event_count, out->symbol_capacity, open_count);
    if (ws_bytes < d.ws_bytes || out->given_count > out->symbol_capacity)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "workspace too small");
    place(&d, ws, out->event_count, out->symbol_capacity, open_count);
    d.coder.symbols = out->symbols;
    d.coder.symbol_capacity = out->symbol_capacity;
    d.coder.view.model->symbol_count = out->given_count;
    d.coder.port[TTP_PORT_HEADER].dec = ttp_decoder_init(header, header_bytes);
    d.coder.port[TTP_PORT_DATA].dec = ttp_decoder_init(data, data_bytes);
    d.nodes[0] = (struct node){0, 0};
    for (uint32_t s = 0; s < out->segment_count && d.coder.rule == NULL; s++)
        (void)decode_segment(&d, s);
    TTP_TRY(fail(&d, header, data, err));
    out->symbol_count = d.coder.view.model->symbol_count;
    return TTAPE_OK;
}
