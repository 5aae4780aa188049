/* System calls that no kernel has, and of x32, by their numbers; each fails. */
#include <errno.h>
#include <unistd.h>

int main(void)
{
    static const long numbers[] = {999, -1, 0x40000027, 4095, 4096, 65535, 1000000};
    int failed = 0;
    for (unsigned turn = 0; turn < 3; turn++)
        for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
            failed += syscall(numbers[i]) == -1 && errno == ENOSYS;
    return failed;
}
