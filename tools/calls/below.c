#include "tools/calls/below.h"

#include <inttypes.h>

#include "tools/command/tool.h"

int tool_below_open(struct tool_below *below, const char *verb, const char *expression,
                    const struct tool_site_names *names)
{
    *below = (struct tool_below){.names = *names};
    if (expression == NULL)
        return TOOL_OK;
    if (regcomp(&below->regex, expression, REG_EXTENDED | REG_NOSUB) != 0)
        return tool_usage(verb, "cannot use '%s' as a regular expression", expression);
    below->expression = expression;
    return TOOL_OK;
}

bool tool_below_matches(struct tool_below *below, uint32_t site)
{
    bool matches = tool_site_matches(&below->names, site, &below->regex);
    below->count += matches;
    return matches;
}

void tool_below_say_started(const char *trace, const char *expression, uint64_t count)
{
    if (count != 0)
        tool_message("'%s': %" PRIu64 " thread%s started below '%s': of %s calls only those are in "
                     "this that are below it in their own thread",
                     trace, count, count == 1 ? " was" : "s were", expression,
                     count == 1 ? "its" : "their");
}

int tool_below_close(struct tool_below *below)
{
    const char *expression = below->expression;
    if (expression == NULL)
        return TOOL_OK;
    regfree(&below->regex);
    below->expression = NULL;
    return below->count != 0 ? TOOL_OK : tool_no_match(below->names.reader, expression);
}
