/* Preloaded into the recorder: it is killed right before one of the calls by which it changes
 * another process, or stops it: the KILL_AT-th, of those since there is a file KILL_FROM, where
 * that is said. And into the file STOPS_SAID goes, of each stop when the next one begins, how
 * often a task ran meanwhile, and on how many processors the recorder might; into STOPS_TOOK the
 * first task, and for how many nanoseconds it was held. Before the HOLD_AT-th stop since there is a
 * file HOLD_FROM it stops itself. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static unsigned long seen, runs;
static int is_let_go, processors;
static pid_t held;
static struct timespec begun, ended;

static void count_call(void)
{
    const char *at = getenv("KILL_AT"), *from = getenv("KILL_FROM");
    if (from != NULL && access(from, F_OK) != 0)
        return;
    if (at != NULL && ++seen == strtoul(at, NULL, 10))
        (void)raise(SIGKILL);
}

static void say(const char *variable, const char *line, int size)
{
    const char *path = getenv(variable);
    int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0)
        (void)!write(file, line, (size_t)size);
    if (file >= 0)
        (void)close(file);
}

static void say_stop(void)
{
    char line[64];
    say("STOPS_SAID", line, snprintf(line, sizeof line, "%lu %d\n", runs, processors));
    runs = 0;
}

__attribute__((destructor)) static void say_held(void)
{
    char line[64];
    long long took = (ended.tv_sec - begun.tv_sec) * 1000000000LL + ended.tv_nsec - begun.tv_nsec;
    if (held != 0)
        say("STOPS_TOOK", line, snprintf(line, sizeof line, "%d %lld\n", (int)held, took));
    held = 0;
}

static void hold(void)
{
    static unsigned long stops;
    const char *at = getenv("HOLD_AT"), *from = getenv("HOLD_FROM");
    if (at != NULL && from != NULL && access(from, F_OK) == 0 && ++stops == strtoul(at, NULL, 10))
        (void)raise(SIGSTOP);
}

static void begin_stop(pid_t task)
{
    say_held();
    hold();
    held = task;
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    ended = begun;
}

static void follow_stop(enum __ptrace_request request)
{
    if (request == PTRACE_SEIZE && is_let_go)
        say_stop();
    runs += request == PTRACE_CONT || request == PTRACE_SYSCALL;
    cpu_set_t any;
    if (request == PTRACE_DETACH && sched_getaffinity(0, sizeof any, &any) == 0)
        processors = CPU_COUNT(&any);
    is_let_go = request == PTRACE_DETACH || (is_let_go && request != PTRACE_SEIZE);
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list given;
    va_start(given, request);
    pid_t pid = va_arg(given, pid_t);
    void *address = va_arg(given, void *), *data = va_arg(given, void *);
    va_end(given);
    count_call();
    if (request == PTRACE_SEIZE && (is_let_go || held == 0))
        begin_stop(pid);
    long result = syscall(SYS_ptrace, request, pid, address, data);
    if (request == PTRACE_DETACH)
        (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    if (result == 0)
        follow_stop(request);
    return result;
}

ssize_t pwrite64(int file, const void *from, size_t bytes, off64_t at)
{
    count_call();
    return syscall(SYS_pwrite64, file, from, bytes, at);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count,
                          const struct iovec *remote, unsigned long remote_count,
                          unsigned long flags)
{
    count_call();
    return syscall(SYS_process_vm_writev, pid, local, local_count, remote, remote_count, flags);
}
