/* Modules: what is in them, and which functions are theirs, so that a page can hide them. */
#include <string.h>

#include "answers/view/view_internal.h"
#include "format/base/fail.h"

#define MODULES_MOST 4096u
#define RANGES_MOST  65536u

struct module_count {
    uint32_t functions, unnamed;
};

static bool begins(ttape_string text, const char *start)
{
    size_t length = strlen(start);
    return text.size_bytes >= length && memcmp(text.data, start, length) == 0;
}

/* A module is the system's, and not somebody's own, where distributions put libraries. */
static bool is_system(ttape_string path)
{
    static const char *const folders[] = {"/lib/",         "/lib32/", "/lib64/",   "/usr/lib",
                                          "/usr/libexec/", "[",       "linux-vdso"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (begins(path, folders[i]))
            return true;
    return false;
}

static void put_module(struct ttape_view *view, uint32_t number, const struct module_count *count)
{
    ttape_module module;
    if (count->functions == 0 || ttape_reader_get_module(view->reader, number, &module) != TTAPE_OK)
        return;
    ttp_view_begin(view, NULL, '{');
    ttp_view_number(view, "module", number);
    ttp_view_string(view, "path", module.path);
    ttp_view_number(view, "functions", count->functions);
    ttp_view_number(view, "unnamed", count->unnamed);
    ttp_view_bool(view, "system", is_system(module.path));
    ttp_view_end(view, '}');
}

ttape_status ttp_view_modules(struct ttape_view *view, const struct ttp_view_question *question,
                              ttape_error *err)
{
    uint32_t all =
        view->info.module_count < MODULES_MOST ? (uint32_t)view->info.module_count : MODULES_MOST;
    struct module_count *counts = ttp_memory_take(&view->memory, all, sizeof *counts, err);
    ttape_site site;
    (void)question;
    if (counts == NULL)
        return view->memory.status;
    memset(counts, 0, all * sizeof *counts);
    for (uint32_t i = 0; i < view->info.site_count; i++) {
        if (ttape_reader_get_site(view->reader, i, &site) != TTAPE_OK || site.module >= all ||
            site.kind != TTAPE_SITE_FUNCTION)
            continue;
        counts[site.module].functions++;
        counts[site.module].unnamed += site.symbol.size_bytes == 0;
    }
    ttp_view_begin(view, "modules", '[');
    for (uint32_t i = 0; i < all; i++)
        put_module(view, i, &counts[i]);
    ttp_view_end(view, ']');
    ttp_view_bool(view, "more", view->info.module_count > MODULES_MOST);
    ttp_memory_give(&view->memory, counts, all, sizeof *counts);
    return TTAPE_OK;
}

bool ttp_view_is_listed(const struct ttp_view_list *list, uint32_t number)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->numbers[i] == number)
            return true;
    return false;
}

bool ttp_view_is_hidden(const struct ttape_view *view, const struct ttp_view_list *modules,
                        uint32_t site)
{
    ttape_site found;
    return modules->count > 0 && ttape_reader_get_site(view->reader, site, &found) == TTAPE_OK &&
           found.module != TTAPE_NONE && ttp_view_is_listed(modules, found.module);
}

ttape_status ttp_view_module_sites(struct ttape_view *view,
                                   const struct ttp_view_question *question, ttape_error *err)
{
    struct ttp_view_list modules;
    uint32_t start = 0, ranges = 0;
    TTP_TRY(ttp_view_take_list(question, "modules", &modules, err));
    ttp_view_begin(view, "sites", '[');
    for (uint32_t i = 0; i <= view->info.site_count && ranges < RANGES_MOST; i++) {
        if (i < view->info.site_count && ttp_view_is_hidden(view, &modules, i))
            continue;
        if (i > start) {
            ttp_view_number(view, NULL, start);
            ttp_view_number(view, NULL, i - start);
            ranges++;
        }
        start = i + 1;
    }
    ttp_view_end(view, ']');
    ttp_view_bool(view, "complete", ranges < RANGES_MOST);
    return TTAPE_OK;
}
