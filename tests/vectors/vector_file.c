/* Taking files apart and writing them. Partitions are in vector_partition.c. */
#include "vector_file.h"

#include <string.h>
#include <zstd.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "vector_partition.h"

static struct ttest_bytes unpacked(const uint8_t *data, const struct ttp_chunk *head)
{
    struct ttest_bytes content = {0};
    if ((head->flags & TTP_FLAG_ZSTD) == 0) {
        ttest_put(&content, data, (size_t)head->stored_bytes);
        return content;
    }
    content.data = ttest_take((size_t)head->content_bytes + 1);
    content.size = content.capacity = (size_t)head->content_bytes;
    size_t size = ZSTD_decompress(content.data, content.size, data, (size_t)head->stored_bytes);
    ttest_require(size == content.size, "a chunk of our writer does not decompress");
    return content;
}

struct ttest_file *ttest_file_parse(const struct ttest_bytes *bytes, bool raw)
{
    struct ttest_file *file = ttest_take(sizeof *file);
    ttape_error err = {0};
    uint64_t at = TTP_FILE_HEADER_BYTES, end = bytes->size - TTP_FOOTER_BYTES;
    ttest_require(ttp_file_header_read(bytes->data, bytes->size, &file->header, &err) == TTAPE_OK,
                  err.message);
    while (at < end) {
        struct ttp_chunk head;
        ttest_require(ttp_chunk_read(bytes->data + at, at, &head, &err) == TTAPE_OK, err.message);
        const uint8_t *payload = bytes->data + at + TTP_CHUNK_HEADER_BYTES;
        at += TTP_CHUNK_HEADER_BYTES + head.stored_bytes;
        if (head.kind == TTP_CHUNK_INDEX && at == end)
            break;
        ttest_require(file->chunk_count < TTEST_MAX_CHUNKS, "too many chunks");
        struct ttest_chunk *chunk = &file->chunks[file->chunk_count++];
        chunk->head.kind = head.kind;
        chunk->head.scope = head.scope;
        chunk->head.flags = head.flags & TTP_FLAG_CRITICAL;
        chunk->packed = (head.flags & TTP_FLAG_ZSTD) != 0;
        chunk->content = unpacked(payload, &head);
        if (head.kind == TTP_CHUNK_PARTITION)
            chunk->partition = ttest_partition_parse(&chunk->content, raw);
    }
    return file;
}

static void write_chunk(struct ttest_file *file, struct ttest_chunk *chunk, uint64_t sequence,
                        uint64_t last_index, struct ttest_bytes *out)
{
    uint8_t block[TTP_CHUNK_HEADER_BYTES];
    struct ttest_bytes payload = chunk->content;
    (void)file;
    if (chunk->partition != NULL)
        payload = chunk->content = ttest_partition_write(chunk->partition);
    chunk->head.content_bytes = chunk->content.size;
    if (chunk->packed) {
        payload = ttest_pack(&chunk->content);
        chunk->head.flags |= TTP_FLAG_ZSTD;
    }
    if (chunk->stored.size != 0)
        payload = chunk->stored;
    if (chunk->content_bytes != 0)
        chunk->head.content_bytes = chunk->content_bytes;
    chunk->head.stored_bytes = payload.size;
    chunk->head.sequence = sequence;
    chunk->head.last_index = last_index;
    chunk->head.payload_hash = ttp_checksum(payload.data, payload.size);
    chunk->offset = out->size;
    ttp_chunk_write(&chunk->head, block);
    ttest_put(out, block, sizeof block);
    ttest_put(out, payload.data, payload.size);
}

static void write_footer(const struct ttest_file *file, uint64_t chunk_count,
                         struct ttest_bytes *out)
{
    uint8_t block[TTP_FOOTER_BYTES];
    struct ttp_footer footer = {file->index_offset, out->size + TTP_FOOTER_BYTES, chunk_count};
    ttp_footer_write(&footer, block);
    ttest_put(out, block, sizeof block);
}

struct ttest_bytes ttest_file_write(struct ttest_file *file)
{
    struct ttest_bytes out = {0};
    uint8_t block[TTP_FILE_HEADER_BYTES];
    uint64_t sequence = 0, last_index = 0;
    ttp_file_header_write(&file->header, block);
    ttest_put(&out, block, sizeof block);
    for (uint32_t i = 0; i < file->chunk_count; i++) {
        struct ttest_chunk *chunk = &file->chunks[i];
        sequence += chunk->skipped_sequence;
        if (chunk->head.kind == TTP_CHUNK_INDEX && chunk->content.size == 0)
            chunk->content = ttest_index_content(file, i);
        write_chunk(file, chunk, sequence++, last_index, &out);
        if (chunk->head.kind == TTP_CHUNK_INDEX)
            last_index = chunk->offset;
    }
    if (file->unfinished)
        return out;
    struct ttest_chunk index = {.head = {.kind = TTP_CHUNK_INDEX}};
    index.content =
        file->fixed_index ? file->index_content : ttest_index_content(file, file->chunk_count);
    write_chunk(file, &index, sequence++, last_index, &out);
    file->index_offset = index.offset;
    file->footer_offset = out.size;
    write_footer(file, sequence, &out);
    return out;
}

static void put_partition_entry(struct ttp_writer_cursor *c, struct ttp_index_state *state,
                                const struct ttest_chunk *chunk, uint64_t next[][TTEST_MAX_ITEMS])
{
    const struct ttest_partition *p = chunk->partition;
    struct ttp_index_entry entry = ttest_partition_entry(p);
    struct ttp_index_segment before = {.stream = UINT32_MAX};
    entry.scope = chunk->head.scope;
    entry.stored_bytes = chunk->head.stored_bytes;
    if (p->edit_entry != NULL)
        p->edit_entry(&entry);
    ttp_index_entry_write(c, state, &entry);
    for (uint32_t i = 0; i < p->indexed_count; i++) {
        const struct ttp_segment *g = &p->indexed[i];
        struct ttp_index_segment s = {g->stream, g->event_count, g->first_event};
        uint64_t *expected = &next[chunk->head.scope % 4][g->stream % TTEST_MAX_ITEMS];
        ttp_index_segment_write(c, &before, *expected, &s);
        *expected = s.first_event + s.event_count;
        before = s;
    }
}

struct ttest_bytes ttest_index_content(const struct ttest_file *file, uint32_t count)
{
    size_t room = 64 + (size_t)count * (TTP_INDEX_ENTRY_BOUND + TTEST_MAX_ITEMS * 30);
    uint64_t next[4][TTEST_MAX_ITEMS] = {{0}};
    struct ttest_bytes content = {ttest_take(room), 0, room};
    struct ttp_writer_cursor c = ttp_writer_cursor_init(content.data, room);
    struct ttp_index_state state = {0};
    ttp_write_varint(&c, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ttest_chunk *chunk = &file->chunks[i];
        struct ttp_index_entry entry = {.kind = chunk->head.kind,
                                        .scope = chunk->head.scope,
                                        .stored_bytes = chunk->head.stored_bytes};
        if (chunk->partition != NULL)
            put_partition_entry(&c, &state, chunk, next);
        else
            ttp_index_entry_write(&c, &state, &entry);
    }
    content.size = ttp_written(&c);
    return content;
}

struct ttest_chunk *ttest_chunk_of(struct ttest_file *file, uint16_t kind, uint32_t n)
{
    for (uint32_t i = 0; i < file->chunk_count; i++)
        if (file->chunks[i].head.kind == kind && n-- == 0)
            return &file->chunks[i];
    ttest_require(0, "no such chunk");
    return NULL;
}

struct ttest_chunk *ttest_insert_chunk(struct ttest_file *file, uint32_t at)
{
    ttest_require(file->chunk_count < TTEST_MAX_CHUNKS && at <= file->chunk_count,
                  "too many chunks");
    memmove(&file->chunks[at + 1], &file->chunks[at],
            (file->chunk_count - at) * sizeof file->chunks[0]);
    file->chunk_count++;
    file->chunks[at] = (struct ttest_chunk){0};
    return &file->chunks[at];
}

struct ttest_partition *ttest_partition_of(struct ttest_file *file, uint32_t n)
{
    return ttest_chunk_of(file, TTP_CHUNK_PARTITION, n)->partition;
}

void ttest_reseal(struct ttest_bytes *file, uint64_t block, uint64_t hash_at)
{
    ttp_store64(file->data + block + hash_at, ttp_checksum(file->data + block, (size_t)hash_at));
}

void ttest_reseal_payload(struct ttest_bytes *file, uint64_t chunk)
{
    uint8_t *header = file->data + chunk;
    uint64_t stored = ttp_load64(header + TTP_CHUNK_STORED_AT);
    ttp_store64(header + TTP_CHUNK_PAYLOAD_HASH_AT,
                ttp_checksum(header + TTP_CHUNK_HEADER_BYTES, (size_t)stored));
    ttest_reseal(file, chunk, TTP_CHUNK_HASH_AT);
}

void ttest_reseal_head(struct ttest_bytes *file, uint64_t chunk, uint32_t section_count)
{
    uint8_t *head = file->data + chunk + TTP_CHUNK_HEADER_BYTES;
    ttp_store64(head + TTP_HEAD_HASH_AT,
                ttp_checksum(head + TTP_HEAD_SECTIONS_AT,
                             ttp_partition_head_bytes(section_count) - TTP_HEAD_SECTIONS_AT));
    ttest_reseal_payload(file, chunk);
}
