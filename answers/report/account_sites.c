/* Where calls were made (F-SIT-14): a value of the enter. A frame that is open from one segment to
 * the next was entered before it, so that the places of those are kept, by stream. Where a
 * partition between them is damaged, others are open there: their times are compared. */
#include "answers/report/account_internal.h"

#include <string.h>

#include "base/sort.h"
#include "format/base/fail.h"
#include "reader/definitions/targets_reader.h"

void ttp_account_sites_start(struct ttp_account *a, uint32_t first)
{
    struct account_sites *s = &a->sites;
    if (!a->plan->by_site)
        return;
    s->call = TTAPE_NONE;
    s->last_site = TTAPE_NONE;
    s->recalled = 0;
    s->next = ttp_count_below(a->p->values.event, 1, a->p->values.event_count, first);
}

/* The key of the place, as of the last call of that site, or looked for. */
static uint32_t find_call(struct account_sites *s, const struct ttp_report_keys *keys,
                          uint32_t site, uint64_t number)
{
    if (site == s->last_site && number == s->last_number)
        return s->last_call;
    uint32_t found = ttp_targets_find(s->definitions, site, number);
    if (found == TTAPE_NONE || s->definitions->sites[found].kind != TTAPE_SITE_CALL)
        return TTAPE_NONE;
    s->last_site = site;
    s->last_number = number;
    return s->last_call = ttp_report_key(keys, found);
}

void ttp_account_site_see(struct ttp_account *a, uint32_t event, uint32_t symbol)
{
    struct account_sites *s = &a->sites;
    const struct ttp_values *v = &a->p->values;
    s->call = TTAPE_NONE;
    while (s->next < v->event_count && v->event[s->next] < event)
        s->next++;
    if (s->next == v->event_count || v->event[s->next] != event)
        return;
    uint32_t first = v->value_start[s->next], end = v->value_start[s->next + 1];
    for (uint32_t i = end; i-- > first && s->call == TTAPE_NONE;)
        if (v->values[i].type == TTAPE_VALUE_POINTER)
            s->call =
                find_call(s, a->plan->keys, a->p->views[2ull * symbol].site, v->values[i].number);
}

void ttp_account_site_recall(struct ttp_account *a, uint32_t stack, uint64_t enter_ns)
{
    struct account_sites *s = &a->sites;
    s->call = TTAPE_NONE;
    if (s->stream >= s->open_count)
        return;
    const struct account_calls *open = &s->open[s->stream];
    while (s->recalled < open->count && open->list[s->recalled].stack != stack)
        s->recalled++;
    if (s->recalled == open->count) { /* stacks stand in another order */
        s->recalled = 0;
        while (s->recalled < open->count && open->list[s->recalled].stack != stack)
            s->recalled++;
    }
    if (s->recalled == open->count)
        return;
    const struct account_call *at = &open->list[s->recalled++];
    s->call = at->enter_ns == enter_ns ? at->call : TTAPE_NONE;
}

static ttape_status grow_streams(struct ttp_account *a, ttape_error *err)
{
    struct account_sites *s = &a->sites;
    uint32_t before = s->open_count;
    if (s->stream < before)
        return TTAPE_OK;
    TTP_TRY(ttp_memory_reserve(a->rows->memory, &s->open, &s->open_count, s->stream + 1ull,
                               sizeof *s->open, err));
    memset(s->open + before, 0, (s->open_count - before) * sizeof *s->open);
    return TTAPE_OK;
}

static uint32_t count_frames(const struct ttp_account *a, uint32_t top)
{
    uint32_t count = 0;
    for (; top != 0; top = a->frames[top].below)
        count++;
    return count;
}

/* A stack's frames, of which the top one is met first. */
static void keep_stack(const struct ttp_account *a, struct account_calls *open, uint32_t slot)
{
    uint32_t top = a->stacks[slot].top, at = open->count + count_frames(a, top);
    open->count = at;
    for (; top != 0; top = a->frames[top].below)
        open->list[--at] = (struct account_call){.stack = a->p->stack_numbers.numbers[slot],
                                                 .call = a->rows->rows[a->frames[top].row].caller,
                                                 .enter_ns = a->frames[top].enter_ns};
}

ttape_status ttp_account_sites_keep(struct ttp_account *a, ttape_error *err)
{
    uint64_t count = 0;
    TTP_TRY(grow_streams(a, err));
    struct account_calls *open = &a->sites.open[a->sites.stream];
    for (uint32_t slot = 0; slot < a->stack_count; slot++)
        if (a->stacks[slot].epoch == a->active.epoch)
            count += count_frames(a, a->stacks[slot].top);
    open->count = 0;
    if (count == 0)
        return TTAPE_OK;
    TTP_TRY(ttp_memory_reserve(a->rows->memory, &open->list, &open->capacity, count,
                               sizeof *open->list, err));
    for (uint32_t slot = 0; slot < a->stack_count; slot++)
        if (a->stacks[slot].epoch == a->active.epoch)
            keep_stack(a, open, slot);
    return TTAPE_OK;
}

void ttp_account_sites_close(struct ttp_account *a)
{
    struct account_sites *s = &a->sites;
    struct ttp_memory *memory = a->rows->memory;
    for (uint32_t i = 0; i < s->open_count; i++)
        ttp_memory_give(memory, s->open[i].list, s->open[i].capacity, sizeof *s->open[i].list);
    ttp_memory_give(memory, s->open, s->open_count, sizeof *s->open);
}
