/* A report of the functions with most time, where one of all functions does not fit into the
 * memory. First the time of some thousand groups of functions is looked at, by what their names
 * hash to; then the functions of those groups that have most are reported, each by itself. Their
 * numbers are exact; that none with more time is left out is likely, not certain. */
#include <string.h>

#include "answers/view/view_internal.h"
#include "base/sort.h"
#include "format/base/fail.h"
#include "format/base/secret_hash.h"

#define GROUPS    4096u
#define FUNCTIONS 4096u /* that are reported */
#define SLOTS     16384u

struct fitting {
    struct ttape_view *view;
    uint32_t *group_of;    /* by site: of the pass that is going on */
    uint32_t first[SLOTS]; /* a function's first site and 1, by its name's hash; 0: none */
    uint32_t number[SLOTS];
    uint32_t function_count;
    int64_t time_ns[GROUPS];
    uint32_t order[GROUPS], rank[GROUPS];
};

static uint64_t hash_of(const struct fitting *f, uint32_t site)
{
    ttape_site found;
    uint64_t hash = 1;
    if (ttape_reader_get_site(f->view->reader, site, &found) != TTAPE_OK)
        return 0;
    for (size_t i = 0; i < found.symbol.size_bytes; i++)
        hash =
            ttp_secret_hash(hash ^ (unsigned char)found.symbol.data[i], f->view->memory.hash_key);
    return found.symbol.size_bytes > 0 ? hash
                                       : ttp_secret_hash(found.address, f->view->memory.hash_key);
}

static uint32_t group_of(void *context, uint32_t site)
{
    const struct fitting *f = context;
    return site < f->view->info.site_count ? f->group_of[site] : TTAPE_NONE;
}

/* The function's number, as long as there is room for more. */
static uint32_t number_of(struct fitting *f, uint32_t site, uint64_t hash)
{
    uint32_t at = (uint32_t)(hash >> 32) % SLOTS;
    while (f->first[at] != 0 && !ttp_view_is_same(f->view->reader, f->first[at] - 1, site))
        at = (at + 1) % SLOTS;
    if (f->first[at] == 0) {
        if (f->function_count == FUNCTIONS)
            return TTAPE_NONE;
        f->first[at] = site + 1;
        f->number[at] = f->function_count++;
    }
    return f->number[at];
}

static bool has_more(const void *context, uint32_t a, uint32_t b)
{
    const struct fitting *f = context;
    return f->time_ns[a] != f->time_ns[b] ? f->time_ns[a] > f->time_ns[b] : a < b;
}

static ttape_status rank_groups(struct fitting *f, const ttape_report_options *how,
                                ttape_error *err)
{
    ttape_report *report;
    uint32_t count;
    for (uint32_t i = 0; i < f->view->info.site_count; i++)
        f->group_of[i] = (uint32_t)(hash_of(f, i) % GROUPS);
    TTP_TRY(ttape_report_make(&report, f->view->reader, how, err));
    const ttape_report_row *rows = ttape_report_get_rows(report, &count);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].group < GROUPS)
            f->time_ns[rows[i].group] = rows[i].total_ns;
    ttape_report_close(report);
    for (uint32_t i = 0; i < GROUPS; i++)
        f->order[i] = i;
    ttp_sort(f->order, GROUPS, has_more, f);
    for (uint32_t i = 0; i < GROUPS; i++)
        f->rank[f->order[i]] = i;
    return TTAPE_OK;
}

/* Functions of the groups with most time, as many whole groups as there is room for. */
static void choose(struct fitting *f)
{
    uint32_t sizes[GROUPS] = {0}, kept = 0, count = 0;
    for (uint32_t i = 0; i < f->view->info.site_count; i++)
        sizes[f->group_of[i]]++;
    while (kept < GROUPS && count + sizes[f->order[kept]] <= FUNCTIONS)
        count += sizes[f->order[kept++]];
    kept = kept > 0 ? kept : 1;
    for (uint32_t i = 0; i < f->view->info.site_count; i++)
        f->group_of[i] =
            f->rank[f->group_of[i]] < kept ? number_of(f, i, hash_of(f, i)) : TTAPE_NONE;
}

static ttape_status make(struct fitting *f, ttape_report **out, const ttape_report_options *all,
                         ttape_error *err)
{
    struct ttape_view *view = f->view;
    ttape_report_options how = *all, rough;
    how.by = TTAPE_REPORT_BY_GROUP;
    how.group = group_of;
    how.context = f;
    how.damage = NULL; /* it has another context: what is damaged fails here */
    how.jobs = 1;
    rough = how;
    rough.histograms = false;
    f->group_of = ttp_memory_take(&view->memory, view->info.site_count, sizeof *f->group_of, err);
    if (f->group_of == NULL)
        return view->memory.status;
    ttape_status status = rank_groups(f, &rough, err);
    if (status == TTAPE_OK) {
        choose(f);
        status = ttape_report_make(out, view->reader, &how, err);
    }
    ttp_memory_give(&view->memory, f->group_of, view->info.site_count, sizeof *f->group_of);
    return status;
}

ttape_status ttp_view_report_fitting(struct ttape_view *view, ttape_report **out,
                                     const ttape_report_options *all, ttape_error *err)
{
    struct fitting *f = ttp_memory_take(&view->memory, 1, sizeof *f, err);
    if (f == NULL)
        return view->memory.status;
    memset(f, 0, sizeof *f);
    f->view = view;
    ttape_status status = make(f, out, all, err);
    ttp_memory_give(&view->memory, f, 1, sizeof *f);
    return status;
}

struct one {
    const struct ttape_view *view;
    const bool *is_it;
};

static uint32_t group_of_one(void *context, uint32_t site)
{
    const struct one *one = context;
    return ttp_view_is_site(one->view, one->is_it, site) ? 0 : TTAPE_NONE;
}

ttape_status ttp_view_report_one(struct ttape_view *view, ttape_report **out, const bool *is_it,
                                 const ttape_report_options *all, ttape_error *err)
{
    struct one one = {view, is_it};
    ttape_report_options how = *all;
    how.by = TTAPE_REPORT_BY_GROUP;
    how.group = group_of_one;
    how.context = &one;
    how.damage = NULL;
    how.jobs = 1;
    return ttape_report_make(out, view->reader, &how, err);
}
