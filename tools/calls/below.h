/* --below: the functions that an answer is about, with what they call. */
#ifndef TOOL_BELOW_H
#define TOOL_BELOW_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/calls/site_name.h"

struct tool_below {
    const char *expression; /* NULL: it was not asked for */
    struct tool_site_names names;
    regex_t regex;
    uint64_t count; /* sites that matched */
};

/* The names are those of the caller, with what they read. Returns a tool_exit: TOOL_USAGE where the
 * expression is none. */
int tool_below_open(struct tool_below *below, const char *verb, const char *expression,
                    const struct tool_site_names *names);
bool tool_below_matches(struct tool_below *below, uint32_t site);
/* Says how many threads were started below them: what these call is not, by itself. */
void tool_below_say_started(const char *trace, const char *expression, uint64_t count);
/* Says where nothing matched; then it returns TOOL_CANNOT. */
int tool_below_close(struct tool_below *below);

#endif
