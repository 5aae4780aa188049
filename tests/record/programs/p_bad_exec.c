/* Executes programs with pointers that cannot be read, and says what the system says to that. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define BAD  ((char *)8)

static void tell(const char *what, int result, int code)
{
    printf("%s: %d, %s\n", what, result, strerror(code));
}

static void execute(const char *what, const char *path, char **environment)
{
    char *arguments[] = {"true", NULL};
    errno = 0;
    int result = execve(path, arguments, environment);
    tell(what, result, errno);
}

int main(void)
{
    char *arguments[] = {"true", NULL}, *first[] = {BAD, NULL}, *second[] = {"A=b", BAD, NULL};
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0)
        return 2;
    memset(pages, 'L', PAGE);
    char *word[] = {pages + PAGE - 1, NULL};
    execute("no environment to read", "/bin/true", (char **)BAD);
    execute("first entry", "/bin/true", first);
    execute("second entry", "/bin/true", second);
    execute("an entry without an end", "/bin/true", word);
    execute("a path", BAD, second);
    char **row = (char **)(pages + PAGE) - 1;
    *row = "A=b";
    execute("a row without an end", "/bin/true", row);
    pid_t child;
    tell("posix_spawn", posix_spawn(&child, "/bin/true", NULL, NULL, arguments, (char **)BAD), 0);
    fflush(stdout);
    return fexecve(99, arguments, (char **)BAD) == -1 && errno != 0 ? 0 : 3;
}
