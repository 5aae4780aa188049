/* A program for the writer out of an input: options, definitions, and events that a writer takes,
 * however odd. */
#ifndef FUZZ_EVENTS_H
#define FUZZ_EVENTS_H

#include <tracetape/reader.h>
#include <tracetape/writer.h>

#include "fuzz_common.h"

#define FUZZ_STEPS_MAX  256u  /* of a fuzzed program */
#define FUZZ_STEPS_ROOM 1024u /* of any */
#define FUZZ_STREAMS    8u
#define FUZZ_STACKS     4u
#define FUZZ_SITES      64u
#define FUZZ_FRAMES_MAX 256u
#define FUZZ_VALUES_MAX 3u
#define FUZZ_PARTITIONS 4u /* of a fuzzed program */

/* Parameters of a program, 16 bytes:
 *
 *   u8 level (10 and up: the literal form) | u8 resolution | u16 events of a partition
 *   u8 jobs | u8 streams | u8 sites | u8 model period | u8 index period | u8 chain threshold
 *   u32 origin | 2 reserved
 *
 * Then steps of 3 bytes: what | operand | time since the step before. */
#define FUZZ_PROGRAM_BYTES 16u

struct fuzz_step {
    ttape_event event;
    uint32_t stream, value_count;
    ttape_value values[FUZZ_VALUES_MAX];
    bool flush; /* before the event */
};

struct fuzz_program {
    ttape_writer_options options;
    uint32_t stream_count, site_count, step_count, step_limit;
    struct fuzz_step steps[FUZZ_STEPS_ROOM];
};

/* Memory of fuzz_take. At most `most_steps` steps, and `most_partitions` partitions or so: each
 * costs as much as hundreds of steps. */
struct fuzz_program *fuzz_program_make(struct fuzz_input in, uint32_t most_steps,
                                       uint32_t most_partitions);
/* Writes it: event by event, or in runs as long as they get. */
ttape_status fuzz_program_write(const struct fuzz_program *program,
                                const ttape_writer_options *options, bool in_runs,
                                struct fuzz_bytes *out);
/* What was read is the next step of its stream: next[stream] is where to look for it. */
void fuzz_program_require(const struct fuzz_program *program, const ttape_event_item *item,
                          uint32_t next[FUZZ_STREAMS]);

#endif
