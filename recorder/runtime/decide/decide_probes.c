/* Functions of a module: which are patched where, their stubs, and the jumps to those. A function
 * whose entry cannot be patched stays as it is; an exit that cannot be ends when the next event
 * shows that its frame is gone. */
#include <elf.h>

#include "recorder/runtime/decide/decide.h"

static bool is_chosen(const struct ttp_probe_decision *d, uint32_t function)
{
    if (d->chosen == NULL)
        return true;
    const uint64_t *bits = (const uint64_t *)(d->chosen + 1);
    return (bits[function / 64] >> function % 64 & 1) != 0;
}

static bool is_entry_there(const struct ttp_probe_decision *d, uint32_t function)
{
    return d->probes[d->functions[function].first_probe].reason == TTP_PATCH_CAN;
}

static bool is_as_planned(const struct ttp_probe_decision *d, const struct ttp_patch_probe *probe)
{
    const struct ttp_patch_head *plan = d->plan;
    const uint8_t *planned = (const uint8_t *)ttp_plan_at(plan, plan->bytes_at) + probe->bytes;
    const uint8_t *there = ttp_view_at(d->view, d->view->bias + probe->window);
    return ttp_is_same(there, planned, probe->window_bytes);
}

void ttp_decide_take(const struct ttp_probe_decision *d, uint32_t window, uint32_t window_bytes)
{
    const struct ttp_patch_head *plan = d->plan;
    for (uint32_t i = 0; i < window_bytes; i++) {
        uint32_t at = window + i - plan->code_start;
        if (at < plan->code_end - plan->code_start)
            d->taken[at / 64] |= (uint64_t)1 << at % 64;
    }
}

/* Windows of system calls were patched before. */
void ttp_decide_take_calls(const struct ttp_probe_decision *d)
{
    const struct ttp_plan_head *calls = d->calls;
    const struct ttp_plan_site *sites = calls == NULL ? NULL : ttp_plan_at(calls, calls->sites_at);
    for (uint32_t i = 0; calls != NULL && i < calls->site_count; i++)
        if (sites[i].kind == TTP_PLAN_CAN && !ttp_call_is_left(d->wanted, &sites[i]))
            ttp_decide_take(d, sites[i].window, sites[i].window_bytes);
}

/* Whatever the plan says, no jump is put over another one. */
static bool take_window(const struct ttp_probe_decision *d, const struct ttp_patch_probe *probe)
{
    uint32_t start = probe->window - d->plan->code_start;
    for (uint32_t i = start; i < start + probe->window_bytes; i++)
        if ((d->taken[i / 64] >> i % 64 & 1) != 0)
            return false;
    ttp_decide_take(d, probe->window, probe->window_bytes);
    return true;
}

static bool can_be(const struct ttp_probe_decision *d, const struct ttp_patch_probe *probe)
{
    return probe->reason == TTP_PATCH_CAN &&
           ((probe->flags & TTP_PATCH_PUSHES) == 0 || !d->has_shadow_stack) &&
           ttp_view_segment(d->view, probe->window, probe->window_bytes) != NULL &&
           is_as_planned(d, probe);
}

static bool has_values(const struct ttp_probe_decision *d, const struct ttp_patch_probe *probe)
{
    const struct ttp_values_row *row =
        d->values == NULL ? NULL
                          : ttp_values_row_of(d->values, d->functions[probe->function].start);
    return row != NULL && (probe->kind == TTP_PATCH_ENTRY ? row->given : row->returned) != 0;
}

/* Where a jump leads that leaves a function. */
static uint64_t target_of(const struct ttp_probe_decision *d, const struct ttp_patch_probe *probe,
                          const struct ttp_moved *moved)
{
    if (probe->kind != TTP_PATCH_TAIL && probe->kind != TTP_PATCH_TAIL_IF)
        return 0;
    uint32_t to = (uint32_t)probe->before_bytes + probe->after_bytes;
    uint64_t function =
        moved->fixup_count == 0 ? UINT64_MAX : moved->fixups[moved->fixup_count - 1].target;
    return ttp_tail_target_of(d->view, moved, probe->before_bytes, to,
                              ttp_patch_function_at(d->plan, function) != d->plan->function_count);
}

/* Where a stub's code is, in the process. */
static uint64_t place_of(const struct ttp_probe_decision *d, const struct ttp_probe_stub *stub)
{
    return (uintptr_t)stub->code + d->shift;
}

/* back: where it goes on, in a stub that has its window; 0: behind that */
static bool make_stub(const struct ttp_probe_decision *d, struct ttp_probe_stub *stub,
                      const struct ttp_patch_probe *probe, uint64_t back)
{
    const struct ttp_patch_head *plan = d->plan;
    const struct ttp_plan_fixup *fixups = ttp_plan_at(plan, plan->fixups_at);
    const uint8_t *bytes = ttp_plan_at(plan, plan->bytes_at);
    uint64_t bias = d->view->bias;
    struct ttp_probe_site site = {
        .probe = probe,
        .moved = {.bytes = bytes + probe->bytes + probe->window_bytes,
                  .fixups = fixups + probe->first_fixup,
                  .fixup_count = probe->fixup_count,
                  .bias = bias},
        .function = bias + d->functions[probe->function].start,
        .has_values = has_values(d, probe),
        .answers = probe->kind == TTP_PATCH_ENTRY && d->answers == probe->function + 1,
        .back = back != 0 ? back : bias + probe->window + probe->window_bytes};
    site.target = can_be(d, probe) ? target_of(d, probe, &site.moved) : 0;
    stub->is_used = can_be(d, probe) && (back != 0 || take_window(d, probe)) &&
                    ttp_probe_stub_make(d, stub, &site);
    return stub->is_used;
}

/* Short functions are entered and left in one window: the jump there leads to the entry's stub, and
 * that to the exit's. */
static bool is_shared(const struct ttp_probe_decision *d, uint32_t function)
{
    const struct ttp_patch_function *at = &d->functions[function];
    const struct ttp_patch_probe *entry = &d->probes[at->first_probe];
    return at->probe_count > 1 && entry[1].window == entry[0].window &&
           entry[1].window_bytes == entry[0].window_bytes;
}

/* An exit whose jump stands in a host's window needs that host. */
static bool has_place(const struct ttp_probe_decision *d, const struct ttp_patch_function *at,
                      const struct ttp_probe_stub *stub, const struct ttp_patch_probe *exit)
{
    int64_t distance = (int64_t)exit->jump - ((int64_t)exit->window + 2);
    if (exit->jump == exit->window)
        return true;
    for (uint32_t i = 1; i < at->probe_count && distance >= -128 && distance <= 127; i++) {
        const struct ttp_patch_probe *host = &d->probes[at->first_probe + i];
        if (host->kind == TTP_PATCH_HOST && stub[i].is_used && exit->jump > host->window &&
            exit->jump - host->window >= TTP_PLAN_WINDOW_MIN &&
            exit->jump - host->window + TTP_PLAN_WINDOW_MIN <= host->window_bytes)
            return true;
    }
    return false;
}

/* An exit's jump may be in a host's window, behind the host's: then neither has more room than it
 * needs. */
static struct ttp_slot_jump jump_of(const struct ttp_probe_decision *d,
                                    const struct ttp_patch_probe *probe)
{
    bool is_alone = probe->jump == probe->window && probe->kind != TTP_PATCH_HOST;
    return (struct ttp_slot_jump){.at = d->view->bias + probe->jump,
                                  .room = is_alone ? probe->window_bytes : TTP_PLAN_WINDOW_MIN,
                                  .lines = probe->lines};
}

static bool make_slot(const struct ttp_probe_decision *d, const struct ttp_patch_probe *probe,
                      const struct ttp_probe_stub *stub)
{
    const struct ttp_slot_jump jump = jump_of(d, probe);
    return ttp_slot_make(d->images, &jump, place_of(d, stub));
}

static void make_stubs(struct ttp_probe_decision *d, uint32_t function, struct ttp_probe_stub *stub)
{
    const struct ttp_patch_function *at = &d->functions[function];
    const struct ttp_patch_probe *probes = &d->probes[at->first_probe];
    bool shares = is_shared(d, function);
    uint64_t back = shares ? place_of(d, &stub[1]) : 0;
    bool is_made = (!shares || make_stub(d, &stub[1], &probes[1], 0)) &&
                   make_stub(d, &stub[0], &probes[0], back) && make_slot(d, &probes[0], &stub[0]);
    for (uint32_t i = 1 + shares; is_made && i < at->probe_count; i++)
        stub[i].is_used =
            make_stub(d, &stub[i], &probes[i], 0) && make_slot(d, &probes[i], &stub[i]);
    for (uint32_t i = 1; is_made && i < at->probe_count; i++)
        stub[i].is_used &= has_place(d, at, stub, &probes[i]);
    stub[0].is_used = is_made;
}

/* A jump that stands elsewhere has one of two bytes in the window, which leads there. */
static void put_jump(const struct ttp_probe_decision *d, const struct ttp_patch_probe *probe,
                     const struct ttp_probe_stub *stub, struct ttp_changes *changes)
{
    uint32_t count;
    const struct ttp_slot_jump jump = jump_of(d, probe);
    uint64_t bytes = ttp_slot_jump_bytes(d->images, &jump, place_of(d, stub), &count);
    ttp_change_add(changes, d->view, jump.at, bytes, count);
    if (probe->jump == probe->window)
        return;
    uint64_t window = d->view->bias + probe->window;
    ttp_change_add(changes, d->view, window,
                   0xeb | (uint64_t)(uint8_t)(jump.at - (window + 2)) << 8, 2);
}

/* A stub is made for a window in a segment only (can_be). */
static bool is_in_one_segment(const struct ttp_probe_decision *d,
                              const struct ttp_patch_probe *probe)
{
    return probe->jump == probe->window ||
           ttp_view_segment(d->view, probe->jump, TTP_PLAN_WINDOW_MIN) ==
               ttp_view_segment(d->view, probe->window, probe->window_bytes);
}

void ttp_decide_probe_jumps(struct ttp_probe_decision *d, struct ttp_changes *changes)
{
    struct ttp_probe_stub *stub = d->stubs;
    for (uint32_t f = 0; f < d->plan->function_count; f++) {
        const struct ttp_patch_function *at = &d->functions[f];
        if (!is_chosen(d, f) || !is_entry_there(d, f))
            continue;
        for (uint32_t i = 0; stub->is_used && i < at->probe_count; i++) {
            const struct ttp_patch_probe *probe = &d->probes[at->first_probe + i];
            if (stub[i].is_used && !(i == 1 && is_shared(d, f)) && is_in_one_segment(d, probe))
                put_jump(d, probe, &stub[i], changes);
        }
        stub += at->probe_count;
    }
}

/* -- a module -- */

static void count_function(struct ttp_probe_decision *d, uint32_t function)
{
    const struct ttp_patch_function *at = &d->functions[function];
    bool is_hooked = d->probes[at->first_probe].reason == TTP_PATCH_HOOKED;
    d->hooked += is_hooked;
    d->chosen_count += !is_hooked;
    if (!is_entry_there(d, function))
        return;
    d->stub_count += at->probe_count;
    for (uint32_t i = 0; i < at->probe_count; i++)
        d->lines |= d->probes[at->first_probe + i].lines;
}

void ttp_decide_probes_begin(struct ttp_probe_decision *d)
{
    d->functions = ttp_plan_at(d->plan, d->plan->functions_at);
    d->probes = ttp_plan_at(d->plan, d->plan->probes_at);
    for (uint32_t i = 0; i < d->plan->function_count; i++)
        if (is_chosen(d, i))
            count_function(d, i);
}

static void count_made(struct ttp_probe_decision *d, uint32_t function, struct ttp_probe_stub *stub)
{
    const struct ttp_patch_function *at = &d->functions[function];
    d->entries += stub->is_used;
    for (uint32_t i = 1; stub->is_used && i < at->probe_count; i++) {
        if (d->probes[at->first_probe + i].kind == TTP_PATCH_HOST)
            continue;
        d->exits += stub[i].is_used;
        d->exits_left += !stub[i].is_used;
    }
}

void ttp_decide_probe_stubs(struct ttp_probe_decision *d)
{
    struct ttp_probe_stub *stub = d->stubs;
    for (uint32_t i = 0; i < d->plan->function_count; i++)
        if (is_chosen(d, i) && is_entry_there(d, i)) {
            make_stubs(d, i, stub);
            count_made(d, i, stub);
            stub += d->functions[i].probe_count;
        }
}
