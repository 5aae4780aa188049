/* Probes of a module's chosen functions: what is decided (decide/decide_probes.c) is put into this
 * process: stubs first, then jumps to them, as patch.c does it for system calls. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/runtime/patch/probe.h"
#include "recorder/runtime/patch/slots.h"

#define PAGE 4096u

struct probing {
    const struct ttp_probe_wish *wish;
    struct ttp_code_view view;
    struct ttp_probe_decision decision;
    struct ttp_slots slots;
    struct ttp_marks *marks; /* or NULL */
};

/* Return addresses that nobody has called for are not returned to there. rdsspq does nothing where
 * there is none. */
static bool has_shadow_stack(void)
{
    uint64_t pointer = 0;
    __asm__ volatile("rdsspq %0" : "+r"(pointer));
    return pointer != 0;
}

static struct ttp_probe_hooks hooks_of(bool is_library)
{
    struct ttp_probe_hooks hooks = {
        .enter = (uintptr_t)(is_library ? ttp_library_enter_entry : ttp_probe_enter_entry),
        .exit = (uintptr_t)(is_library ? ttp_library_exit_entry : ttp_probe_exit_entry),
        .enter_valued = (uintptr_t)ttp_probe_enter_valued_entry,
        .exit_valued = (uintptr_t)ttp_probe_exit_valued_entry,
        .joined = (uintptr_t)ttp_probe_joined_entry,
        .joined_tail = (uintptr_t)ttp_probe_joined_tail_entry,
        .inlined = (uintptr_t)ttp_probe_inlined_entry,
        .mark = (uintptr_t)ttp_probe_mark_entry};
    if (is_library && ttp_process.library_floats) {
        hooks.enter = (uintptr_t)ttp_library_enter_floats_entry;
        hooks.exit = (uintptr_t)ttp_library_exit_floats_entry;
    }
    hooks.tail = is_library ? hooks.joined_tail : (uintptr_t)ttp_probe_tail_entry;
    return hooks;
}

static bool put_jumps(struct probing *p)
{
    struct ttp_changes changes;
    const struct ttp_code_change change = {
        .info = p->wish->info, .file = p->wish->file, .changes = &changes};
    if (!ttp_changes_begin(&changes, 2 * p->decision.stub_count))
        return false;
    ttp_decide_probe_jumps(&p->decision, &changes);
    bool is_any = ttp_code_change(&change);
    ttp_changes_end(&changes);
    return is_any;
}

/* The area stays where any of it is used. */
static bool fill_area(struct probing *p, uintptr_t memory, size_t bytes)
{
    struct ttp_probe_decision *d = &p->decision;
    struct ttp_probe_data *data = d->data = (struct ttp_probe_data *)memory;
    const struct ttp_area area = {.start = memory + TTP_AREA_DATA,
                                  .end = memory + bytes,
                                  .module_start = p->wish->module->start,
                                  .bias = p->view.bias,
                                  .unwind_head = data->unwind_head};
    const struct ttp_probe_hooks hooks = hooks_of(p->wish->is_library);
    d->stubs = (struct ttp_probe_stub *)area.start;
    data->module_start = p->wish->module->start;
    data->module_bytes = p->wish->module->end - p->wish->module->start;
    data->bias = p->view.bias;
    data->values = d->values;
    data->marks = p->marks;
    ttp_decide_probe_data(d, &hooks, bytes - TTP_AREA_DATA);
    ttp_slots_map(&p->slots, d->lines);
    for (uint32_t i = 0; i < TTP_SLOT_IMAGES; i++)
        d->images[i] = p->slots.images[i];
    ttp_decide_probe_stubs(d);
    struct ttp_area *added;
    if (d->entries == 0 || !ttp_area_seal(&area) || !ttp_slots_seal(&p->slots) ||
        (added = ttp_area_add(&area)) == NULL)
        return false;
    bool is_any = put_jumps(p);
    if (!is_any)
        ttp_area_drop(added);
    return is_any;
}

/* What the plan of the decision chooses; counts are 0 where nothing was changed. */
static void patch(struct probing *p)
{
    struct ttp_probe_decision *d = &p->decision;
    const struct ttp_patch_head *plan = d->plan;
    p->view = ttp_view_of(p->wish->info);
    d->view = &p->view;
    ttp_decide_probes_begin(d);
    size_t bytes = TTP_AREA_DATA + (size_t)d->stub_count * TTP_PROBE_BYTES;
    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    const struct ttp_reach reach = {p->view.bias, plan->code_start, plan->code_end,
                                    plan->fixup_count, ttp_plan_at(plan, plan->fixups_at)};
    uintptr_t memory =
        d->stub_count == 0 || d->taken == NULL ? 0 : ttp_map_near(p->wish->module, &reach, bytes);
    p->slots = (struct ttp_slots){.module = p->wish->module,
                                  .bias = p->view.bias,
                                  .code_start = p->view.bias + plan->code_start,
                                  .code_end = p->view.bias + plan->code_end};
    bool is_done = memory != 0 && fill_area(p, memory, bytes);
    if (!is_done)
        ttp_slots_drop(&p->slots);
    if (memory != 0 && !is_done)
        ttp_syscall(SYS_munmap, (long)memory, (long)bytes, 0, 0, 0, 0);
    if (!is_done)
        d->entries = d->exits = d->exits_left = 0;
}

/* Marks among the copies: those that have a jump begin. Without room nothing was decided. */
struct marks_made {
    uint32_t chosen, made;
};
static struct marks_made begin_marks(const struct probing *p)
{
    const struct ttp_probe_decision *d = &p->decision;
    const struct ttp_probe_stub *stub = d->stubs;
    struct marks_made count = {0};
    for (uint32_t i = 0; d->functions != NULL && i < d->plan->function_count; i++) {
        const struct ttp_patch_probe *probe = &d->probes[d->functions[i].first_probe];
        bool is_mark = probe->kind == TTP_PATCH_MARK;
        count.chosen += is_mark;
        if (probe->reason != TTP_PATCH_CAN)
            continue;
        if (is_mark && d->entries != 0 && stub->is_used) {
            count.made++;
            ttp_marks_begin(p->marks, p->wish->info, d->functions[i].start);
        }
        stub++;
    }
    return count;
}

/* Behind the functions, whose windows are taken. Whether any was patched. */
static bool patch_inlined(const struct probing *functions, bool *keeps_marks)
{
    const struct ttp_probe_decision *before = &functions->decision;
    const struct ttp_patch_head *plan = before->plan, *inlined = functions->wish->inlined;
    if (inlined == NULL || inlined->code_start != plan->code_start ||
        inlined->code_end != plan->code_end)
        return false;
    struct probing p = {.wish = functions->wish,
                        .decision = {.plan = inlined,
                                     .wanted = before->wanted,
                                     .has_shadow_stack = before->has_shadow_stack,
                                     .taken = before->taken}};
    const struct ttp_probe_decision *d = &p.decision;
    const struct ttp_marks_head *marks = functions->wish->marks;
    p.marks = ttp_marks_open(marks, functions->view.bias);
    if (marks == NULL || p.marks != NULL)
        patch(&p);
    const struct marks_made made = begin_marks(&p);
    uint32_t copies = d->entries - made.made;
    if (made.made == 0)
        ttp_marks_close(p.marks);
    ttp_count_more(&ttp_arena.head.patched_inlined, copies);
    ttp_count_more(&ttp_arena.head.unpatched_inlined, d->chosen_count - made.chosen - copies);
    ttp_count_more(&ttp_arena.head.patched_marks, made.made);
    ttp_count_more(&ttp_arena.head.unpatched_marks,
                   (marks == NULL ? 0 : marks->row_count) - made.made);
    *keeps_marks = made.made != 0;
    return d->entries != 0;
}

static void count_patched(const struct ttp_probe_decision *d, const struct ttp_probe_wish *wish)
{
    ttp_count_more(&ttp_arena.head.patched_functions, d->entries);
    ttp_count_more(&ttp_arena.head.patched_exits, d->exits);
    ttp_count_more(&ttp_arena.head.unpatched_functions, d->chosen_count - d->entries);
    ttp_count_more(&ttp_arena.head.unpatched_exits, d->exits_left);
    ttp_count_more(&ttp_arena.head.hooked_functions, d->hooked);
    if (d->chosen_count != 0)
        ttp_note_patched(wish->path, d->entries, d->exits, d->chosen_count - d->entries,
                         wish->left_names);
}

bool ttp_probes_patch(struct ttp_probe_wish *wish)
{
    const struct ttp_patch_head *plan = wish->plan;
    struct probing p = {.wish = wish,
                        .decision = {.plan = plan,
                                     .chosen = wish->chosen,
                                     .values = wish->values,
                                     .calls = wish->calls,
                                     .wanted = ttp_calls_wanted_here(),
                                     .has_shadow_stack = has_shadow_stack()}};
    struct ttp_probe_decision *d = &p.decision;
    size_t taken_bytes = ((size_t)(plan->code_end - plan->code_start) / 64 + 1) * sizeof(uint64_t);
    long taken = ttp_room_map(taken_bytes);
    d->taken = ttp_failed(taken) ? NULL : (uint64_t *)taken;
    if (d->taken != NULL)
        ttp_decide_take_calls(d);
    patch(&p);
    bool keeps_marks = false, has_inlined = patch_inlined(&p, &keeps_marks);
    wish->keeps_chosen = (wish->values != NULL && d->entries != 0) || keeps_marks;
    if (d->taken != NULL)
        ttp_room_unmap(d->taken, taken_bytes);
    count_patched(d, wish);
    return d->entries != 0 || has_inlined;
}
