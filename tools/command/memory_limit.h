/* What a verb that reads may take: --memory bounds the library's reader and its reports. Verbs with
 * tables of their own that grow with the file, and that write no trace, bind the process as a whole
 * to it (tool_memory_bound). A verb that has the option lists TOOL_MEMORY_OPTION, and reads by
 * tool_input_read or gives tool_memory_limits to the library. */
#ifndef TOOL_MEMORY_LIMIT_H
#define TOOL_MEMORY_LIMIT_H

#include <stdint.h>

#include <tracetape/reader.h>

#include "tools/command/options.h"

extern uint64_t tool_memory_bytes; /* as given; 0: the default, 256 MiB */

#define TOOL_MEMORY_OPTION                                                                         \
    {                                                                                              \
        "memory", 0, "SIZE", "memory that it may take, as 512M or 4G (default 256M)",              \
            tool_parse_size, &tool_memory_bytes                                                    \
    }

ttape_limits tool_memory_limits(void);

/* From here on tool_allocate and its like end the command where the process would take more than
 * that. Verbs that write a trace do not call it: what a writer needs comes on top. */
void tool_memory_bound(void);

#endif
