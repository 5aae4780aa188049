/* Says whether the kernel started it as a set-id program and what it finds in its environment and
 * in its memory of a tracer; then calls. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static void leaf(long n) { sink += n; }

int main(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    int seen = 0;
    for (long i = 0; i < 10000; i++)
        leaf(i);
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        seen |= strstr(line, "tracetape") != NULL;
    printf("secure %d uid %d euid %d mapped %d\n", getauxval(AT_SECURE) != 0, (int)getuid(),
           (int)geteuid(), seen);
    return 0;
}
