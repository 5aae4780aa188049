/* Values: what events carry, kept in the order of arrival until their partition is encoded. */
#include "format/base/fail.h"
#include "writer/writer_internal.h"

static ttape_status attach_one(ttape_writer *w, struct ttp_pending *p, const ttape_value *value,
                               ttape_error *err)
{
    if (value->type > TTAPE_VALUE_NULL || value->bytes.size_bytes > TTAPE_VALUE_MAX_BYTES)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-VAL-05", TTAPE_ERROR_NO_OFFSET,
                        "value of a bad type or size");
    struct ttp_value *v = ttp_push(&w->allocator, &p->values, sizeof *v, err);
    if (v == NULL)
        return TTAPE_E_MEMORY;
    *v = (struct ttp_value){.type = (uint8_t)value->type, .number = value->number};
    if (value->type == TTAPE_VALUE_NULL)
        v->number = 0;
    if (value->type != TTAPE_VALUE_BYTES && value->type != TTAPE_VALUE_STRING)
        return TTAPE_OK;
    v->number = value->bytes.size_bytes;
    v->bytes_start = (uint32_t)p->value_bytes.count;
    return ttp_push_bytes(&w->allocator, &p->value_bytes, value->bytes.data,
                          value->bytes.size_bytes, err);
}

ttape_status ttp_attach(ttape_writer *w, struct ttp_scope *scope, uint32_t stream,
                        const ttape_value *values, size_t count, ttape_error *err)
{
    struct ttp_pending *p = ttp_writer_pending(w);
    struct ttp_stream_state *s = (struct ttp_stream_state *)scope->stream_states.data + stream;
    if (stream >= scope->stream_count)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "unknown stream");
    if (count > TTAPE_EVENT_MAX_VALUES)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "an event with %zu values: at most %u can be written", count,
                        (unsigned)TTAPE_EVENT_MAX_VALUES);
    if (w->scope != scope || s->epoch != w->epoch || s->valued)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "stream %u has no new event to give values to", stream);
    if (count == 0)
        return TTAPE_OK;
    struct ttp_segment *g = (struct ttp_segment *)p->segments.data + s->segment;
    struct ttp_fact *fact = ttp_push(&w->allocator, &p->valued, sizeof *fact, err);
    if (fact == NULL)
        return TTAPE_E_MEMORY;
    *fact = (struct ttp_fact){s->segment, g->event_count - 1, (int64_t)p->values.count};
    s->valued = true;
    for (size_t i = 0; i < count; i++)
        TTP_TRY(attach_one(w, p, &values[i], err));
    return TTAPE_OK;
}
