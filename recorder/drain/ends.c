/* Ends of threads and processes, as a record behind the last one of each thread (spec/facts.md).
 * The record is the recorder's own, and goes the way of all records: so it is in the trace, in a
 * checkpoint and in a recovery without more ado. */
#include "recorder/drain/ends.h"
#include "recorder/arena/record.h"

#define END_RECORDS 2u /* EPOCH, END */
#define OFF_RECORDS 2u /* EPOCH, GAP, where recording was off by then */

static bool find_said(const struct ttp_drain *d, uint32_t index, uint64_t *payload)
{
    const uint64_t *records = (const uint64_t *)(ttp_block_at(d, index) + 1);
    for (uint32_t i = TTP_BLOCK_RECORDS; i-- > 0;) {
        uint64_t record = __atomic_load_n(&records[i], __ATOMIC_RELAXED);
        *payload = ttp_record_payload(record);
        if (ttp_record_tag(record) == TTP_TAG_EXTENSION && ttp_record_type(record) == TTP_EXT_END &&
            (*payload & TTP_END_SAID) != 0)
            return true;
    }
    return false;
}

/* The thread that says how its process ends may come behind the one that tells it here. */
static void ask_threads(const struct ttp_drain *d, const struct ttp_candidate *teller,
                        struct ttp_end *end)
{
    const struct ttp_candidate *c = d->candidates.data;
    uint64_t said;
    for (size_t i = 0; i < d->candidates.count; i++)
        if (c[i].pid == teller->pid && c[i].image == teller->image &&
            find_said(d, c[i].index, &said))
            ttp_end_merge(end, ttp_end_how(said), ttp_end_number(said));
}

/* One of its threads tells how the process ended. */
static void find_process_end(const struct ttp_drain *d, const struct ttp_candidate *c,
                             struct ttp_pid_seen *pid, struct ttp_end_word *word)
{
    if (!pid->is_told)
        ask_threads(d, c, &pid->end);
    word->is_process = !pid->is_told;
    word->end = pid->is_told
                    ? (struct ttp_end){.ticks = pid->end.ticks, .how = TTAPE_THREAD_END_PROCESS}
                    : pid->end;
    pid->is_told = true;
}

/* An exec puts a new image in the place of all threads. It began when they ended. */
static bool find_successor(const struct ttp_drain *d, const struct ttp_candidate *c,
                           struct ttp_end_word *word)
{
    const struct ttp_candidate *all = d->candidates.data, *end = all + d->candidates.count;
    for (const struct ttp_candidate *at = all; at < end; at++)
        if (at->pid == c->pid && at->serial > c->serial && at->image != c->image &&
            at->serial == at->image) {
            word->end = (struct ttp_end){.ticks = ttp_block_at(d, at->index)->started,
                                         .how = TTAPE_THREAD_END_EXEC};
            return true;
        }
    return false;
}

/* The thread may have taken its last block just behind us while we went through the list, and be
 * over since then. */
static bool has_later_block(const struct ttp_drain *d, const struct ttp_candidate *c)
{
    for (uint32_t i = 0; i < d->arena.ready; i++) {
        uint32_t state = __atomic_load_n(&d->arena.states[i], __ATOMIC_ACQUIRE);
        const struct ttp_block_head *block = ttp_block_at(d, i);
        if (state == TTP_BLOCK_FREE || state == TTP_BLOCK_WITHDRAWN)
            continue;
        if (__atomic_load_n(&block->serial, __ATOMIC_ACQUIRE) == c->serial &&
            block->sequence > c->sequence)
            return true;
    }
    return false;
}

/* What comes after recording has stopped is not known, and not told: the thread went on then. Where
 * it was only switched off, the end is told, and that it was. */
static void heed_stop(const struct ttp_drain *d, struct ttp_end_word *word)
{
    const struct ttp_arena_head *head = d->arena.head;
    uint32_t mode = __atomic_load_n(&head->mode, __ATOMIC_ACQUIRE);
    uint32_t reason = d->shared->stop_reason;
    uint64_t now = ttp_clock_now(d->clock), off = ttp_arena_off_ticks(head, head->periods);
    off = off == 0 || off > now ? now : off; /* a program may have written there */
    bool is_unseen = word->end.how == TTAPE_THREAD_END_RECORDING && !word->is_process;
    if (word->is_at_last || mode == TTP_MODE_ON || (!is_unseen && word->end.ticks <= off))
        return;
    if (mode == TTP_MODE_OFF && !is_unseen) {
        word->off_ticks = off;
        return;
    }
    reason = mode == TTP_MODE_OFF           ? TTAPE_STOP_OFF
             : reason == TTAPE_STOP_UNKNOWN ? TTAPE_STOP_ENDED
                                            : reason;
    *word = (struct ttp_end_word){.end = {off, TTAPE_THREAD_END_RECORDING, reason}};
}

bool ttp_end_find(struct ttp_drain *d, const struct ttp_candidate *c, bool is_over, bool at_end,
                  struct ttp_end_word *word)
{
    struct ttp_block_seen *seen = &d->arena.seen[c->index];
    *word = (struct ttp_end_word){0};
    if (!c->is_last || seen->has_end)
        return false;
    struct ttp_pid_seen *pid = ttp_pid_find(d, c->pid);
    if (pid != NULL && is_over) /* a thread that is gone went with its process? */
        ttp_pid_check(d, pid);
    bool is_done = c->state == TTP_BLOCK_DONE;
    if (is_over && !is_done && has_later_block(d, c))
        return false;
    if (is_done) {
        word->end.how = TTAPE_THREAD_END_ITSELF;
        word->is_at_last = true;
    } else if (is_over && find_successor(d, c, word)) {
        /* the process goes on */
    } else if (pid != NULL && pid->is_dead) {
        find_process_end(d, c, pid, word);
    } else if (is_over) {
        word->end = seen->gone;
    } else if (at_end) {
        word->end = (struct ttp_end){ttp_clock_now(d->clock), TTAPE_THREAD_END_RECORDING, 0};
    } else {
        return false;
    }
    heed_stop(d, word);
    seen->has_end = true;
    return true;
}

/* Without an epoch of its own the time is before that of the record before, and raised to it. */
static void put_records(struct ttp_slot *slot, const struct ttp_end_word *word)
{
    struct ttp_slot_head *head = &slot->head;
    uint64_t *to = slot->records + head->count, *end = to;
    uint64_t ticks = word->is_at_last ? 0 : word->end.ticks, off = word->off_ticks;
    uint64_t stop = ttp_stop_payload(TTAPE_GAP_REASON_STOPPED, TTP_STOP_LAST, 0);
    if (off != 0) {
        *end++ = ttp_record_epoch(off >> TTP_RECORD_TIME_BITS);
        *end++ = ttp_record_extension(TTP_EXT_GAP, off, stop);
    }
    if (!word->is_at_last)
        *end++ = ttp_record_epoch(ticks >> TTP_RECORD_TIME_BITS);
    *end++ = ttp_record_extension(
        TTP_EXT_END, ticks, ttp_end_payload(word->is_process, word->end.how, word->end.number));
    head->count += (uint32_t)(end - to);
}

bool ttp_end_add(struct ttp_slot *slot, const struct ttp_end_word *word)
{
    const struct ttp_slot_head *head = &slot->head;
    if (head->first + head->count + END_RECORDS + OFF_RECORDS > TTP_BLOCK_RECORDS)
        return false;
    put_records(slot, word);
    return true;
}

/* In a block that never was. */
static void make_alone(struct ttp_slot *slot, const struct ttp_end_word *word)
{
    slot->block.sequence++;
    slot->block.epoch = 0;
    slot->head = (struct ttp_slot_head){.is_last = true, .ends_thread = true};
    put_records(slot, word);
}

/* A thread that ended by itself may go on, and take that number. */
bool ttp_end_alone(struct ttp_slot *slot, const struct ttp_end_word *word)
{
    if (!word->is_at_last)
        make_alone(slot, word);
    return !word->is_at_last;
}

/* -- threads whose last block was taken and given back before they ended -- */

struct blockless {
    struct ttp_block_head last;
    bool is_done; /* and ended by itself, where that block had no room to say so */
};

static struct blockless *find_blockless(const struct ttp_drain *d, uint64_t serial)
{
    struct blockless *all = d->blockless.data;
    for (size_t i = 0; i < d->blockless.count; i++)
        if (all[i].last.serial == serial)
            return &all[i];
    return NULL;
}

void ttp_end_later(struct ttp_drain *d, const struct ttp_block_head *last, bool is_done)
{
    struct blockless *place = find_blockless(d, last->serial);
    if (place == NULL)
        place = ttp_push(&d->allocator, &d->blockless, sizeof *place, NULL);
    if (place != NULL) /* without memory nothing is said of the end */
        *place = (struct blockless){*last, is_done};
}

void ttp_end_told(struct ttp_drain *d, uint64_t serial)
{
    struct blockless *all = d->blockless.data, *told = find_blockless(d, serial);
    if (told != NULL)
        *told = all[--d->blockless.count];
}

void ttp_ends_follow(struct ttp_drain *d)
{
    const struct blockless *all = d->blockless.data;
    for (size_t i = 0; i < d->blockless.count; i++) {
        struct ttp_pid_seen *pid = ttp_pid_find(d, all[i].last.process_id);
        if (pid != NULL)
            pid->is_followed = true;
    }
}

static bool has_block(const struct ttp_drain *d, uint64_t serial)
{
    const struct ttp_candidate *c = d->candidates.data;
    for (size_t i = 0; i < d->candidates.count; i++)
        if (c[i].serial == serial)
            return true;
    return false;
}

static bool find_end(struct ttp_drain *d, const struct blockless *of, bool checks_threads,
                     bool at_end, struct ttp_end_word *word)
{
    const struct ttp_candidate c = {.serial = of->last.serial,
                                    .sequence = of->last.sequence,
                                    .image = of->last.image,
                                    .pid = of->last.process_id,
                                    .tid = of->last.thread_id};
    struct ttp_pid_seen *pid = ttp_pid_find(d, c.pid);
    bool is_dead = pid != NULL && pid->is_dead;
    *word = (struct ttp_end_word){.end.ticks = ttp_clock_now(d->clock)};
    if (!is_dead && !checks_threads && !at_end)
        return false;
    bool was_replaced = find_successor(d, &c, word);
    bool is_over = is_dead || was_replaced || ttp_thread_is_gone(&c);
    if (!at_end && (!is_over || has_block(d, c.serial) || has_later_block(d, &c)))
        return false;
    if (of->is_done)
        *word = (struct ttp_end_word){.end.how = TTAPE_THREAD_END_ITSELF, .is_at_last = true};
    else if (is_dead && !was_replaced)
        find_process_end(d, &c, pid, word);
    else if (!is_over)
        word->end.how = TTAPE_THREAD_END_RECORDING;
    heed_stop(d, word);
    return true;
}

bool ttp_end_next(struct ttp_drain *d, bool checks_threads, bool at_end)
{
    struct ttp_end_word word;
    const struct blockless *all = d->blockless.data;
    for (size_t i = 0; i < d->blockless.count; i++) {
        if (!find_end(d, &all[i], checks_threads, at_end, &word))
            continue;
        d->slot->block = all[i].last;
        make_alone(d->slot, &word);
        ttp_end_told(d, all[i].last.serial);
        return true;
    }
    return false;
}
