/* The public face of the writer: options, state machine, and one door per call. */
#include <string.h>

#include "base/secret.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/base/sized.h"
#include "writer/encode/cbor_encoder.h"
#include "writer/encode/overview_writer.h"
#include "writer/events/metadata_pairs.h"
#include "writer/writer_internal.h"

#define DEFAULT_PARTITION_EVENTS 1000000u
#define DEFAULT_PARTITION_BYTES  (8u * 1024 * 1024)
#define DEFAULT_CHAIN_THRESHOLD  2u
#define DEFAULT_INDEX_PERIOD     64u
#define DEFAULT_MODEL_PERIOD     16u
#define DEFAULT_OVERVIEW_PERIOD  TTP_OVERVIEW_PARTITIONS
#define MODEL_PARTITION_EVENTS                                                                     \
    65536u /* larger partitions learn enough by themselves: decision 0004 */
#define MAX_JOBS      64u
#define FIRST_EVENTS  4096u
#define GROWTH        32u
#define SHARED_GROWTH 2u

ttape_status ttp_writer_check(ttape_writer *w, ttape_error *err)
{
    if (w->failed != TTAPE_OK) {
        if (err != NULL)
            *err = w->failure;
        return w->failed;
    }
    if (w->finished)
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET, "the writer is finished");
    return TTAPE_OK;
}

/* What an inner call returned; its error is in w->failure. Any failure is permanent. */
static ttape_status keep_status(ttape_writer *w, ttape_status status, ttape_error *err)
{
    if (status != TTAPE_OK) {
        w->failed = status;
        if (err != NULL)
            *err = w->failure;
    }
    return status;
}

static ttape_status take_options(ttape_writer *w, const ttape_writer_options *options,
                                 ttape_error *err)
{
    ttape_writer_options *o = &w->options;
    if (options != NULL) {
        if (options->size < sizeof options->size)
            return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                            "options without a size");
        TTP_TRY(ttp_take_sized(o, sizeof *o, options, "writer", err));
        TTP_TRY(ttp_check_reserved(o->reserved, 2, "writer's option", err));
    }
    o->allocator = NULL;
    o->partition_events = o->partition_events == 0 ? DEFAULT_PARTITION_EVENTS : o->partition_events;
    o->partition_bytes = o->partition_bytes == 0 ? DEFAULT_PARTITION_BYTES : o->partition_bytes;
    o->chain_threshold = o->chain_threshold == 0 ? DEFAULT_CHAIN_THRESHOLD : o->chain_threshold;
    o->index_period = o->index_period == 0 ? DEFAULT_INDEX_PERIOD : o->index_period;
    w->overview_share = o->overview_period == 0 ? TTP_OVERVIEW_SHARE : 0;
    o->overview_period = o->overview_period == 0 ? DEFAULT_OVERVIEW_PERIOD : o->overview_period;
    if (o->model_period == 0)
        o->model_period =
            o->partition_events <= MODEL_PARTITION_EVENTS ? DEFAULT_MODEL_PERIOD : UINT32_MAX;
    o->level = o->level == 0 ? TTAPE_LEVEL_DEFAULT : o->level;
    o->jobs = o->jobs > MAX_JOBS ? MAX_JOBS : o->jobs;
    if (o->partition_events > TTP_MAX_PARTITION_EVENTS || o->level < 1 ||
        o->level > TTAPE_LEVEL_MAX ||
        (o->overview_period > TTP_OVERVIEW_PARTITIONS && o->overview_period != UINT64_MAX) ||
        o->call_numbers > 1 ||
        (o->resolution_ns > INT64_MAX && o->resolution_ns != TTAPE_TIME_NONE))
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "an option is out of range");
    w->timed = o->resolution_ns != TTAPE_TIME_NONE;
    w->resolution = o->resolution_ns == 0 || !w->timed ? 1 : o->resolution_ns;
    if (!w->timed)
        o->origin_ns = 0;
    w->head_resolution_ns = w->resolution;
    w->own_times_share = TTP_OWN_TIMES_SHARE;
    w->instants_share = TTP_INSTANTS_SHARE;
    w->instant_events = TTP_INSTANT_EVENTS;
    w->merged_instants = TTP_MERGED_INSTANTS;
    w->head_origin_ns = o->origin_ns;
    w->has_trace_id = o->has_trace_id;
    memcpy(w->trace_id, o->trace_id, TTP_TRACE_ID_BYTES);
    w->next_index_at = o->index_period;
    return TTAPE_OK;
}

/* Room for 32 times as many events: short traces and writers that only copy stay small, and of
 * long ones little is moved. Where many writers are filled at a time, for twice as many: huge pages
 * of which little is used would be most of what they have. */
ttape_status ttp_pending_grow(ttape_writer *w, struct ttp_pending *p, ttape_error *err)
{
    const ttape_allocator *a = &w->allocator;
    uint32_t most = w->options.partition_events;
    uint32_t factor = w->shares_memory ? SHARED_GROWTH : GROWTH;
    uint32_t room = p->event_room == 0 ? FIRST_EVENTS : p->event_room * factor;
    if (room > most || p->event_room > most / factor)
        room = most;
    size_t bytes = room * sizeof(uint32_t), before = p->event_room * sizeof(uint32_t);
    uint32_t *codes = a->allocate(a->context, bytes), *delta = a->allocate(a->context, bytes);
    if (codes == NULL || delta == NULL) {
        if (codes != NULL)
            a->release(a->context, codes, bytes);
        if (delta != NULL)
            a->release(a->context, delta, bytes);
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    }
    ttp_will_fill(a, codes, bytes);
    ttp_will_fill(a, delta, bytes);
    if (before != 0) {
        memcpy(codes, p->codes, before);
        memcpy(delta, p->delta, before);
        a->release(a->context, p->codes, before);
        a->release(a->context, p->delta, before);
    }
    p->codes = codes;
    p->delta = delta;
    p->event_room = room;
    return TTAPE_OK;
}

static ttape_status allocate_jobs(ttape_writer *w, ttape_error *err)
{
    w->jobs = w->allocator.allocate(w->allocator.context, w->job_count * sizeof *w->jobs);
    if (w->jobs == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    memset(w->jobs, 0, w->job_count * sizeof *w->jobs);
    for (uint32_t i = 0; i < w->job_count; i++) {
        struct ttp_pending *p = &w->jobs[i].pending;
        p->first_tick = INT64_MAX;
        p->last_tick = INT64_MIN;
    }
    return TTAPE_OK;
}

static ttape_status set_up(ttape_writer *w, const ttape_writer_options *options, ttape_error *err)
{
    TTP_TRY(take_options(w, options, err));
    if (w->options.jobs > 1)
        TTP_TRY(ttp_workers_start(w, w->options.jobs, err));
    w->job_count = w->workers == NULL ? 1 : w->options.jobs + 1;
    TTP_TRY(allocate_jobs(w, err));
    w->epoch = 1;
    w->hash_key = ttp_secret_key();
    return ttp_scope_add(w, &w->scope, err);
}

ttape_status ttape_writer_open(ttape_writer **out, const ttape_sink *sink,
                               const ttape_writer_options *options, ttape_error *err)
{
    *out = NULL;
    if (sink == NULL || sink->append == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "a writer needs a sink");
    ttape_allocator allocator =
        ttp_allocator_or_default(options != NULL ? options->allocator : NULL);
    ttape_writer *w = allocator.allocate(allocator.context, sizeof *w);
    if (w == NULL)
        return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
    memset(w, 0, sizeof *w);
    w->allocator = allocator;
    w->sink = *sink;
    ttape_status status = set_up(w, options, err);
    if (status != TTAPE_OK) {
        ttape_writer_close(w);
        return status;
    }
    *out = w;
    return TTAPE_OK;
}

ttape_status ttape_writer_open_path(ttape_writer **out, const char *path, bool replace,
                                    const ttape_writer_options *options, ttape_error *err)
{
    ttape_file_sink *file;
    *out = NULL;
    TTP_TRY(ttape_file_sink_open(&file, path, replace, err));
    ttape_sink sink = ttape_file_sink_sink(file);
    ttape_status status = ttape_writer_open(out, &sink, options, err);
    if (status == TTAPE_OK)
        (*out)->file = file;
    else
        ttape_file_sink_close(file);
    return status;
}

void ttape_writer_close(ttape_writer *w)
{
    if (w == NULL)
        return;
    ttp_workers_stop(w);
    for (uint32_t i = 0; w->jobs != NULL && i < w->job_count; i++)
        ttp_job_free(w, &w->jobs[i]);
    if (w->jobs != NULL)
        w->allocator.release(w->allocator.context, w->jobs, w->job_count * sizeof *w->jobs);
    for (size_t i = 0; i < w->scopes.count; i++)
        ttp_scope_free(w, ((struct ttp_scope **)w->scopes.data)[i]);
    ttp_grown_free(&w->allocator, &w->scopes);
    ttp_grown_free(&w->allocator, &w->index);
    ttp_grown_free(&w->allocator, &w->scratch);
    ttp_model_free(w);
    ttape_file_sink_close(w->file);
    ttape_allocator allocator = w->allocator;
    allocator.release(allocator.context, w, sizeof *w);
}

static struct ttp_scope *own_scope(ttape_writer *w) { return *(struct ttp_scope **)w->scopes.data; }

static ttape_status add_pair(ttape_writer *w, const char *key, const uint8_t *head,
                             size_t head_bytes, ttape_string text, ttape_error *err)
{
    if (key == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "F-MET-01", TTAPE_ERROR_NO_OFFSET,
                        "metadata without a key");
    return ttp_metadata_set(w, own_scope(w), (ttape_string){key, strlen(key)}, head, head_bytes,
                            text, err);
}

ttape_status ttape_writer_set_text(ttape_writer *w, const char *key, ttape_string value,
                                   ttape_error *err)
{
    uint8_t head[TTP_CBOR_HEAD_BYTES];
    size_t head_bytes = ttp_cbor_text(value.size_bytes, head);
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, add_pair(w, key, head, head_bytes, value, &w->failure), err);
}

ttape_status ttape_writer_set_number(ttape_writer *w, const char *key, uint64_t value,
                                     ttape_error *err)
{
    uint8_t head[TTP_CBOR_HEAD_BYTES];
    size_t head_bytes = ttp_cbor_number(value, head);
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, add_pair(w, key, head, head_bytes, (ttape_string){NULL, 0}, &w->failure),
                       err);
}

ttape_status ttape_writer_add_module(ttape_writer *w, const ttape_module *module, uint32_t *id,
                                     ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_scope_add_module(w, own_scope(w), module, id, &w->failure), err);
}

ttape_status ttape_writer_add_process(ttape_writer *w, const ttape_process *process, uint32_t *id,
                                      ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_scope_add_process(w, own_scope(w), process, id, &w->failure), err);
}

ttape_status ttape_writer_add_stream(ttape_writer *w, const ttape_stream *stream, uint32_t *id,
                                     ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_scope_add_stream(w, own_scope(w), stream, id, &w->failure), err);
}

ttape_status ttape_writer_add_site(ttape_writer *w, const ttape_site *site, uint32_t *id,
                                   ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_scope_add_site(w, own_scope(w), site, id, &w->failure), err);
}

ttape_status ttape_writer_add_path(ttape_writer *w, const ttape_path *path, uint32_t *id,
                                   ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_scope_add_path(w, own_scope(w), path, id, &w->failure), err);
}

ttape_status ttape_writer_name_values(ttape_writer *w, uint32_t site,
                                      const ttape_site_values *values, ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_scope_name_values(w, own_scope(w), site, values, &w->failure), err);
}

ttape_status ttape_writer_append(ttape_writer *w, uint32_t stream, const ttape_event *events,
                                 size_t count, ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_append(w, own_scope(w), stream, events, count, &w->failure), err);
}

ttape_status ttape_writer_append_calls(ttape_writer *w, uint32_t stream,
                                       const ttape_enter_exit *calls, size_t count,
                                       ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    if (count == 0 && calls == NULL) /* whose shape could not be told */
        return TTAPE_OK;
    return keep_status(w,
                       ttp_append_from(w, own_scope(w), stream, (struct ttp_events){NULL, calls},
                                       count, &w->failure),
                       err);
}

ttape_status ttape_writer_attach(ttape_writer *w, uint32_t stream, const ttape_value *values,
                                 size_t count, ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_attach(w, own_scope(w), stream, values, count, &w->failure), err);
}

ttape_status ttape_writer_add_off(ttape_writer *w, uint32_t stream, const ttape_off_span *spans,
                                  size_t count, ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_add_off(w, own_scope(w), stream, spans, count, &w->failure), err);
}

ttape_status ttape_writer_resume(ttape_writer *w, uint32_t stream, const ttape_edge *edge,
                                 ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_resume(w, own_scope(w), stream, edge, &w->failure), err);
}

ttape_status ttape_writer_seal(ttape_writer *w, ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, ttp_seal(w, &w->failure), err);
}

ttape_status ttape_writer_set_level(ttape_writer *w, int32_t level, ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    if (level < TTAPE_LEVEL_FAST || level > TTAPE_LEVEL_MAX)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no level '%d'",
                        (int)level);
    w->options.level = level;
    return TTAPE_OK;
}

static ttape_status flush_partition(ttape_writer *w, bool sync, ttape_error *err)
{
    TTP_TRY(ttp_seal(w, err));
    TTP_TRY(ttp_drain(w, err));
    return sync && w->sink.sync != NULL ? w->sink.sync(w->sink.context, err) : TTAPE_OK;
}

ttape_status ttape_writer_flush(ttape_writer *w, bool sync, ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, flush_partition(w, sync, &w->failure), err);
}

static ttape_status finish_trace(ttape_writer *w, ttape_error *err)
{
    TTP_TRY(flush_partition(w, false, err));
    for (size_t i = 0; i < w->scopes.count; i++)
        TTP_TRY(ttp_group_end(w, ((struct ttp_scope **)w->scopes.data)[i], err));
    TTP_TRY(ttp_emit_end(w, err));
    if (w->file != NULL)
        TTP_TRY(ttape_file_sink_commit(w->file, err));
    w->finished = true;
    return TTAPE_OK;
}

ttape_status ttape_writer_finish(ttape_writer *w, ttape_error *err)
{
    TTP_TRY(ttp_writer_check(w, err));
    return keep_status(w, finish_trace(w, &w->failure), err);
}

void ttape_writer_get_progress(const ttape_writer *w, ttape_writer_progress *progress)
{
    *progress = (ttape_writer_progress){.event_count = w->event_count +
                                                       w->jobs[w->next_job].pending.event_count,
                                        .partition_count = w->partition_count,
                                        .sealed_count = w->sealed_count,
                                        .raw_count = w->raw_count,
                                        .written_bytes = w->offset};
}
