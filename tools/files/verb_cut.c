/* tracetape cut: whole partitions are copied as they are, those that the cut goes through are
 * encoded anew. */
#include <tracetape/copy.h>

#include "tools/calls/cut_streams.h"
#include "tools/calls/losses.h"
#include "tools/command/memory_limit.h"
#include "tools/command/options.h"
#include "tools/command/progress.h"
#include "tools/command/tool.h"
#include "tools/io/input.h"
#include "tools/io/target.h"

struct options {
    const char *output;
    bool force;
    struct tool_choice choice;
    struct tool_range events, partitions;
    uint64_t memory_bytes;
};

static const struct tool_option table[] = {
    {"output", 'o', "FILE", "write the part to FILE; - is standard output", NULL, TOOL_AT(output)},
    {"force", 'f', NULL, "replace FILE where it exists", NULL, TOOL_AT(force)},
    TOOL_TIME_OPTION,
    {"events", 'e', "A..B", "events A up to before B of every stream", tool_parse_range,
     TOOL_AT(events)},
    TOOL_THREAD_OPTION,
    TOOL_PROCESS_OPTION,
    TOOL_STREAM_OPTION,
    {"partition", 0, "A..B", "whole partitions A up to before B", tool_parse_range,
     TOOL_AT(partitions)},
    TOOL_MEMORY_OPTION,
    {0}};

static const struct tool_command command = {
    .verb = "cut",
    .usage = "[OPTION]... FILE -o OUT",
    .about =
        "Copies a part of a trace: a range of time, of event numbers, of partitions, or threads.\n"
        "Several choices hold together. The part opens alone, knows the frames that are open at "
        "its\n"
        "start, and can be merged again.",
    .options = table,
    .examples = "  tracetape cut run.ttape -o part.ttape --time +1.5s..+2s\n"
                "  tracetape cut run.ttape -o one.ttape --thread 4711\n"
                "  tracetape cut run.ttape -o first.ttape --partition 0..4\n",
    .operands_min = 1,
    .operands_max = 1,
};

struct cutting {
    const struct options *options;
    const struct tool_input *input;
    ttape_reader *reader;
    ttape_info info;
    struct tool_cut streams;
    struct tool_target target;
    ttape_writer *writer;
    ttape_copier *copier;
    ttape_error err;
};

static ttape_status copy_partition(struct cutting *cut, uint32_t partition)
{
    enum tool_cover how = TOOL_COVER_NONE;
    ttape_status status = tool_cut_cover(&cut->streams, partition, &how, &cut->err);
    if (status == TTAPE_OK && how == TOOL_COVER_WHOLE)
        status = ttape_copier_partition(cut->copier, partition, &cut->err);
    else if (status == TTAPE_OK && how == TOOL_COVER_PART)
        status = ttape_copier_part(cut->copier, partition, cut->streams.from, cut->streams.to,
                                   &cut->err);
    return status;
}

static int copy_all(struct cutting *cut)
{
    uint64_t end = cut->info.partition_count;
    const struct tool_range *wanted = &cut->options->partitions;
    uint64_t first = wanted->given ? wanted->from : 0;
    end = wanted->given && wanted->to < end ? wanted->to : end;
    for (uint64_t i = first; i < end; i++) {
        if (copy_partition(cut, (uint32_t)i) != TTAPE_OK)
            return tool_fail_error(cut->input->name, &cut->err);
        tool_progress_update(i - first + 1, end - first, 0);
    }
    if (ttape_writer_finish(cut->writer, &cut->err) != TTAPE_OK)
        return tool_fail_error(cut->target.path, &cut->err);
    return tool_target_commit(&cut->target);
}

static int open_output(struct cutting *cut)
{
    int status = tool_target_open(&cut->target, cut->options->output, cut->options->force);
    if (status == TOOL_OK) {
        status = tool_target_write(&cut->target, &cut->writer, cut->info.resolution_ns,
                                   cut->info.trace_id);
    }
    if (status != TOOL_OK)
        return status;
    if (ttape_copier_open(&cut->copier, cut->writer, cut->reader, &cut->err) != TTAPE_OK)
        return tool_fail_error(cut->input->name, &cut->err);
    return TOOL_OK;
}

static int select_all(struct cutting *cut)
{
    const struct tool_range *events = &cut->options->events;
    int status = tool_cut_open(&cut->streams, cut->input, &cut->options->choice);
    for (uint32_t i = 0; status == TOOL_OK && events->given && i < cut->info.stream_count; i++) {
        uint64_t *from = &cut->streams.from[i], *to = &cut->streams.to[i];
        if (*to == 0)
            continue; /* nothing of it */
        *from = *from > events->from ? *from : events->from;
        *to = *to < events->to ? *to : events->to;
    }
    return status;
}

static int cut_input(void *context, const struct tool_input *input)
{
    struct cutting cut = {
        .options = context, .input = input, .reader = input->reader, .target = {.fd = -1}};
    ttape_reader_get_info(cut.reader, &cut.info);
    int status = select_all(&cut);
    if (status == TOOL_OK)
        tool_losses_warn(input);
    if (status == TOOL_OK)
        status = open_output(&cut);
    if (status == TOOL_OK) {
        tool_progress_start("cut");
        status = copy_all(&cut);
        tool_progress_stop();
    }
    ttape_copier_close(cut.copier);
    ttape_writer_close(cut.writer);
    tool_target_close(&cut.target);
    tool_cut_close(&cut.streams);
    return status;
}

static int run_verb(struct options *options, int argc, char **argv)
{
    int count, status;
    if (tool_options_parse(&command, argc, argv, options, &count, &status) != TOOL_PARSED_GO)
        return status;
    if (options->output == NULL)
        return tool_usage("cut", "-o FILE is missing");
    const struct tool_span *time = &options->choice.time;
    if (!time->from.given && !time->to.given && !options->events.given &&
        !tool_choice_names(&options->choice) && !options->partitions.given) {
        return tool_usage("cut", "nothing says what to cut out: --time, --events, --thread, "
                                 "--process, --stream or --partition");
    }
    status = tool_input_run(argv[0], 1, options->memory_bytes, cut_input, options);
    return status;
}

int tool_verb_cut(int argc, char **argv)
{
    struct options options = {0};
    int status = run_verb(&options, argc, argv);
    tool_choice_close(&options.choice);
    return status;
}
