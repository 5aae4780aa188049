/* What a stop at a system call means, and what of it is written.
 *
 *   entry -> ENTER          exit -> EXIT, and the error where it failed
 *
 * With arguments, what it was given stands behind ENTER, and what it returned behind each EXIT.
 *
 * A call that a signal interrupts exits with a code of the kernel's own. What becomes of it is seen
 * later: it goes on at the next entry of the same call; or the handler returns (rt_sigreturn) to
 * behind the call, with EINTR; or the handler jumped away, and the stack is above the call. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "recorder/ptrace/tracer.h"

/* Codes that the kernel has for "to be restarted", which programs never see. */
#define RESTART_FIRST 512
#define RESTART_LAST  516

#define PATH_BYTES 4096u
#define JUMP_BYTES (8u << 20) /* stacks that are farther apart are different ones */

static bool is_chosen(const struct ttp_tracer *tracer, uint32_t number)
{
    const uint64_t *chosen = tracer->options->chosen;
    return chosen == NULL || (number != TTP_CALL_OF_32_BITS && ttp_call_is_among(chosen, number));
}

/* Says in the thread's stream what the key of a call's records means. The recorder knows names. */
static void announce(struct ttp_tracer *tracer, struct ttp_traced *thread, uint32_t number)
{
    static const char other[] = "call of 32 bits";
    uint64_t key = ttp_call_key(number);
    uint32_t numbers[2] = {TTAPE_SITE_SYSCALL, number};
    bool has_bit = number < TTAPE_CALL_NUMBERS;
    uint16_t size = number == TTP_CALL_OF_32_BITS ? sizeof(other) - 1 : 0;
    if (has_bit && (thread->announced[number / 8] & 1u << number % 8) != 0)
        return;
    const struct ttp_outside_field fields[4] = {
        {&key, sizeof(key)}, {numbers, sizeof(numbers)}, {&size, sizeof(size)}, {other, size}};
    if (ttp_outside_message(&tracer->outside, &thread->out, TTP_MESSAGE_SITE, fields, 4) && has_bit)
        thread->announced[number / 8] |= (uint8_t)(1u << number % 8);
}

/* Whether this call's stack is taken. */
static bool is_sampled(const struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    struct ttp_stack_sample *sample = &thread->stack_sample;
    const struct ttp_arena_head *head = tracer->outside.head;
    if (!ttp_stack_sample_is_asked(head))
        return true;
    if (!ttp_stack_sample_is_due(sample, head, thread->tid))
        return false;
    ttp_stack_sample_next(sample, head, ttp_outside_clock(&tracer->outside));
    return true;
}

static uint64_t key_of(struct ttp_tracer *tracer, struct ttp_traced *thread, uint32_t number)
{
    bool has_stack = tracer->stack != NULL && is_sampled(tracer, thread);
    uint64_t key = has_stack ? ttp_traced_key(tracer, thread, number) : 0;
    if (key != 0)
        return key;
    announce(tracer, thread, number);
    return ttp_call_key(number);
}

/* The last thing at a call's entry, and the first at its exit. */
static bool count_now(const struct ttp_tracer *tracer, struct ttp_traced *thread, uint64_t *count)
{
    if (tracer->counter == NULL)
        return false;
    if (thread->counter == TTP_TRACED_NO_COUNTER) {
        int descriptor = ttp_counter_open(tracer->counter, thread->tid);
        thread->counter = descriptor >= 0 ? descriptor : TTP_TRACED_CANNOT;
    }
    return thread->counter >= 0 && ttp_counter_read(thread->counter, count);
}

static void write_exit(struct ttp_tracer *tracer, struct ttp_traced *thread,
                       const struct ttp_traced_call *call, int64_t result, bool has_result)
{
    uint64_t now;
    if (!call->is_written)
        return;
    bool is_counted = call->is_counted && count_now(tracer, thread, &now);
    uint64_t counted = is_counted ? now - call->counted : 0;
    counted -= is_counted && counted >= tracer->counter->own ? tracer->counter->own : 0;
    bool is_error = result < 0 && result >= -4095;
    if (has_result && (is_error || is_counted || tracer->options->arguments))
        ttp_traced_result(tracer, thread, call, result, is_counted ? &counted : NULL);
    else
        (void)ttp_outside_call(&tracer->outside, &thread->out, TTP_TAG_EXIT, call->key);
}

/* Calls that a jump has left. */
static void drop_left(struct ttp_tracer *tracer, struct ttp_traced *thread, uint64_t sp)
{
    uint32_t written = 0;
    while (thread->open_count > 0) {
        const struct ttp_traced_call *call = &thread->open[thread->open_count - 1];
        if (sp <= call->sp || sp - call->sp > JUMP_BYTES)
            break;
        written += call->is_written;
        thread->open_count--;
    }
    if (written > 0)
        (void)ttp_outside_extension(&tracer->outside, &thread->out, TTP_EXT_UNWIND,
                                    ttp_unwind_payload(TTP_UNWIND_COUNT, written));
}

/* While recording is off, calls are left out; a gap says so where it goes on. What began before has
 * its end. */
static bool is_off(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    const struct ttp_arena_head *head = tracer->outside.head;
    bool is_off = __atomic_load_n(&head->mode, __ATOMIC_RELAXED) != TTP_MODE_ON;
    uint64_t events = 2 * thread->left_out; /* of each call its two */
    if (is_off && events == 0)
        thread->off_period = __atomic_load_n(&head->periods, __ATOMIC_RELAXED);
    thread->left_out += is_off;
    if (is_off || events == 0)
        return is_off;
    thread->left_out = 0;
    ttp_outside_stopped(&tracer->outside, &thread->out, thread->off_period, events);
    return false;
}

static void write_enter(struct ttp_tracer *tracer, struct ttp_traced *thread,
                        struct ttp_traced_call *call, const uint64_t *arguments)
{
    tracer->counts->calls++;
    tracer->counts->other_calls += call->number == TTP_CALL_OF_32_BITS;
    if (thread->is_given) { /* the runtime began, and does not record calls yet */
        ttp_outside_lose(&tracer->outside);
        return;
    }
    if (is_off(tracer, thread))
        return;
    call->key = key_of(tracer, thread, call->number);
    if (tracer->options->arguments)
        ttp_traced_arguments(tracer, thread, call, arguments);
    else
        call->is_written =
            ttp_outside_call(&tracer->outside, &thread->out, TTP_TAG_ENTER, call->key);
    if (call->is_written)
        call->is_counted = count_now(tracer, thread, &call->counted);
}

/* What it waited in when it was attached to, and waits in again. */
static void go_on_waiting(struct ttp_traced *thread, uint32_t *number, const uint64_t **arguments)
{
    if (thread->was_in_call && *number == SYS_restart_syscall) {
        *number = thread->call_then;
        *arguments = thread->arguments_then;
    }
    thread->was_in_call = false;
}

static void enter_call(struct ttp_tracer *tracer, struct ttp_traced *thread, uint32_t number,
                       const struct __ptrace_syscall_info *info, const uint64_t *arguments)
{
    uint64_t sp = info->stack_pointer;
    go_on_waiting(thread, &number, &arguments);
    struct ttp_traced_call *top =
        thread->open_count > 0 ? &thread->open[thread->open_count - 1] : NULL;
    if (top != NULL && top->is_pending && top->sp == sp &&
        (top->number == number || number == SYS_restart_syscall)) {
        top->is_pending = false;
        return;
    }
    drop_left(tracer, thread, sp);
    if (thread->open_count == TTP_CALLS_OPEN)
        return;
    struct ttp_traced_call call = {
        .sp = sp, .number = number, .is_own = ttp_runtime_enters(tracer, thread, info, arguments)};
    if (!call.is_own && is_chosen(tracer, number))
        write_enter(tracer, thread, &call, arguments);
    thread->open[thread->open_count++] = call;
}

/* The handler has returned: to behind the call that it interrupted, or to it. */
static void return_from_handler(struct ttp_tracer *tracer, struct ttp_traced *thread,
                                int64_t result)
{
    if (thread->open_count == 0)
        return;
    struct ttp_traced_call *call = &thread->open[thread->open_count - 1];
    if (!call->is_pending || result != -EINTR)
        return;
    thread->open_count--;
    write_exit(tracer, thread, call, result, true);
}

static void leave_call(struct ttp_tracer *tracer, struct ttp_traced *thread, int64_t result)
{
    if (thread->open_count == 0)
        return;
    struct ttp_traced_call *call = &thread->open[thread->open_count - 1];
    if (call->is_pending)
        return;
    if (result <= -RESTART_FIRST && result >= -RESTART_LAST) {
        call->is_pending = true;
        return;
    }
    bool is_return = call->number == SYS_rt_sigreturn;
    if (call->number == SYS_mmap || call->number == SYS_munmap || call->number == SYS_mremap ||
        call->number == SYS_mprotect)
        ttp_space_changed(tracer, thread->pid);
    thread->open_count--;
    if (call->is_own)
        ttp_runtime_leaves(thread, result);
    write_exit(tracer, thread, call, result, !is_return);
    if (is_return)
        return_from_handler(tracer, thread, result);
}

static void let_go(struct ttp_tracer *tracer, struct ttp_traced *thread,
                   const struct __ptrace_syscall_info *info)
{
    char path[TTP_NOTE_PATH_BYTES];
    if (!tracer->takes_rights || !ttp_traced_executes(info) ||
        !ttp_traced_gains(thread, info, path))
        return;
    thread->is_let_go = true;
    ttp_outside_let_go(&tracer->outside, thread->pid, path);
}

static void keep_command(struct ttp_tracer *tracer, const struct ttp_traced *thread,
                         const struct __ptrace_syscall_info *info)
{
    uint64_t arguments[TTP_TRACED_ARGUMENTS];
    for (uint32_t i = 0; i < TTP_TRACED_ARGUMENTS; i++)
        arguments[i] = info->entry.args[i];
    ttp_traced_keep(tracer, thread, SYS_execve, arguments);
}

/* Of a thread whose calls are recorded by itself, or not yet. */
static void pass_call(struct ttp_tracer *tracer, struct ttp_traced *thread,
                      const struct __ptrace_syscall_info *info)
{
    bool is_entry = info->op == PTRACE_SYSCALL_INFO_ENTRY;
    if (is_entry)
        let_go(tracer, thread, info);
    if (is_entry && !thread->is_seen && tracer->options->arguments &&
        info->arch == AUDIT_ARCH_X86_64 && info->entry.nr == SYS_execve)
        keep_command(tracer, thread, info);
    if (is_entry && thread->executes != TTP_EXECUTES_NOT && ttp_traced_executes(info))
        thread->executes = TTP_EXECUTES_NOW;
    else if (!is_entry && thread->executes == TTP_EXECUTES_NOW)
        thread->executes = TTP_EXECUTES_NOT; /* it was not executed: it is free as before */
}

#define RED_ZONE_BYTES   128u
#define CLONE3_BYTES_MAX 256u
#define FIRST_ARGUMENT   ((void *)offsetof(struct user_regs_struct, rdi))

/* clone3 reads a structure: of which there is a copy then, far below what a function may have
 * there. Only the kernel reads it, and at once. 0: none. */
static uint64_t copy_without_flag(const struct ttp_traced *thread,
                                  const struct __ptrace_syscall_info *info)
{
    uint64_t words[CLONE3_BYTES_MAX / 8], size = info->entry.args[1];
    if (size < sizeof(*words) || size > sizeof(words) ||
        ttp_traced_read(thread, words, info->entry.args[0], size) != size ||
        (words[0] & CLONE_UNTRACED) == 0)
        return 0;
    uint64_t at = (info->stack_pointer - RED_ZONE_BYTES - sizeof(words)) & ~(uint64_t)15;
    const struct iovec from = {words, size}, to = {(void *)(uintptr_t)at, size};
    words[0] &= ~(uint64_t)CLONE_UNTRACED;
    return process_vm_writev((pid_t)thread->tid, &from, 1, &to, 1, 0) == (ssize_t)size ? at : 0;
}

/* No tracer follows a child of such a clone, and nobody would say so. It means nothing else. */
static void follow_child(struct ttp_traced *thread, const struct __ptrace_syscall_info *info)
{
    uint64_t first = info->entry.args[0], without = 0;
    if (info->arch == AUDIT_ARCH_X86_64 && info->entry.nr == SYS_clone &&
        (first & CLONE_UNTRACED) != 0)
        without = first & ~(uint64_t)CLONE_UNTRACED;
    else if (info->arch == AUDIT_ARCH_X86_64 && info->entry.nr == SYS_clone3)
        without = copy_without_flag(thread, info);
    thread->hidden = first;
    thread->hides_flag = without != 0 && ptrace(PTRACE_POKEUSER, (pid_t)thread->tid, FIRST_ARGUMENT,
                                                (void *)(uintptr_t)without) == 0;
}

void ttp_traced_show_flag(struct ttp_traced *thread)
{
    thread->hides_flag = false;
    (void)ptrace(PTRACE_POKEUSER, (pid_t)thread->tid, FIRST_ARGUMENT,
                 (void *)(uintptr_t)thread->hidden);
}

void ttp_traced_syscall(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, (pid_t)thread->tid, (void *)sizeof(info), &info) <= 0)
        return;
    if (!thread->is_seen || thread->is_free) {
        pass_call(tracer, thread, &info);
        return;
    }
    bool is_other = info.arch != AUDIT_ARCH_X86_64;
    uint64_t arguments[TTP_TRACED_ARGUMENTS] = {0};
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        for (uint32_t i = 0; i < TTP_TRACED_ARGUMENTS; i++)
            arguments[i] = info.entry.args[i];
        enter_call(tracer, thread, is_other ? TTP_CALL_OF_32_BITS : (uint32_t)info.entry.nr, &info,
                   arguments);
        let_go(tracer, thread, &info);
        follow_child(thread, &info);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        leave_call(tracer, thread, info.exit.rval);
    }
}

/* ---- images ---- */

static void write_process(struct ttp_tracer *tracer, struct ttp_traced *thread,
                          uint64_t parent_image, uint32_t parent_pid)
{
    char path[PATH_BYTES];
    size_t size = ttp_traced_path(thread->pid, path, sizeof(path));
    uint64_t numbers[3] = {thread->out.image, parent_image, thread->out.started};
    uint32_t ids[2] = {thread->pid, parent_pid};
    const struct ttp_outside_field fields[3] = {
        {numbers, sizeof(numbers)}, {ids, sizeof(ids)}, {path, size}};
    (void)ttp_outside_message(&tracer->outside, &thread->out, TTP_MESSAGE_PROCESS, fields, 3);
    tracer->counts->processes++;
}

/* A forked child that records itself has an image that nobody told. */
static uint64_t image_of(struct ttp_tracer *tracer, const struct ttp_traced *thread)
{
    return thread->out.image != 0 ? thread->out.image
                                  : ttp_outside_image_of(&tracer->outside, thread->pid);
}

void ttp_traced_image(struct ttp_tracer *tracer, struct ttp_traced *thread,
                      const struct ttp_traced *parent)
{
    thread->out = (struct ttp_outside_thread){.pid = thread->pid, .tid = thread->tid};
    thread->out.serial = ttp_outside_serial(&tracer->outside);
    thread->out.image = thread->out.serial;
    thread->open_count = 0;
    thread->is_given = thread->is_free = false;
    thread->executes = TTP_EXECUTES_NOT;
    thread->has_signals = false;
    memset(thread->announced, 0, sizeof(thread->announced));
    ttp_traced_forget(thread);
    ttp_space_changed(tracer, thread->pid);
    write_process(tracer, thread, parent != NULL ? image_of(tracer, parent) : 0,
                  parent != NULL ? parent->pid : ttp_traced_status(thread->pid, "PPid:", 0));
}

/* The call that executed the program began in another image; where there was none, it is the new
 * one's first. */
void ttp_traced_exec(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    bool is_first = !thread->is_seen;
    ttp_outside_end(&tracer->outside, &thread->out);
    ttp_traced_image(tracer, thread, NULL);
    thread->runtime = (struct ttp_traced_runtime){0};
    thread->is_seen = true;
    if (!is_first || !is_chosen(tracer, SYS_execve))
        return;
    announce(tracer, thread, SYS_execve);
    tracer->counts->calls++;
    if (ttp_traced_put_kept(tracer, thread, TTP_CALL_KEYS + SYS_execve))
        ttp_traced_put_success(tracer, thread, TTP_CALL_KEYS + SYS_execve);
}
