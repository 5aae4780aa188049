/* What is the same function in several traces, and why two events are not. */
#include <string.h>

#include "tools/callgraph/graph_functions.h"
#include "tools/calls/site_name.h"
#include "tools/diff/diff_view.h"

static bool is_text(ttape_string a, ttape_string b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

void tool_diff_take_keys(struct tool_diff *diff, const ttape_functions *functions)
{
    const ttape_reader *readers[TTAPE_DIFF_TRACES_MAX];
    uint32_t count;
    for (uint32_t run = 0; run < diff->run_count; run++)
        readers[run] = diff->runs[run].input.reader;
    if (functions == NULL)
        diff->own_functions =
            tool_functions_make(readers, diff->run_count, TTAPE_FUNCTIONS_BY_NAME, diff->a_count);
    diff->functions = functions != NULL ? functions : diff->own_functions;
    diff->keys = ttape_functions_get_rows(diff->functions, &diff->key_count);
    for (uint32_t run = 0; run < diff->run_count; run++)
        diff->runs[run].key_of = ttape_functions_get_sites(diff->functions, run, &count);
}

void tool_diff_close_keys(struct tool_diff *diff) { ttape_functions_close(diff->own_functions); }

void tool_diff_describe(const struct tool_diff *diff, uint32_t number, char *buffer,
                        ttape_string *symbol, ttape_string *module, ttape_string *file)
{
    const ttape_function *key = &diff->keys[number];
    *symbol = tool_site_word(&diff->runs[key->reader].names, key->site, buffer);
    *module = key->module_path;
    *file = key->file;
}

const char *tool_diff_why(const struct tool_diff *diff, const struct tool_diff_thread *thread)
{
    const ttape_event *a = &thread->events[0], *b = &thread->events[1];
    if (thread->end != TOOL_DIFF_EVENT)
        return NULL;
    if (thread->is_moved)
        return "other caller";
    if (a->kind != b->kind)
        return "other kind of event";
    if (tool_diff_key_of(diff, 0, a->site) == tool_diff_key_of(diff, 1, b->site))
        return a->argument != b->argument       ? "other argument"
               : a->lost_count != b->lost_count ? "other number of lost events"
                                                : "other calls are open where the traces begin";
    ttape_site one = {.module = TTAPE_NONE}, two = one;
    (void)ttape_reader_get_site(diff->runs[0].input.reader, a->site, &one);
    (void)ttape_reader_get_site(diff->runs[1].input.reader, b->site, &two);
    if (one.symbol.size_bytes == 0 || !is_text(one.symbol, two.symbol))
        return "other function";
    return is_text(ttp_path_base(tool_module_path(diff->runs[0].input.reader, one.module)),
                   ttp_path_base(tool_module_path(diff->runs[1].input.reader, two.module)))
               ? "other file"
               : "other module";
}

const char *tool_diff_name(struct tool_diff *diff, uint32_t number)
{
    const ttape_function *key = &diff->keys[number];
    return tool_site_name(&diff->runs[key->reader].names, key->site);
}
