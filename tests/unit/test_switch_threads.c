/* Records of switches find the intervals of events that they belong to: against a simulated thread
 * of which everything is known. Records come from several rings in any order, are off by the
 * clock's error, and some are lost; then nothing is claimed that is not so. And bytes of rings that
 * lie. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/state/switch_threads.h"
#include "tests/asserts.h"

enum { EVENTS = 400, RECORDS = 2 * EVENTS, RINGS = 3, TID = 77 };

#define BATCH_MAX 64u

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % below;
}

/* In either shape, by turns, where they have no kind that one of them cannot say. */
static bool place_batch(struct ttp_follower *follower, const struct ttp_switch_place *place,
                        const ttape_event *events, uint32_t count, const ttape_off_span **spans,
                        size_t *span_count)
{
    static bool takes_calls;
    ttape_enter_exit calls[BATCH_MAX];
    struct ttp_events batch = {events, NULL};
    ck_assert_uint_le(count, BATCH_MAX);
    takes_calls = !takes_calls;
    for (uint32_t i = 0; i < count; i++) {
        takes_calls &= events[i].kind != TTAPE_EVENT_LEAF;
        calls[i] = (ttape_enter_exit){.time_ns = events[i].time_ns};
    }
    if (takes_calls)
        batch = (struct ttp_events){NULL, calls};
    return ttp_follower_place(follower, place, &batch, count, spans, span_count);
}

/* A thread: what it did, and what is said of it. */
struct life {
    struct ttp_follower follower;
    ttape_event events[EVENTS];
    uint64_t off_ns[EVENTS][2]; /* in the interval before the event: preempted, blocked */
    bool is_hurt[EVENTS];       /* records of it were lost */
    struct ttp_switch records[RECORDS];
    uint32_t ring_of[RECORDS], event_of[RECORDS];
    uint32_t event_count, record_count;
    uint64_t error_ns;
};

static void add_record(struct life *l, uint64_t at_ns, enum ttp_switch_kind kind)
{
    uint32_t off = l->error_ns != 0 ? draw((uint32_t)l->error_ns) : 0;
    l->event_of[l->record_count] = l->event_count;
    l->ring_of[l->record_count] = draw(RINGS);
    l->records[l->record_count++] =
        (struct ttp_switch){.time_ns = at_ns + off, .tid = TID, .kind = kind};
}

/* It runs, stores events, and is off for times that are long beside the error. */
static void live(struct life *l)
{
    uint64_t now = 1000000;
    add_record(l, now, TTP_SWITCH_IN);
    while (l->event_count < EVENTS) {
        now += 3 * l->error_ns + 1 + draw(500);
        for (uint32_t spans = draw(5); spans > 3 && l->record_count + 4 < RECORDS; spans--) {
            bool blocked = draw(2) != 0;
            uint64_t length = 8 * l->error_ns + 100 + draw(100000);
            add_record(l, now, blocked ? TTP_SWITCH_BLOCKED : TTP_SWITCH_PREEMPTED);
            now += length;
            add_record(l, now, TTP_SWITCH_IN);
            l->off_ns[l->event_count][blocked] += length;
            now += 3 * l->error_ns + 1 + draw(500);
        }
        l->events[l->event_count++].time_ns = now;
    }
}

/* A ring loses records [first, end) of all; what it says of that comes with its next record. */
static void lose(struct life *l, uint32_t first, uint32_t end)
{
    uint32_t ring = l->ring_of[first], kept = 0;
    uint64_t before = 0, behind = UINT64_MAX >> 8;
    for (uint32_t i = 0; i < l->record_count; i++) {
        if (l->ring_of[i] == ring && i < first)
            before = l->records[i].time_ns;
        if (l->ring_of[i] == ring && i >= end && behind == UINT64_MAX >> 8)
            behind = l->records[i].time_ns;
    }
    for (uint32_t i = 0; i < l->record_count; i++) {
        bool is_lost = l->ring_of[i] == ring && i >= first && i < end;
        if (is_lost)
            l->is_hurt[l->event_of[i]] = true;
        l->records[kept] = l->records[i];
        l->ring_of[kept] = l->ring_of[i];
        l->event_of[kept] = l->event_of[i];
        kept += !is_lost;
    }
    l->record_count = kept;
    ttp_follower_take(&l->follower, &(struct ttp_switch){.time_ns = behind,
                                                         .from_ns = before,
                                                         .lost_count = 1,
                                                         .kind = TTP_SWITCH_LOST});
}

/* Rings are read one after the other: records up to `end`. */
static void read_rings(struct life *l, uint32_t *taken, uint64_t end_ns)
{
    for (uint32_t ring = 0; ring < RINGS; ring++)
        for (uint32_t i = *taken; i < l->record_count && l->records[i].time_ns <= end_ns; i++)
            if (l->ring_of[i] == ring)
                ttp_follower_take(&l->follower, &l->records[i]);
    while (*taken < l->record_count && l->records[*taken].time_ns <= end_ns)
        ++*taken;
}

static void check_event(const struct life *l, uint32_t event, const ttape_off_span *spans,
                        size_t count)
{
    uint64_t sum[2] = {0}, most = 2 * l->error_ns * (count + 1);
    bool is_unknown = false;
    for (size_t i = 0; i < count; i++) {
        is_unknown |= spans[i].kind >= TTAPE_OFF_PREEMPTED_NEAR;
        if (spans[i].kind <= TTAPE_OFF_BLOCKED)
            sum[spans[i].kind] += spans[i].length_ns;
    }
    ck_assert_msg(is_unknown || !l->is_hurt[event], "event %u: records were lost", event);
    for (uint32_t k = 0; k < 2 && !is_unknown; k++) {
        uint64_t truth = l->off_ns[event][k];
        ck_assert_msg(sum[k] <= truth + most && truth <= sum[k] + most,
                      "event %u: off %llu, told %llu, kind %u", event, (unsigned long long)truth,
                      (unsigned long long)sum[k], k);
    }
}

/* Returns how many intervals are said to be unknown. */
static uint32_t place_all(struct life *l)
{
    uint32_t taken = 0, unknown = 0;
    struct ttp_switch_place place = {.tid = TID, .error_ns = l->error_ns};
    for (uint32_t first = 0, count; first < EVENTS; first += count) {
        const ttape_off_span *spans;
        size_t span_count, at = 0;
        count = 1 + draw(60);
        count = first + count > EVENTS ? EVENTS - first : count;
        read_rings(l, &taken, l->events[first + count - 1].time_ns + draw(100000));
        ck_assert(place_batch(&l->follower, &place, l->events + first, count, &spans, &span_count));
        for (uint32_t i = 0; i < count; i++) {
            size_t start = at;
            while (at < span_count && spans[at].event == i)
                at++;
            for (size_t k = start; k < at; k++)
                unknown += spans[k].kind >= TTAPE_OFF_PREEMPTED_NEAR;
            if (first + i != 0)
                check_event(l, first + i, spans + start, at - start);
        }
        ck_assert_uint_eq(at, span_count);
        place.before_ns = l->events[first + count - 1].time_ns;
        place.has_before = true;
    }
    return unknown;
}

static struct life *begin(uint64_t error_ns)
{
    struct life *l = calloc(1, sizeof *l);
    ttape_allocator allocator = ttp_allocator_or_default(NULL);
    ttp_follower_init(&l->follower, &allocator);
    l->follower.is_open = true;
    l->error_ns = error_ns;
    live(l);
    return l;
}

static void end(struct life *l)
{
    ttp_follower_close(&l->follower);
    free(l);
}

START_TEST(exact)
{
    for (uint32_t i = 0; i < 200; i++) {
        seed = i;
        struct life *l = begin(i % 2 == 0 ? 0 : 300);
        ck_assert_uint_eq(place_all(l), 0);
        end(l);
    }
}
END_TEST

START_TEST(with_losses)
{
    for (uint32_t i = 0; i < 200; i++) {
        seed = i;
        struct life *l = begin(i % 2 == 0 ? 0 : 300);
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t first = draw(l->record_count);
            lose(l, first, first + 1 + draw(20));
        }
        ck_assert_uint_gt(place_all(l), 0);
        end(l);
    }
}
END_TEST

/* A record that is missing, and no word of it: the next one does not fit. */
START_TEST(gone)
{
    for (uint32_t i = 0; i < 200; i++) {
        seed = i;
        struct life *l = begin(0);
        uint32_t lost = 1 + draw(l->record_count - 1);
        l->is_hurt[l->event_of[lost]] = true;
        l->ring_of[lost] = RINGS;
        ck_assert_uint_gt(place_all(l), 0);
        end(l);
    }
}
END_TEST

struct told {
    uint64_t event_ns[3], from_ns, to_ns, error_ns;
    ttape_off_kind kind; /* UNKNOWN: no span */
    uint64_t event;
};

/* A span among three events: where it is put, and whether that is sure. */
START_TEST(fits)
{
    static const struct told cases[] = {
        {{1000, 2000, 3000}, 1200, 1900, 100, TTAPE_OFF_BLOCKED, 1},
        {{1000, 2000, 3000}, 950, 1900, 100, TTAPE_OFF_BLOCKED, 1},
        {{1000, 2000, 3000}, 1200, 2090, 100, TTAPE_OFF_BLOCKED, 1},
        {{1000, 2000, 3000}, 850, 1900, 100, TTAPE_OFF_BLOCKED_NEAR, 1},
        {{1000, 2000, 3000}, 1500, 2400, 100, TTAPE_OFF_BLOCKED_NEAR, 1},
        {{1000, 2000, 3000}, 1950, 2850, 100, TTAPE_OFF_BLOCKED, 2},
        {{1000, 2000, 3000}, 1900, 2050, 100, TTAPE_OFF_BLOCKED_NEAR, 1},
        {{1000, 2000, 3000}, 1500, 1650, 100, TTAPE_OFF_BLOCKED, 1},
        {{1000, 1010, 3000}, 900, 1100, 100, TTAPE_OFF_BLOCKED_NEAR, 1},
        {{1000, 2000, 3000}, 500, 900, 100, TTAPE_OFF_UNKNOWN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct told *c = &cases[i];
        struct ttp_follower f = {0};
        ttape_allocator allocator = ttp_allocator_or_default(NULL);
        ttape_event events[3] = {{0}};
        struct ttp_switch_place place = {.tid = TID, .error_ns = c->error_ns};
        struct ttp_switch records[] = {{.time_ns = 100, .tid = TID},
                                       {.time_ns = c->from_ns, .tid = TID, .kind = 2},
                                       {.time_ns = c->to_ns, .tid = TID}};
        const ttape_off_span *spans;
        size_t count;
        ttp_follower_init(&f, &allocator);
        f.is_open = true;
        for (uint32_t k = 0; k < 3; k++) {
            events[k].time_ns = c->event_ns[k];
            ttp_follower_take(&f, &records[k]);
        }
        ck_assert(place_batch(&f, &place, events, 3, &spans, &count));
        ck_assert_msg(count == (c->kind != TTAPE_OFF_UNKNOWN), "case %zu: %zu spans", i, count);
        if (count != 0) {
            ck_assert_msg(spans[0].kind == c->kind && spans[0].event == c->event,
                          "case %zu: kind %d, event %d", i, (int)spans[0].kind,
                          (int)spans[0].event);
            ck_assert_int_eq(spans[0].start_ns, (int64_t)(c->from_ns - c->event_ns[c->event - 1]));
            ck_assert_uint_eq(spans[0].length_ns, c->to_ns - c->from_ns);
        }
        place.tid = TID + 1;
        ck_assert(!place_batch(&f, &place, events, 3, &spans, &count));
        ttp_follower_close(&f);
    }
}
END_TEST

/* A thread with the number of one that has ended, and one that is not followed any more. */
START_TEST(ends)
{
    struct ttp_follower f = {0};
    ttape_allocator allocator = ttp_allocator_or_default(NULL);
    struct ttp_switch records[] = {{.time_ns = 100, .tid = TID, .kind = TTP_SWITCH_IN},
                                   {.time_ns = 200, .tid = TID, .kind = TTP_SWITCH_EXIT},
                                   {.time_ns = 900, .tid = TID, .kind = TTP_SWITCH_IN},
                                   {.time_ns = 1500, .tid = TID, .kind = TTP_SWITCH_EXIT}};
    struct ttp_switch_place place = {.tid = TID};
    ttape_event events[] = {{.time_ns = 1000}, {.time_ns = 1100}, {.time_ns = 1700}};
    const ttape_off_span *spans;
    size_t count;
    ttp_follower_init(&f, &allocator);
    f.is_open = true;
    for (uint32_t k = 0; k < 4; k++)
        ttp_follower_take(&f, &records[k]);
    ck_assert(place_batch(&f, &place, events, 3, &spans, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert(spans[0].event == 2 && spans[0].kind == TTAPE_OFF_UNKNOWN);
    place = (struct ttp_switch_place){.tid = TID, .before_ns = 1100, .has_before = true};
    events[2].kind = TTAPE_EVENT_LEAF; /* the fact that it has ended */
    ck_assert(place_batch(&f, &place, events + 2, 1, &spans, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert(spans[0].kind == TTAPE_OFF_BLOCKED && spans[0].start_ns == 400 &&
              spans[0].length_ns == 200);
    ttp_follower_close(&f);
}
END_TEST

/* What nobody asks for is forgotten, and that is a hole. */
START_TEST(forgotten)
{
    struct ttp_follower f = {0};
    ttape_allocator allocator = ttp_allocator_or_default(NULL);
    struct ttp_switch_place place = {.tid = TID};
    ttape_event events[] = {{.time_ns = 1000}, {.time_ns = 1100}, {.time_ns = 50000000}};
    const ttape_off_span *spans;
    size_t count;
    ttp_follower_init(&f, &allocator);
    f.is_open = true;
    for (uint32_t k = 0; k < 2200000; k++) {
        struct ttp_switch record = {.time_ns = 10 * k,
                                    .tid = TID + k % 3,
                                    .kind = k / 3 % 2 == 0 ? TTP_SWITCH_IN : TTP_SWITCH_BLOCKED};
        ttp_follower_take(&f, &record);
        ck_assert_uint_le(f.waiting, 1u << 20);
    }
    ck_assert(place_batch(&f, &place, events, 3, &spans, &count));
    uint32_t unknown[3] = {0};
    for (size_t i = 0; i < count; i++)
        unknown[spans[i].event] += spans[i].kind == TTAPE_OFF_UNKNOWN;
    ck_assert(unknown[1] != 0 && unknown[2] != 0);
    ttp_follower_close(&f);
}
END_TEST

/* ---- bytes of a ring ---- */

struct taken {
    struct ttp_switch records[64];
    uint32_t count;
};

static void keep(void *context, const struct ttp_switch *record)
{
    struct taken *t = context;
    if (t->count < 64)
        t->records[t->count++] = *record;
}

static size_t put_record(uint8_t *data, size_t size, uint64_t at, uint32_t type, uint16_t misc,
                         const void *body, size_t body_bytes, uint32_t tid, uint64_t time_ns)
{
    uint8_t bytes[128];
    uint32_t ids[2] = {tid, tid};
    struct perf_event_header head = {
        .type = type, .misc = misc, .size = (uint16_t)(sizeof head + body_bytes + 16)};
    memcpy(bytes, &head, sizeof head);
    if (body_bytes != 0)
        memcpy(bytes + sizeof head, body, body_bytes);
    memcpy(bytes + sizeof head + body_bytes, ids, 8);
    memcpy(bytes + sizeof head + body_bytes + 8, &time_ns, 8);
    for (size_t i = 0; i < head.size; i++)
        data[(at + i) % size] = bytes[i];
    return head.size;
}

START_TEST(rings)
{
    uint8_t data[256];
    for (uint64_t tail = 8; tail < 300; tail += 8) {
        struct taken t = {.count = 0};
        struct ttp_switch_ring ring = {.data_bytes = sizeof data, .last_ns = 5};
        uint64_t lost[] = {9, 17}, head = tail;
        head += put_record(data, sizeof data, head, PERF_RECORD_SWITCH, 0, NULL, 0, 3, 10);
        head += put_record(data, sizeof data, head, PERF_RECORD_SWITCH,
                           PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, NULL,
                           0, 3, 20);
        head += put_record(data, sizeof data, head, PERF_RECORD_FORK, 0, lost, 16, 3, 25);
        head += put_record(data, sizeof data, head, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT,
                           NULL, 0, 4, 30);
        head += put_record(data, sizeof data, head, PERF_RECORD_LOST, 0, lost, 16, 4, 40);
        ttp_switch_ring_parse(&ring, data, tail, head, keep, &t);
        static const struct ttp_switch expected[] = {{10, 5, 0, 3, TTP_SWITCH_IN},
                                                     {20, 10, 0, 3, TTP_SWITCH_PREEMPTED},
                                                     {30, 20, 0, 4, TTP_SWITCH_BLOCKED},
                                                     {40, 30, 17, 4, TTP_SWITCH_LOST}};
        ck_assert_uint_eq(t.count, 4);
        for (uint32_t i = 0; i < 4; i++)
            ck_assert(t.records[i].time_ns == expected[i].time_ns &&
                      t.records[i].from_ns == expected[i].from_ns &&
                      t.records[i].lost_count == expected[i].lost_count &&
                      t.records[i].tid == expected[i].tid && t.records[i].kind == expected[i].kind);
    }
}
END_TEST

START_TEST(rings_that_lie)
{
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t *data = malloc(256);
        struct taken t = {.count = 0};
        struct ttp_switch_ring ring = {.data_bytes = 256};
        seed = i;
        for (uint32_t k = 0; k < 256; k++)
            data[k] = (uint8_t)(draw(3) == 0 ? draw(256) : draw(20));
        for (uint32_t k = 0; k < 240; k += 24)
            data[k + 6] = (uint8_t)(draw(20) == 0 ? draw(256) : 24), data[k + 7] = draw(50) == 0;
        ttp_switch_ring_parse(&ring, data, draw(1000), draw(1500), keep, &t);
        free(data);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("switch_threads");
    TCase *tests = tcase_create("switch_threads");
    tcase_add_test(tests, exact);
    tcase_add_test(tests, with_losses);
    tcase_add_test(tests, gone);
    tcase_add_test(tests, fits);
    tcase_add_test(tests, ends);
    tcase_add_test(tests, forgotten);
    tcase_add_test(tests, rings);
    tcase_add_test(tests, rings_that_lie);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
