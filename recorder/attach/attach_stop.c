/* All tasks of a process stand still, and go on as they were.
 *
 *     list tasks -> seize and interrupt each new one -> wait for each -> until no new one appears
 *     and the kernel counts no other
 *
 * A task that waited in a system call goes on waiting: the kernel restarts most of them, but some
 * say EINTR, as they do for signals. These are told to the kernel as what only a handler ends. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/attach/attach_inside.h"

#define ROUNDS         100u
#define SOON_NS        UINT64_C(20000) /* as long as most stops take: it is asked for meanwhile */
#define PATIENCE_NS    UINT64_C(100000000)  /* for one that waits in the kernel, and cannot stop */
#define LONGEST_NS     UINT64_C(5000000000) /* for any: on a busy machine each waits for its turn */
#define UNHEARD_NS     200000 /* where a stop was told to somebody else, who ignores it */
#define PAUSE_NS       20000
#define ATTEMPTS       20u
#define SHORT_TURN_NS  UINT64_C(100000)
#define STOPS_TOLD     4u /* one after another, at most */
#define PAUSE_LATER_NS 50000000
#define NO_HANDLER     (-514)          /* ERESTARTNOHAND */
#define LEAST_NS       UINT64_C(10000) /* for who is to leave our code; then longer, up to */
#define MOST_NS        UINT64_C(20000000)
#define LED_OUT_NS     UINT64_C(5000)
#define PAGE_NS        UINT64_C(3000)  /* to read a page of code, have it copied, and write it */
#define THREAD_NS      UINT64_C(10000) /* by which a stop of each may be longer than an empty one */
#define FOLDER_LINKS   2u              /* of /proc/PID/task, which has one more for each thread */
#define USER_CODE      0x33u

uint64_t ttp_attach_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int ttp_memory_open(uint32_t pid, int how)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%u/mem", ttp_living_task(pid));
    return open(path, how | O_CLOEXEC);
}

bool ttp_memory_read(int memory, uint64_t at, void *into, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(memory, (char *)into + done, bytes - done, (off_t)(at + done));
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool ttp_memory_write(int memory, uint64_t at, const void *from, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t put = pwrite(memory, (const char *)from + done, bytes - done, (off_t)(at + done));
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/* Stops are told by SIGCHLD, which is held off as long as anybody stands, so that nobody misses it
 * while we wait; where somebody else waits for it, or has a handler, it is left to them. */
static void listen_for_stops(struct ttp_stop *stop)
{
    struct sigaction action;
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    stop->is_masked = pthread_sigmask(SIG_BLOCK, &child, &stop->mask) == 0;
    stop->is_heard = stop->is_masked && sigismember(&stop->mask, SIGCHLD) == 0 &&
                     sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
                     (action.sa_flags & SA_NOCLDSTOP) == 0;
}

/* Whether one has come by then. */
static bool wait_until(pid_t tid, int *status, uint64_t end, bool *is_over)
{
    pid_t got;
    do {
        got = waitpid(tid, status, __WALL | WNOHANG);
        *is_over = got < 0 && errno != EINTR;
    } while (got != tid && !*is_over && ttp_attach_now_ns() < end);
    return got == tid;
}

static bool wait_long(const struct ttp_stopped_task *task, int *status, uint64_t begun)
{
    const struct timespec pause = {0, PAUSE_NS}, unheard = {0, UNHEARD_NS};
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    bool is_late = false, is_over = false, is_there = false;
    while (!is_there && !is_over && !is_late) {
        uint64_t waited = ttp_attach_now_ns() - begun;
        is_late = waited > LONGEST_NS || (waited > PATIENCE_NS && ttp_task_state(task->tid) == 'D');
        if (task->is_heard)
            (void)sigtimedwait(&child, NULL, &unheard);
        else
            (void)nanosleep(&pause, NULL);
        is_there = wait_until(task->tid, status, 0, &is_over);
    }
    return is_there;
}

bool ttp_stop_wait(const struct ttp_stopped_task *task, int *status)
{
    uint64_t begun = ttp_attach_now_ns(), soon = task->is_near ? 0 : begun + SOON_NS;
    bool is_over;
    return wait_until(task->tid, status, soon, &is_over) ||
           (!is_over && wait_long(task, status, begun));
}

/* ---- tasks ---- */

static struct ttp_stopped_task *find_task(struct ttp_stop *stop, pid_t tid)
{
    for (size_t i = stop->count; i-- > 0;)
        if (stop->tasks[i].tid == tid)
            return &stop->tasks[i];
    return NULL;
}

static bool add_task(struct ttp_stop *stop, pid_t tid)
{
    if (stop->count == stop->capacity) {
        size_t wanted = stop->capacity == 0 ? 64 : 2 * stop->capacity;
        void *grown = realloc(stop->tasks, wanted * sizeof *stop->tasks);
        if (grown == NULL)
            return false;
        stop->tasks = grown;
        stop->capacity = wanted;
    }
    stop->tasks[stop->count++] =
        (struct ttp_stopped_task){.tid = tid, .is_near = stop->is_near, .is_heard = stop->is_heard};
    return true;
}

static void drop_task(struct ttp_stop *stop, struct ttp_stopped_task *task)
{
    *task = stop->tasks[--stop->count];
}

enum seized { SEIZED_NEW, SEIZED_KNOWN, SEIZED_REFUSED };

static enum seized seize(struct ttp_stop *stop, pid_t tid)
{
    if (find_task(stop, tid) != NULL)
        return SEIZED_KNOWN;
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(intptr_t)PTRACE_O_TRACESYSGOOD) != 0)
        return errno == ESRCH || ttp_task_is_ended(tid) ? SEIZED_KNOWN : SEIZED_REFUSED;
    if (!add_task(stop, tid)) {
        (void)ptrace(PTRACE_DETACH, tid, NULL, NULL);
        return SEIZED_REFUSED;
    }
    find_task(stop, tid)->is_seized = true;
    (void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    return SEIZED_NEW;
}

static bool seize_new(struct ttp_stop *stop, bool *is_any)
{
    bool is_allowed = stop->folder != NULL;
    *is_any = false;
    if (is_allowed)
        rewinddir(stop->folder);
    for (const struct dirent *entry; is_allowed && (entry = readdir(stop->folder)) != NULL;) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        enum seized seized = tid <= 0 ? SEIZED_KNOWN : seize(stop, tid);
        *is_any |= seized == SEIZED_NEW;
        is_allowed = seized != SEIZED_REFUSED;
    }
    return is_allowed;
}

/* A signal that came first is handed on: its handler has not begun when the task stops then. One
 * that was stopped by a signal is held as any other, and is stopped again when it is let go. */
static bool wait_for(struct ttp_stopped_task *task, bool *has_ended)
{
    int status;
    *has_ended = false;
    while (ttp_stop_wait(task, &status)) {
        if (!WIFSTOPPED(status)) {
            *has_ended = true;
            return true;
        }
        if (status >> 16 == PTRACE_EVENT_STOP) {
            task->is_stopped = true;
            task->is_held = WSTOPSIG(status) != SIGTRAP;
            return true;
        }
        (void)ptrace(PTRACE_CONT, task->tid, NULL, (void *)(intptr_t)WSTOPSIG(status));
    }
    *has_ended = ttp_task_is_ended(task->tid);
    return *has_ended;
}

static bool wait_for_all(struct ttp_stop *stop)
{
    for (size_t i = 0; i < stop->count;) {
        bool has_ended = false;
        if (!stop->tasks[i].is_stopped && !wait_for(&stop->tasks[i], &has_ended))
            return false;
        if (has_ended)
            drop_task(stop, &stop->tasks[i]);
        else
            i++;
    }
    return true;
}

/* Calls that say EINTR where a task has only been stopped: as what they say where a handler runs,
 * and begin anew where none does. */
static bool says_interrupted(uint64_t number)
{
    switch (number) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case 441: /* epoll_pwait2 */
    case 426: /* io_uring_enter, of which nothing was taken then */
    case SYS_rt_sigtimedwait:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_io_getevents:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_sendmsg:
    case SYS_recvmsg:
    case SYS_sendmmsg:
    case SYS_recvmmsg:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev: return true;
    default: return false;
    }
}

static bool read_task(struct ttp_stopped_task *task)
{
    struct user_regs_struct *r = &task->registers;
    if (ptrace(PTRACE_GETREGS, task->tid, NULL, r) != 0)
        return false;
    if ((int64_t)r->orig_rax < 0 || (int64_t)r->rax != -EINTR || !says_interrupted(r->orig_rax))
        return true;
    r->rax = (unsigned long long)NO_HANDLER;
    return ptrace(PTRACE_SETREGS, task->tid, NULL, r) == 0;
}

static bool read_registers(struct ttp_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++)
        if (!read_task(&stop->tasks[i]))
            return false;
    return true;
}

/* ---- all of them ---- */

/* Only a task that stands can be let go: one that does not yet is waited for. */
static void let_go_late(struct ttp_stopped_task *task)
{
    int status;
    while (!task->is_stopped && waitpid(task->tid, &status, __WALL) == task->tid &&
           WIFSTOPPED(status)) {
        task->is_stopped = status >> 16 == PTRACE_EVENT_STOP;
        if (!task->is_stopped)
            (void)ptrace(PTRACE_CONT, task->tid, NULL, (void *)(intptr_t)WSTOPSIG(status));
    }
    (void)ptrace(PTRACE_DETACH, task->tid, NULL, NULL);
    task->is_stopped = true;
}

void ttp_stood_add(struct ttp_stood *stood, const struct ttp_stood *more)
{
    stood->stops += more->stops;
    stood->total_ns += more->total_ns;
    if (more->longest_ns > stood->longest_ns)
        stood->longest_ns = more->longest_ns;
}

/* Those that wait in the kernel come last, when all others go on. They cannot run meanwhile. */
void ttp_stop_end(struct ttp_stop *stop, struct ttp_stood *stood)
{
    for (size_t i = stop->count; i-- > 0;)
        if (stop->tasks[i].is_stopped)
            (void)ptrace(PTRACE_DETACH, stop->tasks[i].tid, NULL, NULL);
    for (size_t i = stop->count; i-- > 0;)
        if (!stop->tasks[i].is_stopped && ttp_task_state(stop->tasks[i].tid) != 'D')
            let_go_late(&stop->tasks[i]);
    uint64_t took = ttp_attach_now_ns() - stop->began_ns;
    struct ttp_stood this = {.stops = stop->count != 0, .longest_ns = took, .total_ns = took};
    if (this.stops != 0)
        ttp_stood_add(stood, &this);
    for (size_t i = stop->count; i-- > 0;)
        if (!stop->tasks[i].is_stopped)
            let_go_late(&stop->tasks[i]);
    if (stop->memory >= 0)
        (void)close(stop->memory);
    if (stop->status >= 0)
        (void)close(stop->status);
    if (stop->folder != NULL)
        (void)closedir(stop->folder);
    free(stop->room);
    if (stop->is_near)
        (void)sched_setaffinity(0, sizeof stop->processors, &stop->processors);
    if (stop->has_short_turns)
        (void)syscall(SYS_sched_setattr, 0, &stop->turns, 0);
    if (stop->is_masked)
        (void)pthread_sigmask(SIG_SETMASK, &stop->mask, NULL);
    free(stop->tasks);
    *stop = (struct ttp_stop){.memory = -1, .status = -1};
}

/* A stop that was asked for before may be told of first: it goes on from there. Whoever is killed
 * meanwhile leaves it running, or stopped as the process is. */
bool ttp_stop_run(struct ttp_stopped_task *task, uint64_t ns)
{
    const struct timespec pause = {0, (long)ns};
    int status, number = 0;
    bool has_ended = false, is_told = true;
    task->is_stopped = false;
    for (uint32_t i = 0; i < STOPS_TOLD && is_told; i++) {
        if (ptrace(PTRACE_CONT, task->tid, NULL, (void *)(intptr_t)number) != 0)
            return false;
        (void)nanosleep(&pause, NULL);
        is_told = waitpid(task->tid, &status, __WALL | WNOHANG) == task->tid;
        if (is_told && !WIFSTOPPED(status))
            return false;
        number = is_told && status >> 16 != PTRACE_EVENT_STOP ? WSTOPSIG(status) : 0;
    }
    task->is_stopped = is_told && number == 0;
    if (task->is_stopped)
        return read_task(task);
    if (is_told)
        (void)ptrace(PTRACE_CONT, task->tid, NULL, (void *)(intptr_t)number);
    (void)ptrace(PTRACE_INTERRUPT, task->tid, NULL, NULL);
    return wait_for(task, &has_ended) && !has_ended && read_task(task);
}

static bool is_among(const struct ttp_agent_range *ranges, size_t count, uint64_t at)
{
    size_t i = 0;
    while (i < count && at - ranges[i].low >= ranges[i].high - ranges[i].low)
        i++;
    return i < count;
}

/* A task that is inside goes on alone until it is out, and stands there. Of many threads on few
 * processors only some run between two stops; so that takes a quarter of the stop more, and for
 * each thread as much as its own share is. A process that a signal has stopped does not go on
 * between stops: there it takes as long as it takes. */
bool ttp_stop_lead_out(struct ttp_stop *stop, const struct ttp_agent_range *code, size_t count)
{
    uint64_t now = ttp_attach_now_ns();
    uint64_t end = now + (now - stop->began_ns) / 4 + stop->count * LED_OUT_NS;
    bool is_nobody = true;
    for (size_t i = 0; i < stop->count; i++) {
        struct ttp_stopped_task *task = &stop->tasks[i];
        if (task->moved.from != 0) /* it waits there */
            continue;
        for (uint64_t ns = LEAST_NS; ns < MOST_NS && is_among(code, count, task->registers.rip);
             ns *= 2)
            if ((!task->is_held && ttp_attach_now_ns() > end) || !ttp_stop_run(task, ns))
                break;
        is_nobody &= !is_among(code, count, task->registers.rip);
    }
    return is_nobody;
}

/* What is left of the time that a stop may take: half of it is for looking at stacks. */
uint32_t ttp_stop_pages(const struct ttp_stop *stop)
{
    uint64_t more = (stop->stood_ns - stop->began_ns) / 4 + stop->count * THREAD_NS;
    return 1 + (uint32_t)(more / 2 / PAGE_NS);
}

static const char waits_for_kernel[] =
    "a thread does not stop: it waits in the kernel, for a disk or a child of vfork";

/* A list of threads ends early where one that is in it ends meanwhile: others behind it may run. */
static bool has_all(struct ttp_stop *stop)
{
    struct stat folder;
    bool is_first_ended =
        find_task(stop, (pid_t)stop->pid) == NULL && ttp_task_is_ended((pid_t)stop->pid);
    return fstat(dirfd(stop->folder), &folder) != 0 ||
           folder.st_nlink <= FOLDER_LINKS + stop->count + is_first_ended;
}

static const char *stop_tasks(struct ttp_stop *stop)
{
    const struct timespec pause = {0, PAUSE_NS}; /* for one that is about to be gone */
    uint64_t begun = ttp_attach_now_ns();
    bool is_any = true;
    for (uint32_t round = 0; is_any || !has_all(stop); round += is_any) {
        if (round == ROUNDS)
            return "it starts threads faster than they can be stopped";
        if (!is_any && ttp_attach_now_ns() - begun > PATIENCE_NS)
            return waits_for_kernel;
        if (!is_any)
            (void)nanosleep(&pause, NULL);
        if (!seize_new(stop, &is_any))
            return "the kernel does not let us trace it (another user's, with more rights, or "
                   "traced already)";
        if (!wait_for_all(stop))
            return waits_for_kernel;
    }
    return stop->count == 0 ? "it has ended" : read_registers(stop) ? NULL : "it is ending";
}

/* Each turn of a thread wakes it and then the recorder: on another processor either takes as long
 * as many calls. */
static void go_near(struct ttp_stop *stop)
{
    cpu_set_t one;
    int processor = ttp_task_processor((pid_t)stop->pid);
    CPU_ZERO(&one);
    if (processor < 0 || processor >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof stop->processors, &stop->processors) != 0 ||
        !CPU_ISSET(processor, &stop->processors))
        return;
    CPU_SET(processor, &one);
    stop->is_near = sched_setaffinity(0, sizeof one, &one) == 0;
}

/* A thread with short turns comes to its turn soon, which needs no right. Kernels from 6.12 on take
 * the length of an ordinary thread's turns from here. */
static void take_short_turns(struct ttp_stop *stop)
{
    if (syscall(SYS_sched_getattr, 0, &stop->turns, sizeof stop->turns, 0) != 0 ||
        stop->turns.policy != SCHED_OTHER)
        return;
    struct ttp_turns turns = stop->turns;
    turns.runtime = SHORT_TURN_NS;
    stop->has_short_turns = syscall(SYS_sched_setattr, 0, &turns, 0) == 0;
}

/* All that need not be done while it stands. */
static void make_ready(struct ttp_stop *stop, uint32_t pid)
{
    char status[64], tasks[64];
    (void)snprintf(status, sizeof status, "/proc/%u/status", pid);
    (void)snprintf(tasks, sizeof tasks, "/proc/%u/task", pid);
    *stop = (struct ttp_stop){.pid = pid,
                              .memory = ttp_memory_open(pid, O_RDWR),
                              .status = open(status, O_RDONLY | O_CLOEXEC),
                              .folder = opendir(tasks),
                              .room = ttp_frame_make()};
    listen_for_stops(stop);
    take_short_turns(stop);
    go_near(stop);
    if (stop->folder != NULL) /* what is read in a stop is at hand then */
        (void)readdir(stop->folder);
    (void)ttp_look_may_call(stop->status);
}

static const char *stop_once(struct ttp_stop *stop, uint32_t pid, struct ttp_stood *stood)
{
    make_ready(stop, pid);
    stop->began_ns = ttp_attach_now_ns();
    const char *why = stop->memory < 0     ? "its memory cannot be written to"
                      : stop->room == NULL ? "memory is short"
                                           : stop_tasks(stop);
    for (size_t i = 0; why == NULL && i < stop->count; i++)
        if ((stop->tasks[i].registers.cs & 0xffff) != USER_CODE)
            why = "it is a program of 32 bits";
    if (why != NULL)
        ttp_stop_end(stop, stood);
    return why;
}

/* Nobody stands still for a thread that waits in the kernel: it is tried again later. */
ttape_status ttp_stop_all(struct ttp_stop *stop, uint32_t pid, struct ttp_stood *stood,
                          ttape_error *err)
{
    const struct timespec pause = {0, PAUSE_LATER_NS};
    const char *why = waits_for_kernel;
    for (uint32_t i = 0; why == waits_for_kernel && i < ATTEMPTS; i++) {
        if (i != 0)
            (void)nanosleep(&pause, NULL);
        why = stop_once(stop, pid, stood);
    }
    stop->stood_ns = ttp_attach_now_ns();
    return why == NULL ? TTAPE_OK : ttp_attach_refuse(err, pid, "%s", why);
}
