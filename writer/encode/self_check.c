/* The paired assertion of the writer: what was encoded decodes to the same. Costs as much as
 * reading, so release builds leave it out. Compressed sections are passed over: zstd has its own
 * tests. */
#include "writer/encode/self_check.h"

#ifdef NDEBUG

void ttp_self_check_order(const ttape_writer *w, const struct ttp_job *job,
                          const struct ttp_order *order)
{
    (void)w, (void)job, (void)order;
}

void ttp_self_check_times(const ttape_writer *w, const struct ttp_job *job,
                          const struct ttp_times *times)
{
    (void)w, (void)job, (void)times;
}

#else

#include <assert.h>
#include <string.h>

#include "format/chain/chain_decode.h"
#include "format/order/raw_order.h"
#include "format/times/raw_times.h"
#include "format/times/time_mix.h"
#include "format/times/time_static.h"

/* The stored bytes of a section that is there and not compressed, or NULL. */
static const uint8_t *plain_section(const struct ttp_job *job, uint16_t kind, size_t *size_bytes)
{
    size_t offset = job->section_start;
    for (uint32_t i = 0; i < job->head.section_count; i++) {
        const struct ttp_section *section = &job->head.sections[i];
        if (section->kind == kind) {
            *size_bytes = section->stored_bytes;
            return section->flags == 0 ? (const uint8_t *)job->payload.data + offset : NULL;
        }
        offset += section->stored_bytes;
    }
    return NULL;
}

void ttp_self_check_order(const ttape_writer *w, const struct ttp_job *job,
                          const struct ttp_order *order)
{
    struct ttp_growing codes = {0}, symbols = {0}, workspace = {0};
    ttape_error err = {0};
    size_t header_bytes = 0, data_bytes = 0;
    const void *primer = job->model != NULL ? job->model->snapshot.data : NULL;
    const uint8_t *header = plain_section(job, TTP_SECTION_CHAIN_HEADER, &header_bytes);
    const uint8_t *data = plain_section(job, TTP_SECTION_CHAIN_DATA, &data_bytes);
    const uint8_t *raw = plain_section(job, TTP_SECTION_ORDER_RAW, &data_bytes);
    size_t need = ttp_chain_decode_workspace(order->event_count, order->symbol_count,
                                             order->open_start[order->segment_count], primer);
    if (header != NULL)
        data = plain_section(job, TTP_SECTION_CHAIN_DATA, &data_bytes);
    if ((header == NULL && raw == NULL) ||
        ttp_grow(&w->allocator, &codes, sizeof(uint32_t), order->event_count, &err) != TTAPE_OK ||
        ttp_grow(&w->allocator, &symbols, sizeof(struct ttp_symbol), order->symbol_count, &err) !=
            TTAPE_OK ||
        ttp_grow(&w->allocator, &workspace, 1, need, &err) != TTAPE_OK)
        goto done; /* nothing to check, or no memory to check with */
    memcpy(symbols.data, order->symbols, order->given_count * sizeof(struct ttp_symbol));
    struct ttp_order_out out = {codes.data,         symbols.data,         order->segment_start,
                                order->open_start,  order->open,          order->open_stack,
                                order->start_stack, order->event_count,   order->symbol_count,
                                order->given_count, order->segment_count, 0,
                                order->hash_key};
    ttape_status status = header != NULL
                              ? ttp_chain_decode(&out, primer, header, header_bytes, data,
                                                 data_bytes, workspace.data, need, &err)
                              : ttp_raw_order_decode(raw, data_bytes, &out, &err);
    assert(status == TTAPE_OK);
    assert(out.symbol_count == order->symbol_count);
    assert(memcmp(codes.data, order->codes, order->event_count * sizeof(uint32_t)) == 0);
    for (uint32_t i = 0; i < order->symbol_count; i++) /* not memcmp: the struct has padding */
        assert(out.symbols[i].argument == order->symbols[i].argument &&
               out.symbols[i].event_class == order->symbols[i].event_class);
    (void)status;
done:
    ttp_grown_free(&w->allocator, &codes);
    ttp_grown_free(&w->allocator, &symbols);
    ttp_grown_free(&w->allocator, &workspace);
}

static ttape_status decode_times(const struct ttp_job *job, struct ttp_times *out, void *ws,
                                 size_t ws_bytes, bool *checked, ttape_error *err)
{
    size_t size = 0;
    const uint8_t *data = plain_section(job, TTP_SECTION_TIMES_STATIC, &size);
    *checked = true;
    if (data != NULL)
        return ttp_time_static_decode(out, 0, UINT32_MAX, data, size, ws, ws_bytes, err);
    data = plain_section(job, TTP_SECTION_TIMES_MIX, &size);
    if (data != NULL)
        return ttp_time_mix_decode(out, 0, UINT32_MAX, data, size, ws, ws_bytes, err);
    data = plain_section(job, TTP_SECTION_TIMES_RAW, &size);
    if (data != NULL)
        return ttp_raw_times_decode(data, size, out, err);
    *checked = false;
    return TTAPE_OK;
}

void ttp_self_check_times(const ttape_writer *w, const struct ttp_job *job,
                          const struct ttp_times *times)
{
    struct ttp_growing delta = {0}, wide = {0}, workspace = {0};
    ttape_error err = {0};
    bool checked;
    size_t fixed = ttp_time_static_decode_workspace(times->event_count, times->symbol_count);
    size_t mixed = ttp_time_mix_decode_workspace(times->event_count, times->symbol_count);
    size_t need = fixed > mixed ? fixed : mixed;
    if (ttp_grow(&w->allocator, &delta, sizeof(uint32_t), times->event_count, &err) != TTAPE_OK ||
        ttp_grow(&w->allocator, &wide, sizeof(int64_t), times->wide_count + 1ull, &err) !=
            TTAPE_OK ||
        ttp_grow(&w->allocator, &workspace, 1, need, &err) != TTAPE_OK)
        goto done;
    struct ttp_times out = *times;
    out.delta = delta.data;
    out.wide = wide.data;
    ttape_status status = decode_times(job, &out, workspace.data, need, &checked, &err);
    assert(status == TTAPE_OK);
    if (checked) {
        assert(out.wide_count == times->wide_count);
        assert(memcmp(out.delta, times->delta, times->event_count * sizeof(uint32_t)) == 0);
        assert(times->wide_count == 0 ||
               memcmp(out.wide, times->wide, times->wide_count * sizeof(int64_t)) == 0);
    }
    (void)status;
done:
    ttp_grown_free(&w->allocator, &delta);
    ttp_grown_free(&w->allocator, &wide);
    ttp_grown_free(&w->allocator, &workspace);
}

#endif
