/* A function that calls nothing spent all of its longest call itself, and one that was called once
 * all that it has: nearly half of all rows take a fraction of a bit. */
#include "format/container/measures/own_times.h"

#include "format/base/coder.h"
#include "format/base/fail.h"

struct own_models {
    struct ttp_prob is_bound[2]; /* by whether the site called nothing */
    struct ttp_signed_model largest;
};

static void models_init(struct own_models *m)
{
    ttp_prob_init(m->is_bound, 2, TTP_PROB_HALF);
    ttp_signed_init(&m->largest);
}

/* What one frame may have had for itself, as the summary knows it. */
static int64_t bound_of(const struct ttp_measure *row)
{
    return row->self_ticks < row->max_ticks ? row->self_ticks : row->max_ticks;
}

size_t ttp_own_times_bound(uint32_t row_count)
{
    return 64 + (size_t)row_count * 256; /* 2 x 63 bits at 14 bits each, rounded up */
}

size_t ttp_own_times_write(const struct ttp_measure *rows, uint32_t row_count, uint8_t *out,
                           size_t out_bytes)
{
    struct own_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    models_init(&m);
    for (uint32_t i = 0; i < row_count; i++) {
        if (rows[i].exit_count == 0)
            continue;
        bool is_bound = rows[i].max_self_ticks == bound_of(&rows[i]);
        ttp_encode_bit(&e, &m.is_bound[rows[i].self_ticks == rows[i].total_ticks], is_bound);
        if (!is_bound)
            ttp_encode_signed(&e, &m.largest, rows[i].max_self_ticks);
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

ttape_status ttp_own_times_read(const uint8_t *data, size_t size_bytes, struct ttp_measure *rows,
                                uint32_t row_count, ttape_error *err)
{
    struct own_models m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    models_init(&m);
    for (uint32_t i = 0; i < row_count; i++) {
        if (rows[i].exit_count == 0)
            continue;
        rows[i].max_self_ticks =
            ttp_decode_bit(&d, &m.is_bound[rows[i].self_ticks == rows[i].total_ticks])
                ? bound_of(&rows[i])
                : ttp_decode_signed(&d, &m.largest);
        if (ttp_decoder_cut(&d))
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-OWN-02", size_bytes,
                            "the own times end early");
    }
    return TTAPE_OK;
}
