/* Sealing: the pending partition gets its end edges and measures, and goes to a worker (or is
 * encoded in place). */
#include <stdlib.h>
#include <string.h>

#include "format/base/fail.h"
#include "writer/encode/overview_writer.h"
#include "writer/events/off_times.h"
#include "writer/events/stream_edge.h"
#include "writer/frames.h"
#include "writer/writer_internal.h"

/* Frames still open give what they have spent so far to their sites; the rest belongs to later
 * partitions. */
static void settle_frames(const struct ttp_scope *scope, struct ttp_stream_state *s)
{
    struct ttp_site_state *sites = scope->site_states.data;
    for (uint32_t k = 0; k < s->stack_count; k++)
        for (uint32_t i = 0; i < s->stacks[k].count; i++) {
            struct ttp_open *f = &s->stacks[k].frames[i];
            if (f->site != TTAPE_NONE)
                sites[f->site].self_ticks =
                    ttp_add_ticks(sites[f->site].self_ticks, f->self_ticks, f->self_before);
            f->self_before = f->self_ticks;
        }
}

/* Frames are listed stack by stack, so the common beginning of both lists ends with the first stack
 * that changed. */
static uint32_t count_kept(const struct ttp_stream_state *s)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->stack_count; k++) {
        const struct ttp_stack *stack = &s->stacks[s->stack_order[k]];
        kept += stack->low < stack->start_count ? stack->low : stack->start_count;
        if (stack->low < stack->start_count || stack->count > stack->start_count)
            break;
    }
    return kept;
}

static ttape_status close_segment(ttape_writer *w, struct ttp_pending *p, struct ttp_segment *g,
                                  const struct ttp_stream_state *s, ttape_error *err)
{
    uint32_t seen = 0;
    g->kept = count_kept(s);
    g->end_tick = s->last_tick;
    g->end = (struct ttp_edge_state){s->stacks[s->current].id, s->unknown_depth, s->depth_offset,
                                     (uint32_t)p->end_frames.count, 0};
    for (uint32_t k = 0; k < s->stack_count; k++) {
        const struct ttp_stack *stack = &s->stacks[s->stack_order[k]];
        for (uint32_t i = 0; i < stack->count; i++, seen++) {
            const struct ttp_open *f = &stack->frames[i];
            if (seen < g->kept) {
                struct ttp_frame *kept =
                    (struct ttp_frame *)p->start_frames.data + g->start.frame_start + seen;
                kept->end_self_ticks = f->self_ticks;
                continue;
            }
            struct ttp_frame *added = ttp_push(&w->allocator, &p->end_frames, sizeof *added, err);
            if (added == NULL)
                return TTAPE_E_MEMORY;
            *added = (struct ttp_frame){.argument = f->argument,
                                        .stack = stack->id,
                                        .event_class = f->event_class,
                                        .enter_tick = f->enter_tick,
                                        .self_ticks = f->self_ticks};
        }
    }
    g->end.frame_count = seen;
    return TTAPE_OK;
}

static int compare_sites(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Frames that were not on the CPU all the time are kept apart, as they are few: the longest of all
 * frames, and the largest time on the CPU. */
static void join_frames(const ttape_writer *w, const struct ttp_scope *scope,
                        struct ttp_measure *row, struct ttp_cpu_measure *cpu)
{
    const struct ttp_site_off *off = ttp_site_off_find(w, scope, row->site);
    *cpu = (struct ttp_cpu_measure){
        .max_on_ns = (int64_t)((uint64_t)row->max_ticks * w->head_resolution_ns)};
    if (off == NULL)
        return;
    memcpy(cpu->self_ns, off->self_ns, sizeof cpu->self_ns);
    memcpy(cpu->total_ns, off->total_ns, sizeof cpu->total_ns);
    if (off->exit_count == 0)
        return;
    if (off->exit_count == row->exit_count || off->max_on_ns > cpu->max_on_ns)
        cpu->max_on_ns = off->max_on_ns;
    if (off->exit_count == row->exit_count || off->max_ticks > row->max_ticks)
        row->max_ticks = off->max_ticks;
}

static bool is_small(const ttape_writer *w, int64_t tick)
{
    int64_t most = (int64_t)((uint64_t)INT64_MAX / 2 / w->head_resolution_ns);
    return tick >= -most && tick <= most;
}

/* Switches of all segments are known, and all durations fit 64 bits in nanoseconds. */
static bool knows_cpu_times(const ttape_writer *w, const struct ttp_pending *p)
{
    const struct ttp_stream_state *streams = p->scope->stream_states.data;
    const struct ttp_segment *segments = p->segments.data;
    const struct ttp_frame *frames = p->start_frames.data;
    bool knows = w->timed && is_small(w, p->first_tick) && is_small(w, p->last_tick);
    for (size_t i = 0; i < p->segments.count && knows; i++)
        knows = streams[segments[i].stream].is_tracked && is_small(w, segments[i].base_tick);
    for (size_t i = 0; i < p->start_frames.count && knows; i++)
        knows = is_small(w, frames[i].enter_tick);
    return knows;
}

static ttape_status collect_measures(ttape_writer *w, struct ttp_pending *p, ttape_error *err)
{
    struct ttp_growing *touched = &p->scope->touched;
    const struct ttp_site_state *sites = p->scope->site_states.data;
    const uint32_t *ids = touched->data;
    if (touched->count != 0)
        qsort(touched->data, touched->count, sizeof *ids, compare_sites);
    TTP_TRY(ttp_grow(&w->allocator, &p->measures, sizeof(struct ttp_measure), touched->count, err));
    struct ttp_measure *rows = p->measures.data;
    bool is_tracked = knows_cpu_times(w, p);
    if (is_tracked)
        TTP_TRY(
            ttp_grow(&w->allocator, &p->cpu, sizeof(struct ttp_cpu_measure), touched->count, err));
    struct ttp_cpu_measure *cpus = p->cpu.data;
    for (size_t i = 0; i < touched->count; i++) {
        const struct ttp_site_state *s = &sites[ids[i]];
        struct ttp_cpu_measure cpu;
        rows[i] = (struct ttp_measure){.site = ids[i],
                                       .call_count = s->call_count,
                                       .exit_count = s->exit_count,
                                       .self_ticks = s->self_ticks,
                                       .total_ticks = s->total_ticks,
                                       .min_ticks = s->exit_count != 0 ? s->min_ticks : 0,
                                       .max_ticks = s->exit_count != 0 ? s->max_ticks : 0,
                                       .max_self_ticks = s->exit_count != 0 ? s->max_self_ticks : 0,
                                       .squares = s->squares};
        join_frames(w, p->scope, &rows[i], is_tracked ? &cpus[i] : &cpu);
    }
    p->cpu.count = is_tracked ? touched->count : 0;
    p->measures.count = touched->count;
    touched->count = 0;
    return TTAPE_OK;
}

static void reset_pending(struct ttp_pending *p)
{
    p->event_count = 0;
    p->stretches.count = p->segments.count = p->start_frames.count = p->start_symbols.count = 0;
    p->end_frames.count = p->wide.count = p->depths.count = p->valued.count = 0;
    p->ends.count = 0;
    p->opened_count = 0;
    p->has_ends = false;
    p->values.count = p->value_bytes.count = p->measures.count = 0;
    p->known.count = p->spans.count = p->span_counts.count = p->cpu.count = 0;
    memset(p->off_ns, 0, sizeof p->off_ns);
    p->sites_chunk.count = p->paths_chunk.count = p->value_names_chunk.count = 0;
    p->streams_chunk.count = p->metadata_chunk.count = 0;
    p->overview.bytes.count = 0;
    p->overview.is_due = false;
    for (uint32_t i = 0; i < TTP_OVERVIEW_LISTS; i++)
        p->overview.lists[i].count = 0;
    p->metadata_pairs = 0;
    p->gap_count = p->lost_count = 0;
    p->first_tick = INT64_MAX;
    p->last_tick = INT64_MIN;
}

static ttape_status emit_oldest(ttape_writer *w, ttape_error *err)
{
    struct ttp_job *job = &w->jobs[w->oldest_job];
    if (w->workers != NULL)
        ttp_workers_wait(w, job);
    w->oldest_job = (w->oldest_job + 1) % w->job_count;
    w->queued_jobs--;
    ttape_status status = job->status;
    if (status != TTAPE_OK && err != NULL)
        *err = job->error;
    if (status == TTAPE_OK)
        status = ttp_emit_job(w, job, err);
    reset_pending(&job->pending);
    job->state = TTP_JOB_FREE;
    return status;
}

ttape_status ttp_drain(ttape_writer *w, ttape_error *err)
{
    while (w->queued_jobs > 0)
        TTP_TRY(emit_oldest(w, err));
    return TTAPE_OK;
}

/* Hands the job over. A partition that becomes a model goes through alone: those behind it start
 * from it. */
static ttape_status submit(ttape_writer *w, struct ttp_job *job, ttape_error *err)
{
    bool model_due = ttp_model_due(w, &job->pending);
    w->model.age++;
    job->level = w->options.level;
    job->model = !model_due && w->model.ready && job->level > TTAPE_LEVEL_FAST ? &w->model : NULL;
    w->queued_jobs++;
    w->sealed_count++;
    if (w->workers == NULL)
        ttp_encode_job(w, job);
    else
        ttp_workers_submit(w, job);
    w->next_job = (w->next_job + 1) % w->job_count;
    if (w->queued_jobs == w->job_count || model_due)
        TTP_TRY(model_due ? ttp_drain(w, err) : emit_oldest(w, err));
    return model_due ? ttp_model_take(w, job, err) : TTAPE_OK;
}

/* F-END-03. Frames that were open before the recording are kept to the end, or end somewhen: how
 * long they were nobody knows. */
static bool has_ends(const struct ttp_pending *p)
{
    const struct ttp_segment *segments = p->segments.data;
    const struct ttp_frame *frames = p->start_frames.data;
    for (size_t i = 0; i < p->segments.count; i++) {
        const struct ttp_edge_state *start = &segments[i].start;
        for (uint32_t f = segments[i].kept; f < start->frame_count; f++)
            if (frames[start->frame_start + f].event_class == TTP_CLASS_OPEN)
                return true;
    }
    const struct ttp_frame *added = p->end_frames.data;
    uint64_t still_open = 0;
    for (size_t i = 0; i < p->end_frames.count; i++)
        still_open += added[i].event_class == TTP_CLASS_OPEN;
    return p->ends.count != 0 || p->opened_count != still_open;
}

ttape_status ttp_seal(ttape_writer *w, ttape_error *err)
{
    struct ttp_job *job = &w->jobs[w->next_job];
    struct ttp_pending *p = &job->pending;
    if (p->event_count == 0)
        return TTAPE_OK;
    struct ttp_stream_state *streams = p->scope->stream_states.data;
    struct ttp_segment *segments = p->segments.data;
    ttp_unload(w);
    for (size_t i = 0; i < p->segments.count; i++) {
        settle_frames(p->scope, &streams[segments[i].stream]);
        TTP_TRY(close_segment(w, p, &segments[i], &streams[segments[i].stream], err));
    }
    p->has_ends = has_ends(p);
    TTP_TRY(collect_measures(w, p, err));
    TTP_TRY(ttp_collect_switches(w, p, err));
    TTP_TRY(ttp_group_add(w, p, err));
    TTP_TRY(ttp_scope_collect(w, p->scope, p, err));
    p->symbol_total = p->scope->symbol_count;
    w->event_count += p->event_count;
    w->epoch++;
    job->status = TTAPE_OK;
    return submit(w, job, err);
}

void ttp_writer_rest(ttape_writer *w)
{
    for (uint32_t i = 0; w->queued_jobs == 0 && i < w->job_count; i++)
        if (w->jobs[i].pending.event_count == 0)
            ttp_job_free(w, &w->jobs[i]);
    ttp_grown_free(&w->allocator, &w->scratch);
}

void ttp_writer_share_memory(ttape_writer *w) { w->shares_memory = true; }
