/* Makes known system calls in all the ways that are easy to get wrong, and prints how many of each:
 * "expect NAME COUNT [FAILED]". What it prints is the same with and without a recorder. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define EACH    200
#define SIGNALS 50
#define FORKS   5

static const char *self;
static int pipe_ends[2];
static sigjmp_buf out;
static volatile int cleaned;
static int begun, handled;

static void must(int is_right, const char *what)
{
    if (!is_right) {
        printf("wrong: %s\n", what);
        fflush(stdout);
        _exit(9);
    }
}

static long read_one(void)
{
    char byte;
    struct iovec part = {&byte, 1};
    return readv(pipe_ends[0], &part, 1);
}

/* ---- threads ---- */

static void *ask(void *context)
{
    (void)context;
    for (int i = 0; i < EACH; i++)
        must(getpgid(0) > 0, "getpgid");
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, ask, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    printf("expect getpgid %d\n", THREADS * EACH);
}

/* ---- handlers ---- */

static void on_signal(int number)
{
    int code = errno;
    (void)number;
    must(getsid(0) >= 0, "getsid");
    errno = code;
}

static void on_late(int number)
{
    on_signal(number);
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELEASE);
}

static void on_jump(int number)
{
    (void)number;
    siglongjmp(out, 1);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    must(sigaction(number, &action, NULL) == 0, "sigaction");
}

static void on_nothing(int number) { (void)number; }

/* Again and again until it is stopped: it may come before the read is there. */
static void signals(long every_us)
{
    struct itimerval when = {{0, every_us}, {0, every_us}};
    must(setitimer(ITIMER_REAL, &when, NULL) == 0, "setitimer");
}

struct late {
    pthread_t of;
    int writes;
};

/* The signal while the reader blocks, then what it waits for. */
static void *write_late(void *context)
{
    struct late *late = context;
    struct timespec pause = {0, 3000000};
    for (int i = 0; i < 3; i++) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        (void)pthread_kill(late->of, SIGUSR2);
        while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) == i)
            (void)sched_yield();
    }
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    must(write(pipe_ends[1], "x", 1) == 1, "write");
    return NULL;
}

static void in_handlers(void)
{
    pthread_t writer;
    struct late late = {.of = pthread_self()};
    stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536};
    must(sigaltstack(&alternate, NULL) == 0, "sigaltstack");
    handle(SIGUSR1, on_signal, 0);
    for (int i = 0; i < SIGNALS; i++) {
        if (i == SIGNALS / 2)
            handle(SIGUSR1, on_signal, SA_ONSTACK);
        (void)raise(SIGUSR1);
    }
    handle(SIGUSR2, on_late, SA_RESTART); /* the read goes on */
    must(pthread_create(&writer, NULL, write_late, &late) == 0, "pthread_create");
    must(read_one() == 1, "a read that is restarted");
    (void)pthread_join(writer, NULL);
    handle(SIGALRM, on_nothing, 0); /* it fails */
    signals(3000);
    must(read_one() == -1 && errno == EINTR, "a read that is interrupted");
    signals(0);
    handle(SIGALRM, on_jump, SA_NODEFER); /* it is left */
    for (int i = 0; i < 3; i++)
        if (sigsetjmp(out, 1) == 0) {
            signals(3000);
            (void)read_one();
            must(0, "a read that is left");
        }
    signals(0);
    printf("expect getsid %d\n", SIGNALS + 3);
}

/* ---- processes ---- */

static void wait_for(pid_t child, int code)
{
    int status;
    must(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == code,
         "waitpid");
}

static void in_processes(void)
{
    extern char **environ;
    char *arguments[] = {(char *)self, "child", NULL};
    for (int i = 0; i < FORKS; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            for (int j = 0; j < 3; j++)
                (void)getpriority(PRIO_PROCESS, 0);
            _exit(3);
        }
        wait_for(child, 3);
        child = vfork();
        if (child == 0) {
            (void)execve(self, arguments, environ);
            _exit(9);
        }
        wait_for(child, 7);
        must(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0, "posix_spawn");
        wait_for(child, 7);
    }
    printf("expect getpriority %d\n", 3 * FORKS);
    printf("expect sched_getscheduler %d\n", 5 * 2 * FORKS);
    printf("expect wait4 %d\nexpect vfork %d\n", 3 * FORKS, FORKS);
}

/* ---- cancellation ---- */

static void clean(int *unused)
{
    (void)unused;
    (void)umask(022);
    cleaned++;
}

static void clean_pushed(void *unused) { clean(unused); }

static void *be_cancelled(void *context)
{
    __attribute__((cleanup(clean))) int guarded = 1;
    (void)context;
    pthread_cleanup_push(clean_pushed, NULL);
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    (void)read_one();
    pthread_cleanup_pop(0);
    return NULL;
}

static void in_cancelled(void)
{
    struct timespec pause = {0, 2000000};
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *result;
        must(pthread_create(&thread, NULL, be_cancelled, NULL) == 0, "pthread_create");
        while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == i)
            (void)sched_yield();
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        (void)pthread_cancel(thread);
        must(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "pthread_cancel");
    }
    must(cleaned == 20, "cleanups");
    printf("expect umask 20\n");
}

/* ---- the instruction itself ---- */

/* The flags, the bytes below the stack pointer and all registers but rcx and r11 stay. */
static void in_registers(void)
{
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t ok;
        __asm__ volatile("movq $0x1234567, -128(%%rsp)\n\tmovq %%rsp, -8(%%rsp)\n\t"
                         "movq $1, %%rdi\n\tmovq $2, %%rsi\n\tmovq $3, %%rdx\n\tmovq $4, %%r8\n\t"
                         "movq $5, %%r9\n\tmovq $6, %%r10\n\tmovq $7, %%r12\n\tmovq $8, %%rbx\n\t"
                         "pxor %%xmm0, %%xmm0\n\tpcmpeqb %%xmm7, %%xmm7\n\t"
                         "movl $102, %%eax\n\tstc\n\tmovl $102, %%eax\n\tsyscall\n\t"
                         "movl $0, %%eax\n\tjnc 1f\n\t"
                         "cmpq $0x1234567, -128(%%rsp)\n\tjne 1f\n\t"
                         "cmpq %%rsp, -8(%%rsp)\n\tjne 1f\n\t"
                         "leaq (%%rdi, %%rsi), %%rcx\n\taddq %%rdx, %%rcx\n\taddq %%r8, %%rcx\n\t"
                         "addq %%r9, %%rcx\n\taddq %%r10, %%rcx\n\taddq %%r12, %%rcx\n\t"
                         "addq %%rbx, %%rcx\n\tcmpq $36, %%rcx\n\tjne 1f\n\t"
                         "pcmpeqb %%xmm0, %%xmm7\n\tptest %%xmm7, %%xmm7\n\tjnz 1f\n\t"
                         "movl $1, %%eax\n\t1:"
                         : "=a"(ok)
                         :
                         : "rbx", "rcx", "rdx", "rdi", "rsi", "r8", "r9", "r10", "r11", "r12",
                           "xmm0", "xmm7", "memory", "cc");
        must(ok == 1, "registers");
    }
    for (int i = 0; i < 20; i++)
        must(syscall(SYS_getppid) > 0, "syscall");
    must(syscall(9999) == -1 && errno == ENOSYS, "a number that is none");
    must(syscall(0x10000 + SYS_getppid) == -1 && errno == ENOSYS, "and one above 16 bits");
    for (int i = 0; i < 10; i++)
        must(sched_setaffinity(0, 0, NULL) == -1 && errno == EINVAL, "a call that fails");
    printf("expect getuid 100\nexpect getppid 20\nexpect sched_setaffinity 10 10\n");
}

/* ---- limits ---- */

static void in_limits(void)
{
    struct rlimit limit = {256u << 20, 256u << 20};
    pthread_t thread;
    must(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    must(mmap(NULL, 512u << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
         "a limit");
    must(pthread_create(&thread, NULL, ask, NULL) == 0, "pthread_create");
    (void)pthread_join(thread, NULL);
    for (int fd = 3; fd < 64; fd++)
        (void)close(fd);
    printf("expect getpgid %d\n", EACH);
}

int main(int argc, char **argv)
{
    self = "/proc/self/exe";
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        for (int i = 0; i < 5; i++)
            (void)sched_getscheduler(0);
        return 7;
    }
    setvbuf(stdout, NULL, _IOFBF, 65536);
    must(pipe(pipe_ends) == 0, "pipe");
    in_threads();
    in_handlers();
    in_processes();
    in_cancelled();
    in_registers();
    in_limits();
    fflush(stdout);
    return 5;
}
