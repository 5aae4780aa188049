/* fork in the middle of calls, vfork, posix_spawn, system, exec: argument 1 says which. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

extern char **environ;
static volatile int sink;
static const char *self;

NOINLINE void leaf(void) { sink++; }
NOINLINE void wait_for(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0)
        abort();
}
NOINLINE void child(void)
{
    leaf();
    _exit(0);
}
NOINLINE void inner_fork(void)
{
    leaf();
    pid_t pid = fork();
    if (pid == 0) {
        leaf();
        return; /* and on, in the frames that were open */
    }
    wait_for(pid);
}
NOINLINE void outer_fork(void)
{
    pid_t before = getpid();
    inner_fork();
    leaf();
    if (getpid() != before)
        exit(0);
}
NOINLINE void raw_fork(void)
{
    pid_t pid = (pid_t)syscall(SYS_fork);
    if (pid == 0)
        child();
    wait_for(pid);
}
NOINLINE void run_in_child(const char *what)
{
    leaf();
    execl(self, self, what, (char *)NULL);
    _exit(127);
}
NOINLINE void by_vfork(void)
{
    leaf();
    pid_t pid = vfork();
    if (pid == 0)
        run_in_child("leaf");
    leaf();
    wait_for(pid);
}
NOINLINE void failing_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        leaf();
        execl("/nonexistent", "x", (char *)NULL);
        leaf();
        _exit(0);
    }
    leaf();
    wait_for(pid);
}
NOINLINE void by_spawn(void)
{
    pid_t pid;
    char *arguments[] = {(char *)self, "leaf", NULL};
    if (posix_spawn(&pid, self, NULL, NULL, arguments, environ) != 0)
        abort();
    wait_for(pid);
    leaf();
}
NOINLINE void by_system(void)
{
    char command[4200];
    snprintf(command, sizeof(command), "'%s' leaf", self);
    if (system(command) != 0)
        abort();
    leaf();
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    self = arguments[0];
    if (strcmp(what, "leaf") == 0)
        leaf();
    else if (strcmp(what, "fork") == 0)
        outer_fork();
    else if (strcmp(what, "raw") == 0)
        raw_fork();
    else if (strcmp(what, "vfork") == 0)
        by_vfork();
    else if (strcmp(what, "failing") == 0)
        failing_vfork();
    else if (strcmp(what, "spawn") == 0)
        by_spawn();
    else if (strcmp(what, "system") == 0)
        by_system();
    else if (strcmp(what, "exec") == 0)
        run_in_child("leaf");
    return 0;
}
