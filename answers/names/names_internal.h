/* The inside of an answer about names (tracetape/names.h).
 *
 *   names_make.c   sites -> symbols, and what the caller makes readable of them
 *   name_choice.c  full names -> brief and simple ones
 *   names_find.c   functions by their names */
#ifndef TTP_ANSWERS_NAMES_INTERNAL_H
#define TTP_ANSWERS_NAMES_INTERNAL_H

#include <tracetape/names.h>

#include "base/region.h"

struct ttape_names {
    struct ttp_region region;
    const ttape_reader *const *readers; /* of the call; afterwards the answer's own */
    uint32_t reader_count;
    uint32_t *first; /* by reader: the number of its first site; one more at the end */
    ttape_name *rows;
    bool *is_code; /* by number, until names are chosen */
};

/* Puts the brief and the simple form of all code's names into rows; that memory was short, the
 * region says. */
ttape_status ttp_choose_names(struct ttape_names *names, const ttape_watch *watch,
                              ttape_error *err);

#endif
