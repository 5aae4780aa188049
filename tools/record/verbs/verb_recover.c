/* recover: makes a trace of what a killed recorder left behind, or of a damaged or unfinished
 * trace. Never in place, never silent. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <tracetape/recover.h>

#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/signals.h"
#include "tools/command/tool.h"
#include "tools/io/debug_files.h"
#include "tools/io/target.h"
#include "tools/record/rules/record_rules.h"

struct options {
    const char *output;
    bool force, clean, no_symbols, quiet, verbose;
    struct tool_debug_files debug;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"output", 'o', "FILE", "write the trace to FILE", NULL, TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE where it exists", NULL, TOOL_AT(force)},
    {"clean", 0, NULL, "then remove the directory, and the buffers of its recorder", NULL,
     TOOL_AT(clean)},
    {"no-symbols", 0, NULL, "no names for functions that were not in the trace yet", NULL,
     TOOL_AT(no_symbols)},
    TOOL_DEBUG_OPTIONS,
    {"quiet", 'q', NULL, "say only what was lost", NULL, TOOL_AT(quiet)},
    {"verbose", 'v', NULL, "also say what was kept", NULL, TOOL_AT(verbose)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "recover",
    .usage = "[OPTION]... FILE.recording|FILE.ttape -o OUT",
    .about =
        "Makes a trace of what a recorder left behind that was killed, or could not finish\n"
        "(a directory): the partitions of its unfinished trace, and all that programs had\n"
        "recorded since. Or of a trace that is damaged or unfinished (a file): all that still\n"
        "verifies, with a gap event where events are lost. Its input is left as it is.",
    .options = table,
    .examples = "  tracetape recover run.ttape.recording -o run.ttape\n"
                "  tracetape recover run.ttape.recording -o run.ttape --clean\n"
                "  tracetape recover damaged.ttape -o sound.ttape\n",
    .statuses = "  0  all that was recorded is in OUT\n"
                "  2  the command line is wrong\n"
                "  3  something was lost: each loss is named\n"
                "  4  not recovered\n",
    .operands_min = 1,
    .operands_max = 1,
};

/* What the callbacks need. */
struct recovering {
    const struct options *options;
    struct tool_record_rules rules;
    ttape_site_rules named;
};

static void name_site(void *context, ttape_site *site, const ttape_module *module)
{
    struct recovering *at = context;
    if (at->named.name != NULL)
        at->named.name(at->named.context, site, module);
}

static bool is_application(void *context, const ttape_module *module, ttape_string executable)
{
    struct recovering *at = context;
    return tool_record_is_application(&at->rules, module, executable);
}

static void found(void *context, bool is_loss, const char *line)
{
    const struct recovering *at = context;
    if (is_loss || !at->options->quiet)
        tool_message("%s", line);
}

static const char *const fate_names[TTAPE_RECOVER_FATES] = {
    "kept",      "kept, out of order", "lost", "left out, a copy", "left out, of another trace",
    "not needed"};
static const char *const kind_names[TTAPE_RECOVER_KINDS] = {"bytes that are no chunk",
                                                            "metadata chunk",
                                                            "site table",
                                                            "stream table",
                                                            "partition",
                                                            "model chunk",
                                                            "index",
                                                            "chunk of unknown kind"};

/* "byte 123: partition (chunk 4): lost, 1000 events: why [rule]"; of a recording with the file's
 * name in front. */
static void take_piece(void *context, const ttape_recover_piece *piece)
{
    const struct options *options = ((const struct recovering *)context)->options;
    char events[48] = "", number[32] = "", size[32] = "", why[320] = "";
    const char *file = piece->file != NULL ? piece->file : "";
    /* What a recorder was writing when it was killed is whole elsewhere. */
    bool is_unneeded = piece->fate == TTAPE_RECOVER_SKIPPED &&
                       (piece->why.status == TTAPE_OK || piece->file != NULL);
    bool is_loss = piece->fate == TTAPE_RECOVER_LOST || piece->fate == TTAPE_RECOVER_FOREIGN;
    if (piece->fate == TTAPE_RECOVER_KEPT || is_unneeded ? !options->verbose
                                                         : options->quiet && !is_loss)
        return;
    if (piece->events_known)
        (void)snprintf(events, sizeof events, ", %" PRIu64 " events", piece->event_count);
    else if (piece->kind == TTAPE_RECOVER_PARTITION && piece->fate == TTAPE_RECOVER_LOST)
        (void)snprintf(events, sizeof events, ", its events are not known");
    if (piece->kind == TTAPE_RECOVER_BYTES)
        (void)snprintf(size, sizeof size, "%" PRIu64 " ", piece->size_bytes);
    else
        (void)snprintf(number, sizeof number, " (chunk %" PRIu64 ")", piece->sequence);
    if (piece->why.status != TTAPE_OK)
        (void)snprintf(why, sizeof why, ": %s [%s]", piece->why.message, piece->why.rule);
    tool_message("%s%sbyte %" PRIu64 ": %s%s%s: %s%s%s", file, piece->file != NULL ? ": " : "",
                 piece->offset, size, kind_names[piece->kind], number, fate_names[piece->fate],
                 events, why);
}

/* One line per kind of chunk: "partitions: 12 kept, 1 lost". */
static void say_pieces(const ttape_recover_report *report)
{
    for (unsigned kind = 0; kind < TTAPE_RECOVER_KINDS; kind++) {
        char line[256];
        size_t used = 0;
        for (unsigned fate = 0; fate < TTAPE_RECOVER_FATES; fate++)
            if (report->pieces[kind][fate] != 0 && used < sizeof line) {
                int n =
                    snprintf(line + used, sizeof line - used, "%s%" PRIu64 " %s",
                             used == 0 ? "" : "; ", report->pieces[kind][fate], fate_names[fate]);
                used += n > 0 ? (size_t)n : 0;
            }
        if (used != 0)
            tool_message("%s: %s", kind_names[kind], line);
    }
    if (report->gap_count != 0)
        tool_message("%" PRIu64 " gap events mark the losses", report->gap_count);
}

/* Of a file of which nothing was lost, one line is enough. */
static bool is_sound(const ttape_recover_report *report)
{
    return report->loss_count == 0 && report->lost_events == 0 && report->gap_count == 0 &&
           report->uncounted_losses == 0;
}

static void say_report(const struct options *options, const ttape_recover_report *report)
{
    char uncounted[80] = "";
    if (options->quiet)
        return;
    if (options->verbose || !is_sound(report))
        say_pieces(report);
    if (report->uncounted_losses != 0)
        (void)snprintf(uncounted, sizeof uncounted,
                       ", and those of %" PRIu64 " losses, which are not known",
                       report->uncounted_losses);
    tool_message("'%s': %" PRIu64 " events recovered, %" PRIu64 " lost%s", options->output,
                 report->copied_events + report->recovered_events, report->lost_events, uncounted);
}

static ttape_status recover_into(const char *path, bool is_directory, const ttape_sink *sink,
                                 struct recovering *at, ttape_recover_report *report,
                                 ttape_error *err)
{
    ttape_source source;
    ttape_recover_options recover_options = {.size = sizeof recover_options,
                                             .limits = {.memory_bytes = at->options->memory_bytes},
                                             .name = name_site,
                                             .found = found,
                                             .piece = take_piece,
                                             .context = at,
                                             .is_application = is_application};
    if (is_directory)
        return ttape_recover_recording(path, sink, &recover_options, report, err);
    ttape_status status = ttape_source_file_open(&source, path, err);
    if (status != TTAPE_OK)
        return status;
    status = ttape_recover_trace(&source, sink, &recover_options, report, err);
    ttape_source_file_close(&source);
    return status;
}

static int recover(const char *path, bool is_directory, struct recovering *at)
{
    ttape_error err = {0};
    ttape_recover_report report;
    struct tool_target target = {.fd = -1};
    const struct options *options = at->options;
    int status = tool_target_open(&target, options->output, options->force);
    if (status != TOOL_OK)
        return status;
    if (recover_into(path, is_directory, &target.sink, at, &report, &err) != TTAPE_OK)
        status = tool_fail_error(path, &err);
    else
        status = tool_target_commit(&target);
    tool_target_close(&target);
    if (status != TOOL_OK)
        return status;
    say_report(options, &report);
    if (options->clean && ttape_recover_remove(path, &err) != TTAPE_OK)
        return tool_fail_error(path, &err);
    return report.loss_count != 0 ? TOOL_LOSS : TOOL_OK;
}

int tool_verb_recover(int argc, char **argv)
{
    int count, status;
    struct options options = {0};
    struct stat info;
    struct recovering at = {.options = &options};
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options.output == NULL)
        return tool_usage("recover", "-o FILE is missing");
    if ((status = tool_debug_files_check(&options.debug, "recover")) != TOOL_OK)
        return status;
    if (stat(argv[0], &info) != 0)
        return tool_fail("cannot recover '%s': %s", argv[0], strerror(errno));
    bool is_directory = S_ISDIR(info.st_mode);
    if (!is_directory && !S_ISREG(info.st_mode))
        return tool_fail("cannot recover '%s': neither a directory of a recorder nor a file",
                         argv[0]);
    if (options.clean && !is_directory)
        return tool_usage("recover", "--clean is for directories of a recorder");
    if (tool_target_is_input(options.output, argv[0]))
        return tool_fail("cannot recover '%s' in place: it is the output too", argv[0]);
    tool_signals_catch();
    if (!options.no_symbols && is_directory) {
        struct tool_symbols_options symbols = {0};
        tool_debug_files_apply(&options.debug, &symbols);
        at.rules.names.asks_servers = options.debug.debuginfod;
        at.rules.names.symbols = tool_symbols_make(&symbols);
    }
    tool_record_rules_apply(&at.rules, &at.named);
    status = recover(argv[0], is_directory, &at);
    if (!options.quiet)
        tool_record_names_say(&at.rules.names);
    tool_record_rules_close(&at.rules);
    return status;
}
