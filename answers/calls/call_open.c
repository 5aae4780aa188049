/* From options to a cursor, and from steps to calls. */
#include <string.h>

#include "answers/calls/call_cursor.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"

#define MEMORY_BYTES_DEFAULT (1024ull << 20)

static ttape_status take_options(ttape_call_options *out, const ttape_call_options *options,
                                 ttape_error *err)
{
    *out = (ttape_call_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "call cursor", err));
    out->memory_bytes = out->memory_bytes != 0 ? out->memory_bytes : MEMORY_BYTES_DEFAULT;
    TTP_TRY(ttp_check_range(out->has_range, out->from_ns, out->to_ns, err));
    if (out->has_stretch && (out->stream_count != 1 || out->has_range))
        return ttp_refuse(err, "a stretch is of one stream, and has no range of time");
    if (out->has_stretch && out->first_event > out->end_event)
        return ttp_refuse(err, "a stretch ends before it begins");
    return ttp_check_streams(out->streams, out->stream_count, err);
}

static ttape_status choose_stream(ttape_call_cursor *c, uint32_t stream, ttape_error *err)
{
    ttape_stream_info info;
    struct ttp_call_stream *s = &c->streams[c->stream_count];
    if (ttape_reader_get_stream(c->reader, stream, &info) != TTAPE_OK)
        return ttp_no_stream(err, stream);
    if (c->index_of != NULL && c->index_of[stream] != 0)
        return ttp_refuse(err, "a stream is chosen twice");
    *s = (struct ttp_call_stream){.memory = &c->memory,
                                  .stream = stream,
                                  .keeps_values = c->options.values,
                                  .number = info.first_event,
                                  .end_number =
                                      info.first_event + info.event_count + info.missing_count};
    c->stream_count++;
    if (c->index_of != NULL)
        c->index_of[stream] = c->stream_count;
    return ttp_call_stream_open(s, err);
}

static ttape_status choose_streams(ttape_call_cursor *c, ttape_error *err)
{
    const ttape_call_options *o = &c->options;
    uint32_t all = c->reader->definitions.stream_count;
    c->stream_capacity = o->streams != NULL ? o->stream_count : all;
    c->streams = ttp_memory_take(&c->memory, c->stream_capacity, sizeof *c->streams, err);
    if (c->streams == NULL)
        return c->memory.status;
    if (c->stream_capacity > 1) { /* who reads one of many streams does not pay for all */
        c->index_of = ttp_memory_take(&c->memory, all, sizeof *c->index_of, err);
        if (c->index_of == NULL)
            return c->memory.status;
        c->index_capacity = all;
        memset(c->index_of, 0, all * sizeof *c->index_of);
    }
    for (uint32_t i = 0; i < c->stream_capacity; i++)
        TTP_TRY(choose_stream(c, o->streams != NULL ? o->streams[i] : i, err));
    c->options.streams = NULL;
    return TTAPE_OK;
}

static ttape_status open_cursor(ttape_call_cursor *c, ttape_error *err)
{
    c->memory.hash_key = c->reader->memory.hash_key;
    c->to_ns = c->options.has_range ? c->options.to_ns : UINT64_MAX;
    TTP_TRY(choose_streams(c, err));
    c->is_merged = c->stream_count > 1;
    if (c->stream_count == 0) {
        c->phase = TTP_CALLS_DONE;
        return TTAPE_OK;
    }
    if (!c->is_merged) {
        c->batch = ttp_memory_take(&c->memory, TTP_CALL_BATCH_EVENTS, sizeof *c->batch, err);
        if (c->batch == NULL)
            return c->memory.status;
    }
    c->s = &c->streams[0];
    TTP_TRY(ttape_cursor_open(&c->cursor, c->reader,
                              c->is_merged ? TTAPE_ALL_STREAMS : c->streams[0].stream, err));
    c->cursor->is_untimed = c->options.untimed && !c->is_merged && !c->options.switches;
    if (c->cursor->is_untimed)
        c->to_ns = UINT64_MAX;
    return TTAPE_OK;
}

ttape_status ttape_call_cursor_open(ttape_call_cursor **out, ttape_reader *r,
                                    const ttape_call_options *options, ttape_error *err)
{
    ttape_call_options taken;
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for a cursor");
    *out = NULL;
    if (r == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&taken, options, err));
    ttp_memory_init(&memory, &r->memory.allocator, taken.memory_bytes);
    ttape_call_cursor *c = ttp_memory_take(&memory, 1, sizeof *c, err);
    if (c == NULL)
        return memory.status;
    *c = (ttape_call_cursor){.reader = r, .memory = memory, .options = taken};
    ttape_status status = open_cursor(c, err);
    if (status != TTAPE_OK) {
        ttape_call_cursor_close(c);
        return status;
    }
    *out = c;
    return TTAPE_OK;
}

void ttape_call_cursor_close(ttape_call_cursor *c)
{
    if (c == NULL)
        return;
    struct ttp_memory memory = c->memory, *m = &c->memory;
    if (c->step.ended_count > 0)
        ttp_call_drop_values(c->s, c->step.ended, c->step.ended_count);
    for (uint32_t i = 0; i < c->stream_count; i++)
        ttp_call_stream_close(&c->streams[i]);
    ttape_cursor_close(c->cursor);
    ttape_cursor_close(c->edge_cursor);
    if (c->batch != NULL)
        ttp_memory_give(m, c->batch, TTP_CALL_BATCH_EVENTS, sizeof *c->batch);
    if (c->streams != NULL)
        ttp_memory_give(m, c->streams, c->stream_capacity, sizeof *c->streams);
    if (c->index_of != NULL)
        ttp_memory_give(m, c->index_of, c->index_capacity, sizeof *c->index_of);
    ttp_memory_give(&memory, c, 1, sizeof *c);
}

/* An exit whose enter is not in the trace is a call of which only the end is known. */
static void make_unseen(const ttape_call_step *step, ttape_call *out)
{
    *out = (ttape_call){.stream = step->stream,
                        .site = step->event->site,
                        .caller = TTAPE_NONE,
                        .kind = TTAPE_EVENT_EXIT_UNSEEN,
                        .stack = step->stack,
                        .depth = step->event->depth,
                        .end = TTAPE_CALL_RETURNED,
                        .enter_number = TTAPE_CALL_NO_NUMBER,
                        .end_number = step->number,
                        .enter_ns = step->time_ns,
                        .end_ns = step->time_ns,
                        .results = step->values,
                        .result_count = step->value_count};
}

ttape_status ttape_call_cursor_next(ttape_call_cursor *c, ttape_call *out, ttape_error *err)
{
    while (c->to_hand == 0) {
        const ttape_call_step *step;
        ttape_status status = ttape_call_cursor_step(c, &step, err);
        if (status != TTAPE_OK)
            return status;
        if (step->kind == TTAPE_STEP_EVENT && step->began_count > 0 && step->value_count > 0) {
            status = ttp_call_keep_values(c->s, c->s->current, step, err);
            if (status != TTAPE_OK) {
                c->phase = TTP_CALLS_DONE; /* values never go the short way */
                return status;
            }
        }
        c->to_hand = step->ended_count;
        if (step->kind == TTAPE_STEP_EVENT && step->event->kind == TTAPE_EVENT_EXIT_UNSEEN) {
            make_unseen(step, out);
            out->height = (*ttp_call_stack_slot(c->s, step->stack))->count;
            return TTAPE_OK;
        }
    }
    *out = c->step.ended[--c->to_hand];
    out->arguments = out->argument_count > 0 ? out->arguments : NULL;
    out->result_count = out->end == TTAPE_CALL_RETURNED ? c->step.value_count : 0;
    out->results = out->result_count > 0 ? c->step.values : NULL;
    return TTAPE_OK;
}

ttape_status ttape_call_cursor_next_many(ttape_call_cursor *c, ttape_call *out, size_t capacity,
                                         size_t *count, ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    size_t got = 0;
    for (; got < capacity && status == TTAPE_OK; got += status == TTAPE_OK) {
        status = ttape_call_cursor_next(c, &out[got], err);
        if (status == TTAPE_OK) {
            out[got].arguments = out[got].results = NULL;
            out[got].argument_count = out[got].result_count = 0;
        }
    }
    *count = got;
    return status == TTAPE_END && got > 0 ? TTAPE_OK : status;
}

void ttape_call_cursor_stack(const ttape_call_cursor *c, const ttape_call **calls, uint32_t *count)
{
    const struct ttp_call_stack *stack = NULL;
    if (c->s != NULL && c->s->slots != NULL)
        stack = *ttp_call_stack_slot(c->s, c->step.stack);
    *calls = stack != NULL ? stack->calls : NULL;
    *count = stack != NULL ? stack->count + c->to_hand : 0;
}
