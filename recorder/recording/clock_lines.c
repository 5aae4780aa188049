/* When lines of the clock are left, and where the next ones lead.
 *
 *      ns            line, as it was      x pair that was read: beside the line
 *       |               . '          _ - '
 *       |           . '        _ - '      line, as it is from now on
 *       |       .-' used - - '
 *       |   . '      bridge
 *       +------------------------------------- ticks
 *
 * The bridge is a millisecond longer than what has passed, so that no short call in it looks much
 * longer or shorter than it was. The new rate is that since the last correction: a rate that holds
 * gets more exact each time, and one that changed is measured anew after one short line. */
#include <string.h>

#include "format/base/fail.h"
#include "recorder/state/clock_lines.h"

#define TOLERANCE_NS 100u     /* beside the line: then it is corrected */
#define BRIDGE_NS    1000000u /* how long the old line and the new one take to meet */
#define JUMP_NS      1000000u /* no clock drifts so much between two pairs */
#define WIDTH_MAX_NS 1000u    /* a pair that was interrupted says nothing */
#define MEASURED_NS  20000000u
#define LINES_MAX    (1u << 20)

static uint64_t value_at(const struct ttp_tick_rate *line, uint64_t ticks)
{
    if (ticks < line->base) { /* a counter may have begun before its clock */
        uint64_t before_ns = ttp_clock_scaled(line, line->base - ticks);
        return before_ns < line->base_ns ? line->base_ns - before_ns : 0;
    }
    return line->base_ns + ttp_clock_scaled(line, ticks - line->base);
}

static uint64_t scale_of(uint64_t ns, uint64_t ticks)
{
    return (uint64_t)((double)ns * (double)(1ull << TTP_CLOCK_SCALE_BITS) / (double)ticks);
}

static uint64_t ticks_of(uint64_t ns, uint64_t scale)
{
    return (uint64_t)((double)ns * (double)(1ull << TTP_CLOCK_SCALE_BITS) / (double)scale);
}

void ttp_clock_track(struct ttp_clock_tracker *t, const struct ttp_tick_rate *first)
{
    *t = (struct ttp_clock_tracker){.bridge = *first,
                                    .line = *first,
                                    .used = first->base,
                                    .mark = first->base,
                                    .mark_ns = first->base_ns,
                                    .first = first->base,
                                    .first_ns = first->base_ns,
                                    .first_scale = first->scale};
}

static uint64_t now_by_lines(const struct ttp_clock_tracker *t, uint64_t ticks)
{
    return value_at(ticks < t->line.base ? &t->bridge : &t->line, ticks);
}

/* The counter was set back: nothing that is known of it holds any more. */
static uint32_t start_again(struct ttp_clock_tracker *t, uint64_t ticks, uint64_t ns)
{
    t->bridge = t->line = (struct ttp_tick_rate){ticks, ns, t->line.scale};
    t->used = t->mark = ticks;
    t->mark_ns = ns;
    t->jump_count++;
    return 2;
}

static uint32_t correct(struct ttp_clock_tracker *t, uint64_t ticks, uint64_t ns, bool jumped)
{
    if (t->used < t->line.base && t->line.base <= ticks) /* the bridge was used to its end */
        t->used = t->line.base;
    uint64_t from_ns = now_by_lines(t, t->used), rate = t->line.scale;
    uint64_t ahead_ns = from_ns > ns ? from_ns - ns : 0;
    if (!jumped && ticks > t->mark && ns > t->mark_ns)
        rate = scale_of(ns - t->mark_ns, ticks - t->mark);
    /* Where the lines are ahead, they go on at half the rate until they are not. What was slept
     * through is no measure: there, the lines meet at once. */
    uint64_t rest = ticks_of((jumped ? 0 : BRIDGE_NS) + 2 * ahead_ns, rate);
    uint64_t end = ticks + rest, end_ns = value_at(&(struct ttp_tick_rate){ticks, ns, rate}, end);
    uint64_t rise = end_ns > from_ns ? end_ns - from_ns : 0;
    t->bridge = (struct ttp_tick_rate){t->used, from_ns, scale_of(rise, end - t->used)};
    t->line = (struct ttp_tick_rate){end, value_at(&t->bridge, end), rate};
    t->used = t->mark = ticks;
    t->mark_ns = ns;
    return 2;
}

/* The line that begins is of a short time, in which the width of a pair is much: the rate that
 * drift is counted from is that over a longer one. */
static void measure_first(struct ttp_clock_tracker *t, uint64_t ticks, uint64_t ns)
{
    if (t->is_measured || ns < t->first_ns + MEASURED_NS || ticks <= t->first)
        return;
    t->first_scale = scale_of(ns - t->first_ns, ticks - t->first);
    t->is_measured = true;
}

uint32_t ttp_clock_follow(struct ttp_clock_tracker *t, uint64_t ticks, uint64_t ns,
                          uint64_t width_ns)
{
    if (ticks < t->used)
        return t->used - ticks > ticks_of(JUMP_NS, t->line.scale) ? start_again(t, ticks, ns) : 0;
    if (width_ns <= WIDTH_MAX_NS)
        measure_first(t, ticks, ns);
    uint64_t said = now_by_lines(t, ticks), off = said > ns ? said - ns : ns - said;
    bool jumped = off >= JUMP_NS, is_bridged = ticks < t->line.base;
    if (width_ns > WIDTH_MAX_NS || (off <= TOLERANCE_NS + width_ns / 2) ||
        (is_bridged && !jumped)) {
        t->used = ticks;
        if (width_ns <= WIDTH_MAX_NS && off + width_ns / 2 > t->error_ns)
            t->error_ns = off + width_ns / 2;
        return 0;
    }
    if (jumped)
        t->jump_count++;
    else if (off + width_ns / 2 > t->error_ns)
        t->error_ns = off + width_ns / 2;
    return correct(t, ticks, ns, jumped);
}

uint64_t ttp_clock_drift_ppb(const struct ttp_clock_tracker *t)
{
    double ratio = (double)t->line.scale / (double)t->first_scale - 1;
    return (uint64_t)((ratio < 0 ? -ratio : ratio) * 1e9 + 0.5);
}

void ttp_clock_begin(struct ttp_clock *c, const struct ttp_tick_rate *first)
{
    c->line = *first;
    c->span = TTP_CLOCK_OPEN;
}

static ttape_status push_line(const ttape_allocator *a, struct ttp_clock *c,
                              const struct ttp_tick_rate *line, ttape_error *err)
{
    struct ttp_tick_rate *place = ttp_push(a, &c->lines, sizeof *place, err);
    if (place == NULL)
        return TTAPE_E_MEMORY;
    *place = *line;
    return TTAPE_OK;
}

/* Lines that would begin later are no longer true: the counter was set back, or the clock jumped
 * on a bridge. Where there get too many, the older half goes: a block that is still converted by
 * those is from long ago, and takes the oldest one that is left. */
ttape_status ttp_clock_add(const ttape_allocator *a, struct ttp_clock *c,
                           const struct ttp_tick_rate *line, ttape_error *err)
{
    if (c->lines.count == 0)
        TTP_TRY(push_line(a, c, &c->line, err));
    struct ttp_tick_rate *lines = c->lines.data;
    while (c->lines.count != 0 && lines[c->lines.count - 1].base >= line->base)
        c->lines.count--;
    if (c->lines.count >= LINES_MAX) {
        memmove(lines, lines + LINES_MAX / 2, (c->lines.count - LINES_MAX / 2) * sizeof *lines);
        c->lines.count -= LINES_MAX / 2;
    }
    c->span = 0; /* looked up again */
    return push_line(a, c, line, err);
}

uint64_t ttp_clock_seek(struct ttp_clock *c, uint64_t ticks)
{
    const struct ttp_tick_rate *lines = c->lines.data;
    size_t low = 0, high = c->lines.count;
    while (low + 1 < high) { /* the last one that begins at it or before; else the first */
        size_t middle = low + (high - low) / 2;
        if (lines[middle].base <= ticks)
            low = middle;
        else
            high = middle;
    }
    if (c->lines.count != 0)
        c->line = lines[low];
    c->span = low + 1 < c->lines.count ? lines[low + 1].base - lines[low].base : TTP_CLOCK_OPEN;
    return value_at(&c->line, ticks);
}
