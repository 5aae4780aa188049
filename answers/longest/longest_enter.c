/* What the answer says of each call: where it was entered, from where, with which values. A call
 * that spans partitions is looked for backwards, in those whose times have its enter. */
#include <string.h>

#include "answers/longest/longest_internal.h"
#include "format/base/fail.h"
#include "format/times/times.h"
#include "reader/cursor/cursor.h"

/* Memory of an answer, which lives as long. */
struct ttp_long_block {
    struct ttp_long_block *next;
    uint64_t size_bytes;
};

static void *keep_items(struct ttape_longest *l, uint64_t count, size_t item_bytes,
                        ttape_error *err)
{
    uint64_t size = sizeof(struct ttp_long_block) + count * item_bytes;
    struct ttp_long_block *block = ttp_memory_take(&l->memory, size, 1, err);
    if (block == NULL)
        return NULL;
    *block = (struct ttp_long_block){l->blocks, size};
    l->blocks = block;
    return block + 1;
}

void ttp_longest_forget(struct ttape_longest *l)
{
    for (struct ttp_long_block *block = l->blocks, *next; block != NULL; block = next) {
        next = block->next;
        ttp_memory_give(&l->memory, block, block->size_bytes, 1);
    }
    l->blocks = NULL;
}

const struct ttp_long_path *ttp_longest_keep_path(struct ttape_longest *l,
                                                  const struct ttp_long_path *path)
{
    struct ttp_long_path *copy = ttp_longest_new_path(l, path->frame_count);
    if (copy != NULL)
        memcpy(copy, path, (size_t)path->size_bytes);
    return copy;
}

struct ttp_long_path *ttp_longest_new_path(struct ttape_longest *l, uint32_t frame_count)
{
    uint64_t size = sizeof(struct ttp_long_path) + frame_count * sizeof(ttape_open_frame);
    struct ttp_long_path *path =
        l->path_bytes + size <= l->memory.limit_bytes / 4 ? keep_items(l, size, 1, NULL) : NULL;
    if (path == NULL)
        return NULL;
    *path = (struct ttp_long_path){.size_bytes = size, .frame_count = frame_count};
    l->path_bytes += size;
    return path;
}

/* Damage is told and left out, where the caller wants that. */
static ttape_status pass_damage(struct ttape_longest *l, uint32_t partition, ttape_status status,
                                const ttape_error *problem, ttape_error *err)
{
    if (status >= TTAPE_E_TRUNCATED && l->options.damage != NULL)
        return ttp_longest_damaged(l, partition, problem);
    if (status != TTAPE_OK && err != NULL)
        *err = *problem;
    return status;
}

/* ---- where a call was entered ---- */

/* True where the partition has an event at this time, give or take what rounding may change. */
static bool may_hold(const struct ttp_partition_entry *entry, uint64_t time_ns)
{
    uint64_t step = entry->resolution_ns;
    uint64_t first = ttp_time_of(entry->first_tick, entry->origin_ns, step);
    uint64_t last = ttp_time_of((int64_t)((uint64_t)entry->end_tick - 1), entry->origin_ns, step);
    return last < first || (time_ns + step >= first && time_ns <= last + step);
}

/* The number of the event that opened the frame, if that is in this segment. */
static ttape_status find_in(struct ttape_longest *l, const struct ttp_segment_entry *seg,
                            const struct ttp_long_call *call, uint64_t *number, ttape_error *err)
{
    struct ttp_loaded *p;
    struct ttp_long_walk w = {.without_times = true};
    uint32_t segment = ttp_segment_number(l->decoder->reader, seg);
    TTP_TRY(ttp_loaded_get(l->decoder, seg->partition, TTP_STAGE_LIGHT, &p, err));
    uint32_t end = p->segment_start[segment + 1];
    const struct ttp_range range = {.first = end, .end = end, .checked = end};
    TTP_TRY(ttp_loaded_reach(l->decoder, seg->partition, &range, &p, err));
    l->info.enter_count++;
    ttape_status status = ttp_long_walk_open(&w, &l->memory, p, err);
    if (status == TTAPE_OK)
        status = ttp_long_walk_segment(&w, segment, err);
    if (status == TTAPE_OK) {
        const struct ttp_stack_frame *f = ttp_long_walk_frame(&w, call->stack, call->height);
        if (f != NULL && f->start == TTP_NO_FRAME)
            *number = seg->first_event + (f->flags - p->segment_start[segment]);
    }
    ttp_long_walk_close(&w);
    return status;
}

/* *number stays as it is where the enter is not in the file. */
static ttape_status find_enter(struct ttape_longest *l, const struct ttp_segment_entry *end,
                               const struct ttp_long_call *call, uint64_t *number, ttape_error *err)
{
    struct ttp_trace_decoder *d = l->decoder;
    uint32_t ordinal = ttp_segments_up_to(d->reader, end->stream, end->first_event);
    uint64_t next = end->first_event;
    ttape_error problem = {0};
    for (; ordinal > 0 && *number == TTAPE_CALL_NO_NUMBER; ordinal--) {
        const struct ttp_segment_entry *seg =
            ttp_stream_segment(d->reader, end->stream, ordinal - 1);
        const struct ttp_partition_entry *entry = &d->reader->partitions[seg->partition];
        if (seg != end && seg->first_event + seg->event_count != next)
            break; /* events are missing between them */
        next = seg->first_event;
        bool is_open = seg != end || call->end == TTAPE_CALL_LEFT;
        if (!is_open || entry->damaged || !may_hold(entry, call->enter_ns))
            continue;
        TTP_TRY(
            pass_damage(l, seg->partition, find_in(l, seg, call, number, &problem), &problem, err));
    }
    return TTAPE_OK;
}

/* ---- paths and values ---- */

static ttape_status copy_values(struct ttape_longest *l, const ttape_event_item *item,
                                const ttape_value **out, uint32_t *count, ttape_error *err)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < item->value_count; i++)
        bytes += item->values[i].bytes.size_bytes;
    ttape_value *values = keep_items(l, item->value_count * sizeof(ttape_value) + bytes, 1, err);
    if (values == NULL)
        return l->memory.status;
    char *text = (char *)(values + item->value_count);
    for (uint32_t i = 0; i < item->value_count; i++) {
        values[i] = item->values[i];
        if (values[i].bytes.size_bytes == 0)
            continue;
        memcpy(text, values[i].bytes.data, values[i].bytes.size_bytes);
        values[i].bytes.data = text;
        text += values[i].bytes.size_bytes;
    }
    *out = values;
    *count = item->value_count;
    return TTAPE_OK;
}

static ttape_status copy_path(struct ttape_longest *l, const ttape_edge *edge, uint32_t most,
                              ttape_longest_call *out, ttape_error *err)
{
    uint32_t first = 0, count = 0;
    for (uint32_t i = 0; i < edge->frame_count && count < most; i++) {
        if (edge->frames[i].stack != out->stack)
            continue;
        first = count == 0 ? i : first;
        count++;
    }
    ttape_open_frame *path = keep_items(l, count, sizeof *path, err);
    if (path == NULL)
        return l->memory.status;
    if (count > 0)
        memcpy(path, edge->frames + first, count * sizeof *path);
    for (uint32_t i = 0; i < count && l->plan.names_only; i++)
        path[i].enter_time_ns = 0, path[i].self_ns = 0;
    out->path = path;
    out->path_count = out->depth = count;
    return TTAPE_OK;
}

/* The event `number` with its values, and before that, where asked for, what is open there. */
static ttape_status read_at(ttape_cursor *cursor, uint64_t number, ttape_edge *edge,
                            ttape_event_item *item, ttape_error *err)
{
    TTP_TRY(ttape_cursor_seek_event(cursor, number, err));
    if (edge != NULL)
        TTP_TRY(ttape_cursor_get_open_frames(cursor, edge, err));
    return item != NULL ? ttape_cursor_next(cursor, item, err) : TTAPE_OK;
}

static ttape_status tell_enter(struct ttape_longest *l, ttape_cursor *cursor,
                               const struct ttp_long_call *call,
                               const struct ttp_segment_entry *seg, ttape_longest_call *out,
                               ttape_error *err)
{
    ttape_edge edge;
    ttape_event_item item;
    if (out->is_found) { /* what is below it has not changed since */
        TTP_TRY(read_at(cursor, seg->first_event, &edge, NULL, err));
        return copy_path(l, &edge, call->height, out, err);
    }
    TTP_TRY(read_at(cursor, out->enter_number, &edge, NULL, err));
    TTP_TRY(copy_path(l, &edge, UINT32_MAX, out, err));
    TTP_TRY(ttape_cursor_next(cursor, &item, err));
    out->depth = item.event.depth;
    return copy_values(l, &item, &out->arguments, &out->argument_count, err);
}

static ttape_status tell_with(struct ttape_longest *l, ttape_cursor *cursor,
                              const struct ttp_long_call *call, const struct ttp_segment_entry *seg,
                              ttape_longest_call *out, ttape_error *err)
{
    ttape_event_item item;
    TTP_TRY(tell_enter(l, cursor, call, seg, out, err));
    if (call->end != TTAPE_CALL_RETURNED ||
        l->decoder->reader->partitions[call->partition].values_bytes == 0)
        return TTAPE_OK;
    TTP_TRY(read_at(cursor, out->end_number, NULL, &item, err));
    return copy_values(l, &item, &out->results, &out->result_count, err);
}

/* `start`: the first event of the call's segment. */
static void tell_end(const struct ttp_segment_entry *seg, const struct ttp_long_call *call,
                     uint32_t start, ttape_longest_call *out)
{
    *out = (ttape_longest_call){.stream = seg->stream,
                                .site = call->site,
                                .stack = call->stack,
                                .end = call->end,
                                .enter_number = TTAPE_CALL_NO_NUMBER,
                                .end_number = seg->first_event + (call->end_event - start),
                                .enter_ns = call->enter_ns,
                                .end_ns = call->end_ns,
                                .duration_ns = (int64_t)(call->end_ns - call->enter_ns),
                                .self_ns = call->self_ns};
    if (call->end == TTAPE_CALL_LEFT)
        out->end_number = seg->first_event + seg->event_count;
    if (call->enter_event != TTP_LONGEST_NO_EVENT)
        out->enter_number = seg->first_event + (call->enter_event - start);
}

static ttape_status find_frames(struct ttape_longest *l, const struct ttp_long_call *call,
                                ttape_longest_call *out, ttape_error *err)
{
    struct ttp_trace_decoder *d = l->decoder;
    const struct ttp_segment_entry *seg =
        &d->reader->segments[d->reader->partitions[call->partition].first_segment + call->segment];
    struct ttp_loaded *p;
    ttape_cursor *cursor;
    ttape_error problem = {0};
    if (call->path != NULL) {
        tell_end(seg, call, call->path->start, out);
        out->path = call->path->frames;
        out->path_count = call->path->frame_count;
        out->depth = call->path->depth;
        return TTAPE_OK;
    }
    TTP_TRY(ttp_loaded_get(d, call->partition, TTP_STAGE_LIGHT, &p, err));
    tell_end(seg, call, p->segment_start[call->segment], out);
    if (l->plan.by == TTAPE_LONGEST_BY_ON_CPU)
        out->on_cpu_ns = call->rank_ns;
    if (call->enter_event == TTP_LONGEST_NO_EVENT)
        TTP_TRY(find_enter(l, seg, call, &out->enter_number, err));
    out->is_found = out->enter_number == TTAPE_CALL_NO_NUMBER;
    TTP_TRY(ttp_cursor_open_lent(&cursor, d, seg->stream, err));
    ttape_status status = tell_with(l, cursor, call, seg, out, &problem);
    ttape_cursor_close(cursor);
    if (status == TTAPE_OK)
        status = ttp_longest_off(l, seg, call->height, out, &problem);
    return pass_damage(l, call->partition, status, &problem, err);
}

ttape_status ttp_longest_tell(struct ttape_longest *l, ttape_error *err)
{
    l->calls = keep_items(l, l->heap.count, sizeof *l->calls, err);
    if (l->calls == NULL)
        return l->memory.status;
    for (uint32_t i = 0; i < l->heap.count; i++)
        TTP_TRY(find_frames(l, &l->heap.calls[i], &l->calls[i], err));
    l->info.call_count = l->heap.count;
    return TTAPE_OK;
}
