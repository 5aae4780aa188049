/* Edges, ticks, depths and measures are worked out from the events and compared with what is
 * stored. */
#include "answers/check/verify_partition.h"

#include <string.h>

#include "format/base/fail.h"
#include "reader/levels/verify_enters.h"
#include "reader/levels/verify_instants.h"
#include "reader/partition/summary_reader.h"

/* What the partition has for comparing; rows NULL: no summary that can be read. */
struct said {
    struct ttp_measure *rows;
    uint32_t count;
    bool timed, own_times;
    struct ttp_cpu_times cpu;
};

struct verifying {
    struct ttp_trace_decoder *decoder;
    const struct ttp_loaded *p;
    struct ttp_measuring m;
    struct said said;
    ttp_problem_callback callback;
    void *context;
};

static ttape_status report_number(const struct verifying *v, const char *rule, uint16_t section,
                                  const char *what, uint32_t number)
{
    ttape_error problem;
    const struct ttp_section *s = ttp_partition_section(&v->p->head, section);
    uint64_t offset = v->p->payload_offset + (s != NULL ? s->offset : 0);
    (void)ttp_fail(&problem, TTAPE_E_CORRUPT, rule, offset, "%s '%u'", what, number);
    return v->callback(v->context, &problem) ? TTAPE_OK : TTAPE_END;
}

static const struct ttp_frame *end_frame(const struct ttp_segments *g, const struct ttp_segment *s,
                                         uint32_t i)
{
    return i < s->kept ? &g->start_frames[s->start.frame_start + i]
                       : &g->end_frames[s->end.frame_start + i - s->kept];
}

/* Compares the frames of one stack, from the top down; `at` is one past its last frame in the
 * edge's list. */
static bool same_stack(const struct verifying *v, const struct ttp_segment *s, uint32_t slot,
                       uint32_t at)
{
    const struct ttp_frame_stacks *stacks = &v->m.stacks;
    bool timed = v->p->delta != NULL;
    for (uint32_t f = stacks->stacks[slot].top; f != TTP_NO_FRAME; f = stacks->frames[f].below) {
        const struct ttp_stack_frame *have = &stacks->frames[f];
        const struct ttp_frame *said = end_frame(&v->p->segments, s, --at);
        struct ttp_symbol symbol = v->p->symbols[have->symbol];
        bool kept = at < s->kept;
        int64_t self = kept ? said->end_self_ticks : said->self_ticks;
        if (said->stack != stacks->numbers.numbers[slot] ||
            said->event_class != symbol.event_class || said->argument != symbol.argument ||
            kept != (have->start == at && kept) ||
            (timed && (said->enter_tick != have->enter_tick || self != have->self_ticks)))
            return false;
        if (at == s->kept && have->start == at)
            return false; /* more frames were kept than the edge says */
    }
    return true;
}

static bool same_frames(const struct verifying *v, const struct ttp_segment *s)
{
    const struct ttp_frame_stacks *stacks = &v->m.stacks;
    uint64_t at = 0;
    for (uint32_t slot = 0; slot < stacks->stack_count; slot++) {
        const struct ttp_frame_stack *stack = &stacks->stacks[slot];
        if (stack->epoch != stacks->epoch || stack->height == 0)
            continue;
        at += stack->height;
        if (at > s->end.frame_count || !same_stack(v, s, slot, (uint32_t)at))
            return false;
    }
    return at == s->end.frame_count;
}

static uint32_t min_depth(const struct ttp_loaded *p, uint32_t segment, struct ttp_walker *end)
{
    ttape_event events[128];
    struct ttp_walker w = ttp_walker_at(p, segment, p->segment_start[segment]);
    uint32_t least = UINT32_MAX, last = p->segment_start[segment + 1];
    while (w.event < last) {
        uint32_t count = last - w.event < 128 ? last - w.event : 128;
        ttp_walker_events(p, &w, w.event + count, events);
        for (uint32_t i = 0; i < count; i++)
            least = events[i].depth < least ? events[i].depth : least;
    }
    *end = w;
    return least;
}

static ttape_status verify_segment(struct verifying *v, uint32_t segment, ttape_error *err)
{
    const struct ttp_loaded *p = v->p;
    const struct ttp_segment *s = &p->segments.segments[segment];
    struct ttp_walker end;
    TTP_TRY(ttp_measuring_segment(&v->m, segment, err));
    if (s->min_depth != min_depth(p, segment, &end))
        TTP_TRY(report_number(v, "F-EDG-05", TTP_SECTION_EDGES, "wrong least depth of segment",
                              segment));
    if (p->delta != NULL && s->end_tick != v->m.tick)
        TTP_TRY(
            report_number(v, "F-EDG-05", TTP_SECTION_EDGES, "wrong end tick of segment", segment));
    if (s->end.stack != v->m.stacks.current_number || s->end.unknown_depth != end.unknown ||
        s->end.depth_offset != end.offset || !same_frames(v, s))
        TTP_TRY(
            report_number(v, "F-EDG-05", TTP_SECTION_EDGES, "wrong end edge of segment", segment));
    return TTAPE_OK;
}

static bool same_row(const struct ttp_measure *a, const struct ttp_measure *b, bool timed)
{
    if (a->call_count != b->call_count || a->exit_count != b->exit_count)
        return false;
    return !timed || (a->self_ticks == b->self_ticks && a->total_ticks == b->total_ticks &&
                      a->min_ticks == b->min_ticks && a->max_ticks == b->max_ticks &&
                      a->squares.high == b->squares.high && a->squares.low == b->squares.low);
}

/* `left` and `right` are rows of both summaries, or neither's. */
static bool same_cpu(const struct verifying *v, const struct said *said,
                     const struct ttp_measure *left, const struct ttp_measure *right)
{
    const struct ttp_cpu_measure zero = {0};
    bool is_said = left >= said->rows && left < said->rows + said->count;
    bool is_had = right >= v->m.rows && right < v->m.rows + v->m.row_count;
    const struct ttp_cpu_measure *a = is_said ? &said->cpu.rows[left - said->rows] : &zero;
    const struct ttp_cpu_measure *b = is_had ? &v->m.cpu.rows[right - v->m.rows] : &zero;
    return memcmp(a->self_ns, b->self_ns, sizeof a->self_ns) == 0 &&
           memcmp(a->total_ns, b->total_ns, sizeof a->total_ns) == 0 &&
           a->max_on_ns == b->max_on_ns;
}

/* A site without a row is one whose measures are all zero. */
static ttape_status compare_rows(const struct verifying *v, const struct said *said)
{
    const struct ttp_measure zero = {0};
    uint32_t i = 0, k = 0;
    while (i < said->count || k < v->m.row_count) {
        uint64_t a = i < said->count ? said->rows[i].site : UINT64_MAX;
        uint64_t b = k < v->m.row_count ? v->m.rows[k].site : UINT64_MAX;
        const struct ttp_measure *left = a <= b ? &said->rows[i++] : &zero;
        const struct ttp_measure *right = b <= a ? &v->m.rows[k++] : &zero;
        uint32_t site = (uint32_t)(a < b ? a : b);
        if (!same_row(left, right, said->timed))
            return report_number(v, "F-SUM-05", TTP_SECTION_SUMMARY, "wrong measures of site",
                                 site);
        if (said->cpu.rows != NULL && !same_cpu(v, said, left, right))
            return report_number(v, "F-CPU-01", TTP_SECTION_CPU_TIMES, "wrong CPU times of site",
                                 site);
        if (said->own_times && left->max_self_ticks != right->max_self_ticks)
            return report_number(v, "F-OWN-01", TTP_SECTION_OWN_TIMES,
                                 "wrong largest own time of site", site);
    }
    return TTAPE_OK;
}

static ttape_status load_all(struct verifying *v, ttape_error *err)
{
    struct said *said = &v->said;
    TTP_TRY(ttp_summary_load(v->decoder, v->p, &said->rows, &said->count, err));
    TTP_TRY(ttp_own_times_load(v->decoder, v->p, said->rows, said->count, &said->own_times, err));
    return ttp_cpu_times_load(v->decoder, v->p, said->rows, said->count, &said->cpu, err);
}

static void drop_said(struct verifying *v)
{
    if (v->said.rows != NULL)
        ttp_memory_give(&v->decoder->memory, v->said.rows, v->said.count, sizeof *v->said.rows);
    v->said.rows = NULL;
    ttp_cpu_times_drop(v->decoder, &v->said.cpu);
}

/* Before the events are gone through: what start frames had before is not in them. */
static ttape_status load_said(struct verifying *v, ttape_error *err)
{
    ttape_error problem;
    const struct ttp_switches *switches = &v->p->switches;
    v->said.timed = v->p->delta != NULL;
    if (ttp_partition_section(&v->p->head, TTP_SECTION_SUMMARY) == NULL)
        return TTAPE_OK;
    ttape_status status = load_all(v, &problem);
    if (status == TTAPE_E_MEMORY || status == TTAPE_E_IO) {
        if (err != NULL)
            *err = problem;
        return status;
    }
    if (status != TTAPE_OK) {
        drop_said(v);
        return v->callback(v->context, &problem) ? TTAPE_OK : TTAPE_END;
    }
    if (v->said.cpu.rows == NULL)
        return TTAPE_OK;
    for (uint32_t s = 0; s < switches->segment_count; s++)
        if (switches->is_known[s] == 0)
            TTP_TRY(report_number(v, "F-CPU-03", TTP_SECTION_CPU_TIMES,
                                  "CPU times, and nothing is known of the switches of segment", s));
    return ttp_measuring_cpu_open(&v->m.cpu, &v->decoder->memory, v->p, &v->m.stacks,
                                  v->m.row_count, v->said.cpu.start_off_ns, err);
}

static ttape_status verify_summary(struct verifying *v)
{
    const struct said *said = &v->said;
    if (said->rows == NULL)
        return TTAPE_OK;
    if (said->cpu.rows != NULL &&
        memcmp(said->cpu.all_ns, v->m.cpu.all_ns, sizeof said->cpu.all_ns) != 0)
        TTP_TRY(report_number(v, "F-CPU-01", TTP_SECTION_CPU_TIMES, "wrong CPU times of partition",
                              v->p->partition));
    return compare_rows(v, said);
}

static ttape_status verify_gaps(const struct verifying *v)
{
    const struct ttp_values *values = &v->p->values;
    for (uint32_t i = 0; i < values->event_count; i++) {
        bool gap = v->p->symbols[v->p->codes[values->event[i]] >> 1].event_class == TTP_CLASS_GAP;
        uint32_t count = values->value_start[i + 1] - values->value_start[i];
        for (uint32_t k = 0; k < count; k++)
            if (values->values[values->value_start[i] + k].type == TTP_VALUE_GAP_COUNT &&
                (!gap || count != 1))
                return report_number(v, "F-VAL-08", TTP_SECTION_VALUES,
                                     "a count of lost events stands at event", values->event[i]);
    }
    return TTAPE_OK;
}

/* Finds the first segment of which a section is wrong, or UINT32_MAX. */
typedef ttape_status section_check(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                   uint32_t *wrong, ttape_error *err);

static ttape_status verify_section(const struct verifying *v, section_check *check,
                                   const char *rule, uint16_t section, const char *what,
                                   ttape_error *err)
{
    ttape_error problem;
    uint32_t wrong;
    ttape_status status = check(v->decoder, v->p, &wrong, &problem);
    if (status == TTAPE_OK)
        return wrong == UINT32_MAX ? TTAPE_OK : report_number(v, rule, section, what, wrong);
    if (status != TTAPE_E_MEMORY && status != TTAPE_E_IO)
        return v->callback(v->context, &problem) ? TTAPE_OK : TTAPE_END;
    if (err != NULL)
        *err = problem;
    return status;
}

static ttape_status verify_all(struct verifying *v, ttape_error *err)
{
    const struct ttp_partition_head *head = &v->p->head;
    TTP_TRY(load_said(v, err));
    for (uint32_t s = 0; s < v->p->segments.segment_count; s++)
        TTP_TRY(verify_segment(v, s, err));
    if (v->p->delta != NULL && (head->first_tick != v->m.least_tick ||
                                (uint64_t)head->end_tick != (uint64_t)v->m.most_tick + 1))
        TTP_TRY(report_number(v, "F-PAR-12", 0, "wrong first or end tick of partition",
                              v->p->partition));
    TTP_TRY(verify_gaps(v));
    TTP_TRY(verify_section(v, ttp_verify_instants, "F-INS-02", TTP_SECTION_INSTANTS,
                           "wrong instants of segment", err));
    TTP_TRY(verify_section(v, ttp_verify_enters, "F-ENT-01", TTP_SECTION_ENTERS,
                           "wrong enters of segment", err));
    return verify_summary(v);
}

static void start_sums(struct verifying *v, struct ttp_overview_sums *sums)
{
    ttp_measuring_count(&v->m);
    if (sums->partition_count == TTP_OVERVIEW_PARTITIONS)
        return; /* it is too many anyway */
    ttp_listed_sums_start(&sums->listed, v->p, sums->partition_count);
    v->m.listed = &sums->listed;
}

ttape_status ttp_verify_partition(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                  ttp_problem_callback callback, void *context,
                                  struct ttp_overview_sums *sums, ttape_error *err)
{
    struct verifying v = {.decoder = d, .p = p, .callback = callback, .context = context};
    ttape_status status = ttp_measuring_open(&v.m, d, p, err);
    if (status == TTAPE_OK && sums != NULL && !sums->is_partial)
        start_sums(&v, sums);
    if (status == TTAPE_OK)
        status = verify_all(&v, err);
    if (status == TTAPE_OK && sums != NULL)
        status = ttp_overview_sums_add(sums, d, p, &v.m, err);
    else if (sums != NULL)
        sums->is_partial = true; /* it may have calls of this one */
    drop_said(&v);
    ttp_measuring_close(&v.m);
    return status;
}
