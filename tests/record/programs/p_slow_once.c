/* Twenty sleeps of a millisecond, and one of sixty. */
#include <time.h>

int main(void)
{
    for (int i = 0; i < 21; i++) {
        struct timespec time = {0, i == 10 ? 60000000 : 1000000};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    }
    return 0;
}
