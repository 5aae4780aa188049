/* Workers add to rows of their own, which are merged at the end: sums do not depend on which
 * worker added them. Where a worker's share of the memory does not suffice, one does it all. */
#include "answers/report/report_work.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/base/wide.h"
#include "format/times/times.h"
#include "reader/base/choice.h"
#include "reader/cache/partition_jobs.h"
#include "reader/partition/partition_decoder.h"

#define ROWS_FOR_A_THREAD 16384u /* of summaries: about 10 ms */

struct report_worker {
    struct ttp_memory memory;
    struct ttp_account_rows own, *rows; /* one worker adds to the report's */
    struct ttp_account *account;
    uint64_t partition_count, decoded_count, event_count;
    bool has_times;
};

struct work {
    ttape_report *report;
    struct report_worker *workers;
    struct ttp_report_covered covered;
    uint32_t said_end; /* behind the last partition whose damage was told: they come in order */
};

/* ---- which partitions ---- */

static uint64_t first_ns_of(const struct ttp_partition_entry *entry)
{
    return ttp_time_of(entry->first_tick, entry->origin_ns, entry->resolution_ns);
}

static uint64_t last_ns_of(const struct ttp_partition_entry *entry)
{
    return ttp_time_of((int64_t)((uint64_t)entry->end_tick - 1), entry->origin_ns,
                       entry->resolution_ns);
}

/* True where the segment may be in the range. Its first interval starts with the last event of the
 * stream's segment before. */
static bool may_be_in_range(const ttape_report *report, const struct ttp_partition_entry *before,
                            const struct ttp_partition_entry *entry)
{
    const struct ttp_account_plan *plan = &report->plan;
    if (entry->damaged || (before != NULL && before->damaged))
        return true;
    if (entry->resolution_ns == 0)
        return false;
    uint64_t first = first_ns_of(entry), last = last_ns_of(entry);
    if (before != NULL && before->resolution_ns != 0) {
        first = first_ns_of(before) < first ? first_ns_of(before) : first;
        last = last_ns_of(before) > last ? last_ns_of(before) : last;
    }
    return last >= plan->from_ns && first < plan->to_ns;
}

static void mark_stream(const ttape_report *report, uint32_t stream, uint8_t *marks)
{
    const ttape_reader *r = report->decoder->reader;
    const struct ttp_partition_entry *before = NULL;
    for (uint32_t i = r->stream_first[stream]; i < r->stream_first[stream + 1]; i++) {
        const struct ttp_segment_entry *seg = &r->segments[r->stream_segments[i]];
        const struct ttp_partition_entry *entry = &r->partitions[seg->partition];
        if (!report->plan.has_range || may_be_in_range(report, before, entry))
            marks[seg->partition] = 1;
        before = entry;
    }
}

bool ttp_report_takes(const ttape_report *report, uint32_t partition)
{
    const ttape_report_options *o = &report->options;
    return o->partition_count == 0 ||
           (partition >= o->first_partition && partition - o->first_partition < o->partition_count);
}

/* What is open where the range begins was called before. */
static void mark_until_range(const ttape_report *report, uint8_t *marks)
{
    const ttape_reader *r = report->decoder->reader;
    for (uint32_t p = 0; report->plan.by_site && p < r->partition_count; p++)
        if (!report->plan.has_range || r->partitions[p].resolution_ns == 0 ||
            first_ns_of(&r->partitions[p]) < report->plan.to_ns)
            marks[p] = 1;
}

/* Numbers of the partitions to look at, in file order: *count of them in `out`. */
static ttape_status choose_partitions(const ttape_report *report, uint32_t *out, uint32_t *count,
                                      ttape_error *err)
{
    struct ttp_trace_decoder *d = report->decoder;
    uint8_t *marks = ttp_memory_take(&d->memory, d->reader->partition_count, 1, err);
    if (marks == NULL)
        return d->memory.status;
    memset(marks, 0, d->reader->partition_count);
    for (uint32_t s = 0; s < d->reader->indexed_streams; s++)
        if (report->plan.streams == NULL || report->plan.streams[s] != 0)
            mark_stream(report, s, marks);
    mark_until_range(report, marks);
    *count = 0;
    for (uint32_t p = 0; p < d->reader->partition_count; p++)
        if (ttp_report_takes(report, p) && (marks[p] != 0 || d->reader->partitions[p].damaged))
            out[(*count)++] = p;
    ttp_memory_give(&d->memory, marks, d->reader->partition_count, 1);
    return TTAPE_OK;
}

/* ---- one partition ---- */

/* How a partition lies to the selection. */
struct fit {
    uint32_t selected; /* segments */
    bool inside;       /* all of their intervals and events are in the range */
    uint64_t event_count;
};

static bool segment_inside(const struct ttp_account_plan *plan, const struct ttp_loaded *p,
                           const struct ttp_segment *g)
{
    uint64_t base = ttp_time_of(g->base_tick, p->head.origin_ns, p->head.resolution_ns);
    return base >= plan->from_ns && base <= plan->to_ns;
}

static struct fit fit_of(const struct ttp_account_plan *plan, const ttape_reader *r,
                         const struct ttp_loaded *p)
{
    const struct ttp_partition_entry *entry = &r->partitions[p->partition];
    struct fit fit = {.inside = true};
    if (plan->has_range)
        fit.inside = entry->resolution_ns != 0 && first_ns_of(entry) >= plan->from_ns &&
                     last_ns_of(entry) < plan->to_ns && first_ns_of(entry) <= last_ns_of(entry);
    for (uint32_t s = 0; s < p->segments.segment_count; s++) {
        const struct ttp_segment *g = &p->segments.segments[s];
        if (plan->streams != NULL &&
            plan->streams[r->segments[entry->first_segment + s].stream] == 0)
            continue;
        fit.selected++;
        fit.event_count += g->event_count;
        if (plan->has_range && !segment_inside(plan, p, g))
            fit.inside = false;
    }
    return fit;
}

/* Summaries are in ticks. Where a duration of them is more nanoseconds than 64 bits hold, which is
 * the shortest is another question than of what the events give. */
static bool durations_fit(const struct ttp_loaded *p)
{
    return p->head.resolution_ns <= 1 || ttp_loaded_durations_fit(p);
}

static enum ttp_partition_wish wish(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                    const struct ttp_loaded *p)
{
    const struct work *work = context;
    const ttape_report *report = work->report;
    struct fit fit = fit_of(&report->plan, d->reader, p);
    (void)worker;
    if (work->covered.marks[p->partition] != 0)
        return TTP_WISH_EDGES;
    if (fit.selected == 0)
        return TTP_WISH_NOTHING;
    bool switches = report->options.switches &&
                    ttp_partition_section(&p->head, TTP_SECTION_SWITCHES) != NULL &&
                    ttp_partition_section(&p->head, TTP_SECTION_CPU_TIMES) == NULL;
    bool summary = report->options.by == TTAPE_REPORT_BY_FUNCTION && !report->options.exact &&
                   !report->is_estimate && !report->keys.overlap && !switches && fit.inside &&
                   report->plan.below_sites == NULL && fit.selected == p->segments.segment_count &&
                   durations_fit(p) && !ttp_loaded_has_ends(p) &&
                   ttp_partition_section(&p->head, TTP_SECTION_SUMMARY) != NULL;
    return summary ? TTP_WISH_SUMMARY : TTP_WISH_EVENTS;
}

bool ttp_report_is_last(const ttape_reader *r, uint32_t segment)
{
    uint32_t stream = r->segments[segment].stream;
    return r->stream_segments[r->stream_first[stream + 1] - 1] == segment;
}

static void count_partition(const struct work *work, struct report_worker *w, const ttape_reader *r,
                            const struct ttp_loaded *p, bool decoded)
{
    w->partition_count++;
    w->decoded_count += decoded;
    w->event_count += fit_of(&work->report->plan, r, p).event_count;
    w->has_times = w->has_times || p->head.resolution_ns != 0;
}

static void add_times(int64_t *to, int64_t ticks, uint64_t resolution_ns)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)ticks * resolution_ns);
}

static void add_ns(int64_t *to, uint64_t ns) { *to = (int64_t)((uint64_t)*to + ns); }

void ttp_report_add_measure(struct ttp_account_row *row, const struct ttp_measure *m, uint64_t step,
                            const struct ttp_cpu_measure *cpu)
{
    ttape_wide squares = ttp_wide_scale(ttp_wide_scale(m->squares, step), step);
    row->call_count += m->call_count;
    add_times(cpu != NULL ? &row->known_self_ns : &row->self_ns, m->self_ticks, step);
    if (cpu != NULL) {
        add_ns(&row->preempted_ns, cpu->self_ns[TTP_OFF_PREEMPTED]);
        add_ns(&row->blocked_ns, cpu->self_ns[TTP_OFF_BLOCKED]);
        add_ns(&row->unknown_ns, cpu->self_ns[TTP_OFF_UNKNOWN]);
        add_ns(&row->total_blocked_ns, cpu->total_ns[TTP_OFF_BLOCKED]);
        add_ns(&row->total_unknown_ns, cpu->total_ns[TTP_OFF_UNKNOWN]);
    }
    add_times(&row->total_ns, m->total_ticks, step);
    ttp_account_add_exits(row, m->exit_count, (int64_t)((uint64_t)m->min_ticks * step),
                          (int64_t)((uint64_t)m->max_ticks * step), squares);
}

/* What is open where a stream ends, out of the edges. */
static ttape_status add_open(const struct work *work, struct report_worker *w,
                             struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                             uint32_t segment, ttape_error *err)
{
    const struct ttp_segment *g = &p->segments.segments[segment];
    uint64_t end = ttp_time_of(g->end_tick, p->head.origin_ns, p->head.resolution_ns);
    uint32_t stack = UINT32_MAX;
    if (!ttp_report_is_last(d->reader, d->reader->partitions[p->partition].first_segment + segment))
        return TTAPE_OK;
    for (uint32_t i = 0; i < g->end.frame_count; i++) {
        const struct ttp_frame *f = i < g->kept
                                        ? &p->segments.start_frames[g->start.frame_start + i]
                                        : &p->segments.end_frames[g->end.frame_start + i - g->kept];
        w->rows->stamp += f->stack != stack;
        stack = f->stack;
        uint32_t site = f->event_class == TTP_CLASS_SIGNAL
                            ? TTAPE_NONE
                            : ttp_definitions_find(&d->reader->definitions, p->scope,
                                                   TTP_DEFINES_SITES, f->argument);
        if (site == TTAPE_NONE)
            continue;
        uint32_t row = ttp_account_find(w->rows, TTAPE_NONE,
                                        ttp_report_key(work->report->plan.keys, site), err);
        if (row == 0)
            return w->rows->memory->status;
        ttp_account_add_open(w->rows, row,
                             ttp_time_of(f->enter_tick, p->head.origin_ns, p->head.resolution_ns),
                             end);
    }
    return TTAPE_OK;
}

void ttp_report_add_cpu_times(struct ttp_account_rows *rows, const struct ttp_cpu_times *cpu)
{
    rows->has_switches = true;
    add_ns(&rows->preempted_ns, cpu->all_ns[TTP_OFF_PREEMPTED]);
    add_ns(&rows->blocked_ns, cpu->all_ns[TTP_OFF_BLOCKED]);
    add_ns(&rows->unknown_ns, cpu->all_ns[TTP_OFF_UNKNOWN]);
}

static ttape_status add_summary(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                const struct ttp_loaded *p, const struct ttp_measure *measures,
                                uint32_t count, const struct ttp_cpu_times *cpu, ttape_error *err)
{
    const struct work *work = context;
    struct report_worker *w = &work->workers[worker];
    const struct ttp_account_plan *plan = &work->report->plan;
    bool covered = work->covered.marks[p->partition] != 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t site = ttp_definitions_find(&d->reader->definitions, p->scope, TTP_DEFINES_SITES,
                                             measures[i].site);
        if (site == TTAPE_NONE)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SUM-03", p->payload_offset,
                            "summary names site '%u', which is not defined", measures[i].site);
        uint32_t row = ttp_account_find(w->rows, TTAPE_NONE, ttp_report_key(plan->keys, site), err);
        if (row == 0)
            return w->rows->memory->status;
        ttp_report_add_measure(&w->rows->rows[row], &measures[i], p->head.resolution_ns,
                               cpu->rows != NULL ? &cpu->rows[i] : NULL);
        w->rows->call_count += measures[i].call_count;
        w->rows->has_idle = w->rows->has_idle || plan->idle_sites[site] != 0;
    }
    for (uint32_t s = 0; s < p->segments.segment_count; s++) {
        const struct ttp_segment *g = &p->segments.segments[s];
        int64_t ticks = (int64_t)((uint64_t)g->end_tick - (uint64_t)g->base_tick);
        if (!covered)
            add_times(&w->rows->span_ns, ticks, p->head.resolution_ns);
        if (cpu->rows != NULL)
            add_times(&w->rows->known_ns, ticks, p->head.resolution_ns);
        TTP_TRY(add_open(work, w, d, p, s, err));
    }
    if (cpu->rows != NULL)
        ttp_report_add_cpu_times(w->rows, cpu);
    if (!covered)
        count_partition(work, w, d->reader, p, false);
    return TTAPE_OK;
}

static ttape_status add_events(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                               const struct ttp_loaded *p, ttape_error *err)
{
    const struct work *work = context;
    struct report_worker *w = &work->workers[worker];
    TTP_TRY(ttp_account_partition(w->account, p, d->reader, err));
    count_partition(work, w, d->reader, p, true);
    return TTAPE_OK;
}

static ttape_status leave_out(void *context, uint32_t partition, const ttape_error *problem)
{
    struct work *work = context;
    ttape_report *report = work->report;
    report->info.damaged_count++;
    if (partition >= work->said_end)
        report->options.damage(report->options.context, partition, problem);
    work->said_end = partition + 1 > work->said_end ? partition + 1 : work->said_end;
    return TTAPE_OK;
}

/* ---- all ---- */

static ttape_status open_rows(const ttape_report *report, struct ttp_account_rows *rows,
                              struct ttp_memory *memory, ttape_error *err)
{
    TTP_TRY(ttp_account_rows_open(rows, memory, report->keys.key_count, err));
    rows->store.budget_bytes = memory->limit_bytes / 2;
    rows->store.unit_ns = report->unit_ns;
    return TTAPE_OK;
}

static ttape_status open_workers(struct work *work, uint32_t count, ttape_error *err)
{
    ttape_report *report = work->report;
    for (uint32_t i = 0; i < count; i++) {
        struct report_worker *w = &work->workers[i];
        ttp_memory_init(&w->memory, &report->memory.allocator,
                        report->options.memory_bytes / 2 / count);
        w->rows = count == 1 ? &report->rows : &w->own;
        if (count > 1)
            TTP_TRY(open_rows(report, &w->own, &w->memory, err));
        TTP_TRY(ttp_account_open(&w->account, &report->plan, w->rows, err));
    }
    return TTAPE_OK;
}

static ttape_status merge_workers(struct work *work, uint32_t count, ttape_error *err)
{
    ttape_report *report = work->report;
    ttape_report_info *info = &report->info;
    for (uint32_t i = 0; i < count; i++) {
        struct report_worker *w = &work->workers[i];
        if (count > 1)
            TTP_TRY(ttp_account_merge(&report->rows, w->rows, err));
        info->partition_count += w->partition_count;
        info->decoded_count += w->decoded_count;
        info->event_count += w->event_count;
        info->has_times = info->has_times || w->has_times;
    }
    /* the same is known of a row whether overviews told of it or events */
    report->all_decoded = info->decoded_count == info->partition_count && !report->is_estimate;
    return TTAPE_OK;
}

/* Events that are decoded for histograms tell of switches: so do overviews in place of them. */
static bool tells_switches(const ttape_report *report)
{
    const ttape_report_options *o = &report->options;
    return o->switches || o->summed_switches || report->is_estimate;
}

/* Events of whole partitions are expected to be asked for. */
static bool decodes(const ttape_report *report)
{
    const ttape_report_options *o = &report->options;
    return o->by != TTAPE_REPORT_BY_FUNCTION || o->exact || report->is_estimate ||
           report->plan.below_sites != NULL || report->plan.streams != NULL;
}

static ttape_status run_workers(struct work *work, const uint32_t *partitions, uint32_t count,
                                uint32_t jobs, ttape_error *err)
{
    const ttape_report *report = work->report;
    const ttape_report_options *o = &report->options;
    const struct ttp_partition_work calls = {.context = work,
                                             .decodes = decodes(report),
                                             .cpu_times = tells_switches(report),
                                             .wish = wish,
                                             .summary = add_summary,
                                             .events = add_events,
                                             .damaged = o->damage != NULL ? leave_out : NULL};
    uint32_t workers = ttp_partition_workers(jobs, count);
    TTP_TRY(open_workers(work, workers, err));
    TTP_TRY(ttp_partition_work(report->decoder, partitions, count, jobs, &calls, err));
    return merge_workers(work, workers, err);
}

static ttape_status open_and_work(struct work *work, const uint32_t *partitions, uint32_t count,
                                  uint32_t jobs, ttape_error *err)
{
    struct ttp_memory *memory = &work->report->memory;
    uint32_t workers = ttp_partition_workers(jobs, count);
    work->workers = ttp_memory_take(memory, workers, sizeof *work->workers, err);
    if (work->workers == NULL)
        return memory->status;
    memset(work->workers, 0, workers * sizeof *work->workers);
    ttape_status status = run_workers(work, partitions, count, jobs, err);
    for (uint32_t i = 0; i < workers; i++) {
        ttp_account_close(work->workers[i].account);
        ttp_account_rows_close(&work->workers[i].own);
    }
    ttp_memory_give(memory, work->workers, workers, sizeof *work->workers);
    return status;
}

/* A partition whose bytes are damaged is left out; its streams go on behind it. */
static ttape_status add_in_order(struct work *work, uint32_t partition, ttape_error *err)
{
    struct ttp_trace_decoder *d = work->report->decoder;
    struct ttp_loaded *p = NULL;
    ttape_error problem = {0};
    ttape_status status = ttp_loaded_get(d, partition, TTP_STAGE_VALUES, &p, &problem);
    if (status == TTAPE_OK && d->reader->partitions[partition].damaged)
        status = ttp_fail(&problem, TTAPE_E_CORRUPT, "", p->payload_offset,
                          "partition could not be read when the file was opened");
    if (status >= TTAPE_E_TRUNCATED && work->report->options.damage != NULL)
        return leave_out(work, partition, &problem);
    if (status != TTAPE_OK) {
        if (err != NULL)
            *err = problem;
        return status;
    }
    return fit_of(&work->report->plan, d->reader, p).selected == 0 ? TTAPE_OK
                                                                   : add_events(work, 0, d, p, err);
}

/* Places of calls need partitions in order: what is open in one was called in one before. */
static ttape_status work_in_order(ttape_report *report, const uint32_t *partitions, uint32_t count,
                                  ttape_error *err)
{
    struct report_worker worker = {0};
    struct work work = {.report = report, .workers = &worker};
    TTP_TRY(open_rows(report, &report->rows, &report->memory, err));
    TTP_TRY(open_workers(&work, 1, err));
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; status == TTAPE_OK && i < count; i++) {
        status = ttp_ask_watch(report->decoder->watch, i, count, err);
        if (status == TTAPE_OK)
            status = add_in_order(&work, partitions[i], err);
    }
    if (status == TTAPE_OK)
        status = merge_workers(&work, 1, err);
    ttp_account_close(worker.account);
    return status;
}

/* Overviews first: partitions that they cover are no work, but for those in which a stream ends.
 * `left` has room for all partitions. */
static ttape_status work_on_left(struct work *work, const uint32_t *partitions, uint32_t count,
                                 uint32_t jobs, uint32_t *left, ttape_error *err)
{
    ttape_report *report = work->report;
    struct ttp_report_covered *covered = &work->covered;
    memset(covered->marks, 0, report->decoder->reader->partition_count);
    TTP_TRY(open_rows(report, &report->rows, &report->memory, err));
    TTP_TRY(ttp_report_overviews(report, &report->rows, tells_switches(report), covered, err));
    report->info.partition_count = covered->partition_count;
    report->info.event_count = covered->event_count;
    report->info.has_times = covered->has_times;
    uint32_t left_count =
        ttp_report_uncovered(report->decoder->reader, covered, partitions, count, left);
    return open_and_work(work, left, left_count, jobs, err);
}

static ttape_status work_with(struct work *work, const uint32_t *partitions, uint32_t count,
                              uint32_t jobs, ttape_error *err)
{
    struct ttp_memory *memory = &work->report->decoder->memory;
    uint32_t all = work->report->decoder->reader->partition_count;
    uint32_t *left = ttp_memory_take(memory, count, sizeof *left, err);
    if (left == NULL)
        return memory->status;
    work->covered = (struct ttp_report_covered){.marks = ttp_memory_take(memory, all, 1, err)};
    ttape_status status = work->covered.marks == NULL
                              ? memory->status
                              : work_on_left(work, partitions, count, jobs, left, err);
    ttp_memory_give(memory, work->covered.marks, all, 1);
    ttp_memory_give(memory, left, count, sizeof *left);
    return status;
}

/* A thread costs more than reading few rows: its stack, its heap, and rows of its own to merge. */
static uint32_t jobs_for(const ttape_report *report, uint32_t count)
{
    uint32_t jobs = report->options.jobs != 0 ? report->options.jobs : report->decoder->jobs;
    uint64_t rows = (uint64_t)count * report->decoder->reader->definitions.site_count;
    if (decodes(report) || rows / ROWS_FOR_A_THREAD >= jobs)
        return jobs;
    return 1 + (uint32_t)(rows / ROWS_FOR_A_THREAD);
}

static ttape_status work_on(ttape_report *report, const uint32_t *partitions, uint32_t count,
                            ttape_error *err)
{
    if (report->plan.by_site)
        return work_in_order(report, partitions, count, err);
    uint32_t jobs = jobs_for(report, count);
    const ttape_report_info before = report->info;
    struct work work = {.report = report};
    ttape_status status = work_with(&work, partitions, count, jobs, err);
    if (status != TTAPE_E_LIMIT || ttp_partition_workers(jobs, count) == 1)
        return status;
    ttp_account_rows_close(&report->rows);
    report->info = before;
    return work_with(&work, partitions, count, 1, err);
}

ttape_status ttp_report_work(ttape_report *report, ttape_error *err)
{
    struct ttp_trace_decoder *d = report->decoder;
    uint32_t count = 0;
    uint32_t *partitions =
        ttp_memory_take(&d->memory, d->reader->partition_count, sizeof *partitions, err);
    if (partitions == NULL)
        return d->memory.status;
    ttape_status status = choose_partitions(report, partitions, &count, err);
    if (status == TTAPE_OK)
        status = work_on(report, partitions, count, err);
    ttp_memory_give(&d->memory, partitions, d->reader->partition_count, sizeof *partitions);
    return status;
}
