/* Mutations of what a partition means: sections are decoded, one value is changed, and they are
 * encoded again, in the same form or another one. A flipped bit of a coded stream only makes noise
 * of everything behind it; this reaches the checks of single fields. */
#ifndef FUZZ_RECODE_H
#define FUZZ_RECODE_H

#include "format/container/segments.h"
#include "format/order/order.h"
#include "fuzz_file.h"

#define FUZZ_RECODE_EVENTS 4096u

/* A partition decoded as far as possible. */
struct fuzz_view {
    struct ttp_partition_head head;
    struct ttp_segments segments;
    uint32_t *segment_start, *open_start, *open, *open_stack, *start_stack;
    bool has_light, has_order;
    struct ttp_order_out order; /* codes and symbols */
};

/* False where not even the light sections read. Partitions that start from a model have no order
 * here. */
bool fuzz_view_open(struct fuzz_partition *p, struct fuzz_view *view);

/* Each changes one thing and returns whether it could. */
bool fuzz_recode_light(struct fuzz_partition *p, struct fuzz_random *random);
bool fuzz_recode_summary(struct fuzz_partition *p, struct fuzz_random *random);
bool fuzz_recode_order(struct fuzz_partition *p, struct fuzz_random *random);
bool fuzz_recode_times(struct fuzz_partition *p, struct fuzz_random *random);

/* A number that something might go wrong with, or one near to what it was. */
uint64_t fuzz_odd_number(struct fuzz_random *random, uint64_t was);

#endif
