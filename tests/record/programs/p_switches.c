/* Threads, and a child, that compute and sleep in turns, and print how long each was on the CPU by
 * the kernel's count: tid, ns, naps. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define TURNS   8
#define NAP_NS  2000000
#define SPIN_NS 1500000

static int64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void __attribute__((noinline)) nap(void)
{
    struct timespec time = {0, NAP_NS};
    (void)nanosleep(&time, NULL);
}

static void __attribute__((noinline)) spin(void)
{
    int64_t end = cpu_ns() + SPIN_NS;
    while (cpu_ns() < end) /* the second decoder takes its time for each call */
        for (volatile int i = 0; i < 20000; i++)
            ;
}

static void *run(void *unused)
{
    int64_t before = cpu_ns();
    for (int i = 0; i < TURNS; i++) {
        spin();
        nap();
    }
    printf("%ld %lld %d\n", syscall(SYS_gettid), (long long)(cpu_ns() - before), TURNS);
    (void)fflush(stdout);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    pid_t child = fork();
    for (int i = 0; i < THREADS; i++)
        if (child != 0 && pthread_create(&threads[i], NULL, run, NULL) != 0)
            return 1;
    if (child == 0) {
        (void)run(NULL);
        exit(0);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    return waitpid(child, NULL, 0) != child;
}
