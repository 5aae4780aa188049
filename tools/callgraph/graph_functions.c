/* The library joins sites; a file cannot make it refuse, and want of memory ends the command. */
#include "tools/callgraph/graph_functions.h"

#include "tools/command/tool.h"

ttape_string tool_module_path(const ttape_reader *reader, uint32_t module)
{
    ttape_module found = {0};
    (void)ttape_reader_get_module(reader, module, &found);
    return found.path;
}

ttape_string tool_path_base(ttape_string path)
{
    for (size_t i = path.size_bytes; i > 0; i--)
        if (path.data[i - 1] == '/')
            return (ttape_string){path.data + i, path.size_bytes - i};
    return path;
}

ttape_functions *tool_functions_make(const ttape_reader *const *readers, uint32_t reader_count,
                                     ttape_functions_by by)
{
    const ttape_functions_options how = {.size = sizeof(how), .by = by, .memory_bytes = UINT64_MAX};
    ttape_functions *made;
    if (ttape_functions_make(&made, readers, reader_count, &how, NULL) != TTAPE_OK)
        tool_out_of_memory();
    return made;
}

void tool_functions_open(struct tool_functions *functions, const ttape_reader *reader)
{
    functions->made = tool_functions_make(&reader, 1, TTAPE_FUNCTIONS_BY_PATH);
    functions->functions = ttape_functions_get_rows(functions->made, &functions->count);
    functions->of_site = ttape_functions_get_sites(functions->made, 0, &functions->site_count);
}

void tool_functions_close(struct tool_functions *functions)
{
    ttape_functions_close(functions->made);
    *functions = (struct tool_functions){0};
}
