/* A folder out of one input: what a converter that reads directories gets. */
#ifndef FUZZ_FOLDER_H
#define FUZZ_FOLDER_H

#include "fuzz_common.h"

/* A packed folder: for each file this mark, its name, a line feed, its bytes up to the next mark.
 * Plain mutations keep it a folder. */
#define FUZZ_FOLDER_MARK "\xfe=FILE="
#define FUZZ_FOLDER_MAX  24u

/* Writes the files into a folder in memory and returns its path; names with a slash are left out.
 */
const char *fuzz_folder_make(const uint8_t *data, size_t size);
/* Removes its files again. */
void fuzz_folder_empty(void);

void fuzz_folder_pack(struct fuzz_bytes *to, const char *name, const void *data, size_t size);

#endif
