/* Both sections are small, and what they take to be made is not: that is the workspace's. */
#include "writer/encode/ends_encoder.h"

#include "format/base/fail.h"
#include "format/container/enters.h"
#include "format/container/measures/unknown_ends.h"

ttape_status ttp_encode_ends(struct ttp_encoding *e, const struct ttp_order *order,
                             struct ttp_bytes *out)
{
    struct ttp_growing kinds = {0}, *workspace = &e->job->workspace;
    uint32_t count;
    TTP_TRY(ttp_arrange_ends(e, order, &kinds, &count));
    size_t bound = ttp_ends_bound(count);
    ttape_status status = ttp_encoding_room(e, workspace, bound);
    if (status == TTAPE_OK)
        *out = (struct ttp_bytes){workspace->data,
                                  ttp_ends_write(kinds.data, count, workspace->data, bound)};
    ttp_grown_free(&e->w->allocator, &kinds);
    return status;
}

/* It is written into a likely size first, then into twice of it: a number may take 16 bytes and
 * mostly takes one. */
static ttape_status write_enters(struct ttp_encoding *e, const struct ttp_segments *segments,
                                 const struct ttp_entered *entered, size_t count,
                                 struct ttp_bytes *out)
{
    struct ttp_growing *workspace = &e->job->workspace;
    size_t size, bytes = 256 + 4 * (count + segments->segment_count);
    TTP_TRY(ttp_encoding_room(e, workspace, bytes));
    while (!ttp_enters_write(segments, entered, workspace->data, bytes, &size)) {
        bytes *= 2;
        TTP_TRY(ttp_encoding_room(e, workspace, bytes));
    }
    *out = (struct ttp_bytes){workspace->data, size};
    return TTAPE_OK;
}

ttape_status ttp_encode_enters(struct ttp_encoding *e, const struct ttp_order *order,
                               struct ttp_bytes *out)
{
    struct ttp_job *job = e->job;
    struct ttp_segments segments = ttp_job_segments(job);
    struct ttp_enters_in in = {.segments = &segments,
                               .codes = order->codes,
                               .segment_start = order->segment_start,
                               .symbols = order->symbols,
                               .symbol_count = order->symbol_count};
    struct ttp_growing entered = {0};
    size_t count = (size_t)ttp_entered_count(&segments), need = ttp_enters_workspace(&in);
    TTP_TRY(ttp_encoding_room(e, &job->workspace, need));
    ttape_status status = ttp_encoding_room(e, &entered, (count + 1) * sizeof(struct ttp_entered));
    if (status == TTAPE_OK) {
        ttp_enters_find(&in, (struct ttp_workspace){job->workspace.data, need}, entered.data);
        status = write_enters(e, &segments, entered.data, count, out);
    }
    ttp_grown_free(&e->w->allocator, &entered);
    return status;
}
