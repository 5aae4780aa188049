/* Paths that lead to functions: what its files share.
 *
 *   sites -> reach_functions.c -> functions, and which are reached
 *   call cursor, stream by stream -> reach_walk.c -> paths with their counts */
#ifndef TTP_READER_REACH_INTERNAL_H
#define TTP_READER_REACH_INTERNAL_H

#include <tracetape/reach.h>

#include "reader/reader_internal.h"

/* A step as one number: the first site of a function, or one of these. No reader has as many
 * sites. */
#define TTP_REACH_SIGNAL  (UINT32_C(1) << 31) /* plus the signal's number */
#define TTP_REACH_UNKNOWN (TTP_REACH_SIGNAL - 1)

struct ttape_reach {
    struct ttp_memory memory;
    ttape_reader *reader;
    ttape_reach_options options;
    ttape_reach_info info;
    uint32_t site_count;
    uint32_t *step_of;   /* by site */
    uint8_t *is_reached; /* by site */
    bool reaches_unknown;
    ttape_reach_path *paths; /* info.path_count of them */
    uint32_t path_capacity;
    uint32_t *slots;     /* paths, plus one, by what they go on from and their last step; 0: free */
    uint32_t slot_count; /* a power of two, or 0 */
};

/* Fills step_of, is_reached and reaches_unknown. */
ttape_status ttp_reach_functions(struct ttape_reach *reach, ttape_error *err);
/* Adds what one stream has. */
ttape_status ttp_reach_stream(struct ttape_reach *reach, uint32_t stream, ttape_error *err);

#endif
