/* The stack rules of decoded orders: each broken once, the edges that a check reports, and damage.
 */
#include "format/base/limits.h"
#include "literal_fixture.h"
#include "tests/asserts.h"

/* Symbols of every case below, by number. */
enum {
    ENTER_A,
    ENTER_B,
    SIGNAL,
    LEAF,
    UNWIND_1,
    UNWIND_2,
    ACROSS_1,
    SWITCH_0,
    SWITCH_5,
    SWITCH_MAX,
    UNWIND_0,
    ACROSS_0
};
static struct ttp_symbol symbols[] = {
    {1, TTP_CLASS_ENTER},       {2, TTP_CLASS_ENTER},
    {9, TTP_CLASS_SIGNAL},      {1, TTP_CLASS_LEAF},
    {1, TTP_CLASS_UNWIND},      {2, TTP_CLASS_UNWIND},
    {1, TTP_CLASS_EXIT_ACROSS}, {0, TTP_CLASS_SWITCH},
    {5, TTP_CLASS_SWITCH},      {TTP_MAX_STACKS, TTP_CLASS_SWITCH},
    {0, TTP_CLASS_UNWIND},      {0, TTP_CLASS_EXIT_ACROSS}};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };

#define IN(s)  ((s) << 1)
#define END(s) ((s) << 1 | 1)

struct stack_case {
    uint32_t codes[8], event_count, open[3], open_stack[3], open_count, start_stack;
    const char *rule;
};

static const struct stack_case cases[] = {
    {{IN(ENTER_A), IN(LEAF), END(ENTER_A)}, 3, {0}, {0}, 0, 0, ""},
    {{END(ENTER_B), END(ENTER_A)}, 2, {ENTER_A, ENTER_B}, {0, 0}, 2, 0, ""},
    {{IN(ENTER_A), IN(SIGNAL), END(SIGNAL), END(ENTER_A)}, 4, {0}, {0}, 0, 7, ""},
    {{IN(UNWIND_2)}, 1, {ENTER_A, ENTER_B}, {0, 0}, 2, 0, ""},
    {{IN(ACROSS_1)}, 1, {ENTER_A, ENTER_B}, {0, 0}, 2, 0, ""},
    {{IN(SWITCH_5), END(ENTER_B), IN(SWITCH_0), END(ENTER_A)},
     4,
     {ENTER_A, ENTER_B},
     {0, 5},
     2,
     0,
     ""},
    {{0}, 0, {ENTER_A}, {3}, 1, 0, ""},
    {{0}, 0, {LEAF}, {0}, 1, 0, "O-CHK-01"},
    {{0}, 0, {SYMBOLS}, {0}, 1, 0, "O-CHK-01"},
    {{IN(SYMBOLS)}, 1, {0}, {0}, 0, 0, "O-CHK-02"},
    {{UINT32_MAX}, 1, {0}, {0}, 0, 0, "O-CHK-02"},
    {{END(LEAF)}, 1, {0}, {0}, 0, 0, "O-CHK-03"},
    {{END(ENTER_A)}, 1, {0}, {0}, 0, 0, "O-CHK-03"},
    {{END(ENTER_A)}, 1, {ENTER_A, ENTER_B}, {0, 0}, 2, 0, "O-CHK-03"},
    {{END(ENTER_A)}, 1, {ENTER_A}, {1}, 1, 0, "O-CHK-03"},
    {{END(ENTER_B), IN(SWITCH_5), END(ENTER_A)}, 3, {ENTER_A, ENTER_B}, {0, 0}, 2, 0, "O-CHK-03"},
    {{IN(ENTER_A), END(ENTER_A), END(ENTER_A)}, 3, {0}, {0}, 0, 0, "O-CHK-03"},
    {{IN(UNWIND_2)}, 1, {ENTER_A}, {0}, 1, 0, "O-CHK-04"},
    {{IN(UNWIND_0)}, 1, {ENTER_A}, {0}, 1, 0, "O-CHK-04"},
    {{IN(ACROSS_1)}, 1, {ENTER_A}, {0}, 1, 0, "O-CHK-05"},
    {{IN(ACROSS_0)}, 1, {ENTER_A}, {0}, 1, 0, "O-CHK-05"},
    {{IN(SWITCH_MAX)}, 1, {0}, {0}, 0, 0, "O-CHK-06"},
    {{0}, 0, {ENTER_A}, {TTP_MAX_STACKS}, 1, 0, "O-CHK-06"},
    {{0}, 0, {0}, {0}, 0, TTP_MAX_STACKS, "O-CHK-06"},
};

START_TEST(each_rule_once)
{
    const struct stack_case *t = &cases[_i];
    uint32_t segment_start[2] = {0, t->event_count}, open_start[2] = {0, t->open_count}, codes[8];
    struct ttp_order_out o = {codes,
                              symbols,
                              segment_start,
                              open_start,
                              t->open,
                              t->open_stack,
                              &t->start_stack,
                              t->event_count,
                              SYMBOLS,
                              0,
                              1,
                              SYMBOLS,
                              0};
    size_t bytes = ttp_order_check_workspace(t->event_count, t->open_count);
    uint8_t *ws = malloc(bytes + 1);
    ttape_error err = {.rule = ""};

    memcpy(codes, t->codes, sizeof codes);
    ttape_status status = ttp_order_check(&o, ws + 1, bytes, &err);
    ck_assert_int_eq(status, t->rule[0] ? TTAPE_E_CORRUPT : TTAPE_OK);
    ck_assert_str_eq(err.rule, t->rule);
    ck_assert_int_eq(ttp_order_check(&o, ws + 1, bytes - 1, &err), TTAPE_E_ARGUMENT);
    free(ws);
}
END_TEST

START_TEST(edges_are_reported)
{
    uint32_t codes[] = {END(ENTER_B), IN(SIGNAL),  IN(LEAF), IN(SWITCH_5),
                        IN(ENTER_B),  IN(ENTER_A), IN(LEAF)};
    uint32_t segment_start[] = {0, 6, 7}, open_start[] = {0, 2, 2}, open[] = {ENTER_A, ENTER_B};
    uint32_t open_stack[] = {0, 0}, start_stack[] = {0, 9};
    struct ttp_order_out o = {
        codes, symbols, segment_start, open_start, open, open_stack, start_stack, 7, SYMBOLS,
        0,     2,       SYMBOLS,       0};
    uint32_t min_depth[2], max_depth[2], end_start[3], end[4], end_stack[4], running[2];
    struct ttp_order_edges edges = {min_depth, max_depth, end_start, end, end_stack, running, 4};
    size_t bytes = ttp_order_check_workspace(7, 2);
    void *ws = malloc(bytes);
    ttape_error err;

    memset(end_start, 0xee, sizeof end_start);
    ck_assert_int_eq(ttp_order_check_edges(&o, &edges, ws, bytes, &err), TTAPE_OK);
    ck_assert_uint_eq(min_depth[0], 0); /* on stack 5, at first */
    ck_assert_uint_eq(max_depth[0], 2);
    ck_assert_uint_eq(min_depth[1] + max_depth[1], 0);
    static const uint32_t starts[] = {0, 4, 4}, frames[] = {ENTER_A, SIGNAL, ENTER_B, ENTER_A};
    static const uint32_t stacks[] = {0, 0, 5, 5}, runs[] = {5, 9};
    ck_assert_mem_eq(end_start, starts, sizeof starts);
    ck_assert_mem_eq(end, frames, sizeof frames);
    ck_assert_mem_eq(end_stack, stacks, sizeof stacks);
    ck_assert_mem_eq(running, runs, sizeof runs);
    edges.end_capacity = 3;
    ck_assert_int_eq(ttp_order_check_edges(&o, &edges, ws, bytes, &err), TTAPE_E_LIMIT);
    edges = (struct ttp_order_edges){0};
    ck_assert_int_eq(ttp_order_check_edges(&o, &edges, ws, bytes, &err), TTAPE_OK);
    free(ws);
}
END_TEST

/* Every code of valid orders replaced by others: whatever is said, nothing is touched that is not
 * there. */
START_TEST(wrong_codes_stay_in_bounds)
{
    for (uint32_t seed = 0; seed < 8; seed++) {
        struct ttest_order *o = ttest_order_new(seed, 300, 1 + seed, 20);
        struct ttp_order_out out = ttest_out_new(&o->view);
        size_t bytes = ttp_order_check_workspace(300, 8);
        void *ws = malloc(bytes);
        ttape_error err;
        memcpy(out.codes, o->codes, 300 * sizeof *out.codes);
        memcpy(out.symbols, o->symbols, o->view.symbol_count * sizeof *out.symbols);
        out.symbol_count = o->view.symbol_count;
        ck_assert_int_eq(ttp_order_check(&out, ws, bytes, &err), TTAPE_OK);
        for (uint32_t i = 0; i < 300; i++)
            for (uint32_t n = 0; n < 30; n++) {
                out.codes[i] = ttest_random(o, out.symbol_count * 2 + 1);
                (void)ttp_order_check(&out, ws, bytes, &err);
                out.codes[i] = o->codes[i];
            }
        free(ws);
        ttest_out_free(&out);
        ttest_order_free(o);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order_check");
    TCase *tcase = tcase_create("order_check");
    tcase_add_loop_test(tcase, each_rule_once, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tcase, edges_are_reported);
    tcase_add_test(tcase, wrong_codes_stay_in_bounds);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
