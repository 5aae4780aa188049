/* The inside of an answer about passes (tracetape/passes.h).
 *
 *   passes.c       options, pairs, what is given out
 *   passes_walk.c  events -> passes of blocks, and what came behind what */
#ifndef TTP_ANSWERS_PASSES_INTERNAL_H
#define TTP_ANSWERS_PASSES_INTERNAL_H

#include <tracetape/passes.h>

#include "base/region.h"

struct ttp_passes_pairs {
    ttape_passes_pair *list;
    size_t count, capacity;
    struct ttp_key_map numbers; /* by both sites: its number in the list */
};

/* The two sites that were seen first behind one: most have no others. */
struct ttp_passes_next {
    uint32_t to[2];
    uint64_t count[2];
};

struct ttape_passes {
    struct ttp_region region;
    ttape_reader *reader; /* while it is made, as the options */
    ttape_passes_options options;
    const ttape_passes_site *sites; /* one for each of the reader's */
    ttape_passes_info info;
    uint64_t *by_site;
    struct ttp_passes_next *next; /* by site, while it is made */
    struct ttp_passes_pairs pairs, left;
    ttape_passes_call *calls;
    size_t call_count, call_capacity;
    ttape_passes_pair lost; /* where memory is short */
    ttape_status status;    /* of the first failure, with *err */
    ttape_error *err;
};

/* The pair of two sites, which is new where nothing is counted yet. It lives until the next
 * call. */
ttape_passes_pair *ttp_passes_pair(struct ttape_passes *passes, struct ttp_passes_pairs *pairs,
                                   uint32_t from, uint32_t to);
/* False: the caller does not want to go on, or memory is short. */
bool ttp_passes_goes_on(struct ttape_passes *passes, uint64_t event_count);
/* Goes through events; what failed is noted. */
void ttp_passes_walk(struct ttape_passes *passes);
/* A place of a stream failed: true where it is left out, and the rest can be gone on with. */
bool ttp_passes_pass_over(struct ttape_passes *passes, uint32_t stream, const ttape_error *error);

#endif
