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

struct fitting {
    struct ttape_view *view;
    uint32_t *group_of; /* by site: of the pass that is going on */
    uint32_t function_count;
    int64_t time_ns[GROUPS];
    uint32_t order[GROUPS], rank[GROUPS];
};

/* A secret decides which functions are together, so that no file can. */
static uint32_t group_of_row(const struct fitting *f, uint32_t row_site)
{
    return (uint32_t)(ttp_secret_hash(row_site, f->view->memory.hash_key) % GROUPS);
}

static uint32_t group_of(void *context, uint32_t site)
{
    const struct fitting *f = context;
    return site < f->view->info.site_count ? f->group_of[site] : TTAPE_NONE;
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
        f->group_of[i] = group_of_row(f, f->view->row_of[i]);
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

/* Functions of the groups with most time, as many whole groups as there is room for: a row goes by
 * the first of its sites, and has the number that this one got. */
static void choose_rows(struct fitting *f)
{
    uint32_t sizes[GROUPS] = {0}, kept = 0, count = 0;
    const uint32_t *row_of = f->view->row_of;
    for (uint32_t i = 0; i < f->view->info.site_count; i++)
        sizes[f->group_of[i]] += row_of[i] == i;
    while (kept < GROUPS && count + sizes[f->order[kept]] <= FUNCTIONS)
        count += sizes[f->order[kept++]];
    kept = kept > 0 ? kept : 1;
    for (uint32_t i = 0; i < f->view->info.site_count; i++) {
        bool is_kept = f->rank[f->group_of[i]] < kept;
        bool is_first = row_of[i] == i && f->function_count < FUNCTIONS;
        if (is_kept && row_of[i] != i)
            f->group_of[i] = f->group_of[row_of[i]];
        else
            f->group_of[i] = is_kept && is_first ? f->function_count++ : TTAPE_NONE;
    }
}

static ttape_status make_report(struct fitting *f, ttape_report **out,
                                const ttape_report_options *all, ttape_error *err)
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
        choose_rows(f);
        status = ttape_report_make(out, view->reader, &how, err);
    }
    ttp_memory_give(&view->memory, f->group_of, view->info.site_count, sizeof *f->group_of);
    return status;
}

ttape_status ttp_view_report_fitting(struct ttape_view *view, ttape_report **out,
                                     const ttape_report_options *all, ttape_error *err)
{
    TTP_TRY(ttp_view_find_rows(view, err));
    struct fitting *f = ttp_memory_take(&view->memory, 1, sizeof *f, err);
    if (f == NULL)
        return view->memory.status;
    memset(f, 0, sizeof *f);
    f->view = view;
    ttape_status status = make_report(f, out, all, err);
    ttp_memory_give(&view->memory, f, 1, sizeof *f);
    return status;
}

struct one {
    const struct ttape_view *view;
    uint32_t row_site;
};

static uint32_t group_of_one(void *context, uint32_t site)
{
    const struct one *one = context;
    bool is_it = site < one->view->info.site_count && one->view->row_of[site] == one->row_site;
    return is_it ? 0 : TTAPE_NONE;
}

ttape_status ttp_view_report_one(struct ttape_view *view, ttape_report **out, uint32_t site,
                                 const ttape_report_options *all, ttape_error *err)
{
    TTP_TRY(ttp_view_find_rows(view, err));
    struct one one = {view, view->row_of[site]};
    ttape_report_options how = *all;
    how.by = TTAPE_REPORT_BY_GROUP;
    how.group = group_of_one;
    how.context = &one;
    how.damage = NULL;
    how.jobs = 1;
    return ttape_report_make(out, view->reader, &how, err);
}
