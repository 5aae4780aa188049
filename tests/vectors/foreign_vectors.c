/* Valid files that our writer never makes: what other writers may do, and what later versions may
 * add. */
#include "base_trace.h"
#include "vectors.h"

#include <string.h>

#include "format/container/measures/overview.h"

static struct ttest_file *base(const char *name, const char *notes, struct ttest_expectation *e)
{
    return ttest_base(name, "foreign", notes, e);
}

static void emit(const struct ttest_output *out, const struct ttest_expectation *e,
                 struct ttest_file *file)
{
    struct ttest_bytes bytes = ttest_file_write(file);
    ttest_emit(out, e, &bytes);
}

static struct ttest_chunk *insert(struct ttest_file *file, uint32_t at, uint16_t kind,
                                  const char *content)
{
    struct ttest_chunk *chunk = ttest_insert_chunk(file, at);
    chunk->head.kind = kind;
    if (content != NULL)
        ttest_put_text(&chunk->content, content);
    return chunk;
}

static void make_chunks(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = base("raw", "raw order and raw times, nothing compressed", &e);
    for (uint32_t i = 0; i < file->chunk_count; i++)
        file->chunks[i].packed = false;
    emit(out, &e, file);

    file = base("unknown-chunk",
                "chunks of an unknown optional kind, at every place, one empty, one "
                "compressed",
                &e);
    insert(file, 0, 77, "before the first scope");
    insert(file, 3, 78, "between");
    insert(file, 5, 79, "zeros and zeros and zeros and zeros and zeros")->packed = true;
    insert(file, file->chunk_count, 80, "");
    emit(out, &e, file);

    file = base("private-chunk", "a private chunk (kind 0x8001)", &e);
    insert(file, 2, TTP_CHUNK_PRIVATE + 1, "mine");
    emit(out, &e, file);

    file = base("packed", "everything that may be compressed is, also where that does not pay", &e);
    for (uint32_t i = 0; i < file->chunk_count; i++) {
        uint16_t kind = file->chunks[i].head.kind;
        file->chunks[i].packed = kind == TTP_CHUNK_SITES || kind == TTP_CHUNK_STREAMS;
    }
    for (uint32_t n = 0; n < 2; n++)
        for (uint32_t i = 0; i < ttest_partition_of(file, n)->section_count; i++)
            ttest_partition_of(file, n)->sections[i].packed = true;
    emit(out, &e, file);

    file = base("minor-version", "minor version 7, which a reader of 1.0 may read", &e);
    file->header.minor = 7;
    insert(file, 4, 100, "what minor 7 added");
    ttest_put_text(&ttest_insert_section(ttest_partition_of(file, 1), 500)->content, "and here");
    emit(out, &e, file);
}

/* Our writer takes at most 255, and nothing in the format says so. */
static void make_many_values(const struct ttest_output *out)
{
    enum { MANY = 5000 };
    static const uint8_t head[] = {1, MANY % 128 + 128, MANY / 128, 0,
                                   0, MANY % 128 + 128, MANY / 128};
    static uint8_t bytes[sizeof head + 2 * MANY];
    struct ttest_expectation e;
    struct ttest_file *file = base("many-values", "an event with 5,000 values", &e);
    memcpy(bytes, head, sizeof head);
    for (uint32_t i = 0; i < MANY; i++)
        bytes[sizeof head + MANY + i] = i % 128; /* types are 0: unsigned */
    ttest_put(&ttest_insert_section(ttest_partition_of(file, 0), TTP_SECTION_VALUES)->content,
              bytes, sizeof bytes);
    emit(out, &e, file);
}

static void make_ends(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = base("unfinished",
                                   "no index and no footer: valid, not complete "
                                   "(F-FOO-06)",
                                   &e);
    file->unfinished = true;
    e.status = TTAPE_E_TRUNCATED;
    e.rule = "F-FOO-06";
    emit(out, &e, file);

    file = base("early-index-only", "an index after the first partition, no footer", &e);
    insert(file, file->chunk_count - 1, TTP_CHUNK_INDEX, NULL);
    file->unfinished = true;
    e.status = TTAPE_E_TRUNCATED;
    e.rule = "F-FOO-06";
    emit(out, &e, file);

    file = base("early-indexes", "an index after every chunk, and one at the end", &e);
    for (uint32_t i = file->chunk_count; i > 0; i--)
        insert(file, i, TTP_CHUNK_INDEX, NULL);
    emit(out, &e, file);

    file =
        base("definitions-at-end", "an unused stream and metadata behind the last partition", &e);
    struct ttest_chunk *chunk = insert(file, file->chunk_count, TTP_CHUNK_STREAMS, NULL);
    ttest_put(&chunk->content, "\1\0\2\1\0\146\0\0", 8); /* stream 2: process 0, tid 102 */
    insert(file, file->chunk_count, TTP_CHUNK_METADATA,
           "\xa1"
           "\x65"
           "clock"
           "\x63"
           "tsc");
    e.stream_count = 3;
    emit(out, &e, file);
}

static void make_metadata(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = base("metadata-kinds",
                                   "unknown keys with values of every CBOR type, "
                                   "nested 15 levels deep, indefinite lengths, keys not sorted",
                                   &e);
    static const char items[] =
        "\xbf" /* map, indefinite */
        "\x61z"
        "\x83\x01\x20\xf5" /* "z": [1, -1, true] */
        "\x61y"
        "\xa1\x01\xa1\x61"
        "a\xf6" /* "y": {1: {"a": null}} */
        "\x61x"
        "\x7f\x62"
        "ab\x61"
        "c\xff" /* "x": (_ "ab", "c") */
        "\x61w"
        "\x5f\x41\x00\x41\x01\xff" /* "w": (_ h'00', h'01') */
        "\x61v"
        "\xc1\x1a\x00\x00\x00\x05" /* "v": 1(5), a tag; not in the shortest form */
        "\x61u"
        "\xf9\x3c\x00" /* "u": 1.0, half precision */
        "\x61t"
        "\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00" /* "t": 1.0, double */
        "\x61s"
        "\x1b\xff\xff\xff\xff\xff\xff\xff\xff" /* "s": 2^64 - 1 */
        "\x61r"
        "\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x80"
        "\x60"
        "\x60" /* "": "" */
        "\xff";
    struct ttest_chunk *chunk = insert(file, 1, TTP_CHUNK_METADATA, NULL);
    ttest_put(&chunk->content, items, sizeof items - 1);
    emit(out, &e, file);

    file = base("metadata-many", "several metadata chunks; the last value of a key stands", &e);
    insert(file, 1, TTP_CHUNK_METADATA,
           "\xa1\x61"
           "a\x01");
    insert(file, 2, TTP_CHUNK_METADATA,
           "\xa2\x61"
           "a\x02\x61"
           "b\x61"
           "x");
    insert(file, 3, TTP_CHUNK_METADATA, "\xa0");
    insert(file, 6, TTP_CHUNK_METADATA,
           "\xa1\x61"
           "a\x03");
    emit(out, &e, file);
}

/* Puts modules, files and each site into a chunk of its own. */
static void split_sites(struct ttest_file *file)
{
    static const uint8_t addresses[] = {0x80, 0x40, 0xa0, 0x40, 0xc0, 0x40}; /* svarints */
    static const char *const names[] = {"main", "work", "block"};
    uint32_t at = (uint32_t)(ttest_chunk_of(file, TTP_CHUNK_SITES, 0) - file->chunks);
    struct ttest_bytes *c = &file->chunks[at].content;
    c->size = 0;
    ttest_put(c, "\0\1\0\0\0\0", 6); /* one module */
    ttest_put(c, "\x80\x20\x80\x20\1\x09/bin/base\2\x0b\x1d", 18);
    c = &insert(file, at + 1, TTP_CHUNK_SITES, NULL)->content;
    ttest_put(c, "\1\0\0\1\0\0\6base.c", 13); /* one file */
    for (uint8_t i = 0; i < 3; i++) {
        c = &insert(file, at + 2 + i, TTP_CHUNK_SITES, NULL)->content;
        ttest_put(c, "\1\0\1\0", 4);
        ttest_put8(c, i);
        ttest_put8(c, 1);
        ttest_put8(c, i == TTEST_BASE_BLOCK ? TTAPE_SITE_BLOCK : TTAPE_SITE_FUNCTION);
        ttest_put8(c, 1);
        ttest_put(c, addresses + 2 * i, 2);
        ttest_put8(c, 1);
        ttest_put8(c, 3 + i);
        ttest_put8(c, (uint8_t)strlen(names[i]));
        ttest_put_text(c, names[i]);
    }
    c = &insert(file, at + 5, TTP_CHUNK_SITES, NULL)->content;
    ttest_put(c, "\1\0\1\0\3\0", 6); /* nothing */
}

static void make_definitions(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = base("split-definitions",
                                   "the site table in six chunks, one of them "
                                   "empty; an empty stream table",
                                   &e);
    split_sites(file);
    uint32_t at = (uint32_t)(ttest_chunk_of(file, TTP_CHUNK_PARTITION, 0) - file->chunks);
    ttest_put(&insert(file, at, TTP_CHUNK_STREAMS, NULL)->content, "\1\0\2\0", 4);
    emit(out, &e, file);

    file =
        base("process-later", "a module names a process that is defined behind the partitions", &e);
    struct ttest_bytes *c = &ttest_chunk_of(file, TTP_CHUNK_SITES, 0)->content;
    uint8_t *name = memchr(c->data, '/', c->size);
    name[-2] = 2; /* process id + 1 stands before the path's length */
    ttest_put(&insert(file, file->chunk_count, TTP_CHUNK_STREAMS, NULL)->content,
              "\1\1\x0c\1\0\5later\2\0", 13); /* process 1: pid 12, child of 0 */
    emit(out, &e, file);
}

static void make_paths(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = base("paths-twice",
                                   "one path with two ids, a path that leads nowhere, a frame "
                                   "whose site comes behind the site that it led to; an empty "
                                   "path table",
                                   &e);
    uint32_t at = (uint32_t)(ttest_chunk_of(file, TTP_CHUNK_PARTITION, 0) - file->chunks);
    /* paths 1 .. 4 with parents 0, 0, 2, 0; links of sites 0 and 2 */
    ttest_put(&insert(file, at, TTP_CHUNK_PATHS, NULL)->content, "\1\4\1\2\1\4\3\3\2\0\2\0\1\6\3",
              15);
    ttest_put(&insert(file, at + 1, TTP_CHUNK_PATHS, NULL)->content, "\5\0\0", 3);
    emit(out, &e, file);
}

static void make_value_names(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = base("value-names-odd",
                                   "an enumeration twice and of one value twice, one of no "
                                   "constants, names of values that no event has, of none, and a "
                                   "second chunk for a site before; an empty chunk",
                                   &e);
    uint32_t at = (uint32_t)(ttest_chunk_of(file, TTP_CHUNK_PARTITION, 0) - file->chunks);
    ttest_put(&insert(file, at, TTP_CHUNK_VALUE_NAMES, NULL)->content,
              "\3\1E\2\4\1A\0\1B\1E\2\4\1A\0\1B\0\0"
              "\1\1\2\1\1x\6enum E\2\0\0\3\0\0\0",
              41);
    ttest_put(&insert(file, at + 1, TTP_CHUNK_VALUE_NAMES, NULL)->content, "\0\1\0\0\0", 5);
    ttest_put(&insert(file, at + 2, TTP_CHUNK_VALUE_NAMES, NULL)->content, "\0\0", 2);
    emit(out, &e, file);
}

static void make_overview(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = ttest_base_overview(
        false, "overview-parts", "foreign",
        "an overview with a part of an unknown kind, and one without calls", &e);
    struct ttest_chunk *chunk = ttest_chunk_of(file, TTP_CHUNK_OVERVIEW, 0);
    struct ttest_bytes whole = chunk->content;
    struct ttp_overview o;
    ttape_error err = {0};
    ttest_require(ttp_overview_open(whole.data, whole.size, &o, &err) == TTAPE_OK, err.message);
    const uint8_t *summary = o.fields[TTP_OVERVIEW_SUMMARY].data;
    const uint8_t *calls = o.fields[TTP_OVERVIEW_CALLS].data;
    size_t summary_bytes = o.fields[TTP_OVERVIEW_SUMMARY].size_bytes;
    size_t calls_bytes = o.fields[TTP_OVERVIEW_CALLS].size_bytes;
    struct ttest_bytes *without = &insert(file, 5, TTP_CHUNK_OVERVIEW, NULL)->content;
    ttest_put(without, whole.data, (size_t)(summary + summary_bytes - whole.data));
    ttest_put(without, calls + calls_bytes,
              (size_t)(whole.data + whole.size - calls) - calls_bytes);
    chunk = ttest_chunk_of(file, TTP_CHUNK_OVERVIEW, 1);
    ttest_put(&chunk->content, "\x3f\x3new", 5);
    emit(out, &e, file);
}

static void make_partitions(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = base("no-summary", "partitions without their summaries", &e);
    ttest_drop_section(ttest_partition_of(file, 0), TTP_SECTION_SUMMARY);
    ttest_drop_section(ttest_partition_of(file, 1), TTP_SECTION_SUMMARY);
    emit(out, &e, file);

    file =
        base("unknown-section", "sections of unknown optional kinds, one among the light ones", &e);
    ttest_put_text(&ttest_insert_section(ttest_partition_of(file, 1), 9)->content, "light?");
    ttest_insert_section(ttest_partition_of(file, 1), 40);
    ttest_put_text(&ttest_insert_section(ttest_partition_of(file, 1), 65535)->content, "last");
    emit(out, &e, file);

    file = base("empty-values", "values and depths sections that hold nothing", &e);
    ttest_put(&ttest_insert_section(ttest_partition_of(file, 0), TTP_SECTION_VALUES)->content,
              "\0\0\0", 3);
    ttest_put(&ttest_insert_section(ttest_partition_of(file, 0), TTP_SECTION_DEPTHS)->content, "\0",
              1);
    emit(out, &e, file);

    file = ttest_base_untimed("raw-no-times", "foreign", "raw order, no times", &e);
    emit(out, &e, file);
}

/* The same order as the base's second partition with chains that a reader of the literal form must
 * follow: around their end, in part, from inside, by the escape. */
static void make_literal(const struct ttest_output *out)
{
    struct ttest_expectation e;
    struct ttest_file *file = base("odd-chains",
                                   "the literal form with chains that are followed "
                                   "round, left early, and entered in the middle",
                                   &e);
    struct ttest_partition *p = ttest_partition_of(file, 1);
    struct ttest_section *order = ttest_section_of(p, TTP_SECTION_ORDER_RAW);
    struct ttest_bytes header = {0}, data = {0};
    uint32_t width = 1, events = p->head.event_count;
    ttest_require(p->symbol_count <= 64, "codes of one byte");
    ttest_put(&header, order->content.data, order->content.size - events * width);
    /* One chain: codes 3 .. 7 of the first segment, then 0 .. 2; so that it starts inside and goes
     * round. */
    ttest_put_varint(&header, 2);
    ttest_put_varint(&header, 6);
    ttest_put_varint(&header, 1);
    for (uint32_t i = 0; i < 6; i++) {
        int64_t code = p->codes[(i + 3) % 6], before = i == 0 ? 0 : p->codes[(i + 2) % 6];
        if (i == 0)
            ttest_put_varint(&header, (uint64_t)code);
        else
            ttest_put_svarint(&header, code - before);
    }
    ttest_put_varint(&header, p->codes[0]);
    ttest_put_varint(&data, 3 << 1); /* from the middle, one successor: codes 0 and 1 */
    ttest_put8(&data, 0x80);
    ttest_put_varint(&data, 5 << 1); /* the chain's last, then round: codes 2, 3, 4, 5 */
    ttest_put8(&data, 0xe0);
    ttest_put_varint(&data,
                     (7 + p->codes[6]) << 1 | 1); /* chains of one that are not spelled out */
    ttest_put_varint(&data, (7 + p->codes[7]) << 1);
    ttest_put8(&data, 0);
    ttest_drop_section(p, TTP_SECTION_ORDER_RAW);
    ttest_insert_section(p, TTP_SECTION_LITERAL_HEADER)->content = header;
    ttest_insert_section(p, TTP_SECTION_LITERAL_DATA)->content = data;
    emit(out, &e, file);
}

/* Two traces in one file: the second's chunks under scope 1. Streams are numbered through. */
static void make_scopes(const struct ttest_output *out)
{
    struct ttest_expectation e, second;
    struct ttest_file *file = base("two-scopes",
                                   "two traces in one file, chunks interleaved: ids "
                                   "and event numbers start anew in each scope",
                                   &e);
    struct ttest_file *other = ttest_base("other", "foreign", "", &second);
    struct ttest_row *rows = ttest_take(2 * e.row_count * sizeof *rows);
    for (uint32_t i = 0; i < e.row_count; i++) {
        rows[i] = e.rows[i];
        rows[e.row_count + i] = e.rows[i];
        rows[e.row_count + i].stream += e.stream_count;
        rows[i].rank = 2 * e.rows[i].stream; /* both traces have the same threads */
        rows[e.row_count + i].rank = rows[i].rank + 1;
    }
    for (uint32_t i = 0; i < other->chunk_count; i++) {
        struct ttest_chunk *chunk = ttest_insert_chunk(file, 2 * i + 1);
        *chunk = other->chunks[i];
        chunk->head.scope = 1;
        if (chunk->head.kind == TTP_CHUNK_METADATA) {
            uint8_t *id = memchr(chunk->content.data, 0x50, chunk->content.size);
            memset(id + 1, 0x22, TTP_TRACE_ID_BYTES);
        }
    }
    e.rows = rows;
    e.row_count *= 2;
    e.stream_count *= 2;
    e.partition_count *= 2;
    emit(out, &e, file);
}

void ttest_make_foreign_vectors(const struct ttest_output *out)
{
    make_chunks(out);
    make_many_values(out);
    make_ends(out);
    make_metadata(out);
    make_definitions(out);
    make_paths(out);
    make_value_names(out);
    make_overview(out);
    make_partitions(out);
    make_literal(out);
    make_scopes(out);
}
