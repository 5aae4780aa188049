/* Recovery of damaged traces: whatever is done to a file, what comes out verifies, holds events of
 * the original only, each with its number, and the report owns up to everything else. */
#define _GNU_SOURCE /* memmem */
#include "recover_fixture.h"
#include "tests/unit/every.h"

/* ---- tests ---- */

START_TEST(a_sound_file)
{
    struct outcome o;
    try_one(file.data, file.size_bytes, "sound", 0, &o);
    ck_assert_int_eq(o.status, TTAPE_OK);
    ck_assert_uint_eq(o.report.loss_count, 0);
    ck_assert_uint_eq(o.report.copied_events, whole.count);
    ck_assert_uint_eq(o.report.gap_count, 0);
    ck_assert_uint_eq(o.told[TTAPE_RECOVER_LOST] + o.told[TTAPE_RECOVER_FOREIGN], 0);
    release(&o);
}
END_TEST

#define SLICES 8 /* each in a time limit of its own: sanitizers are slow */

/* R1: a cut keeps at least as much as a longer cut that is shorter by less. */
START_TEST(every_truncation)
{
    uint64_t last = 0;
    size_t index = places[place_count - 1].offset;
    for (size_t size = (size_t)_i; size < file.size_bytes; size += SLICES * ttest_every(13)) {
        struct outcome o;
        try_one(file.data, size, "cut at", size, &o);
        if (size >= places[1].offset)
            ck_assert_int_eq(o.status, TTAPE_OK);
        if (o.status == TTAPE_OK) {
            ck_assert_uint_ge(o.report.copied_events, last);
            last = o.report.copied_events;
        }
        if (size >= index + TTP_CHUNK_HEADER_BYTES || size == index)
            ck_assert_uint_eq(o.report.loss_count, 0);
        if (size >= index)
            ck_assert_uint_eq(o.report.copied_events, whole.count);
        release(&o);
    }
}
END_TEST

START_TEST(sampled_bit_flips) { flip_bits(211 * ttest_every(11)); }
END_TEST

START_TEST(zeroed_blocks)
{
    uint64_t seed = 11;
    uint8_t *copy = malloc(file.size_bytes);
    for (size_t k = 0; k < 300; k += ttest_every(11)) {
        struct outcome o;
        size_t size = 1 + ttest_random(&seed, k % 3 == 0 ? 5000 : 300);
        size_t at = ttest_random(&seed, (uint32_t)file.size_bytes);
        size = size < file.size_bytes - at ? size : file.size_bytes - at;
        memcpy(copy, file.data, file.size_bytes);
        memset(copy + at, 0, size);
        try_one(copy, file.size_bytes, "zeros", k, &o);
        release(&o);
    }
    free(copy);
}
END_TEST

/* Bytes taken out, or put in, or written over: nothing is where it was. */
START_TEST(moved_blocks)
{
    uint64_t seed = 12;
    uint8_t *copy = malloc(2 * file.size_bytes);
    for (size_t k = 0; k < 300; k += ttest_every(11)) {
        struct outcome o;
        size_t at = ttest_random(&seed, (uint32_t)file.size_bytes - 1);
        size_t size = 1 + ttest_random(&seed, (uint32_t)(file.size_bytes - at));
        size_t rest = file.size_bytes - at - size, end = at;
        memcpy(copy, file.data, at);
        if (k % 2 == 0) { /* twice */
            memcpy(copy + at, file.data + at, size);
            end += size;
            memcpy(copy + end, file.data + at, size);
            end += size;
        }
        memcpy(copy + end, file.data + at + size, rest);
        try_one(copy, end + rest, k % 2 == 0 ? "twice" : "taken out", k, &o);
        size_t broken = 0; /* the chunk that the second copy stands in; a copy of it may be whole */
        while (broken + 1 < place_count && places[broken + 1].offset < at + size)
            broken++;
        if (k % 2 == 0 && places[broken].offset >= at)
            ck_assert_msg(o.report.copied_events == whole.count, "twice %zu: events lost", k);
        release(&o);
    }
    free(copy);
}
END_TEST

START_TEST(random_noise)
{
    uint64_t seed = 13;
    uint8_t *copy = malloc(file.size_bytes);
    for (size_t k = 0; k < 200; k += ttest_every(11)) {
        struct outcome o;
        uint32_t size = (uint32_t)file.size_bytes, hits = 1 + size / (k % 2 == 0 ? 100 : 4000);
        memcpy(copy, file.data, file.size_bytes);
        for (uint32_t i = 0; i < hits; i++)
            copy[ttest_random(&seed, size)] = (uint8_t)ttest_random(&seed, 256);
        try_one(copy, file.size_bytes, "noise", k, &o);
        release(&o);
    }
    free(copy);
}
END_TEST

/* A file of the same chunks in another order, some of them more than once. */
static uint8_t *arrange(const size_t *order, size_t count, size_t *size_bytes)
{
    size_t end = TTP_FILE_HEADER_BYTES;
    uint8_t *copy = malloc(2 * file.size_bytes);
    memcpy(copy, file.data, end);
    for (size_t i = 0; i < count; i++) {
        memcpy(copy + end, file.data + places[order[i]].offset, places[order[i]].size_bytes);
        end += places[order[i]].size_bytes;
    }
    memcpy(copy + end, file.data + file.size_bytes - TTP_FOOTER_BYTES, TTP_FOOTER_BYTES);
    *size_bytes = end + TTP_FOOTER_BYTES;
    return copy;
}

START_TEST(swapped_chunks)
{
    for (size_t a = 0; a < place_count; a++)
        for (size_t b = a + 1; b < place_count; b += 1 + b % 3 * ttest_every(3)) {
            size_t order[ROOM], size;
            struct outcome o;
            for (size_t i = 0; i < place_count; i++)
                order[i] = i == a ? b : i == b ? a : i;
            uint8_t *copy = arrange(order, place_count, &size);
            try_one(copy, size, "swapped", a * ROOM + b, &o);
            ck_assert_uint_eq(o.report.loss_count, 0);
            ck_assert_uint_eq(o.report.copied_events, whole.count);
            ck_assert_uint_eq(o.report.gap_count, 0);
            ck_assert(o.told[TTAPE_RECOVER_MOVED] != 0 || places[b].head.kind == TTP_CHUNK_INDEX ||
                      places[a].head.kind == TTP_CHUNK_INDEX);
            free(copy);
            release(&o);
        }
}
END_TEST

START_TEST(duplicated_chunks)
{
    for (size_t a = 0; a < place_count; a++) {
        size_t order[ROOM], size, n = 0;
        struct outcome o;
        for (size_t i = 0; i < place_count; i++) {
            order[n++] = i;
            if (i == a || i == a + 3)
                order[n++] = a;
        }
        uint8_t *copy = arrange(order, n, &size);
        try_one(copy, size, "duplicated", a, &o);
        ck_assert_msg(o.report.loss_count == 0, "chunk %zu of kind %u twice: a loss is told", a,
                      places[a].head.kind);
        ck_assert_uint_eq(o.report.copied_events, whole.count);
        ck_assert_uint_eq(o.told[TTAPE_RECOVER_DUPLICATE], n - place_count);
        free(copy);
        release(&o);
    }
}
END_TEST

/* The beginning of one trace and the end of another, at boundaries of chunks and anywhere. */
START_TEST(spliced_traces)
{
    struct place theirs[ROOM];
    size_t their_count = find_chunks(&other, theirs, ROOM);
    uint64_t seed = 21;
    uint8_t *copy = malloc(file.size_bytes + other.size_bytes);
    for (size_t k = 0; k < 200; k += ttest_every(11)) {
        struct outcome o;
        size_t start = places[find_kind(TTP_CHUNK_PARTITION, 1)].offset;
        size_t a = start + ttest_random(&seed, (uint32_t)(file.size_bytes - start));
        size_t b = ttest_random(&seed, (uint32_t)other.size_bytes);
        if (k % 2 == 0) {
            /* behind a partition: before that, both traces are the same but for their id */
            size_t i = find_kind(TTP_CHUNK_PARTITION, 1);
            i += ttest_random(&seed, (uint32_t)(place_count - i));
            a = places[i].offset;
            b = theirs[k % 4 == 0 && i < their_count ? i
                                                     : ttest_random(&seed, (uint32_t)their_count)]
                    .offset;
        }
        memcpy(copy, file.data, a);
        memcpy(copy + a, other.data + b, other.size_bytes - b);
        try_one(copy, a + other.size_bytes - b, "spliced", k, &o);
        release(&o);
    }
    free(copy);
}
END_TEST

START_TEST(two_files_in_one)
{
    struct outcome o;
    size_t size = file.size_bytes + other.size_bytes;
    uint8_t *copy = malloc(size);
    memcpy(copy, file.data, file.size_bytes);
    memcpy(copy + file.size_bytes, other.data, other.size_bytes);
    try_one(copy, size, "behind one another", 0, &o);
    ck_assert_uint_eq(o.report.copied_events, whole.count);
    ck_assert_uint_ne(o.told[TTAPE_RECOVER_FOREIGN], 0);
    ck_assert_uint_ne(o.report.loss_count, 0);
    release(&o);
    free(copy);
}
END_TEST

START_TEST(damaged_header)
{
    uint8_t *copy = malloc(file.size_bytes + 100);
    for (int way = 0; way < 4; way++) {
        struct outcome o;
        size_t size = file.size_bytes;
        memcpy(copy, file.data, size);
        if (way == 0)
            memset(copy, 0, TTP_FILE_HEADER_BYTES);
        if (way == 1)
            copy[TTP_FILE_MAJOR_AT] = '2';
        if (way == 2) { /* gone */
            size -= TTP_FILE_HEADER_BYTES;
            memcpy(copy, file.data + TTP_FILE_HEADER_BYTES, size);
        }
        if (way == 3) { /* something in front */
            memset(copy, 'x', 100);
            memcpy(copy + 100, file.data, file.size_bytes);
            size += 100;
        }
        try_one(copy, size, "header", (size_t)way, &o);
        ck_assert_uint_eq(o.report.loss_count, 0);
        ck_assert_uint_eq(o.report.copied_events, whole.count);
        ck_assert_mem_eq(o.out.data + TTP_FILE_TRACE_ID_AT, file.data + TTP_FILE_TRACE_ID_AT,
                         TTP_TRACE_ID_BYTES);
        release(&o);
    }
    free(copy);
}
END_TEST

static struct outcome without(size_t place)
{
    struct outcome o;
    file.data[places[place].offset + TTP_CHUNK_HEADER_BYTES] ^= 1;
    try_one(file.data, file.size_bytes, "without chunk", place, &o);
    file.data[places[place].offset + TTP_CHUNK_HEADER_BYTES] ^= 1;
    return o;
}

/* Only names are lost: every event is there, and the numbers of sites stay. */
START_TEST(lost_definitions)
{
    const uint16_t kinds[] = {TTP_CHUNK_METADATA, TTP_CHUNK_SITES, TTP_CHUNK_STREAMS};
    for (int i = 0; i < 3; i++) {
        struct outcome o = without(find_kind(kinds[i], 0));
        ck_assert_uint_eq(o.report.copied_events, whole.count);
        ck_assert_uint_eq(o.report.pieces[kinds[i]][TTAPE_RECOVER_LOST], 1);
        ck_assert_uint_ne(o.report.loss_count, 0);
        ck_assert_int_eq(o.report.placeholder_count != 0, i != 0);
        release(&o);
    }
}
END_TEST

/* Partitions that start from a lost model are lost with it. */
START_TEST(lost_model)
{
    struct outcome o = without(find_kind(TTP_CHUNK_MODEL, 0));
    uint64_t lost = o.report.pieces[TTP_CHUNK_PARTITION][TTAPE_RECOVER_LOST];
    ck_assert_uint_ne(lost, 0);
    ck_assert_uint_eq(o.report.pieces[TTP_CHUNK_MODEL][TTAPE_RECOVER_LOST], 1);
    ck_assert_uint_eq(o.report.copied_events + o.report.lost_events, whole.count);
    ck_assert_uint_eq(o.told_lost_events, o.report.lost_events);
    release(&o);
}
END_TEST

/* Each stream's gap counts what it lost, also where the last partition is the lost one. */
START_TEST(gaps_count)
{
    static struct known have;
    for (unsigned nth = 0; nth < 7; nth++) {
        size_t place = find_kind(TTP_CHUNK_PARTITION, nth);
        struct outcome o = without(place);
        read_known(o.out.data, o.out.size_bytes, &have);
        ck_assert_uint_eq(o.report.lost_events, events_of(place));
        ck_assert_uint_eq(have.count + events_of(place), whole.count);
        ck_assert_uint_eq(have.lost, events_of(place));
        release(&o);
    }
}
END_TEST

/* Without index and lost head the hole in the numbers tells. */
START_TEST(gaps_without_an_index)
{
    static struct known have;
    size_t size = places[place_count - 1].offset;
    size_t index = find_kind(TTP_CHUNK_INDEX, 0), place = find_kind(TTP_CHUNK_PARTITION, 3);
    struct outcome o;
    (void)index;
    memset(file.data + places[place].offset, 0, places[place].size_bytes);
    try_one(file.data, size, "no index", 0, &o);
    read_known(o.out.data, o.out.size_bytes, &have);
    ck_assert_uint_eq(o.report.missing_chunks, 1);
    ck_assert_uint_eq(have.lost + have.count, whole.count);
    release(&o);
}
END_TEST

/* An index in the middle: the chunk behind it says that it was one. */
START_TEST(lost_early_index)
{
    static const struct ttest_plan many = {.resolution_ns = 1,
                                           .partition_events = 4,
                                           .level = 3,
                                           .streams = 2,
                                           .events = 320,
                                           .plain = true};
    struct outcome o;
    free(file.data);
    file = ttest_write(&many);
    read_known(file.data, file.size_bytes, &whole);
    place_count = find_chunks(&file, places, ROOM);
    size_t index = find_kind(TTP_CHUNK_INDEX, 0);
    ck_assert_uint_lt(index + 1, place_count);
    file.data[places[index].offset] ^= 1;
    try_one(file.data, file.size_bytes, "early index", 0, &o);
    ck_assert_uint_eq(o.report.loss_count, 0);
    ck_assert_uint_eq(o.report.copied_events, whole.count);
    release(&o);
}
END_TEST

/* What was recovered is recovered once more without a loss, and stays as it is. */
START_TEST(recovered_again)
{
    struct outcome o = without(find_kind(TTP_CHUNK_PARTITION, 2)), again;
    static struct known first, second;
    read_known(o.out.data, o.out.size_bytes, &first);
    recover(o.out.data, o.out.size_bytes, &again);
    ck_assert_int_eq(again.status, TTAPE_OK);
    ck_assert_uint_eq(again.report.loss_count, 0);
    ck_assert_uint_eq(again.report.gap_count, 0);
    read_known(again.out.data, again.out.size_bytes, &second);
    ck_assert_mem_eq(&first, &second, sizeof first);
    release(&again);
    release(&o);
}
END_TEST

START_TEST(nothing_of_a_trace)
{
    uint8_t bytes[4096];
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)ttest_random(&seed, 256);
    for (size_t size = 0; size <= sizeof bytes; size += 64) {
        struct outcome o;
        recover(bytes, size, &o);
        ck_assert_int_eq(o.status, TTAPE_E_NOT_TRACE);
        ck_assert_uint_eq(o.out.size_bytes, 0);
        release(&o);
    }
}
END_TEST

/* A file of a later version says so by itself, and is refused. */
START_TEST(a_later_version)
{
    struct outcome o;
    file.data[TTP_FILE_REQUIRED_AT] = 9;
    uint64_t hash = ttp_checksum(file.data, TTP_FILE_HASH_AT);
    memcpy(file.data + TTP_FILE_HASH_AT, &hash, sizeof hash);
    recover(file.data, file.size_bytes, &o);
    ck_assert_int_eq(o.status, TTAPE_E_VERSION);
    release(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover");
    TCase *tests = tcase_create("traces");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 280);
    tcase_add_test(tests, a_sound_file);
    tcase_add_loop_test(tests, every_truncation, 0, SLICES);
    tcase_add_test(tests, sampled_bit_flips);
    tcase_add_test(tests, zeroed_blocks);
    tcase_add_test(tests, moved_blocks);
    tcase_add_test(tests, random_noise);
    tcase_add_test(tests, swapped_chunks);
    tcase_add_test(tests, duplicated_chunks);
    tcase_add_test(tests, spliced_traces);
    tcase_add_test(tests, two_files_in_one);
    tcase_add_test(tests, damaged_header);
    tcase_add_test(tests, lost_definitions);
    tcase_add_test(tests, lost_model);
    tcase_add_test(tests, gaps_count);
    tcase_add_test(tests, gaps_without_an_index);
    tcase_add_test(tests, lost_early_index);
    tcase_add_test(tests, recovered_again);
    tcase_add_test(tests, nothing_of_a_trace);
    tcase_add_test(tests, a_later_version);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
