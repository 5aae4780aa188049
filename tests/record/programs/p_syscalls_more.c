/* Known system calls where stacks and processes are unusual: "thread" executes another program in a
 * thread that is not the first; "blind LIBRARY" makes them below a function of a library without
 * unwind entries (this file with -DLIBRARY); "order" makes them among calls of known functions. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef LIBRARY
int through(int (*call)(int), int n);
__attribute__((noinline)) int through(int (*call)(int), int n)
{
    volatile char some[100];
    memset((char *)some, n, sizeof some);
    return call(n) + some[n];
}
#else

static char *self;

__attribute__((noinline)) static int ask(int n)
{
    for (int i = 0; i < n; i++)
        if (getsid(0) < 0)
            abort();
    return n;
}

__attribute__((noinline)) static int second(int n) { return getpriority(PRIO_PROCESS, 0) + n; }
__attribute__((noinline)) static int first(int n)
{
    int before = getpgid(0) > 0;
    return second(n) + before + ask(2);
}

static void *execute(void *unused)
{
    for (int i = 0; i < 10; i++)
        (void)getpriority(PRIO_PROCESS, 0);
    execl("/proc/self/exe", self, "executed", (char *)NULL);
    return unused;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    self = argv[0];
    if (strcmp(what, "thread") == 0) {
        pthread_t thread;
        printf("first\n");
        fflush(stdout);
        if (pthread_create(&thread, NULL, execute, NULL) == 0)
            (void)pthread_join(thread, NULL);
        return 9;
    }
    if (strcmp(what, "executed") == 0) {
        printf("second %d\n", ask(7));
        return 6;
    }
    if (strcmp(what, "blind") == 0) {
        void *library = dlopen(argv[2], RTLD_NOW);
        int (*through)(int (*)(int), int) = NULL;
        *(void **)&through = library != NULL ? dlsym(library, "through") : NULL;
        printf("%d\n", through != NULL ? through(ask, 5) : -1);
        return 5;
    }
    for (int i = 0; i < 3; i++)
        printf("%d\n", first(i));
    return 4;
}
#endif
