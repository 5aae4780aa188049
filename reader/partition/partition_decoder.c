/* The order of decoding follows what needs what:
 *
 *   start frames -> given symbols -> codes -> views -> depths, values of gaps ttp_loaded_prepare
 *                                      +-> times -> check, checkpoints        ttp_loaded_extend */
#include "reader/partition/partition_decoder.h"

#include <string.h>

#include "base/sort.h"
#include "format/base/fail.h"
#include "format/container/measures/unknown_ends.h"
#include "reader/partition/codecs.h"
#include "reader/partition/model_reader.h"
#include "reader/partition/times_reader.h"

/* About as long as opening the times' decoder takes, at least. */
#define LONG_CHECK_EVENTS 131072u

/* ---- given symbols ---- */

/* What can give a symbol: first the model's symbols, then the start frames, numbered through. */
struct givers {
    const struct ttp_symbol *model;
    const struct ttp_frame *frames;
    uint32_t model_count, frame_count;
};

static struct ttp_symbol giver(const struct givers *g, uint32_t i)
{
    if (i < g->model_count)
        return g->model[i];
    const struct ttp_frame *f = &g->frames[i - g->model_count];
    return (struct ttp_symbol){f->argument, f->event_class};
}

static bool giver_less(const void *context, uint32_t a, uint32_t b)
{
    struct ttp_symbol x = giver(context, a), y = giver(context, b);
    if (x.event_class != y.event_class)
        return x.event_class < y.event_class;
    if (x.argument != y.argument)
        return x.argument < y.argument;
    return a < b;
}

/* For each giver the first one of the same symbol: sorting brings them together. */
static void find_firsts(const struct givers *g, uint32_t *order, uint32_t *firsts)
{
    uint32_t count = g->model_count + g->frame_count;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    ttp_sort(order, count, giver_less, g);
    for (uint32_t i = 0, group = 0; i < count; i++) {
        struct ttp_symbol a = giver(g, order[group]), b = giver(g, order[i]);
        if (a.event_class != b.event_class || a.argument != b.argument)
            group = i;
        firsts[order[i]] = order[group];
    }
}

/* Numbers symbols: the model's keep theirs, those of frames follow by first appearance. */
static uint32_t number_givers(struct ttp_loaded *p, const struct givers *g, const uint32_t *firsts)
{
    uint32_t symbols = g->model_count;
    for (uint32_t i = 0; i < symbols; i++)
        p->symbols[i] = g->model[i];
    for (uint32_t i = 0; i < g->frame_count; i++) {
        uint32_t first = firsts[g->model_count + i];
        if (first < g->model_count) {
            p->open[i] = first;
        } else if (first - g->model_count < i) {
            p->open[i] = p->open[first - g->model_count];
        } else {
            if (symbols < p->symbol_capacity)
                p->symbols[symbols] = giver(g, first);
            p->open[i] = symbols++;
        }
    }
    return symbols;
}

static ttape_status give_symbols(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 ttape_error *err)
{
    struct givers g = {.frames = p->segments.start_frames,
                       .frame_count = p->segments.start_frame_count};
    const struct ttp_loaded *model = NULL;
    if (p->head.model != TTP_NO_MODEL && !p->is_model) {
        TTP_TRY(ttp_model_get(d, p->partition, p->head.model, &model, err));
        g.model = model->symbols;
        g.model_count = model->symbol_count;
    }
    uint64_t count = (uint64_t)g.model_count + g.frame_count;
    if (g.model_count > p->head.given_count || count > UINT32_MAX)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-MOD-04", p->payload_offset,
                        "model has %u symbols, the head gives %u", g.model_count,
                        p->head.given_count);
    uint32_t *order = ttp_memory_take(&d->memory, 2 * count, sizeof *order, err);
    if (order == NULL)
        return d->memory.status;
    find_firsts(&g, order, order + count);
    uint32_t symbols = number_givers(p, &g, order + count);
    ttp_memory_give(&d->memory, order, 2 * count, sizeof *order);
    if (symbols != p->head.given_count)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-SEG-08", p->payload_offset,
                        "open frames have %u symbols, the head says %u", symbols,
                        p->head.given_count);
    return TTAPE_OK;
}

/* ---- order ---- */

/* What is wanted instead of codes, if anything is. */
struct order_sinks {
    const struct ttp_chain_call_sink *calls;
    const struct ttp_order_chain_sink *chains;
};

static ttape_status decode_with(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                struct order_sinks to, struct ttp_order_out *out, ttape_error *err)
{
    if (to.chains != NULL)
        return ttp_codecs_chains(d, p, out, *to.chains, err);
    return to.calls != NULL ? ttp_codecs_calls(d, p, out, *to.calls, err)
                            : ttp_codecs_order(d, p, out, err);
}

static ttape_status decode_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 struct order_sinks to, ttape_error *err)
{
    const struct ttp_segments *g = &p->segments;
    uint32_t segments = g->segment_count, frames = g->start_frame_count;
    uint64_t entries = (uint64_t)frames + 2ull * segments + 1;
    uint32_t *open_stack = ttp_memory_take(&d->memory, entries, sizeof *open_stack, err);
    if (open_stack == NULL)
        return d->memory.status;
    uint32_t *open_start = open_stack + frames, *start_stack = open_start + segments + 1;
    for (uint32_t i = 0; i < frames; i++)
        open_stack[i] = g->start_frames[i].stack;
    open_start[segments] = frames;
    for (uint32_t s = 0; s < segments; s++) {
        open_start[s] = g->segments[s].start.frame_start;
        start_stack[s] = g->segments[s].start.stack;
    }
    struct ttp_order_out out = {.codes = p->codes,
                                .symbols = p->symbols,
                                .segment_start = p->segment_start,
                                .open_start = open_start,
                                .open = p->open,
                                .open_stack = open_stack,
                                .start_stack = start_stack,
                                .event_count = p->head.event_count,
                                .symbol_capacity = p->symbol_capacity,
                                .given_count = p->head.given_count,
                                .segment_count = segments,
                                .hash_key = d->memory.hash_key};
    ttape_status status = decode_with(d, p, to, &out, err);
    ttp_memory_give(&d->memory, open_stack, entries, sizeof *open_stack);
    if (status == TTAPE_OK && out.symbol_count != p->head.symbol_count)
        status = ttp_fail(err, TTAPE_E_CORRUPT, "F-PAR-06", p->payload_offset,
                          "order defines %u symbols, the head says %u", out.symbol_count,
                          p->head.symbol_count);
    p->symbol_count = out.symbol_count;
    return status;
}

static ttape_status read_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                               const struct ttp_chain_call_sink *to, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    p->symbol_capacity = p->head.symbol_count;
    p->symbols = ttp_memory_take(m, p->symbol_capacity, sizeof *p->symbols, err);
    if (p->symbols == NULL)
        return m->status;
    p->open = ttp_memory_take(m, p->segments.start_frame_count, sizeof *p->open, err);
    if (p->open == NULL)
        return m->status;
    TTP_TRY(give_symbols(d, p, err));
    return decode_order(d, p, (struct order_sinks){.calls = to}, err);
}

ttape_status ttp_loaded_read_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err)
{
    p->codes = ttp_memory_take(&d->memory, p->head.event_count, sizeof *p->codes, err);
    return p->codes == NULL ? d->memory.status : read_order(d, p, NULL, err);
}

/* ---- depths and values ---- */

static ttape_status parse_depths(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 const struct ttp_content *c, ttape_error *err)
{
    uint32_t count = 0;
    TTP_TRY(ttp_depths_count(c->data, c->size_bytes, &count, err));
    p->changes = ttp_memory_take(&d->memory, count, sizeof *p->changes, err);
    if (p->changes == NULL)
        return d->memory.status;
    p->change_count = count;
    return ttp_depths_read(c->data, c->size_bytes, p->head.event_count, p->changes, count, err);
}

static ttape_status parse_values(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 const struct ttp_content *c, ttape_error *err)
{
    struct ttp_values *v = &p->values;
    struct ttp_memory *m = &d->memory;
    struct ttp_values counts = {0};
    TTP_TRY(ttp_values_count(c->data, c->size_bytes, &counts, err));
    *v = counts;
    v->event = ttp_memory_take(m, v->event_count, sizeof *v->event, err);
    if (v->event == NULL)
        return m->status;
    v->value_start = ttp_memory_take(m, v->event_count + 1ull, sizeof *v->value_start, err);
    if (v->value_start == NULL)
        return m->status;
    v->values = ttp_memory_take(m, v->value_count, sizeof *v->values, err);
    if (v->values == NULL)
        return m->status;
    v->bytes = ttp_memory_take(m, v->bytes_count, 1, err);
    if (v->bytes == NULL)
        return m->status;
    return ttp_values_read(c->data, c->size_bytes, p->head.event_count, v, err);
}

static ttape_status parse_switches(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   const struct ttp_content *c, ttape_error *err)
{
    struct ttp_switches *s = &p->switches;
    struct ttp_memory *m = &d->memory;
    uint32_t segments = p->head.segment_count, spans = 0;
    TTP_TRY(ttp_switches_count(c->data, c->size_bytes, segments, &spans, err));
    s->is_known = ttp_memory_take(m, segments, 1, err);
    if (s->is_known == NULL)
        return m->status;
    s->segment_count = segments;
    s->span_start = ttp_memory_take(m, segments + 1ull, sizeof *s->span_start, err);
    if (s->span_start == NULL)
        return m->status;
    s->spans = ttp_memory_take(m, spans, sizeof *s->spans, err);
    if (s->spans == NULL)
        return m->status;
    s->span_count = spans;
    return ttp_switches_read(c->data, c->size_bytes, p->segment_start, s, err);
}

static bool is_unwinding(const struct ttp_loaded *p, uint32_t code)
{
    uint8_t event_class = p->symbols[code >> 1].event_class;
    return event_class == TTP_CLASS_UNWIND || event_class == TTP_CLASS_EXIT_ACROSS;
}

static ttape_status take_ends(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              const uint8_t *kinds, ttape_error *err)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < p->head.event_count; i++) {
        if (!is_unwinding(p, p->codes[i]) || kinds[at++] == TTAPE_UNWIND_LEFT)
            continue;
        TTP_TRY(ttp_memory_reserve(&d->memory, &p->ends, &p->end_capacity, p->end_count + 1ull,
                                   sizeof *p->ends, err));
        p->ends[p->end_count++] = (struct ttp_special){i, kinds[at - 1]};
    }
    return TTAPE_OK;
}

static ttape_status parse_ends(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                               const struct ttp_content *c, ttape_error *err)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->head.event_count; i++)
        count += is_unwinding(p, p->codes[i]);
    uint8_t *kinds = ttp_memory_take(&d->memory, count, 1, err);
    if (kinds == NULL)
        return d->memory.status;
    ttape_status status = ttp_ends_read(c->data, c->size_bytes, kinds, count, err);
    if (status == TTAPE_OK)
        status = take_ends(d, p, kinds, err);
    ttp_memory_give(&d->memory, kinds, count, 1);
    return status;
}

typedef ttape_status (*content_parser)(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                       const struct ttp_content *c, ttape_error *err);

static ttape_status parse_optional(struct ttp_trace_decoder *d, struct ttp_loaded *p, uint16_t kind,
                                   content_parser parse, ttape_error *err)
{
    struct ttp_content content;
    const struct ttp_section *section = ttp_partition_section(&p->head, kind);
    if (section == NULL)
        return TTAPE_OK;
    TTP_TRY(ttp_content_open(d, p, section, &content, err));
    ttape_status status = parse(d, p, &content, err);
    if (status != TTAPE_OK)
        ttp_content_rebase(&content, err);
    ttp_content_close(d, &content);
    return status;
}

ttape_status ttp_loaded_read_values(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                    ttape_error *err)
{
    if (p->has_values)
        return TTAPE_OK;
    TTP_TRY(parse_optional(d, p, TTP_SECTION_VALUES, parse_values, err));
    p->has_values = true;
    return TTAPE_OK;
}

ttape_status ttp_loaded_read_switches(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                      ttape_error *err)
{
    return p->switches.segment_count != 0
               ? TTAPE_OK
               : parse_optional(d, p, TTP_SECTION_SWITCHES, parse_switches, err);
}

static bool has_gaps(const struct ttp_loaded *p)
{
    for (uint32_t i = 0; i < p->symbol_count; i++)
        if (p->symbols[i].event_class == TTP_CLASS_GAP)
            return true;
    return false;
}

static ttape_status check_size(const ttape_reader *r, const struct ttp_loaded *p, ttape_error *err)
{
    if (p->head.event_count > r->limits.partition_events)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-PAR-05", p->payload_offset + TTP_HEAD_EVENTS_AT,
                        "partition has %u events, more than the limit of %u", p->head.event_count,
                        r->limits.partition_events);
    return TTAPE_OK;
}

static ttape_status prepare_partition(struct ttp_trace_decoder *d, struct ttp_loaded *p, bool times,
                                      ttape_error *err)
{
    TTP_TRY(check_size(d->reader, p, err));
    TTP_TRY(ttp_loaded_read_order(d, p, err));
    TTP_TRY(ttp_loaded_make_views(d, p, err));
    if (times)
        TTP_TRY(ttp_times_open(d, p, err));
    TTP_TRY(parse_optional(d, p, TTP_SECTION_DEPTHS, parse_depths, err));
    TTP_TRY(ttp_loaded_read_switches(d, p, err));
    TTP_TRY(parse_optional(d, p, TTP_SECTION_ENDS, parse_ends, err));
    if (has_gaps(p))
        TTP_TRY(ttp_loaded_read_values(d, p, err));
    return ttp_loaded_check_open(d, p, err);
}

ttape_status ttp_loaded_prepare(struct ttp_trace_decoder *d, struct ttp_loaded *p, ttape_error *err)
{
    return prepare_partition(d, p, true, err);
}

ttape_status ttp_loaded_check_untimed(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                      ttape_error *err)
{
    TTP_TRY(prepare_partition(d, p, false, err));
    return ttp_loaded_check(d, p, p->head.event_count, err);
}

bool ttp_loaded_has_chains(const struct ttp_loaded *p)
{
    return ttp_partition_section(&p->head, TTP_SECTION_CHAIN_HEADER) != NULL;
}

ttape_status ttp_loaded_count_calls(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                    struct ttp_chain_call_sink to, ttape_error *err)
{
    TTP_TRY(check_size(d->reader, p, err));
    TTP_TRY(read_order(d, p, &to, err));
    return ttp_loaded_make_views(d, p, err);
}

ttape_status ttp_loaded_list_chains(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                    struct ttp_order_chain_sink to, ttape_error *err)
{
    return decode_order(d, p, (struct order_sinks){.chains = &to}, err);
}

bool ttp_loaded_covers(const struct ttp_loaded *p, const struct ttp_range *range)
{
    return p->checked.event >= range->checked && ttp_times_cover(p, range->first, range->end);
}

ttape_status ttp_loaded_extend(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                               const struct ttp_range *range, ttape_error *err)
{
    struct ttp_times_opening opening;
    bool is_long =
        range->checked > p->checked.event && range->checked - p->checked.event >= LONG_CHECK_EVENTS;
    if (!is_long || range->first < range->end) {
        TTP_TRY(ttp_times_extend(d, p, range->first, range->end, err));
        return ttp_loaded_check(d, p, range->checked, err);
    }
    /* Callers that want the order want times next. */
    ttp_codecs_times_begin(d, p, &opening);
    ttape_status status = ttp_loaded_check(d, p, range->checked, err);
    ttp_codecs_times_end(d, p, &opening);
    return status;
}

static void close_decoders(struct ttp_trace_decoder *d, struct ttp_loaded *p)
{
    ttp_codecs_times_close(d, p);
    if (p->stacks.memory != NULL)
        ttp_stacks_close(&p->stacks);
    p->stacks = (struct ttp_frame_stacks){0};
}

ttape_status ttp_loaded_complete(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 ttape_error *err)
{
    const struct ttp_range all = {0, p->head.event_count, p->head.event_count, false};
    TTP_TRY(ttp_loaded_extend(d, p, &all, err));
    close_decoders(d, p);
    return TTAPE_OK;
}

/* ---- giving back ---- */

static void drop_values(struct ttp_memory *m, struct ttp_loaded *p)
{
    struct ttp_values *v = &p->values;
    ttp_memory_give(m, v->event, v->event_count, sizeof *v->event);
    ttp_memory_give(m, v->value_start, v->event_count + 1ull, sizeof *v->value_start);
    ttp_memory_give(m, v->values, v->value_count, sizeof *v->values);
    ttp_memory_give(m, v->bytes, v->bytes_count, 1);
    *v = (struct ttp_values){0};
    p->has_values = false;
}

void ttp_loaded_drop_switches(struct ttp_memory *m, struct ttp_loaded *p)
{
    struct ttp_switches *s = &p->switches;
    ttp_memory_give(m, s->is_known, s->segment_count, 1);
    ttp_memory_give(m, s->span_start, s->segment_count + 1ull, sizeof *s->span_start);
    ttp_memory_give(m, s->spans, s->span_count, sizeof *s->spans);
    *s = (struct ttp_switches){0};
}

/* Times and checks start from nothing again. */
static void rewind_events(struct ttp_loaded *p)
{
    p->checked = (struct ttp_walker){0};
    p->special_count = p->gap_count = 0;
    p->lost_count = 0;
    ttp_times_forget(p);
}

static void drop_order(struct ttp_trace_decoder *d, struct ttp_loaded *p)
{
    struct ttp_memory *m = &d->memory;
    uint32_t events = p->head.event_count;
    ttp_memory_give(m, p->codes, events, sizeof *p->codes);
    ttp_memory_give(m, p->symbols, p->symbol_capacity, sizeof *p->symbols);
    ttp_memory_give(m, p->open, p->segments.start_frame_count, sizeof *p->open);
    ttp_memory_give(m, p->views, 2ull * p->symbol_count, sizeof *p->views);
    close_decoders(d, p);
    ttp_times_drop(d, p);
    ttp_memory_give(m, p->starts, p->segments.segment_count, sizeof *p->starts);
    ttp_memory_give(m, p->checkpoints, events / TTP_CHECKPOINT_EVENTS + 1ull,
                    sizeof *p->checkpoints);
    ttp_memory_give(m, p->specials, p->special_capacity, sizeof *p->specials);
    ttp_memory_give(m, p->changes, p->change_count, sizeof *p->changes);
    ttp_memory_give(m, p->ends, p->end_capacity, sizeof *p->ends);
    ttp_loaded_drop_switches(m, p);
    ttp_memory_give(m, p->stack_numbers.numbers, p->stack_numbers.count, sizeof(uint32_t));
    p->stack_numbers = (struct ttp_stack_numbers){0};
    p->codes = p->open = NULL;
    p->symbols = NULL;
    p->views = NULL;
    p->starts = p->checkpoints = NULL;
    p->specials = NULL;
    p->changes = NULL;
    p->ends = NULL;
    p->end_count = p->end_capacity = 0;
    p->symbol_count = p->symbol_capacity = p->special_capacity = p->change_count = 0;
}

void ttp_loaded_drop(struct ttp_trace_decoder *d, struct ttp_loaded *p, int stage)
{
    struct ttp_memory *m = &d->memory;
    struct ttp_segments *g = &p->segments;
    if (stage < TTP_STAGE_ORDER || !p->has_values) /* those of gaps belong to the order */
        drop_values(m, p);
    if (stage < TTP_STAGE_EVENTS)
        rewind_events(p);
    if (stage < TTP_STAGE_ORDER)
        drop_order(d, p);
    if (stage < TTP_STAGE_LIGHT) {
        ttp_memory_give(m, p->light, p->light_bytes, 1);
        ttp_memory_give(m, g->segments, p->head.segment_count, sizeof *g->segments);
        ttp_memory_give(m, g->start_frames, p->head.start_frame_count, sizeof *g->start_frames);
        ttp_memory_give(m, g->end_frames, p->head.end_frame_count, sizeof *g->end_frames);
        ttp_memory_give(m, p->segment_start, p->head.segment_count + 1ull,
                        sizeof *p->segment_start);
        p->light = NULL;
        *g = (struct ttp_segments){0};
        p->segment_start = NULL;
    }
    if (p->stage > stage)
        p->stage = stage;
}

static bool is_within(int64_t tick, int64_t most) { return tick >= -most && tick <= most; }

bool ttp_loaded_durations_fit(const struct ttp_loaded *p)
{
    int64_t most = (int64_t)((uint64_t)INT64_MAX / 2 / p->head.resolution_ns);
    bool fit = is_within(p->head.first_tick, most) && is_within(p->head.end_tick, most);
    for (uint32_t i = 0; fit && i < p->head.start_frame_count; i++)
        fit = is_within(p->segments.start_frames[i].enter_tick, most);
    return fit;
}
