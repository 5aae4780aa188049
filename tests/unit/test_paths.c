/* Paths: what a writer was told of stacks is what a reader says, over any partitions, by index, by
 * scan and in copies; a stack that comes again gets the id that it had. */
#include <stdlib.h>
#include <string.h>

#include <tracetape/copy.h>
#include <tracetape/reader.h>
#include <tracetape/recover.h>
#include <tracetape/writer.h>

#include "format/container/chunk.h"

#include "tests/asserts.h"

enum { FRAMES = 40, ROUNDS = 600, CALLS = 3 };

#define OK(call) ck_assert_msg((call) == TTAPE_OK, "%s: %s %s", #call, err.rule, err.message)

static ttape_error err;
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* What was written: the path of each site, and each path's parent and frame. */
static struct {
    uint32_t site_count, path_count;
    uint32_t site_path[FRAMES + ROUNDS];
    ttape_path paths[ROUNDS * 12];
} told;

static uint32_t add_site(ttape_writer *w, ttape_site_kind kind, uint64_t address, uint32_t path)
{
    ttape_site site = {.address = address, .module = TTAPE_NONE, .kind = kind, .path = path};
    uint32_t id;
    OK(ttape_writer_add_site(w, &site, &id, &err));
    ck_assert_uint_eq(id, told.site_count);
    told.site_path[told.site_count++] = path;
    return id;
}

/* One of few shapes of stacks, so that most come again. */
static uint32_t add_stack(ttape_writer *w)
{
    uint32_t path = 0, depth = draw(10), shape = draw(3);
    for (uint32_t i = 0; i <= depth; i++) {
        ttape_path frame = {.parent = path,
                            .site = i == 0 && shape == 0 ? TTAPE_NONE : draw(2) * (i + shape)};
        uint32_t again;
        OK(ttape_writer_add_path(w, &frame, &path, &err));
        OK(ttape_writer_add_path(w, &frame, &again, &err));
        ck_assert_uint_eq(path, again);
        if (path == told.path_count + 1)
            told.paths[told.path_count++] = frame;
        ck_assert(path <= told.path_count && told.paths[path - 1].parent == frame.parent &&
                  told.paths[path - 1].site == frame.site);
    }
    return path;
}

static ttape_memory_sink write_trace(void)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer_options options = {.size = sizeof options, .partition_events = 64};
    ttape_writer *w;
    uint32_t id;
    memset(&told, 0, sizeof told);
    OK(ttape_writer_open(&w, &sink, &options, &err));
    ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
    ttape_stream stream = {.tid = 1};
    OK(ttape_writer_add_process(w, &process, &id, &err));
    OK(ttape_writer_add_stream(w, &stream, &id, &err));
    for (uint32_t i = 0; i < FRAMES; i++)
        (void)add_site(w, TTAPE_SITE_FRAME, 4096 + i, 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t call = draw(CALLS), path = add_stack(w);
        uint32_t site = add_site(w, TTAPE_SITE_SYSCALL, call, draw(8) == 0 ? 0 : path);
        ttape_event events[] = {
            {.time_ns = i * 10ull, .kind = TTAPE_EVENT_ENTER, .site = site},
            {.time_ns = i * 10ull + 4, .kind = TTAPE_EVENT_EXIT, .site = site},
        };
        events[0].depth = events[1].depth = TTAPE_DEPTH_AUTO;
        OK(ttape_writer_append(w, 0, events, 2, &err));
    }
    (void)add_stack(w); /* that leads nowhere */
    OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return memory;
}

static void check_reader(const ttape_reader *r, uint32_t scopes)
{
    ck_assert_uint_eq(ttape_reader_path_count(r), told.path_count * scopes);
    for (uint32_t scope = 0; scope < scopes; scope++) {
        uint32_t before = told.path_count * scope, sites = told.site_count * scope;
        for (uint32_t i = 0; i < told.path_count; i++) {
            ttape_path path;
            OK(ttape_reader_get_path(r, before + i + 1, &path));
            uint32_t parent = told.paths[i].parent, site = told.paths[i].site;
            ck_assert_uint_eq(path.parent, parent == 0 ? 0 : before + parent);
            ck_assert_uint_eq(path.site, site == TTAPE_NONE ? site : sites + site);
            ttape_path outer = {0};
            (void)ttape_reader_get_path(r, path.parent, &outer);
            ck_assert_uint_eq(path.depth, outer.depth + 1);
        }
        for (uint32_t i = 0; i < told.site_count; i++) {
            ttape_site site;
            OK(ttape_reader_get_site(r, sites + i, &site));
            uint32_t path = told.site_path[i];
            ck_assert_uint_eq(site.path, path == 0 ? 0 : before + path);
        }
    }
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
        check_reader(r, scopes);
        ttape_reader_get_info(r, &info);
        ck_assert(info.unknown_chunk_count == 0);
        ttape_reader_close(r);
    }
    OK(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
}

START_TEST(kept)
{
    seed = 5;
    ttape_memory_sink memory = write_trace();
    check_file(&memory, 1);
    ck_assert_uint_gt(told.path_count, 100);
    ck_assert_uint_lt(told.path_count, ROUNDS * 5); /* of each stack once */
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Copies `times` files of a trace into one, all partitions as they are or decoded. */
static ttape_memory_sink copy(const ttape_memory_sink *from, int times, bool part)
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
        const uint64_t all[] = {0}, end[] = {UINT64_MAX};
        OK(ttape_reader_open(&r, &source, NULL, &err));
        OK(ttape_copier_open(&c, w, r, &err));
        ttape_reader_get_info(r, &info);
        for (uint32_t p = 0; p < info.partition_count; p++)
            OK(part ? ttape_copier_part(c, p, all, end, &err) : ttape_copier_partition(c, p, &err));
        ttape_copier_close(c);
        ttape_reader_close(r);
    }
    OK(ttape_writer_finish(w, &err));
    ttape_writer_close(w);
    return memory;
}

START_TEST(copied)
{
    seed = 6;
    ttape_memory_sink memory = write_trace();
    for (int i = 0; i < 4; i++) {
        ttape_memory_sink again = copy(&memory, 1 + i % 2, i >= 2);
        check_file(&again, 1 + (uint32_t)i % 2);
        ttape_memory_sink_close(&again);
    }
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Each is refused, and the writer with it. */
START_TEST(refused)
{
    const ttape_path paths[] = {{.parent = 2, .site = 0},
                                {.site = 1},
                                {.parent = 1, .site = TTAPE_NONE},
                                {.site = 0, .reserved = 1}};
    const ttape_site sites[] = {{.path = 2}, {.path = 1, .reserved_path = 1}, {.path = TTAPE_NONE}};
    for (size_t i = 0; i < 4 + 3; i++) {
        ttape_memory_sink memory = {0};
        ttape_sink sink = ttape_sink_memory(&memory);
        ttape_writer *w;
        ttape_site site = {.module = TTAPE_NONE};
        uint32_t id, path;
        OK(ttape_writer_open(&w, &sink, NULL, &err));
        OK(ttape_writer_add_site(w, &site, &id, &err));
        OK(ttape_writer_add_path(w, &(ttape_path){.site = 0}, &path, &err));
        ck_assert_uint_eq(path, 1);
        if (i >= 4) {
            site = sites[i - 4];
            site.module = TTAPE_NONE;
        }
        ttape_status status = i < 4 ? ttape_writer_add_path(w, &paths[i], &id, &err)
                                    : ttape_writer_add_site(w, &site, &id, &err);
        ck_assert_int_eq(status, TTAPE_E_ARGUMENT);
        ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_E_ARGUMENT);
        ttape_writer_close(w);
        ttape_memory_sink_close(&memory);
    }
}
END_TEST

START_TEST(too_deep)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    ttape_site site = {.module = TTAPE_NONE};
    uint32_t id;
    ttape_path path = {0};
    OK(ttape_writer_open(&w, &sink, NULL, &err));
    OK(ttape_writer_add_site(w, &site, &id, &err));
    for (uint32_t i = 0; i < TTAPE_PATH_MAX_DEPTH; i++)
        OK(ttape_writer_add_path(w, &path, &path.parent, &err));
    ck_assert_int_eq(ttape_writer_add_path(w, &path, &path.parent, &err), TTAPE_E_ARGUMENT);
    ck_assert_str_eq(err.rule, "F-PTH-04");
    ttape_writer_close(w);
    ttape_memory_sink_close(&memory);
}
END_TEST

/* Where the n-th chunk of a kind stands; 0: there are not so many. */
static size_t find_chunk(const ttape_memory_sink *memory, uint16_t kind, uint32_t n,
                         struct ttp_chunk *chunk)
{
    size_t at = TTP_FILE_HEADER_BYTES;
    for (; at + TTP_FOOTER_BYTES < memory->size_bytes;
         at += TTP_CHUNK_HEADER_BYTES + (size_t)chunk->stored_bytes) {
        OK(ttp_chunk_read(memory->data + at, at, chunk, &err));
        if (chunk->kind == kind && n-- == 0)
            return at;
    }
    return 0;
}

/* Recovers a file, and finds all events of it; returns how many sites of calls kept their paths. */
static uint32_t recover(const ttape_memory_sink *damaged, ttape_recover_report *report)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_source source = ttape_source_memory(damaged->data, damaged->size_bytes);
    ttape_recover_options options = {.size = sizeof options};
    ttape_reader *r;
    ttape_info info;
    uint64_t findings;
    uint32_t linked = 0;
    OK(ttape_recover_trace(&source, &sink, &options, report, &err));
    source = ttape_source_memory(memory.data, memory.size_bytes);
    OK(ttape_verify(&source, NULL, NULL, NULL, NULL, &findings, &err));
    ck_assert_uint_eq(findings, 0);
    OK(ttape_reader_open(&r, &source, NULL, &err));
    ttape_reader_get_info(r, &info);
    ck_assert_uint_eq(info.event_count, 2 * ROUNDS);
    for (uint32_t i = 0; i < info.site_count && i < told.site_count; i++) {
        ttape_site site;
        OK(ttape_reader_get_site(r, i, &site));
        ck_assert(site.path == 0 || site.path == told.site_path[i]);
        linked += site.path != 0;
    }
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
    return linked;
}

/* A damaged table of paths loses these, and their links: no event, and no other path's number. */
START_TEST(recovered)
{
    seed = 7;
    ttape_memory_sink memory = write_trace();
    ttape_recover_report report;
    struct ttp_chunk chunk;
    uint32_t all = recover(&memory, &report), tables = 0;
    ck_assert_uint_gt(all, ROUNDS / 2);
    ck_assert_uint_eq(report.loss_count, 0);
    for (size_t at; (at = find_chunk(&memory, TTP_CHUNK_PATHS, tables, &chunk)) != 0; tables++) {
        memory.data[at + TTP_CHUNK_HEADER_BYTES] ^= 1;
        uint32_t linked = recover(&memory, &report);
        ck_assert(linked < all || chunk.content_bytes < 20); /* the last one has no links */
        ck_assert_uint_ge(report.pieces[TTAPE_RECOVER_SITES][TTAPE_RECOVER_LOST], 1);
        ck_assert_uint_eq(report.lost_events, 0);
        memory.data[at + TTP_CHUNK_HEADER_BYTES] ^= 1;
    }
    ck_assert_uint_gt(tables, 10);
    for (uint32_t i = 0; i < 3; i++) { /* sites are placeholders then, and their paths stay */
        size_t at = find_chunk(&memory, TTP_CHUNK_SITES, i * 4, &chunk);
        memory.data[at + TTP_CHUNK_HEADER_BYTES] ^= 1;
        ck_assert_uint_eq(recover(&memory, &report), all);
        ck_assert_uint_gt(report.placeholder_count, 0);
        memory.data[at + TTP_CHUNK_HEADER_BYTES] ^= 1;
    }
    ttape_memory_sink_close(&memory);
}
END_TEST

START_TEST(not_found)
{
    ttape_memory_sink memory = write_trace();
    ttape_source source = ttape_source_memory(memory.data, memory.size_bytes);
    const uint32_t none[] = {0, told.path_count + 1, TTAPE_NONE};
    ttape_reader *r;
    OK(ttape_reader_open(&r, &source, NULL, &err));
    for (size_t i = 0; i < 3; i++) {
        ttape_path path = {.parent = 7, .depth = 7};
        ck_assert_int_eq(ttape_reader_get_path(r, none[i], &path), TTAPE_E_NOT_FOUND);
        ck_assert(path.parent == 0 && path.site == TTAPE_NONE && path.depth == 0);
    }
    ttape_reader_close(r);
    ttape_memory_sink_close(&memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paths");
    TCase *tests = tcase_create("paths");
    tcase_add_test(tests, kept);
    tcase_add_test(tests, copied);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, too_deep);
    tcase_add_test(tests, recovered);
    tcase_add_test(tests, not_found);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
