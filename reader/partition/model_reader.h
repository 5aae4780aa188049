/* Model chunks: orders that partitions start from. Loaded when a partition names one; the last few
 * are kept. */
#ifndef TTP_READER_MODEL_READER_H
#define TTP_READER_MODEL_READER_H

#include "format/chain/chain_prime.h"
#include "reader/partition/section_reader.h"

/* The model of this number for a partition, decoded: its symbols, and the snapshot to start from.
 * Stays until the next call that
 * loads a model. Errors have file offsets. */
ttape_status ttp_model_get(struct ttp_trace_decoder *d, uint32_t partition, uint32_t number,
                           const struct ttp_loaded **out, ttape_error *err);
/* Index of that model's chunk in r->models. F-MOD-02 when there is none. */
ttape_status ttp_model_find(const ttape_reader *r, uint32_t partition, uint32_t number,
                            uint32_t *index, ttape_error *err);
/* False: it is not known yet. */
bool ttp_model_number(const struct ttp_model_chunk *model, uint32_t *number);
/* Loads r->models[index] now: its bytes will be gone (forward reading), or it is to be verified. */
ttape_status ttp_model_load(struct ttp_trace_decoder *d, uint32_t index, ttape_error *err);
void ttp_models_drop(struct ttp_trace_decoder *d);

#endif
