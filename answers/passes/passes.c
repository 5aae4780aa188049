/* Passes of blocks: from options to an answer. */
#include <stdlib.h>

#include "answers/passes/passes_internal.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/reader_internal.h"

ttape_passes_pair *ttp_passes_pair(struct ttape_passes *passes, struct ttp_passes_pairs *pairs,
                                   uint32_t from, uint32_t to)
{
    uint32_t *number =
        ttp_region_at(&passes->region, &pairs->numbers, (uint64_t)from << 32 | to, TTAPE_NONE);
    if (*number == TTAPE_NONE) {
        ttape_passes_pair *pair = ttp_region_add(&passes->region, &pairs->list, &pairs->count,
                                                 &pairs->capacity, sizeof *pair);
        if (pair == NULL)
            return &passes->lost;
        *pair = (ttape_passes_pair){.from = from, .to = to};
        *number = (uint32_t)pairs->count - 1;
    }
    return &pairs->list[*number];
}

bool ttp_passes_goes_on(struct ttape_passes *passes, uint64_t event_count)
{
    if (passes->status == TTAPE_OK)
        passes->status = ttp_ask_watch(passes->options.watch, event_count, 0, passes->err);
    return passes->status == TTAPE_OK && !passes->region.is_short;
}

bool ttp_passes_pass_over(struct ttape_passes *passes, uint32_t stream, const ttape_error *error)
{
    const ttape_passes_options *o = &passes->options;
    if (error->status < TTAPE_E_TRUNCATED || o->damage == NULL) {
        passes->status = error->status;
        if (passes->err != NULL)
            *passes->err = *error;
        return false;
    }
    passes->info.damaged_count++;
    passes->info.is_partial = true;
    o->damage(o->context, stream, error);
    return true;
}

/* ---- sites ---- */

static void list_sites(struct ttape_passes *passes)
{
    const ttape_passes_options *o = &passes->options;
    ttape_passes_site *sites =
        ttp_region_take(&passes->region, passes->info.site_count, sizeof *sites);
    for (uint32_t i = 0; sites != NULL && i < passes->info.site_count; i++) {
        ttape_site site;
        sites[i] = (ttape_passes_site){.function = TTAPE_NONE};
        if (o->sites != NULL && i < o->site_count)
            sites[i] = o->sites[i];
        else if (o->sites == NULL && ttape_reader_get_site(passes->reader, i, &site) == TTAPE_OK)
            sites[i].is_block = site.kind == TTAPE_SITE_BLOCK;
    }
    passes->sites = sites;
}

/* ---- pairs ---- */

static int compare_pairs(const void *a, const void *b)
{
    const ttape_passes_pair *one = a, *other = b;
    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    return one->to < other->to ? -1 : one->to > other->to;
}

static void end_pairs(struct ttape_passes *passes, struct ttp_passes_pairs *pairs)
{
    ttp_region_close_map(&passes->region, &pairs->numbers);
    if (pairs->count > 0)
        qsort(pairs->list, pairs->count, sizeof *pairs->list, compare_pairs);
}

/* What was counted by site joins the others. */
static void join_next(struct ttape_passes *passes)
{
    for (uint32_t i = 0; i < passes->info.site_count; i++) {
        const struct ttp_passes_next *next = &passes->next[i];
        for (size_t k = 0; k < 2 && next->count[k] > 0; k++)
            ttp_passes_pair(passes, &passes->pairs, i, next->to[k])->count += next->count[k];
    }
    ttp_region_give(&passes->region, passes->next);
    passes->next = NULL;
}

/* ---- public ---- */

static ttape_status check_options(const ttape_passes_options *o, const ttape_info *info,
                                  ttape_error *err)
{
    TTP_TRY(ttp_check_range(o->has_range, o->from_ns, o->to_ns, err));
    TTP_TRY(ttp_check_streams(o->streams, o->stream_count, err));
    if (o->sites == NULL && o->site_count != 0)
        return ttp_refuse(err, "sites are counted but not given");
    if (o->has_call && o->call_stream >= info->stream_count)
        return ttp_no_stream(err, o->call_stream);
    return ttp_find_streams(o->streams, o->stream_count, info->stream_count, NULL, err);
}

static ttape_status make_passes(struct ttape_passes *passes)
{
    uint32_t count = passes->info.site_count;
    list_sites(passes);
    passes->by_site = ttp_region_take(&passes->region, count, sizeof *passes->by_site);
    passes->next = ttp_region_take(&passes->region, count, sizeof *passes->next);
    if (ttp_passes_goes_on(passes, 0))
        ttp_passes_walk(passes);
    if (passes->status == TTAPE_OK && !passes->region.is_short)
        join_next(passes);
    end_pairs(passes, &passes->pairs);
    end_pairs(passes, &passes->left);
    ttp_region_give(&passes->region, (void *)passes->sites);
    passes->sites = NULL;
    if (passes->status == TTAPE_OK && passes->region.is_short)
        return ttp_fail_region(passes->err, "passes", passes->options.memory_bytes);
    return passes->status;
}

ttape_status ttape_passes_make(ttape_passes **out, ttape_reader *reader,
                               const ttape_passes_options *options, ttape_error *err)
{
    ttape_passes_options taken = {.size = sizeof taken};
    ttape_info info;
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    if (options != NULL)
        TTP_TRY(ttp_take_sized(&taken, sizeof taken, options, "passes", err));
    ttape_reader_get_info(reader, &info);
    TTP_TRY(check_options(&taken, &info, err));
    struct ttp_region region;
    struct ttape_passes *passes =
        ttp_open_region(&region, reader->memory.allocator, &taken.memory_bytes, sizeof *passes);
    if (passes == NULL)
        return ttp_fail_region(err, "passes", taken.memory_bytes);
    *passes = (struct ttape_passes){.region = region,
                                    .reader = reader,
                                    .options = taken,
                                    .info = {.site_count = info.site_count},
                                    .err = err};
    ttape_status status = make_passes(passes);
    passes->reader = NULL;
    passes->err = NULL;
    passes->options = (ttape_passes_options){0};
    if (status != TTAPE_OK) {
        ttape_passes_close(passes);
        return status;
    }
    *out = passes;
    return TTAPE_OK;
}

void ttape_passes_close(ttape_passes *passes)
{
    if (passes != NULL)
        ttp_close_region(&passes->region);
}

void ttape_passes_get_info(const ttape_passes *passes, ttape_passes_info *info)
{
    *info = passes->info;
}

const uint64_t *ttape_passes_get_rows(const ttape_passes *passes, uint32_t *row_count)
{
    *row_count = passes != NULL ? passes->info.site_count : 0;
    return passes != NULL ? passes->by_site : NULL;
}

const ttape_passes_pair *ttape_passes_get_pairs(const ttape_passes *passes, uint32_t *count)
{
    *count = passes != NULL ? (uint32_t)passes->pairs.count : 0;
    return passes != NULL ? passes->pairs.list : NULL;
}

const ttape_passes_pair *ttape_passes_get_left(const ttape_passes *passes, uint32_t *count)
{
    *count = passes != NULL ? (uint32_t)passes->left.count : 0;
    return passes != NULL ? passes->left.list : NULL;
}

const ttape_passes_call *ttape_passes_get_calls(const ttape_passes *passes, uint32_t *count)
{
    *count = passes != NULL ? (uint32_t)passes->call_count : 0;
    return passes != NULL ? passes->calls : NULL;
}
