/* Opens, copies, inherits and closes descriptors, and fails: which file each is about is known. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char bytes[64];

__attribute__((noinline)) void writes(int fd, int count)
{
    for (int i = 0; i < count; i++)
        if (write(fd, bytes, 10) != 10)
            _exit(9);
}

__attribute__((noinline)) void asks(void)
{
    struct stat info;
    for (int i = 0; i < 5; i++)
        if (stat("missing", &info) == 0)
            _exit(9);
    if (mkdir("folder", 0700) == 0)
        _exit(9);
}

__attribute__((noinline)) void reads_below(const char *folder)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY), fd = openat(at, "inside", O_RDONLY);
    while (read(fd, bytes, sizeof(bytes)) > 0)
        continue;
    close(fd);
    close(at);
}

/* What is executed has one of these descriptors, and not the other one. */
static void ask(char **numbers)
{
    _exit(fcntl(atoi(numbers[1]), F_GETFD) != 0 || fcntl(atoi(numbers[2]), F_GETFD) >= 0);
}

int main(int argc, char **argv)
{
    char kept[16], gone[16];
    if (argc > 2)
        ask(argv);
    int log = open("app.log", O_CREAT | O_WRONLY | O_TRUNC, 0600), copy = dup(log);
    close(log);
    int other = open("other", O_CREAT | O_WRONLY, 0600); /* it has the number of the first */
    writes(copy, 3);
    writes(other, 2);
    asks();
    reads_below("folder");
    int both[2];
    (void)!pipe(both);
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    struct stat info;
    void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fstatat(end, "", &info, AT_EMPTY_PATH) != 0 || memory == MAP_FAILED)
        return 9;
    close(end);
    if (fork() == 0) {
        writes(copy, 4);
        close(other);
        (void)fcntl(other, F_GETFD);
        (void)snprintf(kept, sizeof(kept), "%d", copy);
        (void)snprintf(gone, sizeof(gone), "%d", open("folder/inside", O_RDONLY | O_CLOEXEC));
        execl("/proc/self/exe", "again", kept, gone, (char *)NULL);
        _exit(9);
    }
    int status = 1;
    return wait(&status) < 0 || status != 0;
}
