/* Symbols can be a MiB long: what people see of one is bounded. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "program/names/demangle_all.h"
#include "tools/calls/site_name.h"
#include "tools/command/memory_limit.h"
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

/* Mangled ones are made readable in a process of its own. */
static void demangle(void *context, const ttape_string *symbols, uint32_t count,
                     ttape_names_put put, void *into)
{
    (void)context;
    uint32_t mangled_count = 0, *places = tool_allocate(count, sizeof(*places));
    for (uint32_t i = 0; i < count; i++)
        if (tool_is_mangled(symbols[i]))
            places[mangled_count++] = i;
    ttape_string *mangled = tool_allocate(mangled_count, sizeof(*mangled));
    ttape_string *readable = tool_allocate(mangled_count, sizeof(*readable));
    for (uint32_t i = 0; i < mangled_count; i++)
        mangled[i] = symbols[places[i]];
    if (mangled_count > 0)
        tool_demangle_all(mangled, mangled_count, readable);
    for (uint32_t i = 0; i < mangled_count; i++) {
        put(into, places[i], readable[i]);
        free((char *)readable[i].data);
    }
    free(readable);
    free(mangled);
    free(places);
}

static void begin_names(struct tool_site_names *names, const ttape_reader *reader,
                        ttape_names *made, uint32_t number, enum tool_name_style style)
{
    *names = (struct tool_site_names){
        .reader = reader, .style = style, .made = made, .number = number, .is_owner = number == 0};
    names->rows = ttape_names_get_rows(made, number, &names->site_count);
    names->names = tool_allocate(names->site_count + 1u, sizeof(char *));
    for (uint32_t i = 0; i < names->site_count && style == TOOL_NAMES_SIMPLE; i++)
        names->is_shortened =
            names->is_shortened || names->rows[i].simple.data != names->rows[i].full.data;
}

void tool_site_names_open_all(struct tool_site_names *const *names,
                              const ttape_reader *const *readers, size_t count,
                              enum tool_name_style style)
{
    const ttape_names_options options = {
        .size = sizeof(options), .memory_bytes = tool_memory_left() | 1, .demangle = demangle};
    ttape_names *made;
    ttape_status status = ttape_names_make(&made, readers, (uint32_t)count, &options, NULL);
    if (status != TTAPE_OK)
        tool_memory_short();
    for (size_t i = 0; i < count; i++)
        begin_names(names[i], readers[i], made, (uint32_t)i, style);
}

void tool_site_names_open_as(struct tool_site_names *names, const ttape_reader *reader,
                             enum tool_name_style style)
{
    tool_site_names_open_all(&names, &reader, 1, style);
}

void tool_site_names_close(struct tool_site_names *names)
{
    for (uint32_t i = 0; names->names != NULL && i < names->site_count; i++)
        free(names->names[i]);
    free(names->names);
    if (names->is_owner)
        ttape_names_close(names->made);
    *names = (struct tool_site_names){0};
}

/* ---- asking ---- */

/* Sites that came later have their symbol. */
static ttape_name row_of(const struct tool_site_names *names, uint32_t site)
{
    if (site < names->site_count)
        return names->rows[site];
    ttape_site found = {0};
    (void)ttape_reader_get_site(names->reader, site, &found);
    return (ttape_name){found.symbol, found.symbol, found.symbol, found.symbol, {0}};
}

ttape_string tool_site_full(const struct tool_site_names *names, uint32_t site)
{
    return row_of(names, site).full;
}

ttape_string tool_site_text(const struct tool_site_names *names, uint32_t site)
{
    const ttape_name row = row_of(names, site);
    return names->style == TOOL_NAMES_MANGLED  ? row.symbol
           : names->style == TOOL_NAMES_SIMPLE ? row.simple
                                               : row.full;
}

ttape_string tool_site_word(const struct tool_site_names *names, uint32_t site, char *buffer)
{
    ttape_string text = tool_site_text(names, site);
    if (text.size_bytes > 0)
        return text;
    return (ttape_string){buffer, ttape_site_name(names->reader, site, buffer, TOOL_LABEL_BYTES)};
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
        ttape_string text = tool_site_word(names, site, place);
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
    const ttape_name *row = &names->rows[site];
    bool is_short = row->simple.data != row->full.data;
    bool is_readable = row->full.data != row->symbol.data;
    return (is_short && matches(row->simple, regex)) ||
           ((is_short || is_readable) && matches(row->full, regex)) ||
           (is_readable && matches(row->symbol, regex));
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
    } else if (site->symbol.size_bytes > 0 && /* else its name says just that */
               ttape_reader_get_module(reader, site->module, &module) == TTAPE_OK) {
        int size = put_base(buffer, TOOL_PLACE_BYTES, module.path);
        snprintf(buffer + size, TOOL_PLACE_BYTES - (size_t)size, "+0x%" PRIx64 ")",
                 site->address - module.start);
    }
    return buffer;
}

const char *tool_site_place(const ttape_reader *reader, uint32_t site, char *buffer)
{
    ttape_site found;
    bool is_told = ttape_reader_get_site(reader, site, &found) == TTAPE_OK &&
                   (found.symbol.size_bytes != 0 || found.file.size_bytes != 0);
    return is_told ? tool_site_where(reader, &found, buffer) : ""; /* its name is its place */
}

static bool is_text(ttape_string text, ttape_string name)
{
    return text.size_bytes == name.size_bytes && memcmp(text.data, name.data, name.size_bytes) == 0;
}

bool tool_site_is_called(const struct tool_site_names *names, uint32_t site, ttape_string name)
{
    const ttape_name row = row_of(names, site);
    return name.size_bytes > 0 && (is_text(row.full, name) || is_text(row.symbol, name) ||
                                   is_text(row.simple, name) || is_text(row.brief, name));
}
