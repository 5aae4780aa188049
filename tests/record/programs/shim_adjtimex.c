/* Preloaded into a recorder: the kernel says 7 ms at first, and 3 ms later. */
#include <string.h>
#include <sys/timex.h>

int adjtimex(struct timex *kernel)
{
    static int looks;
    memset(kernel, 0, sizeof *kernel);
    kernel->maxerror = looks++ == 0 ? 7000 : 3000;
    return TIME_OK;
}
