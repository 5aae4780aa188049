/* Children that no tracer may follow, by clone's own instruction: each asks for its parent, and
 * ends with 0 if the register of the call's flags is what it was, in both processes. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAGS ((unsigned long)CLONE_UNTRACED | SIGCHLD)

static long make(unsigned long *flags)
{
    long result;
    __asm__ volatile("xor %%r10d, %%r10d\n\txor %%r8d, %%r8d\n\tsyscall"
                     : "=a"(result), "+D"(*flags)
                     : "a"(SYS_clone), "S"(0), "d"(0)
                     : "rcx", "r8", "r10", "r11", "memory");
    return result;
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        unsigned long flags = FLAGS;
        long child = make(&flags);
        if (child == 0) {
            (void)syscall(SYS_getppid);
            _exit(flags != FLAGS);
        }
        int status = 1;
        if (child < 0 || flags != FLAGS || waitpid((pid_t)child, &status, 0) < 0 || status != 0)
            return 1;
    }
    puts("20 children");
    return 0;
}
