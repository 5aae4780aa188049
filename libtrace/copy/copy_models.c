/* Copies models with the partitions that name them. Numbers of models are those of the file that
 * they come from: two pieces of one trace both start at 0, and mean different models.
 *
 *   payload without its number --> in the scope already (another piece had it): that number
 *                              --> its own number, where the scope has no model of that number
 *                              --> the next free one; the head says so then, and so must the heads
 *                                  of the partitions that name it */
#include "libtrace/copy/copy_models.h"

#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/container/partition.h"

/* Newest first: neighbouring partitions name the same model. */
static bool is_known(const struct ttp_growing *known, uint32_t index, uint32_t *number)
{
    const struct ttp_copied_model *models = known->data;
    for (size_t i = known->count; i-- > 0;)
        if (models[i].index == index) {
            *number = models[i].number;
            return true;
        }
    return false;
}

/* A model that is the same in all but its number. */
static bool is_stored(const struct ttp_scope *to, const struct ttp_scope_model *model,
                      uint32_t *number)
{
    const struct ttp_scope_model *stored = to->models.data;
    for (size_t i = 0; i < to->models.count; i++)
        if (stored[i].hash == model->hash && stored[i].bytes == model->bytes) {
            *number = stored[i].number;
            return true;
        }
    return false;
}

static ttape_status store(ttape_writer *w, struct ttp_scope *to, const struct ttp_chunk *chunk,
                          uint8_t *payload, uint32_t *number, ttape_error *err)
{
    struct ttp_partition_head head;
    TTP_TRY(ttp_partition_head_read(payload, (size_t)chunk->stored_bytes, chunk->stored_bytes,
                                    &head, err));
    struct ttp_scope_model model = {.number = head.model, .bytes = chunk->stored_bytes};
    head.model = 0;
    ttp_partition_head_write(&head, payload);
    model.hash = ttp_checksum(payload, (size_t)chunk->stored_bytes);
    if (is_stored(to, &model, number))
        return TTAPE_OK;
    TTP_TRY(ttp_scope_add_model(w, to, &model, err));
    head.model = *number = model.number;
    ttp_partition_head_write(&head, payload);
    return ttp_writer_stored_model(w, to, chunk, payload, err);
}

ttape_status ttp_copied_model(ttape_writer *w, struct ttp_trace_decoder *d, struct ttp_scope *to,
                              uint32_t partition, struct ttp_growing *known, uint32_t *number,
                              ttape_error *err)
{
    struct ttp_chunk chunk;
    uint8_t *payload;
    uint32_t index;
    TTP_TRY(ttp_payload_find_model(d, partition, &index, err));
    if (is_known(known, index, number))
        return TTAPE_OK;
    TTP_TRY(ttp_payload_read_model(d, index, &chunk, &payload, err));
    ttape_status status = store(w, to, &chunk, payload, number, err);
    ttp_payload_free(d, payload, &chunk);
    TTP_TRY(status);
    struct ttp_copied_model *slot = ttp_push(&w->allocator, known, sizeof *slot, err);
    if (slot == NULL)
        return TTAPE_E_MEMORY;
    *slot = (struct ttp_copied_model){index, *number};
    return TTAPE_OK;
}
