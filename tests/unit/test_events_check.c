/* The check of decoded events: what is wrong is named wherever it stands among events that most
 * partitions have nothing else of, and the state at each checkpoint is that of a plain count. */
#include <stdio.h>
#include <string.h>

#include "reader/partition/partition_decoder.h"
#include "reader/reader_internal.h"
#include "tests/asserts.h"

enum { EVENTS = 2500, OUTER = 0, INNER = 1, BLOCK = 2, SYMBOLS = 3 };

#define OPENS(symbol)  ((uint32_t)(symbol) << 1)
#define CLOSES(symbol) ((uint32_t)(symbol) << 1 | 1)

static const uint32_t pattern[5] = {OPENS(OUTER), OPENS(INNER), OPENS(BLOCK), CLOSES(INNER),
                                    CLOSES(OUTER)};
static const uint32_t heights[5] = {0, 1, 2, 2, 1}; /* before each */

/* Where codes are from: the raw form, in which each may be wrong, or chains, which end no frame but
 * the one on top. */
enum { RAW, CHAINS, FORMS };

/* Checks EVENTS events, of which event `at` has the code `code`; `p` stays open. */
static ttape_status check(struct ttp_trace_decoder *d, struct ttp_loaded *p, int form, uint32_t at,
                          uint32_t code, ttape_error *err)
{
    static struct ttp_symbol symbols[SYMBOLS] = {
        {0, TTP_CLASS_ENTER}, {1, TTP_CLASS_ENTER}, {2, TTP_CLASS_LEAF}};
    static struct ttp_code_view views[2 * SYMBOLS];
    static struct ttp_segment segment = {.event_count = EVENTS};
    static uint32_t codes[EVENTS], segment_start[2] = {0, EVENTS};
    for (uint32_t i = 0; i < EVENTS; i++)
        codes[i] = i == at ? code : pattern[i % 5];
    for (uint32_t i = 0; i < 2 * SYMBOLS; i++)
        views[i] = (struct ttp_code_view){.event_class = symbols[i >> 1].event_class,
                                          .after = i == OPENS(OUTER) || i == OPENS(INNER)};
    *p = (struct ttp_loaded){.codes = codes,
                             .symbols = symbols,
                             .symbol_count = SYMBOLS,
                             .views = views,
                             .segment_start = segment_start,
                             .segments = {.segments = &segment, .segment_count = 1},
                             .has_leaves = true,
                             .head = {.event_count = EVENTS, .section_count = 1}};
    p->head.sections[0].kind = form == RAW ? TTP_SECTION_ORDER_RAW : TTP_SECTION_CHAIN_HEADER;
    ck_assert_int_eq(ttp_loaded_check_open(d, p, err), TTAPE_OK);
    /* In two goes, of which the first ends within a piece between checkpoints. */
    ttape_status status = ttp_loaded_check(d, p, EVENTS / 3, err);
    return status == TTAPE_OK ? ttp_loaded_check(d, p, EVENTS, err) : status;
}

static void drop(struct ttp_trace_decoder *d, struct ttp_loaded *p)
{
    ttp_stacks_close(&p->stacks);
    ttp_memory_give(&d->memory, p->stack_numbers.numbers, p->stack_numbers.count,
                    sizeof *p->stack_numbers.numbers);
    ttp_memory_give(&d->memory, p->starts, 1, sizeof *p->starts);
    ttp_memory_give(&d->memory, p->checkpoints, EVENTS / TTP_CHECKPOINT_EVENTS + 1ull,
                    sizeof *p->checkpoints);
    ck_assert_uint_eq(d->memory.used_bytes, 0);
}

static void expect(int form, uint32_t at, uint32_t code, const char *rule)
{
    struct ttp_trace_decoder d = {0};
    struct ttp_loaded p;
    ttape_error err = {0};
    char event[32];
    ttp_memory_init(&d.memory, NULL, 1 << 20);
    ck_assert_int_eq(check(&d, &p, form, at, code, &err), TTAPE_E_CORRUPT);
    ck_assert_str_eq(err.rule, rule);
    (void)snprintf(event, sizeof event, "event '%u'", at);
    ck_assert_ptr_nonnull(strstr(err.message, event));
    drop(&d, &p);
}

START_TEST(checkpoints_are_a_count)
{
    struct ttp_trace_decoder d = {0};
    struct ttp_loaded p;
    ttape_error err = {0};
    ttp_memory_init(&d.memory, NULL, 1 << 20);
    ck_assert_int_eq(check(&d, &p, _i, EVENTS, 0, &err), TTAPE_OK);
    for (uint32_t i = 0; i < EVENTS; i += TTP_CHECKPOINT_EVENTS) {
        ck_assert_uint_eq(p.checkpoints[i / TTP_CHECKPOINT_EVENTS].event, i);
        ck_assert_uint_eq(p.checkpoints[i / TTP_CHECKPOINT_EVENTS].frames, heights[i % 5]);
    }
    ck_assert_uint_eq(p.checked.event, EVENTS);
    ck_assert_uint_eq(_i == RAW ? p.stacks.current->height : p.checked.frames, 0);
    drop(&d, &p);
}
END_TEST

START_TEST(what_is_wrong_is_named_anywhere)
{
    for (uint32_t at = 0; at < EVENTS; at++) {
        bool exits = pattern[at % 5] & 1;
        expect(RAW, at, OPENS(SYMBOLS), "O-CHK-02");
        expect(RAW, at, CLOSES(SYMBOLS), "O-CHK-02");
        expect(RAW, at, CLOSES(BLOCK), "O-CHK-03");
        if (exits || heights[at % 5] == 0) /* another's exit, and one with no frame open */
            expect(RAW, at, pattern[at % 5] == CLOSES(INNER) ? CLOSES(OUTER) : CLOSES(INNER),
                   "O-CHK-03");
        expect(CHAINS, at, OPENS(SYMBOLS), "O-CHK-02");
        expect(CHAINS, at, UINT32_MAX, "O-CHK-02"); /* the end of no frame */
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("events_check");
    TCase *tcase = tcase_create("events_check");
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, checkpoints_are_a_count, RAW, FORMS);
    tcase_add_test(tcase, what_is_wrong_is_named_anywhere);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
