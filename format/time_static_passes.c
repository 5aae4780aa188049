/* A block's states depend on each other, blocks do not: four are walked side by side, so that one's
 * latency hides behind the others'. Bytes may alias anything, hence the restricted locals. */
#include "format/time_static_passes.h"

#include <string.h>

#define BLOCK TTP_TIME_BLOCK_EVENTS
#define LANES 4u

#define INLINE static inline __attribute__((always_inline))

/* What one event does, apart from moving the state on. */
struct sink {
    uint32_t *restrict count;    /* by slot, or NULL */
    const uint8_t *restrict map; /* with histogram: by slot */
    uint32_t (*restrict histogram)[TTP_STA_SYMBOLS];
};

INLINE void take(const struct sink *sink, uint8_t *restrict choice, uint32_t i, uint32_t slot,
                 uint32_t state, uint32_t symbol)
{
    if (sink->count != NULL) {
        choice[i] = (uint8_t)state;
        sink->count[slot]++;
    } else {
        uint32_t table = sink->map[slot];
        choice[i] = (uint8_t)table;
        sink->histogram[table][symbol]++;
    }
}

/* Walks `lanes` blocks of `length` events that start at `begin`, `apart` events from one to the
 * next. */
INLINE void walk(const struct ttp_sta_pass *pass, const struct sink *to, uint32_t begin,
                 uint32_t apart, uint32_t length, uint32_t lanes, uint32_t rule)
{
    const uint32_t *restrict info = pass->info;
    const uint16_t *restrict node = pass->node;
    const uint8_t *restrict symbol = pass->symbol;
    uint8_t *restrict choice = pass->choice;
    const uint16_t *restrict scale = pass->model->scale;
    const uint8_t *restrict state_of = pass->model->state_of;
    const uint32_t mix = pass->model->mix;
    const struct sink sink = *to;
    struct ttp_sta_state state[LANES];
    for (uint32_t l = 0; l < lanes; l++)
        state[l] = ttp_sta_state_start(rule);
    for (uint32_t k = 0; k < length; k++)
        for (uint32_t l = 0; l < lanes; l++) {
            uint32_t i = begin + l * apart + k, what = info[node[i]], sym = symbol[i];
            uint32_t s = state_of[ttp_sta_state_index(state[l], rule, mix)];
            take(&sink, choice, i, (what >> TTP_STA_INFO_SHIFT) + s, s, sym);
            state[l] = ttp_sta_state_step(state[l], rule, what & TTP_STA_INFO_MEAN, scale[sym]);
        }
}

INLINE void walk_blocks(const struct ttp_sta_pass *pass, const struct sink *sink, uint32_t stride,
                        uint32_t rule)
{
    const uint64_t n = pass->event_count, step = (uint64_t)stride * BLOCK;
    uint64_t begin = 0;
    while (begin + (LANES - 1) * step + BLOCK <= n) {
        walk(pass, sink, (uint32_t)begin, (uint32_t)step, BLOCK, LANES, rule);
        begin += LANES * step;
    }
    for (; begin < n; begin += step)
        walk(pass, sink, (uint32_t)begin, 0, (uint32_t)(n - begin < BLOCK ? n - begin : BLOCK), 1,
             rule);
}

static void walk_all(const struct ttp_sta_pass *pass, const struct sink *sink, uint32_t stride)
{
    struct sink counting = {sink->count, NULL, NULL},
                assigning = {NULL, sink->map, sink->histogram};
    bool phase = pass->model->rule == TTP_STA_RULE_PHASE;
    if (sink->count != NULL && phase)
        walk_blocks(pass, &counting, stride, TTP_STA_RULE_PHASE);
    else if (sink->count != NULL)
        walk_blocks(pass, &counting, stride, TTP_STA_RULE_LOG);
    else if (phase)
        walk_blocks(pass, &assigning, stride, TTP_STA_RULE_PHASE);
    else
        walk_blocks(pass, &assigning, stride, TTP_STA_RULE_LOG);
}

/* A counting sort; `start` is one ahead while it runs, so that it ends as it should begin. */
void ttp_sta_sort_sample(const struct ttp_sta_pass *pass, uint32_t stride, uint32_t slots,
                         uint32_t *start, uint8_t *sorted)
{
    struct sink sink = {start + 2, NULL, NULL};
    memset(start, 0, sizeof(*start) * (slots + 2));
    walk_all(pass, &sink, stride);
    for (uint32_t slot = 0; slot < slots; slot++)
        start[slot + 2] += start[slot + 1];
    const uint32_t *restrict info = pass->info;
    const uint16_t *restrict node = pass->node;
    const uint8_t *restrict symbol = pass->symbol, *restrict choice = pass->choice;
    uint32_t *restrict next = start + 1;
    uint8_t *restrict to = sorted;
    for (uint64_t begin = 0; begin < pass->event_count; begin += (uint64_t)stride * BLOCK) {
        uint64_t left = pass->event_count - begin, end = begin + (left < BLOCK ? left : BLOCK);
        for (uint64_t i = begin; i < end; i++)
            to[next[(info[node[i]] >> TTP_STA_INFO_SHIFT) + choice[i]]++] = symbol[i];
    }
}

void ttp_sta_assign(const struct ttp_sta_pass *pass, uint32_t (*histogram)[TTP_STA_SYMBOLS])
{
    struct sink sink = {NULL, pass->model->map, histogram};
    memset(histogram, 0, sizeof(*histogram) * TTP_STA_TABLES_MAX);
    walk_all(pass, &sink, 1);
}
