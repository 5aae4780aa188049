/* The longest calls of a function are mostly alike: from the same place, in partitions that follow
 * one another. Each is coded by its difference from the one before. */
#include "format/container/measures/listed.h"

#include <string.h>

#include "format/base/coder.h"
#include "format/base/fail.h"
#include "format/base/limits.h"

/* What is known of a call, as numbers. */
enum { STACK, ENTER_EVENT, EVENTS, ENTER, OTHERS, PATH, KNOWN };

/* One set for the first call of a row, one for the others. */
struct call_models {
    struct ttp_prob is_known, is_unwound, is_again[KNOWN];
    struct ttp_signed_model partition, segment, known[KNOWN];
};

struct listed_models {
    struct ttp_number_model above, event_class, listed, less;
    struct ttp_signed_model argument[TTP_CLASS_COUNT];
    int64_t last[TTP_CLASS_COUNT];
    struct call_models calls[2];
    int64_t steps[KNOWN]; /* differences that were coded last */
};

/* What changes by as much from call to call where a program does the same again and again. */
static bool may_come_again(int number) { return number == ENTER_EVENT || number == ENTER; }

static void models_init(struct listed_models *m)
{
    struct ttp_number_model *numbers[] = {&m->above, &m->event_class, &m->listed, &m->less};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        ttp_number_init(numbers[i]);
    for (int c = 0; c < TTP_CLASS_COUNT; c++)
        ttp_signed_init(&m->argument[c]);
    memset(m->last, 0, sizeof m->last);
    memset(m->steps, 0, sizeof m->steps);
    for (int later = 0; later < 2; later++) {
        struct call_models *c = &m->calls[later];
        ttp_prob_init(&c->is_known, 1, TTP_PROB_HALF);
        ttp_prob_init(&c->is_unwound, 1, TTP_PROB_HALF);
        ttp_prob_init(c->is_again, KNOWN, TTP_PROB_HALF);
        ttp_signed_init(&c->partition);
        ttp_signed_init(&c->segment);
        for (int i = 0; i < KNOWN; i++)
            ttp_signed_init(&c->known[i]);
    }
}

static int64_t difference(int64_t to, int64_t from)
{
    return (int64_t)((uint64_t)to - (uint64_t)from);
}

/* ---- writing ---- */

static void write_nodes(struct ttp_encoder *e, struct listed_models *m, const struct ttp_listed *in)
{
    for (uint32_t i = 0; i < in->node_count; i++) {
        const struct ttp_listed_node *n = &in->nodes[i];
        ttp_encode_number(e, &m->above, i - n->below);
        ttp_encode_number(e, &m->event_class, n->event_class);
        ttp_encode_signed(e, &m->argument[n->event_class], n->argument - m->last[n->event_class]);
        m->last[n->event_class] = n->argument;
    }
}

static void put_numbers(const struct ttp_listed_call *call, int64_t numbers[KNOWN])
{
    numbers[STACK] = call->stack;
    numbers[ENTER_EVENT] = call->enter_event;
    numbers[EVENTS] = (int64_t)call->end_event - call->enter_event;
    numbers[ENTER] = call->enter_tick;
    numbers[OTHERS] = difference(call->duration_ticks, call->self_ticks);
    numbers[PATH] = call->path;
}

/* What was known of the call before in a row. */
struct known {
    bool is_there;
    int64_t numbers[KNOWN];
};

/* The first one's enter is known from its partition's first tick on. */
static void start_known(const struct ttp_listed *l, uint32_t partition, struct known *known)
{
    if (!known->is_there)
        known->numbers[ENTER] = l->first_ticks[partition];
}

static void tell(struct ttp_encoder *e, struct listed_models *m, const struct ttp_listed_call *call,
                 struct known *known)
{
    struct call_models *c = &m->calls[known->is_there];
    int64_t numbers[KNOWN];
    put_numbers(call, numbers);
    ttp_encode_bit(e, &c->is_unwound, call->is_unwound);
    for (int i = 0; i < KNOWN; i++) {
        int64_t step = difference(numbers[i], known->numbers[i]);
        bool may = known->is_there && may_come_again(i), is_again = may && step == m->steps[i];
        if (may)
            ttp_encode_bit(e, &c->is_again[i], is_again);
        if (!is_again)
            ttp_encode_signed(e, &c->known[i], step);
        m->steps[i] = may ? step : m->steps[i];
        known->numbers[i] = numbers[i];
    }
    known->is_there = true;
}

static void write_call(struct ttp_encoder *e, struct listed_models *m, const struct ttp_listed *in,
                       const struct ttp_listed_call *call, const struct ttp_listed_call *before,
                       struct known *known)
{
    struct call_models *c = &m->calls[before != NULL];
    ttp_encode_signed(e, &c->partition,
                      (int64_t)call->partition - (before != NULL ? before->partition : 0));
    ttp_encode_signed(e, &c->segment,
                      (int64_t)call->segment - (before != NULL ? before->segment : 0));
    ttp_encode_bit(e, &c->is_known, call->is_known);
    if (!call->is_known)
        return;
    start_known(in, call->partition, known);
    tell(e, m, call, known);
}

static void write_row(struct ttp_encoder *e, struct listed_models *m, const struct ttp_listed *in,
                      const struct ttp_listed_call *calls, uint32_t count)
{
    const struct ttp_listed_call *before = NULL;
    struct known known = {0};
    ttp_encode_number(e, &m->listed, count);
    for (uint32_t i = 0; i < count && !e->full; before = &calls[i++]) {
        if (before != NULL)
            ttp_encode_number(
                e, &m->less, (uint64_t)difference(before->duration_ticks, calls[i].duration_ticks));
        write_call(e, m, in, &calls[i], before, &known);
    }
}

/* A number takes at most 252 bytes. */
size_t ttp_listed_bound(const struct ttp_listed *in)
{
    return 1024 + (size_t)in->node_count * 768 + (size_t)in->row_count * 256 +
           (size_t)in->call_count * 2560;
}

size_t ttp_listed_write(const struct ttp_listed *in, uint8_t *out, size_t out_bytes)
{
    struct listed_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    const struct ttp_listed_call *calls = in->calls;
    models_init(&m);
    ttp_encode_number(&e, &m.above, in->node_count);
    ttp_encode_number(&e, &m.listed, in->call_count);
    write_nodes(&e, &m, in);
    for (uint32_t i = 0; i < in->row_count && !e.full; i++) {
        if (in->rows[i].exit_count == 0)
            continue;
        write_row(&e, &m, in, calls, in->counts[i]);
        calls += in->counts[i];
    }
    size_t size = ttp_encoder_finish(&e);
    return e.full ? 0 : size;
}

/* ---- reading ---- */

struct listed_reading {
    struct ttp_decoder d;
    struct listed_models m;
    struct ttp_listed *l;
    uint32_t partition_count;
    ttape_error *err;
};

static ttape_status broken(struct listed_reading *r, const char *what)
{
    return ttp_fail(r->err, TTAPE_E_CORRUPT, "F-OVR-11", 0, "%s", what);
}

static ttape_status read_node(struct listed_reading *r, uint32_t number,
                              struct ttp_listed_node *out)
{
    struct listed_models *m = &r->m;
    uint64_t above = ttp_decode_number(&r->d, &m->above);
    uint64_t event_class = ttp_decode_number(&r->d, &m->event_class);
    if (above > number || event_class >= TTP_CLASS_COUNT || !ttp_class_pushes((uint8_t)event_class))
        return broken(r, "a frame below listed calls is out of range");
    uint64_t argument = (uint64_t)m->last[event_class] +
                        (uint64_t)ttp_decode_signed(&r->d, &m->argument[event_class]);
    if (argument > UINT32_MAX)
        return broken(r, "a frame below listed calls is out of range");
    m->last[event_class] = (int64_t)argument;
    uint32_t below = number - (uint32_t)above;
    *out = (struct ttp_listed_node){.below = below,
                                    .argument = (uint32_t)argument,
                                    .depth = below != 0 ? r->l->nodes[below - 1].depth + 1 : 1,
                                    .event_class = (uint8_t)event_class};
    return out->depth <= TTP_LISTED_DEPTH ? TTAPE_OK
                                          : broken(r, "a path below listed calls is too deep");
}

static void read_known(struct listed_reading *r, struct ttp_listed_call *call, struct known *known)
{
    struct call_models *c = &r->m.calls[known->is_there];
    call->is_unwound = ttp_decode_bit(&r->d, &c->is_unwound);
    for (int i = 0; i < KNOWN; i++) {
        bool may = known->is_there && may_come_again(i);
        bool is_again = may && ttp_decode_bit(&r->d, &c->is_again[i]);
        int64_t step = is_again ? r->m.steps[i] : ttp_decode_signed(&r->d, &c->known[i]);
        r->m.steps[i] = may ? step : r->m.steps[i];
        known->numbers[i] = (int64_t)((uint64_t)known->numbers[i] + (uint64_t)step);
    }
    known->is_there = true;
}

static ttape_status take_numbers(struct listed_reading *r, const int64_t n[KNOWN],
                                 struct ttp_listed_call *call)
{
    if (n[STACK] < 0 || n[STACK] >= TTP_MAX_STACKS || n[ENTER_EVENT] < 0 ||
        n[ENTER_EVENT] > TTP_MAX_PARTITION_EVENTS || n[EVENTS] < 1 ||
        n[EVENTS] > TTP_MAX_PARTITION_EVENTS || n[PATH] < 0 || n[PATH] > r->l->node_count)
        return broken(r, "what is known of a listed call is out of range");
    call->stack = (uint32_t)n[STACK];
    call->enter_event = (uint32_t)n[ENTER_EVENT];
    call->end_event = (uint32_t)(n[ENTER_EVENT] + n[EVENTS]);
    call->enter_tick = n[ENTER];
    call->self_ticks = difference(call->duration_ticks, n[OTHERS]);
    call->path = (uint32_t)n[PATH];
    return TTAPE_OK;
}

static ttape_status read_call(struct listed_reading *r, const struct ttp_listed_call *before,
                              struct known *known, struct ttp_listed_call *call)
{
    struct call_models *c = &r->m.calls[before != NULL];
    uint64_t partition = before != NULL ? before->partition : 0;
    uint64_t segment = before != NULL ? before->segment : 0;
    partition += (uint64_t)ttp_decode_signed(&r->d, &c->partition);
    segment += (uint64_t)ttp_decode_signed(&r->d, &c->segment);
    call->is_known = ttp_decode_bit(&r->d, &c->is_known);
    if (partition >= r->partition_count || segment >= TTP_MAX_STREAMS)
        return broken(r, "a listed call is in no partition of its overview");
    call->partition = (uint32_t)partition;
    call->segment = (uint32_t)segment;
    if (!call->is_known)
        return TTAPE_OK;
    start_known(r->l, call->partition, known);
    read_known(r, call, known);
    return take_numbers(r, known->numbers, call);
}

static ttape_status read_row(struct listed_reading *r, const struct ttp_measure *row,
                             struct ttp_listed_call *calls, uint32_t left, uint8_t *count)
{
    int64_t most = row->max_ticks;
    struct known known = {0};
    uint64_t listed = ttp_decode_number(&r->d, &r->m.listed);
    if (listed > TTP_LISTED_MOST || listed > row->exit_count || listed > left)
        return broken(r, "an overview lists more calls than it says");
    *count = (uint8_t)listed;
    for (uint32_t i = 0; i < listed; i++) {
        uint64_t less = i != 0 ? ttp_decode_number(&r->d, &r->m.less) : 0;
        calls[i] = (struct ttp_listed_call){.duration_ticks = difference(most, (int64_t)less)};
        if (calls[i].duration_ticks > most || calls[i].duration_ticks < row->min_ticks)
            return broken(r, "the duration of a listed call is out of range");
        most = calls[i].duration_ticks;
        TTP_TRY(read_call(r, i != 0 ? &calls[i - 1] : NULL, &known, &calls[i]));
    }
    return TTAPE_OK;
}

static struct listed_reading start_reading(const struct ttp_overview *in, struct ttp_listed *io,
                                           uint64_t counts[2], ttape_error *err)
{
    struct listed_reading r = {.l = io, .partition_count = in->partition_count, .err = err};
    r.d = ttp_decoder_init(in->fields[TTP_OVERVIEW_LISTED].data,
                           in->fields[TTP_OVERVIEW_LISTED].size_bytes);
    models_init(&r.m);
    counts[0] = ttp_decode_number(&r.d, &r.m.above);
    counts[1] = ttp_decode_number(&r.d, &r.m.listed);
    return r;
}

ttape_status ttp_listed_count(const struct ttp_overview *in, struct ttp_listed *io,
                              ttape_error *err)
{
    uint64_t counts[2];
    struct listed_reading r = start_reading(in, io, counts, err);
    if (counts[0] > TTP_LISTED_NODES || counts[1] > TTP_LISTED_CALLS || ttp_decoder_cut(&r.d))
        return broken(&r, "an overview lists too many calls");
    if (in->resolution_ns == 0)
        return broken(&r, "an overview without times lists calls");
    io->node_count = (uint32_t)counts[0];
    io->call_count = (uint32_t)counts[1];
    return TTAPE_OK;
}

ttape_status ttp_listed_read(const struct ttp_overview *in, struct ttp_listed *io, ttape_error *err)
{
    uint64_t counts[2]; /* which the caller knows */
    struct listed_reading r = start_reading(in, io, counts, err);
    uint32_t done = 0;
    for (uint32_t i = 0; i < io->node_count; i++) {
        TTP_TRY(read_node(&r, i, &io->nodes[i]));
        if (ttp_decoder_cut(&r.d))
            return broken(&r, "listed calls end early");
    }
    for (uint32_t i = 0; i < io->row_count; i++) {
        io->counts[i] = 0;
        if (io->rows[i].exit_count == 0)
            continue;
        TTP_TRY(
            read_row(&r, &io->rows[i], io->calls + done, io->call_count - done, &io->counts[i]));
        done += io->counts[i];
        if (ttp_decoder_cut(&r.d))
            return broken(&r, "listed calls end early");
    }
    return done == io->call_count ? TTAPE_OK
                                  : broken(&r, "an overview lists fewer calls than it says");
}
