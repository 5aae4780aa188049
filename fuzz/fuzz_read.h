/* Reading a trace in every way that the library offers, as one hash: what two ways must agree on is
 * compared with ==. */
#ifndef FUZZ_READ_H
#define FUZZ_READ_H

#include <tracetape/reader.h>

#include "fuzz_common.h"

/* Parameters of the input -> options of a reader whose memory is counted: 4 bytes.
 *
 *   u8 flags: 1 ignore the index; 2 two jobs; 4 the options' default of 16,777,216 events a
 *      partition, otherwise 65,536; 8 the default of 256 MiB of memory, otherwise 24 MiB
 *   u8 cache: 0 the default, otherwise so many KiB
 *   u16 reserved */
#define FUZZ_READER_BYTES 4u
ttape_reader_options fuzz_reader_options(struct fuzz_input *in, struct fuzz_memory *memory);

struct fuzz_sum {
    uint64_t hash;
    uint64_t events, errors;
};

/* Definitions, counts and metadata. */
struct fuzz_sum fuzz_read_definitions(const ttape_reader *reader);
/* Partitions with their segments and summaries. */
struct fuzz_sum fuzz_read_partitions(ttape_reader *reader);
/* One stream, or TTAPE_ALL_STREAMS. Stops after FUZZ_EVENTS_MAX events. */
#define FUZZ_EVENTS_MAX 100000u
struct fuzz_sum fuzz_read_stream(ttape_reader *reader, uint32_t stream);
/* All of it. */
struct fuzz_sum fuzz_read_all(ttape_reader *reader);

void fuzz_hash_item(struct fuzz_sum *sum, const ttape_event_item *item);

/* A partition has at least 160 bytes and at most 2^24 events: no file makes a reader produce more
 * events than this many for each of its bytes. */
#define FUZZ_EVENTS_PER_BYTE 131072u

#endif
