/* Finding and reading what a killed recorder left: all of it may be cut off anywhere. */
#define _GNU_SOURCE /* asprintf */
#include "recorder/recover/recover_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "recorder/state/journal.h"
#include "recorder/state/word_map.h"

#define JOURNAL_MAX  (1u << 30)
#define HEARTBEAT_NS 60000000
#define SUFFIX       ".recording"
#define NAME_PREFIX  "trace."

static ttape_status no_memory(ttape_error *err)
{
    return ttp_fail(err, TTAPE_E_MEMORY, "", TTAPE_ERROR_NO_OFFSET, "out of memory");
}

static char *join_path(const char *directory, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static int open_in(const char *directory, const char *name)
{
    char *path = join_path(directory, name);
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat info;
    if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
        (void)close(fd);
        fd = -1;
        errno = EINVAL;
    }
    free(path);
    return fd;
}

/* The journal */

static ttape_status read_journal(struct ttp_recovered_files *files, ttape_error *err)
{
    struct stat info;
    int fd = open_in(files->directory, "journal");
    if (fd < 0 && errno == ENOENT && access(files->directory, F_OK) == 0) /* the last to go */
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "nothing is left to recover in '%s': it has no journal; its recorder had "
                        "recorded nothing yet, or had written all of its output",
                        files->directory);
    if (fd < 0 || fstat(fd, &info) != 0) {
        ttape_status status = ttp_recovered_fail(err, "opening the journal in", files->directory);
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    size_t size = info.st_size > JOURNAL_MAX ? JOURNAL_MAX : (size_t)info.st_size, got = 0;
    files->journal = malloc(size + 1);
    while (files->journal != NULL && got < size) {
        ssize_t n = read(fd, files->journal + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            ttape_status status =
                ttp_recovered_fail(err, "reading the journal in", files->directory);
            (void)close(fd);
            return status;
        }
        if (n == 0)
            break;
        got += (size_t)n;
    }
    (void)close(fd);
    files->journal_bytes = got;
    return files->journal == NULL ? no_memory(err) : TTAPE_OK;
}

static struct ttp_recovered_file *file_at(struct ttp_recovered_files *files, uint32_t number)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].number == number)
            return &files->items[i];
    struct ttp_recovered_file *more = realloc(files->items, (files->count + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    files->items = more;
    more[files->count] = (struct ttp_recovered_file){.number = number};
    return &more[files->count++];
}

/* False: no memory. */
static bool take_checkpoint(struct ttp_recovered_files *files, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; size - at >= TTP_JOURNAL_FILE_BYTES; at += TTP_JOURNAL_FILE_BYTES) {
        struct ttp_recovered_file *file = file_at(files, ttp_load32(bytes + at));
        if (file == NULL)
            return false;
        file->partitions = ttp_load64(bytes + at + 8);
    }
    return true;
}

static bool take_entry(struct ttp_recovered_files *files, uint32_t kind, const uint8_t *bytes,
                       size_t size)
{
    char **text = kind == TTP_JOURNAL_ARENA     ? &files->arena_path
                  : kind == TTP_JOURNAL_COMMAND ? &files->command
                                                : NULL;
    if (kind == TTP_JOURNAL_START && size == TTP_JOURNAL_START_BYTES) {
        files->naming = ttp_load32(bytes + 48);
        files->version = ttp_load32(bytes + 52);
        memcpy(files->trace_id, bytes + 56, sizeof files->trace_id);
    }
    if (text != NULL && *text == NULL && (*text = strndup((const char *)bytes, size)) == NULL)
        return false;
    if (kind == TTP_JOURNAL_CHECKPOINT)
        return take_checkpoint(files, bytes, size);
    return true;
}

/* Goes through the whole entries; journal_bytes becomes the end of the last checkpoint. */
static ttape_status check_journal(struct ttp_recovered_files *files, ttape_error *err)
{
    size_t at = 0, end = 0, done = 0, all = files->journal_bytes;
    while (all - at >= TTP_JOURNAL_HEAD_BYTES) {
        uint32_t kind = ttp_load32(files->journal + at);
        size_t size = ttp_load32(files->journal + at + 4);
        const uint8_t *bytes = files->journal + at + TTP_JOURNAL_HEAD_BYTES;
        if (size > all - at - TTP_JOURNAL_HEAD_BYTES ||
            ttp_load64(files->journal + at + 8) != (ttp_checksum(bytes, size) ^ kind))
            break;
        at += TTP_JOURNAL_HEAD_BYTES + size;
        if (kind == TTP_JOURNAL_CHECKPOINT)
            end = at;
    }
    while (done < end) {
        size_t size = ttp_load32(files->journal + done + 4);
        if (!take_entry(files, ttp_load32(files->journal + done),
                        files->journal + done + TTP_JOURNAL_HEAD_BYTES, size))
            return no_memory(err);
        done += TTP_JOURNAL_HEAD_BYTES + size;
    }
    files->journal_lost_bytes = all - end;
    files->journal_bytes = end;
    if (end == 0)
        return ttp_fail(err, TTAPE_E_NOT_TRACE, "", TTAPE_ERROR_NO_OFFSET,
                        "'%s' holds no recording: its journal has no checkpoint", files->directory);
    if (files->version != TTP_ARENA_VERSION) /* 0: of the first, which did not say */
        return ttp_fail(err, TTAPE_E_VERSION, "", TTAPE_ERROR_NO_OFFSET,
                        "'%s' was left by another version of tracetape, whose records (version %u, "
                        "not %u) mean something else: that version recovers it",
                        files->directory, files->version == 0 ? 1 : files->version,
                        TTP_ARENA_VERSION);
    return TTAPE_OK;
}

/* The trace files */

static int by_number(const void *a, const void *b)
{
    const struct ttp_recovered_file *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The last file, when it is not in the folder: of a live recording it has its name from the start,
 * and one that is the only one was finished just now. Others were finished long ago. False: no
 * memory. */
static bool name_last(struct ttp_recovered_files *files)
{
    bool has_pieces = (files->naming & TTP_JOURNAL_PIECES) != 0;
    size_t size = strlen(files->directory), suffix = strlen(SUFFIX);
    while (size > 1 && files->directory[size - 1] == '/')
        size--;
    if ((files->naming & TTP_JOURNAL_SEPARATE) != 0 || files->count == 0 ||
        (has_pieces && (files->naming & TTP_JOURNAL_LIVE) == 0) || size <= suffix ||
        memcmp(files->directory + size - suffix, SUFFIX, suffix) != 0)
        return true;
    struct ttp_recovered_file *last = &files->items[0];
    for (size_t i = 1; i < files->count; i++)
        if (files->items[i].number > last->number)
            last = &files->items[i];
    if (last->path != NULL)
        return true;
    char *output = strndup(files->directory, size - suffix);
    last->path = output != NULL && has_pieces ? ttp_output_piece(output, last->number) : output;
    last->is_named = has_pieces;
    if (last->path != output)
        free(output);
    return last->path != NULL;
}

bool ttp_recovered_number(const char *name, uint32_t *number)
{
    static const char digits[] = "0123456789";
    const char *from = name + strlen(NAME_PREFIX);
    if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0 || *from == '\0' ||
        from[strspn(from, digits)] != '\0')
        return false;
    unsigned long long value = strtoull(from, NULL, 10); /* long may have 32 bits */
    *number = (uint32_t)value;
    return value <= UINT32_MAX;
}

/* One name in the directory. */
static ttape_status take_name(struct ttp_recovered_files *files, const char *name, ttape_error *err)
{
    uint32_t number;
    if (!ttp_recovered_number(name, &number))
        return TTAPE_OK;
    struct ttp_recovered_file *file = file_at(files, number);
    if (file == NULL)
        return no_memory(err);
    if (file->path != NULL)
        return TTAPE_OK;
    file->path = join_path(files->directory, name);
    return file->path == NULL ? no_memory(err) : TTAPE_OK;
}

static ttape_status find_files(struct ttp_recovered_files *files, ttape_error *err)
{
    DIR *listing = opendir(files->directory);
    const struct dirent *entry;
    ttape_status status = TTAPE_OK;
    if (listing == NULL)
        return ttp_recovered_fail(err, "opening", files->directory);
    while (status == TTAPE_OK && (errno = 0, entry = readdir(listing)) != NULL)
        status = take_name(files, entry->d_name, err);
    if (status == TTAPE_OK && errno != 0)
        status = ttp_recovered_fail(err, "listing", files->directory);
    (void)closedir(listing);
    TTP_TRY(status);
    if (!name_last(files))
        return no_memory(err);
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].path != NULL) /* the others were finished and have their names */
            files->items[kept++] = files->items[i];
    files->count = kept;
    if (kept > 1)
        qsort(files->items, kept, sizeof *files->items, by_number);
    return TTAPE_OK;
}

/* Slots and blocks */

static ttape_status add_slot(struct ttp_recovered_slots *slots,
                             const struct ttp_recovered_slot *slot, ttape_error *err)
{
    if (slots->count == slots->capacity) {
        size_t capacity = slots->capacity == 0 ? 256 : slots->capacity * 2;
        struct ttp_recovered_slot *more = realloc(slots->items, capacity * sizeof *more);
        if (more == NULL)
            return no_memory(err);
        slots->items = more;
        slots->capacity = capacity;
    }
    slots->items[slots->count++] = *slot;
    return TTAPE_OK;
}

static ttape_status take_slot(struct ttp_recovered_files *files, uint32_t number,
                              const struct ttp_slot *slot, ttape_error *err)
{
    struct ttp_recovered_slot place = {.serial = slot->block.serial,
                                       .sequence = slot->block.sequence,
                                       .first = slot->head.first,
                                       .number = number};
    if (ttp_slot_is_whole(slot))
        return add_slot(&files->slots, &place, err);
    bool has_place = slot->head.first <= TTP_BLOCK_RECORDS && slot->head.count <= TTP_BLOCK_RECORDS;
    place.end = has_place ? slot->head.first + slot->head.count : 0;
    if (slot->head.magic == TTP_SLOT_MAGIC && has_place && place.serial != 0)
        return add_slot(&files->damaged, &place, err);
    files->nobodys++; /* not listed: the file may be long and empty */
    files->nobodys_last = number;
    return TTAPE_OK;
}

static ttape_status find_slots(struct ttp_recovered_files *files, ttape_error *err)
{
    struct ttp_slot *slot = malloc(sizeof *slot);
    struct stat info;
    ttape_status status = TTAPE_OK;
    if (slot == NULL)
        return no_memory(err);
    files->spill_fd = open_in(files->directory, "spill");
    files->has_spill = files->spill_fd >= 0 || errno != ENOENT;
    if (files->has_spill && (files->spill_fd < 0 || fstat(files->spill_fd, &info) != 0))
        status = ttp_recovered_fail(err, "opening the spill file in", files->directory);
    else if (files->has_spill)
        files->spill_count =
            (uint32_t)(((uint64_t)info.st_size + TTP_SLOT_BYTES - 1) / TTP_SLOT_BYTES);
    for (uint32_t i = 0; i < files->spill_count && status == TTAPE_OK; i++) {
        status = ttp_spill_read(files->spill_fd, i, slot, err);
        if (status == TTAPE_OK)
            status = take_slot(files, i, slot, err);
    }
    free(slot);
    return status;
}

static const struct ttp_block_head *block_at(const struct ttp_recovered_files *files,
                                             uint32_t index)
{
    return (const void *)(files->arena.memory + files->arena.blocks_offset +
                          (size_t)index * TTP_BLOCK_BYTES);
}

static bool recorder_lives(const struct ttp_arena_head *head)
{
    struct timespec pause = {0, HEARTBEAT_NS};
    uint64_t before = __atomic_load_n(&head->heartbeat, __ATOMIC_RELAXED);
    (void)nanosleep(&pause, NULL);
    return __atomic_load_n(&head->heartbeat, __ATOMIC_RELAXED) != before;
}

static ttape_status find_blocks(struct ttp_recovered_files *files, ttape_error *err)
{
    TTP_TRY(ttp_recovered_arena_open(&files->arena, files->arena_path, files->directory,
                                     files->trace_id, err));
    if (files->arena.memory == NULL)
        return TTAPE_OK;
    struct ttp_arena_head *head = (void *)files->arena.memory;
    if (recorder_lives(head))
        return ttp_fail(err, TTAPE_E_STATE, "", TTAPE_ERROR_NO_OFFSET,
                        "'%s' is still being recorded by process %u", files->directory,
                        head->recorder_pid);
    __atomic_store_n(&head->mode, TTP_MODE_STOPPED, __ATOMIC_RELEASE);
    struct timespec pause = {0, HEARTBEAT_NS}; /* for hooks that have seen it on */
    (void)nanosleep(&pause, NULL);
    files->arena_lost = head->lost;
    const uint32_t *states = (const void *)(files->arena.memory + TTP_ARENA_HEAD_BYTES);
    for (uint32_t i = 0; i < files->arena.block_ready; i++) {
        const struct ttp_block_head *block = block_at(files, i);
        if (__atomic_load_n(&states[i], __ATOMIC_ACQUIRE) == TTP_BLOCK_FREE || block->serial == 0)
            continue;
        TTP_TRY(add_slot(&files->slots,
                         &(struct ttp_recovered_slot){.serial = block->serial,
                                                      .sequence = block->sequence,
                                                      .number = i,
                                                      .in_arena = true},
                         err));
    }
    return TTAPE_OK;
}

ttape_status ttp_recovered_load(const struct ttp_recovered_files *files,
                                const struct ttp_recovered_slot *place, struct ttp_slot *out,
                                ttape_error *err)
{
    if (!place->in_arena) {
        TTP_TRY(ttp_spill_read(files->spill_fd, place->number, out, err));
        return ttp_slot_is_whole(out)
                   ? TTAPE_OK
                   : ttp_fail(err, TTAPE_E_IO, "", TTAPE_ERROR_NO_OFFSET,
                              "the spill file in '%s' was changed while it was read",
                              files->directory);
    }
    const struct ttp_block_head *block = block_at(files, place->number);
    const uint64_t *records = (const uint64_t *)(block + 1);
    uint32_t end = 0;
    for (uint32_t i = 0; i < TTP_BLOCK_RECORDS; i++) {
        out->records[i] = __atomic_load_n(&records[i], __ATOMIC_ACQUIRE);
        if (out->records[i] != 0)
            end = i + 1;
    }
    out->head = (struct ttp_slot_head){.count = end};
    out->block = *block;
    return out->block.serial != 0 ? TTAPE_OK : TTAPE_END;
}

ttape_status ttp_recovered_start(struct ttp_recovered_files *files, const char *directory,
                                 ttape_error *err)
{
    *files = (struct ttp_recovered_files){.spill_fd = -1, .arena.directory_fd = -1};
    files->directory = strdup(directory);
    if (files->directory == NULL)
        return no_memory(err);
    TTP_TRY(read_journal(files, err));
    return check_journal(files, err);
}

ttape_status ttp_recovered_open(struct ttp_recovered_files *files, const char *directory,
                                ttape_error *err)
{
    TTP_TRY(ttp_recovered_start(files, directory, err));
    TTP_TRY(find_files(files, err));
    TTP_TRY(find_blocks(files, err)); /* first: a block that is in both is then the arena's too */
    return find_slots(files, err);
}

/* Damaged slots
 *
 * A recorder that is killed while it writes a slot leaves half of one. That is no loss: a block is
 * given back only when its slot is written, and a slot is written again only when its records are
 * in the trace. A damaged slot is a loss if its records are neither in the trace, before the
 * checkpoint, nor in the arena. */

static bool is_in_trace(const struct ttp_encode *e, const struct ttp_recovered_slot *slot)
{
    uint32_t index = ttp_map_find(&e->thread_by_serial, slot->serial);
    if (index >= e->threads.count)
        return false;
    const struct ttp_thread *thread = ttp_thread_at(e, index);
    return slot->sequence < thread->sequence ||
           (slot->sequence == thread->sequence && slot->end <= thread->consumed);
}

static bool is_in_arena(const struct ttp_recovered_files *files,
                        const struct ttp_recovered_slot *slot)
{
    for (size_t i = 0; i < files->slots.count; i++) {
        const struct ttp_recovered_slot *block = &files->slots.items[i];
        if (block->in_arena && block->serial == slot->serial && block->sequence == slot->sequence)
            return true;
    }
    return false;
}

/* Whether the slot without an owner is the last one: there the recorder was killed before it had
 * written the head, and the block is still in the arena. */
static bool has_stopped_there(const struct ttp_recovered_files *files)
{
    return files->arena.memory != NULL && files->nobodys_last + 1 == files->spill_count;
}

uint64_t ttp_slots_tell(const struct ttp_telling *t, const struct ttp_recovered_files *files,
                        const struct ttp_encode *e)
{
    uint64_t lost = files->nobodys, others;
    if (lost != 0 && has_stopped_there(files))
        lost--;
    for (size_t i = 0; i < files->damaged.count; i++) {
        const struct ttp_recovered_slot *slot = &files->damaged.items[i];
        lost += !is_in_trace(e, slot) && !is_in_arena(files, slot);
    }
    others = files->damaged.count + files->nobodys - lost;
    if (lost != 0)
        ttp_tell(t, true, "%llu slots of the spill file are damaged, with what was only there",
                 (unsigned long long)lost);
    if (others != 0)
        ttp_tell(t, false,
                 "%llu slots of the spill file are damaged: what was in them is elsewhere, too",
                 (unsigned long long)others);
    return lost;
}

void ttp_recovered_close(struct ttp_recovered_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].path);
    free(files->items);
    ttp_recovered_arena_close(&files->arena);
    if (files->spill_fd >= 0)
        (void)close(files->spill_fd);
    free(files->slots.items);
    free(files->damaged.items);
    free(files->journal);
    free(files->arena_path);
    free(files->command);
    free(files->directory);
}
