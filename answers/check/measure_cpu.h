/* What a partition's CPU times must say, worked out from its events and switches (F-CPU-04): beside
 * the measures of measure.h, whose rows and stacks these are of. */
#ifndef TTP_READER_MEASURE_CPU_H
#define TTP_READER_MEASURE_CPU_H

#include "reader/partition/frame_stacks.h"
#include "reader/partition/partition_decoder.h"

/* Of a stack, as it runs while the stack is the current one; of a frame, what it showed at the
 * frame's enter. */
struct ttp_cpu_clock {
    uint64_t kinds_ns[TTP_OFF_KINDS], on_ns;
};

struct ttp_measuring_cpu {
    struct ttp_memory *memory;
    const struct ttp_loaded *p; /* NULL: it says none, and nothing is worked out */
    const struct ttp_frame_stacks *stacks;
    const int64_t *start_off_ns; /* as it says */
    uint64_t all_ns[TTP_OFF_KINDS];
    struct ttp_cpu_measure *rows;
    uint64_t *exit_counts; /* by row */
    struct ttp_cpu_clock *stack_clocks, *frame_clocks;
    uint32_t row_count, stack_capacity, frame_capacity;
    struct ttp_switch_walk walk;
};

/* The partition's events are decoded; `stacks` may grow. */
ttape_status ttp_measuring_cpu_open(struct ttp_measuring_cpu *c, struct ttp_memory *memory,
                                    const struct ttp_loaded *p,
                                    const struct ttp_frame_stacks *stacks, uint32_t row_count,
                                    const int64_t *start_off_ns, ttape_error *err);
void ttp_measuring_cpu_close(struct ttp_measuring_cpu *c);

void ttp_measuring_cpu_start(struct ttp_measuring_cpu *c, uint32_t segment);
/* The frame that was pushed last; start_frame: which of the partition's it is, or TTP_NO_FRAME. */
ttape_status ttp_measuring_cpu_push(struct ttp_measuring_cpu *c, uint32_t start_frame,
                                    int64_t base_tick, ttape_error *err);
/* The interval before the event, and the row of the frame on top or UINT32_MAX. */
void ttp_measuring_cpu_pass(struct ttp_measuring_cpu *c, uint32_t event, uint64_t ticks,
                            uint32_t row);
/* The frame is the outermost of its row on its stack, and goes or the segment ends. */
void ttp_measuring_cpu_leave(struct ttp_measuring_cpu *c, uint32_t frame, uint32_t slot,
                             uint32_t row);
/* The current stack's top frame ends. */
void ttp_measuring_cpu_end(struct ttp_measuring_cpu *c, uint32_t row);

#endif
