/* Threads are seldom switched away, so most numbers are 0: those take a hundredth of a bit. The
 * largest time on the CPU is coded as what the longest call has more. */
#include "format/container/measures/cpu_times.h"

#include "format/base/coder.h"
#include "format/base/fail.h"

struct cpu_models {
    struct ttp_signed_model self[TTP_OFF_KINDS], total[TTP_OFF_KINDS], most, start;
};

static void models_init(struct cpu_models *m)
{
    for (int i = 0; i < TTP_OFF_KINDS; i++) {
        ttp_signed_init(&m->self[i]);
        ttp_signed_init(&m->total[i]);
    }
    ttp_signed_init(&m->most);
    ttp_signed_init(&m->start);
}

static uint64_t longest_ns(const struct ttp_measure *row, uint64_t resolution_ns)
{
    return (uint64_t)row->max_ticks * resolution_ns;
}

size_t ttp_cpu_times_bound(uint32_t row_count, uint32_t start_count)
{
    return 64 + (3 + 7 * (size_t)row_count + start_count) * 256; /* 2 x 63 bits at 14 bits each */
}

size_t ttp_cpu_times_write(const struct ttp_cpu_times *in, const struct ttp_measure *summary,
                           uint64_t resolution_ns, uint8_t *out, size_t out_bytes)
{
    struct cpu_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    models_init(&m);
    for (int kind = 0; kind < TTP_OFF_KINDS; kind++)
        ttp_encode_signed(&e, &m.total[kind], (int64_t)in->all_ns[kind]);
    for (uint32_t i = 0; i < in->row_count; i++) {
        const struct ttp_cpu_measure *row = &in->rows[i];
        for (int kind = 0; kind < TTP_OFF_KINDS; kind++) {
            ttp_encode_signed(&e, &m.self[kind], (int64_t)row->self_ns[kind]);
            ttp_encode_signed(&e, &m.total[kind],
                              (int64_t)(row->total_ns[kind] - row->self_ns[kind]));
        }
        if (summary[i].exit_count != 0)
            ttp_encode_signed(
                &e, &m.most,
                (int64_t)(longest_ns(&summary[i], resolution_ns) - (uint64_t)row->max_on_ns));
    }
    uint64_t before = 0;
    for (uint32_t i = 0; i < in->start_count; i++) {
        ttp_encode_signed(&e, &m.start, (int64_t)((uint64_t)in->start_off_ns[i] - before));
        before = (uint64_t)in->start_off_ns[i];
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

ttape_status ttp_cpu_times_read(const uint8_t *data, size_t size_bytes,
                                const struct ttp_measure *summary, uint64_t resolution_ns,
                                struct ttp_cpu_times *io, ttape_error *err)
{
    struct cpu_models m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    models_init(&m);
    for (int kind = 0; kind < TTP_OFF_KINDS; kind++)
        io->all_ns[kind] = (uint64_t)ttp_decode_signed(&d, &m.total[kind]);
    for (uint32_t i = 0; i < io->row_count && !ttp_decoder_cut(&d); i++) {
        struct ttp_cpu_measure *row = &io->rows[i];
        for (int kind = 0; kind < TTP_OFF_KINDS; kind++) {
            row->self_ns[kind] = (uint64_t)ttp_decode_signed(&d, &m.self[kind]);
            row->total_ns[kind] =
                row->self_ns[kind] + (uint64_t)ttp_decode_signed(&d, &m.total[kind]);
        }
        row->max_on_ns = summary[i].exit_count == 0
                             ? 0
                             : (int64_t)(longest_ns(&summary[i], resolution_ns) -
                                         (uint64_t)ttp_decode_signed(&d, &m.most));
    }
    uint64_t before = 0;
    for (uint32_t i = 0; i < io->start_count && !ttp_decoder_cut(&d); i++) {
        before += (uint64_t)ttp_decode_signed(&d, &m.start);
        io->start_off_ns[i] = (int64_t)before;
    }
    if (ttp_decoder_cut(&d))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CPU-02", size_bytes, "the CPU times end early");
    return TTAPE_OK;
}
