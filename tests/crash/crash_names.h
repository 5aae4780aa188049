/* What is done to the files of one folder, and what a power cut may leave of them: names come and
 * go in their order up to some point since the folder was last synced; of a file's bytes that were
 * written since it was last synced, any may be missing.
 *
 * crash_names.c stands between the code under test and the system. */
#ifndef TTEST_CRASH_NAMES_H
#define TTEST_CRASH_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Logs from here on what is made in the folder, and in folders below it. */
void ttest_names_watch(const char *folder);
/* Steps so far. */
size_t ttest_names_count(void);
/* Ends logging; returns the number of steps. */
size_t ttest_names_end(void);
void ttest_names_forget(void);

/* A draw of what is behind a name after the first `steps` steps and a power cut: its bytes (to be
 * freed), or NULL: no such file. */
uint8_t *ttest_names_crash(size_t steps, const char *name, uint64_t *seed, size_t *size_bytes);

#endif
