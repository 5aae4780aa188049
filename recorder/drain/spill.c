/* The spill file: what was drained and is not in the trace yet, in slots, and the queue of slots
 * from the draining thread to the encoding one. A slot is reused only after ttp_spill_release. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "format/base/checksum.h"
#include "recorder/state/recording_internal.h"

#define CHECKED_FROM 16u /* of the slot's head: behind magic and checksum */

/* Half of the disk's room at most: the other half is the trace's. */
static uint64_t limit_to_disk(const struct ttp_directory *directory, uint64_t limit)
{
    struct statvfs room;
    if (fstatvfs(directory->fd, &room) != 0)
        return limit;
    uint64_t half = (uint64_t)room.f_bavail * room.f_frsize / 2;
    return half < limit ? half : limit;
}

ttape_status ttp_spill_open(struct ttp_spill *spill, const struct ttp_directory *directory,
                            uint64_t limit_bytes, ttape_error *err)
{
    uint64_t slots = limit_to_disk(directory, limit_bytes) / TTP_SLOT_BYTES;
    pthread_condattr_t attributes;
    spill->slot_limit = slots > UINT32_MAX - 1 ? UINT32_MAX - 1 : (uint32_t)(slots < 8 ? 8 : slots);
    (void)pthread_mutex_init(&spill->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&spill->filled, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    spill->fd = ttp_directory_create(directory, "spill", O_RDWR);
    return spill->fd < 0 ? ttp_directory_fail(err, "creating the spill file in", directory->path)
                         : TTAPE_OK;
}

bool ttp_spill_has_room(struct ttp_spill *spill)
{
    (void)pthread_mutex_lock(&spill->lock);
    bool room = spill->free.count != 0 || spill->slot_count < spill->slot_limit;
    spill->refused_count += !room;
    (void)pthread_mutex_unlock(&spill->lock);
    return room;
}

static ttape_status write_slot(int fd, uint32_t number, const struct ttp_slot *slot,
                               ttape_error *err)
{
    const uint8_t *at = (const uint8_t *)slot;
    size_t left = TTP_SLOT_HEAD_BYTES + TTP_BLOCK_HEAD_BYTES + slot->head.count * sizeof(uint64_t);
    off_t offset = (off_t)number * (off_t)TTP_SLOT_BYTES;
    while (left > 0) {
        ssize_t n = pwrite(fd, at, left, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return ttp_fail_plain(err, TTAPE_E_IO, "writing the spill file failed: %s",
                                  n < 0 ? strerror(errno) : "nothing was written");
        at += n;
        left -= (size_t)n;
        offset += n;
    }
    return TTAPE_OK;
}

static uint64_t checksum_of(const struct ttp_slot *slot)
{
    size_t bytes = TTP_SLOT_HEAD_BYTES + TTP_BLOCK_HEAD_BYTES + slot->head.count * sizeof(uint64_t);
    return ttp_checksum((const uint8_t *)slot + CHECKED_FROM, bytes - CHECKED_FROM);
}

bool ttp_slot_is_whole(const struct ttp_slot *slot)
{
    return slot->head.magic == TTP_SLOT_MAGIC && slot->head.count <= TTP_BLOCK_RECORDS &&
           slot->head.first <= TTP_BLOCK_RECORDS - slot->head.count && slot->block.serial != 0 &&
           slot->head.checksum == checksum_of(slot);
}

/* The number of a slot to write; TTAPE_NONE without memory or room. */
static uint32_t take_number(struct ttp_spill *spill)
{
    uint32_t number = TTAPE_NONE;
    (void)pthread_mutex_lock(&spill->lock);
    if (spill->free.count != 0)
        number = ((uint32_t *)spill->free.data)[--spill->free.count];
    else if (spill->slot_count < spill->slot_limit)
        number = spill->slot_count++;
    if (number != TTAPE_NONE && ++spill->in_use > spill->in_use_peak)
        spill->in_use_peak = spill->in_use;
    (void)pthread_mutex_unlock(&spill->lock);
    return number;
}

/* The queue is an array of which the first queue_first items are gone. */
static ttape_status push_number(struct ttp_spill *spill, uint32_t number, ttape_error *err)
{
    uint32_t *items = spill->queue.data;
    if (spill->queue_first != 0 && spill->queue_first * 2 >= spill->queue.count) {
        memmove(items, items + spill->queue_first,
                (spill->queue.count - spill->queue_first) * sizeof *items);
        spill->queue.count -= spill->queue_first;
        spill->queue_first = 0;
    }
    uint32_t *item = ttp_push(&spill->allocator, &spill->queue, sizeof *item, err);
    if (item == NULL)
        return TTAPE_E_MEMORY;
    *item = number;
    return TTAPE_OK;
}

ttape_status ttp_spill_mark(struct ttp_spill *spill, const struct ttp_mark *mark, ttape_error *err)
{
    (void)pthread_mutex_lock(&spill->lock);
    struct ttp_mark *place = ttp_push(&spill->allocator, &spill->marks, sizeof *place, err);
    ttape_status status = place == NULL ? TTAPE_E_MEMORY : push_number(spill, TTP_SLOT_MARK, err);
    if (status == TTAPE_OK)
        *place = *mark;
    else
        spill->marks.count -= place != NULL;
    (void)pthread_cond_signal(&spill->filled);
    (void)pthread_mutex_unlock(&spill->lock);
    return status;
}

void ttp_spill_take_mark(struct ttp_spill *spill, struct ttp_mark *mark)
{
    struct ttp_growing *marks = &spill->marks;
    (void)pthread_mutex_lock(&spill->lock);
    struct ttp_mark *first = marks->data;
    *mark = *first;
    memmove(first, first + 1, --marks->count * sizeof *first);
    (void)pthread_mutex_unlock(&spill->lock);
}

bool ttp_spill_has_mark(struct ttp_spill *spill)
{
    (void)pthread_mutex_lock(&spill->lock);
    bool has_mark = spill->marks.count != 0;
    (void)pthread_mutex_unlock(&spill->lock);
    return has_mark;
}

void ttp_spill_backlog(struct ttp_spill *spill, struct ttp_backlog *backlog)
{
    (void)pthread_mutex_lock(&spill->lock);
    backlog->slots = (uint32_t)(spill->queue.count - spill->queue_first);
    backlog->slot_limit = spill->slot_limit;
    backlog->stall_count = spill->refused_count;
    backlog->is_final = spill->is_ended;
    (void)pthread_mutex_unlock(&spill->lock);
}

ttape_status ttp_spill_put(struct ttp_spill *spill, struct ttp_slot *slot, ttape_error *err)
{
    uint32_t number = take_number(spill);
    if (number == TTAPE_NONE)
        return ttp_fail_plain(err, TTAPE_E_LIMIT, "the spill file is full");
    slot->head.magic = TTP_SLOT_MAGIC;
    slot->head.checksum = checksum_of(slot);
    ttape_status status = write_slot(spill->fd, number, slot, err);
    (void)pthread_mutex_lock(&spill->lock);
    if (status == TTAPE_OK)
        status = push_number(spill, number, err);
    (void)pthread_cond_signal(&spill->filled);
    (void)pthread_mutex_unlock(&spill->lock);
    if (status != TTAPE_OK)
        ttp_spill_release(spill, &number, 1);
    return status;
}

ttape_status ttp_spill_add_line(struct ttp_spill *spill, const struct ttp_tick_rate *line,
                                ttape_error *err)
{
    (void)pthread_mutex_lock(&spill->lock);
    struct ttp_tick_rate *place = ttp_push(&spill->allocator, &spill->lines, sizeof *place, err);
    if (place != NULL)
        *place = *line;
    spill->line_count = (uint32_t)spill->lines.count;
    (void)pthread_mutex_unlock(&spill->lock);
    return place == NULL ? TTAPE_E_MEMORY : TTAPE_OK;
}

static struct timespec after_ms(uint32_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)ms * 1000000u;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    return until;
}

bool ttp_spill_take(struct ttp_spill *spill, uint32_t *number, uint32_t wait_ms, bool *timed_out)
{
    struct timespec until = after_ms(wait_ms);
    *timed_out = false;
    (void)pthread_mutex_lock(&spill->lock);
    while (spill->queue_first == spill->queue.count && !spill->is_ended && !*timed_out)
        *timed_out = pthread_cond_timedwait(&spill->filled, &spill->lock, &until) == ETIMEDOUT;
    bool got = spill->queue_first < spill->queue.count;
    if (got)
        *number = ((const uint32_t *)spill->queue.data)[spill->queue_first++];
    (void)pthread_mutex_unlock(&spill->lock);
    if (got)
        *timed_out = false;
    return got;
}

ttape_status ttp_spill_read(int fd, uint32_t number, struct ttp_slot *slot, ttape_error *err)
{
    uint8_t *at = (uint8_t *)slot;
    size_t left = sizeof *slot;
    off_t offset = (off_t)number * (off_t)TTP_SLOT_BYTES;
    memset(slot, 0, TTP_SLOT_HEAD_BYTES + TTP_BLOCK_HEAD_BYTES);
    while (left > 0) {
        ssize_t n = pread(fd, at, left, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ttp_fail_plain(err, TTAPE_E_IO, "reading the spill file failed: %s",
                                  strerror(errno));
        if (n == 0) /* the last slot may be short: only its records are there */
            break;
        at += n;
        left -= (size_t)n;
        offset += n;
    }
    memset(at, 0, left); /* not what a slot before it, or a recovery, left there */
    return TTAPE_OK;
}

void ttp_spill_release(struct ttp_spill *spill, const uint32_t *numbers, size_t count)
{
    (void)pthread_mutex_lock(&spill->lock);
    /* Without memory the slot is not reused: nothing worse. */
    for (size_t i = 0; i < count; i++) {
        uint32_t *item = ttp_push(&spill->allocator, &spill->free, sizeof *item, NULL);
        if (item != NULL)
            *item = numbers[i];
    }
    spill->in_use -= (uint32_t)count;
    (void)pthread_mutex_unlock(&spill->lock);
}

void ttp_spill_end(struct ttp_spill *spill)
{
    (void)pthread_mutex_lock(&spill->lock);
    spill->is_ended = true;
    (void)pthread_cond_signal(&spill->filled);
    (void)pthread_mutex_unlock(&spill->lock);
}

void ttp_spill_close(struct ttp_spill *spill)
{
    if (spill->fd >= 0)
        (void)close(spill->fd);
    spill->fd = -1;
    ttp_grown_free(&spill->allocator, &spill->queue);
    ttp_grown_free(&spill->allocator, &spill->marks);
    ttp_grown_free(&spill->allocator, &spill->lines);
    ttp_grown_free(&spill->allocator, &spill->free);
    (void)pthread_cond_destroy(&spill->filled);
    (void)pthread_mutex_destroy(&spill->lock);
}
