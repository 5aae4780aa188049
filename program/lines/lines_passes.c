/* Passes of the chosen calls: what the code says of each site goes in. */
#include <stdlib.h>

#include "tools/command/memory_limit.h"
#include "program/lines/lines_inside.h"

static ttape_passes_site *describe_sites(const struct tool_lines *view)
{
    ttape_passes_site *sites = tool_allocate((size_t)view->info.site_count + 1, sizeof *sites);
    for (uint32_t i = 0; i < view->info.site_count; i++) {
        const struct tool_lines_place *place = &view->places[i];
        const struct tool_code_block *block =
            place->block == TOOL_LINES_NONE ? NULL : &view->blocks[place->block];
        sites[i] =
            (ttape_passes_site){.function = place->function,
                                .is_block = place->is_block,
                                .is_first = block != NULL && block->is_first,
                                .is_tail = block != NULL && block->is_tail,
                                .is_chosen = view->chosen != NULL && view->chosen[i],
                                .is_watched = view->line_sites != NULL && view->line_sites[i]};
    }
    return sites;
}

static void note_damage(void *context, uint32_t stream, const ttape_error *error)
{
    struct tool_lines *view = context;
    (void)stream;
    (void)tool_input_go_on(view->input, error, &view->damage_count, &view->status);
}

static void take_answer(struct tool_lines *view, struct tool_lines_counts *counts)
{
    ttape_passes_info info;
    uint32_t count;
    ttape_passes_get_info(counts->made, &info);
    counts->by_site = ttape_passes_get_rows(counts->made, &count);
    counts->calls = info.call_count;
    counts->is_partial = info.is_partial;
    counts->left.list = ttape_passes_get_left(counts->made, &counts->left.count);
    counts->edges.list = ttape_passes_get_pairs(counts->made, &counts->edges.count);
    const ttape_passes_call *calls = ttape_passes_get_calls(counts->made, &count);
    tool_grow((void **)&view->calls, &view->call_capacity, view->call_count + count, sizeof *calls);
    for (uint32_t i = 0; i < count; i++)
        view->calls[view->call_count++] = calls[i];
}

int tool_lines_walk(struct tool_lines *view, const struct tool_call_id *call,
                    struct tool_lines_counts *counts)
{
    const struct tool_selection *s = view->selection;
    ttape_passes_site *sites = describe_sites(view);
    const ttape_passes_options options = {.size = sizeof options,
                                          .streams = s->streams,
                                          .stream_count = s->stream_count,
                                          .has_range = s->has_range,
                                          .from_ns = s->from_ns,
                                          .to_ns = s->to_ns,
                                          .sites = sites,
                                          .site_count = view->info.site_count,
                                          .only_chosen = view->chosen != NULL,
                                          .has_call = call->given,
                                          .call_stream = call->stream,
                                          .call_event = call->event,
                                          .memory_bytes = tool_memory_left() | 1,
                                          .damage = note_damage,
                                          .context = view};
    char id[TOOL_CALL_ID_BYTES];
    ttape_error err = {0};
    ttape_status status = ttape_passes_make(&counts->made, view->reader, &options, &err);
    free(sites);
    if (status == TTAPE_E_LIMIT)
        tool_memory_short();
    if (status == TTAPE_E_NOT_FOUND)
        return tool_fail("'%s' has no call '%s'", view->input->name,
                         tool_put_call(id, call->stream, call->event));
    if (status != TTAPE_OK)
        return tool_fail_error(view->input->name, &err);
    take_answer(view, counts);
    return view->status == TOOL_CANNOT ? TOOL_CANNOT : TOOL_OK;
}

void tool_lines_counts_close(struct tool_lines_counts *counts)
{
    ttape_passes_close(counts->made);
    *counts = (struct tool_lines_counts){0};
}
