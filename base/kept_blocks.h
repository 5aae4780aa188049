/* Large blocks from malloc that were given back and are used again: the pages of a partition that
 * is left are there for the next one, where malloc would return them to the kernel and have each
 * fetched and cleared anew. A reader's, its workers' and their copies' together: thread-safe.
 *
 * With a sanitizer of addresses or of memory nothing is kept, so that it sees each use of a block
 * that was given back. */
#ifndef TTP_BASE_KEPT_BLOCKS_H
#define TTP_BASE_KEPT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ttp_kept; /* what is kept, as a whole */

/* A block of malloc, whole huge pages where they are filled; NULL without memory. */
void *ttp_block_allocate(size_t size_bytes);
/* The same, of no more than its size, and huge pages only where whole ones lie in it. */
void *ttp_block_allocate_close(size_t size_bytes);
/* No huge pages for what lies in such a block, but for the one in which it begins. */
void ttp_block_small_pages(void *memory, size_t size_bytes);

/* NULL: nothing is kept. bound_bytes: of all blocks together. */
struct ttp_kept *ttp_kept_open(uint64_t bound_bytes);
void ttp_kept_close(struct ttp_kept *kept); /* NULL is fine */

/* A block for that size, or NULL. */
void *ttp_kept_take(struct ttp_kept *kept, size_t size_bytes);
/* A block that ttp_block_allocate made for that size: kept where it fits into the bound and into
 * room_bytes with the others, or freed. */
void ttp_kept_give(struct ttp_kept *kept, void *block, size_t size_bytes, uint64_t room_bytes);
/* Whether anything may be kept: the bound is not 0. */
bool ttp_kept_keeps(const struct ttp_kept *kept);
/* From now on; what is more is freed. While one thread has it. */
void ttp_kept_bind(struct ttp_kept *kept, uint64_t bound_bytes);
/* Frees blocks until no more than most_bytes are left. */
void ttp_kept_trim(struct ttp_kept *kept, uint64_t most_bytes);

#endif
