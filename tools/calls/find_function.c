/* Functions by their names, where one is meant: slow, --callers, --reach, --find. Options that take
 * a REGEX mean all that match. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <string.h>

#include "tools/calls/site_name.h"
#include "tools/command/tool.h"

#define NEAR_SHOWN 3u
#define NEAR_BYTES 1024u

/* What gcc and clang put behind the names of copies and parts. */
static size_t plain_size(ttape_string symbol)
{
    static const char *const ends[] = {".isra.",     ".constprop.", ".part.", ".cold",
                                       ".lto_priv.", ".llvm.",      ".clone."};
    size_t size = symbol.size_bytes;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && size > 0; i++) {
        const char *found = memmem(symbol.data, size, ends[i], strlen(ends[i]));
        if (found != NULL && found > symbol.data)
            size = (size_t)(found - symbol.data);
    }
    return size;
}

static bool is_copy(const struct tool_site_names *names, uint32_t site, const char *name)
{
    ttape_string text = tool_site_full(names, site);
    size_t size = plain_size(text);
    return size < text.size_bytes && size == strlen(name) && memcmp(text.data, name, size) == 0;
}

/* The second round is for copies. */
static bool is_meant(const struct tool_site_names *names, uint32_t site, const char *name,
                     bool is_second)
{
    return is_second ? is_copy(names, site, name) : tool_site_is_wanted(names, site, name);
}

uint32_t tool_find_sites(const struct tool_site_names *names, const char *name, uint32_t *sites,
                         uint32_t capacity)
{
    uint32_t count = 0;
    for (int round = 0; round < 2 && count == 0; round++)
        for (uint32_t i = 0; i < names->site_count; i++) {
            if (!is_meant(names, i, name, round == 1))
                continue;
            if (count < capacity)
                sites[count] = i;
            count++;
        }
    return count;
}

bool *tool_sites_called(const struct tool_site_names *names, const char *name)
{
    bool *called = NULL;
    for (int round = 0; round < 2 && called == NULL; round++)
        for (uint32_t i = 0; i < names->site_count; i++) {
            if (!is_meant(names, i, name, round == 1))
                continue;
            if (called == NULL)
                called = tool_allocate(names->site_count, sizeof(*called));
            called[i] = true;
        }
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
