/* Forbids itself all system calls but those of one way, on pain of death, and goes that way:
 * `p_sandbox_ways WAY COUNT [LIBRARY]`. COUNT calls are made before and behind it, and by whoever
 * the way makes. The list of each way is what the C library needs of it, and no more.
 *
 * fork, vfork, thread, load, beside (a process in the same memory), wait (nothing but calls),
 * name, execute (the program itself, as `calls COUNT`), strict (seccomp's first mode), counter (the
 * time stamp counter, for a while), raw (fork, by a filter that an instruction of the program's own
 * sets). */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef PLUGIN
static volatile int done;
__attribute__((noinline)) static void inner(void) { done++; }
void plugin_work(int n)
{
    for (int i = 0; i < n; i++)
        inner();
}
#else

#define PLAIN       __attribute__((no_instrument_function))
#define CALLS_MAX   40
#define THREADS     3
#define STACK_BYTES 65536
#define END         -1

static volatile long sink;
static long count;
static char stack[STACK_BYTES] __attribute__((aligned(64)));

__attribute__((noinline)) static void leaf(long n) { sink += n; }

__attribute__((noinline)) static void calls(void)
{
    for (long i = 0; i < count; i++)
        leaf(i);
}

struct way {
    const char *name;
    long allowed[CALLS_MAX]; /* and those that end and write */
};

#define LOADS                                                                                      \
    SYS_openat, SYS_read, SYS_pread64, SYS_newfstatat, SYS_mmap, SYS_mprotect, SYS_munmap,         \
        SYS_close, SYS_brk
#define FORKS SYS_clone, SYS_set_robust_list, SYS_rt_sigprocmask, SYS_wait4

static const struct way ways[] = {
    {"fork", {FORKS, END}},
    {"raw", {FORKS, END}},
    {"vfork", {SYS_vfork, SYS_wait4, END}},
    {"thread",
     {SYS_clone3, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_rseq, SYS_set_robust_list,
      SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_getrandom, SYS_futex, SYS_exit, SYS_madvise,
      SYS_brk, END}},
    {"load", {LOADS, SYS_getrandom, SYS_futex, END}},
    {"beside", {SYS_clone, SYS_exit, SYS_wait4, END}},
    {"wait", {END}},
    {"name", {SYS_prctl, END}},
    {"execute",
     {LOADS, SYS_execve, SYS_arch_prctl, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq,
      SYS_prlimit64, SYS_getrandom, SYS_access, SYS_clone, SYS_rt_sigprocmask, SYS_wait4, SYS_futex,
      END}},
};

PLAIN static int filter_of(const struct way *way, struct sock_filter *filter)
{
    int size = 0;
    filter[size++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    long ends[] = {SYS_write, SYS_exit_group, END};
    for (int list = 0; list < 2; list++)
        for (const long *call = list == 0 ? ends : way->allowed; *call != END; call++) {
            filter[size++] =
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)*call, 0, 1);
            filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW);
        }
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS);
    return size;
}

PLAIN static long by_instruction(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

PLAIN static void confine(const char *name)
{
    struct sock_filter filter[2 * CALLS_MAX + 8];
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        if (strcmp(ways[i].name, name) != 0)
            continue;
        struct sock_fprog program = {(unsigned short)filter_of(&ways[i], filter), filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
            _exit(77);
        long failed = strcmp(name, "raw") == 0
                          ? by_instruction(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program)
                          : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
        if (failed != 0)
            _exit(77);
        return;
    }
    _exit(2);
}

PLAIN static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(3);
}

PLAIN static void wait_for(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, __WALL) != child || status != 0)
        _exit(4);
}

__attribute__((noinline)) static void by_fork(void)
{
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            calls();
            _exit(0);
        }
        wait_for(child);
    }
}

PLAIN static void by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        leaf(1);
        _exit(0);
    }
    wait_for(child);
}

__attribute__((noinline)) static void *thread(void *unused)
{
    calls();
    return unused;
}

__attribute__((noinline)) static void by_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread, NULL) != 0)
            _exit(5);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

__attribute__((noinline)) static void by_load(const char *library)
{
    for (int i = 0; i < 2; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        void (*plugin)(int) = (void (*)(int))dlsym(handle, "plugin_work");
        if (plugin == NULL)
            _exit(6);
        plugin(3);
        dlclose(handle);
    }
}

__attribute__((noinline)) static int child_beside(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        leaf(i);
    return 0;
}

/* The stack's first word is where syscall() returns to in the child. */
PLAIN static void child_ends(void)
{
    child_beside(NULL);
    syscall(SYS_exit, 0);
}

PLAIN static void by_beside(void)
{
    pid_t child = clone(child_beside, stack + STACK_BYTES, CLONE_VM, NULL);
    wait_for(child);
    calls();
    long *top = (long *)(stack + STACK_BYTES) - 2;
    *top = (long)child_ends;
    child = (pid_t)syscall(SYS_clone, CLONE_VM, top, NULL, NULL, 0);
    wait_for(child);
}

int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[1] : "";
    count = argc > 2 ? atol(argv[2]) : 0;
    calls();
    if (strcmp(way, "strict") == 0) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
            return 77;
        calls();
        say("called\n");
        syscall(SYS_exit, 17);
    } else if (strcmp(way, "counter") == 0) {
        if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0)
            return 77;
        calls();
        prctl(PR_SET_TSC, PR_TSC_ENABLE);
    } else if (strcmp(way, "calls") != 0) {
        confine(way);
    }
    if (strcmp(way, "fork") == 0 || strcmp(way, "raw") == 0 || strcmp(way, "calls") == 0)
        by_fork();
    else if (strcmp(way, "vfork") == 0)
        by_vfork();
    else if (strcmp(way, "thread") == 0)
        by_threads();
    else if (strcmp(way, "load") == 0)
        by_load(argv[3]);
    else if (strcmp(way, "beside") == 0)
        by_beside();
    else if (strcmp(way, "name") == 0)
        prctl(PR_SET_NAME, "confined");
    else if (strcmp(way, "execute") == 0)
        execl(argv[0], argv[0], "calls", argv[2], NULL);
    calls();
    say("called\n");
    return 17;
}
#endif
