/* Which sites of two traces are one function, in each of three ways; keys that other files have,
 * too; what is refused. */
#include <tracetape/functions.h>

#include "tests/unit/test_reader_fixture.h"

enum { BIN, LIB, NO_MODULE, MODULES = NO_MODULE };

struct place {
    uint32_t module, kind;
    const char *symbol, *file;
    uint64_t offset;
};

/* Two builds of one program in two folders: the library is one, and the program is another. */
static const struct place sites[2][7] = {
    {{BIN, TTAPE_SITE_FUNCTION, "main", "/a/main.c", 16},
     {BIN, TTAPE_SITE_FUNCTION, "helper", "/a/one.c", 32},
     {BIN, TTAPE_SITE_FUNCTION, "helper", "/a/two.c", 48}, /* a namesake, told apart by its file */
     {LIB, TTAPE_SITE_FUNCTION, "helper", "", 64},
     {LIB, TTAPE_SITE_FUNCTION, "helper", "", 80},      /* by its place */
     {BIN, TTAPE_SITE_FRAME, "helper", "/a/inl.h", 99}, /* its file is not the function's */
     {LIB, TTAPE_SITE_FUNCTION, "", "", 96}},
    {{LIB, TTAPE_SITE_FUNCTION, "", "", 96},
     {LIB, TTAPE_SITE_FUNCTION, "helper", "", 80},
     {BIN, TTAPE_SITE_FUNCTION, "main", "/b/main.c", 160},
     {BIN, TTAPE_SITE_FUNCTION, "helper", "/b/two.c", 48},
     {BIN, TTAPE_SITE_FRAME, "helper", "", 7},
     {NO_MODULE, TTAPE_SITE_FUNCTION, "futex", "", 5},
     {NO_MODULE, TTAPE_SITE_FUNCTION, "futex", "", 6}},
};

static const struct {
    const char *path, *build_id;
} modules[2][MODULES] = {{{"/a/prog", "\x01\x02"}, {"/lib/one.so", "\x07"}},
                         {{"/b/prog", "\x01\x03"}, {"/opt/other.so", "\x07"}}};

/* Loaded wherever it pleases the loader. */
static uint64_t start_of(uint32_t trace, uint32_t module)
{
    return 0x10000u * (1 + trace * 5 + module);
}

static struct ttest_file make(uint32_t trace)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    uint32_t id;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < MODULES; i++) {
        uint64_t start = start_of(trace, i);
        ttape_module module = {.start = start,
                               .end = start + 0x1000,
                               .process = TTAPE_NONE,
                               .path = ttest_string(modules[trace][i].path),
                               .build_id = ttest_string(modules[trace][i].build_id)};
        ck_assert_int_eq(ttape_writer_add_module(w, &module, &id, NULL), TTAPE_OK);
    }
    for (size_t i = 0; i < 7; i++) {
        const struct place *p = &sites[trace][i];
        bool has_module = p->module != NO_MODULE;
        ttape_site site = {.address = p->offset + (has_module ? start_of(trace, p->module) : 0),
                           .module = has_module ? p->module : TTAPE_NONE,
                           .kind = (ttape_site_kind)p->kind,
                           .symbol = ttest_string(p->symbol),
                           .file = ttest_string(p->file)};
        ck_assert_int_eq(ttape_writer_add_site(w, &site, &id, NULL), TTAPE_OK);
    }
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return ttest_take(&memory);
}

static void close_traces(struct ttest_trace t[2])
{
    for (uint32_t i = 0; i < 2; i++)
        ttest_close_trace(&t[i]);
}

static ttape_functions *join(const struct ttest_trace *t, uint32_t count, ttape_functions_by by)
{
    const ttape_functions_options how = {.size = sizeof how, .by = by};
    const ttape_reader *readers[2] = {t[0].reader, t[1].reader};
    ttape_functions *f;
    ttape_error err = {0};
    TTEST_OK(ttape_functions_make(&f, readers, count, &how, &err));
    return f;
}

static bool is_text(ttape_string text, const char *other)
{
    return text.size_bytes == strlen(other) && memcmp(text.data, other, text.size_bytes) == 0;
}

/* ---- which are one ---- */

static const uint32_t wanted[TTAPE_FUNCTIONS_BY_COUNT][2][7] = {
    [TTAPE_FUNCTIONS_BY_PATH] = {{0, 1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12, 12}},
    /* the library is the same build, whatever its path is */
    [TTAPE_FUNCTIONS_BY_BUILD] = {{0, 1, 2, 3, 4, 5, 6}, {6, 4, 7, 8, 9, 10, 10}},
    /* by what people call them: the program is one, the library has another name */
    [TTAPE_FUNCTIONS_BY_NAME] = {{0, 1, 2, 3, 3, 4, 5}, {6, 7, 0, 2, 8, 9, 9}},
};

START_TEST(sites_are_joined_by_what_they_say)
{
    struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
    uint32_t row_count, site_count, most = 0;
    ttape_functions *f = join(t, 2, (ttape_functions_by)_i);
    const ttape_function *rows = ttape_functions_get_rows(f, &row_count);
    for (uint32_t r = 0; r < 2; r++) {
        const uint32_t *row_of = ttape_functions_get_sites(f, r, &site_count);
        ck_assert_uint_eq(site_count, 7);
        for (uint32_t i = 0; i < 7; i++) {
            uint32_t want = wanted[_i][r][i];
            ck_assert_msg(row_of[i] == want, "site %u of %u: %u, not %u", i, r, row_of[i], want);
            if (want < most)
                continue;
            most = want + 1;
            ck_assert_uint_eq(rows[want].reader, r);
            ck_assert_uint_eq(rows[want].site, i);
            ck_assert(is_text(rows[want].symbol, sites[r][i].symbol));
            ck_assert(is_text(rows[want].file, sites[r][i].file));
            ck_assert_int_eq(rows[want].is_idle, strcmp(sites[r][i].symbol, "futex") == 0);
        }
    }
    ck_assert_uint_eq(row_count, most + 1);
    ck_assert_uint_eq(rows[most].site, TTAPE_NONE);
    ck_assert_uint_eq(rows[most].module, TTAPE_NONE);
    ttape_functions_close(f);
    close_traces(t);
}
END_TEST

/* ---- keys ---- */

START_TEST(keys_are_the_same_in_other_files)
{
    struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
    uint32_t count, other_count;
    ttape_functions *both = join(t, 2, TTAPE_FUNCTIONS_BY_BUILD);
    const struct ttest_trace second[2] = {{.reader = t[1].reader}};
    ttape_functions *one = join(second, 1, TTAPE_FUNCTIONS_BY_BUILD);
    const ttape_function *rows = ttape_functions_get_rows(both, &count);
    const ttape_function *others = ttape_functions_get_rows(one, &other_count);
    for (uint32_t i = 0; i + 1 < other_count; i++) {
        uint32_t found = ttape_functions_find(both, others[i].key);
        uint32_t site_count;
        ck_assert_uint_lt(found, count - 1);
        ck_assert_uint_eq(found, ttape_functions_get_sites(both, 1, &site_count)[others[i].site]);
        ck_assert_uint_eq(rows[found].key, others[i].key);
    }
    ck_assert_uint_eq(ttape_functions_find(one, rows[0].key), TTAPE_NONE);
    ck_assert_uint_eq(ttape_functions_find(NULL, 0), TTAPE_NONE);
    /* a key that is written down somewhere stays what it is */
    ck_assert_uint_eq(rows[0].key, UINT64_C(14584213889886649298));
    ttape_functions_close(one);
    ttape_functions_close(both);
    close_traces(t);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
    ttape_functions *f;
    ttape_error err = {0};
    uint32_t count;
    const ttape_reader *readers[2] = {t[0].reader, NULL};
    ttape_functions_options how = {.size = sizeof how, .by = TTAPE_FUNCTIONS_BY_COUNT};
    ck_assert_int_eq(ttape_functions_make(&f, readers, 1, &how, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_functions_make(NULL, readers, 1, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_functions_make(&f, readers, 0, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_functions_make(&f, readers, 2, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_functions_make(&f, readers, 65537, NULL, &err), TTAPE_E_ARGUMENT);
    how.by = TTAPE_FUNCTIONS_BY_PATH;
    uint32_t refused = 0;
    for (how.memory_bytes = 1; ttest_is_short(ttape_functions_make(&f, readers, 1, &how, &err), &f);
         refused++)
        how.memory_bytes += 40;
    ck_assert_uint_gt(refused, 20);
    ck_assert_ptr_null(ttape_functions_get_sites(f, 1, &count));
    ttape_functions_close(f);
    ttape_functions_close(NULL);
    ck_assert_ptr_null(ttape_functions_get_rows(NULL, &count));
    ck_assert_ptr_null(ttape_functions_get_sites(NULL, 0, &count));
    ck_assert_uint_eq(count, 0);
    close_traces(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("functions");
    TCase *tests = tcase_create("functions");
    tcase_add_loop_test(tests, sites_are_joined_by_what_they_say, 0, TTAPE_FUNCTIONS_BY_COUNT);
    tcase_add_test(tests, keys_are_the_same_in_other_files);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
