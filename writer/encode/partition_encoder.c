/* Encoding: a sealed partition becomes the payload of its chunk. Depends on the job alone, so that
 * any thread may do it and the bytes never show which one did.
 *
 *   arrange    events by segment, segments by stream, symbols by first appearance
 *              (partition_arrange.c)
 *   sections   light ones, order, times, values, depths: each straight into the payload
 *   finish     head and directory in front */
#include <string.h>

#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/chain/chain_encode.h"
#include "format/order/literal.h"
#include "format/order/raw_order.h"
#include "format/times/raw_times.h"
#include "format/times/time_mix.h"
#include "format/times/time_static.h"
#include "writer/encode/ends_encoder.h"
#include "writer/encode/instants_encoder.h"
#include "writer/encode/partition_arrange.h"
#include "writer/encode/self_check.h"
#include "writer/encode/zstd_encoder.h"

#define MAX_WRITTEN_SECTIONS 14u
#define HEAD_ROOM            (TTP_HEAD_BYTES + MAX_WRITTEN_SECTIONS * TTP_SECTION_ENTRY_BYTES)
#define HIGHEST_ZSTD_LEVEL   19
#define LITERAL_ZSTD_LEVEL   6 /* of order; times are as at level 1 */
#define RAW_ZSTD_LEVEL       3
#define MIX_LEVEL            9 /* from this level on times are mixed */
#define VALUES_ZSTD_LEVEL    6
#define FAST_ZSTD_LEVEL      1 /* of everything, where TTAPE_LEVEL_FAST was asked for */
#define LIGHT_ITEM_BYTES     48u
#define ORDER_SLACK          4096u /* small partitions may be a little larger than their raw form */

enum category {
    CATEGORY_ORDER,
    CATEGORY_TIMES,
    CATEGORY_VALUES,
    CATEGORY_SUMMARIES,
    CATEGORY_NONE
};

/* Level 1: raw forms. The literal form has no levels. */
static bool is_fast(const struct ttp_encoding *e)
{
    return !e->w->options.literal && e->job->level <= TTAPE_LEVEL_FAST;
}

/* How hard zstd tries where it is no fallback: values, depths. */
static int side_zstd_level(const struct ttp_encoding *e, bool may_be_highest)
{
    bool highest = e->job->level >= MIX_LEVEL && !e->w->options.literal;
    return is_fast(e)                  ? FAST_ZSTD_LEVEL
           : highest && may_be_highest ? HIGHEST_ZSTD_LEVEL
                                       : VALUES_ZSTD_LEVEL;
}

/* ---- sections ---- */

/* Nothing of it is kept: the old one goes before there is a larger one. */
static ttape_status workspace_room(struct ttp_encoding *e, size_t bytes)
{
    struct ttp_growing *workspace = &e->job->workspace;
    if (workspace->capacity_bytes >= bytes)
        return TTAPE_OK;
    ttp_grown_free(&e->w->allocator, workspace);
    TTP_TRY(ttp_encoding_room(e, workspace, bytes));
    ttp_will_fill(&e->w->allocator, workspace->data, workspace->capacity_bytes);
    return TTAPE_OK;
}

/* Where the next section's bytes go, with room for `bytes`. */
static ttape_status section_room(struct ttp_encoding *e, size_t bytes, uint8_t **at)
{
    struct ttp_growing *payload = &e->job->payload;
    TTP_TRY(ttp_grow(&e->w->allocator, payload, 1, payload->count + bytes, e->err));
    *at = (uint8_t *)payload->data + payload->count;
    return TTAPE_OK;
}

/* Enters `size` bytes that stand at the payload's end into the directory. */
static void add_section(struct ttp_encoding *e, uint16_t kind, enum category category, size_t size,
                        size_t content_bytes)
{
    struct ttp_job *job = e->job;
    struct ttp_section *section = &job->head.sections[job->head.section_count++];
    *section = (struct ttp_section){.kind = kind,
                                    .flags = size != content_bytes ? TTP_FLAG_ZSTD : 0,
                                    .stored_bytes = (uint32_t)size,
                                    .content_bytes = (uint32_t)content_bytes};
    section->hash = ttp_checksum((uint8_t *)job->payload.data + job->payload.count, size);
    job->payload.count += size;
    job->category_bytes[category] += size;
}

/* A section of `size` bytes that stand in the workspace: compressed where that pays. */
static ttape_status add_compressed(struct ttp_encoding *e, uint16_t kind, enum category category,
                                   const void *content, size_t size, int level)
{
    size_t room = ttp_zstd_bound(size), packed;
    uint8_t *at;
    TTP_TRY(section_room(e, room, &at));
    TTP_TRY(ttp_zstd_encode(content, size, level, at, room, &packed, e->err));
    if (packed == 0 && size != 0)
        memcpy(at, content, size);
    add_section(e, kind, category, packed != 0 ? packed : size, size);
    return TTAPE_OK;
}

/* Compresses the `size` content bytes that stand at the payload's end, in place, where that pays.
 */
static ttape_status add_packed(struct ttp_encoding *e, uint16_t kind, enum category category,
                               size_t size, int level)
{
    struct ttp_job *job = e->job;
    TTP_TRY(ttp_encoding_room(e, &job->workspace, ttp_zstd_bound(size)));
    uint8_t *at = (uint8_t *)job->payload.data + job->payload.count;
    size_t packed;
    TTP_TRY(ttp_zstd_encode(at, size, level, job->workspace.data, job->workspace.capacity_bytes,
                            &packed, e->err));
    if (packed != 0)
        memcpy(at, job->workspace.data, packed);
    add_section(e, kind, category, packed != 0 ? packed : size, size);
    return TTAPE_OK;
}

static size_t write_light(const struct ttp_encoding *e, uint16_t kind, uint8_t *at, size_t bytes)
{
    const struct ttp_job *job = e->job;
    struct ttp_segments segments = ttp_job_segments(job);
    switch (kind) {
    case TTP_SECTION_SEGMENTS: return ttp_segments_write(&segments, at, bytes);
    case TTP_SECTION_BASES: return ttp_bases_write(&segments, job->head.first_tick, at, bytes);
    case TTP_SECTION_EDGES: return ttp_edges_write(&segments, e->w->timed, at, bytes);
    default:
        return ttp_summary_write(job->pending.measures.data, (uint32_t)job->pending.measures.count,
                                 e->w->timed, at, bytes);
    }
}

/* Light sections are written into a likely size and, where that was too small, into twice of it:
 * the bound that always suffices is a hundred times what they take. */
static ttape_status add_light_section(struct ttp_encoding *e, uint16_t kind, enum category category)
{
    const struct ttp_job *job = e->job;
    size_t items = job->head.segment_count + (size_t)job->head.start_frame_count +
                   job->head.end_frame_count + job->pending.measures.count;
    for (size_t bytes = 1024 + items * LIGHT_ITEM_BYTES;; bytes *= 2) {
        uint8_t *at;
        TTP_TRY(section_room(e, bytes, &at));
        size_t size = write_light(e, kind, at, bytes);
        if (size == 0)
            continue;
        add_section(e, kind, category, size, size);
        return TTAPE_OK;
    }
}

static ttape_status add_light(struct ttp_encoding *e)
{
    TTP_TRY(add_light_section(e, TTP_SECTION_SEGMENTS, CATEGORY_ORDER));
    if (e->w->timed)
        TTP_TRY(add_light_section(e, TTP_SECTION_BASES, CATEGORY_TIMES));
    TTP_TRY(add_light_section(e, TTP_SECTION_EDGES, CATEGORY_SUMMARIES));
    TTP_TRY(add_light_section(e, TTP_SECTION_SUMMARY, CATEGORY_SUMMARIES));
    e->job->light_bytes = (uint32_t)e->job->payload.count;
    return TTAPE_OK;
}

static ttape_status add_raw_order(struct ttp_encoding *e, const struct ttp_order *order)
{
    struct ttp_growing *workspace = &e->job->workspace;
    size_t size, bound = ttp_raw_order_bound(order->event_count, order->symbol_count);
    TTP_TRY(workspace_room(e, bound));
    TTP_TRY(ttp_raw_order_encode(order, workspace->data, bound, &size, e->err));
    return add_compressed(e, TTP_SECTION_ORDER_RAW, CATEGORY_ORDER, workspace->data, size,
                          is_fast(e) ? FAST_ZSTD_LEVEL : RAW_ZSTD_LEVEL);
}

/* Of the literal form, two sections from `start` on, and the raw one behind them the smaller. */
static void keep_smaller(struct ttp_job *job, size_t start, size_t raw_start)
{
    struct ttp_section *raw = &job->head.sections[job->head.section_count - 1];
    size_t literal_bytes = raw_start - start, raw_bytes = job->payload.count - raw_start;
    uint8_t *at = (uint8_t *)job->payload.data + start;
    job->is_raw = raw_bytes < literal_bytes;
    size_t gone = job->is_raw ? literal_bytes : raw_bytes;
    if (job->is_raw) {
        memmove(at, at + literal_bytes, raw_bytes);
        raw[-2] = raw[0];
    }
    job->head.section_count -= job->is_raw ? 2 : 1;
    job->payload.count -= gone;
    job->category_bytes[CATEGORY_ORDER] -= gone;
}

static ttape_status add_literal_order(struct ttp_encoding *e, const struct ttp_order *order)
{
    struct ttp_job *job = e->job;
    struct ttp_literal_options options = {.min_count = e->w->options.chain_threshold};
    size_t need = ttp_literal_encode_workspace(order->event_count, order->symbol_count);
    size_t head = ttp_literal_header_bound(order->event_count, order->symbol_count);
    size_t bound = ttp_literal_data_bound(order->event_count), start = job->payload.count;
    TTP_TRY(workspace_room(e, need + head + bound));
    uint8_t *at = (uint8_t *)job->workspace.data + need;
    struct ttp_buffer header = {at, head, 0}, data = {at + head, bound, 0};
    ttape_status status = ttp_literal_encode(
        order, &options, (struct ttp_workspace){at - need, need}, &header, &data, e->err);
    job->is_raw = status == TTAPE_E_LIMIT;
    if (job->is_raw)
        return add_raw_order(e, order);
    TTP_TRY(status);
    TTP_TRY(add_compressed(e, TTP_SECTION_LITERAL_HEADER, CATEGORY_ORDER, header.data, header.size,
                           LITERAL_ZSTD_LEVEL));
    TTP_TRY(add_compressed(e, TTP_SECTION_LITERAL_DATA, CATEGORY_ORDER, data.data, data.size,
                           LITERAL_ZSTD_LEVEL));
    size_t raw_start = job->payload.count;
    if (header.size + data.size > ttp_raw_order_bound(order->event_count, order->symbol_count)) {
        TTP_TRY(add_raw_order(e, order));
        keep_smaller(job, start, raw_start);
    }
    return TTAPE_OK;
}

static ttape_status add_chain_order(struct ttp_encoding *e, const struct ttp_order *order)
{
    struct ttp_job *job = e->job;
    struct ttp_chain_options options = {job->model != NULL ? job->model->snapshot.data : NULL};
    size_t need =
        ttp_chain_encode_workspace(order->event_count, order->symbol_count, order->segment_count,
                                   order->open_start[order->segment_count], &options);
    size_t capacity =
        ttp_raw_order_bound(order->event_count, order->symbol_count) / 2 + ORDER_SLACK;
    uint8_t *at;
    TTP_TRY(workspace_room(e, need));
    TTP_TRY(section_room(e, 2 * capacity, &at));
    struct ttp_buffer header = {at, capacity, 0}, data = {at + capacity, capacity, 0};
    ttape_status status =
        ttp_chain_encode(order, &options, (struct ttp_workspace){job->workspace.data, need},
                         &header, &data, NULL, e->err);
    if (status == TTAPE_E_LIMIT)
        return add_raw_order(e, order);
    TTP_TRY(status);
    size_t data_start = job->payload.count + capacity;
    add_section(e, TTP_SECTION_CHAIN_HEADER, CATEGORY_ORDER, header.size, header.size);
    uint8_t *payload = job->payload.data;
    memmove(payload + job->payload.count, payload + data_start, data.size);
    add_section(e, TTP_SECTION_CHAIN_DATA, CATEGORY_ORDER, data.size, data.size);
    return TTAPE_OK;
}

static ttape_status add_raw_times(struct ttp_encoding *e, const struct ttp_times *times, int level)
{
    struct ttp_growing *workspace = &e->job->workspace;
    size_t size, bound = ttp_raw_times_bound(times->event_count);
    TTP_TRY(workspace_room(e, bound));
    TTP_TRY(ttp_raw_times_encode(times, workspace->data, bound, &size, e->err));
    return add_compressed(e, TTP_SECTION_TIMES_RAW, CATEGORY_TIMES, workspace->data, size, level);
}

/* A form of times that may not pay. */
struct times_form {
    uint16_t kind;
    size_t (*workspace)(uint32_t event_count);
    size_t (*bound)(uint32_t event_count);
    ttape_status (*encode)(const struct ttp_times *in, struct ttp_workspace workspace,
                           struct ttp_buffer *out, ttape_error *err);
};

static const struct times_form static_form = {TTP_SECTION_TIMES_STATIC,
                                              ttp_time_static_encode_workspace,
                                              ttp_time_static_encode_bound, ttp_time_static_encode},
                               mix_form = {TTP_SECTION_TIMES_MIX, ttp_time_mix_encode_workspace,
                                           ttp_time_mix_encode_bound, ttp_time_mix_encode},
                               phase_form = {TTP_SECTION_TIMES_PHASE, ttp_time_phase_workspace,
                                             ttp_time_mix_encode_bound, ttp_time_phase_encode};

/* Codes times at the payload's end in one of the forms, without entering a section. *size is 0
 * where the form does not pay. */
static ttape_status code_times(struct ttp_encoding *e, const struct ttp_times *times,
                               const struct times_form *form, size_t *size)
{
    struct ttp_job *job = e->job;
    uint32_t n = times->event_count;
    size_t need = form->workspace(n), bound = form->bound(n);
    uint8_t *at;
    TTP_TRY(workspace_room(e, need));
    TTP_TRY(section_room(e, bound, &at));
    struct ttp_workspace workspace = {job->workspace.data, need};
    struct ttp_buffer out = {at, bound, 0};
    ttape_status status = form->encode(times, workspace, &out, e->err);
    *size = status == TTAPE_OK ? out.size : 0;
    return status == TTAPE_E_LIMIT ? TTAPE_OK : status;
}

/* The highest effort tries mixing too, with phases where there are any: in a small partition it has
 * no time to learn. */
static ttape_status add_coded_times(struct ttp_encoding *e, const struct ttp_times *times,
                                    bool highest)
{
    struct ttp_growing *payload = &e->job->payload;
    const struct times_form *form =
        highest && ttp_time_phase_find(times) != 0 ? &phase_form : &mix_form;
    size_t fixed = 0, mixed = 0, start = payload->count;
    TTP_TRY(code_times(e, times, &static_form, &fixed));
    if (highest) {
        payload->count += fixed;
        TTP_TRY(code_times(e, times, form, &mixed));
        payload->count = start;
    }
    if (fixed == 0 && mixed == 0)
        return add_raw_times(e, times, RAW_ZSTD_LEVEL);
    if (mixed == 0 || (fixed != 0 && fixed <= mixed)) {
        add_section(e, TTP_SECTION_TIMES_STATIC, CATEGORY_TIMES, fixed, fixed);
        return TTAPE_OK;
    }
    uint8_t *at = (uint8_t *)payload->data + start;
    memmove(at, at + fixed, mixed);
    add_section(e, form->kind, CATEGORY_TIMES, mixed, mixed);
    return TTAPE_OK;
}

static ttape_status add_times(struct ttp_encoding *e, const struct ttp_order *order)
{
    struct ttp_job *job = e->job;
    struct ttp_growing *wide = &job->pending.wide;
    ttp_arrange_facts(job, wide);
    TTP_TRY(ttp_encoding_room(e, &job->wide, wide->count * sizeof(int64_t)));
    int64_t *differences = job->wide.data;
    for (size_t i = 0; i < wide->count; i++)
        differences[i] = ((struct ttp_fact *)wide->data)[i].number;
    struct ttp_times times = {.codes = order->codes,
                              .segment_start = order->segment_start,
                              .delta = job->delta,
                              .wide = differences,
                              .event_count = order->event_count,
                              .segment_count = order->segment_count,
                              .symbol_count = order->symbol_count,
                              .wide_count = (uint32_t)wide->count,
                              .wide_capacity = (uint32_t)wide->count};
    if (e->w->options.literal || is_fast(e))
        TTP_TRY(add_raw_times(e, &times, FAST_ZSTD_LEVEL));
    else
        TTP_TRY(add_coded_times(e, &times, job->level >= MIX_LEVEL));
    ttp_self_check_times(e->w, job, &times);
    return TTAPE_OK;
}

static ttape_status add_values(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    struct ttp_growing *valued = &job->pending.valued;
    size_t count = valued->count, value_count = job->pending.values.count;
    if (count == 0)
        return TTAPE_OK;
    struct ttp_growing lists = {0}; /* event numbers, starts, then the values in order */
    const struct ttp_value *from = job->pending.values.data;
    const struct ttp_fact *fact = valued->data;
    /* Values of an event end where those of the next in arrival order start. */
    TTP_TRY(ttp_encoding_room(e, &lists,
                              (2 * count + 1) * sizeof(uint32_t) + value_count * sizeof *from));
    struct ttp_value *values = lists.data;
    uint32_t *event = (uint32_t *)(values + value_count), *start = event + count;
    struct ttp_fact *facts = valued->data;
    for (size_t i = 0; i < count; i++) /* pack the end beside the start: both fit 32 bits */
        facts[i].number |=
            (int64_t)((i + 1 < count ? (uint64_t)fact[i + 1].number & UINT32_MAX : value_count)
                      << 32);
    ttp_arrange_facts(job, valued);
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t first = (uint32_t)fact[i].number, end = (uint32_t)((uint64_t)fact[i].number >> 32);
        event[i] = fact[i].event;
        start[i] = at;
        memcpy(values + at, from + first, (end - first) * sizeof *values);
        at += end - first;
    }
    start[count] = at;
    struct ttp_values in = {event,
                            start,
                            values,
                            job->pending.value_bytes.data,
                            (uint32_t)count,
                            at,
                            (uint32_t)job->pending.value_bytes.count};
    uint8_t *out;
    size_t bound = ttp_values_bound(&in);
    ttape_status status = section_room(e, bound, &out);
    if (status == TTAPE_OK) {
        status = add_packed(e, TTP_SECTION_VALUES, CATEGORY_VALUES,
                            ttp_values_write(&in, out, bound), side_zstd_level(e, true));
    }
    ttp_grown_free(&e->w->allocator, &lists);
    return status;
}

static ttape_status add_depths(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    struct ttp_growing *depths = &job->pending.depths;
    if (depths->count == 0)
        return TTAPE_OK;
    struct ttp_growing list = {0};
    ttp_arrange_facts(job, depths);
    TTP_TRY(ttp_encoding_room(e, &list, depths->count * sizeof(struct ttp_depth_change)));
    struct ttp_depth_change *changes = list.data;
    const struct ttp_fact *fact = depths->data;
    for (size_t i = 0; i < depths->count; i++)
        changes[i] = (struct ttp_depth_change){fact[i].event, (int32_t)fact[i].number};
    uint8_t *out;
    size_t bound = ttp_depths_bound((uint32_t)depths->count);
    ttape_status status = section_room(e, bound, &out);
    if (status == TTAPE_OK)
        status = add_packed(e, TTP_SECTION_DEPTHS, CATEGORY_ORDER,
                            ttp_depths_write(changes, (uint32_t)depths->count, out, bound),
                            side_zstd_level(e, false));
    ttp_grown_free(&e->w->allocator, &list);
    return status;
}

static ttape_status add_switches(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    const struct ttp_pending *p = &job->pending;
    uint32_t segments = (uint32_t)p->known.count, spans = (uint32_t)p->spans.count;
    if (segments == 0)
        return TTAPE_OK;
    struct ttp_growing lists = {0}; /* spans, starts, places, what is known */
    TTP_TRY(ttp_encoding_room(e, &lists,
                              spans * sizeof(struct ttp_off_span) +
                                  (2 * segments + 1) * sizeof(uint32_t) + segments));
    struct ttp_switches in = {.spans = lists.data, .segment_count = segments, .span_count = spans};
    in.span_start = (uint32_t *)(in.spans + spans);
    in.is_known = (uint8_t *)(in.span_start + 2 * segments + 1);
    ttp_arrange_spans(job, &in, in.span_start + segments + 1);
    uint8_t *out;
    size_t bound = ttp_switches_bound(&in);
    ttape_status status = section_room(e, bound, &out);
    if (status == TTAPE_OK)
        status = add_packed(e, TTP_SECTION_SWITCHES, CATEGORY_NONE,
                            ttp_switches_write(&in, job->segment_start.data, out, bound),
                            side_zstd_level(e, true));
    ttp_grown_free(&e->w->allocator, &lists);
    return status;
}

/* Where it is next to nothing of the partition: small ones are decoded soon. */
static ttape_status add_own_times(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    const struct ttp_growing *rows = &job->pending.measures;
    size_t bound = ttp_own_times_bound((uint32_t)rows->count);
    uint8_t *at;
    TTP_TRY(section_room(e, bound, &at));
    size_t size = ttp_own_times_write(rows->data, (uint32_t)rows->count, at, bound);
    if ((size + TTP_SECTION_ENTRY_BYTES) * e->w->own_times_share <= job->payload.count - HEAD_ROOM)
        add_section(e, TTP_SECTION_OWN_TIMES, CATEGORY_NONE, size, size);
    return TTAPE_OK;
}

static ttape_status add_cpu_times(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    const struct ttp_pending *p = &job->pending;
    const struct ttp_frame *frames = job->start_frames.data;
    struct ttp_growing list = {0};
    if (p->cpu.count == 0)
        return TTAPE_OK;
    struct ttp_cpu_times times = {.rows = p->cpu.data,
                                  .row_count = (uint32_t)p->cpu.count,
                                  .start_count = job->head.start_frame_count};
    memcpy(times.all_ns, p->off_ns, sizeof times.all_ns);
    TTP_TRY(ttp_encoding_room(e, &list, times.start_count * sizeof(int64_t)));
    times.start_off_ns = list.data;
    for (uint32_t i = 0; i < times.start_count; i++)
        times.start_off_ns[i] = frames[i].off_ns;
    uint8_t *at;
    size_t bound = ttp_cpu_times_bound(times.row_count, times.start_count);
    ttape_status status = section_room(e, bound, &at);
    if (status == TTAPE_OK) {
        bound = ttp_cpu_times_write(&times, p->measures.data, e->w->head_resolution_ns, at, bound);
        add_section(e, TTP_SECTION_CPU_TIMES, CATEGORY_NONE, bound, bound);
    }
    ttp_grown_free(&e->w->allocator, &list);
    return status;
}

static ttape_status add_instants(struct ttp_encoding *e, const struct ttp_order *order)
{
    size_t bound = ttp_encode_instants_bound(e, e->job->payload.count - HEAD_ROOM), size;
    uint8_t *at;
    TTP_TRY(section_room(e, bound, &at));
    TTP_TRY(ttp_encode_instants(e, order, at, bound, &size));
    if (size != 0)
        add_section(e, TTP_SECTION_INSTANTS, CATEGORY_NONE, size, size);
    return TTAPE_OK;
}

/* A section of bytes that stand elsewhere. */
static ttape_status add_plain(struct ttp_encoding *e, uint16_t kind, struct ttp_bytes bytes)
{
    uint8_t *at;
    TTP_TRY(section_room(e, bytes.size, &at));
    if (bytes.size != 0)
        memcpy(at, bytes.data, bytes.size);
    add_section(e, kind, CATEGORY_NONE, bytes.size, bytes.size);
    return TTAPE_OK;
}

/* Where only frames that were open before have ended, the section says no more than that. */
static ttape_status add_ends(struct ttp_encoding *e, const struct ttp_order *order)
{
    struct ttp_bytes bytes = {0};
    if (e->job->pending.has_ends) {
        TTP_TRY(ttp_encode_ends(e, order, &bytes));
        TTP_TRY(add_plain(e, TTP_SECTION_ENDS, bytes));
    }
    if (e->w->options.call_numbers == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_encode_enters(e, order, &bytes));
    return add_plain(e, TTP_SECTION_ENTERS, bytes);
}

/* ---- finish ---- */

static void start_head(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    const struct ttp_pending *p = &job->pending;
    job->head =
        (struct ttp_partition_head){.event_count = p->event_count,
                                    .segment_count = (uint32_t)p->segments.count,
                                    .model = job->model != NULL ? job->model->number : TTP_NO_MODEL,
                                    .start_frame_count = (uint32_t)p->start_frames.count,
                                    .end_frame_count = (uint32_t)p->end_frames.count,
                                    .gap_count = (uint32_t)p->gap_count,
                                    .lost_count = p->lost_count};
    if (e->w->timed) {
        job->head.wide_count = (uint32_t)p->wide.count;
        job->head.resolution_ns = e->w->head_resolution_ns;
        job->head.origin_ns = e->w->head_origin_ns;
        job->head.first_tick = p->first_tick;
        job->head.end_tick = p->last_tick + 1;
    }
    memset(job->category_bytes, 0, sizeof job->category_bytes);
    job->payload.count = job->section_start = HEAD_ROOM;
}

/* Puts head and directory in front, closing the room that was kept for sections that are not there.
 */
static void finish_head(struct ttp_job *job)
{
    uint8_t *payload = job->payload.data;
    size_t head_bytes = ttp_partition_head_bytes(job->head.section_count);
    memmove(payload + head_bytes, payload + HEAD_ROOM, job->payload.count - HEAD_ROOM);
    job->payload.count -= HEAD_ROOM - head_bytes;
    job->light_bytes -= (uint32_t)(HEAD_ROOM - head_bytes);
    ttp_partition_head_write(&job->head, payload);
}

static ttape_status encode(struct ttp_encoding *e)
{
    struct ttp_job *job = e->job;
    struct ttp_order order;
    job->payload.count = 0;
    TTP_TRY(ttp_encoding_room(e, &job->payload, HEAD_ROOM));
    start_head(e);
    TTP_TRY(ttp_arrange_segments(e));
    TTP_TRY(add_light(e));
    TTP_TRY(ttp_arrange_events(e));
    TTP_TRY(ttp_arrange_symbols(e, &order));
    job->head.symbol_count = order.symbol_count;
    job->head.given_count = order.given_count;
    if (e->w->options.literal)
        TTP_TRY(add_literal_order(e, &order));
    else if (is_fast(e))
        TTP_TRY(add_raw_order(e, &order));
    else
        TTP_TRY(add_chain_order(e, &order));
    ttp_self_check_order(e->w, job, &order);
    if (e->w->timed)
        TTP_TRY(add_times(e, &order));
    TTP_TRY(add_values(e));
    TTP_TRY(add_depths(e));
    TTP_TRY(add_switches(e));
    if (e->w->timed)
        TTP_TRY(add_own_times(e));
    TTP_TRY(add_cpu_times(e));
    if (e->w->timed)
        TTP_TRY(add_instants(e, &order));
    TTP_TRY(add_ends(e, &order));
    finish_head(job);
    return TTAPE_OK;
}

void ttp_encode_job(const ttape_writer *w, struct ttp_job *job)
{
    struct ttp_encoding e = {w, job, &job->error};
    job->status = encode(&e);
}
