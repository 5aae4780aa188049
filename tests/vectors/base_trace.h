/* The small trace that foreign and invalid vectors are made of: two partitions, two streams,
 * everything that can be broken. */
#ifndef TTEST_BASE_TRACE_H
#define TTEST_BASE_TRACE_H

#include "vector_file.h"
#include "vector_trace.h"

/* Sites of the base trace; all have module 0 and file 0. */
enum { TTEST_BASE_MAIN, TTEST_BASE_WORK, TTEST_BASE_BLOCK, TTEST_BASE_SITES };

/* Partitions 0 (4 events) and 1 (8 events; open frames at its edges, values, depths, a gap that
 * counts). *expectation gets the trace's, with its name and notes replaced and the group given. */
struct ttest_file *ttest_base(const char *name, const char *group, const char *notes,
                              struct ttest_expectation *expectation);
/* The same without times. */
struct ttest_file *ttest_base_untimed(const char *name, const char *group, const char *notes,
                                      struct ttest_expectation *expectation);
/* The same in the literal form, as our writer leaves it. */
struct ttest_file *ttest_base_literal(const char *name, const char *group, const char *notes,
                                      struct ttest_expectation *expectation);
/* The same as the first, with an overview of both partitions, and with CPU times. */
/* Three partitions of plain calls, with an overview: overview_vectors.c. */
struct ttest_file *ttest_base_rounds(const char *name, const char *group, const char *notes,
                                     struct ttest_expectation *expectation);
struct ttest_file *ttest_base_overview(bool cpu_times, const char *name, const char *group,
                                       const char *notes, struct ttest_expectation *expectation);
/* The same with instants of both partitions, and an overview that merges them. */
struct ttest_file *ttest_base_instants(const char *name, const char *group, const char *notes,
                                       struct ttest_expectation *expectation);

#endif
