/* A timer's handler forks, and the child goes on in whatever was interrupted, which is mostly a
 * hook, only when its parent has gone on for long. FORKS times. Prints how often each function ran
 * in the parent. */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN      __attribute__((no_instrument_function))
#define AT_ONCE    8
#define LATE_CALLS 3000

static volatile sig_atomic_t is_child, left, living;
static volatile uint64_t leaves, branches, forked_at;
static int doors[2];

__attribute__((noinline)) static void leaf(void) { leaves++; }

__attribute__((noinline)) static void branch(void)
{
    branches++;
    leaf();
    leaf();
}

PLAIN static void fork_here(int number)
{
    char word;
    (void)number;
    if (is_child || left <= 0 || living >= AT_ONCE)
        return;
    left--;
    living++;
    if (fork() == 0) {
        is_child = 1;
        (void)!read(doors[0], &word, 1);
    }
}

int main(int count, char **words)
{
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    left = count > 1 ? atoi(words[1]) : 100;
    if (pipe(doors) != 0)
        return 1;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (left > 0 || living > 0) {
        branch();
        if (is_child)
            _exit(0);
        if (living > 0 && branches - forked_at > LATE_CALLS) {
            forked_at = branches;
            (void)!write(doors[1], "x", 1);
            while (waitpid(-1, NULL, WNOHANG) > 0)
                __atomic_fetch_sub(&living, 1, __ATOMIC_RELAXED); /* the handler counts, too */
        }
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("branch %llu leaf %llu\n", (unsigned long long)branches, (unsigned long long)leaves);
    return 0;
}
