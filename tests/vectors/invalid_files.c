/* Broken file headers, chunk headers, footers. Chunk 3 is partition 0, chunk 4 partition 1. */
#include <string.h>

#include "format/base/bytes.h"
#include "invalid_vectors.h"

enum { FIRST_CHUNK = 3, SECOND_CHUNK = 4 };

static uint8_t *chunk_at(struct ttest_file *file, struct ttest_bytes *bytes, uint32_t chunk)
{
    return bytes->data + file->chunks[chunk].offset;
}

static void reseal_chunk(struct ttest_file *file, struct ttest_bytes *bytes, uint32_t chunk)
{
    ttest_reseal(bytes, file->chunks[chunk].offset, TTP_CHUNK_HASH_AT);
}

static void break_magic(struct ttest_file *file, struct ttest_bytes *bytes)
{
    (void)file;
    bytes->data[3] ^= 0x20;
}

static void break_magic_end(struct ttest_file *file, struct ttest_bytes *bytes)
{
    (void)file;
    bytes->data[7] = '\r'; /* what a text-mode transfer does */
}

static void break_major(struct ttest_file *file, struct ttest_bytes *bytes)
{
    (void)file;
    bytes->data[TTP_FILE_MAJOR_AT] = '2';
}

static void break_file_hash(struct ttest_file *file, struct ttest_bytes *bytes)
{
    (void)file;
    bytes->data[TTP_FILE_TRACE_ID_AT] ^= 1;
}

static void break_required(struct ttest_file *file)
{
    file->header.minor = file->header.required_minor = 2;
}

static void break_file_flags(struct ttest_file *file, struct ttest_bytes *bytes)
{
    (void)file;
    bytes->data[TTP_FILE_FLAGS_AT] = 1;
    ttest_reseal(bytes, 0, TTP_FILE_HASH_AT);
}

static void break_file_reserved(struct ttest_file *file, struct ttest_bytes *bytes)
{
    (void)file;
    bytes->data[TTP_FILE_HASH_AT - 1] = 1;
    ttest_reseal(bytes, 0, TTP_FILE_HASH_AT);
}

static void break_sync(struct ttest_file *file, struct ttest_bytes *bytes)
{
    chunk_at(file, bytes, SECOND_CHUNK)[0] = 0;
}

static void break_chunk_hash(struct ttest_file *file, struct ttest_bytes *bytes)
{
    chunk_at(file, bytes, SECOND_CHUNK)[TTP_CHUNK_SCOPE_AT] ^= 1;
}

static void break_payload(struct ttest_file *file, struct ttest_bytes *bytes)
{
    chunk_at(file, bytes, SECOND_CHUNK)[TTP_CHUNK_HEADER_BYTES + TTP_HEAD_EVENTS_AT] ^= 1;
}

static void break_metadata_payload(struct ttest_file *file, struct ttest_bytes *bytes)
{
    chunk_at(file, bytes, 0)[TTP_CHUNK_HEADER_BYTES + 20] ^= 1;
}

static void zero_payload(struct ttest_file *file, struct ttest_bytes *bytes)
{
    memset(chunk_at(file, bytes, SECOND_CHUNK) + TTP_CHUNK_HEADER_BYTES, 0, 100);
}

static void zero_chunk(struct ttest_file *file, struct ttest_bytes *bytes)
{
    uint64_t from = file->chunks[FIRST_CHUNK].offset, to = file->chunks[SECOND_CHUNK].offset;
    memset(bytes->data + from, 0, (size_t)(to - from));
}

static void break_chunk_flags(struct ttest_file *file, struct ttest_bytes *bytes)
{
    chunk_at(file, bytes, SECOND_CHUNK)[TTP_CHUNK_FLAGS_AT] |= 4;
    reseal_chunk(file, bytes, SECOND_CHUNK);
}

static void break_plain_size(struct ttest_file *file)
{
    struct ttest_chunk *chunk = ttest_chunk_of(file, TTP_CHUNK_STREAMS, 0);
    chunk->packed = false;
    chunk->content_bytes = chunk->content.size + 1;
}

/* The site table as a zstd frame with something wrong about it. */
static struct ttest_chunk *packed_sites(struct ttest_file *file)
{
    struct ttest_chunk *chunk = ttest_chunk_of(file, TTP_CHUNK_SITES, 0);
    chunk->packed = true;
    chunk->stored = ttest_pack(&chunk->content);
    return chunk;
}

static void lie_longer(struct ttest_file *file)
{
    struct ttest_chunk *chunk = packed_sites(file);
    chunk->content_bytes = chunk->content.size + 1;
}

static void lie_shorter(struct ttest_file *file)
{
    struct ttest_chunk *chunk = packed_sites(file);
    chunk->content_bytes = chunk->content.size - 1;
}

static void not_zstd(struct ttest_file *file)
{
    struct ttest_chunk *chunk = packed_sites(file);
    chunk->stored = ttest_copy(&chunk->content);
}

static void trailing_garbage(struct ttest_file *file)
{
    ttest_put8(&packed_sites(file)->stored, 0);
}

static void cut_frame(struct ttest_file *file) { packed_sites(file)->stored.size--; }

static void two_frames(struct ttest_file *file)
{
    struct ttest_chunk *chunk = ttest_chunk_of(file, TTP_CHUNK_SITES, 0);
    struct ttest_bytes first = ttest_copy(&chunk->content), second = first;
    first.size = 10;
    second.data += 10;
    second.size -= 10;
    packed_sites(file)->stored = ttest_pack(&first);
    second = ttest_pack(&second);
    ttest_put(&chunk->stored, second.data, second.size);
}

static void skippable_frame(struct ttest_file *file)
{
    struct ttest_chunk *chunk = packed_sites(file);
    struct ttest_bytes frame = chunk->stored, stored = {0};
    ttest_put(&stored, "\x50\x2a\x4d\x18\4\0\0\0skip", 12);
    ttest_put(&stored, frame.data, frame.size);
    chunk->stored = stored;
}

/* A frame of one raw block, with its descriptor and window byte given: magic | descriptor | window
 * | block. */
static struct ttest_bytes frame_of(const struct ttest_bytes *content, const char *descriptor,
                                   size_t descriptor_bytes)
{
    struct ttest_bytes frame = {0};
    uint32_t block = (uint32_t)content->size << 3 | 1; /* last, raw */
    ttest_put(&frame, "\x28\xb5\x2f\xfd", 4);
    ttest_put(&frame, descriptor, descriptor_bytes);
    ttest_put8(&frame, (uint8_t)block);
    ttest_put8(&frame, (uint8_t)(block >> 8));
    ttest_put8(&frame, (uint8_t)(block >> 16));
    ttest_put(&frame, content->data, content->size);
    return frame;
}

static void wide_window(struct ttest_file *file)
{
    struct ttest_chunk *chunk = packed_sites(file);
    chunk->stored = frame_of(&chunk->content, "\x00\x90", 2); /* no content size; window 2^28 */
}

static void widest_window(struct ttest_file *file)
{
    struct ttest_chunk *chunk = packed_sites(file);
    chunk->stored = frame_of(&chunk->content, "\x00\xa8", 2); /* window 2^31 */
}

static void dictionary(struct ttest_file *file)
{
    struct ttest_chunk *chunk = packed_sites(file);
    char head[4] = {0x21, 5, 0,
                    0}; /* single segment, dictionary id of a byte, content size of a byte */
    head[2] = (char)chunk->content.size;
    chunk->stored = frame_of(&chunk->content, head, 3);
}

/* A frame that says 128 MiB and is a few bytes: blocks of one repeated byte (128 KiB each). */
static void bomb(struct ttest_file *file)
{
    struct ttest_chunk *chunk = packed_sites(file);
    struct ttest_bytes frame = {0};
    ttest_put(&frame, "\x28\xb5\x2f\xfd\xa0\0\0\0\x08", 9); /* single segment, content size 2^27 */
    for (uint32_t i = 0; i < 1024; i++)
        ttest_put(&frame, i == 1023 ? "\x03\0\x10x" : "\x02\0\x10x", 4);
    chunk->stored = frame;
    chunk->content_bytes = 100;
}

static void huge_content(struct ttest_file *file)
{
    packed_sites(file)->content_bytes = (UINT64_C(1) << 30) + 1;
}

static void jump_sequence(struct ttest_file *file)
{
    file->chunks[SECOND_CHUNK].skipped_sequence = 1;
}

static void critical_chunk(struct ttest_file *file)
{
    struct ttest_chunk *chunk = ttest_insert_chunk(file, SECOND_CHUNK);
    chunk->head.kind = 77;
    chunk->head.flags = TTP_FLAG_CRITICAL;
    ttest_put_text(&chunk->content, "you need this");
}

static void critical_private(struct ttest_file *file)
{
    critical_chunk(file);
    file->chunks[SECOND_CHUNK].head.kind = TTP_CHUNK_PRIVATE;
}

static void unknown_scope(struct ttest_file *file) { file->chunks[SECOND_CHUNK].head.scope = 1; }

static void unknown_scope_sites(struct ttest_file *file)
{
    ttest_chunk_of(file, TTP_CHUNK_SITES, 0)->head.scope = 1;
}

static void scope_before_zero(struct ttest_file *file)
{
    for (uint32_t i = 0; i < file->chunk_count; i++)
        file->chunks[i].head.scope = 1;
}

static void break_footer_magic(struct ttest_file *file, struct ttest_bytes *bytes)
{
    bytes->data[file->footer_offset] = 0;
}

static void patch_footer(struct ttest_file *file, struct ttest_bytes *bytes, uint32_t at,
                         uint64_t value)
{
    ttp_store64(bytes->data + file->footer_offset + at, value);
    ttest_reseal(bytes, file->footer_offset, TTP_FOOTER_HASH_AT);
}

static void break_footer_hash(struct ttest_file *file, struct ttest_bytes *bytes)
{
    bytes->data[file->footer_offset + TTP_FOOTER_CHUNKS_AT] ^= 1;
}

static void break_footer_reserved(struct ttest_file *file, struct ttest_bytes *bytes)
{
    patch_footer(file, bytes, TTP_FOOTER_RESERVED_AT + 16, 1);
}

static void break_footer_bytes(struct ttest_file *file, struct ttest_bytes *bytes)
{
    patch_footer(file, bytes, TTP_FOOTER_FILE_BYTES_AT, bytes->size + 1);
}

static void index_outside(struct ttest_file *file, struct ttest_bytes *bytes)
{
    patch_footer(file, bytes, TTP_FOOTER_INDEX_AT, UINT64_MAX - 63);
}

static void index_in_header(struct ttest_file *file, struct ttest_bytes *bytes)
{
    patch_footer(file, bytes, TTP_FOOTER_INDEX_AT, 0);
}

static void index_is_partition(struct ttest_file *file, struct ttest_bytes *bytes)
{
    patch_footer(file, bytes, TTP_FOOTER_INDEX_AT, file->chunks[SECOND_CHUNK].offset);
}

static void footer_chunks(struct ttest_file *file, struct ttest_bytes *bytes)
{
    patch_footer(file, bytes, TTP_FOOTER_CHUNKS_AT, 5);
}

static void after_footer(struct ttest_file *file, struct ttest_bytes *bytes)
{
    (void)file;
    ttest_put(bytes, "\n", 1);
}

#define CORRUPT  TTAPE_E_CORRUPT
#define CHECKSUM TTAPE_E_CHECKSUM

static const struct ttest_break file_breaks[] = {
    {"fil-01-magic", "F-FIL-01", TTAPE_E_NOT_TRACE, TTEST_REFUSED, "a bit of the magic", NULL,
     break_magic},
    {"fil-01-text-mode", "F-FIL-01", TTAPE_E_NOT_TRACE, TTEST_REFUSED,
     "the magic's line end was converted", NULL, break_magic_end},
    {"fil-02-major", "F-FIL-02", TTAPE_E_VERSION, TTEST_REFUSED, "major version 2", NULL,
     break_major},
    {"fil-04-hash", "F-FIL-04", CHECKSUM, TTEST_REFUSED, "a bit of the trace id", NULL,
     break_file_hash},
    {"fil-05-required", "F-FIL-05", TTAPE_E_VERSION, TTEST_REFUSED,
     "required minor version 2: above that of 1.1", break_required, NULL},
    {"fil-06-flags", "F-FIL-06", CORRUPT, TTEST_REFUSED, "a flag of the file header", NULL,
     break_file_flags},
    {"fil-06-reserved", "F-FIL-06", CORRUPT, TTEST_REFUSED, "a reserved byte of the file header",
     NULL, break_file_reserved},
    {"chk-01-sync", "F-CHK-01", CORRUPT, TTEST_FIRST, "the sync pattern of a partition", NULL,
     break_sync},
    {"chk-01-zeros", "F-CHK-01", CORRUPT, TTEST_SECOND, "a whole partition chunk is zeros", NULL,
     zero_chunk},
    {"chk-02-hash", "F-CHK-02", CHECKSUM, TTEST_FIRST, "a bit of a partition's chunk header", NULL,
     break_chunk_hash},
    {"chk-03-payload", "F-CHK-03", CHECKSUM, TTEST_FIRST, "a bit of a partition's payload", NULL,
     break_payload},
    {"chk-03-zeros", "F-CHK-03", CHECKSUM, TTEST_FIRST, "100 bytes of a payload are zeros", NULL,
     zero_payload},
    {"chk-03-metadata", "F-CHK-03", CHECKSUM, TTEST_REFUSED, "a bit of the metadata", NULL,
     break_metadata_payload},
    {"chk-04-flags", "F-CHK-04", CORRUPT, TTEST_FIRST, "a reserved flag of a chunk", NULL,
     break_chunk_flags},
    {"chk-05-plain", "F-CHK-05", CORRUPT, TTEST_REFUSED,
     "content size differs from the stored size without flag 1", break_plain_size, NULL},
    {"chk-05-longer", "F-CHK-05", CORRUPT, TTEST_REFUSED,
     "one byte less than the content size says", lie_longer, NULL},
    {"chk-05-shorter", "F-CHK-05", CORRUPT, TTEST_REFUSED,
     "one byte more than the content size says", lie_shorter, NULL},
    {"chk-05-no-zstd", "F-CHK-05", CORRUPT, TTEST_REFUSED, "flag 1 and no zstd frame", not_zstd,
     NULL},
    {"chk-05-trailing", "F-CHK-05", CORRUPT, TTEST_REFUSED, "a byte behind the frame",
     trailing_garbage, NULL},
    {"chk-05-cut", "F-CHK-05", CORRUPT, TTEST_REFUSED, "the frame lacks its last byte", cut_frame,
     NULL},
    {"chk-05-two-frames", "F-CHK-05", CORRUPT, TTEST_REFUSED, "two frames", two_frames, NULL},
    {"chk-05-skippable", "F-CHK-05", CORRUPT, TTEST_REFUSED, "a skippable frame before the frame",
     skippable_frame, NULL},
    {"chk-05-window", "F-CHK-05", CORRUPT, TTEST_REFUSED, "a window of 256 MiB", wide_window, NULL},
    {"chk-05-window-max", "F-CHK-05", CORRUPT, TTEST_REFUSED, "a window of 2 GiB", widest_window,
     NULL},
    {"chk-05-dictionary", "F-CHK-05", CORRUPT, TTEST_REFUSED, "a frame that needs a dictionary",
     dictionary, NULL},
    {"chk-05-bomb", "F-CHK-05", CORRUPT, TTEST_REFUSED,
     "a frame of 128 MiB in 4 KiB, announced as 100 bytes", bomb, NULL},
    {"chk-06-size", "F-CHK-06", TTAPE_E_LIMIT, TTEST_REFUSED, "a content size above 2^30",
     huge_content, NULL},
    {"chk-07-jump", "F-CHK-07", CORRUPT, TTEST_REFUSED, "a sequence number is left out",
     jump_sequence, NULL},
    {"chk-08-critical", "F-CHK-08", TTAPE_E_UNSUPPORTED, TTEST_REFUSED,
     "a critical chunk of an unknown kind", critical_chunk, NULL},
    {"chk-08-private", "F-CHK-08", TTAPE_E_UNSUPPORTED, TTEST_REFUSED, "a critical private chunk",
     critical_private, NULL},
    {"chk-09-partition", "F-CHK-09", CORRUPT, TTEST_REFUSED,
     "a partition of a scope that is not introduced", unknown_scope, NULL},
    {"chk-09-sites", "F-CHK-09", CORRUPT, TTEST_REFUSED,
     "a site table of a scope that is not introduced", unknown_scope_sites, NULL},
    {"chk-09-order", "F-CHK-09", CORRUPT, TTEST_REFUSED, "the first scope has number 1",
     scope_before_zero, NULL},
};

static const struct ttest_break footer_breaks[] = {
    {"foo-01-magic", "F-CHK-01", CORRUPT, TTEST_ALL, "a byte of the footer's magic (F-FOO-01)",
     NULL, break_footer_magic},
    {"foo-01-trailing", "F-FOO-04", CORRUPT, TTEST_ALL, "a byte behind the footer", NULL,
     after_footer},
    {"foo-02-hash", "F-FOO-02", CHECKSUM, TTEST_ALL, "a bit of the footer", NULL,
     break_footer_hash},
    {"foo-03-reserved", "F-FOO-03", CORRUPT, TTEST_ALL, "a reserved byte of the footer", NULL,
     break_footer_reserved},
    {"foo-04-bytes", "F-FOO-04", CORRUPT, TTEST_ALL, "the footer says one byte more", NULL,
     break_footer_bytes},
    {"foo-05-outside", "F-FOO-05", CORRUPT, TTEST_ALL, "the index lies at 2^64 - 64", NULL,
     index_outside},
    {"foo-05-header", "F-FOO-05", CORRUPT, TTEST_ALL, "the index lies at 0", NULL, index_in_header},
    {"foo-05-partition", "F-FOO-05", CORRUPT, TTEST_ALL, "the index is a partition", NULL,
     index_is_partition},
    {"foo-05-chunks", "F-FOO-05", CORRUPT, TTEST_ALL, "the footer counts one chunk less", NULL,
     footer_chunks},
};

void ttest_make_invalid_files(const struct ttest_output *out)
{
    ttest_emit_breaks(out, file_breaks, sizeof file_breaks / sizeof file_breaks[0], true);
    ttest_emit_breaks(out, footer_breaks, sizeof footer_breaks / sizeof footer_breaks[0], true);
}
