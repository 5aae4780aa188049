/* The model of the static time form: tables of symbol probabilities, the map from (context,
 * state) to a table, the contexts' means; and their compact bytes.
 *
 * One function writes and reads (ttp_sta_model_code), so that both sides agree by construction. */
#include "format/times/time_static.h"

#include <string.h>

/* 2^14 * 2^(j/4), rounded. */
static const uint16_t quarter_power[4] = {16384, 19484, 23170, 27554};

/* 256 * log2(x), within 2: for decisions of the encoder. x >= 1. */
uint32_t ttp_sta_log256(uint64_t x)
{
    uint32_t top = 63u - (uint32_t)__builtin_clzll(x);
    uint32_t f = (uint32_t)(top >= 8 ? x >> (top - 8) : x << (8 - top)) & 255;
    return 256 * top + f + (f * (256 - f) * 22 >> 14);
}

/* T-STA-41: 32 * log2(x), piecewise linear: exact at powers of two, the same integer everywhere.
 * x >= 1. */
static uint32_t log_scale(uint64_t x)
{
    uint32_t top = 63u - (uint32_t)__builtin_clzll(x);
    return TTP_STA_LOG_OCTAVE * top + (uint32_t)((x << 5 >> top) - TTP_STA_LOG_OCTAVE);
}

void ttp_sta_model_init(struct ttp_sta_model *m, uint32_t rule, uint32_t mix)
{
    /* T-STA-42: where the log rule's states begin, in halves of a scale step: -1/2, -1/4, -0.1,
     * 0, ... octaves. */
    static const uint8_t bound[TTP_STA_STATES_LOG - 1] = {16, 32, 42, 48, 54, 64, 80};
    m->rule = rule;
    m->mix = mix;
    m->states = rule == TTP_STA_RULE_PHASE ? TTP_STA_STATES_PHASE : TTP_STA_STATES_LOG;
    for (uint32_t symbol = 0; symbol < TTP_STA_SYMBOLS; symbol++) {
        uint64_t middle = (uint64_t)ttp_tick_base(symbol) + (1u << ttp_tick_raw_bits(symbol) >> 1);
        uint64_t scale = rule == TTP_STA_RULE_PHASE ? middle * TTP_STA_TICK : log_scale(middle + 1);
        m->scale[symbol] = (uint16_t)(scale < TTP_STA_SCALE_MAX ? scale : TTP_STA_SCALE_MAX);
    }
    for (uint32_t i = 0; i < TTP_STA_STATE_INDEXES; i++) {
        uint8_t state = 0;
        while (state < TTP_STA_STATES_LOG - 1 && i >= bound[state])
            state++;
        m->state_of[i] = rule == TTP_STA_RULE_PHASE
                             ? (uint8_t)(i * TTP_STA_STATES_PHASE / TTP_STA_STATE_INDEXES)
                             : state;
    }
}

static uint64_t level_weight(uint32_t level)
{
    return level == 0 ? 0 : (uint64_t)quarter_power[(level - 1) & 3] << ((level - 1) >> 2);
}

void ttp_sta_quantise(const uint32_t *count, uint8_t *level)
{
    uint32_t most = 0;
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++)
        most = count[s] > most ? count[s] : most;
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++) {
        level[s] = 0;
        if (count[s] == 0)
            continue;
        uint32_t down = (ttp_sta_log256(most) - ttp_sta_log256(count[s]) + 32) / 64;
        level[s] = (uint8_t)(down < TTP_STA_LEVEL_MAX ? TTP_STA_LEVEL_MAX - down : 1);
    }
}

/* T-STA-38 */
void ttp_sta_frequencies(const uint8_t *level, uint16_t *frequency)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++)
        sum += level_weight(level[s]);
    int32_t left = TTP_STA_PROB_ONE;
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++) {
        uint32_t f = 0;
        if (level[s] != 0) {
            f = (uint32_t)((level_weight(level[s]) * TTP_STA_PROB_ONE + sum / 2) / sum);
            f += f == 0;
        }
        frequency[s] = (uint16_t)f;
        left -= (int32_t)f;
    }
    /* What rounding left over goes to the most frequent symbol; what it took comes from there
     * too. */
    while (left != 0) {
        uint32_t most = 0;
        for (uint32_t s = 1; s < TTP_STA_SYMBOLS; s++)
            if (frequency[s] > frequency[most])
                most = s;
        int32_t change = left > 0 ? left : -1;
        frequency[most] = (uint16_t)(frequency[most] + change);
        left -= change;
    }
}

/* T-STA-39 */
uint32_t ttp_sta_table_mean(const struct ttp_sta_model *m, const uint8_t *level)
{
    uint64_t weights = 0, sum = 0;
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++) {
        weights += level_weight(level[s]);
        sum += level_weight(level[s]) * m->scale[s];
    }
    uint32_t mean = (uint32_t)((sum + weights / 2) / weights);
    return m->rule == TTP_STA_RULE_PHASE ? mean : (mean + 2) >> 2;
}

/* ---- the coder in both directions ---- */

/* T-STA-33 */
static unsigned code_bit(struct ttp_sta_model_coder *k, struct ttp_prob *prob, unsigned bit)
{
    if (k->decoder != NULL)
        return ttp_decode_bit(k->decoder, prob);
    ttp_encode_bit(k->encoder, prob, bit);
    return bit;
}

/* T-STA-34 */
static uint64_t code_number(struct ttp_sta_model_coder *k, struct ttp_number_model *m,
                            uint64_t value)
{
    if (k->decoder != NULL)
        return ttp_decode_number(k->decoder, m);
    ttp_encode_number(k->encoder, m, value);
    return value;
}

static int32_t code_difference(struct ttp_sta_model_coder *k, uint32_t kind, int32_t value)
{
    if (!code_bit(k, &k->size[kind][0], value != 0))
        return 0;
    unsigned negative = code_bit(k, &k->sign[kind], value < 0);
    int32_t size = value < 0 ? -value : value, n = 1;
    while (n < (int32_t)TTP_STA_LEVEL_MAX && code_bit(k, &k->size[kind][n < 15 ? n : 15], n < size))
        n++;
    return negative ? -n : n;
}

/* T-STA-35: one table's levels, predicted from the symbol before (and the table before, where
 * that one is empty). Symbols after the last used one are not there. */
static bool code_table(struct ttp_sta_model_coder *k, uint8_t *level, const uint8_t *before)
{
    uint32_t last = TTP_STA_SYMBOLS - 1;
    while (k->decoder == NULL && level[last] == 0)
        last--;
    uint64_t given = code_number(k, &k->last, last);
    if (given >= TTP_STA_SYMBOLS)
        return false;
    last = (uint32_t)given;
    uint32_t one = 0, two = 0; /* levels of the last symbol and of the one before that */
    for (uint32_t s = 0; s <= last; s++) {
        uint32_t above = before != NULL ? before[s] : 0, now = level[s];
        uint32_t zero = (one != 0) | (uint32_t)(two != 0) << 1 | (uint32_t)(above != 0) << 2;
        if (s == last || code_bit(k, &k->zero[zero], now != 0)) {
            uint32_t guess = one != 0 ? one : two != 0 ? two : above != 0 ? above : 20;
            uint32_t kind = one != 0 && two != 0 ? 0 : one != 0 ? 1 : 2;
            now = guess + (uint32_t)code_difference(k, kind, (int32_t)(now - guess));
            if (now - 1 >= TTP_STA_LEVEL_MAX)
                return false;
        } else {
            now = 0;
        }
        level[s] = (uint8_t)now;
        two = one;
        one = now;
    }
    memset(level + last + 1, 0, TTP_STA_SYMBOLS - 1 - last);
    return true;
}

/* A table number, given the number `near` (TTP_STA_TABLES_MAX: none) that it is not, or may be. */
static uint32_t code_choice(struct ttp_sta_model_coder *k, uint32_t near, uint32_t tables,
                            uint32_t value)
{
    unsigned bits = 0;
    while ((1u << bits) < tables)
        bits++;
    uint32_t node = 1;
    for (unsigned i = bits; i-- > 0;)
        node = node << 1 | code_bit(k, &k->tree[near][node], (value >> i) & 1);
    return node - (1u << bits);
}

/* T-STA-36 */
static bool code_row(struct ttp_sta_model_coder *k, const struct ttp_sta_model *m, uint8_t *row,
                     const uint8_t *like)
{
    uint32_t near = like != NULL ? like[0] : TTP_STA_TABLES_MAX;
    unsigned whole = 0;
    if (like != NULL) {
        whole = k->decoder == NULL && memcmp(row, like, m->states) == 0;
        whole = code_bit(k, &k->same[0], whole);
        if (whole) {
            if (k->decoder != NULL)
                memcpy(row, like, m->states);
            return true;
        }
    }
    unsigned same = 1;
    for (uint32_t s = 0; s < m->states; s++) {
        if (like != NULL)
            near = like[s];
        struct ttp_prob *prob = &k->same[(like != NULL ? 2 : 4) + same];
        same = near < TTP_STA_TABLES_MAX && code_bit(k, prob, row[s] == near);
        uint32_t table = same ? near : code_choice(k, near, m->table_count, row[s]);
        if (table >= m->table_count)
            return false;
        row[s] = (uint8_t)table;
        near = table;
    }
    return true;
}

/* T-STA-37 */
static bool code_mean(struct ttp_sta_model_coder *k, struct ttp_sta_model *m, uint32_t x)
{
    const uint8_t *row = m->map + (size_t)x * m->states;
    int64_t guess = k->table_mean[row[m->states / 2]];
    uint64_t mean = ttp_zigzag((int64_t)m->mean[x] - guess);
    mean = (uint64_t)guess + (uint64_t)ttp_unzigzag(code_number(k, &k->mean, mean));
    if (mean > (m->rule == TTP_STA_RULE_PHASE ? TTP_STA_SCALE_MAX : TTP_STA_SCALE_MAX / 4))
        return false;
    m->mean[x] = (uint16_t)mean;
    return true;
}

bool ttp_sta_model_code(struct ttp_sta_model_coder *k, struct ttp_sta_model *m,
                        const struct ttp_sta_contexts *c)
{
    ttp_prob_init(&k->tree[0][0], sizeof(k->tree) / sizeof(struct ttp_prob), TTP_PROB_HALF);
    ttp_prob_init(k->same, 6, TTP_PROB_HALF);
    ttp_prob_init(k->zero, 8, TTP_PROB_HALF);
    ttp_prob_init(k->sign, 3, TTP_PROB_HALF);
    ttp_prob_init(&k->size[0][0], 3 * 16, TTP_PROB_HALF);
    ttp_number_init(&k->last);
    ttp_number_init(&k->mean);
    for (uint32_t t = 0; t < m->table_count; t++) {
        if (!code_table(k, m->level[t], t > 0 ? m->level[t - 1] : NULL))
            return false;
        k->table_mean[t] = ttp_sta_table_mean(m, m->level[t]);
    }
    for (uint32_t x = 0; x < c->context_count; x++) {
        uint8_t *row = m->map + (size_t)x * m->states;
        const uint8_t *like =
            c->row_like[x] != x ? m->map + (size_t)c->row_like[x] * m->states : NULL;
        if (!code_row(k, m, row, like))
            return false;
        if (c->mean_of[x] != x)
            m->mean[x] = m->mean[c->mean_of[x]];
        else if (!code_mean(k, m, x))
            return false;
    }
    return true;
}
