/* The writer's side of copying: payload bytes pass through untouched, only chunk headers and the
 * index are new. */
#include "writer/events/copy_writer.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "writer/encode/cbor_encoder.h"
#include "writer/encode/overview_writer.h"
#include "writer/events/metadata_pairs.h"

ttape_status ttp_writer_set_clock(ttape_writer *w, uint64_t resolution_ns, uint64_t origin_ns,
                                  ttape_error *err)
{
    bool timed = resolution_ns != 0;
    if (timed == w->timed &&
        (!timed || (resolution_ns == w->head_resolution_ns && origin_ns == w->head_origin_ns)))
        return TTAPE_OK;
    TTP_TRY(ttp_seal(w, err));
    TTP_TRY(ttp_drain(w, err)); /* workers read the clock */
    for (size_t i = 0; i < w->scopes.count; i++)
        TTP_TRY(ttp_group_end(w, ((struct ttp_scope **)w->scopes.data)[i], err));
    w->timed = timed;
    w->head_resolution_ns = timed ? resolution_ns : 1;
    w->head_origin_ns = timed ? origin_ns : 0;
    ttp_writer_take_ticks(w, false);
    return TTAPE_OK;
}

void ttp_writer_take_ticks(ttape_writer *w, bool are_ticks)
{
    w->resolution = are_ticks ? 1 : w->head_resolution_ns;
    w->options.origin_ns = are_ticks ? 0 : w->head_origin_ns;
}

ttape_status ttp_writer_number_calls(ttape_writer *w, ttape_error *err)
{
    if (w->options.call_numbers != 0)
        return TTAPE_OK;
    TTP_TRY(ttp_seal(w, err));
    TTP_TRY(ttp_drain(w, err)); /* workers read the options */
    w->options.call_numbers = 1;
    return TTAPE_OK;
}

ttape_status ttp_writer_new_scope(ttape_writer *w, const uint8_t trace_id[TTP_TRACE_ID_BYTES],
                                  struct ttp_scope **out, ttape_error *err)
{
    TTP_TRY(ttp_scope_add(w, out, err));
    memcpy((*out)->trace_id, trace_id, TTP_TRACE_ID_BYTES);
    (*out)->has_trace_id = true;
    return TTAPE_OK;
}

ttape_status ttp_writer_scope_metadata(ttape_writer *w, struct ttp_scope *scope, ttape_string key,
                                       bool is_text, ttape_string text, uint64_t number,
                                       ttape_error *err)
{
    uint8_t head[TTP_CBOR_HEAD_BYTES];
    size_t head_bytes =
        is_text ? ttp_cbor_text(text.size_bytes, head) : ttp_cbor_number(number, head);
    return ttp_metadata_set(w, scope, key, head, head_bytes,
                            is_text ? text : (ttape_string){NULL, 0}, err);
}

/* Everything before goes out first: chunks of a file stand in the order in which they were asked
 * for. */
ttape_status ttp_writer_introduce(ttape_writer *w, struct ttp_scope *scope, ttape_error *err)
{
    TTP_TRY(ttp_seal(w, err));
    TTP_TRY(ttp_drain(w, err));
    if (scope->number == TTAPE_NONE || ttp_scope_is_fresh(scope))
        TTP_TRY(ttp_emit_definitions(w, scope, err));
    return TTAPE_OK;
}

static ttape_status index_stored(ttape_writer *w, struct ttp_scope *scope,
                                 struct ttp_index_entry *entry,
                                 const struct ttp_index_segment *segments, ttape_error *err)
{
    struct ttp_stream_state *streams = scope->stream_states.data;
    for (uint32_t i = 0; i < entry->segment_count; i++)
        if (segments[i].stream >= scope->stream_count)
            return ttp_fail(err, TTAPE_E_CORRUPT, "F-SEG-02", TTAPE_ERROR_NO_OFFSET,
                            "a partition names stream %u, the trace has %u", segments[i].stream,
                            scope->stream_count);
    TTP_TRY(ttp_emit_partition_entry(w, scope, entry, segments, err));
    for (uint32_t i = 0; i < entry->segment_count; i++) {
        struct ttp_stream_state *s = &streams[segments[i].stream];
        s->next_event = segments[i].first_event + segments[i].event_count;
        s->stale = true;
    }
    w->partition_count++;
    w->event_count += entry->event_count;
    return ttp_emit_early_index(w, err);
}

ttape_status ttp_writer_stored_partition(ttape_writer *w, struct ttp_scope *scope,
                                         const struct ttp_chunk *chunk, const void *payload,
                                         struct ttp_index_entry *entry,
                                         const struct ttp_index_segment *segments, ttape_error *err)
{
    TTP_TRY(ttp_writer_introduce(w, scope, err));
    TTP_TRY(ttp_group_end(w, scope, err));
    struct ttp_chunk copy = *chunk;
    copy.scope = scope->number;
    TTP_TRY(ttp_emit_chunk(w, &copy, payload, err));
    return index_stored(w, scope, entry, segments, err);
}

ttape_status ttp_writer_stored_overview(ttape_writer *w, struct ttp_scope *scope,
                                        const void *content, size_t size_bytes, ttape_error *err)
{
    if (w->options.overview_period == UINT64_MAX)
        return TTAPE_OK;
    struct ttp_chunk chunk = {.kind = TTP_CHUNK_OVERVIEW,
                              .scope = scope->number,
                              .stored_bytes = size_bytes,
                              .content_bytes = size_bytes};
    return ttp_emit_chunk(w, &chunk, content, err);
}

ttape_status ttp_writer_stored_model(ttape_writer *w, struct ttp_scope *scope,
                                     const struct ttp_chunk *chunk, const void *payload,
                                     ttape_error *err)
{
    TTP_TRY(ttp_writer_introduce(w, scope, err));
    struct ttp_chunk copy = *chunk;
    copy.scope = scope->number;
    return ttp_emit_chunk(w, &copy, payload, err);
}

void ttp_writer_take_over(ttape_writer *w, struct ttp_scope *scope)
{
    struct ttp_scope **scopes = w->scopes.data;
    for (size_t i = 1; i < w->scopes.count; i++)
        if (scopes[i] == scope) {
            scopes[i] = scopes[0];
            scopes[0] = scope;
        }
}
