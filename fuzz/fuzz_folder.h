/* A folder out of one input: what a converter that reads directories gets. */
#ifndef FUZZ_FOLDER_H
#define FUZZ_FOLDER_H

#include "fuzz_common.h"

/* A packed folder: for each file this mark, its name, a line feed, its bytes up to the next mark.
 * Plain mutations keep it a folder. */
#define FUZZ_FOLDER_MARK "\xfe=FILE="
#define FUZZ_FOLDER_MAX  24u

/* Writes the files into a folder in memory and returns its path. Names may have folders in them;
 * one that ends in @ is a link. */
const char *fuzz_folder_make(const uint8_t *data, size_t size);
/* Removes them again. */
void fuzz_folder_empty(void);

/* The same by hand: an empty folder; a new file in it, as a descriptor, or -1; the next one that is
 * packed. */
const char *fuzz_folder_begin(void);
int fuzz_folder_open(const char *name);
bool fuzz_folder_next(struct fuzz_input *in, char name[256], struct fuzz_input *bytes);

/* The next piece behind a mark, up to the next one. What is cut up so survives plain mutations:
 * sizes and checksums are the target's. */
#define FUZZ_PIECE_MARK "\xfe=PIECE="
bool fuzz_marked(struct fuzz_input *in, const char *mark, struct fuzz_input *piece);

void fuzz_folder_pack(struct fuzz_bytes *to, const char *name, const void *data, size_t size);

#endif
