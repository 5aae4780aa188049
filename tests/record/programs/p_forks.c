/* A fork with frames open; children that work and leave by exit, _exit, or returning from main; a
 * child of a child. `p_forks [CHILDREN]` */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own.h"

ALONE static int compute(int n)
{
    IN;
    int result = n < 1 ? 1 : compute(n - 1) + n;
    OUT;
    return result;
}

ALONE static void leave(int number)
{
    IN;
    fflush(stdout);
    if (number % 3 == 1)
        exit(number);
    if (number % 3 == 2)
        _exit(number);
    OUT;
}

ALONE static pid_t fork_here(int number)
{
    IN;
    fflush(stdout);
    long forking = own_forking();
    pid_t child = fork();
    if (child == 0) {
        own_forked(forking);
        printf("child %d computes %d\n", number, compute(number));
        if (number == 4 && fork_here(5) == 0)
            compute(2);
        leave(number);
    } else {
        int status;
        compute(2);
        waitpid(child, &status, 0);
        printf("child %d ended with %d\n", number, WEXITSTATUS(status));
    }
    OUT;
    return child;
}

ALONE static pid_t deeper(int number)
{
    IN;
    pid_t child = fork_here(number);
    compute(1);
    OUT;
    return child;
}

int main(int argc, char **argv)
{
    IN;
    long count = own_argument(argc, argv, 1, 6);
    for (int i = 0; i < count; i++)
        if (deeper(i) == 0) {
            OUT;
            return i;
        }
    OUT;
    return 0;
}
