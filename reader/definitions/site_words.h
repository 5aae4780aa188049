/* What a site says, and in which order sites stand by that: for whoever sorts them into functions
 * or rows. What sites do not have is "", as texts. */
#ifndef TTP_READER_SITE_WORDS_H
#define TTP_READER_SITE_WORDS_H

#include <string.h>

#include "base/text.h"
#include "reader/definitions/definitions_reader.h"

static inline int ttp_compare_numbers(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

/* Of a site that has none: one that says nothing. */
static inline const ttape_module *ttp_site_module(const struct ttp_definition_tables *d,
                                                  const struct ttp_read_site *s)
{
    static const ttape_module none = {.path = {"", 0}, .build_id = {"", 0}};
    return s->module_plus_one == 0 ? &none : &d->modules[s->module_plus_one - 1].module;
}

static inline ttape_string ttp_site_file(const struct ttp_definition_tables *d,
                                         const struct ttp_read_site *s)
{
    return s->file_plus_one == 0 ? (ttape_string){"", 0} : d->files[s->file_plus_one - 1];
}

/* Within the module, where there is one: executions map it at different addresses. */
static inline uint64_t ttp_site_offset(const struct ttp_definition_tables *d,
                                       const struct ttp_read_site *s)
{
    return s->address - ttp_site_module(d, s)->start;
}

/* By their paths. */
static inline int ttp_compare_modules(const struct ttp_definition_tables *d,
                                      const struct ttp_read_site *a, const struct ttp_read_site *b)
{
    return ttp_compare_strings(ttp_site_module(d, a)->path, ttp_site_module(d, b)->path);
}

static inline bool ttp_is_hex(const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
    return true;
}

/* A symbol without the hash that rustc puts behind a name, another one in each build:
 * "...17h0123456789abcdefE" as it is mangled, "...::h0123456789abcdef" as it is shown. */
static inline ttape_string ttp_symbol_across_builds(ttape_string symbol)
{
    size_t size = symbol.size_bytes;
    if (size > 20 && memcmp(symbol.data + size - 20, "17h", 3) == 0 &&
        symbol.data[size - 1] == 'E' && ttp_is_hex(symbol.data + size - 17, 16))
        return (ttape_string){symbol.data, size - 20};
    if (size > 19 && memcmp(symbol.data + size - 19, "::h", 3) == 0 &&
        ttp_is_hex(symbol.data + size - 16, 16))
        return (ttape_string){symbol.data, size - 19};
    return symbol;
}

#endif
