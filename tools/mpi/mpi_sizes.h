/* How many processes a launcher says that it started, of this MPI or of another one. */
#ifndef TOOL_MPI_SIZES_H
#define TOOL_MPI_SIZES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* 1: none says more. Of a Slurm job only a step counts: its script is one process. */
static inline uint32_t tool_mpi_launched_size(char *(*get)(const char *name))
{
    static const char *const names[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *size = get(names[i]);
        if (size != NULL && size[0] != '\0' && strspn(size, "0123456789") == strlen(size) &&
            strlen(size) < 9)
            return (uint32_t)strtoul(size, NULL, 10);
    }
    return 1;
}

#endif
