/* tracetape export: what is selected goes, frame by frame, to a format that other tools read. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/calls/losses.h"
#include "tools/calls/stream_choice.h"
#include "tools/command/memory_limit.h"
#include "tools/command/progress.h"
#include "tools/export/export.h"
#include "tools/filter/filtered_input.h"
#include "tools/html/html.h"
#include "tools/io/target.h"

static const struct tool_export_format *const formats[] = {
    &tool_export_chrome,
#ifdef TOOL_WITH_PROTOBUF
    &tool_export_perfetto, &tool_export_pprof,
#endif
    &tool_export_firefox,  &tool_export_speedscope, &tool_export_folded, &tool_export_callgrind,
#ifdef TOOL_WITH_CTF
    &tool_export_ctf,
#endif
    &tool_export_csv,      &tool_export_arrow,
#ifdef TOOL_WITH_SQLITE
    &tool_export_sqlite,
#endif
    &tool_export_svg,      &tool_export_png,        &tool_export_html,
};
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

static bool parse_length(const char *text, void *into)
{
    return ttp_time_scan(&text, into) && *text == '\0';
}

struct options {
    const char *format, *output, *picture, *function, *sources;
    const struct tool_export_format *chosen;
    bool force, with_values, with_source, is_empty;
    enum tool_name_style names;
    struct tool_choice choice;
    struct tool_filter kept;
    uint64_t min_ns;
    uint32_t jobs;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"format", 0, "FORMAT", "one of those below", NULL, TOOL_AT(format)},
    {"output", 'o', "OUT", "write to OUT (default: standard output, where the format allows it)",
     NULL, TOOL_AT(output)},
    {"picture", 0, "WHAT", "of svg, png: timeline (default), flame, tree, histogram", NULL,
     TOOL_AT(picture)},
    {"function", 'F', "REGEX", "whose durations a histogram shows; of html, whose lines", NULL,
     TOOL_AT(function)},
    {"with-values", 0, NULL, "of html: arguments, results, command line and host, too", NULL,
     TOOL_AT(with_values)},
    {"with-source", 0, NULL, "of html: source files, paths and lines of functions, too", NULL,
     TOOL_AT(with_source)},
    {"sources", 0, "DIR", "of html: look for source files below this folder, too", NULL,
     TOOL_AT(sources)},
    {"empty", 0, NULL, "of html: no trace; the page takes a file that is dropped on it", NULL,
     TOOL_AT(is_empty)},
    TOOL_NAMES_OPTION,
    {"force", 'f', NULL, "replace OUT where it exists", NULL, TOOL_AT(force)},
    TOOL_TIME_OPTION,
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    TOOL_FILTER_OPTIONS,
    {"min-time", 'm', "TIME", "leave out frames that are shorter, and points", parse_length,
     TOOL_AT(min_ns)},
    {"jobs", 'j', "N", "threads that decode; default 2, or 1 where there is one core",
     tool_parse_u32, TOOL_AT(jobs)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "export",
    .usage = "--format FORMAT [OPTION]... FILE|- [-o OUT]",
    .about = "Writes a trace, or a cut of it, in a format that other tools read:\n"
             "  chrome      Chrome trace JSON, for chrome://tracing and ui.perfetto.dev\n"
             "  perfetto    Perfetto's protobuf, for ui.perfetto.dev and trace_processor\n"
             "  pprof       profile.proto: a sample for each stack, for pprof and its like\n"
             "  firefox     a profile in JSON for profiler.firefox.com\n"
             "  speedscope  JSON for speedscope.app\n"
             "  folded      stacks with their own time, for flamegraph.pl\n"
             "  callgrind   for callgrind_annotate and KCachegrind\n"
             "  ctf         a folder in the Common Trace Format, for babeltrace2\n"
             "  csv         a table of events, for anything\n"
             "  arrow       a table of calls in Arrow's IPC stream, for what reads columns\n"
             "  sqlite      a database of calls and events, for SQL\n"
             "  svg, png    a picture of at most 5,000 shapes, for anybody\n"
             "  html        one file with the page of 'view' and the trace, for any browser",
    .options = table,
    .examples = "  tracetape export --format chrome run.ttape --time +1s..+1.2s -o part.json\n"
                "  tracetape export --format folded run.ttape | flamegraph.pl > run.svg\n"
                "  tracetape export --format perfetto run.ttape --min-time 10us -o run.pftrace\n"
                "  tracetape export --format svg run.ttape --time +1s..+2s -o run.svg\n"
                "  tracetape export --format svg --picture flame run.ttape -o flame.svg\n"
                "  tracetape export --format html run.ttape --time +1s..+2s -o run.html\n",
    .statuses = "  0  done\n"
                "  2  the command line is wrong\n"
                "  3  done, but the file is damaged or its clock steps back: a message says how\n"
                "  4  not done\n",
    .operands_min = 0,
    .operands_max = 1,
};

static enum tool_name_style name_style(const struct options *options)
{
    bool is_for_people = options->chosen->is_picture || options->chosen == &tool_export_html;
    return tool_name_style(options->names, !is_for_people);
}

static int prepare_export(const struct options *options, struct tool_export *export)
{
    ttape_reader_get_info(export->reader, &export->info);
    export->has_times = export->info.resolution_ns != TTAPE_TIME_NONE;
    export->has_paths = ttape_reader_path_count(export->reader) != 0;
    struct tool_selection selection;
    const struct tool_span *time = &options->choice.time;
    int status = tool_select(&selection, export->input, &options->choice);
    if (status != TOOL_OK)
        return status;
    export->has_from = time->from.given;
    export->has_to = time->to.given;
    export->from_ns = selection.from_ns;
    export->to_ns = selection.to_ns;
    export->min_ns = options->min_ns;
    tool_export_select(export, &selection);
    tool_selection_close(&selection);
    if (!export->has_times && export->min_ns > 0)
        return tool_fail("'%s' has no times: --min-time cannot be used", export->input->name);
    if (options->chosen != &tool_export_html) /* which has those of the cut */
        tool_site_names_open_as(&export->names, export->reader, name_style(options));
    return TOOL_OK;
}

/* ---- outputs that are written front to back ---- */

static int open_stream(struct tool_export *export, struct tool_target *target, bool is_text)
{
    if (strcmp(export->path, "-") == 0 && (is_text || isatty(STDOUT_FILENO) != 1)) {
        tool_output_open(&export->out, STDOUT_FILENO);
        return TOOL_OK;
    }
    int status = tool_target_open(target, export->path, export->force);
    if (status != TOOL_OK)
        return status;
    int fd = target->file == NULL
                 ? dup(target->fd)
                 : open(ttape_file_sink_temporary_name(target->file), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return tool_fail("cannot open '%s': %s", export->path, strerror(errno));
    tool_output_open(&export->out, fd);
    return TOOL_OK;
}

/* What was written becomes the file, unless it could not be finished. */
static int close_stream(struct tool_export *export, struct tool_target *target, int status)
{
    struct tool_output *out = &export->out;
    if (out->data == NULL)
        return status;
    if (out->fd == STDOUT_FILENO) {
        int closed = tool_output_close(out);
        return closed != TOOL_OK ? closed : status;
    }
    tool_output_flush(out);
    free(out->data);
    close(out->fd);
    if (out->failed_errno == EPIPE)
        return status;
    if (out->failed_errno != 0)
        return tool_fail("cannot write '%s': %s", export->path, strerror(out->failed_errno));
    int committed = status == TOOL_CANNOT ? TOOL_OK : tool_target_commit(target);
    return committed != TOOL_OK ? committed : status;
}

static int run_format(struct tool_export *export, const struct tool_export_format *format)
{
    struct tool_target target = {.fd = -1};
    int status = TOOL_OK;
    if (tool_target_is_input(export->path, export->input->name))
        return tool_fail("cannot export '%s' in place: it is the output too", export->input->name);
    bool is_stream = format->shape == TOOL_EXPORT_TEXT || format->shape == TOOL_EXPORT_BINARY;
    if (is_stream)
        status = open_stream(export, &target, format->shape == TOOL_EXPORT_TEXT);
    if (status == TOOL_OK) {
        tool_progress_start("export");
        status = format->run(export);
        tool_progress_stop();
        status = status == TOOL_OK ? export->status : status;
    }
    if (is_stream)
        status = close_stream(export, &target, status);
    tool_target_close(&target);
    return status;
}

static int export_all(void *context, const struct tool_input *input)
{
    const struct options *options = context;
    const struct html_options html = {.choice = &options->choice,
                                      .with_values = options->with_values,
                                      .with_source = options->with_source,
                                      .function = options->function,
                                      .sources = options->sources,
                                      .names = name_style(options),
                                      .memory_bytes = options->memory_bytes};
    struct tool_export export = {.input = input,
                                 .reader = input->reader,
                                 .path = options->output != NULL ? options->output : "-",
                                 .force = options->force,
                                 .picture = options->picture,
                                 .function = options->function,
                                 .html = &html,
                                 .jobs = options->jobs};
    int status = prepare_export(options, &export);
    if (status == TOOL_OK) {
        tool_losses_warn(input);
        tool_stacks_warn(input);
    }
    if (status == TOOL_OK)
        status = run_format(&export, options->chosen);
    if (export.stepped_count > 0 && (status == TOOL_OK || status == TOOL_LOSS)) {
        tool_message("'%s': the clock steps back %" PRIu64
                     " times: such an event got the time of the event before it",
                     input->name, export.stepped_count);
        status = TOOL_LOSS;
    }
    tool_export_close(&export);
    return status;
}

static const struct tool_export_format *find_format(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

static int fail_format(const char *name)
{
    static const char *const optional[] = {"perfetto", "pprof", "ctf", "sqlite"};
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
        if (strcmp(name, optional[i]) == 0)
            return tool_fail("'%s' is not in this build: its library was missing", name);
    return tool_usage("export", "unknown format '%s'", name);
}

/* The page alone. */
static int export_empty(const struct options *options)
{
    struct tool_target target = {.fd = -1};
    struct tool_export export = {.path = options->output != NULL ? options->output : "-",
                                 .force = options->force};
    int status = html_check_build();
    if (status == TOOL_OK)
        status = open_stream(&export, &target, false);
    if (status == TOOL_OK)
        status = html_write_empty(&export.out);
    status = close_stream(&export, &target, status);
    tool_target_close(&target);
    return status;
}

static bool is_expression(const char *text)
{
    regex_t regex;
    if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    regfree(&regex);
    return true;
}

/* Refuses what belongs to other formats. A tool_exit. */
static int check_options(const struct options *options, int operand_count)
{
    const struct tool_export_format *format = options->chosen;
    bool is_html = format == &tool_export_html;
    if (format->shape >= TOOL_EXPORT_FILE &&
        (options->output == NULL || strcmp(options->output, "-") == 0))
        return tool_usage("export", "format '%s' needs -o OUT", format->name);
    if (!is_html && (options->with_values || options->with_source || options->sources != NULL ||
                     options->is_empty))
        return tool_usage("export", "--with-values, --with-source, --sources and --empty are for "
                                    "--format html");
    if (options->is_empty != (operand_count == 0))
        return tool_usage("export",
                          options->is_empty ? "with --empty there is no FILE" : "FILE is missing");
    if (is_html && options->min_ns > 0)
        return tool_usage("export", "--min-time is not for --format html");
    if (options->picture != NULL && !format->is_picture)
        return tool_usage("export", "--picture is for --format svg and png");
    if (!tool_picture_is_name(options->picture))
        return tool_usage("export", "unknown picture '%s'", options->picture);
    bool is_histogram = options->picture != NULL && strcmp(options->picture, "histogram") == 0;
    if (is_html && options->function != NULL && !options->with_source)
        return tool_usage("export", "--function is with --with-source for --format html");
    if (is_html && options->function != NULL)
        return is_expression(options->function)
                   ? TOOL_OK
                   : tool_usage("export", "cannot use '%s' as a regular expression",
                                options->function);
    if (is_histogram != (options->function != NULL))
        return tool_usage("export", "--picture histogram and --function REGEX go together");
    return TOOL_OK;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options->format == NULL)
        return tool_usage("export", "--format FORMAT is missing");
    options->chosen = find_format(options->format);
    if (options->chosen == NULL)
        return fail_format(options->format);
    status = check_options(options, count);
    if (status != TOOL_OK)
        return status;
    if (options->is_empty)
        return export_empty(options);
    if (options->jobs == 0)
        options->jobs = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1;
    tool_memory_bound(options->memory_bytes);
    status = tool_filtered_run("export", &options->kept, argv[0], options->jobs,
                               options->memory_bytes, export_all, options);
    return status;
}

int tool_verb_export(int argc, char **argv)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv);
    tool_filter_close(&options.kept);
    tool_choice_close(&options.choice);
    return status;
}
