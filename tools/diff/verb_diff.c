/* tracetape diff: two traces, what is compared, and how it is shown. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/writer.h>

#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/diff/diff_view.h"
#include "tools/filter/filtered_input.h"
#include "tools/io/operands/operands.h"

#define LIMIT_SHOWN 20u /* rows of a table */

struct options {
    enum tool_name_style names;
    const char *by, *sort;
    struct tool_time min_time;
    double min_change, fail_over;
    struct tool_id limit;
    uint32_t depth, jobs;
    bool first, all, json, no_pager;
    int a_count; /* files before --against; -1: it was not said */
    uint64_t memory_bytes;
    struct tool_filter kept;
};

/* "5%" or "0.05", of any size */
static bool parse_change(const char *text, void *into)
{
    char *end;
    if (strspn(text, "0123456789.") == 0)
        return false;
    double value = strtod(text, &end);
    *(double *)into = *end == '%' ? value / 100 : value;
    return strcmp(end, "") == 0 || strcmp(end, "%") == 0;
}

static const struct tool_option table[] = {
    {"against", 0, NULL, "several files a side: those behind this are B's", tool_parse_here,
     TOOL_AT(a_count)},
    {"first", '1', NULL, "where the two runs first differ, whatever time things took", NULL,
     TOOL_AT(first)},
    {"all", 'a', NULL, "also what is within the noise, as two runs of one program are", NULL,
     TOOL_AT(all)},
    {"by", 'b', "WHAT", "function or path: only these; default: both", NULL, TOOL_AT(by)},
    {"sort", 's', "KEY", "by the change of self (default), total or calls", NULL, TOOL_AT(sort)},
    {"min-time", 'm', "TIME", "smaller changes of time are none", tool_parse_time,
     TOOL_AT(min_time)},
    {"min-change", 0, "PART", "changes of time by less than this part (5%, 0.05) are none",
     parse_change, TOOL_AT(min_change)},
    {"fail-over", 0, "PART", "status 1 where a function got slower by this part, beyond the noise",
     parse_change, TOOL_AT(fail_over)},
    {"limit", 'n', "N", "at most N rows of each kind (20; with --json: all)", tool_parse_id,
     TOOL_AT(limit)},
    {"depth", 'd', "N", "call paths of at most N functions (64)", tool_parse_u32, TOOL_AT(depth)},
    TOOL_FILTER_OPTIONS,
    TOOL_NAMES_OPTION,
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"jobs", 'j', "N", "threads that read", tool_parse_u32, TOOL_AT(jobs)},
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "diff",
    .usage = "[OPTION]... A B\n[OPTION]... A... --against B...",
    .about =
        "Says what differs between two runs: functions and call paths that got slower or faster,\n"
        "that are new or gone, that were called more or less often. Functions are the same where\n"
        "symbol, module and file have the same names; of a program or library under two names,\n"
        "where half of the functions are called the same. --first compares event by event. With "
        "several\n"
        "runs a side, what differs by more than the runs of a side do is shown.",
    .options = table,
    .examples = "  tracetape diff before.ttape after.ttape --min-change 5%\n"
                "  tracetape diff before.ttape after.ttape --by path --sort total\n"
                "  tracetape diff old1.ttape old2.ttape --against new1.ttape new2.ttape\n"
                "  tracetape diff --first one.ttape other.ttape\n",
    .statuses =
        "  0  done; with --first: no difference; with --fail-over: nothing got so much slower\n"
        "  1  with --first: the runs differ; with --fail-over: something got so much slower\n"
        "  2  the command line is wrong\n"
        "  3  a file is truncated, damaged or, of several a side, none: compared is what is there\n"
        "  4  not done\n",
    .operands_min = 2,
    .operands_max = INT_MAX,
};

static int show_first(const struct options *options, struct tool_diff *diff)
{
    struct tool_output out;
    struct tool_diff_first first;
    tool_diff_take_keys(diff, NULL);
    int status = tool_diff_find_first(diff, &first);
    if (status == TOOL_OK || status == TOOL_FINDING) {
        tool_pager_open(&out, !options->json && !options->no_pager);
        if (options->json)
            tool_diff_json_first(diff, &first, &out);
        else
            tool_diff_print_first(diff, &first, &out);
        int closed = tool_pager_close(&out);
        status = closed != TOOL_OK ? closed : status;
    }
    tool_diff_first_close(&first);
    return status;
}

static uint64_t limit_of(const struct options *options)
{
    return options->limit.given ? options->limit.value : options->json ? UINT64_MAX : LIMIT_SHOWN;
}

static int print_rows(const struct options *options, struct tool_diff *diff,
                      const ttape_diff *answer)
{
    const ttape_diff_rows *functions = ttape_diff_get_functions(answer);
    const ttape_diff_rows *paths = ttape_diff_get_paths(answer);
    struct tool_output out;
    uint64_t limit = limit_of(options);
    tool_pager_open(&out, !options->json && !options->no_pager);
    if (options->json) {
        tool_diff_json(diff, answer, limit, &out);
        return tool_pager_close(&out);
    }
    tool_diff_print_totals(diff, functions, &out);
    tool_output_text(&out, "\n");
    if (functions != NULL)
        tool_diff_print_rows(diff, functions, false, limit, &out);
    if (functions != NULL && paths != NULL)
        tool_output_text(&out, "\n");
    if (paths != NULL)
        tool_diff_print_rows(diff, paths, true, limit, &out);
    tool_diff_print_moves(diff, answer, limit, &out);
    return tool_pager_close(&out);
}

static void note_damage(void *context, uint32_t run, const ttape_error *error)
{
    struct tool_diff *diff = context;
    (void)tool_input_go_on(&diff->runs[run].input, error, &diff->runs[run].error_count,
                           &diff->status);
}

static ttape_diff_options options_of(const struct options *options, struct tool_diff *diff)
{
    bool is_limited = options->min_time.given || options->min_change > 0;
    ttape_diff_options how = {.size = sizeof(how),
                              .a_count = diff->a_count,
                              .keeps_noise = options->all || is_limited,
                              .depth = options->depth,
                              .min_ns = options->min_time.given ? options->min_time.value_ns : 0,
                              .min_change = options->min_change,
                              .jobs = diff->jobs,
                              .memory_bytes = tool_memory_left() | 1,
                              .report_bytes = diff->memory_bytes,
                              .damage = note_damage,
                              .context = diff};
    if (options->by != NULL) {
        how.no_functions = strcmp(options->by, "path") == 0;
        how.no_paths = !how.no_functions;
    }
    if (options->sort != NULL) {
        how.sort = strcmp(options->sort, "total") == 0   ? TTAPE_DIFF_BY_TOTAL
                   : strcmp(options->sort, "calls") == 0 ? TTAPE_DIFF_BY_CALLS
                                                         : TTAPE_DIFF_BY_SELF;
    }
    return how;
}

/* Whether a function that changed, or is new, takes so much more of its own time, or of all. */
static bool is_slower(const ttape_diff_rows *rows, double part, ttape_diff_sort sort)
{
    for (uint32_t i = 0; rows != NULL && i < rows->order_count; i++) {
        const ttape_diff_side *sides = &rows->sides[2 * (size_t)rows->order[i]];
        bool is_total = sort == TTAPE_DIFF_BY_TOTAL;
        double a = (double)(is_total ? sides[0].total_ns : sides[0].self_ns);
        double b = (double)(is_total ? sides[1].total_ns : sides[1].self_ns);
        if (b > 0 && b - a >= part * a)
            return true;
    }
    return false;
}

static int show_rows(const struct options *options, struct tool_diff *diff)
{
    const ttape_diff_options how = options_of(options, diff);
    ttape_reader *readers[TTAPE_DIFF_TRACES_MAX];
    ttape_error err = {0};
    ttape_diff *answer;
    for (uint32_t i = 0; i < diff->run_count; i++)
        readers[i] = diff->runs[i].input.reader;
    if (ttape_diff_make(&answer, readers, diff->run_count, &how, &err) != TTAPE_OK)
        return tool_fail_error(diff->runs[0].input.name, &err);
    tool_diff_take_keys(diff, ttape_diff_get_keys(answer));
    int printed = print_rows(options, diff, answer);
    bool fails = options->fail_over > 0 &&
                 is_slower(ttape_diff_get_functions(answer), options->fail_over, how.sort);
    ttape_diff_close(answer);
    int status = printed > diff->status ? printed : diff->status;
    return status == TOOL_OK && fails ? TOOL_FINDING : status;
}

static int check_words(const struct options *options)
{
    if (options->by != NULL && strcmp(options->by, "function") != 0 &&
        strcmp(options->by, "path") != 0)
        return tool_usage("diff", "unknown kind of rows '%s'", options->by);
    if (options->sort != NULL && strcmp(options->sort, "self") != 0 &&
        strcmp(options->sort, "total") != 0 && strcmp(options->sort, "calls") != 0)
        return tool_usage("diff", "unknown key '%s'", options->sort);
    if (options->first && (options->by != NULL || options->sort != NULL))
        return tool_usage("diff", "--first goes without --by and --sort");
    bool has_functions = options->by == NULL || strcmp(options->by, "path") != 0;
    if (options->fail_over > 0 && (options->first || !has_functions))
        return tool_usage("diff",
                          "--fail-over is of functions: it goes without --first, --by path");
    return TOOL_OK;
}

static const char *path_of(const struct tool_operands sides[2], size_t number)
{
    return number < sides[0].count ? sides[0].paths[number]
                                   : sides[1].paths[number - sides[0].count];
}

static int check_sides(const struct options *options, const struct tool_operands sides[2])
{
    size_t count = sides[0].count + sides[1].count, from_input = 0;
    for (size_t i = 0; i < count; i++)
        from_input += strcmp(path_of(sides, i), "-") == 0;
    if (from_input > 1)
        return tool_usage("diff", "only one of the traces can come from standard input");
    if (count > TTAPE_DIFF_TRACES_MAX)
        return tool_usage("diff", "%zu runs are more than %u", count, TTAPE_DIFF_TRACES_MAX);
    if (options->first && count > 2)
        return tool_usage("diff", "--first compares two files");
    return TOOL_OK;
}

/* Which files are of A, which of B. Folders and lists are of the side that they stand on. *sides is
 * the caller's in any case. */
static int take_sides(const struct options *options, struct tool_operands sides[2], int count,
                      char **operands)
{
    int a_count = options->a_count;
    if (a_count < 0 && count > 2)
        return tool_usage("diff", "more than two files: '--against' stands before those of B");
    if (a_count < 0)
        a_count = 1;
    if (a_count == 0 || a_count == count)
        return tool_usage("diff", "'--against' needs files of A before it and of B behind it");
    int status = tool_operands_take(&sides[0], a_count, operands);
    return status == TOOL_OK ? tool_operands_take(&sides[1], count - a_count, operands + a_count)
                             : status;
}

/* The run is what a filter leaves of the trace. */
static int open_filtered(struct tool_diff *diff, struct tool_diff_run *run, const char *path,
                         struct tool_filter_made *made)
{
    struct tool_input whole;
    int end = TOOL_OK, status = tool_input_read(&whole, path, diff->jobs, diff->memory_bytes);
    if (status == TOOL_OK) {
        end = tool_input_check_one(&whole);
        status = tool_filtered_open(&run->input, made, &whole, diff->jobs, diff->memory_bytes);
    }
    tool_input_close(&whole);
    if (status != TOOL_OK && status != TOOL_LOSS)
        return status;
    diff->status = end > diff->status ? end : diff->status;
    diff->status = status > diff->status ? status : diff->status;
    return TOOL_OK;
}

/* made: NULL: no filter was given. */
static int open_run(struct tool_diff *diff, const char *path, struct tool_filter_made *made)
{
    struct tool_diff_run *run = &diff->runs[diff->run_count];
    if (tool_is_rollup(path))
        return tool_fail("'%s' is a rollup: diff compares runs, and needs their traces", path);
    int status = made != NULL ? open_filtered(diff, run, path, made)
                              : tool_input_read(&run->input, path, diff->jobs, diff->memory_bytes);
    if (status != TOOL_OK) {
        tool_input_close(&run->input);
        run->input = (struct tool_input){.fd = -1};
        return status;
    }
    ttape_reader_get_info(run->input.reader, &run->info);
    diff->has_times = diff->has_times && run->info.resolution_ns != TTAPE_TIME_NONE;
    diff->run_count++;
    return TOOL_OK;
}

/* Of several runs a side one that cannot be read is named and left out. */
static int open_side(struct tool_diff *diff, const struct tool_operands *side, const char *name,
                     struct tool_filter_made *made)
{
    uint32_t before = diff->run_count;
    for (size_t i = 0; i < side->count; i++) {
        int status = open_run(diff, side->paths[i], made);
        if (status == TOOL_USAGE || (status != TOOL_OK && side->count == 1))
            return status;
        if (status != TOOL_OK)
            diff->status = TOOL_LOSS;
    }
    return diff->run_count > before ? TOOL_OK
                                    : tool_fail("none of the files of %s could be read", name);
}

static int open_inputs(struct tool_diff *diff, const struct tool_operands sides[2],
                       struct tool_filter_made *made)
{
    diff->has_times = true;
    tool_memory_bound(diff->memory_bytes);
    int status = open_side(diff, &sides[0], "A", made);
    diff->a_count = diff->run_count;
    status = status == TOOL_OK ? open_side(diff, &sides[1], "B", made) : status;
    return status == TOOL_OK && made != NULL ? tool_filter_check(made) : status;
}

static int compare_runs(const struct options *options, struct tool_diff *diff)
{
    const ttape_reader *readers[TTAPE_DIFF_TRACES_MAX];
    struct tool_site_names *names[TTAPE_DIFF_TRACES_MAX];
    for (uint32_t i = 0; i < diff->run_count; i++) {
        readers[i] = diff->runs[i].input.reader;
        names[i] = &diff->runs[i].names;
        tool_losses_warn(&diff->runs[i].input);
    }
    tool_site_names_open_all(names, readers, diff->run_count,
                             tool_name_style(options->names, options->json));
    int status = options->first ? show_first(options, diff) : show_rows(options, diff);
    for (uint32_t i = 0; i < diff->run_count; i++) {
        int end = tool_input_check_one(&diff->runs[i].input);
        status = status == TOOL_OK ? end : status;
        tool_site_names_close(names[i]);
    }
    tool_diff_close_keys(diff);
    return status;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    struct tool_diff diff = {0};
    for (uint32_t i = 0; i < TTAPE_DIFF_TRACES_MAX; i++)
        diff.runs[i].input.fd = -1;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    struct tool_operands sides[2] = {{0}, {0}};
    status = check_words(options);
    status = status == TOOL_OK ? take_sides(options, sides, count, argv) : status;
    status = status == TOOL_OK ? check_sides(options, sides) : status;
    diff.memory_bytes = options->memory_bytes;
    diff.jobs = options->jobs > 0 ? options->jobs : 1;
    struct tool_filter_made made = {0};
    bool is_filtered = tool_filter_is_given(&options->kept);
    if (status == TOOL_OK && is_filtered)
        status = tool_filter_make(&made, "diff", &options->kept);
    if (status == TOOL_OK)
        status = open_inputs(&diff, sides, is_filtered ? &made : NULL);
    if (status == TOOL_OK)
        status = compare_runs(options, &diff);
    for (uint32_t i = 0; i < diff.run_count; i++)
        tool_input_close(&diff.runs[i].input);
    tool_operands_close(&sides[0]);
    tool_operands_close(&sides[1]);
    tool_filter_unmake(&made);
    return status;
}

int tool_verb_diff(int argc, char **argv)
{
    struct options options = {.a_count = -1};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    return status;
}
