/* tracetape syscalls: which system calls, how often and how long, and which code led to them; of a
 * trace, or of a command that is recorded first. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/filter/filtered_input.h"
#include "tools/kernel/kernel_choice.h"
#include "tools/syscalls/syscalls_command.h"
#include "tools/syscalls/syscalls_descriptors.h"
#include "tools/syscalls/syscalls_files.h"
#include "tools/syscalls/syscalls_view.h"

#define LISTED_BYTES 32u /* of buffers, in a list */

struct options {
    const char *by, *format, *through, *to, *own, *path, *report;
    struct tool_sys_command recording; /* of a command, or of a process */
    struct tool_call_choice calls;
    struct tool_choice choice;
    struct tool_filter kept;
    struct tool_id depth, limit, descriptor;
    struct tool_time interval;
    enum tool_name_style names;
    bool application, failed, list, decodes, summary, expand, json, no_pager;
    bool is_of_command; /* that was run for it */
    int fd;             /* where the report goes */
    uint64_t memory_bytes;
};

/* Before a command runs; kept as it is written. */
static bool parse_regex(const char *text, void *into)
{
    regex_t regex;
    bool is_right = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) == 0;
    if (is_right)
        regfree(&regex);
    *(const char **)into = text;
    return is_right;
}

static const struct tool_option table[] = {
    TOOL_GROUP("Rows"),
    {"by", 'b', "WHAT", "rows: call (default), module, path, file", NULL, TOOL_AT(by)},
    {"calls", 0, "WHICH", "only these: names, classes (%file), /REGEX/, ! for all others",
     tool_parse_call_choice, TOOL_AT(calls)},
    {"api", 0, "REGEX", "instead: functions of libraries with such a name (record --libcalls)",
     parse_regex, TOOL_AT(recording.api)},
    {"failed", 0, NULL, "only calls that failed", NULL, TOOL_AT(failed)},
    {"path", 0, "PATH", "only calls that were given this path, or one below it (record --args)",
     NULL, TOOL_AT(path)},
    {"fd", 0, "N", "only calls that were given this descriptor (record --args)", tool_parse_id,
     TOOL_AT(descriptor)},
    {"through", 0, "FUNCTION", "only what this function led to; paths begin with it", NULL,
     TOOL_AT(through)},
    {"to", 0, "CALL", "only paths that end in this call, and their part of all", NULL, TOOL_AT(to)},
    {"application", 0, NULL, "paths without the frames of the system's libraries", NULL,
     TOOL_AT(application)},
    {"own", 0, "REGEX", "modules that are the application, not the system's libraries", parse_regex,
     TOOL_AT(own)},
    {"expand", 0, NULL, "paths as a tree, with those that made no call themselves", NULL,
     TOOL_AT(expand)},
    {"depth", 'd', "N", "paths of at most N frames, with all below in them", tool_parse_id,
     TOOL_AT(depth)},
    {"limit", 'n', "N", "at most N rows", tool_parse_id, TOOL_AT(limit)},
    {"list", 0, NULL, "each call's two ends, in the order of time", NULL, TOOL_AT(list)},
    {"decode-fds", 'y', NULL, "of --list: what descriptors are, as strace -y has it", NULL,
     TOOL_AT(decodes)},
    {"summary", 0, NULL, "the table that strace -c prints", NULL, TOOL_AT(summary)},
    TOOL_GROUP("Of a command, or of a process that runs"),
    {"attach", 0, "PID", "record a process that runs, until it ends or Ctrl-C", tool_parse_u32,
     TOOL_AT(recording.session.attach)},
    {"duration", 0, "TIME", "record for so long", tool_parse_time,
     TOOL_AT(recording.session.max_time)},
    {"interval", 0, "TIME", "show what is there so often, while it is recorded", tool_parse_time,
     TOOL_AT(interval)},
    {"output", 'o', "FILE", "of a command: keep its trace as FILE", NULL,
     TOOL_AT(recording.output)},
    {"report", 0, "FILE", "of a command: the report to FILE, - is standard output", NULL,
     TOOL_AT(report)},
    {"complete", 0, NULL, "of a command: also what comes before the program begins", NULL,
     TOOL_AT(recording.session.calls.complete)},
    {"args", 0, NULL, "of a command: with what calls are given; --list has them anyway", NULL,
     TOOL_AT(recording.arguments)},
    {"data", 0, "[=N]", "of a command: and with the first N bytes (32) of buffers", tool_parse_data,
     TOOL_AT(recording.session.calls.data_bytes)},
    {"engine", 0, "HOW", "of a command: as record has it: in-process, ptrace",
     tool_parse_record_engine, TOOL_AT(recording.session.engine)},
    {"measure", 0, "COUNTER",
     "instead of time: cpu-time, page-faults, context-switches, cycles, ...", tool_parse_measure,
     TOOL_AT(recording.session.calls.measure)},
    {"stack-every", 0, "N", "of a command: stacks of one in N calls of a thread only",
     tool_parse_u32, TOOL_AT(recording.session.calls.stack_every)},
    {"stack-rate", 0, "N/s", "of a command: stacks of about N calls in a second of a thread only",
     tool_parse_stack_rate, TOOL_AT(recording.session.calls.stack_rate)},
    TOOL_GROUP("How it is shown, and of which part of the trace"),
    {"format", 0, "FORMAT", "text (default), json, folded (stacks), dot (Graphviz's language)",
     NULL, TOOL_AT(format)},
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    TOOL_FILTER_OPTIONS,
    TOOL_NAMES_OPTION,
    TOOL_TIME_OPTION,
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "syscalls",
    .usage = "[OPTION]... FILE|-\n[OPTION]... -- COMMAND [ARGUMENT]...\n[OPTION]... --attach PID",
    .about =
        "Shows which system calls a recorded program made, how often and how long, and which code\n"
        "paths led to them. Of calls in calls a moment counts once; OWN is without calls inside.\n"
        "A COMMAND is recorded first; its summary goes to standard error, as strace -c has it.",
    .options = table,
    .examples = "  tracetape syscalls -- ls -l\n"
                "  tracetape syscalls run.ttape\n"
                "  tracetape syscalls run.ttape --by path --application\n"
                "  tracetape syscalls run.ttape --by path --through parse_line --expand\n"
                "  tracetape syscalls run.ttape --calls %file --failed --list\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  the file is truncated or damaged: the answer is of what is there\n"
                "  4  not done\n"
                "  COMMAND's own, where one is given, and that is not 0\n",
    .operands_min = 0,
    .operands_max = 1,
};

static bool is_format(const struct options *options, const char *name)
{
    return options->format != NULL && strcmp(options->format, name) == 0;
}

/* What is asked of a view, and what that needs. */
struct asking {
    struct tool_sys_asked asked;
    struct tool_selection selection;
    regex_t own, api;
    bool has_api;
    uint8_t *through, *to, *chosen;
};

static void end_asking(struct asking *asking)
{
    tool_selection_close(&asking->selection);
    if (asking->asked.own != NULL)
        regfree(&asking->own);
    if (asking->has_api)
        regfree(&asking->api);
    free(asking->through);
    free(asking->to);
    free(asking->chosen);
}

static bool is_by_file(const struct options *options)
{
    return options->by != NULL && strcmp(options->by, "file") == 0;
}

static void start_asking(const struct options *options, struct asking *asking)
{
    *asking = (struct asking){
        .asked = {.application = options->application,
                  .failed = options->failed,
                  .list = options->list || is_by_file(options),
                  .path = options->path,
                  .measure = options->recording.session.calls.measure,
                  .descriptor = options->descriptor.given ? &options->descriptor : NULL}};
    if (options->by != NULL)
        asking->asked.by = options->by[0] == 'p'   ? TOOL_SYS_BY_PATH
                           : options->by[0] == 'f' ? TOOL_SYS_BY_FILE
                           : options->by[0] == 'm' ? TOOL_SYS_BY_MODULE
                                                   : TOOL_SYS_BY_CALL;
    const char *api = options->recording.api;
    if ((options->own != NULL && regcomp(&asking->own, options->own, REG_EXTENDED | REG_NOSUB)) ||
        (api != NULL && regcomp(&asking->api, api, REG_EXTENDED | REG_NOSUB)))
        tool_out_of_memory(); /* they were right once */
    asking->asked.own = options->own != NULL ? &asking->own : NULL;
    asking->has_api = api != NULL;
}

/* Functions of this name; `what` says whose they are where there is none, NULL: they may come. */
static int find_functions(struct tool_sys *view, const char *name, const char *what,
                          uint8_t **found)
{
    if (name == NULL)
        return TOOL_OK;
    bool *is_called = tool_sites_called(&view->names, name);
    if (is_called == NULL && what != NULL)
        return tool_fail("'%s' has no %s '%s'", view->input->name, what, name);
    free(*found);
    *found = tool_allocate(view->functions.count, 1);
    for (uint32_t i = 0; i < view->names.site_count; i++)
        if (is_called != NULL && is_called[i])
            (*found)[tool_function_of(&view->functions, i)] = 1;
    free(is_called);
    return TOOL_OK;
}

/* Of a command, standard output is its own. */
static void open_output(const struct options *options, struct tool_output *out, bool has_pager)
{
    if (options->fd == STDOUT_FILENO)
        tool_pager_open(out, has_pager);
    else
        tool_output_open(out, options->fd);
}

static int close_output(const struct options *options, struct tool_output *out)
{
    return options->fd == STDOUT_FILENO ? tool_pager_close(out) : tool_output_close(out);
}

static int print(const struct options *options, struct tool_sys *view)
{
    struct tool_output out;
    struct tool_sys_rows rows;
    const struct tool_sys_shape shape = {
        .expand = options->expand || is_format(options, "dot"),
        .depth = options->depth.value > UINT32_MAX ? 0 : (uint32_t)options->depth.value,
        .limit = options->limit.value};
    tool_sys_rows_make(&rows, view, &shape);
    open_output(options, &out, !options->json && options->format == NULL && !options->no_pager);
    if (options->json)
        tool_sys_json(view, &rows, &out);
    else if (is_format(options, "folded"))
        tool_sys_folded(view, &out);
    else if (is_format(options, "dot"))
        tool_sys_dot(view, &rows, &out);
    else if (options->summary)
        tool_sys_summary(view, &rows, &out);
    else
        tool_sys_table(view, &rows, &shape, &out);
    tool_sys_rows_free(&rows);
    return close_output(options, &out);
}

/* Nothing can have been chosen by what is not there. */
static void note_arguments(const struct options *options, const struct tool_sys *view)
{
    if ((options->path != NULL || options->descriptor.given) && !view->has_arguments)
        tool_message("'%s' has no arguments of system calls (record --syscalls --args)",
                     view->input->name);
}

static int print_files(const struct options *options, struct tool_sys *view,
                       const struct tool_selection *selection)
{
    struct tool_output out;
    view->files = tool_sys_files_open();
    int status = tool_sys_read(view, selection);
    if (!view->has_arguments)
        tool_message("'%s' has no arguments of system calls (record --syscalls --args)",
                     view->input->name);
    if (status != TOOL_CANNOT) {
        open_output(options, &out, !options->json && !options->no_pager);
        if (options->json)
            tool_sys_files_json(view, options->limit.value, &out);
        else
            tool_sys_files_table(view, options->limit.value, &out);
        int closed = close_output(options, &out);
        status = closed > status ? closed : status;
    }
    tool_sys_files_close(view->files);
    view->files = NULL;
    return status;
}

/* None is an answer where a command was run, or a time was asked for, or failures; not where what
 * is named is not there. */
static int say_none(const struct options *options, const struct tool_sys *view,
                    const struct tool_selection *selection, int status)
{
    bool is_narrowed = selection->has_range || options->failed;
    bool is_named = options->calls.count > 0 || options->path != NULL || options->descriptor.given;
    tool_message("'%s' has no system calls%s", view->input->name,
                 is_narrowed || is_named  ? " of these"
                 : options->is_of_command ? ""
                                          : " (record --syscalls)");
    return is_narrowed || options->is_of_command ? status : TOOL_CANNOT;
}

static int read_and_print(const struct options *options, struct tool_sys *view,
                          const struct tool_selection *selection)
{
    struct tool_output out;
    int status;
    if (is_by_file(options))
        return print_files(options, view, selection);
    if (!options->list) {
        status = tool_sys_read(view, selection);
        note_arguments(options, view);
        if (status != TOOL_CANNOT && view->all.calls == 0)
            status = say_none(options, view, selection, status);
        int shown = status == TOOL_CANNOT ? status : print(options, view);
        return shown > status ? shown : status;
    }
    open_output(options, &out, !options->no_pager);
    view->out = &out;
    view->descriptors = options->decodes ? tool_sys_descriptors_open() : NULL;
    status = tool_sys_read(view, selection);
    tool_sys_descriptors_close(view->descriptors);
    view->descriptors = NULL;
    note_arguments(options, view);
    if (status != TOOL_CANNOT && !view->has_listed)
        status = say_none(options, view, selection, status);
    int closed = close_output(options, &out);
    return closed > status ? closed : status;
}

/* Functions as calls of interest, beside what was chosen of system calls. */
static uint8_t *choose_api(struct tool_sys *view, const regex_t *api, uint8_t *chosen)
{
    ttape_site site;
    if (chosen == NULL)
        chosen = tool_allocate(view->names.site_count + 1u, 1);
    for (uint32_t i = 0; i < view->names.site_count; i++)
        if (ttape_reader_get_site(view->reader, i, &site) == TTAPE_OK &&
            site.kind == TTAPE_SITE_FUNCTION && tool_site_matches(&view->names, i, api))
            chosen[i] = 1;
    return chosen;
}

static int check_measure(const struct options *options, const struct tool_input *input)
{
    struct tool_sys_known known;
    const char *measure = options->recording.session.calls.measure;
    tool_sys_find_known(input->reader, &known);
    if (measure == NULL || tool_text_is(known.measure, measure))
        return TOOL_OK;
    if (known.measure.size_bytes == 0)
        return tool_fail("'%s' has times only (record --syscalls --measure %s)", input->name,
                         measure);
    return tool_fail("'%s' has '%.*s', not '%s'", input->name, (int)known.measure.size_bytes,
                     known.measure.data, measure);
}

/* Whose numbers are those of the view; `is_growing`: more of them may come. */
static int find_asked(const struct options *options, struct tool_sys *view, struct asking *asking,
                      bool is_growing)
{
    int status =
        find_functions(view, options->through, is_growing ? NULL : "function", &asking->through);
    if (status == TOOL_OK)
        status = find_functions(view, options->to, is_growing ? NULL : "call", &asking->to);
    free(asking->chosen);
    asking->chosen = tool_calls_choose(&options->calls, view->input->reader);
    if (asking->has_api)
        asking->chosen = choose_api(view, &asking->api, asking->chosen);
    view->asked.through = asking->through;
    view->asked.to = asking->to;
    view->asked.chosen = asking->chosen;
    return status;
}

static bool asks_for_stacks(const struct options *options)
{
    return options->through != NULL || (options->by != NULL && options->by[0] != 'c');
}

static int list_input(void *context, const struct tool_input *input)
{
    struct options *options = context;
    struct asking asking;
    struct tool_sys view = {0};
    start_asking(options, &asking);
    int status = tool_select(&asking.selection, input, &options->choice);
    if (status == TOOL_OK)
        status = check_measure(options, input);
    if (status == TOOL_OK)
        tool_losses_warn(input);
    tool_sys_open_view(&view, input, &asking.asked, tool_name_style(options->names, options->json));
    if (status == TOOL_OK)
        status = find_asked(options, &view, &asking, false);
    view.needs_stacks = asks_for_stacks(options) && tool_stacks_are_sampled(input->reader);
    if (status == TOOL_OK)
        status = read_and_print(options, &view, &asking.selection);
    tool_sys_close_view(&view);
    end_asking(&asking);
    return status;
}

/* ---- --interval ---- */

struct live {
    struct options *options;
    struct tool_input input;
    struct asking asking;
    struct tool_sys view;
    bool is_open;
};

/* What follows from a part of the trace is added to what is known. */
static bool take_part(void *context, const struct tool_input *part)
{
    struct live *live = context;
    struct options *options = live->options;
    const struct options *asked = options;
    bool has_grown = true;
    live->input = *part;
    if (!live->is_open) {
        tool_sys_open_view(&live->view, &live->input, &live->asking.asked,
                           tool_name_style(asked->names, asked->json));
        live->view.is_live = true;
        live->view.needs_stacks =
            asks_for_stacks(asked) && (asked->recording.session.calls.stack_every != 0 ||
                                       asked->recording.session.calls.stack_rate != 0);
        if (tool_select_time(&live->asking.selection, part->reader, part->name, &options->choice,
                             true) != TOOL_OK)
            return false;
        live->is_open = true;
    } else {
        live->view.reader = part->reader;
        has_grown = tool_sys_grow_view(&live->view);
    }
    if (has_grown && find_asked(options, &live->view, &live->asking, true) != TOOL_OK)
        return false;
    return tool_sys_read_part(&live->view, &live->asking.selection, &options->choice) !=
           TOOL_CANNOT;
}

static void print_live(void *context)
{
    struct live *live = context;
    (void)print(live->options, &live->view);
}

static void show_live(void *context)
{
    struct live *live = context;
    tool_sys_with_left(&live->view, print_live, live);
}

/* Another process, while it is recorded; the table of all goes on to be the last. */
static void watch(void *context, const char *trace, int stop_fd)
{
    struct options *options = context;
    struct live live = {.options = options};
    const struct tool_sys_watch watched = {.trace = trace,
                                           .interval_ns = options->interval.value_ns,
                                           .memory_bytes = options->memory_bytes,
                                           .stop_fd = stop_fd,
                                           .take = take_part,
                                           .show = show_live,
                                           .context = &live};
    tool_memory_bound(options->memory_bytes);
    start_asking(options, &live.asking);
    tool_sys_watch(&watched);
    if (live.is_open)
        tool_sys_close_view(&live.view);
    end_asking(&live.asking);
}

static int check_options(struct options *options)
{
    const char *by = options->by != NULL ? options->by : "call";
    if (strcmp(by, "call") != 0 && strcmp(by, "module") != 0 && strcmp(by, "path") != 0 &&
        strcmp(by, "file") != 0)
        return tool_usage("syscalls", "--by is call, module, path or file, not '%s'", by);
    if (is_by_file(options) &&
        (options->list || options->path != NULL || options->descriptor.given ||
         options->through != NULL || options->to != NULL || options->interval.given ||
         options->recording.session.calls.measure != NULL || options->recording.api != NULL))
        return tool_usage("syscalls", "--by file goes without --list, --path, --fd, --through, "
                                      "--to, --interval, --measure and --api");
    if (is_format(options, "json"))
        options->json = true;
    else if (is_format(options, "text"))
        options->format = NULL;
    else if (options->format != NULL && !is_format(options, "folded") && !is_format(options, "dot"))
        return tool_usage("syscalls", "unknown format '%s'", options->format);
    bool is_paths = is_format(options, "folded") || is_format(options, "dot") || options->expand ||
                    options->depth.given;
    if (is_paths && options->by == NULL)
        options->by = "path";
    if (is_paths && strcmp(options->by, "path") != 0)
        return tool_usage("syscalls", "folded, dot, --expand and --depth are for --by path");
    if (options->summary + options->list + (options->json || options->format != NULL ? 1 : 0) > 1)
        return tool_usage("syscalls", "only one of --summary, --list, --format is possible");
    if (options->recording.session.calls.measure != NULL &&
        (options->summary || options->list || is_format(options, "dot")))
        return tool_usage("syscalls", "--measure is for tables, JSON and folded stacks");
    if (options->decodes && !options->list)
        return tool_usage("syscalls", "--decode-fds goes with --list");
    if (options->summary && strcmp(by, "call") != 0)
        return tool_usage("syscalls", "--summary is of calls");
    if (options->interval.given && tool_filter_is_given(&options->kept))
        return tool_usage("syscalls",
                          "--filter, --on, --below and --no-below go without --interval");
    if (options->interval.given && options->list)
        return tool_usage("syscalls", "--interval is for tables; it does not go with --list");
    return TOOL_OK;
}

static int read_trace(struct options *options, const char *path)
{
    tool_memory_bound(options->memory_bytes);
    return tool_filtered_run("syscalls", &options->kept, path, 1, options->memory_bytes, list_input,
                             options);
}

/* Says before the command runs that its report cannot be written. */
static int open_report(struct options *options)
{
    options->fd = STDERR_FILENO;
    options->no_pager = true;
    if (options->report != NULL)
        options->fd = strcmp(options->report, "-") == 0
                          ? STDOUT_FILENO
                          : open(options->report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return options->fd >= 0 ? TOOL_OK
                            : tool_fail("cannot write '%s': %s", options->report, strerror(errno));
}

/* The status is the command's; where that is 0, what became of the report. */
static int run_command(struct options *options, char **argv)
{
    struct tool_sys_command *recording = &options->recording;
    bool is_recorded;
    int status = open_report(options);
    if (status != TOOL_OK)
        return status;
    options->is_of_command = true;
    options->summary |= !options->list && !options->json && options->format == NULL &&
                        options->by == NULL && recording->session.calls.measure == NULL;
    recording->choice = &options->calls;
    recording->arguments |=
        options->list || is_by_file(options) || options->path != NULL || options->descriptor.given;
    if (options->list && recording->session.calls.data_bytes == 0)
        recording->session.calls.data_bytes = LISTED_BYTES;
    recording->stacks = options->list || asks_for_stacks(options);
    recording->is_watched = options->interval.given;
    recording->watch = watch;
    recording->context = options;
    status = tool_sys_command_run(recording, argv, &is_recorded);
    if (is_recorded) {
        int shown = read_trace(options, recording->trace);
        status = status != TOOL_OK ? status : shown;
    }
    if (options->fd > STDERR_FILENO)
        (void)close(options->fd);
    return status;
}

static bool asks_to_record(const struct options *options)
{
    const struct tool_sys_command *recording = &options->recording;
    const struct tool_record_session *session = &recording->session;
    return options->report != NULL || recording->output != NULL || recording->arguments ||
           options->interval.given || session->engine != TOOL_ENGINE_AUTO ||
           session->max_time.given || session->calls.stack_every != 0 ||
           session->calls.stack_rate != 0 || session->calls.data_bytes != 0 ||
           session->calls.complete;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    char **words = tool_sys_command_find(&argc, argv);
    struct tool_sys_command *recording = &options->recording;
    tool_record_session_open(&recording->session, "syscalls");
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return tool_sys_command_close(recording, status);
    status = check_options(options);
    bool is_recording = words != NULL || recording->session.attach != 0;
    if (status == TOOL_OK && (words != NULL) + (recording->session.attach != 0) + count != 1)
        status = tool_usage("syscalls", "syscalls needs one of a file, --attach and a process id, "
                                        "-- and a command");
    else if (status == TOOL_OK && !is_recording && asks_to_record(options))
        status = tool_usage("syscalls",
                            "--output, --report, --engine, --complete, --duration, --args, "
                            "--data, --interval and --stack-... are for a command, or --attach");
    else if (status == TOOL_OK && options->interval.given && recording->output != NULL)
        status = tool_usage("syscalls", "--interval does not go with --output");
    else if (status == TOOL_OK)
        status = is_recording ? run_command(options, words) : read_trace(options, argv[0]);
    return tool_sys_command_close(recording, status);
}

int tool_verb_syscalls(int argc, char **argv)
{
    struct options options = {.fd = STDOUT_FILENO};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    tool_choice_close(&options.choice);
    tool_call_choice_close(&options.calls);
    return status;
}
