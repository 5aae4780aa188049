/* A simulated disk: a log of what was done to one file, and what a crash may leave of it.
 *
 *   write 0..700 | write 700..900 | sync | write 900..2000 | ... crash
 *   `--------- is there for sure ------'   `-- each sector of 512 bytes: as it was before, or after
 *                                              any of the writes to it; the file's end: anywhere */
#ifndef TTEST_CRASH_DISK_H
#define TTEST_CRASH_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TTEST_SECTOR_BYTES 512u

/* What a sector holds that was never written, though the file goes on behind it. */
enum ttest_stale { TTEST_ZEROS, TTEST_NOISE, TTEST_OLD_SECTORS, TTEST_STALE_COUNT };

struct ttest_disk_step {
    bool is_sync;
    size_t offset, size_bytes; /* of a write: bytes of ttest_disk.data */
};

struct ttest_disk {
    uint8_t *data; /* the file as it is when nothing crashes; it is only ever appended to */
    size_t size_bytes, capacity_bytes;
    struct ttest_disk_step *steps;
    size_t step_count, step_capacity;
};

void ttest_disk_write(struct ttest_disk *disk, const void *data, size_t size_bytes);
void ttest_disk_sync(struct ttest_disk *disk);
void ttest_disk_close(struct ttest_disk *disk);

/* The file after the first `steps` steps when everything of them is there; and a draw of what may
 * be left when the power fails then. To be freed. */
uint8_t *ttest_disk_cut(const struct ttest_disk *disk, size_t steps, size_t *size_bytes);
uint8_t *ttest_disk_crash(const struct ttest_disk *disk, size_t steps, enum ttest_stale stale,
                          uint64_t *seed, size_t *size_bytes);

uint32_t ttest_crash_random(uint64_t *seed, uint32_t below);

#endif
