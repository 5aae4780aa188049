/* What encoder and decoder of merged instants know alike. */
#ifndef TTP_FORMAT_MERGED_MODEL_H
#define TTP_FORMAT_MERGED_MODEL_H

#include "format/levels/instants_model.h"
#include "format/levels/merged.h"

struct ttp_merged_model {
    struct ttp_number_model untold, count, height;
    struct ttp_signed_model first;
};

static inline void ttp_merged_model_init(struct ttp_merged_model *m)
{
    ttp_number_init(&m->untold);
    ttp_number_init(&m->count);
    ttp_number_init(&m->height);
    ttp_signed_init(&m->first);
}

/* Places of a stream. */
static inline uint32_t ttp_merged_count_of(const struct ttp_merged_series *series,
                                           uint32_t series_count, uint32_t one, uint32_t ref_count)
{
    uint32_t end = one + 1 < series_count ? series[one + 1].first_ref : ref_count;
    return end - series[one].first_ref;
}

#endif
