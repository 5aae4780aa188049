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

/* Blocks, branches, frames, targets of pointers and call sites have names of functions, and may be
 * told of before these: where the function has a site of that name, that one stands for them. */
static inline bool ttp_kind_borrows_name(uint32_t kind)
{
    return kind == TTAPE_SITE_BLOCK || kind == TTAPE_SITE_BRANCH || kind == TTAPE_SITE_FRAME ||
           kind == TTAPE_SITE_TARGET || kind == TTAPE_SITE_CALL;
}

/* By their paths. */
static inline int ttp_compare_modules(const struct ttp_definition_tables *d,
                                      const struct ttp_read_site *a, const struct ttp_read_site *b)
{
    return ttp_compare_strings(ttp_site_module(d, a)->path, ttp_site_module(d, b)->path);
}

#endif
