/* Becomes a daemon by two forks and works on behind the back of who started it: `p_daemon RESULT
 * [N]`. With N it first hands over N times: each process forks the next and is gone, faster than
 * anybody can look through all processes. It writes what it found into the file RESULT.part and
 * renames that to RESULT when it is done. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own.h"

ALONE static long work(long n)
{
    IN;
    long result = n < 2 ? n : work(n - 1) + work(n - 2);
    OUT;
    return result;
}

ALONE static void hand_over(void)
{
    IN;
    long forking = own_forking();
    if (fork() != 0)
        _exit(0);
    own_forked(forking);
    OUT;
}

ALONE static void detach(void)
{
    IN;
    long forking = own_forking();
    if (fork() != 0)
        exit(0);
    own_forked(forking);
    setsid();
    hand_over();
    umask(022);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    OUT;
}

int main(int argc, char **argv)
{
    IN;
    char part[600];
    if (argc < 2)
        return 2;
    printf("starting\n");
    fflush(stdout);
    detach();
    for (long i = argc > 2 ? strtol(argv[2], NULL, 10) : 0; i > 0; i--)
        hand_over();
    long sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += work(8);
        usleep(10000);
    }
    snprintf(part, sizeof(part), "%s.part", argv[1]);
    FILE *file = fopen(part, "w");
    if (file == NULL)
        return 3;
    fprintf(file, "sum %ld\n", sum);
    fclose(file);
    rename(part, argv[1]);
    OUT;
    return 0;
}
