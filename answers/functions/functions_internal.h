/* The inside of an answer about functions (tracetape/functions.h).
 *
 *   functions.c        sites -> rows, by what they say
 *   functions_match.c  rows of B -> rows of A, of one program under two names */
#ifndef TTP_ANSWERS_FUNCTIONS_INTERNAL_H
#define TTP_ANSWERS_FUNCTIONS_INTERNAL_H

#include <tracetape/functions.h>

#include "base/memory.h"

struct ttape_functions {
    struct ttp_memory memory;
    const ttape_reader *const *readers; /* of the call */
    uint32_t reader_count, site_count;
    uint32_t a_count; /* readers of A; 0: nothing is matched */
    ttape_functions_by by;
    bool with_files;
    uint32_t *first;  /* by reader: the number of its first site; one more at the end */
    uint32_t *row_of; /* by number */
    ttape_function *rows;
    uint32_t row_count, row_capacity;
    uint32_t *by_key; /* rows but the last, by key */
    ttape_functions_match *matches;
    uint32_t match_count;
};

/* Sites of B get rows of A where their modules, or files, are the same under two names. */
ttape_status ttp_functions_match(struct ttape_functions *f, ttape_error *err);

#endif
