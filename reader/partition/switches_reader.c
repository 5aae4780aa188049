/* When threads did not run, for who reads a partition without its events. */
#include "format/base/fail.h"
#include "reader/decoder_pool.h"
#include "reader/partition/partition_decoder.h"

/* A kind that is not known says that nothing is (F-SWI-06). */
static ttape_off_span show(const struct ttp_off_span *span, uint64_t first_event)
{
    return (ttape_off_span){.event = first_event + span->event,
                            .start_ns = span->start_ns,
                            .length_ns = span->length_ns,
                            .kind = span->kind <= TTP_SPAN_UNKNOWN ? (ttape_off_kind)span->kind
                                                                   : TTAPE_OFF_UNKNOWN};
}

static ttape_status show_spans(const struct ttp_loaded *p, uint32_t segment, uint64_t first_event,
                               struct ttp_thread_results *out, uint32_t *count, ttape_error *err)
{
    const struct ttp_switches *s = &p->switches;
    const struct ttp_off_span *spans = &s->spans[s->span_start[segment]];
    *count = s->span_start[segment + 1] - s->span_start[segment];
    TTP_TRY(ttp_memory_reserve(&out->memory, &out->spans, &out->span_capacity, *count,
                               sizeof *out->spans, err));
    for (uint32_t i = 0; i < *count; i++)
        out->spans[i] = show(&spans[i], first_event - p->segment_start[segment]);
    return TTAPE_OK;
}

static ttape_status get_off(struct ttp_trace_decoder *d, uint32_t partition, uint32_t segment,
                            struct ttp_thread_results *out, uint32_t *count, bool *is_known,
                            ttape_error *err)
{
    struct ttp_loaded *p;
    TTP_TRY(ttp_loaded_get(d, partition, TTP_STAGE_LIGHT, &p, err));
    if (segment >= p->segments.segment_count)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET,
                        "partition '%u' has no segment '%u'", partition, segment);
    uint32_t number = d->reader->partitions[partition].first_segment + segment;
    bool was_read = p->switches.segment_count != 0;
    ttape_status status = ttp_loaded_read_switches(d, p, err);
    *is_known =
        status == TTAPE_OK && p->switches.segment_count != 0 && p->switches.is_known[segment] != 0;
    if (*is_known)
        status = show_spans(p, segment, d->reader->segments[number].first_event, out, count, err);
    if (!was_read)
        ttp_loaded_drop_switches(&d->memory, p);
    return status;
}

ttape_status ttape_reader_get_off(ttape_reader *r, uint32_t partition, uint32_t segment,
                                  const ttape_off_span **spans, uint32_t *span_count,
                                  bool *is_known, ttape_error *err)
{
    struct ttp_thread_results *results;
    struct ttp_trace_decoder *d = NULL;
    uint32_t count = 0;
    *spans = NULL;
    *span_count = 0;
    *is_known = false;
    if (partition >= r->partition_count)
        return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no partition '%u'",
                        partition);
    TTP_TRY(ttp_thread_results(r, &results, err));
    TTP_TRY(ttp_decoder_take(&r->pool, &d, err));
    ttape_status status = get_off(d, partition, segment, results, &count, is_known, err);
    ttp_decoder_give(d);
    if (status != TTAPE_OK) {
        *is_known = false;
        return status;
    }
    *spans = results->spans;
    *span_count = count;
    return TTAPE_OK;
}
