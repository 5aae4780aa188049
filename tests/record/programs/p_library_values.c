/* Library calls with arguments and results that it prints itself, as `dump` has to show them. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char text[4096];
static size_t used;

#define SAY(...) (used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__))

int main(void)
{
    char *nowhere = (char *)16, *copy;
    int file = open("/dev/zero", O_RDONLY);
    SAY("open(\"/dev/zero\", O_RDONLY) = %d\n", file);
    static char seven[7];
    (void)!read(file, seven, 7);
    SAY("read(%d, %p, 7) = 7\n", file, (void *)seven);
    SAY("lseek(%d, -1, SEEK_CUR) = %ld\n", file, (long)lseek(file, -1, SEEK_CUR));
    SAY("close(%d) = %d\n", file, close(file));
    SAY("close(-3) = %d\n", close(-3));
    SAY("access(0x10, F_OK) = %d\n", access(nowhere, F_OK));
    SAY("access(\"/no/such\", R_OK) = %d\n", access("/no/such", R_OK));
    SAY("strlen(\"some text\") = %zu\n", strlen("some text"));
    SAY("strcmp(\"a\", \"a\") = %d\n", strcmp("a", "a"));
    SAY("strchr(\"abc\", 98) = \"%s\"\n", strchr("abc", 'b'));
    SAY("strrchr(\"abcb\", 98) = \"%s\"\n", strrchr("abcb", 'b'));
    SAY("strtol(\"-42x\", 0x0, 10) = %ld\n", strtol("-42x", NULL, 10));
    SAY("strtoul(\"ff\", 0x0, 16) = %lu\n", strtoul("ff", NULL, 16));
    SAY("abs(-5) = %d\n", abs(-5));
    copy = strdup("copied");
    SAY("free(%p)\n", (void *)copy);
    free(copy);
    copy = malloc(100);
    SAY("malloc(100) = %p\n", (void *)copy);
    SAY("strcpy(%p, \"copy\") = %p\n", (void *)copy, (void *)strcpy(copy, "copy"));
    SAY("sysconf(30) = %ld\n", sysconf(30));
    SAY("geteuid() = %u\n", (unsigned)geteuid());
    SAY("getenv(\"NO_SUCH_NAME\") = %s\n", getenv("NO_SUCH_NAME") == NULL ? "0x0" : "?");
    SAY("setenv(\"SOME_NAME\", \"its value\", 1) = %d\n", setenv("SOME_NAME", "its value", 1));
    SAY("getenv(\"SOME_NAME\") = \"%s\"\n", getenv("SOME_NAME"));
    SAY("umask(022) = %u\n", (unsigned)umask(022));
    SAY("mkdir(\"\", 0777) = %d\n", mkdir("", 0777));
    /* The upper half of a register that holds 32 bits is not part of the argument. */
    mode_t (*wide)(unsigned long) = (mode_t(*)(unsigned long))(void *)umask;
    SAY("umask(022) = %u\n", (unsigned)wide(0xdead00000012));
    static char four[4] = {'a', 'b', 'c', 'd'}, other[4] = {'a', 'b', 'c', 'd'}; /* no strings */
    SAY("strncmp(%p, %p, 4) = %d\n", (void *)four, (void *)other, strncmp(four, other, 4));
    SAY("chdir(\"/\") = %d\n", chdir("/"));
    SAY("isatty(77) = %d\n", isatty(77));
    SAY("dup2(1, 1) = %d\n", dup2(1, 1));
    SAY("kill(%d, 0) = %d\n", (int)getpid(), kill(getpid(), 0));
    SAY("kill(%d, SIGCONT) = %d\n", (int)getpid(), kill(getpid(), SIGCONT));
    SAY("unlink(\"/no/such\") = %d\n", unlink("/no/such"));
    SAY("rename(\"/no/a\", \"/no/b\") = %d\n", rename("/no/a", "/no/b"));
    fwrite(text, 1, used, stdout);
    return fflush(stdout) != 0;
}
