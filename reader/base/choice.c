/* One message for each mistake, whatever was asked for. */
#include "reader/base/choice.h"

#include <stddef.h>

#include "format/base/fail.h"

#define READERS_MOST 65536u

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
