/* Unpacking, and looking whether all is as it was. */
#define _GNU_SOURCE
#include "fuzz_recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "fuzz_trace.h"
#include "recorder/arena/record.h"
#include "recorder/state/journal.h"

#define BLOCKS_OFFSET 98304u
#define PIECES_MAX    128u
#define MODE_AT       offsetof(struct ttp_arena_head, mode)

/* What was written, to be compared. */
static struct written {
    int fd; /* of its first piece */
    bool is_first, is_arena;
    off_t at;
    struct fuzz_bytes bytes;
} pieces[PIECES_MAX];
static unsigned piece_count;

static struct fuzz_input writes; /* of programs */
static int arena_fd = -1;
static unsigned naps;

/* ---- the other recording ---- */

static char victim[] = "/dev/shm/tracetape-XXXXXX", victim_arena[64];
static struct ttp_arena_head victim_head;

static void remove_victim(void)
{
    (void)unlink(victim_arena);
    (void)rmdir(victim);
}

static void make_victim(void)
{
    if (victim_arena[0] != '\0')
        return;
    FUZZ_REQUIRE(mkdtemp(victim) != NULL);
    (void)snprintf(victim_arena, sizeof victim_arena, "%s/arena", victim);
    victim_head = (struct ttp_arena_head){.magic = TTP_ARENA_MAGIC,
                                          .version = TTP_ARENA_VERSION,
                                          .block_bytes = TTP_BLOCK_BYTES,
                                          .blocks_offset = BLOCKS_OFFSET,
                                          .mode = TTP_MODE_ON,
                                          .trace_id = "nobody knows it"};
    int fd = open(victim_arena, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, BLOCKS_OFFSET) == 0);
    FUZZ_REQUIRE(write(fd, &victim_head, sizeof victim_head) == sizeof victim_head);
    (void)close(fd);
    (void)atexit(remove_victim);
}

void fuzz_recording_check_victim(void)
{
    struct ttp_arena_head now;
    int fd = open(victim_arena, O_RDONLY | O_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && read(fd, &now, sizeof now) == sizeof now);
    FUZZ_REQUIRE(memcmp(&now, &victim_head, sizeof now) == 0);
    (void)close(fd);
}

/* ---- files ---- */

static void put(int fd, bool is_arena, off_t at, const void *data, size_t size)
{
    if (piece_count == PIECES_MAX)
        return;
    FUZZ_REQUIRE(pwrite(fd, data, size, at) == (ssize_t)size);
    bool is_first = piece_count == 0 || pieces[piece_count - 1].fd != fd;
    pieces[piece_count++] = (struct written){fd, is_first, is_arena, at, fuzz_copy(data, size)};
}

static void put_journal(int fd, struct fuzz_input in, bool checksums)
{
    struct fuzz_bytes all = {0};
    struct fuzz_input piece;
    while (fuzz_marked(&in, FUZZ_PIECE_MARK, &piece)) {
        uint32_t kind = fuzz_number(&piece, 1);
        struct fuzz_bytes bytes = fuzz_copy(piece.data, piece.size);
        uint8_t *at = memmem(bytes.data, bytes.size, FUZZ_VICTIM, sizeof FUZZ_VICTIM - 1);
        if (at != NULL)
            memcpy(at, strrchr(victim, '/') + 1, sizeof FUZZ_VICTIM - 1);
        fuzz_put_number(&all, kind, 4);
        fuzz_put_number(&all, bytes.size, 4);
        fuzz_put_number(&all, checksums ? ttp_checksum(bytes.data, bytes.size) ^ kind : 0, 8);
        fuzz_put(&all, bytes.data, bytes.size);
    }
    put(fd, false, 0, all.data, all.size);
}

/* A number of 20 bits costs whoever reads the trace 16 MiB for each partition. */
static void lower_stack(uint64_t *record)
{
    if (ttp_record_tag(*record) == TTP_TAG_EXTENSION && ttp_record_type(*record) == TTP_EXT_SWITCH)
        *record &= UINT64_C(0x1ffffff) | ~(UINT64_C(0xfffff) << TTP_EXTENSION_PAYLOAD_SHIFT);
}

void fuzz_recording_slot(struct fuzz_input piece, struct ttp_slot *slot)
{
    uint32_t first = fuzz_number(&piece, 2);
    memset(slot, 0, sizeof *slot);
    slot->head.first = (first & 0x7fff) % (TTP_BLOCK_RECORDS + 1);
    struct fuzz_input block = fuzz_part(&piece, sizeof slot->block);
    memcpy(&slot->block, block.data, block.size);
    struct fuzz_input records =
        fuzz_part(&piece, (TTP_BLOCK_RECORDS - slot->head.first) * sizeof(uint64_t));
    memcpy(slot->records, records.data, records.size);
    slot->head.count = (uint32_t)((records.size + 7) / 8);
    for (uint32_t i = 0; i < slot->head.count && first < 0x8000; i++)
        lower_stack(&slot->records[i]);
}

static void put_spill(int fd, struct fuzz_input in, bool checksums)
{
    static struct ttp_slot slot;
    struct fuzz_input piece;
    for (off_t at = 0; fuzz_marked(&in, FUZZ_PIECE_MARK, &piece); at += TTP_SLOT_BYTES) {
        fuzz_recording_slot(piece, &slot);
        size_t size = offsetof(struct ttp_slot, records) + slot.head.count * sizeof(uint64_t);
        slot.head.magic = TTP_SLOT_MAGIC;
        slot.head.checksum = checksums ? ttp_checksum((const uint8_t *)&slot + 16, size - 16) : 0;
        put(fd, false, at, &slot, size);
    }
}

static void put_arena(int fd, struct fuzz_input in)
{
    static struct ttp_slot slot;
    uint8_t head[TTP_ARENA_HEAD_BYTES] = {0};
    struct fuzz_input piece;
    if (!fuzz_marked(&in, FUZZ_PIECE_MARK, &piece))
        return;
    memcpy(head, piece.data, piece.size < sizeof head ? piece.size : sizeof head);
    put(fd, true, 0, head, sizeof(struct ttp_arena_head));
    arena_fd = fd;
    off_t at = BLOCKS_OFFSET;
    for (off_t state = TTP_ARENA_HEAD_BYTES; fuzz_marked(&in, FUZZ_PIECE_MARK, &piece);
         state += 4, at += TTP_BLOCK_BYTES) {
        uint32_t word = fuzz_number(&piece, 4);
        fuzz_recording_slot(piece, &slot);
        put(fd, true, state, &word, sizeof word);
        put(fd, true, at, &slot.block, sizeof slot.block + slot.head.count * sizeof(uint64_t));
    }
    FUZZ_REQUIRE(ftruncate(fd, at) == 0);
}

static void put_file(const char *packed_name, const struct fuzz_input *bytes, bool checksums)
{
    char name[512];
    bool is_arena = strcmp(packed_name, "arena") == 0;
    struct fuzz_input in = *bytes, piece;
    (void)snprintf(name, sizeof name, "%s%s%s",
                   strncmp(packed_name, "../", 3) != 0 ? FUZZ_RECORDING "/" : "",
                   is_arena ? FUZZ_ARENA "/" : "",
                   packed_name + (strncmp(packed_name, "../", 3) == 0 ? 3 : 0));
    int fd = fuzz_folder_open(name);
    if (fd < 0)
        return;
    unsigned before = piece_count;
    if (!fuzz_marked(&in, FUZZ_PIECE_MARK, &piece))
        put(fd, false, 0, bytes->data, bytes->size);
    else if (strcmp(packed_name, "journal") == 0)
        put_journal(fd, *bytes, checksums);
    else if (strcmp(packed_name, "spill") == 0)
        put_spill(fd, *bytes, checksums);
    else if (is_arena)
        put_arena(fd, *bytes);
    else
        put(fd, false, 0, bytes->data, bytes->size);
    if (piece_count == before)
        (void)close(fd);
}

const char *fuzz_recording_make(const struct fuzz_input *packed, bool checksums)
{
    static char path[128];
    struct fuzz_input in = *packed, bytes;
    char name[256];
    make_victim();
    (void)snprintf(path, sizeof path, "%s/" FUZZ_RECORDING, fuzz_folder_begin());
    writes = (struct fuzz_input){0};
    piece_count = naps = 0;
    while (fuzz_folder_next(&in, name, &bytes))
        if (strcmp(name, "writes") == 0)
            writes = bytes;
        else
            put_file(name, &bytes, checksums);
    return path;
}

/* Recovery waits for a recorder's heartbeat, and for programs that do not know yet that it is over:
 * not here. They write what they like. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
    struct fuzz_input in = writes, piece;
    (void)time;
    (void)left;
    naps++;
    while (arena_fd >= 0 && fuzz_marked(&in, FUZZ_PIECE_MARK, &piece)) {
        bool is_now = fuzz_number(&piece, 1) == naps;
        off_t at = fuzz_number(&piece, 3);
        if (is_now && at < (1 << 20))
            FUZZ_REQUIRE(pwrite(arena_fd, piece.data, piece.size, at) == (ssize_t)piece.size);
    }
    return 0;
}

static void check(const struct written *piece)
{
    struct fuzz_bytes now = fuzz_copy(piece->bytes.data, piece->bytes.size);
    if (piece->is_arena && naps > 0 && writes.size > 0)
        return;
    FUZZ_REQUIRE(pread(piece->fd, now.data, now.size, piece->at) == (ssize_t)now.size);
    if (piece->is_arena && piece->at == 0 && ttp_load32(now.data + MODE_AT) == TTP_MODE_STOPPED)
        memcpy(now.data + MODE_AT, piece->bytes.data + MODE_AT, sizeof(uint32_t));
    FUZZ_REQUIRE(memcmp(now.data, piece->bytes.data, now.size) == 0);
}

void fuzz_recording_check(void)
{
    for (unsigned i = 0; i < piece_count; i++)
        check(&pieces[i]);
    for (unsigned i = 0; i < piece_count; i++)
        if (pieces[i].is_first)
            (void)close(pieces[i].fd);
    piece_count = 0;
    arena_fd = -1;
    fuzz_recording_check_victim();
}

void fuzz_recording_line(void *losses, bool is_loss, const char *line)
{
    FUZZ_REQUIRE(line[0] != '\0');
    *(uint64_t *)losses += is_loss;
}

void fuzz_recording_piece(void *losses, const ttape_recover_piece *piece)
{
    fuzz_require_piece(piece);
    *(uint64_t *)losses +=
        piece->fate == TTAPE_RECOVER_LOST || piece->fate == TTAPE_RECOVER_FOREIGN;
}
