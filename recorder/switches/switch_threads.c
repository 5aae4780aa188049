/* A thread's records are kept as one word each, time * 4 + kind, ascending: rings are read one
 * after the other, so that those of a thread that moved may come in any order. All rings are read
 * before events are placed, and a thread that has stored an event was switched in before: what is
 * needed of it is there.
 *
 *   records -> spans and holes -> the interval of each, by binary search -> ttape_off_span */
#include "recorder/state/switch_threads.h"
#include "writer/writer_threads.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIND_BITS   2u
#define WAITING_MAX (1u << 20) /* records, 8 MiB */
#define HOLES_MAX   4096u

struct seen_thread {
    uint32_t tid;
    struct ttp_growing records; /* uint64_t */
    size_t first;               /* that was not consumed */
    /* behind the consumed ones */
    uint64_t since_ns;
    enum { NOT_KNOWN, RUNS, IS_PREEMPTED, IS_BLOCKED } state;
};

/* A span or hole on its way to an interval. */
struct piece {
    uint64_t from_ns, to_ns;
    ttape_off_kind kind;
};

struct placing {
    struct ttp_follower *s;
    const struct ttp_switch_place *place;
    const struct ttp_events *events;
    size_t count, last; /* last: the interval that was found last */
    bool is_disordered;
};

void ttp_follower_init(struct ttp_follower *s, const ttape_allocator *allocator)
{
    s->allocator = *allocator;
    s->prepared_fd = -1;
    (void)pthread_mutex_init(&s->lock, NULL);
}

static void *prepare_thread(void *context)
{
    struct ttp_follower *s = context;
    s->prepared_fd = ttp_switch_rings_prepare();
    return NULL;
}

void ttp_follower_prepare(struct ttp_follower *s)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    s->is_preparing = ttp_thread_create(&s->preparing, prepare_thread, s) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void end_preparing(struct ttp_follower *s)
{
    if (s->is_preparing)
        (void)pthread_join(s->preparing, NULL);
    s->is_preparing = false;
}

static void close_prepared(struct ttp_follower *s)
{
    if (s->prepared_fd >= 0)
        (void)close(s->prepared_fd);
    s->prepared_fd = -1;
}

void ttp_follower_close(struct ttp_follower *s)
{
    end_preparing(s);
    close_prepared(s);
    struct seen_thread *threads = s->threads.data;
    for (size_t i = 0; i < s->threads.count; i++)
        ttp_grown_free(&s->allocator, &threads[i].records);
    ttp_grown_free(&s->allocator, &s->threads);
    ttp_grown_free(&s->allocator, &s->holes);
    ttp_grown_free(&s->allocator, &s->spans);
    ttp_map_free(&s->allocator, &s->by_tid);
    ttp_switch_rings_close(&s->rings);
    (void)pthread_mutex_destroy(&s->lock);
}

int ttp_follower_open(struct ttp_follower *s, uint32_t pid)
{
    end_preparing(s);
    int code = ttp_switch_rings_open(&s->rings, pid);
    close_prepared(s);
    s->is_open = code == 0;
    return code;
}

/* ---- records ---- */

static struct seen_thread *thread_of(struct ttp_follower *s, uint32_t tid, bool may_add)
{
    uint32_t index = ttp_map_find(&s->by_tid, tid);
    if (index != TTAPE_NONE || !may_add)
        return index == TTAPE_NONE ? NULL : (struct seen_thread *)s->threads.data + index;
    struct seen_thread *thread = ttp_push(&s->allocator, &s->threads, sizeof *thread, NULL);
    if (thread == NULL || ttp_map_set(&s->allocator, &s->by_tid, tid,
                                      (uint32_t)s->threads.count - 1, NULL) != TTAPE_OK) {
        s->has_failed = true;
        return NULL;
    }
    *thread = (struct seen_thread){.tid = tid};
    return thread;
}

/* Of very many holes the first ones become one. */
static void add_hole(struct ttp_follower *s, uint64_t from_ns, uint64_t to_ns)
{
    struct ttp_switch_hole *holes = s->holes.data;
    if (s->holes.count == HOLES_MAX) {
        holes[1].from_ns =
            holes[0].from_ns < holes[1].from_ns ? holes[0].from_ns : holes[1].from_ns;
        memmove(holes, holes + 1, (s->holes.count - 1) * sizeof *holes);
        s->holes.count--;
    }
    struct ttp_switch_hole *hole = ttp_push(&s->allocator, &s->holes, sizeof *hole, NULL);
    s->has_failed |= hole == NULL;
    if (hole != NULL)
        *hole = (struct ttp_switch_hole){from_ns, to_ns};
}

/* Nobody has asked for them, most likely as the program records nothing. */
static void forget_waiting(struct ttp_follower *s, uint64_t now_ns)
{
    struct seen_thread *threads = s->threads.data;
    for (size_t i = 0; i < s->threads.count; i++) {
        threads[i].records.count = threads[i].first = 0;
        threads[i].state = NOT_KNOWN;
    }
    s->waiting = 0;
    add_hole(s, 0, now_ns);
}

void ttp_follower_take(void *seen, const struct ttp_switch *record)
{
    struct ttp_follower *s = seen;
    if (record->kind == TTP_SWITCH_LOST) {
        s->lost_count += record->lost_count;
        add_hole(s, record->from_ns, record->time_ns);
        return;
    }
    if (s->waiting >= WAITING_MAX)
        forget_waiting(s, record->time_ns);
    struct seen_thread *thread = thread_of(s, record->tid, true);
    uint64_t *last =
        thread == NULL ? NULL : ttp_push(&s->allocator, &thread->records, sizeof *last, NULL);
    if (last == NULL) {
        s->has_failed = true;
        return;
    }
    uint64_t word = record->time_ns << KIND_BITS | record->kind;
    uint64_t *first = (uint64_t *)thread->records.data + thread->first;
    for (; last != first && last[-1] > word; last--)
        *last = last[-1];
    *last = word;
    s->waiting++;
}

void ttp_follower_read(struct ttp_follower *s)
{
    if (!s->is_open)
        return;
    (void)pthread_mutex_lock(&s->lock);
    ttp_switch_rings_read(&s->rings, ttp_follower_take, s);
    (void)pthread_mutex_unlock(&s->lock);
}

bool ttp_follower_find_exit(struct ttp_follower *s, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
                            uint64_t *exit_ns)
{
    bool is_found = false;
    ttp_follower_read(s);
    (void)pthread_mutex_lock(&s->lock);
    const struct seen_thread *thread = s->is_open ? thread_of(s, tid, false) : NULL;
    for (size_t i = thread == NULL ? 0 : thread->records.count;
         thread != NULL && i-- > thread->first;) {
        uint64_t word = ((const uint64_t *)thread->records.data)[i], at = word >> KIND_BITS;
        bool is_exit = (word & ((1u << KIND_BITS) - 1)) == TTP_SWITCH_EXIT;
        if (!is_exit || at < from_ns || at > to_ns)
            continue;
        *exit_ns = at;
        is_found = true;
        break;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return is_found;
}

/* ---- intervals ---- */

static uint64_t start_of(const struct placing *p, size_t event)
{
    return event != 0 ? ttp_event_time(p->events, event - 1) : p->place->before_ns;
}

/* The first event after that time; count: there is none. */
static size_t event_after(const struct placing *p, uint64_t time_ns)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ttp_event_time(p->events, middle) > time_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void put_span(struct placing *p, size_t event, const struct piece *piece, uint64_t start_ns)
{
    ttape_off_span *span = ttp_push(&p->s->allocator, &p->s->spans, sizeof *span, NULL);
    p->s->has_failed |= span == NULL;
    if (span == NULL)
        return;
    *span = (ttape_off_span){.event = event, .kind = piece->kind};
    p->is_disordered |= event < p->last;
    p->last = event;
    if (piece->kind == TTAPE_OFF_UNKNOWN)
        return;
    span->start_ns = (int64_t)(piece->from_ns - start_ns);
    span->length_ns = piece->to_ns - piece->from_ns;
}

/* Each interval that shares any time with the hole. */
static void put_hole(struct placing *p, const struct piece *hole)
{
    uint64_t error = p->place->error_ns;
    uint64_t from_ns = hole->from_ns > error ? hole->from_ns - error : 0;
    for (size_t i = event_after(p, from_ns); i < p->count; i++) {
        if (i == 0 && !p->place->has_before)
            continue;
        if (start_of(p, i) > hole->to_ns + error)
            return;
        put_span(p, i, hole, 0);
    }
}

/* recording.md, 2.9: where each end may be wrong by the error, a span that is more than twice as
 * long fits no interval but the one that has its middle. A shorter one fits others too, unless it
 * is well inside. */
static void put_piece(struct placing *p, struct piece piece)
{
    uint64_t error = p->place->error_ns, length = piece.to_ns - piece.from_ns;
    if (piece.kind == TTAPE_OFF_UNKNOWN) {
        put_hole(p, &piece);
        return;
    }
    size_t event = event_after(p, piece.from_ns + length / 2);
    if (event == p->count || (event == 0 && !p->place->has_before))
        return; /* before its first event */
    uint64_t start = start_of(p, event), end = ttp_event_time(p->events, event);
    if (piece.from_ns + length / 2 < start)
        return; /* it was placed with the events before */
    bool fits = piece.from_ns + error >= start && piece.to_ns <= end + error &&
                length <= end - start + error;
    bool is_alone =
        length > 2 * error || (piece.from_ns >= start + error && piece.to_ns + error <= end);
    if (!fits || !is_alone)
        piece.kind =
            piece.kind == TTAPE_OFF_PREEMPTED ? TTAPE_OFF_PREEMPTED_NEAR : TTAPE_OFF_BLOCKED_NEAR;
    put_span(p, event, &piece, start);
}

/* ---- spans ---- */

static ttape_off_kind kind_of(const struct seen_thread *thread)
{
    return thread->state == IS_PREEMPTED ? TTAPE_OFF_PREEMPTED : TTAPE_OFF_BLOCKED;
}

/* The thread's next record. Where it is not what must come, some are missing between. (A thread of
 * which nothing is known and that is switched in begins: what may be missing is a hole of all.) */
static void step_thread(struct placing *p, struct seen_thread *thread, uint64_t word)
{
    enum ttp_switch_kind kind = (enum ttp_switch_kind)(word & ((1u << KIND_BITS) - 1));
    uint64_t time_ns = word >> KIND_BITS;
    bool is_off = thread->state == IS_PREEMPTED || thread->state == IS_BLOCKED;
    if (kind == TTP_SWITCH_IN && is_off)
        put_piece(p, (struct piece){thread->since_ns, time_ns, kind_of(thread)});
    else if (kind == TTP_SWITCH_IN ? thread->state == RUNS
                                   : kind != TTP_SWITCH_EXIT && thread->state != RUNS)
        put_piece(p, (struct piece){thread->since_ns, time_ns, TTAPE_OFF_UNKNOWN});
    thread->since_ns = time_ns;
    thread->state = kind == TTP_SWITCH_IN          ? RUNS
                    : kind == TTP_SWITCH_PREEMPTED ? IS_PREEMPTED
                    : kind == TTP_SWITCH_BLOCKED   ? IS_BLOCKED
                                                   : NOT_KNOWN;
}

/* Whether the record says something of a time before that. A span that goes on behind what the
 * recorder says is parted there. */
static bool is_before(const struct placing *p, const struct seen_thread *thread, uint64_t word,
                      uint64_t time_ns)
{
    uint64_t at = word >> KIND_BITS;
    if (!p->place->is_recorders && (thread->state == IS_PREEMPTED || thread->state == IS_BLOCKED))
        at = thread->since_ns + (at - thread->since_ns) / 2;
    return at < time_ns;
}

/* Facts that a thread and its process have ended are all that is behind the end of a thread. */
static bool are_facts(const struct placing *p, size_t first)
{
    while (first < p->count && p->events->events != NULL &&
           p->events->events[first].kind == TTAPE_EVENT_LEAF)
        first++;
    return first == p->count;
}

/* Up to the last event. */
static void put_to_end(struct placing *p, const struct seen_thread *thread, ttape_off_kind kind)
{
    for (size_t i = event_after(p, thread->since_ns); i < p->count; i++) {
        uint64_t start = start_of(p, i);
        uint64_t from = thread->since_ns > start ? thread->since_ns : start;
        if ((i != 0 || p->place->has_before) && from < ttp_event_time(p->events, i))
            put_span(p, i, &(struct piece){from, ttp_event_time(p->events, i), kind}, start);
    }
}

/* Behind the records that there are, the thread does not run, or is not followed. Until the fact of
 * its end it stood still. What the recorder says of it may come while it does not run. */
static void put_rest(struct placing *p, struct seen_thread *thread, uint64_t end_ns)
{
    bool is_off = thread->state == IS_PREEMPTED || thread->state == IS_BLOCKED;
    bool has_ended = thread->state == NOT_KNOWN && thread->since_ns != 0;
    if (is_off && p->place->is_recorders) {
        put_to_end(p, thread, kind_of(thread));
        thread->since_ns = end_ns;
    } else if (has_ended && are_facts(p, event_after(p, thread->since_ns))) {
        put_to_end(p, thread, TTAPE_OFF_BLOCKED);
    } else {
        put_piece(p, (struct piece){thread->since_ns, end_ns, TTAPE_OFF_UNKNOWN});
    }
}

static void consume(struct placing *p, struct seen_thread *thread)
{
    uint64_t end_ns = ttp_event_time(p->events, p->count - 1);
    const uint64_t *records = thread->records.data;
    while (thread->first < thread->records.count &&
           is_before(p, thread, records[thread->first], end_ns)) {
        step_thread(p, thread, records[thread->first++]);
        p->s->waiting--;
    }
    if (thread->state != RUNS && thread->since_ns + p->place->error_ns < end_ns)
        put_rest(p, thread, end_ns);
    if (thread->first == thread->records.count || thread->first > 1024) {
        if (thread->first != 0)
            memmove(thread->records.data, records + thread->first,
                    (thread->records.count - thread->first) * sizeof *records);
        thread->records.count -= thread->first;
        thread->first = 0;
    }
}

static int compare_spans(const void *a, const void *b)
{
    const ttape_off_span *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void put_holes(struct placing *p)
{
    const struct ttp_switch_hole *holes = p->s->holes.data;
    for (size_t i = p->s->holes.count; i-- > 0;)
        put_hole(p, &(struct piece){holes[i].from_ns, holes[i].to_ns, TTAPE_OFF_UNKNOWN});
}

bool ttp_follower_place(struct ttp_follower *s, const struct ttp_switch_place *place,
                        const struct ttp_events *events, size_t count, const ttape_off_span **spans,
                        size_t *span_count)
{
    struct placing p = {.s = s, .place = place, .events = events, .count = count};
    *span_count = 0;
    if (!s->is_open || count == 0)
        return false;
    (void)pthread_mutex_lock(&s->lock);
    s->spans.count = 0;
    struct seen_thread *thread = s->has_failed ? NULL : thread_of(s, place->tid, false);
    if (thread != NULL) {
        consume(&p, thread);
        put_holes(&p);
    }
    bool is_known = thread != NULL && !s->has_failed;
    (void)pthread_mutex_unlock(&s->lock);
    if (p.is_disordered)
        qsort(s->spans.data, s->spans.count, sizeof(ttape_off_span), compare_spans);
    *spans = s->spans.data;
    *span_count = s->spans.count;
    return is_known;
}
