/* Paths that lead to functions: from options to an answer. */
#include <tracetape/reach.h>
#include <tracetape/writer.h>

#include "answers/reach/reach_internal.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)

static ttape_status take_options(ttape_reach_options *out, const ttape_reach_options *options,
                                 ttape_error *err)
{
    *out = (ttape_reach_options){.size = sizeof *out};
    if (options != NULL)
        TTP_TRY(ttp_take_sized(out, sizeof *out, options, "paths to functions", err));
    out->memory_bytes = out->memory_bytes != 0 ? out->memory_bytes : MEMORY_BYTES_DEFAULT;
    TTP_TRY(ttp_check_range(out->has_range, out->from_ns, out->to_ns, err));
    return ttp_check_streams(out->streams, out->stream_count, err);
}

static ttape_status find_ways(struct ttape_reach *reach, ttape_error *err)
{
    const ttape_reach_options *o = &reach->options;
    ttape_info info;
    ttape_reader_get_info(reach->reader, &info);
    reach->site_count = info.site_count;
    reach->info.has_times = info.resolution_ns != TTAPE_TIME_NONE;
    TTP_TRY(ttp_find_streams(o->streams, o->stream_count, info.stream_count, NULL, err));
    TTP_TRY(ttp_reach_functions(reach, err));
    uint32_t count = o->streams != NULL ? o->stream_count : info.stream_count;
    for (uint32_t i = 0; i < count; i++)
        TTP_TRY(ttp_reach_stream(reach, o->streams != NULL ? o->streams[i] : i, err));
    return TTAPE_OK;
}

/* ---- public ---- */

ttape_status ttape_reach_find(ttape_reach **out, ttape_reader *reader,
                              const ttape_reach_options *options, ttape_error *err)
{
    ttape_reach_options taken;
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    if (reader == NULL)
        return ttp_refuse(err, "no reader");
    TTP_TRY(take_options(&taken, options, err));
    ttp_memory_init(&memory, &reader->memory.allocator, taken.memory_bytes);
    struct ttape_reach *reach = ttp_memory_take(&memory, 1, sizeof *reach, err);
    if (reach == NULL)
        return memory.status;
    *reach = (struct ttape_reach){.memory = memory, .reader = reader, .options = taken};
    ttape_status status = find_ways(reach, err);
    reach->options.streams = NULL;
    if (status != TTAPE_OK) {
        ttape_reach_close(reach);
        return status;
    }
    *out = reach;
    return TTAPE_OK;
}

void ttape_reach_close(ttape_reach *reach)
{
    if (reach == NULL)
        return;
    struct ttp_memory *memory = &reach->memory;
    ttp_memory_give(memory, reach->step_of, reach->site_count, sizeof *reach->step_of);
    ttp_memory_give(memory, reach->is_reached, reach->site_count, 1);
    ttp_memory_give(memory, reach->paths, reach->path_capacity, sizeof *reach->paths);
    ttp_memory_give(memory, reach->slots, reach->slot_count, sizeof *reach->slots);
    struct ttp_memory own = *memory;
    ttp_memory_give(&own, reach, 1, sizeof *reach);
}

void ttape_reach_get_info(const ttape_reach *reach, ttape_reach_info *info) { *info = reach->info; }

const ttape_reach_path *ttape_reach_get_paths(const ttape_reach *reach, uint32_t *path_count)
{
    *path_count = reach != NULL ? reach->info.path_count : 0;
    return reach != NULL ? reach->paths : NULL;
}
