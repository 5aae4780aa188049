/* The handle of a rollup, and what others see of it. */
#include "answers/rollup/rollup_internal.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"

ttape_status ttp_rollup_fail_short(ttape_rollup *r, ttape_error *err)
{
    r->has_failed = true;
    return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                    "the sums need more than the memory that they may have");
}

ttape_status ttp_rollup_fail_sum(ttape_rollup *r, ttape_error *err)
{
    r->has_failed = true;
    return ttp_fail(err, TTAPE_E_LIMIT, "R-SUM-05", TTAPE_ERROR_NO_OFFSET,
                    "a sum does not fit: no time has more than 128 bits, no count more than 64");
}

static ttape_status take_options(ttape_rollup_options *out, const ttape_rollup_options *options,
                                 ttape_error *err)
{
    *out = (ttape_rollup_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "rollup", err));
    if ((unsigned)out->by >= TTAPE_REPORT_BY_GROUP && out->by != TTAPE_REPORT_BY_SITE)
        return ttp_refuse(err, "a rollup has no such rows");
    if (out->counts && out->histograms)
        return ttp_refuse(err, "counts by size and histograms exclude each other");
    if (out->longest > TTP_ROLLUP_LONGEST_MAX ||
        (out->longest != 0 && out->by != TTAPE_REPORT_BY_FUNCTION))
        return ttp_refuse(err, "at most 10 calls are kept, of functions");
    return TTAPE_OK;
}

ttape_status ttape_rollup_open(ttape_rollup **out, const ttape_rollup_options *options,
                               ttape_error *err)
{
    ttape_rollup_options taken;
    if (out == NULL)
        return ttp_refuse(err, "no place for a rollup");
    *out = NULL;
    TTP_TRY(take_options(&taken, options, err));
    struct ttp_region region;
    ttape_rollup *r =
        ttp_open_region(&region, (ttape_allocator){0}, &taken.memory_bytes, sizeof *r);
    if (r == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "no memory for a rollup");
    r->region = region;
    r->options = taken;
    r->is_begun = !taken.takes_any;
    r->flags = (taken.counts ? TTP_ROLLUP_HAS_COUNTS : 0) |
               (taken.histograms ? TTP_ROLLUP_HAS_HISTOGRAMS : 0);
    r->unit_count = 1;
    struct ttp_rollup_string *empty = ttp_region_add(&r->region, &r->strings, &r->string_count,
                                                     &r->string_capacity, sizeof *empty);
    if (empty == NULL || !ttp_region_grow_map(&r->region, &r->trace_map)) {
        ttape_rollup_close(r);
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "no memory for a rollup");
    }
    *empty = (struct ttp_rollup_string){.data = "", .next = TTAPE_NONE};
    *out = r;
    return TTAPE_OK;
}

void ttape_rollup_close(ttape_rollup *rollup)
{
    if (rollup != NULL)
        ttp_close_region(&rollup->region);
}

bool ttape_rollup_has_failed(const ttape_rollup *rollup) { return rollup->has_failed; }

/* ---- traces ---- */

static ttape_wide_signed wide_of(const struct ttp_rollup_sums *sums, unsigned field)
{
    struct ttp_rollup_number n = ttp_rollup_get(sums, field);
    return (ttape_wide_signed){n.words[0], (int64_t)n.words[1]};
}

static ttape_rollup_trace show_trace(const struct ttp_rollup_trace *t)
{
    uint64_t flags = ttp_rollup_get_count(&t->sums, TTP_ROLLUP_T_FLAGS);
    ttape_rollup_trace out = {.name = t->name,
                              .host = t->host,
                              .ranges = t->ranges,
                              .range_count = (uint32_t)t->range_count,
                              .partition_count =
                                  (uint32_t)ttp_rollup_get_count(&t->sums, TTP_ROLLUP_T_PARTITIONS),
                              .event_count = ttp_rollup_get_count(&t->sums, TTP_ROLLUP_T_EVENTS),
                              .call_count = ttp_rollup_get_count(&t->sums, TTP_ROLLUP_T_CALLS),
                              .lost_count = ttp_rollup_get_count(&t->sums, TTP_ROLLUP_T_LOST),
                              .damaged_count = ttp_rollup_get_count(&t->sums, TTP_ROLLUP_T_DAMAGED),
                              .stream_count = ttp_rollup_get_count(&t->sums, TTP_ROLLUP_T_STREAMS),
                              .span_ns = wide_of(&t->sums, TTP_ROLLUP_T_SPAN),
                              .self_ns = wide_of(&t->sums, TTP_ROLLUP_T_SELF),
                              .is_growing = (flags & TTP_ROLLUP_IS_GROWING) != 0,
                              .is_truncated = (flags & TTP_ROLLUP_IS_TRUNCATED) != 0,
                              .has_times = (flags & TTP_ROLLUP_HAS_TIMES) != 0};
    memcpy(out.id, t->id, sizeof out.id);
    return out;
}

const ttape_rollup_trace *ttape_rollup_get_traces(ttape_rollup *rollup, uint32_t *count)
{
    *count = 0;
    if (rollup == NULL || rollup->has_failed || !ttp_rollup_settle(rollup))
        return NULL;
    if (rollup->shown_traces == NULL) {
        rollup->shown_traces =
            ttp_region_take(&rollup->region, rollup->trace_count, sizeof *rollup->shown_traces);
        for (size_t i = 0; rollup->shown_traces != NULL && i < rollup->trace_count; i++)
            rollup->shown_traces[i] = show_trace(&rollup->traces[rollup->trace_order[i]]);
    }
    *count = rollup->shown_traces != NULL ? (uint32_t)rollup->trace_count : 0;
    return rollup->shown_traces;
}

/* ---- functions ---- */

static ttape_rollup_function show_function(const ttape_rollup *r,
                                           const struct ttp_rollup_function *f)
{
    return (ttape_rollup_function){.symbol = ttp_rollup_text(r, f->symbol),
                                   .module_path = ttp_rollup_text(r, f->path),
                                   .build_id = ttp_rollup_text(r, f->build),
                                   .file = ttp_rollup_text(r, f->file),
                                   .offset = f->offset,
                                   .line = f->line,
                                   .kind = (ttape_site_kind)f->kind};
}

const ttape_rollup_function *ttape_rollup_get_functions(ttape_rollup *rollup, uint32_t *count)
{
    *count = 0;
    if (rollup == NULL || rollup->has_failed || !ttp_rollup_settle(rollup))
        return NULL;
    if (rollup->shown_functions == NULL) {
        rollup->shown_functions = ttp_region_take(&rollup->region, rollup->function_count,
                                                  sizeof *rollup->shown_functions);
        for (size_t i = 0; rollup->shown_functions != NULL && i < rollup->function_count; i++)
            rollup->shown_functions[i] =
                show_function(rollup, &rollup->functions[rollup->function_order[i]]);
    }
    *count = rollup->shown_functions != NULL ? (uint32_t)rollup->function_count : 0;
    return rollup->shown_functions;
}
