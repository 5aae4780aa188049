/* Threads that waited for the recorder were blocked, in calls of `(the recorder)`; so were all
 * functions around them, as summaries have it. That is no waiting of the program's: it is taken
 * off. Such calls are few, and their summaries tell where they are: only there events are read.
 *
 * Nothing comes between the enter and the exit of a wait: all of its time is in the interval that
 * ends with its exit, and so in the partition that has this. */
#include <tracetape/longest.h>

#include <string.h>

#include "answers/report/report_work.h"
#include "format/base/fail.h"

#define WAITS_MOST (1u << 16) /* the longest ones: others are not worth a word */

static bool selects(void *context, uint32_t site)
{
    const ttape_report *report = context;
    return ttp_read_site_is_recorder(&report->decoder->reader->definitions.sites[site]);
}

static void leave_out(void *context, uint32_t partition, const ttape_error *problem)
{
    (void)context; /* that was told when rows were added up */
    (void)partition;
    (void)problem;
}

static bool has_waits(const ttape_report *report)
{
    const struct ttp_definition_tables *d = &report->decoder->reader->definitions;
    bool found = false;
    for (uint32_t site = 0; report->rows.has_switches && site < d->site_count && !found; site++)
        found = ttp_read_site_is_recorder(&d->sites[site]);
    return found;
}

static bool is_taken(const ttape_report *report, const ttape_longest_call *call)
{
    const ttape_reader *r = report->decoder->reader;
    if (report->options.partition_count == 0)
        return true;
    for (uint32_t i = r->stream_first[call->stream]; i < r->stream_first[call->stream + 1]; i++) {
        const struct ttp_segment_entry *seg = &r->segments[r->stream_segments[i]];
        if (call->end_number - seg->first_event < seg->event_count)
            return ttp_report_takes(report, seg->partition);
    }
    return false;
}

/* The part of its time that the report has. */
static int64_t blocked_ns(const ttape_report *report, const ttape_longest_call *call)
{
    const struct ttp_account_plan *plan = &report->plan;
    uint64_t from = call->enter_ns, to = call->end_ns;
    if (plan->has_range) {
        from = from < plan->from_ns ? plan->from_ns : from;
        to = to > plan->to_ns ? plan->to_ns : to;
    }
    if (to <= from || !is_taken(report, call))
        return 0;
    int64_t inside = (int64_t)(to - from);
    return call->blocked_ns < inside ? call->blocked_ns : inside;
}

static void take_off(ttape_report *report, uint32_t caller, uint32_t key, int64_t ns,
                     uint32_t stamp)
{
    uint32_t at = ttp_account_look_up(&report->rows, caller, key);
    if (at == 0)
        return;
    struct ttp_account_row *row = &report->rows.rows[at];
    if (row->seen != stamp)
        row->total_blocked_ns -= ns < row->total_blocked_ns ? ns : row->total_blocked_ns;
    row->seen = stamp;
}

static bool is_below(const ttape_report *report, uint32_t site)
{
    return report->below_sites == NULL || (site != TTAPE_NONE && report->below_sites[site] != 0);
}

/* Each row around a wait loses it once. */
static void take_off_path(ttape_report *report, const ttape_longest_call *call, int64_t ns)
{
    uint32_t stamp = ++report->rows.stamp, caller = TTP_NO_KEY;
    bool counts = false;
    for (uint32_t i = 0; i < call->path_count; i++) {
        uint32_t site = call->path[i].site;
        uint32_t key =
            site != TTAPE_NONE ? ttp_report_key(&report->keys, site) : TTAPE_REPORT_SIGNAL;
        counts = counts || is_below(report, site);
        if (counts && site != TTAPE_NONE && key != TTP_NO_KEY)
            take_off(report, report->plan.by_call ? caller : TTAPE_NONE, key, ns, stamp);
        caller = key;
    }
}

/* A thread's row, or a process's, loses all of its waits. */
static void take_off_stream(ttape_report *report, const ttape_longest_call *call, int64_t ns)
{
    bool counts = report->below_sites == NULL;
    for (uint32_t i = 0; i < call->path_count && !counts; i++)
        counts = is_below(report, call->path[i].site);
    if (counts)
        take_off(report, TTAPE_NONE, report->stream_keys[call->stream], ns, ++report->rows.stamp);
}

ttape_status ttp_report_take_off_waits(ttape_report *report, ttape_reader *reader, ttape_error *err)
{
    const ttape_report_options *o = &report->options;
    const ttape_longest_options options = {.size = sizeof options,
                                           .count = WAITS_MOST,
                                           .streams = o->streams,
                                           .stream_count = o->stream_count,
                                           .jobs = o->jobs,
                                           .memory_bytes = o->memory_bytes / 2,
                                           .selects = selects,
                                           .damage = leave_out,
                                           .context = report,
                                           .names_only = true,
                                           .watch = o->watch};
    ttape_longest *longest;
    uint32_t count = 0;
    if (report->plan.by_site || !has_waits(report))
        return TTAPE_OK;
    TTP_TRY(ttape_longest_find(&longest, reader, &options, err));
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t ns = blocked_ns(report, &calls[i]);
        if (ns > 0 && report->stream_keys != NULL)
            take_off_stream(report, &calls[i], ns);
        else if (ns > 0)
            take_off_path(report, &calls[i], ns);
    }
    ttape_longest_close(longest);
    return TTAPE_OK;
}
