/* The passes over all events of the static time encoder, each one tight loop: machine states,
 * sorting by slot, tables. */
#ifndef TTP_FORMAT_TIME_STATIC_PASSES_H
#define TTP_FORMAT_TIME_STATIC_PASSES_H

#include "format/times/time_static.h"

struct ttp_sta_pass {
    const struct ttp_sta_model *model;
    const uint32_t *info;  /* by node */
    const uint16_t *node;  /* by event */
    const uint8_t *symbol; /* by event */
    uint8_t *choice;       /* by event */
    uint32_t event_count;
};

#define TTP_STA_SAMPLE 8u /* every so many blocks are looked at to choose rule and mix */

/* Events of every stride-th block, sorted by slot: sorted[start[slot] .. start[slot + 1]) are its
 * symbols. `start` has slots + 2 entries; choice becomes their states. */
void ttp_sta_sort_sample(const struct ttp_sta_pass *pass, uint32_t stride, uint32_t slots,
                         uint32_t *start, uint8_t *sorted);

/* Bits that a sample of small symbols would take if every slot had a table of its own: tells which
 * rule serves better. `count` is scratch of 2 bytes an event; there are at least TTP_STA_SAMPLE of
 * them. */
uint64_t ttp_sta_sample_bits(const struct ttp_sta_pass *pass, uint16_t *count);

/* How much the last residual should count against the running mean differs from program to
 * program: the mix of the log rule whose states tell residuals apart best. */
uint32_t ttp_sta_sample_mix(const struct ttp_sta_pass *pass);

/* choice[i] becomes event i's table, by the model's map; histogram[table][symbol] counts them. Of
 * the sample, whose `stride` is given again, choice still has the states. */
void ttp_sta_assign(const struct ttp_sta_pass *pass, uint32_t stride,
                    uint32_t (*histogram)[TTP_STA_SYMBOLS]);

#endif
