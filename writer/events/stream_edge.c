/* Reads of a stream's state between two appends. */
#include "writer/events/stream_edge.h"

static const struct ttp_stream_state *state_of(const ttape_writer *w, uint32_t stream)
{
    const struct ttp_scope *own = *(struct ttp_scope *const *)w->scopes.data;
    return (const struct ttp_stream_state *)own->stream_states.data + stream;
}

uint32_t ttp_stream_open_count(const ttape_writer *w, uint32_t stream)
{
    const struct ttp_stream_state *s = state_of(w, stream);
    return s->stack_count == 0 ? 0 : s->stacks[s->current].count;
}

bool ttp_stream_is_signal(const ttape_writer *w, uint32_t stream, uint32_t frame)
{
    const struct ttp_stream_state *s = state_of(w, stream);
    return s->stacks[s->current].frames[frame].event_class == TTP_CLASS_SIGNAL;
}

bool ttp_stream_takes_values(const ttape_writer *w, uint32_t stream)
{
    const struct ttp_stream_state *s = state_of(w, stream);
    return w->scope != NULL && s->epoch == w->epoch && !s->valued;
}

bool ttp_stream_open_signal(const ttape_writer *w, uint32_t stream, uint32_t *number)
{
    const struct ttp_stream_state *s = state_of(w, stream);
    if (s->stack_count == 0)
        return false;
    const struct ttp_stack *stack = &s->stacks[s->current];
    for (uint32_t n = 0; n < stack->count && n < TTP_ACROSS_MAX; n++) {
        const struct ttp_open *f = &stack->frames[stack->count - 1 - n];
        if (f->event_class == TTP_CLASS_SIGNAL) {
            *number = f->argument;
            return true;
        }
    }
    return false;
}

uint64_t ttp_stream_next_event(const ttape_writer *w, uint32_t stream)
{
    return state_of(w, stream)->next_event;
}

static uint64_t time_of(const ttape_writer *w, int64_t tick)
{
    return w->timed ? w->options.origin_ns + (uint64_t)tick * w->resolution : 0;
}

ttape_status ttp_stream_get_edge(const ttape_writer *w, uint32_t stream, ttape_edge *edge,
                                 struct ttp_growing *frames, ttape_error *err)
{
    static const uint32_t kinds[] = {[TTP_CLASS_ENTER] = TTAPE_EVENT_ENTER,
                                     [TTP_CLASS_OPEN] = TTAPE_EVENT_OPEN,
                                     [TTP_CLASS_SIGNAL] = TTAPE_EVENT_SIGNAL_BEGIN};
    const struct ttp_stream_state *s = state_of(w, stream);
    frames->count = 0;
    for (uint32_t k = 0; k < s->stack_count; k++) {
        const struct ttp_stack *stack = &s->stacks[s->stack_order[k]];
        for (uint32_t i = 0; i < stack->count; i++) {
            const struct ttp_open *f = &stack->frames[i];
            ttape_open_frame *frame = ttp_push(&w->allocator, frames, sizeof *frame, err);
            if (frame == NULL)
                return TTAPE_E_MEMORY;
            *frame = (ttape_open_frame){.kind = kinds[f->event_class],
                                        .site = f->site,
                                        .argument = f->argument,
                                        .stack = stack->id,
                                        .enter_time_ns = time_of(w, f->enter_tick),
                                        .self_ns = f->self_ticks * (int64_t)w->resolution};
        }
    }
    *edge = (ttape_edge){.event_number = s->next_event,
                         .time_ns = time_of(w, s->last_tick),
                         .stack = s->stack_count == 0 ? 0 : s->stacks[s->current].id,
                         .unknown_depth = s->unknown_depth,
                         .depth_offset = s->depth_offset,
                         .frame_count = (uint32_t)frames->count,
                         .frames = frames->data};
    return TTAPE_OK;
}
