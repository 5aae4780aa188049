/* Two processes that call a function between two readings of the kernel's clock, and print these:
 * p_clock TIMES [HALF GO]. A line: thread, realtime, monotonic, monotonic, realtime, in
 * nanoseconds. Where two files are named, each makes the first one when half is done, and waits for
 * the second one. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

__attribute__((noinline)) void between(void) { __asm__ volatile(""); }

PLAIN static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

PLAIN static void wait_at_half(char **words)
{
    close(open(words[2], O_WRONLY | O_CREAT, 0600));
    for (int i = 0; i < 60000 && access(words[3], F_OK) != 0; i++)
        usleep(1000);
}

PLAIN int main(int count, char **words)
{
    int times = count >= 2 ? atoi(words[1]) : 0;
    pid_t child = fork();
    for (int i = 0; i < times; i++) {
        if (count == 4 && i == times / 2)
            wait_at_half(words);
        struct timespec pause = {0, 500000};
        uint64_t utc = now(CLOCK_REALTIME), before = now(CLOCK_MONOTONIC);
        between();
        uint64_t after = now(CLOCK_MONOTONIC), utc_after = now(CLOCK_REALTIME);
        char line[128];
        int size =
            snprintf(line, sizeof line, "%ld %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                     (long)syscall(SYS_gettid), utc, before, after, utc_after);
        if (write(1, line, (size_t)size) != size)
            return 2;
        nanosleep(&pause, NULL);
    }
    return child > 0 && waitpid(child, NULL, 0) != child;
}
