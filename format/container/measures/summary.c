/* Summary rows. What other fields imply is not stored: one exit gives min, max and squares, two
 * give the squares. */
#include "format/container/measures/summary.h"

#include "format/base/coder.h"
#include "format/base/fail.h"
#include "format/base/wide.h"

struct summary_models {
    struct ttp_number_model site, calls, squares_high, squares_middle, squares_low;
    struct ttp_signed_model exits, self, total, min, max;
};

#define SQUARES_PART_BITS 43 /* 128 bits in three numbers that the coder takes */
#define SQUARES_PART_MASK ((1ull << SQUARES_PART_BITS) - 1)
/* where the highest of them begins in the upper half */
#define SQUARES_HIGH_SHIFT (2 * SQUARES_PART_BITS - 64)

static void models_init(struct summary_models *m)
{
    ttp_number_init(&m->site);
    ttp_number_init(&m->calls);
    ttp_number_init(&m->squares_high);
    ttp_number_init(&m->squares_middle);
    ttp_number_init(&m->squares_low);
    ttp_signed_init(&m->exits);
    ttp_signed_init(&m->self);
    ttp_signed_init(&m->total);
    ttp_signed_init(&m->min);
    ttp_signed_init(&m->max);
}

size_t ttp_summary_bound(uint32_t row_count)
{
    return 64 + (size_t)row_count *
                    2560; /* ten numbers of at most 2 x 63 bits at 14 bits each, rounded up */
}

static void write_squares(struct ttp_encoder *e, struct summary_models *m,
                          const struct ttp_measure *row)
{
    uint64_t low = row->squares.low, high = row->squares.high;
    ttp_encode_number(e, &m->squares_high, high >> SQUARES_HIGH_SHIFT);
    ttp_encode_number(e, &m->squares_middle,
                      (high << (64 - SQUARES_PART_BITS) | low >> SQUARES_PART_BITS) &
                          SQUARES_PART_MASK);
    ttp_encode_number(e, &m->squares_low, low & SQUARES_PART_MASK);
}

static void write_times(struct ttp_encoder *e, struct summary_models *m,
                        const struct ttp_measure *row)
{
    ttp_encode_signed(e, &m->self, row->self_ticks);
    ttp_encode_signed(e, &m->total,
                      (int64_t)((uint64_t)row->total_ticks - (uint64_t)row->self_ticks));
    if (row->exit_count == 0)
        return;
    ttp_encode_signed(e, &m->max, row->max_ticks);
    if (row->exit_count == 1)
        return;
    ttp_encode_signed(e, &m->min, row->min_ticks);
    if (row->exit_count > 2)
        write_squares(e, m, row);
}

size_t ttp_summary_write(const struct ttp_measure *rows, uint32_t row_count, bool timed,
                         uint8_t *out, size_t out_bytes)
{
    struct summary_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    uint32_t next_site = 0;
    models_init(&m);
    ttp_encode_number(&e, &m.site, row_count);
    for (uint32_t i = 0; i < row_count; i++) {
        ttp_encode_number(&e, &m.site, rows[i].site - next_site);
        ttp_encode_number(&e, &m.calls, rows[i].call_count);
        ttp_encode_signed(&e, &m.exits, (int64_t)(rows[i].exit_count - rows[i].call_count));
        if (timed)
            write_times(&e, &m, &rows[i]);
        next_site = rows[i].site + 1;
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

ttape_status ttp_summary_count(const uint8_t *data, size_t size_bytes, uint32_t *row_count,
                               ttape_error *err)
{
    struct summary_models m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    models_init(&m);
    uint64_t count = ttp_decode_number(&d, &m.site);
    if (count >= UINT32_MAX || ttp_decoder_cut(&d))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SUM-02", 0, "summary has too many rows");
    *row_count = (uint32_t)count;
    return TTAPE_OK;
}

static void read_times(struct ttp_decoder *d, struct summary_models *m, struct ttp_measure *row)
{
    row->self_ticks = ttp_decode_signed(d, &m->self);
    row->total_ticks =
        (int64_t)((uint64_t)row->self_ticks + (uint64_t)ttp_decode_signed(d, &m->total));
    if (row->exit_count == 0)
        return;
    row->max_ticks = ttp_decode_signed(d, &m->max);
    row->min_ticks = row->exit_count == 1 ? row->max_ticks : ttp_decode_signed(d, &m->min);
    ttape_wide sum = ttp_wide_square(row->max_ticks);
    if (row->exit_count > 1)
        sum = ttp_wide_add(sum, ttp_wide_square(row->min_ticks));
    if (row->exit_count > 2) {
        uint64_t high = ttp_decode_number(d, &m->squares_high) << SQUARES_HIGH_SHIFT;
        uint64_t middle = ttp_decode_number(d, &m->squares_middle);
        uint64_t low = ttp_decode_number(d, &m->squares_low);
        sum =
            ttp_wide_add((ttape_wide){low, high}, ttp_wide_multiply(middle, SQUARES_PART_MASK + 1));
    }
    row->squares = sum;
}

ttape_status ttp_summary_read(const uint8_t *data, size_t size_bytes, bool timed,
                              struct ttp_measure *rows, uint32_t row_count, ttape_error *err)
{
    struct summary_models m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    uint64_t next_site = 0;
    models_init(&m);
    (void)ttp_decode_number(&d, &m.site); /* the row count, read by ttp_summary_count before */
    for (uint32_t i = 0; i < row_count; i++) {
        struct ttp_measure row = {0};
        uint64_t site = ttp_decode_number(&d, &m.site);
        if (site > UINT32_MAX - 1 - next_site)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SUM-03", (uint64_t)(d.at - data),
                            "site of a summary row is out of range");
        row.site = (uint32_t)(next_site + site);
        next_site = (uint64_t)row.site + 1;
        row.call_count = ttp_decode_number(&d, &m.calls);
        row.exit_count = row.call_count + (uint64_t)ttp_decode_signed(&d, &m.exits);
        if (timed)
            read_times(&d, &m, &row);
        if (ttp_decoder_cut(&d))
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SUM-04", size_bytes, "the summary ends early");
        rows[i] = row;
    }
    return TTAPE_OK;
}
