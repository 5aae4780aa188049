/* Makes orders for the tests of the full-form order codec: calls, garbage of all classes, open
 * frames. */
#ifndef TTEST_CHAIN_ORDERS_H
#define TTEST_CHAIN_ORDERS_H

#include <stdlib.h>
#include <string.h>

#include "format/order/order.h"

enum { ARGUMENTS = 512, STACKS = 24 };

/* An order under construction. */
struct made {
    uint32_t *codes, *segment_start, *open_start, *open, *open_stack, *start_stack;
    struct ttp_symbol *symbols;
    uint32_t events, symbol_count, segments, opens, given;
    uint32_t map[TTP_CLASS_COUNT][ARGUMENTS]; /* symbol + 1 */
    uint32_t *stack[STACKS];
    uint32_t depth[STACKS], current;
    uint64_t seed;
};

static uint32_t rnd(struct made *m, uint32_t below)
{
    m->seed = m->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((m->seed >> 33) % below);
}

static struct made *made_new(uint32_t events, uint32_t segments, uint64_t seed)
{
    struct made *m = calloc(1, sizeof *m);
    m->codes = calloc(events + 1, sizeof *m->codes);
    m->symbols = calloc(TTP_CLASS_COUNT * ARGUMENTS, sizeof *m->symbols);
    m->segment_start = calloc(segments + 1, sizeof *m->segment_start);
    m->open_start = calloc(segments + 1, sizeof *m->open_start);
    m->start_stack = calloc(segments + 1, sizeof *m->start_stack);
    m->open = calloc(segments * 64 + 1, sizeof *m->open);
    m->open_stack = calloc(segments * 64 + 1, sizeof *m->open_stack);
    for (int i = 0; i < STACKS; i++)
        m->stack[i] = calloc(events + 65, sizeof **m->stack);
    m->seed = seed;
    return m;
}

static void made_free(struct made *m)
{
    for (int i = 0; i < STACKS; i++)
        free(m->stack[i]);
    free(m->codes);
    free(m->symbols);
    free(m->segment_start);
    free(m->open_start);
    free(m->start_stack);
    free(m->open);
    free(m->open_stack);
    free(m);
}

static uint32_t symbol_of(struct made *m, uint8_t event_class, uint32_t argument)
{
    uint32_t *at = &m->map[event_class][argument];
    if (*at == 0) {
        m->symbols[m->symbol_count] = (struct ttp_symbol){argument, event_class};
        *at = ++m->symbol_count;
    }
    return *at - 1;
}

/* Adds one event with its effect on the stacks. */
static void add(struct made *m, uint8_t event_class, uint32_t argument)
{
    uint32_t symbol = symbol_of(m, event_class, argument), *depth = &m->depth[m->current];
    m->codes[m->events++] = symbol << 1;
    if (ttp_class_pushes(event_class))
        m->stack[m->current][(*depth)++] = symbol;
    else if (event_class == TTP_CLASS_UNWIND)
        *depth -= *depth < argument ? *depth : argument;
    else if (event_class == TTP_CLASS_EXIT_ACROSS)
        *depth -= *depth < argument + 1 ? *depth : argument + 1;
    else if (event_class == TTP_CLASS_SWITCH)
        m->current = argument;
}

static bool add_close(struct made *m)
{
    uint32_t *depth = &m->depth[m->current];
    if (*depth == 0)
        return false;
    m->codes[m->events++] = m->stack[m->current][--*depth] << 1 | 1;
    return true;
}

/* All segments' open frames come before any event: their symbols are the given ones. */
static void add_open(struct made *m, uint32_t stack, uint32_t symbol)
{
    m->open[m->opens] = symbol;
    m->open_stack[m->opens++] = stack;
}

static void start_segment(struct made *m)
{
    uint32_t s = m->segments;
    memset(m->depth, 0, sizeof m->depth);
    for (uint32_t i = m->open_start[s]; i < m->open_start[s + 1]; i++)
        m->stack[m->open_stack[i]][m->depth[m->open_stack[i]]++] = m->open[i];
    m->current = m->start_stack[s];
}

static void end_segment(struct made *m) { m->segment_start[++m->segments] = m->events; }

static struct ttp_order order_of(const struct made *m)
{
    return (struct ttp_order){m->codes,        m->symbols,    m->segment_start, m->open_start,
                              m->open,         m->open_stack, m->start_stack,   m->events,
                              m->symbol_count, m->given,      m->segments,      0};
}

/* Calls along a random call graph: each function has a few callees, loops and leaves. */
static void nested(struct made *m, uint32_t events, uint32_t functions)
{
    uint32_t end = m->events + events;
    while (m->events < end) {
        uint32_t depth = m->depth[m->current], top = depth ? m->stack[m->current][depth - 1] : 0;
        uint32_t r = rnd(m, 100);
        if (r < 42 && depth < 40)
            add(m, TTP_CLASS_ENTER, (top * 7 + rnd(m, 4) * (1 + top % 5)) % functions);
        else if (r < 55)
            add(m, TTP_CLASS_LEAF, (top + rnd(m, 3)) % functions);
        else if (r == 55)
            add(m, TTP_CLASS_GAP, rnd(m, 3));
        else if (r == 56)
            add(m, TTP_CLASS_SIGNAL, rnd(m, 32));
        else if (!add_close(m))
            add(m, TTP_CLASS_ENTER, rnd(m, functions));
    }
}

/* Any class at any time. */
static void garbage(struct made *m, uint32_t events)
{
    static const uint32_t arguments[TTP_CLASS_COUNT] = {200, 200, 50, 30, 50, 6, 6, STACKS, 4};
    for (uint32_t i = 0; i < events; i++) {
        uint8_t event_class = (uint8_t)rnd(m, TTP_CLASS_COUNT);
        uint32_t argument = rnd(m, arguments[event_class]);
        if (event_class == TTP_CLASS_UNWIND || event_class == TTP_CLASS_EXIT_ACROSS)
            argument++;
        if (rnd(m, 3) != 0 || !add_close(m))
            add(m, event_class, argument);
    }
}

#endif
