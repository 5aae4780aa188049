/* Tables of the coders that are full to the last entry: what stands behind them is never looked
 * at, and what has no place is refused. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/chain/chain_encode.h"
#include "format/chain/chain_intern.h"
#include "format/chain/chain_stacks.h"
#include "format/times/time_mix_model.h"
#include "format/times/time_static.h"
#include "tests/asserts.h"

/* A block of zeros that ends where nothing may be read: also without a sanitizer, one step too far
 * is a signal. Never more than a page. */
static void *guarded(size_t size_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ck_assert_uint_le(size_bytes, page);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(pages != MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
    return pages + page - size_bytes;
}

/* ---- interned chains ---- */

#define CHAINS 8u
#define SLOTS  16u

static struct ttp_chain_intern new_intern(void)
{
    struct ttp_chain_intern t = {.slots = guarded(SLOTS * sizeof *t.slots),
                                 .start = guarded((CHAINS + 1) * sizeof *t.start),
                                 .info = guarded((CHAINS + 1) * sizeof *t.info),
                                 .children = guarded(CHAINS * sizeof *t.children),
                                 .slot_bits = ttp_chain_intern_bits(CHAINS),
                                 .chain_limit = CHAINS,
                                 .child_limit = CHAINS};
    ck_assert_uint_eq(1u << t.slot_bits, SLOTS);
    ttp_chain_intern_init(&t);
    return t;
}

/* Chains whose place is the last one: behind it the search goes on at the first. */
START_TEST(a_search_that_wraps_around)
{
    struct ttp_chain_intern t = new_intern();
    uint32_t last[3], found = 0;
    for (uint32_t symbol = 0; found < 3; symbol++) {
        ck_assert_uint_lt(symbol, 10000);
        ttp_chain_intern_init(&t);
        ck_assert_uint_eq(ttp_chain_intern_add(&t, symbol, NULL, 0), 0);
        if (t.slots[SLOTS - 1].chain != 0)
            last[found++] = symbol;
    }
    ttp_chain_intern_init(&t);
    for (int again = 0; again < 2; again++)
        for (uint32_t i = 0; i < 3; i++)
            ck_assert_uint_eq(ttp_chain_intern_add(&t, last[i], NULL, 0), i);
    ck_assert_uint_eq(t.chain_count, 3);
    ck_assert_uint_eq(t.slots[SLOTS - 1].chain, 1);
    ck_assert_uint_eq(t.slots[0].chain, 2);
    ck_assert_uint_eq(t.slots[1].chain, 3);
}
END_TEST

/* ---- stacks of a segment ---- */

#define MOST_STACKS ((1u << TTP_CHAIN_STACKS_BITS_MAX) / 4 * 3)

/* One frame on each of so many stacks, and nothing happens but that the first one closes. */
static ttape_status encode_stacks(uint32_t stacks)
{
    static const struct ttp_symbol symbol = {0, TTP_CLASS_ENTER};
    static const uint32_t codes[] = {1}, segment_start[] = {0, 1}, start_stack[] = {0};
    const uint32_t open_start[] = {0, stacks};
    uint32_t *open = calloc(stacks, sizeof *open), *open_stack = calloc(stacks, sizeof *open_stack);
    for (uint32_t i = 0; i < stacks; i++)
        open_stack[i] = i;
    struct ttp_order in = {
        codes, &symbol, segment_start, open_start, open, open_stack, start_stack, 1, 1, 1, 1, 0};
    size_t ws_bytes = ttp_chain_encode_workspace(1, 1, 1, stacks, NULL);
    void *ws = malloc(ws_bytes);
    uint8_t header[256], data[256];
    struct ttp_buffer head = {header, sizeof header, 0}, rest = {data, sizeof data, 0};
    ttape_error err;
    memset(ws, 0xa5, ws_bytes);
    ttape_status status =
        ttp_chain_encode(&in, NULL, (struct ttp_workspace){ws, ws_bytes}, &head, &rest, NULL, &err);
    free(ws);
    free(open);
    free(open_stack);
    return status;
}

/* The writer then takes the other form of the order. */
START_TEST(frames_on_too_many_stacks)
{
    ck_assert_int_eq(encode_stacks(MOST_STACKS), TTAPE_OK);
    ck_assert_int_eq(encode_stacks(MOST_STACKS + 1), TTAPE_E_LIMIT);
    ck_assert_int_eq(encode_stacks(2 * MOST_STACKS), TTAPE_E_LIMIT);
}
END_TEST

/* ---- clusters ---- */

#define STATES 4u
#define EVENTS 40u /* of each state */

/* Each state has a symbol of its own, and there are tables for all; room for none more. */
START_TEST(every_slot_is_used)
{
    uint16_t like[1] = {0};
    struct ttp_sta_contexts contexts = {.context_count = 1, .row_like = like};
    struct ttp_sta_clusters *k = calloc(1, sizeof *k);
    uint32_t *slot_start = guarded((STATES + 1) * sizeof *slot_start);
    k->contexts = &contexts;
    k->states = k->table_count = STATES;
    k->slot_start = slot_start;
    k->pair_start = guarded((STATES + 1) * sizeof *k->pair_start);
    k->order = guarded(STATES * sizeof *k->order);
    k->symbols = guarded(2ul * STATES * EVENTS);
    k->map = guarded(STATES);
    for (uint32_t s = 0; s < STATES; s++) {
        slot_start[s + 1] = (s + 1) * EVENTS;
        memset(k->symbols + (STATES + s) * EVENTS, (int)(10 + 50 * s), EVENTS);
    }
    ttp_sta_clusters_find(k);
    for (uint32_t s = 0; s < STATES; s++)
        ck_assert_uint_eq(k->map[s], s);
    free(k);
}
END_TEST

/* ---- lengths of the mixing time form (T-MIX-06) ---- */

static bool code_lengths(const uint8_t *length, uint8_t *out)
{
    uint8_t bytes[4 * TTP_MIX_SYMBOLS];
    struct ttp_encoder e = ttp_encoder_init(bytes, sizeof bytes);
    ttp_mix_encode_lengths(&e, length);
    size_t size = ttp_encoder_finish(&e);
    ck_assert(!e.full);
    struct ttp_decoder d = ttp_decoder_init(bytes, size);
    return ttp_mix_decode_lengths(&d, out);
}

/* From any length to any other; one more than the longest is refused. */
START_TEST(lengths_that_jump)
{
    uint8_t length[TTP_MIX_SYMBOLS], out[TTP_MIX_SYMBOLS];
    for (uint32_t from = 0; from <= TTP_MIX_LENGTH_MAX; from++)
        for (uint32_t to = 1; to <= TTP_MIX_LENGTH_MAX + 1; to++) {
            for (uint32_t s = 0; s < TTP_MIX_SYMBOLS; s++)
                length[s] = (uint8_t)(s % 2 == 0 ? from : to);
            ck_assert_int_eq(code_lengths(length, out), to <= TTP_MIX_LENGTH_MAX);
            if (to <= TTP_MIX_LENGTH_MAX)
                ck_assert_mem_eq(out, length, sizeof length);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_bounds");
    TCase *tests = tcase_create("tests");
    tcase_add_test(tests, a_search_that_wraps_around);
    tcase_add_test(tests, frames_on_too_many_stacks);
    tcase_add_test(tests, every_slot_is_used);
    tcase_add_test(tests, lengths_that_jump);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
