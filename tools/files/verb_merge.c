/* tracetape merge: pieces of one trace join into its streams, other traces lie side by side
 * (tools/calls/merge/merge_files.h says how). */
#include <stdlib.h>

#include "tools/calls/merge/merge_files.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/tool.h"
#include "tools/io/target.h"

struct options {
    const char *output;
    bool force;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"output", 'o', "FILE", "write the merged trace to FILE; - is standard output", NULL,
     TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE where it exists", NULL, TOOL_AT(force)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "merge",
    .usage = "[OPTION]... FILE... -o OUT",
    .about =
        "Joins traces into one file. Pieces of one trace (as cut makes them, in any order) become\n"
        "its streams again; other traces keep streams of their own, in the order of their times.",
    .options = table,
    .examples = "  tracetape merge -o whole.ttape part1.ttape part2.ttape\n"
                "  tracetape merge -o both.ttape client.ttape server.ttape\n",
    .operands_min = 1,
    .operands_max = 65535,
};

static int write_trace(const struct options *options, struct tool_merge *merge)
{
    struct tool_target target = {.fd = -1};
    ttape_writer *writer = NULL;
    uint8_t trace_id[16];
    tool_merge_choose_id(merge, trace_id);
    int status = tool_target_open(&target, options->output, options->force);
    if (status == TOOL_OK)
        status = tool_target_write(&target, &writer, merge->pieces[0].info.resolution_ns, trace_id);
    if (status == TOOL_OK)
        status = tool_merge_copy(merge, writer, options->output);
    if (status == TOOL_OK)
        status = tool_target_commit(&target);
    ttape_writer_close(writer);
    tool_target_close(&target);
    return status;
}

static int join_files(const struct options *options, size_t count, char **paths, bool is_kept)
{
    struct tool_merge merge = {.memory_bytes = options->memory_bytes, .is_kept = is_kept};
    int status = tool_merge_open(&merge, paths, count);
    status = status == TOOL_OK ? write_trace(options, &merge) : status;
    status = status == TOOL_OK ? tool_merge_check_ends(&merge) : status;
    tool_merge_close(&merge);
    return status;
}

int tool_verb_merge(int argc, char **argv)
{
    int count, status;
    struct options options = {0};
    if (tool_options_parse(&command, argc, argv, &options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options.output == NULL)
        return tool_usage("merge", "-o FILE is missing");
    return join_files(&options, (size_t)count, argv, false);
}

int tool_merge_kept(const char *output, bool force, char **pieces, size_t count)
{
    const struct options options = {.output = output, .force = force};
    return join_files(&options, count, pieces, true);
}
