/* A program that executes itself, from within calls, twice.
 * Known: main 3, turn 3, prepares 3, executes 2, burn 1 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "known.h"

ALONE static void prepares(long n)
{
    IN;
    sink += n;
    OUT;
}

ALONE static void executes(const char *path, long n)
{
    IN;
    char text[8];
    snprintf(text, sizeof(text), "%ld", n);
    execl(path, path, text, (char *)NULL);
    sink++;
    OUT;
}

ALONE static void turn(const char *path, long n)
{
    IN;
    prepares(n);
    if (n > 0)
        executes(path, n - 1);
    burn(20);
    OUT;
}

int main(int argc, char **argv)
{
    IN;
    turn(argv[0], argc > 1 ? atol(argv[1]) : 2);
    sink++;
    OUT;
    return 6;
}
