/* Functions come from reports, which add up summaries. */
#include <tracetape/report.h>
#include <tracetape/writer.h>

#include <stdlib.h>

#include "answers/diff/diff_internal.h"
#include "base/time_sum.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/reader_internal.h"

#define MEMORY_BYTES_DEFAULT (UINT64_C(256) << 20)
#define DEPTH_DEFAULT        64u
#define JOBS_MOST            64u
#define SWITCHES_EVENTS      30000000u /* as in report: a second or two */

uint32_t ttp_diff_add_row(struct ttp_diff_rows *rows, uint32_t key, uint32_t parent, uint32_t depth)
{
    size_t first = rows->count * rows->trace_count;
    if (rows->count >= TTAPE_NONE - 1 ||
        !ttp_region_grow(rows->region, &rows->traces, &rows->traces_capacity,
                         first + rows->trace_count, sizeof(*rows->traces)) ||
        !ttp_region_grow(rows->region, &rows->rows, &rows->capacity, rows->count + 1,
                         sizeof(*rows->rows)))
        return TTAPE_NONE;
    memset(&rows->traces[first], 0, rows->trace_count * sizeof *rows->traces);
    rows->rows[rows->count] = (ttape_diff_row){.key = key, .parent = parent, .depth = depth};
    return (uint32_t)rows->count++;
}

static void note_failure(struct ttape_diff *diff, ttape_status status, const ttape_error *error)
{
    if (diff->status != TTAPE_OK)
        return;
    diff->status = status;
    if (diff->err != NULL)
        *diff->err = *error;
}

bool ttp_diff_pass_over(struct ttape_diff *diff, uint32_t run, const ttape_error *error)
{
    if (error->status >= TTAPE_E_TRUNCATED && diff->options.damage != NULL) {
        diff->options.damage(diff->options.context, run, error);
        return true;
    }
    note_failure(diff, error->status, error);
    return false;
}

bool ttp_diff_goes_on(struct ttape_diff *diff)
{
    ttape_error error = {0};
    ttape_status status = diff->status == TTAPE_OK
                              ? ttp_ask_watch(diff->options.watch, diff->event_count, 0, &error)
                              : diff->status;
    if (status != TTAPE_OK)
        note_failure(diff, status, &error);
    return status == TTAPE_OK;
}

/* ---- functions ---- */

struct reporting {
    struct ttape_diff *diff;
    uint32_t run;
};

static void take_damage(void *context, uint32_t partition, const ttape_error *error)
{
    const struct reporting *reporting = context;
    (void)partition;
    (void)ttp_diff_pass_over(reporting->diff, reporting->run, error);
}

/* How long the shortest call of a function took that calls nothing itself. Of what calls others it
 * says nothing of the function's own. */
static void add_shortest(ttape_diff_side *at, const ttape_report_row *row)
{
    bool is_known = row->exit_count != 0 && row->self_ns == row->total_ns && row->min_ns > 0;
    if (!is_known)
        at->shortest_ns = 0;
    else if (!at->is_there || (at->shortest_ns != 0 && row->min_ns < at->shortest_ns))
        at->shortest_ns = row->min_ns;
}

static void add_report(struct ttape_diff *diff, uint32_t run, const ttape_report *report,
                       uint32_t *row_of)
{
    uint32_t count, site_count;
    const ttape_report_row *found = ttape_report_get_rows(report, &count);
    const uint32_t *key_of = ttape_functions_get_sites(diff->functions, run, &site_count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = found[i].site < site_count ? key_of[found[i].site] : diff->key_count - 1;
        if (row_of[key] == TTAPE_NONE)
            row_of[key] = ttp_diff_add_row(&diff->rows, key, TTAPE_NONE, 0);
        if (row_of[key] == TTAPE_NONE)
            return;
        ttape_diff_side *at = ttp_diff_measures(&diff->rows, row_of[key], run);
        add_shortest(at, &found[i]);
        at->calls += found[i].call_count;
        ttp_sum_ns(&at->self_ns, ttp_change_ns(found[i].preempted_ns, found[i].self_ns));
        ttp_sum_ns(&at->preempted_ns, found[i].preempted_ns);
        ttp_sum_ns(&at->total_ns, found[i].total_ns);
        at->is_there = true;
    }
}

static void report_trace(struct ttape_diff *diff, uint32_t run, uint32_t *row_of)
{
    ttape_error err = {0};
    ttape_report *report;
    ttape_info info;
    struct reporting reporting = {diff, run};
    ttape_reader_get_info(diff->readers[run], &info);
    ttape_report_options how = {.size = sizeof(how),
                                .by = TTAPE_REPORT_BY_FUNCTION,
                                .damage = diff->options.damage != NULL ? take_damage : NULL,
                                .context = &reporting,
                                .watch = diff->options.watch,
                                .switches = info.event_count <= SWITCHES_EVENTS,
                                .summed_switches = true,
                                .memory_bytes = diff->options.report_bytes,
                                .jobs = diff->options.jobs < JOBS_MOST ? diff->options.jobs
                                                                       : JOBS_MOST};
    ttape_status status = ttape_report_make(&report, diff->readers[run], &how, &err);
    if (status != TTAPE_OK)
        note_failure(diff, status, &err);
    else
        add_report(diff, run, report, row_of);
    ttape_report_close(report);
    diff->event_count += info.event_count;
}

static void make_functions(struct ttape_diff *diff)
{
    uint32_t *row_of = ttp_region_take(&diff->region, diff->key_count, sizeof *row_of);
    if (row_of == NULL)
        return;
    memset(row_of, 0xff, diff->key_count * sizeof *row_of);
    for (uint32_t run = 0; run < diff->trace_count && ttp_diff_goes_on(diff); run++)
        report_trace(diff, run, row_of);
    ttp_region_give(&diff->region, row_of);
    ttp_diff_make_sides(diff, &diff->rows);
}

/* ---- public ---- */

static void give_out(struct ttp_diff_rows *rows)
{
    rows->shown = (ttape_diff_rows){.row_count = (uint32_t)rows->count,
                                    .trace_count = rows->trace_count,
                                    .rows = rows->rows,
                                    .traces = rows->traces,
                                    .sides = rows->sides,
                                    .order = rows->order,
                                    .order_count = (uint32_t)rows->order_count,
                                    .depth_limit = rows->depth_limit,
                                    .noise = rows->noise};
    memcpy(rows->shown.state_counts, rows->state_counts, sizeof rows->state_counts);
}

static ttape_status make_diff(struct ttape_diff *diff, ttape_error *err)
{
    const ttape_functions_options how = {.size = sizeof(how),
                                         .by = TTAPE_FUNCTIONS_BY_NAME,
                                         .a_count = diff->a_count,
                                         .memory_bytes = diff->region.left_bytes};
    const ttape_reader *readers[TTAPE_DIFF_TRACES_MAX];
    diff->has_times = true;
    for (uint32_t run = 0; run < diff->trace_count; run++) {
        ttape_info info;
        readers[run] = diff->readers[run];
        ttape_reader_get_info(readers[run], &info);
        diff->has_times = diff->has_times && info.resolution_ns != TTAPE_TIME_NONE;
    }
    TTP_TRY(ttape_functions_make(&diff->functions, readers, diff->trace_count, &how, err));
    (void)ttape_functions_get_rows(diff->functions, &diff->key_count);
    if (!diff->options.no_functions)
        make_functions(diff);
    if (!diff->options.no_paths && diff->status == TTAPE_OK)
        ttp_diff_make_paths(diff);
    if (diff->status != TTAPE_OK)
        return diff->status;
    ttp_diff_judge(diff, &diff->rows);
    ttp_diff_judge(diff, &diff->paths);
    ttp_diff_find_moves(diff);
    if (diff->region.is_short || diff->paths.region->is_short)
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "comparison needs more memory than its limit of %llu bytes",
                        (unsigned long long)diff->options.memory_bytes);
    give_out(&diff->rows);
    give_out(&diff->paths);
    return TTAPE_OK;
}

static ttape_status check_options(ttape_diff_options *taken, ttape_reader *const *readers,
                                  uint32_t reader_count, ttape_error *err)
{
    if (readers == NULL || reader_count < 2 || reader_count > TTAPE_DIFF_TRACES_MAX)
        return ttp_refuse(err, "not two runs, or too many");
    for (uint32_t i = 0; i < reader_count; i++)
        if (readers[i] == NULL)
            return ttp_refuse(err, "no reader");
    taken->a_count += taken->a_count == 0;
    taken->depth = taken->depth != 0 ? taken->depth : DEPTH_DEFAULT;
    taken->memory_bytes = taken->memory_bytes != 0 ? taken->memory_bytes : MEMORY_BYTES_DEFAULT;
    if (taken->a_count >= reader_count)
        return ttp_refuse(err, "a side without runs");
    if ((unsigned)taken->sort > TTAPE_DIFF_BY_CALLS)
        return ttp_refuse(err, "rows are in no such order");
    return TTAPE_OK;
}

ttape_status ttape_diff_make(ttape_diff **out, ttape_reader *const *readers, uint32_t reader_count,
                             const ttape_diff_options *options, ttape_error *err)
{
    ttape_diff_options taken = {.size = sizeof taken};
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    if (options != NULL)
        TTP_TRY(ttp_take_sized(&taken, sizeof taken, options, "diff", err));
    TTP_TRY(check_options(&taken, readers, reader_count, err));
    const ttape_allocator *allocator = &readers[0]->memory.allocator;
    struct ttape_diff *diff = allocator->allocate(allocator->context, sizeof *diff);
    if (diff == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    *diff = (struct ttape_diff){.region = ttp_region_of(taken.memory_bytes),
                                .options = taken,
                                .readers = readers,
                                .trace_count = reader_count,
                                .a_count = taken.a_count,
                                .rows = {.trace_count = reader_count},
                                .paths = {.trace_count = reader_count},
                                .err = err};
    diff->region.allocator = diff->paths_region.allocator = *allocator;
    diff->rows.region = diff->paths.region = &diff->region;
    ttape_status status = make_diff(diff, err);
    diff->readers = NULL;
    diff->err = NULL;
    if (status != TTAPE_OK) {
        ttape_diff_close(diff);
        return status;
    }
    *out = diff;
    return TTAPE_OK;
}

void ttape_diff_close(ttape_diff *diff)
{
    if (diff == NULL)
        return;
    const ttape_allocator allocator = diff->region.allocator;
    ttape_functions_close(diff->functions);
    ttp_region_close(&diff->paths_region);
    ttp_region_close(&diff->region);
    allocator.release(allocator.context, diff, sizeof *diff);
}

const ttape_diff_rows *ttape_diff_get_functions(const ttape_diff *diff)
{
    return diff != NULL && !diff->options.no_functions ? &diff->rows.shown : NULL;
}

const ttape_diff_rows *ttape_diff_get_paths(const ttape_diff *diff)
{
    return diff != NULL && !diff->options.no_paths ? &diff->paths.shown : NULL;
}

const ttape_diff_move *ttape_diff_get_moves(const ttape_diff *diff, uint32_t *count)
{
    *count = diff != NULL ? diff->move_count : 0;
    return diff != NULL ? diff->moves : NULL;
}

const ttape_functions *ttape_diff_get_keys(const ttape_diff *diff)
{
    return diff != NULL ? diff->functions : NULL;
}

bool ttape_diff_has_times(const ttape_diff *diff) { return diff != NULL && diff->has_times; }
