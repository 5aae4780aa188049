/* Other programs from this one: `p_spawn vfork|spawn|system|popen|clone [TIMES]`. The new programs
 * are this one again (`p_spawn child N`), so that they are traced too, and /bin/true. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own.h"

extern char **environ;
static char self[512];

ALONE static long work(long n)
{
    IN;
    long result = n < 2 ? n : work(n - 1) + work(n - 2);
    OUT;
    return result;
}

/* Runs in the parent's memory: it must not become an event of the parent. */
ALONE static void borrowed_call(void) { __asm__ volatile("" ::: "memory"); }

ALONE static int by_vfork(long number)
{
    IN;
    int status = -1;
    char text[32];
    char *const arguments[] = {self, (char *)"child", text, NULL};
    snprintf(text, sizeof(text), "%ld", number);
    pid_t child = vfork();
    if (child == 0) {
        borrowed_call();
        execv(number % 3 == 2 ? "/bin/true" : self, arguments);
        _exit(127);
    }
    work(3);
    waitpid(child, &status, 0);
    OUT;
    return status;
}

ALONE static int by_spawn(long number)
{
    IN;
    int status = -1;
    pid_t child;
    char text[32];
    char *const arguments[] = {self, (char *)"child", text, NULL};
    snprintf(text, sizeof(text), "%ld", number);
    if (posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0) {
        work(3);
        waitpid(child, &status, 0);
    }
    OUT;
    return status;
}

ALONE static int by_system(long number)
{
    IN;
    char command[600];
    snprintf(command, sizeof(command), "%s child %ld && true", self, number);
    int status = system(command);
    work(2);
    OUT;
    return status;
}

ALONE static int by_popen(long number)
{
    IN;
    char command[600], line[64] = "";
    snprintf(command, sizeof(command), "%s child %ld", self, number);
    FILE *pipe = popen(command, "r");
    work(2);
    if (pipe == NULL || fgets(line, sizeof(line), pipe) == NULL)
        line[0] = '\0';
    printf("read %s", line);
    int status = pipe != NULL ? pclose(pipe) : -1;
    OUT;
    return status;
}

static int cloned(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        borrowed_call();
    return 0;
}

/* A process that shares the memory and even the thread pointer, on a stack of its own. */
ALONE static int by_clone(long number)
{
    IN;
    int status = -1;
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t child =
        clone(cloned, stack + 65536, CLONE_VM | SIGCHLD | (number % 2 ? CLONE_VFORK : 0), NULL);
    waitpid(child, &status, 0); /* nothing of ours runs at the same time: the state is shared */
    work(3);
    munmap(stack, 65536);
    OUT;
    return status;
}

static const struct {
    const char *name;
    int (*run)(long number);
} ways[] = {{"vfork", by_vfork},
            {"spawn", by_spawn},
            {"system", by_system},
            {"popen", by_popen},
            {"clone", by_clone}};

int main(int argc, char **argv)
{
    IN;
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const char *way = argc > 1 ? argv[1] : "vfork";
    long times = own_argument(argc, argv, 2, 5);
    if (size < 0)
        return 9;
    if (strcmp(way, "child") == 0) {
        printf("child %ld works %ld\n", times, work(times % 8));
        OUT;
        return 0;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        for (long k = 0; k < times && strcmp(ways[i].name, way) == 0; k++) {
            fflush(stdout);
            int status = ways[i].run(k);
            printf("%s %ld ended with %d\n", way, k, status);
        }
    OUT;
    return 0;
}
