/* Taking files apart and putting them together; nothing that is read here is trusted. */
#include "fuzz_file.h"

#include <string.h>
#include <zstd.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"

#define UNPACKED_MAX_BYTES (1u << 20)

struct fuzz_bytes fuzz_pack(const struct fuzz_bytes *content)
{
    size_t bound = ZSTD_compressBound(content->size);
    struct fuzz_bytes packed = {fuzz_take(bound), 0, bound};
    ZSTD_CCtx *context = ZSTD_createCCtx();
    packed.size = ZSTD_compressCCtx(context, packed.data, bound, content->data, content->size, 1);
    (void)ZSTD_freeCCtx(context);
    FUZZ_REQUIRE(!ZSTD_isError(packed.size));
    return packed;
}

bool fuzz_unpack(const uint8_t *data, size_t size_bytes, size_t content_bytes,
                 struct fuzz_bytes *content)
{
    if (content_bytes > UNPACKED_MAX_BYTES)
        return false;
    *content = (struct fuzz_bytes){fuzz_take(content_bytes), content_bytes, content_bytes};
    ZSTD_DCtx *context = ZSTD_createDCtx();
    size_t got = ZSTD_decompressDCtx(context, content->data, content_bytes, data, size_bytes);
    (void)ZSTD_freeDCtx(context);
    return got == content_bytes;
}

static void parse_section(const uint8_t *entry, const uint8_t *stored, struct fuzz_section *to)
{
    uint32_t stored_bytes = ttp_load32(entry + TTP_SECTION_STORED_AT);
    *to = (struct fuzz_section){.kind = ttp_load16(entry + TTP_SECTION_KIND_AT),
                                .flags = ttp_load16(entry + TTP_SECTION_FLAGS_AT),
                                .claimed = ttp_load32(entry + TTP_SECTION_CONTENT_AT),
                                .reserved = ttp_load32(entry + TTP_SECTION_RESERVED_AT)};
    to->packed =
        (to->flags & TTP_FLAG_ZSTD) && fuzz_unpack(stored, stored_bytes, to->claimed, &to->content);
    if (!to->packed)
        to->content = fuzz_copy(stored, stored_bytes);
}

struct fuzz_partition *fuzz_partition_parse(const uint8_t *payload, size_t size_bytes)
{
    if (size_bytes < TTP_HEAD_BYTES)
        return NULL;
    struct fuzz_partition *p = fuzz_take(sizeof *p);
    memcpy(p->head, payload, TTP_HEAD_BYTES);
    p->section_count = ttp_load32(payload + TTP_HEAD_SECTIONS_AT);
    if (p->section_count > TTP_MAX_SECTIONS ||
        ttp_partition_head_bytes(p->section_count) > size_bytes)
        return NULL;
    size_t at = ttp_partition_head_bytes(p->section_count);
    for (uint32_t i = 0; i < p->section_count; i++) {
        const uint8_t *entry = payload + ttp_partition_head_bytes(i);
        uint32_t stored_bytes = ttp_load32(entry + TTP_SECTION_STORED_AT);
        if (stored_bytes > size_bytes - at)
            return NULL;
        parse_section(entry, payload + at, &p->sections[i]);
        at += stored_bytes;
    }
    return at == size_bytes ? p : NULL;
}

struct fuzz_bytes fuzz_partition_write(const struct fuzz_partition *p)
{
    struct fuzz_bytes payload = {0}, sections = {0};
    fuzz_put(&payload, p->head, sizeof p->head);
    for (uint32_t i = 0; i < p->section_count; i++) {
        const struct fuzz_section *from = &p->sections[i];
        struct fuzz_bytes stored = from->packed ? fuzz_pack(&from->content) : from->content;
        bool claims = !from->packed && (from->flags & TTP_FLAG_ZSTD);
        fuzz_put_number(&payload, from->kind, 2);
        fuzz_put_number(&payload, from->flags, 2);
        fuzz_put_number(&payload, stored.size, 4);
        fuzz_put_number(&payload, claims ? from->claimed : from->content.size, 4);
        fuzz_put_number(&payload, from->reserved, 4);
        fuzz_put_number(&payload, ttp_checksum(stored.data, stored.size), 8);
        fuzz_put(&sections, stored.data, stored.size);
    }
    ttp_store32(payload.data + TTP_HEAD_SECTIONS_AT, p->section_count);
    ttp_store64(payload.data + TTP_HEAD_HASH_AT, ttp_checksum(payload.data + TTP_HEAD_SECTIONS_AT,
                                                              payload.size - TTP_HEAD_SECTIONS_AT));
    fuzz_put(&payload, sections.data, sections.size);
    return payload;
}

struct fuzz_section *fuzz_section_of(struct fuzz_partition *p, uint16_t kind)
{
    for (uint32_t i = 0; i < p->section_count; i++)
        if (p->sections[i].kind == kind)
            return &p->sections[i];
    return NULL;
}

struct fuzz_section *fuzz_section_make(struct fuzz_partition *p, uint16_t kind)
{
    struct fuzz_section *found = fuzz_section_of(p, kind);
    uint32_t at = 0;
    if (found != NULL || p->section_count == TTP_MAX_SECTIONS)
        return found;
    while (at < p->section_count && p->sections[at].kind < kind)
        at++;
    memmove(&p->sections[at + 1], &p->sections[at],
            (p->section_count - at) * sizeof p->sections[0]);
    p->section_count++;
    p->sections[at] = (struct fuzz_section){.kind = kind, .content = fuzz_copy("", 0)};
    return &p->sections[at];
}

void fuzz_section_drop(struct fuzz_partition *p, struct fuzz_section *section)
{
    if (section == NULL)
        return;
    size_t at = (size_t)(section - p->sections);
    p->section_count--;
    memmove(section, section + 1, (p->section_count - at) * sizeof *section);
}

static void parse_chunk(struct fuzz_chunk *chunk, const uint8_t *header)
{
    const uint8_t *payload = header + TTP_CHUNK_HEADER_BYTES;
    size_t stored = (size_t)ttp_load64(header + TTP_CHUNK_STORED_AT);
    uint16_t flags = ttp_load16(header + TTP_CHUNK_FLAGS_AT);
    *chunk = (struct fuzz_chunk){.packed = false};
    memcpy(chunk->header, header, sizeof chunk->header);
    uint64_t content = ttp_load64(header + TTP_CHUNK_CONTENT_AT);
    if ((flags & TTP_FLAG_ZSTD) && content <= UNPACKED_MAX_BYTES)
        chunk->packed = fuzz_unpack(payload, stored, (size_t)content, &chunk->content);
    if (!chunk->packed)
        chunk->content = fuzz_copy(payload, stored);
    uint16_t kind = fuzz_chunk_kind(chunk);
    if (kind == TTP_CHUNK_PARTITION || kind == TTP_CHUNK_MODEL)
        chunk->partition = fuzz_partition_parse(chunk->content.data, chunk->content.size);
}

struct fuzz_file *fuzz_file_parse(const uint8_t *data, size_t size_bytes)
{
    size_t at = TTP_FILE_HEADER_BYTES;
    if (size_bytes < at || memcmp(data, TTP_FILE_MAGIC, TTP_FILE_MAJOR_AT) != 0)
        return NULL;
    struct fuzz_file *file = fuzz_take(sizeof *file);
    memcpy(file->header, data, sizeof file->header);
    while (size_bytes - at >= TTP_CHUNK_HEADER_BYTES && file->chunk_count < FUZZ_MAX_CHUNKS &&
           memcmp(data + at, TTP_CHUNK_SYNC, TTP_CHUNK_SYNC_BYTES) == 0) {
        uint64_t stored = ttp_load64(data + at + TTP_CHUNK_STORED_AT);
        if (stored > size_bytes - at - TTP_CHUNK_HEADER_BYTES)
            break;
        parse_chunk(&file->chunks[file->chunk_count++], data + at);
        at += TTP_CHUNK_HEADER_BYTES + (size_t)stored;
    }
    file->has_footer = size_bytes - at == TTP_FOOTER_BYTES &&
                       memcmp(data + at, TTP_FOOTER_MAGIC, TTP_FOOTER_MAGIC_BYTES) == 0;
    if (file->has_footer)
        memcpy(file->footer, data + at, sizeof file->footer);
    else
        file->tail = fuzz_copy(data + at, size_bytes - at);
    return file;
}

static void seal(uint8_t *block, size_t hash_at)
{
    ttp_store64(block + hash_at, ttp_checksum(block, hash_at));
}

static void write_chunk(struct fuzz_file *file, uint32_t number, uint64_t last_index,
                        unsigned fixes, struct fuzz_bytes *out)
{
    struct fuzz_chunk *chunk = &file->chunks[number];
    uint8_t *h = chunk->header;
    if (chunk->partition != NULL)
        chunk->content = fuzz_partition_write(chunk->partition);
    if (fuzz_chunk_kind(chunk) == TTP_CHUNK_INDEX && (fixes & FUZZ_FIX_INDEX))
        chunk->content = fuzz_index_content(file, number);
    struct fuzz_bytes stored = chunk->packed ? fuzz_pack(&chunk->content) : chunk->content;
    uint16_t flags = ttp_load16(h + TTP_CHUNK_FLAGS_AT);
    ttp_store16(h + TTP_CHUNK_FLAGS_AT, (uint16_t)(flags | (chunk->packed ? TTP_FLAG_ZSTD : 0)));
    if (chunk->packed || (flags & TTP_FLAG_ZSTD) == 0)
        ttp_store64(h + TTP_CHUNK_CONTENT_AT, chunk->content.size);
    ttp_store64(h + TTP_CHUNK_STORED_AT, stored.size);
    if (fixes & FUZZ_FIX_SEQUENCE) {
        ttp_store64(h + TTP_CHUNK_SEQUENCE_AT, number);
        ttp_store64(h + TTP_CHUNK_LAST_INDEX_AT, last_index);
    }
    ttp_store64(h + TTP_CHUNK_PAYLOAD_HASH_AT, ttp_checksum(stored.data, stored.size));
    seal(h, TTP_CHUNK_HASH_AT);
    chunk->offset = out->size;
    fuzz_put(out, h, sizeof chunk->header);
    fuzz_put(out, stored.data, stored.size);
}

struct fuzz_bytes fuzz_file_write(struct fuzz_file *file, unsigned fixes)
{
    struct fuzz_bytes out = {0};
    uint64_t last_index = 0;
    seal(file->header, TTP_FILE_HASH_AT);
    fuzz_put(&out, file->header, sizeof file->header);
    for (uint32_t i = 0; i < file->chunk_count; i++) {
        write_chunk(file, i, last_index, fixes, &out);
        if (fuzz_chunk_kind(&file->chunks[i]) == TTP_CHUNK_INDEX)
            last_index = file->chunks[i].offset;
    }
    if (!file->has_footer) {
        fuzz_put(&out, file->tail.data, file->tail.size);
        return out;
    }
    if (fixes & FUZZ_FIX_INDEX) {
        ttp_store64(file->footer + TTP_FOOTER_INDEX_AT, last_index);
        ttp_store64(file->footer + TTP_FOOTER_FILE_BYTES_AT, out.size + TTP_FOOTER_BYTES);
        ttp_store64(file->footer + TTP_FOOTER_CHUNKS_AT, file->chunk_count);
    }
    seal(file->footer, TTP_FOOTER_HASH_AT);
    fuzz_put(&out, file->footer, sizeof file->footer);
    return out;
}
