/* Sorts any number of records of one size in bounded memory: sorted runs in a temporary file, then
 * a merge. What fits into memory never goes to disk. */
#ifndef TOOL_SORT_RUNS_H
#define TOOL_SORT_RUNS_H

#include <stdbool.h>
#include <stddef.h>

/* As qsort's; must not find two records equal (or it does not matter which comes first). */
typedef int (*tool_sort_compare)(const void *a, const void *b);

struct tool_sorter;

/* memory_records: how many are held in memory at most while they are added. */
struct tool_sorter *tool_sorter_open(size_t record_bytes, size_t memory_records,
                                     tool_sort_compare compare);

/* False: the temporary file failed, which was reported. */
bool tool_sorter_add(struct tool_sorter *sorter, const void *record);
/* No more is added; from now on records can be taken. */
bool tool_sorter_finish(struct tool_sorter *sorter);
/* The next record in order. False: none is left, or a failure. */
bool tool_sorter_next(struct tool_sorter *sorter, void *record);
bool tool_sorter_failed(const struct tool_sorter *sorter);
void tool_sorter_close(struct tool_sorter *sorter);

#endif
