/* Whether a function's blocks can have run so often, each, in one call. Pure. */
#ifndef TOOL_BRANCH_COUNTS_H
#define TOOL_BRANCH_COUNTS_H

#include "tools/context/branches/branch_walk.h"

#define TOOL_BRANCH_FREE UINT32_MAX /* of a block: it may have run any number of times */

enum tool_branch_fit {
    TOOL_BRANCH_FITS,      /* some way through the function has these counts */
    TOOL_BRANCH_MAY_FIT,   /* nobody knows: ways were not all looked at, or are not all known */
    TOOL_BRANCH_FITS_NEVER /* none has */
};

/* `times` by block, what fits into a byte each; a way may end behind any of them. */
enum tool_branch_fit tool_branch_counts_fit(const struct tool_branch_graph *graph,
                                            const uint32_t *times);

/* The same where not all ways are known: behind blocks that are unsure (and at the start) any may
 * come, as behind a jump through a register; and those that nothing leads to, an exception's, may
 * come behind any. Never TOOL_BRANCH_FITS. */
enum tool_branch_fit tool_branch_counts_fit_widely(const struct tool_branch_graph *graph,
                                                   const bool *is_unsure, bool starts_unsure,
                                                   const uint32_t *times);

#endif
