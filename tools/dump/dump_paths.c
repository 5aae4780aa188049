/* How calls were reached: the frames of a site's path, outermost first. */
#include <stdlib.h>

#include "tools/dump/dump.h"

uint32_t tool_dump_path(struct tool_dump *dump, uint32_t number)
{
    ttape_site site;
    ttape_path step;
    if (!dump->paths || ttape_reader_get_site(dump->reader, number, &site) != TTAPE_OK ||
        ttape_reader_get_path(dump->reader, site.path, &step) != TTAPE_OK)
        return 0;
    tool_grow((void **)&dump->frames, &dump->frame_capacity, step.depth, sizeof(uint32_t));
    uint32_t count = step.depth, at = count;
    for (uint32_t path = site.path; ttape_reader_get_path(dump->reader, path, &step) == TTAPE_OK;
         path = step.parent)
        dump->frames[--at] = step.site;
    return count;
}
