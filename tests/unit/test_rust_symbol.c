/* Symbols of Rust across builds: numbers of crates and hashes are left out, references follow, and
 * nothing else is; whatever a file says, no byte behind it is read. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "reader/definitions/rust_symbol.h"
#include "tests/asserts.h"

static ttape_string string_of(const char *text) { return (ttape_string){text, strlen(text)}; }

/* @ stands for a crate's number, #n_ for a reference to what is behind the n-th | (which goes). */
static void fill(const char *pattern, const char *number, char *symbol, size_t size)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t marks[10], mark_count = 0, at = 0;
    for (const char *from = pattern; *from != '\0'; from++) {
        ck_assert_uint_lt(at + 32, size);
        if (*from == '@') {
            at += (size_t)snprintf(symbol + at, size - at, "s%s_", number);
        } else if (*from == '|') {
            marks[mark_count++] = at - 2; /* behind "_R" */
        } else if (*from == '#') {
            size_t to = marks[*++from - '0'];
            symbol[at++] = 'B';
            ck_assert_uint_lt(to, 62 * 62 + 1);
            if (to > 62)
                symbol[at++] = digits[(to - 1) / 62];
            if (to > 0)
                symbol[at++] = digits[(to - 1) % 62];
        } else {
            symbol[at++] = *from;
        }
    }
    symbol[at] = '\0';
}

static const char *const patterns[] = {
    "_RNvC@3app4work",                                   /* app::work */
    "_RNvNtC@3app3net4send",                             /* app::net::send */
    "_RNCNvC@3app4works_0",                              /* its second closure */
    "_RNvC@3app4work.llvm.1234",                         /* as a compiler may say it */
    "_RINvC@3app4worksE",                                /* work::<i16>: s is a type here */
    "_RINvC@3app4workhEC@5other",                        /* made in another crate */
    "_RINv|C@3app4work|Nt#0_3Foo#1_E",                   /* work::<Foo, Foo> */
    "_RINv|C@3app4workNt#0_3FooNt#0_3BarE",              /* work::<Foo, Bar> */
    "_RINvC@3app4workKj3_E",                             /* work::<3> */
    "_RINvC@3app4workFKCsEuE",                           /* work::<extern "C" fn(i16)> */
    "_RINvC@3app4workFUK5cdeclTsjEERL_hE",               /* of a tuple, and a reference */
    "_RINvC@3app4workDG_INtC@4core2FnTsEEp6OutputuEL_E", /* work::<dyn Fn(i16)> */
    "_RINvC@3app4workAjKj3_E",                           /* not what the grammar says: as it is */
    "_RNvMs_|C@3appNt#0_3Foo3new",                       /* <Foo>::new */
    "_RNvXs0_|C@3appNt#0_3FooNtC@4core4Copy4copy",       /* <Foo as Copy>::copy */
    "_RNvYhNtC@4core7Default7default",                   /* <u8 as Default>::default */
    "_RNvC@3appu8gdel_5qa",                              /* a name that is no ASCII */
};
#define PATTERNS (sizeof patterns / sizeof patterns[0])
#define ODD      12u /* the one that is not understood */

START_TEST(builds_are_told_apart_by_nothing_else)
{
    static const char *const numbers[] = {"4fqI2P2rA04", "", "0"};
    char one[512], other[512], symbols[PATTERNS][512];
    for (size_t i = 0; i < PATTERNS; i++) {
        fill(patterns[i], numbers[0], one, sizeof one);
        memcpy(symbols[i], one, sizeof one);
        for (size_t k = 1; k < 3; k++) {
            fill(patterns[i], numbers[k], other, sizeof other);
            ck_assert_msg((ttp_compare_symbols_across_builds(string_of(one), string_of(other)) ==
                           0) == (i != ODD),
                          "%s %s", one, other);
        }
    }
    for (size_t i = 0; i < PATTERNS; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(ttp_compare_symbols_across_builds(string_of(symbols[i]),
                                                            string_of(symbols[k])) != 0,
                          "%s %s", symbols[i], symbols[k]);
}
END_TEST

START_TEST(what_stays_is_said)
{
    static const char *const pairs[][2] = {
        {"_RNvCs4fqI2P2rA04_3app4work", "_RNvC3app4work"},
        {"_RINvCs4f_3app4workNtB2_3FooBg_E", "_RINvC3app4workNtB2_3FooBc_E"},
        {"_ZN3app4work17h0123456789abcdefE", "_ZN3app4work"},
        {"app::work::h0123456789abcdef", "app::work"},
        {"_ZN3app4work17h0123456789abcdeXE", "_ZN3app4work17h0123456789abcdeXE"},
        {"main", "main"},
        {"", ""},
        {"_R", "_R"},
        {"_Rest", "_Rest"},
        {"_RNvCs4fq", "_RNvCs4fq"},
        {"_RNvCs4fq_3ap", "_RNvCs4fq_3ap"},
        {"_RNvCs4fq_99999999999999999999999a4work", "_RNvCs4fq_99999999999999999999999a4work"}};
    char room[TTP_RUST_SYMBOL_MOST];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        ttape_string said = ttp_symbol_across_builds(string_of(pairs[i][0]), room);
        ck_assert_msg(ttp_text_is(said, pairs[i][1]), "%s: %.*s", pairs[i][0], (int)said.size_bytes,
                      said.data);
    }
}
END_TEST

/* Exact copies, so that a sanitizer sees one byte behind them. */
static void look(const char *symbol, size_t size)
{
    char *exact = malloc(size + 1), room[TTP_RUST_SYMBOL_MOST];
    ck_assert_ptr_nonnull(exact);
    char *end = memcpy(exact + 1, symbol, size);
    ttape_string said = ttp_symbol_across_builds((ttape_string){end, size}, room);
    ck_assert_uint_le(said.size_bytes, size);
    free(exact);
}

START_TEST(no_symbol_is_too_odd)
{
    char symbol[4 * TTP_RUST_SYMBOL_MOST];
    for (size_t i = 0; i < PATTERNS; i++) {
        fill(patterns[i], "4fqI2P2rA04", symbol, sizeof symbol);
        for (size_t size = strlen(symbol); size > 0; size--)
            look(symbol, size);
        for (size_t at = strlen(symbol); at-- > 2;)
            for (int c = 1; c < 128; c++) {
                char before = symbol[at];
                symbol[at] = (char)c;
                look(symbol, strlen(symbol));
                symbol[at] = before;
            }
    }
    static const char deep[] = "RSPONTMXYFDIABCs";
    for (size_t i = 0; i + 1 < sizeof deep; i++) {
        memset(symbol, deep[i], sizeof symbol);
        memcpy(symbol, "_RIC1a", 6);
        look(symbol, TTP_RUST_SYMBOL_MOST);
        look(symbol, sizeof symbol);
    }
    memset(symbol, 'B', sizeof symbol); /* each reference gets no longer than it was */
    memcpy(symbol, "_RIC1a", 6);
    for (size_t at = 6; at + 3 < sizeof symbol; at += 3)
        memcpy(symbol + at, "BZ_", 3);
    look(symbol, TTP_RUST_SYMBOL_MOST);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbols of Rust");
    TCase *tests = tcase_create("symbols");
    tcase_add_test(tests, builds_are_told_apart_by_nothing_else);
    tcase_add_test(tests, what_stays_is_said);
    tcase_add_test(tests, no_symbol_is_too_odd);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
