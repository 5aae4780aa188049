/* info --chains: what the order of partitions is made of. */
#ifndef TOOL_INFO_CHAINS_H
#define TOOL_INFO_CHAINS_H

#include <tracetape/chains.h>

#include "tools/calls/site_name.h"
#include "tools/io/input.h"
#include "tools/io/json.h"

struct tool_info_chains {
    const struct tool_input *input;
    struct tool_output *out;
    struct tool_json *json; /* NULL: text */
    struct tool_site_names names;
    uint64_t from, to;  /* partitions */
    uint64_t limit;     /* records and chains of each */
    uint32_t threshold; /* successors of a record that came less often are left out */
};

/* Prints; returns a tool_exit, of damaged partitions TOOL_LOSS. */
int tool_info_print_chains(struct tool_info_chains *view);

#endif
