/* Names of values: what a writer was told is what a reader says, over any partitions, by index, by
 * scan, in copies and in what is recovered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracetape/copy.h>
#include <tracetape/reader.h>
#include <tracetape/recover.h>
#include <tracetape/writer.h>

#include "format/container/chunk.h"

#include "tests/asserts.h"

enum { SITES = 90, NAMED = 60 };

#define OK(call) ck_assert_msg((call) == TTAPE_OK, "%s: %s %s", #call, err.rule, err.message)

static ttape_error err;

static ttape_string text(const char *s) { return (ttape_string){s, strlen(s)}; }

static const ttape_value_constant colors[] = {
    {INT64_MIN, {"LOW", 3}}, {0, {"RED", 3}}, {1, {"BLUE", 4}}, {INT64_MAX, {"HIGH", 4}}};
static const ttape_value_constant modes[] = {{1, {"READ", 4}}};

/* The name of a value of a site, by numbers; `room` has the text. */
static ttape_value_name name_of(uint32_t site, uint32_t at, char room[32])
{
    (void)snprintf(room, 32, "value_%u_%u", site, at);
    ttape_value_name name = {.name = text(at % 5 == 4 ? "" : room),
                             .type = text(at % 3 == 0 ? "const char *" : "unsigned int")};
    if (at % 3 == 1) {
        name.constants = site % 2 == 0 ? colors : modes;
        name.constant_count = site % 2 == 0 ? 4 : 1;
        name.enumeration = text(site % 2 == 0 ? "color" : "");
    }
    return name;
}

static uint32_t enter_count(uint32_t site) { return site == 7 ? 255 : site % 4; }
static uint32_t exit_count(uint32_t site) { return site % 2; }

static void name_site(ttape_writer *w, uint32_t site)
{
    static char room[2][255][32];
    ttape_value_name enter[255], exit[255];
    for (uint32_t i = 0; i < enter_count(site); i++)
        enter[i] = name_of(site, i, room[0][i]);
    for (uint32_t i = 0; i < exit_count(site); i++)
        exit[i] = name_of(site, i + 1, room[1][i]);
    ttape_site_values values = {.enter = enter,
                                .exit = exit,
                                .enter_count = enter_count(site),
                                .exit_count = exit_count(site)};
    OK(ttape_writer_name_values(w, site, &values, &err));
    memset(room, 'x', sizeof room);
}

static ttape_writer *open_writer(ttape_memory_sink *memory, uint32_t sites)
{
    ttape_sink sink = ttape_sink_memory(memory);
    ttape_writer_options options = {.size = sizeof options, .partition_events = 64};
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ttape_writer *w;
    uint32_t id;
    OK(ttape_writer_open(&w, &sink, &options, &err));
    OK(ttape_writer_add_process(w, &process, &id, &err));
    OK(ttape_writer_add_stream(w, &(ttape_stream){.tid = 1}, &id, &err));
    for (uint32_t i = 0; i < sites; i++) {
        ttape_site site = {.address = i, .module = TTAPE_NONE};
        OK(ttape_writer_add_site(w, &site, &id, &err));
    }
    return w;
}

/* Sites that are named: some at once, some while partitions are written, and from the last on, the
 * rest at the end. */
static ttape_memory_sink write_trace(void)
{
    ttape_memory_sink memory = {0};
    ttape_writer *w = open_writer(&memory, SITES);
    for (uint32_t i = 0; i < 10; i++)
        name_site(w, i);
    for (uint32_t i = 0; i < 400; i++) {
        ttape_event events[] = {
            {.time_ns = i * 10ull, .kind = TTAPE_EVENT_ENTER, .site = i % SITES},
            {.time_ns = i * 10ull + 4, .kind = TTAPE_EVENT_EXIT, .site = i % SITES}};
        events[0].depth = events[1].depth = TTAPE_DEPTH_AUTO;
        OK(ttape_writer_append(w, 0, events, 2, &err));
        if (i % 20 == 19 && i < 200)
            name_site(w, 10 + i / 20);
    }
    for (uint32_t i = NAMED; i-- > 20;)
        name_site(w, i);
    OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return memory;
}

static bool equal(ttape_string a, ttape_string b)
{
    return a.size_bytes == b.size_bytes && memcmp(a.data, b.data, b.size_bytes) == 0;
}

static void check_name(const ttape_value_name *got, uint32_t site, uint32_t at)
{
    char room[32];
    ttape_value_name want = name_of(site, at, room);
    ck_assert(equal(got->name, want.name) && equal(got->type, want.type));
    ck_assert_uint_eq(got->constant_count, want.constant_count);
    ck_assert(want.constant_count == 0 || equal(got->enumeration, want.enumeration));
    for (uint32_t i = 0; i < want.constant_count; i++)
        ck_assert(got->constants[i].value == want.constants[i].value &&
                  equal(got->constants[i].name, want.constants[i].name));
}

/* Checks the names of a file's first scopes; returns how many sites have some. */
static uint32_t check_reader(const ttape_reader *r, uint32_t scopes)
{
    uint32_t named = 0;
    for (uint32_t number = 0; number < SITES * scopes; number++) {
        ttape_site_values values = {.enter_count = 9};
        uint32_t site = number % SITES;
        if (ttape_reader_get_site_values(r, number, &values) != TTAPE_OK) {
            ck_assert(values.enter == NULL && values.enter_count + values.exit_count == 0);
            continue;
        }
        named++;
        ck_assert(site < NAMED && values.enter_count == enter_count(site) &&
                  values.exit_count == exit_count(site));
        for (uint32_t i = 0; i < values.enter_count; i++)
            check_name(&values.enter[i], site, i);
        for (uint32_t i = 0; i < values.exit_count; i++)
            check_name(&values.exit[i], site, i + 1);
    }
    return named;
}

static void check_file(const ttape_memory_sink *memory, uint32_t scopes)
{
    ttape_source source = ttape_source_memory(memory->data, memory->size_bytes);
    uint64_t findings;
    for (int scan = 0; scan < 2; scan++) {
        ttape_reader_options options = {.size = sizeof options, .ignore_index = scan == 1};
        ttape_reader *r;
        ttape_info info;
        OK(ttape_reader_open(&r, &source, &options, &err));
        ck_assert_uint_eq(check_reader(r, scopes), NAMED * scopes);
        ttape_reader_get_info(r, &info);
        ck_assert(info.unknown_chunk_count == 0);
        ttape_reader_close(r);
    }
    OK(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
}

/* Where the n-th chunk of names stands; 0: there are not so many. */
static size_t find_chunk(const ttape_memory_sink *memory, uint32_t n, struct ttp_chunk *chunk)
{
    size_t at = TTP_FILE_HEADER_BYTES;
    for (; at + TTP_FOOTER_BYTES < memory->size_bytes;
         at += TTP_CHUNK_HEADER_BYTES + (size_t)chunk->stored_bytes) {
        OK(ttp_chunk_read(memory->data + at, at, chunk, &err));
        if (chunk->kind == TTP_CHUNK_VALUE_NAMES && n-- == 0)
            return at;
    }
    return 0;
}

START_TEST(kept)
{
    ttape_memory_sink memory = write_trace();
    struct ttp_chunk chunk;
    check_file(&memory, 1);
    ck_assert_uint_ne(find_chunk(&memory, 5, &chunk), 0);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* A thousand sites of one enumeration of many constants are hardly more than one. */
START_TEST(equal_enumerations_once)
{
    static ttape_value_constant many[1000];
    size_t bytes[2];
    for (uint32_t i = 0; i < 1000; i++)
        many[i] = (ttape_value_constant){i * 7, text("CONSTANT")};
    for (int all = 0; all < 2; all++) {
        ttape_memory_sink memory = {0};
        struct ttp_chunk chunk;
        ttape_writer *w = open_writer(&memory, 1000);
        for (uint32_t i = 0; i < (all ? 1000 : 1); i++) {
            ttape_value_name name = {.constants = many, .constant_count = 1000};
            OK(ttape_writer_name_values(
                w, i, &(ttape_site_values){.enter = &name, .enter_count = 1}, &err));
        }
        OK(ttape_writer_finish(w, &err));
        ttape_writer_close(w);
        ck_assert_uint_ne(find_chunk(&memory, 0, &chunk), 0);
        bytes[all] = (size_t)chunk.content_bytes;
        ttape_memory_sink_close(&memory);
    }
    ck_assert_uint_le(bytes[1], bytes[0] + 1000 * 8);
}
END_TEST

/* Copies `times` files of a trace into one, all partitions as they are or decoded. */
static ttape_memory_sink copy(const ttape_memory_sink *from, int times, bool part, bool all)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_source source = ttape_source_memory(from->data, from->size_bytes);
    ttape_writer *w;
    OK(ttape_writer_open(&w, &sink, NULL, &err));
    for (int i = 0; i < times; i++) {
        ttape_reader *r;
        ttape_copier *c;
        ttape_info info;
        const uint64_t from_all[] = {0}, end[] = {UINT64_MAX};
        OK(ttape_reader_open(&r, &source, NULL, &err));
        OK(ttape_copier_open(&c, w, r, &err));
        ttape_reader_get_info(r, &info);
        for (uint32_t p = 0; p < (all ? info.partition_count : 1); p++)
            OK(part ? ttape_copier_part(c, p, from_all, end, &err)
                    : ttape_copier_partition(c, p, &err));
        ttape_copier_close(c);
        ttape_reader_close(r);
    }
    OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return memory;
}

START_TEST(copied)
{
    ttape_memory_sink memory = write_trace();
    for (int i = 0; i < 8; i++) {
        ttape_memory_sink again = copy(&memory, 1 + i % 2, (i & 2) != 0, (i & 4) != 0);
        check_file(&again, 1 + (uint32_t)i % 2);
        ttape_memory_sink_close(&again);
    }
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Each is refused, and the writer with it. */
START_TEST(refused)
{
    static char large[(1u << 20) + 1];
    static ttape_value_constant many[65536];
    static ttape_value_name names[256];
    const ttape_value_constant long_named = {0, {large, sizeof large}};
    const ttape_value_name odd[] = {
        {.reserved_count = 1},
        {.reserved = {0, 1}},
        {.name = {large, sizeof large}},
        {.type = {large, sizeof large}},
        {.enumeration = {large, sizeof large}},
        {.constants = many, .constant_count = 65536},
        {.constants = &long_named, .constant_count = 1},
    };
    memset(large, 'x', sizeof large);
    for (size_t i = 0; i < 7 + 5; i++) {
        ttape_memory_sink memory = {0};
        ttape_writer *w = open_writer(&memory, 2);
        ttape_site_values values = {.enter = names, .enter_count = 255};
        OK(ttape_writer_name_values(w, 0, &values, &err));
        if (i < 7)
            values = (ttape_site_values){.exit = &odd[i], .exit_count = 1};
        values.enter_count = i == 7 ? 256 : values.enter_count;
        values.reserved[1] = i == 8;
        uint32_t site = i == 9 ? 0 : i == 10 ? 2 : i == 11 ? TTAPE_NONE : 1;
        ck_assert_int_eq(ttape_writer_name_values(w, site, &values, &err), TTAPE_E_ARGUMENT);
        ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_E_ARGUMENT);
        ttape_writer_close(w);
        ttape_memory_sink_close(&memory);
    }
}
END_TEST

/* Recovers a file, and finds all events of it; returns how many sites kept their names. */
static uint32_t recover(const ttape_memory_sink *damaged, ttape_recover_report *report)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_source source = ttape_source_memory(damaged->data, damaged->size_bytes);
    ttape_recover_options options = {.size = sizeof options};
    ttape_reader *r;
    ttape_info info;
    OK(ttape_recover_trace(&source, &sink, &options, report, &err));
    source = ttape_source_memory(memory.data, memory.size_bytes);
    OK(ttape_reader_open(&r, &source, NULL, &err));
    ttape_reader_get_info(r, &info);
    ck_assert_uint_eq(info.event_count, 800);
    uint32_t named = check_reader(r, 1);
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
    return named;
}

/* A damaged chunk of names loses these and no others; lost sites keep the names of their values. */
START_TEST(recovered)
{
    ttape_memory_sink memory = write_trace();
    ttape_recover_report report;
    struct ttp_chunk chunk;
    uint32_t chunks = 0, lost = 0;
    ck_assert_uint_eq(recover(&memory, &report), NAMED);
    ck_assert_uint_eq(report.loss_count, 0);
    for (size_t at; (at = find_chunk(&memory, chunks, &chunk)) != 0; chunks++) {
        memory.data[at + TTP_CHUNK_HEADER_BYTES] ^= 1;
        lost += NAMED - recover(&memory, &report);
        ck_assert_uint_eq(report.pieces[TTAPE_RECOVER_SITES][TTAPE_RECOVER_LOST], 1);
        memory.data[at + TTP_CHUNK_HEADER_BYTES] ^= 1;
    }
    ck_assert_uint_eq(lost, NAMED);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* A file that asks for more names than there is memory for is refused. */
START_TEST(bounded)
{
    ttape_memory_sink memory = {0};
    static ttape_value_name names[255];
    ttape_writer *w = open_writer(&memory, 2000);
    for (uint32_t i = 0; i < 2000; i++)
        OK(ttape_writer_name_values(w, i, &(ttape_site_values){.enter = names, .enter_count = 255},
                                    &err));
    OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    ttape_reader *r;
    ttape_reader_options options = {.size = sizeof options, .limits = {.memory_bytes = 1u << 24}};
    ck_assert_uint_lt(memory.size_bytes, 100000);
    ck_assert_int_eq(ttape_reader_open(&r, &source, &options, &err), TTAPE_E_LIMIT);
    options.limits.memory_bytes = 1u << 28;
    OK(ttape_reader_open(&r, &source, &options, &err));
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("value_names");
    TCase *tests = tcase_create("value_names");
    tcase_add_test(tests, kept);
    tcase_add_test(tests, equal_enumerations_once);
    tcase_add_test(tests, copied);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, recovered);
    tcase_add_test(tests, bounded);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
