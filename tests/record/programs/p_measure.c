/* System calls that cost a known number of something: page faults of a read into new memory,
 * context switches of a pause; and none. */

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGES 64
#define SIZE  (PAGES * 4096)

int main(void)
{
    const struct timespec pause = {0, 1000000};
    int zero = open("/dev/zero", O_RDONLY);
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (zero < 0 || memory == MAP_FAILED || madvise(memory, SIZE, MADV_NOHUGEPAGE) != 0)
        return 9;
    for (int i = 0; i < 20; i++)
        (void)syscall(SYS_getppid);
    if (pread(zero, memory, SIZE, 0) != SIZE)
        return 8;
    for (int i = 0; i < 5; i++)
        (void)nanosleep(&pause, NULL);
    return 3;
}
