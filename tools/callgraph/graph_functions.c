/* The library joins sites; a file cannot make it refuse, and want of memory ends the command. */
#include "tools/callgraph/graph_functions.h"

#include "tools/command/memory_limit.h"
#include "tools/command/tool.h"

ttape_string tool_module_path(const ttape_reader *reader, uint32_t module)
{
    ttape_module found = {0};
    (void)ttape_reader_get_module(reader, module, &found);
    return found.path;
}

ttape_functions *tool_functions_make(const ttape_reader *const *readers, uint32_t reader_count,
                                     ttape_functions_by by, uint32_t a_count)
{
    const ttape_functions_options how = {
        .size = sizeof(how), .by = by, .a_count = a_count, .memory_bytes = tool_memory_left() | 1};
    ttape_functions *made;
    ttape_status status = ttape_functions_make(&made, readers, reader_count, &how, NULL);
    if (status != TTAPE_OK)
        tool_memory_short();
    return made;
}

void tool_functions_open(struct tool_functions *functions, const ttape_reader *reader)
{
    functions->made = tool_functions_make(&reader, 1, TTAPE_FUNCTIONS_BY_PATH, 0);
    functions->functions = ttape_functions_get_rows(functions->made, &functions->count);
    functions->of_site = ttape_functions_get_sites(functions->made, 0, &functions->site_count);
}

void tool_functions_close(struct tool_functions *functions)
{
    ttape_functions_close(functions->made);
    *functions = (struct tool_functions){0};
}
