/* Which slots (context, state) share a table: k-means under the cost in bits, in integers.
 *
 *   slots ordered by mean symbol, cut into equal shares --> first tables
 *   repeat: each slot moves to the table that codes it in the fewest bits; tables are added up anew
 *   the last rounds also count what the map costs: staying with the predicted table is nearly free
 *
 * Slots are kept as (symbol, weight) pairs whose weights add up to 256 at most, so that costs of
 * 1/16 bit, 255 at most, add up in 16 bits: the inner loop is one multiply-add for eight tables
 * at a time. */
#include "format/times/time_static.h"

#include <string.h>

#define WINDOW     16u  /* tables looked at: they are in the order of means, and stay so nearly */
#define ROUNDS     4u   /* of which the first has no previous choice to stay with */
#define WEIGHT_SUM 256u /* a slot's weights add up to this at most */
#define COST_BIT   16u
#define COST_MAX   255u
#define MAP_CHANGE (5 * COST_BIT) /* cost of a map entry that is not the predicted one */
#define SORT_KEYS  4096u

static uint32_t root(uint32_t x)
{
    uint32_t r = 0;
    for (uint32_t bit = 1u << 15; bit != 0; bit >>= 1)
        if ((uint64_t)(r | bit) * (r | bit) <= x)
            r |= bit;
    return r;
}

static uint32_t slot_events(const struct ttp_sta_clusters *k, uint32_t slot)
{
    return k->slot_start[slot + 1] - k->slot_start[slot];
}

/* One slot's sorted symbols become pairs, written from `to` on; returns their number. A slot of
 * n events makes at most n pairs, so that in the shared buffer writing never overtakes reading. */
static uint32_t make_pairs(const uint8_t *symbols, uint32_t events, uint8_t *to)
{
    uint32_t count[256], pairs = 0;
    if (events == 1) { /* very many slots */
        to[0] = symbols[0];
        to[1] = 1;
        return 1;
    }
    uint8_t low = 255, high = 0;
    memset(count, 0, sizeof(count));
    for (uint32_t i = 0; i < events; i++) {
        uint8_t s = symbols[i];
        count[s]++;
        low = s < low ? s : low;
        high = s > high ? s : high;
    }
    for (uint32_t s = low; s <= high; s++) {
        uint32_t weight =
            events <= WEIGHT_SUM ? count[s] : (uint32_t)((uint64_t)count[s] * WEIGHT_SUM / events);
        if (weight == 0)
            continue;
        weight -= weight == WEIGHT_SUM; /* must fit a byte */
        to[2 * pairs] = (uint8_t)s;
        to[2 * pairs + 1] = (uint8_t)weight;
        pairs++;
    }
    return pairs;
}

static void pair_up(struct ttp_sta_clusters *k, uint32_t slots)
{
    const uint8_t *sorted = k->symbols + k->slot_start[slots];
    uint32_t pairs = 0;
    for (uint32_t slot = 0; slot < slots; slot++) {
        uint32_t events = slot_events(k, slot);
        k->pair_start[slot] = pairs;
        if (events != 0)
            pairs +=
                make_pairs(sorted + k->slot_start[slot], events, k->symbols + 2 * (size_t)pairs);
    }
    k->pair_start[slots] = pairs;
}

static uint32_t mean_key(const struct ttp_sta_clusters *k, uint32_t slot)
{
    uint32_t sum = 0, weights = 0;
    for (uint32_t p = k->pair_start[slot]; p < k->pair_start[slot + 1]; p++) {
        sum += (uint32_t)k->symbols[2 * p] * k->symbols[2 * p + 1];
        weights += k->symbols[2 * p + 1];
    }
    return weights == 0 ? SORT_KEYS - 1 : sum * 16 / weights;
}

/* First choice: slots in the order of their means, in shares of equal weight, where a slot
 * weighs the root of its events. */
static void seed(struct ttp_sta_clusters *k, uint32_t slots)
{
    uint32_t *start =
        &k->count[0][0]; /* room for the sort's keys, free until tables are added up */
    uint64_t all = 0, sum = 0;
    memset(start, 0, (SORT_KEYS + 1) * sizeof(*start));
    for (uint32_t slot = 0; slot < slots; slot++)
        if (slot_events(k, slot) != 0)
            start[mean_key(k, slot) + 1]++;
    for (uint32_t i = 0; i < SORT_KEYS; i++)
        start[i + 1] += start[i];
    uint32_t used = start[SORT_KEYS];
    for (uint32_t slot = 0; slot < slots; slot++)
        if (slot_events(k, slot) != 0) {
            k->order[start[mean_key(k, slot)]++] = slot;
            all += root(slot_events(k, slot));
        }
    for (uint32_t i = 0; i < used; i++) {
        k->map[k->order[i]] = (uint8_t)(sum * k->table_count / all);
        sum += root(slot_events(k, k->order[i]));
    }
}

static void add_up(struct ttp_sta_clusters *k, uint32_t slots)
{
    memset(k->count, 0, sizeof(k->count));
    for (uint32_t slot = 0; slot < slots; slot++) {
        uint32_t events = slot_events(k, slot);
        if (events == 0)
            continue;
        uint32_t *count = k->count[k->map[slot]];
        uint32_t factor =
            events <= WEIGHT_SUM ? 16 : (uint32_t)((uint64_t)events * 16 / WEIGHT_SUM);
        for (uint32_t p = k->pair_start[slot]; p < k->pair_start[slot + 1]; p++)
            count[k->symbols[2 * p]] += k->symbols[2 * p + 1] * factor;
    }
    for (uint32_t t = 0; t < TTP_STA_TABLES_MAX; t++) {
        uint64_t total = 0;
        for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++)
            total += k->count[t][s] + 1;
        uint32_t top = ttp_sta_log256(total);
        for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++) {
            uint32_t bits = (top - ttp_sta_log256((uint64_t)k->count[t][s] + 1) + 8) / 16;
            k->cost[s][t] =
                (uint16_t)(bits < COST_MAX && total > TTP_STA_SYMBOLS ? bits : COST_MAX);
        }
    }
}

/* What the tables from `first` on would cost the slot, in 16ths of a bit, for the slot's
 * weights. */
static void slot_costs(const struct ttp_sta_clusters *k, uint32_t slot, uint32_t first,
                       uint16_t *sum)
{
    uint16_t acc[WINDOW] = {0};
    const uint8_t *pair = k->symbols + 2 * (size_t)k->pair_start[slot];
    const uint8_t *end = k->symbols + 2 * (size_t)k->pair_start[slot + 1];
    for (; pair != end; pair += 2) {
        const uint16_t *cost = k->cost[pair[0]] + first;
        uint16_t weight = pair[1];
        for (uint32_t t = 0; t < WINDOW; t++)
            acc[t] = (uint16_t)(acc[t] + (uint32_t)weight * cost[t]);
    }
    memcpy(sum, acc, sizeof(acc));
}

/* The cheapest table for a slot; `near`: the table that the map's coder expects there. */
static uint8_t choose_cluster(const struct ttp_sta_clusters *k, uint32_t slot, uint32_t near,
                              bool map_costs)
{
    uint16_t sum[WINDOW];
    uint32_t best = 0, events = slot_events(k, slot), now = k->map[slot];
    uint32_t first = now < WINDOW / 2 ? 0 : now - WINDOW / 2;
    first = first < TTP_STA_TABLES_MAX - WINDOW ? first : TTP_STA_TABLES_MAX - WINDOW;
    slot_costs(k, slot, first, sum);
    for (uint32_t t = 1; t < WINDOW && first + t < k->table_count; t++)
        if (sum[t] < sum[best])
            best = t;
    if (!map_costs || near - first >= WINDOW || near >= k->table_count)
        return (uint8_t)(first + best);
    uint64_t gain = (uint64_t)(sum[near - first] - sum[best]);
    if (events > WEIGHT_SUM)
        gain = gain * events / WEIGHT_SUM;
    return (uint8_t)(gain <= MAP_CHANGE ? near : first + best);
}

/* One row; slots without events take what is expected there. */
static void choose_row(struct ttp_sta_clusters *k, uint32_t x, bool map_costs)
{
    uint32_t first = x * k->states;
    uint32_t like = k->contexts->row_like[x] * k->states;
    uint32_t near = TTP_STA_TABLES_MAX, leading = 0;
    for (uint32_t s = 0; s < k->states; s++) {
        if (like != first)
            near = k->map[like + s];
        if (slot_events(k, first + s) != 0) {
            k->map[first + s] = choose_cluster(k, first + s, near, map_costs);
        } else if (near == TTP_STA_TABLES_MAX) {
            leading++;
            continue;
        } else {
            k->map[first + s] = (uint8_t)near;
        }
        near = k->map[first + s];
        for (; leading > 0; leading--)
            k->map[first + s - leading] = (uint8_t)near;
    }
    /* No event of the context is in the sample: it is rare, any table will do. */
    for (uint32_t s = 0; leading > 0 && s < k->states; s++)
        k->map[first + s] = x == 0 ? 0 : k->map[first - 1];
}

void ttp_sta_clusters_find(struct ttp_sta_clusters *k)
{
    uint32_t slots = k->contexts->context_count * k->states;
    pair_up(k, slots);
    seed(k, slots);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        add_up(k, slots);
        for (uint32_t x = 0; x < k->contexts->context_count; x++)
            choose_row(k, x, round > 0);
    }
}
