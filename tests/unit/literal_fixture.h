/* Valid random orders for the tests of the literal and raw forms: several segments and stacks,
 * every class. */
#ifndef TTEST_LITERAL_FIXTURE_H
#define TTEST_LITERAL_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "format/order/literal.h"
#include "format/order/order_check.h"
#include "format/order/raw_order.h"

#define TTEST_STACKS 3u
#define TTEST_DEPTH  64u

struct ttest_order {
    struct ttp_order view;
    uint32_t *codes;
    struct ttp_symbol symbols[4096];
    uint32_t segment_start[65], open_start[65], open[4096], open_stack[4096], start_stack[64];
    uint64_t seed;
};

static inline uint32_t ttest_random(struct ttest_order *o, uint32_t below)
{
    o->seed = o->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((o->seed >> 33) % below);
}

static inline uint32_t ttest_symbol(struct ttest_order *o, uint8_t event_class, uint32_t argument)
{
    uint32_t s = 0;

    while (s < o->view.symbol_count &&
           (o->symbols[s].event_class != event_class || o->symbols[s].argument != argument))
        s++;
    if (s == o->view.symbol_count)
        o->symbols[o->view.symbol_count++] = (struct ttp_symbol){argument, event_class};
    return s;
}

struct ttest_stack {
    uint32_t frames[TTEST_DEPTH], depth;
};

/* One random event that the stacks allow. */
static inline uint32_t ttest_event(struct ttest_order *o, struct ttest_stack *stacks,
                                   uint32_t *running)
{
    static const uint8_t push[] = {TTP_CLASS_ENTER, TTP_CLASS_ENTER, TTP_CLASS_OPEN,
                                   TTP_CLASS_SIGNAL};
    struct ttest_stack *s = &stacks[*running];
    uint32_t n, what = ttest_random(o, 100);

    if (what < 45 && s->depth > 0)
        return s->frames[--s->depth] << 1 | 1;
    if (what < 80 && s->depth < TTEST_DEPTH) {
        n = ttest_random(o, 9); /* not as an argument: their order is each compiler's */
        s->frames[s->depth] = ttest_symbol(o, push[ttest_random(o, 4)], n);
        return s->frames[s->depth++] << 1;
    }
    if (what < 84 && s->depth > 0) {
        s->depth -= n = 1 + ttest_random(o, s->depth);
        return ttest_symbol(o, TTP_CLASS_UNWIND, n) << 1;
    }
    if (what < 88 && s->depth > 1) {
        n = 1 + ttest_random(o, s->depth - 1);
        s->depth -= n + 1;
        return ttest_symbol(o, TTP_CLASS_EXIT_ACROSS, n) << 1;
    }
    if (what < 92) {
        *running = ttest_random(o, TTEST_STACKS);
        return ttest_symbol(o, TTP_CLASS_SWITCH, *running) << 1;
    }
    return ttest_symbol(o,
                        what < 94   ? TTP_CLASS_EXIT_UNSEEN
                        : what < 96 ? TTP_CLASS_GAP
                                    : TTP_CLASS_LEAF,
                        ttest_random(o, 100) * 40000000u)
           << 1;
}

/* `loop` > 0: every other stretch repeats its first `loop` events, when they leave the stacks as
 * they were. */
static inline void ttest_segment(struct ttest_order *o, uint32_t first, uint32_t end,
                                 struct ttest_stack *stacks, uint32_t running, uint32_t loop)
{
    for (uint32_t i = first; i < end;) {
        if (loop > 0 && ttest_random(o, 20) == 0 && stacks[running].depth < TTEST_DEPTH) {
            uint32_t body[3];
            body[0] = ttest_symbol(o, TTP_CLASS_ENTER, 100 + ttest_random(o, 4)) << 1;
            body[1] = body[0] | 1;
            body[2] = ttest_symbol(o, TTP_CLASS_LEAF, 200 + ttest_random(o, 4)) << 1;
            uint32_t rounds = ttest_random(o, loop) + 1, length = 2 + ttest_random(o, 2);
            for (; rounds > 0 && end - i >= length; rounds--, i += length)
                memcpy(o->codes + i, body, length * sizeof *body);
            continue;
        }
        o->codes[i++] = ttest_event(o, stacks, &running);
    }
}

static inline struct ttest_order *ttest_order_new(uint64_t seed, uint32_t events, uint32_t segments,
                                                  uint32_t loop)
{
    struct ttest_order *o = calloc(1, sizeof *o);
    struct ttest_stack *stacks = calloc(segments * TTEST_STACKS + 1, sizeof *stacks);
    uint32_t opens = 0;

    o->seed = seed;
    o->codes = malloc((events + 1) * sizeof *o->codes);
    for (uint32_t s = 0; s < segments; s++) {
        o->segment_start[s + 1] =
            s + 1 == segments
                ? events
                : o->segment_start[s] + ttest_random(o, (events - o->segment_start[s]) / 2 + 1);
        o->start_stack[s] = ttest_random(o, TTEST_STACKS);
        for (uint32_t n = ttest_random(o, 8); n > 0; n--) {
            struct ttest_stack *stack =
                &stacks[s * TTEST_STACKS + (o->open_stack[opens] = ttest_random(o, TTEST_STACKS))];
            o->open[opens] = stack->frames[stack->depth++] =
                ttest_symbol(o, TTP_CLASS_ENTER, ttest_random(o, 9));
            opens++;
        }
        o->open_start[s + 1] = opens;
    }
    o->view.given_count = o->view.symbol_count;
    for (uint32_t s = 0; s < segments; s++)
        ttest_segment(o, o->segment_start[s], o->segment_start[s + 1], &stacks[s * TTEST_STACKS],
                      o->start_stack[s], loop);
    free(stacks);
    o->view = (struct ttp_order){o->codes,
                                 o->symbols,
                                 o->segment_start,
                                 o->open_start,
                                 o->open,
                                 o->open_stack,
                                 o->start_stack,
                                 segments == 0 ? 0 : events,
                                 o->view.symbol_count,
                                 o->view.given_count,
                                 segments,
                                 0};
    return o;
}

static inline void ttest_order_free(struct ttest_order *o)
{
    free(o->codes);
    free(o);
}

/* Room for a decoder, exact so that a sanitizer sees one entry over; the given symbols are filled
 * in. */
static inline struct ttp_order_out ttest_out_new(const struct ttp_order *in)
{
    struct ttp_order_out out = {
        .codes = malloc(in->event_count * sizeof(uint32_t) + 1),
        .symbols = malloc(in->symbol_count * sizeof(struct ttp_symbol) + 1),
        .segment_start = in->segment_start,
        .open_start = in->open_start,
        .open = in->open,
        .open_stack = in->open_stack,
        .start_stack = in->start_stack,
        .event_count = in->event_count,
        .symbol_capacity = in->symbol_count,
        .given_count = in->given_count,
        .segment_count = in->segment_count,
    };
    if (in->given_count > 0)
        memcpy(out.symbols, in->symbols, in->given_count * sizeof *out.symbols);
    return out;
}

static inline void ttest_out_free(struct ttp_order_out *out)
{
    free(out->codes);
    free(out->symbols);
}

static inline int ttest_out_equal(const struct ttp_order_out *out, const struct ttp_order *in)
{
    if (out->symbol_count != in->symbol_count)
        return 0;
    for (uint32_t s = 0; s < in->symbol_count; s++)
        if (out->symbols[s].argument != in->symbols[s].argument ||
            out->symbols[s].event_class != in->symbols[s].event_class)
            return 0;
    return in->event_count == 0 ||
           memcmp(out->codes, in->codes, in->event_count * sizeof *in->codes) == 0;
}

static inline ttape_status ttest_check(const struct ttp_order_out *out, ttape_error *err)
{
    size_t bytes = ttp_order_check_workspace(out->event_count, 4096);
    void *ws = malloc(bytes);
    ttape_status status = ttp_order_check(out, ws, bytes, err);
    free(ws);
    return status;
}

#endif
