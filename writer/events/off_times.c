/* Rare work: spans are where a thread was switched away. */
#include "writer/events/off_times.h"

#include <string.h>

#include "format/base/fail.h"
#include "writer/frames.h"

/* Every site that is on a stack has room, so that ends of frames need none. */
static ttape_status make_room(ttape_writer *w, struct ttp_scope *scope, ttape_error *err)
{
    struct ttp_growing *offs = &scope->site_offs;
    if (offs->count >= scope->site_count)
        return TTAPE_OK;
    TTP_TRY(ttp_grow(&w->allocator, offs, sizeof(struct ttp_site_off), scope->site_count, err));
    struct ttp_site_off *all = offs->data;
    memset(all + offs->count, 0, (scope->site_count - offs->count) * sizeof *all);
    offs->count = scope->site_count;
    return TTAPE_OK;
}

struct ttp_site_off *ttp_site_off_at(const ttape_writer *w, const struct ttp_scope *scope,
                                     uint32_t site)
{
    struct ttp_site_off *off = (struct ttp_site_off *)scope->site_offs.data + site;
    if (off->epoch != w->epoch)
        *off = (struct ttp_site_off){.epoch = w->epoch};
    return off;
}

const struct ttp_site_off *ttp_site_off_find(const ttape_writer *w, const struct ttp_scope *scope,
                                             uint32_t site)
{
    const struct ttp_site_off *all = scope->site_offs.data;
    return site < scope->site_offs.count && all[site].epoch == w->epoch ? &all[site] : NULL;
}

static int64_t ns_between(const ttape_writer *w, int64_t from, int64_t to)
{
    return (int64_t)(((uint64_t)to - (uint64_t)from) * w->head_resolution_ns);
}

static void add_ns(int64_t *sum, int64_t ns) { *sum = (int64_t)((uint64_t)*sum + (uint64_t)ns); }

/* The entry of the top frame; the stack has one. */
static ttape_status top_entry(ttape_writer *w, struct ttp_stack *stack, struct ttp_off_entry **out,
                              ttape_error *err)
{
    if (ttp_off_height(stack) != stack->count) {
        struct ttp_off_entry *fresh = ttp_push(&w->allocator, &stack->offs, sizeof *fresh, err);
        if (fresh == NULL)
            return TTAPE_E_MEMORY;
        *fresh = (struct ttp_off_entry){.height = stack->count};
    }
    *out = (struct ttp_off_entry *)stack->offs.data + stack->offs.count - 1;
    return TTAPE_OK;
}

/* Another stack was the current one meanwhile. */
static ttape_status add_away(ttape_writer *w, struct ttp_stack *stack, int64_t tick,
                             ttape_error *err)
{
    struct ttp_off_entry *entry;
    if (stack->count == 0)
        return TTAPE_OK;
    TTP_TRY(top_entry(w, stack, &entry, err));
    add_ns(&entry->off_ns, ns_between(w, stack->left_tick, tick));
    stack->left_tick = tick;
    return TTAPE_OK;
}

/* All that frames have lasted so far is not known. */
static ttape_status start_unknown(ttape_writer *w, struct ttp_stack *stack, int64_t tick,
                                  ttape_error *err)
{
    stack->left_tick = tick;
    stack->offs.count = 0;
    for (uint32_t i = 0; i < stack->count; i++) {
        int64_t until = i + 1 < stack->count ? stack->frames[i + 1].enter_tick : tick;
        struct ttp_off_entry *entry = ttp_push(&w->allocator, &stack->offs, sizeof *entry, err);
        if (entry == NULL)
            return TTAPE_E_MEMORY;
        *entry = (struct ttp_off_entry){
            .height = i + 1, .off_ns = ns_between(w, stack->frames[i].enter_tick, until)};
    }
    return TTAPE_OK;
}

void ttp_off_forget(struct ttp_stream_state *s)
{
    s->is_tracked = false;
    for (uint32_t k = 0; k < s->stack_count; k++)
        s->stacks[k].offs.count = 0;
}

ttape_status ttp_off_start(ttape_writer *w, struct ttp_scope *scope, struct ttp_stream_state *s,
                           ttape_error *err)
{
    s->span_next = 0;
    if (!s->is_known || s->known_from > s->next_event) {
        if (s->is_tracked)
            ttp_off_forget(s);
        return TTAPE_OK;
    }
    TTP_TRY(make_room(w, scope, err));
    for (uint32_t k = 0; k < s->stack_count; k++)
        if (!s->is_tracked)
            TTP_TRY(start_unknown(w, &s->stacks[k], s->last_tick, err));
        else if (k != s->current)
            TTP_TRY(add_away(w, &s->stacks[k], s->last_tick, err));
    s->is_tracked = true;
    return TTAPE_OK;
}

ttape_status ttp_off_take(ttape_writer *w, struct ttp_scope *scope, struct ttp_stream_state *s,
                          int64_t elapsed, ttape_error *err)
{
    struct ttp_stack *stack = &s->stacks[s->current];
    struct ttp_pending *p = ttp_writer_pending(w);
    const ttape_off_span *spans = s->spans.data;
    struct ttp_interval interval = {.length_ns = ns_between(w, 0, elapsed), .to_ns = INT64_MAX};
    struct ttp_off_entry *entry;
    for (; s->span_next < s->spans.count && spans[s->span_next].event <= s->next_event;
         s->span_next++)
        ttp_interval_add(&interval, (uint8_t)spans[s->span_next].kind, spans[s->span_next].start_ns,
                         spans[s->span_next].length_ns);
    struct ttp_off_time off = ttp_interval_spent(&interval);
    const uint64_t kinds[] = {off.preempted_ns, off.blocked_ns, off.unknown_ns};
    for (int i = 0; i < TTP_OFF_KINDS; i++)
        p->off_ns[i] += kinds[i];
    if (stack->count == 0 || (kinds[0] | kinds[1] | kinds[2]) == 0)
        return TTAPE_OK;
    TTP_TRY(make_room(w, scope, err));
    TTP_TRY(top_entry(w, stack, &entry, err));
    uint32_t site = stack->frames[stack->count - 1].site;
    for (int i = 0; i < TTP_OFF_KINDS; i++) {
        add_ns(&entry->off_ns, (int64_t)kinds[i]);
        entry->kinds_ns[i] += kinds[i];
        if (site != TTAPE_NONE)
            ttp_site_off_at(w, scope, site)->self_ns[i] += kinds[i];
    }
    return TTAPE_OK;
}

ttape_status ttp_off_switch(ttape_writer *w, struct ttp_scope *scope, struct ttp_stream_state *s,
                            uint32_t from, int64_t tick, ttape_error *err)
{
    if (!s->is_tracked)
        return TTAPE_OK;
    s->stacks[from].left_tick = tick;
    TTP_TRY(make_room(w, scope, err));
    return add_away(w, &s->stacks[s->current], tick, err);
}

/* Of frames with an entry and of those without, the longest are kept apart: of the latter all was
 * on the CPU. */
static void end_of_site(const ttape_writer *w, const struct ttp_scope *scope,
                        const struct ttp_off_entry *entry, const struct ttp_open *f, int64_t tick)
{
    struct ttp_site_state *site = ttp_site_state_at(scope, f->site);
    struct ttp_site_off *off = ttp_site_off_at(w, scope, f->site);
    int64_t longest = site->exit_count == 0 ? INT64_MIN : site->max_ticks;
    int64_t duration = (int64_t)((uint64_t)tick - (uint64_t)f->enter_tick);
    int64_t on = (int64_t)((uint64_t)ns_between(w, f->enter_tick, tick) - (uint64_t)entry->off_ns);
    ttp_end_frame(site, f, tick);
    site->max_ticks = longest;
    off->max_ticks = off->exit_count == 0 || duration > off->max_ticks ? duration : off->max_ticks;
    off->max_on_ns = off->exit_count == 0 || on > off->max_on_ns ? on : off->max_on_ns;
    off->exit_count++;
    for (int i = 0; i < TTP_OFF_KINDS && site->active == 0; i++)
        off->total_ns[i] += entry->kinds_ns[i];
}

void ttp_off_end_frame(const ttape_writer *w, const struct ttp_scope *scope,
                       struct ttp_stack *stack, const struct ttp_open *f, int64_t tick)
{
    struct ttp_off_entry *entry = (struct ttp_off_entry *)stack->offs.data + --stack->offs.count;
    if (f->site != TTAPE_NONE)
        end_of_site(w, scope, entry, f, tick);
    if (stack->count == 0)
        return;
    if (ttp_off_height(stack) != stack->count) {
        entry->height = stack->count;
        stack->offs.count++;
        return;
    }
    add_ns(&entry[-1].off_ns, entry->off_ns);
    for (int i = 0; i < TTP_OFF_KINDS; i++)
        entry[-1].kinds_ns[i] += entry->kinds_ns[i];
}
