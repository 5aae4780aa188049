/* Sites of all readers are numbered one after the other: their names are told apart together. */
#include <string.h>

#include "answers/names/names_internal.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/reader_internal.h"

/* ---- what the caller makes readable ---- */

struct demangling {
    struct ttape_names *names;
    ttape_name *rows; /* of one reader */
    uint32_t count;
};

static void put_readable(void *into, uint32_t index, ttape_string readable)
{
    const struct demangling *work = into;
    if (index >= work->count || readable.size_bytes == 0)
        return;
    const char *copy = ttp_region_copy(&work->names->region, readable.data, readable.size_bytes);
    if (copy != NULL)
        work->rows[index].full = (ttape_string){copy, readable.size_bytes};
}

static void demangle(struct ttape_names *names, uint32_t reader, const ttape_names_options *options)
{
    struct demangling work = {names, names->rows + names->first[reader],
                              names->first[reader + 1] - names->first[reader]};
    ttape_string *symbols = ttp_region_take(&names->region, work.count, sizeof *symbols);
    for (uint32_t i = 0; symbols != NULL && i < work.count; i++)
        symbols[i] = work.rows[i].symbol;
    if (symbols != NULL && work.count > 0)
        options->demangle(options->context, symbols, work.count, put_readable, &work);
    ttp_region_give(&names->region, symbols);
}

/* ---- from readers to an answer ---- */

static ttape_status number_sites(struct ttape_names *names, ttape_error *err)
{
    uint64_t count = 0;
    names->first = ttp_region_take(&names->region, names->reader_count + 1u, sizeof(uint32_t));
    for (uint32_t i = 0; names->first != NULL && i < names->reader_count; i++) {
        names->first[i] = (uint32_t)count;
        count += names->readers[i]->definitions.site_count;
        names->first[i + 1] = (uint32_t)count;
        if (count >= UINT32_MAX)
            return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                            "more than 2^32 sites in %u traces", i + 1);
    }
    names->rows = ttp_region_take(&names->region, count, sizeof *names->rows);
    names->is_code = ttp_region_take(&names->region, count, 1);
    return TTAPE_OK;
}

static void read_symbols(struct ttape_names *names, uint32_t reader)
{
    ttape_name *rows = names->rows + names->first[reader];
    uint32_t count = names->first[reader + 1] - names->first[reader];
    for (uint32_t i = 0; i < count; i++) {
        ttape_site site = {.symbol = {"", 0}};
        (void)ttape_reader_get_site(names->readers[reader], i, &site);
        rows[i] = (ttape_name){site.symbol, site.symbol, site.symbol, site.symbol, {0}};
    }
}

/* Names of code are those that a function has that lies somewhere, or that was mangled. */
static void settle_names(struct ttape_names *names, uint32_t reader)
{
    ttape_name *rows = names->rows + names->first[reader];
    uint32_t count = names->first[reader + 1] - names->first[reader];
    for (uint32_t i = 0; i < count; i++) {
        ttape_site site = {0};
        (void)ttape_reader_get_site(names->readers[reader], i, &site);
        bool is_readable = rows[i].full.data != rows[i].symbol.data;
        names->is_code[names->first[reader] + i] =
            site.kind == TTAPE_SITE_FUNCTION && rows[i].symbol.size_bytes > 0 &&
            (is_readable || site.module != TTAPE_NONE || site.address != 0);
        rows[i].brief = rows[i].simple = rows[i].full;
    }
}

static ttape_status make_names(struct ttape_names *names, const ttape_names_options *options,
                               ttape_error *err)
{
    TTP_TRY(number_sites(names, err));
    for (uint32_t i = 0; i < names->reader_count && !names->region.is_short; i++) {
        read_symbols(names, i);
        if (options->demangle != NULL)
            demangle(names, i, options);
        settle_names(names, i);
        TTP_TRY(ttp_ask_watch(options->watch, i, names->reader_count, err));
    }
    if (!names->region.is_short)
        TTP_TRY(ttp_choose_names(names, options->watch, err));
    ttp_region_give(&names->region, names->is_code);
    names->is_code = NULL;
    const ttape_reader **kept = ttp_region_take(&names->region, names->reader_count, sizeof *kept);
    if (names->region.is_short)
        return ttp_fail_region(err, "names", options->memory_bytes);
    memcpy(kept, names->readers, names->reader_count * sizeof *kept);
    names->readers = kept;
    return TTAPE_OK;
}

/* ---- public ---- */

ttape_status ttape_names_make(ttape_names **out, const ttape_reader *const *readers,
                              uint32_t reader_count, const ttape_names_options *options,
                              ttape_error *err)
{
    ttape_names_options taken = {.size = sizeof taken};
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    TTP_TRY(ttp_check_readers(readers, reader_count, err));
    if (options != NULL)
        TTP_TRY(ttp_take_sized(&taken, sizeof taken, options, "names", err));
    struct ttp_region region;
    struct ttape_names *names =
        ttp_open_region(&region, readers[0]->memory.allocator, &taken.memory_bytes, sizeof *names);
    if (names == NULL)
        return ttp_fail_region(err, "names", taken.memory_bytes);
    *names =
        (struct ttape_names){.region = region, .readers = readers, .reader_count = reader_count};
    ttape_status status = make_names(names, &taken, err);
    if (status != TTAPE_OK) {
        ttape_names_close(names);
        return status;
    }
    *out = names;
    return TTAPE_OK;
}

void ttape_names_close(ttape_names *names)
{
    if (names != NULL)
        ttp_close_region(&names->region);
}

const ttape_name *ttape_names_get_rows(const ttape_names *names, uint32_t reader,
                                       uint32_t *row_count)
{
    *row_count = 0;
    if (names == NULL || reader >= names->reader_count)
        return NULL;
    *row_count = names->first[reader + 1] - names->first[reader];
    return &names->rows[names->first[reader]];
}
