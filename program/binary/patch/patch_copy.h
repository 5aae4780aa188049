/* A copy of an inlined function, as debug information tells of it: range by range, as its code may
 * be anywhere in a function. Or a static probe. */
#ifndef TOOL_PATCH_COPY_H
#define TOOL_PATCH_COPY_H

#include <stdbool.h>
#include <stdint.h>

struct tool_patch_copy {
    uint32_t entry; /* where it is entered; gcc has that in front of all ranges at times */
    uint32_t start, end;
    bool is_mark; /* a static probe, at its nop: it has no ranges */
};

#endif
