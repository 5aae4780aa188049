/* Model chunks: every so many partitions, one partition's order becomes what the next ones start
 * from (F-MOD-01).
 *
 *   partition 0 ----> its segments, chain header and chain data, copied: the model chunk
 *        |                    |
 *     decoded again       partitions 1 .. period - 1 name it: they begin with its symbols,
 *        |                chains and records
 *        +---> snapshot for the encoder
 *
 * Partitions in flight read the snapshot, so that it changes only when none are. */
#include <string.h>

#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/chain/chain_prime.h"
#include "writer/writer_internal.h"

#define MODEL_SECTIONS 3u

bool ttp_model_due(const ttape_writer *w, const struct ttp_pending *p)
{
    if (w->options.literal || w->options.level <= TTAPE_LEVEL_FAST ||
        w->options.model_period == UINT32_MAX)
        return false;
    return w->model.scope != p->scope || w->model.age >= w->options.model_period;
}

ttape_status ttp_scope_add_model(ttape_writer *w, struct ttp_scope *scope,
                                 struct ttp_scope_model *model, ttape_error *err)
{
    const struct ttp_scope_model *known = scope->models.data;
    bool taken = model->number == TTP_NO_MODEL;
    for (size_t i = 0; i < scope->models.count && !taken; i++)
        taken = known[i].number == model->number;
    for (uint32_t free = (uint32_t)scope->models.count; taken; free++) {
        model->number = free;
        taken = false;
        for (size_t i = 0; i < scope->models.count && !taken; i++)
            taken = known[i].number == free;
    }
    struct ttp_scope_model *slot = ttp_push(&w->allocator, &scope->models, sizeof *slot, err);
    if (slot == NULL)
        return TTAPE_E_MEMORY;
    *slot = *model;
    return TTAPE_OK;
}

static const struct ttp_section *stored_section(const struct ttp_job *job, uint16_t kind,
                                                size_t *offset)
{
    *offset = ttp_partition_head_bytes(job->head.section_count);
    for (uint32_t i = 0; i < job->head.section_count; i++) {
        if (job->head.sections[i].kind == kind)
            return &job->head.sections[i];
        *offset += job->head.sections[i].stored_bytes;
    }
    return NULL;
}

/* The model chunk's payload: a partition's, without times and with the sections of its order only.
 */
static ttape_status build_payload(ttape_writer *w, const struct ttp_job *job, ttape_error *err)
{
    static const uint16_t kinds[MODEL_SECTIONS] = {TTP_SECTION_SEGMENTS, TTP_SECTION_CHAIN_HEADER,
                                                   TTP_SECTION_CHAIN_DATA};
    struct ttp_model *m = &w->model;
    struct ttp_partition_head head = {.section_count = MODEL_SECTIONS,
                                      .event_count = job->head.event_count,
                                      .segment_count = job->head.segment_count,
                                      .symbol_count = job->head.symbol_count,
                                      .given_count = job->head.given_count,
                                      .model = m->number,
                                      .start_frame_count = job->head.start_frame_count,
                                      .gap_count = job->head.gap_count,
                                      .lost_count = job->head.lost_count};
    size_t bytes = ttp_partition_head_bytes(MODEL_SECTIONS), offset;
    for (uint32_t i = 0; i < MODEL_SECTIONS; i++) {
        head.sections[i] = *stored_section(job, kinds[i], &offset);
        bytes += head.sections[i].stored_bytes;
    }
    m->payload.count = 0;
    TTP_TRY(ttp_grow(&w->allocator, &m->payload, 1, bytes, err));
    uint8_t *to = m->payload.data;
    ttp_partition_head_write(&head, to);
    to += ttp_partition_head_bytes(MODEL_SECTIONS);
    for (uint32_t i = 0; i < MODEL_SECTIONS; i++) {
        const struct ttp_section *section = stored_section(job, kinds[i], &offset);
        memcpy(to, (const uint8_t *)job->payload.data + offset, section->stored_bytes);
        to += section->stored_bytes;
    }
    m->payload.count = bytes;
    return TTAPE_OK;
}

/* Learns what a reader of the model chunk learns, by decoding it. */
static ttape_status build_snapshot(ttape_writer *w, struct ttp_job *job, ttape_error *err)
{
    struct ttp_model *m = &w->model;
    const struct ttp_partition_head *head = &job->head;
    size_t header_at, data_at;
    const struct ttp_section *header = stored_section(job, TTP_SECTION_CHAIN_HEADER, &header_at);
    const struct ttp_section *data = stored_section(job, TTP_SECTION_CHAIN_DATA, &data_at);
    size_t need =
        ttp_chain_prime_workspace(head->event_count, head->symbol_count, head->start_frame_count);
    size_t capacity = ttp_chain_prime_capacity(head->event_count, head->symbol_count);
    m->snapshot.count = 0;
    TTP_TRY(ttp_grow(&w->allocator, &job->workspace, 1, need, err));
    TTP_TRY(ttp_grow(&w->allocator, &job->gathered, sizeof(uint32_t), head->event_count, err));
    TTP_TRY(ttp_grow(&w->allocator, &m->snapshot, 1, capacity, err));
    struct ttp_order_out out = {
        job->gathered.data, job->symbols.data,    job->segment_start.data, job->open_start.data,
        job->open.data,     job->open_stack.data, job->start_stack.data,   head->event_count,
        head->symbol_count, head->given_count,    head->segment_count,     0,
        w->hash_key};
    const uint8_t *payload = job->payload.data;
    struct ttp_buffer snapshot = {m->snapshot.data, capacity, 0};
    TTP_TRY(ttp_chain_prime(&out, (struct ttp_bytes){payload + header_at, header->stored_bytes},
                            (struct ttp_bytes){payload + data_at, data->stored_bytes},
                            (struct ttp_workspace){job->workspace.data, need}, &snapshot, err));
    m->snapshot.count = snapshot.size;
    m->symbols.count = 0;
    return ttp_push_bytes(&w->allocator, &m->symbols, job->scope_symbols.data,
                          head->symbol_count * sizeof(uint32_t), err);
}

ttape_status ttp_model_take(ttape_writer *w, struct ttp_job *job, ttape_error *err)
{
    struct ttp_model *m = &w->model;
    size_t offset;
    m->scope = job->pending.scope;
    m->age = 0;
    m->ready = m->written = false;
    if (stored_section(job, TTP_SECTION_CHAIN_HEADER, &offset) == NULL)
        return TTAPE_OK; /* raw order: nothing to learn from, try again after a period */
    struct ttp_scope_model own = {.number = w->model_count++};
    TTP_TRY(ttp_scope_add_model(w, m->scope, &own, err));
    m->number = own.number;
    TTP_TRY(build_payload(w, job, err));
    TTP_TRY(build_snapshot(w, job, err));
    m->ready = true;
    return TTAPE_OK;
}

ttape_status ttp_model_emit(ttape_writer *w, ttape_error *err)
{
    struct ttp_model *m = &w->model;
    if (m->written)
        return TTAPE_OK;
    struct ttp_chunk chunk = {.kind = TTP_CHUNK_MODEL,
                              .flags = TTP_FLAG_CRITICAL,
                              .scope = m->scope->number,
                              .stored_bytes = m->payload.count,
                              .content_bytes = m->payload.count};
    m->written = true;
    return ttp_emit_chunk(w, &chunk, m->payload.data, err);
}

void ttp_model_free(ttape_writer *w)
{
    ttp_grown_free(&w->allocator, &w->model.snapshot);
    ttp_grown_free(&w->allocator, &w->model.payload);
    ttp_grown_free(&w->allocator, &w->model.symbols);
}
