/* Processes in another namespace of process ids, without an exec: `p_namespaces
 * unshare|clone|setns`; each of a first process there, its second thread and its own child calls a
 * thousand times.
 * `p_namespaces proc`: before that child the namespace gets a /proc of its own.
 * `p_namespaces stays` leaves a child that never ends, in no other namespace. Status 77: the kernel
 * does not allow it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static void leaf(long n) { sink += n; }

__attribute__((noinline)) static void calls(void)
{
    for (long i = 0; i < 1000; i++)
        leaf(i);
}

__attribute__((no_instrument_function)) static void *other_thread(void *unused)
{
    calls();
    return unused;
}

__attribute__((no_instrument_function)) static int ended_well(pid_t child)
{
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Where the recorder's /proc was. */
__attribute__((no_instrument_function)) static int is_proc_put(void)
{
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", 0, NULL) == 0;
}

/* What runs as the first process of its namespace. */
__attribute__((no_instrument_function)) static int first(int puts_proc)
{
    pthread_t thread;
    if (getpid() != 1 && getpid() != 2)
        return 2;
    calls();
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 3;
    if (puts_proc && !is_proc_put())
        return 77;
    pid_t child = fork();
    if (child == 0) {
        calls();
        _exit(0);
    }
    return ended_well(child) ? 0 : 4;
}

__attribute__((no_instrument_function)) static int run_forked(int puts_proc)
{
    pid_t child = fork();
    if (child == 0)
        _exit(first(puts_proc));
    return ended_well(child) ? 0 : 5;
}

/* Into the namespace of a process that waits in it. */
__attribute__((no_instrument_function)) static int run_setns(void)
{
    char path[64];
    pid_t there = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    if (there == 0)
        for (;;)
            pause();
    (void)snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)there);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int result = fd < 0 || setns(fd, CLONE_NEWPID) != 0 ? 77 : run_forked(0);
    kill(there, SIGKILL);
    waitpid(there, NULL, 0);
    return result;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "unshare";
    calls();
    if (strcmp(way, "stays") == 0) {
        pid_t child = fork();
        if (child == 0) {
            calls();
            (void)!write(1, "called\n", 7);
            close(1);
            for (;;)
                pause();
        }
        return 0;
    }
    if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0)
        return 77;
    if (strcmp(way, "setns") == 0)
        return run_setns();
    if (strcmp(way, "clone") == 0) {
        pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
        if (child == 0)
            _exit(first(0));
        return ended_well(child) ? 0 : 6;
    }
    if (strcmp(way, "proc") == 0)
        return unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ? 77 : run_forked(1);
    return unshare(CLONE_NEWPID) != 0 ? 77 : run_forked(0);
}
