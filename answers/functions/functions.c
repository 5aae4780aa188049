/* Sites of all readers are numbered one after the other, and sorted by the key of what they say.
 * Keys are compared first, what they stand for only where they are equal: two functions with one
 * key stay two, and no file can make this slow. */
#include <string.h>

#include <tracetape/report.h>

#include "answers/functions/functions_internal.h"
#include "base/sort.h"
#include "base/text.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/base/sized.h"
#include "reader/base/choice.h"
#include "reader/definitions/rust_symbol.h"
#include "reader/definitions/site_words.h"
#include "reader/reader_internal.h"

#define MEMORY_BYTES_DEFAULT (256ull << 20)

/* What is compared. */
struct identity {
    ttape_string symbol, module, file;
    bool is_across; /* builds: the symbol says more than that */
    uint64_t place;
};

/* While an answer is made. */
struct sorting {
    const struct ttape_functions *functions;
    uint64_t *keys; /* by number */
};

/* ---- what a site says ---- */

static uint32_t reader_of(const struct ttape_functions *f, uint32_t number)
{
    return ttp_count_below(f->first, 1, f->reader_count, number + UINT64_C(1)) - 1;
}

static struct identity identify_by_name(const struct ttape_functions *f,
                                        const struct ttp_definition_tables *d,
                                        const struct ttp_read_site *site)
{
    struct identity id = {.symbol = site->symbol,
                          .is_across = true,
                          .module = ttp_path_base(ttp_site_module(d, site)->path)};
    if (site->symbol.size_bytes == 0)
        id.place = ttp_site_offset(d, site);
    else if (f->with_files)
        id.file = ttp_path_base(ttp_site_file(d, site));
    return id;
}

/* Namesakes in one module (static functions of several files) stay apart: by file where it is
 * known, otherwise by their place in the module. */
static struct identity identify(const struct ttape_functions *f, uint32_t number)
{
    uint32_t reader = reader_of(f, number);
    const struct ttp_definition_tables *d = &f->readers[reader]->definitions;
    const struct ttp_read_site *site = &d->sites[number - f->first[reader]];
    const ttape_module *module = ttp_site_module(d, site);
    if (f->by == TTAPE_FUNCTIONS_BY_NAME)
        return identify_by_name(f, d, site);
    bool is_frame = site->kind == TTAPE_SITE_FRAME;
    struct identity id = {.symbol = site->symbol, .module = module->path};
    if (f->by == TTAPE_FUNCTIONS_BY_BUILD && module->build_id.size_bytes != 0)
        id.module = module->build_id;
    if (!is_frame)
        id.file = ttp_site_file(d, site);
    bool is_single = is_frame || id.file.size_bytes > 0 || site->module_plus_one == 0;
    if (site->symbol.size_bytes == 0 || !is_single)
        id.place = ttp_site_offset(d, site);
    return id;
}

static int compare_identities(const struct identity *a, const struct identity *b)
{
    int order = a->is_across ? ttp_compare_symbols_across_builds(a->symbol, b->symbol)
                             : ttp_compare_strings(a->symbol, b->symbol);
    if (order == 0)
        order = ttp_compare_strings(a->module, b->module);
    if (order == 0)
        order = ttp_compare_strings(a->file, b->file);
    return order != 0 ? order : ttp_compare_numbers(a->place, b->place);
}

static uint64_t checksum_of(ttape_string text)
{
    return ttp_checksum(text.size_bytes != 0 ? text.data : "", text.size_bytes);
}

static uint64_t key_of(const struct identity *id)
{
    uint8_t bytes[4 * sizeof(uint64_t)];
    char room[TTP_RUST_SYMBOL_MOST];
    ttape_string symbol = id->is_across ? ttp_symbol_across_builds(id->symbol, room) : id->symbol;
    const uint64_t words[4] = {checksum_of(symbol), checksum_of(id->module), checksum_of(id->file),
                               id->place};
    for (size_t i = 0; i < sizeof bytes; i++) /* the same on every machine */
        bytes[i] = (uint8_t)(words[i / 8] >> (i % 8 * 8));
    return ttp_checksum(bytes, sizeof bytes);
}

/* ---- which are one ---- */

static int compare_sites(const struct sorting *s, uint32_t a, uint32_t b)
{
    int order = ttp_compare_numbers(s->keys[a], s->keys[b]);
    if (order != 0)
        return order;
    struct identity one = identify(s->functions, a), other = identify(s->functions, b);
    return compare_identities(&one, &other);
}

static bool is_site_before(const void *context, uint32_t a, uint32_t b)
{
    int order = compare_sites(context, a, b);
    return order != 0 ? order < 0 : a < b;
}

static bool is_row_before(const void *context, uint32_t a, uint32_t b)
{
    const ttape_function *rows = context;
    return rows[a].key != rows[b].key ? rows[a].key < rows[b].key : a < b;
}

static ttape_function row_from(const struct ttape_functions *f, uint32_t number, uint64_t key)
{
    uint32_t reader = reader_of(f, number);
    const struct ttp_definition_tables *d = &f->readers[reader]->definitions;
    const struct ttp_read_site *site = &d->sites[number - f->first[reader]];
    const ttape_module *module = ttp_site_module(d, site);
    return (ttape_function){.reader = reader,
                            .site = number - f->first[reader],
                            .module = site->module_plus_one - 1, /* none: TTAPE_NONE */
                            .line = site->line,
                            .key = key,
                            .symbol = site->symbol,
                            .module_path = module->path,
                            .build_id = module->build_id,
                            .file = ttp_site_file(d, site),
                            .is_idle = ttape_is_idle_name(site->symbol)};
}

static uint32_t kind_of(const struct ttape_functions *f, uint32_t number)
{
    uint32_t reader = reader_of(f, number);
    return f->readers[reader]->definitions.sites[number - f->first[reader]].kind;
}

/* A row is where the function is, not what borrows its name. */
static void prefer_functions(struct ttape_functions *f)
{
    for (uint32_t i = 0; i < f->site_count; i++) {
        ttape_function *row = &f->rows[f->row_of[i]];
        if (kind_of(f, i) == TTAPE_SITE_FUNCTION &&
            ttp_kind_borrows_name(kind_of(f, f->first[row->reader] + row->site)))
            *row = row_from(f, i, row->key);
    }
}

/* Numbers what is sorted: row_of holds the first site of each function until it has a row. */
static ttape_status make_rows(struct ttape_functions *f, const struct sorting *s,
                              const uint32_t *order, ttape_error *err)
{
    uint32_t count = 1;
    for (uint32_t i = 0, first = 0; i < f->site_count; i++) {
        bool is_first = i == 0 || compare_sites(s, order[first], order[i]) != 0;
        first = is_first ? i : first;
        count += is_first;
        f->row_of[order[i]] = order[first];
    }
    TTP_TRY(
        ttp_memory_reserve(&f->memory, &f->rows, &f->row_capacity, count, sizeof *f->rows, err));
    for (uint32_t i = 0; i < f->site_count; i++) {
        if (f->row_of[i] == i) {
            f->row_of[i] = f->row_count;
            f->rows[f->row_count++] = row_from(f, i, s->keys[i]);
        } else {
            f->row_of[i] = f->row_of[f->row_of[i]];
        }
    }
    prefer_functions(f);
    f->rows[f->row_count++] = (ttape_function){.site = TTAPE_NONE,
                                               .module = TTAPE_NONE,
                                               .symbol = {"", 0},
                                               .module_path = {"", 0},
                                               .build_id = {"", 0},
                                               .file = {"", 0}};
    f->by_key = ttp_memory_take(&f->memory, f->row_count, sizeof *f->by_key, err);
    if (f->by_key == NULL)
        return f->memory.status;
    for (uint32_t i = 0; i + 1 < f->row_count; i++)
        f->by_key[i] = i;
    ttp_sort(f->by_key, f->row_count - 1, is_row_before, f->rows);
    return TTAPE_OK;
}

static ttape_status join_sites(struct ttape_functions *f, ttape_error *err)
{
    struct sorting s = {f, ttp_memory_take(&f->memory, f->site_count, sizeof *s.keys, err)};
    if (s.keys == NULL)
        return f->memory.status;
    ttape_status status = TTAPE_OK;
    uint32_t *order = ttp_memory_take(&f->memory, f->site_count, sizeof *order, err);
    if (order == NULL)
        status = f->memory.status;
    for (uint32_t i = 0; order != NULL && i < f->site_count; i++) {
        struct identity id = identify(f, i);
        s.keys[i] = key_of(&id);
        order[i] = i;
    }
    if (order != NULL) {
        ttp_sort(order, f->site_count, is_site_before, &s);
        status = make_rows(f, &s, order, err);
    }
    ttp_memory_give(&f->memory, order, f->site_count, sizeof *order);
    ttp_memory_give(&f->memory, s.keys, f->site_count, sizeof *s.keys);
    return status;
}

/* ---- from readers to an answer ---- */

static bool has_files(const struct ttp_definition_tables *d)
{
    for (uint32_t i = 0; i < d->site_count; i++)
        if (ttp_site_file(d, &d->sites[i]).size_bytes > 0)
            return true;
    return false;
}

static ttape_status number_sites(struct ttape_functions *f, ttape_error *err)
{
    uint64_t count = 0;
    f->first = ttp_memory_take(&f->memory, f->reader_count + 1u, sizeof *f->first, err);
    if (f->first == NULL)
        return f->memory.status;
    f->with_files = true;
    for (uint32_t i = 0; i < f->reader_count; i++) {
        f->first[i] = (uint32_t)count;
        count += f->readers[i]->definitions.site_count;
        f->with_files = f->with_files && has_files(&f->readers[i]->definitions);
        if (count >= UINT32_MAX)
            return ttp_fail(err, TTAPE_E_LIMIT, "", TTAPE_ERROR_NO_OFFSET,
                            "more than 2^32 sites in %u traces", i + 1);
    }
    f->first[f->reader_count] = (uint32_t)count;
    f->row_of = ttp_memory_take(&f->memory, count, sizeof *f->row_of, err);
    if (f->row_of == NULL)
        return f->memory.status;
    f->site_count = (uint32_t)count;
    return TTAPE_OK;
}

static ttape_status make_functions(struct ttape_functions *f, ttape_error *err)
{
    TTP_TRY(number_sites(f, err));
    TTP_TRY(join_sites(f, err));
    return f->a_count != 0 ? ttp_functions_match(f, err) : TTAPE_OK;
}

/* ---- public ---- */

ttape_status ttape_functions_make(ttape_functions **out, const ttape_reader *const *readers,
                                  uint32_t reader_count, const ttape_functions_options *options,
                                  ttape_error *err)
{
    ttape_functions_options taken = {.size = sizeof taken};
    struct ttp_memory memory;
    if (out == NULL)
        return ttp_refuse(err, "no place for an answer");
    *out = NULL;
    TTP_TRY(ttp_check_readers(readers, reader_count, err));
    if (options != NULL)
        TTP_TRY(ttp_take_sized(&taken, sizeof taken, options, "functions", err));
    if ((unsigned)taken.by >= TTAPE_FUNCTIONS_BY_COUNT)
        return ttp_refuse(err, "functions are compared in no such way");
    if (taken.a_count != 0 &&
        (taken.by != TTAPE_FUNCTIONS_BY_NAME || taken.a_count >= reader_count))
        return ttp_refuse(err, "functions of two sides are matched by name, and each has readers");
    ttp_memory_init(&memory, &readers[0]->memory.allocator,
                    taken.memory_bytes != 0 ? taken.memory_bytes : MEMORY_BYTES_DEFAULT);
    struct ttape_functions *f = ttp_memory_take(&memory, 1, sizeof *f, err);
    if (f == NULL)
        return memory.status;
    *f = (struct ttape_functions){.memory = memory,
                                  .readers = readers,
                                  .reader_count = reader_count,
                                  .a_count = taken.a_count,
                                  .by = taken.by};
    ttape_status status = make_functions(f, err);
    f->readers = NULL;
    if (status != TTAPE_OK) {
        ttape_functions_close(f);
        return status;
    }
    *out = f;
    return TTAPE_OK;
}

void ttape_functions_close(ttape_functions *functions)
{
    if (functions == NULL)
        return;
    struct ttp_memory memory = functions->memory;
    ttp_memory_give(&memory, functions->first, functions->reader_count + 1u,
                    sizeof *functions->first);
    ttp_memory_give(&memory, functions->row_of, functions->site_count, sizeof *functions->row_of);
    ttp_memory_give(&memory, functions->rows, functions->row_capacity, sizeof *functions->rows);
    ttp_memory_give(&memory, functions->by_key, functions->row_count, sizeof *functions->by_key);
    ttp_memory_give(&memory, functions->matches, functions->match_count,
                    sizeof *functions->matches);
    ttp_memory_give(&memory, functions, 1, sizeof *functions);
}

const ttape_function *ttape_functions_get_rows(const ttape_functions *functions,
                                               uint32_t *row_count)
{
    *row_count = functions != NULL ? functions->row_count : 0;
    return functions != NULL ? functions->rows : NULL;
}

const uint32_t *ttape_functions_get_sites(const ttape_functions *functions, uint32_t reader,
                                          uint32_t *site_count)
{
    *site_count = 0;
    if (functions == NULL || reader >= functions->reader_count)
        return NULL;
    *site_count = functions->first[reader + 1] - functions->first[reader];
    return &functions->row_of[functions->first[reader]];
}

const ttape_functions_match *ttape_functions_get_matches(const ttape_functions *functions,
                                                         uint32_t *match_count)
{
    *match_count = functions != NULL ? functions->match_count : 0;
    return functions != NULL ? functions->matches : NULL;
}

uint32_t ttape_functions_find(const ttape_functions *functions, uint64_t key)
{
    const size_t count = functions != NULL ? functions->row_count - 1 : 0;
    struct ttp_bisect s = {.end = count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, functions->rows[functions->by_key[s.middle]].key < key);
    if (s.first >= count || functions->rows[functions->by_key[s.first]].key != key)
        return TTAPE_NONE;
    const ttape_function *found = &functions->rows[functions->by_key[s.first]];
    return functions->row_of[functions->first[found->reader] + found->site]; /* A's, if matched */
}
