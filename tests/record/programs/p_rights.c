/* Executes a program: HOW PROGRAM. A child does (fork, vfork), another thread than the first, this
 * process itself, or a child after a program that is not there (fails). Prints nothing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *words[3] = {NULL, "-u", NULL};

static void *execute(void *unused)
{
    (void)execv(words[0], words);
    return unused;
}

int main(int count, char **given)
{
    if (count < 3)
        return 2;
    const char *how = given[1];
    pthread_t thread;
    int status = 1;
    words[0] = "/nowhere";
    if (strcmp(how, "fails") == 0)
        (void)execute(NULL);
    words[0] = given[2];
    if (strcmp(how, "itself") == 0)
        (void)execute(NULL);
    if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, execute, NULL) == 0)
        for (;;)
            (void)pause();
    pid_t child = strcmp(how, "vfork") == 0 ? vfork() : fork();
    if (child == 0) {
        (void)execv(words[0], words);
        _exit(9);
    }
    (void)waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
