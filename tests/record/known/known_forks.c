/* Children that are forked in the middle of calls, and end by _exit or return through them.
 * Known: main 1, parent_work 4, child_work 4, forks 4, deeper 4, burn 4 */
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

ALONE static void child_work(long n)
{
    IN;
    sink += n;
    burn(2);
    sink += n;
    OUT;
}

ALONE static void parent_work(long n)
{
    IN;
    sink += n;
    OUT;
}

ALONE static int deeper(long n)
{
    IN;
    long number = own_forking();
    pid_t child = fork();
    if (child == 0) {
        own_forked(number);
        child_work(n);
        if (n % 2 == 0)
            _exit(3);
    } else {
        int status;
        waitpid(child, &status, 0);
        parent_work(n);
    }
    sink++;
    OUT;
    return child == 0;
}

ALONE static int forks(long n)
{
    IN;
    int is_child = deeper(n);
    sink++;
    OUT;
    return is_child;
}

int main(void)
{
    IN;
    for (long i = 0; i < 4; i++)
        if (forks(i)) {
            OUT;
            return 5;
        }
    sink++;
    OUT;
    return 0;
}
