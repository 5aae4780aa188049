/* tracetape lines: which lines of source code ran, in one call, in all calls of a function, in some
 * time. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tools/calls/call_name.h"
#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/pager.h"
#include "tools/command/tool.h"
#include "tools/filter/filtered_input.h"
#include "tools/io/debug_files.h"
#include "tools/lines/lines_print.h"

/* A regular expression. */
struct function {
    const char *text; /* NULL: all functions */
    regex_t pattern;
};

/* Calls in which a line ran, of a file whose path ends so. */
struct wanted {
    char *file; /* NULL: no line is wanted */
    uint32_t line;
};

struct options {
    struct tool_choice choice;
    struct tool_filter kept;
    struct tool_call_name call, with;
    struct wanted wanted;
    struct function function;
    const char *sources;
    enum tool_name_style names;
    bool all, edges, json, lcov, no_pager;
    uint64_t memory_bytes;
};

static bool parse_line(const char *text, void *into)
{
    struct wanted *wanted = into;
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
     tool_parse_call_name, TOOL_AT(call)},
    {"with", 0, "CALL", "another call beside it: where it went another way", tool_parse_call_name,
     TOOL_AT(with)},
    {"function", 'F', "REGEX", "all calls of functions whose name matches", parse_function,
     TOOL_AT(function)},
    TOOL_FILTER_OPTIONS,
    {"line", 0, "FILE:LINE", "the calls in which this line ran, instead", parse_line,
     TOOL_AT(wanted)},
    {"all", 'a', NULL, "also long stretches of lines that did not run", NULL, TOOL_AT(all)},
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

static int print(const struct options *options, const struct tool_lines_print *what)
{
    struct tool_output out;
    tool_pager_open(&out, !options->json && !options->lcov && !options->no_pager);
    if (options->json)
        tool_lines_json(what, &out);
    else if (options->lcov)
        tool_lines_lcov(what->lines, &out);
    else
        tool_lines_text(what, &out);
    return tool_pager_close(&out);
}

/* The verb while it asks. */
struct asking {
    const struct tool_input *input;
    struct tool_lines_options how;
    struct tool_lines_call call, with;
    uint64_t damage_count;
    int status; /* TOOL_OK, or the worst that happened */
};

static void note_damage(void *context, uint32_t stream, const ttape_error *error)
{
    struct asking *asking = context;
    (void)stream;
    (void)tool_input_go_on(asking->input, error, &asking->damage_count, &asking->status);
}

static void warn_of_module(void *context, const char *path, const char *reason, bool is_code)
{
    (void)context;
    if (is_code)
        tool_message("'%s': %s: its lines are not known", path, reason);
    else
        tool_message("no symbols of '%s': %s", path, reason);
}

/* The functions that were asked for; for the caller to free. */
static int choose_functions(const struct options *options, const struct tool_input *input,
                            struct tool_site_names *names, bool **chosen)
{
    ttape_site site;
    bool is_any = false;
    *chosen = tool_allocate((size_t)names->site_count + 1, sizeof **chosen);
    for (uint32_t i = 0; i < names->site_count; i++) {
        bool is_function = ttape_reader_get_site(input->reader, i, &site) == TTAPE_OK &&
                           site.kind == TTAPE_SITE_FUNCTION;
        (*chosen)[i] = is_function && tool_site_matches(names, i, &options->function.pattern);
        is_any = is_any || (*chosen)[i];
    }
    return is_any ? TOOL_OK : tool_no_match(input->reader, options->function.text);
}

/* What names of calls mean. */
static int find_calls(const struct options *options, struct asking *asking)
{
    ttape_error err = {0};
    ttape_status status = TTAPE_OK;
    if (options->call.text != NULL) {
        status = tool_find_call(asking->input->reader, &options->call, &asking->call, &err);
        asking->how.call = &asking->call;
    }
    if (status == TTAPE_OK && options->with.text != NULL) {
        status = tool_find_call(asking->input->reader, &options->with, &asking->with, &err);
        asking->how.with = &asking->with;
    }
    return status == TTAPE_OK ? TOOL_OK : tool_fail_error(asking->input->name, &err);
}

static int ask(struct asking *asking, struct tool_source_lines **lines)
{
    const struct tool_symbols_options usual = {0};
    struct tool_symbols *symbols = tool_symbols_make(&usual);
    ttape_error err = {0};
    asking->how.symbols = symbols;
    asking->how.memory_bytes = tool_memory_left() | 1;
    ttape_status status = tool_source_lines_make(lines, asking->input->reader, &asking->how, &err);
    tool_symbols_close(symbols);
    if (status == TTAPE_E_LIMIT)
        tool_memory_short();
    return status == TTAPE_OK ? asking->status == TOOL_CANNOT ? TOOL_CANNOT : TOOL_OK
                              : tool_fail_error(asking->input->name, &err);
}

static int count(const struct options *options, struct asking *asking,
                 struct tool_site_names *names)
{
    struct tool_source_lines *lines = NULL;
    struct tool_lines_info info;
    int status = find_calls(options, asking);
    if (status == TOOL_OK)
        status = ask(asking, &lines);
    if (status == TOOL_OK) {
        const struct tool_lines_print what = {
            lines, asking->input->reader, names, options->sources, options->edges, options->all};
        tool_source_lines_get_info(lines, &info);
        if (info.is_partial[0])
            tool_message("'%s': events are missing, or began before: a line that was not seen may "
                         "have run",
                         asking->input->name);
        status = print(options, &what);
        if (info.is_joined)
            tool_message(
                "counts%s are of optimised code, whose lines the compiler joins and moves: "
                "-O0 or -Og for exact ones",
                options->json || options->lcov || info.lists_calls ? "" : " with ~");
    }
    tool_source_lines_close(lines);
    return status == TOOL_OK ? asking->status : status;
}

static int count_input(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    bool *chosen = NULL;
    struct tool_site_names names;
    struct tool_selection selection = {0};
    int status = tool_select(&selection, input, &options->choice);
    if (status == TOOL_OK)
        tool_losses_warn(input);
    tool_site_names_open_as(&names, input->reader, tool_name_style(options->names, options->json));
    if (status == TOOL_OK && options->function.text != NULL)
        status = choose_functions(options, input, &names, &chosen);
    struct asking asking = {.input = input,
                            .how = {.streams = selection.streams,
                                    .stream_count = selection.stream_count,
                                    .has_range = selection.has_range,
                                    .from_ns = selection.from_ns,
                                    .to_ns = selection.to_ns,
                                    .chosen = chosen,
                                    .file = options->wanted.file,
                                    .line = options->wanted.line,
                                    .wants_edges = options->edges,
                                    .damage = note_damage,
                                    .trouble = warn_of_module}};
    asking.how.context = &asking;
    if (status == TOOL_OK)
        status = count(options, &asking, &names);
    tool_site_names_close(&names);
    tool_selection_close(&selection);
    free(chosen);
    return status;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int operands, status;
    if (tool_options_parse(&command, argc, argv, options, &operands, &status) != TOOL_PARSED_GO)
        return status;
    if (options->with.text != NULL && options->call.text == NULL)
        status = tool_usage("lines", "--with is a second call beside --frame");
    else if (options->call.text != NULL && options->function.text != NULL)
        status = tool_usage("lines", "--frame and --function go one at a time");
    else if (options->wanted.file != NULL && options->lcov)
        status = tool_usage("lines", "--line lists calls, which --lcov cannot say: use --json");
    else if (options->json && options->lcov)
        status = tool_usage("lines", "--json and --lcov go one at a time");
    else {
        tool_memory_bound(options->memory_bytes);
        status = tool_filtered_run("lines", &options->kept, argv[0], 1, options->memory_bytes,
                                   count_input, options);
    }
    return status;
}

int tool_verb_lines(int argc, char **argv)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    tool_choice_close(&options.choice);
    free(options.wanted.file);
    if (options.function.text != NULL)
        regfree(&options.function.pattern);
    return status;
}
