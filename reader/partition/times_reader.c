/* Two levels of ticks:
 *
 *   block_ticks  before each block of 32,768 events, from the directory: where to look
 *   ticks        before each 1,024 events of the blocks that are decoded: where to start adding up
 *
 * A block's sums must lead to the tick that the directory has for the next one, so that reading on
 * and seeking agree. */
#include "reader/partition/times_reader.h"

#include <string.h>

#include "base/sort.h"
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/partition/codecs.h"
#include "reader/partition/partition_decoder.h"

/* Blocks that are decoded beyond those that are wanted: reading on is likely, and two at once cost
 * little more than one. */
#define EXTRA_BLOCKS     1u
#define EXTRA_BLOCKS_TWO 7u /* where two threads decode, four blocks at once each */

static uint32_t block_count(const struct ttp_loaded *p)
{
    return (p->head.event_count - 1) / TTP_TIME_BLOCK_EVENTS + 1;
}

/* The last segment that starts at or before the event. */
static uint32_t segment_at(const struct ttp_loaded *p, uint32_t event)
{
    return ttp_count_below(p->segment_start, 1, p->segments.segment_count, event + 1ull) - 1;
}

static ttape_status take_arrays(struct ttp_trace_decoder *d, struct ttp_loaded *p, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    uint64_t events = p->head.event_count;
    p->wide_capacity = p->head.wide_count;
    p->delta = ttp_memory_take(m, events, sizeof *p->delta, err);
    if (p->delta == NULL)
        return m->status;
    p->wide = ttp_memory_take(m, p->wide_capacity, sizeof *p->wide, err);
    if (p->wide == NULL)
        return m->status;
    p->wide_event = ttp_memory_take(m, p->wide_capacity, sizeof *p->wide_event, err);
    if (p->wide_event == NULL)
        return m->status;
    p->ticks = ttp_memory_take(m, events / TTP_CHECKPOINT_EVENTS + 1, sizeof *p->ticks, err);
    if (p->ticks == NULL)
        return m->status;
    p->time_blocks = ttp_memory_take(m, block_count(p), sizeof *p->time_blocks, err);
    if (p->time_blocks == NULL)
        return m->status;
    p->block_ticks = ttp_memory_take(m, block_count(p), sizeof *p->block_ticks, err);
    return p->block_ticks == NULL ? m->status : TTAPE_OK;
}

ttape_status ttp_times_open(struct ttp_trace_decoder *d, struct ttp_loaded *p, ttape_error *err)
{
    if (p->head.resolution_ns == 0)
        return TTAPE_OK;
    TTP_TRY(take_arrays(d, p, err));
    TTP_TRY(ttp_codecs_times_open(d, p, err));
    TTP_TRY(ttp_codecs_times_directory(p, p->block_ticks, &p->times_rule, err));
    for (uint32_t b = 0; b < block_count(p); b++) {
        uint32_t segment = segment_at(p, b * TTP_TIME_BLOCK_EVENTS);
        p->block_ticks[b] = (int64_t)((uint64_t)p->block_ticks[b] +
                                      (uint64_t)p->segments.segments[segment].base_tick);
    }
    ttp_times_forget(p);
    return TTAPE_OK;
}

void ttp_times_forget(struct ttp_loaded *p)
{
    p->time_block_count = p->wide_count = 0;
    if (p->time_blocks != NULL)
        memset(p->time_blocks, 0, block_count(p));
    p->steps_back = p->head.wide_count != 0;
}

void ttp_times_drop(struct ttp_trace_decoder *d, struct ttp_loaded *p)
{
    struct ttp_memory *m = &d->memory;
    ttp_memory_give(m, p->delta, p->head.event_count, sizeof *p->delta);
    ttp_memory_give(m, p->wide, p->wide_capacity, sizeof *p->wide);
    ttp_memory_give(m, p->wide_event, p->wide_capacity, sizeof *p->wide_event);
    ttp_memory_give(m, p->ticks, p->head.event_count / TTP_CHECKPOINT_EVENTS + 1ull,
                    sizeof *p->ticks);
    ttp_memory_give(m, p->block_ticks, block_count(p), sizeof *p->block_ticks);
    ttp_memory_give(m, p->time_blocks, block_count(p), sizeof *p->time_blocks);
    p->delta = p->wide_event = NULL;
    p->time_blocks = NULL;
    p->wide = p->ticks = p->block_ticks = NULL;
    p->wide_capacity = 0;
}

bool ttp_times_cover(const struct ttp_loaded *p, uint32_t first, uint32_t end)
{
    if (p->delta == NULL || first >= end || p->time_block_count == block_count(p))
        return true;
    for (uint32_t b = first / TTP_TIME_BLOCK_EVENTS; b <= (end - 1) / TTP_TIME_BLOCK_EVENTS; b++)
        if (!p->time_blocks[b])
            return false;
    return true;
}

/* ---- decoding ---- */

static ttape_status bad_count(const struct ttp_loaded *p, uint32_t count, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, "F-TIM-03", p->payload_offset,
                    "times have %u wide differences, the head says %u", count, p->head.wide_count);
}

static ttape_status bad_directory(const struct ttp_loaded *p, uint32_t event, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, p->times_rule, p->times.offset,
                    "times directory disagrees with the times before event '%u'", event);
}

/* What was just decoded: whole blocks, and their wide differences behind those that were there
 * already. */
struct fresh {
    uint32_t from, end;
    uint32_t wide, wide_end; /* the next one, and the end of them */
};

/* Sums up the events [from, to), and notes which events have the wide differences. */
static bool add_up(const struct ttp_loaded *p, uint32_t from, uint32_t to, struct fresh *f,
                   uint64_t *tick)
{
    const uint32_t *delta = p->delta;
    uint64_t sum = 0;
    uint32_t any = 0;
    for (uint32_t i = from; i < to; i++) {
        sum += delta[i];
        any |= delta[i] == TTP_DELTA_WIDE;
    }
    for (uint32_t i = from; any != 0 && i < to; i++) {
        if (delta[i] != TTP_DELTA_WIDE)
            continue;
        if (f->wide == f->wide_end)
            return false;
        p->wide_event[f->wide] = i;
        sum += (uint64_t)p->wide[f->wide++] - TTP_DELTA_WIDE;
    }
    *tick += sum;
    return true;
}

static ttape_status note_ticks(struct ttp_loaded *p, struct fresh *f, ttape_error *err)
{
    uint32_t segment = segment_at(p, f->from), next;
    uint64_t tick = (uint64_t)p->block_ticks[f->from / TTP_TIME_BLOCK_EVENTS];
    for (uint32_t at = f->from; at < f->end; at = next) {
        uint32_t segment_end = p->segment_start[segment + 1];
        if (at % TTP_TIME_BLOCK_EVENTS == 0 &&
            tick != (uint64_t)p->block_ticks[at / TTP_TIME_BLOCK_EVENTS])
            return bad_directory(p, at, err);
        if (at % TTP_CHECKPOINT_EVENTS == 0)
            p->ticks[at / TTP_CHECKPOINT_EVENTS] = (int64_t)tick;
        next = (at / TTP_CHECKPOINT_EVENTS + 1) * TTP_CHECKPOINT_EVENTS;
        next = next < segment_end ? next : segment_end;
        next = next < f->end ? next : f->end;
        if (!add_up(p, at, next, f, &tick))
            return bad_count(p, f->wide_end + 1, err);
        if (next == segment_end && ++segment < p->segments.segment_count)
            tick = (uint64_t)p->segments.segments[segment].base_tick;
    }
    if (f->end < p->head.event_count &&
        tick != (uint64_t)p->block_ticks[f->end / TTP_TIME_BLOCK_EVENTS])
        return bad_directory(p, f->end, err);
    return f->wide == f->wide_end ? TTAPE_OK : bad_count(p, f->wide, err);
}

static void turn_round(struct ttp_loaded *p, uint32_t first, uint32_t end)
{
    for (; first + 1 < end; first++, end--) {
        int64_t value = p->wide[first];
        uint32_t event = p->wide_event[first];
        p->wide[first] = p->wide[end - 1];
        p->wide_event[first] = p->wide_event[end - 1];
        p->wide[end - 1] = value;
        p->wide_event[end - 1] = event;
    }
}

/* Fresh wide differences move from the end of the list to where the order of events has them. */
static void move_wide(struct ttp_loaded *p, uint32_t from, uint32_t count)
{
    uint32_t at = ttp_loaded_wide_from(p, from), all = p->wide_count + count;
    turn_round(p, at, p->wide_count);
    turn_round(p, p->wide_count, all);
    turn_round(p, at, all);
    p->wide_count = all;
}

/* None of the blocks is there yet. */
static ttape_status read_blocks(struct ttp_trace_decoder *d, struct ttp_loaded *p, uint32_t first,
                                uint32_t end, ttape_error *err)
{
    uint32_t events = p->head.event_count, blocks = block_count(p);
    struct ttp_times times = {.codes = p->codes,
                              .segment_start = p->segment_start,
                              .delta = p->delta,
                              .wide = p->wide + p->wide_count,
                              .event_count = events,
                              .segment_count = p->segments.segment_count,
                              .symbol_count = p->symbol_count,
                              .wide_capacity = p->wide_capacity - p->wide_count};
    TTP_TRY(ttp_codecs_times(d, p, &times, first, end, err));
    struct fresh f = {first * TTP_TIME_BLOCK_EVENTS,
                      end < blocks ? end * TTP_TIME_BLOCK_EVENTS : events, p->wide_count,
                      p->wide_count + times.wide_count};
    bool all = p->time_block_count + (end - first) == blocks;
    if (all && f.wide_end != p->head.wide_count)
        return bad_count(p, f.wide_end, err);
    TTP_TRY(note_ticks(p, &f, err));
    if (times.wide_count != 0)
        move_wide(p, f.from, times.wide_count);
    memset(p->time_blocks + first, 1, end - first);
    p->time_block_count += end - first;
    if (!all)
        return TTAPE_OK;
    p->steps_back = false;
    for (uint32_t i = 0; i < p->wide_count; i++)
        p->steps_back = p->steps_back || p->wide[i] < 0;
    return TTAPE_OK;
}

ttape_status ttp_times_extend(struct ttp_trace_decoder *d, struct ttp_loaded *p, uint32_t first,
                              uint32_t end, ttape_error *err)
{
    if (ttp_times_cover(p, first, end))
        return TTAPE_OK;
    uint32_t blocks = block_count(p), from = first / TTP_TIME_BLOCK_EVENTS;
    uint32_t to = (end - 1) / TTP_TIME_BLOCK_EVENTS + 1;
    if (ttp_codecs_times_from_start(p)) {
        from = 0;
        to = p->time_block_count != 0 ? blocks : to;
        ttp_times_forget(p);
    } else {
        bool goes_on = from != 0 && p->time_blocks[from - 1];
        uint32_t extra = d->jobs >= 2 && goes_on ? EXTRA_BLOCKS_TWO : EXTRA_BLOCKS;
        to = blocks - to > extra ? to + extra : blocks;
    }
    for (uint32_t next; from < to; from = next) {
        for (next = from + 1; next < to && p->time_blocks[next] == p->time_blocks[from];)
            next++;
        if (!p->time_blocks[from])
            TTP_TRY(read_blocks(d, p, from, next, err));
    }
    return TTAPE_OK;
}

/* ---- finding ---- */

static uint64_t time_at(const struct ttp_loaded *p, int64_t tick)
{
    return ttp_time_of(tick, p->head.origin_ns, p->head.resolution_ns);
}

uint32_t ttp_times_find_block(const struct ttp_loaded *p, uint32_t from, uint32_t end,
                              uint64_t time_ns)
{
    uint32_t low = from / TTP_TIME_BLOCK_EVENTS, high = (end - 1) / TTP_TIME_BLOCK_EVENTS + 1;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (time_at(p, p->block_ticks[middle]) < time_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The tick before an event, added up from the checkpoint or segment start before it. */
static int64_t tick_before(const struct ttp_loaded *p, uint32_t segment, uint32_t event)
{
    uint32_t at = event / TTP_CHECKPOINT_EVENTS * TTP_CHECKPOINT_EVENTS, wide;
    uint64_t tick = (uint64_t)p->segments.segments[segment].base_tick;
    if (at < p->segment_start[segment])
        at = p->segment_start[segment];
    else
        tick = (uint64_t)p->ticks[at / TTP_CHECKPOINT_EVENTS];
    wide = ttp_loaded_wide_from(p, at);
    for (; at < event; at++)
        tick += p->delta[at] != TTP_DELTA_WIDE ? p->delta[at] : (uint64_t)p->wide[wide++];
    return (int64_t)tick;
}

int64_t ttp_times_tick_at(const struct ttp_loaded *p, uint32_t segment, uint32_t event)
{
    uint64_t delta = p->delta[event];
    if (delta == TTP_DELTA_WIDE)
        delta = (uint64_t)p->wide[ttp_loaded_wide_from(p, event)];
    return (int64_t)((uint64_t)tick_before(p, segment, event) + delta);
}

int64_t ttp_times_tick_after(const struct ttp_loaded *p, uint32_t before, int64_t tick,
                             uint32_t event)
{
    uint32_t wide = before < event ? ttp_loaded_wide_from(p, before + 1) : 0;
    uint64_t sum = (uint64_t)tick;
    for (uint32_t at = before + 1; at <= event; at++)
        sum += p->delta[at] != TTP_DELTA_WIDE ? p->delta[at] : (uint64_t)p->wide[wide++];
    return (int64_t)sum;
}

uint32_t ttp_times_find(const struct ttp_loaded *p, uint32_t segment, uint32_t from, uint32_t end,
                        uint64_t time_ns)
{
    if (from >= end)
        return end;
    uint64_t step = p->head.resolution_ns;
    uint32_t event = from;
    int64_t tick = tick_before(p, segment, from);
    /* While times only ascend, whole pieces can be left out. */
    while (!p->steps_back) {
        uint32_t next = (event / TTP_CHECKPOINT_EVENTS + 1) * TTP_CHECKPOINT_EVENTS;
        if (next >= end || time_at(p, p->ticks[next / TTP_CHECKPOINT_EVENTS]) >= time_ns)
            break;
        event = next;
        tick = p->ticks[next / TTP_CHECKPOINT_EVENTS];
    }
    uint64_t time = time_at(p, tick);
    for (uint32_t wide = ttp_loaded_wide_from(p, event); event < end; event++) {
        uint64_t d = p->delta[event];
        if (d == TTP_DELTA_WIDE)
            d = (uint64_t)p->wide[wide++];
        time += d * step;
        if (time >= time_ns)
            break;
    }
    return event;
}
