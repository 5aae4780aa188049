/* An overview is compared with what the reader knows of the partitions that it covers, which is
 * what the index says: none of them is read for it. */
#include "reader/levels/overview_reader.h"

#include "format/base/fail.h"

static ttape_status wrong(const char *rule, uint64_t offset, const char *what, ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_CORRUPT, rule, offset + TTP_CHUNK_HEADER_BYTES, "%s", what);
}

uint32_t ttp_overview_behind(const ttape_reader *r, uint32_t partition)
{
    uint32_t low = 0, high = r->overview_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (r->overviews[middle].end <= partition)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last partitions of the scope before the chunk, as many as it says, among the last `most` of
 * the file before it. */
static ttape_status find_partitions(const ttape_reader *r, const struct ttp_overview_chunk *chunk,
                                    uint32_t most, struct ttp_read_overview *o, ttape_error *err)
{
    struct ttp_overview_fact facts[TTP_OVERVIEW_PARTITIONS];
    uint32_t missing = o->head.partition_count;
    uint32_t first = chunk->end > most ? chunk->end - most : 0;
    for (uint32_t p = chunk->end; p-- > first && missing != 0;)
        if (r->partitions[p].scope == chunk->scope)
            o->partitions[--missing] = p;
    if (missing != 0)
        return wrong("F-OVR-02", chunk->offset, "an overview covers more than stands before it",
                     err);
    for (uint32_t i = 0; i < o->head.partition_count; i++) {
        const struct ttp_partition_entry *entry = &r->partitions[o->partitions[i]];
        facts[i] = (struct ttp_overview_fact){entry->event_count, entry->segment_count,
                                              entry->first_tick, entry->end_tick};
        o->event_count += entry->event_count;
        if (entry->damaged || entry->resolution_ns != o->head.resolution_ns)
            return wrong("F-OVR-03", chunk->offset, "an overview covers partitions of other times",
                         err);
    }
    if (ttp_overview_identity(facts, o->head.partition_count) != o->head.identity)
        return wrong("F-OVR-02", chunk->offset, "an overview is of other partitions", err);
    return TTAPE_OK;
}

/* Sums of many overviews, too, fit 64 bits then. */
static ttape_status check_counts(const struct ttp_read_overview *o, uint64_t offset,
                                 ttape_error *err)
{
    for (uint32_t i = 0; i < o->row_count; i++)
        if (o->rows[i].call_count > o->event_count || o->rows[i].exit_count > UINT32_MAX)
            return wrong("F-OVR-04", offset, "more calls than the partitions of an overview have",
                         err);
    return TTAPE_OK;
}

static ttape_status read_summary(struct ttp_trace_decoder *d,
                                 const struct ttp_overview_chunk *chunk,
                                 struct ttp_read_overview *o, ttape_error *err)
{
    const uint8_t *data = o->head.fields[TTP_OVERVIEW_SUMMARY].data;
    size_t size = o->head.fields[TTP_OVERVIEW_SUMMARY].size_bytes;
    uint32_t count;
    TTP_TRY(ttp_summary_count(data, size, &count, err));
    o->rows = ttp_memory_take(&d->memory, count, sizeof *o->rows, err);
    if (o->rows == NULL)
        return d->memory.status;
    o->row_count = count;
    TTP_TRY(ttp_summary_read(data, size, o->head.resolution_ns != 0, o->rows, count, err));
    return check_counts(o, chunk->offset, err);
}

static ttape_status read_cpu_times(struct ttp_trace_decoder *d, struct ttp_read_overview *o,
                                   ttape_error *err)
{
    const uint8_t *data = o->head.fields[TTP_OVERVIEW_CPU_TIMES].data;
    if (data == NULL)
        return TTAPE_OK;
    o->cpu.row_count = o->row_count;
    o->cpu.rows = ttp_memory_take(&d->memory, o->row_count, sizeof *o->cpu.rows, err);
    if (o->cpu.rows == NULL)
        return d->memory.status;
    return ttp_cpu_times_read(data, o->head.fields[TTP_OVERVIEW_CPU_TIMES].size_bytes, o->rows,
                              o->head.resolution_ns, &o->cpu, err);
}

static ttape_status read_calls(struct ttp_trace_decoder *d, struct ttp_read_overview *o,
                               ttape_error *err)
{
    if (o->head.fields[TTP_OVERVIEW_CALLS].data != NULL) {
        o->calls = ttp_memory_take(&d->memory, o->row_count, sizeof *o->calls, err);
        if (o->calls == NULL)
            return d->memory.status;
        TTP_TRY(ttp_overview_calls_read(&o->head, o->rows, o->row_count, o->calls, err));
    }
    uint32_t count;
    TTP_TRY(ttp_overview_leaf_count(&o->head, &count, err));
    o->leaves = ttp_memory_take(&d->memory, count, sizeof *o->leaves, err);
    if (o->leaves == NULL)
        return d->memory.status;
    o->leaf_count = count;
    return ttp_overview_leaves_read(&o->head, count, o->leaves, err);
}

static ttape_status load_overview(struct ttp_trace_decoder *d,
                                  const struct ttp_overview_chunk *place,
                                  enum ttp_overview_depth depth, uint32_t most,
                                  struct ttp_read_overview *o, ttape_error *err)
{
    struct ttp_chunk chunk;
    TTP_TRY(ttp_reader_chunk(d->reader, place->offset, &chunk, err));
    if (chunk.flags != 0)
        return wrong("F-OVR-01", place->offset, "an overview has flags", err);
    TTP_TRY(ttp_reader_content(d, place->offset, &chunk, &o->content, &o->content_bytes, err));
    TTP_TRY(ttp_overview_open(o->content, o->content_bytes, &o->head, err));
    TTP_TRY(find_partitions(d->reader, place, most, o, err));
    if (depth == TTP_OVERVIEW_BARE)
        return TTAPE_OK;
    TTP_TRY(read_summary(d, place, o, err));
    TTP_TRY(read_cpu_times(d, o, err));
    return depth == TTP_OVERVIEW_ALL ? read_calls(d, o, err) : TTAPE_OK;
}

ttape_status ttp_overview_load(struct ttp_trace_decoder *d, uint32_t number,
                               enum ttp_overview_depth depth, uint32_t most,
                               struct ttp_read_overview *out, ttape_error *err)
{
    *out = (struct ttp_read_overview){0};
    ttape_status status = load_overview(d, &d->reader->overviews[number], depth, most, out, err);
    if (status == TTAPE_OK)
        return TTAPE_OK;
    if (err != NULL && err->offset < d->reader->overviews[number].offset)
        err->offset = d->reader->overviews[number].offset + TTP_CHUNK_HEADER_BYTES;
    ttp_overview_drop(d, out);
    return status;
}

/* As for a partition: in nanoseconds, too, the least is the least. */
static bool durations_fit(const struct ttp_read_overview *o)
{
    uint64_t step = o->head.resolution_ns;
    int64_t most = step > 1 ? (int64_t)((uint64_t)INT64_MAX / step) : INT64_MAX;
    for (uint32_t i = 0; i < o->row_count; i++)
        if (o->rows[i].min_ticks < -most || o->rows[i].max_ticks > most)
            return false;
    return true;
}

static bool sites_are_defined(const ttape_reader *r, uint32_t scope,
                              const struct ttp_read_overview *o)
{
    for (uint32_t i = 0; i < o->row_count; i++)
        if (ttp_definitions_find(&r->definitions, scope, TTP_DEFINES_SITES, o->rows[i].site) ==
            TTAPE_NONE)
            return false;
    return true;
}

bool ttp_overview_tells(const ttape_reader *r, uint32_t scope, const struct ttp_read_overview *o,
                        const uint8_t *covered)
{
    for (uint32_t i = 0; i < o->head.partition_count; i++)
        if (covered[o->partitions[i]] != 0)
            return false;
    return durations_fit(o) && sites_are_defined(r, scope, o);
}

void ttp_overview_drop(struct ttp_trace_decoder *d, struct ttp_read_overview *o)
{
    struct ttp_memory *m = &d->memory;
    ttp_memory_give(m, o->rows, o->row_count, sizeof *o->rows);
    ttp_memory_give(m, o->cpu.rows, o->row_count, sizeof *o->cpu.rows);
    ttp_memory_give(m, o->calls, o->row_count, sizeof *o->calls);
    ttp_memory_give(m, o->leaves, o->leaf_count, sizeof *o->leaves);
    ttp_memory_give(m, o->content, o->content_bytes, 1);
    *o = (struct ttp_read_overview){0};
}
