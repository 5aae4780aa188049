/* One program, library or source file under two names: which functions of two sides are one, and
 * which stay apart; every bound of memory. */
#include <tracetape/functions.h>

#include "tests/unit/test_reader_fixture.h"

/* A site of each symbol in a module and a file: a small letter, or '-' for none. A capital letter
 * before them is the module's build id. */
struct part {
    const char *module, *file, *symbols;
};

#define PARTS   3
#define READERS 3

struct traces {
    struct ttest_file files[READERS];
    ttape_source sources[READERS];
    ttape_reader *readers[READERS];
    uint32_t count;
};

static ttape_string id_of(const struct part *part)
{
    bool has_id = part->symbols[0] >= 'A' && part->symbols[0] <= 'Z';
    return (ttape_string){part->symbols, has_id};
}

static struct ttest_file make(const struct part *parts)
{
    ttape_memory_sink memory = {0};
    ttape_sink sink = ttape_sink_memory(&memory);
    ttape_writer *w;
    uint32_t id, site_id;
    ck_assert_int_eq(ttape_writer_open(&w, &sink, NULL, NULL), TTAPE_OK);
    for (uint32_t i = 0; i < PARTS && parts[i].symbols != NULL; i++) {
        uint64_t start = 0x10000u * (i + 1);
        ttape_module module = {.start = start,
                               .end = start + 0x1000,
                               .process = TTAPE_NONE,
                               .path = ttest_string(parts[i].module),
                               .build_id = id_of(&parts[i])};
        ck_assert_int_eq(ttape_writer_add_module(w, &module, &id, NULL), TTAPE_OK);
        for (const char *symbol = parts[i].symbols + module.build_id.size_bytes; *symbol != '\0';
             symbol++) {
            ttape_site site = {.address = start + 16 * (uint64_t)(symbol - parts[i].symbols),
                               .module = id,
                               .kind = TTAPE_SITE_FUNCTION,
                               .symbol = {symbol, *symbol != '-'},
                               .file = ttest_string(parts[i].file)};
            ck_assert_int_eq(ttape_writer_add_site(w, &site, &site_id, NULL), TTAPE_OK);
        }
    }
    ck_assert_int_eq(ttape_writer_finish(w, NULL), TTAPE_OK);
    ttape_writer_close(w);
    return ttest_take(&memory);
}

static void add_trace(struct traces *t, const struct part *parts)
{
    ttape_error err = {0};
    uint32_t i = t->count++;
    t->files[i] = make(parts);
    t->sources[i] = ttape_source_memory(t->files[i].data, t->files[i].size_bytes);
    TTEST_OK(ttape_reader_open(&t->readers[i], &t->sources[i], NULL, &err));
}

static void close_traces(struct traces *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        ttape_reader_close(t->readers[i]);
        free(t->files[i].data);
    }
}

static ttape_status match(const struct traces *t, ttape_functions **f,
                          ttape_functions_options options)
{
    const ttape_reader *readers[READERS] = {t->readers[0], t->readers[1], t->readers[2]};
    ttape_error err = {0};
    options.size = sizeof options;
    return ttape_functions_make(f, readers, t->count, &options, &err);
}

static bool is_text(ttape_string text, const char *other)
{
    return text.size_bytes == strlen(other) && memcmp(text.data, other, text.size_bytes) == 0;
}

/* ---- which are one ---- */

/* What matches there are, "a b count ..."; with files "a:file b:file count". */
static const struct {
    struct part a[PARTS], b[PARTS];
    const char *matches;
} cases[] = {
    /* a program, with a function that is new */
    {{{"/bin/one", "p.c", "fgh"}}, {{"/bin/two", "p.c", "fghx"}}, "one two 3 "},
    /* two files of it, and a library of two versions that has no files */
    {{{"/bin/one", "p.c", "fg"}, {"/bin/one", "q.c", "hk"}, {"/lib/l.so.1", "", "fxyz"}},
     {{"/bin/two", "r.c", "hk"}, {"/bin/two", "p.c", "fg"}, {"/lib/l.so.2", "", "xyzw"}},
     "l.so.1 l.so.2 3 one two 4 "},
    /* a source file */
    {{{"/bin/p", "p.c", "fgh"}, {"/bin/p", "u.c", "k"}},
     {{"/usr/p", "q.c", "fgh"}, {"/usr/p", "u.c", "k"}},
     "p:p.c p:q.c 3 "},
    /* files of one function each, and namesakes in two of them */
    {{{"/bin/one", "p.c", "f"}, {"/bin/one", "q.c", "gi"}, {"/bin/one", "r.c", "i"}},
     {{"/bin/two", "r.c", "i"}, {"/bin/two", "q.c", "ig"}, {"/bin/two", "p.c", "f"}},
     "one two 4 "},
    /* without symbols, by their places, where it is one build */
    {{{"/bin/one", "", "B---"}}, {{"/bin/two", "", "B----"}}, "one two 3 "},
    {{{"/bin/one", "", "B---"}}, {{"/bin/two", "", "C---"}}, ""},
    {{{"/bin/one", "", "---"}}, {{"/bin/two", "", "---"}}, ""},
    /* of other builds they do not count */
    {{{"/lib/1", "", "Bfg------"}}, {{"/lib/2", "", "Cfg------"}}, "1 2 2 "},
    {{{"/lib/1", "", "Bfg------"}}, {{"/lib/2", "", "Bfg------"}}, "1 2 8 "},
    /* half of the smaller one's are enough, one of three is not */
    {{{"/bin/one", "", "fgxy"}}, {{"/bin/two", "", "fgvwz"}}, "one two 2 "},
    {{{"/bin/one", "", "fgxyz"}}, {{"/bin/two", "", "fguvw"}}, ""},
    /* one may be the same by chance */
    {{{"/bin/one", "", "f"}}, {{"/bin/two", "", "f"}}, ""},
    /* the larger pair comes first, and each has one */
    {{{"/bin/one", "", "fghkl"}},
     {{"/bin/two", "", "fg"}, {"/bin/three", "", "hkl"}},
     "one three 3 "},
    /* what both sides have is matched with nothing */
    {{{"/bin/one", "", "fgh"}, {"/lib/l", "", "xyz"}}, {{"/lib/l", "", "xyzfgh"}}, ""},
    {{{"/bin/one", "", "fgh"}, {"/lib/l", "", "fgh"}},
     {{"/bin/two", "", "fgh"}, {"/lib/l", "", "fgh"}},
     "one two 3 "},
    /* without the files of one side files are not compared */
    {{{"/bin/one", "p.c", "fg"}, {"/bin/one", "q.c", "hk"}},
     {{"/bin/two", "", "fghk"}},
     "one two 4 "},
};
#define CASES (int)(sizeof(cases) / sizeof(cases[0]))

static void put_name(const ttape_functions_match *one, int side, char *text)
{
    strncat(text, one->modules[side].data, one->modules[side].size_bytes);
    if (one->files[side].size_bytes > 0) {
        strcat(text, ":");
        strncat(text, one->files[side].data, one->files[side].size_bytes);
    }
    strcat(text, " ");
}

START_TEST(names_are_matched)
{
    struct traces t = {0};
    ttape_functions *f;
    uint32_t count;
    char text[200] = "";
    add_trace(&t, cases[_i].a);
    add_trace(&t, cases[_i].b);
    ck_assert_int_eq(
        match(&t, &f, (ttape_functions_options){.by = TTAPE_FUNCTIONS_BY_NAME, .a_count = 1}),
        TTAPE_OK);
    const ttape_functions_match *matches = ttape_functions_get_matches(f, &count);
    for (uint32_t i = 0; i < count; i++) {
        put_name(&matches[i], 0, text);
        put_name(&matches[i], 1, text);
        snprintf(text + strlen(text), 20, "%u ", (unsigned)matches[i].function_count);
    }
    ck_assert_str_eq(text, cases[_i].matches);
    ttape_functions_close(f);
    close_traces(&t);
}
END_TEST

/* ---- rows and keys ---- */

/* Runs of B are several, and one of them has the other program, too. */
START_TEST(sites_of_b_have_the_rows_of_a)
{
    static const struct part a[PARTS] = {{"/bin/one", "p.c", "fgh"}};
    static const struct part b[PARTS] = {{"/bin/two", "p.c", "xhgf"}};
    struct traces t = {0}, single = {0};
    ttape_functions *f, *of_b;
    uint32_t count, site_count;
    add_trace(&t, a);
    add_trace(&t, b);
    add_trace(&t, b);
    add_trace(&single, b);
    ttape_functions_options how = {.by = TTAPE_FUNCTIONS_BY_NAME, .a_count = 1};
    ck_assert_int_eq(match(&t, &f, how), TTAPE_OK);
    how.a_count = 0;
    ck_assert_int_eq(match(&single, &of_b, how), TTAPE_OK);
    const ttape_function *rows = ttape_functions_get_rows(f, &count);
    const ttape_function *others = ttape_functions_get_rows(of_b, &count);
    for (uint32_t reader = 1; reader < 3; reader++) {
        const uint32_t *row_of = ttape_functions_get_sites(f, reader, &site_count);
        ck_assert_uint_eq(site_count, 4);
        ck_assert_uint_eq(rows[row_of[0]].reader, 1);
        for (uint32_t i = 1; i < 4; i++) {
            ck_assert_uint_eq(row_of[i], 3 - i);
            ck_assert(is_text(rows[row_of[i]].module_path, "/bin/one"));
            ck_assert_uint_eq(ttape_functions_find(f, others[i].key), 3 - i);
        }
        ck_assert_uint_eq(ttape_functions_find(f, others[0].key), row_of[0]);
    }
    ttape_functions_close(f);
    /* of two sides that both have it nothing is matched, nor where nobody asks */
    how.a_count = 2;
    ck_assert_int_eq(match(&t, &f, how), TTAPE_OK);
    (void)ttape_functions_get_matches(f, &count);
    ck_assert_uint_eq(count, 0);
    ttape_functions_close(f);
    (void)ttape_functions_get_matches(of_b, &count);
    ck_assert_uint_eq(count, 0);
    ttape_functions_close(of_b);
    close_traces(&t);
    close_traces(&single);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(what_cannot_be_is_refused)
{
    struct traces t = {0};
    ttape_functions *f;
    uint32_t count, refused = 0;
    add_trace(&t, cases[1].a);
    add_trace(&t, cases[1].b);
    ttape_functions_options how = {.by = TTAPE_FUNCTIONS_BY_NAME, .a_count = 2};
    ck_assert_int_eq(match(&t, &f, how), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(f);
    how = (ttape_functions_options){.by = TTAPE_FUNCTIONS_BY_BUILD, .a_count = 1};
    ck_assert_int_eq(match(&t, &f, how), TTAPE_E_ARGUMENT);
    how.by = TTAPE_FUNCTIONS_BY_NAME;
    for (how.memory_bytes = 1; ttest_is_short(match(&t, &f, how), &f); refused++)
        how.memory_bytes += 16;
    ck_assert_uint_gt(refused, 100);
    (void)ttape_functions_get_matches(f, &count);
    ck_assert_uint_eq(count, 2);
    ttape_functions_close(f);
    ck_assert_ptr_null(ttape_functions_get_matches(NULL, &count));
    ck_assert_uint_eq(count, 0);
    close_traces(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("functions_match");
    TCase *tests = tcase_create("functions_match");
    tcase_add_loop_test(tests, names_are_matched, 0, CASES);
    tcase_add_test(tests, sites_of_b_have_the_rows_of_a);
    tcase_add_test(tests, what_cannot_be_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
