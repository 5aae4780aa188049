/* System calls whose arguments are of 32 bits, with others above these, which the kernel does not
 * look at. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    const uint64_t above = UINT64_C(0xfeedface00000000);
    struct timespec none = {0, 0};
    uint32_t word = 1;
    syscall(SYS_alarm, above | 42);
    syscall(SYS_alarm, above);
    syscall(SYS_inotify_init1, above | IN_CLOEXEC);
    syscall(SYS_chown, "nofile", UINT64_C(4207869677), 1001);
    syscall(SYS_chown, "nofile", -1, UINT64_C(4294967295));
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, UINT64_C(4207869677), &none);
    syscall(SYS_openat, AT_FDCWD, "nofile", O_RDWR | O_CLOEXEC);
    return 0;
}
