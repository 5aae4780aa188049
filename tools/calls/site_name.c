/* Symbols can be a MiB long: what people see of one is bounded. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/site_name.h"
#include "tools/command/escape.h"
#include "tools/command/output.h"
#include "tools/command/tool.h"

#define SHOWN_BYTES 4096u /* of a name */
#define BASE_BYTES  64u   /* of a file's or module's */

void tool_site_names_open(struct tool_site_names *names, const ttape_reader *reader)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    *names = (struct tool_site_names){.reader = reader, .site_count = info.site_count};
    names->names = tool_allocate(info.site_count + 1u, sizeof(char *));
}

void tool_site_names_close(struct tool_site_names *names)
{
    for (uint32_t i = 0; names->names != NULL && i < names->site_count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct tool_site_names){0};
}

ttape_string tool_site_symbol(const ttape_reader *reader, uint32_t site, char *buffer)
{
    ttape_site found;
    if (ttape_reader_get_site(reader, site, &found) != TTAPE_OK)
        return (ttape_string){"?", 1};
    if (found.symbol.size_bytes > 0)
        return found.symbol;
    char *end = tool_put_hex(tool_put_bytes(buffer, "0x", 2), found.address);
    return (ttape_string){buffer, (size_t)(end - buffer)};
}

char *tool_site_label(const ttape_reader *reader, uint32_t site)
{
    char name[SHOWN_BYTES + 1];
    size_t size = ttape_site_name(reader, site, name, sizeof(name));
    size = size < SHOWN_BYTES ? size : SHOWN_BYTES;
    char *text = tool_allocate(size * TOOL_ESCAPE_MAX + 1, 1);
    text[tool_escape(text, TOOL_ESCAPE_TERMINAL, name, size)] = '\0';
    return text;
}

const char *tool_site_name(struct tool_site_names *names, uint32_t site)
{
    if (site >= names->site_count)
        return "?";
    if (names->names[site] == NULL)
        names->names[site] = tool_site_label(names->reader, site);
    return names->names[site];
}

/* The last part of a path, as far as it is shown. */
static ttape_string base_of(ttape_string path)
{
    const char *base = path.data;
    for (size_t i = 0; i < path.size_bytes; i++)
        base = path.data[i] == '/' ? path.data + i + 1 : base;
    size_t left = path.size_bytes - (size_t)(base - path.data);
    return (ttape_string){base, left < BASE_BYTES ? left : BASE_BYTES};
}

static int put_base(char *at, size_t size_bytes, ttape_string path)
{
    char escaped[BASE_BYTES * TOOL_ESCAPE_MAX];
    ttape_string base = base_of(path);
    size_t size = tool_escape(escaped, TOOL_ESCAPE_TERMINAL, base.data, base.size_bytes);
    return snprintf(at, size_bytes, " (%.*s", (int)size, escaped);
}

const char *tool_site_where(const ttape_reader *reader, const ttape_site *site, char *buffer)
{
    ttape_module module;
    buffer[0] = '\0';
    if (site->file.size_bytes > 0) {
        int size = put_base(buffer, TOOL_PLACE_BYTES, site->file);
        snprintf(buffer + size, TOOL_PLACE_BYTES - (size_t)size,
                 site->line > 0 ? ":%" PRIu32 ")" : ")", site->line);
    } else if (ttape_reader_get_module(reader, site->module, &module) == TTAPE_OK) {
        int size = put_base(buffer, TOOL_PLACE_BYTES, module.path);
        snprintf(buffer + size, TOOL_PLACE_BYTES - (size_t)size, "+0x%" PRIx64 ")",
                 site->address - module.start);
    }
    return buffer;
}

const char *tool_site_place(const ttape_reader *reader, uint32_t site, char *buffer)
{
    ttape_site found;
    return ttape_reader_get_site(reader, site, &found) == TTAPE_OK
               ? tool_site_where(reader, &found, buffer)
               : "";
}

static bool is_text(ttape_string text, const char *name)
{
    return text.size_bytes == strlen(name) && memcmp(text.data, name, text.size_bytes) == 0;
}

uint32_t tool_find_sites(const ttape_reader *reader, const char *name, uint32_t *sites,
                         uint32_t capacity)
{
    ttape_info info;
    ttape_site site;
    uint32_t count = 0;
    char buffer[TOOL_LABEL_BYTES];
    ttape_reader_get_info(reader, &info);
    for (uint32_t i = 0; i < info.site_count; i++) {
        bool found = is_text(tool_site_symbol(reader, i, buffer), name);
        (void)ttape_reader_get_site(reader, i, &site);
        if (!found && site.symbol.size_bytes == 0) {
            (void)ttape_site_name(reader, i, buffer, sizeof(buffer));
            found = strcmp(buffer, name) == 0;
        }
        if (found) {
            if (count < capacity)
                sites[count] = i;
            count++;
        }
    }
    return count;
}
