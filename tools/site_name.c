/* Symbols can be a MiB long: what people see of one is bounded. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "output.h"
#include "site_name.h"
#include "tool.h"

#define SHOWN_BYTES 4096u /* of a name */

void tool_site_names_open(tool_site_names *names, const ttape_reader *reader)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    *names = (tool_site_names){.reader = reader, .site_count = info.site_count};
    names->names = tool_allocate(info.site_count + 1u, sizeof(char *));
}

void tool_site_names_close(tool_site_names *names)
{
    for (uint32_t i = 0; names->names != NULL && i < names->site_count; i++) {
        free(names->names[i]);
    }
    free(names->names);
    *names = (tool_site_names){0};
}

ttape_string tool_site_symbol(const ttape_reader *reader, uint32_t site, char *buffer)
{
    ttape_site found;
    if (ttape_reader_get_site(reader, site, &found) != TTAPE_OK) {
        return (ttape_string){"?", 1};
    }
    if (found.symbol.size_bytes > 0) {
        return found.symbol;
    }
    char *end = tool_put_hex(tool_put_bytes(buffer, "0x", 2), found.address);
    return (ttape_string){buffer, (size_t)(end - buffer)};
}

const char *tool_site_name(tool_site_names *names, uint32_t site)
{
    char buffer[20];
    if (site >= names->site_count) {
        return "?";
    }
    if (names->names[site] == NULL) {
        ttape_string symbol = tool_site_symbol(names->reader, site, buffer);
        size_t size = symbol.size_bytes < SHOWN_BYTES ? symbol.size_bytes : SHOWN_BYTES;
        char *text = tool_allocate(size * TOOL_ESCAPE_MAX + 1, 1);
        text[tool_escape(text, TOOL_ESCAPE_TERMINAL, symbol.data, size)] = '\0';
        names->names[site] = text;
    }
    return names->names[site];
}

static int put_base(char *at, size_t size_bytes, ttape_string path)
{
    char escaped[64 * TOOL_ESCAPE_MAX];
    const char *base = path.data;
    for (size_t i = 0; i < path.size_bytes; i++) {
        base = path.data[i] == '/' ? path.data + i + 1 : base;
    }
    size_t left = path.size_bytes - (size_t)(base - path.data);
    size_t size = tool_escape(escaped, TOOL_ESCAPE_TERMINAL, base, left < 64 ? left : 64);
    return snprintf(at, size_bytes, " (%.*s", (int)size, escaped);
}

const char *tool_site_place(tool_site_names *names, uint32_t site)
{
    static char text[640];
    ttape_site found;
    ttape_module module;
    text[0] = '\0';
    if (ttape_reader_get_site(names->reader, site, &found) != TTAPE_OK) {
        return text;
    }
    if (found.file.size_bytes > 0) {
        int size = put_base(text, sizeof(text), found.file);
        snprintf(text + size, sizeof(text) - (size_t)size, found.line > 0 ? ":%" PRIu32 ")" : ")",
                 found.line);
    } else if (ttape_reader_get_module(names->reader, found.module, &module) == TTAPE_OK) {
        int size = put_base(text, sizeof(text), module.path);
        snprintf(text + size, sizeof(text) - (size_t)size, "+0x%" PRIx64 ")",
                 found.address - module.start);
    }
    return text;
}

uint32_t tool_find_sites(const ttape_reader *reader, const char *name, uint32_t *sites,
                         uint32_t capacity)
{
    ttape_info info;
    uint32_t count = 0;
    char buffer[20];
    ttape_reader_get_info(reader, &info);
    for (uint32_t i = 0; i < info.site_count; i++) {
        ttape_string symbol = tool_site_symbol(reader, i, buffer);
        if (symbol.size_bytes == strlen(name) &&
            memcmp(symbol.data, name, symbol.size_bytes) == 0) {
            if (count < capacity) {
                sites[count] = i;
            }
            count++;
        }
    }
    return count;
}
