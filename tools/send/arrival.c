#include "tools/send/arrival.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"

/* The three kinds of blocks have one size. */
_Static_assert(TTP_FILE_HEADER_BYTES == TTP_CHUNK_HEADER_BYTES, "one buffer holds either");
_Static_assert(TTP_FOOTER_BYTES == TTP_CHUNK_HEADER_BYTES, "one buffer holds either");

static ttape_status read_footer(struct tool_arrival *a, uint64_t offset)
{
    struct ttp_footer footer;
    TTP_TRY(ttp_footer_read(a->block, offset, &footer, &a->error));
    a->is_footer = true;
    if (a->chunk_count == 0 || footer.chunk_count != a->chunk_count ||
        footer.index_offset != a->last_chunk_at || a->last_kind != TTP_CHUNK_INDEX)
        return ttp_fail(&a->error, TTAPE_E_CORRUPT, "F-FOO-05", offset,
                        "footer names another index, or other chunks, than have come");
    return TTAPE_OK;
}

static ttape_status read_chunk(struct tool_arrival *a, uint64_t offset)
{
    TTP_TRY(ttp_chunk_read(a->block, offset, &a->chunk, &a->error));
    if (a->chunk.sequence != a->chunk_count)
        return ttp_fail(&a->error, TTAPE_E_CORRUPT, "F-CHK-07", offset,
                        "chunk %llu comes where chunk %llu is due",
                        (unsigned long long)a->chunk.sequence, (unsigned long long)a->chunk_count);
    a->is_chunk = true;
    a->payload_left = a->chunk.stored_bytes;
    return TTAPE_OK;
}

static ttape_status read_block(struct tool_arrival *a)
{
    struct ttp_file_header header;
    uint64_t offset = a->at_bytes - sizeof a->block;
    a->is_chunk = a->is_footer = false;
    if (offset == 0)
        return ttp_file_header_read(a->block, sizeof a->block, &header, &a->error);
    if (memcmp(a->block, TTP_FOOTER_MAGIC, TTP_FOOTER_MAGIC_BYTES) == 0)
        return read_footer(a, offset);
    return read_chunk(a, offset);
}

static size_t take_block(struct tool_arrival *a, const uint8_t *data, size_t size_bytes)
{
    size_t wanted = sizeof a->block - a->block_bytes;
    size_t taken = size_bytes < wanted ? size_bytes : wanted;
    if (taken != 0)
        memcpy(a->block + a->block_bytes, data, taken);
    a->block_bytes += (uint32_t)taken;
    a->at_bytes += taken;
    return taken;
}

/* A piece that was neither accepted nor refused is a caller's mistake: nothing goes on. */
size_t tool_arrival_take(struct tool_arrival *a, const uint8_t *data, size_t size_bytes,
                         enum tool_arrival_event *event)
{
    size_t taken = 0;
    *event = TOOL_ARRIVAL_BAD;
    if (a->error.status != TTAPE_OK || a->is_pending)
        return 0;
    if (a->is_complete && size_bytes != 0) {
        (void)ttp_fail(&a->error, TTAPE_E_CORRUPT, "F-FOO-04", a->at_bytes,
                       "bytes come behind the footer");
        return 0;
    }
    if (a->block_bytes < sizeof a->block) {
        taken = take_block(a, data, size_bytes);
        if (a->block_bytes == sizeof a->block && read_block(a) != TTAPE_OK)
            return taken;
    }
    if (a->block_bytes == sizeof a->block) {
        size_t left = size_bytes - taken;
        size_t payload = left < a->payload_left ? left : (size_t)a->payload_left;
        tool_arrival_skip(a, payload);
        taken += payload;
        a->is_pending = a->payload_left == 0;
    }
    *event = a->is_pending ? TOOL_ARRIVAL_PIECE : TOOL_ARRIVAL_MORE;
    return taken;
}

uint64_t tool_arrival_payload_left(const struct tool_arrival *a)
{
    return a->block_bytes == sizeof a->block && !a->is_pending ? a->payload_left : 0;
}

void tool_arrival_skip(struct tool_arrival *a, uint64_t size_bytes)
{
    a->payload_left -= size_bytes;
    a->at_bytes += size_bytes;
}

bool tool_arrival_has_payload(const struct tool_arrival *a, uint64_t *offset)
{
    *offset = a->at_bytes - (a->is_chunk ? a->chunk.stored_bytes : 0);
    return a->is_pending && a->is_chunk;
}

void tool_arrival_accept(struct tool_arrival *a)
{
    uint8_t link[sizeof(uint64_t) + sizeof a->block];
    ttp_store64(link, a->prefix);
    memcpy(link + sizeof(uint64_t), a->block, sizeof a->block);
    a->prefix = ttp_checksum(link, sizeof link);
    if (a->is_chunk) {
        a->chunk_count++;
        a->partition_count += a->chunk.kind == TTP_CHUNK_PARTITION;
        a->last_chunk_at = a->whole_bytes;
        a->last_kind = a->chunk.kind;
    }
    a->is_complete = a->is_footer;
    a->whole_bytes = a->at_bytes;
    a->block_bytes = 0;
    a->is_pending = false;
}

void tool_arrival_go_back(struct tool_arrival *a)
{
    a->at_bytes = a->whole_bytes;
    a->block_bytes = 0;
    a->is_pending = false;
    a->error = (ttape_error){0};
}

/* It reads as many as there are at once. */
static bool read_bytes(struct tool_arrival *a, int fd, uint8_t *bytes, size_t *size_bytes)
{
    ssize_t got;
    do
        got = pread(fd, bytes, *size_bytes, (off_t)a->at_bytes);
    while (got < 0 && errno == EINTR);
    *size_bytes = got > 0 ? (size_t)got : 0;
    if (got > 0)
        return true;
    (void)ttp_fail(&a->error, TTAPE_E_IO, "", a->at_bytes, "cannot be read: %s",
                   got == 0 ? "it was cut off" : strerror(errno));
    return false;
}

enum tool_arrival_event tool_arrival_walk(struct tool_arrival *a, int fd, uint64_t end)
{
    enum tool_arrival_event event = TOOL_ARRIVAL_MORE;
    uint8_t bytes[TTP_CHUNK_HEADER_BYTES];
    while (event == TOOL_ARRIVAL_MORE && a->at_bytes < end) {
        uint64_t payload = tool_arrival_payload_left(a), left = end - a->at_bytes;
        if (payload != 0) {
            tool_arrival_skip(a, payload < left ? payload : left);
            a->is_pending = a->payload_left == 0;
            event = a->is_pending ? TOOL_ARRIVAL_PIECE : TOOL_ARRIVAL_MORE;
            continue;
        }
        size_t size = sizeof bytes - a->block_bytes;
        size = size < left ? size : (size_t)left;
        if (!read_bytes(a, fd, bytes, &size))
            return TOOL_ARRIVAL_BAD;
        (void)tool_arrival_take(a, bytes, size, &event);
    }
    return event;
}

void tool_arrival_walk_all(struct tool_arrival *a, int fd, uint64_t end)
{
    while (a->whole_bytes < end && tool_arrival_walk(a, fd, end) == TOOL_ARRIVAL_PIECE)
        tool_arrival_accept(a);
}
