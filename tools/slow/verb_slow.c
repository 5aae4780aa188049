/* tracetape slow: the longest calls of a function, or of all. */
#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/calls/losses.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/filter/filtered_input.h"
#include "tools/io/view_line.h"
#include "tools/slow/slow_view.h"

#define LIMIT_USUAL 10u
#define LIMIT_MOST  (1u << 20)

struct options {
    const char *function, *filter;
    struct tool_choice choice;
    struct tool_filter kept;
    uint32_t limit, jobs;
    enum tool_name_style names;
    bool self, on_cpu, first, json, no_pager;
    struct tool_time min_time, max_time;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"function", 'F', "REGEX", "only calls of functions whose name matches", NULL, TOOL_AT(filter)},
    TOOL_FILTER_OPTIONS,
    {"limit", 'n', "N", "at most N calls; default 10", tool_parse_u32, TOOL_AT(limit)},
    {"self", 0, NULL, "by the time that a call spent itself, not in what it called", NULL,
     TOOL_AT(self)},
    {"on-cpu", 0, NULL, "by the time in which its thread ran, where the trace knows that", NULL,
     TOOL_AT(on_cpu)},
    {"first", '1', NULL, "the first calls instead of the longest, in the order of their starts",
     NULL, TOOL_AT(first)},
    {"min-time", 'm', "TIME", "only calls that took so long or longer", tool_parse_time,
     TOOL_AT(min_time)},
    {"max-time", 0, "TIME", "only calls that took so long or shorter", tool_parse_time,
     TOOL_AT(max_time)},
    TOOL_NAMES_OPTION,
    TOOL_TIME_OPTION,
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"jobs", 'j', "N", "threads that read; default: one per processor", tool_parse_u32,
     TOOL_AT(jobs)},
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "slow",
    .usage = "[OPTION]... FILE|-|FOLDER|@LIST...",
    .about =
        "Shows the longest calls of functions, or of all: when, how long, in which thread,\n"
        "from where, with which values. `tree --open` and `dump --open` take what stands under\n"
        "CALL.",
    .options = table,
    .examples = "  tracetape slow run.ttape\n"
                "  tracetape slow run.ttape -F '^parse_line$' --limit 3\n"
                "  tracetape slow run.ttape --self --time +1s..+2s\n"
                "  tracetape tree run.ttape --open s0e2500\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  a file is truncated or damaged: what is there was searched\n"
                "  4  not done\n",
    .operands_min = 1,
    .operands_max = INT_MAX,
};

/* What the callbacks look at. */
struct asking {
    const struct tool_input *input;
    bool *selected; /* by site; NULL: all */
    uint64_t damage_count;
    int status; /* damage that was met is a loss */
    bool is_one_of_many;
};

static bool selects(void *context, uint32_t site)
{
    const struct asking *ask = context;
    return ask->selected == NULL || ask->selected[site];
}

static void note_damage(void *context, uint32_t partition, const ttape_error *error)
{
    struct asking *ask = context;
    (void)partition;
    (void)tool_input_go_on(ask->input, error, &ask->damage_count, &ask->status);
}

const char *tool_slow_id(const ttape_longest_call *call, char *buffer)
{
    buffer[0] = '\0';
    return call->is_found ? buffer : tool_put_call(buffer, call->stream, call->enter_number);
}

const char *tool_slow_end(const ttape_longest_call *call)
{
    switch (call->end) {
    case TTAPE_CALL_LEFT: return "open";
    case TTAPE_CALL_UNWOUND: return "unwound";
    case TTAPE_CALL_UNSEEN: return "unseen";
    case TTAPE_CALL_LATE: return "late";
    case TTAPE_CALL_LOST: return "lost";
    default: return "returned";
    }
}

uint64_t tool_slow_tid(const struct tool_slow *view, const ttape_longest_call *call)
{
    ttape_stream_info stream = {0};
    (void)ttape_reader_get_stream(view->reader, call->stream, &stream);
    return stream.stream.tid;
}

/* Functions whose names match; false: none does. */
static bool select_matching(struct asking *ask, struct tool_site_names *names, const regex_t *regex)
{
    ttape_info info;
    bool is_any = false;
    ttape_reader_get_info(ask->input->reader, &info);
    ask->selected = tool_allocate(info.site_count + 1ull, sizeof(bool));
    for (uint32_t site = 0; site < info.site_count; site++) {
        ask->selected[site] = tool_site_matches(names, site, regex);
        is_any = is_any || ask->selected[site];
    }
    return is_any;
}

/* ask->selected is the caller's. Of many files one may have no such function. */
static int choose_function(struct asking *ask, struct tool_site_names *names,
                           const struct options *options)
{
    regex_t regex;
    if (options->filter != NULL) {
        if (regcomp(&regex, options->filter, REG_EXTENDED | REG_NOSUB) != 0)
            return tool_usage("slow", "cannot use '%s' as a regular expression", options->filter);
        bool is_any = select_matching(ask, names, &regex);
        regfree(&regex);
        return is_any || ask->is_one_of_many ? TOOL_OK
                                             : tool_no_match(ask->input->reader, options->filter);
    }
    if (options->function == NULL)
        return TOOL_OK;
    ask->selected = tool_sites_called(names, options->function);
    return ask->selected != NULL ? TOOL_OK
                                 : tool_no_function(names, ask->input->name, options->function);
}

static int print(const struct options *options, struct tool_slow *view)
{
    struct tool_output out;
    tool_pager_open(&out, !options->json && !options->no_pager);
    if (options->json)
        tool_slow_json(view, &out);
    else
        tool_slow_table(view, &out);
    return tool_pager_close(&out);
}

static void say_view(const struct options *options, const struct tool_slow *view)
{
    char id[TOOL_CALL_ID_BYTES];
    if (!options->json && view->call_count > 0)
        tool_say_view(view->input,
                      &(struct tool_place){.pane = "calls", .call = tool_slow_id(view->calls, id)});
}

/* view->calls are those of *longest, which is the caller's. */
static int find_calls(const struct options *options, struct tool_slow *view, struct asking *ask,
                      const struct tool_selection *selection, ttape_longest **longest)
{
    ttape_error err = {0};
    bool has_durations = options->min_time.given || options->max_time.given;
    bool is_any = options->function == NULL && options->filter == NULL && !options->json &&
                  view->by == TTAPE_LONGEST_BY_DURATION && !has_durations;
    const ttape_longest_options how = {
        .size = sizeof(how),
        .by = view->by,
        .count = options->limit,
        .has_range = selection->has_range,
        .from_ns = selection->from_ns,
        .to_ns = selection->to_ns,
        .streams = selection->streams,
        .stream_count = selection->stream_count,
        .jobs = tool_jobs(options->jobs),
        .memory_bytes = tool_memory_of_answer(),
        .selects = selects,
        .names_only = true,
        .without_callers = is_any,
        .has_durations = has_durations,
        .least_ns = options->min_time.value_ns,
        .most_ns = options->max_time.given ? options->max_time.value_ns : UINT64_MAX,
        .damage = note_damage,
        .context = ask};
    if (ttape_longest_find(longest, view->input->reader, &how, &err) != TTAPE_OK)
        return tool_fail_error(view->input->name, &err);
    ttape_longest_get_info(*longest, &view->info);
    view->calls = ttape_longest_get_calls(*longest, &view->call_count);
    for (uint32_t i = 0; i < view->call_count; i++)
        view->has_off = view->has_off || view->calls[i].off_known;
    if (!view->info.has_times && view->info.partition_count > 0)
        return tool_fail("'%s' has no times", view->input->name);
    if (view->by == TTAPE_LONGEST_BY_ON_CPU && view->call_count == 0 && !ask->is_one_of_many)
        return tool_fail("'%s' does not say of such a call when its thread ran; --self takes the "
                         "time that calls spent themselves",
                         view->input->name);
    if (is_any && !ask->is_one_of_many)
        tool_slow_unusual_find(&view->unusual, view->input->reader, &how);
    return TOOL_OK;
}

static ttape_longest_by by_of(const struct options *options)
{
    return options->self     ? TTAPE_LONGEST_BY_SELF
           : options->on_cpu ? TTAPE_LONGEST_BY_ON_CPU
           : options->first  ? TTAPE_LONGEST_BY_START
                             : TTAPE_LONGEST_BY_DURATION;
}

/* The names stay open. */
static int ask_file(const struct options *options, const struct tool_input *input,
                    struct asking *ask, struct tool_slow *view, ttape_longest **longest)
{
    ttape_info info;
    struct tool_selection selection = {0};
    view->input = ask->input = input;
    view->reader = input->reader;
    view->function = options->function;
    view->by = by_of(options);
    ttape_reader_get_info(input->reader, &info);
    view->start_ns = info.time_first_ns;
    int status = ask->is_one_of_many ? tool_select_of_many(&selection, input, &options->choice)
                                     : tool_select(&selection, input, &options->choice);
    view->is_inside = status == TOOL_OK && !selection.is_outside;
    if (status == TOOL_OK)
        tool_losses_warn(input);
    tool_site_names_open_as(&view->names, input->reader,
                            tool_name_style(options->names, options->json));
    if (status == TOOL_OK)
        status = choose_function(ask, &view->names, options);
    if (status == TOOL_OK)
        status = find_calls(options, view, ask, &selection, longest);
    tool_selection_close(&selection);
    free(ask->selected);
    ask->selected = NULL;
    return status;
}

static int list_input(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    struct asking ask = {0};
    struct tool_slow view = {0};
    ttape_longest *longest = NULL;
    int status = ask_file(options, input, &ask, &view, &longest);
    view.inlined = tool_inlined_open(input->reader, view.names.style);
    if (status == TOOL_OK)
        status = print(options, &view);
    if (status == TOOL_OK)
        say_view(options, &view);
    tool_inlined_close(view.inlined);
    tool_slow_unusual_close(&view.unusual);
    ttape_longest_close(longest);
    tool_site_names_close(&view.names);
    return status == TOOL_OK ? ask.status : status;
}

/* ---- many files ---- */

static int ask_one_of_many(void *context, struct tool_slow_file *file)
{
    struct asking ask = {.is_one_of_many = true};
    int status = ask_file(context, &file->input, &ask, &file->view, &file->longest);
    return status == TOOL_OK ? ask.status : status;
}

static int run_many(const struct options *options, const struct tool_operands *operands)
{
    struct tool_slow_files files;
    struct tool_slow all = {.by = by_of(options)};
    struct tool_filter_made filter = {0};
    bool has_filter = tool_filter_is_given(&options->kept);
    int status = has_filter ? tool_filter_make(&filter, "slow", &options->kept) : TOOL_OK;
    if (status != TOOL_OK)
        return status;
    status = tool_slow_many(&files, operands, has_filter ? &filter : NULL, options->memory_bytes,
                            options->limit, ask_one_of_many, (void *)options, &all);
    int matched = status != TOOL_USAGE ? tool_filter_check(&filter) : TOOL_OK;
    status = matched != TOOL_OK ? matched : status;
    tool_filter_unmake(&filter);
    bool shows = status == TOOL_OK || status == TOOL_LOSS;
    if (shows && options->filter != NULL && all.call_count == 0)
        status = tool_fail("nothing that was called matches '%s'", options->filter);
    else if (shows && !all.is_inside)
        status = TOOL_CANNOT;
    else if (shows) {
        int printed = print(options, &all);
        status = printed != TOOL_OK ? printed : status;
    }
    tool_slow_files_close(&files);
    return status;
}

/* A lone second operand that is no file is a function, as it always was. */
static bool is_function(int count, char **operands)
{
    bool is = count == 2 && operands[1][0] != '@' && access(operands[1], F_OK) != 0;
    return is && operands[0][0] != '@';
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options->limit > LIMIT_MOST)
        return tool_usage("slow", "--limit is at most %u", LIMIT_MOST);
    if (options->self + options->on_cpu + options->first > 1)
        return tool_usage("slow", "--self, --on-cpu and --first go one at a time");
    if (options->min_time.relative || options->max_time.relative)
        return tool_usage("slow", "--min-time and --max-time take a length of time");
    if (options->min_time.given && options->max_time.given &&
        options->min_time.value_ns > options->max_time.value_ns)
        return tool_usage("slow", "--min-time is above --max-time");
    if (is_function(count, argv)) {
        if (options->filter != NULL)
            return tool_usage("slow", "--function and the operand '%s' exclude each other",
                              argv[1]);
        tool_message("'%s' is no file, and taken as a function: better by --function", argv[1]);
        options->function = argv[--count];
    }
    struct tool_operands operands;
    tool_memory_bound(options->memory_bytes);
    status = tool_operands_take(&operands, count, argv);
    if (status == TOOL_OK && operands.are_many)
        status = run_many(options, &operands);
    else if (status == TOOL_OK)
        status = tool_filtered_run("slow", &options->kept, operands.paths[0], 1,
                                   options->memory_bytes, list_input, options);
    tool_operands_close(&operands);
    return status;
}

int tool_verb_slow(int argc, char **argv)
{
    struct options options = {.limit = LIMIT_USUAL};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    tool_choice_close(&options.choice);
    return status;
}
