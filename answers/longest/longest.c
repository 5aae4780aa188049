/* From options to an answer: partitions are decoded, the likeliest first, until none that is left
 * can hold a longer call. Where bounds are exact, each of the first `count` partitions has a call
 * as long as its bound, so no other is needed, and often fewer are. */
#include "answers/longest/longest_internal.h"

#include <string.h>

#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/cache/partition_jobs.h"
#include "reader/decoder_pool.h"
#include "reader/partition/summary_reader.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)
#define COUNT_DEFAULT        10u
#define COUNT_MOST           (1u << 20)
#define LOOKED_TIMES         3u /* callees of calls over partitions may be shorter than these */
#define OMITTED_TIMES        16u
#define OMITTED_MOST         65536u
#define BATCH_PARTITIONS     4u /* where bounds are not exact */

/* ---- options ---- */

static ttape_status take_options(ttape_longest_options *out, const ttape_longest_options *options,
                                 ttape_error *err)
{
    *out = (ttape_longest_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "longest calls", err));
    out->count = out->count != 0 ? out->count : COUNT_DEFAULT;
    out->memory_bytes = out->memory_bytes != 0 ? out->memory_bytes : MEMORY_BYTES_DEFAULT;
    if (out->by > TTAPE_LONGEST_BY_ON_CPU)
        return ttp_refuse(err, "no such measure of calls");
    if (out->count > COUNT_MOST)
        return ttp_refuse(err, "more calls than 2^20");
    if (out->without_callers && out->by != TTAPE_LONGEST_BY_DURATION)
        return ttp_refuse(err, "callers are left out by duration only");
    if (out->has_durations && out->least_ns > out->most_ns)
        return ttp_refuse(err, "the least duration is above the largest one");
    if (out->has_durations && out->without_callers)
        return ttp_refuse(err, "callers are left out of all durations only");
    TTP_TRY(ttp_check_range(out->has_range, out->from_ns, out->to_ns, err));
    return ttp_check_streams(out->streams, out->stream_count, err);
}

/* ---- what is looked for ---- */

static void *take_items(struct ttape_longest *l, uint32_t count, size_t item_bytes,
                        ttape_error *err)
{
    void *items = ttp_memory_take(&l->memory, count, item_bytes, err);
    if (items != NULL)
        memset(items, 0, count * item_bytes);
    return items;
}

static ttape_status mark_streams(struct ttape_longest *l, ttape_error *err)
{
    const ttape_longest_options *o = &l->options;
    uint32_t all = l->decoder->reader->definitions.stream_count;
    if (o->streams == NULL)
        return TTAPE_OK;
    l->streams = take_items(l, all, 1, err);
    if (l->streams == NULL)
        return l->memory.status;
    l->plan.streams = l->streams;
    return ttp_find_streams(o->streams, o->stream_count, all, l->streams, err);
}

/* Several callers of one call may be left out. */
static uint32_t omitted_capacity(uint32_t capacity)
{
    return capacity < OMITTED_MOST / OMITTED_TIMES ? OMITTED_TIMES * capacity : OMITTED_MOST;
}

static int64_t clamp(uint64_t ns) { return ns < INT64_MAX ? (int64_t)ns : INT64_MAX; }

static ttape_status make_plan(struct ttape_longest *l, uint32_t capacity, ttape_error *err)
{
    const ttape_longest_options *o = &l->options;
    uint32_t sites = l->decoder->reader->definitions.site_count,
             count = l->decoder->reader->partition_count;
    ttape_info info;
    ttape_reader_get_info(l->decoder->reader, &info);
    l->sites = take_items(l, sites, 1, err);
    l->bounds = l->sites != NULL ? take_items(l, count, sizeof *l->bounds, err) : NULL;
    l->rough = l->bounds != NULL ? take_items(l, count, sizeof *l->rough, err) : NULL;
    l->listed = l->rough != NULL ? take_items(l, count, sizeof *l->listed, err) : NULL;
    l->ceilings = l->listed != NULL ? take_items(l, count, sizeof *l->ceilings, err) : NULL;
    l->partitions = l->ceilings != NULL ? take_items(l, count, sizeof *l->partitions, err) : NULL;
    l->heap.calls =
        l->partitions != NULL ? take_items(l, capacity, sizeof *l->heap.calls, err) : NULL;
    if (l->heap.calls == NULL)
        return l->memory.status;
    l->heap.capacity = capacity;
    l->omitted.capacity = o->without_callers ? omitted_capacity(capacity) : 0;
    l->omitted.calls = take_items(l, l->omitted.capacity, sizeof *l->omitted.calls, err);
    if (l->omitted.calls == NULL)
        return l->memory.status;
    for (uint32_t site = 0; site < sites; site++)
        l->sites[site] = o->selects == NULL || o->selects(o->context, site);
    l->plan = (struct ttp_long_plan){.sites = l->sites,
                                     .has_range = o->has_range,
                                     .from_ns = o->from_ns,
                                     .to_ns = o->to_ns,
                                     .by = o->by,
                                     .names_only = o->names_only,
                                     .ended_only = o->ended_only,
                                     .without_callers = o->without_callers,
                                     .has_durations = o->has_durations,
                                     .least_ns = clamp(o->least_ns),
                                     .most_ns = clamp(o->most_ns),
                                     .start_ns = info.time_first_ns};
    return mark_streams(l, err);
}

/* ---- decoding ---- */

struct worker {
    struct ttp_memory memory;
    struct ttp_long_heap heap, omitted;
    struct ttp_long_paths paths;
    uint64_t decoded_count;
};

struct work {
    struct ttape_longest *l;
    struct worker *workers;
    bool has_listed; /* some of the partitions have calls in the heap */
};

static enum ttp_partition_wish wish(void *context, uint32_t worker, struct ttp_trace_decoder *d,
                                    const struct ttp_loaded *p)
{
    (void)context;
    (void)worker;
    (void)d;
    (void)p;
    return TTP_WISH_EVENTS;
}

static ttape_status walk_partition(void *context, uint32_t number, struct ttp_trace_decoder *d,
                                   const struct ttp_loaded *p, ttape_error *err)
{
    const struct work *work = context;
    struct worker *worker = &work->workers[number];
    const struct ttp_long_plan *plan = &work->l->plan;
    const struct ttp_segment_entry *segments =
        &d->reader->segments[d->reader->partitions[p->partition].first_segment];
    struct ttp_cpu_times cpu = {0};
    struct ttp_long_walk w = {.reader = work->l->reader,
                              .plan = plan,
                              .heap = &worker->heap,
                              .known = &work->l->heap,
                              .omitted = &worker->omitted,
                              .on_cpu = plan->by == TTAPE_LONGEST_BY_ON_CPU};
    w.paths = w.on_cpu ? NULL : &worker->paths;
    worker->paths.names_only = plan->names_only;
    ttp_long_paths_start(&worker->paths, d->reader, p);
    ttape_status status = ttp_long_walk_open(&w, &worker->memory, p, err);
    if (status == TTAPE_OK && w.on_cpu)
        status = ttp_longest_cpu_times(d, p, &cpu, err);
    w.start_off_ns = cpu.start_off_ns;
    for (uint32_t i = 0; status == TTAPE_OK && i < p->segments.segment_count; i++) {
        if ((plan->streams != NULL && plan->streams[segments[i].stream] == 0) ||
            (w.on_cpu && (p->switches.segment_count == 0 || p->switches.is_known[i] == 0)))
            continue;
        status = ttp_long_walk_segment(&w, i, err);
        if (status == TTAPE_OK && w.on_cpu && !work->l->options.ended_only &&
            ttp_longest_is_last(d->reader, p->partition, i))
            ttp_long_walk_left(&w);
    }
    ttp_cpu_times_drop(d, &cpu);
    ttp_long_walk_close(&w);
    ttp_long_paths_keep(&worker->paths, p, &worker->heap, &worker->memory);
    worker->decoded_count++;
    if (status == TTAPE_OK && work->l->listed[p->partition] == TTP_LONG_LISTED)
        work->l->listed[p->partition] = TTP_LONG_DECODED;
    return status;
}

static ttape_status damaged(void *context, uint32_t partition, const ttape_error *problem)
{
    const struct work *work = context;
    return ttp_longest_damaged(work->l, partition, problem);
}

/* Each worker starts with what is known: so it takes in only what may come into the answer. */
static ttape_status open_workers(struct work *work, uint32_t count, ttape_error *err)
{
    struct ttape_longest *l = work->l;
    uint64_t left = l->memory.limit_bytes - l->memory.used_bytes;
    for (uint32_t i = 0; i < count; i++) {
        struct worker *worker = &work->workers[i];
        ttp_memory_init(&worker->memory, &l->memory.allocator, left / 2 / count);
        worker->memory.hash_key = l->memory.hash_key;
        worker->heap = (struct ttp_long_heap){.capacity = l->heap.capacity};
        worker->heap.calls = ttp_memory_take(&worker->memory, worker->heap.capacity,
                                             sizeof *worker->heap.calls, err);
        worker->omitted = (struct ttp_long_heap){.capacity = l->omitted.capacity};
        worker->omitted.calls = ttp_memory_take(&worker->memory, worker->omitted.capacity,
                                                sizeof *worker->omitted.calls, err);
        if (worker->heap.calls == NULL || worker->omitted.calls == NULL)
            return worker->memory.status;
    }
    return TTAPE_OK;
}

static void take_in(struct ttape_longest *l, struct ttp_long_call *call)
{
    if (call->path != NULL && ttp_long_heap_wants(&l->heap, call->rank_ns, call->partition))
        call->path = ttp_longest_keep_path(l, call->path);
    else
        call->path = NULL;
    ttp_long_heap_add(&l->heap, call);
}

static void close_workers(struct work *work, uint32_t count)
{
    struct ttape_longest *l = work->l;
    if (work->has_listed)
        ttp_long_heap_unlist(&l->heap, l->listed);
    for (uint32_t i = 0; i < count; i++) {
        struct worker *worker = &work->workers[i];
        for (uint32_t c = 0; c < worker->heap.count; c++)
            take_in(l, &worker->heap.calls[c]);
        for (uint32_t c = 0; c < worker->omitted.count; c++)
            ttp_long_heap_add(&l->omitted, &worker->omitted.calls[c]);
        ttp_long_paths_close(&worker->paths, &worker->memory);
        if (worker->omitted.calls != NULL)
            ttp_memory_give(&worker->memory, worker->omitted.calls, worker->omitted.capacity,
                            sizeof *worker->omitted.calls);
        if (worker->heap.calls != NULL)
            ttp_memory_give(&worker->memory, worker->heap.calls, worker->heap.capacity,
                            sizeof *worker->heap.calls);
        l->info.decoded_count += worker->decoded_count;
    }
    ttp_memory_give(&l->memory, work->workers, count, sizeof *work->workers);
}

static ttape_status decode_partitions(struct ttape_longest *l, const uint32_t *partitions,
                                      uint32_t count, ttape_error *err)
{
    struct work work = {.l = l};
    const struct ttp_partition_work calls = {.context = &work,
                                             .decodes = true,
                                             .wish = wish,
                                             .events = walk_partition,
                                             .damaged = l->options.damage != NULL ? damaged : NULL};
    uint32_t workers = ttp_partition_workers(l->options.jobs, count);
    for (uint32_t i = 0; i < count; i++)
        work.has_listed = work.has_listed || l->listed[partitions[i]] != TTP_LONG_UNLISTED;
    work.workers = take_items(l, workers, sizeof *work.workers, err);
    if (work.workers == NULL)
        return l->memory.status;
    ttape_status status = open_workers(&work, workers, err);
    if (status == TTAPE_OK)
        status = ttp_partition_work(l->decoder, partitions, count, l->options.jobs, &calls, err);
    close_workers(&work, workers);
    return status;
}

/* A bound of INT64_MAX is none, one of own time or start an upper one. */
static bool is_exact(const struct ttape_longest *l, uint32_t partition)
{
    return l->plan.streams == NULL && !l->plan.has_range && !l->plan.has_durations &&
           l->bounds[partition] != INT64_MAX && l->plan.by == TTAPE_LONGEST_BY_DURATION;
}

/* As many as are decoded at the same time: the longest calls may be in fewer partitions than there
 * are such calls, and the next bound says when that is so. */
static uint32_t exact_batch(const struct ttape_longest *l)
{
    return l->options.jobs > 1 ? l->options.jobs : 1;
}

static ttape_status search(struct ttape_longest *l, ttape_error *err)
{
    uint32_t at = 0;
    while (at < l->partition_count) {
        const uint32_t *next = &l->partitions[at];
        uint32_t count = 0;
        uint32_t most = is_exact(l, *next) ? exact_batch(l) : BATCH_PARTITIONS;
        if (at < l->heap.capacity && l->heap.capacity - at < most)
            most = l->heap.capacity - at; /* by own times bounds are exact, where they are there */
        bool is_wanted = ttp_long_heap_wants(&l->heap, l->bounds[*next], *next);
        if (is_wanted && l->rough[*next] != TTP_LONG_FINE) {
            TTP_TRY(ttp_longest_refine(l, at, err));
            continue;
        }
        while (count < most && at + count < l->partition_count &&
               l->rough[next[count]] == TTP_LONG_FINE &&
               ttp_long_heap_wants(&l->heap, l->bounds[next[count]], next[count]))
            count++;
        if (count == 0)
            break;
        TTP_TRY(decode_partitions(l, next, count, err));
        at += count;
    }
    return TTAPE_OK;
}

static ttape_status find_longest(struct ttape_longest *l, uint32_t capacity, ttape_error *err)
{
    TTP_TRY(make_plan(l, capacity, err));
    TTP_TRY(ttp_longest_bounds(l, err));
    TTP_TRY(ttp_longest_add_open(l, err));
    TTP_TRY(search(l, err));
    ttp_long_heap_sort(&l->heap);
    l->is_full = l->heap.count == capacity;
    if (l->plan.without_callers)
        TTP_TRY(ttp_longest_leave_out(l, err));
    return ttp_longest_tell(l, err);
}

/* ---- public ---- */

/* So many calls are looked for, of which some may be left out. */
static ttape_status find_with(ttape_longest **out, ttape_reader *r,
                              const ttape_longest_options *taken, uint32_t capacity,
                              ttape_error *err)
{
    struct ttp_memory memory;
    ttp_memory_init(&memory, &r->memory.allocator, taken->memory_bytes);
    memory.hash_key = r->memory.hash_key;
    ttape_longest *l = ttp_memory_take(&memory, 1, sizeof *l, err);
    if (l == NULL)
        return memory.status;
    *l = (ttape_longest){
        .memory = memory, .reader = r, .decoder = &r->pool.first, .options = *taken};
    ttape_status status = ttp_decoder_take_watched(&r->pool, &l->decoder, taken->watch, err);
    if (status == TTAPE_OK) {
        status = find_longest(l, capacity, err);
        ttp_decoder_give(l->decoder);
    }

    l->options.streams = NULL;
    if (status != TTAPE_OK) {
        ttape_longest_close(l);
        return status;
    }
    *out = l;
    return TTAPE_OK;
}

ttape_status ttape_longest_find(ttape_longest **out, ttape_reader *r,
                                const ttape_longest_options *options, ttape_error *err)
{
    ttape_longest_options taken;
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    if (r == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&taken, options, err));
    taken.jobs = taken.jobs != 0 ? taken.jobs : r->jobs;
    uint32_t capacity = taken.count;
    while (taken.without_callers) {
        capacity = capacity < COUNT_MOST / LOOKED_TIMES ? LOOKED_TIMES * capacity : COUNT_MOST;
        TTP_TRY(find_with(out, r, &taken, capacity, err));
        if ((*out)->info.call_count == taken.count || !(*out)->is_full || capacity == COUNT_MOST)
            return TTAPE_OK;
        ttape_longest_close(*out);
        *out = NULL;
    }
    return find_with(out, r, &taken, capacity, err);
}

static void give_back(struct ttape_longest *l, void *items, uint32_t count, size_t item_bytes)
{
    if (items != NULL)
        ttp_memory_give(&l->memory, items, count, item_bytes);
}

void ttape_longest_close(ttape_longest *l)
{
    if (l == NULL)
        return;
    const ttape_reader *r = l->decoder->reader;
    ttp_longest_forget(l);
    give_back(l, l->sites, r->definitions.site_count, 1);
    give_back(l, l->streams, r->definitions.stream_count, 1);
    give_back(l, l->bounds, r->partition_count, sizeof *l->bounds);
    give_back(l, l->rough, r->partition_count, sizeof *l->rough);
    give_back(l, l->listed, r->partition_count, sizeof *l->listed);
    give_back(l, l->ceilings, r->partition_count, sizeof *l->ceilings);
    give_back(l, l->partitions, r->partition_count, sizeof *l->partitions);
    give_back(l, l->heap.calls, l->heap.capacity, sizeof *l->heap.calls);
    give_back(l, l->omitted.calls, l->omitted.capacity, sizeof *l->omitted.calls);
    struct ttp_memory memory = l->memory;
    ttp_memory_give(&memory, l, 1, sizeof *l);
}

void ttape_longest_get_info(const ttape_longest *l, ttape_longest_info *info) { *info = l->info; }

const ttape_longest_call *ttape_longest_get_calls(const ttape_longest *l, uint32_t *call_count)
{
    *call_count = l != NULL ? l->info.call_count : 0;
    return l != NULL ? l->calls : NULL;
}
