/* Broken metadata, site tables and stream tables. Tables are spelled out by hand: the base has
 * module 0, file 0, sites 0 .. 2, process 0 and streams 0 .. 1. */
#include <string.h>

#include "invalid_vectors.h"

static struct ttest_bytes *metadata(struct ttest_file *file)
{
    struct ttest_chunk *chunk = ttest_insert_chunk(file, 1);
    chunk->head.kind = TTP_CHUNK_METADATA;
    return &chunk->content;
}

/* A second metadata chunk with these bytes. */
#define CBOR(name, bytes)                                                                          \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        ttest_put(metadata(file), bytes, sizeof(bytes) - 1);                                       \
    }

CBOR(cbor_array, "\x81\x01")
CBOR(cbor_trailing, "\xa0\x00")
CBOR(cbor_number_key, "\xa1\x01\x01")
CBOR(cbor_cut, "\xa1\x61"
               "a\x63"
               "b")
CBOR(cbor_reserved, "\xa1\x61"
                    "a\x1c")
CBOR(cbor_lone_break, "\xa1\x61"
                      "a\xff")
CBOR(cbor_twice, "\xa2\x61"
                 "a\x01\x61"
                 "a\x02")
CBOR(cbor_odd_map, "\xbf\x61"
                   "a\xff")
CBOR(cbor_mixed_string, "\xa1\x61"
                        "a\x7f\x41"
                        "b\xff")
CBOR(cbor_huge_map, "\xbb\xff\xff\xff\xff\xff\xff\xff\xff")
CBOR(cbor_huge_array, "\xa1\x61"
                      "a\x9a\xff\xff\xff\xff")
CBOR(cbor_huge_text, "\xa1\x61"
                     "a\x7b\xff\xff\xff\xff\xff\xff\xff\xff")

static void cbor_empty(struct ttest_file *file) { (void)metadata(file); }

static void cbor_deep(struct ttest_file *file)
{
    struct ttest_bytes *to = metadata(file);
    ttest_put(to,
              "\xa1\x61"
              "a",
              3);
    for (uint32_t i = 0; i < 16; i++)
        ttest_put8(to, i == 15 ? 0x80 : 0x81);
}

static void cbor_very_deep(struct ttest_file *file)
{
    struct ttest_bytes *to = metadata(file);
    ttest_put(to,
              "\xa1\x61"
              "a",
              3);
    for (uint32_t i = 0; i < 2000; i++)
        ttest_put8(to, i % 2 == 0 ? 0x9f : 0x81);
}

static void cbor_packed(struct ttest_file *file)
{
    ttest_put(metadata(file),
              "\xa1\x61"
              "a\x61"
              "b",
              5);
    file->chunks[1].packed = true;
}

static void no_trace_id(struct ttest_file *file)
{
    struct ttest_bytes *to = &file->chunks[0].content;
    to->size = 0;
    ttest_put(to,
              "\xa1\x61"
              "a\x01",
              4);
}

static void short_trace_id(struct ttest_file *file)
{
    struct ttest_bytes *to = &file->chunks[0].content;
    to->size = 0;
    ttest_put(to,
              "\xa1\x68trace_id\x4f"
              "123456789012345",
              26);
}

static void text_trace_id(struct ttest_file *file)
{
    struct ttest_bytes *to = &file->chunks[0].content;
    to->size = 0;
    ttest_put(to,
              "\xa1\x68trace_id\x70"
              "1234567890123456",
              27);
}

static struct ttest_bytes *another(struct ttest_file *file, uint16_t kind)
{
    struct ttest_chunk *chunk = ttest_insert_chunk(file, 3);
    chunk->head.kind = kind;
    return &chunk->content;
}

/* One more site table (ids from module 1, file 1, site 3 on) or stream table (process 1, stream 2)
 * with these bytes. */
#define SITES(name, bytes)                                                                         \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        ttest_put(another(file, TTP_CHUNK_SITES), bytes, sizeof(bytes) - 1);                       \
    }
#define STREAMS(name, bytes)                                                                       \
    static void name(struct ttest_file *file)                                                      \
    {                                                                                              \
        ttest_put(another(file, TTP_CHUNK_STREAMS), bytes, sizeof(bytes) - 1);                     \
    }

/* first, count: modules, files, sites | rows | kind, module + 1, address, file + 1, line, symbol */
SITES(site_cut_ranges, "\1\0\1")
SITES(site_hole, "\1\0\1\0\4\1\0\0\0\0\0\0")
SITES(site_again, "\1\0\1\0\2\1\0\0\0\0\0\0")
SITES(module_hole, "\2\1\1\0\3\0\0\0\0\0\0")
SITES(file_hole, "\1\0\0\1\3\0\1f")
SITES(site_count, "\1\0\1\0\3\x20\0\0\0\0\0\0")
SITES(site_huge_count, "\1\0\1\0\3\xff\xff\xff\7\0\0\0\0\0\0")
SITES(site_overlong, "\1\0\1\0\3\x81\0\0\0\0\0\0\0")
SITES(site_string, "\1\0\1\0\3\1\0\0\0\0\0\5abc")
SITES(file_string, "\1\0\1\1\3\0\x7f"
                   "abc")
SITES(module_process, "\1\1\1\0\3\0\0\0\x81\x80\x80\x08\0\0")
SITES(module_size, "\1\1\1\0\3\0\2\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0")
SITES(site_kind, "\1\0\1\0\3\1\x80\x80\4\0\0\0\0\0")
SITES(site_line, "\1\0\1\0\3\1\0\0\0\0\x80\x80\x80\x80\x10\0")
SITES(site_varint, "\1\0\1\0\3\1\0\0\x80\0\0\0\0")
SITES(site_long_varint, "\1\0\1\0\3\1\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\2\0\0\0")
SITES(site_trailing, "\1\0\1\0\3\1\0\0\0\0\0\0\0")
SITES(site_module, "\1\0\1\0\3\1\0\2\0\0\0\0")
SITES(site_file, "\1\0\1\0\3\1\0\0\0\2\0\0")
SITES(module_no_process, "\1\1\1\0\3\0\0\0\2\0\0")
STREAMS(process_hole, "\2\1\5\0\0\0\2\0")
STREAMS(stream_hole, "\1\0\3\1\0\5\0\0")
STREAMS(stream_count, "\1\0\2\x40\0\5\0\0")
STREAMS(stream_string, "\1\0\2\1\0\5\0\x7f"
                       "abc")
STREAMS(process_parent_id, "\1\1\5\x81\x80\x80\x08\0\0\2\0")
STREAMS(process_parent, "\1\1\5\7\0\0\2\0")
STREAMS(stream_process, "\1\0\2\1\1\5\0\0")
STREAMS(stream_trailing, "\1\0\2\1\0\5\0\0\0")

static void long_string(struct ttest_file *file)
{
    struct ttest_bytes *to = another(file, TTP_CHUNK_SITES);
    ttest_put(to, "\1\0\1\0\3\1\0\0\0\0\0", 11);
    ttest_put_varint(to, (1u << 20) + 1);
    for (uint32_t i = 0; i <= 1u << 20; i++)
        ttest_put8(to, 'a');
    file->chunks[3].packed = true;
}

#define C    TTAPE_E_CORRUPT
#define NONE TTEST_REFUSED

static const struct ttest_break metadata_breaks[] = {
    {"met-01-empty", "F-MET-01", C, NONE, "metadata without a byte", cbor_empty, NULL},
    {"met-01-array", "F-MET-01", C, NONE, "an array in place of the map", cbor_array, NULL},
    {"met-01-trailing", "F-MET-01", C, NONE, "a second item", cbor_trailing, NULL},
    {"met-01-key", "F-MET-01", C, NONE, "a key that is a number", cbor_number_key, NULL},
    {"met-01-cut", "F-MET-01", C, NONE, "a text that is cut off", cbor_cut, NULL},
    {"met-01-reserved", "F-MET-01", C, NONE, "a reserved additional information", cbor_reserved,
     NULL},
    {"met-01-break", "F-MET-01", C, NONE, "a break outside of anything indefinite", cbor_lone_break,
     NULL},
    {"met-01-twice", "F-MET-01", C, NONE, "a key twice in one map", cbor_twice, NULL},
    {"met-01-odd", "F-MET-01", C, NONE, "an indefinite map with a key and no value", cbor_odd_map,
     NULL},
    {"met-01-mixed", "F-MET-01", C, NONE, "a byte string inside an indefinite text",
     cbor_mixed_string, NULL},
    {"met-01-huge-map", "F-MET-01", C, NONE, "a map of 2^64 - 1 pairs", cbor_huge_map, NULL},
    {"met-01-huge-array", "F-MET-01", C, NONE, "an array of 2^32 - 1 items", cbor_huge_array, NULL},
    {"met-01-huge-text", "F-MET-01", C, NONE, "a text of 2^64 - 1 bytes", cbor_huge_text, NULL},
    {"met-01-deep", "F-MET-01", TTAPE_E_LIMIT, NONE, "17 levels deep", cbor_deep, NULL},
    {"met-01-very-deep", "F-MET-01", TTAPE_E_LIMIT, NONE,
     "2,001 levels deep, half of them indefinite", cbor_very_deep, NULL},
    {"met-01-packed", "F-MET-01", C, NONE, "metadata is compressed", cbor_packed, NULL},
    {"met-02-missing", "F-MET-02", C, NONE, "the first metadata has no trace id", no_trace_id,
     NULL},
    {"met-02-short", "F-MET-02", C, NONE, "a trace id of 15 bytes", short_trace_id, NULL},
    {"met-02-text", "F-MET-02", C, NONE, "a trace id that is a text", text_trace_id, NULL},
};

static const struct ttest_break table_breaks[] = {
    {"sit-02-cut", "F-SIT-02", C, NONE, "ends inside its ranges", site_cut_ranges, NULL},
    {"sit-02-hole", "F-SIT-02", C, NONE, "site ids leave one out", site_hole, NULL},
    {"sit-02-again", "F-SIT-02", C, NONE, "a site id is defined again", site_again, NULL},
    {"sit-02-modules", "F-SIT-02", C, NONE, "module ids leave one out", module_hole, NULL},
    {"sit-02-files", "F-SIT-02", C, NONE, "file ids start over", file_hole, NULL},
    {"sit-02-processes", "F-SIT-02", C, NONE, "process ids leave one out", process_hole, NULL},
    {"sit-02-streams", "F-SIT-02", C, NONE, "stream ids leave one out", stream_hole, NULL},
    {"sit-02-count", "F-SIT-02", C, NONE, "more sites than bytes", site_count, NULL},
    {"sit-02-huge", "F-SIT-02", C, NONE, "2^24 - 1 sites in a few bytes", site_huge_count, NULL},
    {"sit-02-stream-count", "F-SIT-02", C, NONE, "more streams than bytes", stream_count, NULL},
    {"num-02-count", "F-SIT-02", C, NONE, "a varint in two bytes that fits one (F-NUM-02)",
     site_overlong, NULL},
    {"num-02-address", "F-SIT-07", C, NONE, "a svarint in two bytes that fits one (F-NUM-02)",
     site_varint, NULL},
    {"num-02-long", "F-SIT-07", C, NONE, "a varint above 64 bits (F-NUM-02)", site_long_varint,
     NULL},
    {"sit-03-symbol", "F-SIT-03", C, NONE, "a symbol is longer than its table", site_string, NULL},
    {"sit-03-file", "F-SIT-03", C, NONE, "a file name is longer than its table", file_string, NULL},
    {"sit-03-stream", "F-SIT-03", C, NONE, "a stream's name is longer than its table",
     stream_string, NULL},
    {"sit-04-long", "F-SIT-04", TTAPE_E_LIMIT, NONE, "a symbol of 2^20 + 1 bytes", long_string,
     NULL},
    {"sit-05-module", "F-SIT-05", C, NONE, "a module's process id is 2^24", module_process, NULL},
    {"sit-05-parent", "F-SIT-05", C, NONE, "a process' parent id is 2^24", process_parent_id, NULL},
    {"sit-06-size", "F-SIT-06", C, NONE, "a module that ends past 2^64", module_size, NULL},
    {"sit-07-kind", "F-SIT-07", C, NONE, "a site kind of 2^16", site_kind, NULL},
    {"sit-07-line", "F-SIT-07", C, NONE, "a line of 2^32", site_line, NULL},
    {"sit-08-trailing", "F-SIT-08", C, NONE, "a byte behind the last symbol", site_trailing, NULL},
    {"sit-09-module", "F-SIT-09", C, NONE, "a site's module is not defined", site_module, NULL},
    {"sit-09-file", "F-SIT-09", C, NONE, "a site's file is not defined", site_file, NULL},
    {"sit-09-process", "F-SIT-09", C, NONE, "a module's process is not defined", module_no_process,
     NULL},
    {"sit-09-parent", "F-SIT-09", C, NONE, "a process' parent is not defined", process_parent,
     NULL},
    {"str-01-trailing", "F-STR-01", C, NONE, "a byte behind the last stream", stream_trailing,
     NULL},
    {"str-02-process", "F-STR-02", C, NONE, "a stream's process is not defined", stream_process,
     NULL},
};

void ttest_make_invalid_definitions(const struct ttest_output *out)
{
    ttest_emit_breaks(out, metadata_breaks, sizeof metadata_breaks / sizeof metadata_breaks[0],
                      true);
    ttest_emit_breaks(out, table_breaks, sizeof table_breaks / sizeof table_breaks[0], true);
}
