/* Decoding of the mixing time form. Whatever the bytes, every event takes a bounded number of
 * binary decisions and every index comes from a table that the tree's builder filled; so the only
 * things to check are the directory, the symbol counts and the end. */
#include "format/times/time_mix.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/times/time_mix_model.h"

size_t ttp_time_mix_decode_workspace(uint32_t event_count, uint32_t symbol_count)
{
    (void)symbol_count;
    return ttp_mix_bytes(event_count, false);
}

size_t ttp_time_phase_decode_workspace(uint32_t event_count, uint32_t symbol_count)
{
    (void)symbol_count;
    return ttp_mix_bytes(event_count, true);
}

static ttape_status read_directory(struct ttp_reader_cursor *from, uint32_t event_count,
                                   int64_t *ticks, ttape_error *err)
{
    uint32_t blocks = ttp_time_mix_block_count(event_count);

    for (uint32_t b = 1; b < blocks; b++) {
        int64_t value = ttp_read_svarint(from);
        if (from->bad)
            return ttp_fail(err, ttp_reader_left(from) == 0 ? TTAPE_E_TRUNCATED : TTAPE_E_CORRUPT,
                            "T-MIX-02", ttp_reader_offset(from),
                            "bad directory of mixed times at block '%u'", b);
        if (ticks != NULL)
            ticks[b] = value;
    }
    return TTAPE_OK;
}

ttape_status ttp_time_mix_directory(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                                    size_t size_bytes, ttape_error *err)
{
    struct ttp_reader_cursor from = ttp_reader_cursor_init(data, size_bytes);

    if (event_count != 0)
        ticks[0] = 0;
    return read_directory(&from, event_count, ticks, err);
}

/* T-MIX-21 */
static ttape_status read_period(struct ttp_reader_cursor *from, uint32_t *period, ttape_error *err)
{
    *period = ttp_read8(from);
    if (from->bad)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "T-MIX-21", 0, "times without their period");
    if (*period < 2 || *period > TTP_TIME_PHASE_PERIOD_MAX)
        return ttp_fail(err, TTAPE_E_CORRUPT, "T-MIX-21", 0, "times with a period of '%u'",
                        *period);
    return TTAPE_OK;
}

ttape_status ttp_time_phase_directory(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                                      size_t size_bytes, ttape_error *err)
{
    struct ttp_reader_cursor from = ttp_reader_cursor_init(data, size_bytes);
    uint32_t period;

    if (event_count == 0)
        return TTAPE_OK;
    ticks[0] = 0;
    TTP_TRY(read_period(&from, &period, err));
    return read_directory(&from, event_count, ticks, err);
}

static inline uint64_t decode_raw(struct ttp_decoder *d, unsigned bits)
{
    uint64_t value = 0;
    while (bits-- > 0)
        value = value << 1 | ttp_decode_with(d, TTP_PROB_HALF);
    return value;
}

struct run {
    struct ttp_times *io;
    struct ttp_mix *model;
    struct ttp_reader_cursor directory; /* at the entry of the next block */
    const uint8_t *data;
    uint32_t first, end; /* events to deliver */
};

/* A wide value: false where its length is none. */
static bool decode_wide(struct ttp_decoder *d, int64_t *value)
{
    unsigned bits = (unsigned)decode_raw(d, 7);
    if (bits > 64)
        return false;
    *value = ttp_unzigzag(decode_raw(d, bits));
    return true;
}

static uint64_t offset_of(const struct run *run, const struct ttp_decoder *d)
{
    return (uint64_t)(d->at - run->data);
}

static ttape_status deliver_wide(struct run *run, struct ttp_decoder *d, uint32_t i, int64_t *value,
                                 ttape_error *err)
{
    struct ttp_times *io = run->io;

    if (!decode_wide(d, value))
        return ttp_fail(err, TTAPE_E_CORRUPT, "T-MIX-09", offset_of(run, d),
                        "wide difference of more than 64 bits at event '%u'", i);
    if (i < run->first)
        return TTAPE_OK;
    if (io->wide_count >= io->wide_capacity)
        return ttp_fail(err, TTAPE_E_LIMIT, "T-MIX-09", offset_of(run, d),
                        "too many wide differences in the mixed times");
    io->wide[io->wide_count++] = *value;
    return TTAPE_OK;
}

/* The events from..to: no block starts between them. By value and back, so that the coder's state
 * lives in registers. */
static inline __attribute__((always_inline)) ttape_status
decode_events(struct run *run, struct ttp_decoder *decoder, bool phased, uint32_t from, uint32_t to,
              ttape_error *err)
{
    struct ttp_mix *m = run->model;
    struct ttp_decoder d = *decoder;

    for (uint32_t i = from; i < to; i++) {
        if (i != from)
            ttp_mix_enter(m, run->io, i);
        uint32_t symbol = m->leaf_symbol[ttp_mix_leaf(m, NULL, &d, phased, 0)];
        uint32_t delta = ttp_tick_base(symbol);
        uint64_t ticks;
        if (symbol != TTP_TICK_ESCAPE) {
            delta = ttp_mix_raw(m, NULL, &d, phased, symbol, 0);
            ticks = delta;
        } else {
            struct ttp_decoder copy = d;
            int64_t value = 0;
            TTP_TRY(deliver_wide(run, &copy, i, &value, err));
            d = copy;
            ticks = (uint64_t)value;
        }
        if (i >= run->first)
            run->io->delta[i] = delta;
        ttp_mix_leave(m, delta, symbol, ticks);
    }
    *decoder = d;
    return TTAPE_OK;
}

static ttape_status decode_blocks(struct run *run, struct ttp_decoder *d, ttape_error *err)
{
    for (uint32_t from = 0; from < run->end;) {
        uint32_t left = run->end - from;
        uint32_t to = from + (left < TTP_TIME_BLOCK_EVENTS ? left : TTP_TIME_BLOCK_EVENTS);
        uint64_t at = ttp_reader_offset(&run->directory);
        uint64_t ticks = from == 0 ? 0 : (uint64_t)ttp_read_svarint(&run->directory);

        ttp_mix_enter(run->model, run->io, from);
        if (ticks != run->model->ticks)
            return ttp_fail(err, TTAPE_E_CORRUPT, "T-MIX-03", at,
                            "directory disagrees with the mixed times at event '%u'", from);
        TTP_TRY(run->model->period != 0 ? decode_events(run, d, true, from, to, err)
                                        : decode_events(run, d, false, from, to, err));
        if (ttp_decoder_cut(d))
            return ttp_fail(err, TTAPE_E_TRUNCATED, "T-MIX-10", offset_of(run, d),
                            "mixed times end before event '%u'", to);
        from = to;
    }
    return TTAPE_OK;
}

/* The decoder holds four bytes; after the last event they, and the size, must be those with which
 * the encoder ends: the fewest that tell the stream apart, then nothing. */
static bool ends_well(const struct ttp_decoder *d, const uint8_t *start)
{
    uint32_t keep = 0, value = 0;

    while (value < d->lo) {
        keep++;
        value = d->hi & (keep == 4 ? UINT32_MAX : ~(UINT32_MAX >> 8 * keep));
    }
    return d->code == value &&
           (size_t)(d->at - start) + d->past_end + keep == (size_t)(d->end - start) + 4;
}

static uint32_t event_of_block(uint32_t block, uint32_t event_count)
{
    uint64_t event = (uint64_t)block * TTP_TIME_BLOCK_EVENTS;
    return event < event_count ? (uint32_t)event : event_count;
}

static ttape_status decode_range(struct ttp_times *io, uint32_t first_block, uint32_t block_count,
                                 bool phased, struct ttp_bytes data, struct ttp_workspace workspace,
                                 ttape_error *err)
{
    uint32_t period = 0;
    uint8_t length[TTP_MIX_SYMBOLS];
    struct ttp_reader_cursor from = ttp_reader_cursor_init(data.data, data.size);
    struct run run = {.io = io, .data = data.data};
    uint32_t left = UINT32_MAX - first_block;

    io->wide_count = 0;
    if (io->event_count == 0) {
        if (data.size != 0)
            return ttp_fail(err, TTAPE_E_CORRUPT, "T-MIX-01", 0, "mixed times of no events");
        return TTAPE_OK;
    }
    if (phased)
        TTP_TRY(read_period(&from, &period, err));
    run.directory = from;
    run.first = event_of_block(first_block, io->event_count);
    run.end =
        event_of_block(first_block + (block_count < left ? block_count : left), io->event_count);
    run.end = run.first < run.end ? run.end : 0;
    run.model = ttp_mix_init(workspace.memory, workspace.size, io->event_count, period);
    if (run.model == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "workspace of the mixing time form too small");
    TTP_TRY(read_directory(&from, io->event_count, NULL, err));
    struct ttp_decoder d = ttp_decoder_init(from.at, ttp_reader_left(&from));
    if (!ttp_mix_decode_lengths(&d, length))
        return ttp_fail(err, ttp_decoder_cut(&d) ? TTAPE_E_TRUNCATED : TTAPE_E_CORRUPT, "T-MIX-06",
                        offset_of(&run, &d), "bad symbol counts in the mixed times");
    ttp_mix_plant(run.model, length);
    TTP_TRY(decode_blocks(&run, &d, err));
    if (run.end == io->event_count && !ends_well(&d, from.at))
        return ttp_fail(err, TTAPE_E_CORRUPT, "T-MIX-10", offset_of(&run, &d),
                        "mixed times do not end after their last event");
    return TTAPE_OK;
}

ttape_status ttp_time_mix_decode(struct ttp_times *io, uint32_t first_block, uint32_t block_count,
                                 struct ttp_bytes data, struct ttp_workspace workspace,
                                 ttape_error *err)
{
    return decode_range(io, first_block, block_count, false, data, workspace, err);
}

ttape_status ttp_time_phase_decode(struct ttp_times *io, uint32_t first_block, uint32_t block_count,
                                   struct ttp_bytes data, struct ttp_workspace workspace,
                                   ttape_error *err)
{
    return decode_range(io, first_block, block_count, true, data, workspace, err);
}
