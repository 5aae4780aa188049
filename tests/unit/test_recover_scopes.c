/* Recovery of a merged trace: definitions of one scope may be lost while those of the other are
 * there, and chunks of kinds that nobody knows stand between. */
#define _GNU_SOURCE
#include <tracetape/copy.h>

#include "recover_fixture.h"

#define UNKNOWN_KIND 200u

static void copy_into(ttape_writer *writer, const struct ttest_file *from)
{
    ttape_error err = {0};
    ttape_reader *reader;
    ttape_copier *copier;
    ttape_info info;
    ttape_source source = ttape_source_memory(from->data, from->size_bytes);
    TTEST_OK(ttape_reader_open(&reader, &source, NULL, &err));
    TTEST_OK(ttape_copier_open(&copier, writer, reader, &err));
    ttape_reader_get_info(reader, &info);
    for (uint32_t i = 0; i < info.partition_count; i++)
        TTEST_OK(ttape_copier_partition(copier, i, &err));
    ttape_copier_close(copier);
    ttape_reader_close(reader);
}

/* Both traces of the fixture in one: `file` and what is known of it. */
static void set_up(void)
{
    ttape_error err = {0};
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .has_trace_id = true, .trace_id = {5}};
    ttape_writer *writer;
    struct ttest_file one = ttest_write(&plan);
    other = ttest_write(&other_plan);
    rename_trace(&other);
    TTEST_OK(ttape_writer_open(&writer, &sink, &options, &err));
    copy_into(writer, &one);
    copy_into(writer, &other);
    TTEST_OK(ttape_writer_finish(writer, &err));
    ttape_writer_close(writer);
    file = (struct ttest_file){malloc(memory.size_bytes), memory.size_bytes};
    memcpy(file.data, memory.data, memory.size_bytes);
    ttape_memory_sink_close(&memory);
    free(one.data);
    read_known(file.data, file.size_bytes, &whole);
    place_count = find_chunks(&file, places, ROOM);
}

static bool is_definition(size_t place)
{
    uint16_t kind = places[place].head.kind;
    return kind == TTP_CHUNK_METADATA || kind == TTP_CHUNK_SITES || kind == TTP_CHUNK_STREAMS;
}

static void spoil(size_t place) { file.data[places[place].offset + TTP_CHUNK_HEADER_BYTES] ^= 1; }

START_TEST(sound)
{
    struct outcome o;
    uint32_t scopes = 0;
    for (size_t i = 0; i < place_count; i++)
        scopes |= 1u << places[i].head.scope;
    ck_assert_uint_eq(scopes & 3, 3);
    try_one(file.data, file.size_bytes, "sound", 0, &o);
    ck_assert_uint_eq(o.report.loss_count, 0);
    ck_assert_uint_eq(o.report.copied_events, whole.count);
    release(&o);
}
END_TEST

/* Any definitions, and any two of them: names are lost, and no event. */
START_TEST(definitions_of_one_scope)
{
    size_t tried = 0;
    for (size_t i = 0; i < place_count; i++)
        for (size_t k = i; is_definition(i) && k < place_count; k++) {
            if (!is_definition(k))
                continue;
            struct outcome o;
            spoil(i);
            if (k != i)
                spoil(k);
            try_one(file.data, file.size_bytes, "definitions", i * 100 + k, &o);
            ck_assert_int_eq(o.status, TTAPE_OK);
            ck_assert_uint_eq(o.report.copied_events, whole.count);
            ck_assert_uint_ge(o.report.loss_count, k == i ? 1 : 2);
            release(&o);
            spoil(i);
            if (k != i)
                spoil(k);
            tried++;
        }
    ck_assert_uint_ge(tried, 21); /* six chunks at least */
}
END_TEST

/* A chunk that is not there at all: the numbers of chunks say so, but at the end of a file. */
START_TEST(chunks_that_are_gone)
{
    for (size_t i = 0; i < place_count; i++) {
        struct outcome o;
        size_t after = places[i].offset + places[i].size_bytes;
        uint8_t *copy = malloc(file.size_bytes);
        memcpy(copy, file.data, places[i].offset);
        memcpy(copy + places[i].offset, file.data + after, file.size_bytes - after);
        try_one(copy, file.size_bytes - places[i].size_bytes, "gone", i, &o);
        ck_assert_int_eq(o.status, TTAPE_OK);
        if (is_definition(i))
            ck_assert_uint_eq(o.report.copied_events, whole.count);
        if (places[i].head.kind == TTP_CHUNK_PARTITION)
            ck_assert_uint_lt(o.report.copied_events, whole.count);
        release(&o);
        free(copy);
    }
}
END_TEST

/* Kinds of a later version are lost, and told: what they mean nobody knows. */
START_TEST(a_kind_that_is_not_known)
{
    for (size_t i = 0; i < place_count; i++) {
        if (places[i].head.kind != TTP_CHUNK_PARTITION)
            continue;
        struct outcome o;
        struct ttp_chunk head = places[i].head;
        uint8_t header[TTP_CHUNK_HEADER_BYTES], *at = file.data + places[i].offset;
        memcpy(header, at, sizeof header);
        head.kind = UNKNOWN_KIND;
        ttp_chunk_write(&head, at);
        recover(file.data, file.size_bytes, &o);
        ck_assert_int_eq(o.status, TTAPE_OK);
        check_output(&o, "unknown kind", i);
        ck_assert_uint_ge(o.report.loss_count, 1);
        ck_assert_uint_lt(o.report.copied_events, whole.count);
        release(&o);
        memcpy(at, header, sizeof header);
    }
}
END_TEST

static uint64_t used, most;
static bool told;

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    used += size_bytes;
    most = used > most ? used : most;
    return malloc(size_bytes);
}

static void release_counted(void *context, void *block, size_t size_bytes)
{
    (void)context;
    used -= block != NULL ? size_bytes : 0;
    free(block);
}

static void find_far(void *context, const ttape_recover_piece *piece)
{
    if (piece->fate == TTAPE_RECOVER_LOST && piece->offset == places[*(size_t *)context].offset) {
        ck_assert_str_eq(piece->why.rule, "F-CHK-09");
        ck_assert_uint_eq(piece->why.offset, piece->offset);
        told = true;
    }
}

/* A chunk of scope 60,000 made 60,000 scopes, for half a gigabyte: a finding of the fuzzer. */
START_TEST(scopes_without_metadata_are_bounded)
{
    for (size_t i = 0; i < place_count; i++) {
        if (places[i].head.kind != TTP_CHUNK_PARTITION && places[i].head.kind != TTP_CHUNK_MODEL)
            continue;
        struct ttp_chunk head = places[i].head;
        uint8_t header[TTP_CHUNK_HEADER_BYTES], *at = file.data + places[i].offset;
        memcpy(header, at, sizeof header);
        head.scope = 60000;
        ttp_chunk_write(&head, at);
        ttape_memory_sink out = {0};
        ttape_sink sink = ttape_sink_memory(&out);
        ttape_source source = ttape_source_memory(file.data, file.size_bytes);
        ttape_allocator counted = {NULL, allocate, release_counted};
        ttape_recover_options how = {
            .size = sizeof how, .allocator = &counted, .context = &i, .piece = find_far};
        ttape_recover_report report;
        ttape_error err = {0};
        used = most = 0;
        told = false;
        TTEST_OK(ttape_recover_trace(&source, &sink, &how, &report, &err));
        ck_assert(told && report.loss_count >= 1);
        ck_assert_uint_eq(used, 0);
        ck_assert_uint_lt(most, 64u << 20);
        ttape_memory_sink_close(&out);
        memcpy(at, header, sizeof header);
    }
}
END_TEST

static void take_reason(void *context, const ttape_recover_piece *piece)
{
    if (piece->why.status != TTAPE_OK)
        *(ttape_error *)context = piece->why;
}

/* The reason of the last piece is the right one: here the file ends, no other one begins. */
START_TEST(a_cut_inside_a_header)
{
    for (size_t i = 1; i < place_count; i++) {
        size_t size = places[i].offset + 10;
        ttape_memory_sink out = {0};
        ttape_sink sink = ttape_sink_memory(&out);
        ttape_source source = ttape_source_memory(file.data, size);
        ttape_error err = {0}, why = {0};
        ttape_recover_options how = {.size = sizeof how, .context = &why, .piece = take_reason};
        ttape_recover_report report;
        TTEST_OK(ttape_recover_trace(&source, &sink, &how, &report, &err));
        ck_assert_str_eq(why.rule, "F-CHK-10");
        ck_assert_int_eq(why.status, TTAPE_E_TRUNCATED);
        ttape_memory_sink_close(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recover_scopes");
    TCase *tests = tcase_create("tests");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, set_up, teardown);
    tcase_add_test(tests, sound);
    tcase_add_test(tests, definitions_of_one_scope);
    tcase_add_test(tests, chunks_that_are_gone);
    tcase_add_test(tests, a_kind_that_is_not_known);
    tcase_add_test(tests, a_cut_inside_a_header);
    tcase_add_test(tests, scopes_without_metadata_are_bounded);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
