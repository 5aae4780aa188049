/* Executes what it is told to, each in the way that comes before it: execve, execvp, execl, execle,
 * execlp, spawn, vfork, system, failing. Prints how each ended. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) static int execute(const char *how, char *program)
{
    char *arguments[] = {program, NULL}, *nothing[] = {NULL};
    if (strcmp(how, "execve") == 0)
        return execve(program, arguments, environ);
    if (strcmp(how, "bare") == 0)
        return execve(program, arguments, nothing);
    if (strcmp(how, "execv") == 0)
        return execv(program, arguments);
    if (strcmp(how, "execvp") == 0)
        return execvp(program, arguments);
    if (strcmp(how, "execvpe") == 0)
        return execvpe(program, arguments, environ);
    if (strcmp(how, "execl") == 0)
        return execl(program, program, (char *)NULL);
    if (strcmp(how, "execle") == 0)
        return execle(program, program, (char *)NULL, environ);
    if (strcmp(how, "execlp") == 0)
        return execlp(program, program, (char *)NULL);
    if (strcmp(how, "fexecve") == 0)
        return fexecve(open(program, O_RDONLY | O_CLOEXEC), arguments, environ);
    return -1;
}

static pid_t start(const char *how, char *program)
{
    pid_t child = -1;
    char *arguments[] = {program, NULL};
    if (strcmp(how, "spawn") == 0)
        return posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0 ? child : -1;
    if (strcmp(how, "spawnp") == 0)
        return posix_spawnp(&child, program, NULL, NULL, arguments, environ) == 0 ? child : -1;
    if (strcmp(how, "vfork") == 0) {
        child = vfork();
        if (child == 0) {
            execve(program, arguments, environ);
            _exit(127);
        }
        return child;
    }
    child = fork();
    if (child == 0) {
        execute(how, program);
        execute("execve", "/nowhere/at-all"); /* nor does that succeed */
        _exit(126);
    }
    return child;
}

int main(int count, char **words)
{
    for (int i = 1; i + 1 < count; i += 2) {
        int status = -1;
        pid_t child = start(words[i], words[i + 1]);
        if (child > 0)
            (void)waitpid(child, &status, 0);
        printf("%s: %d\n", words[i], WIFEXITED(status) ? WEXITSTATUS(status) : -1);
        fflush(stdout);
    }
    return 0;
}
