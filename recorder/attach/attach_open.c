/* Calls that were open when the process was attached to: what is on the stacks of its tasks while
 * they stand still and the jumps are about to be written. From then on their exits are seen.
 *
 *     registers, words of the stack --rows of plans--> frames --> functions that have an entry
 *
 * They are written into the stream of each task at once, so that one that only waits is in the
 * trace as well. The task goes on in that block with its first event. */
#include <stdlib.h>
#include <string.h>

#include "recorder/arena/plan_walk.h"
#include "recorder/attach/attach_inside.h"

#define CALLS_MOST  1500u /* of a thread: they have room in one block */
#define FRAMES_MOST 65536u
#define PART        4u /* of the blocks, for this */

/* A stack while it is walked: a page of it at a time. */
struct walking {
    int memory;
    uint64_t page_at; /* 1: none yet */
    uint8_t page[TTP_PAGE];
    struct ttp_plan_frame frame;
};

static bool read_word(void *context, uint64_t at, uint64_t *word)
{
    struct walking *w = context;
    uint64_t page_at = at & ~(TTP_PAGE - 1);
    if (at % 8 != 0)
        return false;
    if (page_at != w->page_at) {
        w->page_at = 1;
        if (!ttp_memory_read(w->memory, page_at, w->page, sizeof w->page))
            return false;
        w->page_at = page_at;
    }
    memcpy(word, w->page + (at - page_at), sizeof *word);
    return true;
}

static const struct ttp_plan_row *find_row(const struct ttp_traced_modules *modules, uint64_t pc)
{
    for (size_t i = 0; i < modules->count; i++) {
        const struct ttp_traced_module *module = &modules->modules[i];
        if (pc >= module->code_start && pc < module->code_end)
            return module->plan == NULL ? NULL : ttp_plan_row_at(module->plan, pc - module->bias);
    }
    return NULL;
}

/* The function's entry is patched; a piece of one (.cold) is not told of. */
static bool find_function(const struct ttp_targets *targets, const struct ttp_plan_frame *frame,
                          uint64_t *function)
{
    const struct ttp_target *target = ttp_targets_at(targets, frame->pc - !frame->is_exact);
    if (target == NULL)
        return false;
    const struct ttp_windows *windows = &target->windows;
    const struct ttp_probe_decision *d = &windows->decision;
    uint64_t at = frame->pc - !frame->is_exact - windows->view.bias;
    uint32_t found = ttp_patch_function_around(d->plan, at);
    if (found >= d->plan->function_count || !windows->has_entry[found] ||
        found + 1 == windows->finds)
        return false;
    const struct ttp_patch_probe *entry = &d->probes[d->functions[found].first_probe];
    *function = windows->view.bias + d->functions[found].start;
    return !frame->is_exact || at > entry->window; /* else it is about to be entered */
}

/* Calls of a library are recorded only where its caller is none. */
static bool is_recorded(const struct ttp_targets *targets, const struct ttp_plan_frame *caller,
                        uint64_t function)
{
    const struct ttp_target *from = ttp_targets_at(targets, caller->pc);
    return !ttp_targets_at(targets, function)->is_called || (from != NULL && !from->is_called);
}

static bool is_on_own_stack(const struct ttp_agent_known *known, const struct ttp_plan_frame *frame)
{
    return frame->sp - known->stack_low <= known->stack_high - known->stack_low;
}

/* Innermost first. Calls of a handler that runs are left out, as what it interrupted is no caller
 * of it; it may run on a stack of its own. Returns how many there are. */
static uint32_t walk(struct walking *w, const struct ttp_open_calls *open,
                     const struct ttp_agent_known *known, struct ttp_agent_call *calls)
{
    struct ttp_plan_frame *frame = &w->frame;
    uint32_t count = 0;
    for (uint32_t i = 0; i < FRAMES_MOST && count < CALLS_MOST && frame->pc != 0; i++) {
        uint64_t function = 0;
        const struct ttp_plan_row *row = find_row(open->modules, frame->pc - !frame->is_exact);
        bool is_one = find_function(open->targets, frame, &function);
        bool is_inside = is_on_own_stack(known, frame);
        if (row == NULL || row->cfa_kind == TTP_PLAN_CFA_OUTERMOST)
            break;
        if (row->cfa_kind == TTP_PLAN_CFA_SIGNAL) {
            struct ttp_plan_frame interrupted;
            if (!ttp_plan_read_signal(frame, read_word, w, &interrupted))
                break;
            *frame = interrupted;
            count = 0;
            continue;
        }
        if (!ttp_plan_step(frame, row, read_word, w) ||
            (is_inside && !is_on_own_stack(known, frame)))
            break;
        if (is_one && is_inside && is_recorded(open->targets, frame, function))
            calls[count++] = (struct ttp_agent_call){frame->sp - 8, function, frame->pc};
    }
    return count;
}

/* The system call that a task waits in, which goes on in a stub: its innermost. */
static uint32_t find_system_call(const struct ttp_open_calls *open,
                                 const struct ttp_stopped_task *task, struct ttp_agent_call *call)
{
    const struct user_regs_struct *r = &task->registers;
    uint32_t number = (uint32_t)r->orig_rax;
    if (task->moved.from == 0 || r->orig_rax >= TTP_CALL_NUMBERS ||
        !ttp_call_is_among(open->targets->chosen_calls, number))
        return 0;
    *call = (struct ttp_agent_call){r->rsp, ttp_call_key(number), task->moved.from};
    return 1;
}

static bool tell_site(struct ttp_outside *outside, struct ttp_outside_thread *out, uint64_t key,
                      uint32_t number)
{
    const uint32_t numbers[2] = {TTAPE_SITE_SYSCALL, number};
    const uint16_t name_bytes = 0;
    const struct ttp_outside_field fields[3] = {
        {&key, sizeof key}, {numbers, sizeof numbers}, {&name_bytes, sizeof name_bytes}};
    return ttp_outside_message(outside, out, TTP_MESSAGE_SITE, fields, 3);
}

static void turn_round(struct ttp_agent_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        struct ttp_agent_call other = calls[i];
        calls[i] = calls[count - 1 - i];
        calls[count - 1 - i] = other;
    }
}

/* Its stream begins with them, or goes on. False: there was no room, and they are in no trace. */
static bool put_calls(const struct ttp_open_calls *open, struct ttp_agent_known *known,
                      const struct ttp_agent_call *calls, uint32_t count)
{
    struct ttp_outside_thread out = {.serial = known->serial,
                                     .image = open->image,
                                     .sequence = known->sequence,
                                     .started = known->started,
                                     .pid = open->stop->pid,
                                     .tid = known->thread_id};
    memcpy(out.name, known->name, sizeof out.name);
    bool is_put = true;
    for (uint32_t i = 0; i < count && is_put; i++)
        is_put = (!ttp_is_call_key(calls[i].function) ||
                  tell_site(open->outside, &out, calls[i].function,
                            (uint32_t)(calls[i].function - ttp_call_key(0)))) &&
                 ttp_outside_call_open(open->outside, &out, calls[i].function);
    if (!is_put) {
        struct ttp_mark_stream given;
        ttp_outside_give(open->outside, &out, &given);
        known->serial = given.serial;
        known->sequence = given.sequence;
        known->started = given.started;
        return false;
    }
    known->serial = out.serial;
    known->sequence = out.sequence;
    known->started = out.started;
    known->epoch = out.epoch;
    known->place = (uint64_t)out.block * TTP_BLOCK_BYTES + out.at;
    return true;
}

/* Tasks for which there is room: nobody takes blocks from us, or for us, while all stand still. */
static uint32_t count_room(const struct ttp_outside *outside)
{
    return __atomic_load_n(&outside->head->block_ready, __ATOMIC_ACQUIRE) / PART;
}

static struct ttp_stopped_task *find_task(const struct ttp_stop *stop, uint32_t thread_id)
{
    for (size_t i = 0; i < stop->count; i++)
        if ((uint32_t)stop->tasks[i].tid == thread_id)
            return &stop->tasks[i];
    return NULL;
}

uint32_t ttp_open_calls_tell(const struct ttp_open_calls *open, struct ttp_agent_known *list,
                             uint32_t known_count, struct ttp_agent_call *calls)
{
    uint32_t used = 0, room = count_room(open->outside);
    struct walking *w = malloc(sizeof *w);
    for (uint32_t i = 0; w != NULL && i < known_count && i < room; i++) {
        struct ttp_agent_known *known = &list[i];
        struct ttp_stopped_task *task = find_task(open->stop, known->thread_id);
        if (task == NULL || known->stack_high == 0 || used + CALLS_MOST >= TTP_AGENT_CALLS)
            continue;
        const struct user_regs_struct *r = &task->registers;
        uint64_t pc = task->moved.from != 0 ? task->moved.from : r->rip;
        *w = (struct walking){
            .memory = open->stop->memory,
            .page_at = 1,
            .frame = {.pc = pc, .sp = r->rsp, .rbp = r->rbp, .has_rbp = true, .is_exact = true}};
        uint32_t waits = find_system_call(open, task, calls + used);
        uint32_t count = waits + walk(w, open, known, calls + used + waits);
        turn_round(calls + used, count);
        if (count == 0 || !put_calls(open, known, calls + used, count))
            continue;
        task->moved.is_told = waits != 0;
        known->first_call = used;
        known->call_count = count;
        used += count;
    }
    free(w);
    return used;
}
