/* The parts of the mixing time form's model that run once per partition or once per event. */
#include "format/times/time_mix_model.h"

#include <string.h>

#include "format/base/bytes.h"

#define ALIGNMENT 64u

struct shape {
    unsigned slot_bits, cell_bits, refine_bits;
};

/* T-MIX-12. Small partitions get small tables: clearing them must not cost more than coding. */
static struct shape shape_for(uint32_t event_count, bool phased)
{
    unsigned log = 0;
    struct shape shape;

    while (log < 32 && (uint64_t)1 << log < event_count)
        log++;
    unsigned most = log <= 20 ? TTP_MIX_SLOT_BITS_BIG : log - 1;
    most = most < TTP_MIX_SLOT_BITS_MAX ? most : TTP_MIX_SLOT_BITS_MAX;
    if (phased && most < TTP_MIX_SLOT_BITS_PHASED)
        most = TTP_MIX_SLOT_BITS_PHASED;
    shape.slot_bits = log + 3 < most ? log + 3 : most;
    if (shape.slot_bits < TTP_MIX_SLOT_BITS_MIN)
        shape.slot_bits = TTP_MIX_SLOT_BITS_MIN;
    shape.cell_bits = shape.slot_bits - 3;
    if (shape.cell_bits > TTP_MIX_CELL_BITS_MAX)
        shape.cell_bits = TTP_MIX_CELL_BITS_MAX;
    shape.refine_bits = shape.slot_bits - TTP_MIX_SLOT_BITS_MIN;
    if (shape.refine_bits > TTP_MIX_REFINE_BITS)
        shape.refine_bits = TTP_MIX_REFINE_BITS;
    return shape;
}

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static size_t slot_bytes(struct shape shape) { return sizeof(uint16_t) << shape.slot_bits; }

static size_t cell_bytes(struct shape shape)
{
    return sizeof(struct ttp_mix_cell) << shape.cell_bits;
}

static size_t refine_bytes(struct shape shape)
{
    return rounded((sizeof(uint16_t) * TTP_MIX_SYMBOLS * TTP_MIX_KNOTS) << shape.refine_bits);
}

size_t ttp_mix_bytes(uint32_t event_count, bool phased)
{
    struct shape shape = shape_for(event_count, phased);
    return ALIGNMENT - 1 + rounded(sizeof(struct ttp_mix)) + refine_bytes(shape) +
           3 * cell_bytes(shape) + TTP_MIX_CONTEXTS * slot_bytes(shape);
}

/* T-MIX-11. squash(x) = 65536 / (1 + e^(-x/256)), the exponential by repeated multiplication: the
 * same integers everywhere. stretch is its inverse. */
static void fill_functions(struct ttp_mix *m)
{
    uint64_t power = (uint64_t)1 << 32;

    for (int x = 0; x < 2048; x++) {
        uint32_t p = (uint32_t)(((uint64_t)1 << 48) / (((uint64_t)1 << 32) + power));
        m->squash[2048 + x] = (uint16_t)p;
        m->squash[2048 - x] = (uint16_t)(65536 - p);
        power = (power * UINT64_C(4278222805)) >> 32; /* e^(-1/256) in 2^32nds, rounded */
    }
    m->squash[0] = m->squash[1];
    m->stretch[0] = 0; /* never hit: no opinion */
    int x = -TTP_MIX_STRETCH_MAX;
    for (int p = 1; p < 2048; p++) {
        while (x < TTP_MIX_STRETCH_MAX && m->squash[2048 + x] < 32 * p)
            x++;
        m->stretch[p] = (int16_t)x;
    }
    for (unsigned hits = 0; hits <= TTP_MIX_COUNT_MAX; hits++)
        m->rate[hits] = (uint16_t)(131072 / (2 * hits + 3));
}

/* All weights but the nodes', and the densities. */
static void start_weights(struct ttp_mix *m, uint32_t period)
{
    for (uint32_t i = 0; i < 8u << TTP_MIX_REFINE_BITS; i++)
        for (unsigned k = 0; k < TTP_MIX_INPUTS_MOST; k++)
            m->kind_weight[i][k] = TTP_MIX_WEIGHT_START;
    m->period = period;
    for (uint32_t i = 0; i < period; i++)
        m->density[i] = TTP_MIX_PHASE_START;
}

struct ttp_mix *ttp_mix_init(void *workspace, size_t workspace_bytes, uint32_t event_count,
                             uint32_t period)
{
    struct shape shape = shape_for(event_count, period != 0);

    if (workspace_bytes < ttp_mix_bytes(event_count, period != 0))
        return NULL;
    uint8_t *at = workspace;
    at += (ALIGNMENT - (uintptr_t)at % ALIGNMENT) % ALIGNMENT;
    struct ttp_mix *m = (struct ttp_mix *)(void *)at;
    memset(m, 0, sizeof *m);
    at += rounded(sizeof *m);
    m->refine = (uint16_t *)(void *)at;
    at += refine_bytes(shape);
    struct ttp_mix_cell *cells = (struct ttp_mix_cell *)(void *)at;
    size_t zeros = 3 * cell_bytes(shape) + TTP_MIX_CONTEXTS * slot_bytes(shape);
    memset(at, 0, zeros);
    m->edges = cells;
    m->threes = cells + ((size_t)1 << shape.cell_bits);
    m->sixes = cells + ((size_t)2 << shape.cell_bits);
    at += 3 * cell_bytes(shape);
    for (unsigned k = 0; k < TTP_MIX_CONTEXTS; k++, at += slot_bytes(shape))
        m->slots[k] = (uint16_t *)(void *)at;
    m->slot_shift = 32 - (shape.slot_bits - 3);
    m->cell_shift = 32 - shape.cell_bits;
    m->refine_bits = shape.refine_bits;
    m->state = 64 * TTP_MIX_CLIP;
    m->overall = 8 * 6 * 256;
    start_weights(m, period);
    fill_functions(m);
    return m;
}

/* ---- the lengths (T-MIX-06) ---- */

void ttp_mix_encode_lengths(struct ttp_encoder *e, const uint8_t *length)
{
    struct ttp_number_model model[2];
    int before = 0;

    ttp_number_init(&model[0]);
    ttp_number_init(&model[1]);
    for (uint32_t s = 0; s < TTP_MIX_SYMBOLS; s++) {
        ttp_encode_number(e, &model[before != 0], ttp_zigzag(length[s] - before));
        before = length[s];
    }
}

bool ttp_mix_decode_lengths(struct ttp_decoder *d, uint8_t *length)
{
    struct ttp_number_model model[2];
    int64_t before = 0;
    bool any = false;

    ttp_number_init(&model[0]);
    ttp_number_init(&model[1]);
    for (uint32_t s = 0; s < TTP_MIX_SYMBOLS; s++) {
        uint64_t step = ttp_decode_number(d, &model[before != 0]);
        if (step > 2 * TTP_MIX_LENGTH_MAX)
            return false;
        before += ttp_unzigzag(step);
        if (before < 0 || before > (int64_t)TTP_MIX_LENGTH_MAX)
            return false;
        length[s] = (uint8_t)before;
        any = any || before != 0;
    }
    return any;
}

/* ---- the tree (T-MIX-07) ---- */

/* The leaf between from + 1 and to - 1 at which the sums on both sides differ least. */
static uint32_t best_split(const uint64_t *sum, uint32_t from, uint32_t to)
{
    uint32_t best = from + 1;
    uint64_t least = UINT64_MAX;

    for (uint32_t at = from + 1; at < to; at++) {
        uint64_t left = sum[at] - sum[from], right = sum[to] - sum[at];
        uint64_t apart = left < right ? right - left : left - right;
        if (apart < least) {
            least = apart;
            best = at;
        }
    }
    return best;
}

static void start_node(struct ttp_mix *m, const uint64_t *sum, uint32_t node, uint32_t from,
                       uint32_t to)
{
    uint64_t right = sum[to] - sum[m->node[node].split];
    uint32_t p = (uint32_t)(2048 * right / (sum[to] - sum[from]));

    p = p < 1 ? 1 : p > 2047 ? 2047 : p;
    m->own[node] = (uint16_t)(p << 5 | 6);
    for (unsigned k = 0; k < TTP_MIX_INPUTS_MOST; k++)
        m->weight[node][k] = TTP_MIX_WEIGHT_START;
    uint16_t *knot = m->refine + ((size_t)node << m->refine_bits) * TTP_MIX_KNOTS;
    for (unsigned j = 0; j < TTP_MIX_KNOTS; j++)
        knot[j] = m->squash[j < 32 ? 128 * j : 4095];
    for (unsigned kind = 1; kind < 1u << m->refine_bits; kind++)
        memcpy(knot + (size_t)kind * TTP_MIX_KNOTS, knot, TTP_MIX_KNOTS * sizeof *knot);
}

/* The node's differences; a wide one has no place among them. */
static void measure_node(struct ttp_mix *m, uint32_t node, uint32_t from, uint32_t to)
{
    uint32_t last = m->leaf_symbol[to - 1];

    m->low[node] = ttp_tick_base(m->leaf_symbol[from]);
    m->middle[node] = ttp_tick_base(m->leaf_symbol[m->node[node].split]);
    m->high[node] = last < 224 ? ttp_tick_base(last) + (1u << ttp_tick_raw_bits(last)) : UINT32_MAX;
}

void ttp_mix_plant(struct ttp_mix *m, const uint8_t *length)
{
    uint64_t sum[TTP_MIX_SYMBOLS + 1] = {0};
    uint16_t from[TTP_MIX_SYMBOLS], to[TTP_MIX_SYMBOLS];
    uint32_t leaves = 0, made = 1, groups = 1;

    for (uint32_t s = 0; s < TTP_MIX_SYMBOLS; s++) {
        if (length[s] == 0)
            continue;
        m->leaf_of[s] = (uint8_t)leaves;
        m->leaf_symbol[leaves] = (uint8_t)s;
        sum[leaves + 1] = sum[leaves] + ((uint64_t)1 << length[s]);
        leaves++;
    }
    m->leaf_count = leaves;
    m->node_count = leaves - 1;
    from[0] = 0;
    to[0] = (uint16_t)leaves;
    m->node[0].index = 1;
    /* Level by level: nodes made are the queue of nodes to split. */
    for (uint32_t i = 0; i < m->node_count; i++) {
        struct ttp_mix_node *n = &m->node[i];
        n->split = (uint16_t)best_split(sum, from[i], to[i]);
        start_node(m, sum, i, from[i], to[i]);
        measure_node(m, i, from[i], to[i]);
        for (unsigned side = 0; side < 2; side++) {
            uint16_t low = side ? n->split : from[i], high = side ? to[i] : n->split;
            if (high - low == 1) {
                n->child[side] = (uint16_t)(m->node_count + low);
                continue;
            }
            struct ttp_mix_node *child = &m->node[made];
            n->child[side] = (uint16_t)made;
            child->depth = (uint8_t)(n->depth + (n->depth < 7));
            child->index = (uint8_t)(n->index < 4 ? 2 * n->index + side : 1);
            child->group = (uint8_t)(n->index < 4 ? n->group : groups++);
            child->mask = child->group * UINT32_C(0x9E3779B1);
            from[made] = low;
            to[made] = high;
            made++;
        }
    }
}

/* ---- contexts (T-MIX-13 to T-MIX-15) ---- */

static inline uint32_t scatter(uint32_t x)
{
    x ^= x >> 15;
    x *= UINT32_C(0x2C1B3C6D);
    x ^= x >> 12;
    x *= UINT32_C(0x297A2D39);
    return x ^ x >> 15;
}

static inline uint32_t extend(uint32_t hash, uint32_t value)
{
    return scatter((hash + value) * UINT32_C(0x9E3779B1));
}

static void go_to_segment(struct ttp_mix *m, const struct ttp_times *times, uint32_t i)
{
    while (m->segment < times->segment_count && times->segment_start[m->segment] <= i) {
        if (times->segment_start[m->segment] == i) {
            memset(m->code, 0, sizeof m->code);
            m->path = 0;
            m->ticks = 0;
            m->phase = 0;
        }
        m->segment++;
    }
}

static void enter_phase(struct ttp_mix *m)
{
    uint32_t sum = 0, at = m->phase;

    for (uint32_t i = 0; i < m->period; i++) {
        m->mass[i] = sum;
        sum += m->density[at];
        at = at + 1 < m->period ? at + 1 : 0;
    }
    m->mass[m->period] = sum;
}

void ttp_mix_enter(struct ttp_mix *m, const struct ttp_times *times, uint32_t i)
{
    go_to_segment(m, times, i);
    if (m->period != 0)
        enter_phase(m);
    memmove(m->code + 1, m->code, sizeof m->code - sizeof m->code[0]);
    m->code[0] = times->codes[i] + 1;
    uint32_t end = times->event_count;
    if (m->segment < times->segment_count && times->segment_start[m->segment] < end)
        end = times->segment_start[m->segment];
    uint32_t next[3];
    for (uint32_t k = 0; k < 3; k++)
        next[k] = end - i > k + 1 ? times->codes[i + k + 1] + 1 : 0;
    m->path = m->path * UINT32_C(0xDC39AC98) + m->code[0] * UINT32_C(0x9E3779B1);

    uint32_t edge = extend(m->code[0], m->code[1] * UINT32_C(0x85EBCA6B));
    uint32_t edge_next = extend(edge, next[0]);
    uint32_t three = extend(edge_next, m->code[2]);
    uint32_t six = extend(three, m->code[3] + m->code[4] * UINT32_C(0x85EBCA6B) +
                                     m->code[5] * UINT32_C(0xC2B2AE35));
    uint32_t ahead = next[0] + next[1] * UINT32_C(0x85EBCA6B) + next[2] * UINT32_C(0xC2B2AE35);
    m->edge = &m->edges[edge >> m->cell_shift];
    m->three = &m->threes[three >> m->cell_shift];
    m->six = &m->sixes[six >> m->cell_shift];
    m->edge_mean = m->edge->count != 0 ? m->edge->mean : m->overall;
    m->three_mean = m->three->count != 0 ? m->three->mean : m->edge_mean;
    m->six_mean = m->six->count != 0 ? m->six->mean : m->three_mean;

    uint32_t state = m->state >> 9;
    state = state < 48 ? 0 : state > 79 ? 31 : state - 48;
    uint32_t deviation = m->three->count != 0 ? m->three->deviation >> 6 : 4;
    deviation = deviation < 15 ? deviation : 15;
    m->kind = edge & ((1u << m->refine_bits) - 1);
    m->key[0] = edge_next;
    m->key[1] = extend(edge, 0x1000 + m->symbol);
    m->key[2] = extend(edge, 0x2000 + state);
    m->key[3] = scatter(0x3000000 + (m->three_mean >> 6 << 8) + state);
    m->key[4] = scatter(0x4000000 + m->three->last * 256u + m->six->last);
    m->key[5] = scatter(0x5000000 + m->six->last * 256u + m->six->before);
    m->key[6] = scatter(0x6000000 + ((m->six_mean + m->state / 8) >> 5 << 4) + deviation);
    m->key[7] = extend(six + 0x7000000, next[1]);
    m->key[8] = extend(extend(m->path, 0x8000000), ahead);
}

static void learn_mean(struct ttp_mix_cell *cell, uint32_t log, unsigned slowest)
{
    unsigned k = cell->count < slowest ? cell->count : slowest;

    cell->mean = (uint16_t)((cell->mean * ((1u << k) - 1) + 8 * log + (1u << k >> 1)) >> k);
    cell->count = (uint8_t)(cell->count + (cell->count < 255));
}

/* T-MIX-26 */
static void leave_phase(struct ttp_mix *m, uint32_t delta)
{
    m->phase = (uint32_t)(((uint64_t)m->phase + delta) % m->period);
    for (uint32_t i = 0; i < m->period; i++)
        m->density[i] -= m->density[i] >> TTP_MIX_PHASE_SHIFT;
    m->density[m->phase] += m->period * TTP_MIX_PHASE_START >> TTP_MIX_PHASE_SHIFT;
}

void ttp_mix_leave(struct ttp_mix *m, uint32_t delta, uint32_t symbol, uint64_t ticks)
{
    uint32_t log = ttp_mix_log(delta);
    int32_t residual = m->edge->count != 0 ? (int32_t)log - (int32_t)(m->edge_mean >> 3) : 0;
    int32_t away = (int32_t)log - (int32_t)(m->three_mean >> 3);

    residual = residual > TTP_MIX_CLIP    ? TTP_MIX_CLIP
               : residual < -TTP_MIX_CLIP ? -TTP_MIX_CLIP
                                          : residual;
    m->state = m->state - (m->state >> 3) + 8 * (uint32_t)(residual + TTP_MIX_CLIP);
    away = away < 0 ? -away : away;
    away = away < 1024 ? away : 1024;
    uint32_t deviation = m->three->count != 0 ? m->three->deviation : 256;
    m->three->deviation = (uint16_t)((7 * deviation + 8 * (uint32_t)away + 4) >> 3);
    learn_mean(m->edge, log, 4);
    learn_mean(m->three, log, 3);
    learn_mean(m->six, log, 3);
    m->three->last = (uint8_t)symbol;
    m->six->before = m->six->last;
    m->six->last = (uint8_t)symbol;
    m->overall = (15 * m->overall + 8 * log + 8) >> 4;
    m->symbol = symbol;
    m->ticks += ticks;
    if (m->period != 0 && delta != TTP_DELTA_WIDE)
        leave_phase(m, delta);
}
