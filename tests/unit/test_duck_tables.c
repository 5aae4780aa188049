/* Tables of SQL without DuckDB: every table of every vector, good or broken, into cells of exactly
 * the size that they have; texts are UTF-8, and ask for no more than there is. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "duckdb/duck_query.h"
#include "tests/asserts.h"

static const struct duck_table *const tables[] = {&duck_calls,  &duck_events,  &duck_summary,
                                                  &duck_sites,  &duck_streams, &duck_partitions,
                                                  &duck_values, &duck_syscalls};
enum { TABLES = sizeof tables / sizeof tables[0] };

/* ---- cells ---- */

struct sink {
    size_t listed[DUCK_COLUMNS_MAX]; /* texts in lists, by place */
    uint64_t texts;
};

static void check_utf8(const char *data, size_t size_bytes)
{
    ck_assert_uint_eq(ttp_utf8_mend(NULL, data, size_bytes), size_bytes);
}

static void mark(struct duck_rows *rows, unsigned place)
{
    rows->valid[place] = malloc(DUCK_ROWS / 8);
    memset(rows->valid[place], 0xff, DUCK_ROWS / 8);
}

static void copy(struct duck_rows *rows, unsigned place, size_t row, const char *data, size_t size)
{
    struct sink *sink = rows->sink;
    ck_assert_uint_lt(place, rows->column_count);
    ck_assert_uint_lt(row, DUCK_ROWS);
    ck_assert_ptr_nonnull(data);
    char *copied = malloc(size + 1); /* reads all of it */
    memcpy(copied, data, size);
    free(copied);
    sink->texts++;
}

static bool list(struct duck_rows *rows, unsigned place, size_t row, size_t count, size_t *first)
{
    struct sink *sink = rows->sink;
    ck_assert_uint_lt(row, DUCK_ROWS);
    *first = sink->listed[place];
    sink->listed[place] += count;
    return true;
}

static void copy_into_list(struct duck_rows *rows, unsigned place, size_t row, const char *data,
                           size_t size)
{
    const struct sink *sink = rows->sink;
    ck_assert_uint_lt(row, sink->listed[place]);
    check_utf8(data, size);
}

static size_t width_of(enum duck_kind kind)
{
    static const size_t widths[DUCK_KIND_COUNT] = {[DUCK_BOOL] = 1,
                                                   [DUCK_WORD] = 1,
                                                   [DUCK_U32] = 4,
                                                   [DUCK_U64] = 8,
                                                   [DUCK_I64] = 8,
                                                   [DUCK_F64] = 8,
                                                   [DUCK_TEXT] = sizeof(struct duck_text),
                                                   [DUCK_BYTES] = 1,
                                                   [DUCK_TEXTS] = 1};
    return widths[kind];
}

static bool is_valid(const struct duck_rows *rows, unsigned place, size_t row)
{
    return rows->valid[place] == NULL || (rows->valid[place][row / 64] >> row % 64 & 1) != 0;
}

/* Words have their numbers; the names of sites lie somewhere. */
static void check_cells(const struct duck_table *table, const struct duck_rows *rows)
{
    for (unsigned place = 0; place < rows->column_count; place++) {
        unsigned number = rows->columns[place];
        const struct duck_column *column = &table->columns[number];
        bool is_lasting = number < DUCK_FIRST_OWN || (table->name_columns >> number & 1) != 0;
        for (size_t row = 0; row < rows->count; row++) {
            if (!is_valid(rows, place, row))
                continue;
            if (column->kind == DUCK_WORD)
                for (unsigned i = 0; i <= ((const uint8_t *)rows->cells[place])[row]; i++)
                    ck_assert_ptr_nonnull(column->words[i]);
            if (column->kind != DUCK_TEXT || !is_lasting)
                continue;
            const struct duck_text *text = (const struct duck_text *)rows->cells[place] + row;
            if (text->size_bytes > DUCK_SHORT_BYTES)
                check_utf8(text->in.data, text->size_bytes);
            else
                check_utf8(text->prefix, text->size_bytes);
        }
    }
}

/* ---- tables ---- */

static void drop_cells(struct duck_rows *rows)
{
    for (unsigned i = 0; i < rows->column_count; i++) {
        free(rows->cells[i]);
        free(rows->valid[i]);
        rows->cells[i] = rows->valid[i] = NULL;
    }
}

/* Rows of a table with these columns; failures end it, or are passed over. */
static uint64_t read_table(const struct duck_question *question, uint32_t columns)
{
    const struct duck_table *table = question->table;
    struct duck_query *query = duck_query_open(question, columns);
    struct duck_scan *scan = duck_scan_open(query);
    uint64_t total = 0;
    bool is_read = true;
    for (size_t last = 1; is_read && last > 0; total += last) {
        struct sink sink = {0};
        ttape_error err = {0};
        struct duck_rows rows = {.sink = &sink,
                                 .mark = mark,
                                 .copy = copy,
                                 .list = list,
                                 .copy_into_list = copy_into_list};
        for (unsigned i = 0; i < table->column_count; i++)
            if ((columns >> i & 1) != 0) {
                rows.cells[rows.column_count] =
                    malloc(DUCK_ROWS * width_of(table->columns[i].kind));
                rows.columns[rows.column_count++] = (uint8_t)i;
            }
        is_read = duck_scan_next(scan, &rows, &err);
        last = is_read ? rows.count : 0;
        ck_assert_uint_le(last, DUCK_ROWS);
        ck_assert(is_read || scan->said[0] == '\'');
        check_cells(table, &rows);
        drop_cells(&rows);
    }
    duck_scan_close(scan);
    duck_query_close(query);
    return total;
}

static void read_file(const char *path, uint64_t totals[TABLES])
{
    for (int skips = 0; skips < 2; skips++)
        for (unsigned i = 0; i < TABLES; i++) {
            struct duck_question question = {.table = tables[i], .skips_damage = skips != 0};
            ttape_error err = {0};
            uint32_t all = (1u << tables[i]->column_count) - 1;
            ck_assert(duck_question_add(&question, path, &err));
            question.function = skips != 0 ? strdup("a|e|main") : NULL;
            if (duck_question_check(&question, &err)) {
                totals[i] += read_table(&question, all);
                totals[i] += read_table(&question, all & ~tables[i]->by_stream);
            }
            duck_question_free(&question);
        }
}

START_TEST(vectors_become_rows)
{
    char folder[512], path[1024];
    const char *source = getenv("TTAPE_SRC");
    uint64_t totals[TABLES] = {0};
    uint32_t files = 0;
    (void)snprintf(folder, sizeof folder, "%s/spec/vectors", source != NULL ? source : ".");
    DIR *found = opendir(folder);
    ck_assert_msg(found != NULL, "%s is missing", folder);
    for (const struct dirent *entry = readdir(found); entry != NULL; entry = readdir(found)) {
        if (strstr(entry->d_name, ".ttape") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        read_file(path, totals);
        files++;
    }
    closedir(found);
    ck_assert_uint_gt(files, 100);
    for (unsigned i = 0; i < TABLES; i++)
        ck_assert_msg(totals[i] > 0, "%s has no rows", tables[i]->name);
}
END_TEST

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    struct duck_query *query;
    uint64_t rows;
};

static void *read_share(void *memory)
{
    struct worker *worker = memory;
    struct duck_scan *scan = duck_scan_open(worker->query);
    uint32_t sites[DUCK_ROWS];
    struct sink sink = {0};
    ttape_error err = {0};
    for (size_t last = 1; last > 0; worker->rows += last) {
        struct duck_rows rows = {.sink = &sink, .mark = mark, .copy = copy, .column_count = 1};
        rows.columns[0] = DUCK_FIRST_OWN; /* the partition */
        rows.cells[0] = sites;
        last = duck_scan_next(scan, &rows, &err) ? rows.count : 0;
        free(rows.valid[0]);
    }
    duck_scan_close(scan);
    return NULL;
}

static uint64_t read_by_threads(const struct duck_question *question, unsigned count)
{
    struct worker workers[4] = {0};
    struct duck_query *query = duck_query_open(question, 1u << DUCK_FIRST_OWN);
    uint64_t total = 0;
    for (unsigned i = 0; i < count; i++) {
        workers[i].query = query;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, read_share, &workers[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
        total += workers[i].rows;
    }
    duck_query_close(query);
    return total;
}

START_TEST(threads_share_the_partitions)
{
    static const char *const names[] = {"ovr-11-path", "coroutines", "paths", "all-kinds"};
    char path[1024];
    const char *source = getenv("TTAPE_SRC");
    for (unsigned t = 0; t < 2; t++) {
        struct duck_question question = {.table = tables[t]};
        ttape_error err = {0};
        for (unsigned i = 0; i < 4 * 8; i++) {
            (void)snprintf(path, sizeof path, "%s/spec/vectors/%s.ttape",
                           source != NULL ? source : ".", names[i % 4]);
            ck_assert(duck_question_add(&question, path, &err));
        }
        ck_assert(duck_question_check(&question, &err));
        uint64_t alone = read_by_threads(&question, 1);
        ck_assert_uint_gt(alone, 50);
        ck_assert_uint_eq(read_by_threads(&question, 4), alone);
        duck_question_free(&question);
    }
}
END_TEST

START_TEST(what_is_no_utf8_is_replaced)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"", ""},
                 {"plain", "plain"},
                 {"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x86", "\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x86"},
                 {"\xff", "\xef\xbf\xbd"},
                 {"a\xc3", "a\xef\xbf\xbd"},
                 {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* too long for '/' */
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
                 {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size = strlen(cases[i].bytes);
        char text[64] = "";
        ck_assert_uint_eq(ttp_utf8_mend(NULL, cases[i].bytes, size), strlen(cases[i].text));
        (void)ttp_utf8_mend(text, cases[i].bytes, size);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(ranges_are_as_the_command_has_them)
{
    static const struct {
        const char *text;
        bool is_range;
        uint64_t from_ns, to_ns;
        bool from_relative, to_span;
    } cases[] = {{"1s..2s", true, 1000000000, 2000000000, false, true},
                 {"+1.5ms..", true, 1500000, 0, true, false},
                 {"..25", true, 0, 25, false, false},
                 {"..", true, 0, 0, false, false},
                 {"10us..20ns", true, 10000, 20, false, true},
                 {"1.5m..0.9h", true, 90000000000, 3240000000000, false, true},
                 {"1.25ns..", false, 0, 0, false, false},
                 {"99999999h..", false, 0, 0, false, false},
                 {"1..2x", false, 0, 0, false, false},
                 {"1.5..2", false, 0, 0, false, false},
                 {"soon", false, 0, 0, false, false},
                 {"1s", false, 0, 0, false, false},
                 {"99999999999999999999..", false, 0, 0, false, false},
                 {"99999999999999s..", false, 0, 0, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct duck_question question = {0};
        bool is_range = duck_question_set_time(&question, cases[i].text);
        ck_assert_msg(is_range == cases[i].is_range, "%s", cases[i].text);
        if (!is_range)
            continue;
        ck_assert_uint_eq(question.from.time_ns, cases[i].from_ns);
        ck_assert_uint_eq(question.to.time_ns, cases[i].to_ns);
        ck_assert(question.from.is_relative == cases[i].from_relative);
        ck_assert(question.to.is_span == cases[i].to_span);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("duck_tables");
    TCase *tests = tcase_create("duck_tables");
    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, vectors_become_rows);
    tcase_add_test(tests, threads_share_the_partitions);
    tcase_add_test(tests, what_is_no_utf8_is_replaced);
    tcase_add_test(tests, ranges_are_as_the_command_has_them);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
