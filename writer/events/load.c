/* Whether a site is on the stack at all is counted for one stream at a time, the loaded one, and
 * its current stack: that is the total of the site. */
#include <string.h>

#include "writer/events/off_times.h"
#include "writer/frames.h"

static void add_kinds(uint64_t sums[TTP_OFF_KINDS], const uint64_t kinds[TTP_OFF_KINDS])
{
    for (int i = 0; i < TTP_OFF_KINDS; i++)
        sums[i] += kinds[i];
}

static void take_kinds(uint64_t sums[TTP_OFF_KINDS], struct ttp_off_entry *entry)
{
    add_kinds(sums, entry->kinds_ns);
    memset(entry->kinds_ns, 0, sizeof entry->kinds_ns);
}

/* From the top down: the last frame of a site is the one that all others of it are in. */
void ttp_unload(ttape_writer *w)
{
    struct ttp_stream_state *s = w->loaded;
    if (s == NULL)
        return;
    struct ttp_stack *stack = &s->stacks[s->current];
    struct ttp_off_entry *entries = stack->offs.data;
    size_t entry = stack->offs.count;
    uint64_t kinds[TTP_OFF_KINDS] = {0};
    for (uint32_t i = stack->count; i-- > 0;) {
        if (entry > 0 && entries[entry - 1].height == i + 1)
            take_kinds(kinds, &entries[--entry]);
        if (stack->frames[i].site == TTAPE_NONE)
            continue;
        struct ttp_site_state *site = ttp_site_state_at(w->scope, stack->frames[i].site);
        if (--site->active != 0)
            continue;
        site->total_ticks = ttp_add_ticks(site->total_ticks, s->last_tick, site->active_since);
        if ((kinds[0] | kinds[1] | kinds[2]) != 0)
            add_kinds(ttp_site_off_at(w, w->scope, stack->frames[i].site)->total_ns, kinds);
    }
    w->loaded = NULL;
}

void ttp_load(ttape_writer *w, struct ttp_stream_state *s)
{
    if (w->loaded == s)
        return;
    ttp_unload(w);
    struct ttp_stack *stack = &s->stacks[s->current];
    for (uint32_t i = 0; i < stack->count; i++) {
        if (stack->frames[i].site == TTAPE_NONE)
            continue;
        struct ttp_site_state *site = ttp_site_state_at(w->scope, stack->frames[i].site);
        ttp_touch(w, site);
        if (site->active++ == 0)
            site->active_since = s->last_tick;
    }
    w->loaded = s;
}
