/* stops_empty PID COUNT: stops all tasks of a process COUNT times, reads their registers and lets
 * them go, as who attaches does and nothing else; the nanoseconds of each stop, a line each. */
#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define MOST 4096

static uint64_t now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* How many are seized that were not yet; -1: one cannot be. */
static int seize_new(const char *folder, pid_t *tasks, size_t *count)
{
    DIR *list = opendir(folder);
    struct dirent *entry;
    int found = 0;
    while (list != NULL && (entry = readdir(list)) != NULL) {
        pid_t tid = atoi(entry->d_name);
        size_t i = 0;
        while (i < *count && tasks[i] != tid)
            i++;
        if (tid <= 0 || i < *count)
            continue;
        if (*count == MOST || ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 ||
            ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
            found = -1;
        else {
            tasks[(*count)++] = tid;
            found += found >= 0;
        }
    }
    if (list == NULL || closedir(list) != 0)
        return -1;
    return found;
}

static int stop(const char *folder)
{
    pid_t tasks[MOST];
    struct user_regs_struct registers;
    size_t count = 0, waited = 0;
    int found;
    while ((found = seize_new(folder, tasks, &count)) > 0)
        for (int status; waited < count; waited++)
            if (waitpid(tasks[waited], &status, __WALL) != tasks[waited] || !WIFSTOPPED(status))
                return -1;
    for (size_t i = 0; i < count; i++)
        if (ptrace(PTRACE_GETREGS, tasks[i], NULL, &registers) != 0)
            found = -1;
    while (count > 0)
        (void)ptrace(PTRACE_DETACH, tasks[--count], NULL, NULL);
    return found;
}

int main(int argc, char **argv)
{
    char folder[64];
    if (argc != 3)
        return 2;
    (void)snprintf(folder, sizeof folder, "/proc/%d/task", atoi(argv[1]));
    for (int i = 0; i < atoi(argv[2]); i++) {
        uint64_t begin = now();
        if (stop(folder) != 0)
            return 1;
        printf("%" PRIu64 "\n", now() - begin);
    }
    return 0;
}
