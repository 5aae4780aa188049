/* System calls of a process that is attached to: their stubs, and the tasks that wait in them.
 *
 *     code:  mov $7, %eax; syscall | cmp ...     a task that waits is here: |
 *     stub:  mov $7, %eax ... enter; syscall | exit ... cmp ...; jmp back
 *                         plain:     syscall | cmp ...; jmp back
 *
 * A window in which a task waits could not be changed for as long as it does. So the task is led to
 * the same place of the stub first, in which its call begins anew where the kernel would have it
 * so; and back at the end. */
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/ordered.h"
#include "recorder/arena/arena.h"
#include "recorder/attach/attach_inside.h"

#define GET_DISPATCH 0x4211 /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, from Linux 6.4 on */
#define JUMP_BYTES   5u
#define CALL_BYTES   2u
#define ENTER_WAY    15u /* of TTP_STUB_WAYS: what stands in front of what is behind the call */
#define MARK_BYTES   11u /* that follow the call, where its end is told */

static struct ttp_plan_site *site_at(const struct ttp_plan_head *plan, uint32_t number)
{
    return (struct ttp_plan_site *)(void *)((uint8_t *)(uintptr_t)plan + plan->sites_at) + number;
}

/* Whether the kernel asks a handler about calls from code that the program has not named. */
bool ttp_calls_are_dispatched(const struct ttp_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        uint64_t about[4] = {0}; /* mode, selector, offset, length */
        if (ptrace((enum __ptrace_request)GET_DISPATCH, stop->tasks[i].tid, (void *)sizeof about,
                   about) == 0 &&
            about[0] != 0)
            return true;
    }
    return false;
}

/* ---- plan and stubs ---- */

static void restrict_site(const struct ttp_plan_head *plan, struct ttp_plan_site *site,
                          bool minds_faults)
{
    const uint8_t *moved =
        (const uint8_t *)plan + plan->bytes_at + site->bytes + site->window_bytes;
    uint32_t bytes = (uint32_t)site->before_bytes + site->after_bytes;
    if (site->kind == TTP_PLAN_CAN && (site->window % TTP_PAGE > TTP_PAGE - JUMP_BYTES ||
                                       (minds_faults && !ttp_code_is_quiet(moved, bytes))))
        site->kind = TTP_PLAN_SHARED;
}

const char *ttp_calls_open(struct ttp_windows *w, const struct ttp_plan_head *plan,
                           const struct ttp_target_look *look)
{
    const struct ttp_calls_wanted all = {.are_recorded = true};
    if (plan == NULL || plan->site_count == 0 ||
        !ttp_plan_check(plan, plan->total_bytes, plan->content))
        return NULL;
    w->calls = malloc(plan->total_bytes);
    if (w->calls == NULL)
        return "memory is short";
    memcpy(w->calls, plan, plan->total_bytes);
    for (uint32_t i = 0; i < plan->site_count; i++)
        restrict_site(w->calls, site_at(w->calls, i), look->minds_faults);
    w->call_sites = plan->site_count - ttp_calls_count_left(all, plan);
    w->call_decision =
        (struct ttp_call_decision){.view = &w->view, .plan = w->calls, .wanted = all};
    return NULL;
}

void ttp_calls_make(struct ttp_windows *w, uint64_t agent, uint64_t area_at, const uint64_t *chosen)
{
    const struct ttp_agent_head *head = ttp_agent_image_head();
    struct ttp_call_decision *d = &w->call_decision;
    const struct ttp_call_hooks hooks = {
        .enter = agent + head->call_enter, .exit = agent + head->call_exit, .chosen = chosen};
    if (w->calls == NULL)
        return;
    d->data = (struct ttp_area_data *)(void *)(w->area + w->calls_at);
    d->stubs = (struct ttp_stub *)(void *)(w->area + w->calls_at + TTP_AREA_DATA);
    d->shift = area_at - (uintptr_t)w->area;
    ttp_decide_call_data(d, &hooks, w->area_bytes - w->calls_at - TTP_AREA_DATA);
    (void)ttp_decide_call_stubs(d);
    ttp_decide_call_jumps(d, &w->changes);
}

size_t ttp_calls_windows(const struct ttp_windows *w, struct ttp_window *into)
{
    size_t count = 0;
    for (uint32_t i = 0; w->calls != NULL && i < w->calls->site_count; i++) {
        const struct ttp_plan_site *site = site_at(w->calls, i);
        if (w->call_decision.stubs[i].after != 0)
            into[count++] = (struct ttp_window){.at = w->view.bias + site->window,
                                                .function = w->plan->function_count + i,
                                                .bytes = site->window_bytes};
    }
    return count;
}

/* ---- tasks that wait ---- */

static uint32_t find_site(const struct ttp_windows *w, uint64_t behind)
{
    struct ttp_bisect s = {.end = w->calls->site_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s,
                        w->view.bias + site_at(w->calls, (uint32_t)s.middle)->address + CALL_BYTES <
                            behind);
    return (uint32_t)s.first;
}

/* The place of a window's change; their count: it has none. */
static uint32_t find_change(const struct ttp_windows *w, uint64_t at)
{
    struct ttp_bisect s = {.end = w->changes.count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, w->list[s.middle].at < at);
    return s.first < w->changes.count && w->list[s.first].at == at ? (uint32_t)s.first
                                                                   : w->changes.count;
}

static struct ttp_moved_task places_in(const struct ttp_windows *w, uint32_t number)
{
    const struct ttp_stub *stub = &w->call_decision.stubs[number];
    const struct ttp_plan_site *site = site_at(w->calls, number);
    uint64_t way = (uintptr_t)stub + w->call_decision.shift + TTP_STUB_HEAD + site->before_bytes +
                   (ttp_stub_knows(site) ? TTP_STUB_TEST_KNOWN : TTP_STUB_TEST_UNKNOWN);
    return (struct ttp_moved_task){.from = stub->after,
                                   .plain = way + TTP_STUB_WAYS + site->after_bytes +
                                            TTP_STUB_JUMP + TTP_STUB_CALL,
                                   .seen = way + ENTER_WAY + TTP_STUB_CALL};
}

static void move_task(const struct ttp_target *target, struct ttp_stopped_task *task)
{
    const struct ttp_windows *w = &target->windows;
    uint64_t from = task->registers.rip;
    uint32_t number = find_site(w, from);
    if (number == w->calls->site_count)
        return;
    uint32_t change = find_change(w, w->view.bias + site_at(w->calls, number)->window);
    if (w->call_decision.stubs[number].after != from || change == w->changes.count ||
        target->done[change])
        return;
    task->moved = places_in(w, number);
    task->moved.is_left = &target->skip[change];
    task->registers.rip = task->moved.plain;
}

/* Its jump was written before the last of the first ones: nobody was told of the call. */
static void know_task(const struct ttp_target *target, struct ttp_stopped_task *task)
{
    static const bool never;
    const struct ttp_windows *w = &target->windows;
    uint64_t rip = task->registers.rip;
    uint64_t in =
        w->calls == NULL ? UINT64_MAX : rip - target->area_at - w->calls_at - TTP_AREA_DATA;
    if (in / TTP_STUB_BYTES >= (w->calls == NULL ? 0 : w->calls->site_count))
        return;
    struct ttp_moved_task places = places_in(w, (uint32_t)(in / TTP_STUB_BYTES));
    if (places.from == 0 || (rip != places.plain && rip != places.seen))
        return;
    task->moved = places;
    task->moved.is_left = &never;
}

void ttp_calls_move(const struct ttp_targets *targets, struct ttp_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        struct ttp_stopped_task *task = &stop->tasks[i];
        const struct ttp_target *target = ttp_targets_at(targets, task->registers.rip);
        if (task->moved.from != 0)
            continue;
        if (target != NULL && target->windows.calls != NULL)
            move_task(target, task);
        for (size_t j = 0; j < targets->count && target == NULL; j++)
            know_task(&targets->list[j], task);
    }
}

void ttp_calls_settle(struct ttp_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        struct ttp_stopped_task *task = &stop->tasks[i];
        if (task->moved.from == 0 || !*task->moved.is_left)
            continue;
        task->registers.rip = task->moved.from;
        task->moved.from = 0;
    }
}

/* Before the code is changed: whoever is killed in between leaves tasks in stubs, which go on as
 * the code does. */
bool ttp_calls_go(struct ttp_stop *stop)
{
    bool is_done = true;
    for (size_t i = 0; i < stop->count && is_done; i++) {
        struct ttp_stopped_task *task = &stop->tasks[i];
        if (task->moved.from == 0)
            continue;
        if (task->moved.is_told)
            task->registers.rip = task->moved.seen;
        is_done = ptrace(PTRACE_SETREGS, task->tid, NULL, &task->registers) == 0;
    }
    return is_done;
}

/* Whether a stub's byte `in` is behind one of its two calls. The one whose end is told goes on so;
 * in front of the other one is a jump. */
static bool is_behind_call(const uint8_t *stub, uint32_t in)
{
    static const uint8_t told[MARK_BYTES] = {0x48, 0x8d, 0x0d, 6, 0, 0, 0, 0xff, 0x25};
    const uint8_t *at = stub + in;
    if (in < TTP_STUB_HEAD + JUMP_BYTES + CALL_BYTES || at[-2] != 0x0f || at[-1] != 0x05)
        return false;
    return at[-(int)(JUMP_BYTES + CALL_BYTES)] == 0xe9 ||
           (in + MARK_BYTES <= TTP_STUB_BYTES && memcmp(at, told, MARK_BYTES - 2) == 0);
}

static void return_task(const struct ttp_stop *stop, struct ttp_stopped_task *task,
                        const struct ttp_agent_module *modules)
{
    struct ttp_stub stub;
    uint64_t rip = task->registers.rip, at = rip & ~(uint64_t)(TTP_STUB_BYTES - 1);
    for (uint32_t i = 0; i < TTP_AGENT_MODULES; i++) { /* some may be empty in between */
        uint64_t first = modules[i].calls + TTP_AREA_DATA,
                 end = modules[i].calls + modules[i].calls_bytes;
        if (modules[i].calls_bytes == 0 || rip < first || rip >= end ||
            !ttp_memory_read(stop->memory, at, &stub, sizeof stub) ||
            !is_behind_call((const uint8_t *)&stub, (uint32_t)(rip - at)))
            continue;
        task->registers.rip = stub.after;
        if (ptrace(PTRACE_SETREGS, task->tid, NULL, &task->registers) != 0)
            task->registers.rip = rip;
        return;
    }
}

void ttp_calls_return(struct ttp_stop *stop, const struct ttp_agent_module *modules)
{
    for (size_t i = 0; i < stop->count; i++)
        return_task(stop, &stop->tasks[i], modules);
}
