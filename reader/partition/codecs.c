/* Forms by section kind. Codecs take a workspace and keep nothing. */
#include "reader/partition/codecs.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/chain/chain_decode.h"
#include "format/order/literal.h"
#include "format/order/raw_order.h"
#include "format/times/raw_times.h"
#include "format/times/time_mix.h"
#include "format/times/time_static.h"
#include "reader/partition/model_reader.h"

#define TWO_THREAD_BLOCKS 4u /* fewer are not worth a thread */

/* One or two sections and a workspace. */
struct job {
    struct ttp_content content[2];
    struct ttp_workspace workspace;
};

static struct ttp_bytes bytes_of(const struct ttp_content *c)
{
    return (struct ttp_bytes){c->data, c->size_bytes};
}

static void job_free(struct ttp_trace_decoder *d, struct job *job)
{
    ttp_content_close(d, &job->content[0]);
    ttp_content_close(d, &job->content[1]);
    ttp_memory_give(&d->memory, job->workspace.memory, job->workspace.size, 1);
}

static ttape_status job_open(struct ttp_trace_decoder *d, struct ttp_loaded *p, uint16_t kind,
                             unsigned sections, size_t workspace_bytes, struct job *job,
                             ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    *job = (struct job){.workspace.size = (size_t)ttp_scratch_bytes(&d->memory, workspace_bytes)};
    for (unsigned i = 0; status == TTAPE_OK && i < sections; i++)
        status = ttp_content_open(d, p, ttp_partition_section(&p->head, (uint16_t)(kind + i)),
                                  &job->content[i], err);
    if (status == TTAPE_OK) {
        job->workspace.memory = ttp_memory_take(&d->memory, job->workspace.size, 1, err);
        status = job->workspace.memory == NULL ? d->memory.status : TTAPE_OK;
    }
    if (status != TTAPE_OK)
        job_free(d, job);
    return status;
}

/* Of the form with chains. Only what is in use from the start of its workspace is in huge pages. */
static ttape_status chain_job_open(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   const struct ttp_order_out *out,
                                   const struct ttp_chain_primer *primer, size_t workspace_bytes,
                                   struct job *job, ttape_error *err)
{
    size_t dense = ttp_chain_decode_dense(out->event_count, out->symbol_capacity,
                                          out->open_start[out->segment_count], primer);
    TTP_TRY(job_open(d, p, TTP_SECTION_CHAIN_HEADER, 2, workspace_bytes, job, err));
    ttp_memory_small_pages(&d->memory, job->workspace.memory, job->workspace.size, dense);
    return TTAPE_OK;
}

/* The end, with what the codec returned. A codec counts in one section; of two only its message
 * tells which: then the offset is the first byte of both. */
static ttape_status job_close(struct ttp_trace_decoder *d, struct job *job, ttape_status status,
                              ttape_error *err)
{
    if (status != TTAPE_OK && job->content[1].section == NULL)
        ttp_content_rebase(&job->content[0], err);
    else if (status != TTAPE_OK && err != NULL && err->offset != TTAPE_ERROR_NO_OFFSET)
        err->offset = job->content[0].offset;
    job_free(d, job);
    return status;
}

/* The snapshot that the partition's order starts from, or NULL. */
static ttape_status primer_of(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                              const struct ttp_chain_primer **primer, ttape_error *err)
{
    const struct ttp_loaded *model;
    *primer = NULL;
    if (p->head.model == TTP_NO_MODEL)
        return TTAPE_OK;
    TTP_TRY(ttp_model_get(d, p->partition, p->head.model, &model, err));
    *primer = model->snapshot;
    return TTAPE_OK;
}

static ttape_status chain_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                struct ttp_order_out *out, ttape_error *err)
{
    struct job job;
    const struct ttp_chain_primer *primer;
    TTP_TRY(primer_of(d, p, &primer, err));
    size_t workspace = ttp_chain_decode_workspace(out->event_count, out->symbol_capacity,
                                                  out->open_start[out->segment_count], primer);
    TTP_TRY(chain_job_open(d, p, out, primer, workspace, &job, err));
    ttape_status status = ttp_chain_decode(out, primer, bytes_of(&job.content[0]),
                                           bytes_of(&job.content[1]), job.workspace, err);
    return job_close(d, &job, status, err);
}

ttape_status ttp_codecs_calls(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              struct ttp_order_out *out, struct ttp_chain_call_sink to,
                              ttape_error *err)
{
    struct job job;
    const struct ttp_chain_primer *primer;
    TTP_TRY(primer_of(d, p, &primer, err));
    size_t workspace = ttp_chain_calls_workspace(out->event_count, out->symbol_capacity,
                                                 out->open_start[out->segment_count], primer);
    TTP_TRY(chain_job_open(d, p, out, primer, workspace, &job, err));
    ttape_status status = ttp_chain_calls(out, primer, bytes_of(&job.content[0]),
                                          bytes_of(&job.content[1]), job.workspace, to, err);
    return job_close(d, &job, status, err);
}

static ttape_status list_literal(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 struct ttp_order_out *out, struct ttp_order_chain_sink to,
                                 ttape_error *err)
{
    struct job job;
    size_t workspace = ttp_literal_list_workspace(out->event_count);
    TTP_TRY(job_open(d, p, TTP_SECTION_LITERAL_HEADER, 2, workspace, &job, err));
    ttape_status status = ttp_literal_list(out, bytes_of(&job.content[0]),
                                           bytes_of(&job.content[1]), job.workspace, to, err);
    return job_close(d, &job, status, err);
}

ttape_status ttp_codecs_chains(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                               struct ttp_order_out *out, struct ttp_order_chain_sink to,
                               ttape_error *err)
{
    struct job job;
    const struct ttp_chain_primer *primer;
    if (ttp_partition_section(&p->head, TTP_SECTION_LITERAL_HEADER) != NULL)
        return list_literal(d, p, out, to, err);
    *to.chained_count = 0;
    out->symbol_count = p->symbol_count;
    if (ttp_partition_section(&p->head, TTP_SECTION_CHAIN_HEADER) == NULL)
        return TTAPE_OK;
    TTP_TRY(primer_of(d, p, &primer, err));
    size_t workspace = ttp_chain_calls_workspace(out->event_count, out->symbol_capacity,
                                                 out->open_start[out->segment_count], primer);
    TTP_TRY(chain_job_open(d, p, out, primer, workspace, &job, err));
    ttape_status status = ttp_chain_list(out, primer, bytes_of(&job.content[0]),
                                         bytes_of(&job.content[1]), job.workspace, to, err);
    return job_close(d, &job, status, err);
}

/* A model's order leaves a snapshot for others to start from. */
static ttape_status model_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                struct ttp_order_out *out, ttape_error *err)
{
    struct job job;
    size_t workspace = ttp_chain_prime_workspace(out->event_count, out->symbol_capacity,
                                                 out->open_start[out->segment_count]);
    p->snapshot_capacity = ttp_chain_prime_capacity(out->event_count, out->symbol_capacity);
    p->snapshot = ttp_memory_take(&d->memory, p->snapshot_capacity, 1, err);
    if (p->snapshot == NULL)
        return d->memory.status;
    struct ttp_buffer snapshot = {p->snapshot, p->snapshot_capacity, 0};
    TTP_TRY(chain_job_open(d, p, out, NULL, workspace, &job, err));
    ttape_status status = ttp_chain_prime(out, bytes_of(&job.content[0]), bytes_of(&job.content[1]),
                                          job.workspace, &snapshot, err);
    return job_close(d, &job, status, err);
}

static ttape_status literal_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                  struct ttp_order_out *out, ttape_error *err)
{
    struct job job;
    size_t workspace = ttp_literal_decode_workspace(out->event_count);
    TTP_TRY(job_open(d, p, TTP_SECTION_LITERAL_HEADER, 2, workspace, &job, err));
    ttape_status status = ttp_literal_decode(out, bytes_of(&job.content[0]),
                                             bytes_of(&job.content[1]), job.workspace, err);
    return job_close(d, &job, status, err);
}

static ttape_status raw_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              struct ttp_order_out *out, ttape_error *err)
{
    struct job job;
    TTP_TRY(job_open(d, p, TTP_SECTION_ORDER_RAW, 1, 0, &job, err));
    ttape_status status =
        ttp_raw_order_decode(job.content[0].data, job.content[0].size_bytes, out, err);
    return job_close(d, &job, status, err);
}

ttape_status ttp_codecs_order(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              struct ttp_order_out *out, ttape_error *err)
{
    if (p->is_model)
        return model_order(d, p, out, err);
    if (ttp_partition_section(&p->head, TTP_SECTION_CHAIN_HEADER) != NULL)
        return chain_order(d, p, out, err);
    if (ttp_partition_section(&p->head, TTP_SECTION_LITERAL_HEADER) != NULL)
        return literal_order(d, p, out, err);
    return raw_order(d, p, out, err);
}

/* ---- times ---- */

ttape_status ttp_codecs_times_open(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                   ttape_error *err)
{
    static const uint16_t kinds[] = {TTP_SECTION_TIMES_STATIC, TTP_SECTION_TIMES_MIX,
                                     TTP_SECTION_TIMES_PHASE};
    uint16_t kind = TTP_SECTION_TIMES_RAW;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ttp_partition_section(&p->head, kinds[i]) != NULL)
            kind = kinds[i];
    return ttp_content_open(d, p, ttp_partition_section(&p->head, kind), &p->times, err);
}

ttape_status ttp_codecs_times_directory(const struct ttp_loaded *p, int64_t *ticks,
                                        const char **rule, ttape_error *err)
{
    const struct ttp_content *c = &p->times;
    uint32_t events = p->head.event_count;
    ttape_status status;
    switch (c->section->kind) {
    case TTP_SECTION_TIMES_STATIC:
        *rule = "T-STA-15";
        status = ttp_time_static_directory(events, ticks, c->data, c->size_bytes, err);
        break;
    case TTP_SECTION_TIMES_MIX:
        *rule = "T-MIX-03";
        status = ttp_time_mix_directory(events, ticks, c->data, c->size_bytes, err);
        break;
    case TTP_SECTION_TIMES_PHASE:
        *rule = "T-MIX-03";
        status = ttp_time_phase_directory(events, ticks, c->data, c->size_bytes, err);
        break;
    default:
        *rule = "T-RAW-03";
        status = ttp_raw_times_directory(events, ticks, c->data, c->size_bytes, err);
    }
    if (status != TTAPE_OK)
        ttp_content_rebase(c, err);
    return status;
}

static size_t workspace_needed(const struct ttp_loaded *p)
{
    switch (p->times.section->kind) {
    case TTP_SECTION_TIMES_STATIC:
        return ttp_time_static_decode_workspace(p->head.event_count, p->symbol_count);
    case TTP_SECTION_TIMES_MIX:
        return ttp_time_mix_decode_workspace(p->head.event_count, p->symbol_count);
    case TTP_SECTION_TIMES_PHASE:
        return ttp_time_phase_decode_workspace(p->head.event_count, p->symbol_count);
    default: return 0;
    }
}

static size_t times_workspace(const ttape_reader *r, const struct ttp_loaded *p)
{
    return (size_t)ttp_scratch_bytes(&r->memory, workspace_needed(p));
}

void ttp_codecs_times_close(struct ttp_trace_decoder *d, struct ttp_loaded *p)
{
    if (p->times_decoder != NULL)
        ttp_memory_give(&d->memory, p->times_decoder, times_workspace(d->reader, p), 1);
    p->times_decoder = NULL;
    ttp_content_close(d, &p->times);
}

/* Some blocks of the raw form; all of them together can be checked better. */
static ttape_status raw_times(const struct ttp_content *c, struct ttp_times *io, uint32_t first,
                              uint32_t end, ttape_error *err)
{
    struct ttp_times rest = *io;
    int64_t ticks;
    if (first == 0 && (uint64_t)end * TTP_TIME_BLOCK_EVENTS >= io->event_count)
        return ttp_raw_times_decode(c->data, c->size_bytes, io, err);
    io->wide_count = 0;
    for (uint32_t b = first; b < end; b++) {
        rest.wide = io->wide + io->wide_count;
        rest.wide_capacity = io->wide_capacity - io->wide_count;
        TTP_TRY(ttp_raw_times_decode_block(c->data, c->size_bytes, b, &rest, &ticks, err));
        io->wide_count += rest.wide_count;
    }
    return TTAPE_OK;
}

/* The second half of some blocks, on another thread. */
struct half {
    struct ttp_times io;
    const void *decoder;
    uint8_t *scratch;
    uint32_t first, count;
    ttape_status status;
};

static void decode_half(void *context)
{
    struct half *h = context;
    h->status =
        ttp_time_static_blocks_beside(&h->io, h->first, h->count, h->decoder, h->scratch, NULL);
}

static bool decode_halves(const struct ttp_loaded *p, struct ttp_times *io, uint32_t first,
                          struct half *h)
{
    struct ttp_task task;
    ttp_task_begin(&task, decode_half, h);
    ttape_status status =
        ttp_time_static_blocks(io, first, h->first - first, p->times_decoder, NULL);
    ttp_task_end(&task);
    if (status != TTAPE_OK || h->status != TTAPE_OK ||
        h->io.wide_count > io->wide_capacity - io->wide_count)
        return false;
    if (h->io.wide_count != 0)
        memcpy(io->wide + io->wide_count, h->io.wide, h->io.wide_count * sizeof *io->wide);
    io->wide_count += h->io.wide_count;
    return true;
}

/* False: not done, whatever the reason; one after the other will tell. */
static bool decode_on_two(struct ttp_trace_decoder *d, const struct ttp_loaded *p,
                          struct ttp_times *io, uint32_t first, uint32_t end)
{
    struct ttp_memory *m = &d->memory;
    uint32_t middle = first + (end - first) / 2;
    struct half h = {
        .io = *io, .decoder = p->times_decoder, .first = middle, .count = end - middle};
    if (d->jobs < 2 || end - first < TWO_THREAD_BLOCKS)
        return false;
    bool done = false;
    h.scratch = ttp_memory_take(m, ttp_time_static_scratch_bytes(), 1, NULL);
    h.io.wide = ttp_memory_take(m, io->wide_capacity, sizeof *io->wide, NULL);
    if (h.scratch != NULL && h.io.wide != NULL)
        done = decode_halves(p, io, first, &h);
    ttp_memory_give(m, h.io.wide, io->wide_capacity, sizeof *io->wide);
    ttp_memory_give(m, h.scratch, ttp_time_static_scratch_bytes(), 1);
    return done;
}

static ttape_status static_times(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                                 struct ttp_times *io, uint32_t first, uint32_t end, bool opened,
                                 ttape_error *err)
{
    const struct ttp_workspace workspace = {p->times_decoder, times_workspace(d->reader, p)};
    if (!opened)
        TTP_TRY(ttp_time_static_open(io, bytes_of(&p->times), workspace, err));
    if (decode_on_two(d, p, io, first, end))
        return TTAPE_OK;
    return ttp_time_static_blocks(io, first, end - first, p->times_decoder, err);
}

static void open_static(void *context)
{
    struct ttp_times_opening *o = context;
    o->status = ttp_time_static_open(&o->io, bytes_of(o->content), o->workspace, NULL);
}

static bool prepare_opening(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                            struct ttp_times_opening *o)
{
    *o = (struct ttp_times_opening){.content = &p->times};
    if (p->delta == NULL || p->times_decoder != NULL ||
        p->times.section->kind != TTP_SECTION_TIMES_STATIC ||
        p->head.event_count < TWO_THREAD_BLOCKS * TTP_TIME_BLOCK_EVENTS)
        return false;
    o->io = (struct ttp_times){.codes = p->codes,
                               .segment_start = p->segment_start,
                               .event_count = p->head.event_count,
                               .segment_count = p->segments.segment_count,
                               .symbol_count = p->symbol_count};
    o->workspace.size = times_workspace(d->reader, p);
    o->workspace.memory = ttp_memory_take(&d->memory, o->workspace.size, 1, NULL);
    return o->workspace.memory != NULL;
}

static void finish_opening(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                           struct ttp_times_opening *o)
{
    if (o->status == TTAPE_OK)
        p->times_decoder = o->workspace.memory;
    else
        ttp_memory_give(&d->memory, o->workspace.memory, o->workspace.size, 1);
}

void ttp_codecs_times_ready(struct ttp_trace_decoder *d, struct ttp_loaded *p)
{
    struct ttp_times_opening o;
    if (!prepare_opening(d, p, &o))
        return;
    open_static(&o);
    finish_opening(d, p, &o);
}

void ttp_codecs_times_begin(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                            struct ttp_times_opening *o)
{
    o->workspace.memory = NULL;
    if (d->jobs >= 2 && prepare_opening(d, p, o))
        ttp_task_begin(&o->task, open_static, o);
}

void ttp_codecs_times_end(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                          struct ttp_times_opening *o)
{
    if (o->workspace.memory == NULL)
        return;
    ttp_task_end(&o->task);
    finish_opening(d, p, o);
}

ttape_status ttp_codecs_times(struct ttp_trace_decoder *d, struct ttp_loaded *p,
                              struct ttp_times *io, uint32_t first, uint32_t end, ttape_error *err)
{
    const struct ttp_content *c = &p->times;
    size_t bytes = times_workspace(d->reader, p);
    bool opened = p->times_decoder != NULL;
    ttape_status status;
    if (!opened)
        p->times_decoder = ttp_memory_take(&d->memory, bytes, 1, err);
    if (p->times_decoder == NULL)
        return d->memory.status;
    if (c->section->kind == TTP_SECTION_TIMES_STATIC)
        status = static_times(d, p, io, first, end, opened, err);
    else if (c->section->kind == TTP_SECTION_TIMES_PHASE)
        status = ttp_time_phase_decode(io, first, end - first, bytes_of(c),
                                       (struct ttp_workspace){p->times_decoder, bytes}, err);
    else if (c->section->kind == TTP_SECTION_TIMES_MIX)
        status = ttp_time_mix_decode(io, first, end - first, bytes_of(c),
                                     (struct ttp_workspace){p->times_decoder, bytes}, err);
    else
        status = raw_times(c, io, first, end, err);
    if (status == TTAPE_OK)
        return TTAPE_OK;
    ttp_content_rebase(c, err);
    ttp_memory_give(&d->memory, p->times_decoder, bytes, 1);
    p->times_decoder = NULL;
    return status;
}

bool ttp_codecs_times_from_start(const struct ttp_loaded *p)
{
    return p->times.section->kind == TTP_SECTION_TIMES_MIX ||
           p->times.section->kind == TTP_SECTION_TIMES_PHASE;
}
