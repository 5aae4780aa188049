/* What recorders wrote of their clocks: which scopes have one, and how far each is from UTC. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tracetape/writer.h>

#include "answers/clocks/clocks_internal.h"
#include "base/text.h"

#define STEPS_MOST 16u         /* that metadata tell */
#define SAME_NS    1000000000u /* offsets of one clock, where nothing else says that it is one */

static int64_t take_error(uint64_t error_ns)
{
    return error_ns < (uint64_t)TTP_CLOCKS_FAR ? (int64_t)error_ns : TTP_CLOCKS_FAR;
}

/* The numbers of a scope that say something of its clock. */
struct numbers {
    uint64_t offsets[STEPS_MOST + 1];
    bool has_offsets[STEPS_MOST + 1];
    uint64_t utc_error, utc_error_end, utc_error_most;
    bool has_utc_error, has_utc_error_end;
    uint64_t realtime_error;
};

static void take_offset(struct numbers *n, ttape_string key, uint64_t value)
{
    for (unsigned i = 0; i <= STEPS_MOST; i++) {
        char name[40] = "realtime_offset_ns";
        if (i != 0)
            (void)snprintf(name, sizeof name, "realtime_offset_%u_ns", i);
        if (ttp_text_is(key, name)) {
            n->offsets[i] = value;
            n->has_offsets[i] = true;
        }
    }
}

static void take_number(struct ttp_clock_scope *s, struct numbers *n, ttape_string key,
                        uint64_t value)
{
    if (ttp_text_is(key, "utc_error_ns")) {
        n->utc_error = value;
        n->has_utc_error = true;
    } else if (ttp_text_is(key, "utc_error_end_ns")) {
        n->utc_error_end = value;
        n->has_utc_error_end = true;
    } else if (ttp_text_is(key, "utc_error_most_ns")) {
        n->utc_error_most = value;
    } else if (ttp_text_is(key, "realtime_error_ns")) {
        n->realtime_error = value;
    } else if (ttp_text_is(key, "clock_error_ns")) {
        s->clock_error_ns = take_error(value);
    } else if (ttp_text_is(key, "time_namespace")) {
        s->time_namespace = value;
    } else if (ttp_text_is(key, "clock_shift_ns")) {
        s->shifted_ns = value;
    } else {
        take_offset(n, key, value);
    }
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    int64_t apart = (int64_t)(a - b);
    return apart < 0 ? -(uint64_t)apart : (uint64_t)apart;
}

static void conclude(struct ttp_clock_scope *s, const struct numbers *n)
{
    uint64_t stepped = 0, most = n->utc_error > n->utc_error_end ? n->utc_error : n->utc_error_end;
    for (unsigned i = 0; i <= STEPS_MOST; i++)
        if (n->has_offsets[i])
            s->offset_ns = n->offsets[i];
    for (unsigned i = 0; i <= STEPS_MOST; i++)
        if (n->has_offsets[i] && distance(n->offsets[i], s->offset_ns) > stepped)
            stepped = distance(n->offsets[i], s->offset_ns);
    s->has_offset = n->has_offsets[0];
    s->offset_error_ns = ttp_clocks_sum(take_error(n->realtime_error), take_error(stepped));
    s->has_utc_error = s->has_offset && n->has_utc_error && n->has_utc_error_end;
    s->utc_error_ns = take_error(n->utc_error_most > most ? n->utc_error_most : most);
}

static void read_scope(ttape_clocks *c, struct ttp_clock_scope *s)
{
    ttape_reader *reader = c->readers[s->reader];
    ttape_metadata_entry entry;
    struct numbers numbers = {.has_utc_error = false};
    for (uint32_t i = 0; ttape_reader_get_metadata(reader, i, &entry) == TTAPE_OK; i++) {
        if (entry.scope != s->scope)
            continue;
        if (entry.type == TTAPE_METADATA_NUMBER)
            take_number(s, &numbers, entry.key, entry.number);
        else if (entry.type == TTAPE_METADATA_TEXT && ttp_text_is(entry.key, "boot_id"))
            s->boot_id = entry.text;
        else if (entry.type == TTAPE_METADATA_TEXT && ttp_text_is(entry.key, "host"))
            s->host = entry.text;
    }
    conclude(s, &numbers);
}

static void read_times(ttape_clocks *c, uint32_t reader)
{
    struct ttp_clock_scope *scopes = c->scopes + c->first_scopes[reader];
    ttape_partition_info p;
    for (uint32_t i = 0; ttape_reader_get_partition(c->readers[reader], i, &p) == TTAPE_OK; i++) {
        struct ttp_clock_scope *s = &scopes[p.scope];
        if (p.resolution_ns == TTAPE_TIME_NONE)
            continue;
        if (!s->has_times || p.time_first_ns < s->first_ns)
            s->first_ns = p.time_first_ns;
        if (!s->has_times || p.time_end_ns > s->end_ns)
            s->end_ns = p.time_end_ns;
        s->has_times = true;
    }
}

/* Were the times of both counted by one clock? What was shifted since is no longer on it. */
static bool is_one_clock(const struct ttp_clock_scope *a, const struct ttp_clock_scope *b)
{
    if (a->shifted_ns != b->shifted_ns || a->time_namespace != 0 || b->time_namespace != 0)
        return false;
    if (a->boot_id.size_bytes != 0 && b->boot_id.size_bytes != 0)
        return ttp_is_same_text(a->boot_id, b->boot_id);
    return ttp_is_same_text(a->host, b->host) &&
           (!a->has_offset || !b->has_offset || distance(a->offset_ns, b->offset_ns) < SAME_NS);
}

/* Does a say more of its offset than b? */
static bool is_better(const struct ttp_clock_scope *a, const struct ttp_clock_scope *b)
{
    if (a->has_offset != b->has_offset)
        return a->has_offset;
    if (a->has_utc_error != b->has_utc_error)
        return a->has_utc_error;
    int64_t one = ttp_clocks_sum(a->offset_error_ns, a->has_utc_error ? a->utc_error_ns : 0);
    return one < ttp_clocks_sum(b->offset_error_ns, b->has_utc_error ? b->utc_error_ns : 0);
}

/* Each clock's first scope is looked at, of many recordings of a fleet. */
static struct ttp_clock *find_clock(ttape_clocks *c, struct ttp_clock_scope *s)
{
    for (size_t i = 0; i < c->clock_count; i++)
        if (is_one_clock(ttp_clocks_best(c, (uint32_t)i), s)) {
            s->clock = (uint32_t)i;
            return &c->clocks[i];
        }
    struct ttp_clock *clock =
        ttp_region_add(&c->region, &c->clocks, &c->clock_count, &c->clock_capacity, sizeof *clock);
    if (clock == NULL)
        return NULL;
    s->clock = (uint32_t)(c->clock_count - 1);
    clock->best = (uint32_t)(s - c->scopes);
    return clock;
}

static void add_span(const ttape_clocks *c, struct ttp_clock *clock,
                     const struct ttp_clock_scope *s)
{
    uint64_t offset_ns = clock->has_offset ? c->scopes[clock->best].offset_ns : 0;
    int64_t first = (int64_t)(s->first_ns + offset_ns), end = (int64_t)(s->end_ns + offset_ns);
    if (!s->has_times)
        return;
    clock->first_ns = clock->has_span && clock->first_ns < first ? clock->first_ns : first;
    clock->end_ns = clock->has_span && clock->end_ns > end ? clock->end_ns : end;
    clock->has_span = true;
}

static void assign(ttape_clocks *c)
{
    for (size_t i = 0; i < c->scope_count; i++) {
        struct ttp_clock_scope *s = &c->scopes[i];
        struct ttp_clock *clock = find_clock(c, s);
        if (clock == NULL)
            return;
        if (is_better(s, &c->scopes[clock->best]))
            clock->best = (uint32_t)i;
        if (s->clock_error_ns > clock->error_ns)
            clock->error_ns = s->clock_error_ns;
    }
    for (size_t i = 0; i < c->clock_count; i++)
        c->clocks[i].has_offset = c->scopes[c->clocks[i].best].has_offset;
    for (size_t i = 0; i < c->scope_count; i++)
        add_span(c, &c->clocks[c->scopes[i].clock], &c->scopes[i]);
}

void ttp_clocks_scopes(ttape_clocks *c)
{
    c->first_scopes = ttp_region_take(&c->region, c->reader_count + 1ull, sizeof(uint32_t));
    for (uint32_t i = 0; i < c->reader_count && !c->region.is_short; i++) {
        ttape_info info;
        ttape_reader_get_info(c->readers[i], &info);
        for (uint32_t k = 0; k < info.scope_count; k++) {
            struct ttp_clock_scope *s = ttp_region_add(&c->region, &c->scopes, &c->scope_count,
                                                       &c->scope_capacity, sizeof *s);
            if (s == NULL)
                return;
            s->reader = i;
            s->scope = k;
            read_scope(c, s);
        }
        read_times(c, i);
        c->first_scopes[i + 1] = (uint32_t)c->scope_count;
    }
    assign(c);
}
