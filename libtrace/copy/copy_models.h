/* The models of copied partitions: which number each has in the scope that it is copied into. */
#ifndef TTP_LIBTRACE_COPY_MODELS_H
#define TTP_LIBTRACE_COPY_MODELS_H

#include "reader/partition/partition_reader.h"
#include "writer/events/copy_writer.h"

/* The number in `to` of the model that a partition names; writes the model where it is not there
 * yet. `known`: struct ttp_copied_model, of this reader and writer, empty at first; its owner frees
 * it. */
struct ttp_copied_model {
    uint32_t index;  /* in the reader's list of models */
    uint32_t number; /* in the writer's scope */
};

ttape_status ttp_copied_model(ttape_writer *writer, struct ttp_trace_decoder *d,
                              struct ttp_scope *to, uint32_t partition, struct ttp_growing *known,
                              uint32_t *number, ttape_error *err);

#endif
