/* Events out of codes: a table lookup, two additions and six stores each. Everything that a code
 * does not tell stands in short lists beside the codes, so the loop has one unlikely branch. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/sort.h"
#include "format/times/times.h"
#include "reader/partition/partition_decoder.h"
#include "reader/partition/times_reader.h"

void ttp_loaded_values(const struct ttp_loaded *p, uint32_t event, uint32_t *first, uint32_t *count)
{
    const struct ttp_values *v = &p->values;
    uint32_t at = ttp_count_below(v->event, 1, v->event_count, event);
    *first = *count = 0;
    if (at < v->event_count && v->event[at] == event) {
        *first = v->value_start[at];
        *count = v->value_start[at + 1] - *first;
    }
}

uint32_t ttp_loaded_wide_from(const struct ttp_loaded *p, uint32_t event)
{
    return ttp_count_below(p->wide_event, 1, p->wide_count, event);
}

bool ttp_loaded_value(const struct ttp_loaded *p, uint32_t value, ttape_value *out)
{
    const struct ttp_value *v = &p->values.values[value];
    if (v->type == TTP_VALUE_GAP_COUNT)
        return false;
    *out = (ttape_value){.type = v->type, .number = v->number};
    if (v->type == TTAPE_VALUE_BYTES || v->type == TTAPE_VALUE_STRING) {
        out->bytes =
            (ttape_string){(const char *)p->values.bytes + v->bytes_start, (size_t)v->number};
        out->number = 0;
    }
    return true;
}

uint32_t ttp_loaded_unwind_kind(const struct ttp_loaded *p, uint32_t event)
{
    uint32_t at = p->end_count != 0 ? ttp_count_below(&p->ends->event, 2, p->end_count, event) : 0;
    return at < p->end_count && p->ends[at].event == event ? p->ends[at].value : TTAPE_UNWIND_LEFT;
}

bool ttp_loaded_has_ends(const struct ttp_loaded *p)
{
    return ttp_partition_section(&p->head, TTP_SECTION_ENDS) != NULL;
}

static uint64_t gap_count_of(const struct ttp_loaded *p, uint32_t event)
{
    uint32_t first, count;
    ttp_loaded_values(p, event, &first, &count);
    for (uint32_t i = 0; i < count; i++)
        if (p->values.values[first + i].type == TTP_VALUE_GAP_COUNT)
            return p->values.values[first + i].number;
    return 0;
}

/* What the table cannot say about event `event`: called after its `before` was added, before its
 * `after`. */
__attribute__((noinline, cold)) static void do_special(const struct ttp_loaded *p,
                                                       struct ttp_walker *w, uint32_t event,
                                                       const struct ttp_code_view *v,
                                                       ttape_event *out)
{
    switch (v->event_class) {
    case TTP_CLASS_EXIT_ACROSS: {
        uint32_t symbol = p->specials[w->special++].value;
        out->site = p->views[2ull * symbol].site;
        out->lost_count = ttp_loaded_unwind_kind(p, event);
        break;
    }
    case TTP_CLASS_SWITCH: w->frames = p->specials[w->special++].value; break;
    case TTP_CLASS_UNWIND: out->lost_count = ttp_loaded_unwind_kind(p, event); break;
    case TTP_CLASS_EXIT_UNSEEN:
        if (w->frames == 0 && w->unknown > 0) {
            w->unknown--;
            out->depth--;
        }
        break;
    default: out->lost_count = gap_count_of(p, event);
    }
}

#define TAIL_BYTES 16u
_Static_assert(sizeof(((ttape_event *)0)->kind) == 4 &&
                   offsetof(ttape_event, site) - offsetof(ttape_event, kind) ==
                       offsetof(struct ttp_code_view, site) &&
                   offsetof(ttape_event, argument) - offsetof(ttape_event, kind) ==
                       offsetof(struct ttp_code_view, argument) &&
                   offsetof(ttape_event, kind) + TAIL_BYTES == sizeof(ttape_event),
               "a view begins as an event ends");

/* walk_even of enters, exits and leaves at ticks of 1 ns: nothing has to be looked at but whether a
 * difference is wide. */
static const int64_t *walk_plain(const struct ttp_loaded *p, struct ttp_walker *w, uint32_t end,
                                 const int64_t *wide, ttape_event *out)
{
    const uint32_t *codes = p->codes, *delta = p->delta;
    const struct ttp_code_view *views = p->views;
    uint64_t time = p->head.origin_ns + (uint64_t)w->tick;
    uint32_t base = (uint32_t)w->offset + w->unknown, depth = base + w->frames;
    for (uint32_t event = w->event; event < end; event++, out++) {
        const struct ttp_code_view *v = &views[codes[event]];
        uint64_t d = delta[event];
        if (__builtin_expect(d == TTP_DELTA_WIDE, 0))
            d = (uint64_t)*wide++;
        time += d;
        depth += (uint32_t)v->before;
        out->time_ns = time;
        out->lost_count = 0;
        memcpy((char *)out + offsetof(ttape_event, kind), v, TAIL_BYTES);
        out->depth = depth;
        depth += v->after;
    }
    w->frames = depth - base;
    w->tick = (int64_t)(time - p->head.origin_ns);
    w->event = end;
    return wide;
}

/* Events up to `end`, over which the depth offset does not change; returns the next wide
 * difference. */
static const int64_t *walk_even(const struct ttp_loaded *p, struct ttp_walker *w, uint32_t end,
                                const int64_t *wide, ttape_event *out)
{
    const uint32_t *codes = p->codes, *delta = w->is_untimed ? NULL : p->delta;
    const struct ttp_code_view *views = p->views;
    uint64_t step = p->head.resolution_ns;
    if (delta != NULL && step == 1 && !p->has_others)
        return walk_plain(p, w, end, wide, out);
    uint64_t time = p->head.origin_ns + (uint64_t)w->tick * step;
    uint64_t tick = (uint64_t)w->tick;
    uint32_t base = (uint32_t)w->offset + w->unknown;
    uint32_t frames = w->frames;
    for (uint32_t event = w->event; event < end; event++, out++) {
        const struct ttp_code_view *v = &views[codes[event]];
        if (delta != NULL) {
            uint64_t d = delta[event];
            if (__builtin_expect(d == TTP_DELTA_WIDE, 0))
                d = (uint64_t)*wide++;
            tick += d;
            time += d * step;
        }
        frames += (uint32_t)v->before;
        out->time_ns = time;
        out->lost_count = 0;
        memcpy((char *)out + offsetof(ttape_event, kind), v, TAIL_BYTES);
        out->depth = base + frames;
        if (__builtin_expect(v->special, 0)) {
            w->frames = frames;
            do_special(p, w, event, v, out);
            frames = w->frames;
            base = (uint32_t)w->offset + w->unknown;
        }
        frames += v->after;
    }
    w->frames = frames;
    w->tick = (int64_t)tick;
    w->event = end;
    return wide;
}

void ttp_walker_events(const struct ttp_loaded *p, struct ttp_walker *w, uint32_t end,
                       ttape_event *out)
{
    const int64_t *wide =
        p->wide_count == 0 ? p->wide : p->wide + ttp_loaded_wide_from(p, w->event);
    assert(end <= p->checked.event && (w->is_untimed || ttp_times_cover(p, w->event, end)));
    while (w->event < end) {
        uint32_t first = w->event, until = end;
        while (w->change < p->change_count && p->changes[w->change].event == first)
            w->offset = p->changes[w->change++].offset;
        if (w->change < p->change_count && p->changes[w->change].event < until)
            until = p->changes[w->change].event;
        wide = walk_even(p, w, until, wide, out);
        out += until - first;
    }
}

/* ---- columns ---- */

#define CHUNK_EVENTS 256u

/* Where a chunk of events goes. */
struct chunk {
    uint64_t *time_ns;
    uint32_t *site, *argument, *depth;
    uint8_t *kind;
};

/* What codes say of `count` events; returns the height behind them, *special: one needs more. With
 * constants for the last two a loop of its own: a code's view, and a store a column. */
static inline __attribute__((always_inline)) uint32_t
take_codes(const uint32_t *codes, const struct ttp_code_view *views, size_t count, uint32_t height,
           const struct chunk *to, const bool has_arguments, uint32_t *special)
{
    uint32_t *site = to->site, *argument = to->argument, *depth = to->depth;
    uint8_t *kind = to->kind;
    uint32_t any = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ttp_code_view *v = &views[codes[i]];
        kind[i] = (uint8_t)v->kind;
        site[i] = v->site;
        if (has_arguments)
            argument[i] = v->argument;
        height += (uint32_t)v->before;
        depth[i] = height;
        height += v->after;
        if (special != NULL)
            any |= v->special;
    }
    if (special != NULL)
        *special = any;
    if (!has_arguments)
        memset(argument, 0, count * sizeof *argument);
    return height;
}

/* Up to `end`, over which the depth offset does not change. False: some event needs more than its
 * view, and the walker is where it was. */
static bool walk_codes(const struct ttp_loaded *p, struct ttp_walker *w, uint32_t end,
                       const struct chunk *to)
{
    const uint32_t *codes = p->codes + w->event;
    const struct ttp_code_view *views = p->views;
    uint32_t base = (uint32_t)w->offset + w->unknown, height = base + w->frames, special = 0;
    const size_t count = end - w->event;
    if (p->has_others)
        height = take_codes(codes, views, count, height, to, true, &special);
    else if (p->has_arguments)
        height = take_codes(codes, views, count, height, to, true, NULL);
    else
        height = take_codes(codes, views, count, height, to, false, NULL);
    if (special != 0)
        return false;
    w->frames = height - base;
    return true;
}

/* Times of differences that are not wide; returns the last tick. */
static inline __attribute__((always_inline)) uint64_t
add_times(const uint32_t *restrict delta, size_t count, uint64_t tick, uint64_t origin,
          const uint64_t step, uint64_t *restrict out)
{
    for (size_t i = 0; i < count; i++) {
        tick += delta[i];
        out[i] = origin + tick * step;
    }
    return tick;
}

/* Wide differences are listed by event: between two of them nothing has to be looked at. */
static const int64_t *walk_times(const struct ttp_loaded *p, struct ttp_walker *w, uint32_t end,
                                 const int64_t *wide, uint64_t *out)
{
    const uint64_t step = p->head.resolution_ns, origin = p->head.origin_ns;
    uint64_t tick = (uint64_t)w->tick;
    for (uint32_t event = w->event; event < end;) {
        uint32_t at = (uint32_t)(wide - p->wide);
        bool has_wide = at < p->wide_count && p->wide_event[at] < end;
        uint32_t even = has_wide ? p->wide_event[at] : end;
        tick = step == 1 ? add_times(p->delta + event, even - event, tick, origin, 1, out)
                         : add_times(p->delta + event, even - event, tick, origin, step, out);
        out += even - event;
        event = even;
        if (has_wide) {
            tick += (uint64_t)*wide++;
            *out++ = origin + tick * step;
            event++;
        }
    }
    w->tick = (int64_t)tick;
    return wide;
}

static void split_event(const ttape_event *e, const struct chunk *to, uint32_t at, uint64_t *lost)
{
    to->time_ns[at] = e->time_ns;
    to->site[at] = e->site;
    to->argument[at] = e->argument;
    to->depth[at] = e->depth;
    to->kind[at] = (uint8_t)e->kind;
    if (lost != NULL)
        lost[at] = e->lost_count;
}

static const int64_t *walk_chunk(const struct ttp_loaded *p, struct ttp_walker *w, uint32_t end,
                                 const int64_t *wide, const struct chunk *to, uint64_t *lost)
{
    ttape_event events[CHUNK_EVENTS];
    uint32_t count = end - w->event;
    if (!walk_codes(p, w, end, to)) {
        wide = walk_even(p, w, end, wide, events);
        for (uint32_t i = 0; i < count; i++)
            split_event(&events[i], to, i, lost);
        return wide;
    }
    if (lost != NULL)
        memset(lost, 0, count * sizeof *lost);
    if (p->delta != NULL)
        wide = walk_times(p, w, end, wide, to->time_ns);
    for (uint32_t i = 0; p->delta == NULL && i < count; i++)
        to->time_ns[i] = p->head.origin_ns + (uint64_t)w->tick * p->head.resolution_ns;
    w->event = end;
    return wide;
}

static void number_events(uint64_t *out, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = first + i;
}

void ttp_walker_columns(const struct ttp_loaded *p, struct ttp_walker *w, uint32_t end,
                        const ttape_event_columns *out, uint64_t number)
{
    union {
        uint64_t longs[CHUNK_EVENTS];
        uint32_t words[CHUNK_EVENTS];
        uint8_t bytes[CHUNK_EVENTS];
    } unwanted; /* columns that nobody wants, one over the other */
    const int64_t *wide =
        p->wide_count == 0 ? p->wide : p->wide + ttp_loaded_wide_from(p, w->event);
    const uint32_t first = w->event;
    assert(end <= p->checked.event && ttp_times_cover(p, w->event, end));
    if (out->number != NULL)
        number_events(out->number, number, end - first);
    while (w->event < end) {
        uint32_t at = w->event - first;
        uint32_t until = end - w->event < CHUNK_EVENTS ? end : w->event + CHUNK_EVENTS;
        while (w->change < p->change_count && p->changes[w->change].event == w->event)
            w->offset = p->changes[w->change++].offset;
        if (w->change < p->change_count && p->changes[w->change].event < until)
            until = p->changes[w->change].event;
        const struct chunk to = {
            .time_ns = out->time_ns != NULL ? out->time_ns + at : unwanted.longs,
            .site = out->site != NULL ? out->site + at : unwanted.words,
            .argument = out->argument != NULL ? out->argument + at : unwanted.words,
            .depth = out->depth != NULL ? out->depth + at : unwanted.words,
            .kind = out->kind != NULL ? out->kind + at : unwanted.bytes};
        wide = walk_chunk(p, w, until, wide, &to,
                          out->lost_count != NULL ? out->lost_count + at : NULL);
    }
}

void ttp_walker_go(const struct ttp_loaded *p, struct ttp_walker *w, uint32_t event)
{
    ttape_event skipped[64];
    while (w->event < event)
        ttp_walker_events(p, w, event - w->event < 64 ? event : w->event + 64, skipped);
}

static struct ttp_walker walker_at(const struct ttp_loaded *p, uint32_t segment, uint32_t event,
                                   bool is_untimed)
{
    uint32_t block = event / TTP_CHECKPOINT_EVENTS;
    uint32_t start = p->segment_start[segment];
    /* At the segment's end the next block's checkpoint belongs to another segment, or is not there.
     * */
    if (event == p->segment_start[segment + 1] && event > start)
        block = (event - 1) / TTP_CHECKPOINT_EVENTS;
    struct ttp_walker w =
        block * TTP_CHECKPOINT_EVENTS > start ? p->checkpoints[block] : p->starts[segment];
    w.is_untimed = is_untimed;
    if (p->delta != NULL)
        w.tick = w.event == start || is_untimed ? p->segments.segments[segment].base_tick
                                                : p->ticks[block];
    ttp_walker_go(p, &w, event);
    return w;
}

struct ttp_walker ttp_walker_at(const struct ttp_loaded *p, uint32_t segment, uint32_t event)
{
    return walker_at(p, segment, event, false);
}

struct ttp_walker ttp_walker_untimed(const struct ttp_loaded *p, uint32_t segment, uint32_t event)
{
    return walker_at(p, segment, event, true);
}
