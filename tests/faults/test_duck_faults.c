/* R17 over the tables of SQL: each allocation of a query goes wrong, by number, once and from then
 * on. What must hold: it says that memory is out, or has all rows that it has without the fault;
 * nothing leaks. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duckdb/duck_query.h"
#include "fault_calls.h"
#include "tests/asserts.h"
#include "tests/unit/every.h"

static const struct {
    const struct duck_table *table;
    const char *trace, *function;
} cases[] = {{&duck_calls, "enters", NULL},         {&duck_calls, "coroutines", "a|e"},
             {&duck_events, "all-kinds", "main|e"}, {&duck_summary, "all-kinds", NULL},
             {&duck_sites, "paths", NULL},          {&duck_streams, "facts", NULL},
             {&duck_partitions, "enters", NULL},    {&duck_values, "values", NULL},
             {&duck_syscalls, "paths", NULL}};

/* What comes of a query. */
struct result {
    uint64_t digest, rows;
    size_t kept_bytes; /* that are not given back */
    char said[256];    /* "": all was read */
};

/* ---- cells, which take no memory ---- */

struct room {
    uint64_t cells[DUCK_COLUMNS_MAX][2 * DUCK_ROWS]; /* texts have 16 bytes */
    uint64_t valid[DUCK_COLUMNS_MAX][DUCK_ROWS / 64];
    size_t listed[DUCK_COLUMNS_MAX];
    uint64_t digest;
};

static void mix(struct room *room, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        room->digest = (room->digest ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
}

static void mark(struct duck_rows *rows, unsigned place)
{
    struct room *room = rows->sink;
    memset(room->valid[place], 0xff, sizeof room->valid[place]);
    rows->valid[place] = room->valid[place];
}

static void copy(struct duck_rows *rows, unsigned place, size_t row, const char *data, size_t size)
{
    mix(rows->sink, &place, sizeof place);
    mix(rows->sink, &row, sizeof row);
    mix(rows->sink, data, size);
}

static bool list(struct duck_rows *rows, unsigned place, size_t row, size_t count, size_t *first)
{
    struct room *room = rows->sink;
    mix(room, &row, sizeof row);
    *first = room->listed[place];
    room->listed[place] += count;
    return true;
}

static void mix_cell(struct room *room, const struct duck_table *table,
                     const struct duck_rows *rows, unsigned place, size_t row)
{
    unsigned number = rows->columns[place];
    const uint8_t *cells = rows->cells[place];
    bool is_valid =
        rows->valid[place] == NULL || (rows->valid[place][row / 64] >> row % 64 & 1) != 0;
    mix(room, &is_valid, sizeof is_valid);
    if (!is_valid)
        return;
    bool is_lasting = number < DUCK_FIRST_OWN || (table->name_columns >> number & 1) != 0;
    switch (table->columns[number].kind) {
    case DUCK_BOOL:
    case DUCK_WORD: mix(room, cells + row, 1); break;
    case DUCK_U32: mix(room, cells + 4 * row, 4); break;
    case DUCK_U64:
    case DUCK_I64:
    case DUCK_F64: mix(room, cells + 8 * row, 8); break;
    case DUCK_TEXT: {
        const struct duck_text *text = (const struct duck_text *)cells + row;
        if (is_lasting)
            mix(room, text->size_bytes > DUCK_SHORT_BYTES ? text->in.data : text->prefix,
                text->size_bytes);
        break;
    }
    default: break;
    }
}

/* ---- queries ---- */

static bool read_rows(struct duck_scan *scan, const struct duck_table *table, struct room *room,
                      struct result *out, ttape_error *err)
{
    for (size_t last = 1; last > 0; out->rows += last) {
        struct duck_rows rows = {
            .sink = room, .mark = mark, .copy = copy, .list = list, .copy_into_list = copy};
        for (unsigned i = 0; i < table->column_count; i++) {
            rows.cells[i] = room->cells[i];
            rows.columns[rows.column_count++] = (uint8_t)i;
        }
        memset(room->listed, 0, sizeof room->listed);
        if (!duck_scan_next(scan, &rows, err))
            return false;
        last = rows.count;
        for (unsigned place = 0; place < rows.column_count; place++)
            for (size_t row = 0; row < last; row++)
                mix_cell(room, table, &rows, place, row);
    }
    return true;
}

static void ask(struct duck_question *question, const char *path, struct room *room,
                struct result *out)
{
    ttape_error err = {0};
    struct duck_query *query = NULL;
    struct duck_scan *scan = NULL;
    bool is_read = duck_question_add(question, path, &err) && duck_question_check(question, &err);
    if (is_read) {
        query = duck_query_open(question, (1u << question->table->column_count) - 1);
        scan = query != NULL ? duck_scan_open(query) : NULL;
        is_read = scan != NULL ? read_rows(scan, question->table, room, out, &err)
                               : duck_no_memory(&err) == TTAPE_OK;
    }
    if (!is_read)
        (void)snprintf(out->said, sizeof out->said, "%.255s",
                       scan != NULL ? scan->said : err.message);
    duck_scan_close(scan);
    duck_query_close(query);
}

/* With allocation `at` failing, or all from there on. True: one did. */
static bool run(unsigned number, uint64_t at, bool for_ever, struct result *out)
{
    static struct room room;
    char path[1024];
    const char *source = getenv("TTAPE_SRC");
    struct duck_question question = {.table = cases[number].table, .skips_damage = true};
    (void)snprintf(path, sizeof path, "%s/spec/vectors/%s.ttape", source != NULL ? source : ".",
                   cases[number].trace);
    question.function = cases[number].function != NULL ? strdup(cases[number].function) : NULL;
    *out = (struct result){0};
    room.digest = UINT64_C(0xcbf29ce484222325);
    size_t before = mallinfo2().uordblks;
    ttest_faults_begin(TTEST_ALLOC, at == UINT64_MAX ? TTEST_COUNT : TTEST_FAIL, at, for_ever);
    ask(&question, path, &room, out);
    bool was_hit = ttest_faults_end();
    char *function = question.function;
    question.function = NULL;
    duck_question_free(&question);
    out->kept_bytes = mallinfo2().uordblks - before;
    free(function);
    out->digest = room.digest;
    return was_hit;
}

static void check(unsigned number, uint64_t at, bool for_ever, const struct result *whole)
{
    struct result got;
    char label[128];
    (void)snprintf(label, sizeof label, "%s of %s, allocation %llu%s", cases[number].table->name,
                   cases[number].trace, (unsigned long long)at, for_ever ? " and all others" : "");
    if (!run(number, at, for_ever, &got))
        return;
    bool is_ours = cases[number].function == NULL;
    if (got.said[0] == '\0' && !is_ours) /* regexec of glibc takes it for no match */
        ck_assert_uint_le(got.rows, whole->rows);
    else if (got.said[0] == '\0') /* with sanitizers rows come in another order where one fails */
        ck_assert_msg((got.digest == whole->digest || TTEST_SANITIZED) && got.rows == whole->rows,
                      "%s: %llu rows of %llu, or others", label, (unsigned long long)got.rows,
                      (unsigned long long)whole->rows);
    else
        ck_assert_msg(strstr(got.said, "memory") != NULL, "%s: said '%s'", label, got.said);
    if (is_ours && !TTEST_SANITIZED) /* regcomp of glibc keeps some; sanitizers look themselves */
        ck_assert_msg(got.kept_bytes == 0, "%s: %zu bytes are not given back", label,
                      got.kept_bytes);
}

START_TEST(each_allocation_fails)
{
    struct result whole;
    unsigned number = (unsigned)_i;
    if (TTEST_SANITIZED && cases[number].function != NULL)
        return; /* what regcomp of glibc keeps then is no leak of ours */
    (void)run(number, UINT64_MAX, false, &whole); /* the C library makes what it keeps */
    (void)run(number, UINT64_MAX, false, &whole);
    uint64_t count = ttest_faults_counted(TTEST_ALLOC);
    ck_assert_msg(whole.said[0] == '\0', "%s", whole.said);
    ck_assert_uint_gt(whole.rows, 0);
    ck_assert_uint_eq(whole.kept_bytes, 0);
    ck_assert_uint_gt(count, 20);
    for (uint64_t at = 0; at < count; at += ttest_every(7)) {
        check(number, at, false, &whole);
        check(number, at, true, &whole);
    }
}
END_TEST

/* What was given back and lies ready for the next that asks is not told from what was not. */
static void count_exactly(char **argv)
{
    if (getenv("GLIBC_TUNABLES") != NULL || TTEST_SANITIZED)
        return;
    (void)setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
    (void)execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    (void)argc;
    count_exactly(argv);
    Suite *suite = suite_create("duck_faults");
    TCase *tests = tcase_create("duck_faults");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, each_allocation_fails, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
