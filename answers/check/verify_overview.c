/* Most overviews cover what was verified since the one before: that is added up already. Of others
 * (a cut took partitions and their overview away) the partitions are decoded once more. */
#include "answers/check/verify_overview.h"

#include <string.h>

#include "answers/check/verify_partition.h"
#include "format/base/fail.h"
#include "reader/cache/cache.h"

#define AGAIN_MOST 2u /* times that partitions are decoded for overviews, on average */

struct ttp_overview_sums *ttp_scope_sums_of(struct ttp_scope_sums *s, struct ttp_trace_decoder *d,
                                            uint32_t scope, ttape_error *err)
{
    uint32_t before = s->count;
    if (ttp_memory_reserve(&d->memory, &s->sums, &s->count, scope + 1ull, sizeof *s->sums, err) !=
        TTAPE_OK)
        return NULL;
    if (s->count > before)
        memset(s->sums + before, 0, (s->count - before) * sizeof *s->sums);
    return &s->sums[scope];
}

static bool go_on(void *context, const ttape_error *problem)
{
    (void)context;
    (void)problem;
    return true; /* it was said when the partition came */
}

/* Nothing forbids overviews of the same partitions; but a small file could ask for any work. */
static ttape_status add_again(struct ttp_scope_sums *s, struct ttp_overview_sums *sums,
                              struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                              ttape_error *err)
{
    s->again_count += o->head.partition_count;
    if (s->again_count >
        AGAIN_MOST * ((uint64_t)d->reader->partition_count + TTP_OVERVIEW_PARTITIONS))
        return ttp_fail(err, TTAPE_E_LIMIT, "F-OVR-08",
                        d->reader->overviews[d->reader->overview_count - 1].offset,
                        "overviews cover partitions more often than they are decoded for it");
    ttp_overview_sums_clear(sums);
    for (uint32_t i = 0; i < o->head.partition_count; i++) {
        struct ttp_loaded *p;
        TTP_TRY(ttp_loaded_get(d, o->partitions[i], TTP_STAGE_VALUES, &p, err));
        TTP_TRY(ttp_verify_partition(d, p, go_on, NULL, sums, err));
        ttp_cache_clear(d);
    }
    return TTAPE_OK;
}

ttape_status ttp_verify_overview(struct ttp_scope_sums *s, struct ttp_trace_decoder *d,
                                 ttape_error *err)
{
    uint32_t number = d->reader->overview_count - 1;
    const struct ttp_overview_chunk chunk = d->reader->overviews[number];
    struct ttp_overview_sums *sums = ttp_scope_sums_of(s, d, chunk.scope, err);
    struct ttp_read_overview o;
    if (sums == NULL)
        return d->memory.status;
    TTP_TRY(ttp_overview_load(d, number, TTP_OVERVIEW_ALL, UINT32_MAX, &o, err));
    ttape_status status = TTAPE_OK;
    if (sums->is_partial || sums->partition_count != o.head.partition_count)
        status = add_again(s, sums, d, &o, err);
    if (status == TTAPE_OK && sums->is_partial)
        status = ttp_fail(err, TTAPE_E_LIMIT, "F-OVR-08", chunk.offset + TTP_CHUNK_HEADER_BYTES,
                          "an overview could not be compared");
    if (status == TTAPE_OK) {
        status = ttp_overview_sums_compare(sums, d, &o, err);
        if (status != TTAPE_OK && err != NULL)
            err->offset = chunk.offset + TTP_CHUNK_HEADER_BYTES;
    }
    ttp_overview_sums_clear(sums);
    ttp_overview_drop(d, &o);
    return status;
}

void ttp_scope_sums_close(struct ttp_scope_sums *s, struct ttp_trace_decoder *d)
{
    for (uint32_t i = 0; i < s->count; i++)
        ttp_overview_sums_close(&s->sums[i], d);
    ttp_memory_give(&d->memory, s->sums, s->count, sizeof *s->sums);
    *s = (struct ttp_scope_sums){0};
}
