/* What is possible between two clocks, by their pairs (C-PAR-03): a straight line d(t) = s + r t
 * between the bounds.
 *
 *   d ^        v    v          v  at most (sent by b, received by a)
 *     |   ---------------------   d: any such line is possible
 *     |     ^     ^      ^        at least (sent by a, received by b)
 *     +--------------------------> t
 *
 * For a given r the bounds leave an s from the greatest least one to the least greatest one. By how
 * much they do is concave in r, so that what is possible of r is one interval; the extremes of d at
 * both ends of the recordings are found in it. */
#include "answers/clocks/clocks_internal.h"

#define RATE_MOST 1e-3 /* two clocks part by no more */
#define STEPS     80u  /* of a search: as many halvings as tell the numbers apart */
#define ROUNDS    64u  /* in which pairs are left out, before all are */
#define NANO      1e-9
#define ROUNDING  1e-15 /* that doubles are off by */
#define NO_BOUND  1e300 /* of what nothing bounds */

static double least_of(double a, double b) { return a < b ? a : b; }
static double most_of(double a, double b) { return a > b ? a : b; }
static double size_of(double a) { return a < 0 ? -a : a; }
static bool is_bound(double a) { return size_of(a) < NO_BOUND / 2; }

/* Bounds of two clocks; times from the middle of their span. */
struct fit {
    struct ttp_clock_bound *bounds;
    size_t count;
    int64_t middle_ns;
    double half, apart; /* of the span; of the clocks where has_apart */
    bool has_apart;
};

/* What is possible of s at a rate, and by which bounds: NULL: by how far clocks are apart. */
struct room {
    double least, most;
    struct ttp_clock_bound *by_least, *by_most;
};

static double time_of(const struct fit *f, const struct ttp_clock_bound *bound)
{
    return (double)(bound->time_ns - f->middle_ns);
}

static struct room room_at(const struct fit *f, double rate)
{
    struct room room = {-NO_BOUND, NO_BOUND, NULL, NULL};
    if (f->has_apart) { /* at both ends */
        room.least = -f->apart + size_of(rate) * f->half;
        room.most = f->apart - size_of(rate) * f->half;
    }
    for (size_t i = 0; i < f->count; i++) {
        struct ttp_clock_bound *bound = &f->bounds[i];
        double s = (double)bound->bound_ns - rate * time_of(f, bound);
        if (bound->is_left_out)
            continue;
        if (bound->is_least && s > room.least) {
            room.least = s;
            room.by_least = bound;
        } else if (!bound->is_least && s < room.most) {
            room.most = s;
            room.by_most = bound;
        }
    }
    return room;
}

static double width_at(const struct fit *f, double rate)
{
    struct room room = room_at(f, rate);
    return room.most - room.least;
}

/* The rate that leaves most room. */
static double find_widest(const struct fit *f)
{
    double low = -RATE_MOST, high = RATE_MOST;
    for (unsigned i = 0; i < STEPS; i++) {
        double one = low + (high - low) / 3, two = high - (high - low) / 3;
        double a = width_at(f, one), b = width_at(f, two);
        if (!is_bound(a) && !is_bound(b))
            return 0;
        if (a < b)
            low = one;
        else if (a > b)
            high = two;
        else {
            low = one;
            high = two;
        }
    }
    return (low + high) / 2;
}

/* How far rates are possible from one that is on, towards `to`. */
static double find_end(const struct fit *f, double from, double to)
{
    if (width_at(f, to) >= 0)
        return to;
    for (unsigned i = 0; i < STEPS; i++) {
        double middle = (from + to) / 2;
        if (width_at(f, middle) >= 0)
            from = middle;
        else
            to = middle;
    }
    return from;
}

/* The least or the greatest d at a time, among rates from low to high. */
static double extreme(const struct fit *f, double low, double high, double time, bool is_least)
{
    double best = is_least ? NO_BOUND : -NO_BOUND;
    for (unsigned i = 0; i < STEPS; i++) {
        double at[2] = {low + (high - low) / 3, high - (high - low) / 3}, d[2];
        for (unsigned k = 0; k < 2; k++) {
            struct room room = room_at(f, at[k]);
            d[k] = (is_least ? room.least : -room.most) + at[k] * time * (is_least ? 1 : -1);
        }
        best =
            is_least ? least_of(best, least_of(d[0], d[1])) : most_of(best, -least_of(d[0], d[1]));
        if (d[0] < d[1])
            high = at[1];
        else
            low = at[0];
    }
    return best;
}

static int64_t outwards(double ns, bool is_least)
{
    double off = 2 + size_of(ns) * ROUNDING;
    ns += is_least ? -off : off; /* by more than rounding does */
    return ns > (double)TTP_CLOCKS_FAR    ? TTP_CLOCKS_FAR
           : ns < -(double)TTP_CLOCKS_FAR ? -TTP_CLOCKS_FAR
                                          : (int64_t)ns;
}

/* Whether the others are possible without this one. */
static bool is_alone(const struct fit *f, struct ttp_clock_bound *bound)
{
    if (bound == NULL)
        return false;
    bound->is_left_out = true;
    bool is = width_at(f, find_widest(f)) >= 0;
    bound->is_left_out = false;
    return is;
}

/* The bound of the two that contradicts others, too, is left out; where that is both or none, both
 * are. */
static void leave_out_one(ttape_clocks *c, const struct fit *f, const struct room *room)
{
    bool is_least = is_alone(f, room->by_least), is_most = is_alone(f, room->by_most);
    if (room->by_least != NULL && (is_least || !is_most))
        ttp_clocks_contradict(c, room->by_least);
    if (room->by_most != NULL && (is_most || !is_least))
        ttp_clocks_contradict(c, room->by_most);
}

/* Names what cannot be true together, until the rest can. Returns a rate that is possible. */
static double leave_out(ttape_clocks *c, struct fit *f)
{
    for (unsigned round = 0;; round++) {
        double rate = find_widest(f);
        struct room room = room_at(f, rate);
        if (room.most >= room.least)
            return rate;
        for (size_t i = 0; round == ROUNDS && i < f->count; i++)
            if (!f->bounds[i].is_left_out)
                ttp_clocks_contradict(c, &f->bounds[i]);
        if (round >= ROUNDS || (room.by_least == NULL && room.by_most == NULL))
            return 0;
        leave_out_one(c, f, &room);
    }
}

/* Where d is the same all the time, or may be, there is no drift. */
static void tell_drift(ttape_clocks *c, uint32_t clock, double low, double high)
{
    if (low > 0 || high < 0)
        c->clocks[clock].drift_ppb = (int64_t)((low + high) / 2 / NANO);
}

/* The span is where both are recorded, on the clock of b: that of a is beside it by about what
 * pairs say. */
static void find_span(const ttape_clocks *c, struct fit *f, uint32_t a, uint32_t b)
{
    const struct ttp_clock *one = &c->clocks[a], *two = &c->clocks[b];
    struct room room = room_at(f, 0);
    double off = is_bound(room.least) && is_bound(room.most) ? (room.least + room.most) / 2
                 : is_bound(room.least)                      ? room.least
                 : is_bound(room.most)                       ? room.most
                                                             : 0;
    double from = least_of((double)one->first_ns - off, (double)two->first_ns);
    double to = most_of((double)one->end_ns - off, (double)two->end_ns);
    f->middle_ns = two->first_ns / 2 + two->end_ns / 2;
    f->half = most_of(to - (double)f->middle_ns, (double)f->middle_ns - from);
}

static void fit_pairs(ttape_clocks *c, size_t first, size_t count)
{
    uint32_t a = c->bounds[first].a, b = c->bounds[first].b;
    struct fit f = {.bounds = &c->bounds[first], .count = count};
    int64_t apart = 0;
    find_span(c, &f, a, b);
    f.has_apart = ttp_clocks_apart(c, a, b, &apart);
    f.apart = (double)apart;
    double rate = leave_out(c, &f);
    double low = find_end(&f, rate, -RATE_MOST), high = find_end(&f, rate, RATE_MOST);
    double least =
        least_of(extreme(&f, low, high, -f.half, true), extreme(&f, low, high, f.half, true));
    double most =
        most_of(extreme(&f, low, high, -f.half, false), extreme(&f, low, high, f.half, false));
    if (is_bound(most))
        ttp_clocks_add_edge(c, a, b, outwards(most, false), first, count);
    if (is_bound(least))
        ttp_clocks_add_edge(c, b, a, -outwards(least, true), first, count);
    if (a == 0)
        tell_drift(c, b, -high, -low); /* what is added falls where a clock is fast */
}

void ttp_clocks_fit(ttape_clocks *c)
{
    for (size_t first = 0, end; first < c->bound_count; first = end) {
        const struct ttp_clock_bound *bound = &c->bounds[first];
        for (end = first + 1; end < c->bound_count; end++)
            if (c->bounds[end].a != bound->a || c->bounds[end].b != bound->b)
                break;
        fit_pairs(c, first, end - first);
    }
}
