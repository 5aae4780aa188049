/* Partitions taken apart and put together: the inner half of vector_file.h. */
#ifndef TTEST_VECTOR_PARTITION_H
#define TTEST_VECTOR_PARTITION_H

#include "vector_file.h"

struct ttest_partition *ttest_partition_parse(const struct ttest_bytes *payload, bool raw);
/* The payload; hashes and sizes are made, the head's counts are taken as they are. */
struct ttest_bytes ttest_partition_write(struct ttest_partition *p);
/* Its index entry, as sections and head say now. */
struct ttp_index_entry ttest_partition_entry(const struct ttest_partition *p);

#endif
