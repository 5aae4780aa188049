/* Executes this program again, in the way of the first argument, in an environment of its own:
 * empty, or of so many entries as the second says, of so many bytes as the third. What it is then
 * called with "shows" prints all entries but the recorder's, and calls a function. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) static int is_ours(const char *entry)
{
    return strncmp(entry, "TRACETAPE_ARENA=", 16) == 0 || strncmp(entry, "LD_PRELOAD=", 11) == 0;
}

static int show(void)
{
    size_t count = 0, bytes = 0, ours = 0;
    for (char **at = environ; *at != NULL; at++) {
        ours += is_ours(*at);
        count += !is_ours(*at);
        bytes += is_ours(*at) ? 0 : strlen(*at);
    }
    printf("shows: %zu entries, %zu bytes%s\n", count, bytes, ours > 2 ? ", too many" : "");
    return 3;
}

static char **make(size_t count, size_t bytes)
{
    char **entries = calloc(count + 1, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        entries[i] = malloc(bytes + 1);
        memset(entries[i], 'x', bytes);
        entries[i][0] = 'a';
        entries[i][1] = '=';
        entries[i][bytes] = '\0';
    }
    return entries;
}

static void execute(const char *how, char *self, char **entries)
{
    char *words[] = {self, "shows", NULL};
    if (strcmp(how, "execve") == 0)
        execve(self, words, entries);
    else if (strcmp(how, "nothing") == 0)
        execve(self, words, NULL);
    else if (strcmp(how, "execle") == 0)
        execle(self, self, "shows", (char *)NULL, entries);
    else if (strcmp(how, "execvpe") == 0)
        execvpe(self, words, entries);
    else if (strcmp(how, "fexecve") == 0)
        fexecve(open(self, O_RDONLY), words, entries);
    else if (strcmp(how, "execveat") == 0)
        execveat(open(self, O_PATH), "", words, entries, AT_EMPTY_PATH);
    else if (strcmp(how, "syscall") == 0)
        syscall(SYS_execve, self, words, entries);
    environ = entries;
    if (strcmp(how, "execv") == 0)
        execv(self, words);
    else if (strcmp(how, "execvp") == 0)
        execvp(self, words);
    else if (strcmp(how, "execl") == 0)
        execl(self, self, "shows", (char *)NULL);
    else if (strcmp(how, "execlp") == 0)
        execlp(self, self, "shows", (char *)NULL);
}

static pid_t start(const char *how, char *self, char **entries)
{
    pid_t child = -1;
    char *words[] = {self, "shows", NULL};
    if (strcmp(how, "spawn") == 0 || strcmp(how, "spawnp") == 0) {
        int error = how[5] == 'p' ? posix_spawnp(&child, self, NULL, NULL, words, entries)
                                  : posix_spawn(&child, self, NULL, NULL, words, entries);
        errno = error;
        return error == 0 ? child : -1;
    }
    if (strcmp(how, "vfork") == 0) {
        child = vfork();
        if (child == 0) {
            execve(self, words, entries);
            _exit(errno);
        }
        return child;
    }
    child = fork();
    if (child == 0) {
        execute(how, self, entries);
        _exit(errno);
    }
    return child;
}

/* By a shell, which says nothing of its own. */
static int shell(const char *how, const char *self, char **entries)
{
    char command[4200], line[256] = "";
    snprintf(command, sizeof command, "exec %s shows", self);
    environ = entries;
    if (strcmp(how, "system") == 0)
        return system(command);
    FILE *pipe = popen(command, "r");
    while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL)
        fputs(line, stdout);
    return pipe != NULL ? pclose(pipe) : -1;
}

int main(int count, char **words)
{
    int status = -1;
    if (count < 4)
        return show();
    char **entries = make(strtoul(words[2], NULL, 10), strtoul(words[3], NULL, 10));
    if (strcmp(words[1], "system") == 0 || strcmp(words[1], "popen") == 0) {
        status = shell(words[1], words[0], entries);
        printf("%zu entries of its own\n", environ == entries ? strtoul(words[2], NULL, 10) : 0);
    } else {
        pid_t child = start(words[1], words[0], entries);
        if (child < 0 || waitpid(child, &status, 0) != child)
            status = errno << 8;
    }
    printf("%s: %d\n", words[1], WEXITSTATUS(status));
    return 0;
}
