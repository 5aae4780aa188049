/* tracetape lines: which lines of source code ran, in one call, in all calls of a function, in some
 * time. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "program/lines/lines_inside.h"

/* A regular expression. */
struct function {
    const char *text; /* NULL: all functions */
    regex_t pattern;
};

struct options {
    struct tool_choice choice;
    struct tool_lines_name call, with;
    struct tool_lines_wanted wanted;
    struct function function;
    const char *sources;
    enum tool_name_style names;
    bool edges, json, lcov, no_pager;
    uint64_t memory_bytes;
};

static bool parse_line(const char *text, void *into)
{
    struct tool_lines_wanted *wanted = into;
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || !tool_parse_u32(colon + 1, &wanted->line))
        return false;
    free(wanted->file);
    wanted->file = tool_copy_text(text, (size_t)(colon - text));
    return true;
}

static bool parse_function(const char *text, void *into)
{
    struct function *function = into;
    if (function->text != NULL)
        regfree(&function->pattern);
    function->text = regcomp(&function->pattern, text, REG_EXTENDED | REG_NOSUB) == 0 ? text : NULL;
    return function->text != NULL;
}

static const struct tool_option table[] = {
    {"frame", 0, "CALL", "this call only, as slow and tree name it: s0e2500, s0p3f1",
     tool_lines_parse_call, TOOL_AT(call)},
    {"with", 0, "CALL", "another call beside it: where it went another way", tool_lines_parse_call,
     TOOL_AT(with)},
    {"function", 'F', "REGEX", "all calls of functions whose name matches", parse_function,
     TOOL_AT(function)},
    {"line", 0, "FILE:LINE", "the calls in which this line ran, instead", parse_line,
     TOOL_AT(wanted)},
    {"edges", 0, NULL, "how often it went from one block to another, too", NULL, TOOL_AT(edges)},
    {"sources", 0, "DIR", "look for source files below this folder, too", NULL, TOOL_AT(sources)},
    TOOL_NAMES_OPTION,
    TOOL_TIME_OPTION,
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    {"json", 0, NULL, "print JSON", NULL, TOOL_AT(json)},
    {"lcov", 0, NULL, "print a tracefile of lcov, for genhtml and editors", NULL, TOOL_AT(lcov)},
    {"no-pager", 0, NULL, "straight to the terminal", NULL, TOOL_AT(no_pager)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "lines",
    .usage = "[OPTION]... FILE|-",
    .about =
        "Shows the source code with how often each line ran: in one call, in all calls of a\n"
        "function, in some time, or in all of the recording. Of what did not run it says whether\n"
        "it ran elsewhere in the recording, or never. For programs that are compiled with\n"
        "-g -finstrument-functions -fsanitize-coverage=trace-pc (clang: trace-pc,no-prune), and\n"
        "linked with `pkg-config --libs tracetape-blocks`.",
    .options = table,
    .examples = "  tracetape lines run.ttape --function parse_line\n"
                "  tracetape lines run.ttape --frame s0e1\n"
                "  tracetape lines run.ttape --line program.c:3\n"
                "  tracetape lines run.ttape --lcov > run.info\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  the file is truncated or damaged: what is there was counted\n"
                "  4  not done\n",
    .operands_min = 1,
    .operands_max = 1,
};

static int print(const struct options *options, struct tool_lines *view)
{
    struct tool_output out;
    tool_pager_open(&out, !options->json && !options->lcov && !options->no_pager);
    if (options->json)
        tool_lines_json(view, &out);
    else if (options->lcov)
        tool_lines_lcov(view, &out);
    else
        tool_lines_text(view, &out);
    return tool_pager_close(&out);
}

static int choose_functions(const struct options *options, struct tool_lines *view)
{
    ttape_site site;
    bool is_any = false;
    view->chosen = tool_allocate((size_t)view->info.site_count + 1, sizeof *view->chosen);
    for (uint32_t i = 0; i < view->info.site_count; i++) {
        bool is_function = ttape_reader_get_site(view->reader, i, &site) == TTAPE_OK &&
                           site.kind == TTAPE_SITE_FUNCTION;
        view->chosen[i] =
            is_function && tool_site_matches(&view->names, i, &options->function.pattern);
        is_any = is_any || view->chosen[i];
    }
    return is_any ? TOOL_OK
                  : tool_fail("'%s' has no function that matches '%s'", view->input->name,
                              options->function.text);
}

static int choose(const struct options *options, struct tool_lines *view)
{
    int status = options->function.text != NULL ? choose_functions(options, view) : TOOL_OK;
    if (status == TOOL_OK)
        status = tool_lines_open_code(view);
    if (status == TOOL_OK && view->wanted.file != NULL && !tool_lines_find_line(view))
        status = tool_fail("'%s': no block of '%s:%u' ran: it never did, or is no line of code",
                           view->input->name, view->wanted.file, view->wanted.line);
    return status;
}

static int count(const struct options *options, struct tool_lines *view)
{
    const struct tool_selection *s = view->selection;
    struct tool_call_id call, with;
    view->is_all = view->chosen == NULL && !options->call.call.given && !s->has_range &&
                   s->streams == NULL && !view->has_second;
    int status = tool_lines_find_call(view, &options->call, &call);
    if (status == TOOL_OK && view->has_second)
        status = tool_lines_find_call(view, &options->with, &with);
    if (status == TOOL_OK)
        status = tool_lines_walk(view, &call, &view->counts[0]);
    if (status == TOOL_OK && view->has_second)
        status = tool_lines_walk(view, &with, &view->counts[1]);
    if (status == TOOL_OK && view->line_sites == NULL)
        tool_lines_count(view);
    if (status == TOOL_OK && view->counts[0].is_partial)
        tool_message("'%s': events are missing, or began before: a line that was not seen may have "
                     "run",
                     view->input->name);
    return status;
}

static int run(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    struct tool_selection selection = {0};
    struct tool_lines view = {.input = input,
                              .reader = input->reader,
                              .selection = &selection,
                              .wanted = options->wanted,
                              .wants_edges = options->edges,
                              .sources = options->sources,
                              .has_second = options->with.call.given};
    ttape_reader_get_info(input->reader, &view.info);
    int status = tool_select(&selection, input, &options->choice);
    if (status == TOOL_OK)
        tool_losses_warn(input);
    tool_site_names_open_as(&view.names, input->reader,
                            tool_name_style(options->names, options->json));
    if (status == TOOL_OK)
        status = choose(options, &view);
    if (status == TOOL_OK)
        status = count(options, &view);
    if (status == TOOL_OK)
        status = print(options, &view);
    tool_lines_count_close(&view);
    tool_lines_counts_close(&view.counts[0]);
    tool_lines_counts_close(&view.counts[1]);
    tool_lines_close_code(&view);
    tool_site_names_close(&view.names);
    tool_selection_close(&selection);
    free(view.chosen);
    free(view.line_sites);
    free(view.calls);
    return status == TOOL_OK ? view.status : status;
}

int tool_verb_lines(int argc, char **argv)
{
    int operands, status;
    struct options options = {0};
    if (tool_options_parse(&command, argc, argv, &options, &operands, &status) != TOOL_PARSED_GO)
        return status;
    if (options.with.call.given && !options.call.call.given)
        status = tool_usage("lines", "--with is a second call beside --frame");
    else if (options.call.call.given && options.function.text != NULL)
        status = tool_usage("lines", "--frame and --function go one at a time");
    else if (options.wanted.file != NULL && options.lcov)
        status = tool_usage("lines", "--line lists calls, which --lcov cannot say: use --json");
    else if (options.json && options.lcov)
        status = tool_usage("lines", "--json and --lcov go one at a time");
    else {
        tool_memory_bound(options.memory_bytes);
        status = tool_input_run(argv[0], 1, options.memory_bytes, run, &options);
    }
    tool_choice_close(&options.choice);
    free(options.wanted.file);
    if (options.function.text != NULL)
        regfree(&options.function.pattern);
    return status;
}
