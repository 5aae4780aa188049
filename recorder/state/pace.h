/* Whether the encoding thread falls behind the programs; then partitions are of the fast level
 * (spec/recording.md, 2.8). */
#ifndef TTP_RECORDING_PACE_H
#define TTP_RECORDING_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct ttp_encode;

struct ttp_pace {
    bool is_behind;
    uint64_t stall_count;     /* as it was when it was last judged */
    uint64_t fast_partitions; /* sealed while it was behind */
};

/* What is there to judge by. */
struct ttp_backlog {
    uint32_t slots;       /* that wait to be encoded */
    uint32_t slot_limit;  /* of the spill file */
    uint64_t stall_count; /* since the start: how often it had no room, or a program waited */
    bool is_final;        /* programs record nothing more */
};

void ttp_pace_judge(struct ttp_pace *pace, const struct ttp_backlog *backlog);

/* Before partitions are sealed: judges, and sets the level of all open files. */
void ttp_pace_set_levels(struct ttp_encode *e);
/* Counts what was sealed since the last count; before the level changes, and at the end. */
void ttp_pace_count(struct ttp_encode *e);

#endif
