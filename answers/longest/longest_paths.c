/* What led to a call is on the stacks when it ends: so the partition in which it was found need not
 * be decoded again. Where more has to be known of it than these tell, it is, as before. */
#include <string.h>

#include "answers/longest/longest_internal.h"
#include "format/times/times.h"

/* Of one partition: behind that, what calls come from is looked for when they are told. */
#define FRAMES_MOST 65536u

/* Whether stacks tell all: no values, no switches, no depths but those that frames give. */
void ttp_long_paths_start(struct ttp_long_paths *paths, const ttape_reader *r,
                          const struct ttp_loaded *p)
{
    paths->count = 0;
    paths->is_on = r->partitions[p->partition].values_bytes == 0 &&
                   p->switches.segment_count == 0 && p->change_count == 0;
}

static bool copy_frame(const struct ttp_loaded *p, const struct ttp_stack_frame *f, uint32_t stack,
                       ttape_open_frame *out)
{
    const struct ttp_symbol *symbol = &p->symbols[f->symbol];
    *out = (ttape_open_frame){.kind = TTAPE_EVENT_SIGNAL_BEGIN, .site = TTAPE_NONE, .stack = stack};
    if (symbol->event_class == TTP_CLASS_SIGNAL) {
        out->argument = symbol->argument;
        return true;
    }
    out->kind = symbol->event_class == TTP_CLASS_ENTER ? TTAPE_EVENT_ENTER : TTAPE_EVENT_OPEN;
    out->site = p->views[2 * f->symbol].site;
    return out->site != TTAPE_NONE;
}

static void copy_times(const struct ttp_loaded *p, const struct ttp_stack_frame *f, int64_t later,
                       ttape_open_frame *out)
{
    const struct ttp_partition_head *head = &p->head;
    uint64_t self = (uint64_t)f->self_ticks - (uint64_t)later;
    out->enter_time_ns = ttp_time_of(f->enter_tick, head->origin_ns, head->resolution_ns);
    out->self_ns = (int64_t)(self * head->resolution_ns);
}

void ttp_long_paths_add(const struct ttp_long_walk *w, struct ttp_long_call *call)
{
    struct ttp_long_paths *paths = w->paths;
    const struct ttp_segment *g = &w->p->segments.segments[w->segment];
    const struct ttp_stack_frame *f = &w->stacks.frames[w->stacks.current->top];
    uint64_t end = (uint64_t)paths->count + call->height;
    if (!paths->is_on || g->start.unknown_depth != 0 || end > FRAMES_MOST ||
        ttp_memory_reserve(w->stacks.memory, &paths->frames, &paths->capacity, end,
                           sizeof *paths->frames, NULL) != TTAPE_OK)
        return;
    /* the interval that its enter ended counts for the frame below, but after that */
    int64_t later = f->clock;
    for (uint32_t i = call->height; i-- > 0; later = 0) {
        f = &w->stacks.frames[f->below];
        ttape_open_frame *frame = &paths->frames[paths->count + i];
        if (!copy_frame(w->p, f, call->stack, frame))
            return;
        if (!paths->names_only)
            copy_times(w->p, f, later, frame);
    }
    call->path_at = paths->count + 1;
    paths->count = (uint32_t)end;
}

struct ttp_long_path *ttp_long_path_make(struct ttp_memory *memory, uint32_t count)
{
    uint64_t size = sizeof(struct ttp_long_path) + count * sizeof(ttape_open_frame);
    struct ttp_long_path *path = ttp_memory_take(memory, size, 1, NULL);
    if (path != NULL)
        *path = (struct ttp_long_path){.size_bytes = size, .frame_count = count};
    return path;
}

/* Those of the partition that are among the longest now. */
void ttp_long_paths_keep(struct ttp_long_paths *paths, const struct ttp_loaded *p,
                         struct ttp_long_heap *heap, struct ttp_memory *memory)
{
    for (uint32_t i = 0; i < heap->count; i++) {
        struct ttp_long_call *call = &heap->calls[i];
        uint32_t at = call->path_at;
        call->path_at = 0;
        struct ttp_long_path *path = at != 0 && paths->kept_bytes < memory->limit_bytes / 4
                                         ? ttp_long_path_make(memory, call->height)
                                         : NULL;
        if (path == NULL)
            continue;
        path->next = paths->kept;
        path->start = p->segment_start[call->segment];
        path->depth =
            (uint32_t)p->segments.segments[call->segment].start.depth_offset + call->height;
        if (call->height != 0)
            memcpy(path->frames, paths->frames + at - 1, call->height * sizeof *path->frames);
        paths->kept = path;
        paths->kept_bytes += path->size_bytes;
        call->path = path;
    }
    paths->count = 0;
}

void ttp_long_paths_close(struct ttp_long_paths *paths, struct ttp_memory *memory)
{
    for (struct ttp_long_path *path = paths->kept, *next; path != NULL; path = next) {
        next = path->next;
        ttp_memory_give(memory, path, path->size_bytes, 1);
    }
    ttp_memory_give(memory, paths->frames, paths->capacity, sizeof *paths->frames);
    *paths = (struct ttp_long_paths){0};
}
