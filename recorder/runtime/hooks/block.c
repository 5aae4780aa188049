/* Places for records: taking blocks from the arena, in order, whatever interrupts; and what happens
 * when there is none.
 *
 * The cursor is in a block (its low bits past the head), at a block's end, or TTP_NO_BLOCK. Hot
 * hooks that find no room have moved it up to 8 bytes each past the end: less than a head for seven
 * that interrupt one another right there. */
#include "recorder/runtime/hot.h"
#include "recorder/runtime/slow.h"

/* A handler that comes between two steps of a reservation and is recorded itself makes it begin
 * again. One that comes at each instruction, in a program that steps through itself, would do so
 * for ever: what was to be recorded is left out then, and counted. */
#define TRIES_MAX 100u

static struct ttp_block_head *block_of(uint64_t place)
{
    return (struct ttp_block_head *)(place & ~TTP_BLOCK_MASK);
}

static uint32_t *state_of(const struct ttp_block_head *block)
{
    return &ttp_process.block_states[ttp_arena_index(block)];
}

static uint32_t state_here(uint32_t state) { return ttp_thread.process_id << 2 | state; }

/* Ends the filling of a block. If a handler forked just now, its child may have done so before; the
 * recorder may then have freed the block, and another thread may have taken it. */
static void end_filling(const struct ttp_block_head *block, uint32_t next)
{
    uint32_t filling = state_here(TTP_BLOCK_FILLING);
    if (ttp_arena_holds((uint64_t)block)) /* not where such a child stores: left_hooks.c */
        __atomic_compare_exchange_n(state_of(block), &filling, next, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
}

static struct ttp_block_head *take_of(uint32_t from, uint32_t end, uint32_t process)
{
    uint32_t mine = state_here(TTP_BLOCK_FILLING);
    for (uint32_t i = from; i < end; i++) {
        uint32_t expected = TTP_BLOCK_FREE;
        uint32_t *state = &ttp_process.block_states[i];
        if (__atomic_load_n(state, __ATOMIC_RELAXED) == TTP_BLOCK_FREE &&
            !ttp_is_child_of(process) &&
            __atomic_compare_exchange_n(state, &expected, mine, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            struct ttp_block_head *block = ttp_arena_block(i);
            /* For who jumps out of us: left_hooks.c. A child of a handler that comes here may go on
             * when the block is another thread's. */
            ttp_swap_word_here(&block->thread_id, 0, ttp_thread.page->thread_id);
            __atomic_store_n(&ttp_arena.head.free_from, i + 1, __ATOMIC_RELAXED);
            return block;
        }
    }
    return NULL;
}

/* The lowest free block, so that as few as possible are ever touched. The last sixteenth is for
 * threads that have had none: busy ones must not keep others from being seen at all. */
static struct ttp_block_head *take_free(uint32_t process)
{
    struct ttp_block_head *block;
    do {
        uint32_t ready = __atomic_load_n(&ttp_arena.head.block_ready, __ATOMIC_ACQUIRE);
        uint32_t mapped = ttp_arena_mapped(), count = ready < mapped ? ready : mapped;
        uint32_t from = __atomic_load_n(&ttp_arena.head.free_from, __ATOMIC_RELAXED);
        if (ttp_thread.sequence != 0)
            count -= count / 16;
        from = from < count ? from : 0;
        block = take_of(from, count, process);
        if (block == NULL)
            block = take_of(0, from, process);
    } while (block == NULL && !ttp_is_child_of(process) && ttp_arena_grow());
    return block;
}

/* A thread that drops events already does not wait for each block again, but where that was asked
 * for; and all threads together have a share of the time only. */
static bool may_wait(void)
{
    uint32_t flags = ttp_arena.head.flags;
    bool drops = ttp_is_dropping() && ttp_thread.page->dropped != 0;
    return (flags & TTP_ARENA_BLOCKING) != 0 ||
           ((flags & TTP_ARENA_DROPPING) == 0 && !drops && ttp_wait_is_due());
}

static struct ttp_block_head *take_free_block(uint32_t process)
{
    struct ttp_block_head *block = take_free(process);
    struct ttp_wait wait;
    if (block != NULL || !may_wait())
        return block;
    ttp_wait_begin(&wait);
    do {
        block = take_free(process);
    } while (block == NULL &&
             __atomic_load_n(&ttp_arena.head.mode, __ATOMIC_RELAXED) == TTP_MODE_ON &&
             !ttp_is_child_of(process) && ttp_wait_once(&wait));
    ttp_wait_end(&wait);
    return block;
}

static void make_head(struct ttp_block_head *head, uint64_t sequence)
{
    const struct ttp_thread_page *page = ttp_thread.page;
    head->serial = ttp_thread.serial;
    head->sequence = sequence;
    head->epoch = page->epoch_start >> TTP_RECORD_TIME_BITS;
    head->started = ttp_thread.started;
    head->process_id = ttp_thread.process_id;
    head->thread_id = page->thread_id;
    head->image = ttp_process.page->image;
    for (uint32_t i = 0; i < sizeof(head->name); i++)
        head->name[i] = page->name[i];
    TTP_SIGNAL_FENCE();
}

static void put_head(struct ttp_block_head *block, const struct ttp_block_head *head)
{
    block->sequence = head->sequence;
    block->epoch = head->epoch;
    block->started = head->started;
    block->process_id = head->process_id;
    block->thread_id = head->thread_id;
    block->image = head->image;
    for (uint32_t i = 0; i < sizeof(head->name); i++)
        block->name[i] = head->name[i];
    __atomic_store_n(&block->serial, head->serial, __ATOMIC_RELEASE);
}

static void give_back(struct ttp_block_head *block)
{
    *block = (struct ttp_block_head){0};
    end_filling(block, TTP_BLOCK_FREE);
}

/* The number of the thread's last block only grows; a handler may have set it already. */
static void set_sequence(uint64_t sequence)
{
    ttp_swap_here(&ttp_thread.sequence, sequence - 1, sequence);
}

/* Lets go of a block at whose end the cursor is. It is full from here on, so that the recorder gets
 * it back even when there is none to follow it. */
static void let_go(uint64_t at, uint32_t process)
{
    const struct ttp_block_head *old = block_of(at - TTP_BLOCK_HEAD_BYTES);
    uint64_t sequence = old->sequence;
    set_sequence(sequence);
    if (ttp_swap_here(&ttp_thread.cursor, at, ttp_no_block(sequence)) && !ttp_is_child_of(process))
        end_filling(old, state_here(TTP_BLOCK_FULL));
}

bool ttp_block_next(void)
{
    uint32_t process = ttp_process_now();
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        struct ttp_block_head head;
        uint64_t at = ttp_thread.cursor;
        if ((at & TTP_NO_BLOCK) == 0) {
            if (ttp_has_room(at))
                return true;
            let_go(at, process);
            continue;
        }
        make_head(&head, ttp_thread.sequence + 1);
        struct ttp_block_head *block = take_free_block(process);
        if (ttp_is_child_of(process))
            return false;
        if (block == NULL) {
            /* Places that were asked for meanwhile must not add up to a head. */
            ttp_swap_here(&ttp_thread.cursor, at, at & ~TTP_BLOCK_MASK);
            return (ttp_thread.cursor & TTP_NO_BLOCK) == 0 && ttp_has_room(ttp_thread.cursor);
        }
        put_head(block, &head);
        if (ttp_swap_here(&ttp_thread.cursor, at, (uint64_t)block + TTP_BLOCK_HEAD_BYTES)) {
            set_sequence(head.sequence);
            return true;
        }
        if (ttp_is_child_of(process))
            return false;
        give_back(block); /* a handler of this thread was faster */
    }
    return false;
}

void ttp_block_end(void)
{
    uint32_t process = ttp_process_now();
    uint64_t at = ttp_thread.cursor;
    while (!ttp_swap_here(&ttp_thread.cursor, at, ttp_no_block(ttp_thread.sequence)))
        at = ttp_thread.cursor;
    /* Where recording has stopped, it did so before the thread's end. */
    if ((at & TTP_NO_BLOCK) != 0 || ttp_is_child_of(process) ||
        ttp_arena.head.mode == TTP_MODE_STOPPED)
        return;
    bool has_room = ttp_has_room(at), is_plain = ttp_thread.stacks->count == 1;
    ttp_thread.done_block_end = has_room && is_plain ? at : 0;
    ttp_thread.done_block_epoch = ttp_thread.page->epoch_start;
    end_filling(block_of(has_room ? at : at - TTP_BLOCK_HEAD_BYTES), state_here(TTP_BLOCK_DONE));
}

/* The block's owner is compared only when the block is ours again and cannot change any more. */
void ttp_block_reopen(void)
{
    uint64_t at = ttp_thread.done_block_end;
    ttp_thread.done_block_end = 0;
    if (at == 0)
        return;
    struct ttp_block_head *block = block_of(at);
    uint32_t done = state_here(TTP_BLOCK_DONE);
    if (!__atomic_compare_exchange_n(state_of(block), &done, state_here(TTP_BLOCK_FILLING), false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    if (block->serial != ttp_thread.serial ||
        !ttp_swap_here(&ttp_thread.cursor, ttp_no_block(ttp_thread.sequence), at)) {
        end_filling(block, state_here(TTP_BLOCK_DONE));
        return;
    }
    ttp_thread.page->epoch_start = ttp_thread.done_block_epoch;
}

static uint64_t *reserve(uint32_t count)
{
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        uint64_t at = ttp_thread.cursor;
        if ((at & TTP_NO_BLOCK) != 0 || !ttp_has_room(at)) {
            if (!ttp_block_next())
                return NULL;
            continue;
        }
        uint64_t end = (at & ~TTP_BLOCK_MASK) + TTP_BLOCK_BYTES;
        bool fits = at + 8ull * count <= end;
        if (!ttp_swap_here(&ttp_thread.cursor, at, fits ? at + 8ull * count : end))
            continue;
        if (fits)
            return (uint64_t *)at;
        for (; at < end; at += 8)
            ttp_slot_fill(at);
    }
    return NULL;
}

/* Not in a block that is another's: that of its parent, when a handler forked meanwhile. */
void ttp_slot_fill(uint64_t slot)
{
    if ((slot & TTP_NO_BLOCK) == 0 && ttp_has_room(slot) &&
        ttp_thread.page->gate != TTP_GATE_NO_STATE && block_of(slot)->serial == ttp_thread.serial)
        ttp_store((uint64_t *)slot, ttp_record_extension(TTP_EXT_NOTHING, 0, 0));
}

/* A handler may come at any point and write a later epoch. Places from before it are for times
 * before it, places from after it for times after it. So the epoch must be the same, and that of
 * the clock, on both sides of the reservation.
 *
 * Where the thread waited for the place, that is told in front of the record, which has a time from
 * behind it; but an end was before it. */
static uint64_t *reserve_timed(uint32_t count, uint64_t *now, bool is_end)
{
    uint32_t process = ttp_process_now();
    volatile uint64_t *epoch_start = &ttp_thread.page->epoch_start;
    bool is_behind = false;
    *now = ttp_process.clock();
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
        uint64_t before = *epoch_start, start = *now & ~(uint64_t)TTP_RECORD_TIME_MASK;
        if (start < before && !is_behind) { /* a handler came just then, or the clock is not one */
            *now = ttp_process.clock();
            is_behind = true;
            continue;
        }
        uint32_t wanted = start == before ? count : 1;
        uint64_t *place = reserve(wanted);
        bool is_other = *epoch_start != before, is_child = ttp_is_child_of(process);
        if (place == NULL)
            return NULL;
        bool is_early = ttp_wait_is_noted() && !is_end;
        if (is_other || is_child || is_early) {
            for (uint32_t i = 0; i < wanted; i++)
                ttp_slot_fill((uint64_t)(place + i));
            if (is_child)
                return NULL;
            if (is_early)
                ttp_wait_tell();
            *now = ttp_process.clock();
            continue;
        }
        if (start == before) {
            if (ttp_wait_is_noted())
                ttp_wait_tell();
            return place;
        }
        /* Recorded before it counts: a handler that comes between records it again. */
        ttp_store(place, ttp_record_epoch(start >> TTP_RECORD_TIME_BITS));
        TTP_SIGNAL_FENCE();
        ttp_swap_here(&ttp_thread.page->epoch_start, before, start);
    }
    return NULL;
}

uint64_t *ttp_reserve_timed(uint32_t count, uint64_t *now)
{
    return reserve_timed(count, now, false);
}

uint64_t *ttp_reserve_end(uint32_t count, uint64_t *now) { return reserve_timed(count, now, true); }
