/* Fixed blocks. Every reader here goes magic, hash, version, reserved: nothing is interpreted
 * before it verifies. */
#include "format/container/chunk.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/base/fail.h"
#include "format/base/limits.h"

static bool all_zero(const uint8_t *data, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (data[i] != 0)
            return false;
    return true;
}

static void seal(uint8_t *block, size_t hash_at)
{
    ttp_store64(block + hash_at, ttp_checksum(block, hash_at));
}

static bool sealed(const uint8_t *block, size_t hash_at)
{
    return ttp_load64(block + hash_at) == ttp_checksum(block, hash_at);
}

void ttp_file_header_write(const struct ttp_file_header *header, uint8_t out[TTP_FILE_HEADER_BYTES])
{
    memset(out, 0, TTP_FILE_HEADER_BYTES);
    memcpy(out, TTP_FILE_MAGIC, TTP_FILE_MAGIC_BYTES);
    ttp_store16(out + TTP_FILE_MINOR_AT, header->minor);
    ttp_store16(out + TTP_FILE_REQUIRED_AT, header->required_minor);
    memcpy(out + TTP_FILE_TRACE_ID_AT, header->trace_id, TTP_TRACE_ID_BYTES);
    seal(out, TTP_FILE_HASH_AT);
}

static ttape_status check_magic(const uint8_t *data, size_t size_bytes, ttape_error *err)
{
    size_t have = size_bytes < TTP_FILE_MAGIC_BYTES ? size_bytes : TTP_FILE_MAGIC_BYTES;
    if (have < TTP_FILE_MAGIC_BYTES || memcmp(data, TTP_FILE_MAGIC, TTP_FILE_MAJOR_AT) != 0 ||
        data[TTP_FILE_MAJOR_AT + 1] != '\n')
        return ttp_fail(err, TTAPE_E_NOT_TRACE, "F-FIL-01", 0,
                        "not a trace file: no magic at its start");
    uint8_t digit = data[TTP_FILE_MAJOR_AT];
    if (digit != '0' + TTP_MAJOR_VERSION)
        return ttp_fail(err, TTAPE_E_VERSION, "F-FIL-02", TTP_FILE_MAJOR_AT,
                        "file has major version %d, this reader knows version %d", digit - '0',
                        TTP_MAJOR_VERSION);
    return TTAPE_OK;
}

ttape_status ttp_file_header_read(const uint8_t *data, size_t size_bytes,
                                  struct ttp_file_header *out, ttape_error *err)
{
    TTP_TRY(check_magic(data, size_bytes, err));
    if (size_bytes < TTP_FILE_HEADER_BYTES)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "F-FIL-03", size_bytes,
                        "file ends inside its header");
    if (!sealed(data, TTP_FILE_HASH_AT))
        return ttp_fail(err, TTAPE_E_CHECKSUM, "F-FIL-04", 0,
                        "checksum of the file header does not match");
    uint16_t required = ttp_load16(data + TTP_FILE_REQUIRED_AT);
    if (required > TTP_MINOR_VERSION)
        return ttp_fail(err, TTAPE_E_VERSION, "F-FIL-05", TTP_FILE_REQUIRED_AT,
                        "file needs a reader of version %d.%d, this one is %d.%d",
                        TTP_MAJOR_VERSION, required, TTP_MAJOR_VERSION, TTP_MINOR_VERSION);
    if (ttp_load32(data + TTP_FILE_FLAGS_AT) != 0 ||
        !all_zero(data + TTP_FILE_RESERVED_AT, TTP_FILE_HASH_AT - TTP_FILE_RESERVED_AT))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-FIL-06", TTP_FILE_FLAGS_AT,
                        "reserved bits of the file header are set");
    out->minor = ttp_load16(data + TTP_FILE_MINOR_AT);
    out->required_minor = required;
    memcpy(out->trace_id, data + TTP_FILE_TRACE_ID_AT, TTP_TRACE_ID_BYTES);
    return TTAPE_OK;
}

void ttp_chunk_write(const struct ttp_chunk *chunk, uint8_t out[TTP_CHUNK_HEADER_BYTES])
{
    memcpy(out, TTP_CHUNK_SYNC, TTP_CHUNK_SYNC_BYTES);
    ttp_store16(out + TTP_CHUNK_KIND_AT, chunk->kind);
    ttp_store16(out + TTP_CHUNK_FLAGS_AT, chunk->flags);
    ttp_store32(out + TTP_CHUNK_SCOPE_AT, chunk->scope);
    ttp_store64(out + TTP_CHUNK_SEQUENCE_AT, chunk->sequence);
    ttp_store64(out + TTP_CHUNK_STORED_AT, chunk->stored_bytes);
    ttp_store64(out + TTP_CHUNK_CONTENT_AT, chunk->content_bytes);
    ttp_store64(out + TTP_CHUNK_PAYLOAD_HASH_AT, chunk->payload_hash);
    ttp_store64(out + TTP_CHUNK_LAST_INDEX_AT, chunk->last_index);
    seal(out, TTP_CHUNK_HASH_AT);
}

static ttape_status check_chunk_fields(const struct ttp_chunk *chunk, uint64_t offset,
                                       ttape_error *err)
{
    if ((chunk->flags & ~TTP_FLAGS_KNOWN) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-04", offset + TTP_CHUNK_FLAGS_AT,
                        "reserved flags of a chunk are set");
    if ((chunk->flags & TTP_FLAG_ZSTD) == 0 && chunk->content_bytes != chunk->stored_bytes)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-05", offset + TTP_CHUNK_CONTENT_AT,
                        "content size of an uncompressed chunk differs from its stored size");
    if (chunk->stored_bytes > TTP_MAX_PAYLOAD_BYTES || chunk->content_bytes > TTP_MAX_PAYLOAD_BYTES)
        return ttp_fail(err, TTAPE_E_LIMIT, "F-CHK-06", offset + TTP_CHUNK_STORED_AT,
                        "payload of a chunk is larger than %u bytes", TTP_MAX_PAYLOAD_BYTES);
    return TTAPE_OK;
}

ttape_status ttp_chunk_read(const uint8_t data[TTP_CHUNK_HEADER_BYTES], uint64_t offset,
                            struct ttp_chunk *out, ttape_error *err)
{
    if (memcmp(data, TTP_CHUNK_SYNC, TTP_CHUNK_SYNC_BYTES) != 0)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-CHK-01", offset,
                        "no chunk here: sync pattern not found");
    if (!sealed(data, TTP_CHUNK_HASH_AT))
        return ttp_fail(err, TTAPE_E_CHECKSUM, "F-CHK-02", offset,
                        "checksum of a chunk header does not match");
    struct ttp_chunk chunk = {
        .kind = ttp_load16(data + TTP_CHUNK_KIND_AT),
        .flags = ttp_load16(data + TTP_CHUNK_FLAGS_AT),
        .scope = ttp_load32(data + TTP_CHUNK_SCOPE_AT),
        .sequence = ttp_load64(data + TTP_CHUNK_SEQUENCE_AT),
        .stored_bytes = ttp_load64(data + TTP_CHUNK_STORED_AT),
        .content_bytes = ttp_load64(data + TTP_CHUNK_CONTENT_AT),
        .payload_hash = ttp_load64(data + TTP_CHUNK_PAYLOAD_HASH_AT),
        .last_index = ttp_load64(data + TTP_CHUNK_LAST_INDEX_AT),
    };
    TTP_TRY(check_chunk_fields(&chunk, offset, err));
    *out = chunk;
    return TTAPE_OK;
}

void ttp_footer_write(const struct ttp_footer *footer, uint8_t out[TTP_FOOTER_BYTES])
{
    memset(out, 0, TTP_FOOTER_BYTES);
    memcpy(out, TTP_FOOTER_MAGIC, TTP_FOOTER_MAGIC_BYTES);
    ttp_store64(out + TTP_FOOTER_INDEX_AT, footer->index_offset);
    ttp_store64(out + TTP_FOOTER_FILE_BYTES_AT, footer->file_bytes);
    ttp_store64(out + TTP_FOOTER_CHUNKS_AT, footer->chunk_count);
    seal(out, TTP_FOOTER_HASH_AT);
}

ttape_status ttp_footer_read(const uint8_t data[TTP_FOOTER_BYTES], uint64_t offset,
                             struct ttp_footer *out, ttape_error *err)
{
    if (memcmp(data, TTP_FOOTER_MAGIC, TTP_FOOTER_MAGIC_BYTES) != 0)
        return ttp_fail(err, TTAPE_E_TRUNCATED, "F-FOO-01", offset,
                        "no footer at the end of the file");
    if (!sealed(data, TTP_FOOTER_HASH_AT))
        return ttp_fail(err, TTAPE_E_CHECKSUM, "F-FOO-02", offset,
                        "checksum of the footer does not match");
    if (!all_zero(data + TTP_FOOTER_RESERVED_AT, TTP_FOOTER_HASH_AT - TTP_FOOTER_RESERVED_AT))
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-FOO-03", offset + TTP_FOOTER_RESERVED_AT,
                        "reserved bytes of the footer are set");
    struct ttp_footer footer = {ttp_load64(data + TTP_FOOTER_INDEX_AT),
                                ttp_load64(data + TTP_FOOTER_FILE_BYTES_AT),
                                ttp_load64(data + TTP_FOOTER_CHUNKS_AT)};
    if (footer.file_bytes != offset + TTP_FOOTER_BYTES)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-FOO-04", offset + TTP_FOOTER_FILE_BYTES_AT,
                        "footer says %llu bytes, the file has %llu",
                        (unsigned long long)footer.file_bytes,
                        (unsigned long long)(offset + TTP_FOOTER_BYTES));
    if (footer.index_offset < TTP_FILE_HEADER_BYTES ||
        footer.index_offset > offset - TTP_CHUNK_HEADER_BYTES)
        return ttp_fail(err, TTAPE_E_CORRUPT, "F-FOO-05", offset + TTP_FOOTER_INDEX_AT,
                        "footer names an index outside of the file");
    *out = footer;
    return TTAPE_OK;
}

static const char *const kind_names[] = {
    [0] = "unknown",
    [TTP_CHUNK_METADATA] = "metadata",
    [TTP_CHUNK_SITES] = "site table",
    [TTP_CHUNK_STREAMS] = "stream table",
    [TTP_CHUNK_PARTITION] = "partition",
    [TTP_CHUNK_MODEL] = "model",
    [TTP_CHUNK_INDEX] = "index",
    [TTP_CHUNK_PATHS] = "path table",
    [TTP_CHUNK_VALUE_NAMES] = "value names",
    [TTP_CHUNK_OVERVIEW] = "overview",
};

bool ttp_chunk_kind_known(uint16_t kind)
{
    return kind != 0 && kind < sizeof kind_names / sizeof kind_names[0];
}

const char *ttp_chunk_kind_name(uint16_t kind)
{
    return kind_names[ttp_chunk_kind_known(kind) ? kind : 0];
}
