/* Inputs made to hurt: whatever they claim, the reader refuses them with the rule, in little time
 * and memory. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "format/base/bytes.h"
#include "reader/base/cbor_decoder.h"
#include "reader/base/zstd_decoder.h"
#include "tests/unit/every.h"
#include "tests/unit/test_reader_fixture.h"

static const struct ttest_plan small = {.streams = 2, .events = 260, .partition_events = 90};

/* ---- metadata (R5) ---- */

struct hostile {
    const char *bytes;
    size_t size_bytes;
    ttape_status status;
};
#define BYTES(text, status)                                                                        \
    {                                                                                              \
        text, sizeof(text) - 1, status                                                             \
    }

static const struct hostile metadata[] = {
    BYTES("\xa0", TTAPE_OK),
    BYTES("\xa1\x61\x61\x01", TTAPE_OK),
    BYTES("\xbf\x61\x61\x01\xff", TTAPE_OK),                 /* endless map */
    BYTES("\xa1\x7f\x61\x61\x61\x62\xff\x01", TTAPE_OK),     /* key in pieces */
    BYTES("\xa1\x61\x61\x5f\x41\x00\x41\x01\xff", TTAPE_OK), /* bytes in pieces */
    BYTES("\xa1\x61\x61\xc1\x82\x20\xf6", TTAPE_OK),         /* tag, list, negative, null */
    BYTES("\xa1\x61\x61\xa1\x01\x02", TTAPE_OK),             /* map in a map */
    BYTES("\xa1\x61\x61\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00", TTAPE_OK),
    BYTES("", TTAPE_E_CORRUPT),
    BYTES("\x01", TTAPE_E_CORRUPT), /* no map */
    BYTES("\x81\xa0", TTAPE_E_CORRUPT),
    BYTES("\xa0\x00", TTAPE_E_CORRUPT),             /* goes on */
    BYTES("\xa1\x61\x61", TTAPE_E_CORRUPT),         /* ends early */
    BYTES("\xa1\x01\x01", TTAPE_E_CORRUPT),         /* key is a number */
    BYTES("\xba\xff\xff\xff\xff", TTAPE_E_CORRUPT), /* giant map */
    BYTES("\xbb\xff\xff\xff\xff\xff\xff\xff\xff", TTAPE_E_CORRUPT),
    BYTES("\xa1\x61\x61\x9a\xff\xff\xff\xff", TTAPE_E_CORRUPT), /* giant list */
    BYTES("\xa1\x61\x61\x9b\x7f\xff\xff\xff\xff\xff\xff\xff", TTAPE_E_CORRUPT),
    BYTES("\xa1\x61\x61\x7a\xff\xff\xff\xff", TTAPE_E_CORRUPT), /* giant string */
    BYTES("\xa1\x61\x61\x5b\xff\xff\xff\xff\xff\xff\xff\xff", TTAPE_E_CORRUPT),
    BYTES("\xa1\x61\x61\xff", TTAPE_E_CORRUPT), /* break where nothing can end */
    BYTES("\xff", TTAPE_E_CORRUPT),
    BYTES("\xbf\x61\x61\xff", TTAPE_E_CORRUPT),         /* break before a value */
    BYTES("\xbf\x61\x61\x01", TTAPE_E_CORRUPT),         /* no break */
    BYTES("\xa1\x7f\x41\x61\xff\x01", TTAPE_E_CORRUPT), /* bytes as a piece of text */
    BYTES("\xa1\x61\x61\xc1", TTAPE_E_CORRUPT),         /* tag of nothing */
    BYTES("\xa1\x61\x61\x1c", TTAPE_E_CORRUPT),         /* reserved */
    BYTES("\xa1\x61\x61\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x81\x01",
          TTAPE_E_LIMIT),
};

static ttape_status ignore_entry(void *context, const struct ttp_cbor_entry *entry,
                                 ttape_error *err)
{
    (void)context;
    (void)entry;
    (void)err;
    return TTAPE_OK;
}

/* The quickest of some tries, in milliseconds of this process; other programs do not count. */
static ttape_status decode_timed(const uint8_t *data, size_t size_bytes, double *ms,
                                 ttape_error *err)
{
    ttape_status status = TTAPE_OK;
    *ms = 1e9;
    for (int i = 0; i < 5; i++) {
        struct timespec begin, end;
        uint8_t *exact = malloc(size_bytes + !size_bytes);
        memcpy(exact, data, size_bytes);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        status = ttp_cbor_decode(exact, size_bytes, ignore_entry, NULL, err);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        free(exact);
        double took = (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                      (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
        *ms = took < *ms ? took : *ms;
    }
    return status;
}

START_TEST(hostile_metadata)
{
    const struct hostile *h = &metadata[_i];
    ttape_error err = {0};
    double ms;
    ttape_status status = decode_timed((const uint8_t *)h->bytes, h->size_bytes, &ms, &err);
    ck_assert_msg(ms < 10, "case %d takes %g ms", _i, ms);
    ck_assert_msg(status == h->status, "case %d: %d %s", _i, status, err.message);
    if (status != TTAPE_OK)
        ck_assert_str_eq(err.rule, "F-MET-01");
}
END_TEST

START_TEST(deep_metadata)
{
    size_t size = 1000003;
    uint8_t *deep = malloc(size);
    ttape_error err = {0};
    double ms;
    memset(deep, 0x81, size);
    memcpy(deep, "\xa1\x61\x61", 3);
    ck_assert_int_eq(decode_timed(deep, size, &ms, &err), TTAPE_E_LIMIT);
    ck_assert_msg(ms < 10, "takes %g ms", ms);
    free(deep);
}
END_TEST

static ttape_status keep_entry(void *context, const struct ttp_cbor_entry *entry, ttape_error *err)
{
    (void)err;
    *(struct ttp_cbor_entry *)context = *entry;
    return TTAPE_OK;
}

START_TEST(strings_in_pieces_are_joined)
{
    uint8_t bytes[] = "\xa1\x7f\x62xy\x60\x61z\xff\x7f\x61q\x63rst\xff";
    struct ttp_cbor_entry entry = {0};
    ck_assert_int_eq(ttp_cbor_decode(bytes, sizeof bytes - 1, keep_entry, &entry, NULL), TTAPE_OK);
    ck_assert(entry.key.size_bytes == 3 && memcmp(entry.key.data, "xyz", 3) == 0);
    ck_assert(entry.text.size_bytes == 4 && memcmp(entry.text.data, "qrst", 4) == 0);
}
END_TEST

/* ---- zstd (R6) ---- */

static ttape_status decode(const uint8_t *data, size_t size_bytes, size_t content_bytes)
{
    struct ttp_memory memory;
    struct ttp_zstd zstd = {0};
    ttape_error err = {0};
    uint8_t *out = malloc(content_bytes + 1), *exact = malloc(size_bytes + 1);
    ttp_memory_init(&memory, NULL, 1 << 20);
    memcpy(exact, data, size_bytes);
    ttape_status status =
        ttp_zstd_decode(&zstd, &memory, exact, size_bytes, out, content_bytes, "F-CHK-05", &err);
    if (status != TTAPE_OK)
        ck_assert_str_eq(err.rule, "F-CHK-05");
    ttp_zstd_reset(&zstd, &memory);
    ck_assert_uint_eq(memory.used_bytes, 0);
    free(out);
    free(exact);
    return status;
}

START_TEST(hostile_frames)
{
    uint8_t content[1000], frame[4096], two[8192];
    memset(content, 'x', sizeof content);
    size_t n = ZSTD_compress(frame, sizeof frame, content, sizeof content, 3);
    ck_assert_int_eq(decode(frame, n, sizeof content), TTAPE_OK);
    ck_assert_int_eq(decode(frame, n, sizeof content - 1), TTAPE_E_CORRUPT); /* lying size */
    ck_assert_int_eq(decode(frame, n, sizeof content + 1), TTAPE_E_CORRUPT);
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_int_eq(decode(frame, cut, sizeof content), TTAPE_E_CORRUPT);
    memcpy(two, frame, n);
    two[n] = 0; /* garbage behind */
    ck_assert_int_eq(decode(two, n + 1, sizeof content), TTAPE_E_CORRUPT);
    memcpy(two + n, frame, n); /* two frames */
    ck_assert_int_eq(decode(two, 2 * n, 2 * sizeof content), TTAPE_E_CORRUPT);
    ck_assert_int_eq(decode(two, 2 * n, sizeof content), TTAPE_E_CORRUPT);
    memcpy(two, "\x50\x2a\x4d\x18\4\0\0\0abcd", 12); /* a skippable frame in front */
    memcpy(two + 12, frame, n);
    ck_assert_int_eq(decode(two, n + 12, sizeof content), TTAPE_E_CORRUPT);
    uint8_t wide[] = "\x28\xb5\x2f\xfd\x80\xa8\x05\0\0\0\1\0\0"; /* window of 2^31 */
    ck_assert_int_eq(decode(wide, sizeof wide - 1, 5), TTAPE_E_CORRUPT);
    uint8_t dictionary[] = "\x28\xb5\x2f\xfd\x21\x07\x00\1\0\0";
    ck_assert_int_eq(decode(dictionary, sizeof dictionary - 1, 0), TTAPE_E_CORRUPT);
    uint8_t sizeless[] = "\x28\xb5\x2f\xfd\x00\x58\1\0\0";
    ck_assert_int_eq(decode(sizeless, sizeof sizeless - 1, 0), TTAPE_E_CORRUPT);
}
END_TEST

/* ---- fixed blocks with sound checksums ---- */

static void reseal_chunk(uint8_t *header)
{
    uint64_t stored = ttp_load64(header + TTP_CHUNK_STORED_AT);
    ttp_store64(header + TTP_CHUNK_PAYLOAD_HASH_AT,
                ttp_checksum(header + TTP_CHUNK_HEADER_BYTES, stored));
    ttp_store64(header + TTP_CHUNK_HASH_AT, ttp_checksum(header, TTP_CHUNK_HASH_AT));
}

static uint64_t find_kind(const struct ttest_file *file, uint16_t kind, uint32_t which)
{
    uint64_t at = TTP_FILE_HEADER_BYTES;
    for (;;) {
        struct ttp_chunk chunk;
        ck_assert_int_eq(ttp_chunk_read(file->data + at, at, &chunk, NULL), TTAPE_OK);
        if (chunk.kind == kind && which-- == 0)
            return at;
        at += TTP_CHUNK_HEADER_BYTES + chunk.stored_bytes;
    }
}

static ttape_status open_status(const struct ttest_file *file, const char *rule)
{
    ttape_error err = {0};
    ttape_reader *r;
    ttape_source source = ttape_source_memory(file->data, file->size_bytes);
    ttape_status status = ttape_reader_open(&r, &source, NULL, &err);
    if (rule != NULL)
        ck_assert_str_eq(err.rule, rule);
    ttape_reader_close(r);
    return status;
}

START_TEST(versions)
{
    struct ttest_file file = ttest_write(&small);
    file.data[TTP_FILE_MAJOR_AT] = '2';
    ck_assert_int_eq(open_status(&file, "F-FIL-02"), TTAPE_E_VERSION);
    file.data[TTP_FILE_MAJOR_AT] = '1';
    ttp_store16(file.data + TTP_FILE_REQUIRED_AT, TTP_MINOR_VERSION + 1);
    ttp_store64(file.data + TTP_FILE_HASH_AT, ttp_checksum(file.data, TTP_FILE_HASH_AT));
    ck_assert_int_eq(open_status(&file, "F-FIL-05"), TTAPE_E_VERSION);
    ttp_store16(file.data + TTP_FILE_REQUIRED_AT, 0);
    ttp_store16(file.data + TTP_FILE_MINOR_AT, 77); /* newer, but it can be read */
    ttp_store64(file.data + TTP_FILE_HASH_AT, ttp_checksum(file.data, TTP_FILE_HASH_AT));
    ck_assert_int_eq(open_status(&file, NULL), TTAPE_OK);
    free(file.data);
}
END_TEST

/* F-CHK-08: a partition turned into a kind that nobody knows. */
START_TEST(unknown_chunks)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader *r;
    ttape_info info;
    uint64_t at = find_kind(&file, TTP_CHUNK_PARTITION, 1);
    ttp_store16(file.data + at + TTP_CHUNK_KIND_AT, TTP_CHUNK_PRIVATE + 5);
    reseal_chunk(file.data + at);
    ttape_error err = {0};
    ttape_reader_options scan = {.size = sizeof scan, .ignore_index = true};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &scan, &err), TTAPE_E_UNSUPPORTED);
    ck_assert_str_eq(err.rule, "F-CHK-08");
    /* The index still says partition: that shows when it is read. */
    ck_assert_int_eq(ttape_reader_open(&r, &source, NULL, NULL), TTAPE_OK);
    ck_assert(ttest_read_all(r).errors > 0);
    ttape_reader_close(r);
    ttp_store16(file.data + at + TTP_CHUNK_FLAGS_AT, 0);
    reseal_chunk(file.data + at);
    ck_assert_int_eq(ttape_reader_open(&r, &source, &scan, NULL), TTAPE_OK);
    ttape_reader_get_info(r, &info);
    ck_assert_uint_eq(info.unknown_chunk_count, 1);
    ttape_stream_info stream;
    ck_assert_int_eq(ttape_reader_get_stream(r, 0, &stream), TTAPE_OK);
    ck_assert(stream.missing_count > 0);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

/* An index with a sound checksum that lies is refused, in favour of the scan or when a partition is
 * read. */
START_TEST(wrong_index)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    uint64_t index =
        ttp_load64(file.data + file.size_bytes - TTP_FOOTER_BYTES + TTP_FOOTER_INDEX_AT);
    uint8_t *payload = file.data + index + TTP_CHUNK_HEADER_BYTES;
    uint64_t size = ttp_load64(file.data + index + TTP_CHUNK_STORED_AT);
    ck_assert(!(ttp_load16(file.data + index + TTP_CHUNK_FLAGS_AT) & TTP_FLAG_ZSTD));
    ttape_reader_options scan = {.size = sizeof scan, .ignore_index = true};
    ttape_reader *r;
    ck_assert_int_eq(ttape_reader_open(&r, &source, &scan, NULL), TTAPE_OK);
    struct ttest_sum want = ttest_read_all(r);
    ttape_reader_close(r);
    for (uint64_t bit = 0; bit < size * 8; bit += ttest_every(7)) {
        payload[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        reseal_chunk(file.data + index);
        ck_assert_int_eq(ttape_reader_open(&r, &source, NULL, NULL), TTAPE_OK);
        struct ttest_sum sum = ttest_read_all(r);
        ck_assert_msg(sum.errors > 0 || sum.hash == want.hash, "bit %d", (int)bit);
        ttape_reader_close(r);
        ttape_error err = {0};
        uint64_t findings = 0;
        TTEST_OK(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
        ck_assert_msg(findings != 0, "verify misses bit %d of the index", (int)bit);
        payload[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    free(file.data);
}
END_TEST

/* R4: every bit of every partition, with all checksums made right again. */
static void reseal_partition(uint8_t *header)
{
    uint8_t *payload = header + TTP_CHUNK_HEADER_BYTES;
    uint64_t stored = ttp_load64(header + TTP_CHUNK_STORED_AT);
    uint32_t sections = ttp_load32(payload + TTP_HEAD_SECTIONS_AT);
    uint64_t at = TTP_HEAD_BYTES + (uint64_t)sections * TTP_SECTION_ENTRY_BYTES;
    if (sections <= 64 && at <= stored) {
        uint64_t head = at;
        for (uint32_t i = 0; i < sections; i++) {
            uint8_t *entry = payload + TTP_HEAD_BYTES + i * TTP_SECTION_ENTRY_BYTES;
            uint32_t size = ttp_load32(entry + TTP_SECTION_STORED_AT);
            if (size > stored - at)
                break;
            ttp_store64(entry + TTP_SECTION_HASH_AT, ttp_checksum(payload + at, size));
            at += size;
        }
        ttp_store64(payload,
                    ttp_checksum(payload + TTP_HEAD_SECTIONS_AT, head - TTP_HEAD_SECTIONS_AT));
    }
    reseal_chunk(header);
}

static const struct ttest_plan forms[] = {
    {.streams = 2, .events = 200},
    {.streams = 2, .events = 200, .literal = true},
    {.streams = 1, .events = 100, .level = 9},
    {.streams = 1, .events = 90, .resolution_ns = TTAPE_TIME_NONE},
    {.streams = 2, .events = 300, .partition_events = 80, .model_period = 2},
};
#define FORMS (sizeof forms / sizeof forms[0])

START_TEST(hostile_partitions)
{
    struct ttest_file file = ttest_write(&forms[_i]);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader_options o = {.size = sizeof o, .limits = {.memory_bytes = 16 << 20}};
    uint16_t kind = forms[_i].model_period != 0 ? TTP_CHUNK_MODEL : TTP_CHUNK_PARTITION;
    uint64_t at = find_kind(&file, kind, 0);
    uint64_t size = ttp_load64(file.data + at + TTP_CHUNK_STORED_AT);
    uint8_t *copy = malloc(file.size_bytes);
    memcpy(copy, file.data, file.size_bytes);
    for (uint64_t bit = 0; bit < size * 8; bit += ttest_every(7)) {
        ttape_reader *r;
        uint64_t findings;
        file.data[at + TTP_CHUNK_HEADER_BYTES + bit / 8] ^= (uint8_t)(1u << (bit % 8));
        reseal_partition(file.data + at);
        o.ignore_index = bit & 1;
        if (ttape_reader_open(&r, &source, &o, NULL) == TTAPE_OK)
            (void)ttest_read_all(r);
        ttape_reader_close(r);
        ttape_error err = {0};
        TTEST_OK(ttape_verify(&source, &o, NULL, NULL, NULL, &findings, &err));
        memcpy(file.data, copy, file.size_bytes);
    }
    free(copy);
    free(file.data);
}
END_TEST

/* ---- limits and faults ---- */

START_TEST(limits_hold)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_error err = {0};
    ttape_reader *r;
    ttape_reader_options o = {.size = sizeof o};
    o.limits.site_count = TTEST_SITES - 1;
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_E_LIMIT);
    o.limits = (ttape_limits){.stream_count = 1};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_E_LIMIT);
    o.limits = (ttape_limits){.partition_count = 1};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_E_LIMIT);
    o.limits = (ttape_limits){.string_bytes = 3};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_E_LIMIT);
    o.limits = (ttape_limits){.memory_bytes = 4096};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_E_LIMIT);
    o.limits = (ttape_limits){.partition_events = 50};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o, &err), TTAPE_OK);
    ttape_cursor *c;
    ttape_event_item item;
    TTEST_OK(ttape_cursor_open(&c, r, 0, &err));
    ck_assert_int_eq(ttape_cursor_next(c, &item, &err), TTAPE_E_LIMIT);
    ttape_cursor_close(c);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

START_TEST(options_of_the_future)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    ttape_reader *r;
    struct {
        ttape_reader_options known;
        uint64_t more;
    } o = {.known = {.size = sizeof o}};
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o.known, NULL), TTAPE_OK);
    ttape_reader_close(r);
    o.more = 1;
    ck_assert_int_eq(ttape_reader_open(&r, &source, &o.known, NULL), TTAPE_E_ARGUMENT);
    ck_assert(r == NULL);
    free(file.data);
}
END_TEST

struct faults {
    uint64_t calls, fail_at, used_bytes, most_bytes;
    bool for_ever;
};

static void *fault_allocate(void *context, size_t size_bytes)
{
    struct faults *f = context;
    uint64_t call = f->calls++;
    if (call == f->fail_at || (f->for_ever && call > f->fail_at))
        return NULL;
    f->used_bytes += size_bytes;
    f->most_bytes = f->used_bytes > f->most_bytes ? f->used_bytes : f->most_bytes;
    return malloc(size_bytes);
}

static void fault_release(void *context, void *memory, size_t size_bytes)
{
    ((struct faults *)context)->used_bytes -= size_bytes;
    free(memory);
}

/* R17: every allocation fails once, and from then on: right status, nothing leaks, sizes add up. */
START_TEST(allocation_faults)
{
    struct ttest_file file = ttest_write(&small);
    ttape_source source = ttape_source_memory(file.data, file.size_bytes);
    bool clean = false;
    for (uint64_t n = 0; !clean; n++) {
        struct faults f = {.fail_at = n, .for_ever = _i & 1};
        ttape_allocator allocator = {&f, fault_allocate, fault_release};
        ttape_reader_options o = {
            .size = sizeof o, .ignore_index = _i & 2, .allocator = &allocator};
        ttape_reader *r;
        ttape_error err = {0};
        uint64_t findings;
        ttape_status status = ttape_reader_open(&r, &source, &o, &err);
        ck_assert(status == TTAPE_OK || status == TTAPE_E_MEMORY);
        if (status == TTAPE_OK)
            (void)ttest_read_all(r);
        ttape_reader_close(r);
        ck_assert_uint_eq(f.used_bytes, 0);
        clean = f.calls <= n;
        f.calls = 0;
        status = ttape_verify(&source, &o, NULL, NULL, NULL, &findings, &err);
        ck_assert(status == TTAPE_OK || status == TTAPE_E_MEMORY);
        ck_assert_uint_eq(f.used_bytes, 0);
    }
    free(file.data);
}
END_TEST

/* R10 */
START_TEST(not_regular_files)
{
    ttape_source source;
    ttape_error err = {0};
    char path[] = "ttest_fifo_XXXXXX";
    ck_assert_int_eq(ttape_source_file_open(&source, "/dev/zero", &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_source_file_open(&source, ".", &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_source_file_open(&source, "no/such/file", &err), TTAPE_E_IO);
    ck_assert_int_eq(err.os_errno, ENOENT);
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && unlink(path) == 0 && mkfifo(path, 0600) == 0);
    ck_assert_int_eq(ttape_source_file_open(&source, path, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(unlink(path), 0);
    (void)close(fd);
}
END_TEST

START_TEST(file_that_shrinks)
{
    struct ttest_file file = ttest_write(&small);
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *r;
    char path[] = "ttest_file_XXXXXX";
    int fd = mkstemp(path);
    ck_assert(write(fd, file.data, file.size_bytes) == (ssize_t)file.size_bytes);
    TTEST_OK(ttape_source_file_open(&source, path, &err));
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ck_assert_int_eq(ftruncate(fd, 500), 0);
    ttape_cursor *c;
    ttape_event_item item;
    TTEST_OK(ttape_cursor_open(&c, r, 0, &err));
    ck_assert_int_eq(ttape_cursor_next(c, &item, &err), TTAPE_E_TRUNCATED);
    ttape_cursor_close(c);
    ttape_reader_close(r);
    ttape_source_file_close(&source);
    ck_assert_int_eq(unlink(path), 0);
    (void)close(fd);
    free(file.data);
}
END_TEST

START_TEST(sparse_file)
{
    ttape_error err = {0};
    ttape_source source;
    ttape_reader *r;
    char path[] = "ttest_file_XXXXXX";
    int fd = mkstemp(path);
    uint8_t header[TTP_FILE_HEADER_BYTES];
    struct ttp_file_header h = {0};
    ttp_file_header_write(&h, header);
    ck_assert(write(fd, header, sizeof header) == (ssize_t)sizeof header);
    ck_assert_int_eq(ftruncate(fd, (off_t)1 << 42), 0);
    TTEST_OK(ttape_source_file_open(&source, path, &err));
    TTEST_OK(ttape_reader_open(&r, &source, NULL, &err));
    ttape_info info;
    ttape_reader_get_info(r, &info);
    ck_assert(info.truncated && info.truncated_at == TTP_FILE_HEADER_BYTES);
    ttape_reader_close(r);
    ttape_source_file_close(&source);
    ck_assert_int_eq(unlink(path), 0);
    (void)close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader_hostile");
    TCase *tests = tcase_create("hostile");
    tcase_set_timeout(tests, 280);
    tcase_add_loop_test(tests, hostile_metadata, 0, sizeof metadata / sizeof metadata[0]);
    tcase_add_test(tests, deep_metadata);
    tcase_add_test(tests, strings_in_pieces_are_joined);
    tcase_add_test(tests, hostile_frames);
    tcase_add_test(tests, versions);
    tcase_add_test(tests, unknown_chunks);
    tcase_add_test(tests, wrong_index);
    tcase_add_loop_test(tests, hostile_partitions, 0, FORMS);
    tcase_add_test(tests, limits_hold);
    tcase_add_test(tests, options_of_the_future);
    tcase_add_loop_test(tests, allocation_faults, 0, 4);
    tcase_add_test(tests, not_regular_files);
    tcase_add_test(tests, file_that_shrinks);
    tcase_add_test(tests, sparse_file);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
