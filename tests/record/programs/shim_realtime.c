/* Preloaded into a recorder: CLOCK_REALTIME is set forward by five seconds after a hundred looks at
 * it. The program that is recorded has its own. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOKS 100
#define STEP  5

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int looks;
    long status = syscall(SYS_clock_gettime, clock, time);
    if (status == 0 && clock == CLOCK_REALTIME &&
        strcmp(program_invocation_short_name, "tracetape") == 0 && ++looks > LOOKS)
        time->tv_sec += STEP;
    return (int)status;
}
