/* The decoder of the static time form.
 *
 *   codes -> nodes -> contexts --+
 *   model bytes -> tables, map --+--> three blocks at a time: symbols, raw bits, wide values
 *
 * Three blocks are lanes of one loop: each lane is a chain of loads that depend on each other, so
 * one alone would mostly wait. Lanes run unchecked as long as none of them can reach its end. */
#include "format/times/time_static.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"

#define BLOCK       TTP_TIME_BLOCK_EVENTS
#define LANES       3u
#define SYMBOL_ROOM 256u /* symbols, rounded up for cheap indexing */
#define UNCHECKED   64u  /* events that make an unchecked run worth its start */

struct entry { /* of a table's symbol, one load; slots and entries stay near: 5 KiB a table */
    uint16_t frequency, start;
};

/* What the log rule makes of an event, so that a lane need not decide anything: what is decided
 * here and there goes either way, and a wrong guess costs more than the whole step. */
struct log_steps {
    uint16_t residual[2 * TTP_STA_SCALE_MAX + 1]; /* 32 times the clipped one, by scale - mean */
    uint8_t shift[TTP_STA_STATE_INDEXES];         /* of a state's entry in a row of 8 */
};

struct decoder {
    struct ttp_times *io;
    struct ttp_sta_contexts contexts;
    struct ttp_sta_model model;
    struct ttp_sta_model_coder *coder;
    uint8_t (*slots)[TTP_STA_PROB_ONE]; /* per table: which symbol a number below 4096 falls to */
    struct entry (*entry)[SYMBOL_ROOM]; /* per table and symbol */
    uint16_t *node;
    struct log_steps *log_steps;
    uint8_t (*symbol)[BLOCK], *memory;
    const uint8_t *data;
    size_t size_bytes;
    struct ttp_reader_cursor directory;                    /* at the next block's entry */
    size_t body;                                           /* where the next block's bytes begin */
    uint32_t base[TTP_STA_SYMBOLS], mask[TTP_STA_SYMBOLS]; /* of a symbol: its raw bits in a word */
    uint8_t width[TTP_STA_SYMBOLS];                        /* ... and how many they are */
    uint32_t blocks, order;
    bool has_wide;
    ttape_error *err;
};

/* In front of the workspace. */
#define DECODER_BYTES ((sizeof(struct decoder) + 15) & ~(size_t)15)

struct block { /* one directory entry */
    int64_t ticks;
    uint64_t words, raw_bytes, wide_bytes;
};

struct lane {
    const uint8_t *at, *end; /* words */
    const uint16_t *node;
    uint8_t *symbol;
    struct ttp_sta_state state;
    uint32_t x, left, begin, events;
    size_t offset; /* of the block's bytes */
    bool cut;      /* words were missing */
    struct block entry;
};

uint32_t ttp_time_static_block_count(uint32_t event_count)
{
    return (uint32_t)(((uint64_t)event_count + BLOCK - 1) / BLOCK);
}

static size_t carve(struct decoder *d, uint32_t event_count, uint8_t *memory)
{
    size_t contexts = event_count < TTP_STA_CONTEXTS_MAX ? event_count : TTP_STA_CONTEXTS_MAX;
    struct ttp_carver from = {memory, 0};
    d->memory = ttp_carve(&from, 1, ttp_sta_contexts_bytes(event_count));
    d->coder = ttp_carve(&from, 1, sizeof *d->coder);
    d->slots = ttp_carve(&from, TTP_STA_TABLES_MAX, sizeof *d->slots);
    d->entry = ttp_carve(&from, TTP_STA_TABLES_MAX, sizeof *d->entry);
    d->log_steps = ttp_carve(&from, 1, sizeof *d->log_steps);
    d->model.level = ttp_carve(&from, TTP_STA_TABLES_MAX, sizeof *d->model.level);
    d->model.mean = ttp_carve(&from, contexts, sizeof *d->model.mean);
    d->model.map = ttp_carve(&from, contexts, TTP_STA_STATES_MAX);
    d->node = ttp_carve(&from, event_count, sizeof *d->node);
    d->symbol = ttp_carve(&from, LANES, sizeof *d->symbol);
    return from.used;
}

size_t ttp_time_static_decode_workspace(uint32_t event_count, uint32_t symbol_count)
{
    (void)symbol_count; /* the trie is bounded by itself */
    struct decoder d;
    size_t bytes = carve(&d, event_count, NULL), tiny = ttp_sta_tiny_workspace();
    return DECODER_BYTES + (bytes > tiny ? bytes : tiny) + 16;
}

/* ---- header and directory ---- */

static struct block read_entry(struct ttp_reader_cursor *c, bool has_wide)
{
    struct block b;
    b.ticks = ttp_read_svarint(c);
    b.words = ttp_read_varint(c) + 2;
    b.raw_bytes = ttp_read_varint(c);
    b.wide_bytes = has_wide ? ttp_read_varint(c) : 0;
    return b;
}

static ttape_status fail_at(const struct decoder *d, const char *rule, size_t offset,
                            const char *what)
{
    return ttp_fail(d->err, TTAPE_E_CORRUPT, rule, offset, "cannot decode times: %s", what);
}

/* Header and directory: checks that all sizes add up, and leaves d->directory at its first entry,
 * *model where the model's bytes are, d->body at the first block. */
static ttape_status read_front(struct decoder *d, struct ttp_reader_cursor *model)
{
    struct ttp_reader_cursor c = ttp_reader_cursor_init(d->data, d->size_bytes);
    ttp_read8(&c); /* the form, looked at already */
    uint32_t flags = ttp_read8(&c), tables = ttp_read8(&c);
    d->order = (flags & 7) + 1;
    d->has_wide = (flags & TTP_STA_FLAG_WIDE) != 0;
    d->model.mix = flags >> 3 & 3;
    d->model.rule = flags >> 5 & 1;
    d->model.table_count = tables + 1;
    if ((flags & 0x40) != 0)
        return fail_at(d, "T-STA-11", 1, "a reserved bit is set");
    if (tables >= TTP_STA_TABLES_MAX)
        return fail_at(d, "T-STA-12", 2, "more than 64 tables");
    uint64_t total = ttp_read_varint(&c), model_bytes = total;
    d->directory = c;
    for (uint32_t b = 0; b < d->blocks && !c.bad && total <= d->size_bytes; b++) {
        struct block entry = read_entry(&c, d->has_wide);
        if (entry.words > BLOCK + 2 || entry.raw_bytes > 4 * BLOCK ||
            entry.wide_bytes > TTP_VARINT_MAX * BLOCK)
            return fail_at(d, "T-STA-14", ttp_reader_offset(&c), "a block is too large");
        total += 2 * entry.words + entry.raw_bytes + entry.wide_bytes;
    }
    if (c.bad || total > ttp_reader_left(&c))
        return ttp_fail(d->err, TTAPE_E_TRUNCATED, "T-STA-13", d->size_bytes,
                        "cannot decode times: the section ends early");
    if (total < ttp_reader_left(&c))
        return fail_at(d, "T-STA-13", d->size_bytes, "bytes after the last block");
    d->body = ttp_reader_offset(&c) + (size_t)model_bytes;
    *model = ttp_reader_cursor_init(c.at, (size_t)model_bytes);
    return TTAPE_OK;
}

static ttape_status check_form(const uint8_t *data, size_t size_bytes, uint32_t event_count,
                               ttape_error *err)
{
    if (event_count == 0 && size_bytes == 0)
        return TTAPE_OK;
    if (event_count == 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "T-STA-01", 0, "times without events");
    if (size_bytes == 0)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "T-STA-01", 0, "events without times");
    if (data[0] == TTP_STA_FORM_TABLES ||
        (data[0] == TTP_STA_FORM_TINY && event_count <= TTP_STA_TINY_EVENTS_MAX))
        return TTAPE_OK;
    return ttp_fail(err, TTAPE_E_CORRUPT, "T-STA-02", 0, "unknown form of times");
}

ttape_status ttp_time_static_directory(uint32_t event_count, int64_t *ticks, const uint8_t *data,
                                       size_t size_bytes, ttape_error *err)
{
    struct decoder d = {.data = data, .size_bytes = size_bytes, .err = err};
    struct ttp_reader_cursor model;
    TTP_TRY(check_form(data, size_bytes, event_count, err));
    d.blocks = ttp_time_static_block_count(event_count);
    if (d.blocks == 1)
        ticks[0] = 0;
    if (event_count == 0 || data[0] == TTP_STA_FORM_TINY)
        return TTAPE_OK;
    TTP_TRY(read_front(&d, &model));
    for (uint32_t b = 0; b < d.blocks; b++)
        ticks[b] = read_entry(&d.directory, d.has_wide).ticks;
    return TTAPE_OK;
}

/* ---- model ---- */

static void fill_log_steps(struct decoder *d)
{
    struct log_steps *steps = d->log_steps;
    for (int32_t i = 0; i <= (int32_t)(2 * TTP_STA_SCALE_MAX); i++) {
        int32_t residual = i - (int32_t)TTP_STA_SCALE_MAX + (int32_t)TTP_STA_LOG_CLIP;
        steps->residual[i] = (uint16_t)(ttp_sta_clamp(residual, 2 * TTP_STA_LOG_CLIP) << 5);
    }
    for (uint32_t i = 0; i < TTP_STA_STATE_INDEXES; i++)
        steps->shift[i] = (uint8_t)(8 * d->model.state_of[i]);
}

static ttape_status read_model(struct decoder *d, const struct ttp_reader_cursor *bytes)
{
    size_t offset = (size_t)(bytes->start - d->data);
    struct ttp_decoder coder = ttp_decoder_init(bytes->at, ttp_reader_left(bytes));
    d->coder->encoder = NULL;
    d->coder->decoder = &coder;
    ttp_sta_contexts_run(&d->contexts, d->io, d->order, d->node);
    if (d->contexts.exhausted)
        return ttp_fail(d->err, TTAPE_E_LIMIT, "T-STA-26", TTAPE_ERROR_NO_OFFSET,
                        "cannot decode times: the codes take too long to look up");
    ttp_sta_contexts_pick(&d->contexts);
    ttp_sta_model_init(&d->model, d->model.rule, d->model.mix);
    if (!ttp_sta_model_code(d->coder, &d->model, &d->contexts))
        return fail_at(d, "T-STA-30", offset, "a number of the model is out of range");
    if (ttp_decoder_cut(&coder) || coder.at != coder.end)
        return fail_at(d, "T-STA-31", offset, "the model's size is wrong");
    ttp_sta_contexts_resolve(&d->contexts, d->model.rule, d->model.states, d->model.mean);
    fill_log_steps(d);
    for (uint32_t t = 0; t < d->model.table_count; t++) {
        uint16_t frequency[TTP_STA_SYMBOLS];
        uint32_t start = 0;
        if (d->model.level[t][TTP_TICK_ESCAPE] != 0 && !d->has_wide)
            return fail_at(d, "T-STA-32", offset, "a wide difference where none is announced");
        ttp_sta_frequencies(d->model.level[t], frequency);
        for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++) {
            d->entry[t][s] = (struct entry){frequency[s], (uint16_t)start};
            memset(d->slots[t] + start, (int)s, frequency[s]);
            start += frequency[s];
        }
    }
    return TTAPE_OK;
}

/* ---- symbols ---- */

/* T-STA-51: the state of the coder behind a symbol, before it takes a word. */
static inline uint32_t coder_next(struct entry e, uint32_t x)
{
    return e.frequency * (x >> TTP_STA_PROB_BITS) + (x & (TTP_STA_PROB_ONE - 1)) - e.start;
}

/* The next `count` events of so many lanes. Unchecked, no lane may have fewer words than that;
 * checked, words past the end are zeros, and a lane's `at` tells. */
static inline __attribute__((always_inline)) void run(const struct decoder *d, struct lane *lane,
                                                      const uint32_t lanes, uint32_t count,
                                                      const uint32_t rule, const bool checked)
{
    const uint32_t *info_of = d->contexts.info;
    const uint8_t *map = d->model.map, *state_of = d->model.state_of, *slots = d->slots[0];
    const struct entry *entries = d->entry[0];
    const uint16_t *node = lane[0].node; /* lanes are at the same event of consecutive blocks */
    uint8_t *out = lane[0].symbol;
    const uint32_t mix = d->model.mix;
    struct ttp_sta_state state[LANES];
    const uint8_t *at[LANES];
    uint32_t x[LANES];
    for (uint32_t l = 0; l < lanes; l++) {
        state[l] = lane[l].state;
        at[l] = lane[l].at;
        x[l] = lane[l].x;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t l = 0; l < lanes; l++) {
            uint32_t info = info_of[node[i + l * BLOCK]];
            uint32_t s = state_of[ttp_sta_state_index(state[l], rule, mix)];
            uint32_t t = map[(info >> TTP_STA_INFO_SHIFT) + s];
            uint32_t low = x[l] & (TTP_STA_PROB_ONE - 1);
            uint32_t symbol = slots[t * TTP_STA_PROB_ONE + low];
            uint32_t next = coder_next(entries[t * SYMBOL_ROOM + symbol], x[l]);
            out[i + l * BLOCK] = (uint8_t)symbol;
            state[l] = ttp_sta_state_step(state[l], rule, info & TTP_STA_INFO_MEAN,
                                          d->model.scale[symbol]);
            uint32_t word = 0, need = next < TTP_STA_RANS_LOW;
            bool there = !checked || lane[l].end - at[l] >= 2;
            if (there)
                word = ttp_load16(at[l]);
            else if (need)
                lane[l].cut = true;
            uint32_t refilled = next << 16 | word;
            x[l] = need ? refilled : next;
            at[l] += there ? 2 * need : 0;
        }
    for (uint32_t l = 0; l < lanes; l++) {
        lane[l].state = state[l];
        lane[l].at = at[l];
        lane[l].node += count;
        lane[l].symbol += count;
        lane[l].left -= count;
        lane[l].x = x[l];
    }
}

/* The same, unchecked, of all lanes under the log rule: nearly all that is ever decoded. A context
 * has a row of 8 tables: one load, which waits for nothing. There is no branch to guess. */
static inline __attribute__((always_inline)) void
run_log(const struct decoder *d, struct lane *lane, uint32_t count, const uint32_t mix)
{
    const uint32_t *restrict info_of = d->contexts.info;
    const uint8_t *restrict map = d->model.map, *restrict slots = d->slots[0];
    const uint8_t *restrict shift_of = d->log_steps->shift;
    const uint16_t *restrict residual_of = d->log_steps->residual + TTP_STA_SCALE_MAX;
    const uint16_t *restrict scale = d->model.scale, *restrict node = lane[0].node;
    const struct entry *restrict entries = d->entry[0];
    uint8_t *restrict out = lane[0].symbol;
    const uint8_t *at[LANES];
    uint32_t level[LANES], residual[LANES], shift[LANES], x[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        level[l] = lane[l].state.level;
        residual[l] = lane[l].state.last << 5;
        shift[l] = shift_of[ttp_sta_state_index(lane[l].state, TTP_STA_RULE_LOG, mix)];
        at[l] = lane[l].at;
        x[l] = lane[l].x;
    }
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t l = 0; l < LANES; l++) {
            uint32_t info = info_of[node[i + l * BLOCK]];
            uint64_t row = ttp_load64(map + (info >> TTP_STA_INFO_SHIFT));
            uint64_t t = row >> shift[l] & (TTP_STA_TABLES_MAX - 1);
            uint64_t symbol = slots[t * TTP_STA_PROB_ONE + (x[l] & (TTP_STA_PROB_ONE - 1))];
            uint32_t next = coder_next(entries[t * SYMBOL_ROOM + symbol], x[l]);
            out[i + l * BLOCK] = (uint8_t)symbol;
            uint32_t r = residual_of[(int32_t)(scale[symbol] - (info & TTP_STA_INFO_MEAN))];
            residual[l] = r;
            level[l] += r - (level[l] >> 3);
            shift[l] = shift_of[((4 - mix) * level[l] + mix * 8 * r) >> 9];
            /* All ones if a word is needed: next is below 2^31. */
            uint64_t needs = 0 - (uint64_t)((next - TTP_STA_RANS_LOW) >> 31);
            uint32_t refilled = next << 16 | ttp_load16(at[l]);
            x[l] = next ^ ((next ^ refilled) & (uint32_t)needs);
            at[l] -= 2 * (int64_t)needs;
        }
    for (uint32_t l = 0; l < LANES; l++) {
        lane[l].state = (struct ttp_sta_state){level[l], residual[l] >> 5};
        lane[l].at = at[l];
        lane[l].node += count;
        lane[l].symbol += count;
        lane[l].left -= count;
        lane[l].x = x[l];
    }
}

/* By mix, so that it is a constant. False: a mix that no encoder of ours chooses. */
static bool run_all_log(const struct decoder *d, struct lane *lane, uint32_t count)
{
    if (d->model.mix == 0)
        run_log(d, lane, count, 0);
    else if (d->model.mix == 1)
        run_log(d, lane, count, 1);
    else if (d->model.mix == 2)
        run_log(d, lane, count, 2);
    return d->model.mix <= 2;
}

static uint32_t run_length(const struct lane *lane, uint32_t lanes)
{
    size_t most = SIZE_MAX;
    for (uint32_t l = 0; l < lanes; l++) {
        size_t words = (size_t)(lane[l].end - lane[l].at) / 2;
        most = words < most ? words : most;
        most = lane[l].left < most ? lane[l].left : most;
    }
    return (uint32_t)most;
}

static inline __attribute__((always_inline)) void
run_lanes(const struct decoder *d, struct lane *lane, const uint32_t lanes, const uint32_t rule)
{
    for (uint32_t count; (count = run_length(lane, lanes)) >= UNCHECKED;)
        if (lanes != LANES || rule != TTP_STA_RULE_LOG || !run_all_log(d, lane, count))
            run(d, lane, lanes, count, rule, false);
}

static void run_all(const struct decoder *d, struct lane *lane, uint32_t lanes, const uint32_t rule)
{
    if (lanes == LANES)
        run_lanes(d, lane, LANES, rule);
    for (uint32_t l = 0; l + 1 < lanes; l += 2)
        run_lanes(d, lane + l, 2, rule);
    for (uint32_t l = 0; l < lanes; l++) {
        run_lanes(d, lane + l, 1, rule);
        run(d, lane + l, 1, lane[l].left, rule, true);
    }
}

/* ---- values ---- */

static inline uint64_t load_bits(const uint8_t *at, const uint8_t *end)
{
    if (__builtin_expect(end - at >= 8, 1))
        return ttp_load64(at);
    uint64_t bits = 0;
    for (unsigned shift = 0; at < end; shift += 8)
        bits |= (uint64_t)*at++ << shift;
    return bits;
}

/* Differences of the events [from, until), for which there are bits enough; returns where their
 * bits end. */
static uint64_t take_raw(const struct decoder *d, const uint8_t *restrict symbol,
                         const uint8_t *restrict raw, uint64_t at, uint32_t from, uint32_t until,
                         uint32_t *restrict delta)
{
    for (uint64_t i = from; i < until; i++) {
        uint32_t s = symbol[i];
        uint64_t bits = ttp_load64(raw + (at >> 3)) >> (at & 7);
        delta[i] = d->base[s] + ((uint32_t)bits & d->mask[s]);
        at += d->width[s];
    }
    return at;
}

/* Symbols and raw bits become differences. */
static ttape_status read_raw(const struct decoder *d, const struct lane *lane, uint32_t *delta)
{
    const uint8_t *symbol = lane->symbol - lane->events;
    const size_t offset = lane->offset + 2 * (size_t)lane->entry.words;
    const uint8_t *raw = d->data + offset, *end = raw + lane->entry.raw_bytes;
    const uint64_t limit = lane->entry.raw_bytes * 8;
    uint64_t at = 0;
    uint32_t i = 0;
    /* Nothing can be missing as long as whole words of bits are left for each event. */
    for (uint64_t sure; limit > at + 64 && (sure = (limit - at - 64) / 32) >= UNCHECKED;) {
        uint32_t until = sure < lane->events - i ? i + (uint32_t)sure : lane->events;
        if (i == until)
            break;
        at = take_raw(d, symbol, raw, at, i, until, delta);
        i = until;
    }
    for (; i < lane->events; i++) {
        uint32_t s = symbol[i];
        if (__builtin_expect(at + d->width[s] > limit, 0))
            return fail_at(d, "T-STA-52", offset, "too few raw bits");
        uint64_t bits = load_bits(raw + (at >> 3), end) >> (at & 7);
        delta[i] = d->base[s] + ((uint32_t)bits & d->mask[s]);
        at += d->width[s];
    }
    if ((at + 7) / 8 != lane->entry.raw_bytes || ((at & 7) != 0 && raw[at >> 3] >> (at & 7) != 0))
        return fail_at(d, "T-STA-52", offset, "too many raw bits");
    return TTAPE_OK;
}

static ttape_status read_wide(const struct decoder *d, const struct lane *lane,
                              const uint32_t *delta)
{
    size_t offset = lane->offset + 2 * (size_t)lane->entry.words + (size_t)lane->entry.raw_bytes;
    struct ttp_reader_cursor c =
        ttp_reader_cursor_init(d->data + offset, (size_t)lane->entry.wide_bytes);
    const uint8_t *symbol = lane->symbol - lane->events;
    struct ttp_times *io = d->io;
    uint32_t any = 0;
    for (uint32_t i = 0; i < lane->events; i++)
        any |= delta[i] == TTP_DELTA_WIDE;
    for (uint32_t i = 0; any != 0 && i < lane->events; i++) {
        if (delta[i] != TTP_DELTA_WIDE)
            continue;
        if (symbol[i] != TTP_TICK_ESCAPE || io->wide_count == io->wide_capacity)
            return fail_at(d, "T-STA-53", offset, "a wide difference that cannot be");
        io->wide[io->wide_count++] = ttp_read_svarint(&c);
    }
    if (c.bad || ttp_reader_left(&c) != 0)
        return fail_at(d, "T-STA-54", offset, "the wide values' size is wrong");
    return TTAPE_OK;
}

/* ---- blocks ---- */

/* Takes the next block from the directory. */
static struct lane next_lane(struct decoder *d, uint32_t number)
{
    struct lane lane;
    lane.entry = read_entry(&d->directory, d->has_wide);
    lane.offset = d->body;
    lane.begin = number * BLOCK;
    lane.events = d->io->event_count - lane.begin;
    lane.events = lane.events < BLOCK ? lane.events : BLOCK;
    lane.left = lane.events;
    lane.at = d->data + d->body;
    lane.end = lane.at + 2 * lane.entry.words;
    lane.x = (uint32_t)ttp_load16(lane.at) << 16 | ttp_load16(lane.at + 2);
    lane.at += 4;
    lane.node = d->node + lane.begin;
    lane.symbol = NULL;
    lane.cut = false;
    lane.state = ttp_sta_state_start(d->model.rule);
    d->body += (size_t)(2 * lane.entry.words + lane.entry.raw_bytes + lane.entry.wide_bytes);
    return lane;
}

static ttape_status decode_blocks(struct decoder *d, uint32_t first, uint32_t count)
{
    struct lane lane[LANES];
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++) {
        d->base[s] = ttp_tick_base(s);
        d->width[s] = (uint8_t)ttp_tick_raw_bits(s);
        d->mask[s] = (1u << d->width[s]) - 1;
    }
    for (uint32_t b = 0; b < first; b++)
        next_lane(d, b);
    for (uint32_t b = first, lanes; count != 0; b += lanes, count -= lanes) {
        lanes = count < LANES ? count : LANES;
        for (uint32_t l = 0; l < lanes; l++) {
            lane[l] = next_lane(d, b + l);
            lane[l].symbol = d->symbol[l];
            if (lane[l].x < TTP_STA_RANS_LOW || lane[l].x > INT32_MAX)
                return fail_at(d, "T-STA-50", lane[l].offset, "a block starts in no state");
        }
        if (d->model.rule == TTP_STA_RULE_PHASE)
            run_all(d, lane, lanes, TTP_STA_RULE_PHASE);
        else
            run_all(d, lane, lanes, TTP_STA_RULE_LOG);
        for (uint32_t l = 0; l < lanes; l++) {
            uint32_t *delta = d->io->delta + lane[l].begin;
            if (lane[l].x != TTP_STA_RANS_LOW || lane[l].at != lane[l].end || lane[l].cut)
                return fail_at(d, "T-STA-51", lane[l].offset,
                               "a block does not end where it should");
            TTP_TRY(read_raw(d, &lane[l], delta));
            TTP_TRY(read_wide(d, &lane[l], delta));
        }
    }
    return TTAPE_OK;
}

static size_t decoder_at(const void *workspace) { return (16 - ((uintptr_t)workspace & 15)) % 16; }

static struct decoder *decoder_in(void *workspace)
{
    return (void *)((uint8_t *)workspace + decoder_at(workspace));
}

/* The directory is gone through from its start each time. */
static ttape_status blocks_with(const struct decoder *opened, struct ttp_times *io, uint32_t first,
                                uint32_t count, uint8_t *scratch, ttape_error *err)
{
    struct decoder d = *opened;
    d.io = io;
    d.err = err;
    d.symbol = scratch == NULL ? d.symbol : (uint8_t(*)[BLOCK])(void *)scratch;
    io->wide_count = 0;
    if (first >= d.blocks)
        return TTAPE_OK;
    return decode_blocks(&d, first, count < d.blocks - first ? count : d.blocks - first);
}

ttape_status ttp_time_static_open(struct ttp_times *io, struct ttp_bytes data,
                                  struct ttp_workspace workspace, ttape_error *err)
{
    struct ttp_reader_cursor model;
    if (workspace.size < ttp_time_static_decode_workspace(io->event_count, io->symbol_count))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "cannot decode times: workspace too small");
    struct decoder *d = decoder_in(workspace.memory);
    *d = (struct decoder){.io = io, .data = data.data, .size_bytes = data.size, .err = err};
    TTP_TRY(check_form(data.data, data.size, io->event_count, err));
    d->blocks = ttp_time_static_block_count(io->event_count);
    if (d->blocks == 0 || data.data[0] == TTP_STA_FORM_TINY)
        return TTAPE_OK;
    carve(d, io->event_count, (uint8_t *)d + DECODER_BYTES);
    TTP_TRY(read_front(d, &model));
    ttp_sta_contexts_init(&d->contexts, io->event_count, d->memory);
    return read_model(d, &model);
}

ttape_status ttp_time_static_blocks(struct ttp_times *io, uint32_t first_block,
                                    uint32_t block_count, void *workspace, ttape_error *err)
{
    struct decoder *d = decoder_in(workspace);
    if (d->blocks == 0 || first_block >= d->blocks || d->data[0] != TTP_STA_FORM_TINY)
        return blocks_with(d, io, first_block, block_count, NULL, err);
    d->err = err;
    io->wide_count = 0;
    if (!ttp_sta_tiny_decode(io, (uint8_t *)d + DECODER_BYTES, d->data + 1, d->size_bytes - 1))
        return fail_at(d, "T-STA-60", 1, "not a stream of few events");
    return TTAPE_OK;
}

size_t ttp_time_static_scratch_bytes(void) { return (size_t)LANES * BLOCK; }

ttape_status ttp_time_static_blocks_beside(struct ttp_times *io, uint32_t first_block,
                                           uint32_t block_count, const void *workspace,
                                           uint8_t *scratch, ttape_error *err)
{
    const struct decoder *d = (const void *)((const uint8_t *)workspace + decoder_at(workspace));
    if (d->blocks != 0 && d->data[0] == TTP_STA_FORM_TINY)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "times of few events are not in blocks");
    return blocks_with(d, io, first_block, block_count, scratch, err);
}

ttape_status ttp_time_static_decode(struct ttp_times *io, uint32_t first_block,
                                    uint32_t block_count, struct ttp_bytes data,
                                    struct ttp_workspace workspace, ttape_error *err)
{
    io->wide_count = 0;
    TTP_TRY(ttp_time_static_open(io, data, workspace, err));
    return ttp_time_static_blocks(io, first_block, block_count, workspace.memory, err);
}
