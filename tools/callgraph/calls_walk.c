/* A stream at a time: one alone is read fast. */
#include "tools/callgraph/calls_walk.h"

#include "tools/command/tool.h"

static void read_steps(const struct tool_input *input, ttape_call_cursor *cursor,
                       void (*enter)(void *context, ttape_call *call), void *context,
                       uint64_t *error_count, int *status)
{
    ttape_error err = {0};
    const ttape_call_step *step;
    for (;;) {
        ttape_status read = ttape_call_cursor_step(cursor, &step, &err);
        if (read == TTAPE_END ||
            (read != TTAPE_OK && !tool_input_go_on(input, &err, error_count, status)))
            return;
        for (uint32_t i = 0; read == TTAPE_OK && i < step->began_count; i++)
            enter(context, &step->began[i]);
    }
}

int tool_calls_walk(const struct tool_input *input, void (*enter)(void *context, ttape_call *call),
                    void *context)
{
    uint64_t error_count = 0;
    int status = TOOL_OK;
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    for (uint32_t i = 0; i < info.stream_count && status != TOOL_CANNOT; i++) {
        const ttape_call_options options = {
            .size = sizeof(options), .streams = &i, .stream_count = 1};
        ttape_error err = {0};
        ttape_call_cursor *cursor;
        if (ttape_call_cursor_open(&cursor, input->reader, &options, &err) == TTAPE_OK)
            read_steps(input, cursor, enter, context, &error_count, &status);
        else
            (void)tool_input_go_on(input, &err, &error_count, &status);
        ttape_call_cursor_close(cursor);
    }
    return status;
}
