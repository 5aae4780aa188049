/* What overviews say is what the summaries of their partitions say, added up: those are not read,
 * but for what is open where a stream ends. */
#include <string.h>

#include "answers/report/report_work.h"
#include "format/base/fail.h"
#include "reader/levels/overview_reader.h"

/* Without times, all durations are 0. */
static ttape_status add_histogram(const ttape_report *report, struct ttp_account_rows *rows,
                                  uint32_t row, const struct ttp_read_overview *o, uint32_t number,
                                  ttape_error *err)
{
    const uint32_t untimed[TTP_OVERVIEW_BUCKETS] = {(uint32_t)o->rows[number].exit_count};
    if (!report->is_estimate || o->rows[number].exit_count == 0)
        return TTAPE_OK;
    return ttp_durations_add_counts(&rows->rows[row].durations, &rows->store,
                                    o->head.resolution_ns != 0 ? o->calls[number].counts : untimed,
                                    err);
}

static bool has_histograms(const ttape_report *report, const struct ttp_read_overview *o)
{
    return !report->is_estimate || o->head.resolution_ns == 0 ||
           (o->calls != NULL && o->head.resolution_ns == report->unit_ns);
}

static ttape_status add_overview(const ttape_report *report, uint32_t scope,
                                 const struct ttp_read_overview *o, bool cpu_times,
                                 struct ttp_account_rows *rows, ttape_error *err)
{
    const struct ttp_account_plan *plan = &report->plan;
    const struct ttp_cpu_measure *cpu = cpu_times ? o->cpu.rows : NULL;
    uint64_t span_ns = (uint64_t)o->head.span_ticks * o->head.resolution_ns;
    for (uint32_t i = 0; i < o->row_count; i++) {
        uint32_t site = ttp_definitions_find(&report->decoder->reader->definitions, scope,
                                             TTP_DEFINES_SITES, o->rows[i].site);
        uint32_t row = ttp_account_find(rows, TTAPE_NONE, ttp_report_key(plan->keys, site), err);
        if (row == 0)
            return rows->memory->status;
        ttp_report_add_measure(&rows->rows[row], &o->rows[i], o->head.resolution_ns,
                               cpu != NULL ? &cpu[i] : NULL);
        TTP_TRY(add_histogram(report, rows, row, o, i, err));
        rows->call_count += o->rows[i].call_count;
        rows->has_idle = rows->has_idle || plan->idle_sites[site] != 0;
    }
    rows->span_ns = (int64_t)((uint64_t)rows->span_ns + span_ns);
    if (cpu != NULL) {
        rows->known_ns = (int64_t)((uint64_t)rows->known_ns + span_ns);
        ttp_report_add_cpu_times(rows, &o->cpu);
    }
    return TTAPE_OK;
}

static bool are_enough(const ttape_report *report)
{
    const ttape_report_options *o = &report->options;
    return o->by == TTAPE_REPORT_BY_FUNCTION && !o->exact && !report->keys.overlap &&
           o->below == NULL && !o->has_range && report->plan.streams == NULL;
}

/* Whether all of an overview's partitions are wanted. */
static bool is_wanted(const ttape_report *report, const struct ttp_read_overview *o)
{
    for (uint32_t k = 0; k < o->head.partition_count; k++)
        if (!ttp_report_takes(report, o->partitions[k]))
            return false;
    return true;
}

ttape_status ttp_report_overviews(const ttape_report *report, struct ttp_account_rows *rows,
                                  bool cpu_times, struct ttp_report_covered *covered,
                                  ttape_error *err)
{
    struct ttp_trace_decoder *d = report->decoder;
    for (uint32_t i = 0; are_enough(report) && i < d->reader->overview_count; i++) {
        struct ttp_read_overview o;
        ttape_error problem = {0};
        uint32_t scope = d->reader->overviews[i].scope;
        ttape_status status =
            ttp_overview_load(d, i, report->is_estimate ? TTP_OVERVIEW_ALL : TTP_OVERVIEW_ROWS,
                              TTP_OVERVIEW_SPREAD, &o, &problem);
        if (ttp_overview_fails(status) && err != NULL)
            *err = problem;
        if (ttp_overview_fails(status))
            return status;
        if (status != TTAPE_OK)
            continue;
        if (o.head.ends_mask == 0 && ttp_overview_tells(d->reader, scope, &o, covered->marks) &&
            has_histograms(report, &o) && is_wanted(report, &o)) {
            status = add_overview(report, scope, &o, cpu_times, rows, err);
            for (uint32_t k = 0; k < o.head.partition_count; k++)
                covered->marks[o.partitions[k]] = 1;
            covered->partition_count += o.head.partition_count;
            covered->event_count += o.event_count;
            covered->has_times = covered->has_times || o.head.resolution_ns != 0;
        }
        ttp_overview_drop(d, &o);
        TTP_TRY(status);
    }
    return TTAPE_OK;
}

/* Keeps partitions that are not covered, and those in which a stream ends. */
uint32_t ttp_report_uncovered(const ttape_reader *r, const struct ttp_report_covered *covered,
                              const uint32_t *partitions, uint32_t count, uint32_t *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ttp_partition_entry *entry = &r->partitions[partitions[i]];
        bool wanted = covered->marks[partitions[i]] == 0;
        for (uint32_t s = 0; s < entry->segment_count && !wanted; s++)
            wanted = ttp_report_is_last(r, entry->first_segment + s);
        if (wanted)
            out[kept++] = partitions[i];
    }
    return kept;
}
