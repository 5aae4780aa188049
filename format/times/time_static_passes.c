/* A block's states depend on each other, blocks do not: some are walked side by side, so that one's
 * latency hides behind the others'. Bytes may alias anything, hence the restricted locals; rule and
 * mix are constants of each copy of the loop, hence the inlining. */
#include "format/times/time_static_passes.h"

#include <string.h>

#define BLOCK TTP_TIME_BLOCK_EVENTS
#define LANES 2u

#define INLINE static inline __attribute__((always_inline))

/* What one event does, apart from moving the state on: count its slot, or take its table. */
struct sink {
    uint32_t *count;                        /* by slot, or NULL */
    const uint8_t *map;                     /* with histogram: by slot */
    uint32_t (*histogram)[TTP_STA_SYMBOLS]; /* by table */
};

/* Of `stride` blocks that of the number `first`, and so on. */
struct blocks {
    uint32_t first, stride;
};

INLINE struct ttp_sta_state take(const struct ttp_sta_pass *pass, const struct sink *to, uint32_t i,
                                 struct ttp_sta_state state, uint32_t rule, uint32_t mix)
{
    uint32_t what = pass->info[pass->node[i]], symbol = pass->symbol[i];
    uint32_t s = pass->model->state_of[ttp_sta_state_index(state, rule, mix)];
    uint32_t slot = (what >> TTP_STA_INFO_SHIFT) + s;
    if (to->count != NULL) {
        pass->choice[i] = (uint8_t)s;
        to->count[slot]++;
    } else {
        uint32_t table = to->map[slot];
        pass->choice[i] = (uint8_t)table;
        to->histogram[table][symbol]++;
    }
    return ttp_sta_state_step(state, rule, what & TTP_STA_INFO_MEAN, pass->model->scale[symbol]);
}

/* Walks `lanes` blocks of `length` events that start at `begin`, `apart` events from one to the
 * next. */
INLINE void walk(const struct ttp_sta_pass *from, const struct sink *to, uint32_t begin,
                 uint32_t apart, uint32_t length, uint32_t lanes, uint32_t rule, uint32_t mix)
{
    const uint32_t *restrict info = from->info;
    const uint16_t *restrict node = from->node;
    const uint8_t *restrict symbol = from->symbol;
    uint8_t *restrict choice = from->choice;
    const struct ttp_sta_model *restrict model = from->model;
    uint32_t *restrict count = to->count;
    const uint8_t *restrict map = to->map;
    uint32_t(*restrict histogram)[TTP_STA_SYMBOLS] = to->histogram;
    const struct ttp_sta_pass pass = {model, info, node, symbol, choice, 0};
    const struct sink sink = {count, map, histogram};
    struct ttp_sta_state a = ttp_sta_state_start(rule), b = a;
    for (uint32_t i = begin, end = begin + length; i < end; i++) {
        a = take(&pass, &sink, i, a, rule, mix);
        if (lanes == LANES)
            b = take(&pass, &sink, i + apart, b, rule, mix);
    }
}

INLINE void walk_blocks(const struct ttp_sta_pass *pass, const struct sink *sink,
                        struct blocks which, uint32_t rule, uint32_t mix)
{
    const uint64_t n = pass->event_count, step = (uint64_t)which.stride * BLOCK;
    uint64_t begin = (uint64_t)which.first * BLOCK;
    while (begin + (LANES - 1) * step + BLOCK <= n) {
        walk(pass, sink, (uint32_t)begin, (uint32_t)step, BLOCK, LANES, rule, mix);
        begin += LANES * step;
    }
    for (; begin < n; begin += step)
        walk(pass, sink, (uint32_t)begin, 0, (uint32_t)(n - begin < BLOCK ? n - begin : BLOCK), 1,
             rule, mix);
}

INLINE void walk_all(const struct ttp_sta_pass *pass, const struct sink *sink, struct blocks which)
{
    if (pass->model->rule == TTP_STA_RULE_PHASE)
        walk_blocks(pass, sink, which, TTP_STA_RULE_PHASE, 0);
    else if (pass->model->mix == 0)
        walk_blocks(pass, sink, which, TTP_STA_RULE_LOG, 0);
    else if (pass->model->mix == 1)
        walk_blocks(pass, sink, which, TTP_STA_RULE_LOG, 1);
    else
        walk_blocks(pass, sink, which, TTP_STA_RULE_LOG, pass->model->mix);
}

/* A counting sort; `start` is one ahead while it runs, so that it ends as it should begin. */
void ttp_sta_sort_sample(const struct ttp_sta_pass *pass, uint32_t stride, uint32_t slots,
                         uint32_t *start, uint8_t *sorted)
{
    struct sink counting = {start + 2, NULL, NULL};
    memset(start, 0, sizeof(*start) * (slots + 2));
    walk_all(pass, &counting, (struct blocks){0, stride});
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

/* The events of a block whose states are known. */
static void assign_known(const struct ttp_sta_pass *pass, const struct sink *to, uint32_t begin,
                         uint32_t end)
{
    const uint32_t *restrict info = pass->info;
    const uint16_t *restrict node = pass->node;
    const uint8_t *restrict symbol = pass->symbol, *restrict map = to->map;
    uint8_t *restrict choice = pass->choice;
    uint32_t(*restrict histogram)[TTP_STA_SYMBOLS] = to->histogram;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t table = map[(info[node[i]] >> TTP_STA_INFO_SHIFT) + choice[i]];
        choice[i] = (uint8_t)table;
        histogram[table][symbol[i]]++;
    }
}

void ttp_sta_assign(const struct ttp_sta_pass *pass, uint32_t stride,
                    uint32_t (*histogram)[TTP_STA_SYMBOLS])
{
    const uint64_t n = pass->event_count;
    struct sink assigning = {NULL, pass->model->map, histogram};
    memset(histogram, 0, sizeof(*histogram) * TTP_STA_TABLES_MAX);
    for (uint64_t begin = 0; begin < n; begin += (uint64_t)stride * BLOCK)
        assign_known(pass, &assigning, (uint32_t)begin,
                     (uint32_t)(begin + BLOCK < n ? begin + BLOCK : n));
    for (uint32_t first = 1; first < stride; first++)
        walk_all(pass, &assigning, (struct blocks){first, stride});
}
