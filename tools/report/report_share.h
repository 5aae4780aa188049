/* A report that several processes make together: each adds a share of the partitions, then their
 * rollups are added up, and the first process shows the sum. */
#ifndef TOOL_REPORT_SHARE_H
#define TOOL_REPORT_SHARE_H

#include <stdint.h>

#include <tracetape/rollup.h>

struct tool_share {
    uint32_t rank, size;
    /* Adds all other rollups to that of rank 0. Status and files that were left out are then those
     * of all. Returns a tool_exit. */
    int (*reduce)(void *context, ttape_rollup *rollup, int *status, uint64_t *left_out);
    void *context;
};

/* `share` is NULL: this process alone. */
int tool_report_shared(int argc, char **argv, const struct tool_share *share);

#endif
