/* Opening and closing: by the index where there is one that holds, by a scan otherwise. */
#include <string.h>

#include "base/sort.h"
#include "format/base/bytes.h"
#include "format/base/fail.h"
#include "format/base/limits.h"
#include "format/base/sized.h"
#include "reader/decoder_pool.h"
#include "reader/reader_internal.h"

#define DEFAULT_MEMORY_BYTES (256ull << 20)
#define DEFAULT_CACHE_BYTES  (64ull << 20)

static ttape_status copy_options(ttape_reader_options *out, const ttape_reader_options *options,
                                 ttape_error *err)
{
    if (options->size < sizeof options->size)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "reader options without their size");
    TTP_TRY(ttp_take_sized(out, sizeof *out, options, "reader", err));
    return ttp_check_reserved(out->limits.reserved, 2, "limit", err);
}

static void limit_default(uint32_t *limit, uint32_t most)
{
    if (*limit == 0 || *limit > most)
        *limit = most;
}

ttape_status ttp_reader_options(ttape_reader_options *out, const ttape_reader_options *options,
                                ttape_error *err)
{
    memset(out, 0, sizeof *out);
    if (options != NULL)
        TTP_TRY(copy_options(out, options, err));
    out->size = sizeof *out;
    if (out->limits.memory_bytes == 0)
        out->limits.memory_bytes = DEFAULT_MEMORY_BYTES;
    if (out->cache_bytes == 0)
        out->cache_bytes = DEFAULT_CACHE_BYTES;
    limit_default(&out->limits.partition_events, TTP_MAX_PARTITION_EVENTS);
    limit_default(&out->limits.site_count, TTP_MAX_SITES);
    limit_default(&out->limits.stream_count, TTP_MAX_STREAMS);
    limit_default(&out->limits.partition_count, 16777216u);
    if (out->limits.string_bytes == 0)
        out->limits.string_bytes = TTP_MAX_STRING_BYTES;
    return TTAPE_OK;
}

ttape_status ttp_reader_create(ttape_reader **out, const ttape_source *source,
                               const ttape_reader_options *options, ttape_error *err)
{
    ttape_reader_options full;
    struct ttp_memory memory;
    TTP_TRY(ttp_reader_options(&full, options, err));
    ttp_memory_init(&memory, full.allocator, full.limits.memory_bytes);
    ttape_reader *r = ttp_memory_take(&memory, 1, sizeof *r, err);
    if (r == NULL)
        return memory.status;
    ttp_memory_keep(&memory);
    *r = (ttape_reader){.source = *source,
                        .account = {.limit_bytes = memory.limit_bytes},
                        .memory = memory,
                        .limits = full.limits,
                        .ignore_index = full.ignore_index,
                        .start_ns = full.start_ns,
                        .jobs = full.jobs};
    r->memory.account = &r->account;
    atomic_init(&r->account.used_bytes, memory.used_bytes);
    ttape_status status = ttp_pool_open(r, full.cache_bytes, err);
    if (status != TTAPE_OK) {
        ttp_memory_give(&memory, r, 1, sizeof *r);
        ttp_memory_close(&memory);
        return status;
    }
    ttp_definitions_init(&r->definitions, &r->memory, &r->limits);
    *out = r;
    return TTAPE_OK;
}

void ttp_reader_forget(ttape_reader *r)
{
    struct ttp_memory *m = &r->memory;
    ttp_pool_clear(r, true);
    ttp_definitions_reset(&r->definitions);
    ttp_memory_give(m, r->stream_first, r->indexed_streams + 1ull, sizeof *r->stream_first);
    ttp_memory_give(m, r->stream_segments, r->indexed_segments, sizeof *r->stream_segments);
    r->stream_first = r->stream_segments = NULL;
    r->indexed_streams = r->indexed_segments = 0;
    r->partition_count = r->segment_count = r->model_count = r->damaged_count = 0;
    r->overview_count = 0;
    r->chunk_count = r->unknown_chunk_count = r->sites_bytes = r->models_bytes = 0;
    r->truncated_at = 0;
    r->by_index = r->complete = r->truncated = false;
}

void ttape_reader_close(ttape_reader *r)
{
    if (r == NULL)
        return;
    ttp_pool_close(r); /* its threads first */
    ttp_reader_forget(r);
    struct ttp_memory m = r->memory;
    m.account = NULL;
    ttp_memory_give(&m, r->partitions, r->partition_capacity, sizeof *r->partitions);
    ttp_memory_give(&m, r->segments, r->segment_capacity, sizeof *r->segments);
    ttp_memory_give(&m, r->models, r->model_capacity, sizeof *r->models);
    ttp_memory_give(&m, r->overviews, r->overview_capacity, sizeof *r->overviews);
    if (r->owns_source)
        ttape_source_file_close(&r->source);
    ttp_memory_give(&m, r, 1, sizeof *r);
    ttp_memory_close(&m);
}

static bool segment_less(const void *context, uint32_t a, uint32_t b)
{
    const struct ttp_segment_entry *segments = context;
    if (segments[a].first_event != segments[b].first_event)
        return segments[a].first_event < segments[b].first_event;
    return a < b;
}

/* Counting sort by stream keeps file order, which is the order of numbers in every sound file. */
ttape_status ttp_reader_link_segments(ttape_reader *r, ttape_error *err)
{
    struct ttp_memory *m = &r->memory;
    uint32_t streams = r->definitions.stream_count;
    ttp_memory_give(m, r->stream_first, r->indexed_streams + 1ull, sizeof *r->stream_first);
    ttp_memory_give(m, r->stream_segments, r->indexed_segments, sizeof *r->stream_segments);
    r->stream_segments = NULL;
    r->indexed_streams = streams;
    r->indexed_segments = r->segment_count;
    ttp_memory_keep_for(m, r->partition_count);
    r->stream_first = ttp_memory_take(m, streams + 1ull, sizeof *r->stream_first, err);
    if (r->stream_first == NULL)
        return m->status;
    r->stream_segments = ttp_memory_take(m, r->segment_count, sizeof *r->stream_segments, err);
    if (r->stream_segments == NULL)
        return m->status;
    memset(r->stream_first, 0, ((size_t)streams + 1) * sizeof *r->stream_first);
    for (uint32_t i = 0; i < r->segment_count; i++)
        r->stream_first[r->segments[i].stream]++;
    uint32_t start = 0;
    for (uint32_t s = 0; s <= streams; s++) {
        start += r->stream_first[s];
        r->stream_first[s] = start;
    }
    for (uint32_t i = r->segment_count; i-- > 0;)
        r->stream_segments[--r->stream_first[r->segments[i].stream]] = i;
    for (uint32_t s = 0; s < streams; s++)
        ttp_sort(r->stream_segments + r->stream_first[s],
                 r->stream_first[s + 1] - r->stream_first[s], segment_less, r->segments);
    return TTAPE_OK;
}

uint32_t ttp_segments_up_to(const ttape_reader *r, uint32_t stream, uint64_t event)
{
    uint32_t low = 0, high = r->stream_first[stream + 1] - r->stream_first[stream];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ttp_stream_segment(r, stream, middle)->first_event <= event)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ttape_status ttp_stream_numbers(ttape_reader *r, uint64_t **numbers, uint32_t *capacity,
                                ttape_error *err)
{
    uint32_t before = *numbers == NULL ? 0 : *capacity;
    TTP_TRY(ttp_memory_reserve(&r->memory, numbers, capacity, r->definitions.stream_count + 1ull,
                               sizeof **numbers, err));
    if (*capacity > before)
        memset(*numbers + before, 0, (*capacity - before) * sizeof **numbers);
    return TTAPE_OK;
}

static bool worth_a_scan(ttape_status status)
{
    return status != TTAPE_OK && status != TTAPE_E_MEMORY && status != TTAPE_E_IO;
}

static ttape_status open_partitions(ttape_reader *r, ttape_error *err)
{
    uint8_t header[TTP_FILE_HEADER_BYTES];
    size_t have =
        r->source.size_bytes < sizeof header ? (size_t)r->source.size_bytes : sizeof header;
    TTP_TRY(ttp_source_read(&r->source, 0, header, have, err));
    TTP_TRY(ttp_file_header_read(header, have, &r->header, err));
    ttape_status status = TTAPE_E_CORRUPT;
    if (!r->ignore_index)
        status = ttp_reader_read_index(r, err);
    if (r->ignore_index || worth_a_scan(status)) {
        ttp_reader_forget(r);
        status = ttp_reader_scan(r, err);
    }
    if (status != TTAPE_OK)
        return status;
    TTP_TRY(ttp_definitions_settle(&r->definitions, err));
    if (r->complete)
        TTP_TRY(ttp_definitions_check(&r->definitions, err));
    return ttp_reader_link_segments(r, err);
}

ttape_status ttape_reader_open(ttape_reader **out, const ttape_source *source,
                               const ttape_reader_options *options, ttape_error *err)
{
    ttape_reader *r = NULL;
    if (out == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no place for a reader");
    *out = NULL;
    if (source == NULL || source->read_at == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no source to read from");
    TTP_TRY(ttp_reader_create(&r, source, options, err));
    /* What a successful open met on its way (a wrong index, a torn tail) is no error of the
     * caller's. */
    ttape_error problem = {0};
    ttape_status status = open_partitions(r, &problem);
    if (status != TTAPE_OK) {
        if (err != NULL)
            *err = problem;
        ttape_reader_close(r);
        return status;
    }
    *out = r;
    return TTAPE_OK;
}

ttape_status ttape_reader_open_path(ttape_reader **out, const char *path,
                                    const ttape_reader_options *options, ttape_error *err)
{
    ttape_source source;
    *out = NULL;
    TTP_TRY(ttape_source_file_open(&source, path, err));
    ttape_status status = ttape_reader_open(out, &source, options, err);
    if (status == TTAPE_OK)
        (*out)->owns_source = true;
    else
        ttape_source_file_close(&source);
    return status;
}
