/* Partitions of few events have none: they are decoded soon. */
#include "writer/encode/instants_encoder.h"

#include "format/base/fail.h"
#include "format/levels/instants.h"

#define LEAST_INSTANTS 8u
#define MOST_INSTANTS  128u
#define ANY_BYTES      (1u << 20)

size_t ttp_encode_instants_bound(const struct ttp_encoding *e, size_t payload_bytes)
{
    uint32_t share = e->w->instants_share;
    size_t most = share != 0 ? payload_bytes / share : ANY_BYTES;
    return most > TTP_SECTION_ENTRY_BYTES ? most - TTP_SECTION_ENTRY_BYTES : 0;
}

ttape_status ttp_encode_instants(struct ttp_encoding *e, const struct ttp_order *order, uint8_t *at,
                                 size_t bound, size_t *size)
{
    struct ttp_job *job = e->job;
    uint32_t wanted = order->event_count / e->w->instant_events;
    *size = 0;
    if (wanted < LEAST_INSTANTS && e->w->instants_share != 0)
        return TTAPE_OK;
    struct ttp_instants_in in = {.order = order,
                                 .segments = job->segments.data,
                                 .delta = job->delta,
                                 .wide = job->wide.data,
                                 .wide_count = job->head.wide_count,
                                 .wanted = wanted < MOST_INSTANTS ? wanted : MOST_INSTANTS};
    size_t need = ttp_instants_workspace(order);
    TTP_TRY(ttp_encoding_room(e, &job->workspace, need));
    *size = ttp_instants_write(&in, (struct ttp_workspace){job->workspace.data, need}, at, bound);
    return TTAPE_OK;
}
