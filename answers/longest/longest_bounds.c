/* How long a call of each partition may be, out of its summary; and calls that are open at the end,
 * out of its edges. */
#include <string.h>

#include "answers/longest/longest_internal.h"
#include "base/sort.h"
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/cache/partition_jobs.h"
#include "reader/partition/partition_decoder.h"

#define REFINED_LEAST 8u

static bool in_range(const struct ttape_longest *l, const struct ttp_partition_entry *entry)
{
    const struct ttp_long_plan *plan = &l->plan;
    uint64_t first = ttp_time_of(entry->first_tick, entry->origin_ns, entry->resolution_ns);
    uint64_t last = ttp_time_of((int64_t)((uint64_t)entry->end_tick - 1), entry->origin_ns,
                                entry->resolution_ns);
    /* times that wrap may be anywhere */
    return !plan->has_range || last < first || (last >= plan->from_ns && first < plan->to_ns);
}

static bool has_stream(const struct ttape_longest *l, const ttape_reader *r, uint32_t partition)
{
    const struct ttp_partition_entry *entry = &r->partitions[partition];
    bool found = l->plan.streams == NULL;
    for (uint32_t s = 0; s < entry->segment_count && !found; s++)
        found = l->plan.streams[r->segments[entry->first_segment + s].stream] != 0;
    return found;
}

static bool has_switches(const struct ttp_loaded *p)
{
    return ttp_partition_section(&p->head, TTP_SECTION_SWITCHES) != NULL;
}

static enum ttp_partition_wish wish(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                    const struct ttp_loaded *p)
{
    struct ttape_longest *l = context;
    (void)worker;
    (void)d;
    if (l->plan.by == TTAPE_LONGEST_BY_ON_CPU && !has_switches(p)) {
        l->bounds[p->partition] = TTP_LONGEST_NONE;
        return TTP_WISH_NOTHING;
    }
    if (p->head.resolution_ns != 0 && ttp_loaded_durations_fit(p) &&
        ttp_partition_section(&p->head, TTP_SECTION_SUMMARY) != NULL)
        return TTP_WISH_SUMMARY;
    l->bounds[p->partition] = p->head.resolution_ns != 0 ? INT64_MAX : TTP_LONGEST_NONE;
    return TTP_WISH_NOTHING;
}

static uint32_t site_of(const ttape_reader *r, const struct ttp_loaded *p, uint32_t argument)
{
    return ttp_definitions_find(&r->definitions, p->scope, TTP_DEFINES_SITES, argument);
}

static int64_t scale(int64_t ticks, uint64_t step)
{
    int64_t ns;
    return __builtin_mul_overflow(ticks, (int64_t)step, &ns) ? INT64_MAX : ns;
}

static int64_t rank_of_start(const struct ttape_longest *l, const struct ttp_loaded *p,
                             int64_t tick)
{
    uint64_t enter = ttp_time_of(tick, p->head.origin_ns, p->head.resolution_ns);
    return (int64_t)(l->plan.start_ns - enter);
}

static bool has_own_times(const struct ttp_loaded *p)
{
    return ttp_partition_section(&p->head, TTP_SECTION_OWN_TIMES) != NULL;
}

/* The largest rank that a call can have which was entered in the partition:
 *
 *     by duration   max_ticks, or the longest duration that is asked for
 *     by own time   max_self_ticks where the partition has it, else the smaller one of all own time
 *                   that the function had here and of max_ticks
 *     by start      that of a call at the first event */
static int64_t bound_entered(const struct ttape_longest *l, const struct ttp_loaded *p,
                             const struct ttp_measure *m)
{
    int64_t own = has_own_times(p)               ? m->max_self_ticks
                  : m->self_ticks < m->max_ticks ? m->self_ticks
                                                 : m->max_ticks;
    switch (l->plan.by) {
    case TTAPE_LONGEST_BY_SELF: return scale(own, p->head.resolution_ns);
    case TTAPE_LONGEST_BY_START: return rank_of_start(l, p, p->head.first_tick);
    default: return ttp_long_at_most(&l->plan, scale(m->max_ticks, p->head.resolution_ns));
    }
}

/* The same for a call that was entered before the partition, and that may end here. */
static int64_t bound_open(const struct ttape_longest *l, const struct ttp_loaded *p,
                          const struct ttp_frame *f, const struct ttp_measure *m)
{
    switch (l->plan.by) {
    case TTAPE_LONGEST_BY_SELF:
        return has_own_times(p)
                   ? TTP_LONGEST_NONE /* counts in max_self_ticks */
                   : scale((int64_t)((uint64_t)f->self_ticks + (uint64_t)m->self_ticks),
                           p->head.resolution_ns);
    case TTAPE_LONGEST_BY_START: return rank_of_start(l, p, f->enter_tick);
    default: return TTP_LONGEST_NONE; /* counts in max_ticks if it ends */
    }
}

static const struct ttp_measure *find_row(const struct ttp_measure *measures, uint32_t count,
                                          uint32_t site)
{
    size_t step = sizeof *measures / sizeof(uint32_t);
    uint32_t at = count == 0 ? 0 : ttp_count_below(&measures->site, step, count, site);
    return at < count && measures[at].site == site ? &measures[at] : NULL;
}

static bool ends_here(const struct ttape_longest *l, const ttape_reader *r,
                      const struct ttp_loaded *p, const struct ttp_measure *m)
{
    return m != NULL && m->exit_count > 0 && l->plan.sites[site_of(r, p, m->site)] != 0 &&
           ttp_long_may_last(&l->plan, scale(m->min_ticks, p->head.resolution_ns),
                             scale(m->max_ticks, p->head.resolution_ns));
}

/* What is open where a stream ends is found when the partition is decoded. */
static void raise_by_left(const struct ttape_longest *l, const ttape_reader *r,
                          const struct ttp_loaded *p)
{
    int64_t *bound = &l->bounds[p->partition];
    for (uint32_t s = 0; s < p->segments.segment_count; s++) {
        const struct ttp_segment *g = &p->segments.segments[s];
        if (!ttp_longest_is_last(r, p->partition, s))
            continue;
        for (uint32_t i = 0; i < g->end.frame_count; i++) {
            const struct ttp_frame *f =
                i < g->kept ? &p->segments.start_frames[g->start.frame_start + i]
                            : &p->segments.end_frames[g->end.frame_start + i - g->kept];
            uint32_t site =
                f->event_class == TTP_CLASS_SIGNAL ? TTAPE_NONE : site_of(r, p, f->argument);
            int64_t most = scale((int64_t)((uint64_t)g->end_tick - (uint64_t)f->enter_tick),
                                 p->head.resolution_ns);
            if (site != TTAPE_NONE && l->plan.sites[site] != 0 && most > *bound)
                *bound = most;
        }
    }
}

bool ttp_longest_is_last(const ttape_reader *r, uint32_t partition, uint32_t segment)
{
    uint32_t number = r->partitions[partition].first_segment + segment;
    uint32_t stream = r->segments[number].stream;
    return r->stream_segments[r->stream_first[stream + 1] - 1] == number;
}

static ttape_status take_summary(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                 const struct ttp_loaded *p, const struct ttp_measure *measures,
                                 uint32_t count, const struct ttp_cpu_times *cpu, ttape_error *err)
{
    struct ttape_longest *l = context;
    const bool on_cpu = l->plan.by == TTAPE_LONGEST_BY_ON_CPU;
    int64_t *bound = &l->bounds[p->partition];
    (void)worker;
    for (uint32_t i = 0; i < count; i++) {
        if (site_of(d->reader, p, measures[i].site) == TTAPE_NONE)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SUM-03", p->payload_offset,
                            "summary names site '%u', which is not defined", measures[i].site);
        int64_t most = !ends_here(l, d->reader, p, &measures[i]) ? TTP_LONGEST_NONE
                       : on_cpu && cpu->rows != NULL             ? cpu->rows[i].max_on_ns
                                                     : bound_entered(l, p, &measures[i]);
        *bound = most > *bound ? most : *bound;
    }
    for (uint32_t i = 0; i < p->head.start_frame_count; i++) {
        const struct ttp_frame *f = &p->segments.start_frames[i];
        if (f->event_class == TTP_CLASS_SIGNAL)
            continue;
        const struct ttp_measure *m = find_row(measures, count, f->argument);
        int64_t most = ends_here(l, d->reader, p, m) ? bound_open(l, p, f, m) : TTP_LONGEST_NONE;
        *bound = most > *bound ? most : *bound;
    }
    if (on_cpu && !l->options.ended_only)
        raise_by_left(l, d->reader, p);
    /* where the clock stepped back, which is a wide difference (F-TIM-03), sums of own times say
     * nothing */
    if (l->plan.by == TTAPE_LONGEST_BY_SELF && !has_own_times(p) && p->head.wide_count != 0 &&
        *bound != TTP_LONGEST_NONE)
        *bound = INT64_MAX;
    return TTAPE_OK;
}

ttape_status ttp_longest_damaged(struct ttape_longest *l, uint32_t partition,
                                 const ttape_error *problem)
{
    l->info.damaged_count++;
    l->options.damage(l->options.context, partition, problem);
    return TTAPE_OK;
}

static ttape_status damaged(void *context, uint32_t partition, const ttape_error *problem)
{
    return ttp_longest_damaged(context, partition, problem);
}

static bool larger_bound(const void *context, uint32_t a, uint32_t b)
{
    const int64_t *bounds = context;
    return bounds[a] != bounds[b] ? bounds[a] > bounds[b] : a < b;
}

static ttape_status read_summaries(struct ttape_longest *l, const uint32_t *partitions,
                                   uint32_t count, ttape_error *err)
{
    const struct ttp_partition_work work = {.context = l,
                                            .own_times = l->plan.by == TTAPE_LONGEST_BY_SELF,
                                            .cpu_times = l->plan.by == TTAPE_LONGEST_BY_ON_CPU,
                                            .wish = wish,
                                            .summary = take_summary,
                                            .damaged = l->options.damage != NULL ? damaged : NULL};
    return ttp_partition_work(l->decoder, partitions, count, l->options.jobs, &work, err);
}

/* Keeps those of the partitions from `at` on that have a bound, in order. */
static void order_partitions(struct ttape_longest *l, uint32_t at)
{
    uint32_t kept = at;
    for (uint32_t i = at; i < l->partition_count; i++)
        if (l->bounds[l->partitions[i]] != TTP_LONGEST_NONE)
            l->partitions[kept++] = l->partitions[i];
    l->partition_count = kept;
    ttp_sort(l->partitions + at, kept - at, larger_bound, l->bounds);
}

/* Few at first, as bounds that are equal are those of the first partitions that have them; then as
 * many as before altogether, so that partitions are not put in order too often. */
ttape_status ttp_longest_refine(struct ttape_longest *l, uint32_t at, ttape_error *err)
{
    uint32_t taken = 0, read = 0;
    uint32_t most = l->refined_count > REFINED_LEAST ? l->refined_count : REFINED_LEAST;
    for (uint32_t i = at; i < l->partition_count && taken < most; i++) {
        uint32_t partition = l->partitions[i];
        if (!ttp_long_heap_wants(&l->heap, l->bounds[partition], partition))
            break;
        if (l->rough[partition] == TTP_LONG_FINE)
            continue;
        bool is_read = l->rough[partition] == TTP_LONG_ROUGH;
        l->ceilings[partition] = l->bounds[partition];
        l->bounds[partition] = TTP_LONGEST_NONE;
        l->rough[partition] = TTP_LONG_FINE;
        l->partitions[i] = l->partitions[at + read];
        l->partitions[at + read] = partition;
        read += is_read;
        taken++;
    }
    l->refined_count += taken;
    ttape_status status = read_summaries(l, l->partitions + at, read, err);
    for (uint32_t i = at; i < at + read; i++) { /* listed calls need not be looked for */
        uint32_t p = l->partitions[i];
        l->bounds[p] = l->ceilings[p] < l->bounds[p] ? l->ceilings[p] : l->bounds[p];
    }
    order_partitions(l, at);
    return status;
}

ttape_status ttp_longest_bounds(struct ttape_longest *l, ttape_error *err)
{
    struct ttp_trace_decoder *d = l->decoder;
    uint32_t read = 0;
    for (uint32_t p = 0; p < d->reader->partition_count; p++) {
        const struct ttp_partition_entry *entry = &d->reader->partitions[p];
        l->bounds[p] = TTP_LONGEST_NONE;
        l->info.has_times = l->info.has_times || entry->resolution_ns != 0;
    }
    TTP_TRY(ttp_longest_rough(l, err));
    for (uint32_t p = 0; p < d->reader->partition_count; p++) {
        const struct ttp_partition_entry *entry = &d->reader->partitions[p];
        if (!entry->damaged && !(has_stream(l, d->reader, p) && in_range(l, entry))) {
            l->bounds[p] = TTP_LONGEST_NONE;
            continue;
        }
        l->info.partition_count++;
        if (l->rough[p] == TTP_LONG_FINE)
            l->partitions[read++] = p;
    }
    TTP_TRY(read_summaries(l, l->partitions, read, err));
    for (uint32_t p = 0; p < d->reader->partition_count; p++)
        l->partitions[l->partition_count++] = p;
    order_partitions(l, 0);
    return TTAPE_OK;
}

/* ---- open at the end ---- */

static uint32_t stream_of(const struct ttape_longest *l, const struct ttp_loaded *p,
                          uint32_t segment)
{
    uint32_t first = l->decoder->reader->partitions[p->partition].first_segment;
    return l->decoder->reader->segments[first + segment].stream;
}

static void add_frame(struct ttape_longest *l, struct ttp_long_heap *heap,
                      const struct ttp_loaded *p, uint32_t segment, const struct ttp_frame *f,
                      uint32_t height)
{
    const struct ttp_long_plan *plan = &l->plan;
    const struct ttp_segment *g = &p->segments.segments[segment];
    uint64_t step = p->head.resolution_ns;
    uint32_t site = f->event_class == TTP_CLASS_SIGNAL
                        ? TTAPE_NONE
                        : ttp_definitions_find(&l->decoder->reader->definitions, p->scope,
                                               TTP_DEFINES_SITES, f->argument);
    struct ttp_long_call call = {.partition = p->partition,
                                 .segment = segment,
                                 .end_event = p->head.event_count,
                                 .enter_event = TTP_LONGEST_NO_EVENT,
                                 .site = site,
                                 .stack = f->stack,
                                 .height = height,
                                 .end = TTAPE_CALL_LEFT,
                                 .enter_ns = ttp_time_of(f->enter_tick, p->head.origin_ns, step),
                                 .end_ns = ttp_time_of(g->end_tick, p->head.origin_ns, step),
                                 .self_ns = (int64_t)((uint64_t)f->self_ticks * step)};
    if (site == TTAPE_NONE || plan->sites[site] == 0)
        return;
    if (!ttp_long_is_in_range(plan, call.end_ns) ||
        !ttp_long_lasts(plan, (int64_t)(call.end_ns - call.enter_ns)))
        return;
    call.rank_ns = ttp_long_rank(plan, call.enter_ns, call.end_ns, call.self_ns, 0);
    if (ttp_long_heap_wants(heap, call.rank_ns, p->partition) &&
        !(f->event_class == TTP_CLASS_OPEN &&
          ttp_long_is_inherited(&l->fork, l->reader, stream_of(l, p, segment), call.enter_ns)))
        ttp_long_heap_add(heap, &call);
}

static const struct ttp_frame *end_frame(const struct ttp_loaded *p, const struct ttp_segment *g,
                                         uint32_t i)
{
    return i < g->kept ? &p->segments.start_frames[g->start.frame_start + i]
                       : &p->segments.end_frames[g->end.frame_start + i - g->kept];
}

/* What stands on it has most of its time. */
static bool is_most_above(const struct ttape_longest *l, const struct ttp_loaded *p,
                          const struct ttp_segment *g, uint32_t i, const struct ttp_frame *f)
{
    const struct ttp_frame *above = i + 1 < g->end.frame_count ? end_frame(p, g, i + 1) : NULL;
    if (above == NULL || above->stack != f->stack || above->event_class == TTP_CLASS_SIGNAL)
        return false;
    uint32_t site = ttp_definitions_find(&l->decoder->reader->definitions, p->scope,
                                         TTP_DEFINES_SITES, above->argument);
    return site != TTAPE_NONE && l->plan.sites[site] != 0 &&
           ttp_long_is_most((int64_t)((uint64_t)g->end_tick - (uint64_t)above->enter_tick),
                            (int64_t)((uint64_t)g->end_tick - (uint64_t)f->enter_tick));
}

static void add_segment(struct ttape_longest *l, const struct ttp_loaded *p, uint32_t segment)
{
    const struct ttp_segment *g = &p->segments.segments[segment];
    uint32_t stack = UINT32_MAX, height = 0;
    for (uint32_t i = 0; i < g->end.frame_count; i++) {
        struct ttp_frame f = *end_frame(p, g, i);
        f.self_ticks = i < g->kept ? f.end_self_ticks : f.self_ticks;
        height = f.stack == stack ? height + 1 : 0;
        stack = f.stack;
        bool is_omitted = l->plan.without_callers && is_most_above(l, p, g, i, &f);
        add_frame(l, is_omitted ? &l->omitted : &l->heap, p, segment, &f, height);
    }
}

ttape_status ttp_longest_add_open(struct ttape_longest *l, ttape_error *err)
{
    struct ttp_trace_decoder *d = l->decoder;
    if (l->plan.by == TTAPE_LONGEST_BY_ON_CPU || l->options.ended_only)
        return TTAPE_OK; /* on the CPU, the walk over their last partition finds them */
    for (uint32_t s = 0; s < d->reader->indexed_streams; s++) {
        uint32_t count = d->reader->stream_first[s + 1] - d->reader->stream_first[s];
        if (count == 0 || (l->plan.streams != NULL && l->plan.streams[s] == 0))
            continue;
        const struct ttp_segment_entry *seg = ttp_stream_segment(d->reader, s, count - 1);
        struct ttp_loaded *p;
        if (d->reader->partitions[seg->partition].damaged ||
            d->reader->partitions[seg->partition].resolution_ns == 0)
            continue;
        ttape_error problem = {0};
        ttape_status status = ttp_loaded_get(d, seg->partition, TTP_STAGE_LIGHT, &p, &problem);
        if (status != TTAPE_OK && err != NULL)
            *err = problem;
        if (status == TTAPE_OK)
            add_segment(l, p, ttp_segment_number(d->reader, seg));
        else if (l->options.damage == NULL || status < TTAPE_E_TRUNCATED)
            return status;
        else if (l->rough[seg->partition] == TTP_LONG_ROUGH) { /* else it was read, and told */
            l->rough[seg->partition] = TTP_LONG_DAMAGED;
            TTP_TRY(ttp_longest_damaged(l, seg->partition, &problem));
        }
    }
    return TTAPE_OK;
}
