/* From bytes to pieces. A header is believed when its hash matches; what lies between two headers
 * that is no chunk becomes a piece of its own. Every byte is read once to find headers and once to
 * hash; the inside of a chunk that turned out damaged may be searched too, but for a bounded number
 * of bytes in all, so that headers that lie cannot make this slow. Holes of a sparse file are
 * passed over: a file system says where they end, and reading the largest would take years. */
#include <string.h>

#include "answers/check/salvage.h"
#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"

#define SEARCH_FIRST_BYTES 1024u /* most breaks are short: grow from here */
#define SEARCH_BLOCK_BYTES (64u * 1024u)
#define BLOCK_BYTES        64u
#define RESCAN_FACTOR      4u

_Static_assert(TTP_CHUNK_HEADER_BYTES == BLOCK_BYTES && TTP_FOOTER_BYTES == BLOCK_BYTES &&
                   TTP_FILE_HEADER_BYTES == BLOCK_BYTES,
               "all three are searched for in one go");

enum block_kind { BLOCK_NONE, BLOCK_CHUNK, BLOCK_FOOTER, BLOCK_FILE };

/* A footer wherever it stands: that it is not where it was written is no wonder here. */
static bool read_footer(const uint8_t *data, struct ttp_footer *footer)
{
    if (memcmp(data, TTP_FOOTER_MAGIC, TTP_FOOTER_MAGIC_BYTES) != 0 ||
        ttp_checksum(data, TTP_FOOTER_HASH_AT) != ttp_load64(data + TTP_FOOTER_HASH_AT))
        return false;
    *footer = (struct ttp_footer){.index_offset = ttp_load64(data + TTP_FOOTER_INDEX_AT),
                                  .file_bytes = ttp_load64(data + TTP_FOOTER_FILE_BYTES_AT),
                                  .chunk_count = ttp_load64(data + TTP_FOOTER_CHUNKS_AT)};
    return true;
}

static enum block_kind read_block(const uint8_t *data, uint64_t offset, struct ttp_chunk *chunk,
                                  struct ttp_footer *footer, struct ttp_file_header *file)
{
    switch (data[0]) {
    case (uint8_t)'\xF3':
        return ttp_chunk_read(data, offset, chunk, NULL) == TTAPE_OK ? BLOCK_CHUNK : BLOCK_NONE;
    case (uint8_t)'\xE5': return read_footer(data, footer) ? BLOCK_FOOTER : BLOCK_NONE;
    case (uint8_t)'\x89':
        return ttp_file_header_read(data, BLOCK_BYTES, file, NULL) == TTAPE_OK ? BLOCK_FILE
                                                                               : BLOCK_NONE;
    default: return BLOCK_NONE;
    }
}

/* The next offset from `from` on where a block begins, or the end of the file. */
static ttape_status find_block(struct ttp_salvage *s, uint64_t from, uint64_t *offset,
                               ttape_error *err)
{
    ttape_reader *r = s->r;
    uint64_t end = r->source.size_bytes;
    size_t step = SEARCH_FIRST_BYTES;
    uint8_t *block = ttp_memory_take(&r->memory, SEARCH_BLOCK_BYTES, 1, err);
    ttape_status status = block == NULL ? r->memory.status : TTAPE_OK;
    bool found = false;
    while (status == TTAPE_OK && !found && end - from >= BLOCK_BYTES) {
        struct ttp_chunk chunk;
        struct ttp_footer footer;
        struct ttp_file_header file;
        from = ttp_source_hole_end(&r->source, from); /* no block begins with a zero */
        size_t size = end - from < step ? (size_t)(end - from) : step, at = 0;
        status = ttp_source_read(&r->source, from, block, size, err);
        for (; status == TTAPE_OK && at + BLOCK_BYTES <= size && !found; at += !found)
            found = read_block(block + at, from + at, &chunk, &footer, &file) != BLOCK_NONE;
        from += at;
        step = step < SEARCH_BLOCK_BYTES ? step * 2 : step;
    }
    *offset = found ? from : end;
    ttp_memory_give(&r->memory, block, SEARCH_BLOCK_BYTES, 1);
    return status;
}

static ttape_status add_series(struct ttp_salvage *s, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&s->r->memory, &s->series, &s->series_capacity,
                               s->series_count + 1ull, sizeof *s->series, err));
    s->series[s->series_count++] = (struct ttp_chunk_series){.owner = TTP_SERIES_UNKNOWN};
    return TTAPE_OK;
}

static ttape_status add_piece(struct ttp_salvage *s, uint64_t offset, uint64_t size_bytes,
                              struct ttp_salvage_piece **out, ttape_error *err)
{
    TTP_TRY(ttp_memory_reserve(&s->r->memory, &s->pieces, &s->piece_capacity, s->piece_count + 1ull,
                               sizeof *s->pieces, err));
    *out = &s->pieces[s->piece_count++];
    **out = (struct ttp_salvage_piece){.offset = offset,
                                       .size_bytes = size_bytes,
                                       .head.sequence = UINT64_MAX,
                                       .why = TTP_NO_PIECE,
                                       .partition = TTAPE_NONE,
                                       .series = TTP_NO_PIECE};
    return TTAPE_OK;
}

ttape_status ttp_salvage_settle(struct ttp_salvage *s, struct ttp_salvage_piece *piece,
                                ttape_recover_fate fate, const ttape_error *why, ttape_error *err)
{
    piece->fate = (uint8_t)fate;
    if (why == NULL || piece->why != TTP_NO_PIECE || s->why_count == TTP_MAX_WHYS)
        return TTAPE_OK;
    TTP_TRY(ttp_memory_reserve(&s->r->memory, &s->whys, &s->why_capacity, s->why_count + 1ull,
                               sizeof *s->whys, err));
    piece->why = s->why_count;
    s->whys[s->why_count++] = *why;
    return TTAPE_OK;
}

/* Bytes that are no chunk. */
static ttape_status add_bytes(struct ttp_salvage *s, uint64_t offset, uint64_t end,
                              const ttape_error *why, ttape_error *err)
{
    struct ttp_salvage_piece *piece;
    TTP_TRY(add_piece(s, offset, end - offset, &piece, err));
    return ttp_salvage_settle(s, piece, TTAPE_RECOVER_LOST, why, err);
}

/* Does this chunk follow the last piece as the next of the same series? */
static bool goes_on(const struct ttp_salvage *s, uint64_t offset, const struct ttp_chunk *chunk)
{
    if (s->piece_count == 0)
        return false;
    const struct ttp_salvage_piece *last = &s->pieces[s->piece_count - 1];
    return last->is_chunk && last->offset + last->size_bytes == offset &&
           last->head.sequence + 1 == chunk->sequence;
}

static ttape_status add_chunk(struct ttp_salvage *s, uint64_t offset, uint64_t size_bytes,
                              const struct ttp_chunk *chunk, const ttape_error *why,
                              ttape_error *err)
{
    struct ttp_salvage_piece *piece;
    if (!goes_on(s, offset, chunk))
        TTP_TRY(add_series(s, err));
    TTP_TRY(add_piece(s, offset, size_bytes, &piece, err));
    piece->head = *chunk;
    piece->is_chunk = true;
    piece->is_sound = why == NULL;
    piece->series = s->series_count - 1;
    return ttp_salvage_settle(s, piece, why == NULL ? TTAPE_RECOVER_KEPT : TTAPE_RECOVER_LOST, why,
                              err);
}

static ttape_status check_payload(struct ttp_salvage *s, uint64_t offset,
                                  const struct ttp_chunk *chunk, ttape_error *why)
{
    ttape_reader *r = s->r;
    uint64_t payload = offset + TTP_CHUNK_HEADER_BYTES;
    if (chunk->stored_bytes > r->source.size_bytes - payload)
        return ttp_fail(why, TTAPE_E_TRUNCATED, "F-CHK-10", r->source.size_bytes,
                        "file ends inside a chunk");
    uint8_t *stored = ttp_memory_take(&r->memory, chunk->stored_bytes, 1, why);
    if (stored == NULL)
        return r->memory.status;
    ttape_status status =
        ttp_source_read(&r->source, payload, stored, (size_t)chunk->stored_bytes, why);
    if (status == TTAPE_OK &&
        ttp_checksum(stored, (size_t)chunk->stored_bytes) != chunk->payload_hash)
        status =
            ttp_fail(why, TTAPE_E_CHECKSUM, "F-CHK-03", payload,
                     "checksum of a %s chunk does not match", ttp_chunk_kind_name(chunk->kind));
    ttp_memory_give(&r->memory, stored, chunk->stored_bytes, 1);
    return status;
}

/* Is there a block at this offset, or the end of the file? */
static ttape_status is_boundary(struct ttp_salvage *s, uint64_t offset, bool *is, ttape_error *err)
{
    uint8_t data[BLOCK_BYTES];
    struct ttp_chunk chunk;
    struct ttp_footer footer;
    struct ttp_file_header file;
    uint64_t end = s->r->source.size_bytes;
    *is = offset == end;
    if (offset >= end || end - offset < sizeof data)
        return TTAPE_OK;
    TTP_TRY(ttp_source_read(&s->r->source, offset, data, sizeof data, err));
    *is = read_block(data, offset, &chunk, &footer, &file) != BLOCK_NONE;
    return TTAPE_OK;
}

/* Where reading goes on behind a chunk whose payload is damaged: at its end where a block begins
 * there, otherwise at the first one inside: bytes are missing, or only its header is left. */
static ttape_status behind_damage(struct ttp_salvage *s, uint64_t offset,
                                  const struct ttp_chunk *chunk, uint64_t *next, ttape_error *err)
{
    uint64_t size = s->r->source.size_bytes, payload = offset + TTP_CHUNK_HEADER_BYTES;
    uint64_t left = size - payload;
    bool fits = chunk->stored_bytes <= left, framed = false;
    uint64_t looked_at = fits ? chunk->stored_bytes : left;
    *next = payload + looked_at;
    if (fits)
        TTP_TRY(is_boundary(s, *next, &framed, err));
    if (framed || looked_at > s->rescan_bytes)
        return TTAPE_OK;
    s->rescan_bytes -= looked_at;
    return find_block(s, payload, next, err);
}

static ttape_status take_chunk(struct ttp_salvage *s, uint64_t *offset,
                               const struct ttp_chunk *chunk, ttape_error *err)
{
    ttape_error why = {0};
    uint64_t start = *offset;
    ttape_status status = check_payload(s, start, chunk, &why);
    if (status == TTAPE_OK) {
        *offset += TTP_CHUNK_HEADER_BYTES + chunk->stored_bytes;
        return add_chunk(s, start, *offset - start, chunk, NULL, err);
    }
    if (ttp_salvage_must_stop(s, status)) {
        if (err != NULL)
            *err = why;
        return status;
    }
    TTP_TRY(behind_damage(s, start, chunk, offset, err));
    return add_chunk(s, start, *offset - start, chunk, &why, err);
}

/* What stands at the offset, and the offset behind it. */
static ttape_status take_block(struct ttp_salvage *s, uint64_t *offset, ttape_error *err)
{
    uint8_t data[BLOCK_BYTES];
    uint64_t start = *offset, end = s->r->source.size_bytes;
    struct ttp_chunk chunk;
    struct ttp_footer footer;
    struct ttp_file_header file;
    ttape_error why = {0};
    enum block_kind kind = BLOCK_NONE;
    if (end - start >= sizeof data) {
        TTP_TRY(ttp_source_read(&s->r->source, start, data, sizeof data, err));
        kind = read_block(data, start, &chunk, &footer, &file);
    }
    if (kind == BLOCK_CHUNK)
        return take_chunk(s, offset, &chunk, err);
    if (kind == BLOCK_FOOTER) {
        s->footer = footer;
        s->has_footer = true;
    }
    if (kind == BLOCK_FILE && start != 0)
        (void)ttp_fail(&why, TTAPE_E_CORRUPT, "F-FIL-01", start, "another file begins here");
    else if (kind == BLOCK_NONE && end - start < sizeof data)
        (void)ttp_fail(&why, TTAPE_E_TRUNCATED, "F-CHK-10", end, "file ends inside a header");
    else if (kind == BLOCK_NONE)
        (void)ttp_chunk_read(data, start, &chunk, &why);
    if (kind != BLOCK_NONE) {
        struct ttp_salvage_piece *piece;
        *offset += sizeof data;
        TTP_TRY(add_piece(s, start, sizeof data, &piece, err));
        return ttp_salvage_settle(s, piece, TTAPE_RECOVER_SKIPPED,
                                  why.status != TTAPE_OK ? &why : NULL, err);
    }
    TTP_TRY(find_block(s, start + 1, offset, err));
    return add_bytes(s, start, *offset, &why, err);
}

/* A header that does not hold is assumed to be one of version 1, if chunks are found; where it says
 * by itself that it is not, that is believed. */
static ttape_status scan_header(struct ttp_salvage *s, ttape_error *err)
{
    uint8_t data[TTP_FILE_HEADER_BYTES];
    ttape_reader *r = s->r;
    size_t have = r->source.size_bytes < sizeof data ? (size_t)r->source.size_bytes : sizeof data;
    TTP_TRY(ttp_source_read(&r->source, 0, data, have, err));
    ttape_status status = ttp_file_header_read(data, have, &r->header, &s->header_error);
    s->has_header = status == TTAPE_OK;
    bool is_whole = have == sizeof data &&
                    ttp_checksum(data, TTP_FILE_HASH_AT) == ttp_load64(data + TTP_FILE_HASH_AT);
    if (status == TTAPE_E_VERSION && is_whole) {
        if (err != NULL)
            *err = s->header_error;
        return status;
    }
    return TTAPE_OK;
}

ttape_status ttp_salvage_scan(struct ttp_salvage *s, ttape_error *err)
{
    uint64_t end = s->r->source.size_bytes, offset = TTP_FILE_HEADER_BYTES;
    bool is_chunk = false;
    TTP_TRY(scan_header(s, err));
    s->rescan_bytes = end > UINT64_MAX / RESCAN_FACTOR ? UINT64_MAX : end * RESCAN_FACTOR;
    if (!s->has_header) {
        if (offset < end)
            TTP_TRY(is_boundary(s, offset, &is_chunk, err));
        offset = is_chunk ? offset : 0;
    }
    while (offset < end)
        TTP_TRY(take_block(s, &offset, err));
    return TTAPE_OK;
}
