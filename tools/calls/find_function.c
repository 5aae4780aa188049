/* Functions by their names, where one is meant: slow, --callers, --reach, --find. Options that take
 * a REGEX mean all that match. */
#define _GNU_SOURCE /* strcasestr */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/site_name.h"
#include "tools/command/tool.h"

#define NEAR_SHOWN 3u
#define NEAR_BYTES 1024u

uint32_t tool_find_sites(const struct tool_site_names *names, const char *name, uint32_t *sites,
                         uint32_t capacity)
{
    return ttape_names_find(names->made, names->number, (ttape_string){name, strlen(name)}, sites,
                            capacity);
}

bool *tool_sites_called(const struct tool_site_names *names, const char *name)
{
    uint32_t *sites = tool_allocate(names->site_count, sizeof(*sites));
    uint32_t count = tool_find_sites(names, name, sites, names->site_count);
    bool *called = count > 0 ? tool_allocate(names->site_count, sizeof(*called)) : NULL;
    for (uint32_t i = 0; i < count; i++)
        called[sites[i]] = true;
    free(sites);
    return called;
}

int tool_no_function(struct tool_site_names *names, const char *trace, const char *name)
{
    char near[NEAR_BYTES] = "";
    size_t used = 0;
    unsigned count = 0;
    for (uint32_t i = 0; i < names->site_count && count < NEAR_SHOWN && *name != '\0'; i++) {
        const char *shown = tool_site_name(names, i);
        size_t size = strlen(shown);
        if (strcasestr(shown, name) == NULL || size + 8 > sizeof(near) - used)
            continue;
        used += (size_t)snprintf(near + used, sizeof(near) - used, "%s'%s'", count > 0 ? ", " : "",
                                 shown);
        count++;
    }
    return tool_fail("'%s' has no function '%s'%s%s", trace, name, count > 0 ? "; it has " : "",
                     near);
}
