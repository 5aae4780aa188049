/* An overview says nothing of where its partitions are, only how many stand before it: so it stays
 * right while these stay together. */
#include "libtrace/copy/copy_overviews.h"

#include "format/base/fail.h"
#include "reader/levels/overview_reader.h"

/* The scope's partition before this one, or TTAPE_NONE. */
static uint32_t before_in_scope(const ttape_reader *r, uint32_t partition)
{
    uint32_t scope = r->partitions[partition].scope;
    while (partition-- > 0)
        if (r->partitions[partition].scope == scope)
            return partition;
    return TTAPE_NONE;
}

/* One that does not hold is left out. */
static ttape_status copy_overview(ttape_writer *w, struct ttp_trace_decoder *d,
                                  struct ttp_scope *to, uint32_t number, ttape_error *err)
{
    struct ttp_read_overview o;
    ttape_error problem = {0};
    ttape_status status =
        ttp_overview_load(d, number, TTP_OVERVIEW_ROWS, TTP_OVERVIEW_SPREAD, &o, &problem);
    if (status != TTAPE_OK) {
        if (status != TTAPE_E_MEMORY && status != TTAPE_E_IO)
            return TTAPE_OK;
        if (err != NULL)
            *err = problem;
        return status;
    }
    if (o.head.partition_count <= to->series.count)
        status = ttp_writer_stored_overview(w, to, o.content, o.content_bytes, err);
    ttp_overview_drop(d, &o);
    return status;
}

ttape_status ttp_copied_overview(ttape_writer *w, struct ttp_trace_decoder *d, struct ttp_scope *to,
                                 uint32_t copier, uint32_t partition, ttape_error *err)
{
    struct ttp_copied_series *series = &to->series;
    bool goes_on = series->count != 0 && series->copier == copier &&
                   before_in_scope(d->reader, partition) == series->last;
    *series = (struct ttp_copied_series){copier, partition, goes_on ? series->count + 1 : 1};
    uint32_t number = ttp_overview_behind(d->reader, partition);
    /* one of another scope's may stand in between: what that hides is worked out again by nobody */
    for (; number < d->reader->overview_count && d->reader->overviews[number].end == partition + 1;
         number++)
        if (d->reader->overviews[number].scope == d->reader->partitions[partition].scope)
            TTP_TRY(copy_overview(w, d, to, number, err));
    return TTAPE_OK;
}
