/* One message for each mistake, whatever was asked for. */
#include "reader/base/choice.h"

#include <stddef.h>

#include "format/base/fail.h"

#define READERS_MOST       65536u
#define REGION_BYTES_USUAL (256ull << 20)

ttape_status ttp_refuse(ttape_error *err, const char *what)
{
    return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "%s", what);
}

ttape_status ttp_check_range(bool has_range, uint64_t from_ns, uint64_t to_ns, ttape_error *err)
{
    if (has_range && from_ns > to_ns)
        return ttp_refuse(err, "time range ends before it starts");
    return TTAPE_OK;
}

ttape_status ttp_check_streams(const uint32_t *streams, uint32_t stream_count, ttape_error *err)
{
    if (streams == NULL && stream_count != 0)
        return ttp_refuse(err, "streams are counted but not given");
    return TTAPE_OK;
}

ttape_status ttp_find_streams(const uint32_t *streams, uint32_t stream_count, uint32_t all,
                              uint8_t *marks, ttape_error *err)
{
    for (uint32_t i = 0; i < stream_count; i++) {
        if (streams[i] >= all)
            return ttp_no_stream(err, streams[i]);
        if (marks != NULL)
            marks[streams[i]] = 1;
    }
    return TTAPE_OK;
}

ttape_status ttp_check_readers(const ttape_reader *const *readers, uint32_t reader_count,
                               ttape_error *err)
{
    if (readers == NULL || reader_count == 0 || reader_count > READERS_MOST)
        return ttp_refuse(err, "no readers, or too many");
    for (uint32_t i = 0; i < reader_count; i++)
        if (readers[i] == NULL)
            return ttp_refuse(err, "no reader");
    return TTAPE_OK;
}

void *ttp_open_region(struct ttp_region *region, ttape_allocator allocator, uint64_t *memory_bytes,
                      size_t answer_bytes)
{
    *memory_bytes = *memory_bytes != 0 ? *memory_bytes : REGION_BYTES_USUAL;
    *region = ttp_region_of(*memory_bytes);
    region->allocator = allocator;
    return ttp_region_take(region, 1, answer_bytes);
}

void ttp_close_region(const struct ttp_region *region)
{
    struct ttp_region own = *region; /* it is in one of its blocks */
    ttp_region_close(&own);
}

ttape_status ttp_fail_region(ttape_error *err, const char *answers, uint64_t memory_bytes)
{
    return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                    "%s need more memory than their limit of %llu bytes", answers,
                    (unsigned long long)memory_bytes);
}

ttape_status ttp_no_stream(ttape_error *err, uint32_t stream)
{
    return ttp_fail(err, TTAPE_E_NOT_FOUND, "", TTAPE_ERROR_NO_OFFSET, "no stream '%u'", stream);
}

ttape_status ttp_ask_watch(const ttape_watch *watch, uint64_t done, uint64_t all, ttape_error *err)
{
    if (watch == NULL || watch->goes_on == NULL || watch->goes_on(watch->context, done, all))
        return TTAPE_OK;
    return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                    "stopped: the caller does not want to go on");
}
