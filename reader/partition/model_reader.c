/* A model is stored as a partition without times (F-MOD-01), and decoded as one; what stays is the
 * coder's state behind its last event. Its number is in its head alone, so it is learnt when it is
 * asked for. */
#include "reader/partition/model_reader.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "reader/partition/partition_decoder.h"

static void drop_model(struct ttp_trace_decoder *d, struct ttp_loaded *p)
{
    if (p == NULL)
        return;
    d->kept_model_bytes -= p->used_bytes;
    ttp_memory_give(&d->memory, p->snapshot, p->snapshot_capacity, 1);
    ttp_loaded_drop(d, p, 0);
    ttp_memory_give(&d->memory, p, 1, sizeof *p);
}

static void drop_oldest(struct ttp_trace_decoder *d)
{
    drop_model(d, d->kept_models[--d->kept_model_count]);
}

void ttp_models_drop(struct ttp_trace_decoder *d)
{
    while (d->kept_model_count > 0)
        drop_oldest(d);
}

static ttape_status bad_model(uint64_t offset, const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, "F-MOD-01", offset, "%s", what);
}

static ttape_status read_chunk(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                               const struct ttp_model_chunk *model, ttape_error *err)
{
    struct ttp_chunk chunk;
    p->payload_offset = model->offset + TTP_CHUNK_HEADER_BYTES;
    p->scope = model->scope;
    p->light_bytes = model->stored_bytes + TTP_CHUNK_HEADER_BYTES;
    p->light = ttp_memory_take(&d->memory, p->light_bytes, 1, err);
    if (p->light == NULL)
        return d->memory.status;
    TTP_TRY(ttp_source_read(&d->reader->source, model->offset, p->light, p->light_bytes, err));
    TTP_TRY(ttp_chunk_read(p->light, model->offset, &chunk, err));
    const uint8_t *payload = p->light + TTP_CHUNK_HEADER_BYTES;
    if (chunk.kind != TTP_CHUNK_MODEL || chunk.scope != model->scope ||
        chunk.sequence != model->sequence || chunk.stored_bytes != model->stored_bytes)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-IDX-08", model->offset,
                        "index names a model that is not there");
    if (chunk.flags & TTP_FLAG_ZSTD)
        return bad_model(model->offset, "model is compressed as a whole", err);
    if (ttp_checksum(payload, model->stored_bytes) != chunk.payload_hash)
        return ttp_fail(err, TTAPE_E_CHECKSUM, "F-CHK-03", p->payload_offset,
                        "checksum of a model chunk does not match");
    ttape_status status =
        ttp_partition_head_read(payload, model->stored_bytes, model->stored_bytes, &p->head, err);
    if (status != TTAPE_OK)
        ttp_error_rebase(err, p->payload_offset);
    return status;
}

/* The order's sections, and what they need: frames with nothing known of times. */
static ttape_status read_segments(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                  ttape_error *err)
{
    const struct ttp_partition_head *head = &p->head;
    if (head->section_count != 3 || head->sections[0].kind != TTP_SECTION_SEGMENTS ||
        head->sections[1].kind != TTP_SECTION_CHAIN_HEADER ||
        head->sections[2].kind != TTP_SECTION_CHAIN_DATA || head->resolution_ns != 0)
        return bad_model(p->payload_offset, "model has other sections than its three", err);
    return ttp_loaded_read_segments(d, p, err);
}

/* Codes are only needed while the snapshot is made. */
static ttape_status decode_model(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 const struct ttp_model_chunk *model, ttape_error *err)
{
    TTP_TRY(read_chunk(d, p, model, err));
    if (p->head.event_count > d->reader->limits.partition_events)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-PAR-05", p->payload_offset,
                        "model has %u events, more than the limit of %u", p->head.event_count,
                        d->reader->limits.partition_events);
    TTP_TRY(read_segments(d, p, err));
    TTP_TRY(ttp_loaded_read_order(d, p, err));
    ttp_memory_give(&d->memory, p->codes, p->head.event_count, sizeof *p->codes);
    p->codes = NULL;
    return TTAPE_OK;
}

static void set_number(struct ttp_model_chunk *model, uint32_t number)
{
    atomic_store_explicit(&model->number_and_one, number + UINT64_C(1), memory_order_relaxed);
}

bool ttp_model_number(const struct ttp_model_chunk *model, uint32_t *number)
{
    uint64_t known = atomic_load_explicit(&model->number_and_one, memory_order_relaxed);
    *number = (uint32_t)(known - 1);
    return known != 0;
}

ttape_status ttp_model_load(struct ttp_trace_decoder *d, uint32_t index, ttape_error *err)
{
    for (;;) {
        uint64_t before = d->memory.used_bytes;
        struct ttp_loaded *p = ttp_memory_take(&d->memory, 1, sizeof *p, err);
        ttape_status status = d->memory.status;
        if (p != NULL) {
            *p = (struct ttp_loaded){.is_model = true, .partition = index};
            status = decode_model(d, p, &d->reader->models[index], err);
        }
        if (status == TTAPE_OK) {
            p->used_bytes = d->memory.used_bytes - before;
            if (d->kept_model_count == TTP_KEPT_MODELS)
                drop_oldest(d);
            memmove(d->kept_models + 1, d->kept_models,
                    d->kept_model_count * sizeof *d->kept_models);
            d->kept_models[0] = p;
            d->kept_model_count++;
            d->kept_model_bytes += p->used_bytes;
            set_number(&d->reader->models[index], p->head.model);
            return TTAPE_OK;
        }
        drop_model(d, p);
        if (status != TTAPE_E_LIMIT || d->kept_model_count == 0)
            return status;
        drop_oldest(d);
    }
}

/* Reads a model's number out of its head; what cannot be read has none. */
static ttape_status learn_number(const ttape_reader *r, struct ttp_model_chunk *model,
                                 uint32_t *number, ttape_error *err)
{
    uint8_t head[TTP_HEAD_BYTES];
    if (ttp_model_number(model, number))
        return TTAPE_OK;
    *number = TTP_NO_MODEL;
    if (model->stored_bytes >= sizeof head) {
        TTP_TRY(ttp_source_read(&r->source, model->offset + TTP_CHUNK_HEADER_BYTES, head,
                                sizeof head, err));
        *number = ttp_load32(head + TTP_HEAD_MODEL_AT);
    }
    set_number(model, *number);
    return TTAPE_OK;
}

ttape_status ttp_model_find(const ttape_reader *r, uint32_t partition, uint32_t number,
                            uint32_t *index, ttape_error *err)
{
    for (uint32_t i = r->model_count; i-- > 0;) {
        struct ttp_model_chunk *model = &r->models[i];
        if (model->scope != r->partitions[partition].scope ||
            model->sequence > r->partitions[partition].sequence)
            continue;
        uint32_t found;
        TTP_TRY(learn_number(r, model, &found, err));
        if (found == number && number != TTP_NO_MODEL) {
            *index = i;
            return TTAPE_OK;
        }
    }
    return ttp_fail(err, TTAPE_E_CORRUPT, "F-MOD-02", r->partitions[partition].offset,
                    "partition names model '%u', which is not there", number);
}

ttape_status ttp_model_get(struct ttp_trace_decoder *d, uint32_t partition, uint32_t number,
                           const struct ttp_loaded **out, ttape_error *err)
{
    uint32_t index, at = 0;
    TTP_TRY(ttp_model_find(d->reader, partition, number, &index, err));
    while (at < d->kept_model_count && d->kept_models[at]->partition != index)
        at++;
    if (at == d->kept_model_count) {
        TTP_TRY(ttp_model_load(d, index, err));
    } else if (at != 0) {
        struct ttp_loaded *p = d->kept_models[at];
        memmove(d->kept_models + 1, d->kept_models, at * sizeof *d->kept_models);
        d->kept_models[0] = p;
    }
    *out = d->kept_models[0];
    return TTAPE_OK;
}
