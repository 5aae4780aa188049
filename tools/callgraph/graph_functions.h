/* Which sites are one function: the same symbol in the same module and file, wherever the process
 * loaded it and whatever scope of a merged file it is from. */
#ifndef TOOL_GRAPH_FUNCTIONS_H
#define TOOL_GRAPH_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/functions.h>

struct tool_functions {
    ttape_functions *made;
    const ttape_function *functions; /* the last is the unknown one */
    const uint32_t *of_site;
    uint32_t count, site_count;
};

void tool_functions_open(struct tool_functions *functions, const ttape_reader *reader);
void tool_functions_close(struct tool_functions *functions);
/* Of several readers, for the caller to close; a_count: ttape_functions_options. */
ttape_functions *tool_functions_make(const ttape_reader *const *readers, uint32_t reader_count,
                                     ttape_functions_by by, uint32_t a_count);

static inline uint32_t tool_function_of(const struct tool_functions *functions, uint32_t site)
{
    return site < functions->site_count ? functions->of_site[site] : functions->count - 1;
}

/* The path of a module, "" where there is none. */
ttape_string tool_module_path(const ttape_reader *reader, uint32_t module);

#endif
