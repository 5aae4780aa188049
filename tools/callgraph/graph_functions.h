/* Which sites are one function: the same symbol in the same module and file, wherever the process
 * loaded it and whatever scope of a merged file it is from. */
#ifndef TOOL_GRAPH_FUNCTIONS_H
#define TOOL_GRAPH_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

struct tool_function {
    uint32_t site; /* one of its sites; TTAPE_NONE: unknown functions */
    uint32_t module;
    bool is_idle; /* it blocks */
};

struct tool_functions {
    const ttape_reader *reader;
    struct tool_function *functions; /* the last is the unknown one */
    uint32_t *of_site;
    uint32_t count, site_count;
};

void tool_functions_open(struct tool_functions *functions, const ttape_reader *reader);
void tool_functions_close(struct tool_functions *functions);

static inline uint32_t tool_function_of(const struct tool_functions *functions, uint32_t site)
{
    return site < functions->site_count ? functions->of_site[site] : functions->count - 1;
}

/* The path of a module, "" where there is none. */
ttape_string tool_module_path(const ttape_reader *reader, uint32_t module);
/* What follows the last slash. */
ttape_string tool_path_base(ttape_string path);

#endif
