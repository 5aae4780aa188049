/* Children that no tracer may follow, 20 or as many as is said, by the instructions of clone and
 * clone3: each asks for its parent, and ends with 0 if the register of the call's flags, or of
 * where these are, is what it was in both processes, and so are the flags. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAGS ((unsigned long)CLONE_UNTRACED | SIGCHLD)

static long make(long number, unsigned long *first, unsigned long second)
{
    long result;
    __asm__ volatile("xor %%r10d, %%r10d\n\txor %%r8d, %%r8d\n\tsyscall"
                     : "=a"(result), "+D"(*first)
                     : "a"(number), "S"(second), "d"(0)
                     : "rcx", "r8", "r10", "r11", "memory");
    return result;
}

int main(int count, char **words)
{
    int children = count > 1 ? atoi(words[1]) : 20;
    for (int i = 0; i < children; i++) {
        volatile unsigned long arguments[8] = {CLONE_UNTRACED, 0, 0, 0, SIGCHLD};
        unsigned long wanted = i % 2 ? (unsigned long)arguments : FLAGS, first = wanted;
        long child =
            i % 2 ? make(SYS_clone3, &first, sizeof(arguments)) : make(SYS_clone, &first, 0);
        int is_other = first != wanted || arguments[0] != CLONE_UNTRACED;
        if (child == 0) {
            (void)syscall(SYS_getppid);
            _exit(is_other);
        }
        int status = 1;
        if (child < 0 || is_other || waitpid((pid_t)child, &status, 0) < 0 || status != 0)
            return 1;
    }
    printf("%d children\n", children);
    return 0;
}
