/* Runs a command and says what it took:
 *
 *   run_measured RESULT OUTPUT COMMAND [ARGUMENT]...
 *
 * RESULT gets one line of JSON: wall, user and system seconds, peak resident KiB, bytes read by
 * system calls (-1 where the kernel does not count them), exit status. OUTPUT is where the
 * command's standard output goes. A small program of its own, since a process that a large one
 * forks starts with the large one's peak. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* Of a child that has ended and was not waited for yet. */
static long long bytes_read(pid_t child)
{
    char name[64], line[128];
    long long bytes = -1;
    snprintf(name, sizeof(name), "/proc/%ld/io", (long)child);
    FILE *file = fopen(name, "r");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "rchar:", 6) == 0)
            bytes = atoll(line + 6);
    fclose(file);
    return bytes;
}

static void run_command(const char *output, char **command)
{
    int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        perror(output);
        _exit(126);
    }
    close(fd);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct rusage usage;
    siginfo_t ended;
    int status = 0;
    if (argc < 4) {
        fprintf(stderr, "usage: run_measured RESULT OUTPUT COMMAND [ARGUMENT]...\n");
        return 2;
    }
    double start = now();
    pid_t child = fork();
    if (child == 0)
        run_command(argv[2], argv + 3);
    if (child < 0 || waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) != 0) {
        perror("run_measured");
        return 2;
    }
    double wall = now() - start;
    long long read_bytes = bytes_read(child);
    if (wait4(child, &status, 0, &usage) != child) {
        perror("run_measured");
        return 2;
    }
    FILE *result = fopen(argv[1], "w");
    if (result == NULL) {
        perror(argv[1]);
        return 2;
    }
    fprintf(result,
            "{\"wall\": %.6f, \"user\": %.6f, \"sys\": %.6f, \"max_rss_kib\": %ld, "
            "\"read_bytes\": %lld, \"status\": %d}\n",
            wall, seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss, read_bytes,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return fclose(result) == 0 ? 0 : 2;
}
