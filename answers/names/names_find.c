/* Functions by their names, where one is meant. */
#define _GNU_SOURCE /* memmem */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answers/names/names_internal.h"
#include "base/text.h"

#define LABEL_BYTES 128u /* of what ttape_site_name writes of a site without a symbol */

/* What gcc and clang put behind the names of copies and parts. */
static size_t plain_size(ttape_string symbol)
{
    static const char *const ends[] = {".isra.",     ".constprop.", ".part.", ".cold",
                                       ".lto_priv.", ".llvm.",      ".clone."};
    size_t size = symbol.size_bytes;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && size > 0; i++) {
        const char *found = memmem(symbol.data, size, ends[i], strlen(ends[i]));
        if (found != NULL && found > symbol.data)
            size = (size_t)(found - symbol.data);
    }
    return size;
}

static bool is_copy(const ttape_name *row, ttape_string name)
{
    size_t size = plain_size(row->full);
    return size < row->full.size_bytes &&
           ttp_is_same_text((ttape_string){row->full.data, size}, name);
}

/* Without a symbol its address or offset in the module is a site's name. */
static bool is_label(const ttape_reader *reader, uint32_t number, ttape_string name)
{
    char text[LABEL_BYTES];
    ttape_site site;
    if (ttape_reader_get_site(reader, number, &site) != TTAPE_OK)
        return false;
    int size = snprintf(text, sizeof text, "0x%" PRIx64, site.address);
    if (ttp_is_same_text((ttape_string){text, (size_t)size}, name))
        return true;
    (void)ttape_site_name(reader, number, text, sizeof text);
    return ttp_is_same_text((ttape_string){text, strlen(text)}, name);
}

static bool is_called(const ttape_name *row, ttape_string name)
{
    return ttp_is_same_text(row->full, name) || ttp_is_same_text(row->symbol, name) ||
           ttp_is_same_text(row->simple, name) || ttp_is_same_text(row->brief, name);
}

uint32_t ttape_names_find(const ttape_names *names, uint32_t reader, ttape_string name,
                          uint32_t *sites, uint32_t capacity)
{
    uint32_t row_count, count = 0;
    const ttape_name *rows = ttape_names_get_rows(names, reader, &row_count);
    for (int round = 0; round < 2 && count == 0 && name.size_bytes > 0; round++)
        for (uint32_t i = 0; i < row_count; i++) {
            bool is_meant = round == 1 ? is_copy(&rows[i], name)
                            : rows[i].symbol.size_bytes != 0
                                ? is_called(&rows[i], name)
                                : is_label(names->readers[reader], i, name);
            if (is_meant && count < capacity)
                sites[count] = i;
            count += is_meant;
        }
    return count;
}
