/* Names of functions for people: escaped, made once for each site, told apart where several share
 * one. */
#ifndef TOOL_SITE_NAME_H
#define TOOL_SITE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

typedef struct tool_site_names {
    const ttape_reader *reader;
    char **names; /* by site; NULL: not asked for yet */
    uint32_t site_count;
} tool_site_names;

void tool_site_names_open(tool_site_names *names, const ttape_reader *reader);
void tool_site_names_close(tool_site_names *names);

/* The symbol, or "0x..." where there is none; "?" for no site at all. */
const char *tool_site_name(tool_site_names *names, uint32_t site);
/* The symbol as it is, or "0x..." in `buffer` (20 bytes). */
ttape_string tool_site_symbol(const ttape_reader *reader, uint32_t site, char *buffer);
/* Where a site is: " (file.c:12)" or " (module+0x12)" with the last parts of paths; "" where that
 * is not known. Static. */
const char *tool_site_place(tool_site_names *names, uint32_t site);

/* Sites whose symbol is `name`, or whose address it is ("0x..."): the first `capacity` of them in
 * `sites`; returns how many there are. */
uint32_t tool_find_sites(const ttape_reader *reader, const char *name, uint32_t *sites,
                         uint32_t capacity);

#endif
