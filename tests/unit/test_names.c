/* What functions are called: brief and simple names, told apart over two traces; functions by
 * their names; what is refused, and where memory is short. */
#include <tracetape/names.h>

#include "tests/unit/test_reader_fixture.h"

#define SITES 10

/* Mangled names are those that begin with "_Z"; the readable one stands behind a space. */
static const struct {
    const char *symbol;
    uint32_t kind;
    uint64_t address;
    const char *full, *brief, *simple;
} sites[2][SITES] = {
    {{"_Za app::fill(int)", TTAPE_SITE_FUNCTION, 16, "app::fill(int)", "app::fill",
      "app::fill(int)"},
     {"_Zb app::fill(long)", TTAPE_SITE_FUNCTION, 32, "app::fill(long)", "app::fill",
      "app::fill(long)"},
     {"_Zc app::empty(int)", TTAPE_SITE_FUNCTION, 48, "app::empty(int)", "app::empty",
      "app::empty"},
     {"spin.isra.0", TTAPE_SITE_FUNCTION, 64, "spin.isra.0", "spin.isra.0", "spin.isra.0"},
     {"note(int)", TTAPE_SITE_MARKER, 0, "note(int)", "note(int)", "note(int)"},
     {"", TTAPE_SITE_FUNCTION, 0x60, "", "", ""},
     {"_Zd std::vector<int, std::allocator<int> >::at(int)", TTAPE_SITE_FUNCTION, 96,
      "std::vector<int, std::allocator<int> >::at(int)", "std::vector<\xE2\x80\xA6>::at",
      "std::vector<int>::at"},
     {"_Ze std::vector<long, std::allocator<long> >::at(int)", TTAPE_SITE_FUNCTION, 112,
      "std::vector<long, std::allocator<long> >::at(int)", "std::vector<\xE2\x80\xA6>::at",
      "std::vector<long>::at"},
     {"main", TTAPE_SITE_FUNCTION, 128, "main", "main", "main"},
     {"_Zf app::empty(int)", TTAPE_SITE_FUNCTION, 144, "app::empty(int)", "app::empty",
      "app::empty"}},
    {{"main", TTAPE_SITE_FUNCTION, 16, "main", "main", "main"},
     {"_Zg app::fill(char)", TTAPE_SITE_FUNCTION, 32, "app::fill(char)", "app::fill",
      "app::fill(char)"},
     {"_Za app::fill(int)", TTAPE_SITE_FUNCTION, 48, "app::fill(int)", "app::fill",
      "app::fill(int)"}},
};
static const uint32_t counts[2] = {SITES, 3};

static struct ttest_file make(uint32_t trace)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    uint32_t id;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < counts[trace]; i++) {
        ttape_site site = {.address = sites[trace][i].address,
                           .module = TTAPE_NONE,
                           .kind = (ttape_site_kind)sites[trace][i].kind,
                           .symbol = ttest_string(sites[trace][i].symbol)};
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

static void demangle(void *context, const ttape_string *symbols, uint32_t count,
                     ttape_names_put put, void *into)
{
    ++*(uint32_t *)context;
    for (uint32_t i = 0; i < count; i++)
        if (symbols[i].size_bytes > 4 && memcmp(symbols[i].data, "_Z", 2) == 0)
            put(into, i, (ttape_string){symbols[i].data + 4, symbols[i].size_bytes - 4});
    put(into, count, ttest_string("of no site"));
}

static bool is_text(ttape_string text, const char *other)
{
    return text.size_bytes == strlen(other) && memcmp(text.data, other, text.size_bytes) == 0;
}

static ttape_names_options options_of(uint32_t *calls)
{
    return (ttape_names_options){
        .size = sizeof(ttape_names_options), .demangle = demangle, .context = calls};
}

START_TEST(names_are_told_apart_over_all_traces)
{
    struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
    ttape_names *names;
    ttape_error err = {0};
    uint32_t count, calls = 0;
    const ttape_reader *readers[2] = {t[0].reader, t[1].reader};
    const ttape_names_options how = options_of(&calls);
    TTEST_OK(ttape_names_make(&names, readers, 2, &how, &err));
    ck_assert_uint_eq(calls, 2);
    for (uint32_t r = 0; r < 2; r++) {
        const ttape_name *rows = ttape_names_get_rows(names, r, &count);
        ck_assert_uint_eq(count, counts[r]);
        for (uint32_t i = 0; i < count; i++) {
            ck_assert(is_text(rows[i].symbol, sites[r][i].symbol));
            ck_assert(is_text(rows[i].full, sites[r][i].full));
            ck_assert(is_text(rows[i].brief, sites[r][i].brief));
            ck_assert_msg(is_text(rows[i].simple, sites[r][i].simple), "site %u of %u: '%.*s'", i,
                          r, (int)rows[i].simple.size_bytes, rows[i].simple.data);
        }
    }
    ttape_names_close(names);
    close_traces(t);
}
END_TEST

START_TEST(functions_are_found_by_each_of_their_names)
{
    static const struct {
        const char *name;
        uint32_t count, first;
    } wanted[] = {{"app::fill", 2, 0},
                  {"app::fill(long)", 1, 1},
                  {"_Za app::fill(int)", 1, 0},
                  {"app::empty", 2, 2},
                  {"spin", 1, 3},
                  {"spin.isra.0", 1, 3},
                  {"note(int)", 1, 4},
                  {"0x60", 1, 5},
                  {"0x40", 0, 0}, /* it has a symbol */
                  {"std::vector<long>::at", 1, 7},
                  {"app", 0, 0},
                  {"", 0, 0}};
    struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
    ttape_names *names;
    ttape_error err = {0};
    uint32_t calls = 0, found[SITES];
    const ttape_reader *readers[2] = {t[0].reader, t[1].reader};
    const ttape_names_options how = options_of(&calls);
    TTEST_OK(ttape_names_make(&names, readers, 2, &how, &err));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        uint32_t count = ttape_names_find(names, 0, ttest_string(wanted[i].name), found, SITES);
        ck_assert_msg(count == wanted[i].count, "'%s': %u", wanted[i].name, count);
        if (count > 0)
            ck_assert_uint_eq(found[0], wanted[i].first);
    }
    ck_assert_uint_eq(ttape_names_find(names, 0, ttest_string("app::fill"), found, 0), 2);
    ck_assert_uint_eq(ttape_names_find(names, 2, ttest_string("main"), found, SITES), 0);
    ck_assert_uint_eq(ttape_names_find(NULL, 0, ttest_string("main"), found, SITES), 0);
    ttape_names_close(names);
    close_traces(t);
}
END_TEST

START_TEST(without_a_demangler_symbols_stay)
{
    struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
    ttape_names *names;
    ttape_error err = {0};
    uint32_t count;
    const ttape_reader *readers[1] = {t[1].reader};
    TTEST_OK(ttape_names_make(&names, readers, 1, NULL, &err));
    const ttape_name *rows = ttape_names_get_rows(names, 0, &count);
    ck_assert_uint_eq(count, 3);
    for (uint32_t i = 0; i < count; i++)
        ck_assert(is_text(rows[i].full, sites[1][i].symbol));
    ttape_names_close(names);
    close_traces(t);
}
END_TEST

static bool stop(void *context, uint64_t done, uint64_t all)
{
    ck_assert_uint_le(done, all);
    return --*(uint32_t *)context != 0;
}

START_TEST(what_cannot_be_is_refused)
{
    struct ttest_trace t[2] = {ttest_open_trace(make(0)), ttest_open_trace(make(1))};
    ttape_names *names;
    ttape_error err = {0};
    uint32_t count, calls = 0, left = 1, refused = 0, stopped = 0;
    const ttape_reader *readers[2] = {t[0].reader, NULL};
    ttape_names_options how = options_of(&calls);
    ck_assert_int_eq(ttape_names_make(NULL, readers, 1, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_names_make(&names, readers, 0, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_names_make(&names, readers, 2, NULL, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_names_make(&names, readers, 65537, NULL, &err), TTAPE_E_ARGUMENT);
    const ttape_watch watch = {stop, &left};
    how.watch = &watch;
    for (uint32_t asked = 1;; asked++, stopped++) { /* at each question */
        left = asked;
        ttape_status status = ttape_names_make(&names, readers, 1, &how, &err);
        if (status == TTAPE_OK)
            break;
        ck_assert_int_eq(status, TTAPE_E_STATE);
        ck_assert_ptr_null(names);
    }
    ck_assert_uint_ge(stopped, 3);
    ttape_names_close(names);
    how.watch = NULL;
    for (how.memory_bytes = 1;
         ttest_is_short(ttape_names_make(&names, readers, 1, &how, &err), &names); refused++)
        how.memory_bytes += 40;
    ck_assert_uint_gt(refused, 20);
    ck_assert_ptr_null(ttape_names_get_rows(names, 1, &count));
    ttape_names_close(names);
    ttape_names_close(NULL);
    ck_assert_ptr_null(ttape_names_get_rows(NULL, 0, &count));
    ck_assert_uint_eq(count, 0);
    close_traces(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("names");
    TCase *tests = tcase_create("names");
    tcase_add_test(tests, names_are_told_apart_over_all_traces);
    tcase_add_test(tests, functions_are_found_by_each_of_their_names);
    tcase_add_test(tests, without_a_demangler_symbols_stay);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
