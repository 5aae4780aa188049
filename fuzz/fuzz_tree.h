/* Trees as hashes. */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include <tracetape/tree.h>

#include "fuzz_trace.h"

/* What a walk through the tree's first nodes sees, as a hash; 0: there is none. */
uint64_t fuzz_tree_hash(ttape_reader *reader, uint32_t mode, uint32_t jobs, uint64_t cache_bytes);

#endif
