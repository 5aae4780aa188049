/* Rows by (caller, key): a list, and a hash table of their numbers. */
#include "answers/report/account.h"

#include <string.h>

#include "format/base/secret_hash.h"
#include "format/base/wide.h"

#define SLOT_BITS_FIRST 6u
#define FIRST_SHARE     64u /* of the memory that tables may begin with */

static uint32_t first_slot(const struct ttp_account_rows *rows, uint32_t caller, uint32_t key)
{
    uint64_t id = (uint64_t)caller << 32 | key;
    return (uint32_t)(ttp_secret_hash(id, rows->memory->hash_key) >> (64 - rows->slot_bits));
}

static void put_slot(struct ttp_account_rows *rows, uint32_t row)
{
    uint32_t mask = (1u << rows->slot_bits) - 1;
    uint32_t at = first_slot(rows, rows->rows[row].caller, rows->rows[row].key);
    while (rows->slots[at] != 0)
        at = (at + 1) & mask;
    rows->slots[at] = row;
}

static bool take_slots(struct ttp_account_rows *rows, uint32_t bits, ttape_error *err)
{
    uint32_t *slots = ttp_memory_take(rows->memory, 1ull << bits, sizeof *slots, err);
    if (slots == NULL)
        return false;
    memset(slots, 0, sizeof *slots << bits);
    ttp_memory_give(rows->memory, rows->slots, 1ull << rows->slot_bits, sizeof *slots);
    rows->slots = slots;
    rows->slot_bits = bits;
    for (uint32_t i = 1; i < rows->row_count; i++)
        put_slot(rows, i);
    return true;
}

static bool add_row(struct ttp_account_rows *rows, uint32_t caller, uint32_t key, ttape_error *err)
{
    if (ttp_memory_reserve(rows->memory, &rows->rows, &rows->row_capacity, rows->row_count + 1ull,
                           sizeof *rows->rows, err) != TTAPE_OK)
        return false;
    rows->rows[rows->row_count++] = (struct ttp_account_row){.key = key, .caller = caller};
    return true;
}

/* Tables that grow are copied, which touches each page of them twice. */
static uint32_t first_capacity(const struct ttp_memory *memory, uint32_t likely_count)
{
    uint64_t most = memory->limit_bytes / FIRST_SHARE / sizeof(struct ttp_account_row);
    return likely_count < most ? likely_count + 1 : (uint32_t)(most < UINT32_MAX ? most : 1);
}

ttape_status ttp_account_rows_open(struct ttp_account_rows *rows, struct ttp_memory *memory,
                                   uint32_t likely_count, ttape_error *err)
{
    uint32_t bits = SLOT_BITS_FIRST, capacity = first_capacity(memory, likely_count);
    *rows = (struct ttp_account_rows){.memory = memory, .store = {.memory = memory}};
    while (bits < 31 && capacity > 1u << (bits - 1))
        bits++;
    if (ttp_memory_reserve(memory, &rows->rows, &rows->row_capacity, capacity, sizeof *rows->rows,
                           err) != TTAPE_OK)
        return memory->status;
    return add_row(rows, TTAPE_NONE, TTP_NO_KEY, err) && take_slots(rows, bits, err)
               ? TTAPE_OK
               : memory->status;
}

void ttp_account_rows_close(struct ttp_account_rows *rows)
{
    if (rows->memory == NULL)
        return;
    for (uint32_t i = 0; i < rows->row_count; i++)
        ttp_durations_close(&rows->rows[i].durations, &rows->store);
    ttp_memory_give(rows->memory, rows->rows, rows->row_capacity, sizeof *rows->rows);
    ttp_memory_give(rows->memory, rows->slots, 1ull << rows->slot_bits, sizeof *rows->slots);
    *rows = (struct ttp_account_rows){0};
}

uint32_t ttp_account_look_up(const struct ttp_account_rows *rows, uint32_t caller, uint32_t key)
{
    uint32_t mask = (1u << rows->slot_bits) - 1, at = first_slot(rows, caller, key);
    for (uint32_t row; (row = rows->slots[at]) != 0; at = (at + 1) & mask)
        if (rows->rows[row].key == key && rows->rows[row].caller == caller)
            return row;
    return 0;
}

uint32_t ttp_account_find(struct ttp_account_rows *rows, uint32_t caller, uint32_t key,
                          ttape_error *err)
{
    uint32_t found = ttp_account_look_up(rows, caller, key);
    if (found != 0)
        return found;
    if (rows->row_count >= 1u << (rows->slot_bits - 1) &&
        !take_slots(rows, rows->slot_bits + 1, err))
        return 0;
    if (!add_row(rows, caller, key, err))
        return 0;
    put_slot(rows, rows->row_count - 1);
    return rows->row_count - 1;
}

void ttp_account_add_own(struct ttp_account_row *row, int64_t min_ns, int64_t max_ns)
{
    if (row->exit_count == 0 || min_ns < row->self_min_ns)
        row->self_min_ns = min_ns;
    if (row->exit_count == 0 || max_ns > row->self_max_ns)
        row->self_max_ns = max_ns;
}

void ttp_account_add_exits(struct ttp_account_row *row, uint64_t count, int64_t min_ns,
                           int64_t max_ns, ttape_wide squares)
{
    if (count == 0)
        return;
    row->squares = ttp_wide_add(row->squares, squares);
    if (row->exit_count == 0 || min_ns < row->min_ns)
        row->min_ns = min_ns;
    if (row->exit_count == 0 || max_ns > row->max_ns)
        row->max_ns = max_ns;
    row->exit_count += count;
}

static void add_signed(int64_t *to, int64_t value)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)value);
}

void ttp_account_add_open(struct ttp_account_rows *rows, uint32_t row, uint64_t enter_ns,
                          uint64_t end_ns)
{
    struct ttp_account_row *r = &rows->rows[row];
    rows->open_count++;
    if (r->seen == rows->stamp)
        return;
    r->seen = rows->stamp;
    add_signed(&r->open_ns, (int64_t)(end_ns - enter_ns));
}

static void add_row_to(struct ttp_account_row *to, const struct ttp_account_row *from)
{
    if (from->exit_count != 0)
        ttp_account_add_own(to, from->self_min_ns, from->self_max_ns);
    ttp_account_add_exits(to, from->exit_count, from->min_ns, from->max_ns, from->squares);
    add_signed(&to->self_ns, from->self_ns);
    add_signed(&to->total_ns, from->total_ns);
    add_signed(&to->idle_ns, from->idle_ns);
    add_signed(&to->known_self_ns, from->known_self_ns);
    add_signed(&to->preempted_ns, from->preempted_ns);
    add_signed(&to->blocked_ns, from->blocked_ns);
    add_signed(&to->unknown_ns, from->unknown_ns);
    add_signed(&to->total_blocked_ns, from->total_blocked_ns);
    add_signed(&to->total_unknown_ns, from->total_unknown_ns);
    add_signed(&to->duration_ns, from->duration_ns);
    add_signed(&to->span_ns, from->span_ns);
    add_signed(&to->open_ns, from->open_ns);
    add_signed(&to->unknown_end_ns, from->unknown_end_ns);
    to->unknown_end_count += from->unknown_end_count;
    to->unseen_end_count += from->unseen_end_count;
    to->late_end_count += from->late_end_count;
    to->call_count += from->call_count;
    to->recursion_count += from->recursion_count;
    to->unseen_count += from->unseen_count;
    to->event_count += from->event_count;
}

ttape_status ttp_account_merge(struct ttp_account_rows *to, struct ttp_account_rows *from,
                               ttape_error *err)
{
    for (uint32_t i = 1; i < from->row_count; i++) {
        struct ttp_account_row *row = &from->rows[i];
        uint32_t at = ttp_account_find(to, row->caller, row->key, err);
        if (at == 0)
            return to->memory->status;
        add_row_to(&to->rows[at], row);
        ttape_status status = ttp_durations_merge(&to->rows[at].durations, &to->store,
                                                  &row->durations, &from->store, err);
        if (status != TTAPE_OK)
            return status;
    }
    add_signed(&to->span_ns, from->span_ns);
    add_signed(&to->idle_ns, from->idle_ns);
    add_signed(&to->known_ns, from->known_ns);
    add_signed(&to->preempted_ns, from->preempted_ns);
    add_signed(&to->blocked_ns, from->blocked_ns);
    add_signed(&to->unknown_ns, from->unknown_ns);
    to->call_count += from->call_count;
    to->unseen_count += from->unseen_count;
    to->open_count += from->open_count;
    to->has_idle = to->has_idle || from->has_idle;
    to->has_switches = to->has_switches || from->has_switches;
    return TTAPE_OK;
}
