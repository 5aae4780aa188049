/* The values of a call of which is known when it was entered, or which event that is. Files without
 * values are not looked at. Of others so many partitions are searched for enters at most; where it
 * is not known which one a call is in, it counts as another one. Of calls that are known by their
 * time only, and of which there are several of that time, nothing is said. */
#ifndef TOOL_VALUE_SEARCH_H
#define TOOL_VALUE_SEARCH_H

#include <stdbool.h>

#include <tracetape/reader.h>

#include "tools/command/output.h"
#include "tools/io/json.h"

#define TOOL_VALUE_PARTITIONS 1024u

struct tool_value_search {
    ttape_reader *reader; /* NULL: there is nothing to find */
    ttape_cursor *cursor; /* on `stream`, or NULL */
    uint32_t stream;
    ttape_error err; /* the first failure that is none of the file's, in status */
    ttape_status status;
    uint32_t partition, partitions_left; /* the last one that was read, and how many may be yet */
};

struct tool_value_call {
    uint32_t stream, site;
    uint32_t partition; /* that the enter is in, or TTAPE_NONE: not known */
    uint64_t enter_ns;
    uint64_t enter_number; /* or TOOL_VALUE_NO_NUMBER: by its time */
    uint64_t end_number;   /* of the event that ends it, or TOOL_VALUE_NO_NUMBER: by its time */
    uint64_t end_ns;
    bool has_end_ns;
};
#define TOOL_VALUE_NO_NUMBER UINT64_MAX

void tool_value_search_open(struct tool_value_search *search, ttape_reader *reader);
/* TOOL_OK; or says what failed of the machine, of what is called so, and returns TOOL_CANNOT. */
int tool_value_search_close(struct tool_value_search *search, const char *subject);

/* "(fd=3) = 7", cut where it is long; nothing where nothing is found. */
void tool_put_found_values(struct tool_value_search *search, struct tool_output *out,
                           const struct tool_value_call *call);
/* "arguments" and "results" with their names. */
void tool_json_found_values(struct tool_value_search *search, struct tool_json *json,
                            const struct tool_value_call *call);

#endif
