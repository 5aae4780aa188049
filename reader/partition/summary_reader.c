/* Per-function measures of a partition: ticks become nanoseconds here, by the partition's
 * resolution. */
#include "reader/partition/summary_reader.h"

#include "reader/decoder_pool.h"

#include "format/base/fail.h"

/* Counts beyond what a partition can have would overflow in sums over partitions, whose least and
 * largest durations then depend on their order. Each event begins one frame at most. */
static ttape_status check_counts(const struct ttp_loaded *p, const struct ttp_measure *rows,
                                 uint32_t count, ttape_error *err)
{
    uint64_t events = p->head.event_count, frames = events + p->segments.start_frame_count;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].call_count > events || rows[i].exit_count > frames)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SUM-05", 0,
                            "more calls or ended frames of site %u than the partition can have",
                            rows[i].site);
    return TTAPE_OK;
}

ttape_status ttp_summary_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                              struct ttp_measure **rows, uint32_t *row_count, ttape_error *err)
{
    struct ttp_content content;
    uint32_t count = 0;
    const struct ttp_section *section = ttp_partition_section(&p->head, TTP_SECTION_SUMMARY);
    *rows = NULL;
    *row_count = 0;
    if (section == NULL)
        return TTAPE_OK;
    TTP_TRY(ttp_content_open(d, p, section, &content, err));
    struct ttp_measure *measures = NULL;
    ttape_status status = ttp_summary_count(content.data, content.size_bytes, &count, err);
    if (status == TTAPE_OK) {
        measures = ttp_memory_take(&d->memory, count, sizeof *measures, err);
        status = measures == NULL
                     ? d->memory.status
                     : ttp_summary_read(content.data, content.size_bytes,
                                        p->head.resolution_ns != 0, measures, count, err);
    }
    if (status == TTAPE_OK)
        status = check_counts(p, measures, count, err);
    if (status != TTAPE_OK) {
        ttp_content_rebase(&content, err);
        ttp_memory_give(&d->memory, measures, count, sizeof *measures);
        measures = NULL;
        count = 0;
    }
    ttp_content_close(d, &content);
    *rows = measures;
    *row_count = count;
    return status;
}

ttape_status ttp_own_times_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                struct ttp_measure *rows, uint32_t row_count, bool *known,
                                ttape_error *err)
{
    struct ttp_content content;
    const struct ttp_section *section = ttp_partition_section(&p->head, TTP_SECTION_OWN_TIMES);
    *known = section != NULL;
    if (section == NULL)
        return TTAPE_OK;
    TTP_TRY(ttp_content_open(d, p, section, &content, err));
    ttape_status status =
        ttp_own_times_read(content.data, content.size_bytes, rows, row_count, err);
    if (status != TTAPE_OK)
        ttp_content_rebase(&content, err);
    ttp_content_close(d, &content);
    return status;
}

static ttape_status take_cpu_times(struct ttp_trace_decoder *d, struct ttp_cpu_times *out,
                                   uint32_t row_count, uint32_t start_count, ttape_error *err)
{
    *out = (struct ttp_cpu_times){.row_count = row_count, .start_count = start_count};
    out->rows = ttp_memory_take(&d->memory, row_count, sizeof *out->rows, err);
    out->start_off_ns = out->rows == NULL ? NULL
                                          : ttp_memory_take(&d->memory, start_count,
                                                            sizeof *out->start_off_ns, err);
    return out->start_off_ns != NULL ? TTAPE_OK : d->memory.status;
}

void ttp_cpu_times_drop(struct ttp_trace_decoder *d, struct ttp_cpu_times *times)
{
    if (times->rows != NULL)
        ttp_memory_give(&d->memory, times->rows, times->row_count, sizeof *times->rows);
    if (times->start_off_ns != NULL)
        ttp_memory_give(&d->memory, times->start_off_ns, times->start_count,
                        sizeof *times->start_off_ns);
    *times = (struct ttp_cpu_times){0};
}

ttape_status ttp_cpu_times_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                const struct ttp_measure *rows, uint32_t row_count,
                                struct ttp_cpu_times *out, ttape_error *err)
{
    struct ttp_content content;
    const struct ttp_section *section = ttp_partition_section(&p->head, TTP_SECTION_CPU_TIMES);
    *out = (struct ttp_cpu_times){0};
    if (section == NULL)
        return TTAPE_OK;
    TTP_TRY(ttp_content_open(d, p, section, &content, err));
    ttape_status status = take_cpu_times(d, out, row_count, p->head.start_frame_count, err);
    if (status == TTAPE_OK) {
        status = ttp_cpu_times_read(content.data, content.size_bytes, rows, p->head.resolution_ns,
                                    out, err);
        if (status != TTAPE_OK)
            ttp_content_rebase(&content, err);
    }
    if (status != TTAPE_OK)
        ttp_cpu_times_drop(d, out);
    ttp_content_close(d, &content);
    return status;
}

static int64_t to_ns(int64_t ticks, uint64_t resolution_ns)
{
    return (int64_t)((uint64_t)ticks * resolution_ns);
}

static ttape_summary_row show_measure(const struct ttp_measure *m, uint32_t site,
                                      uint64_t resolution_ns)
{
    double squares = (double)m->squares.high * 18446744073709551616.0 + (double)m->squares.low;
    double step = (double)resolution_ns;
    return (ttape_summary_row){.site = site,
                               .call_count = m->call_count,
                               .exit_count = m->exit_count,
                               .self_ns = to_ns(m->self_ticks, resolution_ns),
                               .total_ns = to_ns(m->total_ticks, resolution_ns),
                               .min_ns = to_ns(m->min_ticks, resolution_ns),
                               .max_ns = to_ns(m->max_ticks, resolution_ns),
                               .sum_of_squares = squares * step * step,
                               .squares = m->squares};
}

/* A merged file may number a scope's sites in several pieces, but each piece ascends, and pieces of
 * a scope ascend:
 * so the order by site holds file-wide too. */
static ttape_status show_rows(const ttape_reader *r, const struct ttp_loaded *p,
                              const struct ttp_measure *measures, uint32_t count,
                              struct ttp_thread_results *out, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&out->memory, &out->rows, &out->row_capacity, count,
                               sizeof *out->rows, err));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t site =
            ttp_definitions_find(&r->definitions, p->scope, TTP_DEFINES_SITES, measures[i].site);
        if (site == TTAPE_NONE)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SUM-03", p->payload_offset,
                            "summary names site '%u', which is not defined", measures[i].site);
        out->rows[i] = show_measure(&measures[i], site, p->head.resolution_ns);
    }
    return TTAPE_OK;
}

static ttape_status get_summary(struct ttp_trace_decoder *d, uint32_t partition,
                                struct ttp_thread_results *out, uint32_t *count, ttape_error *err)
{
    struct ttp_loaded *p;
    struct ttp_measure *measures;
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err));
    TTP_TRY(ttp_summary_load(d, p, &measures, count, err));
    ttape_status status = show_rows(d->reader, p, measures, *count, out, err);
    ttp_memory_give(&d->memory, measures, *count, sizeof *measures);
    return status;
}

ttape_status ttape_reader_get_summary(ttape_reader *r, uint32_t partition,
                                      const ttape_summary_row **rows, uint32_t *row_count,
                                      ttape_error *err)
{
    struct ttp_thread_results *results;
    struct ttp_trace_decoder *d = NULL;
    uint32_t count;
    *rows = NULL;
    *row_count = 0;
    if (partition >= r->partition_count)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no partition '%u'",
                        partition);
    TTP_TRY(ttp_thread_results(r, &results, err));
    TTP_TRY(ttp_decoder_take(&r->pool, &d, err));
    ttape_status status = get_summary(d, partition, results, &count, err);
    ttp_decoder_give(d);
    TTP_TRY(status);
    *rows = results->rows;
    *row_count = count;
    return TTAPE_OK;
}
