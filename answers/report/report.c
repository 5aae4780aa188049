/* From options to a plan, and from added-up rows to those that are shown. */
#include <tracetape/report.h>

#include <string.h>

#include "answers/report/report_work.h"
#include "base/sort.h"
#include "format/base/fail.h"
#include "format/base/root.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/decoder_pool.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)

/* ---- options ---- */

static ttape_status take_options(ttape_report_options *out, const ttape_report_options *options,
                                 ttape_error *err)
{
    *out = (ttape_report_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "report", err));
    out->exact = out->exact || out->percentiles || out->self_times;
    out->memory_bytes = out->memory_bytes != 0 ? out->memory_bytes : MEMORY_BYTES_DEFAULT;
    if (out->by >= TTAPE_REPORT_BY_COUNT)
        return ttp_refuse(err, "no such kind of rows");
    if (out->by == TTAPE_REPORT_BY_GROUP && out->group == NULL)
        return ttp_refuse(err, "rows by group need the groups");
    TTP_TRY(ttp_check_range(out->has_range, out->from_ns, out->to_ns, err));
    return ttp_check_streams(out->streams, out->stream_count, err);
}

/* ---- plan ---- */

static ttape_status take_mask(ttape_report *report, uint32_t count, uint8_t **out, ttape_error *err)
{
    *out = ttp_memory_take(&report->memory, count, 1, err);
    if (*out == NULL)
        return report->memory.status;
    memset(*out, 0, count);
    return TTAPE_OK;
}

/* F-SWI-07: where there are blocking system calls, functions of such names are not asked: they are
 * around them. */
static void prefer_system_calls(ttape_report *report)
{
    const struct ttp_definition_tables *d = &report->decoder->reader->definitions;
    for (uint32_t site = 0; site < d->site_count; site++)
        report->has_idle_calls =
            report->has_idle_calls ||
            (report->idle_sites[site] != 0 && d->sites[site].kind == TTAPE_SITE_SYSCALL);
    for (uint32_t site = 0; report->has_idle_calls && site < d->site_count; site++)
        report->idle_sites[site] &= d->sites[site].kind == TTAPE_SITE_SYSCALL;
}

static ttape_status mark_sites(ttape_report *report, ttape_error *err)
{
    const struct ttp_definition_tables *d = &report->decoder->reader->definitions;
    const ttape_report_options *o = &report->options;
    TTP_TRY(take_mask(report, d->site_count, &report->idle_sites, err));
    for (uint32_t site = 0; site < d->site_count; site++)
        report->idle_sites[site] = o->is_idle != NULL ? o->is_idle(o->context, site)
                                                      : ttape_is_idle_name(d->sites[site].symbol);
    if (o->is_idle == NULL)
        prefer_system_calls(report);
    report->plan.idle_sites = report->idle_sites;
    if (o->below != NULL) {
        TTP_TRY(take_mask(report, d->site_count, &report->below_sites, err));
        for (uint32_t site = 0; site < d->site_count; site++)
            report->below_sites[site] = o->below(o->context, site);
        report->plan.below_sites = report->below_sites;
    }
    if (o->focus == NULL || o->by != TTAPE_REPORT_BY_CALL)
        return TTAPE_OK;
    TTP_TRY(take_mask(report, d->site_count, &report->focus_sites, err));
    for (uint32_t site = 0; site < d->site_count; site++)
        report->focus_sites[site] = o->focus(o->context, site);
    report->plan.focus_sites = report->focus_sites;
    return TTAPE_OK;
}

/* All streams are no selection: then summaries do. */
static ttape_status mark_streams(ttape_report *report, ttape_error *err)
{
    const struct ttp_definition_tables *d = &report->decoder->reader->definitions;
    const ttape_report_options *o = &report->options;
    uint32_t count = 0;
    report->info.stream_count = d->stream_count;
    if (o->streams == NULL)
        return TTAPE_OK;
    TTP_TRY(take_mask(report, d->stream_count, &report->streams, err));
    TTP_TRY(ttp_find_streams(o->streams, o->stream_count, d->stream_count, report->streams, err));
    for (uint32_t i = 0; i < d->stream_count; i++)
        count += report->streams[i];
    report->info.stream_count = count;
    if (count != d->stream_count)
        report->plan.streams = report->streams;
    return TTAPE_OK;
}

static ttape_status key_streams(ttape_report *report, ttape_error *err)
{
    const struct ttp_definition_tables *d = &report->decoder->reader->definitions;
    ttape_report_by by = report->options.by;
    if (by != TTAPE_REPORT_BY_THREAD && by != TTAPE_REPORT_BY_PROCESS)
        return TTAPE_OK;
    report->stream_keys =
        ttp_memory_take(&report->memory, d->stream_count, sizeof *report->stream_keys, err);
    if (report->stream_keys == NULL)
        return report->memory.status;
    for (uint32_t s = 0; s < d->stream_count; s++)
        report->stream_keys[s] = by == TTAPE_REPORT_BY_THREAD ? s : d->streams[s].stream.process;
    report->plan.stream_keys = report->stream_keys;
    return TTAPE_OK;
}

/* Histograms are in ticks of the first partition that has times, which are those of all: overviews
 * with others are left out. */
static void set_unit(ttape_report *report)
{
    const ttape_reader *r = report->decoder->reader;
    report->is_estimate = report->options.histograms && !report->options.percentiles;
    report->unit_ns = report->is_estimate;
    for (uint32_t i = 0; report->is_estimate && i < r->partition_count; i++) {
        uint64_t step = r->partitions[i].resolution_ns;
        if (step == 0 || step > INT64_MAX)
            continue;
        report->unit_ns = step;
        return;
    }
}

static ttape_status make_plan(ttape_report *report, ttape_error *err)
{
    const ttape_report_options *o = &report->options;
    set_unit(report);
    TTP_TRY(ttp_report_keys_open(&report->keys, &report->memory, report->decoder->reader, o, err));
    report->plan = (struct ttp_account_plan){.keys = &report->keys,
                                             .by_call = o->by == TTAPE_REPORT_BY_CALL ||
                                                        o->by == TTAPE_REPORT_BY_SITE,
                                             .by_site = o->by == TTAPE_REPORT_BY_SITE,
                                             .percentiles = o->percentiles || report->is_estimate,
                                             .self_times = o->self_times,
                                             .has_range = o->has_range,
                                             .from_ns = o->from_ns,
                                             .to_ns = o->to_ns};
    TTP_TRY(mark_sites(report, err));
    TTP_TRY(mark_streams(report, err));
    return key_streams(report, err);
}

/* ---- rows that are shown ---- */

static int64_t self_of(const struct ttp_account_row *row)
{
    return (int64_t)((uint64_t)row->self_ns + (uint64_t)row->known_self_ns);
}

/* Of other functions that are on the stack meanwhile only self is known to be unseen. */
static int64_t unseen_total(const ttape_report *report, const struct ttp_account_row *row)
{
    return report->rows.known_ns == report->rows.span_ns ? 0 : row->self_ns != 0 ? row->self_ns : 1;
}

/* The time of calls whose ends are known. */
static int64_t ended_ns(const struct ttp_account_row *row)
{
    return (int64_t)((uint64_t)row->total_ns - (uint64_t)row->open_ns -
                     (uint64_t)row->unknown_end_ns);
}

/* Recursion is once in the total, and what other stacks did meanwhile not at all: both are in
 * durations. */
static long double mean_of_ended(const struct ttp_report_reals *sums, const ttape_report_row *row)
{
    long double mean = sums->ended_ns / (long double)row->exit_count;
    mean = mean < (long double)row->min_ns ? (long double)row->min_ns : mean;
    return mean > (long double)row->max_ns ? (long double)row->max_ns : mean;
}

/* The mean is of calls that ended, as the least and the largest are; of a range, and where none
 * did, of all: what they have there. */
static double mean_of(const struct ttp_report_reals *sums, const ttape_report_row *row,
                      bool has_range)
{
    if (row->exit_count != 0 && !has_range && sums->ended_ns >= 0)
        return (double)mean_of_ended(sums, row);
    uint64_t count = row->call_count != 0 ? row->call_count : row->exit_count;
    return count != 0 ? (double)(sums->total_ns / (long double)count) : 0;
}

void ttp_report_set_statistics(ttape_report_row *row, const struct ttp_report_reals *sums,
                               bool has_range)
{
    row->sum_of_squares = (double)sums->squares;
    row->mean_ns = mean_of(sums, row, has_range);
    if (row->exit_count == 0)
        return;
    long double count = (long double)row->exit_count;
    long double mean = mean_of_ended(sums, row);
    row->deviation_ns = ttp_root(sums->squares / count - mean * mean);
    mean = sums->duration_ns / count;
    row->duration_mean_ns = row->decoded ? (double)mean : 0;
    row->duration_deviation_ns = row->decoded ? ttp_root(sums->squares / count - mean * mean) : 0;
}

/* What the row's number stands for. */
static void set_subject(const ttape_report *report, const struct ttp_account_row *row,
                        ttape_report_row *out)
{
    const struct ttp_definition_tables *d = &report->decoder->reader->definitions;
    out->site = out->caller = out->module = out->stream = out->process = out->group = TTAPE_NONE;
    switch (report->options.by) {
    case TTAPE_REPORT_BY_THREAD:
        out->stream = row->key;
        out->process = d->streams[row->key].stream.process;
        return;
    case TTAPE_REPORT_BY_PROCESS: out->process = row->key; return;
    case TTAPE_REPORT_BY_GROUP: out->group = row->key; break;
    case TTAPE_REPORT_BY_CALL:
    case TTAPE_REPORT_BY_SITE:
        out->caller = row->caller < report->keys.key_count
                          ? ttp_report_key_site(&report->keys, row->caller)
                          : row->caller;
        break;
    default: break;
    }
    out->site = ttp_report_key_site(&report->keys, row->key);
    out->module = d->sites[out->site].module_plus_one - 1;
}

/* A blocking function is idle whenever it is on the stack; of others summaries know something only
 * where nothing blocks. */
static void set_idle(const ttape_report *report, const struct ttp_account_row *row,
                     ttape_report_row *out)
{
    if (report->info.idle_source == TTAPE_IDLE_SWITCHES) {
        int64_t unknown_ns = row->total_unknown_ns + unseen_total(report, row);
        out->idle_ns = row->total_blocked_ns;
        out->idle_known = unknown_ns == 0;
        out->is_idle_least = unknown_ns != 0 && out->idle_ns != 0;
        return;
    }
    out->idle_ns = row->idle_ns;
    out->idle_known = report->all_decoded || !report->info.has_idle;
    if (report->options.by == TTAPE_REPORT_BY_FUNCTION && report->idle_sites[out->site] != 0) {
        out->idle_ns = row->total_ns;
        out->idle_known = true;
    }
    if (!out->idle_known)
        out->idle_ns = 0;
}

static ttape_report_row show_row(const ttape_report *report, const struct ttp_account_row *row)
{
    bool switches = report->info.idle_source == TTAPE_IDLE_SWITCHES;
    ttape_report_row out = {.call_count = row->call_count,
                            .exit_count = row->exit_count,
                            .self_ns = self_of(row),
                            .preempted_ns = row->preempted_ns,
                            .blocked_ns = row->blocked_ns,
                            .unknown_ns = switches ? row->unknown_ns + row->self_ns : 0,
                            .total_ns = row->total_ns,
                            .min_ns = row->min_ns,
                            .max_ns = row->max_ns,
                            .self_min_ns = row->self_min_ns,
                            .self_max_ns = row->self_max_ns,
                            .squares = row->squares,
                            .is_least = row->unseen_end_count != 0,
                            .is_about = row->late_end_count != 0,
                            .unknown_end_count = row->unknown_end_count,
                            .decoded = report->all_decoded,
                            .event_count = row->event_count,
                            .span_ns = row->span_ns};
    if (report->all_decoded) {
        out.duration_ns = row->duration_ns;
        out.recursion_count = row->recursion_count;
        out.unseen_count = row->unseen_count;
    }
    set_subject(report, row, &out);
    set_idle(report, row, &out);
    const struct ttp_report_reals sums = {.total_ns = (long double)row->total_ns,
                                          .ended_ns = (long double)ended_ns(row),
                                          .squares = (long double)row->squares.high *
                                                         18446744073709551616.0L +
                                                     (long double)row->squares.low,
                                          .duration_ns = (long double)row->duration_ns};
    ttp_report_set_statistics(&out, &sums, report->plan.has_range);
    return out;
}

/* Exits alone whose enter is not in the trace make no row: summaries do not know of them. */
static bool is_empty(const struct ttp_account_row *row)
{
    return row->call_count == 0 && row->exit_count == 0 && row->event_count == 0 &&
           self_of(row) == 0 && row->total_ns == 0;
}

static bool row_less(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_account_row *x = &((const struct ttp_account_row *)context)[a];
    const struct ttp_account_row *y = &((const struct ttp_account_row *)context)[b];
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns;
    return x->key != y->key ? x->key < y->key : x->caller < y->caller;
}

static ttape_status order_rows(ttape_report *report, ttape_error *err)
{
    const struct ttp_account_rows *rows = &report->rows;
    report->shown_capacity = rows->row_count;
    report->order = ttp_memory_take(&report->memory, rows->row_count, sizeof *report->order, err);
    if (report->order == NULL)
        return report->memory.status;
    for (uint32_t i = 1; i < rows->row_count; i++)
        if (!is_empty(&rows->rows[i]))
            report->order[report->shown_count++] = i;
    ttp_sort(report->order, report->shown_count, row_less, rows->rows);
    return TTAPE_OK;
}

/* Trace-wide idle time out of summaries: what blocking functions themselves took. */
static void sum_idle(ttape_report *report)
{
    ttape_report_info *info = &report->info;
    if (report->rows.has_switches) {
        info->idle_source = TTAPE_IDLE_SWITCHES;
        info->has_idle = true;
        info->preempted_ns = report->rows.preempted_ns;
        info->idle_ns = info->blocked_ns = report->rows.blocked_ns;
        info->unknown_ns = report->rows.unknown_ns + report->rows.span_ns - report->rows.known_ns;
        info->idle_known = info->unknown_ns == 0;
        return;
    }
    info->has_idle = report->rows.has_idle;
    info->idle_source = !info->has_idle          ? TTAPE_IDLE_NOTHING
                        : report->has_idle_calls ? TTAPE_IDLE_SYSTEM_CALLS
                                                 : TTAPE_IDLE_FUNCTIONS;
    info->idle_known = report->all_decoded || !info->has_idle;
    info->idle_ns = info->idle_known ? report->rows.idle_ns : 0;
    for (uint32_t i = 0; !info->idle_known && i < report->shown_count; i++) {
        const struct ttp_account_row *row = &report->rows.rows[report->order[i]];
        if (report->idle_sites[ttp_report_key_site(&report->keys, row->key)] != 0)
            info->idle_ns = (int64_t)((uint64_t)info->idle_ns + (uint64_t)row->self_ns);
    }
}

static ttape_status sort_durations(ttape_report *report, ttape_error *err)
{
    struct ttp_account_rows *rows = &report->rows;
    uint32_t most = 0;
    for (uint32_t i = 1; i < rows->row_count; i++) {
        const struct ttp_durations *d = &rows->rows[i].durations;
        most = d->small_count > most ? d->small_count : most;
        if (d->counts != NULL)
            report->info.percentile_error = TTP_DURATIONS_ERROR;
    }
    /* The reader's memory is free again for this. */
    uint32_t *scratch = ttp_memory_take(&report->decoder->memory, most, sizeof *scratch, err);
    if (scratch == NULL)
        return report->decoder->memory.status;
    for (uint32_t i = 1; i < rows->row_count; i++)
        ttp_durations_sort(&rows->rows[i].durations, scratch);
    ttp_memory_give(&report->decoder->memory, scratch, most, sizeof *scratch);
    return TTAPE_OK;
}

static ttape_status show_all(ttape_report *report, ttape_error *err)
{
    TTP_TRY(order_rows(report, err));
    sum_idle(report);
    if (report->options.percentiles && !report->is_estimate)
        TTP_TRY(sort_durations(report, err));
    report->shown =
        ttp_memory_take(&report->memory, report->shown_capacity, sizeof *report->shown, err);
    if (report->shown == NULL)
        return report->memory.status;
    for (uint32_t i = 0; i < report->shown_count; i++)
        report->shown[i] = show_row(report, &report->rows.rows[report->order[i]]);
    report->info.row_count = report->shown_count;
    report->info.span_ns = report->rows.span_ns;
    report->info.call_count = report->rows.call_count;
    report->info.unseen_count = report->is_estimate ? 0 : report->rows.unseen_count;
    report->info.open_count = report->options.has_range ? 0 : report->rows.open_count;
    return TTAPE_OK;
}

/* ---- the handle ---- */

static ttape_status make_report(ttape_report *report, ttape_reader *reader, ttape_error *err)
{
    TTP_TRY(make_plan(report, err));
    TTP_TRY(ttp_report_work(report, err));
    TTP_TRY(ttp_report_take_off_waits(report, reader, err));
    return show_all(report, err);
}

ttape_status ttape_report_make(ttape_report **out, ttape_reader *reader,
                               const ttape_report_options *options, ttape_error *err)
{
    ttape_report_options full;
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for a report");
    *out = NULL;
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&full, options, err));
    ttp_memory_init(&memory, &reader->memory.allocator, full.memory_bytes / 2);
    ttape_report *report = ttp_memory_take(&memory, 1, sizeof *report, err);
    if (report == NULL)
        return memory.status;
    *report = (ttape_report){.memory = memory, .decoder = &reader->pool.first, .options = full};
    report->keys.memory = &report->memory;
    ttape_status status =
        ttp_decoder_take_watched(&reader->pool, &report->decoder, full.watch, err);
    if (status == TTAPE_OK) {
        status = make_report(report, reader, err);
        ttp_decoder_give(report->decoder);
    }

    if (status != TTAPE_OK) {
        ttape_report_close(report);
        return status;
    }
    *out = report;
    return TTAPE_OK;
}

void ttape_report_close(ttape_report *report)
{
    if (report == NULL)
        return;
    struct ttp_memory memory = report->memory, *m = &report->memory;
    const struct ttp_definition_tables *d = &report->decoder->reader->definitions;
    ttp_report_keys_close(&report->keys);
    ttp_account_rows_close(&report->rows);
    ttp_memory_give(m, report->idle_sites, d->site_count, 1);
    ttp_memory_give(m, report->focus_sites, d->site_count, 1);
    ttp_memory_give(m, report->below_sites, d->site_count, 1);
    ttp_memory_give(m, report->streams, d->stream_count, 1);
    ttp_memory_give(m, report->stream_keys, d->stream_count, sizeof *report->stream_keys);
    ttp_memory_give(m, report->order, report->shown_capacity, sizeof *report->order);
    ttp_memory_give(m, report->shown, report->shown_capacity, sizeof *report->shown);
    ttp_memory_give(&memory, report, 1, sizeof *report);
}

void ttape_report_get_info(const ttape_report *report, ttape_report_info *info)
{
    *info = report->info;
}

const ttape_report_row *ttape_report_get_rows(const ttape_report *report, uint32_t *row_count)
{
    if (row_count != NULL)
        *row_count = report != NULL ? report->shown_count : 0;
    return report != NULL ? report->shown : NULL;
}

uint32_t ttape_report_get_row_site(const ttape_report *report, uint32_t site)
{
    if (site >= report->keys.site_count)
        return TTAPE_NONE;
    return ttp_report_key_site(&report->keys, ttp_report_key(&report->keys, site));
}

ttape_status ttape_report_get_percentile(const ttape_report *report, uint32_t row, double share,
                                         int64_t *duration_ns)
{
    *duration_ns = 0;
    if (row >= report->shown_count || !report->plan.percentiles)
        return TTAPE_E_NOT_FOUND;
    const struct ttp_account_row *r = &report->rows.rows[report->order[row]];
    if (r->exit_count == 0)
        return TTAPE_E_NOT_FOUND;
    uint64_t rank = ttp_durations_rank(r->exit_count, share);
    if (report->is_estimate)
        return ttp_report_estimate(report, r, rank, duration_ns);
    int64_t found = ttp_durations_at(&r->durations, rank);
    found = found < r->min_ns ? r->min_ns : found;
    *duration_ns = found > r->max_ns ? r->max_ns : found;
    return TTAPE_OK;
}
