/* tracetape's own files, to another level. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracetape/copy.h>

#include "tools/calls/losses.h"
#include "tools/command/progress.h"
#include "tools/convert/convert.h"
#include "tools/io/input.h"

/* The magic up to the version, so that of a later one the reader says so (F-FIL-01). */
static const uint8_t magic[] = {0x89, 'T', 'T', 'A', 'P', 'E'};

static bool probe_input(const struct tool_conversion *conversion)
{
    return !conversion->is_directory && conversion->head_bytes >= sizeof(magic) &&
           memcmp(conversion->head, magic, sizeof(magic)) == 0;
}

/* What failed may be either file's: a writer that failed says so again. */
static int print_failure(struct tool_conversion *conversion, const struct tool_input *input,
                         const ttape_error *err)
{
    ttape_error again = {0};
    if (ttape_writer_finish(conversion->writer, &again) != TTAPE_OK)
        return tool_conversion_fail(conversion, &again);
    return tool_fail_error(input->name, err);
}

/* What progress says of the whole. */
struct progress {
    uint64_t partition_count;
};

static bool say_progress(void *context, uint32_t partition_count, uint64_t event_count)
{
    const struct progress *progress = context;
    tool_progress_update(partition_count, progress->partition_count, event_count);
    return true;
}

/* The library copies text and numbers; structures, which no writer of ours makes, it does not read.
 */
static void warn_of_structures(struct tool_conversion *conversion, const struct tool_input *input)
{
    ttape_metadata_entry entry;
    uint32_t count = 0;
    for (uint32_t i = 0; ttape_reader_get_metadata(input->reader, i, &entry) == TTAPE_OK; i++)
        count += entry.type == TTAPE_METADATA_OTHER && !tool_text_is(entry.key, "trace_id");
    if (count > 0)
        tool_conversion_warn(conversion,
                             "%u metadata values that are no text and no number are "
                             "left out",
                             count);
}

static int work(void *context, const struct tool_input *input)
{
    struct tool_conversion *conversion = context;
    ttape_writer_options *options = &conversion->options;
    struct ttp_hash unused = {0};
    ttape_error err = {0};
    ttape_info info;
    ttape_reader_get_info(input->reader, &info);
    struct progress progress = {.partition_count = info.partition_count};
    conversion->has_id = true;
    ttape_recode_options(input->reader, options);
    int status = tool_conversion_begin(conversion, &unused);
    if (status != TOOL_OK)
        return status;
    warn_of_structures(conversion, input);
    tool_losses_warn(input);
    if (ttape_recode(conversion->writer, input->reader, say_progress, &progress, &err) != TTAPE_OK)
        return print_failure(conversion, input, &err);
    return conversion->warning_count > 0 ? TOOL_LOSS : TOOL_OK;
}

static int convert_trace(struct tool_conversion *conversion)
{
    if (conversion->is_directory)
        return tool_fail("'%s' is a directory", conversion->input);
    if (conversion->has_id || conversion->options.resolution_ns != 0) {
        return tool_fail("'%s' is a trace, which keeps its times and its id: leave out "
                         "--resolution and --trace-id",
                         conversion->input);
    }
    return conversion->fd == STDIN_FILENO
               ? tool_input_run_begun(conversion->head, conversion->head_bytes, work, conversion)
               : tool_input_run(conversion->input, 1, 0, work, conversion);
}

const struct tool_converter tool_converter_trace = {.name = "trace",
                                                    .summary = "tracetape's own files",
                                                    .probe = probe_input,
                                                    .run = convert_trace};
