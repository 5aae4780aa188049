/* Encoding of the mixing time form: one pass counts the symbols, one steps the model. */
#include "format/times/time_mix.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/times/time_mix_model.h"

size_t ttp_time_mix_encode_workspace(uint32_t event_count)
{
    return ttp_mix_bytes(event_count, false);
}

size_t ttp_time_phase_workspace(uint32_t event_count) { return ttp_mix_bytes(event_count, true); }

/* A wide value is 71 raw bits. A path of decisions may cost more than the rest at one event, but
 * adapts long before it costs that at every event; should an input pass this nevertheless,
 * encoding fails. */
size_t ttp_time_mix_encode_bound(uint32_t event_count)
{
    return 1024 + (size_t)ttp_time_mix_block_count(event_count) * TTP_VARINT_MAX +
           (size_t)event_count * 16;
}

uint32_t ttp_time_mix_block_count(uint32_t event_count)
{
    return event_count / TTP_TIME_BLOCK_EVENTS + (event_count % TTP_TIME_BLOCK_EVENTS != 0);
}

/* One pass for what the head needs: the time at every block, and how often each symbol occurs. */
static void write_head(const struct ttp_times *in, struct ttp_writer_cursor *to, uint8_t *length)
{
    uint32_t count[TTP_MIX_SYMBOLS] = {0}, segment = 0, wide = 0;
    uint64_t ticks = 0;

    for (uint32_t i = 0; i < in->event_count; i++) {
        while (segment < in->segment_count && in->segment_start[segment] <= i)
            ticks = in->segment_start[segment++] == i ? 0 : ticks;
        if (i % TTP_TIME_BLOCK_EVENTS == 0 && i != 0)
            ttp_write_svarint(to, (int64_t)ticks);
        count[ttp_tick_symbol(in->delta[i])]++;
        ticks += in->delta[i] != TTP_DELTA_WIDE ? in->delta[i] : (uint64_t)in->wide[wide++];
    }
    for (uint32_t s = 0; s < TTP_MIX_SYMBOLS; s++)
        length[s] = (uint8_t)(count[s] != 0 ? 32 - __builtin_clz(count[s]) : 0);
}

static inline void encode_raw(struct ttp_encoder *e, uint64_t value, unsigned bits)
{
    while (bits-- > 0)
        ttp_encode_with(e, TTP_PROB_HALF, (unsigned)(value >> bits) & 1);
}

/* A wide value: the length of its zigzag number in 7 bits, then its bits. */
static void encode_wide(struct ttp_encoder *e, int64_t value)
{
    uint64_t number = ttp_zigzag(value);
    unsigned bits = number != 0 ? 64 - (unsigned)__builtin_clzll(number) : 0;

    encode_raw(e, bits, 7);
    encode_raw(e, number, bits);
}

/* By value and back, so that the coder's state lives in registers. */
static inline __attribute__((always_inline)) struct ttp_encoder
encode_events(struct ttp_mix *m, const struct ttp_times *in, bool phased, struct ttp_encoder coder)
{
    uint32_t wide = 0;

    for (uint32_t i = 0; i < in->event_count; i++) {
        uint32_t delta = in->delta[i], symbol = ttp_tick_symbol(delta);
        ttp_mix_enter(m, in, i);
        (void)ttp_mix_leaf(m, &coder, NULL, phased, m->leaf_of[symbol]);
        if (symbol != TTP_TICK_ESCAPE) {
            (void)ttp_mix_raw(m, &coder, NULL, phased, symbol, delta - ttp_tick_base(symbol));
        } else {
            struct ttp_encoder e = coder;
            encode_wide(&e, in->wide[wide++]);
            coder = e;
        }
        ttp_mix_leave(m, delta, symbol, 0);
    }
    return coder;
}

/* period: 0 in the form without. */
static ttape_status encode(const struct ttp_times *in, uint32_t period,
                           struct ttp_workspace workspace, struct ttp_buffer *out, ttape_error *err)
{
    uint8_t length[TTP_MIX_SYMBOLS];
    struct ttp_writer_cursor to = ttp_writer_cursor_init(out->data, out->capacity);

    if (in->event_count == 0) {
        out->size = 0;
        return TTAPE_OK;
    }
    struct ttp_mix *m = ttp_mix_init(workspace.memory, workspace.size, in->event_count, period);
    if (m == NULL || out->capacity < ttp_time_mix_encode_bound(in->event_count))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "workspace or output of the mixing time form too small");
    if (period != 0)
        ttp_write8(&to, (uint8_t)period);
    write_head(in, &to, length);
    struct ttp_encoder e = ttp_encoder_init(to.at, (size_t)(to.end - to.at));
    ttp_mix_encode_lengths(&e, length);
    ttp_mix_plant(m, length);
    e = period != 0 ? encode_events(m, in, true, e) : encode_events(m, in, false, e);
    size_t coded = ttp_encoder_finish(&e);
    if (to.full || e.full)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "mixed times of more than 16 bytes an event");
    out->size = ttp_written(&to) + coded;
    return TTAPE_OK;
}

ttape_status ttp_time_mix_encode(const struct ttp_times *in, struct ttp_workspace workspace,
                                 struct ttp_buffer *out, ttape_error *err)
{
    return encode(in, 0, workspace, out, err);
}

ttape_status ttp_time_phase_encode_with(const struct ttp_times *in, uint32_t period,
                                        struct ttp_workspace workspace, struct ttp_buffer *out,
                                        ttape_error *err)
{
    return encode(in, period, workspace, out, err);
}

ttape_status ttp_time_phase_encode(const struct ttp_times *in, struct ttp_workspace workspace,
                                   struct ttp_buffer *out, ttape_error *err)
{
    uint32_t period = ttp_time_phase_find(in);

    if (period == 0 && in->event_count != 0)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET, "times without a period");
    return encode(in, period, workspace, out, err);
}
