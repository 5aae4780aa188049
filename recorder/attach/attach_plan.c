/* Which windows of a plan are used when attaching, and what their code becomes. Windows are those
 * of a program's start, but for some that are safe there only:
 *
 *     jumps that stand in another window     a thread may be between the two jumps when they go
 *     windows whose jump lies on two pages   it could not be written in one piece
 *     what may fault, where that is minded   a handler would find it in a stub */
#include <stdlib.h>
#include <string.h>

#include "recorder/attach/attach_inside.h"

#define JUMP_BYTES 5u

/* ---- what may fault ---- */

/* How long an instruction is that touches no memory but the stack's top, and divides nothing; 0: it
 * may be another one. Not all are known: those that functions begin and end with. */
static uint32_t quiet_length(const uint8_t *code, uint32_t room)
{
    uint32_t rex = room > 1 && (code[0] & 0xf0) == 0x40;
    const uint8_t *op = code + rex;
    uint32_t left = room - rex;
    if (left >= 1 && (op[0] & 0xf0) == 0x50) /* push, pop */
        return rex + 1;
    if (left >= 1 && (op[0] == 0xc3 || op[0] == 0x90 || op[0] == 0xc9)) /* ret, nop, leave */
        return rex + 1;
    if (left >= 5 && (op[0] & 0xf8) == 0xb8) /* mov number, register */
        return code[0] == 0x48 || code[0] == 0x49 ? 0 : rex + 5;
    if (left >= 5 && (op[0] == 0xe9 || op[0] == 0xe8 || op[0] == 0x3d)) /* jmp, call, cmp rax */
        return rex + 5;
    if (left >= 6 && op[0] == 0x0f && (op[1] & 0xf0) == 0x80) /* a conditional jump */
        return rex + 6;
    if (left < 2)
        return 0;
    bool is_registers = op[1] >= 0xc0;
    switch (op[0]) {
    case 0x01: /* add, or, and, sub, xor, cmp, test, mov between registers */
    case 0x03:
    case 0x09:
    case 0x0b:
    case 0x21:
    case 0x23:
    case 0x29:
    case 0x2b:
    case 0x31:
    case 0x33:
    case 0x39:
    case 0x3b:
    case 0x85:
    case 0x89:
    case 0x8b: return is_registers ? rex + 2 : 0;
    case 0x83: return is_registers && left >= 3 ? rex + 3 : 0;
    case 0xc7: /* mov number, register */
    case 0x81: return is_registers && left >= 6 ? rex + 6 : 0;
    case 0x8d: /* lea with a distance from the instruction, or of one register */
        if ((op[1] & 0xc7) == 0x05 && left >= 6)
            return rex + 6;
        if ((op[1] & 0xc0) == 0x40 && (op[1] & 7) == 4 && left >= 4)
            return rex + 4;
        return (op[1] & 0xc0) == 0x40 && (op[1] & 7) != 4 && left >= 3 ? rex + 3 : 0;
    default: return 0;
    }
}

bool ttp_code_is_quiet(const uint8_t *code, uint32_t count)
{
    for (uint32_t done = 0, length; done < count; done += length) {
        length = quiet_length(code + done, count - done);
        if (length == 0 || length > count - done)
            return false;
    }
    return true;
}

static bool is_quiet(const struct ttp_patch_head *plan, const struct ttp_patch_probe *probe)
{
    const uint8_t *code =
        (const uint8_t *)plan + plan->bytes_at + probe->bytes + probe->window_bytes;
    return ttp_code_is_quiet(code, (uint32_t)probe->before_bytes + probe->after_bytes);
}

/* ---- what is left of the plan ---- */

static bool has_flag(const struct ttp_windows *w, uint32_t flag)
{
    return w->chosen != NULL && (w->chosen->flags & flag) != 0;
}

/* Only the entry is changed of a function that answers for us, which reads a word of its own. */
static void restrict_probe(struct ttp_windows *w, struct ttp_patch_probe *probe, bool minds_faults)
{
    bool is_answer = probe->function + 1 == w->finds;
    bool is_exit = is_answer && probe->kind != TTP_PATCH_ENTRY;
    probe->lines = 0;
    if (probe->reason != TTP_PATCH_CAN)
        return;
    bool is_split = probe->window % TTP_PAGE > TTP_PAGE - JUMP_BYTES;
    if (probe->kind == TTP_PATCH_HOST || probe->jump != probe->window || is_split || is_exit)
        probe->reason = TTP_PATCH_SHARED;
    else if (minds_faults && !is_answer && !is_quiet(w->plan, probe)) {
        probe->reason = TTP_PATCH_FAULTS;
        w->faults += probe->kind == TTP_PATCH_ENTRY;
    }
}

static const char *copy_plan(struct ttp_windows *w, const struct ttp_patch_head *plan,
                             bool minds_faults)
{
    w->plan = malloc(plan->total_bytes);
    if (w->plan == NULL)
        return "memory is short";
    memcpy(w->plan, plan, plan->total_bytes);
    struct ttp_patch_probe *probes =
        (struct ttp_patch_probe *)(void *)((uint8_t *)w->plan + plan->probes_at);
    for (uint32_t i = 0; i < plan->probe_count; i++)
        restrict_probe(w, &probes[i], minds_faults);
    return NULL;
}

/* A module whose functions are not patched has a plan of none. */
static const char *make_empty_plan(struct ttp_windows *w, const struct ttp_plan_head *calls)
{
    w->plan = calloc(1, sizeof *w->plan);
    if (w->plan == NULL)
        return "memory is short";
    w->plan->functions_at = w->plan->probes_at = w->plan->total_bytes = sizeof *w->plan;
    w->plan->code_start = calls->code_start;
    w->plan->code_end = calls->code_end;
    return NULL;
}

/* A function of a library that jumps to another one returns there. */
static const char *add_jumped_to(struct ttp_windows *w)
{
    size_t bytes = sizeof *w->chosen + ttp_chosen_bits_bytes(w->plan->function_count);
    w->own_chosen = malloc(bytes);
    if (w->own_chosen == NULL)
        return "memory is short";
    memcpy(w->own_chosen, w->chosen, bytes);
    ttp_choose_jumped_to(w->plan, (uint64_t *)(w->own_chosen + 1));
    w->chosen = w->own_chosen;
    return NULL;
}

static const char *open_plan(struct ttp_windows *w, const struct ttp_attach_wish *wish,
                             const struct ttp_target_look *look, uint64_t room)
{
    const struct ttp_patch_head *plan = wish->plan;
    if (plan == NULL ? wish->calls == NULL || wish->calls->code_end > room
                     : !ttp_patch_check(plan, plan->total_bytes, TTP_PATCH_MAGIC, plan->content) ||
                           plan->code_end > room)
        return "its plan is damaged";
    const char *why =
        plan == NULL ? make_empty_plan(w, wish->calls) : copy_plan(w, plan, look->minds_faults);
    if (why == NULL && has_flag(w, TTP_CHOSEN_CALLED))
        why = add_jumped_to(w);
    return why == NULL && look->chosen_calls != NULL ? ttp_calls_open(w, wish->calls, look) : why;
}

/* Data, stubs and values of functions, then data and stubs of system calls. */
static void lay_area(struct ttp_windows *w)
{
    uint64_t stubs = w->decision.stub_count, sites = w->calls == NULL ? 0 : w->calls->site_count;
    w->stub_bytes = stubs * sizeof(struct ttp_probe_stub);
    w->calls_at = stubs == 0 ? 0 : ttp_page_up(TTP_AREA_DATA + w->stub_bytes + w->values_bytes);
    w->area_bytes = w->calls_at +
                    (sites == 0 ? 0 : ttp_page_up(TTP_AREA_DATA + sites * sizeof(struct ttp_stub)));
    w->changes.capacity = (uint32_t)(2 * stubs + sites);
}

const char *ttp_windows_open(struct ttp_windows *w, const struct ttp_attach_wish *wish,
                             const struct ttp_target_look *look, const struct ttp_elf_view *elf,
                             const struct ttp_code_text *text)
{
    *w = (struct ttp_windows){.chosen = wish->chosen};
    if (w->chosen != NULL && wish->plan != NULL && w->chosen->finds <= wish->plan->function_count)
        w->finds = w->chosen->finds;
    const char *why = open_plan(w, wish, look, text->high - elf->bias);
    if (why != NULL)
        return why;
    w->view = (struct ttp_code_view){.segments = elf->segments,
                                     .segment_count = elf->count,
                                     .bias = elf->bias,
                                     .distance = (uintptr_t)text->bytes - text->low};
    const struct ttp_values_head *values =
        wish->chosen == NULL || wish->plan == NULL ? NULL : ttp_chosen_values(wish->chosen);
    w->values_bytes = values == NULL ? 0 : wish->chosen->values.bytes;
    struct ttp_probe_decision *d = &w->decision;
    *d = (struct ttp_probe_decision){.view = &w->view,
                                     .plan = w->plan,
                                     .chosen = w->chosen,
                                     .values = values,
                                     .calls = w->calls,
                                     .wanted = {.are_recorded = true},
                                     .answers = w->finds};
    ttp_decide_probes_begin(d);
    lay_area(w);
    w->area = calloc(1, w->area_bytes + sizeof(struct ttp_stub));
    d->taken = calloc((w->plan->code_end - w->plan->code_start) / 64 + 1, sizeof *d->taken);
    w->changes.list = calloc((size_t)w->changes.capacity + 1, sizeof *w->changes.list);
    w->list = calloc((size_t)w->changes.capacity + 1, sizeof *w->list);
    w->has_entry = calloc((size_t)w->plan->function_count + 1, 1);
    if (w->area == NULL || d->taken == NULL || w->changes.list == NULL || w->list == NULL ||
        w->has_entry == NULL)
        return "memory is short";
    ttp_decide_take_calls(d);
    return NULL;
}

/* ---- stubs and changes ---- */

static int compare_windows(const void *a, const void *b)
{
    const struct ttp_window *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static uint64_t entry_of(const struct ttp_windows *w, uint32_t function)
{
    const struct ttp_probe_decision *d = &w->decision;
    return w->view.bias + d->probes[d->functions[function].first_probe].window;
}

/* Each change is at the start of its probe's window. A window that is shared is listed once. */
static bool find_windows(struct ttp_windows *w)
{
    const struct ttp_patch_probe *probes =
        (const struct ttp_patch_probe *)(const void *)((uint8_t *)w->plan + w->plan->probes_at);
    size_t sites = w->calls == NULL ? 0 : w->calls->site_count;
    struct ttp_window *all = calloc(w->plan->probe_count + sites + 1, sizeof *all);
    size_t count = all == NULL ? 0 : ttp_calls_windows(w, all);
    for (uint32_t i = 0; all != NULL && i < w->plan->probe_count; i++)
        if (probes[i].reason == TTP_PATCH_CAN)
            all[count++] = (struct ttp_window){.at = w->view.bias + probes[i].window,
                                               .function = probes[i].function,
                                               .bytes = probes[i].window_bytes};
    if (all == NULL)
        return false;
    qsort(all, count, sizeof *all, compare_windows);
    bool is_whole = true;
    for (size_t i = 0, at = 0; i < w->changes.count && is_whole; i++) {
        while (at < count && all[at].at < w->changes.list[i].at)
            at++;
        is_whole = at < count && all[at].at == w->changes.list[i].at &&
                   w->changes.list[i].count == JUMP_BYTES;
        w->list[i] = is_whole ? all[at] : w->list[i];
        if (is_whole && all[at].function < w->plan->function_count &&
            all[at].at == entry_of(w, all[at].function))
            w->has_entry[all[at].function] = 1;
    }
    free(all);
    return is_whole;
}

/* They go behind the stubs, where the agent finds them. */
static void put_values(struct ttp_windows *w, uint64_t area_at)
{
    uint64_t at = TTP_AREA_DATA + w->stub_bytes;
    struct ttp_probe_data *data = w->decision.data;
    if (w->values_bytes == 0)
        return;
    memcpy(w->area + at, w->decision.values, w->values_bytes);
    data->values = (const struct ttp_values_head *)(uintptr_t)(area_at + at);
}

static void make_probes(struct ttp_windows *w, uint64_t agent, uint64_t area_at)
{
    const struct ttp_agent_head *head = ttp_agent_image_head();
    struct ttp_probe_decision *d = &w->decision;
    struct ttp_probe_data *data = (struct ttp_probe_data *)(void *)w->area;
    struct ttp_probe_hooks hooks = {.enter = agent + head->enter,
                                    .exit = agent + head->exit,
                                    .tail = agent + head->tail,
                                    .joined = agent + head->joined,
                                    .joined_tail = agent + head->joined_tail,
                                    .inlined = agent + head->find_object,
                                    .enter_valued = agent + head->enter_valued,
                                    .exit_valued = agent + head->exit_valued};
    if (has_flag(w, TTP_CHOSEN_CALLED)) {
        hooks.enter = agent + head->library_enter;
        hooks.exit = agent + head->library_exit;
        hooks.enter_valued = hooks.enter;
        hooks.exit_valued = hooks.exit;
        hooks.tail = hooks.joined_tail;
    }
    d->data = data;
    d->stubs = (struct ttp_probe_stub *)(void *)(w->area + TTP_AREA_DATA);
    d->shift = area_at - (uintptr_t)w->area;
    data->module_start = w->view.bias + w->plan->code_start;
    data->module_bytes = w->plan->code_end - w->plan->code_start;
    data->bias = w->view.bias;
    put_values(w, area_at);
    ttp_decide_probe_data(d, &hooks, w->stub_bytes);
    ttp_decide_probe_stubs(d);
    ttp_decide_probe_jumps(d, &w->changes);
}

const char *ttp_windows_make(struct ttp_windows *w, uint64_t agent, uint64_t area_at,
                             const uint64_t *chosen_calls)
{
    w->decision.view = w->call_decision.view = &w->view; /* it may have been moved */
    if (w->decision.stub_count != 0)
        make_probes(w, agent, area_at);
    ttp_calls_make(w, agent, area_at, chosen_calls);
    ttp_changes_sort(&w->changes);
    return find_windows(w) ? NULL : "its plan is damaged";
}

void ttp_windows_close(struct ttp_windows *w)
{
    free(w->plan);
    free(w->own_chosen);
    free(w->calls);
    free(w->area);
    free(w->decision.taken);
    free(w->changes.list);
    free(w->list);
    free(w->has_entry);
    *w = (struct ttp_windows){0};
}
