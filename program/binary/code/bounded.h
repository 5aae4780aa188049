/* Memory with a limit: what is made of a file may need more than the file deserves, and running out
 * of it must not end a process that records. */
#ifndef TOOL_BOUNDED_H
#define TOOL_BOUNDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/region.h"

struct tool_bounded {
    size_t left_bytes; /* that may still be allocated */
    bool is_short;     /* something did not fit: all that was made is to be thrown away */
};

/* Grows *array (of *capacity elements) so that it holds `needed` ones. False: it does not fit. */
static inline bool tool_bounded_grow(struct tool_bounded *memory, void **array, size_t *capacity,
                                     size_t needed, size_t size_bytes)
{
    if (needed <= *capacity)
        return true;
    size_t wanted = (size_t)ttp_next_capacity(*capacity, needed);
    size_t more_bytes;
    void *grown = NULL;
    if (!memory->is_short && !__builtin_mul_overflow(wanted - *capacity, size_bytes, &more_bytes) &&
        more_bytes <= memory->left_bytes)
        grown = realloc(*array, wanted * size_bytes);
    memory->is_short |= grown == NULL;
    if (grown == NULL)
        return false;
    memory->left_bytes -= more_bytes;
    *array = grown;
    *capacity = wanted;
    return true;
}

#endif
