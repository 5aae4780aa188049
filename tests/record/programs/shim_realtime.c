/* Preloaded into a recorder: CLOCK_REALTIME is set forward by five seconds as soon as there is a
 * file STEP_FROM; the first look at it then makes the file STEP_SAID. The program that is recorded
 * has its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEP 5

static int is_stepped(void)
{
    const char *from = getenv("STEP_FROM"), *said = getenv("STEP_SAID");
    if (from == NULL || said == NULL || access(from, F_OK) != 0)
        return 0;
    if (access(said, F_OK) != 0)
        (void)close(open(said, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return 1;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    long status = syscall(SYS_clock_gettime, clock, time);
    if (status == 0 && clock == CLOCK_REALTIME &&
        strcmp(program_invocation_short_name, "tracetape") == 0 && is_stepped())
        time->tv_sec += STEP;
    return (int)status;
}
