/* Frames of a stack come and go at its top, so what was open at a segment's start and stayed are
 * its outermost frames, and of these only the innermost can have had anything above it that ended.
 *
 *   stack of the end edge:  | those that stayed (the last: above) | began: event, above | ... */
#include "format/container/enters.h"

#include <string.h>

#include "format/base/coder.h"
#include "format/base/fail.h"

#define NO_FRAME UINT32_MAX

struct enters_models {
    struct ttp_number_model left, above, enter;
};

static void models_init(struct enters_models *m)
{
    ttp_number_init(&m->left);
    ttp_number_init(&m->above);
    ttp_number_init(&m->enter);
}

static uint32_t end_stack(const struct ttp_edge_stacks *r, uint32_t frame)
{
    const struct ttp_segment *g = r->segment;
    return frame < g->kept ? r->in->start_frames[g->start.frame_start + frame].stack
                           : r->in->end_frames[g->end.frame_start + frame - g->kept].stack;
}

bool ttp_edge_stacks_next(struct ttp_edge_stacks *r, struct ttp_edge_stack *out)
{
    const struct ttp_segment *g = r->segment;
    const struct ttp_frame *starts = r->in->start_frames + g->start.frame_start;
    if (r->next == g->end.frame_count)
        return false;
    uint32_t stack = end_stack(r, r->next);
    *out = (struct ttp_edge_stack){.stack = stack, .first = r->next};
    while (r->next < g->end.frame_count && end_stack(r, r->next) == stack)
        r->next++;
    out->count = r->next - out->first;
    while (r->start < g->start.frame_count && starts[r->start].stack < stack)
        r->start++;
    for (; r->start < g->start.frame_count && starts[r->start].stack == stack; r->start++)
        out->start_count++;
    return true;
}

uint64_t ttp_entered_count(const struct ttp_segments *in)
{
    uint64_t count = 0;
    for (uint32_t s = 0; s < in->segment_count; s++)
        count += in->segments[s].end.frame_count;
    return count;
}

/* ---- from events ---- */

struct open_frame {
    uint64_t above;
    uint32_t event, below; /* below: also the next free one */
};

struct open_stack {
    uint32_t top, epoch;
};

struct finding {
    const struct ttp_enters_in *in;
    struct open_frame *frames; /* as many as can be open at a time */
    struct open_stack *stacks; /* by number */
    uint32_t frame_count, free_frame;
    uint32_t stack_count;
    uint32_t top, stack; /* of the current stack */
    uint32_t epoch;      /* of the segment */
};

static uint32_t count_stacks(const struct ttp_enters_in *in)
{
    const struct ttp_segments *g = in->segments;
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->segment_count; i++)
        most = g->segments[i].start.stack > most ? g->segments[i].start.stack : most;
    for (uint32_t i = 0; i < g->start_frame_count; i++)
        most = g->start_frames[i].stack > most ? g->start_frames[i].stack : most;
    for (uint32_t i = 0; i < in->symbol_count; i++)
        if (in->symbols[i].event_class == TTP_CLASS_SWITCH && in->symbols[i].argument > most)
            most = in->symbols[i].argument;
    return most + 1;
}

/* Where `memory` is NULL only its size is found. */
static size_t carve(struct finding *f, void *memory)
{
    const struct ttp_segments *g = f->in->segments;
    struct ttp_carver carver = {memory, 0};
    uint64_t most = 0;
    for (uint32_t s = 0; s < g->segment_count; s++) {
        uint64_t frames = (uint64_t)g->segments[s].start.frame_count + g->segments[s].event_count;
        most = frames > most ? frames : most;
    }
    f->frames = ttp_carve(&carver, (size_t)most, sizeof *f->frames);
    f->stacks = ttp_carve(&carver, f->stack_count, sizeof *f->stacks);
    return carver.used;
}

size_t ttp_enters_workspace(const struct ttp_enters_in *in)
{
    struct finding f = {.in = in, .stack_count = count_stacks(in)};
    return carve(&f, NULL);
}

static void push_frame(struct finding *f, uint32_t event)
{
    uint32_t frame = f->free_frame;
    if (frame != NO_FRAME)
        f->free_frame = f->frames[frame].below;
    else
        frame = f->frame_count++;
    f->frames[frame] = (struct open_frame){.event = event, .below = f->top};
    f->top = frame;
}

static void pop_frame(struct finding *f)
{
    uint32_t frame = f->top;
    if (frame == NO_FRAME)
        return;
    uint32_t below = f->frames[frame].below;
    if (below != NO_FRAME)
        f->frames[below].above += f->frames[frame].above + 1;
    f->frames[frame].below = f->free_frame;
    f->free_frame = frame;
    f->top = below;
}

static void switch_to(struct finding *f, uint32_t stack)
{
    f->stacks[f->stack] = (struct open_stack){f->top, f->epoch};
    f->top = f->stacks[stack].epoch == f->epoch ? f->stacks[stack].top : NO_FRAME;
    f->stack = stack;
}

static void take_other(struct finding *f, const struct ttp_symbol *symbol)
{
    bool unwinds =
        symbol->event_class == TTP_CLASS_UNWIND || symbol->event_class == TTP_CLASS_EXIT_ACROSS;
    if (symbol->event_class == TTP_CLASS_SWITCH)
        switch_to(f, symbol->argument);
    for (uint32_t left = unwinds ? symbol->argument : 0; left > 0 && f->top != NO_FRAME; left--)
        pop_frame(f);
    if (symbol->event_class == TTP_CLASS_EXIT_ACROSS)
        pop_frame(f);
}

static void go_through(struct finding *f, uint32_t segment)
{
    const struct ttp_segment *g = &f->in->segments->segments[segment];
    const struct ttp_frame *starts = f->in->segments->start_frames + g->start.frame_start;
    uint32_t first = f->in->segment_start[segment], end = f->in->segment_start[segment + 1];
    f->frame_count = f->stack = 0;
    f->top = f->free_frame = NO_FRAME;
    f->epoch = segment + 1;
    for (uint32_t i = 0; i < g->start.frame_count; i++) {
        switch_to(f, starts[i].stack);
        push_frame(f, TTP_ENTERED_BEFORE);
    }
    switch_to(f, g->start.stack);
    for (uint32_t i = first; i < end; i++) {
        uint32_t code = f->in->codes[i];
        const struct ttp_symbol *symbol = &f->in->symbols[code >> 1];
        if (code & 1)
            pop_frame(f);
        else if (ttp_class_pushes(symbol->event_class))
            push_frame(f, i - first);
        else
            take_other(f, symbol);
    }
    switch_to(f, f->stack);
}

/* Frames are told from the innermost on, as far as edges are what events give. */
static void tell_stack(const struct finding *f, const struct ttp_edge_stack *one,
                       struct ttp_entered *out)
{
    bool is_there = one->stack < f->stack_count && f->stacks[one->stack].epoch == f->epoch;
    uint32_t frame = is_there ? f->stacks[one->stack].top : NO_FRAME;
    for (uint32_t i = one->first + one->count; i-- > one->first;) {
        out[i] = (struct ttp_entered){.event = TTP_ENTERED_BEFORE};
        if (frame == NO_FRAME)
            continue;
        out[i] = (struct ttp_entered){f->frames[frame].above, f->frames[frame].event};
        frame = f->frames[frame].below;
    }
}

void ttp_enters_find(const struct ttp_enters_in *in, struct ttp_workspace workspace,
                     struct ttp_entered *out)
{
    struct finding f = {.in = in, .stack_count = count_stacks(in)};
    (void)carve(&f, workspace.memory);
    memset(f.stacks, 0, f.stack_count * sizeof *f.stacks);
    for (uint32_t s = 0; s < in->segments->segment_count; s++) {
        struct ttp_edge_stacks stacks = {in->segments, &in->segments->segments[s], 0, 0};
        struct ttp_edge_stack one;
        go_through(&f, s);
        while (ttp_edge_stacks_next(&stacks, &one))
            tell_stack(&f, &one, out);
        out += in->segments->segments[s].end.frame_count;
    }
}

/* ---- bytes ---- */

static void write_stack(struct ttp_encoder *e, struct enters_models *m,
                        const struct ttp_edge_stack *one, const struct ttp_entered *entered)
{
    uint32_t stayed = 0, before = 0;
    while (stayed < one->count && entered[stayed].event == TTP_ENTERED_BEFORE)
        stayed++;
    if (one->start_count > 0)
        ttp_encode_number(e, &m->left, one->start_count - stayed);
    if (stayed > 0)
        ttp_encode_number(e, &m->above, entered[stayed - 1].above);
    for (uint32_t i = stayed; i < one->count; i++) {
        ttp_encode_number(e, &m->enter, entered[i].event - before);
        ttp_encode_number(e, &m->above, entered[i].above);
        before = entered[i].event + 1;
    }
}

bool ttp_enters_write(const struct ttp_segments *in, const struct ttp_entered *entered,
                      uint8_t *out, size_t out_bytes, size_t *size_bytes)
{
    struct enters_models m;
    struct ttp_encoder e = ttp_encoder_init(out, out_bytes);
    models_init(&m);
    for (uint32_t s = 0; s < in->segment_count && !e.full; s++) {
        struct ttp_edge_stacks stacks = {in, &in->segments[s], 0, 0};
        struct ttp_edge_stack one;
        while (ttp_edge_stacks_next(&stacks, &one))
            write_stack(&e, &m, &one, entered + one.first);
        entered += in->segments[s].end.frame_count;
    }
    *size_bytes = ttp_encoder_finish(&e);
    return !e.full;
}

/* Returns what is wrong, or NULL; where bytes have run out the caller sees it. */
static const char *read_stack(struct ttp_decoder *d, struct enters_models *m,
                              const struct ttp_edge_stack *one, uint32_t event_count,
                              struct ttp_entered *entered)
{
    uint64_t left = one->start_count > 0 ? ttp_decode_number(d, &m->left) : 0, next = 0;
    if (left > one->start_count || one->start_count - left > one->count)
        return "more frames leave a stack than it has";
    uint32_t stayed = one->start_count - (uint32_t)left;
    for (uint32_t i = 0; i < one->count && !ttp_decoder_cut(d); i++) {
        entered[i] = (struct ttp_entered){.event = TTP_ENTERED_BEFORE};
        if (i >= stayed) {
            uint64_t step = ttp_decode_number(d, &m->enter);
            if (step >= event_count - next)
                return "a frame begins behind its segment";
            entered[i].event = (uint32_t)(next + step);
            next = entered[i].event + 1ull;
        }
        if (i + 1 >= stayed)
            entered[i].above = ttp_decode_number(d, &m->above);
    }
    return NULL;
}

ttape_status ttp_enters_read(const uint8_t *data, size_t size_bytes, const struct ttp_segments *in,
                             struct ttp_entered *out, ttape_error *err)
{
    struct enters_models m;
    struct ttp_decoder d = ttp_decoder_init(data, size_bytes);
    models_init(&m);
    for (uint32_t s = 0; s < in->segment_count; s++) {
        const struct ttp_segment *g = &in->segments[s];
        struct ttp_edge_stacks stacks = {in, g, 0, 0};
        struct ttp_edge_stack one;
        while (ttp_edge_stacks_next(&stacks, &one)) {
            const char *wrong = read_stack(&d, &m, &one, g->event_count, out + one.first);
            if (ttp_decoder_cut(&d))
                return ttp_fail(err, TTAPE_E_CORRUPT, "F-ENT-03", size_bytes,
                                "the enters end early");
            if (wrong != NULL)
                return ttp_fail(err, TTAPE_E_CORRUPT, "F-ENT-02", (uint64_t)(d.at - data), "%s",
                                wrong);
        }
        out += g->end.frame_count;
    }
    return TTAPE_OK;
}
