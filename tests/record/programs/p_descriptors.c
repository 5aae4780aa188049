/* Takes all descriptors away from whoever may have kept one, opens its own files at the same
 * numbers, and checks at the end that they hold what it wrote and nothing else: `p_descriptors
 * range|from|dup|all DIRECTORY`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 40

static volatile long sink;

__attribute__((noinline)) static void leaf(long n) { sink += n; }

__attribute__((noinline)) static void calls(long count)
{
    for (long i = 0; i < count; i++)
        leaf(i);
}

__attribute__((noinline)) static int own_file(const char *directory, int number)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/own.%02d", directory, number);
    return open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
}

__attribute__((noinline)) static void fill(int fd, int number, int rounds)
{
    char line[64];
    for (int i = 0; i < rounds; i++) {
        int size = snprintf(line, sizeof(line), "file %d line %d\n", number, i);
        if (write(fd, line, (size_t)size) != size)
            exit(8);
        calls(20);
    }
}

__attribute__((noinline)) static int check(int fd, int number, int rounds)
{
    char line[64], *text = calloc(1, 65536);
    size_t at = 0;
    ssize_t got = pread(fd, text, 65535, 0);
    for (int i = 0; i < rounds; i++) {
        int size = snprintf(line, sizeof(line), "file %d line %d\n", number, i);
        if (memcmp(text + at, line, (size_t)size) != 0)
            return 1;
        at += (size_t)size;
    }
    free(text);
    return got != (ssize_t)at;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "range", *directory = argc > 2 ? argv[2] : ".";
    int fds[FILES], bad = 0;
    calls(1000);
    if (strcmp(way, "range") == 0)
        close_range(3, ~0u, 0);
    if (strcmp(way, "from") == 0)
        closefrom(3);
    if (strcmp(way, "all") == 0)
        close_range(0, ~0u, 0); /* even the standard ones: the next files get their numbers */
    for (int i = 0; i < FILES; i++)
        fds[i] = own_file(directory, i);
    if (strcmp(way, "dup") == 0)
        for (int i = 0; i < FILES; i++) {
            int low = dup2(fds[i], 60 + i);
            fds[i] = low;
        }
    for (int i = 0; i < FILES; i++)
        fill(fds[i], i, 50);
    calls(100000);
    for (int i = 0; i < FILES; i++)
        bad += check(fds[i], i, 50);
    calls(1000);
    if (strcmp(way, "all") != 0)
        printf("bad %d\n", bad);
    return bad == 0 ? 0 : 5;
}
