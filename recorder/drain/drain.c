/* Draining: copies records from the arena to the spill file, thread by thread in order, and gives
 * the blocks back to the programs.
 *
 * A block is taken as a whole when it is full, done, or its thread is dead. The records of a block
 * that is being filled are taken up to the first hole, for a flush and the like. A zero before a
 * record is a hole: its hook was interrupted. The recorder waits for the record. If it never comes,
 * it counts as one lost event, and the block stays taken until its thread is gone.
 *
 * A handler that jumps out of a hook which is taking a block leaves one block, or two, that are
 * being filled for ever. Records in other blocks of the thread show that the thread has gone on. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/arena/record.h"
#include "recorder/drain/ends.h"

#define HOLE_WAIT_MS     200u
#define PROCESS_CHECK_MS 20u
#define FEW_PROCESSES    4u /* that cost nothing to look at in each round */
#define THREAD_CHECK_MS  500u
#define SCARCE_CHECK_MS  20u /* instead, when blocks get scarce */
#define OWNER_SHIFT      2u
#define LINE_RECORDS     8u /* of the cache */
#define STATE_MASK       3u

/* What is known of an image: its first thread was taken, was left, or was missing in the round of
 * the low bits. */
#define IMAGE_KNOWN  1u
#define IMAGE_LEFT   2u /* it was not taken: writing failed, or there was no room */
#define IMAGE_MISSED 0x80000000u

#define EARLY 0x80000000u /* with the low bits of a round: not 0 */

const struct ttp_block_head *ttp_block_at(const struct ttp_drain *d, uint32_t index)
{
    return (const void *)(d->arena.blocks + (size_t)index * TTP_BLOCK_BYTES);
}

bool ttp_thread_is_gone(const struct ttp_candidate *c)
{
    char path[64];
    if (c->tid == c->pid)
        return false;
    (void)snprintf(path, sizeof path, "/proc/%u/task/%u", c->pid, c->tid);
    return access(path, F_OK) != 0 && errno == ENOENT;
}

static int by_thread(const void *a, const void *b)
{
    const struct ttp_candidate *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static int by_serial(const void *a, const void *b)
{
    const struct ttp_candidate *x = a, *y = b;
    if (x->serial != y->serial)
        return x->serial < y->serial ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Threads that ended without a word: killed by an exec or a raw system call. The same thread id
 * with a later serial means that an exec put a new image in its place. */
static void check_threads(struct ttp_drain *d)
{
    struct ttp_candidate *c = d->candidates.data;
    size_t count = d->candidates.count;
    if (count != 0)
        qsort(c, count, sizeof *c, by_thread);
    for (size_t i = 0; i < count; i++) {
        struct ttp_block_seen *seen = &d->arena.seen[c[i].index];
        bool replaced = i + 1 < count && c[i + 1].tid == c[i].tid && c[i + 1].pid == c[i].pid &&
                        c[i + 1].serial != c[i].serial;
        if (seen->is_dead || !(replaced || ttp_thread_is_gone(&c[i])))
            continue;
        seen->is_dead = true;
        seen->gone.ticks = ttp_clock_now(d->clock);
    }
}

/* Threads that fill a block. They are fewer than such blocks: a thread has two if it goes on while
 * we look, left one by a jump, or became another image by an exec. */
static uint32_t count_threads(struct ttp_drain *d)
{
    struct ttp_candidate *c = d->candidates.data;
    const struct ttp_candidate *last = NULL;
    uint32_t threads = 0;
    if (d->candidates.count != 0)
        qsort(c, d->candidates.count, sizeof *c, by_thread);
    for (size_t i = 0; i < d->candidates.count; i++) {
        if (c[i].state != TTP_BLOCK_FILLING)
            continue;
        threads += last == NULL || last->tid != c[i].tid || last->pid != c[i].pid;
        last = &c[i];
    }
    return threads;
}

/* Counts the records of a block as lost. The block has no serial and will get none, because a
 * program wrote over its head; or its thread has gone on, and a hook came back late. */
static void lose_block(struct ttp_drain *d, uint32_t index)
{
    const uint64_t *records = (const uint64_t *)(ttp_block_at(d, index) + 1);
    struct ttp_block_seen *seen = &d->arena.seen[index];
    uint64_t calls = 0;
    bool is_used = false;
    for (uint32_t i = seen->consumed; i < TTP_BLOCK_RECORDS; i++) {
        uint64_t record = __atomic_load_n(&records[i], __ATOMIC_ACQUIRE);
        is_used |= record != 0;
        calls += ttp_record_is_event(record);
    }
    seen->consumed = TTP_BLOCK_RECORDS;
    d->shared->block_lost += is_used && calls == 0 ? 1 : calls;
}

bool ttp_drain_has_more(const struct ttp_drain *d)
{
    for (uint32_t i = 0; i < d->arena.ready; i++) {
        uint32_t state = __atomic_load_n(&d->arena.states[i], __ATOMIC_ACQUIRE);
        uint32_t at = d->arena.seen[i].consumed;
        if (state == TTP_BLOCK_FREE || state == TTP_BLOCK_WITHDRAWN || at >= TTP_BLOCK_RECORDS)
            continue;
        const uint64_t *records = (const uint64_t *)(ttp_block_at(d, i) + 1);
        if (__atomic_load_n(&records[at], __ATOMIC_ACQUIRE) != 0)
            return true;
    }
    return false;
}

/* Lists the blocks in use. A block goes back if its owner died before it wrote the serial. A
 * block's head is read here and nowhere again, because the program can write there. */
static ttape_status gather(struct ttp_drain *d, uint32_t *free_count, ttape_error *err)
{
    d->candidates.count = 0;
    *free_count = 0;
    for (uint32_t i = 0; i < d->arena.ready; i++) {
        uint32_t state = __atomic_load_n(&d->arena.states[i], __ATOMIC_ACQUIRE);
        if (state == TTP_BLOCK_WITHDRAWN)
            continue;
        if (state == TTP_BLOCK_FREE) {
            ++*free_count;
            continue;
        }
        const struct ttp_block_head *block = ttp_block_at(d, i);
        uint32_t owner = state == TTP_BLOCK_TAKEN ? block->process_id : state >> OWNER_SHIFT;
        struct ttp_pid_seen *pid = ttp_pid_find(d, owner);
        bool dead = pid != NULL && pid->is_dead;
        if (pid != NULL)
            pid->is_used = true;
        uint64_t serial = __atomic_load_n(&block->serial, __ATOMIC_ACQUIRE);
        if (serial == 0) {
            if (dead || d->direct != NULL)
                lose_block(d, i);
            if (dead)
                ttp_arena_free_block(&d->arena, i);
            continue;
        }
        struct ttp_candidate said = {.serial = serial,
                                     .sequence = block->sequence,
                                     .image = block->image,
                                     .index = i,
                                     .pid = owner,
                                     .tid = block->thread_id,
                                     .state = state & STATE_MASK};
        struct ttp_candidate *c = ttp_push(&d->allocator, &d->candidates, sizeof *c, err);
        if (c == NULL)
            return TTAPE_E_MEMORY;
        *c = said;
        d->arena.seen[i].is_dead |= dead;
    }
    return TTAPE_OK;
}

/* Copies records for as long as none is missing, a line at a time; returns how many. */
static uint32_t copy_filled(const uint64_t *source, uint64_t *records, uint32_t count)
{
    uint32_t i = 0;
    for (bool is_filled = true; is_filled && i + LINE_RECORDS <= count; i += LINE_RECORDS) {
        for (uint32_t k = 0; k < LINE_RECORDS; k++) {
            records[i + k] = __atomic_load_n(&source[i + k], __ATOMIC_ACQUIRE);
            is_filled &= records[i + k] != 0;
        }
        if (!is_filled)
            break;
    }
    return i;
}

/* Copies the records in [from, end) and says where they end; whole: to the last one, else to the
 * first hole. */
static uint32_t copy_records(const struct ttp_drain *d, uint32_t index, uint32_t from, bool whole,
                             uint64_t *records, bool *has_hole)
{
    const uint64_t *source = (const uint64_t *)(ttp_block_at(d, index) + 1);
    uint32_t end = from + copy_filled(source + from, records, TTP_BLOCK_RECORDS - from), zeros = 0;
    *has_hole = false;
    for (uint32_t i = end; i < TTP_BLOCK_RECORDS; i++) {
        uint64_t record = __atomic_load_n(&source[i], __ATOMIC_ACQUIRE);
        records[i - from] = record;
        if (record == 0) {
            zeros++;
            if (!whole)
                break;
            continue;
        }
        *has_hole |= zeros != 0;
        end = i + 1;
    }
    return end;
}

/* A thread may take its done block back until the recorder takes it: here, or in an earlier round
 * that could not spill it. */
static bool claim(struct ttp_drain *d, const struct ttp_candidate *c)
{
    uint32_t done = c->pid << OWNER_SHIFT | TTP_BLOCK_DONE;
    return c->state != TTP_BLOCK_DONE || d->direct != NULL ||
           __atomic_compare_exchange_n(&d->arena.states[c->index], &done, TTP_BLOCK_TAKEN, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
           done == TTP_BLOCK_TAKEN;
}

/* The head as it was, with the owner as read when the round began. */
static void copy_head(const struct ttp_drain *d, const struct ttp_candidate *c,
                      struct ttp_block_head *head)
{
    *head = *ttp_block_at(d, c->index);
    head->serial = c->serial;
    head->sequence = c->sequence;
    head->image = c->image;
    head->process_id = c->pid;
    head->thread_id = c->tid;
}

/* Whether to wait for records that are missing in a block: for a time from the first call on. */
static bool wait_for_hole(const struct ttp_drain *d, struct ttp_block_seen *seen)
{
    seen->full_since = seen->full_since == 0 ? d->polled_ms : seen->full_since;
    return d->polled_ms - seen->full_since < HOLE_WAIT_MS;
}

/* What a round does with a block, by what the block is and whether its thread is over (dead, or the
 * block is done). */
enum action { TAKE_SO_FAR, TAKE_WHEN_COMPLETE, TAKE_ALL, LEAVE, GIVE_BACK };

enum kind { FILLING, FULL, LEFT, DRAINED, UNUSED };

static const enum action actions[][2] = {
    /* the thread goes on, is over */
    [FILLING] = {TAKE_SO_FAR, TAKE_ALL},     /* so far: to the first hole */
    [FULL] = {TAKE_WHEN_COMPLETE, TAKE_ALL}, /* when complete: holes are waited for */
    [LEFT] = {TAKE_WHEN_COMPLETE, TAKE_ALL}, /* by a jump out of the hook that was taking it */
    [DRAINED] = {LEAVE, GIVE_BACK},          /* taken, and held for a hook that may come back */
    [UNUSED] = {LEAVE, GIVE_BACK},           /* left, too, and nothing ever came into it */
};

static enum kind kind_of(const struct ttp_block_seen *seen, const struct ttp_candidate *c)
{
    if (seen->is_held)
        return DRAINED;
    if (c->is_unused)
        return UNUSED;
    return c->is_left ? LEFT : c->state == TTP_BLOCK_FULL ? FULL : FILLING;
}

/* What a hook stored into a drained block after all is lost. */
static void pass_by(struct ttp_drain *d, const struct ttp_candidate *c, bool gives_back,
                    bool at_end)
{
    if (d->arena.seen[c->index].is_held && (gives_back || at_end))
        lose_block(d, c->index);
    if (gives_back && d->direct == NULL && claim(d, c))
        ttp_arena_free_block(&d->arena, c->index);
}

static void note_taken(struct ttp_drain *d, const struct ttp_candidate *c)
{
    uint32_t last = ttp_map_find(&d->taken, c->serial), sequence = (uint32_t)c->sequence;
    if (last == TTAPE_NONE || last < sequence) /* without memory each block waits for a round */
        (void)ttp_map_set(&d->allocator, &d->taken, c->serial, sequence, NULL);
}

/* A thread numbers its blocks one by one. While we go through the list, it may take a block just
 * behind us, fill it, and go on in one that we come to: then a number is missing between those that
 * we see. The next round sees that block; if it does not, there is none. */
static bool is_early(const struct ttp_drain *d, const struct ttp_candidate *c)
{
    uint32_t last = ttp_map_find(&d->taken, c->serial), now = EARLY | (uint32_t)d->round;
    struct ttp_block_seen *seen = &d->arena.seen[c->index];
    if (c->sequence <= (last == TTAPE_NONE ? 0 : last) + 1ull)
        return false;
    seen->early = seen->early == 0 ? now : seen->early;
    return seen->early == now;
}

static ttape_status put_slot(struct ttp_drain *d, ttape_error *err)
{
    TTP_TRY(ttp_clock_sample(d, true, err));
    return d->direct != NULL ? ttp_output_take_rest(d->direct, d->slot, err)
                             : ttp_spill_put(d->spill, d->slot, err);
}

/* Takes what is in the block. *later: it has to wait, and so have the thread's other blocks. */
static ttape_status take_candidate(struct ttp_drain *d, const struct ttp_candidate *c, bool at_end,
                                   bool *later, ttape_error *err)
{
    struct ttp_block_seen *seen = &d->arena.seen[c->index];
    struct ttp_slot *slot = d->slot;
    bool has_hole, is_full = c->state == TTP_BLOCK_FULL;
    const struct ttp_pid_seen *pid = ttp_pid_find(d, c->pid);
    seen->is_dead |= pid != NULL && pid->is_dead; /* since we went through the list */
    bool is_over = seen->is_dead || c->state == TTP_BLOCK_DONE;
    enum action action = actions[kind_of(seen, c)][is_over];
    if (action == LEAVE || action == GIVE_BACK) {
        pass_by(d, c, action == GIVE_BACK, at_end);
        return TTAPE_OK;
    }
    *later = !claim(d, c);
    if (*later)
        return TTAPE_OK;
    bool is_whole = action != TAKE_SO_FAR;
    uint32_t end = copy_records(d, c->index, seen->consumed, is_whole, slot->records, &has_hole);
    has_hole |= c->is_left || (is_full && end < TTP_BLOCK_RECORDS);
    *later = action == TAKE_WHEN_COMPLETE && has_hole && !at_end && wait_for_hole(d, seen);
    if (*later)
        return TTAPE_OK;
    if (is_full) /* all of its places were reserved, also behind the last record */
        end = TTP_BLOCK_RECORDS;
    struct ttp_end_word ends;
    bool has_end = ttp_end_find(d, c, is_over, at_end, &ends);
    slot->head = (struct ttp_slot_head){.first = seen->consumed,
                                        .count = end - seen->consumed,
                                        .is_last = is_whole,
                                        .ends_thread = is_over && !is_full};
    copy_head(d, c, &slot->block);
    uint32_t count = slot->head.count;
    if (count != 0 || is_over || has_end) {
        bool is_behind = has_end && !ttp_end_add(slot, &ends);
        TTP_TRY(put_slot(d, err));
        bool is_alone = is_behind && ttp_end_alone(slot, &ends);
        if (is_alone)
            TTP_TRY(put_slot(d, err));
        bool is_told = has_end && (!is_behind || is_alone);
        if (is_told)
            ttp_end_told(d, c->serial);
        else if (is_whole)
            ttp_end_later(d, &slot->block, has_end);
        d->drained_bytes += (uint64_t)count * sizeof(uint64_t);
    }
    seen->consumed = end;
    seen->asked = d->asked.number;
    seen->is_held = is_whole && (d->direct != NULL || (has_hole && !is_over));
    if (is_whole)
        note_taken(d, c);
    if (is_whole && !seen->is_held)
        ttp_arena_free_block(&d->arena, c->index);
    return TTAPE_OK;
}

static void remember_done(struct ttp_drain *d)
{
    const struct ttp_candidate *c = d->candidates.data;
    for (size_t i = 0; i < d->candidates.count; i++)
        d->arena.seen[c[i].index].was_done |= c[i].state == TTP_BLOCK_DONE;
}

/* A done block rests for a round, unless blocks get scarce: if the process ends as well, the
 * modules that its first thread writes come first. */
static bool is_taken(const struct ttp_drain *d, const struct ttp_candidate *c)
{
    const struct ttp_block_seen *seen = &d->arena.seen[c->index];
    bool rests = c->state == TTP_BLOCK_DONE && d->may_rest && !seen->was_done;
    return c->is_wanted || c->is_left || c->is_unused || seen->is_dead ||
           (c->state != TTP_BLOCK_FILLING && !rests);
}

static bool is_empty(const struct ttp_drain *d, const struct ttp_candidate *c)
{
    const uint64_t *records = (const uint64_t *)(ttp_block_at(d, c->index) + 1);
    for (uint32_t i = 0; i < TTP_BLOCK_RECORDS; i++)
        if (__atomic_load_n(&records[i], __ATOMIC_ACQUIRE) != 0)
            return false;
    return true;
}

static bool is_twin(const struct ttp_candidate *a, const struct ttp_candidate *b)
{
    return a->serial == b->serial && a->sequence == b->sequence;
}

/* Only records show in which block a thread goes on: a hook that was left may have given its block
 * a number out of turn. */
static void find_left(struct ttp_drain *d)
{
    struct ttp_candidate *c = d->candidates.data;
    const struct ttp_candidate *last = NULL; /* of the thread, that has records */
    for (size_t count = d->candidates.count, i = count; i-- > 0;) {
        if (last != NULL && last->serial != c[i].serial)
            last = NULL;
        bool is_filled = c[i].state == TTP_BLOCK_FILLING, is_bare = is_filled && is_empty(d, &c[i]);
        bool has_twin =
            (i > 0 && is_twin(&c[i - 1], &c[i])) || (i + 1 < count && is_twin(&c[i + 1], &c[i]));
        bool is_past = last != NULL && last->sequence > c[i].sequence;
        c[i].is_left = is_filled && is_past;
        c[i].is_unused = is_bare && (is_past || has_twin);
        c[i].is_last = i + 1 == count || c[i + 1].serial != c[i].serial;
        if (last == NULL && !is_bare)
            last = &c[i];
    }
}

static const struct ttp_candidate *find_first_thread(const struct ttp_drain *d, uint64_t image)
{
    const struct ttp_candidate *c = d->candidates.data;
    size_t low = 0, high = d->candidates.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c[middle].serial < image)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + 1 < d->candidates.count && c[low + 1].serial == image && c[low].is_unused)
        low++;
    return low < d->candidates.count && c[low].serial == image ? &c[low] : NULL;
}

/* Whether the thread has written PROCESS, its first message, which is whole once the message's head
 * is there. Only EPOCH records may come before it. */
static bool has_begun(const struct ttp_drain *d, const struct ttp_candidate *c)
{
    const uint64_t *records = (const uint64_t *)(ttp_block_at(d, c->index) + 1);
    if (d->arena.seen[c->index].is_dead)
        return true;
    for (uint32_t i = 0; i < TTP_BLOCK_RECORDS; i++) {
        uint64_t record = __atomic_load_n(&records[i], __ATOMIC_ACQUIRE);
        uint32_t type = ttp_record_type(record);
        bool is_time = ttp_record_tag(record) == TTP_TAG_EXTENSION &&
                       (type == TTP_EXT_EPOCH || type == TTP_EXT_NOTHING);
        if (!is_time)
            return record != 0;
    }
    return true;
}

static bool is_known(const struct ttp_drain *d, uint64_t image)
{
    return ttp_map_find(&d->known, image) == IMAGE_KNOWN;
}

/* Its first thread's block may have been taken from those that are free just behind us while we
 * went through the list: then what we saw waits for a round. Where it still is not there, it ended
 * unseen. Where a handler jumped out of its first message, that is a hole. */
static void meet_image(struct ttp_drain *d, struct ttp_candidate *of, bool at_end)
{
    const struct ttp_candidate *first = find_first_thread(d, of->image);
    uint32_t seen = ttp_map_find(&d->known, of->image), missed = IMAGE_MISSED | (uint32_t)d->round;
    bool waits = first != NULL ? !has_begun(d, first) : seen == TTAPE_NONE || seen == missed;
    struct ttp_block_seen *block = first != NULL ? &d->arena.seen[first->index] : NULL;
    of->must_wait =
        waits && !at_end && d->direct == NULL && (block == NULL || wait_for_hole(d, block));
    if (block != NULL && !waits)
        block->full_since = 0;
    (void)ttp_map_set(&d->allocator, &d->known, of->image, waits ? missed : IMAGE_KNOWN, NULL);
}

/* Before anything of a new process comes what says which process it is, and what its parent is: the
 * records of the first threads of all processes that are new. Serials ascend from parent to child.
 */
static void want_first_threads(struct ttp_drain *d, bool everything, bool at_end)
{
    struct ttp_candidate *c = d->candidates.data;
    bool is_new = false;
    for (size_t i = 0; i < d->candidates.count; i++) {
        c[i].is_wanted |=
            everything && (d->direct != NULL || d->arena.seen[c[i].index].asked != d->asked.number);
        is_new |= is_taken(d, &c[i]) && !is_known(d, c[i].image);
    }
    for (size_t i = 0; is_new && i < d->candidates.count; i++)
        c[i].is_wanted |= c[i].serial == c[i].image && !is_known(d, c[i].image);
    for (size_t i = 0; is_new && i < d->candidates.count; i++)
        if (is_taken(d, &c[i]) && !is_known(d, c[i].image))
            meet_image(d, &c[i], at_end);
}

/* What a round that was cut short has left is wanted again: nothing of a process may come before
 * what says which one it is. */
static void leave_rest(struct ttp_drain *d, size_t from)
{
    const struct ttp_candidate *c = d->candidates.data;
    for (size_t i = from; i < d->candidates.count; i++)
        if (c[i].is_wanted && c[i].serial == c[i].image)
            (void)ttp_map_set(&d->allocator, &d->known, c[i].image, IMAGE_LEFT, NULL);
}

static void set_size(struct ttp_drain *d, uint32_t free_count)
{
    if (free_count * 2 <= d->arena.ready)
        ttp_arena_grow(&d->arena, count_threads(d), d->polled_ms);
    else if (free_count * 8 >= d->arena.ready * 7)
        ttp_arena_shrink(&d->arena, d->polled_ms);
    else
        d->arena.quiet_ms = 0;
}

/* Whether something is due that is done once in so many ms; then it counts as done now. */
static bool is_due(const struct ttp_drain *d, uint64_t *last_ms, uint32_t period_ms)
{
    bool due = d->polled_ms - *last_ms >= period_ms;
    if (due)
        *last_ms = d->polled_ms;
    return due;
}

/* The blocks by thread, in order. */
static ttape_status take_all(struct ttp_drain *d, bool at_end, ttape_error *err)
{
    uint64_t waiting_serial = 0;
    const struct ttp_candidate *c = d->candidates.data;
    for (size_t i = 0; i < d->candidates.count; i++) {
        if (c[i].serial == waiting_serial)
            continue;
        bool later = c[i].must_wait || !is_taken(d, &c[i]) || (!at_end && is_early(d, &c[i]));
        if (!later && d->direct == NULL && !ttp_spill_has_room(d->spill)) {
            d->is_cut = true;
            leave_rest(d, i);
            break;
        }
        ttape_status status = later ? TTAPE_OK : take_candidate(d, &c[i], at_end, &later, err);
        if (status != TTAPE_OK) {
            leave_rest(d, i);
            return status;
        }
        d->is_late |= later && c[i].is_wanted;
        /* A block that was seen being filled may be full by now, and have a successor, full as
         * well: that one's turn comes when the rest of this one was taken, or at the end. */
        bool may_grow = c[i].state == TTP_BLOCK_FILLING && !c[i].is_left && !c[i].is_unused &&
                        !d->arena.seen[c[i].index].is_dead;
        if (later || (may_grow && !at_end))
            waiting_serial = c[i].serial;
    }
    remember_done(d);
    return TTAPE_OK;
}

/* By thread, in order; then the ends of those that have no block any more. */
static ttape_status take_round(struct ttp_drain *d, bool everything, bool checks_threads,
                               bool at_end, ttape_error *err)
{
    if (d->candidates.count != 0) {
        qsort(d->candidates.data, d->candidates.count, sizeof(struct ttp_candidate), by_serial);
        find_left(d);
        want_first_threads(d, everything, at_end);
        TTP_TRY(take_all(d, at_end, err));
    }
    while (!d->is_cut && (d->direct != NULL || ttp_spill_has_room(d->spill)) &&
           ttp_end_next(d, checks_threads, at_end))
        TTP_TRY(put_slot(d, err));
    return TTAPE_OK;
}

ttape_status ttp_drain_round(struct ttp_drain *d, bool everything, bool at_end, ttape_error *err)
{
    uint32_t free_count;
    __atomic_store_n(&d->arena.head->heartbeat, ++d->round, __ATOMIC_RELAXED);
    d->is_cut = d->is_late = false;
    d->polled_ms = ttp_now_ms();
    ttp_arena_look(&d->arena);
    TTP_TRY(ttp_clock_sample(d, false, err));
    TTP_TRY(gather(d, &free_count, err));
    ttp_ends_follow(d);
    bool are_scarce = free_count * 8 < d->arena.ready, are_plenty = free_count * 2 > d->arena.ready;
    if (is_due(d, &d->processes_checked_ms, PROCESS_CHECK_MS) || at_end ||
        d->pids.count <= FEW_PROCESSES)
        ttp_pids_check(d);
    bool checks = is_due(d, &d->threads_checked_ms, are_scarce ? SCARCE_CHECK_MS : THREAD_CHECK_MS);
    if (checks)
        check_threads(d);
    if (d->direct == NULL)
        set_size(d, free_count);
    d->may_rest = d->direct == NULL && !at_end && are_plenty;
    return take_round(d, everything, checks, at_end, err);
}
