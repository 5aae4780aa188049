/* A trace, or some of its partitions, into a rollup: a report is made, and its rows are added.
 *
 * What a report knows only of decoded partitions is taken where all are decoded whatever they are:
 * so that bytes do not depend on which partitions were added together. */
#include "answers/report/report_work.h"
#include "answers/rollup/rollup_internal.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/definitions/site_words.h"
#include "reader/partition/partition_reader.h"

struct adding {
    ttape_rollup *rollup;
    const ttape_report *report;
    const struct ttp_definition_tables *definitions;
    const struct ttp_rollup_trace *trace;
    uint64_t *classes; /* scratch, with counts */
    uint32_t unit;     /* of histograms */
    bool is_decoded;   /* whatever partitions there are */
};

/* ---- what rows are of ---- */

static uint32_t id_string(ttape_rollup *r, const uint8_t *id)
{
    return ttp_rollup_take_string(r, (ttape_string){(const char *)id, TTP_ROLLUP_ID_BYTES});
}

/* R-FUN-05: threads and processes are their trace's. */
static struct ttp_rollup_function name_thread(const struct adding *a, uint32_t stream,
                                              uint32_t process)
{
    ttape_rollup *r = a->rollup;
    const struct ttp_definition_tables *d = a->definitions;
    const ttape_process *of = process < d->process_count ? &d->processes[process].process : NULL;
    struct ttp_rollup_function f = {.build = id_string(r, a->trace->id),
                                    .path = ttp_rollup_take_string(r, a->trace->host),
                                    .file = ttp_rollup_take_string(r, a->trace->name),
                                    .kind = TTAPE_SITE_FUNCTION,
                                    .offset = of != NULL ? of->pid : 0};
    ttape_string name = of != NULL ? of->name : (ttape_string){"", 0};
    if (stream != TTAPE_NONE) {
        const ttape_stream *thread = &d->streams[stream].stream;
        f.line = (uint32_t)thread->tid;
        name = thread->name.size_bytes != 0 ? thread->name : name;
    }
    f.symbol = ttp_rollup_take_string(r, name);
    return f;
}

static struct ttp_rollup_function name_site(const struct adding *a, uint32_t number)
{
    ttape_rollup *r = a->rollup;
    const struct ttp_definition_tables *d = a->definitions;
    const struct ttp_read_site *site = &d->sites[number];
    const ttape_module *module = ttp_site_module(d, site);
    ttape_report_by by = r->options.by;
    bool is_placed = site->module_plus_one != 0 || site->symbol.size_bytes == 0 ||
                     site->kind == TTAPE_SITE_SYSCALL;
    bool is_name = by == TTAPE_REPORT_BY_NAME, is_file = by == TTAPE_REPORT_BY_FILE;
    struct ttp_rollup_function f = {0};
    if (!is_file && !(is_name && site->symbol.size_bytes != 0)) {
        ttape_string build = module->build_id;
        build.size_bytes = build.size_bytes <= TTP_ROLLUP_BUILD_BYTES_MAX ? build.size_bytes : 0;
        f.path = ttp_rollup_take_string(r, module->path);
        f.build = ttp_rollup_take_string(r, build);
    }
    if (by == TTAPE_REPORT_BY_MODULE)
        return f;
    if (!is_name)
        f.file = ttp_rollup_take_string(r, ttp_site_file(d, site));
    if (is_file)
        return f;
    f.symbol = ttp_rollup_take_string(r, site->symbol);
    if (is_name && site->symbol.size_bytes != 0)
        return f;
    f.line = is_name ? 0 : site->line;
    f.kind = is_name ? 0 : site->kind;
    f.offset = is_placed ? ttp_site_offset(d, site) : 0;
    return f;
}

static bool is_short(const struct ttp_rollup_function *f)
{
    return f->symbol == TTAPE_NONE || f->path == TTAPE_NONE || f->build == TTAPE_NONE ||
           f->file == TTAPE_NONE;
}

static uint32_t take_function(const struct adding *a, uint32_t key)
{
    ttape_report_by by = a->rollup->options.by;
    bool is_thread = by == TTAPE_REPORT_BY_THREAD, is_process = by == TTAPE_REPORT_BY_PROCESS;
    struct ttp_rollup_function f;
    if (is_thread)
        f = name_thread(a, key, a->definitions->streams[key].stream.process);
    else if (is_process)
        f = name_thread(a, TTAPE_NONE, key);
    else
        f = name_site(a, ttp_report_key_site(&a->report->keys, key));
    return is_short(&f) ? TTAPE_NONE : ttp_rollup_take_function(a->rollup, &f);
}

uint32_t ttp_rollup_row_of_site(ttape_rollup *r, const ttape_reader *reader, uint32_t site)
{
    const struct adding a = {.rollup = r, .definitions = &reader->definitions};
    struct ttp_rollup_function f = name_site(&a, site);
    uint32_t function = is_short(&f) ? TTAPE_NONE : ttp_rollup_take_function(r, &f);
    return function == TTAPE_NONE ? TTAPE_NONE
                                  : ttp_rollup_take_row(r, function, TTP_ROLLUP_CALLER_NONE);
}

static uint32_t take_row(const struct adding *a, const struct ttp_account_row *row)
{
    uint32_t function = take_function(a, row->key), caller = TTP_ROLLUP_CALLER_NONE;
    if (function == TTAPE_NONE)
        return TTAPE_NONE;
    ttape_report_by by = a->rollup->options.by;
    bool has_caller = by == TTAPE_REPORT_BY_CALL || by == TTAPE_REPORT_BY_SITE;
    if (has_caller && row->caller == TTAPE_REPORT_SIGNAL)
        caller = TTP_ROLLUP_CALLER_FIRST - 1;
    else if (has_caller && row->caller != TTAPE_NONE) {
        caller = take_function(a, row->caller);
        if (caller == TTAPE_NONE)
            return TTAPE_NONE;
        caller += TTP_ROLLUP_CALLER_FIRST;
    }
    return ttp_rollup_take_row(a->rollup, function, caller);
}

/* ---- what they have ---- */

static void set_count(struct ttp_rollup_sums *sums, unsigned field, uint64_t value)
{
    if (value != 0)
        ttp_rollup_set(sums, field, ttp_rollup_count(value));
}

static void set_time(struct ttp_rollup_sums *sums, unsigned field, int64_t value)
{
    if (value != 0)
        ttp_rollup_set(sums, field, ttp_rollup_signed(value));
}

static void set_decoded(struct ttp_rollup_sums *sums, const struct ttp_account_row *row)
{
    set_time(sums, TTP_ROLLUP_IDLE, row->idle_ns);
    set_time(sums, TTP_ROLLUP_DURATION, row->duration_ns);
    set_count(sums, TTP_ROLLUP_RECURSIONS, row->recursion_count);
    set_count(sums, TTP_ROLLUP_UNSEEN, row->unseen_count);
}

static struct ttp_rollup_sums sums_of(const struct adding *a, const struct ttp_account_row *row)
{
    struct ttp_rollup_sums sums;
    sums.mask = 0;
    set_count(&sums, TTP_ROLLUP_CALLS, row->call_count);
    set_count(&sums, TTP_ROLLUP_EXITS, row->exit_count);
    set_time(&sums, TTP_ROLLUP_SELF, row->self_ns);
    set_time(&sums, TTP_ROLLUP_TOTAL, row->total_ns);
    if (row->exit_count != 0) {
        ttp_rollup_set(&sums, TTP_ROLLUP_MIN, ttp_rollup_signed(row->min_ns));
        ttp_rollup_set(&sums, TTP_ROLLUP_MAX, ttp_rollup_signed(row->max_ns));
    }
    if ((row->squares.low | row->squares.high) != 0)
        ttp_rollup_set(&sums, TTP_ROLLUP_SQUARES,
                       (struct ttp_rollup_number){{row->squares.low, row->squares.high, 0}});
    set_time(&sums, TTP_ROLLUP_OPEN, row->open_ns);
    set_time(&sums, TTP_ROLLUP_KNOWN_SELF, row->known_self_ns);
    set_time(&sums, TTP_ROLLUP_PREEMPTED, row->preempted_ns);
    set_time(&sums, TTP_ROLLUP_BLOCKED, row->blocked_ns);
    set_time(&sums, TTP_ROLLUP_UNKNOWN, row->unknown_ns);
    set_time(&sums, TTP_ROLLUP_TOTAL_BLOCKED, row->total_blocked_ns);
    set_time(&sums, TTP_ROLLUP_TOTAL_UNKNOWN, row->total_unknown_ns);
    set_count(&sums, TTP_ROLLUP_UNKNOWN_ENDS, row->unknown_end_count);
    set_time(&sums, TTP_ROLLUP_UNKNOWN_END_NS, row->unknown_end_ns);
    set_count(&sums, TTP_ROLLUP_UNSEEN_ENDS, row->unseen_end_count);
    set_count(&sums, TTP_ROLLUP_LATE_ENDS, row->late_end_count);
    set_count(&sums, TTP_ROLLUP_EVENTS, row->event_count);
    set_time(&sums, TTP_ROLLUP_SPAN, row->span_ns);
    if (a->is_decoded)
        set_decoded(&sums, row);
    if (a->rollup->options.by == TTAPE_REPORT_BY_FUNCTION)
        set_count(&sums, TTP_ROLLUP_BLOCKS,
                  a->report->idle_sites[ttp_report_key_site(&a->report->keys, row->key)]);
    return sums;
}

static ttape_status add_durations(const struct adding *a, struct ttp_rollup_row *row,
                                  const struct ttp_durations *d, ttape_error *err)
{
    const uint64_t *counts = d->counts;
    uint32_t count = TTP_OVERVIEW_BUCKETS;
    if (a->rollup->options.counts) {
        ttp_durations_count(d, a->classes);
        counts = a->classes;
        count = ttp_duration_classes();
    }
    for (uint32_t i = 0; counts != NULL && i < count; i++)
        if (counts[i] != 0)
            TTP_TRY(ttp_rollup_add_count(a->rollup, row, a->unit << 16 | i, counts[i], err));
    return TTAPE_OK;
}

/* The own time of all rows; so many of 64 bits fit 128. */
static void add_self(struct ttp_rollup_sums *trace, const struct ttp_account_row *row)
{
    const struct ttp_rollup_number both[] = {ttp_rollup_signed(row->self_ns),
                                             ttp_rollup_signed(row->known_self_ns)};
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++)
        (void)ttp_rollup_add_numbers(trace, ttp_rollup_trace_kinds, 1u << TTP_ROLLUP_T_SELF,
                                     &both[i]);
}

static ttape_status add_rows(const struct adding *a, struct ttp_rollup_sums *trace,
                             ttape_error *err)
{
    ttape_rollup *r = a->rollup;
    for (uint32_t i = 0; i < a->report->shown_count; i++) {
        const struct ttp_account_row *from = &a->report->rows.rows[a->report->order[i]];
        uint32_t number = take_row(a, from);
        if (number == TTAPE_NONE)
            return ttp_rollup_fail_short(r, err);
        struct ttp_rollup_row *row = &r->rows[number];
        struct ttp_rollup_sums sums = sums_of(a, from);
        if (!ttp_rollup_add_sums(&row->sums, ttp_rollup_row_kinds, &sums))
            return ttp_rollup_fail_sum(r, err);
        if (r->flags != 0)
            TTP_TRY(add_durations(a, row, &from->durations, err));
        add_self(trace, from);
    }
    r->is_settled = false;
    return TTAPE_OK;
}

static void set_trace(const struct adding *a, const ttape_reader *reader, bool is_growing,
                      struct ttp_rollup_sums *sums)
{
    const ttape_report_info *info = &a->report->info;
    const struct ttp_account_rows *rows = &a->report->rows;
    ttape_info file;
    ttape_reader_get_info(reader, &file);
    uint64_t flags =
        (info->has_times ? TTP_ROLLUP_HAS_TIMES : 0) | (rows->has_idle ? TTP_ROLLUP_HAS_IDLE : 0) |
        (a->report->has_idle_calls ? TTP_ROLLUP_IDLE_CALLS : 0) |
        (rows->has_switches ? TTP_ROLLUP_SWITCHES : 0) | (is_growing ? TTP_ROLLUP_IS_GROWING : 0) |
        (file.truncated && !is_growing ? TTP_ROLLUP_IS_TRUNCATED : 0);
    set_count(sums, TTP_ROLLUP_T_EVENTS, info->event_count);
    set_count(sums, TTP_ROLLUP_T_CALLS, info->call_count);
    set_time(sums, TTP_ROLLUP_T_SPAN, info->span_ns);
    set_count(sums, TTP_ROLLUP_T_STREAMS, info->stream_count);
    set_count(sums, TTP_ROLLUP_T_PARTITIONS, file.partition_count);
    set_count(sums, TTP_ROLLUP_T_FLAGS, flags);
    set_count(sums, TTP_ROLLUP_T_DAMAGED, info->damaged_count);
    set_count(sums, TTP_ROLLUP_T_LOST, file.lost_count);
    set_count(sums, TTP_ROLLUP_T_OPEN, info->open_count);
    set_count(sums, TTP_ROLLUP_T_LOOKED, info->partition_count);
    set_time(sums, TTP_ROLLUP_T_KNOWN, rows->known_ns);
    set_time(sums, TTP_ROLLUP_T_PREEMPTED, rows->preempted_ns);
    set_time(sums, TTP_ROLLUP_T_BLOCKED, rows->blocked_ns);
    set_time(sums, TTP_ROLLUP_T_UNKNOWN, rows->unknown_ns);
    if (!a->is_decoded)
        return;
    set_count(sums, TTP_ROLLUP_T_DECODED, info->partition_count);
    set_count(sums, TTP_ROLLUP_T_UNSEEN, info->unseen_count);
    set_time(sums, TTP_ROLLUP_T_IDLE, rows->idle_ns);
}

static ttape_status add_report(struct adding *a, ttape_reader *reader, bool is_growing,
                               struct ttp_rollup_trace *trace, uint32_t *number, ttape_error *err)
{
    ttape_rollup *r = a->rollup;
    a->definitions = &reader->definitions;
    a->trace = trace;
    a->is_decoded = r->options.by != TTAPE_REPORT_BY_FUNCTION || r->options.counts;
    if (r->options.histograms)
        a->unit = ttp_rollup_take_unit(r, a->report->unit_ns);
    if (a->unit == TTAPE_NONE)
        return ttp_rollup_fail_short(r, err);
    if (r->options.counts) {
        a->classes = ttp_region_take(&r->region, ttp_duration_classes(), sizeof *a->classes);
        if (a->classes == NULL)
            return ttp_rollup_fail_short(r, err);
    }
    ttape_status status = add_rows(a, &trace->sums, err);
    ttp_region_give(&r->region, a->classes);
    TTP_TRY(status);
    set_trace(a, reader, is_growing, &trace->sums);
    return ttp_rollup_add_trace(r, trace, number, err);
}

/* ---- the call ---- */

static ttape_status take_selection(ttape_rollup_selection *out,
                                   const ttape_rollup_selection *selection, ttape_error *err)
{
    *out = (ttape_rollup_selection){.size = sizeof *out};
    if (selection != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, selection, "selection", err));
    out->name = out->name.data != NULL ? out->name : (ttape_string){"", 0};
    out->host = out->host.data != NULL ? out->host : (ttape_string){"", 0};
    out->report.size = sizeof out->report;
    if (out->name.size_bytes > TTP_ROLLUP_TEXT_MAX || out->host.size_bytes > TTP_ROLLUP_TEXT_MAX)
        return ttp_refuse(err, "the name of a file or a host is too long");
    return out->report.group != NULL ? ttp_refuse(err, "a rollup has no groups") : TTAPE_OK;
}

/* What is said to be covered would not be. */
static bool is_cut(const ttape_report_options *o)
{
    return o->has_range || o->streams != NULL || o->below != NULL || o->focus != NULL ||
           o->is_idle != NULL;
}

static ttape_status add_trace(ttape_rollup *r, ttape_reader *reader,
                              const ttape_rollup_selection *selection,
                              struct ttp_rollup_trace *trace, ttape_error *err)
{
    ttape_report_options how = selection->report;
    ttape_report *report;
    how.by = r->options.by;
    how.exact = how.exact || r->options.by != TTAPE_REPORT_BY_FUNCTION || r->options.counts;
    how.percentiles = r->options.counts;
    how.histograms = r->options.histograms;
    how.first_partition = selection->first_partition;
    how.partition_count = selection->partition_count;
    TTP_TRY(ttape_report_make(&report, reader, &how, err));
    struct adding adding = {.rollup = r, .report = report};
    uint32_t number = 0;
    r->is_begun = true;
    r->is_partial = r->is_partial || is_cut(&how);
    ttape_status status = add_report(&adding, reader, selection->is_growing, trace, &number, err);
    ttape_report_close(report);
    if (status == TTAPE_OK && r->options.longest != 0)
        status = ttp_rollup_add_longest(r, reader, selection, number, err);
    return status;
}

ttape_status ttape_rollup_add_trace(ttape_rollup *rollup, ttape_reader *reader,
                                    const ttape_rollup_selection *selection, ttape_error *err)
{
    ttape_rollup_selection taken;
    ttape_info info;
    if (rollup == NULL || reader == NULL)
        return ttp_refuse(err, "no rollup, or no reader");
    if (rollup->has_failed || rollup->is_folded)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "nothing more can be added to this rollup");
    TTP_TRY(take_selection(&taken, selection, err));
    ttape_reader_get_info(reader, &info);
    uint64_t first = taken.first_partition, count = taken.partition_count;
    if (count == 0)
        count = taken.partition_count = (uint32_t)info.partition_count;
    if (first > info.partition_count || count > info.partition_count - first)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "the trace has '%llu' partitions, not as many as asked for",
                        (unsigned long long)info.partition_count);
    ttape_rollup_range range = {(uint32_t)first, (uint32_t)count};
    struct ttp_rollup_trace trace = {
        .name = taken.name, .host = taken.host, .ranges = &range, .range_count = count != 0};
    memcpy(trace.id, info.trace_id, sizeof trace.id);
    TTP_TRY(ttp_rollup_check_trace(rollup, &trace, err));
    return add_trace(rollup, reader, &taken, &trace, err);
}
