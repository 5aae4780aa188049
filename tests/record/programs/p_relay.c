/* A relay: each process forks the next and is gone, faster than anybody can look through all
 * processes; the last one works on: `p_relay RESULT`. It writes RESULT.part and renames it. */
#include <stdio.h>
#include <unistd.h>

#include "own.h"

#define GENERATIONS 100

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

int main(int argc, char **argv)
{
    IN;
    char part[600];
    long sum = 0;
    if (argc < 2)
        return 2;
    for (int i = 0; i < GENERATIONS; i++)
        hand_over();
    for (int i = 0; i < 10; i++) {
        usleep(10000);
        sum += work(8);
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
