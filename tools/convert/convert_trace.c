/* tracetape's own files, to another level: partition by partition, with all that is in them.
 *
 *   ttape_copier_open_renamed   all scopes and definitions, with the numbers that they have
 *   ttape_copier_part           events, values, switches of one partition, coded anew */
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

static bool probe(const struct tool_conversion *conversion)
{
    return !conversion->is_directory && conversion->head_bytes >= sizeof(magic) &&
           memcmp(conversion->head, magic, sizeof(magic)) == 0;
}

/* Names stay; asked for, because scopes keep their order and number only so. */
static ttape_status keep_name(void *context, uint32_t number, ttape_site *site, ttape_error *err)
{
    (void)context, (void)number, (void)site, (void)err;
    return TTAPE_OK;
}

/* Partitions stay what they are, unless it was said how large they may be; models pay among small
 * ones only, as where they are recorded. */
static void choose_partitions(const struct tool_input *input, const ttape_info *info,
                              ttape_writer_options *options)
{
    uint64_t most = 1;
    ttape_partition_info part;
    for (uint32_t i = 0; i < info->partition_count; i++)
        if (ttape_reader_get_partition(input->reader, i, &part) == TTAPE_OK &&
            part.event_count > most)
            most = part.event_count;
    if (options->partition_events == 0) {
        options->partition_events = (uint32_t)(most < 16777216 ? most : 16777216);
        options->partition_bytes = UINT32_MAX;
    }
    if (info->partition_count < 2)
        options->model_period = UINT32_MAX;
}

/* What failed may be either file's: a writer that failed says so again. */
static int fail(struct tool_conversion *conversion, const struct tool_input *input,
                const ttape_error *err)
{
    ttape_error again = {0};
    if (ttape_writer_finish(conversion->writer, &again) != TTAPE_OK)
        return tool_conversion_fail(conversion, &again);
    return tool_fail_error(input->name, err);
}

static ttape_status copy_all(struct tool_conversion *conversion, const struct tool_input *input,
                             const ttape_info *info, ttape_error *err)
{
    ttape_copier *copier;
    uint64_t events = 0;
    ttape_status status =
        ttape_copier_open_renamed(&copier, conversion->writer, input->reader, keep_name, NULL, err);
    uint64_t *from = tool_allocate(info->stream_count, sizeof(uint64_t));
    uint64_t *to = tool_allocate(info->stream_count, sizeof(uint64_t));
    for (uint32_t i = 0; i < info->stream_count; i++)
        to[i] = UINT64_MAX;
    for (uint32_t i = 0; i < info->partition_count && status == TTAPE_OK; i++) {
        ttape_partition_info part = {0};
        status = ttape_copier_part(copier, i, from, to, err);
        (void)ttape_reader_get_partition(input->reader, i, &part);
        events += part.event_count;
        tool_progress_update(i + 1, info->partition_count, events);
    }
    ttape_copier_close(copier);
    free(from);
    free(to);
    return status;
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
    options->resolution_ns = info.resolution_ns;
    memcpy(options->trace_id, info.trace_id, sizeof(options->trace_id));
    conversion->has_id = true;
    choose_partitions(input, &info, options);
    int status = tool_conversion_begin(conversion, &unused);
    if (status != TOOL_OK)
        return status;
    warn_of_structures(conversion, input);
    tool_losses_warn(input);
    if (copy_all(conversion, input, &info, &err) != TTAPE_OK)
        return fail(conversion, input, &err);
    return conversion->warning_count > 0 ? TOOL_LOSS : TOOL_OK;
}

static int run(struct tool_conversion *conversion)
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

const struct tool_converter tool_converter_trace = {
    .name = "trace", .summary = "tracetape's own files", .probe = probe, .run = run};
