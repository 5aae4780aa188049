/* Probes of a module's chosen functions: stubs first, then jumps to them, as patch.c does it for
 * system calls. A function whose entry cannot be patched stays as it is; an exit that cannot be
 * ends when the next event shows that its frame is gone. */
#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/runtime/breakpoints/slots.h"
#include "recorder/runtime/patch/probe.h"

#define PAGE 4096u

struct probing {
    const struct ttp_probe_wish *wish;
    const struct ttp_patch_function *functions;
    const struct ttp_patch_probe *probes;
    struct ttp_probe_data *data;
    struct ttp_probe_stub *stubs; /* of chosen functions' probes, in the plan's order */
    uint64_t *taken;              /* a bit for each byte of code: a window has it */
    struct ttp_slots slots;
    bool has_shadow_stack;
    const ElfW(Phdr) * segment; /* that is being changed */
    uint32_t chosen, hooked, stub_count, entries, exits, exits_left;
};

static bool is_chosen(const struct probing *p, uint32_t function)
{
    if (p->wish->chosen == NULL)
        return true;
    const uint64_t *bits = (const uint64_t *)(p->wish->chosen + 1);
    return (bits[function / 64] >> function % 64 & 1) != 0;
}

static bool is_entry_there(const struct probing *p, uint32_t function)
{
    return p->probes[p->functions[function].first_probe].reason == TTP_PATCH_CAN;
}

static bool is_as_planned(const struct probing *p, const struct ttp_patch_probe *probe)
{
    const struct ttp_patch_head *plan = p->wish->plan;
    const uint8_t *planned = (const uint8_t *)ttp_plan_at(plan, plan->bytes_at) + probe->bytes;
    const uint8_t *there = (const uint8_t *)(p->wish->info->dlpi_addr + probe->window);
    return ttp_is_same(there, planned, probe->window_bytes);
}

/* Return addresses that nobody has called for are not returned to there. rdsspq does nothing where
 * there is none. */
static bool has_shadow_stack(void)
{
    uint64_t pointer = 0;
    __asm__ volatile("rdsspq %0" : "+r"(pointer));
    return pointer != 0;
}

static void set_taken(const struct probing *p, uint32_t window, uint32_t window_bytes)
{
    const struct ttp_patch_head *plan = p->wish->plan;
    for (uint32_t i = 0; i < window_bytes; i++) {
        uint32_t at = window + i - plan->code_start;
        if (at < plan->code_end - plan->code_start)
            p->taken[at / 64] |= (uint64_t)1 << at % 64;
    }
}

/* Windows of system calls were patched before. */
static void take_calls(const struct probing *p)
{
    const struct ttp_plan_head *calls = p->wish->calls;
    const struct ttp_plan_site *sites = calls == NULL ? NULL : ttp_plan_at(calls, calls->sites_at);
    for (uint32_t i = 0; calls != NULL && i < calls->site_count; i++)
        if (sites[i].kind == TTP_PLAN_CAN && !ttp_site_is_left(&sites[i]))
            set_taken(p, sites[i].window, sites[i].window_bytes);
}

/* Whatever the plan says, no jump is put over another one. */
static bool take_window(const struct probing *p, const struct ttp_patch_probe *probe)
{
    uint32_t start = probe->window - p->wish->plan->code_start;
    for (uint32_t i = start; i < start + probe->window_bytes; i++)
        if ((p->taken[i / 64] >> i % 64 & 1) != 0)
            return false;
    set_taken(p, probe->window, probe->window_bytes);
    return true;
}

static bool can_be(const struct probing *p, const struct ttp_patch_probe *probe)
{
    return probe->reason == TTP_PATCH_CAN &&
           ((probe->flags & TTP_PATCH_PUSHES) == 0 || !p->has_shadow_stack) &&
           ttp_code_segment(p->wish->info, probe->window, probe->window_bytes) != NULL &&
           is_as_planned(p, probe);
}

static bool has_values(const struct probing *p, const struct ttp_patch_probe *probe)
{
    const struct ttp_values_row *row =
        p->data->values == NULL
            ? NULL
            : ttp_values_row_of(p->data->values, p->functions[probe->function].start);
    return row != NULL && (probe->kind == TTP_PATCH_ENTRY ? row->given : row->returned) != 0;
}

/* Where a jump leads that leaves a function. */
static uint64_t target_of(const struct probing *p, const struct ttp_patch_probe *probe,
                          const struct ttp_moved *moved)
{
    if (probe->kind != TTP_PATCH_TAIL && probe->kind != TTP_PATCH_TAIL_IF)
        return 0;
    uint32_t to = (uint32_t)probe->before_bytes + probe->after_bytes;
    uint64_t function =
        moved->fixup_count == 0 ? UINT64_MAX : moved->fixups[moved->fixup_count - 1].target;
    return ttp_tail_target_of(p->wish->info, moved, probe->before_bytes, to,
                              ttp_patch_function_at(p->wish->plan, function) !=
                                  p->wish->plan->function_count);
}

/* back: where it goes on, in a stub that has its window; 0: behind that */
static bool make_stub(const struct probing *p, struct ttp_probe_stub *stub,
                      const struct ttp_patch_probe *probe, uint64_t back)
{
    const struct ttp_patch_head *plan = p->wish->plan;
    const struct ttp_plan_fixup *fixups = ttp_plan_at(plan, plan->fixups_at);
    const uint8_t *bytes = ttp_plan_at(plan, plan->bytes_at);
    uint64_t bias = p->wish->info->dlpi_addr;
    struct ttp_probe_site site = {.probe = probe,
                                  .moved = {.bytes = bytes + probe->bytes + probe->window_bytes,
                                            .fixups = fixups + probe->first_fixup,
                                            .fixup_count = probe->fixup_count,
                                            .bias = bias},
                                  .function = bias + p->functions[probe->function].start,
                                  .has_values = has_values(p, probe),
                                  .back = back != 0 ? back
                                                    : bias + probe->window + probe->window_bytes};
    site.target = can_be(p, probe) ? target_of(p, probe, &site.moved) : 0;
    stub->is_used = can_be(p, probe) && (back != 0 || take_window(p, probe)) &&
                    ttp_probe_stub_make(stub, p->data, &site);
    return stub->is_used;
}

/* Calls `take` with each chosen function that has an entry, and its first stub. */
typedef void (*take_function)(struct probing *p, uint32_t function, struct ttp_probe_stub *stub);

static void visit(struct probing *p, take_function take)
{
    struct ttp_probe_stub *stub = p->stubs;
    for (uint32_t i = 0; i < p->wish->plan->function_count; i++)
        if (is_chosen(p, i) && is_entry_there(p, i)) {
            take(p, i, stub);
            stub += p->functions[i].probe_count;
        }
}

/* Short functions are entered and left in one window: the jump there leads to the entry's stub, and
 * that to the exit's. */
static bool is_shared(const struct probing *p, uint32_t function)
{
    const struct ttp_patch_function *at = &p->functions[function];
    const struct ttp_patch_probe *entry = &p->probes[at->first_probe];
    return at->probe_count > 1 && entry[1].window == entry[0].window &&
           entry[1].window_bytes == entry[0].window_bytes;
}

/* An exit whose jump stands in a host's window needs that host. */
static bool has_place(const struct probing *p, const struct ttp_patch_function *at,
                      const struct ttp_probe_stub *stub, const struct ttp_patch_probe *exit)
{
    int64_t distance = (int64_t)exit->jump - ((int64_t)exit->window + 2);
    if (exit->jump == exit->window)
        return true;
    for (uint32_t i = 1; i < at->probe_count && distance >= -128 && distance <= 127; i++) {
        const struct ttp_patch_probe *host = &p->probes[at->first_probe + i];
        if (host->kind == TTP_PATCH_HOST && stub[i].is_used && exit->jump > host->window &&
            exit->jump - host->window >= TTP_PLAN_WINDOW_MIN &&
            exit->jump - host->window + TTP_PLAN_WINDOW_MIN <= host->window_bytes)
            return true;
    }
    return false;
}

/* An exit's jump may be in a host's window, behind the host's: then neither has more room than it
 * needs. */
static struct ttp_slot_jump jump_of(const struct probing *p, const struct ttp_patch_probe *probe)
{
    bool is_alone = probe->jump == probe->window && probe->kind != TTP_PATCH_HOST;
    return (struct ttp_slot_jump){.at = p->wish->info->dlpi_addr + probe->jump,
                                  .room = is_alone ? probe->window_bytes : TTP_PLAN_WINDOW_MIN,
                                  .lines = probe->lines};
}

static bool make_slot(struct probing *p, const struct ttp_patch_probe *probe,
                      const struct ttp_probe_stub *stub)
{
    const struct ttp_slot_jump jump = jump_of(p, probe);
    return ttp_slot_make(&p->slots, &jump, stub->code);
}

static void make_stubs(struct probing *p, uint32_t function, struct ttp_probe_stub *stub)
{
    const struct ttp_patch_function *at = &p->functions[function];
    const struct ttp_patch_probe *probes = &p->probes[at->first_probe];
    bool shares = is_shared(p, function);
    uint64_t back = shares ? (uintptr_t)stub[1].code : 0;
    bool is_made = (!shares || make_stub(p, &stub[1], &probes[1], 0)) &&
                   make_stub(p, &stub[0], &probes[0], back) && make_slot(p, &probes[0], &stub[0]);
    for (uint32_t i = 1 + shares; is_made && i < at->probe_count; i++)
        stub[i].is_used =
            make_stub(p, &stub[i], &probes[i], 0) && make_slot(p, &probes[i], &stub[i]);
    for (uint32_t i = 1; is_made && i < at->probe_count; i++)
        stub[i].is_used &= has_place(p, at, stub, &probes[i]);
    stub[0].is_used = is_made;
}

static void put_jump(const struct probing *p, const struct ttp_patch_probe *probe,
                     const struct ttp_probe_stub *stub)
{
    uint8_t *window = (uint8_t *)(p->wish->info->dlpi_addr + probe->window);
    const struct ttp_slot_jump jump = jump_of(p, probe);
    ttp_slot_jump_put(&p->slots, &jump, stub->code);
    if (probe->jump != probe->window) {
        window[0] = 0xeb;
        window[1] = (uint8_t)(jump.at - (uintptr_t)(window + 2));
    }
}

static void put_jumps(struct probing *p, uint32_t function, struct ttp_probe_stub *stub)
{
    const struct ttp_patch_function *at = &p->functions[function];
    for (uint32_t i = 0; stub->is_used && i < at->probe_count; i++) {
        const struct ttp_patch_probe *probe = &p->probes[at->first_probe + i];
        if (stub[i].is_used && !(i == 1 && is_shared(p, function)) &&
            ttp_code_segment(p->wish->info, probe->window, probe->window_bytes) == p->segment &&
            ttp_code_segment(p->wish->info, probe->jump, TTP_PLAN_WINDOW_MIN) == p->segment)
            put_jump(p, probe, &stub[i]);
    }
}

static void put_segment(void *context, const ElfW(Phdr) * segment)
{
    struct probing *p = context;
    p->segment = segment;
    visit(p, put_jumps);
}

/* -- a module -- */

static void count_chosen(struct probing *p)
{
    for (uint32_t i = 0; i < p->wish->plan->function_count; i++) {
        if (!is_chosen(p, i))
            continue;
        bool is_hooked = p->probes[p->functions[i].first_probe].reason == TTP_PATCH_HOOKED;
        p->hooked += is_hooked;
        p->chosen += !is_hooked;
        p->stub_count += is_entry_there(p, i) ? p->functions[i].probe_count : 0;
    }
}

static void count_made(struct probing *p, uint32_t function, struct ttp_probe_stub *stub)
{
    p->entries += stub->is_used;
    for (uint32_t i = 1; stub->is_used && i < p->functions[function].probe_count; i++) {
        if (p->probes[p->functions[function].first_probe + i].kind == TTP_PATCH_HOST)
            continue;
        p->exits += stub[i].is_used;
        p->exits_left += !stub[i].is_used;
    }
}

/* The area stays where any of it is used. */
static bool fill_area(struct probing *p, uintptr_t memory, size_t bytes)
{
    p->data = (struct ttp_probe_data *)memory;
    const struct ttp_area area = {.start = memory + TTP_AREA_DATA,
                                  .end = memory + bytes,
                                  .module_start = p->wish->module->start,
                                  .bias = p->wish->info->dlpi_addr,
                                  .unwind_head = p->data->unwind_head};
    p->stubs = (struct ttp_probe_stub *)area.start;
    p->data->module_start = p->wish->module->start;
    p->data->module_bytes = p->wish->module->end - p->wish->module->start;
    p->data->bias = p->wish->info->dlpi_addr;
    p->data->values = p->wish->values;
    ttp_probe_data_fill(p->data, area.start, bytes - TTP_AREA_DATA, p->wish->is_library);
    visit(p, make_stubs);
    visit(p, count_made);
    struct ttp_area *added;
    if (p->entries == 0 || !ttp_area_seal(&area) || !ttp_slots_seal(&p->slots) ||
        (added = ttp_area_add(&area)) == NULL)
        return false;
    const struct ttp_code_change change = {
        .info = p->wish->info, .file = p->wish->file, .put = put_segment, .context = p};
    bool is_any = ttp_code_change(&change);
    if (!is_any)
        ttp_area_drop(added);
    return is_any;
}

/* What the plan of p->wish chooses; counts are 0 where nothing was changed. */
static void patch(struct probing *p)
{
    const struct ttp_patch_head *plan = p->wish->plan;
    p->functions = ttp_plan_at(plan, plan->functions_at);
    p->probes = ttp_plan_at(plan, plan->probes_at);
    count_chosen(p);
    size_t bytes = TTP_AREA_DATA + (size_t)p->stub_count * TTP_PROBE_BYTES;
    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    uintptr_t memory =
        p->stub_count == 0 || p->taken == NULL ? 0 : ttp_map_near(p->wish->module, bytes);
    p->slots = (struct ttp_slots){.module = p->wish->module,
                                  .bias = p->wish->info->dlpi_addr,
                                  .code_start = p->wish->info->dlpi_addr + plan->code_start,
                                  .code_end = p->wish->info->dlpi_addr + plan->code_end};
    bool is_done = memory != 0 && fill_area(p, memory, bytes);
    if (!is_done)
        ttp_slots_drop(&p->slots);
    if (memory != 0 && !is_done)
        ttp_syscall(SYS_munmap, (long)memory, (long)bytes, 0, 0, 0, 0);
    if (!is_done)
        p->entries = p->exits = p->exits_left = 0;
}

/* Behind the functions, whose windows are taken. Whether any was patched. */
static bool patch_inlined(const struct probing *functions)
{
    const struct ttp_patch_head *plan = functions->wish->plan, *inlined = functions->wish->inlined;
    struct ttp_probe_wish wish = *functions->wish;
    struct probing p = {
        .wish = &wish, .has_shadow_stack = functions->has_shadow_stack, .taken = functions->taken};
    if (inlined == NULL || inlined->code_start != plan->code_start ||
        inlined->code_end != plan->code_end)
        return false;
    wish.plan = inlined;
    wish.chosen = NULL;
    wish.values = NULL;
    patch(&p);
    ttp_count_more(&ttp_arena.head.patched_inlined, p.entries);
    ttp_count_more(&ttp_arena.head.unpatched_inlined, p.chosen - p.entries);
    return p.entries != 0;
}

bool ttp_probes_patch(const struct ttp_probe_wish *wish)
{
    const struct ttp_patch_head *plan = wish->plan;
    struct probing p = {.wish = wish, .has_shadow_stack = has_shadow_stack()};
    size_t taken_bytes = ((size_t)(plan->code_end - plan->code_start) / 64 + 1) * sizeof(uint64_t);
    long taken = ttp_room_map(taken_bytes);
    p.taken = ttp_failed(taken) ? NULL : (uint64_t *)taken;
    if (p.taken != NULL)
        take_calls(&p);
    patch(&p);
    bool has_inlined = patch_inlined(&p);
    if (wish->values != NULL && p.entries == 0)
        ttp_values_unmap(wish->values);
    if (p.taken != NULL)
        ttp_room_unmap(p.taken, taken_bytes);
    ttp_count_more(&ttp_arena.head.patched_functions, p.entries);
    ttp_count_more(&ttp_arena.head.patched_exits, p.exits);
    ttp_count_more(&ttp_arena.head.unpatched_functions, p.chosen - p.entries);
    ttp_count_more(&ttp_arena.head.unpatched_exits, p.exits_left);
    ttp_count_more(&ttp_arena.head.hooked_functions, p.hooked);
    if (p.chosen != 0)
        ttp_note_patched(wish->path, p.entries, p.exits, p.chosen - p.entries);
    return p.entries != 0 || has_inlined;
}
