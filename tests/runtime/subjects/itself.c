/* A program that records itself by one call. Arguments: the file, how to end (`stop`, `exit`,
 * `_exit`, `fork`). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracetape/runtime.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE void leaf(void) { sink++; }

int main(int count, char **arguments)
{
    ttape_rt_options options;
    const char *end = count > 2 ? arguments[2] : "";
    memset(&options, 0, sizeof(options));
    options.size = sizeof(options);
    leaf();
    if (ttape_rt_start(arguments[1], &options) != 0)
        return 1;
    if (ttape_rt_start(arguments[1], &options) == 0)
        return 2;
    for (int i = 0; i < 100; i++)
        leaf();
    if (strcmp(end, "fork") == 0) {
        pid_t pid = fork();
        if (pid == 0) {
            leaf();
            exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (status != 0)
            return 3;
    }
    if (strcmp(end, "_exit") == 0)
        _exit(0);
    if (strcmp(end, "stop") == 0 && ttape_rt_stop() != 0)
        return 4;
    if (strcmp(end, "stop") == 0)
        leaf();
    return 0;
}
