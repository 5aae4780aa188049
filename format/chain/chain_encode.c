/* Encoding happens in two passes over little memory.
 *
 *   1. intern    codes -> pending tokens. An enter reserves a slot; when the frame closes and may
 *                chain, its slot and children shrink to one token; otherwise the slot already is
 *                the spine's token
 *   2. emit      pending tokens -> data stream; a chain's first use -> its definition, header
 *                stream
 *
 *   pending      START | given frames ... | tokens ...
 *                one row per segment; slot 0 is the base of every stack
 *   link         for an open frame, START and spine tokens: the slot of the frame that is on top
 *                around or after them */
#include "format/chain/chain_encode.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/chain/chain_intern.h"
#include "format/chain/chain_stacks.h"
#include "format/chain/chain_token.h"

#define SPINE       0x80000000u           /* | symbol: a frame of the spine, or a special event */
#define SPINE_CLOSE (SPINE | 0x40000000u) /* the spine's top frame closes */
#define RECENT_BITS 10u
#define SPINE_START (SPINE | 0x20000000u) /* a segment starts */

struct level { /* of the definition that is being written */
    struct ttp_chain_context context;
    struct ttp_chain_lesson lesson; /* of the level's last token, while the level above is busy */
    uint32_t chain, at, end;        /* what is being defined; its children */
};

struct encoder {
    const struct ttp_order *in;
    struct ttp_chain_coder coder;
    struct ttp_chain_intern intern;
    struct ttp_chain_stacks stacks;
    struct level *levels;
    uint32_t *childless;              /* pass 1: symbol -> its chain without children, or none */
    uint32_t *recent;                 /* pass 1: chains that were seen lately */
    uint32_t *pending, *link, *known; /* known: interned number -> number in the stream, or none */
    uint32_t pending_count, top, spine_end;
    struct ttp_chain_stats stats;
    const struct ttp_chain_primer *primer;
    size_t ws_bytes;
};

static uint32_t level_count(uint32_t event_count)
{
    return event_count / 2 + 2 < TTP_CHAIN_HEIGHT_MAX + 1 ? event_count / 2 + 2
                                                          : TTP_CHAIN_HEIGHT_MAX + 1;
}

/* The model is needed by the second pass only, slots and stacks by the first: they share their
 * memory. */
static void place(struct encoder *e, void *ws, uint32_t event_count, uint32_t symbol_count,
                  uint32_t segment_count, uint32_t open_count)
{
    struct ttp_chain_sizes sizes = ttp_chain_primed_sizes(event_count, symbol_count, e->primer);
    struct ttp_carver from = {ws, 0};
    struct ttp_chain_intern *in = &e->intern;
    size_t slots = 1 + (size_t)event_count + open_count + segment_count;
    in->slot_bits = ttp_chain_intern_bits(sizes.chain_limit);
    in->chain_limit = sizes.chain_limit;
    in->child_limit = ttp_chain_child_limit(event_count);
    if (e->primer != NULL)
        in->child_limit += e->primer->child_count;
    e->pending = ttp_carve(&from, slots, sizeof *e->pending);
    e->link = ttp_carve(&from, slots, sizeof *e->link);
    in->start = ttp_carve(&from, (size_t)in->chain_limit + 1, sizeof *in->start);
    in->info = ttp_carve(&from, (size_t)in->chain_limit + 1, sizeof *in->info);
    e->known = ttp_carve(&from, (size_t)in->chain_limit + 1, sizeof *e->known);
    in->children = ttp_carve(&from, in->child_limit, sizeof *in->children);
    e->levels = ttp_carve(&from, level_count(event_count), sizeof *e->levels);
    size_t model_end = from.used + ttp_chain_model_bytes(&sizes);
    in->slots = ttp_carve(&from, (size_t)1 << in->slot_bits, sizeof *in->slots);
    e->coder.view.model = (void *)in->slots;
    uint32_t stack_bits = ttp_chain_stacks_bits(event_count, open_count);
    void *stacks = ttp_carve(&from, (size_t)1 << stack_bits, sizeof *e->stacks.entries);
    e->childless = ttp_carve(&from, symbol_count, sizeof *e->childless);
    e->recent = ttp_carve(&from, 1u << RECENT_BITS, sizeof *e->recent);
    e->ws_bytes = from.used > model_end ? from.used : model_end;
    if (ws == NULL)
        return;
    memset(e->childless, 0xff, symbol_count * sizeof *e->childless);
    memset(e->recent, 0xff, sizeof *e->recent << RECENT_BITS);
    ttp_chain_stacks_init(&e->stacks, stacks, stack_bits, e->in->hash_key);
}

size_t ttp_chain_encode_workspace(uint32_t event_count, uint32_t symbol_count,
                                  uint32_t segment_count, uint32_t open_count,
                                  const struct ttp_chain_options *options)
{
    struct encoder e = {.primer = options != NULL ? options->primer : NULL};
    place(&e, NULL, event_count, symbol_count, segment_count, open_count);
    return e.ws_bytes;
}

/* --- pass 1 --- */

static void push_symbol(struct encoder *e, uint32_t symbol)
{
    e->pending[e->pending_count] = SPINE | symbol;
    e->link[e->pending_count] = e->top;
    e->top = e->pending_count++;
}

static void spine_token(struct encoder *e, uint32_t token)
{
    e->pending[e->pending_count] = token;
    e->link[e->pending_count++] = e->top;
    e->spine_end = e->pending_count;
}

static void pop_frames(struct encoder *e, uint64_t frames)
{
    for (; frames != 0 && e->top != 0; frames--)
        e->top = e->link[e->top];
}

/* Puts the frames that were open at the segment's start on their stacks. */
static bool start_segment(struct encoder *e, uint32_t s)
{
    const struct ttp_order *in = e->in;
    uint32_t start = e->pending_count++;
    ttp_chain_stacks_start(&e->stacks);
    for (uint32_t i = in->open_start[s]; i < in->open_start[s + 1]; i++) {
        uint32_t *top = ttp_chain_stack_top(&e->stacks, in->open_stack[i]);
        if (top == NULL)
            return false;
        e->top = *top;
        push_symbol(e, in->open[i]);
        *top = e->top;
    }
    uint32_t *top = ttp_chain_stack_top(&e->stacks, in->start_stack[s]);
    if (top == NULL)
        return false;
    e->top = *top;
    e->pending[start] = SPINE_START;
    e->link[start] = e->top;
    e->spine_end = e->pending_count;
    return true;
}

/* Anything that is not an enter, a leaf or a close. False when there are too many stacks. */
static bool take_special(struct encoder *e, uint32_t symbol, uint32_t *stack)
{
    uint32_t argument = e->in->symbols[symbol].argument, *top;
    switch (e->in->symbols[symbol].event_class) {
    case TTP_CLASS_OPEN:
        push_symbol(e, symbol);
        e->spine_end = e->pending_count;
        e->stats.calls++;
        return true;
    case TTP_CLASS_UNWIND: pop_frames(e, argument); break;
    case TTP_CLASS_EXIT_ACROSS: pop_frames(e, (uint64_t)argument + 1); break;
    case TTP_CLASS_SWITCH:
        top = ttp_chain_stack_top(&e->stacks, *stack);
        if (top == NULL)
            return false;
        *top = e->top;
        top = ttp_chain_stack_top(&e->stacks, argument);
        if (top == NULL)
            return false;
        e->top = *top;
        *stack = argument;
        break;
    default: break;
    }
    spine_token(e, SPINE | symbol);
    return true;
}

/* Closes the top frame: into a chain if it may be one. */
static void take_close(struct encoder *e, uint32_t symbol)
{
    uint32_t slot = e->top, child_count = e->pending_count - slot - 1;
    e->top = e->link[slot];
    if (e->spine_end <= slot) {
        uint32_t chain = child_count == 0 ? e->childless[symbol] : TTP_CHAIN_NONE;
        if (chain == TTP_CHAIN_NONE)
            chain = ttp_chain_intern_add(&e->intern, symbol, e->pending + slot + 1, child_count);
        if (chain != TTP_CHAIN_NONE) {
            if (child_count == 0)
                e->childless[symbol] = chain;
            e->pending[slot] = chain;
            e->pending_count = slot + 1;
            return;
        }
    }
    spine_token(e, SPINE_CLOSE);
}

static void take_leaf(struct encoder *e, uint32_t symbol)
{
    uint32_t chain = e->childless[symbol];
    if (chain == TTP_CHAIN_NONE)
        chain = ttp_chain_intern_add(&e->intern, symbol, NULL, 0);
    if (chain == TTP_CHAIN_NONE) {
        spine_token(e, SPINE | symbol);
        return;
    }
    e->childless[symbol] = chain;
    e->pending[e->pending_count++] = chain;
}

/* Where a body like that was kept last. */
static inline uint32_t *recent_place(const struct encoder *e, uint32_t symbol,
                                     const uint32_t *children, uint32_t child_count)
{
    uint32_t hash = symbol * 0x9e3779b1u + children[0] * 0x85ebca6bu +
                    children[child_count - 1] * 0xc2b2ae35u + child_count;
    return &e->recent[hash * 0x297a2d39u >> (32 - RECENT_BITS)];
}

static inline bool is_chain(const struct ttp_chain_intern *t, uint32_t chain, uint32_t symbol,
                            const uint32_t *children, uint32_t child_count)
{
    if (chain == TTP_CHAIN_NONE || ttp_chain_intern_symbol(t, chain) != symbol ||
        t->start[chain + 1] - t->start[chain] != child_count)
        return false;
    const uint32_t *kept = t->children + t->start[chain];
    uint32_t i = 0;
    while (i < child_count && kept[i] == children[i])
        i++;
    return i == child_count;
}

/* Enters and closes of frames that chain, which are nearly all: returns the first event that is
 * something else. */
static uint32_t intern_plain(struct encoder *e, uint32_t i, uint32_t end)
{
    const uint32_t *codes = e->in->codes, spine_end = e->spine_end;
    const struct ttp_symbol *symbols = e->in->symbols;
    uint32_t *pending = e->pending, *link = e->link, *childless = e->childless;
    uint32_t count = e->pending_count, top = e->top, first = i, closes = 0;
    for (; i < end; i++) {
        uint32_t symbol = codes[i] >> 1;
        if ((codes[i] & 1) != 0) {
            uint32_t slot = top, child_count = count - slot - 1, chain = TTP_CHAIN_NONE;
            if (spine_end > slot)
                break;
            uint32_t *known = &childless[symbol];
            if (child_count != 0)
                known = recent_place(e, symbol, pending + slot + 1, child_count);
            if (child_count == 0 ||
                is_chain(&e->intern, *known, symbol, pending + slot + 1, child_count))
                chain = *known;
            if (chain == TTP_CHAIN_NONE) {
                chain = ttp_chain_intern_add(&e->intern, symbol, pending + slot + 1, child_count);
                if (chain == TTP_CHAIN_NONE)
                    break;
                *known = chain;
            }
            top = link[slot];
            pending[slot] = chain;
            count = slot + 1;
            closes++;
        } else {
            if (symbols[symbol].event_class != TTP_CLASS_ENTER)
                break;
            pending[count] = SPINE | symbol;
            link[count] = top;
            top = count++;
        }
    }
    e->pending_count = count;
    e->top = top;
    e->stats.calls += i - first - closes;
    return i;
}

static bool intern_segment(struct encoder *e, uint32_t s)
{
    const struct ttp_order *in = e->in;
    const struct ttp_symbol *symbols = in->symbols;
    const uint32_t *codes = in->codes, end = in->segment_start[s + 1];
    uint32_t stack = in->start_stack[s];
    if (!start_segment(e, s))
        return false;
    for (uint32_t i = in->segment_start[s]; i < end; i++) {
        i = intern_plain(e, i, end);
        if (i == end)
            break;
        uint32_t symbol = codes[i] >> 1;
        uint8_t event_class = symbols[symbol].event_class;
        if (codes[i] & 1) {
            take_close(e, symbol);
        } else if (event_class == TTP_CLASS_ENTER || event_class == TTP_CLASS_SIGNAL) {
            push_symbol(e, symbol);
            e->stats.calls++;
        } else if (ttp_class_chains(event_class)) {
            take_leaf(e, symbol);
        } else if (!take_special(e, symbol, &stack)) {
            return false;
        }
    }
    return true;
}

/* --- pass 2 --- */

static void settle_context(struct encoder *e, struct ttp_chain_context *x,
                           const struct ttp_chain_lesson *lesson, uint32_t token, uint32_t value)
{
    ttp_chain_learn_token(&e->coder, lesson, token, value);
    ttp_chain_context_advance(x, token, value);
}

/* Codes one token; true when it is settled, false when it is a new chain that the caller has to
 * define. */
static bool emit(struct encoder *e, struct level *level, uint32_t token, uint32_t value)
{
    struct ttp_chain_choice t;
    t.token = token;
    t.value = value;
    if (value > e->coder.view.model->symbol_count + 1 || value > e->in->symbol_count) {
        e->coder.rule = "order";
        return true;
    }
    ttp_chain_code_token(&e->coder, &level->context, &t, false);
    *(level->context.defining ? &e->stats.header_tokens : &e->stats.data_tokens) += 1;
    if (token == TTP_CHAIN_NEW) {
        if (ttp_class_pushes(e->in->symbols[value - 1].event_class)) {
            level->lesson = t.lesson;
            return false;
        }
        token = TTP_CHAIN_FIRST + ttp_chain_add(&e->coder, value - 1, 0);
    }
    settle_context(e, &level->context, &t.lesson, token, value);
    return true;
}

static void start_definition(struct encoder *e, struct level *level, uint32_t chain)
{
    uint32_t value = ttp_chain_intern_symbol(&e->intern, chain) + 1;
    level[1].chain = chain;
    level[1].at = e->intern.start[chain];
    level[1].end = e->intern.start[chain + 1];
    ttp_chain_context_init(&level[1].context, value, level->context.frame, true);
}

/* Codes the use of an interned chain in *level; true when settled. */
static bool emit_chain(struct encoder *e, struct level *level, uint32_t chain)
{
    uint32_t value = ttp_chain_intern_symbol(&e->intern, chain) + 1, known = e->known[chain];
    e->stats.chain_uses++;
    if (known != TTP_CHAIN_NONE)
        return emit(e, level, TTP_CHAIN_FIRST + known, value);
    if (!emit(e, level, TTP_CHAIN_NEW, value))
        return false;
    e->known[chain] = e->coder.view.model->chain_count - 1;
    return true;
}

/* Writes the definition of a chain, and of all new chains in it, top-down. */
static void define(struct encoder *e, uint32_t chain)
{
    struct level *base = &e->levels[0], *level = base + 1;
    start_definition(e, base, chain);
    while (level != base && e->coder.rule == NULL) {
        if (level->at != level->end) {
            uint32_t child = e->intern.children[level->at++];
            if (!emit_chain(e, level, child))
                start_definition(e, level++, child);
            continue;
        }
        struct ttp_chain_choice t;
        t.token = TTP_CHAIN_END;
        t.value = 0;
        ttp_chain_code_token(&e->coder, &level->context, &t, false);
        e->stats.header_tokens++;
        ttp_chain_learn_token(&e->coder, &t.lesson, TTP_CHAIN_END, 0);
        uint32_t value = level->context.frame;
        uint32_t id = ttp_chain_add(&e->coder, value - 1, 0);
        e->known[level->chain] = id;
        level--;
        settle_context(e, &level->context, &level->lesson, TTP_CHAIN_FIRST + id, value);
    }
}

static uint32_t slot_value(const struct encoder *e, uint32_t slot)
{
    return slot == 0 ? 0 : (e->pending[slot] & ~SPINE) + 1;
}

static void stand_on(struct encoder *e, uint32_t slot)
{
    struct ttp_chain_context *x = &e->levels[0].context;
    x->frame = slot_value(e, slot);
    x->caller = slot_value(e, e->link[slot]);
}

static void emit_spine(struct encoder *e, uint32_t slot)
{
    struct ttp_chain_context *x = &e->levels[0].context;
    uint32_t token = e->pending[slot];
    if (token == SPINE_CLOSE) {
        (void)emit(e, &e->levels[0], TTP_CHAIN_CLOSE, 0);
        stand_on(e, e->link[slot]);
        return;
    }
    uint32_t symbol = token & ~SPINE;
    (void)emit(e, &e->levels[0], TTP_CHAIN_SYMBOL | symbol, symbol + 1);
    if (ttp_class_pushes(e->in->symbols[symbol].event_class))
        ttp_chain_context_init(x, symbol + 1, x->frame, false);
    else
        stand_on(e, e->link[slot]);
}

static bool overflowed(const struct encoder *e)
{
    return e->coder.port[TTP_PORT_DATA].enc.full || e->coder.port[TTP_PORT_HEADER].enc.full;
}

static void emit_all(struct encoder *e)
{
    uint32_t segment = 0;
    for (uint32_t slot = 1; slot < e->pending_count && e->coder.rule == NULL && !overflowed(e);
         slot++) {
        uint32_t token = e->pending[slot];
        if (token < SPINE) {
            if (!emit_chain(e, &e->levels[0], token))
                define(e, token);
        } else if (token == SPINE_START) {
            if (e->coder.repeating)
                ttp_chain_end_repeat(&e->coder, &e->levels[0].context);
            ttp_chain_context_init(&e->levels[0].context, 0, 0, false);
            stand_on(e, e->link[slot]);
            e->levels[0].context.path = ttp_chain_hash(e->levels[0].context.frame, 77, 1);
            slot += e->in->open_start[segment + 1] - e->in->open_start[segment];
            segment++;
        } else {
            emit_spine(e, slot);
        }
    }
    if (e->coder.repeating)
        ttp_chain_end_repeat(&e->coder, &e->levels[0].context);
}

static void start_model(struct encoder *e)
{
    const struct ttp_order *in = e->in;
    struct ttp_chain_sizes sizes =
        ttp_chain_primed_sizes(in->event_count, in->symbol_count, e->primer);
    e->coder.view = ttp_chain_model_start(e->coder.view.model, &sizes, e->primer);
    e->coder.view.model->symbol_count = in->given_count;
    memset(e->known, 0xff, e->intern.chain_count * sizeof *e->known);
    for (uint32_t i = 0; e->primer != NULL && i < e->primer->chain_count; i++)
        e->known[i] = i;
}

ttape_status ttp_chain_encode(const struct ttp_order *in, const struct ttp_chain_options *opt,
                              struct ttp_workspace ws, struct ttp_buffer *header,
                              struct ttp_buffer *data, struct ttp_chain_stats *stats,
                              ttape_error *err)
{
    struct encoder e = {.in = in, .primer = opt != NULL ? opt->primer : NULL};
    header->size = data->size = 0;
    if (in->symbol_count > TTP_CHAIN_SYMBOLS_MAX)
        return TTAPE_E_LIMIT;
    place(&e, NULL, in->event_count, in->symbol_count, in->segment_count,
          in->open_start[in->segment_count]);
    if (ws.size < e.ws_bytes)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "workspace too small");
    place(&e, ws.memory, in->event_count, in->symbol_count, in->segment_count,
          in->open_start[in->segment_count]);
    if (e.primer != NULL && in->given_count < e.primer->symbol_count)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "symbols do not begin with those of the primer");
    ttp_chain_intern_init(&e.intern);
    if (e.primer != NULL && !ttp_chain_intern_load(&e.intern, e.primer))
        return TTAPE_E_LIMIT;
    e.pending[0] = e.link[0] = 0;
    e.pending_count = 1;
    for (uint32_t s = 0; s < in->segment_count; s++)
        if (!intern_segment(&e, s))
            return TTAPE_E_LIMIT;
    start_model(&e);
    e.coder.symbols =
        (struct ttp_symbol *)(uintptr_t)in->symbols; /* only the decoder's is ever written */
    e.coder.symbol_capacity = in->symbol_count;
    e.coder.port[TTP_PORT_HEADER].enc = ttp_encoder_init(header->data, header->capacity);
    e.coder.port[TTP_PORT_DATA].enc = ttp_encoder_init(data->data, data->capacity);
    emit_all(&e);
    if (e.coder.rule != NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "symbols not numbered by first appearance");
    size_t header_size = ttp_encoder_finish(&e.coder.port[TTP_PORT_HEADER].enc);
    size_t data_size = ttp_encoder_finish(&e.coder.port[TTP_PORT_DATA].enc);
    if (overflowed(&e))
        return TTAPE_E_LIMIT;
    e.stats.chains =
        e.coder.view.model->chain_count - (e.primer != NULL ? e.primer->chain_count : 0);
    header->size = header_size;
    data->size = data_size;
    if (stats != NULL)
        *stats = e.stats;
    return TTAPE_OK;
}
