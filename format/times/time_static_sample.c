/* What the static time encoder decides by looking at every TTP_STA_SAMPLE-th block. Integers only:
 * the choice is in the bytes. */
#include "format/times/time_static_passes.h"

#include <string.h>

#define BLOCK          TTP_TIME_BLOCK_EVENTS
#define SAMPLE_SYMBOLS 8u

/* Slots share counters when there are many. */
uint64_t ttp_sta_sample_bits(const struct ttp_sta_pass *pass, uint16_t *count)
{
    const struct ttp_sta_model *model = pass->model;
    uint32_t buckets = pass->event_count / TTP_STA_SAMPLE, rule = model->rule,
             shift = TTP_STA_INFO_SHIFT;
    uint64_t bits = 0;
    memset(count, 0, (size_t)buckets * SAMPLE_SYMBOLS * sizeof(*count));
    for (uint64_t begin = 0; begin < pass->event_count; begin += (uint64_t)BLOCK * TTP_STA_SAMPLE) {
        struct ttp_sta_state state = ttp_sta_state_start(rule);
        uint64_t left = pass->event_count - begin, end = begin + (left < BLOCK ? left : BLOCK);
        for (uint64_t i = begin; i < end; i++) {
            uint32_t info = pass->info[pass->node[i]], s = pass->symbol[i];
            uint32_t slot = model->state_of[ttp_sta_state_index(state, rule, model->mix)];
            slot = ((info >> shift) + slot) % buckets;
            uint16_t *counter = &count[slot * SAMPLE_SYMBOLS + (s < 7 ? s : 7)];
            *counter = (uint16_t)(*counter + (*counter < UINT16_MAX));
            state = ttp_sta_state_step(state, rule, info & TTP_STA_INFO_MEAN, model->scale[s]);
        }
    }
    for (uint32_t b = 0; b < buckets; b++) {
        uint32_t all = 0;
        for (uint32_t s = 0; s < SAMPLE_SYMBOLS; s++) {
            uint32_t c = count[b * SAMPLE_SYMBOLS + s];
            all += c;
            bits -= c > 1 ? (uint64_t)c * ttp_sta_log256(c) : 0;
            bits += c > 0 ? 2 * 256 : 0; /* what a slot's symbol costs to learn */
        }
        bits += all > 1 ? (uint64_t)all * ttp_sta_log256(all) : 0;
    }
    return bits;
}

/* Best: by the squares that the states explain. */
uint32_t ttp_sta_sample_mix(const struct ttp_sta_pass *pass)
{
    const struct ttp_sta_model *model = pass->model;
    static const uint32_t tried = 3;
    uint64_t best_score = 0;
    uint32_t best = 0, sum[3][TTP_STA_STATE_INDEXES] = {0}, count[3][TTP_STA_STATE_INDEXES] = {0};
    for (uint64_t begin = 0; begin < pass->event_count; begin += (uint64_t)BLOCK * TTP_STA_SAMPLE) {
        struct ttp_sta_state state = ttp_sta_state_start(TTP_STA_RULE_LOG);
        uint64_t left = pass->event_count - begin, end = begin + (left < BLOCK ? left : BLOCK);
        for (uint64_t i = begin; i < end; i++) {
            uint32_t info = pass->info[pass->node[i]], index[3];
            for (uint32_t mix = 0; mix < tried; mix++)
                index[mix] = ttp_sta_state_index(state, TTP_STA_RULE_LOG, mix);
            state = ttp_sta_state_step(state, TTP_STA_RULE_LOG, info & TTP_STA_INFO_MEAN,
                                       model->scale[pass->symbol[i]]);
            for (uint32_t mix = 0; mix < tried; mix++) {
                sum[mix][index[mix]] += state.last;
                count[mix][index[mix]]++;
            }
        }
    }
    for (uint32_t mix = 0; mix < tried; mix++) {
        uint64_t score = 0;
        for (uint32_t i = 0; i < TTP_STA_STATE_INDEXES; i++)
            if (count[mix][i] != 0)
                score += (uint64_t)sum[mix][i] * sum[mix][i] / count[mix][i];
        if (score > best_score) {
            best_score = score;
            best = mix;
        }
    }
    return best;
}
