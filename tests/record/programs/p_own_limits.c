/* Calls, and what the program has of its own: limits, signals that are ignored. */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

__attribute__((noinline)) long f(long x) { return x * 3 + 1; }

int main(void)
{
    static const int kinds[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC};
    struct rlimit limit;
    struct sigaction action;
    long sum = 0;
    for (int i = 0; i < 10000; i++)
        sum = f(sum + i);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (getrlimit(kinds[i], &limit) == 0)
            printf("%d: %llu %llu\n", kinds[i], (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    for (int i = 1; i < 32; i++)
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf("ignored: %d\n", i);
    printf("%ld\n", sum);
    return 34;
}
