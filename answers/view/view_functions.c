/* The table of functions over a time and some threads, and one function's statistics: a report,
 * which is kept until another one is asked for. */
#include <string.h>

#include "answers/view/view_internal.h"
#include "base/sort.h"
#include "format/base/fail.h"

#define ROWS_USUAL 100u
#define ROWS_MOST  2000u
#define TEXT_BYTES 256u

static ttape_report_options options_of(struct ttape_view *view,
                                       const struct ttp_view_choice *choice, bool histograms)
{
    return (ttape_report_options){
        .size = sizeof(ttape_report_options),
        .by = TTAPE_REPORT_BY_FUNCTION,
        .has_range = choice->has_range,
        .from_ns = choice->from_ns,
        .to_ns = choice->to_ns,
        .streams = choice->streams.given ? choice->streams.numbers : NULL,
        .stream_count = choice->streams.count,
        .jobs = view->options.jobs,
        .memory_bytes = view->options.memory_bytes,
        .histograms = histograms,
        .damage = ttp_view_note_damage,
        .context = view,
        .watch = &view->watch,
    };
}

static ttape_status make_report(struct ttape_view *view, const struct ttp_view_choice *choice,
                                bool histograms, ttape_error *err)
{
    const ttape_report_options how = options_of(view, choice, histograms);
    ttape_report_info info;
    if (view->report != NULL && view->report_histograms >= histograms &&
        ttp_view_same_choice(choice, &view->report_choice)) {
        ttape_report_get_info(view->report, &info);
        view->damage_count = info.damaged_count;
        return TTAPE_OK;
    }
    ttape_report_close(view->report);
    view->report = NULL;
    ttape_status status = ttape_report_make(&view->report, view->reader, &how, err);
    view->report_is_partial = status == TTAPE_E_LIMIT;
    if (status == TTAPE_E_LIMIT)
        status = ttp_view_report_fitting(view, &view->report, &how, err);
    TTP_TRY(status);
    view->report_choice = *choice;
    view->report_histograms = histograms;
    return TTAPE_OK;
}

/* ---- order ---- */

struct order {
    const ttape_report_row *rows;
    enum { BY_TOTAL, BY_SELF, BY_CALLS, BY_MEAN, BY_MAX, BY_MIN, BY_IDLE, KEY_COUNT } key;
    bool is_reverse;
};

static const char *const keys[KEY_COUNT] = {"total", "self", "calls", "mean", "max", "min", "idle"};

/* -1: not known. What summaries tell counts recursion once, and may be less than the least. */
static int64_t mean_of(const ttape_report_row *row)
{
    double mean_ns = row->decoded ? row->duration_mean_ns : row->mean_ns;
    return row->exit_count > 0 && mean_ns >= (double)row->min_ns ? (int64_t)mean_ns : -1;
}

static int64_t value_of(const struct order *order, uint32_t number)
{
    const ttape_report_row *row = &order->rows[number];
    switch (order->key) {
    case BY_SELF: return row->self_ns;
    case BY_CALLS: return (int64_t)(row->call_count & INT64_MAX);
    case BY_MEAN: return mean_of(row);
    case BY_MAX: return row->max_ns;
    case BY_MIN: return row->min_ns;
    case BY_IDLE: return row->idle_ns;
    default: return row->total_ns;
    }
}

static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct order *order = context;
    int64_t left = value_of(order, a), right = value_of(order, b);
    if (left == right)
        return a < b;
    return order->is_reverse ? left < right : left > right;
}

/* ---- rows ---- */

/* Which of the rows that match. */
struct page {
    uint32_t first, count;
    struct ttp_view_list hidden; /* modules */
};

static void put_row(struct ttape_view *view, const char *key, const ttape_report_row *row)
{
    ttp_view_begin(view, key, '{');
    ttp_view_number(view, "site", row->site);
    ttp_view_wide(view, "calls", row->call_count);
    ttp_view_wide(view, "ended", row->exit_count);
    ttp_view_signed(view, "total", row->total_ns);
    ttp_view_signed(view, "self", row->self_ns);
    ttp_view_signed(view, "min", row->min_ns);
    ttp_view_signed(view, "max", row->max_ns);
    ttp_view_signed(view, "mean", mean_of(row));
    if (row->idle_known)
        ttp_view_signed(view, "idle", row->idle_ns);
    if (row->is_least)
        ttp_view_word(view, "times_are", "at least");
    else if (row->is_about)
        ttp_view_word(view, "times_are", "about");
    ttp_view_end(view, '}');
}

static void put_rows(struct ttape_view *view, const struct ttp_view_question *question,
                     const struct order *order, const uint32_t *numbers, uint32_t row_count,
                     const struct page *page)
{
    char text[TEXT_BYTES];
    size_t length = ttp_view_take_text(question, "text", text, sizeof text);
    uint32_t matching = 0;
    ttp_view_begin(view, "rows", '[');
    for (uint32_t i = 0; i < row_count; i++) {
        const ttape_report_row *row = &order->rows[numbers[i]];
        if (ttp_view_is_hidden(view, &page->hidden, row->site) ||
            (length > 0 && ttp_view_rank(view, row->site, text, length) == TTP_VIEW_RANKS))
            continue;
        if (matching >= page->first && matching - page->first < page->count)
            put_row(view, NULL, row);
        matching++;
    }
    ttp_view_end(view, ']');
    ttp_view_number(view, "matching", matching);
}

static void put_sums(struct ttape_view *view)
{
    ttape_report_info info;
    ttape_report_get_info(view->report, &info);
    ttp_view_number(view, "functions", info.row_count);
    if (view->report_is_partial)
        ttp_view_bool(view, "partial", true);
    ttp_view_wide(view, "events", info.event_count);
    ttp_view_wide(view, "calls", info.call_count);
    ttp_view_signed(view, "span", info.span_ns);
    if (info.has_idle)
        ttp_view_signed(view, "idle", info.idle_ns);
}

ttape_status ttp_view_functions(struct ttape_view *view, const struct ttp_view_question *question,
                                ttape_error *err)
{
    struct ttp_view_choice choice;
    struct order order = {.is_reverse = ttp_view_is(question, "reverse", "1")};
    struct page page = {.count = ROWS_USUAL};
    uint32_t row_count;
    TTP_TRY(ttp_view_take_choice(view, question, &choice, err));
    TTP_TRY(ttp_view_take_number(question, "first", TTAPE_NONE, &page.first, err));
    TTP_TRY(ttp_view_take_number(question, "count", ROWS_MOST, &page.count, err));
    TTP_TRY(ttp_view_take_list(question, "hide", &page.hidden, err));
    while (order.key < KEY_COUNT && ttp_view_has(question, "sort") &&
           !ttp_view_is(question, "sort", keys[order.key]))
        order.key++;
    if (order.key == KEY_COUNT)
        return ttp_view_refuse(err, "sort", "is total, self, calls, mean, max, min or idle");
    TTP_TRY(make_report(view, &choice, false, err));
    order.rows = ttape_report_get_rows(view->report, &row_count);
    uint32_t *numbers = ttp_memory_take(&view->memory, row_count, sizeof *numbers, err);
    if (numbers == NULL)
        return view->memory.status;
    for (uint32_t i = 0; i < row_count; i++)
        numbers[i] = i;
    ttp_sort(numbers, row_count, is_before, &order);
    put_sums(view);
    put_rows(view, question, &order, numbers, row_count, &page);
    ttp_memory_give(&view->memory, numbers, row_count, sizeof *numbers);
    return TTAPE_OK;
}

/* ---- one function ---- */

static void put_spread(struct ttape_view *view, const ttape_report *report, uint32_t row)
{
    static const struct {
        const char *key;
        double share;
    } shares[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
    ttape_report_bucket buckets[TTAPE_REPORT_BUCKETS];
    uint32_t count = 0;
    int64_t duration_ns;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (ttape_report_get_percentile(report, row, shares[i].share, &duration_ns) == TTAPE_OK)
            ttp_view_signed(view, shares[i].key, duration_ns);
    if (ttape_report_get_histogram(report, row, buckets, TTAPE_REPORT_BUCKETS, &count) != TTAPE_OK)
        return;
    ttp_view_begin(view, "histogram", '[');
    for (uint32_t i = 0; i < count && i < TTAPE_REPORT_BUCKETS; i++) {
        ttp_view_begin(view, NULL, '{');
        ttp_view_signed(view, "least", buckets[i].least_ns);
        ttp_view_signed(view, "most", buckets[i].most_ns);
        ttp_view_wide(view, "count", buckets[i].count);
        ttp_view_end(view, '}');
    }
    ttp_view_end(view, ']');
}

/* Its row; row_count: nothing of it is in this time and these threads. */
static uint32_t find_row(const struct ttape_view *view, const ttape_report_row *rows,
                         uint32_t row_count, uint32_t site)
{
    uint32_t row = 0;
    while (row < row_count && rows[row].site != view->row_of[site])
        row++;
    return row;
}

static void put_function(struct ttape_view *view, const ttape_report *report, uint32_t row)
{
    uint32_t row_count;
    const ttape_report_row *rows = ttape_report_get_rows(report, &row_count);
    if (row >= row_count)
        return;
    put_row(view, "row", &rows[row]);
    put_spread(view, report, row);
}

/* A function that is not among those that fit has a report of its own. */
static ttape_status put_alone(struct ttape_view *view, const struct ttp_view_choice *choice,
                              uint32_t site, ttape_error *err)
{
    const ttape_report_options how = options_of(view, choice, true);
    ttape_report *alone;
    TTP_TRY(ttp_view_report_one(view, &alone, site, &how, err));
    put_function(view, alone, 0);
    ttape_report_close(alone);
    return TTAPE_OK;
}

ttape_status ttp_view_function(struct ttape_view *view, const struct ttp_view_question *question,
                               ttape_error *err)
{
    struct ttp_view_choice choice;
    uint32_t site, row_count;
    TTP_TRY(ttp_view_take_choice(view, question, &choice, err));
    TTP_TRY(ttp_view_take_site(view, question, &site, err));
    TTP_TRY(ttp_view_find_rows(view, err));
    TTP_TRY(make_report(view, &choice, true, err));
    ttp_view_number(view, "site", site);
    const ttape_report_row *rows = ttape_report_get_rows(view->report, &row_count);
    uint32_t row = find_row(view, rows, row_count, site);
    if (row == row_count && view->report_is_partial)
        return put_alone(view, &choice, site, err);
    put_function(view, view->report, row);
    return TTAPE_OK;
}
