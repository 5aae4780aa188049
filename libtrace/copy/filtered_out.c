#include "libtrace/copy/filtered_out.h"

#include "format/base/fail.h"
#include "reader/decoder_pool.h"
#include "reader/partition/partition_decoder.h"
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

/* Whether switches are known from the stream's first event on. */
static bool knows_switches(ttape_reader *r, uint32_t stream)
{
    struct ttp_lease lease = ttp_lease_of(r);
    struct ttp_loaded *loaded;
    bool is_known = false;
    if (r->stream_first[stream] == r->stream_first[stream + 1] ||
        ttp_lease_begin(&lease, NULL) != TTAPE_OK)
        return false;
    const struct ttp_segment_entry *seg = &r->segments[r->stream_segments[r->stream_first[stream]]];
    if (ttp_loaded_get(lease.decoder, seg->partition, TTP_STAGE_ORDER, &loaded, NULL) == TTAPE_OK)
        is_known = loaded->switches.segment_count != 0 &&
                   loaded->switches.is_known[ttp_segment_number(r, seg)] != 0;
    ttp_lease_end(&lease);
    return is_known;
}

/* Asked for, because scopes keep their order and number only so. */
static ttape_status keep_name(void *context, uint32_t number, ttape_site *site, ttape_error *err)
{
    (void)context, (void)number, (void)site, (void)err;
    return TTAPE_OK;
}

ttape_status ttp_filtered_open(struct ttp_filtered_out *out, ttape_writer *writer,
                               ttape_reader *reader, struct ttp_region *region, ttape_error *err)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    *out = (struct ttp_filtered_out){
        .writer = writer, .reader = reader, .stream_count = info.stream_count};
    out->streams = ttp_region_take(region, info.stream_count, sizeof *out->streams);
    if (out->streams == NULL) {
        out->stream_count = 0;
        return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                        "threads of a filtered trace take more memory than the limit");
    }
    for (uint32_t i = 0; i < info.stream_count; i++)
        out->streams[i].is_known = knows_switches(reader, i);
    return ttape_copier_open_renamed(&out->copier, writer, reader, keep_name, NULL, err);
}

void ttp_filtered_close(struct ttp_filtered_out *out)
{
    for (uint32_t i = 0; i < out->stream_count; i++)
        ttp_grown_free(&out->writer->allocator, &out->streams[i].frames);
    ttape_copier_close(out->copier);
    *out = (struct ttp_filtered_out){0};
}

void ttp_filtered_pass(struct ttp_filtered_out *out, const ttape_call_step *step)
{
    struct ttp_filtered_stream *s = &out->streams[step->stream];
    s->preempted_ns += (uint64_t)step->preempted_ns;
    s->blocked_ns += (uint64_t)step->blocked_ns;
    s->unknown_ns += (uint64_t)step->unknown_ns;
    s->elapsed_ns += step->elapsed_ns > 0 ? (uint64_t)step->elapsed_ns : 0;
}

ttape_status ttp_filtered_found(struct ttp_filtered_out *out, const ttape_call *call,
                                ttape_error *err)
{
    uint32_t scope;
    ttape_open_frame *frame =
        ttp_push(&out->writer->allocator, &out->streams[call->stream].frames, sizeof *frame, err);
    if (frame == NULL)
        return TTAPE_E_MEMORY;
    *frame = (ttape_open_frame){.kind = call->kind,
                                .site = call->site == TTAPE_NONE
                                            ? TTAPE_NONE
                                            : ttp_local_site(out->reader, call->site, &scope),
                                .argument = call->argument,
                                .stack = call->stack,
                                .enter_time_ns = call->enter_ns};
    return TTAPE_OK;
}

void ttp_filtered_start(struct ttp_filtered_out *out, const ttape_call_step *step)
{
    struct ttp_filtered_stream *s = &out->streams[step->stream];
    s->first_number = step->number;
    s->start_ns = step->time_ns;
    s->start_stack = step->stack;
}

/* What is known of the time since the stream's last event: how much of it, not when. */
static ttape_status put_off(struct ttp_filtered_out *out, struct ttp_scope *scope, uint32_t local,
                            struct ttp_filtered_stream *s, ttape_error *err)
{
    const ttape_off_span known[] = {{.length_ns = s->preempted_ns, .kind = TTAPE_OFF_PREEMPTED},
                                    {.length_ns = s->blocked_ns, .kind = TTAPE_OFF_BLOCKED},
                                    {.length_ns = s->unknown_ns, .kind = TTAPE_OFF_BLOCKED_NEAR}};
    ttape_off_span spans[3] = {{.kind = TTAPE_OFF_UNKNOWN}};
    uint32_t count = s->unknown_ns != 0 && s->unknown_ns >= s->elapsed_ns;
    bool is_unknown = count > 0;
    int64_t start_ns = 0;
    for (int i = 0; !is_unknown && i < 3; i++) {
        if (known[i].length_ns == 0)
            continue;
        spans[count] = known[i];
        spans[count++].start_ns = start_ns;
        start_ns += (int64_t)known[i].length_ns;
    }
    s->elapsed_ns = s->preempted_ns = s->blocked_ns = s->unknown_ns = 0;
    if (count == 0 && s->event_count > 0)
        return TTAPE_OK;
    return ttp_add_off(out->writer, scope, local, spans, s->event_count > 0 ? count : 0, err);
}

/* A stream that the trace has from later on, or with open frames, begins so. */
static ttape_status begin_stream(struct ttp_filtered_out *out, struct ttp_scope *scope,
                                 uint32_t local, const struct ttp_filtered_stream *s,
                                 ttape_error *err)
{
    const ttape_edge edge = {.event_number = s->first_number,
                             .time_ns = s->start_ns,
                             .stack = s->start_stack,
                             .frame_count = (uint32_t)s->frames.count,
                             .frames = s->frames.data};
    if (s->first_number == 0 && s->frames.count == 0 && s->start_stack == 0)
        return TTAPE_OK;
    return ttp_resume(out->writer, scope, local, &edge, err);
}

ttape_status ttp_filtered_put(struct ttp_filtered_out *out, uint32_t stream,
                              const ttape_event *event, const ttape_value *values, uint32_t count,
                              ttape_error *err)
{
    struct ttp_filtered_stream *s = &out->streams[stream];
    ttape_event copy = *event;
    uint32_t of, local = ttp_local_stream(out->reader, stream, &of);
    struct ttp_scope *scope = ttp_copier_scope(out->copier, of);
    if (copy.site != TTAPE_NONE)
        copy.site = ttp_local_site(out->reader, copy.site, &of);
    copy.depth = TTAPE_DEPTH_AUTO;
    if (s->event_count == 0)
        TTP_TRY(begin_stream(out, scope, local, s, err));
    if (s->is_known)
        TTP_TRY(put_off(out, scope, local, s, err));
    s->event_count++;
    TTP_TRY(ttp_append(out->writer, scope, local, &copy, 1, err));
    return count == 0 ? TTAPE_OK : ttp_attach(out->writer, scope, local, values, count, err);
}
