/* Values, depths, definitions and the index: round trips, and bytes that break a rule, by the field
 * that breaks it. */
#include <stdlib.h>
#include <string.h>

#include "format/container/definitions.h"
#include "format/container/index.h"
#include "format/container/layout.h"
#include "format/container/values.h"
#include "tests/asserts.h"

enum { EVENTS = 8, LIST = 64 };

struct broken {
    const char *field, *bytes;
    size_t size;
    const char *rule;
    uint64_t offset;
};
#define BYTES(text) text, sizeof(text) - 1

static void expect(const struct broken *b, ttape_status status, const ttape_error *err)
{
    ck_assert_msg(status == TTAPE_E_CORRUPT && strcmp(err->rule, b->rule) == 0 &&
                      err->offset == b->offset,
                  "%s: status %d, rule %s at %llu: %s", b->field, status, err->rule,
                  (unsigned long long)err->offset, err->message);
}

struct values_room {
    uint32_t event[LIST], start[LIST + 1];
    struct ttp_value values[LIST];
    uint8_t bytes[LIST];
    struct ttp_values view;
};

static struct ttp_values *values_view(struct values_room *r)
{
    *r = (struct values_room){0};
    r->view = (struct ttp_values){r->event, r->start, r->values, r->bytes, 0, 0, 0};
    return &r->view;
}

/* Copies bytes to their exact size, and reads them where their counts fit the room. */
static ttape_status read_values(const char *bytes, size_t size, struct ttp_values *io,
                                ttape_error *err)
{
    uint8_t *exact = malloc(size + (size == 0));
    memcpy(exact, bytes, size);
    ttape_status status = ttp_values_count(exact, size, io, err);
    if (status == TTAPE_OK)
        status = ttp_values_read(exact, size, EVENTS, io, err);
    free(exact);
    return status;
}

/* 2 events, 3 values, 2 bytes | 0, 0 | 2, 1 | types | numbers | bytes */
static const char good_values[] = "\2\3\2\0\0\2\1\0\5\7\7\2\5hi";

static const struct broken bad_values[] = {
    {"counts", BYTES("\2\3"), "F-VAL-02", 2},
    {"event count", BYTES("\7\7\2\0\0\2\1\0\5\7\7\2\5hi"), "F-VAL-02", 3},
    {"value count", BYTES("\2\x7f\2\0\0\2\1\0\5\7\7\2\5hi"), "F-VAL-02", 3},
    {"fewer values than events", BYTES("\2\1\2\0\0\2\1\0\5\7\7\2\5hi"), "F-VAL-02", 3},
    {"byte count", BYTES("\2\3\x7f\0\0\2\1\0\5\7\7\2\5hi"), "F-VAL-02", 3},
    {"event", BYTES("\2\3\2\0\7\2\1\0\5\7\7\2\5hi"), "F-VAL-03", 5},
    {"no values", BYTES("\2\3\2\0\0\3\0\0\5\7\7\2\5hi"), "F-VAL-04", 7},
    {"too few values", BYTES("\2\3\2\0\0\1\1\0\5\7\7\2\5hi"), "F-VAL-04", 7},
    {"too many values", BYTES("\2\3\2\0\0\2\2\0\5\7\7\2\5hi"), "F-VAL-04", 7},
    {"type", BYTES("\2\3\2\0\0\2\1\0\x08\7\7\2\5hi"), "F-VAL-05", 11},
    {"string length", BYTES("\2\3\2\0\0\2\1\0\5\7\7\3\5hi"), "F-VAL-06", 12},
    {"unused bytes", BYTES("\2\3\2\0\0\2\1\0\5\7\7\1\5hi"), "F-VAL-07", 15},
    {"trailing", BYTES("\2\3\2\0\0\2\1\0\5\7\7\2\5hi!"), "F-VAL-07", 15},
};

START_TEST(values)
{
    struct values_room r;
    ttape_error err = {0};
    uint8_t again[64];
    ck_assert_int_eq(read_values(BYTES(good_values), values_view(&r), &err), TTAPE_OK);
    ck_assert(r.view.event_count == 2 && r.view.value_count == 3 && r.view.bytes_count == 2);
    ck_assert(r.event[1] == 1 && r.start[1] == 2 && r.start[2] == 3);
    ck_assert(r.values[1].type == 5 && r.values[1].number == 2 && r.values[2].number == 5);
    ck_assert_uint_eq(ttp_values_write(&r.view, again, sizeof again), sizeof good_values - 1);
    ck_assert_mem_eq(again, good_values, sizeof good_values - 1);
    ck_assert_uint_eq(ttp_values_write(&r.view, again, 10), 0);
    for (size_t i = 0; i < sizeof bad_values / sizeof bad_values[0]; i++)
        expect(&bad_values[i],
               read_values(bad_values[i].bytes, bad_values[i].size, values_view(&r), &err), &err);
    for (size_t cut = 0; cut + 1 < sizeof good_values; cut++)
        ck_assert_int_eq(read_values(good_values, cut, values_view(&r), &err), TTAPE_E_CORRUPT);
}
END_TEST

static const struct broken bad_depths[] = {
    {"count", BYTES("\3\2\x10\0\2"), "F-DEP-02", 1},
    {"no count", BYTES(""), "F-DEP-02", 0},
    {"trailing", BYTES("\2\2\x10\0\2\0"), "F-DEP-02", 5},
    {"event", BYTES("\2\2\x10\5\2"), "F-DEP-03", 5},
    {"offset", BYTES("\1\2\x80\x80\x80\x80\x10"), "F-DEP-04", 7},
    {"offset below", BYTES("\1\2\xff\xff\xff\xff\x0f"), "F-DEP-04", 7},
};

START_TEST(depths)
{
    struct ttp_depth_change in[] = {{0, 5}, {1, -0x7fffffff}, {7, 0x7fffffff}}, out[LIST];
    uint8_t bytes[64];
    uint32_t count;
    ttape_error err = {0};
    size_t size = ttp_depths_write(in, 3, bytes, sizeof bytes);
    ck_assert_uint_le(size, ttp_depths_bound(3));
    ck_assert_int_eq(ttp_depths_count(bytes, size, &count, &err), TTAPE_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(ttp_depths_read(bytes, size, EVENTS, out, count, &err), TTAPE_OK);
    ck_assert_mem_eq(in, out, sizeof in);
    ck_assert_int_eq(ttp_depths_read(bytes, size, 7, out, count, &err), TTAPE_E_CORRUPT);
    for (size_t i = 0; i < sizeof bad_depths / sizeof bad_depths[0]; i++) {
        const uint8_t *data = (const uint8_t *)bad_depths[i].bytes;
        ttape_status status = ttp_depths_count(data, bad_depths[i].size, &count, &err);
        if (status == TTAPE_OK)
            status = ttp_depths_read(data, bad_depths[i].size, EVENTS, out, count, &err);
        expect(&bad_depths[i], status, &err);
    }
}
END_TEST

START_TEST(definitions)
{
    uint8_t bytes[512];
    struct ttp_writer_cursor w = ttp_writer_cursor_init(bytes, sizeof bytes);
    ttape_module module = {.start = 5,
                           .end = UINT64_MAX,
                           .process = TTAPE_NONE,
                           .path = {"/p", 2},
                           .build_id = {"\0\1", 2}},
                 module_out;
    ttape_process process = {.pid = UINT64_MAX, .parent = 3, .start_time_ns = 9, .name = {"n", 1}},
                  process_out;
    ttape_stream stream = {.process = 2, .tid = 7, .start_time_ns = 8, .name = {NULL, 0}},
                 stream_out;
    ttape_error err = {0};
    uint32_t first, count;
    ttp_module_write(&w, &module);
    ttp_process_write(&w, &process);
    ttp_stream_write(&w, &stream);
    ttp_range_write(&w, 4, 1);
    ttp_write8(&w, 0);
    struct ttp_reader_cursor c = ttp_reader_cursor_init(bytes, ttp_written(&w));
    ck_assert_int_eq(ttp_module_read(&c, 100, &module_out, &err), TTAPE_OK);
    ck_assert(module_out.start == 5 && module_out.end == UINT64_MAX &&
              module_out.process == TTAPE_NONE && module_out.build_id.size_bytes == 2);
    ck_assert_int_eq(ttp_process_read(&c, 100, &process_out, &err), TTAPE_OK);
    ck_assert(process_out.pid == UINT64_MAX && process_out.parent == 3);
    ck_assert_int_eq(ttp_stream_read(&c, 100, &stream_out, &err), TTAPE_OK);
    ck_assert(stream_out.process == 2 && stream_out.tid == 7 && stream_out.name.size_bytes == 0);
    ck_assert_int_eq(ttp_range_read(&c, &first, &count, &err), TTAPE_OK);
    ck_assert(first == 4 && count == 1 && ttp_reader_left(&c) == 1);
    c = ttp_reader_cursor_init(bytes, ttp_written(&w));
    ck_assert_int_eq(ttp_module_read(&c, 1, &module_out, &err), TTAPE_E_LIMIT);
    ck_assert_str_eq(err.rule, "F-SIT-04");
}
END_TEST

static ttape_status read_module(struct ttp_reader_cursor *c, ttape_error *err)
{
    ttape_module out;
    return ttp_module_read(c, 100, &out, err);
}

static ttape_status read_range(struct ttp_reader_cursor *c, ttape_error *err)
{
    uint32_t first, count;
    return ttp_range_read(c, &first, &count, err);
}

static ttape_status read_process(struct ttp_reader_cursor *c, ttape_error *err)
{
    ttape_process out;
    return ttp_process_read(c, 100, &out, err);
}

static ttape_status read_kind(struct ttp_reader_cursor *c, ttape_error *err)
{
    struct ttp_site before = {0}, site = {0};
    return ttp_site_read_column(c, 0, 100, &before, &site, err);
}

static ttape_status read_line(struct ttp_reader_cursor *c, ttape_error *err)
{
    struct ttp_site before = {0}, site = {0};
    return ttp_site_read_column(c, 4, 100, &before, &site, err);
}

START_TEST(broken_definitions)
{
    static const struct {
        struct broken b;
        ttape_status (*read)(struct ttp_reader_cursor *c, ttape_error *err);
    } all[] = {
        {{"range count", BYTES("\0\3\0\0"), "F-SIT-02", 2}, read_range},
        {{"range first", BYTES("\x80\x80\x80\x08\0"), "F-SIT-02", 5}, read_range},
        {{"range cut", BYTES("\1"), "F-SIT-02", 1}, read_range},
        {{"module path", BYTES("\0\0\0\5ab"), "F-SIT-03", 4}, read_module},
        {{"module process", BYTES("\0\0\x81\x80\x80\x08\0\0"), "F-SIT-05", 6}, read_module},
        {{"module size", BYTES("\2\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0"), "F-SIT-06", 11},
         read_module},
        {{"process parent", BYTES("\1\x81\x80\x80\x08\0\0"), "F-SIT-05", 5}, read_process},
        {{"process name", BYTES("\1\0\0\1"), "F-SIT-03", 4}, read_process},
        {{"site kind", BYTES("\x80\x80\x04"), "F-SIT-07", 3}, read_kind},
        {{"site kind overlong", BYTES("\x80\0"), "F-SIT-07", 2}, read_kind},
        {{"site line", BYTES("\x80\x80\x80\x80\x10"), "F-SIT-07", 5}, read_line},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ttape_error err = {0};
        struct ttp_reader_cursor c =
            ttp_reader_cursor_init((const uint8_t *)all[i].b.bytes, all[i].b.size);
        expect(&all[i].b, all[i].read(&c, &err), &err);
    }
}
END_TEST

static const struct ttp_index_entry partition = {.kind = TTP_CHUNK_PARTITION,
                                                 .scope = 3,
                                                 .stored_bytes = 5000,
                                                 .event_count = 77,
                                                 .segment_count = 2,
                                                 .model = 4,
                                                 .light_bytes = 300,
                                                 .resolution_ns = 64,
                                                 .origin_ns = 9,
                                                 .first_tick = -50,
                                                 .end_tick = 1000,
                                                 .order_bytes = 100,
                                                 .times_bytes = 200,
                                                 .values_bytes = 300,
                                                 .summary_bytes = 400,
                                                 .gap_count = 5,
                                                 .lost_count = UINT64_MAX};

/* By its encoded form: the struct has padding. */
static void check_partition(const struct ttp_index_entry *entry)
{
    uint8_t bytes[2][TTP_INDEX_ENTRY_BOUND];
    struct ttp_index_state state[2] = {0};
    struct ttp_writer_cursor a = ttp_writer_cursor_init(bytes[0], TTP_INDEX_ENTRY_BOUND);
    struct ttp_writer_cursor b = ttp_writer_cursor_init(bytes[1], TTP_INDEX_ENTRY_BOUND);
    ttp_index_entry_write(&a, &state[0], entry);
    ttp_index_entry_write(&b, &state[1], &partition);
    ck_assert_uint_eq(ttp_written(&a), ttp_written(&b));
    ck_assert_mem_eq(bytes[0], bytes[1], ttp_written(&a));
}

START_TEST(index_entries)
{
    uint8_t bytes[512];
    struct ttp_index_state to = {0}, from = {0};
    struct ttp_index_entry out, plain = {.kind = 0xffff, .scope = UINT32_MAX, .stored_bytes = 1};
    struct ttp_index_segment none = {.stream = UINT32_MAX}, in = {7, 70, 1000}, segment;
    ttape_error err = {0};
    struct ttp_writer_cursor w = ttp_writer_cursor_init(bytes, sizeof bytes);
    ttp_index_entry_write(&w, &to, &plain);
    ttp_index_entry_write(&w, &to, &partition);
    ck_assert_uint_le(ttp_written(&w), 2 * TTP_INDEX_ENTRY_BOUND);
    ttp_index_segment_write(&w, &none, 900, &in);
    struct ttp_reader_cursor c = ttp_reader_cursor_init(bytes, ttp_written(&w));
    ck_assert_int_eq(ttp_index_entry_read(&c, &from, &out, &err), TTAPE_OK);
    ck_assert(out.kind == 0xffff && out.scope == UINT32_MAX && out.model == TTP_NO_MODEL);
    ck_assert_int_eq(ttp_index_entry_read(&c, &from, &out, &err), TTAPE_OK);
    check_partition(&out);
    ck_assert_int_eq(ttp_index_segment_read(&c, &none, &segment, &err), TTAPE_OK);
    ck_assert_int_eq(ttp_index_segment_read_number(&c, 900, &segment, &err), TTAPE_OK);
    ck_assert(segment.stream == 7 && segment.event_count == 70 && segment.first_event == 1000);
    ck_assert_uint_eq(ttp_reader_left(&c), 0);
    ck_assert_int_eq(ttp_index_segment_read_number(&c, 0, &segment, &err), TTAPE_E_CORRUPT);
    ck_assert_str_eq(err.rule, "F-IDX-05");
}
END_TEST

START_TEST(broken_index_entries)
{
    static const struct {
        const char *field, *rule;
        size_t at;
        uint64_t value;
    } all[] = {
        {"stored bytes", "F-IDX-02", offsetof(struct ttp_index_entry, stored_bytes),
         (1u << 30) + 1},
        {"events", "F-IDX-03", offsetof(struct ttp_index_entry, event_count), 0},
        {"events many", "F-IDX-03", offsetof(struct ttp_index_entry, event_count), (1u << 24) + 1},
        {"segments", "F-IDX-03", offsetof(struct ttp_index_entry, segment_count), 0},
        {"segments many", "F-IDX-03", offsetof(struct ttp_index_entry, segment_count), 78},
        {"light", "F-IDX-03", offsetof(struct ttp_index_entry, light_bytes), 5001},
        {"order", "F-IDX-04", offsetof(struct ttp_index_entry, order_bytes), 4101},
        {"times", "F-IDX-04", offsetof(struct ttp_index_entry, times_bytes), UINT64_MAX},
        {"values", "F-IDX-04", offsetof(struct ttp_index_entry, values_bytes), UINT64_MAX - 699},
        {"summaries", "F-IDX-04", offsetof(struct ttp_index_entry, summary_bytes), 4401},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint8_t bytes[256];
        struct ttp_index_state to = {0}, from = {0};
        struct ttp_index_entry in = partition, out;
        ttape_error err = {0};
        bool narrow = all[i].at == offsetof(struct ttp_index_entry, event_count) ||
                      all[i].at == offsetof(struct ttp_index_entry, segment_count) ||
                      all[i].at == offsetof(struct ttp_index_entry, light_bytes);
        uint32_t low = (uint32_t)all[i].value;
        memcpy((char *)&in + all[i].at, narrow ? (const void *)&low : &all[i].value,
               narrow ? 4 : 8);
        struct ttp_writer_cursor w = ttp_writer_cursor_init(bytes, sizeof bytes);
        ttp_index_entry_write(&w, &to, &in);
        struct ttp_reader_cursor c = ttp_reader_cursor_init(bytes, ttp_written(&w));
        ck_assert_int_eq(ttp_index_entry_read(&c, &from, &out, &err), TTAPE_E_CORRUPT);
        ck_assert_msg(strcmp(err.rule, all[i].rule) == 0, "%s: %s", all[i].field, err.rule);
        for (size_t cut = 0; cut < ttp_written(&w); cut++) {
            from = (struct ttp_index_state){0};
            c = ttp_reader_cursor_init(bytes, cut);
            ck_assert_int_ne(ttp_index_entry_read(&c, &from, &out, &err), TTAPE_OK);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_content");
    TCase *cases = tcase_create("content");
    tcase_add_test(cases, values);
    tcase_add_test(cases, depths);
    tcase_add_test(cases, definitions);
    tcase_add_test(cases, broken_definitions);
    tcase_add_test(cases, index_entries);
    tcase_add_test(cases, broken_index_entries);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
