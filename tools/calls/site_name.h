/* Names of functions for people: escaped, made once for each site, told apart where several share
 * one. */
#ifndef TOOL_SITE_NAME_H
#define TOOL_SITE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/reader.h>

struct tool_site_names {
    const ttape_reader *reader;
    char **names; /* by site; NULL: not asked for yet */
    uint32_t site_count;
};

void tool_site_names_open(struct tool_site_names *names, const ttape_reader *reader);
void tool_site_names_close(struct tool_site_names *names);

/* The symbol; "module+0x12", or "0x..." where no module is known, where there is none; "?" for no
 * site at all. */
const char *tool_site_name(struct tool_site_names *names, uint32_t site);
/* The same, to be freed. */
char *tool_site_label(const ttape_reader *reader, uint32_t site);
/* The symbol as it is, or "0x..." in `buffer` (20 bytes): for programs. */
ttape_string tool_site_symbol(const ttape_reader *reader, uint32_t site, char *buffer);
#define TOOL_LABEL_BYTES 128u /* what ttape_site_name writes of a site without a symbol */
/* Where a site is, escaped, in `buffer` (TOOL_PLACE_BYTES): " (file.c:12)" or " (module+0x12)" with
 * the last parts of paths; "" where that is not known. */
#define TOOL_PLACE_BYTES 640u
const char *tool_site_where(const ttape_reader *reader, const ttape_site *site, char *buffer);
/* The same by number. */
const char *tool_site_place(const ttape_reader *reader, uint32_t site, char *buffer);

/* Sites whose symbol is `name`, or where they have no symbol whose address ("0x...") or place
 * ("module+0x12") it is: the first `capacity` of them in `sites`; returns how many there are. */
uint32_t tool_find_sites(const ttape_reader *reader, const char *name, uint32_t *sites,
                         uint32_t capacity);

#endif
