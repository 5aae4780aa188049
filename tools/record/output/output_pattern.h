/* Output names with a pattern: one recording per host, process, rank or time. */
#ifndef TOOL_RECORD_OUTPUT_PATTERN_H
#define TOOL_RECORD_OUTPUT_PATTERN_H

/* Replaces what begins with % in `pattern`: %h host, %p process (the recorder's), %r rank that the
 * launcher gave (PMI_RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, SLURM_PROCID), %t time in UTC
 * (20261129T072800Z), %% a percent sign. NULL: another letter, or no rank, and the error has been
 * printed; exit with TOOL_USAGE. The caller frees the name. */
char *tool_record_fill_pattern(const char *pattern);

#endif
