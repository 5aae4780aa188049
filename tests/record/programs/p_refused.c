/* Asks for what the kernel refuses: names that cannot be read, filters that are none, processes
 * that cannot be made, locks that may not be. Of each it says what came back; behind each are COUNT
 * calls. At the end it says its name. `p_refused COUNT instruction`: by instructions of its own. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLAIN    __attribute__((no_instrument_function))
#define NOWHERE  ((void *)8)
#define PAGE     4096
#define DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH */

static volatile long sink;
static long count;
static int is_by_instruction;

__attribute__((noinline)) static void leaf(long n) { sink += n; }

PLAIN static void tell(const char *what, long result)
{
    printf("%s: %ld %d\n", what, result, result == -1 ? errno : 0);
    errno = 0;
    for (long i = 0; i < count; i++)
        leaf(i);
}

PLAIN static long ask(long number, long a, long b, long c, long d, long e)
{
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    if (!is_by_instruction)
        return syscall(number, a, b, c, d, e);
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
    errno = result < 0 ? (int)-result : 0;
    return result < 0 ? -1 : result;
}

/* So many letters, and no memory behind them. */
PLAIN static char *at_the_end(size_t letters, int has_zero)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + PAGE, PAGE);
    memset(pages, 'n', PAGE);
    if (has_zero)
        pages[PAGE - 1] = '\0';
    return pages + PAGE - letters;
}

PLAIN static void names(void)
{
    tell("name, nowhere", prctl(PR_SET_NAME, NOWHERE));
    tell("name, none", prctl(PR_SET_NAME, NULL));
    tell("name, cut off", prctl(PR_SET_NAME, at_the_end(5, 0)));
    tell("name asked, nowhere", ask(SYS_prctl, PR_SET_NAME, (long)NOWHERE, 0, 0, 0));
    tell("name asked, cut off", ask(SYS_prctl, PR_SET_NAME, (long)at_the_end(14, 0), 0, 0, 0));
    tell("name, at the end", prctl(PR_SET_NAME, at_the_end(5, 1)));
    tell("name, fifteen", prctl(PR_SET_NAME, at_the_end(15, 0)));
    tell("name, too long", pthread_setname_np(pthread_self(), "more than fifteen letters"));
    tell("name", prctl(PR_SET_NAME, "refused"));
    tell("name, nowhere again", prctl(PR_SET_NAME, NOWHERE));
}

PLAIN static void filters(void)
{
    struct sock_fprog none = {0, NULL}, nowhere = {1, NOWHERE};
    tell("strict probe", ask(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, 0, 0, 0));
    tell("strict with arguments", ask(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 1, 0, 0));
    tell("filter probe", ask(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0, 0, 0));
    tell("filter, nowhere", ask(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)NOWHERE, 0, 0));
    tell("filter, empty", ask(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&none, 0, 0));
    tell("filter, flags", ask(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xff00, (long)&none, 0, 0));
    tell("no operation", ask(SYS_seccomp, 99, 0, 0, 0, 0));
    unsigned int action = SECCOMP_RET_KILL_PROCESS;
    tell("action", ask(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, (long)&action, 0, 0));
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    tell("filter, no memory", ask(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&nowhere, 0, 0));
    tell("mode, none", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL));
    tell("mode, nowhere", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NOWHERE));
    tell("mode, empty", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none));
    tell("no mode", prctl(PR_SET_SECCOMP, 99, NULL));
    tell("mode asked", ask(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&none, 0, 0));
    tell("counter", prctl(PR_SET_TSC, 99));
    tell("dispatch", prctl(DISPATCH, 99, 0, 0, 0));
    tell("no option", prctl(123456, 1, 2, 3, 4));
}

PLAIN static int child(void *unused) { return unused != NULL; }

PLAIN static void processes(void)
{
    static char stack[PAGE] __attribute__((aligned(64)));
    long bad = CLONE_VM | CLONE_FS | CLONE_NEWNS;
    long group = CLONE_VM | CLONE_THREAD; /* without handlers of its own group's */
    tell("clone", clone(child, stack + PAGE, (int)bad, NULL));
    tell("clone asked", ask(SYS_clone, bad, (long)(stack + PAGE), 0, 0, 0));
    tell("thread asked", ask(SYS_clone, group, (long)(stack + PAGE), 0, 0, 0));
    tell("clone3, nowhere", ask(SYS_clone3, (long)NOWHERE, 88, 0, 0, 0));
    tell("clone3, none", ask(SYS_clone3, 0, 0, 0, 0, 0));
    tell("clone3, small", ask(SYS_clone3, (long)stack, 8, 0, 0, 0));
    memcpy(stack, &bad, sizeof(bad));
    tell("clone3, bad", ask(SYS_clone3, (long)stack, 88, 0, 0, 0));
}

PLAIN static void others(void)
{
    struct rlimit little = {0, 0};
    setrlimit(RLIMIT_MEMLOCK, &little);
    tell("lock, no flags", mlockall(0));
    tell("lock, flags", mlockall(0x1000));
    long locked = mlockall(MCL_CURRENT | MCL_FUTURE); /* root may */
    tell("lock", locked == 0 ? 0 : -2);
    if (locked == 0)
        munlockall();
    struct sigaction action = {.sa_handler = SIG_IGN};
    tell("kill's handler", sigaction(SIGKILL, &action, NULL));
    tell("no signal", sigaction(1234, &action, NULL));
}

int main(int argc, char **argv)
{
    char name[16] = "";
    count = argc > 1 ? atol(argv[1]) : 0;
    is_by_instruction = argc > 2;
    leaf(0);
    names();
    filters();
    processes();
    others();
    prctl(PR_GET_NAME, name);
    printf("I am %s\n", name);
    return fflush(stdout) == 0 ? 11 : 3;
}
