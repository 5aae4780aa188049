/* Serves itself requests, for as long as nobody says SIGTERM, and knows the right answers. Without
 * hooks; it is attached to. Words say what it does beside that:
 *
 *     busy         nobody naps, as all do now and then without it; to be said first
 *     counts       at the end it says how many answers it gave
 *     threads N    as many threads
 *     waits        a thread that waits in epoll_wait and minds each EINTR
 *     rings        a thread that waits for a ring of the kernel's, and minds each EINTR
 *     forks        children, one after the other, whose answers are looked at
 *     signals      a timer's handler on a stack of its own, and jumps out of one
 *     storms       so many of these that each hook is interrupted
 *     starts       threads that start and end
 *     coroutines   contexts that are switched between
 *     faults       a handler of SIGSEGV, which looks at where it was */
#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PLAIN   __attribute__((noinline, noclone))
#define ANSWERS 512u
#define THREADS 256u

static volatile sig_atomic_t is_over;
static uint64_t answers[ANSWERS];
static volatile unsigned long done_count, wrong_count;

static bool is_busy, is_stormy, is_counting;
static sem_t waiting;

static void end(int number)
{
    (void)number;
    is_over = 1;
}

/* Others want the processor, too. */
static void nap(uint64_t turn)
{
    if (!is_busy && turn % 16 == 0)
        (void)usleep(1000);
}

PLAIN uint64_t mix(uint64_t a)
{
    a ^= a >> 33;
    a *= UINT64_C(0xff51afd7ed558ccd);
    return a ^ a >> 29;
}

PLAIN uint64_t add_up(uint64_t a, unsigned n)
{
    uint64_t sum = a;
    for (unsigned i = 0; i < n; i++)
        sum = mix(sum + i);
    return sum;
}

PLAIN uint64_t descend(uint64_t n) { return n < 2 ? mix(n) : mix(descend(n - 1) + descend(n - 2)); }

PLAIN double halve(double x, uint64_t n) { return x / 2 + (double)(n & 255); }

PLAIN uint64_t answer(uint64_t a)
{
    uint64_t whole = add_up(a, 3) ^ descend(a % 7);
    return whole ^ (uint64_t)halve(halve((double)(a & 1023), a), whole);
}

PLAIN void serve(uint64_t number)
{
    uint64_t a = number % ANSWERS;
    if (answer(a) != answers[a])
        __atomic_add_fetch(&wrong_count, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&done_count, 1, __ATOMIC_RELAXED);
}

static void say_wrong(const char *what)
{
    fprintf(stderr, "wrong: %s\n", what);
    __atomic_add_fetch(&wrong_count, 1, __ATOMIC_RELAXED);
}

static void *serve_on(void *from)
{
    (void)pthread_setname_np(pthread_self(), "serves");
    for (uint64_t i = (uintptr_t)from; !is_over; i++) {
        serve(i);
        nap(i);
    }
    return NULL;
}

static void *wait_on(void *pipe_end)
{
    int file = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = (int)(intptr_t)pipe_end};
    (void)epoll_ctl(file, EPOLL_CTL_ADD, (int)(intptr_t)pipe_end, &event);
    (void)sem_post(&waiting);
    while (!is_over) {
        serve(1);
        if (epoll_wait(file, &event, 1, 1000000) < 0 && errno == EINTR)
            say_wrong("epoll_wait was interrupted");
    }
    return NULL;
}

static void *ring_on(void *unused)
{
    struct io_uring_params how = {.flags = 0};
    const int64_t time[2] = {0, 300000000};
    const struct io_uring_getevents_arg more = {.ts = (uint64_t)(uintptr_t)time};
    long file = syscall(SYS_io_uring_setup, 4, &how); /* some machines have none */
    (void)unused;
    while (!is_over && file >= 0) {
        serve(4);
        if (syscall(SYS_io_uring_enter, file, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                    &more, sizeof more) < 0 &&
            errno == EINTR)
            say_wrong("io_uring_enter was interrupted");
    }
    return NULL;
}

static void *fork_on(void *unused)
{
    (void)unused;
    while (!is_over) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            for (uint64_t i = 0; i < 2000; i++)
                if (answer(i % ANSWERS) != answers[i % ANSWERS])
                    _exit(1);
            _exit(7);
        }
        if (child > 0 && (waitpid(child, &status, 0) != child || status != 7 << 8))
            say_wrong("a child");
        nap(0);
    }
    return NULL;
}

static void *start_on(void *unused)
{
    (void)unused;
    while (!is_over) {
        pthread_t one;
        if (pthread_create(&one, NULL, (void *(*)(void *))(void *)answer, (void *)3) == 0) {
            void *said;
            (void)pthread_join(one, &said);
            if ((uint64_t)(uintptr_t)said != answers[3])
                say_wrong("a thread");
        }
        nap(0);
    }
    return NULL;
}

static ucontext_t here, there;

static void run_there(void)
{
    for (uint64_t i = 0;; i++) {
        serve(i);
        (void)swapcontext(&there, &here);
    }
}

static void *switch_on(void *unused)
{
    static char stack[65536];
    (void)unused;
    (void)getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, run_there, 0);
    for (uint64_t i = 0; !is_over; i++) {
        (void)swapcontext(&here, &there);
        serve(2);
        nap(i);
    }
    return NULL;
}

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump;

static void on_timer(int number)
{
    static volatile unsigned turn;
    (void)number;
    serve(turn++);
    if (may_jump && turn % 3 == 0) {
        may_jump = 0;
        siglongjmp(back, 1);
    }
}

static void *jump_on(void *unused)
{
    static char stack[65536];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    (void)unused;
    (void)sigaltstack(&other, NULL);
    while (!is_over) {
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            for (uint64_t i = 0; i < 100 && !is_over; i++)
                (void)answer(i);
        }
        may_jump = 0;
        serve(5);
        if (is_stormy)
            (void)pause(); /* so that it is the handler in which a recording begins */
        else
            nap(0);
    }
    return NULL;
}

static sigjmp_buf fault_back;
PLAIN int read_through(const int *at) { return *at + 1; }
PLAIN int look_at(const int *at) { return read_through(at) + read_through(at); }
static volatile uintptr_t fault_low, fault_high;

static void on_fault(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    (void)number;
    (void)info;
    if (at < fault_low || at >= fault_high)
        say_wrong("a fault is shown elsewhere");
    siglongjmp(fault_back, 1);
}

static void *fault_on(void *unused)
{
    (void)unused;
    fault_low = (uintptr_t)read_through;
    fault_high = fault_low + 64;
    while (!is_over) {
        if (sigsetjmp(fault_back, 1) == 0)
            (void)look_at((const int *)(uintptr_t)8);
        serve(6);
        nap(0);
    }
    return NULL;
}

static pthread_t threads[THREADS];
static unsigned thread_count;

static void begin(void *(*function)(void *), void *with)
{
    sigset_t timer, before;
    (void)sigemptyset(&timer);
    if (function != jump_on)
        (void)sigaddset(&timer, SIGALRM);
    (void)pthread_sigmask(SIG_BLOCK, &timer, &before);
    if (thread_count < THREADS && pthread_create(&threads[thread_count], NULL, function, with) == 0)
        thread_count++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void begin_signals(suseconds_t interval)
{
    const struct sigaction timer = {.sa_handler = on_timer, .sa_flags = SA_ONSTACK | SA_RESTART};
    const struct itimerval often = {{0, interval}, {0, interval}};
    sigset_t set;
    (void)sigaction(SIGALRM, &timer, NULL);
    begin(jump_on, NULL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGALRM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
}

static void begin_faults(void)
{
    const struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    (void)sigaction(SIGSEGV, &fault, NULL);
    begin(fault_on, NULL);
}

int main(int count, char **words)
{
    int ends[2];
    const pid_t parent = getppid();
    (void)signal(SIGTERM, end);
    for (uint64_t i = 0; i < ANSWERS; i++)
        answers[i] = answer(i);
    if (pipe(ends) != 0 || sem_init(&waiting, 0, 0) != 0)
        return 2;
    for (int i = 1; i < count; i++) {
        unsigned number = i + 1 < count ? (unsigned)atoi(words[i + 1]) : 0;
        is_busy |= strcmp(words[i], "busy") == 0;
        is_counting |= strcmp(words[i], "counts") == 0;
        if (strcmp(words[i], "threads") == 0)
            for (unsigned j = 0; j < number; j++)
                begin(serve_on, (void *)(uintptr_t)j);
        else if (strcmp(words[i], "waits") == 0) {
            begin(wait_on, (void *)(intptr_t)ends[0]);
            while (sem_wait(&waiting) != 0)
                continue;
        } else if (strcmp(words[i], "rings") == 0)
            begin(ring_on, NULL);
        else if (strcmp(words[i], "forks") == 0)
            begin(fork_on, NULL);
        else if (strcmp(words[i], "starts") == 0)
            begin(start_on, NULL);
        else if (strcmp(words[i], "coroutines") == 0)
            begin(switch_on, NULL);
        else if (strcmp(words[i], "faults") == 0)
            begin_faults();
        else if (strcmp(words[i], "signals") == 0)
            begin_signals(2000);
        else if (strcmp(words[i], "storms") == 0)
            is_stormy = true, begin_signals(50);
    }
    (void)printf("ready\n");
    (void)fflush(stdout);
    while (!is_over && getppid() == parent) { /* a test that was killed leaves none behind */
        (void)serve(3);
        (void)usleep(1000);
    }
    (void)!write(ends[1], "x", 1);
    for (unsigned i = 0; i < thread_count; i++)
        (void)pthread_join(threads[i], NULL);
    if (is_counting)
        (void)fprintf(stderr, "%lu answers, %lu wrong\n", done_count, wrong_count);
    (void)printf("%s\n", done_count == 0    ? "nothing was done"
                         : wrong_count != 0 ? "wrong"
                                            : "right");
    return wrong_count != 0;
}
