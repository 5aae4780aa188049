/* Small things that libtrace/copy.c asks of a reader. */
#include "format/fail.h"
#include "format/fail.h"
#include "reader/partition_reader.h"
#include "reader/reader_internal.h"

void ttp_edge_frames_free(ttape_reader *reader, ttape_open_frame *frames, uint32_t capacity)
{
    ttp_memory_give(&reader->memory, frames, capacity, sizeof *frames);
}

ttape_status ttp_partition_gaps(ttape_reader *reader, uint32_t partition, uint64_t *gap_count,
                                uint64_t *lost_count, ttape_error *err)
{
    struct ttp_loaded *loaded;
    if (reader->parts[partition].gaps_counted) {
        *gap_count = reader->parts[partition].gap_count;
        *lost_count = reader->parts[partition].lost_count;
        return TTAPE_OK;
    }
    /* Only the index counts gaps; without it they are among the events. */
    TTP_TRY(ttp_loaded_get(reader, partition, TTP_STAGE_EVENTS, &loaded, err));
    *gap_count = loaded->gap_count;
    *lost_count = loaded->lost_count;
    return TTAPE_OK;
}
