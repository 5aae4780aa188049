/* Which calls took far longer than others of their function: what is slow once in a thousand times
 * is seldom among the longest calls of all, which are those that wait, or go on to the end.
 *
 * A server waits for what comes, now and then for long: such calls stand behind all others, and
 * where there are some, those are looked for by their time on a processor, too. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/report.h>

#include "tools/command/memory_limit.h"
#include "tools/command/tool.h"
#include "tools/slow/slow_view.h"

#define TIMES_LONGER 10  /* than the mean of the others */
#define CALLS_LEAST  20u /* of a function, that there is a usual time */
#define SPARE        2u  /* so many times the calls that are shown, with callers of these */
#define SMALL_SHARE  50  /* of the first: what is shorter says no more */
#define WAITS_MOST   3u  /* that are shown */

/* Sorted: they wait for whatever comes from outside. */
static const char *const waits[] = {"accept",     "accept4", "epoll_pwait", "epoll_pwait2",
                                    "epoll_wait", "poll",    "ppoll",       "pselect",
                                    "pselect6",   "select"};

struct search {
    const ttape_reader *reader;
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

static int compare_names(const void *name, const void *entry)
{
    return strcmp(name, *(const char *const *)entry);
}

static bool is_waiting(const struct search *search, uint32_t site)
{
    char name[16];
    ttape_site found;
    ttape_string symbol;
    if (ttape_reader_get_site(search->reader, site, &found) != TTAPE_OK)
        return false;
    symbol = found.symbol;
    while (symbol.size_bytes > 0 && symbol.data[0] == '_') {
        symbol.data++;
        symbol.size_bytes--;
    }
    if (symbol.size_bytes >= sizeof name)
        return false;
    memcpy(name, symbol.data, symbol.size_bytes);
    name[symbol.size_bytes] = '\0';
    return bsearch(name, waits, sizeof waits / sizeof waits[0], sizeof waits[0], compare_names) !=
           NULL;
}

/* Those that wait come last. */
static int compare(const void *left, const void *right)
{
    const struct tool_slow_usual *a = left, *b = right;
    int64_t one = own_ns(a->call), other = own_ns(b->call);
    if (a->is_waiting != b->is_waiting)
        return a->is_waiting ? 1 : -1;
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

static bool is_there(const struct tool_slow_unusual *unusual, const ttape_longest_call *call)
{
    for (uint32_t i = 0; i < unusual->count; i++)
        if (unusual->calls[i].call->stream == call->stream &&
            unusual->calls[i].call->enter_number == call->enter_number)
            return true;
    return false;
}

/* Adds those that are far longer; by their time on a processor, where they were found by that. */
static void add_calls(struct tool_slow_unusual *unusual, const struct search *search,
                      const ttape_longest *longest, bool by_cpu)
{
    uint32_t count;
    const ttape_longest_call *calls = ttape_longest_get_calls(longest, &count);
    struct tool_slow_usual *all =
        tool_allocate((size_t)unusual->count + count + 1, sizeof(*unusual->calls));
    if (unusual->count != 0)
        memcpy(all, unusual->calls, unusual->count * sizeof *all);
    free(unusual->calls);
    unusual->calls = all;
    for (uint32_t i = 0; i < count; i++) {
        const ttape_report_row *row = row_of(search, calls[i].site);
        int64_t time_ns = own_ns(&calls[i]) - (by_cpu ? calls[i].blocked_ns : 0);
        if (row != NULL && has_ended(&calls[i]) && is_far_longer(time_ns, row) &&
            !is_there(unusual, &calls[i]))
            unusual->calls[unusual->count++] = (struct tool_slow_usual){
                &calls[i], find_usual(row), is_waiting(search, calls[i].site)};
    }
}

/* The longest of each kind, and of what waits a few. */
static void choose_calls(struct tool_slow_unusual *unusual, uint32_t limit)
{
    uint32_t kept = 0, first = 0;
    leave_callers(unusual);
    qsort(unusual->calls, unusual->count, sizeof(*unusual->calls), compare);
    for (uint32_t i = 0; i < unusual->count && kept < limit; i++) {
        const struct tool_slow_usual *call = &unusual->calls[i];
        bool begins = i == 0 || call->is_waiting != unusual->calls[i - 1].is_waiting;
        first = begins ? i : first;
        bool is_small =
            own_ns(call->call) < own_ns(unusual->calls[first].call) / SMALL_SHARE && !begins;
        if (!is_small && (!call->is_waiting || first == 0 || i < first + WAITS_MOST))
            unusual->calls[kept++] = *call;
    }
    unusual->count = kept;
}

void tool_slow_unusual_find(struct tool_slow_unusual *unusual, ttape_reader *reader,
                            const ttape_longest_options *asked)
{
    struct search search = {.reader = reader};
    ttape_report *report = NULL;
    ttape_longest_options how = *asked;
    const ttape_report_options summed = {.size = sizeof(summed),
                                         .has_range = asked->has_range,
                                         .from_ns = asked->from_ns,
                                         .to_ns = asked->to_ns,
                                         .streams = asked->streams,
                                         .stream_count = asked->stream_count,
                                         .jobs = asked->jobs,
                                         .memory_bytes = tool_memory_of_answer(),
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
        ttape_longest_find(&unusual->longest[0], reader, &how, NULL) == TTAPE_OK)
        add_calls(unusual, &search, unusual->longest[0], false);
    bool has_waits = false;
    for (uint32_t i = 0; i < unusual->count; i++)
        has_waits |= unusual->calls[i].is_waiting;
    how.by = TTAPE_LONGEST_BY_ON_CPU;
    if (has_waits && ttape_longest_find(&unusual->longest[1], reader, &how, NULL) == TTAPE_OK)
        add_calls(unusual, &search, unusual->longest[1], true);
    choose_calls(unusual, asked->count);
    free(search.rows);
    ttape_report_close(report);
}

void tool_slow_unusual_close(struct tool_slow_unusual *unusual)
{
    ttape_longest_close(unusual->longest[0]);
    ttape_longest_close(unusual->longest[1]);
    free(unusual->calls);
}
