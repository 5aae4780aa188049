/* Where the bytes of a sound trace belong, and what may become of a reader when a bit there is
 * flipped. */
#ifndef TTEST_SWEEP_MAP_H
#define TTEST_SWEEP_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "sweep_trace.h"

/* Chunk headers and payloads by kind, private chunks as kind 0. */
#define TTEST_PLACE_FILE_HEADER   0u
#define TTEST_PLACE_FOOTER        1u
#define TTEST_PLACE_CHUNK(kind)   (2u + 2u * (kind))
#define TTEST_PLACE_PAYLOAD(kind) (3u + 2u * (kind))
#define TTEST_PLACES              16u

/* A file header, a chunk or a footer. */
struct ttest_block {
    size_t start, payload, end; /* payload: end where there is none */
    uint32_t place;             /* of its header */
    uint32_t partitions_before;
    bool last_index;
};

struct ttest_map {
    struct ttest_block *blocks;
    uint32_t block_count;
    uint32_t *block_of; /* per byte */
};

struct ttest_map ttest_map_make(const struct ttest_trace *trace);
void ttest_map_free(struct ttest_map *map);
uint32_t ttest_map_place(const struct ttest_map *map, size_t byte);

/* Ways of reading. */
enum ttest_way { TTEST_BY_INDEX, TTEST_BY_SCAN, TTEST_BY_PIPE, TTEST_WAYS };

/* What a flipped bit does to a reader; several may be allowed for a place. */
#define TTEST_EXACT   1u /* everything is there: found by a scan, or known not to be complete */
#define TTEST_ONE     2u /* one partition fails (a model: those that start from it) */
#define TTEST_REFUSED 4u /* refused at that chunk: `recover` gives the rest back */
#define TTEST_UNREAD  8u /* not read in this way; `verify` finds it */

/* The list of what is allowed, the same as in fuzz/README.md. */
extern const uint8_t ttest_allowed[TTEST_PLACES][TTEST_WAYS];

/* Counts what was seen, and prints all of it as a table. */
void ttest_map_count(uint32_t place, enum ttest_way way, uint32_t outcome);
void ttest_map_print(void);

#endif
