/* Both are lists of the same length, frame by frame. */
#include "reader/levels/verify_enters.h"

#include "format/base/fail.h"
#include "reader/partition/enters_reader.h"
#include "reader/reader_internal.h"

static bool same(const struct ttp_entered *a, const struct ttp_entered *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i].event != b[i].event || a[i].above != b[i].above)
            return false;
    return true;
}

static ttape_status find(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                         struct ttp_entered *out, ttape_error *err)
{
    const struct ttp_enters_in in = {.segments = &p->segments,
                                     .codes = p->codes,
                                     .segment_start = p->segment_start,
                                     .symbols = p->symbols,
                                     .symbol_count = p->symbol_count};
    size_t need = ttp_enters_workspace(&in);
    void *workspace = ttp_memory_take(&d->memory, need, 1, err);
    if (workspace == NULL)
        return d->memory.status;
    ttp_enters_find(&in, (struct ttp_workspace){workspace, need}, out);
    ttp_memory_give(&d->memory, workspace, need, 1);
    return TTAPE_OK;
}

ttape_status ttp_verify_enters(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                               uint32_t *wrong, ttape_error *err)
{
    uint64_t count = ttp_entered_count(&p->segments), at = 0;
    *wrong = UINT32_MAX;
    if (!ttp_has_enters(p))
        return TTAPE_OK;
    struct ttp_entered *said = ttp_memory_take(&d->memory, 2 * count + 1, sizeof *said, err);
    if (said == NULL)
        return d->memory.status;
    ttape_status status = ttp_enters_load(d, p, said, err);
    if (status == TTAPE_OK)
        status = find(d, p, said + count, err);
    for (uint32_t s = 0;
         status == TTAPE_OK && *wrong == UINT32_MAX && s < p->segments.segment_count; s++) {
        uint32_t frames = p->segments.segments[s].end.frame_count;
        if (!same(said + at, said + count + at, frames))
            *wrong = s;
        at += frames;
    }
    ttp_memory_give(&d->memory, said, 2 * count + 1, sizeof *said);
    return status;
}
