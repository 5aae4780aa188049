/* Room for all that a section may say, which is little. */
#include "reader/levels/instants_reader.h"

#include "format/base/fail.h"
#include "reader/partition/section_reader.h"

static uint32_t stack_room(const struct ttp_loaded *p)
{
    return p->segments.start_frame_count + TTP_INSTANT_FRAMES_MOST;
}

static ttape_status take_instants(struct ttp_trace_decoder *d, struct ttp_read_instants *i,
                                  ttape_error *err)
{
    struct ttp_memory *m = &d->memory;
    i->in.segments = ttp_memory_take(m, i->segment_count, sizeof *i->in.segments, err);
    if (i->in.segments == NULL)
        return m->status;
    i->in.instants = ttp_memory_take(m, TTP_INSTANTS_MOST, sizeof *i->in.instants, err);
    if (i->in.instants == NULL)
        return m->status;
    i->in.frames = ttp_memory_take(m, TTP_INSTANT_FRAMES_MOST, sizeof *i->in.frames, err);
    return i->in.frames != NULL ? TTAPE_OK : m->status;
}

static ttape_status read_content(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                                 const struct ttp_content *content, struct ttp_read_instants *i,
                                 ttape_error *err)
{
    TTP_TRY(take_instants(d, i, err));
    uint32_t room = stack_room(p);
    struct ttp_symbol *stack = ttp_memory_take(&d->memory, room, sizeof *stack, err);
    if (stack == NULL)
        return d->memory.status;
    ttape_status status =
        ttp_instants_read(content->data, content->size_bytes, &p->segments, stack, &i->in, err);
    ttp_memory_give(&d->memory, stack, room, sizeof *stack);
    if (status != TTAPE_OK)
        ttp_content_rebase(content, err);
    return status;
}

ttape_status ttp_instants_load(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                               struct ttp_read_instants *out, ttape_error *err)
{
    struct ttp_content content;
    const struct ttp_section *section = ttp_partition_section(&p->head, TTP_SECTION_INSTANTS);
    *out = (struct ttp_read_instants){.segment_count = p->segments.segment_count};
    if (section == NULL)
        return TTAPE_OK;
    TTP_TRY(ttp_content_open(d, p, section, &content, err));
    ttape_status status = read_content(d, p, &content, out, err);
    ttp_content_close(d, &content);
    if (status != TTAPE_OK)
        ttp_instants_drop(d, out);
    return status;
}

void ttp_instants_drop(struct ttp_trace_decoder *d, struct ttp_read_instants *i)
{
    struct ttp_memory *m = &d->memory;
    ttp_memory_give(m, i->in.segments, i->segment_count, sizeof *i->in.segments);
    ttp_memory_give(m, i->in.instants, TTP_INSTANTS_MOST, sizeof *i->in.instants);
    ttp_memory_give(m, i->in.frames, TTP_INSTANT_FRAMES_MOST, sizeof *i->in.frames);
    *i = (struct ttp_read_instants){0};
}
