/* Small things that libtrace/copy/copy.c asks of a reader. */
#include "reader/partition/partition_reader.h"
#include "reader/reader_internal.h"

void ttp_edge_frames_free(ttape_reader *reader, ttape_open_frame *frames, uint32_t capacity)
{
    ttp_memory_give(&reader->memory, frames, capacity, sizeof *frames);
}
