/* One pass over the events of a partition: between two instants they only push and pop, and where
 * the stack had least frames says how many are still there.
 *
 * Where all symbols are calls, the lowest bit of a code says which: then eight events are a number
 * of eight bits, tables say what it does to the depth, and frames are looked for from the instant
 * back, among the events since the one before. */
#include <string.h>

#include "format/levels/instants.h"
#include "format/levels/instants_model.h"

#define BLOCK   16u
#define GROUP   8u
#define SPECIAL INT8_MAX /* an effect that the table does not have */

struct writing {
    const struct ttp_instants_in *in;
    struct ttp_instant_model m;
    struct ttp_encoder e;
    int8_t *effects;           /* of codes: frames more */
    uint32_t *stack;           /* symbols; one more than is ever open */
    uint32_t top, low, height; /* now, least since the last instant, and then */
    uint32_t wide, frame_count, instant_count;
    uint32_t since; /* event: those before it are on the stack */
    bool has_gap, has_calls_only;
    /* By bits of a group, 1 where a frame ends: frames more, and least frames more on the way. */
    int8_t sum[256], least[256];
};

size_t ttp_instants_workspace(const struct ttp_order *order)
{
    size_t frames = (size_t)order->event_count + order->open_start[order->segment_count] + 1;
    return frames * sizeof(uint32_t) + 2 * (size_t)order->symbol_count;
}

static void make_groups(struct writing *w)
{
    for (uint32_t bits = 0; bits < 256; bits++) {
        int8_t sum = 0, least = 0;
        for (uint32_t i = 0; i < GROUP; i++) {
            sum = (int8_t)(bits >> i & 1 ? sum - 1 : sum + 1);
            least = sum < least ? sum : least;
        }
        w->sum[bits] = sum;
        w->least[bits] = least;
    }
}

static bool make_effects(struct writing *w)
{
    const struct ttp_order *o = w->in->order;
    w->has_calls_only = true;
    make_groups(w);
    for (uint32_t i = 0; i < o->symbol_count; i++) {
        uint8_t event_class = o->symbols[i].event_class;
        bool pushes = ttp_class_pushes(event_class);
        bool plain =
            pushes || event_class == TTP_CLASS_LEAF || event_class == TTP_CLASS_EXIT_UNSEEN;
        if (event_class == TTP_CLASS_SWITCH)
            return false;
        w->has_calls_only = w->has_calls_only && pushes;
        w->effects[2 * i] = plain ? (int8_t)pushes : SPECIAL;
        w->effects[2 * i + 1] = -1;
    }
    return true;
}

static bool is_told(const struct ttp_instants_in *in)
{
    const struct ttp_order *o = in->order;
    for (uint32_t i = 0; i < in->wide_count; i++)
        if (in->wide[i] < 0)
            return false;
    for (uint32_t s = 0; s < o->segment_count; s++)
        for (uint32_t i = o->open_start[s]; i < o->open_start[s + 1]; i++)
            if (o->open_stack[i] != o->start_stack[s])
                return false;
    return true;
}

static void apply_special(struct writing *w, uint32_t code)
{
    const struct ttp_symbol *symbol = &w->in->order->symbols[code >> 1];
    if (symbol->event_class == TTP_CLASS_GAP)
        w->has_gap = true;
    else
        w->top -= symbol->argument + (symbol->event_class == TTP_CLASS_EXIT_ACROSS);
    w->low = w->top < w->low ? w->top : w->low;
}

/* The sum of a block's differences, two at a time; more than any where one of them is large. */
static uint64_t sum_block(const uint32_t *delta)
{
    const uint64_t large = UINT64_C(0xf8000000f8000000); /* 16 below that do not carry */
    uint64_t sum = 0, bits = 0;
    for (uint32_t i = 0; i < BLOCK; i += 2) {
        uint64_t pair;
        memcpy(&pair, delta + i, sizeof pair);
        sum += pair;
        bits |= pair;
    }
    return (bits & large) != 0 ? UINT64_MAX : (sum & UINT32_MAX) + (sum >> 32);
}

/* The first event that is behind the tick; `at` goes on to the last one that is not. Sums of whole
 * blocks first: hardly ever is one behind it, or wide. */
static uint32_t find_behind(struct writing *w, uint32_t event, uint32_t end, int64_t until,
                            int64_t *at)
{
    const uint32_t *delta = w->in->delta;
    int64_t tick = *at;    /* never behind it */
    uint32_t near = event; /* below it one by one: their block was too much */
    while (event < end) {
        if (event >= near && end - event >= BLOCK) {
            uint64_t sum = sum_block(delta + event);
            near = event + BLOCK;
            if (sum != UINT64_MAX && sum <= (uint64_t)until - (uint64_t)tick) {
                tick = (int64_t)((uint64_t)tick + sum);
                event = near;
                continue;
            }
        }
        uint32_t step = delta[event];
        int64_t wide = step != TTP_DELTA_WIDE ? (int64_t)step : w->in->wide[w->wide];
        int64_t next = (int64_t)((uint64_t)tick + (uint64_t)wide);
        if (next > until)
            break;
        w->wide += step == TTP_DELTA_WIDE;
        tick = next;
        event++;
    }
    *at = tick;
    return event;
}

/* The lowest bits of eight codes, of the first one the lowest: two codes at a time. */
static uint32_t group_at(const uint32_t *codes)
{
    const uint32_t one[2] = {1, 0}; /* which half of 64 bits the first of two is in */
    const uint64_t lowest = UINT64_C(0x100000001);
    uint64_t pairs[GROUP / 2], order;
    memcpy(&order, one, sizeof order);
    memcpy(pairs, codes, sizeof pairs);
    uint64_t bits = (pairs[0] & lowest) | (pairs[1] & lowest) << 2 | (pairs[2] & lowest) << 4 |
                    (pairs[3] & lowest) << 6;
    return (uint32_t)(order == 1 ? bits | bits >> 31 : bits >> 32 | bits << 1) & 255;
}

/* Depths alone. */
static void pass_calls(struct writing *w, uint32_t event, uint32_t end)
{
    const uint32_t *codes = w->in->order->codes;
    uint32_t top = w->top, low = w->low;
    for (; end - event >= GROUP; event += GROUP) {
        uint32_t bits = group_at(codes + event), least = top + (uint32_t)(int32_t)w->least[bits];
        low = least < low ? least : low;
        top += (uint32_t)(int32_t)w->sum[bits];
    }
    for (; event < end; event++) {
        top += 1 - 2 * (codes[event] & 1);
        low = top < low ? top : low;
    }
    w->top = top;
    w->low = low;
}

/* The frames above `kept` before the event: each is the last that came to where it is. */
static void find_frames(struct writing *w, uint32_t event, uint32_t kept)
{
    const uint32_t *codes = w->in->order->codes;
    uint32_t depth = w->top, found = w->top, near = event;
    while (found > kept && event > w->since) {
        if (event <= near && event - w->since >= GROUP) {
            uint32_t bits = group_at(codes + event - GROUP);
            uint32_t before = depth - (uint32_t)(int32_t)w->sum[bits];
            near = event - GROUP; /* one of these is it, or none */
            if (before + (uint32_t)(int32_t)w->least[bits] >= found) {
                depth = before;
                event = near;
                continue;
            }
        }
        uint32_t code = codes[--event];
        depth -= 1 - 2 * (code & 1);
        if (depth < found)
            w->stack[--found] = code >> 1;
    }
}

/* Passes events up to the last one that is not behind the tick; returns the next one. */
static uint32_t pass(struct writing *w, uint32_t event, uint32_t end, int64_t until, int64_t *at)
{
    const uint32_t *codes = w->in->order->codes;
    const int8_t *effects = w->effects;
    uint32_t *stack = w->stack, top = w->top, low = w->low;
    end = find_behind(w, event, end, until, at);
    if (w->has_calls_only) {
        pass_calls(w, event, end);
        return end;
    }
    for (; event < end; event++) {
        uint32_t code = codes[event];
        int8_t effect = effects[code];
        if (effect == SPECIAL) {
            w->top = top;
            w->low = low;
            apply_special(w, code);
            top = w->top;
            low = w->low;
            continue;
        }
        stack[top] = code >> 1;
        top += (uint32_t)(int32_t)effect;
        low = top < low ? top : low;
    }
    w->top = top;
    w->low = low;
    return end;
}

static void write_frame(struct writing *w, uint32_t depth)
{
    const struct ttp_symbol *symbols = w->in->order->symbols;
    ttp_instant_write_frame(&w->e, &w->m, depth != 0 ? &symbols[w->stack[depth - 1]] : NULL,
                            symbols[w->stack[depth]]);
}

/* What is left of the stack since the instant before, and what came, before an event. */
static void write_instant(struct writing *w, uint32_t event, bool is_end)
{
    uint32_t kept = w->low < w->height ? w->low : w->height;
    ttp_encode_bit(&w->e, &w->m.has_gap, w->has_gap);
    ttp_encode_number(&w->e, &w->m.left, w->height - kept);
    w->has_gap = false;
    if (is_end)
        return;
    if (w->has_calls_only)
        find_frames(w, event, kept);
    w->since = event;
    w->frame_count += w->top - kept;
    ttp_encode_number(&w->e, &w->m.added, w->top - kept);
    for (uint32_t depth = kept; depth < w->top && w->frame_count <= TTP_INSTANT_FRAMES_MOST;
         depth++)
        write_frame(w, depth);
    w->height = w->low = w->top;
}

/* The least exponent with so few instants. */
static uint32_t choose_exponent(const struct ttp_segment *g, uint32_t most)
{
    uint32_t exponent = 0;
    while (exponent < 63 && (uint64_t)ttp_instant_from(g->end_tick, exponent) -
                                    (uint64_t)ttp_instant_from(g->base_tick, exponent) >
                                most)
        exponent++;
    return exponent;
}

static void write_segment(struct writing *w, uint32_t number)
{
    const struct ttp_order *o = w->in->order;
    const struct ttp_segment *g = &w->in->segments[number];
    uint32_t event = o->segment_start[number], end = o->segment_start[number + 1];
    uint64_t most = (uint64_t)w->in->wanted * g->event_count / o->event_count;
    uint32_t exponent = choose_exponent(g, most != 0 ? (uint32_t)most : 1);
    int64_t tick = g->base_tick;
    w->top = 0;
    for (uint32_t i = o->open_start[number]; i < o->open_start[number + 1]; i++)
        w->stack[w->top++] = o->open[i];
    w->height = w->low = w->top;
    w->has_gap = false;
    w->since = event;
    ttp_encode_number(&w->e, &w->m.exponent, exponent + 1);
    int64_t last = ttp_instant_from(g->end_tick, exponent);
    for (int64_t n = ttp_instant_from(g->base_tick, exponent);
         n < last && w->frame_count <= TTP_INSTANT_FRAMES_MOST; n++) {
        event = pass(w, event, end, (int64_t)((uint64_t)n << exponent), &tick);
        write_instant(w, event, false);
        w->instant_count++;
    }
    (void)pass(w, event, end, INT64_MAX, &tick);
    write_instant(w, end, true);
}

size_t ttp_instants_write(const struct ttp_instants_in *in, struct ttp_workspace workspace,
                          uint8_t *out, size_t out_bytes)
{
    const struct ttp_order *o = in->order;
    struct writing w = {.in = in, .e = ttp_encoder_init(out, out_bytes), .stack = workspace.memory};
    w.effects = (int8_t *)(w.stack + (size_t)o->event_count + o->open_start[o->segment_count] + 1);
    if (!is_told(in) || !make_effects(&w))
        return 0;
    ttp_instant_model_init(&w.m);
    for (uint32_t s = 0; s < o->segment_count && !w.e.full; s++) {
        write_segment(&w, s);
        if (w.instant_count > TTP_INSTANTS_MOST || w.frame_count > TTP_INSTANT_FRAMES_MOST)
            return 0;
    }
    size_t size = ttp_encoder_finish(&w.e);
    return w.e.full ? 0 : size;
}
