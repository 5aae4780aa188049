/* Functions by their names, where one is meant: slow, --callers, --reach, --find. Options that take
 * a REGEX mean all that match. */
#define _GNU_SOURCE /* strcasestr */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/site_name.h"
#include "tools/command/tool.h"

#define NEAR_SHOWN 3u
#define NEAR_BYTES 1024u
#define PATH_SHOWN 1024u

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

void tool_say_nameless(const ttape_reader *reader)
{
    ttape_info info;
    ttape_site site;
    ttape_module module;
    ttape_reader_get_info(reader, &info);
    uint32_t most = TTAPE_NONE, example = 0;
    uint32_t *counts = tool_allocate(info.module_count + 1ull, sizeof(*counts));
    for (uint32_t i = 0; i < info.site_count; i++) {
        if (ttape_reader_get_site(reader, i, &site) != TTAPE_OK || site.symbol.size_bytes != 0 ||
            site.kind != TTAPE_SITE_FUNCTION || site.module >= info.module_count)
            continue;
        counts[site.module]++;
        if (most == TTAPE_NONE || counts[site.module] > counts[most]) {
            example = most == site.module ? example : i;
            most = site.module;
        }
    }
    char name[TOOL_LABEL_BYTES];
    if (most != TTAPE_NONE && ttape_reader_get_module(reader, most, &module) == TTAPE_OK &&
        module.path.size_bytes <= PATH_SHOWN) {
        (void)ttape_site_name(reader, example, name, sizeof(name));
        tool_message("'%.*s' is stripped, it seems: %" PRIu32 " of its functions %s no name (%s); "
                     "'tracetape symbolize --debuginfod' looks for %s",
                     (int)module.path.size_bytes, module.path.data, counts[most],
                     counts[most] == 1 ? "has" : "have", name, counts[most] == 1 ? "it" : "them");
    }
    free(counts);
}

int tool_no_match(const ttape_reader *reader, const char *expression)
{
    int status = tool_fail("nothing that was called matches '%s'", expression);
    tool_say_nameless(reader);
    return status;
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
    int status =
        tool_fail("'%s' has no function '%s'%s%s", trace, name, count > 0 ? "; it has " : "", near);
    if (count == 0)
        tool_say_nameless(names->reader);
    return status;
}
