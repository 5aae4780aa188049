/* R1 and R3 over whole files: cuts, blocks of zeros, blocks twice, partitions swapped, two traces
 * spliced, random damage. Nothing crashes or hangs, what is reported is true, and what is not
 * touched is read as it was. Run over the valid vectors of spec/vectors and a trace of every kind
 * of chunk. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/checksum.h"
#include "format/container/chunk.h"
#include "fuzz/fuzz_read.h"
#include "sweep_map.h"
#include "sweep_trace.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"

/* Rounds of random damage a file, one file in so many, one cut in so many (in files over 3,000
 * bytes, in others, all whole partitions at one in so many; next to the end of a chunk it is every
 * cut, with all partitions), one block in so many bytes of files over 3,000: a part here, all of
 * it in test_sweep_damage_slow.c. */
#ifndef ROUNDS
#define WHOLE_STEP 17u
#if TTEST_SANITIZED
#define ROUNDS         4u
#define FILE_STEP      4u
#define CUT_STEP       211u
#define SMALL_CUT_STEP 11u
#define BLOCK_STEP     2064u
#else
#define ROUNDS         10u
#define FILE_STEP      1u
#define CUT_STEP       29u
#define SMALL_CUT_STEP 5u
#define BLOCK_STEP     624u
#endif
#endif
#define LARGE 3000u

#define MAX_PARTITIONS 512u

/* A file, and what each of its partitions gives while it is sound. */
struct sweep_file {
    uint8_t *data;
    size_t size_bytes;
    struct ttest_map map;
    uint32_t partition_count;
    uint64_t wanted[MAX_PARTITIONS];
};

static struct sweep_file *files;
static uint32_t file_count;
static uint64_t refused, spared, lost; /* damaged files, and partitions of those that open */

static uint64_t count_findings(const uint8_t *data, size_t size_bytes)
{
    ttape_source source = ttape_source_memory(data, size_bytes);
    ttape_error err = {0};
    uint64_t findings = 0;
    ttape_status status = ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err);
    ck_assert_int_eq(status, TTAPE_OK);
    return findings;
}

static ttape_reader *open_exact(const uint8_t *data, size_t size_bytes, bool scan, uint8_t **exact,
                                ttape_source *source, ttape_error *err)
{
    ttape_reader_options options = {.size = sizeof options, .ignore_index = scan};
    ttape_reader *reader;
    *exact = malloc(size_bytes + (size_bytes == 0));
    memcpy(*exact, data, size_bytes);
    *source = ttape_source_memory(*exact, size_bytes);
    ttape_status status = ttape_reader_open(&reader, source, &options, err);
    ck_assert(status == TTAPE_OK || status >= TTAPE_E_TRUNCATED);
    ck_assert(status == TTAPE_OK || err->message[0] != '\0');
    return reader;
}

/* Reads what there is; returns how many partitions could be read in full. With `file`, of which the
 * bytes are a damaged copy: what can be read is what stood in that place. */
static uint32_t read_damaged(const struct sweep_file *file, const uint8_t *data, size_t size_bytes,
                             bool scan)
{
    uint8_t *exact;
    ttape_source source;
    ttape_error err = {0};
    uint32_t good = 0;
    ttape_reader *reader = open_exact(data, size_bytes, scan, &exact, &source, &err);
    if (reader != NULL) {
        ttape_info info;
        ttape_reader_get_info(reader, &info);
        for (uint32_t p = 0; p < info.partition_count; p++) {
            ttape_status status;
            uint64_t hash = ttest_read_partition(reader, p, &status, &err);
            good += status == TTAPE_OK;
            ck_assert_msg(status == TTAPE_OK || err.rule[0] != '\0', "partition %u: no rule", p);
            if (file != NULL && status == TTAPE_OK)
                ck_assert_msg(p < file->partition_count && hash == file->wanted[p],
                              "partition %u is another, silently", p);
        }
        (void)fuzz_read_stream(reader, TTAPE_ALL_STREAMS);
    }
    ttape_reader_close(reader);
    free(exact);
    return good;
}

/* How many partitions have no changed byte in their chunk, while no model has one either. */
static uint32_t count_unharmed(const struct sweep_file *file, const uint8_t *copy)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < file->map.block_count; i++) {
        const struct ttest_block *b = &file->map.blocks[i];
        bool same = memcmp(copy + b->start, file->data + b->start, b->end - b->start) == 0;
        if (b->place == TTEST_PLACE_CHUNK(TTP_CHUNK_MODEL) && !same)
            return 0;
        count += b->place == TTEST_PLACE_CHUNK(TTP_CHUNK_PARTITION) && same;
    }
    return count;
}

/* Damage in place, both ways of opening: what opens gives every unharmed partition, byte for byte,
 * and those that are harmed say so; what does not open has damage where the error says. */
static void check_damaged(const struct sweep_file *file, const uint8_t *copy, bool scan)
{
    uint8_t *exact;
    ttape_source source;
    ttape_error err = {0};
    ttape_reader *reader = open_exact(copy, file->size_bytes, scan, &exact, &source, &err);
    bool opened = reader != NULL;
    uint64_t partitions = 0;
    if (opened) {
        ttape_info info;
        ttape_reader_get_info(reader, &info);
        partitions = info.truncated ? 0 : info.partition_count;
    } else {
        ck_assert(err.rule[0] != '\0' && err.offset < file->size_bytes);
        const struct ttest_block *b = &file->map.blocks[file->map.block_of[err.offset]];
        ck_assert_msg(memcmp(copy + b->start, file->data + b->start, b->end - b->start) != 0,
                      "refused at %llu (%s), where nothing is damaged",
                      (unsigned long long)err.offset, err.rule);
    }
    ttape_reader_close(reader);
    free(exact);
    refused += !opened;
    uint32_t good = opened ? read_damaged(file, copy, file->size_bytes, scan) : 0;
    if (partitions != file->partition_count)
        return;
    ck_assert_msg(good >= count_unharmed(file, copy), "%u partitions can be read, %u are unharmed",
                  good, count_unharmed(file, copy));
    spared += good;
    lost += partitions - good;
}

static void add_file(const uint8_t *data, size_t size_bytes)
{
    files = realloc(files, (file_count + 1) * sizeof *files);
    struct sweep_file *file = &files[file_count++];
    *file = (struct sweep_file){.data = malloc(size_bytes), .size_bytes = size_bytes};
    memcpy(file->data, data, size_bytes);
    const struct ttest_trace trace = {file->data, size_bytes};
    file->map = ttest_map_make(&trace);
    uint8_t *exact;
    ttape_source source;
    ttape_info info;
    ttape_error err = {0};
    ttape_reader *reader = open_exact(data, size_bytes, false, &exact, &source, &err);
    ck_assert_msg(reader != NULL, "%s", err.message);
    ttape_reader_get_info(reader, &info);
    ck_assert(info.partition_count <= MAX_PARTITIONS);
    file->partition_count = (uint32_t)info.partition_count;
    for (uint32_t p = 0; p < file->partition_count; p++) {
        ttape_status status;
        file->wanted[p] = ttest_read_partition(reader, p, &status, &err);
        ck_assert_msg(status == TTAPE_OK, "file %u: %s", file_count, err.message);
    }
    ttape_reader_close(reader);
    free(exact);
}

static int is_trace(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 6 && strcmp(entry->d_name + length - 6, ".ttape") == 0;
}

/* The vectors in which verify finds nothing, and one trace with everything. */
static void load_files(void)
{
    static uint8_t data[65536];
    char folder[4096], path[8192];
    const char *src = getenv("TTAPE_SRC");
    (void)snprintf(folder, sizeof folder, "%s/spec/vectors", src != NULL ? src : ".");
    struct dirent **names;
    int count = scandir(folder, &names, is_trace, alphasort); /* seeds go by place in the list */
    ck_assert_msg(count > 0, "no %s", folder);
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        free(names[i]);
        FILE *f = fopen(path, "rb");
        size_t size = f != NULL ? fread(data, 1, sizeof data, f) : 0;
        if (f != NULL)
            (void)fclose(f);
        if (size < sizeof data && count_findings(data, size) == 0)
            add_file(data, size);
    }
    free(names);
    ck_assert(file_count > 30);
    struct ttest_trace trace = ttest_sweep_trace(12000);
    add_file(trace.data, trace.size_bytes);
    free(trace.data);
}

/* Partitions that end at or before a byte, and where the last whole chunk before it ends. */
static uint32_t whole_before(const struct sweep_file *file, size_t size, size_t *chunk_end)
{
    size_t at = TTP_FILE_HEADER_BYTES;
    uint32_t partitions = 0;
    struct ttp_chunk chunk;
    *chunk_end = at;
    while (at + TTP_CHUNK_HEADER_BYTES <= size &&
           ttp_chunk_read(file->data + at, at, &chunk, NULL) == TTAPE_OK &&
           chunk.stored_bytes <= size - at - TTP_CHUNK_HEADER_BYTES) {
        at += TTP_CHUNK_HEADER_BYTES + (size_t)chunk.stored_bytes;
        partitions += chunk.kind == TTP_CHUNK_PARTITION;
        *chunk_end = at;
    }
    return partitions;
}

static bool keep_last(void *context, const ttape_finding *finding)
{
    *(ttape_error *)context = finding->error;
    return true;
}

/* Verify says where the file is cut, and by which rule. */
static void check_cut_verified(const struct sweep_file *file, size_t size, bool inside)
{
    ttape_source source = ttape_source_memory(file->data, size);
    ttape_error err = {0}, last = {0};
    uint64_t findings = 0;
    ck_assert_int_eq(ttape_verify(&source, NULL, keep_last, NULL, &last, &findings, &err),
                     TTAPE_OK);
    ck_assert_msg(findings > 0, "a cut at byte %zu is not found", size);
    if (inside)
        ck_assert_msg(
            last.status == TTAPE_E_TRUNCATED && last.rule[0] != '\0' && last.offset == size,
            "cut at byte %zu: %s at %llu", size, last.rule, (unsigned long long)last.offset);
}

/* Does a chunk end at this byte, or one before or behind it? */
static bool beside_end(const struct sweep_file *file, size_t size)
{
    size_t behind = size + 1 < file->size_bytes ? size + 1 : size;
    return file->map.block_of[size < 2 ? 0 : size - 2] != file->map.block_of[behind];
}

/* The file ends at byte `size`: every whole partition is there as it was, and the reader says up to
 * where the file is whole. */
static void check_cut(const struct sweep_file *file, size_t size, bool scan)
{
    size_t chunk_end;
    uint8_t *exact;
    ttape_source source;
    ttape_info info;
    ttape_error err = {0};
    uint32_t whole = whole_before(file, size, &chunk_end);
    ttape_reader *reader = open_exact(file->data, size, scan, &exact, &source, &err);
    ck_assert_msg(reader != NULL, "truncated at byte %zu: %s", size, err.message);
    ttape_reader_get_info(reader, &info);
    ck_assert(!info.complete && !info.by_index);
    ck_assert_uint_eq(info.partition_count, whole);
    ck_assert(info.truncated == (chunk_end != size));
    ck_assert_uint_eq(info.truncated_at, info.truncated ? chunk_end : info.truncated_at);
    bool all = size % WHOLE_STEP == 0 || beside_end(file, size); /* else the last whole one */
    for (uint32_t p = all || whole == 0 ? 0 : whole - 1; p < whole; p++) {
        ttape_status status;
        uint64_t hash = ttest_read_partition(reader, p, &status, &err);
        ck_assert_msg(status == TTAPE_OK && hash == file->wanted[p],
                      "truncated at byte %zu: partition %u of %u is not as it was: %s", size, p,
                      whole, err.message);
    }
    ttape_reader_close(reader);
    free(exact);
    if (size % 61 == 0)
        check_cut_verified(file, size, info.truncated);
}

START_TEST(r1_every_cut_gives_all_whole_partitions)
{
    load_files();
    for (uint32_t f = file_count - 1; f < file_count; f -= FILE_STEP) {
        size_t step = files[f].size_bytes > LARGE ? CUT_STEP : SMALL_CUT_STEP;
        for (size_t size = TTP_FILE_HEADER_BYTES; size < files[f].size_bytes; size++)
            if (size % step == 0 || beside_end(&files[f], size))
                check_cut(&files[f], size, size % 2);
    }
}
END_TEST

/* A block of zeros, or of what stands elsewhere: whatever lies outside of it is read. */
START_TEST(r3_blocks_of_zeros_and_blocks_twice)
{
    static const size_t sizes[] = {16, 64, 512};
    load_files();
    for (uint32_t f = file_count - 1; f < file_count; f -= FILE_STEP) {
        const struct sweep_file *file = &files[f];
        uint8_t *copy = malloc(file->size_bytes);
        size_t step = file->size_bytes > LARGE ? BLOCK_STEP : 48, at = TTP_FILE_HEADER_BYTES;
        for (uint32_t block = 0; at + 16 <= file->size_bytes; block++, at += step) {
            size_t size = sizes[block % 3];
            size = size < file->size_bytes - at ? size : file->size_bytes - at;
            memcpy(copy, file->data, file->size_bytes);
            if (block % 2 == 0)
                memset(copy + at, 0, size);
            else
                memmove(copy + at, copy + (at * 7) % (file->size_bytes - size), size);
            if (memcmp(copy, file->data, file->size_bytes) == 0)
                continue;
            check_damaged(file, copy, block % 5 == 0);
            ck_assert_msg(count_findings(copy, file->size_bytes) > 0, "file %u, block at %zu", f,
                          at);
        }
        free(copy);
    }
}
END_TEST

static size_t find_partition(const struct ttest_trace *file, uint32_t which, size_t *size)
{
    size_t at = TTP_FILE_HEADER_BYTES;
    struct ttp_chunk chunk;
    while (ttp_chunk_read(file->data + at, at, &chunk, NULL) == TTAPE_OK) {
        *size = TTP_CHUNK_HEADER_BYTES + (size_t)chunk.stored_bytes;
        if (chunk.kind == TTP_CHUNK_PARTITION && which-- == 0)
            return at;
        at += *size;
    }
    ck_abort_msg("no such partition");
    return 0;
}

/* Swapped as they are: the numbers of the chunks tell, and nothing is taken for another time. */
START_TEST(r3_partitions_swapped)
{
    struct ttest_trace file = ttest_sweep_trace(12000);
    for (uint32_t i = 0; i < 5; i++) {
        size_t one_size, two_size, at = 0;
        size_t one = find_partition(&file, i, &one_size);
        size_t two = find_partition(&file, i + 1 + i % 3, &two_size);
        uint8_t *copy = malloc(file.size_bytes);
        memcpy(copy, file.data, at = one);
        memcpy(copy + at, file.data + two, two_size);
        at += two_size;
        memcpy(copy + at, file.data + one + one_size, two - one - one_size);
        at += two - one - one_size;
        memcpy(copy + at, file.data + one, one_size);
        at += one_size;
        memcpy(copy + at, file.data + at, file.size_bytes - at);
        ck_assert(count_findings(copy, file.size_bytes) > 0);
        for (int scan = 0; scan < 2; scan++) {
            ttape_source source;
            ttape_error err = {0};
            uint8_t *exact;
            ttape_reader *reader = open_exact(copy, file.size_bytes, scan, &exact, &source, &err);
            if (reader == NULL) {
                ck_assert_str_eq(err.rule, "F-CHK-07");
            } else {
                ttape_status status;
                (void)ttest_read_partition(reader, i, &status, &err);
                ck_assert_int_ne(status, TTAPE_OK);
            }
            ttape_reader_close(reader);
            free(exact);
        }
        free(copy);
    }
    free(file.data);
}
END_TEST

/* The beginning of one trace and the end of another, cut between two chunks of the same number.
 * Where all chunks before the cut have the same sizes in both, their metadata and definitions may
 * take each other's place: chunks do not name their trace, and nothing contradicts. */
START_TEST(r3_two_traces_spliced)
{
    struct ttest_trace one = ttest_sweep_trace(12000), two = ttest_sweep_other(12000);
    size_t at = TTP_FILE_HEADER_BYTES, other = at;
    struct ttp_chunk a, b;
    uint32_t splices = 0, partitions = 0;
    while (ttp_chunk_read(one.data + at, at, &a, NULL) == TTAPE_OK &&
           ttp_chunk_read(two.data + other, other, &b, NULL) == TTAPE_OK) {
        size_t size = at + two.size_bytes - other;
        uint8_t *copy = malloc(size);
        memcpy(copy, one.data, at);
        memcpy(copy + at, two.data + other, two.size_bytes - other);
        bool seen = count_findings(copy, size) > 0;
        ck_assert_msg(seen || (at == other && partitions == 0), "splice %u is not seen", splices);
        (void)read_damaged(NULL, copy, size, false);
        (void)read_damaged(NULL, copy, size, true);
        free(copy);
        splices++;
        partitions += a.kind == TTP_CHUNK_PARTITION;
        at += TTP_CHUNK_HEADER_BYTES + (size_t)a.stored_bytes;
        other += TTP_CHUNK_HEADER_BYTES + (size_t)b.stored_bytes;
    }
    ck_assert(splices > 10);
    free(one.data);
    free(two.data);
}
END_TEST

/* One in a hundred bytes anywhere, which hardly anything survives; or up to eight in partitions,
 * where the rest has to be as it was. */
static void damage(const struct sweep_file *file, struct fuzz_random *random, bool in_partitions,
                   uint8_t *copy)
{
    uint32_t size = (uint32_t)file->size_bytes;
    uint32_t hits = in_partitions ? 1 + fuzz_below(random, 8) : 1 + size / 100;
    memcpy(copy, file->data, size);
    while (hits-- > 0) {
        uint32_t at = fuzz_below(random, size);
        for (uint32_t tries = 0; in_partitions && tries < 100; tries++) {
            if (ttest_map_place(&file->map, at) == TTEST_PLACE_PAYLOAD(TTP_CHUNK_PARTITION))
                break;
            at = fuzz_below(random, size);
        }
        copy[at] = (uint8_t)fuzz_random(random);
    }
}

START_TEST(r3_random_damage)
{
    load_files();
    for (uint32_t f = file_count - 1; f < file_count; f -= FILE_STEP) {
        struct fuzz_random random = {f + 1};
        const struct sweep_file *file = &files[f];
        uint8_t *copy = malloc(file->size_bytes);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            damage(file, &random, round % 4 != 0, copy);
            check_damaged(file, copy, round % 2);
            ck_assert(memcmp(copy, file->data, file->size_bytes) == 0 ||
                      count_findings(copy, file->size_bytes) > 0);
        }
        free(copy);
    }
    printf("%llu refused, %llu partitions spared, %llu lost\n", (unsigned long long)refused,
           (unsigned long long)spared, (unsigned long long)lost);
    ck_assert(refused > 0 && spared > 0 && lost > 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep_damage");
    TCase *tests = tcase_create("damage");
    tcase_set_timeout(tests, 3000);
    tcase_add_test(tests, r1_every_cut_gives_all_whole_partitions);
    tcase_add_test(tests, r3_blocks_of_zeros_and_blocks_twice);
    tcase_add_test(tests, r3_partitions_swapped);
    tcase_add_test(tests, r3_two_traces_spliced);
    tcase_add_test(tests, r3_random_damage);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
