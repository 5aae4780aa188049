/* The encoder of the static time form.
 *
 *   codes -> nodes -> contexts      deltas -> symbols -> means     (both need all events)
 *                          \          /
 *                  states -> slots, sorted -> clusters -> tables -> rANS, last event first
 *
 * Passes over the events, each with a small working set; everything else is per slot or per
 * table. */
#include "format/times/time_static.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/times/time_static_passes.h"

#define BLOCK               TTP_TIME_BLOCK_EVENTS
#define LANES               2u
#define WORDS_SPARE         4u   /* the final state, and a word that is written in vain */
#define SYMBOL_ROOM         256u /* symbols, rounded up for cheap indexing */
#define HEADER_BYTES_MAX    16u
#define DIRECTORY_BYTES_MAX (4u * TTP_VARINT_MAX)
#define TABLE_BYTES_MAX     1024u /* of the model, at the very most */
#define ROW_BYTES_MAX       64u
#define MEAN_SHIFT          25u /* sum and number of events in one word: at most 2^24 events */
#define CLUSTER_BLOCKS      8u  /* at least so many blocks are clustered by */
#define PHASE_TICKS         2u  /* mean difference below which the phase rule is used */
#define PIECE               8u  /* symbols that are looked at together: */
#define HAVE_RAW            UINT64_C(0xC0C0C0C0C0C0C0C0) /* none below 64 has raw bits */

struct rans_symbol {
    uint32_t limit, reciprocal, bias;
    uint16_t complement, shift;
};

struct encoder {
    const struct ttp_times *in;
    struct ttp_sta_contexts contexts;
    struct ttp_sta_model model;
    struct ttp_sta_clusters *clusters;
    struct ttp_sta_model_coder *coder;
    struct rans_symbol (*rans)[SYMBOL_ROOM];
    uint64_t *mean_sum;
    uint32_t *slot_start, *pair_start, *order;
    uint32_t (*histogram)[TTP_STA_SYMBOLS];
    uint16_t *node, *words;
    uint8_t *symbol, *choice, *sorted, *memory;
    uint32_t wide_at;
    bool coarse; /* the mean difference is next to nothing */
};

static uint32_t slot_limit(uint32_t event_count)
{
    return (event_count < TTP_STA_CONTEXTS_MAX ? event_count : TTP_STA_CONTEXTS_MAX) *
           TTP_STA_STATES_MAX;
}

static uint32_t block_limit(uint32_t event_count)
{
    return event_count < BLOCK ? event_count : BLOCK;
}

/* All arrays in one piece of memory; with memory NULL it only adds up. */
static size_t carve(struct encoder *e, uint32_t event_count, uint8_t *memory)
{
    size_t n = event_count, slots = slot_limit(event_count), contexts = slots / TTP_STA_STATES_MAX;
    struct ttp_carver from = {memory, 0};
    e->memory = ttp_carve(&from, 1, ttp_sta_contexts_bytes(event_count));
    e->clusters = ttp_carve(&from, 1, sizeof *e->clusters);
    e->coder = ttp_carve(&from, 1, sizeof *e->coder);
    e->mean_sum = ttp_carve(&from, contexts, sizeof *e->mean_sum);
    e->rans = ttp_carve(&from, TTP_STA_TABLES_MAX, sizeof *e->rans);
    e->histogram = ttp_carve(&from, TTP_STA_TABLES_MAX, sizeof *e->histogram);
    e->slot_start = ttp_carve(&from, slots + 2, sizeof *e->slot_start);
    e->pair_start = ttp_carve(&from, slots + 1, sizeof *e->pair_start);
    e->order = ttp_carve(&from, slots, sizeof *e->order);
    e->node = ttp_carve(&from, n, sizeof *e->node);
    e->words = ttp_carve(&from, LANES * (block_limit(event_count) + WORDS_SPARE), sizeof *e->words);
    e->model.mean = ttp_carve(&from, contexts, sizeof *e->model.mean);
    e->model.level = ttp_carve(&from, TTP_STA_TABLES_MAX, sizeof *e->model.level);
    e->model.map = ttp_carve(&from, slots, 1);
    e->symbol = ttp_carve(&from, n, 1);
    e->choice = ttp_carve(&from, n, 1);
    e->sorted = ttp_carve(&from, n, 2);
    return from.used;
}

size_t ttp_time_static_encode_workspace(uint32_t event_count)
{
    struct encoder e;
    size_t bytes = carve(&e, event_count, NULL), tiny = ttp_sta_tiny_workspace();
    return (bytes > tiny ? bytes : tiny) + 16;
}

/* 4.1 bytes an event and what one block more than that may take before it is noticed. */
size_t ttp_time_static_encode_bound(uint32_t event_count)
{
    size_t rows = slot_limit(event_count) / TTP_STA_STATES_MAX;
    return HEADER_BYTES_MAX +
           (size_t)ttp_time_static_block_count(event_count) * DIRECTORY_BYTES_MAX +
           TTP_STA_TABLES_MAX * TABLE_BYTES_MAX + rows * ROW_BYTES_MAX +
           (size_t)event_count * 41 / 10 + (size_t)block_limit(event_count) * (4 + TTP_VARINT_MAX) +
           16;
}

/* ---- contexts, symbols, means ---- */

static bool find_contexts(struct encoder *e)
{
    /* A trie that runs full serves late codes badly: better shorter histories. */
    uint32_t order = 5;
    while (ttp_sta_contexts_run(&e->contexts, e->in, order, e->node) && order > 1)
        order /= 2;
    if (e->contexts.exhausted)
        return false;
    ttp_sta_contexts_pick(&e->contexts);
    return true;
}

static void find_means(struct encoder *e)
{
    const struct ttp_sta_contexts *c = &e->contexts;
    uint32_t *events = e->order; /* free until clustering */
    memset(e->mean_sum, 0, sizeof(*e->mean_sum) * c->context_count);
    memset(events, 0, sizeof(*events) * c->context_count);
    const uint32_t *restrict delta = e->in->delta;
    const uint16_t *restrict node = e->node, *restrict context = c->context,
                             *restrict scale = e->model.scale;
    uint8_t *restrict symbols = e->symbol; /* bytes may alias anything: say that these do not */
    uint64_t *restrict sum = e->mean_sum, weight[SYMBOL_ROOM];
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++)
        weight[s] = (uint64_t)scale[s] << MEAN_SHIFT | 1;
    for (uint32_t i = 0, n = e->in->event_count; i < n; i++) {
        uint32_t symbol = ttp_tick_symbol(delta[i]);
        symbols[i] = (uint8_t)symbol;
        sum[context[node[i]]] += weight[symbol];
    }
    for (uint32_t x = 0; x < c->context_count; x++) {
        events[x] = (uint32_t)(sum[x] & ((1u << MEAN_SHIFT) - 1));
        sum[x] >>= MEAN_SHIFT;
    }
    for (uint32_t x = c->context_count; x-- > 0;) {
        uint32_t to = c->mean_of[x];
        if (to != x) {
            e->mean_sum[to] += e->mean_sum[x];
            events[to] += events[x];
        }
    }
    for (uint32_t x = 0; x < c->context_count; x++) {
        uint32_t from = c->mean_of[x];
        uint64_t divisor = events[from];
        if (e->model.rule == TTP_STA_RULE_LOG)
            divisor *= 4;
        /* Rounding may pass the most that a mean can be, where all differences are wide. */
        uint64_t mean = (e->mean_sum[from] + divisor / 2) / divisor;
        uint64_t most = TTP_STA_SCALE_MAX / (e->model.rule == TTP_STA_RULE_LOG ? 4 : 1);
        e->model.mean[x] = (uint16_t)(mean < most ? mean : most);
    }
    ttp_sta_contexts_resolve(&e->contexts, e->model.rule, e->model.states, e->model.mean);
}

/* ---- rule and mix, from a sample of blocks ---- */

static struct ttp_sta_pass pass_of(const struct encoder *e)
{
    return (struct ttp_sta_pass){&e->model, e->contexts.info, e->node,
                                 e->symbol, e->choice,        e->in->event_count};
}

static uint64_t sample_bits(const struct encoder *e)
{
    struct ttp_sta_pass pass = pass_of(e);
    return ttp_sta_sample_bits(&pass, (uint16_t *)(void *)e->sorted);
}

static void use_rule(struct encoder *e, uint32_t rule)
{
    ttp_sta_model_init(&e->model, rule, 1);
    find_means(e);
}

/* Fine clocks: the log rule. Coarse ones: whichever does better on the sample. */
static void choose_rule(struct encoder *e)
{
    const struct ttp_times *in = e->in;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < in->event_count; i++)
        sum += in->delta[i] < 64 ? in->delta[i] : 64;
    e->coarse = sum < (uint64_t)in->event_count * PHASE_TICKS;
    if (e->coarse && in->event_count >= TTP_STA_SAMPLE) {
        use_rule(e, TTP_STA_RULE_LOG);
        uint64_t log_bits = sample_bits(e);
        use_rule(e, TTP_STA_RULE_PHASE);
        if (sample_bits(e) <= log_bits)
            return;
    }
    use_rule(e, TTP_STA_RULE_LOG);
}

/* ---- states, sorting, clusters ---- */

/* Which slots share a table shows nearly as well in half of the blocks, and large partitions save
 * the time. Not at coarse clocks: there the map is most of what there is. */
static uint32_t cluster_stride(const struct encoder *e)
{
    uint32_t blocks = ttp_time_static_block_count(e->in->event_count);
    return !e->coarse && blocks >= 2 * CLUSTER_BLOCKS ? 2 : 1;
}

/* The sample is sorted into the end of the room, where the clustering wants it. */
static void sort_symbols(struct encoder *e)
{
    struct ttp_sta_pass pass = pass_of(e);
    uint32_t stride = cluster_stride(e), events = 0;
    for (uint64_t begin = 0; begin < e->in->event_count; begin += (uint64_t)BLOCK * stride)
        events +=
            (uint32_t)(e->in->event_count - begin < BLOCK ? e->in->event_count - begin : BLOCK);
    ttp_sta_sort_sample(&pass, stride, e->contexts.context_count * e->model.states, e->slot_start,
                        e->sorted + events);
}

/* As many tables as pay for themselves: about the root of the number of events. */
static uint32_t table_count(uint32_t event_count)
{
    uint32_t tables = 1;
    while (tables < TTP_STA_TABLES_MAX && (uint64_t)tables * tables * 64 < event_count)
        tables++;
    return tables;
}

static void find_clusters(struct encoder *e)
{
    struct ttp_sta_clusters *k = e->clusters;
    k->contexts = &e->contexts;
    k->states = e->model.states;
    k->table_count = table_count(e->in->event_count);
    k->slot_start = e->slot_start;
    k->pair_start = e->pair_start;
    k->order = e->order;
    k->symbols = e->sorted;
    k->map = e->model.map;
    ttp_sta_clusters_find(k);
}

/* T-STA-44: each event's table, and how often each symbol uses it. */
static void count_symbols(struct encoder *e)
{
    struct ttp_sta_pass pass = pass_of(e);
    ttp_sta_assign(&pass, cluster_stride(e), e->histogram);
}

/* ---- tables ---- */

static void make_rans(const uint16_t *frequency, struct rans_symbol *out)
{
    uint32_t start = 0;
    for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++) {
        uint32_t f = frequency[s], shift = 0;
        struct rans_symbol r = {0, 0, 0, 0, 0};
        r.limit = (TTP_STA_RANS_LOW >> TTP_STA_PROB_BITS << 16) * f;
        r.complement = (uint16_t)(TTP_STA_PROB_ONE - f);
        if (f == 1) { /* q = x - 1, put right by the bias */
            r.reciprocal = UINT32_MAX;
            r.bias = start + TTP_STA_PROB_ONE - 1;
        } else if (f > 1) {
            while (f > (1u << shift))
                shift++;
            r.reciprocal = (uint32_t)((((uint64_t)1 << (shift + 31)) + f - 1) / f);
            r.shift = (uint16_t)(shift - 1);
            r.bias = start;
        }
        out[s] = r;
        start += f;
    }
}

/* Tables that nothing uses are dropped, the others close up. */
static void make_tables(struct encoder *e)
{
    uint8_t number[TTP_STA_TABLES_MAX];
    uint32_t used = 0;
    for (uint32_t t = 0; t < TTP_STA_TABLES_MAX; t++) {
        uint32_t events = 0;
        for (uint32_t s = 0; s < TTP_STA_SYMBOLS; s++)
            events |= e->histogram[t][s];
        number[t] = (uint8_t)used;
        if (events == 0)
            continue;
        uint16_t frequency[TTP_STA_SYMBOLS];
        ttp_sta_quantise(e->histogram[t], e->model.level[used]);
        ttp_sta_frequencies(e->model.level[used], frequency);
        make_rans(frequency, e->rans[t]); /* events keep the old numbers */
        used++;
    }
    e->model.table_count = used;
    for (uint32_t slot = 0; slot < e->contexts.context_count * e->model.states; slot++) {
        uint32_t t = number[e->model.map[slot]];
        e->model.map[slot] = (uint8_t)(t < used ? t : used - 1); /* only where no event is */
    }
}

/* ---- blocks ---- */

struct rans_lane {
    const uint8_t *choice, *symbol;
    uint16_t *at, *end;
    uint32_t x, left; /* events still to code: the last of them is next */
};

static inline void put_symbol(struct rans_lane *lane, struct rans_symbol (*tables)[SYMBOL_ROOM])
{
    const struct rans_symbol *r = &tables[lane->choice[lane->left]][lane->symbol[lane->left]];
    uint32_t x = lane->x, full = x >= r->limit;
    lane->at[-1] = (uint16_t)x; /* below it there is always room; it counts only if kept */
    lane->at -= full;
    x = full ? x >> 16 : x;
    uint32_t q = (uint32_t)((uint64_t)x * r->reciprocal >> 32) >> r->shift;
    lane->x = x + r->bias + q * r->complement;
}

static void start_lane(const struct encoder *e, struct rans_lane *lane, uint32_t number,
                       uint32_t block)
{
    uint32_t room = block_limit(e->in->event_count) + WORDS_SPARE;
    uint32_t begin = block * BLOCK, left = e->in->event_count - begin;
    lane->choice = e->choice + begin;
    lane->symbol = e->symbol + begin;
    lane->at = lane->end = e->words + (number + 1) * (size_t)room;
    lane->x = TTP_STA_RANS_LOW;
    lane->left = left < BLOCK ? left : BLOCK;
}

/* The symbols of up to LANES blocks, last first, each lane's words ending at its end. The lanes
 * are there because one alone would wait for its own multiplications. */
static void code_blocks(const struct encoder *e, struct rans_lane *lanes, uint32_t block,
                        uint32_t count)
{
    struct rans_symbol(*tables)[SYMBOL_ROOM] = e->rans;
    for (uint32_t l = 0; l < count; l++)
        start_lane(e, &lanes[l], l, block + l);
    if (count == LANES) {
        struct rans_lane a = lanes[0], b = lanes[1];
        while (a.left > b.left) { /* the last block may be short */
            a.left--;
            put_symbol(&a, tables);
        }
        while (a.left > 0) {
            a.left--;
            b.left--;
            put_symbol(&a, tables);
            put_symbol(&b, tables);
        }
        lanes[0] = a;
        lanes[1] = b;
    }
    for (uint32_t l = 0; l < count; l++) {
        while (lanes[l].left > 0) {
            lanes[l].left--;
            put_symbol(&lanes[l], tables);
        }
        *--lanes[l].at = (uint16_t)lanes[l].x;
        *--lanes[l].at = (uint16_t)(lanes[l].x >> 16);
    }
}

static uint32_t write_words(struct ttp_writer_cursor *w, const struct rans_lane *lane)
{
    uint32_t words = (uint32_t)(lane->end - lane->at);
    uint8_t *to = ttp_claim(w, 2 * (size_t)words);
    for (uint32_t i = 0; to != NULL && i < words; i++)
        ttp_store16(to + 2 * i, lane->at[i]);
    return words;
}

static uint32_t write_raw(struct encoder *e, struct ttp_writer_cursor *w, uint32_t begin,
                          uint32_t end)
{
    uint64_t bits = 0;
    unsigned filled = 0;
    uint8_t *to = w->at, *limit = w->end - 8;
    for (uint32_t i = begin; i < end;) {
        uint32_t left = end - i, stop = left < PIECE ? end : i + PIECE;
        if (left >= PIECE && (ttp_load64(e->symbol + i) & HAVE_RAW) == 0) {
            i = stop;
            continue;
        }
        for (; i < stop; i++) {
            unsigned width = ttp_tick_raw_bits(e->symbol[i]);
            bits |= (uint64_t)(e->in->delta[i] & ((1u << width) - 1)) << filled;
            filled += width;
            if (to > limit) {
                w->full = true;
                return 0;
            }
            ttp_store64(to, bits);
            to += filled >> 3;
            bits >>= filled & ~7u;
            filled &= 7;
        }
    }
    uint32_t size = (uint32_t)(to - w->at) + (filled != 0);
    w->at += size;
    return size;
}

static uint32_t write_wide(struct encoder *e, struct ttp_writer_cursor *w, uint32_t begin,
                           uint32_t end)
{
    uint8_t *from = w->at;
    for (uint32_t i = begin; i < end; i++)
        if (e->in->delta[i] == TTP_DELTA_WIDE)
            ttp_write_svarint(w, e->in->wide[e->wide_at++]);
    return (uint32_t)(w->at - from);
}

struct ticks {
    uint64_t now; /* since the segment's base time, before the next event */
    uint32_t segment, wide_at;
};

/* The ticks before event `begin` in its segment; then walks on to `end`. */
static int64_t next_ticks(const struct ttp_times *in, struct ticks *t, uint32_t begin, uint32_t end)
{
    uint64_t before = 0;
    for (uint32_t i = begin; i < end;) {
        while (in->segment_start[t->segment + 1] <= i) {
            t->segment++;
            t->now = 0;
        }
        before = i == begin ? t->now : before;
        uint32_t stop =
            in->segment_start[t->segment + 1] < end ? in->segment_start[t->segment + 1] : end;
        uint64_t sum = 0;
        for (uint32_t k = i; k < stop; k++) /* plain, so that it runs in vectors */
            sum += in->delta[k];
        for (uint32_t k = i; in->wide_count != 0 && k < stop; k++)
            if (in->delta[k] == TTP_DELTA_WIDE)
                sum += (uint64_t)in->wide[t->wide_at++] - TTP_DELTA_WIDE;
        t->now += sum;
        i = stop;
    }
    return (int64_t)before;
}

/* T-STA-10 */
static uint32_t header_byte(const struct encoder *e)
{
    return (e->contexts.order - 1) | e->model.mix << 3 | e->model.rule << 5 |
           (e->in->wide_count != 0 ? TTP_STA_FLAG_WIDE : 0);
}

/* Bodies first, after the room that the front may take; the front is then put right before them. */
static size_t write_section(struct encoder *e, uint8_t *out, size_t out_bytes)
{
    const struct ttp_times *in = e->in;
    uint32_t blocks = ttp_time_static_block_count(in->event_count);
    size_t limit = (size_t)in->event_count * 41 / 10 + 16;
    size_t front = HEADER_BYTES_MAX + (size_t)blocks * DIRECTORY_BYTES_MAX;
    struct ttp_writer_cursor w = ttp_writer_cursor_init(out, front);
    struct ttp_writer_cursor body = ttp_writer_cursor_init(out + front, out_bytes - front);
    struct ttp_encoder coder = ttp_encoder_init(body.at, (size_t)(body.end - body.at));
    struct ticks ticks = {0, 0, 0};
    e->coder->encoder = &coder;
    e->coder->decoder = NULL;
    ttp_sta_model_code(e->coder, &e->model, &e->contexts);
    size_t model_bytes = ttp_encoder_finish(&coder);
    if (coder.full)
        return 0;
    ttp_claim(&body, model_bytes);
    ttp_write8(&w, TTP_STA_FORM_TABLES);
    ttp_write8(&w, (uint8_t)header_byte(e));
    ttp_write8(&w, (uint8_t)(e->model.table_count - 1));
    ttp_write_varint(&w, model_bytes);
    struct rans_lane lanes[LANES];
    for (uint32_t b = 0; b < blocks && !body.full && ttp_written(&body) <= limit; b++) {
        uint32_t begin = b * BLOCK, left = in->event_count - begin;
        uint32_t end = begin + (left < BLOCK ? left : BLOCK);
        if (b % LANES == 0)
            code_blocks(e, lanes, b, blocks - b < LANES ? blocks - b : LANES);
        uint32_t words = write_words(&body, &lanes[b % LANES]);
        ttp_write_svarint(&w, next_ticks(in, &ticks, begin, end));
        ttp_write_varint(&w, words - 2);
        ttp_write_varint(&w, write_raw(e, &body, begin, end));
        if (in->wide_count != 0)
            ttp_write_varint(&w, write_wide(e, &body, begin, end));
    }
    size_t size = ttp_written(&w) + ttp_written(&body);
    if (w.full || body.full || size > limit)
        return 0;
    memmove(w.at, body.start, ttp_written(&body));
    return size;
}

static size_t encode_tables(const struct ttp_times *in, uint8_t *workspace, uint8_t *out,
                            size_t out_bytes)
{
    struct encoder e;
    memset(&e, 0, sizeof(e));
    e.in = in;
    carve(&e, in->event_count, workspace);
    ttp_sta_contexts_init(&e.contexts, in->event_count, e.memory);
    if (!find_contexts(&e))
        return 0;
    choose_rule(&e);
    struct ttp_sta_pass pass = pass_of(&e);
    if (e.model.rule == TTP_STA_RULE_LOG)
        e.model.mix = ttp_sta_sample_mix(&pass);
    sort_symbols(&e);
    find_clusters(&e);
    count_symbols(&e);
    make_tables(&e);
    return write_section(&e, out, out_bytes);
}

ttape_status ttp_time_static_encode(const struct ttp_times *in, struct ttp_workspace workspace,
                                    struct ttp_buffer *to, ttape_error *err)
{
    to->size = 0;
    if (in->event_count == 0)
        return TTAPE_OK;
    if (workspace.size < ttp_time_static_encode_workspace(in->event_count) ||
        to->capacity < ttp_time_static_encode_bound(in->event_count))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "cannot encode times: workspace or output too small");
    uint8_t *memory = workspace.memory, *aligned = memory + (16 - ((uintptr_t)memory & 15)) % 16;
    uint8_t *out = to->data;
    size_t limit = (size_t)in->event_count * 41 / 10 + 16, size = 0, tiny = 0;
    if (in->event_count > TTP_STA_TINY_EVENTS_MIN)
        size = encode_tables(in, aligned, out, to->capacity);
    if (in->event_count <= TTP_STA_TINY_EVENTS_MAX) {
        size_t at = size; /* behind the other form, and over it when it is smaller */
        tiny = ttp_sta_tiny_encode(in, aligned, out + at, to->capacity - at);
        if (tiny != 0 && (size == 0 || tiny < size)) {
            memmove(out, out + at, tiny);
            size = tiny;
        }
    }
    if (size == 0 || size > limit)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "times do not pay: the static form is larger than raw differences");
    to->size = size;
    return TTAPE_OK;
}
