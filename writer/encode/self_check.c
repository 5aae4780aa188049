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

/* The stored bytes of a section that is there and not compressed, or none. */
static struct ttp_bytes plain_section(const struct ttp_job *job, uint16_t kind)
{
    size_t offset = job->section_start;
    for (uint32_t i = 0; i < job->head.section_count; i++) {
        const struct ttp_section *section = &job->head.sections[i];
        if (section->kind == kind && section->flags == 0)
            return (struct ttp_bytes){(const uint8_t *)job->payload.data + offset,
                                      section->stored_bytes};
        offset += section->stored_bytes;
    }
    return (struct ttp_bytes){NULL, 0};
}

void ttp_self_check_order(const ttape_writer *w, const struct ttp_job *job,
                          const struct ttp_order *order)
{
    struct ttp_growing codes = {0}, symbols = {0}, workspace = {0};
    ttape_error err = {0};
    const void *primer = job->model != NULL ? job->model->snapshot.data : NULL;
    struct ttp_bytes header = plain_section(job, TTP_SECTION_CHAIN_HEADER);
    struct ttp_bytes data = plain_section(job, TTP_SECTION_CHAIN_DATA);
    struct ttp_bytes raw = plain_section(job, TTP_SECTION_ORDER_RAW);
    size_t need = ttp_chain_decode_workspace(order->event_count, order->symbol_count,
                                             order->open_start[order->segment_count], primer);
    if ((header.data == NULL && raw.data == NULL) ||
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
    ttape_status status = header.data != NULL
                              ? ttp_chain_decode(&out, primer, header, data,
                                                 (struct ttp_workspace){workspace.data, need}, &err)
                              : ttp_raw_order_decode(raw.data, raw.size, &out, &err);
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

static ttape_status decode_times(const struct ttp_job *job, struct ttp_times *out,
                                 struct ttp_workspace ws, bool *checked, ttape_error *err)
{
    struct ttp_bytes fixed = plain_section(job, TTP_SECTION_TIMES_STATIC);
    struct ttp_bytes mixed = plain_section(job, TTP_SECTION_TIMES_MIX);
    struct ttp_bytes phased = plain_section(job, TTP_SECTION_TIMES_PHASE);
    struct ttp_bytes raw = plain_section(job, TTP_SECTION_TIMES_RAW);
    *checked = true;
    if (phased.data != NULL)
        return ttp_time_phase_decode(out, 0, UINT32_MAX, phased, ws, err);
    if (fixed.data != NULL)
        return ttp_time_static_decode(out, 0, UINT32_MAX, fixed, ws, err);
    if (mixed.data != NULL)
        return ttp_time_mix_decode(out, 0, UINT32_MAX, mixed, ws, err);
    if (raw.data != NULL)
        return ttp_raw_times_decode(raw.data, raw.size, out, err);
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
    size_t mixed = ttp_time_phase_decode_workspace(times->event_count, times->symbol_count);
    size_t need = fixed > mixed ? fixed : mixed;
    if (ttp_grow(&w->allocator, &delta, sizeof(uint32_t), times->event_count, &err) != TTAPE_OK ||
        ttp_grow(&w->allocator, &wide, sizeof(int64_t), times->wide_count + 1ull, &err) !=
            TTAPE_OK ||
        ttp_grow(&w->allocator, &workspace, 1, need, &err) != TTAPE_OK)
        goto done;
    struct ttp_times out = *times;
    out.delta = delta.data;
    out.wide = wide.data;
    ttape_status status =
        decode_times(job, &out, (struct ttp_workspace){workspace.data, need}, &checked, &err);
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
