/* The temporary file takes as much as the traces do; everything that reads one trace reads it. */
#include "tools/calls/merge/joined.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/calls/merge/merge_files.h"
#include "tools/command/tool.h"
#include "tools/io/scratch_file.h"

/* Rollups have no calls. */
static size_t choose_traces(struct tool_joined *joined, const struct tool_operands *paths,
                            const char *verb, char **traces)
{
    size_t count = 0;
    for (size_t i = 0; i < paths->count; i++) {
        if (!tool_is_rollup(paths->paths[i])) {
            traces[count++] = paths->paths[i];
            continue;
        }
        (void)tool_fail("'%s' is a rollup: %s needs the trace itself", paths->paths[i], verb);
        joined->status = TOOL_LOSS;
    }
    return count;
}

/* A sink whose file nobody has to find again after a crash. */
static int write_joined(struct tool_joined *joined, struct tool_merge *merge, int fd)
{
    ttape_sink sink = ttape_sink_fd(fd);
    ttape_writer_options options = {.size = sizeof(options),
                                    .resolution_ns = merge->pieces[0].info.resolution_ns,
                                    .has_trace_id = true};
    ttape_writer *writer;
    sink.sync = NULL;
    tool_merge_choose_id(merge, options.trace_id);
    if (ttape_writer_open(&writer, &sink, &options, &merge->err) != TTAPE_OK)
        return tool_fail_error(joined->name, &merge->err);
    int status = tool_merge_copy(merge, writer, joined->name);
    ttape_writer_close(writer);
    return status;
}

static int join_traces(struct tool_joined *joined, char **paths, size_t count,
                       uint64_t memory_bytes)
{
    struct tool_merge merge = {.memory_bytes = memory_bytes, .leaves_out = true};
    int fd = tool_open_unlinked();
    (void)snprintf(joined->name, sizeof joined->name, "%zu files", count);
    int status =
        fd < 0 ? tool_fail("cannot make a temporary file for %s: %s", joined->name, strerror(errno))
               : tool_merge_open(&merge, paths, count);
    if (status == TOOL_OK)
        status = write_joined(joined, &merge, fd);
    if (status == TOOL_OK && tool_merge_check_ends(&merge) != TOOL_OK)
        joined->status = TOOL_LOSS;
    tool_merge_close(&merge);
    if (status == TOOL_OK)
        tool_input_take(&joined->input, fd, joined->name);
    else if (fd >= 0)
        (void)close(fd);
    return status;
}

int tool_joined_open(struct tool_joined *joined, const struct tool_operands *paths,
                     const char *verb, uint64_t memory_bytes)
{
    *joined = (struct tool_joined){.input = {.fd = -1}, .status = TOOL_OK};
    if (!paths->are_many)
        return tool_input_open(&joined->input, paths->paths[0]);
    char **traces = tool_allocate(paths->count + 1, sizeof(char *));
    size_t count = choose_traces(joined, paths, verb, traces);
    int status = count == 0 ? tool_fail("none of the files is a trace")
                            : join_traces(joined, traces, count, memory_bytes);
    free(traces);
    return status;
}

void tool_joined_close(struct tool_joined *joined) { tool_input_close(&joined->input); }

int tool_joined_run(const struct tool_operands *paths, const char *verb, uint32_t jobs,
                    uint64_t memory_bytes,
                    int (*work)(void *context, const struct tool_input *input), void *context)
{
    struct tool_joined joined;
    int status = tool_joined_open(&joined, paths, verb, memory_bytes);
    if (status == TOOL_OK)
        status = tool_input_begin(&joined.input, jobs, memory_bytes);
    if (status == TOOL_OK) {
        status = work(context, &joined.input);
        int end = tool_input_check_end(&joined.input);
        status = status == TOOL_OK ? end : status;
        status = status == TOOL_OK ? joined.status : status;
    }
    tool_joined_close(&joined);
    return status;
}
