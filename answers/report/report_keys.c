/* Sites are sorted by what makes them equal; each group of equal ones gets a key, numbered by the
 * first site that does not borrow its name.
 *
 * Functions: sites that say the same are one. Those of different scopes, of different processes and
 * of mappings of which one lies where the other lay never meet on one stack, so that their sums add
 * up. Others may: a system call that was reached by several paths, a library that is loaded twice
 * at once. Then summaries do not tell how long the row took (keys->overlap). Without a module, two
 * sites of one scope stay two rows, whatever they look like. */
#include "answers/report/report_keys.h"

#include "base/sort.h"
#include "format/base/fail.h"
#include "reader/definitions/site_words.h"

static int compare_files(const struct ttp_definition_tables *d, const struct ttp_read_site *a,
                         const struct ttp_read_site *b)
{
    return ttp_compare_strings(ttp_site_file(d, a), ttp_site_file(d, b));
}

/* What has no name is as good as its address. */
static int compare_names(const struct ttp_definition_tables *d, const struct ttp_read_site *a,
                         const struct ttp_read_site *b)
{
    int order = ttp_compare_strings(a->symbol, b->symbol);
    if (order != 0 || a->symbol.size_bytes != 0)
        return order;
    order = ttp_compare_modules(d, a, b);
    return order != 0 ? order : ttp_compare_numbers(ttp_site_offset(d, a), ttp_site_offset(d, b));
}

static int compare_functions(const struct ttp_definition_tables *d, const struct ttp_read_site *a,
                             const struct ttp_read_site *b)
{
    int order = ttp_compare_strings(a->symbol, b->symbol);
    if (order == 0)
        order = ttp_compare_modules(d, a, b);
    if (order == 0)
        order =
            ttp_compare_strings(ttp_site_module(d, a)->build_id, ttp_site_module(d, b)->build_id);
    if (order == 0)
        order = ttp_compare_numbers(ttp_site_offset(d, a), ttp_site_offset(d, b));
    if (order == 0)
        order = ttp_compare_numbers(a->kind, b->kind);
    if (order == 0)
        order = compare_files(d, a, b);
    return order != 0 ? order : ttp_compare_numbers(a->line, b->line);
}

typedef int (*site_comparison)(const struct ttp_definition_tables *d, const struct ttp_read_site *a,
                               const struct ttp_read_site *b);

struct sorting {
    const struct ttp_definition_tables *d;
    site_comparison compare;
    bool by_scope; /* equal ones stand scope by scope */
};

static bool site_less(const void *context, uint32_t a, uint32_t b)
{
    const struct sorting *s = context;
    const struct ttp_read_site *x = &s->d->sites[a], *y = &s->d->sites[b];
    int order = s->compare(s->d, x, y);
    if (order == 0 && s->by_scope)
        order = ttp_compare_numbers(x->scope, y->scope);
    if (order == 0 && s->by_scope)
        order = ttp_compare_numbers(ttp_site_module(s->d, x)->process,
                                    ttp_site_module(s->d, y)->process);
    return order != 0 ? order < 0 : a < b;
}

static ttape_status take_tables(struct ttp_report_keys *keys, ttape_error *err)
{
    keys->of_site = ttp_memory_take(keys->memory, keys->site_count, sizeof *keys->of_site, err);
    if (keys->of_site == NULL)
        return keys->memory->status;
    keys->first_site =
        ttp_memory_take(keys->memory, keys->site_count, sizeof *keys->first_site, err);
    return keys->first_site == NULL ? keys->memory->status : TTAPE_OK;
}

/* True where all equal sites of a scope are one row. */
static bool joins_in_scope(const struct sorting *s, const struct ttp_read_site *site)
{
    return !s->by_scope || site->kind == TTAPE_SITE_SYSCALL ||
           ttp_site_module(s->d, site)->path.size_bytes != 0;
}

/* True where of these sites of a scope two may be on one stack at once: of one process, in one
 * mapping, or in two of which each has a place of its own. */
static bool may_meet(const struct sorting *s, const uint32_t *order, uint32_t first, uint32_t end)
{
    const struct ttp_read_site *sites = s->d->sites;
    const ttape_module *before = ttp_site_module(s->d, &sites[order[first]]);
    uint64_t from = before->start, to = before->end;
    for (uint32_t i = first + 1; i < end; i++) {
        const ttape_module *module = ttp_site_module(s->d, &sites[order[i]]);
        if (module->process != before->process) {
            from = module->start;
            to = module->end;
        } else {
            from = module->start > from ? module->start : from;
            to = module->end < to ? module->end : to;
            if (module == before || from >= to)
                return true;
        }
        before = module;
    }
    return false;
}

/* Whether a row is site a rather than site b: the first one that does not borrow its name. */
static bool stands_before(const struct ttp_read_site *sites, uint32_t a, uint32_t b)
{
    bool borrows = ttp_kind_borrows_name(sites[a].kind);
    return borrows != ttp_kind_borrows_name(sites[b].kind) ? !borrows : a < b;
}

/* order[first, end) are equal: each gets the site that stands for it. By scope, the n-th one of a
 * scope is the n-th one of the first. */
static void join_keys(struct ttp_report_keys *keys, const struct sorting *s, const uint32_t *order,
                      uint32_t first, uint32_t end)
{
    const struct ttp_read_site *sites = s->d->sites;
    bool joins = joins_in_scope(s, &sites[order[first]]);
    uint32_t least = order[first], scope_start = first, first_end = first;
    while (first_end < end && sites[order[first_end]].scope == sites[order[first]].scope)
        first_end++;
    for (uint32_t i = first; i < end; i++)
        least = stands_before(sites, order[i], least) ? order[i] : least;
    for (uint32_t i = first; i < end; i++) {
        bool is_scope_end =
            i + 1 == end || sites[order[i + 1]].scope != sites[order[scope_start]].scope;
        uint32_t stands = first + (i - scope_start);
        keys->of_site[order[i]] = joins ? least : order[stands < first_end ? stands : i];
        if (joins && s->by_scope && is_scope_end)
            keys->overlap = keys->overlap || may_meet(s, order, scope_start, i + 1);
        scope_start = is_scope_end ? i + 1 : scope_start;
    }
    keys->overlap = keys->overlap || (!s->by_scope && end - first > 1);
}

/* Keys from 0 on instead of sites that stand for others, in the order of these. */
static void number_keys(struct ttp_report_keys *keys, uint32_t *key_of)
{
    for (uint32_t site = 0; site < keys->site_count; site++)
        if (keys->of_site[site] == site) {
            key_of[site] = keys->key_count;
            keys->first_site[keys->key_count++] = site;
        }
    for (uint32_t site = 0; site < keys->site_count; site++)
        keys->of_site[site] = key_of[keys->of_site[site]];
}

static ttape_status by_comparison(struct ttp_report_keys *keys, const ttape_reader *r,
                                  site_comparison compare, bool by_scope, ttape_error *err)
{
    const struct ttp_definition_tables *d = &r->definitions;
    const struct sorting sorting = {d, compare, by_scope};
    uint32_t *order = ttp_memory_take(keys->memory, keys->site_count, sizeof *order, err);
    if (order == NULL)
        return keys->memory->status;
    for (uint32_t i = 0; i < keys->site_count; i++)
        order[i] = i;
    ttp_sort(order, keys->site_count, site_less, &sorting);
    for (uint32_t first = 0, end; first < keys->site_count; first = end) {
        for (end = first + 1; end < keys->site_count &&
                              compare(d, &d->sites[order[first]], &d->sites[order[end]]) == 0;)
            end++;
        join_keys(keys, &sorting, order, first, end);
    }
    number_keys(keys, order);
    ttp_memory_give(keys->memory, order, keys->site_count, sizeof *order);
    return TTAPE_OK;
}

/* The caller's callback numbers groups; keys are these numbers. */
static ttape_status by_group(struct ttp_report_keys *keys, const struct ttp_read_site *sites,
                             const ttape_report_options *options, ttape_error *err)
{
    for (uint32_t site = 0; site < keys->site_count; site++) {
        uint32_t group = options->group(options->context, site);
        if (group != TTAPE_NONE && group >= keys->site_count)
            return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                            "group '%u' is not below the number of sites", group);
        keys->of_site[site] = group;
        if (group == TTAPE_NONE)
            continue;
        for (; keys->key_count <= group; keys->key_count++)
            keys->first_site[keys->key_count] = TTAPE_NONE;
        uint32_t *first = &keys->first_site[group];
        if (*first == TTAPE_NONE || stands_before(sites, site, *first))
            *first = site;
    }
    return TTAPE_OK;
}

ttape_status ttp_report_keys_open(struct ttp_report_keys *keys, struct ttp_memory *memory,
                                  const ttape_reader *r, const ttape_report_options *options,
                                  ttape_error *err)
{
    *keys = (struct ttp_report_keys){.memory = memory, .site_count = r->definitions.site_count};
    keys->key_count = keys->site_count;
    bool is_function = options->by == TTAPE_REPORT_BY_FUNCTION ||
                       options->by == TTAPE_REPORT_BY_CALL || options->by == TTAPE_REPORT_BY_SITE;
    bool is_thread =
        options->by == TTAPE_REPORT_BY_THREAD || options->by == TTAPE_REPORT_BY_PROCESS;
    if (is_thread || (is_function && r->definitions.scope_count <= 1 &&
                      r->definitions.module_count <= 1 && r->definitions.path_count == 0))
        return TTAPE_OK;
    keys->key_count = 0;
    TTP_TRY(take_tables(keys, err));
    switch (options->by) {
    case TTAPE_REPORT_BY_NAME: return by_comparison(keys, r, compare_names, false, err);
    case TTAPE_REPORT_BY_MODULE: return by_comparison(keys, r, ttp_compare_modules, false, err);
    case TTAPE_REPORT_BY_FILE: return by_comparison(keys, r, compare_files, false, err);
    case TTAPE_REPORT_BY_GROUP: return by_group(keys, r->definitions.sites, options, err);
    default: return by_comparison(keys, r, compare_functions, true, err);
    }
}

void ttp_report_keys_close(struct ttp_report_keys *keys)
{
    ttp_memory_give(keys->memory, keys->of_site, keys->site_count, sizeof *keys->of_site);
    ttp_memory_give(keys->memory, keys->first_site, keys->site_count, sizeof *keys->first_site);
    keys->of_site = keys->first_site = NULL;
}
