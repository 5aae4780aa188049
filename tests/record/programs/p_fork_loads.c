/* A child, then its parent, loads a library and unloads it within calls that were entered while
 * both had the same ones mapped: `p_fork_loads LIBRARY [NAPS]`; naps are the child's, within the
 * call. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own.h"

ALONE static long leaf(long n)
{
    IN;
    long result = n + 1;
    OUT;
    return result;
}

ALONE static void nap(void)
{
    IN;
    for (int i = 0; i < 50; i++)
        leaf(i);
    usleep(2000);
    OUT;
}

ALONE static long load(const char *path, long naps)
{
    IN;
    long result = leaf(1);
    void *handle = dlopen(path, RTLD_NOW);
    if (handle == NULL)
        printf("%s\n", dlerror());
    result += leaf(result) + (handle != NULL ? dlclose(handle) : 0);
    for (long i = 0; i < naps; i++)
        nap();
    OUT;
    return result;
}

ALONE static void work(const char *path, long naps)
{
    IN;
    leaf(0);
    printf("loaded: %ld\n", load(path, naps));
    leaf(2);
    OUT;
}

ALONE static void fork_here(char **argv, long naps)
{
    IN;
    fflush(stdout);
    long forking = own_forking();
    pid_t child = fork();
    if (child == 0) {
        own_forked(forking);
        work(argv[1], naps);
        fflush(stdout);
    } else {
        int status;
        leaf(3);
        waitpid(child, &status, 0);
        work(argv[1], 0);
        printf("child ended with %d\n", WEXITSTATUS(status));
    }
    OUT;
}

int main(int argc, char **argv)
{
    IN;
    if (argc < 2)
        return 2;
    fork_here(argv, own_argument(argc, argv, 2, 0));
    leaf(4);
    OUT;
    return 0;
}
