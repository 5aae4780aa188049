/* R8: entries that were chosen to collide cost no more than three times what random ones cost.
 *
 * Of the tables with a secret key nothing can be chosen that collides: the test takes what collided
 * under the constant that was used before. Of chains, whose hash is no secret, it chooses subtrees
 * of one slot; a bound on probes is what holds there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tracetape/writer.h>

#include "format/chain/chain_intern.h"
#include "format/chain/chain_model.h"
#include "tests/asserts.h"

#define GAPS   12000u
#define CHAINS 12000u
#define FACTOR 3.0

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Time to write gaps of these reasons, each three times; the least of three runs. */
static double time_gaps(const uint32_t *reasons)
{
    double best = 1e9;
    for (int run = 0; run < 3; run++) {
        ttape_memory_sink memory = {0};
        ttape_sink sink = ttape_sink_memory(&memory);
        ttape_writer_options options = {.size = sizeof options};
        ttape_writer *w;
        uint32_t id;
        ttape_process process = {.pid = 1, .parent = TTAPE_NONE};
        ttape_stream stream = {.tid = 1};
        ck_assert_int_eq(ttape_writer_open(&w, &sink, &options, NULL), TTAPE_OK);
        ck_assert_int_eq(ttape_writer_add_process(w, &process, &id, NULL), TTAPE_OK);
        ck_assert_int_eq(ttape_writer_add_stream(w, &stream, &id, NULL), TTAPE_OK);
        double start = seconds();
        for (uint32_t i = 0; i < 3 * GAPS; i++) {
            ttape_event e = {.time_ns = i,
                             .kind = TTAPE_EVENT_GAP,
                             .site = TTAPE_NONE,
                             .argument = reasons[i % GAPS],
                             .depth = TTAPE_DEPTH_AUTO};
            ck_assert_int_eq(ttape_writer_append(w, 0, &e, 1, NULL), TTAPE_OK);
        }
        double took = seconds() - start;
        best = took < best ? took : best;
        ttape_writer_close(w);
        ttape_memory_sink_close(&memory);
    }
    return best;
}

START_TEST(r8_symbols_that_collided)
{
    static uint32_t bad[GAPS], random[GAPS];
    uint32_t count = 0, seed = 1;
    for (uint32_t argument = 0; count < GAPS && argument < UINT32_MAX; argument++) {
        uint64_t h = ((uint64_t)argument << 8 | 8) * UINT64_C(0x9E3779B97F4A7C15);
        if (((h >> 32) & 0x7fff) == 0) /* one slot of 32,768 */
            bad[count++] = argument;
    }
    ck_assert_uint_eq(count, GAPS);
    for (uint32_t i = 0; i < GAPS; i++)
        random[i] = (seed = seed * 1664525u + 1013904223u) >> 3;
    double chosen = time_gaps(bad), other = time_gaps(random);
    printf("symbols: %.4f s chosen, %.4f s random\n", chosen, other);
    ck_assert(chosen < FACTOR * other + 0.01);
}
END_TEST

/* ---- chains ---- */

static uint64_t add_child(uint64_t h, uint32_t child)
{
    h = (h ^ (child + 1)) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

static uint32_t take_slot(uint64_t h, uint32_t bits)
{
    return (uint32_t)((h * UINT64_C(0x9e3779b97f4a7c15)) >> 32) >> (32 - bits);
}

struct body {
    uint32_t symbol, children[2];
};

static double time_chains(const struct body *bodies, uint32_t *kept)
{
    struct ttp_chain_intern t = {.chain_limit = 4 * CHAINS, .child_limit = 16 * CHAINS};
    double best = 1e9;
    t.slot_bits = ttp_chain_intern_bits(t.chain_limit);
    t.slots = malloc(sizeof *t.slots << t.slot_bits);
    t.start = malloc((t.chain_limit + 1) * sizeof *t.start);
    t.info = malloc((t.chain_limit + 1) * sizeof *t.info);
    t.children = malloc(t.child_limit * sizeof *t.children);
    for (int run = 0; run < 3; run++) {
        ttp_chain_intern_init(&t);
        for (uint32_t leaf = 0; leaf < 1024; leaf++)
            ck_assert_uint_eq(ttp_chain_intern_add(&t, leaf, NULL, 0), leaf);
        double start = seconds();
        for (uint32_t round = 0; round < 20; round++)
            for (uint32_t i = 0; i < CHAINS; i++)
                (void)ttp_chain_intern_add(&t, bodies[i].symbol, bodies[i].children, 2);
        double took = seconds() - start;
        best = took < best ? took : best;
        *kept = t.chain_count - 1024;
        uint32_t one = ttp_chain_intern_add(&t, bodies[0].symbol, bodies[0].children, 2);
        ck_assert_uint_eq(one, 1024); /* what was kept is found again */
    }
    free(t.slots);
    free(t.start);
    free(t.info);
    free(t.children);
    return best;
}

START_TEST(r8_chains_of_one_slot)
{
    static struct body bad[CHAINS], other[CHAINS];
    uint32_t bits = ttp_chain_intern_bits(4 * CHAINS), count = 0, kept;
    for (uint32_t n = 0; count < CHAINS; n++) { /* one of 65,536 is such a one */
        struct body b = {(n >> 10) + 2000, {n & 1023, 0}};
        uint64_t h = add_child((b.symbol + 1) * UINT64_C(0x9e3779b97f4a7c15), b.children[0]);
        for (; b.children[1] < 1024 && count < CHAINS; b.children[1]++)
            if (take_slot(add_child(h, b.children[1]), bits) == 77)
                bad[count++] = b;
    }
    for (uint32_t i = 0; i < CHAINS; i++)
        other[i] = (struct body){2000 + i % 7, {i * 31 & 1023, i * 7 / 5 & 1023}};
    double random = time_chains(other, &kept);
    ck_assert(kept > CHAINS / 2);
    double chosen = time_chains(bad, &kept);
    printf("chains: %.4f s chosen (%u kept), %.4f s random\n", chosen, kept, random);
    /* Without the bound each of 240,000 additions would look at up to 12,000 slots. What is left
     * is less than what the rest of closing a frame costs: a partition takes at most twice as
     * long. It is six times the other time here. */
    ck_assert(kept > 32 && kept <= 64);
    ck_assert(chosen < 20 * random + 0.02);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep_hash");
    TCase *tests = tcase_create("hash");
    tcase_set_timeout(tests, 280);
    tcase_add_test(tests, r8_symbols_that_collided);
    tcase_add_test(tests, r8_chains_of_one_slot);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
