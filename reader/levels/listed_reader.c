/* What an overview lists stands in segments of its partitions, which the index knows. */
#include "reader/levels/listed_reader.h"

#include "format/base/fail.h"

static bool is_there(const ttape_reader *r, const struct ttp_read_overview *o,
                     const struct ttp_listed_call *call)
{
    const struct ttp_partition_entry *entry = &r->partitions[o->partitions[call->partition]];
    if (call->segment >= entry->segment_count)
        return false;
    return !call->is_known ||
           call->end_event < r->segments[entry->first_segment + call->segment].event_count;
}

static ttape_status read_all(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                             struct ttp_listed *out, ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    TTP_TRY(ttp_listed_count(&o->head, out, err));
    out->counts = ttp_memory_take(m, out->row_count, sizeof *out->counts, err);
    if (out->counts == NULL)
        return m->status;
    out->calls = ttp_memory_take(m, out->call_count, sizeof *out->calls, err);
    if (out->calls == NULL)
        return m->status;
    out->nodes = ttp_memory_take(m, out->node_count, sizeof *out->nodes, err);
    if (out->nodes == NULL)
        return m->status;
    TTP_TRY(ttp_listed_read(&o->head, out, err));
    for (uint32_t i = 0; i < out->call_count; i++)
        if (!is_there(d->reader, o, &out->calls[i]))
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-OVR-11", 0,
                            "a listed call is in no segment of its partition");
    return TTAPE_OK;
}

ttape_status ttp_listed_load(struct ttp_trace_decoder *d, const struct ttp_read_overview *o,
                             struct ttp_listed *out, ttape_error *err)
{
    *out = (struct ttp_listed){.rows = o->rows, .row_count = o->row_count};
    for (uint32_t i = 0; i < o->head.partition_count; i++)
        out->first_ticks[i] = d->reader->partitions[o->partitions[i]].first_tick;
    if (o->head.fields[TTP_OVERVIEW_LISTED].data == NULL)
        return TTAPE_E_NOT_FOUND;
    ttape_status status = read_all(d, o, out, err);
    if (status != TTAPE_OK)
        ttp_listed_drop(d, out);
    return status;
}

void ttp_listed_drop(struct ttp_trace_decoder *d, struct ttp_listed *listed)
{
    struct ttp_memory *m = &d->memory;
    ttp_memory_give(m, listed->counts, listed->row_count, sizeof *listed->counts);
    ttp_memory_give(m, listed->calls, listed->call_count, sizeof *listed->calls);
    ttp_memory_give(m, listed->nodes, listed->node_count, sizeof *listed->nodes);
    *listed = (struct ttp_listed){0};
}
