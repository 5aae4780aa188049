/* recover: makes a trace of what a killed recorder left behind. Never in place, never silent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tracetape/recover.h>

#include "options.h"
#include "record_rules.h"
#include "signals.h"
#include "target.h"
#include "tool.h"

static struct {
    const char *output;
    bool force, clean, no_symbols, quiet;
} options;

static const tool_option table[] = {
    {"output", 'o', "FILE", "write the trace to FILE", NULL, &options.output},
    {"force", 'f', NULL, "replace FILE where it exists", NULL, &options.force},
    {"clean", 0, NULL, "then remove the directory, and the buffers that it names", NULL,
     &options.clean},
    {"no-symbols", 0, NULL, "no names for functions that were not in the trace yet", NULL,
     &options.no_symbols},
    {"quiet", 'q', NULL, "say only what was lost", NULL, &options.quiet},
    {0}};

static const tool_command command = {
    .verb = "recover",
    .usage = "[OPTION]... FILE.recording -o OUT",
    .about = "Makes a trace of what a recorder left behind that was killed, or could not finish:\n"
             "the partitions of its unfinished trace, and all that programs had recorded since.\n"
             "Its input is left as it is.",
    .options = table,
    .examples = "  tracetape recover run.ttape.recording -o run.ttape\n"
                "  tracetape recover run.ttape.recording -o run.ttape --clean\n",
    .statuses = "  0  all that was recorded is in OUT\n"
                "  2  the command line is wrong\n"
                "  3  something was lost: each loss is named\n"
                "  4  not recovered\n",
    .operands_min = 1,
    .operands_max = 1,
};

/* What the callbacks need. */
struct recovering {
    tool_record_rules rules;
    ttape_site_rules named;
};

static void name_site(void *context, ttape_site *site, const ttape_module *module)
{
    struct recovering *at = context;
    if (at->named.name != NULL)
        at->named.name(at->named.context, site, module);
}

static void found(void *context, bool is_loss, const char *line)
{
    (void)context;
    if (is_loss || !options.quiet)
        tool_message("%s", line);
}

static int recover(const char *directory, struct recovering *at)
{
    ttape_error err = {0};
    ttape_recover_report report;
    tool_target target = {.fd = -1};
    int status = tool_target_open(&target, options.output, options.force);
    if (status != TOOL_OK)
        return status;
    ttape_recover_options recover_options = {
        .size = sizeof recover_options, .name = name_site, .found = found, .context = at};
    if (ttape_recover_recording(directory, &target.sink, &recover_options, &report, &err) !=
        TTAPE_OK) {
        status = tool_fail_error(directory, &err);
    } else {
        status = tool_target_commit(&target);
    }
    tool_target_close(&target);
    if (status != TOOL_OK)
        return status;
    if (!options.quiet)
        tool_message("'%s': %llu events in %llu partitions kept, %llu events recovered, %llu lost",
                     options.output, (unsigned long long)report.copied_events,
                     (unsigned long long)report.partition_count,
                     (unsigned long long)report.recovered_events,
                     (unsigned long long)report.lost_events);
    if (options.clean && ttape_recover_remove(directory, &err) != TTAPE_OK)
        return tool_fail_error(directory, &err);
    return report.loss_count != 0 ? TOOL_LOSS : TOOL_OK;
}

int tool_verb_recover(int argc, char **argv)
{
    int count, status;
    struct stat info;
    struct recovering at = {0};
    if (tool_options_parse(&command, argc, argv, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options.output == NULL)
        return tool_usage("recover", "-o FILE is missing");
    if (stat(argv[0], &info) != 0 || !S_ISDIR(info.st_mode))
        return tool_fail("cannot recover '%s': no directory of a recorder", argv[0]);
    tool_signals_catch();
    if (!options.no_symbols) {
        tool_symbols_options symbols = {0};
        at.rules.symbols = tool_symbols_open(&symbols);
    }
    tool_record_rules_apply(&at.rules, &at.named);
    status = recover(argv[0], &at);
    tool_record_rules_close(&at.rules);
    return status;
}
