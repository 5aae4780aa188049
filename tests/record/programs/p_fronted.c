/* Calls of library functions that the runtime stands in front of, or that no window can see, a
 * known number of each; it prints "count NAME N". */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

static char from[256] = "some text, and more", to[256];
static jmp_buf place;
static ucontext_t own, other;
static char stack[65536];
static volatile int turns;
static const char *volatile text = from; /* or strlen is called once */

static void *run(void *argument)
{
    if (pthread_setname_np(pthread_self(), "named") != 0)
        abort();
    return argument;
}

static int run_c11(void *argument)
{
    (void)argument;
    return 0;
}

static int run_cloned(void *argument)
{
    (void)argument;
    return 0;
}

static void run_other(void) { swapcontext(&other, &own); }

static void jump(int value) { longjmp(place, value); }

static void end(pid_t child)
{
    if (child < 0 || waitpid(child, NULL, 0) != child)
        abort();
}

static void threads(void)
{
    pthread_t thread;
    thrd_t other_thread;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
            abort();
    if (thrd_create(&other_thread, run_c11, NULL) != thrd_success ||
        thrd_join(other_thread, NULL) != thrd_success)
        abort();
}

static void processes(void)
{
    char *const words[] = {"true", NULL};
    pid_t child;
    for (int i = 0; i < 2; i++) {
        if ((child = fork()) == 0)
            _exit(0);
        end(child);
    }
    if ((child = vfork()) == 0)
        _exit(0);
    end(child);
    if (posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) != 0)
        abort();
    end(child);
    if (posix_spawnp(&child, "true", NULL, NULL, words, environ) != 0)
        abort();
    end(child);
    child = clone(run_cloned, stack + sizeof stack, SIGCHLD, NULL);
    end(child);
    if (system("true") != 0 || pclose(popen("true", "r")) != 0)
        abort();
}

static void programs_that_are_not_there(void)
{
    char *const words[] = {"x", NULL};
    int failed = execv("/nowhere/x", words);
    failed += execve("/nowhere/x", words, environ) + execvp("/nowhere/x", words);
    failed += execl("/nowhere/x", "x", NULL) + execlp("/nowhere/x", "x", NULL);
    failed += execle("/nowhere/x", "x", NULL, environ) + fexecve(-1, words, environ);
    if (failed != -7 || errno != EINVAL)
        abort();
}

static void jumps_and_stacks(void)
{
    if (setjmp(place) < 4)
        jump(++turns);
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link = &own;
    makecontext(&other, run_other, 0);
    swapcontext(&own, &other);
    swapcontext(&own, &other);
}

static long plain(void)
{
    struct timeval now;
    long sum = 0;
    for (int i = 0; i < 50; i++)
        memcpy(to, from, 64);
    for (int i = 0; i < 11; i++)
        memmove(to, from, 64);
    for (int i = 0; i < 9; i++)
        memset(to, 0, 64);
    for (int i = 0; i < 12; i++)
        sum += (long)strlen(text);
    for (int i = 0; i < 7; i++)
        sum += time(NULL);
    for (int i = 0; i < 8; i++)
        gettimeofday(&now, NULL);
    return sum;
}

static void others(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    if (library == NULL || dlclose(library) != 0 || prctl(PR_GET_DUMPABLE) < 0)
        abort();
    (void)mlockall(MCL_CURRENT); /* where limits allow it */
    munlockall();
}

int main(void)
{
    threads();
    processes();
    programs_that_are_not_there();
    jumps_and_stacks();
    others();
    fputs(plain() == 1 ? " " : "", stdout);
    puts("count pthread_create 3\ncount pthread_setname_np 3\ncount thrd_create 1\ncount fork 2\n"
         "count vfork 1\ncount posix_spawn 1\ncount posix_spawnp 1\ncount clone 1\n"
         "count system 1\ncount popen 1\ncount execv 1\ncount execve 1\ncount execvp 1\n"
         "count execl 1\ncount execlp 1\ncount execle 1\ncount fexecve 1\ncount _setjmp 1\n"
         "count longjmp 4\ncount getcontext 1\ncount makecontext 1\ncount swapcontext 3\n"
         "count dlopen 1\ncount dlclose 1\ncount prctl 1\ncount mlockall 1\ncount munlockall 1\n"
         "count memcpy 50\ncount memmove 11\ncount memset 9\ncount strlen 12\ncount time 7\n"
         "count gettimeofday 8");
    return 5;
}
