/* Chains and records of partitions against the events themselves: of each form of order, with
 * models and without, and of files with damage. */
#include <tracetape/chains.h>

#include "tests/unit/report_model.h"

#define EVENTS_MOST 70000u

/* A partition's events as items, in the order of its segments. */
struct whole {
    ttape_chain_item events[EVENTS_MOST];
    bool is_first[EVENTS_MOST]; /* of a segment */
    uint32_t count;
};

static bool is_same(const ttape_chain_item *a, const ttape_chain_item *b)
{
    return a->kind == b->kind && a->argument == b->argument &&
           (a->site == b->site || a->kind == TTAPE_EVENT_EXIT_ACROSS);
}

static void read_segment_events(ttape_reader *r, const ttape_segment_info *g, struct whole *w)
{
    ttape_cursor *c;
    ttape_error err = {0};
    TTEST_OK(ttape_cursor_open(&c, r, g->stream, &err));
    TTEST_OK(ttape_cursor_seek_event(c, g->start.event_number, &err));
    for (uint64_t i = 0; i < g->event_count; i++) {
        ttape_event e;
        size_t one;
        TTEST_OK(ttape_cursor_next_events(c, &e, 1, &one, &err));
        ck_assert_uint_lt(w->count, EVENTS_MOST);
        w->is_first[w->count] = i == 0;
        w->events[w->count++] = (ttape_chain_item){TTAPE_NONE, e.kind, e.site, e.argument};
    }
    ttape_cursor_close(c);
}

static void read_whole(ttape_reader *r, uint32_t partition, struct whole *w)
{
    ttape_partition_info info;
    ttape_error err = {0};
    w->count = 0;
    ck_assert_int_eq(ttape_reader_get_partition(r, partition, &info), TTAPE_OK);
    for (uint32_t i = 0; i < info.segment_count; i++) {
        ttape_segment_info segment;
        TTEST_OK(ttape_reader_get_segment(r, partition, i, &segment, &err));
        read_segment_events(r, &segment, w);
    }
}

/* Each kind of event once, with what is behind it, and in order. */
static void check_records(const ttape_chains *c, const struct whole *w)
{
    uint32_t count, successors;
    uint64_t events = 0, behind = 0, want = 0;
    const ttape_sequence_record *r = ttape_chains_get_records(c, &count);
    for (uint32_t i = 1; i < w->count; i++)
        want += !w->is_first[i];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t before = UINT64_MAX;
        const ttape_successor *s = ttape_chains_get_successors(c, i, &successors);
        ck_assert(i == 0 || r[i].count <= r[i - 1].count);
        ck_assert_uint_eq(r[i].successor_count, successors);
        events += r[i].count;
        for (uint32_t k = 0; k < successors; before = s[k++].count) {
            ck_assert(s[k].count != 0 && s[k].count <= before);
            behind += s[k].count;
        }
    }
    ck_assert_uint_eq(events, w->count);
    ck_assert_uint_eq(behind, want);
}

/* How often one thing came after another: the first records and some successors, by hand. */
static void check_pairs(const ttape_chains *c, const struct whole *w)
{
    uint32_t count, successors;
    const ttape_sequence_record *r = ttape_chains_get_records(c, &count);
    for (uint32_t i = 0; i < count && i < 6; i++) {
        const ttape_successor *s = ttape_chains_get_successors(c, i, &successors);
        uint64_t found = 0, after = 0, twins = 0;
        uint32_t k = successors != 0 ? i % successors : 0;
        for (uint32_t j = 0; j < count; j++)
            twins += is_same(&r[i].event, &r[j].event); /* exits of frames that were open */
        if (twins > 1)
            continue;
        for (uint32_t e = 0; e < w->count; e++) {
            found += is_same(&w->events[e], &r[i].event);
            after += successors != 0 && e > 0 && !w->is_first[e] &&
                     is_same(&w->events[e - 1], &r[i].event) && is_same(&w->events[e], &s[k].event);
        }
        ck_assert_uint_eq(found, r[i].count);
        ck_assert(successors == 0 || after >= s[k].count);
    }
}

/* Where a sequence stands in the partition. */
static uint64_t occurrences(const struct whole *w, const ttape_chain_item *events, uint64_t length)
{
    uint64_t found = 0;
    for (uint32_t at = 0; at + length <= w->count; at++) {
        uint64_t same = 0;
        while (same < length && is_same(&w->events[at + same], &events[same]) &&
               (same == 0 || !w->is_first[at + same]))
            same++;
        found += same == length;
    }
    return found;
}

/* Events of a chain itself, without those of chains in it. */
static uint32_t own_events(const ttape_chains *c, uint32_t chain)
{
    uint32_t count, own = 0;
    const ttape_chain_item *items = ttape_chains_get_items(c, chain, &count);
    for (uint32_t i = 0; i < count; i++) {
        own += items[i].chain == TTAPE_NONE;
        ck_assert(items[i].chain == TTAPE_NONE || items[i].chain < chain);
    }
    return own;
}

static void check_chain(const ttape_chains *c, uint32_t number, const ttape_chain *chain,
                        const struct whole *w, ttape_chain_item *events)
{
    ttape_chain_item few[3];
    size_t length = ttape_chains_get_events(c, number, events, EVENTS_MOST);
    ck_assert_uint_eq(length, chain->length);
    ck_assert_uint_eq(ttape_chains_get_events(c, number, few, 3), length < 3 ? length : 3);
    ck_assert_mem_eq(few, events, (length < 3 ? length : 3) * sizeof *few);
    ck_assert(number > 40 || occurrences(w, events, length) > 0);
}

static void check_chains(const ttape_chains *c, const struct whole *w)
{
    static ttape_chain_item events[EVENTS_MOST];
    ttape_chains_info info;
    uint64_t chained = 0;
    ttape_chains_get_info(c, &info);
    ck_assert_uint_eq(info.event_count, w->count);
    for (uint32_t i = 0; i < info.chain_count; i++) {
        ttape_chain chain;
        ck_assert_int_eq(ttape_chains_get_chain(c, i, &chain), TTAPE_OK);
        uint32_t own = own_events(c, i);
        bool is_full = info.form == TTAPE_ORDER_FULL;
        chained += is_full ? own * chain.use_count : chain.event_count;
        ck_assert(!is_full || chain.event_count == chain.use_count * chain.length);
        if (chain.use_count != 0)
            check_chain(c, i, &chain, w, events);
    }
    ck_assert_uint_eq(chained, info.chained_count);
    ck_assert_uint_le(chained, w->count);
}

static uint32_t compare(const struct ttest_plan *plan)
{
    static struct whole w;
    struct ttest_file file = ttest_write(plan);
    ttape_reader *r = ttest_open(&file);
    ttape_error err = {0};
    ttape_info all;
    uint32_t chains = 0;
    ttape_reader_get_info(r, &all);
    for (uint32_t i = 0; i < all.partition_count; i++) {
        ttape_chains *c;
        ttape_chains_info info;
        if (i % 2 != 0) /* with a partition that is in memory already, and one that is not */
            read_whole(r, i, &w);
        TTEST_OK(ttape_chains_make(&c, r, i, &err));
        read_whole(r, i, &w);
        check_records(c, &w);
        check_pairs(c, &w);
        check_chains(c, &w);
        ttape_chains_get_info(c, &info);
        chains += info.chain_count;
        ttape_chains_close(c);
    }
    ttape_reader_close(r);
    free(file.data);
    return chains;
}

START_TEST(as_the_events_are)
{
    struct ttest_plan plan = ttest_plans[_i];
    compare(&plan);
    plan.level = 1;
    plan.literal = false;
    ck_assert_uint_eq(compare(&plan), 0);
    plan.level = 0;
    plan.literal = true;
    compare(&plan);
}
END_TEST

START_TEST(what_recurs)
{
    static const struct ttest_plan plans[] = {
        {.streams = 1, .events = 30000, .partition_events = 10000, .plain = true},
        {.streams = 2, .events = 30000, .partition_events = 4500},
        {.streams = 3, .events = 30000, .partition_events = 3000, .model_period = 7},
        {.streams = 2, .events = 30000, .partition_events = 9000, .literal = true, .plain = true}};
    ck_assert(compare(&plans[_i]) > 10 || plans[_i].literal);
}
END_TEST

/* A damaged byte is found, or the answer is a sound one. */
START_TEST(damage)
{
    const struct ttest_plan plan = {
        .streams = 2, .events = 600, .partition_events = 150, .literal = _i != 0};
    struct ttest_file file = ttest_write(&plan);
    ttape_error err = {0};
    uint32_t refused = 0;
    for (size_t at = 0; at < file.size_bytes; at += 3) {
        ttape_reader *r;
        file.data[at] ^= 0x10;
        ttape_source source = ttape_source_memory(file.data, file.size_bytes);
        if (ttape_reader_open(&r, &source, NULL, &err) == TTAPE_OK) {
            ttape_info info;
            ttape_reader_get_info(r, &info);
            for (uint32_t i = 0; i < info.partition_count; i++) {
                ttape_chains *c;
                ttape_status status = ttape_chains_make(&c, r, i, &err);
                ck_assert((status == TTAPE_OK) == (c != NULL));
                refused += status != TTAPE_OK;
                ttape_chains_close(c);
            }
            ttape_reader_close(r);
        }
        file.data[at] ^= 0x10;
    }
    ck_assert_uint_gt(refused, 20);
    free(file.data);
}
END_TEST

START_TEST(misuse)
{
    ttape_error err = {0};
    ttape_chains *c;
    ttape_chain chain;
    uint32_t count = 7;
    ck_assert_int_eq(ttape_chains_make(&c, NULL, 0, &err), TTAPE_E_ARGUMENT);
    ck_assert_ptr_null(c);
    struct ttest_file file = ttest_write(&ttest_plans[0]);
    ttape_reader *r = ttest_open(&file);
    ck_assert_int_eq(ttape_chains_make(NULL, r, 0, &err), TTAPE_E_ARGUMENT);
    ck_assert_int_eq(ttape_chains_make(&c, r, TTAPE_NONE, &err), TTAPE_E_NOT_FOUND);
    TTEST_OK(ttape_chains_make(&c, r, 0, &err));
    ck_assert_int_eq(ttape_chains_get_chain(c, TTAPE_NONE, &chain), TTAPE_E_NOT_FOUND);
    ck_assert_ptr_null(ttape_chains_get_items(c, TTAPE_NONE, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_uint_eq(ttape_chains_get_events(c, TTAPE_NONE, &(ttape_chain_item){0}, 1), 0);
    ck_assert_ptr_null(ttape_chains_get_successors(c, TTAPE_NONE, &count));
    ttape_chains_close(c);
    ttape_chains_close(NULL);
    ttape_reader_close(r);
    free(file.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chains");
    TCase *tests = tcase_create("chains");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, as_the_events_are, 0, TTEST_PLANS);
    tcase_add_loop_test(tests, what_recurs, 0, 4);
    tcase_add_loop_test(tests, damage, 0, 2);
    tcase_add_test(tests, misuse);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
