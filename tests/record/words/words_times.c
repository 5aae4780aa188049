/* Families of calls of time and signals. */
#include "families.h"

#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

static uint64_t mask_of(int one, int two) { return 1ull << (one - 1) | 1ull << (two - 1); }

static void on_signal(int number) { (void)number; }

static void run_nanosleep(void)
{
    struct timespec wait = {0, 1000}, left;
    CALL(SYS_nanosleep, &wait, &left);
    CALL(SYS_nanosleep, &wait, NULL);
    wait.tv_nsec = 1000000000;
    CALL(SYS_nanosleep, &wait, &left);
    CALL(SYS_nanosleep, NULL, &left);
    CALL(SYS_nanosleep, NOWHERE, NULL);
}

static void run_clock_nanosleep(void)
{
    struct timespec wait = {0, 1000}, left;
    CALL(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &wait, &left);
    CALL(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &wait, NULL);
    CALL(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, &wait, NULL);
}

static void run_clocks(void)
{
    struct timespec now = {0, -1};
    CALL(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    CALL(SYS_clock_getres, CLOCK_REALTIME_COARSE, &now);
    CALL(SYS_clock_gettime, CLOCK_TAI, NULL);
    CALL(SYS_clock_gettime, 77, &now);
    CALL(SYS_clock_gettime, -6, &now);
    now = (struct timespec){5, -1};
    CALL(SYS_clock_settime, CLOCK_REALTIME, &now);
    CALL(SYS_clock_settime, CLOCK_MONOTONIC, NULL);
}

static void run_timeofday(void)
{
    struct timeval now;
    struct timezone zone;
    time_t seconds;
    CALL(SYS_gettimeofday, &now, NULL);
    CALL(SYS_gettimeofday, NULL, &zone);
    now = (struct timeval){5, -1};
    CALL(SYS_settimeofday, &now, NULL);
    CALL(SYS_time, &seconds);
    CALL(SYS_time, NULL);
}

static void run_itimer(void)
{
    struct itimerval timer = {{0, 5}, {1000, 0}}, old;
    CALL(SYS_setitimer, ITIMER_REAL, &timer, NULL);
    CALL(SYS_setitimer, ITIMER_REAL, &(struct itimerval){0}, NULL);
    CALL(SYS_setitimer, ITIMER_VIRTUAL, &timer, &old);
    CALL(SYS_setitimer, ITIMER_VIRTUAL, &(struct itimerval){0}, NULL);
    CALL(SYS_getitimer, ITIMER_PROF, &old);
    CALL(SYS_getitimer, 9, &old);
    CALL(SYS_alarm, 100);
    CALL(SYS_alarm, 0);
}

static void run_timers(void)
{
    int id = 0;
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec spec = {{0, 5}, {1000, 0}}, old;
    how.sigev_value.sival_int = 7;
    CALL(SYS_timer_create, CLOCK_MONOTONIC, &how, &id);
    CALL(SYS_timer_settime, id, 0, &spec, NULL);
    CALL(SYS_timer_settime, id, TIMER_ABSTIME, &(struct itimerspec){0}, NULL);
    CALL(SYS_timer_gettime, id, &old);
    CALL(SYS_timer_getoverrun, id);
    CALL(SYS_timer_delete, id);
    CALL(SYS_timer_delete, 99);
    how.sigev_notify = SIGEV_NONE;
    CALL(SYS_timer_create, 88, &how, &id);
    CALL(SYS_timer_create, 88, NULL, NULL);
}

static void run_adjtimex(void)
{
    struct timex how = {0};
    CALL(SYS_adjtimex, &how);
    CALL(SYS_adjtimex, NULL);
    memset(&how, 0, sizeof how);
    CALL(SYS_clock_adjtime, CLOCK_REALTIME, &how);
    CALL(SYS_clock_adjtime, 77, &how);
}

struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

static void run_sigaction(void)
{
    struct sigaction how = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER}, old;
    sigaddset(&how.sa_mask, SIGTERM);
    (void)sigaction(SIGUSR1, &how, NULL);
    (void)sigaction(SIGUSR1, NULL, &old);
    how.sa_handler = SIG_IGN;
    how.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NOCLDSTOP | SA_NOCLDWAIT;
    (void)sigaction(SIGUSR2, &how, &old);
    struct kernel_action plain = {NULL, 0, NULL, 0};
    CALL(SYS_rt_sigaction, SIGUSR2, &plain, NULL, 8L);
    CALL(SYS_rt_sigaction, SIGKILL, &plain, NULL, 8L);
    CALL(SYS_rt_sigaction, 99, NULL, &plain, 8L);
    CALL(SYS_rt_sigaction, SIGRTMIN + 3, NULL, &plain, 8L);
    CALL(SYS_rt_sigaction, SIGINT, NULL, NULL, 4L);
}

static void run_sigprocmask(void)
{
    uint64_t mask = mask_of(SIGUSR1, SIGCHLD), old;
    CALL(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &old, 8L);
    mask = ~0ull;
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8L);
    mask = ~mask_of(SIGINT, SIGTERM);
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &old, 8L);
    mask = 0;
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &old, 8L);
    mask = mask_of(40, 64);
    CALL(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, 8L);
    CALL(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &old, 8L);
    CALL(SYS_rt_sigprocmask, 9, &mask, NULL, 8L);
    CALL(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NULL, 7L);
}

static void run_kill(void)
{
    struct sigaction how = {.sa_handler = on_signal};
    (void)sigaction(SIGUSR1, &how, NULL);
    CALL(SYS_kill, getpid(), SIGUSR1);
    CALL(SYS_kill, getpid(), 0);
    CALL(SYS_tkill, gettid(), SIGUSR1);
    CALL(SYS_tgkill, getpid(), gettid(), SIGUSR1);
    CALL(SYS_kill, getpid(), SIGCHLD);
    CALL(SYS_kill, getpid(), 99);
    CALL(SYS_tgkill, 0, 0, SIGINT);
}

static void run_sigwait(void)
{
    uint64_t mask = mask_of(SIGUSR1, SIGUSR2), old = 0;
    struct timespec wait = {0, 1000};
    siginfo_t info;
    CALL(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, 8L);
    CALL(SYS_rt_sigtimedwait, &mask, &info, &wait, 8L);
    CALL(SYS_kill, getpid(), SIGUSR2);
    CALL(SYS_rt_sigpending, &old, 8L);
    CALL(SYS_rt_sigtimedwait, &mask, &info, &wait, 8L);
    CALL(SYS_kill, getpid(), SIGUSR1);
    old = mask_of(SIGUSR2, SIGINT);
    CALL(SYS_rt_sigsuspend, &old, 8L);
    CALL(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, 8L);
}

static void run_sigqueue(void)
{
    siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
    info.si_pid = 1;
    info.si_uid = 2;
    info.si_value.sival_int = 5;
    CALL(SYS_rt_sigqueueinfo, 0x7ffffff0, SIGUSR1, &info);
    CALL(SYS_rt_tgsigqueueinfo, 0x7ffffff0, 0x7ffffff0, SIGUSR1, &info);
    CALL(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &info);
    CALL(SYS_rt_sigqueueinfo, 0x7ffffff0, SIGUSR1, NULL);
}

static void run_sigaltstack(void)
{
    static char stack[1 << 16];
    stack_t how = {.ss_sp = stack, .ss_size = sizeof stack}, old;
    CALL(SYS_sigaltstack, NULL, &old);
    CALL(SYS_sigaltstack, &how, NULL);
    how.ss_flags = SS_DISABLE;
    CALL(SYS_sigaltstack, &how, &old);
    CALL(SYS_sigaltstack, NULL, NULL);
}

static void run_interrupted(void)
{
    struct itimerval timer = {{0, 0}, {0, 20000}};
    struct sigaction how = {.sa_handler = on_signal};
    struct timespec wait = {1000, 0}, left;
    (void)sigaction(SIGALRM, &how, NULL);
    CALL(SYS_setitimer, ITIMER_REAL, &timer, NULL);
    CALL(SYS_pause);
    CALL(SYS_setitimer, ITIMER_REAL, &timer, NULL);
    CALL(SYS_nanosleep, &wait, &left);
}

static const struct family families[] = {
    {"nanosleep", run_nanosleep},     {"clock_nanosleep", run_clock_nanosleep},
    {"clocks", run_clocks},           {"timeofday", run_timeofday},
    {"itimer", run_itimer},           {"timers", run_timers},
    {"adjtimex", run_adjtimex},       {"sigaction", run_sigaction},
    {"sigprocmask", run_sigprocmask}, {"kill", run_kill},
    {"sigwait", run_sigwait},         {"sigqueue", run_sigqueue},
    {"sigaltstack", run_sigaltstack}, {"interrupted", run_interrupted},
};

int main(int argc, char **argv) { return RUN(families); }
