/* A whole trace at another level, partition by partition, with all that is in them.
 *
 *   ttape_copier_open_renamed   all scopes and definitions, with the numbers that they have
 *   ttape_copier_part           events, values, switches of one partition, coded anew */
#include <tracetape/copy.h>

#include <string.h>

#include "format/base/fail.h"

#define PARTITION_EVENTS_MAX 16777216u /* of a writer */

/* Names stay; asked for, because scopes keep their order and number only so. */
static ttape_status keep_name(void *context, uint32_t number, ttape_site *site, ttape_error *err)
{
    (void)context, (void)number, (void)site, (void)err;
    return TTAPE_OK;
}

/* Models pay among small partitions only, as where they are recorded. */
void ttape_recode_options(const ttape_reader *reader, ttape_writer_options *options)
{
    ttape_info info;
    ttape_partition_info partition;
    uint64_t most = 1;
    ttape_reader_get_info(reader, &info);
    options->resolution_ns = info.resolution_ns;
    options->has_trace_id = true;
    memcpy(options->trace_id, info.trace_id, sizeof options->trace_id);
    for (uint32_t i = 0; i < info.partition_count; i++)
        if (ttape_reader_get_partition(reader, i, &partition) == TTAPE_OK &&
            partition.event_count > most)
            most = partition.event_count;
    if (options->partition_events == 0) {
        options->partition_events =
            (uint32_t)(most < PARTITION_EVENTS_MAX ? most : PARTITION_EVENTS_MAX);
        options->partition_bytes = UINT32_MAX;
    }
    if (info.partition_count < 2)
        options->model_period = UINT32_MAX;
}

ttape_status ttape_recode(ttape_writer *writer, ttape_reader *reader,
                          bool (*goes_on)(void *context, uint32_t partition_count,
                                          uint64_t event_count),
                          void *context, ttape_error *err)
{
    ttape_info info;
    ttape_copier *copier;
    uint64_t events = 0;
    ttape_reader_get_info(reader, &info);
    TTP_TRY(ttape_copier_open_renamed(&copier, writer, reader, keep_name, NULL, err));
    ttape_status status = TTAPE_OK;
    for (uint32_t i = 0; i < info.partition_count && status == TTAPE_OK; i++) {
        ttape_partition_info partition = {0};
        status = ttape_copier_part(copier, i, NULL, NULL, err);
        (void)ttape_reader_get_partition(reader, i, &partition);
        events += partition.event_count;
        if (status == TTAPE_OK && goes_on != NULL && !goes_on(context, i + 1, events))
            status =
                ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET, "the caller has ended it");
    }
    ttape_copier_close(copier);
    return status;
}
