/* The context automaton takes short ways where codes repeat themselves. Here it is compared with
 * T-STA-20 word by word: each event looks its node up. */
#include <stdlib.h>
#include <string.h>

#include "format/times/time_static.h"
#include "tests/asserts.h"

enum { EVENTS = 40000, SEGMENTS_MAX = 40, NODES = TTP_STA_NODES_MAX };

/* The trie as the specification has it, children in lists. */
struct trie {
    uint32_t code[NODES], suffix[NODES], depth[NODES], first[NODES], sibling[NODES], count[NODES];
    uint32_t nodes, limit;
};

struct made {
    uint32_t codes[EVENTS], segment_start[SEGMENTS_MAX + 1], segments;
};

static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % limit);
}

static uint32_t child_of(const struct trie *t, uint32_t node, uint32_t code)
{
    uint32_t child = t->first[node];
    while (child != 0 && t->code[child] != code)
        child = t->sibling[child];
    return child;
}

static uint32_t next_of(struct trie *t, uint32_t v, uint32_t code)
{
    uint32_t found = child_of(t, v, code);
    if (found != 0)
        return found;
    uint32_t suffix = v == 0 ? 0 : next_of(t, t->suffix[v], code);
    if (t->nodes == t->limit)
        return suffix;
    uint32_t node = t->nodes++;
    t->code[node] = code;
    t->suffix[node] = suffix;
    t->depth[node] = t->depth[v] + 1;
    t->sibling[node] = t->first[v];
    t->first[v] = node;
    return node;
}

static void compare(const struct made *m, uint32_t order)
{
    static struct trie t;
    static uint16_t node_of[EVENTS];
    uint32_t n = m->segment_start[m->segments];
    struct ttp_times times = {.codes = m->codes,
                              .segment_start = m->segment_start,
                              .event_count = n,
                              .segment_count = m->segments};
    struct ttp_sta_contexts c;
    uint8_t *memory = malloc(ttp_sta_contexts_bytes(n));
    ck_assert_ptr_nonnull(memory);
    ttp_sta_contexts_init(&c, n, memory);
    memset(&t, 0, sizeof t);
    t.nodes = 1;
    t.limit = c.node_limit;
    bool full = ttp_sta_contexts_run(&c, &times, order, node_of);
    ck_assert(!c.exhausted);
    for (uint32_t s = 0; s < m->segments; s++)
        for (uint32_t i = m->segment_start[s], f = 0; i < m->segment_start[s + 1]; i++) {
            uint32_t node = next_of(&t, f, m->codes[i]);
            ck_assert_msg(node_of[i] == node, "event %u is at node %u, not %u", i, node_of[i],
                          node);
            t.count[node]++;
            f = t.depth[node] > order ? t.suffix[node] : node;
        }
    ck_assert_uint_eq(c.node_count, t.nodes);
    ck_assert_int_eq(full, t.nodes == t.limit);
    for (uint32_t node = t.nodes - 1; node > 0; node--)
        t.count[t.suffix[node]] += t.count[node];
    for (uint32_t node = 0; node < t.nodes; node++)
        ck_assert_uint_eq(c.count[node], t.count[node]);
    free(memory);
}

/* Pieces of what was there before, of every length and distance, and new codes between them. */
static void make(struct made *m, uint64_t from_seed, uint32_t segments, uint32_t symbols,
                 uint32_t fresh)
{
    seed = from_seed;
    uint32_t at = 0;
    while (at < EVENTS) {
        uint32_t length = 1 + random_below(40), from = at == 0 ? 0 : random_below(at);
        bool copies = at != 0 && random_below(100) >= fresh;
        if (copies && random_below(3) == 0)
            from = at - 1 - random_below(at < 9 ? at : 9); /* overlaps itself */
        for (; length > 0 && at < EVENTS; length--, at++)
            m->codes[at] = copies ? m->codes[from++] : random_below(symbols);
    }
    m->segments = segments;
    m->segment_start[0] = 0;
    for (uint32_t s = 1; s <= segments; s++)
        m->segment_start[s] = (uint32_t)((uint64_t)EVENTS * s / segments);
}

START_TEST(nodes_of_repeated_codes)
{
    static struct made m;
    static const uint32_t symbols[] = {1, 2, 7, 300, 30000};
    for (uint32_t k = 0; k < sizeof symbols / sizeof *symbols; k++)
        for (uint32_t order = 1; order <= TTP_STA_ORDER_MAX; order += 1 + (order > 2)) {
            make(&m, 17 * k + order, 1 + (k + order) % 2 * (SEGMENTS_MAX - 1), symbols[k], 5);
            compare(&m, order);
        }
}
END_TEST

/* Nodes are used up on the way: what is repeated has nodes from before and from after. */
START_TEST(full_trie)
{
    static struct made m;
    make(&m, 4711, 3, 5000, 40);
    compare(&m, TTP_STA_ORDER_MAX);
    make(&m, 4712, 1, 5000, 70);
    compare(&m, TTP_STA_ORDER_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contexts of times");
    TCase *tests = tcase_create("nodes");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, nodes_of_repeated_codes);
    tcase_add_test(tests, full_trie);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
