/* Sites are sorted by what makes them equal; each group of equal ones gets a key, numbered by its
 * first site.
 *
 * Functions: two sites of one scope stay two rows, whatever they look like, because their times may
 * overlap, and then summaries would not add up. Sites of different scopes never meet in one thread:
 * those that say the same are one. So is a system call that was reached by several paths, and then
 * summaries do not tell how long its row took (keys->overlap). */
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

/* order[first, end) are equal: each gets the site that stands for it. By scope, the n-th one of a
 * scope is the n-th one of the first. */
static void join(struct ttp_report_keys *keys, const struct sorting *s, const uint32_t *order,
                 uint32_t first, uint32_t end)
{
    const struct ttp_read_site *sites = s->d->sites;
    bool by_scope = s->by_scope && sites[order[first]].kind != TTAPE_SITE_SYSCALL;
    uint32_t scope_start = first, first_end = first;
    while (first_end < end && sites[order[first_end]].scope == sites[order[first]].scope)
        first_end++;
    for (uint32_t i = first; i < end; i++) {
        if (sites[order[i]].scope != sites[order[scope_start]].scope)
            scope_start = i;
        uint32_t stands = by_scope ? first + (i - scope_start) : first;
        keys->of_site[order[i]] = order[!by_scope || stands < first_end ? stands : i];
        keys->overlap = keys->overlap || (!by_scope && i > scope_start);
    }
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
        join(keys, &sorting, order, first, end);
    }
    number_keys(keys, order);
    ttp_memory_give(keys->memory, order, keys->site_count, sizeof *order);
    return TTAPE_OK;
}

/* The caller's callback numbers groups; keys are these numbers. */
static ttape_status by_group(struct ttp_report_keys *keys, const ttape_report_options *options,
                             ttape_error *err)
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
        if (keys->first_site[group] == TTAPE_NONE)
            keys->first_site[group] = site;
    }
    return TTAPE_OK;
}

ttape_status ttp_report_keys_open(struct ttp_report_keys *keys, struct ttp_memory *memory,
                                  const ttape_reader *r, const ttape_report_options *options,
                                  ttape_error *err)
{
    *keys = (struct ttp_report_keys){.memory = memory, .site_count = r->definitions.site_count};
    keys->key_count = keys->site_count;
    bool is_function =
        options->by == TTAPE_REPORT_BY_FUNCTION || options->by == TTAPE_REPORT_BY_CALL;
    bool is_thread =
        options->by == TTAPE_REPORT_BY_THREAD || options->by == TTAPE_REPORT_BY_PROCESS;
    if (is_thread ||
        (is_function && r->definitions.scope_count <= 1 && r->definitions.path_count == 0))
        return TTAPE_OK;
    keys->key_count = 0;
    TTP_TRY(take_tables(keys, err));
    switch (options->by) {
    case TTAPE_REPORT_BY_NAME: return by_comparison(keys, r, compare_names, false, err);
    case TTAPE_REPORT_BY_MODULE: return by_comparison(keys, r, ttp_compare_modules, false, err);
    case TTAPE_REPORT_BY_FILE: return by_comparison(keys, r, compare_files, false, err);
    case TTAPE_REPORT_BY_GROUP: return by_group(keys, options, err);
    default: return by_comparison(keys, r, compare_functions, true, err);
    }
}

void ttp_report_keys_close(struct ttp_report_keys *keys)
{
    ttp_memory_give(keys->memory, keys->of_site, keys->site_count, sizeof *keys->of_site);
    ttp_memory_give(keys->memory, keys->first_site, keys->site_count, sizeof *keys->first_site);
    keys->of_site = keys->first_site = NULL;
}
