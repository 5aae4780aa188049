/* The model is that of a disk with sectors that are written whole or not at all, in any order,
 * until a sync has returned. */
#include "crash_disk.h"

#include <stdlib.h>
#include <string.h>

#include "tests/asserts.h"

uint32_t ttest_crash_random(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % below);
}

static void add_step(struct ttest_disk *disk, struct ttest_disk_step step)
{
    if (disk->step_count == disk->step_capacity) {
        disk->step_capacity = disk->step_capacity == 0 ? 64 : disk->step_capacity * 2;
        disk->steps = realloc(disk->steps, disk->step_capacity * sizeof *disk->steps);
        ck_assert_ptr_nonnull(disk->steps);
    }
    disk->steps[disk->step_count++] = step;
}

void ttest_disk_write(struct ttest_disk *disk, const void *data, size_t size_bytes)
{
    while (disk->capacity_bytes - disk->size_bytes < size_bytes) {
        disk->capacity_bytes = disk->capacity_bytes == 0 ? 4096 : disk->capacity_bytes * 2;
        disk->data = realloc(disk->data, disk->capacity_bytes);
        ck_assert_ptr_nonnull(disk->data);
    }
    memcpy(disk->data + disk->size_bytes, data, size_bytes);
    add_step(disk, (struct ttest_disk_step){false, disk->size_bytes, size_bytes});
    disk->size_bytes += size_bytes;
}

void ttest_disk_sync(struct ttest_disk *disk)
{
    add_step(disk, (struct ttest_disk_step){.is_sync = true});
}

void ttest_disk_close(struct ttest_disk *disk)
{
    free(disk->data);
    free(disk->steps);
    *disk = (struct ttest_disk){0};
}

/* Bytes that the first `steps` steps wrote. */
static size_t end_of(const struct ttest_disk *disk, size_t steps)
{
    while (steps > 0 && disk->steps[steps - 1].is_sync)
        steps--;
    return steps == 0 ? 0 : disk->steps[steps - 1].offset + disk->steps[steps - 1].size_bytes;
}

static size_t last_sync(const struct ttest_disk *disk, size_t steps)
{
    while (steps > 0 && !disk->steps[steps - 1].is_sync)
        steps--;
    return steps;
}

uint8_t *ttest_disk_cut(const struct ttest_disk *disk, size_t steps, size_t *size_bytes)
{
    *size_bytes = end_of(disk, steps);
    uint8_t *image = malloc(*size_bytes + 1);
    ck_assert_ptr_nonnull(image);
    if (*size_bytes != 0)
        memcpy(image, disk->data, *size_bytes);
    return image;
}

/* The end of one of the writes to a sector since the sync, or `durable`: how much of the sector's
 * new bytes are there. */
static size_t draw_end(const struct ttest_disk *disk, size_t from, size_t to, size_t durable,
                       size_t sector, uint64_t *seed)
{
    size_t ends[64], count = 0;
    size_t low = sector * TTEST_SECTOR_BYTES, high = low + TTEST_SECTOR_BYTES;
    ends[count++] = durable > low ? durable : low;
    for (size_t i = from; i < to && count < 64; i++) {
        size_t end = disk->steps[i].offset + disk->steps[i].size_bytes;
        if (disk->steps[i].is_sync || disk->steps[i].offset >= high || end <= low)
            continue;
        ends[count++] = end < high ? end : high;
    }
    return ends[ttest_crash_random(seed, (uint32_t)count)];
}

uint8_t *ttest_disk_crash(const struct ttest_disk *disk, size_t steps, enum ttest_stale stale,
                          uint64_t *seed, size_t *size_bytes)
{
    size_t sync = last_sync(disk, steps), end = end_of(disk, steps);
    size_t durable = end_of(disk, sync);
    uint8_t *image = ttest_disk_cut(disk, steps, size_bytes);
    if (end == durable)
        return image;
    for (size_t at = durable, stop; at < end; at = stop) {
        size_t other = ttest_crash_random(seed, (uint32_t)end) / TTEST_SECTOR_BYTES;
        stop = (at / TTEST_SECTOR_BYTES + 1) * TTEST_SECTOR_BYTES;
        size_t kept = draw_end(disk, sync, steps, durable, at / TTEST_SECTOR_BYTES, seed);
        for (size_t i = kept < at ? at : kept; i < stop && i < end; i++) {
            size_t from = other * TTEST_SECTOR_BYTES + i % TTEST_SECTOR_BYTES;
            image[i] = stale == TTEST_NOISE ? (uint8_t)ttest_crash_random(seed, 256)
                       : stale == TTEST_OLD_SECTORS && from < end ? disk->data[from]
                                                                  : 0;
        }
    }
    /* The size is written apart from the content. */
    if (ttest_crash_random(seed, 3) == 0)
        *size_bytes = durable + ttest_crash_random(seed, (uint32_t)(end - durable) + 1);
    return image;
}
