/* Where seeds go: shared by the parts of make_seeds. */
#ifndef FUZZ_SEEDS_H
#define FUZZ_SEEDS_H

#include "fuzz_common.h"

/* Writes one seed into a corpus; name NULL: by its content, so that equal ones are kept once. */
void fuzz_seed(const char *corpus, const char *name, const struct fuzz_bytes *bytes);

/* Inputs of the converters, of metadata and of the canary, written by hand. */
void fuzz_seed_texts(void);
/* An ELF file. */
void fuzz_seed_binary(void);
/* Chrome trace JSON, CTF. */
void fuzz_seed_converters(void);
/* Folders of killed recorders, records of blocks. */
void fuzz_seed_recordings(void);

#endif
