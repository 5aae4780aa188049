/* Every number that is on disk: offsets, sizes, magic values, kinds. spec/format.md is the
 * authority, spec/registry.md says who may add one.
 *
 *   file      | file header | chunk | chunk | ... | index chunk | footer |
 *   chunk     | chunk header | payload |
 *   payload of a partition chunk
 *             | head | section directory | segments | bases | edges | summary
 *             | order | times | values | depths |
 *
 * Little-endian throughout. Reserved bits and bytes are zero and checked. */
#ifndef TTP_FORMAT_LAYOUT_H
#define TTP_FORMAT_LAYOUT_H

#include <assert.h>
#include <stdint.h>

/* File header, 64 bytes:
 *    0 magic 8    | 8 minor 2     | 10 required minor 2 | 12 flags 4
 *   16 trace id 16
 *   32 reserved 24                                      | 56 hash 8 */
#define TTP_FILE_MAGIC                                                                             \
    "\x89TTAPE1\n" /* a byte above 127, the major version, a line end: text tools keep off */
#define TTP_FILE_MAGIC_BYTES  8u
#define TTP_FILE_MAJOR_AT     6u /* the digit in the magic */
#define TTP_FILE_MINOR_AT     8u
#define TTP_FILE_REQUIRED_AT  10u
#define TTP_FILE_FLAGS_AT     12u
#define TTP_FILE_TRACE_ID_AT  16u
#define TTP_FILE_RESERVED_AT  32u
#define TTP_FILE_HASH_AT      56u
#define TTP_FILE_HEADER_BYTES 64u
#define TTP_TRACE_ID_BYTES    16u
#define TTP_MAJOR_VERSION     1
#define TTP_MINOR_VERSION     1 /* the newest; a file without enters sections has 0 */

/* Chunk header, 64 bytes:
 *    0 sync 8          | 8 kind 2           | 10 flags 2 | 12 scope 4
 *   16 sequence 8      | 24 stored bytes 8
 *   32 content bytes 8 | 40 payload hash 8
 *   48 last index 8    | 56 hash 8 */
#define TTP_CHUNK_SYNC            "\xF3TTchk\xB1\x1A"
#define TTP_CHUNK_SYNC_BYTES      8u
#define TTP_CHUNK_KIND_AT         8u
#define TTP_CHUNK_FLAGS_AT        10u
#define TTP_CHUNK_SCOPE_AT        12u
#define TTP_CHUNK_SEQUENCE_AT     16u
#define TTP_CHUNK_STORED_AT       24u
#define TTP_CHUNK_CONTENT_AT      32u
#define TTP_CHUNK_PAYLOAD_HASH_AT 40u
#define TTP_CHUNK_LAST_INDEX_AT   48u
#define TTP_CHUNK_HASH_AT         56u
#define TTP_CHUNK_HEADER_BYTES    64u

#define TTP_FLAG_ZSTD     1u /* stored bytes are one zstd frame of the content */
#define TTP_FLAG_CRITICAL 2u /* a reader that does not know the kind must not go on without it */
#define TTP_FLAGS_KNOWN   3u

enum ttp_chunk_kind {
    TTP_CHUNK_METADATA = 1,
    TTP_CHUNK_SITES = 2,
    TTP_CHUNK_STREAMS = 3,
    TTP_CHUNK_PARTITION = 4,
    TTP_CHUNK_MODEL = 5,
    TTP_CHUNK_INDEX = 6,
    TTP_CHUNK_PATHS = 7,
    TTP_CHUNK_VALUE_NAMES = 8,
    TTP_CHUNK_OVERVIEW = 9,
    TTP_CHUNK_PRIVATE = 0x8000 /* and above: never given a meaning here */
};

/* Footer, 64 bytes:
 *    0 magic 8       | 8 index offset 8
 *   16 file bytes 8  | 24 chunk count 8
 *   32 reserved 24                      | 56 hash 8 */
#define TTP_FOOTER_MAGIC         "\xE5TTend1\n"
#define TTP_FOOTER_MAGIC_BYTES   8u
#define TTP_FOOTER_INDEX_AT      8u
#define TTP_FOOTER_FILE_BYTES_AT 16u
#define TTP_FOOTER_CHUNKS_AT     24u
#define TTP_FOOTER_RESERVED_AT   32u
#define TTP_FOOTER_HASH_AT       56u
#define TTP_FOOTER_BYTES         64u

/* Partition head, 96 bytes, then the section directory:
 *    0 hash 8          | 8 sections 4         | 12 events 4
 *   16 segments 4      | 20 symbols 4         | 24 given symbols 4 | 28 wide 4
 *   32 model 4         | 36 flags 4           | 40 start frames 4  | 44 new end frames 4
 *   48 resolution 8    | 56 origin 8
 *   64 first tick 8    | 72 end tick 8
 *   80 gaps 4          | 84 reserved 4        | 88 lost events 8 */
#define TTP_HEAD_HASH_AT         0u
#define TTP_HEAD_SECTIONS_AT     8u
#define TTP_HEAD_EVENTS_AT       12u
#define TTP_HEAD_SEGMENTS_AT     16u
#define TTP_HEAD_SYMBOLS_AT      20u
#define TTP_HEAD_GIVEN_AT        24u
#define TTP_HEAD_WIDE_AT         28u
#define TTP_HEAD_MODEL_AT        32u
#define TTP_HEAD_FLAGS_AT        36u
#define TTP_HEAD_START_FRAMES_AT 40u
#define TTP_HEAD_END_FRAMES_AT   44u
#define TTP_HEAD_RESOLUTION_AT   48u
#define TTP_HEAD_ORIGIN_AT       56u
#define TTP_HEAD_FIRST_TICK_AT   64u
#define TTP_HEAD_END_TICK_AT     72u
#define TTP_HEAD_GAPS_AT         80u
#define TTP_HEAD_RESERVED_AT     84u
#define TTP_HEAD_LOST_AT         88u
#define TTP_HEAD_BYTES           96u
#define TTP_NO_MODEL             UINT32_MAX

/* Section directory entry, 24 bytes:
 *    0 kind 2 | 2 flags 2 | 4 stored 4 | 8 content 4 | 12 reserved 4
 *   16 hash 8 */
#define TTP_SECTION_KIND_AT     0u
#define TTP_SECTION_FLAGS_AT    2u
#define TTP_SECTION_STORED_AT   4u
#define TTP_SECTION_CONTENT_AT  8u
#define TTP_SECTION_RESERVED_AT 12u
#define TTP_SECTION_HASH_AT     16u
#define TTP_SECTION_ENTRY_BYTES 24u

/* Section kinds, ascending in a partition. Light ones first: head to summary is one read. */
enum ttp_section_kind {
    TTP_SECTION_SEGMENTS = 1,
    TTP_SECTION_BASES = 2,
    TTP_SECTION_EDGES = 3,
    TTP_SECTION_SUMMARY = 4,
    TTP_SECTION_CHAIN_HEADER = 16, /* order, full form */
    TTP_SECTION_CHAIN_DATA = 17,
    TTP_SECTION_LITERAL_HEADER = 18, /* order, literal form */
    TTP_SECTION_LITERAL_DATA = 19,
    TTP_SECTION_ORDER_RAW = 20,
    TTP_SECTION_TIMES_STATIC = 32,
    TTP_SECTION_TIMES_MIX = 33,
    TTP_SECTION_TIMES_RAW = 34,
    TTP_SECTION_TIMES_PHASE = 35,
    TTP_SECTION_VALUES = 48,
    TTP_SECTION_DEPTHS = 49,
    TTP_SECTION_SWITCHES = 50,
    TTP_SECTION_OWN_TIMES = 51,
    TTP_SECTION_CPU_TIMES = 52,
    TTP_SECTION_INSTANTS = 53,
    TTP_SECTION_ENDS = 54,
    TTP_SECTION_ENTERS = 55
};

static_assert(TTP_FILE_HASH_AT + 8 == TTP_FILE_HEADER_BYTES, "the hash ends the file header");
static_assert(TTP_FILE_RESERVED_AT == TTP_FILE_TRACE_ID_AT + TTP_TRACE_ID_BYTES,
              "no hole before reserved");
static_assert(TTP_CHUNK_HASH_AT + 8 == TTP_CHUNK_HEADER_BYTES, "the hash ends the chunk header");
static_assert(TTP_CHUNK_LAST_INDEX_AT + 8 == TTP_CHUNK_HASH_AT, "no hole before the hash");
static_assert(TTP_FOOTER_HASH_AT + 8 == TTP_FOOTER_BYTES, "the hash ends the footer");
static_assert(TTP_HEAD_LOST_AT + 8 == TTP_HEAD_BYTES, "the lost events end the head");
static_assert(TTP_SECTION_HASH_AT + 8 == TTP_SECTION_ENTRY_BYTES, "the hash ends an entry");

#endif
