/* Programs without jumps between functions have hardly any such end, others one behind the other:
 * each bit is predicted by what the event before was. */
#include "format/container/measures/unknown_ends.h"

#include "format/base/coder.h"
#include "format/base/fail.h"

struct ends_models {
    struct ttp_prob is_known[4], is_late[4], is_lost[4]; /* by the kind before */
};

static void models_init(struct ends_models *m)
{
    ttp_prob_init(m->is_known, 4, TTP_PROB_HALF);
    ttp_prob_init(m->is_late, 4, TTP_PROB_HALF);
    ttp_prob_init(m->is_lost, 4, TTP_PROB_HALF);
}

size_t ttp_ends_bound(uint32_t count)
{
    return 64 + (size_t)count * 8; /* three bits at 14 bits each, rounded up */
}

size_t ttp_ends_write(const uint8_t *kinds, uint32_t count, uint8_t *out, size_t out_bytes)
{
    struct ends_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    uint8_t before = TTAPE_UNWIND_LEFT;
    models_init(&m);
    for (uint32_t i = 0; i < count; before = kinds[i++]) {
        ttp_encode_bit(&e, &m.is_known[before], kinds[i] == TTAPE_UNWIND_LEFT);
        if (kinds[i] == TTAPE_UNWIND_LEFT)
            continue;
        ttp_encode_bit(&e, &m.is_late[before], kinds[i] == TTAPE_UNWIND_LATE);
        if (kinds[i] != TTAPE_UNWIND_LATE)
            ttp_encode_bit(&e, &m.is_lost[before], kinds[i] == TTAPE_UNWIND_LOST);
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

ttape_status ttp_ends_read(const uint8_t *data, size_t size_bytes, uint8_t *kinds, uint32_t count,
                           ttape_error *err)
{
    struct ends_models m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    uint8_t before = TTAPE_UNWIND_LEFT;
    models_init(&m);
    for (uint32_t i = 0; i < count; before = kinds[i++]) {
        if (ttp_decode_bit(&d, &m.is_known[before]) != 0)
            kinds[i] = TTAPE_UNWIND_LEFT;
        else if (ttp_decode_bit(&d, &m.is_late[before]) != 0)
            kinds[i] = TTAPE_UNWIND_LATE;
        else
            kinds[i] = ttp_decode_bit(&d, &m.is_lost[before]) != 0 ? TTAPE_UNWIND_LOST
                                                                   : TTAPE_UNWIND_UNSEEN;
        if (ttp_decoder_cut(&d))
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-END-02", size_bytes, "the ends end early");
    }
    return TTAPE_OK;
}
