/* Rows as reports have them, out of sums. */
#include "answers/report/report_work.h"
#include "answers/rollup/rollup_internal.h"

static int64_t narrow(const struct ttp_rollup_sums *sums, unsigned field)
{
    struct ttp_rollup_number n = ttp_rollup_get(sums, field);
    return ttp_rollup_narrow(&n);
}

static struct ttp_rollup_number sum_of(const struct ttp_rollup_sums *sums, unsigned one,
                                       unsigned other)
{
    struct ttp_rollup_number a = ttp_rollup_get(sums, one), b = ttp_rollup_get(sums, other);
    uint64_t low = a.words[0] + b.words[0];
    uint64_t high = a.words[1] + b.words[1] + (low < a.words[0]);
    return (struct ttp_rollup_number){{low, high, (int64_t)high < 0 ? UINT64_MAX : 0}};
}

static ttape_wide_signed wide_of(const struct ttp_rollup_number *n)
{
    return (ttape_wide_signed){n->words[0], (int64_t)n->words[1]};
}

static long double real_of(const struct ttp_rollup_sums *sums, unsigned field)
{
    struct ttp_rollup_number n = ttp_rollup_get(sums, field);
    return (long double)(int64_t)n.words[1] * 18446744073709551616.0L + (long double)n.words[0];
}

static long double squares_of(const struct ttp_rollup_sums *sums)
{
    struct ttp_rollup_number n = ttp_rollup_get(sums, TTP_ROLLUP_SQUARES);
    return ((long double)n.words[2] * 18446744073709551616.0L + (long double)n.words[1]) *
               18446744073709551616.0L +
           (long double)n.words[0];
}

static struct ttp_report_reals reals_of(const struct ttp_rollup_sums *sums)
{
    long double total = real_of(sums, TTP_ROLLUP_TOTAL);
    return (struct ttp_report_reals){.total_ns = total,
                                     .ended_ns = total - real_of(sums, TTP_ROLLUP_OPEN) -
                                                 real_of(sums, TTP_ROLLUP_UNKNOWN_END_NS),
                                     .squares = squares_of(sums),
                                     .duration_ns = real_of(sums, TTP_ROLLUP_DURATION)};
}

static void set_idle(const struct ttp_rollup_sums *sums, const ttape_report_info *all,
                     bool is_decoded, bool is_known, ttape_report_row *out)
{
    if (all->idle_source == TTAPE_IDLE_SWITCHES) {
        bool is_whole = is_known && narrow(sums, TTP_ROLLUP_TOTAL_UNKNOWN) == 0;
        out->idle_ns = narrow(sums, TTP_ROLLUP_TOTAL_BLOCKED);
        out->idle_known = is_whole;
        out->is_idle_least = !is_whole && out->idle_ns != 0;
        return;
    }
    bool blocks = ttp_rollup_get_count(sums, TTP_ROLLUP_BLOCKS) != 0;
    out->idle_known = is_decoded || !all->has_idle || blocks;
    out->idle_ns = !out->idle_known ? 0 : blocks ? out->total_ns : narrow(sums, TTP_ROLLUP_IDLE);
}

static ttape_rollup_row show_row(const ttape_rollup *r, const struct ttp_rollup_row *row,
                                 const ttape_rollup_info *all)
{
    const struct ttp_rollup_sums *sums = &row->sums;
    struct ttp_rollup_number self = sum_of(sums, TTP_ROLLUP_SELF, TTP_ROLLUP_KNOWN_SELF);
    struct ttp_rollup_number total = ttp_rollup_get(sums, TTP_ROLLUP_TOTAL);
    struct ttp_rollup_number span = ttp_rollup_get(sums, TTP_ROLLUP_SPAN);
    struct ttp_rollup_number squares = ttp_rollup_get(sums, TTP_ROLLUP_SQUARES);
    struct ttp_rollup_number off = sum_of(sums, TTP_ROLLUP_UNKNOWN, TTP_ROLLUP_SELF);
    bool is_decoded = all->report.decoded_count == all->report.partition_count;
    bool has_switches = all->report.idle_source == TTAPE_IDLE_SWITCHES;
    ttape_rollup_row out = {.self_ns = wide_of(&self),
                            .total_ns = wide_of(&total),
                            .span_ns = wide_of(&span),
                            .squares = {squares.words[0], squares.words[1], squares.words[2]}};
    ttape_report_row *report = &out.report;
    *report =
        (ttape_report_row){.site = r->functions[row->function].rank,
                           .caller = row->caller == TTP_ROLLUP_CALLER_NONE ? TTAPE_NONE
                                     : row->caller < TTP_ROLLUP_CALLER_FIRST
                                         ? TTAPE_ROLLUP_SIGNAL
                                         : r->functions[row->caller - TTP_ROLLUP_CALLER_FIRST].rank,
                           .module = TTAPE_NONE,
                           .stream = TTAPE_NONE,
                           .process = TTAPE_NONE,
                           .group = TTAPE_NONE,
                           .call_count = ttp_rollup_get_count(sums, TTP_ROLLUP_CALLS),
                           .exit_count = ttp_rollup_get_count(sums, TTP_ROLLUP_EXITS),
                           .self_ns = ttp_rollup_narrow(&self),
                           .total_ns = ttp_rollup_narrow(&total),
                           .span_ns = ttp_rollup_narrow(&span),
                           .min_ns = narrow(sums, TTP_ROLLUP_MIN),
                           .max_ns = narrow(sums, TTP_ROLLUP_MAX),
                           .squares = {squares.words[0], squares.words[1]},
                           .preempted_ns = narrow(sums, TTP_ROLLUP_PREEMPTED),
                           .blocked_ns = narrow(sums, TTP_ROLLUP_BLOCKED),
                           .unknown_ns = has_switches ? ttp_rollup_narrow(&off) : 0,
                           .is_least = ttp_rollup_get_count(sums, TTP_ROLLUP_UNSEEN_ENDS) != 0,
                           .is_about = ttp_rollup_get_count(sums, TTP_ROLLUP_LATE_ENDS) != 0,
                           .unknown_end_count = ttp_rollup_get_count(sums, TTP_ROLLUP_UNKNOWN_ENDS),
                           .event_count = ttp_rollup_get_count(sums, TTP_ROLLUP_EVENTS),
                           .decoded = is_decoded};
    if (is_decoded) {
        report->duration_ns = narrow(sums, TTP_ROLLUP_DURATION);
        report->recursion_count = ttp_rollup_get_count(sums, TTP_ROLLUP_RECURSIONS);
        report->unseen_count = ttp_rollup_get_count(sums, TTP_ROLLUP_UNSEEN);
    }
    set_idle(sums, &all->report, is_decoded, all->report.unknown_ns == 0, report);
    const struct ttp_report_reals reals = reals_of(sums);
    ttp_report_set_statistics(report, &reals, r->is_partial);
    return out;
}

const ttape_rollup_row *ttape_rollup_get_rows(ttape_rollup *rollup, uint32_t *count)
{
    ttape_rollup_info info;
    *count = 0;
    if (rollup == NULL || rollup->has_failed || !ttp_rollup_settle(rollup))
        return NULL;
    if (rollup->shown_rows == NULL) {
        ttape_rollup_get_info(rollup, &info);
        rollup->shown_rows =
            ttp_region_take(&rollup->region, rollup->row_count, sizeof *rollup->shown_rows);
        for (size_t i = 0; rollup->shown_rows != NULL && i < rollup->row_count; i++)
            rollup->shown_rows[i] = show_row(rollup, &rollup->rows[rollup->row_order[i]], &info);
    }
    *count = rollup->shown_rows != NULL ? (uint32_t)rollup->row_count : 0;
    return rollup->shown_rows;
}

/* ---- all of it ---- */

static void set_idle_of_all(const ttape_rollup *r, const struct ttp_rollup_sums *sums,
                            ttape_report_info *info)
{
    uint64_t flags = ttp_rollup_get_count(sums, TTP_ROLLUP_T_FLAGS);
    bool is_decoded = info->decoded_count == info->partition_count;
    info->has_times = (flags & TTP_ROLLUP_HAS_TIMES) != 0;
    if (flags & TTP_ROLLUP_SWITCHES) {
        struct ttp_rollup_number more = sum_of(sums, TTP_ROLLUP_T_UNKNOWN, TTP_ROLLUP_T_SPAN);
        int64_t known_ns = narrow(sums, TTP_ROLLUP_T_KNOWN);
        info->idle_source = TTAPE_IDLE_SWITCHES;
        info->has_idle = true;
        info->preempted_ns = narrow(sums, TTP_ROLLUP_T_PREEMPTED);
        info->idle_ns = info->blocked_ns = narrow(sums, TTP_ROLLUP_T_BLOCKED);
        info->unknown_ns = (int64_t)((uint64_t)ttp_rollup_narrow(&more) - (uint64_t)known_ns);
        info->idle_known = info->unknown_ns == 0;
        return;
    }
    info->has_idle = (flags & TTP_ROLLUP_HAS_IDLE) != 0;
    info->idle_source = !info->has_idle                 ? TTAPE_IDLE_NOTHING
                        : flags & TTP_ROLLUP_IDLE_CALLS ? TTAPE_IDLE_SYSTEM_CALLS
                                                        : TTAPE_IDLE_FUNCTIONS;
    info->idle_known = is_decoded || !info->has_idle;
    info->idle_ns = info->idle_known ? narrow(sums, TTP_ROLLUP_T_IDLE) : 0;
    for (size_t i = 0; !info->idle_known && i < r->row_count; i++)
        if (ttp_rollup_get_count(&r->rows[i].sums, TTP_ROLLUP_BLOCKS) != 0)
            info->idle_ns = (int64_t)((uint64_t)info->idle_ns +
                                      (uint64_t)narrow(&r->rows[i].sums, TTP_ROLLUP_SELF));
}

void ttape_rollup_get_info(const ttape_rollup *rollup, ttape_rollup_info *info)
{
    struct ttp_rollup_sums sums = {0};
    uint64_t streams = 0;
    for (size_t i = 0; i < rollup->trace_count; i++) {
        /* what does not fit is shown as the nearest that does */
        (void)ttp_rollup_add_sums(&sums, ttp_rollup_trace_kinds, &rollup->traces[i].sums);
        streams += ttp_rollup_get_count(&rollup->traces[i].sums, TTP_ROLLUP_T_STREAMS);
    }
    struct ttp_rollup_number span = ttp_rollup_get(&sums, TTP_ROLLUP_T_SPAN);
    *info = (ttape_rollup_info){.by = rollup->options.by,
                                .has_counts = (rollup->flags & TTP_ROLLUP_HAS_COUNTS) != 0,
                                .has_histograms = (rollup->flags & TTP_ROLLUP_HAS_HISTOGRAMS) != 0,
                                .longest = rollup->options.longest,
                                .function_count = (uint32_t)rollup->function_count,
                                .row_count = (uint32_t)rollup->row_count,
                                .trace_count = (uint32_t)rollup->trace_count,
                                .span_ns = wide_of(&span)};
    ttape_report_info *report = &info->report;
    report->row_count = info->row_count;
    report->stream_count = streams < UINT32_MAX ? (uint32_t)streams : UINT32_MAX;
    report->partition_count = ttp_rollup_get_count(&sums, TTP_ROLLUP_T_LOOKED);
    report->decoded_count = ttp_rollup_get_count(&sums, TTP_ROLLUP_T_DECODED);
    report->damaged_count = ttp_rollup_get_count(&sums, TTP_ROLLUP_T_DAMAGED);
    report->event_count = ttp_rollup_get_count(&sums, TTP_ROLLUP_T_EVENTS);
    report->call_count = ttp_rollup_get_count(&sums, TTP_ROLLUP_T_CALLS);
    report->unseen_count = ttp_rollup_get_count(&sums, TTP_ROLLUP_T_UNSEEN);
    report->open_count = ttp_rollup_get_count(&sums, TTP_ROLLUP_T_OPEN);
    report->span_ns = ttp_rollup_narrow(&span);
    report->percentile_error = rollup->options.counts ? 1.0 / 128 : 0;
    set_idle_of_all(rollup, &sums, report);
}
