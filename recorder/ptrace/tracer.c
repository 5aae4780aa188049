/* Holds the programs, lets them run from call to call, and passes on all that is not about calls:
 * signals, stops, ends. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/fail.h"
#include "recorder/ptrace/tracer.h"

#define OPTIONS                                                                                    \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |      \
     PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT)
#define SEIZE_ROUNDS 100u

static volatile sig_atomic_t wants_to_leave;
static volatile pid_t waits_for; /* one of the threads that the next stop may come from; or 0 */

/* A signal may come between the look at wants_to_leave and the wait, which it does not end then. So
 * it makes a stop itself. */
void ttape_trace_leave(void)
{
    int code = errno;
    wants_to_leave = 1;
    if (waits_for != 0)
        (void)ptrace(PTRACE_INTERRUPT, waits_for, NULL, NULL);
    errno = code;
}

/* ---- threads ---- */

/* Where it is, or would be. */
static size_t place_of(const struct ttp_tracer *tracer, uint32_t tid)
{
    size_t low = 0, high = tracer->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tracer->threads[middle]->tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct ttp_traced *find_thread(struct ttp_tracer *tracer, uint32_t tid)
{
    size_t at = place_of(tracer, tid);
    return at < tracer->count && tracer->threads[at]->tid == tid ? tracer->threads[at] : NULL;
}

static struct ttp_traced *add_thread(struct ttp_tracer *tracer, uint32_t tid, uint32_t pid)
{
    void *grown = ttp_traced_grow(tracer->threads, tracer->count, &tracer->capacity,
                                  sizeof(*tracer->threads));
    if (grown == NULL)
        return NULL;
    tracer->threads = grown;
    struct ttp_traced *thread = calloc(1, sizeof(*thread));
    if (thread == NULL)
        return NULL;
    thread->tid = tid;
    thread->counter = TTP_TRACED_NO_COUNTER;
    thread->pid = pid;
    thread->out = (struct ttp_outside_thread){.pid = pid, .tid = tid};
    size_t at = place_of(tracer, tid);
    memmove(tracer->threads + at + 1, tracer->threads + at,
            (tracer->count - at) * sizeof(*tracer->threads));
    tracer->threads[at] = thread;
    tracer->count++;
    tracer->counts->threads++;
    return thread;
}

static void forget_thread(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    size_t at = place_of(tracer, thread->tid);
    if (thread->tid == thread->pid)
        ttp_space_end(tracer, thread->pid);
    tracer->count--;
    memmove(tracer->threads + at, tracer->threads + at + 1,
            (tracer->count - at) * sizeof(*tracer->threads));
    ttp_traced_forget(thread);
    if (thread->counter >= 0)
        (void)close(thread->counter);
    free(thread);
}

uint32_t ttp_traced_status(uint32_t tid, const char *name, uint32_t number)
{
    char path[64], line[256];
    (void)snprintf(path, sizeof(path), "/proc/%u/status", tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return number;
    size_t length = strlen(name);
    while (fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, name, length) == 0)
            number = (uint32_t)strtoul(line + length, NULL, 10);
    (void)fclose(file);
    return number;
}

static uint32_t process_of(uint32_t tid) { return ttp_traced_status(tid, "Tgid:", tid); }

/* ---- stops ---- */

static void go_on(struct ttp_tracer *tracer, struct ttp_traced *thread, int how, int signal)
{
    bool is_leaving = tracer->is_leaving || thread->is_let_go;
    if (how == PTRACE_SYSCALL && thread->is_free && thread->executes == TTP_EXECUTES_NOT)
        how = PTRACE_CONT;
    if (is_leaving)
        how = PTRACE_DETACH;
    if (is_leaving && thread->hides_flag)
        ttp_traced_show_flag(thread);
    thread->is_held = false;
    (void)ptrace((enum __ptrace_request)how, (pid_t)thread->tid, NULL, (void *)(intptr_t)signal);
    if (is_leaving) /* and it lives: the recorder says when that was */
        forget_thread(tracer, thread);
}

/* All other threads of the process are gone; this one has the process's number now. */
static void take_exec(struct ttp_tracer *tracer, struct ttp_traced *thread)
{
    for (size_t i = tracer->count; i-- > 0;) {
        struct ttp_traced *other = tracer->threads[i];
        if (other != thread && other->pid == thread->pid) {
            thread->is_seen |= other->is_seen;
            ttp_outside_end(&tracer->outside, &other->out);
            forget_thread(tracer, other);
        }
    }
    ttp_traced_exec(tracer, thread);
}

/* Assigns a new thread to its process. parent: the thread that started it; NULL when that one is
 * gone. */
static void adopt(struct ttp_tracer *tracer, struct ttp_traced *thread,
                  const struct ttp_traced *parent)
{
    if (thread->is_seen)
        return;
    thread->is_seen = parent == NULL || parent->is_seen;
    if (parent != NULL)
        thread->runtime = parent->runtime;
    thread->is_free = ttp_runtime_is_free(thread, parent);
    for (size_t i = 0; i < tracer->count && thread->out.image == 0; i++)
        if (tracer->threads[i]->pid == thread->pid)
            thread->out.image = tracer->threads[i]->out.image;
    if (thread->is_seen && !thread->is_free && thread->out.image == 0)
        ttp_traced_image(tracer, thread, parent);
    if (thread->is_held)
        go_on(tracer, thread, PTRACE_SYSCALL, 0);
}

/* It has started another one, which may have stopped already. One that the runtime started is a
 * sign to us (TTP_MARK_EXECUTES), and of no further interest. */
static void take_start(struct ttp_tracer *tracer, struct ttp_traced *parent, bool hid_flag)
{
    unsigned long tid = 0;
    bool is_sign = ttp_runtime_starts(parent);
    if (ptrace(PTRACE_GETEVENTMSG, (pid_t)parent->tid, NULL, &tid) != 0)
        return;
    struct ttp_traced *thread = find_thread(tracer, (uint32_t)tid);
    if (thread == NULL)
        thread = add_thread(tracer, (uint32_t)tid, process_of((uint32_t)tid));
    if (thread != NULL) {
        thread->hides_flag = hid_flag;
        thread->hidden = parent->hidden;
    }
    if (thread != NULL && thread->is_held && hid_flag)
        ttp_traced_show_flag(thread);
    if (thread != NULL && is_sign) {
        tracer->counts->threads--;
        thread->is_let_go = true;
        if (thread->is_held)
            go_on(tracer, thread, PTRACE_DETACH, 0);
    } else if (thread != NULL) {
        adopt(tracer, thread, parent);
    }
}

/* One that tells what a thread would have of who started it: of its process, else of its parent. */
static const struct ttp_traced *kin_of(const struct ttp_tracer *tracer,
                                       const struct ttp_traced *thread)
{
    uint32_t parent = ttp_traced_status(thread->tid, "PPid:", 0);
    const struct ttp_traced *found = NULL;
    for (size_t i = 0; i < tracer->count; i++) {
        const struct ttp_traced *other = tracer->threads[i];
        if (other == thread || other->is_held || !other->is_seen)
            continue;
        if (other->pid == thread->pid)
            return other;
        if (other->pid == parent)
            found = other;
    }
    return found;
}

/* One has ended, maybe before it could say what it had started: nobody is held for that. */
static void release_held(struct ttp_tracer *tracer)
{
    for (size_t i = tracer->count; i-- > 0;)
        if (tracer->threads[i]->is_held)
            adopt(tracer, tracer->threads[i], kin_of(tracer, tracer->threads[i]));
}

static bool is_stopping(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void take_stop(struct ttp_tracer *tracer, struct ttp_traced *thread, int status)
{
    int signal = WSTOPSIG(status), event = status >> 16;
    bool hid_flag = thread->hides_flag;
    if (hid_flag) /* the kernel has looked at it */
        ttp_traced_show_flag(thread);
    switch (event) {
    case PTRACE_EVENT_EXEC: take_exec(tracer, thread); break;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE: take_start(tracer, thread, hid_flag); break;
    case PTRACE_EVENT_EXIT:
        ttp_traced_end(tracer, thread);
        ttp_outside_end(&tracer->outside, &thread->out);
        break;
    case PTRACE_EVENT_STOP:
        if (is_stopping(signal)) { /* all threads of the process are, until SIGCONT */
            go_on(tracer, thread, PTRACE_LISTEN, 0);
            return;
        }
        break;
    default:
        if (signal == (SIGTRAP | 0x80)) {
            ttp_traced_syscall(tracer, thread);
            if (thread->is_let_go)
                ttp_outside_end(&tracer->outside, &thread->out);
        } else { /* it is about to get a signal */
            ttp_traced_signal(tracer, thread);
            go_on(tracer, thread, PTRACE_SYSCALL, signal);
            return;
        }
    }
    go_on(tracer, thread, event == PTRACE_EVENT_EXIT ? PTRACE_CONT : PTRACE_SYSCALL, 0);
}

static void take_status(struct ttp_tracer *tracer, uint32_t tid, int status)
{
    struct ttp_traced *thread = find_thread(tracer, tid);
    if (!WIFSTOPPED(status)) {
        if (thread != NULL) {
            ttp_outside_end(&tracer->outside, &thread->out);
            forget_thread(tracer, thread);
        }
        release_held(tracer);
        return;
    }
    if (thread != NULL) {
        take_stop(tracer, thread, status);
        return;
    }
    thread = add_thread(tracer, tid, process_of(tid));
    if (thread != NULL)
        thread->is_held = true;
    else
        (void)ptrace(PTRACE_DETACH, (pid_t)tid, NULL, NULL); /* no memory: it runs on unseen */
}

/* One that is held is let go when what started it says so: a flag may have to be shown again. */
static void begin_to_leave(struct ttp_tracer *tracer)
{
    tracer->is_leaving = true;
    for (size_t i = 0; i < tracer->count; i++)
        if (!tracer->threads[i]->is_held)
            (void)ptrace(PTRACE_INTERRUPT, (pid_t)tracer->threads[i]->tid, NULL, NULL);
}

/* Nothing is recorded any more: programs run on, and nobody stops them. */
static bool is_over(const struct ttp_tracer *tracer)
{
    return wants_to_leave != 0 ||
           __atomic_load_n(&tracer->outside.head->mode, __ATOMIC_RELAXED) == TTP_MODE_STOPPED;
}

static void trace_threads(struct ttp_tracer *tracer)
{
    while (tracer->count > 0) {
        int status;
        waits_for = (pid_t)tracer->threads[0]->tid;
        if (!tracer->is_leaving && is_over(tracer))
            begin_to_leave(tracer);
        ttp_tracer_place(tracer);
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid > 0)
            take_status(tracer, (uint32_t)tid, status);
        else if (errno != EINTR)
            return;
    }
}

/* ---- the beginning ---- */

static ttape_status refuse_process(ttape_error *err, uint32_t pid)
{
    int code = errno;
    return ttp_fail(err, TTAPE_E_UNSUPPORTED, "", TTAPE_ERROR_NO_OFFSET,
                    "cannot trace process %u: %s%s", pid, strerror(code),
                    code == EPERM ? " (another user's, traced already, or the machine's rules of "
                                    "ptrace forbid it)"
                                  : "");
}

/* One that was interrupted before goes on as another one. Its registers are as it was made, and the
 * number stands in front of the instruction: mov number, eax; syscall. */
static long find_restarted(const struct ttp_traced *thread, uint64_t behind)
{
    uint8_t code[7];
    uint32_t number;
    if (behind < sizeof(code) ||
        ttp_traced_read(thread, code, behind - sizeof(code), sizeof(code)) != sizeof(code) ||
        code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
        return SYS_restart_syscall;
    memcpy(&number, code + 1, sizeof(number));
    return number < TTAPE_CALL_NUMBERS ? (long)number : SYS_restart_syscall;
}

/* The call that it waits in, as some go on as another one when they were interrupted. The line is
 * its number, six arguments, the stack pointer, and the place behind the instruction. */
static void read_call(struct ttp_traced *thread)
{
    char path[64], line[256] = "";
    (void)snprintf(path, sizeof(path), "/proc/%u/syscall", thread->tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    char *at = fgets(line, sizeof(line), file), *end = at;
    (void)fclose(file);
    long number = at == NULL ? -1 : strtol(at, &end, 10); /* -1: it is in none, or runs */
    if (end == at || number < 0 || (unsigned long)number >= TTAPE_CALL_NUMBERS)
        return;
    thread->call_then = (uint32_t)number;
    thread->was_in_call = true;
    for (uint32_t i = 0; i < TTP_TRACED_ARGUMENTS; i++)
        thread->arguments_then[i] = strtoull(end, &end, 16);
    (void)strtoull(end, &end, 16);
    if (number == SYS_restart_syscall)
        thread->call_then = (uint32_t)find_restarted(thread, strtoull(end, &end, 16));
}

/* All threads of a process that runs, until no new one appears. */
static ttape_status seize_all(struct ttp_tracer *tracer, uint32_t pid, ttape_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%u/task", pid);
    bool found = true;
    for (uint32_t round = 0; found && round < SEIZE_ROUNDS; round++) {
        DIR *folder = opendir(path);
        found = false;
        if (folder == NULL)
            break;
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
            if (tid == 0 || find_thread(tracer, tid) != NULL ||
                ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, (void *)(intptr_t)OPTIONS) != 0)
                continue;
            struct ttp_traced *thread = add_thread(tracer, tid, pid);
            found = thread != NULL;
            if (thread != NULL && tracer->options->is_running) {
                thread->is_seen = true;
                read_call(thread);
                (void)ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL);
            }
        }
        (void)closedir(folder);
    }
    return tracer->count > 0 ? TTAPE_OK : refuse_process(err, pid);
}

static void begin_images(struct ttp_tracer *tracer)
{
    for (size_t i = 0; i < tracer->count; i++) {
        struct ttp_traced *thread = tracer->threads[i];
        if (i == 0)
            ttp_traced_image(tracer, thread, NULL);
        else
            thread->out.image = tracer->threads[0]->out.image;
    }
}

/* Whether this machine counts that, and lets us, is seen by counting ourselves. */
static ttape_status choose_counter(struct ttp_tracer *tracer, ttape_error *err)
{
    const char *name = tracer->options->measure;
    if (name == NULL)
        return TTAPE_OK;
    tracer->counter = ttp_counter_find(name);
    if (tracer->counter == NULL)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET, "no counter '%s'", name);
    int descriptor = ttp_counter_open(tracer->counter, 0);
    if (descriptor >= 0) {
        (void)close(descriptor);
        return TTAPE_OK;
    }
    if (descriptor == -EACCES || descriptor == -EPERM)
        return ttp_fail(err, TTAPE_E_UNSUPPORTED, "", TTAPE_ERROR_NO_OFFSET,
                        "counting '%s' in the kernel is not permitted: it needs root, or 1 in "
                        "/proc/sys/kernel/perf_event_paranoid",
                        name);
    return ttp_fail(err, TTAPE_E_UNSUPPORTED, "", TTAPE_ERROR_NO_OFFSET,
                    "this machine does not count '%s' (%s); it may count cpu-time, page-faults, "
                    "context-switches",
                    name, strerror(-descriptor));
}

ttape_status ttape_trace_calls(const ttape_trace_options *options, ttape_trace_counts *counts,
                               ttape_error *err)
{
    struct ttp_tracer tracer = {.options = options, .counts = counts};
    *counts = (ttape_trace_counts){0};
    if (options->size != sizeof(*options) || options->arena == NULL || options->pid == 0)
        return ttp_fail(err, TTAPE_E_ARGUMENT, "", TTAPE_ERROR_NO_OFFSET,
                        "the options of tracing are not filled in");
    ttape_status status = choose_counter(&tracer, err);
    if (status == TTAPE_OK)
        status = ttp_outside_open(&tracer.outside, options->arena, err);
    if (status != TTAPE_OK)
        return status;
    wants_to_leave = 0;
    tracer.takes_rights = ttp_tracer_takes_rights();
    if (options->stacks && options->plan != NULL)
        tracer.stack = malloc(sizeof(*tracer.stack));
    status = seize_all(&tracer, options->pid, err);
    if (status == TTAPE_OK) {
        if (options->is_running)
            begin_images(&tracer);
        else /* from its next call on */
            (void)ptrace(PTRACE_INTERRUPT, (pid_t)options->pid, NULL, NULL);
        if (options->ready != NULL)
            options->ready(options->context);
        trace_threads(&tracer);
        waits_for = 0;
    }
    counts->lost = tracer.outside.lost;
    while (tracer.count > 0)
        forget_thread(&tracer, tracer.threads[tracer.count - 1]);
    free(tracer.threads);
    for (size_t i = 0; i < tracer.space_count; i++)
        ttp_modules_free(&tracer.spaces[i].modules);
    free(tracer.spaces);
    ttp_plans_free(&tracer.plans);
    ttp_paths_free(&tracer.paths);
    free(tracer.stack);
    free(tracer.kept);
    ttp_outside_close(&tracer.outside);
    return status;
}
