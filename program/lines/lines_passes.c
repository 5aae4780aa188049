/* Passes of the chosen calls: what the code says of each site goes in. */
#include <inttypes.h>
#include <string.h>

#include "program/lines/lines_inside.h"

static ttape_passes_site *describe_sites(struct tool_source_lines *view)
{
    ttape_passes_site *sites =
        ttp_region_take(&view->region, (uint64_t)view->info.site_count + 1, sizeof *sites);
    for (uint32_t i = 0; sites != NULL && i < view->info.site_count; i++) {
        const struct tool_lines_place *place = &view->places[i];
        const struct tool_code_block *block =
            place->block == TOOL_LINES_NONE ? NULL : &view->blocks[place->block];
        sites[i] = (ttape_passes_site){
            .function = place->function,
            .is_block = place->is_block,
            .is_first = block != NULL && block->is_first,
            .is_tail = block != NULL && block->is_tail,
            .is_chosen = view->options.chosen != NULL && view->options.chosen[i],
            .is_watched = view->line_sites != NULL && view->line_sites[i]};
    }
    return sites;
}

static void take_answer(struct tool_source_lines *view, struct tool_lines_counts *counts)
{
    uint32_t count;
    ttape_passes_get_info(counts->made, &counts->info);
    counts->by_site = ttape_passes_get_rows(counts->made, &count);
    counts->left.list = ttape_passes_get_left(counts->made, &counts->left.count);
    counts->edges.list = ttape_passes_get_pairs(counts->made, &counts->edges.count);
    const ttape_passes_call *calls = ttape_passes_get_calls(counts->made, &count);
    if (count > 0 && ttp_region_grow(&view->region, &view->calls, &view->call_capacity,
                                     view->call_count + count, sizeof *calls)) {
        memcpy(view->calls + view->call_count, calls, count * sizeof *calls);
        view->call_count += count;
    }
}

ttape_status tool_lines_count_passes(struct tool_source_lines *view,
                                     const struct tool_lines_call *call,
                                     struct tool_lines_counts *counts)
{
    const struct tool_lines_options *o = &view->options;
    ttape_passes_site *sites = describe_sites(view);
    if (sites == NULL)
        return TTAPE_E_LIMIT;
    const ttape_passes_options options = {.size = sizeof options,
                                          .streams = o->streams,
                                          .stream_count = o->stream_count,
                                          .has_range = o->has_range,
                                          .from_ns = o->from_ns,
                                          .to_ns = o->to_ns,
                                          .sites = sites,
                                          .site_count = view->info.site_count,
                                          .only_chosen = o->chosen != NULL,
                                          .has_call = call != NULL,
                                          .call_stream = call != NULL ? call->stream : 0,
                                          .call_event = call != NULL ? call->event : 0,
                                          .memory_bytes = view->region.left_bytes | 1,
                                          .watch = o->watch,
                                          .damage = o->damage,
                                          .context = o->context};
    ttape_status status = ttape_passes_make(&counts->made, view->reader, &options, view->err);
    ttp_region_give(&view->region, sites);
    if (status == TTAPE_E_NOT_FOUND && call != NULL)
        return tool_lines_fail(view, status, "it has no call 's%" PRIu32 "e%" PRIu64 "'",
                               call->stream, call->event);
    if (status == TTAPE_OK)
        take_answer(view, counts);
    return status != TTAPE_OK ? status : view->region.is_short ? TTAPE_E_LIMIT : TTAPE_OK;
}
