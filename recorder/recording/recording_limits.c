/* A recording may be told to end at a size or a time: this finds when that is reached, and what of
 * the records that come later still goes into the trace. */
#include "recorder/arena/record.h"
#include "recorder/state/recording_internal.h"

#define FEW_RECORDS    64u    /* of a thread of which nothing is in a file that is full, */
#define LITTLE_RECORDS 16384u /* and of all these */

/* How far threads have come in the trace. */
static uint64_t find_last_ns(const struct ttp_encode *e)
{
    uint64_t last_ns = 0;
    for (size_t i = 0; i < e->threads.count; i++)
        if (ttp_thread_at(e, i)->last_ns > last_ns)
            last_ns = ttp_thread_at(e, i)->last_ns;
    return last_ns;
}

static bool is_late(const struct ttp_encode *e, uint64_t now_ms)
{
    uint64_t begun_ms = __atomic_load_n(&e->begun_ms, __ATOMIC_RELAXED);
    return e->options.max_ns != 0 && begun_ms != 0 &&
           (now_ms - begun_ms) * 1000000u >= e->options.max_ns;
}

/* The time counts from when the first thread began. Plans that it waits for before its first call
 * are made between two rounds, and are no time of the command's: it begins again behind each. */
bool ttp_limits_late(struct ttp_encode *e, const struct ttp_arena_head *head, uint64_t now_ms)
{
    uint32_t turn = __atomic_load_n(&head->plan_turn, __ATOMIC_RELAXED);
    bool has_begun = __atomic_load_n(&head->next_serial, __ATOMIC_RELAXED) != 0;
    bool waited = e->appended + e->ends == 0 && turn != e->begun_turn;
    if (has_begun && (e->begun_ms == 0 || waited))
        __atomic_store_n(&e->begun_ms, now_ms, __ATOMIC_RELAXED);
    e->begun_turn = turn;
    return is_late(e, now_ms);
}

void ttp_limits_check(struct ttp_encode *e)
{
    bool large = e->options.max_bytes != 0 && e->written >= e->options.max_bytes;
    bool late = is_late(e, ttp_now_ms());
    if (large && !e->is_full)
        e->full_ns = find_last_ns(e);
    e->is_full |= large;
    if (large || late)
        ttp_shared_stop(e->shared, large ? TTAPE_STOP_SIZE : TTAPE_STOP_TIME);
}

/* A thread that waits has few records, and they come last: that it was there, and in what. */
static bool is_little_of_new_thread(struct ttp_encode *e, const struct ttp_slot *slot)
{
    if (slot->head.count > FEW_RECORDS || e->little_count + slot->head.count > LITTLE_RECORDS ||
        ttp_map_find(&e->thread_by_serial, slot->block.serial) != TTAPE_NONE)
        return false;
    e->little_count += slot->head.count;
    return true;
}

/* That a thread is there no more, or was when recording stopped, says how long its calls were. */
static bool find_end(const struct ttp_slot *slot, uint32_t *at)
{
    *at = slot->head.count;
    for (uint32_t i = 0; i < slot->head.count; i++)
        if (ttp_record_is_end(slot->records[i]))
            *at = i;
    return *at < slot->head.count;
}

ttape_status ttp_output_take(struct ttp_encode *e, const struct ttp_slot *slot, ttape_error *err)
{
    e->ends_only = e->is_full && !is_little_of_new_thread(e, slot);
    for (uint32_t i = 0; e->ends_only && i < slot->head.count; i++)
        e->overwritten += ttp_record_is_event(slot->records[i]);
    return e->ends_only && !find_end(slot, &e->end_at) ? TTAPE_OK : ttp_decode_slot(e, slot, err);
}
