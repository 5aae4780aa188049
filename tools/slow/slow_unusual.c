/* Which calls took far longer than others of their function: what is slow once in a thousand times
 * is seldom among the longest calls of all, which are those that wait, or go on to the end. */
#include <stdlib.h>

#include <tracetape/report.h>

#include "tools/command/tool.h"
#include "tools/slow/slow_view.h"

#define TIMES_LONGER 10  /* than the mean of the others */
#define CALLS_LEAST  20u /* of a function, that there is a usual time */
#define SPARE        2u  /* so many times the calls that are shown, with callers of these */
#define SMALL_SHARE  50  /* of the first: what is shorter says no more */

struct search {
    const ttape_report *report;
    const ttape_report_row **rows; /* by the site that a row goes by; NULL: none, or none unusual */
    uint32_t site_count;
};

static const ttape_report_row *row_of(const struct search *search, uint32_t site)
{
    uint32_t by = ttape_report_get_row_site(search->report, site);
    return by < search->site_count ? search->rows[by] : NULL;
}

/* The mean of the others, as if the longest were not there. */
static int64_t find_usual(const ttape_report_row *row)
{
    double others = row->mean_ns * (double)row->exit_count - (double)row->max_ns;
    return others > 0 ? (int64_t)(others / (double)(row->exit_count - 1)) : 0;
}

/* A clock that is too coarse for all of them tells none apart. */
static bool is_far_longer(int64_t duration_ns, const ttape_report_row *row)
{
    return duration_ns > 0 && duration_ns / TIMES_LONGER >= find_usual(row);
}

static bool selects(void *context, uint32_t site) { return row_of(context, site) != NULL; }

/* It was told of before. */
static void ignore_damage(void *context, uint32_t partition, const ttape_error *error)
{
    (void)context;
    (void)partition;
    (void)error;
}

static bool list_rows(struct search *search, const ttape_reader *reader)
{
    ttape_info info;
    uint32_t count;
    bool is_any = false;
    const ttape_report_row *rows = ttape_report_get_rows(search->report, &count);
    ttape_reader_get_info(reader, &info);
    search->site_count = info.site_count;
    search->rows = tool_allocate(info.site_count + 1ull, sizeof(*search->rows));
    for (uint32_t i = 0; i < count; i++) {
        const ttape_report_row *row = &rows[i];
        uint32_t by = ttape_report_get_row_site(search->report, row->site);
        /* no mean is below the shortest: there calls are in one another, and their total counts
         * the outermost alone */
        if (by >= info.site_count || row->exit_count < CALLS_LEAST ||
            find_usual(row) < row->min_ns || !is_far_longer(row->max_ns, row))
            continue;
        search->rows[by] = row;
        is_any = true;
    }
    return is_any;
}

/* Without the time in which other threads had the processor. */
static int64_t own_ns(const ttape_longest_call *call)
{
    return call->duration_ns - call->preempted_ns;
}

static int compare(const void *left, const void *right)
{
    const struct tool_slow_usual *a = left, *b = right;
    int64_t one = own_ns(a->call), other = own_ns(b->call);
    return one != other ? (one < other) - (one > other) : (a->call > b->call) - (a->call < b->call);
}

static bool has_ended(const ttape_longest_call *call)
{
    return call->end == TTAPE_CALL_RETURNED || call->end == TTAPE_CALL_UNWOUND;
}

/* Whether nine tenths of it are in another one: that one says more. */
static bool is_caller(const struct tool_slow_unusual *unusual, const ttape_longest_call *call)
{
    for (uint32_t i = 0; i < unusual->count; i++) {
        const ttape_longest_call *other = unusual->calls[i].call;
        if (other != call && other->stream == call->stream && other->stack == call->stack &&
            other->enter_number > call->enter_number && other->end_number < call->end_number &&
            own_ns(other) >= own_ns(call) - own_ns(call) / 10)
            return true;
    }
    return false;
}

static void leave_callers(struct tool_slow_unusual *unusual)
{
    uint32_t kept = 0;
    struct tool_slow_usual *left = tool_allocate(unusual->count + 1ull, sizeof(*left));
    for (uint32_t i = 0; i < unusual->count; i++)
        if (!is_caller(unusual, unusual->calls[i].call))
            left[kept++] = unusual->calls[i];
    free(unusual->calls);
    unusual->calls = left;
    unusual->count = kept;
}

static void take_calls(struct tool_slow_unusual *unusual, const struct search *search,
                       uint32_t limit)
{
    uint32_t count;
    const ttape_longest_call *calls = ttape_longest_get_calls(unusual->longest, &count);
    unusual->calls = tool_allocate(count + 1ull, sizeof(*unusual->calls));
    for (uint32_t i = 0; i < count; i++) {
        const ttape_report_row *row = row_of(search, calls[i].site);
        if (row != NULL && has_ended(&calls[i]) && is_far_longer(own_ns(&calls[i]), row))
            unusual->calls[unusual->count++] = (struct tool_slow_usual){&calls[i], find_usual(row)};
    }
    leave_callers(unusual);
    qsort(unusual->calls, unusual->count, sizeof(*unusual->calls), compare);
    unusual->count = unusual->count < limit ? unusual->count : limit;
    while (unusual->count > 1 && own_ns(unusual->calls[unusual->count - 1].call) <
                                     own_ns(unusual->calls[0].call) / SMALL_SHARE)
        unusual->count--;
}

void tool_slow_unusual_find(struct tool_slow_unusual *unusual, ttape_reader *reader,
                            const ttape_longest_options *asked)
{
    struct search search = {0};
    ttape_report *report = NULL;
    ttape_longest_options how = *asked;
    const ttape_report_options summed = {.size = sizeof(summed),
                                         .has_range = asked->has_range,
                                         .from_ns = asked->from_ns,
                                         .to_ns = asked->to_ns,
                                         .streams = asked->streams,
                                         .stream_count = asked->stream_count,
                                         .jobs = asked->jobs,
                                         .memory_bytes = asked->memory_bytes,
                                         .damage = ignore_damage};
    *unusual = (struct tool_slow_unusual){0};
    if (ttape_report_make(&report, reader, &summed, NULL) != TTAPE_OK)
        return;
    search.report = report;
    how.count = SPARE * asked->count;
    how.selects = selects;
    how.damage = ignore_damage;
    how.context = &search;
    how.without_callers = false; /* that decodes more */
    if (list_rows(&search, reader) &&
        ttape_longest_find(&unusual->longest, reader, &how, NULL) == TTAPE_OK)
        take_calls(unusual, &search, asked->count);
    free(search.rows);
    ttape_report_close(report);
}

void tool_slow_unusual_close(struct tool_slow_unusual *unusual)
{
    ttape_longest_close(unusual->longest);
    free(unusual->calls);
}
