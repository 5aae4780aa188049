/* Rows by site are added up for each partition and, where an overview stands, compared with its
 * rows: a site without a row is one with nothing but zeros. */
#include "answers/check/overview_sums.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/base/wide.h"

static ttape_status reserve_sites(struct ttp_trace_decoder *d, uint32_t **of, uint32_t *count,
                                  uint32_t site, ttape_error *err)
{
    uint32_t before = *count;
    TTP_TRY(ttp_memory_reserve(&d->memory, of, count, site + 1ull, sizeof **of, err));
    if (*count > before)
        memset(*of + before, 0, (*count - before) * sizeof **of);
    return TTAPE_OK;
}

static ttape_status find_row(struct ttp_overview_sums *s, struct ttp_trace_decoder *d,
                             uint32_t site, struct ttp_overview_sum **out, ttape_error *err)
{
    TTP_TRY(reserve_sites(d, &s->row_of, &s->row_sites, site, err));
    if (s->row_of[site] == 0) {
        TTP_TRY(ttp_memory_reserve(&d->memory, &s->rows, &s->row_capacity, s->row_count + 1ull,
                                   sizeof *s->rows, err));
        s->rows[s->row_count++] = (struct ttp_overview_sum){.measure = {.site = site}};
        s->row_of[site] = s->row_count;
    }
    *out = &s->rows[s->row_of[site] - 1];
    return TTAPE_OK;
}

static void add_signed(int64_t *to, int64_t value)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)value);
}

static void add_measure(struct ttp_overview_sum *sum, const struct ttp_measure *row,
                        const struct ttp_cpu_measure *cpu, const uint32_t *counts, uint64_t bit)
{
    struct ttp_measure *m = &sum->measure;
    bool is_first = m->exit_count == 0;
    if (row->exit_count != 0) {
        m->min_ticks = is_first || row->min_ticks < m->min_ticks ? row->min_ticks : m->min_ticks;
        m->max_ticks = is_first || row->max_ticks > m->max_ticks ? row->max_ticks : m->max_ticks;
    }
    if (row->exit_count != 0 && cpu != NULL && (is_first || cpu->max_on_ns > sum->cpu.max_on_ns))
        sum->cpu.max_on_ns = cpu->max_on_ns;
    m->call_count += row->call_count;
    m->exit_count += row->exit_count;
    add_signed(&m->self_ticks, row->self_ticks);
    add_signed(&m->total_ticks, row->total_ticks);
    m->squares = ttp_wide_add(m->squares, row->squares);
    for (int i = 0; cpu != NULL && i < TTP_OFF_KINDS; i++) {
        sum->cpu.self_ns[i] += cpu->self_ns[i];
        sum->cpu.total_ns[i] += cpu->total_ns[i];
    }
    sum->calls.mask |= (row->call_count | row->exit_count) != 0 ? bit : 0;
    for (uint32_t i = 0; i < TTP_OVERVIEW_BUCKETS; i++)
        sum->calls.counts[i] += counts[i];
}

static ttape_status add_leaf(struct ttp_overview_sums *s, struct ttp_trace_decoder *d,
                             uint32_t site, ttape_error *err)
{
    TTP_TRY(reserve_sites(d, &s->leaf_of, &s->leaf_sites, site, err));
    if (s->leaf_of[site] == 0) {
        TTP_TRY(ttp_memory_reserve(&d->memory, &s->leaves, &s->leaf_capacity, s->leaf_count + 1ull,
                                   sizeof *s->leaves, err));
        s->leaves[s->leaf_count++] = (struct ttp_overview_leaf){.site = site};
        s->leaf_of[site] = s->leaf_count;
    }
    struct ttp_overview_leaf *leaf = &s->leaves[s->leaf_of[site] - 1];
    leaf->count++;
    leaf->mask |= 1ull << s->partition_count;
    return TTAPE_OK;
}

static ttape_status add_all(struct ttp_overview_sums *s, struct ttp_trace_decoder *d,
                            const struct ttp_loaded *p, const struct ttp_measuring *m,
                            ttape_error *err)
{
    struct ttp_overview_sum *sum;
    const struct ttp_cpu_measure *cpus = m->cpu.rows;
    TTP_TRY(ttp_outline_sums_add(&s->outlines, d, p, m, err));
    TTP_TRY(ttp_merged_sums_add(&s->merged, d, p, err));
    for (uint32_t i = 0; i < m->row_count; i++) {
        TTP_TRY(find_row(s, d, m->rows[i].site, &sum, err));
        add_measure(sum, &m->rows[i], cpus != NULL ? &cpus[i] : NULL,
                    m->counts + (size_t)i * TTP_OVERVIEW_BUCKETS, 1ull << s->partition_count);
    }
    for (uint32_t i = 0; i < p->head.event_count; i++)
        if (p->symbols[p->codes[i] >> 1].event_class == TTP_CLASS_LEAF)
            TTP_TRY(add_leaf(s, d, p->symbols[p->codes[i] >> 1].argument, err));
    for (uint32_t i = 0; i < p->segments.segment_count; i++) {
        add_signed(&s->span_ticks, p->segments.segments[i].end_tick);
        add_signed(&s->span_ticks, (int64_t)(0 - (uint64_t)p->segments.segments[i].base_tick));
    }
    for (int i = 0; i < TTP_OFF_KINDS; i++)
        s->all_ns[i] += m->cpu.all_ns[i];
    s->cpu_count += cpus != NULL;
    s->switch_count += ttp_partition_section(&p->head, TTP_SECTION_SWITCHES) != NULL;
    s->summary_count += ttp_partition_section(&p->head, TTP_SECTION_SUMMARY) != NULL;
    s->unknown_ends |= (uint64_t)ttp_loaded_has_ends(p) << s->partition_count;
    s->partition_count++;
    return TTAPE_OK;
}

ttape_status ttp_overview_sums_add(struct ttp_overview_sums *s, struct ttp_trace_decoder *d,
                                   const struct ttp_loaded *p, const struct ttp_measuring *m,
                                   ttape_error *err)
{
    if (s->is_partial)
        return TTAPE_OK;
    ttape_status status = TTAPE_E_LIMIT;
    if (s->partition_count < TTP_OVERVIEW_PARTITIONS && m->counts != NULL && !s->listed.is_too_much)
        status = add_all(s, d, p, m, err);
    s->is_partial = status != TTAPE_OK;
    return status == TTAPE_E_LIMIT ? TTAPE_OK : status;
}

/* ---- comparing ---- */

static ttape_status differs(const char *rule, const char *what, uint32_t number, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, 0, "overview: %s '%u'", what, number);
}

static bool same_measure(const struct ttp_measure *a, const struct ttp_measure *b)
{
    return a->call_count == b->call_count && a->exit_count == b->exit_count &&
           a->self_ticks == b->self_ticks && a->total_ticks == b->total_ticks &&
           a->min_ticks == b->min_ticks && a->max_ticks == b->max_ticks &&
           a->squares.high == b->squares.high && a->squares.low == b->squares.low;
}

static ttape_status compare_row(const struct ttp_overview_sum *sum,
                                const struct ttp_read_overview *o, uint32_t row, ttape_error *err)
{
    uint32_t site = o->rows[row].site;
    const struct ttp_cpu_measure *cpu = o->cpu.rows != NULL ? &o->cpu.rows[row] : NULL;
    if (!same_measure(&sum->measure, &o->rows[row]))
        return differs("F-OVR-04", "wrong measures of site", site, err);
    if (cpu != NULL && (memcmp(cpu->self_ns, sum->cpu.self_ns, sizeof cpu->self_ns) != 0 ||
                        memcmp(cpu->total_ns, sum->cpu.total_ns, sizeof cpu->total_ns) != 0 ||
                        cpu->max_on_ns != sum->cpu.max_on_ns))
        return differs("F-OVR-07", "wrong CPU times of site", site, err);
    if (o->calls == NULL)
        return TTAPE_OK;
    if (o->calls[row].mask != sum->calls.mask ||
        (o->head.resolution_ns != 0 &&
         memcmp(o->calls[row].counts, sum->calls.counts, sizeof sum->calls.counts) != 0))
        return differs("F-OVR-05", "wrong partitions or durations of site", site, err);
    return TTAPE_OK;
}

static ttape_status compare_rows(const struct ttp_overview_sums *s,
                                 const struct ttp_read_overview *o, ttape_error *err)
{
    const struct ttp_overview_sum zero = {0};
    uint32_t known = 0, with = 0;
    for (uint32_t i = 0; i < o->row_count; i++) {
        uint32_t site = o->rows[i].site;
        uint32_t row = site < s->row_sites ? s->row_of[site] : 0;
        TTP_TRY(compare_row(row != 0 ? &s->rows[row - 1] : &zero, o, i, err));
        known += row != 0 && !same_measure(&s->rows[row - 1].measure, &zero.measure);
    }
    for (uint32_t i = 0; i < s->row_count; i++)
        with += !same_measure(&s->rows[i].measure, &zero.measure);
    return known == with ? TTAPE_OK
                         : differs("F-OVR-04", "sites without a row:", with - known, err);
}

static ttape_status compare_leaves(const struct ttp_overview_sums *s,
                                   const struct ttp_read_overview *o, ttape_error *err)
{
    bool same = o->leaf_count == s->leaf_count;
    for (uint32_t i = 0; i < o->leaf_count && same; i++) {
        const struct ttp_overview_leaf *leaf = &o->leaves[i];
        uint32_t at = leaf->site < s->leaf_sites ? s->leaf_of[leaf->site] : 0;
        same = at != 0 && s->leaves[at - 1].count == leaf->count &&
               s->leaves[at - 1].mask == leaf->mask;
    }
    return same ? TTAPE_OK : differs("F-OVR-06", "wrong leaves, of", o->leaf_count, err);
}

ttape_status ttp_overview_sums_compare(struct ttp_overview_sums *s, struct ttp_trace_decoder *d,
                                       const struct ttp_read_overview *o, ttape_error *err)
{
    bool cpu = o->cpu.rows != NULL;
    if (s->summary_count != s->partition_count)
        return differs("F-OVR-03", "no summary in some of its partitions,", o->head.partition_count,
                       err);
    if (o->head.span_ticks != (o->head.resolution_ns != 0 ? s->span_ticks : 0))
        return differs("F-OVR-03", "wrong span of partitions,", o->head.partition_count, err);
    if (cpu != (s->cpu_count != 0) || (s->switch_count != 0 && s->cpu_count != s->partition_count))
        return differs("F-OVR-07", "CPU times of some partitions only, of", o->head.partition_count,
                       err);
    if (cpu && memcmp(o->cpu.all_ns, s->all_ns, sizeof s->all_ns) != 0)
        return differs("F-OVR-07", "wrong CPU times of partitions,", o->head.partition_count, err);
    if (o->head.ends_mask != s->unknown_ends)
        return differs("F-OVR-15", "wrong partitions with unknown ends, of",
                       o->head.partition_count, err);
    TTP_TRY(compare_rows(s, o, err));
    TTP_TRY(compare_leaves(s, o, err));
    TTP_TRY(ttp_outline_sums_compare(&s->outlines, d, o, err));
    TTP_TRY(ttp_listed_sums_compare(&s->listed, d, o, err));
    return ttp_merged_sums_compare(&s->merged, d, o, err);
}

void ttp_overview_sums_clear(struct ttp_overview_sums *s)
{
    for (uint32_t i = 0; i < s->row_count; i++)
        s->row_of[s->rows[i].measure.site] = 0;
    for (uint32_t i = 0; i < s->leaf_count; i++)
        s->leaf_of[s->leaves[i].site] = 0;
    s->row_count = s->leaf_count = s->partition_count = s->summary_count = 0;
    s->cpu_count = s->switch_count = 0;
    s->span_ticks = 0;
    s->unknown_ends = 0;
    memset(s->all_ns, 0, sizeof s->all_ns);
    s->is_partial = false;
    ttp_outline_sums_clear(&s->outlines);
    ttp_listed_sums_clear(&s->listed);
    ttp_merged_sums_clear(&s->merged);
}

void ttp_overview_sums_close(struct ttp_overview_sums *s, struct ttp_trace_decoder *d)
{
    ttp_outline_sums_close(&s->outlines, d);
    ttp_listed_sums_close(&s->listed, d);
    ttp_merged_sums_close(&s->merged, d);
    ttp_memory_give(&d->memory, s->rows, s->row_capacity, sizeof *s->rows);
    ttp_memory_give(&d->memory, s->leaves, s->leaf_capacity, sizeof *s->leaves);
    ttp_memory_give(&d->memory, s->row_of, s->row_sites, sizeof *s->row_of);
    ttp_memory_give(&d->memory, s->leaf_of, s->leaf_sites, sizeof *s->leaf_of);
    *s = (struct ttp_overview_sums){0};
}
