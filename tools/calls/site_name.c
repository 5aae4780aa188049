/* Symbols can be a MiB long: what people see of one is bounded. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/names/simple_name.h"
#include "program/names/demangle_all.h"
#include "tools/calls/name_choice.h"
#include "tools/calls/site_name.h"
#include "tools/command/output.h"
#include "tools/command/tool.h"

#define SHOWN_BYTES 4096u /* of a name */
#define BASE_BYTES  64u   /* of a file's or module's */

bool tool_parse_names(const char *text, void *into)
{
    static const char *const words[] = {[TOOL_NAMES_SIMPLE] = "simple",
                                        [TOOL_NAMES_FULL] = "full",
                                        [TOOL_NAMES_MANGLED] = "mangled"};
    for (int i = TOOL_NAMES_SIMPLE; i <= TOOL_NAMES_MANGLED; i++) {
        if (strcmp(text, words[i]) == 0) {
            *(enum tool_name_style *)into = (enum tool_name_style)i;
            return true;
        }
    }
    return false;
}

/* ---- making ---- */

static ttape_string symbol_of(const ttape_reader *reader, uint32_t site)
{
    ttape_site found = {0};
    (void)ttape_reader_get_site(reader, site, &found);
    return found.symbol;
}

static void demangle(struct tool_site_names *names)
{
    uint32_t count = 0, *sites = tool_allocate(names->site_count + 1u, sizeof(*sites));
    for (uint32_t i = 0; i < names->site_count; i++)
        if (tool_is_mangled(symbol_of(names->reader, i)))
            sites[count++] = i;
    if (count > 0) {
        ttape_string *mangled = tool_allocate(count, sizeof(*mangled));
        ttape_string *readable = tool_allocate(count, sizeof(*readable));
        for (uint32_t i = 0; i < count; i++)
            mangled[i] = symbol_of(names->reader, sites[i]);
        tool_demangle_all(mangled, count, readable);
        for (uint32_t i = 0; i < count; i++)
            names->readable[sites[i]] = readable[i];
        free(mangled);
        free(readable);
    }
    free(sites);
}

/* The name of code, in full; no data: it is a text of something else, and stays. */
static ttape_string code_name(const struct tool_site_names *names, uint32_t number)
{
    ttape_site site;
    if (ttape_reader_get_site(names->reader, number, &site) != TTAPE_OK ||
        site.kind != TTAPE_SITE_FUNCTION || site.symbol.size_bytes == 0)
        return (ttape_string){NULL, 0};
    bool is_code =
        names->readable[number].data != NULL || site.module != TTAPE_NONE || site.address != 0;
    return is_code ? tool_site_full(names, number) : (ttape_string){NULL, 0};
}

static void choose(struct tool_site_names *const *sets, size_t set_count)
{
    size_t all = 0, at = 0;
    for (size_t i = 0; i < set_count; i++)
        all += sets[i]->site_count;
    ttape_string *full = tool_allocate(all + 1, sizeof(*full));
    ttape_string *chosen = tool_allocate(all + 1, sizeof(*chosen));
    for (size_t i = 0; i < set_count; i++)
        for (uint32_t site = 0; site < sets[i]->site_count; site++)
            full[at++] = code_name(sets[i], site);
    tool_choose_names(full, all, chosen);
    at = 0;
    for (size_t i = 0; i < set_count; i++)
        for (uint32_t site = 0; site < sets[i]->site_count; site++) {
            sets[i]->chosen[site] = chosen[at++];
            sets[i]->is_shortened = sets[i]->is_shortened || (sets[i]->style == TOOL_NAMES_SIMPLE &&
                                                              sets[i]->chosen[site].data != NULL);
        }
    free(full);
    free(chosen);
}

static void begin(struct tool_site_names *names, const ttape_reader *reader,
                  enum tool_name_style style)
{
    ttape_info info;
    ttape_reader_get_info(reader, &info);
    *names =
        (struct tool_site_names){.reader = reader, .style = style, .site_count = info.site_count};
    names->names = tool_allocate(info.site_count + 1u, sizeof(char *));
    names->readable = tool_allocate(info.site_count + 1u, sizeof(ttape_string));
    names->chosen = tool_allocate(info.site_count + 1u, sizeof(ttape_string));
    demangle(names);
}

void tool_site_names_open_as(struct tool_site_names *names, const ttape_reader *reader,
                             enum tool_name_style style)
{
    begin(names, reader, style);
    choose(&names, 1);
}

void tool_site_names_open_all(struct tool_site_names *const *names,
                              const ttape_reader *const *readers, size_t count,
                              enum tool_name_style style)
{
    for (size_t i = 0; i < count; i++)
        begin(names[i], readers[i], style);
    choose(names, count);
}

void tool_site_names_close(struct tool_site_names *names)
{
    for (uint32_t i = 0; names->names != NULL && i < names->site_count; i++) {
        free(names->names[i]);
        free((char *)names->readable[i].data);
        free((char *)names->chosen[i].data);
    }
    free(names->names);
    free(names->readable);
    free(names->chosen);
    *names = (struct tool_site_names){0};
}

/* ---- asking ---- */

ttape_string tool_site_full(const struct tool_site_names *names, uint32_t site)
{
    if (site < names->site_count && names->readable[site].data != NULL)
        return names->readable[site];
    return symbol_of(names->reader, site);
}

ttape_string tool_site_text(const struct tool_site_names *names, uint32_t site)
{
    if (names->style == TOOL_NAMES_MANGLED)
        return symbol_of(names->reader, site);
    if (names->style == TOOL_NAMES_SIMPLE && site < names->site_count &&
        names->chosen[site].data != NULL)
        return names->chosen[site];
    return tool_site_full(names, site);
}

ttape_string tool_site_word(const struct tool_site_names *names, uint32_t site, char *buffer)
{
    ttape_string text = tool_site_text(names, site);
    return text.size_bytes > 0 ? text : tool_site_symbol(names->reader, site, buffer);
}

static char *escape(const char *name, size_t size_bytes)
{
    size_t size = size_bytes < SHOWN_BYTES ? size_bytes : SHOWN_BYTES;
    char *text = tool_allocate(size * TTP_ESCAPE_MAX + 1, 1);
    text[ttp_escape(text, TTP_ESCAPE_TERMINAL, name, size)] = '\0';
    return text;
}

const char *tool_site_name(struct tool_site_names *names, uint32_t site)
{
    if (site >= names->site_count)
        return "?";
    if (names->names[site] == NULL) {
        char place[TOOL_LABEL_BYTES];
        ttape_string text = tool_site_text(names, site);
        if (text.size_bytes == 0)
            text =
                (ttape_string){place, ttape_site_name(names->reader, site, place, sizeof(place))};
        names->names[site] = escape(text.data, text.size_bytes);
    }
    return names->names[site];
}

static bool matches(ttape_string text, const regex_t *regex)
{
    char *shown = escape(text.data, text.size_bytes);
    bool is_match = regexec(regex, shown, 0, NULL, 0) == 0;
    free(shown);
    return is_match;
}

bool tool_site_matches(struct tool_site_names *names, uint32_t site, const regex_t *regex)
{
    if (regexec(regex, tool_site_name(names, site), 0, NULL, 0) == 0)
        return true;
    if (site >= names->site_count)
        return false;
    if (names->chosen[site].data == NULL && names->readable[site].data == NULL)
        return false; /* it has one name */
    return (names->chosen[site].data != NULL && matches(names->chosen[site], regex)) ||
           matches(tool_site_full(names, site), regex) ||
           (names->readable[site].data != NULL && matches(symbol_of(names->reader, site), regex));
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
    char escaped[BASE_BYTES * TTP_ESCAPE_MAX];
    ttape_string base = base_of(path);
    size_t size = ttp_escape(escaped, TTP_ESCAPE_TERMINAL, base.data, base.size_bytes);
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

static bool is_text(ttape_string text, ttape_string name)
{
    return text.size_bytes == name.size_bytes && memcmp(text.data, name.data, name.size_bytes) == 0;
}

/* Its short form is enough, also where more is shown to tell it apart. */
bool tool_site_is_called(const struct tool_site_names *names, uint32_t site, ttape_string name)
{
    ttape_string full = tool_site_full(names, site);
    if (full.size_bytes == 0 || name.size_bytes == 0)
        return false;
    if (is_text(full, name) || is_text(symbol_of(names->reader, site), name) ||
        is_text(tool_site_text(names, site), name))
        return true;
    if (full.size_bytes * 2 < name.size_bytes || code_name(names, site).data == NULL)
        return false;
    char *text = tool_allocate(TOOL_SIMPLE_NAME_BYTES(full.size_bytes), 1);
    size_t size = tool_simple_name(text, full.data, full.size_bytes, TOOL_NAME_SHORT);
    bool is_short = is_text((ttape_string){text, size}, name);
    free(text);
    return is_short;
}

bool tool_site_is_wanted(const struct tool_site_names *names, uint32_t site, const char *name)
{
    char buffer[TOOL_LABEL_BYTES];
    const ttape_string wanted = {name, strlen(name)};
    if (tool_site_is_called(names, site, wanted))
        return true;
    if (symbol_of(names->reader, site).size_bytes != 0)
        return false;
    if (is_text(tool_site_symbol(names->reader, site, buffer), wanted))
        return true;
    (void)ttape_site_name(names->reader, site, buffer, sizeof(buffer));
    return strcmp(buffer, name) == 0;
}
