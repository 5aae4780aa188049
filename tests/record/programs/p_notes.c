/* Loads a library so often that all notes of what was patched have no room, while the recorder does
 * not look, and then executes a program without the runtime. */
#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOADS 300

#ifdef LIBRARY
int answers(void) { return 42; }
#else
static int load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    int (*answers)(void) = library == NULL ? NULL : (int (*)(void))dlsym(library, "answers");
    int answer = answers == NULL ? -1 : answers();
    if (library != NULL)
        dlclose(library);
    return answer;
}

int main(int count, char **words)
{
    char *none[] = {NULL}, *command[] = {"true", NULL};
    int sum = 0, status = -1;
    pid_t child;
    sum += load(words[count - 1]); /* its plan is there then */
    kill(getppid(), SIGSTOP);
    for (int i = 1; i < LOADS; i++)
        sum += load(words[count - 1]);
    if (posix_spawn(&child, "/bin/true", NULL, NULL, command, none) == 0)
        waitpid(child, &status, 0);
    kill(getppid(), SIGCONT);
    printf("%d %d\n", sum, status);
    return 0;
}
#endif
