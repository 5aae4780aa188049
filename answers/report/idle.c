/* Which functions block. The names are those of the C library and of system calls; what they are
 * wrapped in on the way into a symbol table is taken off before the search. */
#include <tracetape/report.h>

#include <string.h>

/* Sorted, for the search (tests/unit/test_report_limits.c checks it). What copies from or to a file
 * counts: it may wait for the device. */
static const char *const names[] = {
    "accept",
    "accept4",
    "clock_nanosleep",
    "connect",
    "copy_file_range",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "fcntl_lock",
    "fdatasync",
    "flock",
    "fsync",
    "futex",
    "futex_abstimed_wait",
    "futex_abstimed_wait64",
    "futex_abstimed_wait_cancelable",
    "futex_abstimed_wait_cancelable64",
    "futex_wait",
    "futex_waitv",
    "getrandom",
    "io_getevents",
    "io_pgetevents",
    "io_uring_enter",
    "linux:schedule",
    "linux:schedule (pre-empted)",
    "lll_lock_wait",
    "lll_lock_wait_private",
    "lll_mutex_lock_wait",
    "lll_timedlock_wait",
    "lockf",
    "lockf64",
    "mq_receive",
    "mq_send",
    "mq_timedreceive",
    "mq_timedsend",
    "msgrcv",
    "msgsnd",
    "msync",
    "mtx_lock",
    "mtx_timedlock",
    "nanosleep",
    "new_sem_wait",
    "pause",
    "poll",
    "ppoll",
    "pread",
    "pread64",
    "preadv",
    "preadv2",
    "preadv64",
    "pselect",
    "pselect6",
    "pthread_barrier_wait",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_mutex_clocklock",
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_timedwrlock",
    "pthread_rwlock_wrlock",
    "pthread_timedjoin_np",
    "pwrite",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "pwritev64",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "restart_syscall",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sched_yield",
    "select",
    "sem_clockwait",
    "sem_timedwait",
    "sem_wait",
    "semop",
    "semtimedop",
    "send",
    "sendfile",
    "sendfile64",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "splice",
    "sync",
    "sync_file_range",
    "syncfs",
    "tcdrain",
    "tee",
    "thrd_join",
    "thrd_sleep",
    "thrd_yield",
    "usleep",
    "vmsplice",
    "wait",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
};
#define NAME_COUNT (sizeof names / sizeof names[0])

static int compare_names(ttape_string symbol, const char *name)
{
    size_t length = strlen(name);
    size_t size = symbol.size_bytes < length ? symbol.size_bytes : length;
    int order = size != 0 ? memcmp(symbol.data, name, size) : 0;
    return order != 0 ? order : (symbol.size_bytes > length) - (symbol.size_bytes < length);
}

static bool find_idle(ttape_string symbol)
{
    size_t low = 0, high = NAME_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(symbol, names[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool drop_start(ttape_string *symbol, const char *start)
{
    size_t length = strlen(start);
    if (symbol->size_bytes <= length || memcmp(symbol->data, start, length) != 0)
        return false;
    symbol->data += length;
    symbol->size_bytes -= length;
    return true;
}

static void drop_end(ttape_string *symbol, const char *end)
{
    size_t length = strlen(end);
    if (symbol->size_bytes > length &&
        memcmp(symbol->data + symbol->size_bytes - length, end, length) == 0)
        symbol->size_bytes -= length;
}

/* read@plt, write@@GLIBC_2.2.5, __GI___libc_read, __read_nocancel, sys_read, __x64_sys_read */
bool ttape_is_idle_name(ttape_string symbol)
{
    if (symbol.size_bytes == 0)
        return false;
    const char *version = memchr(symbol.data, '@', symbol.size_bytes);
    if (version != NULL && version != symbol.data)
        symbol.size_bytes = (size_t)(version - symbol.data);
    drop_end(&symbol, "_nocancel");
    drop_end(&symbol, "_cancel");
    if (find_idle(symbol))
        return true;
    static const char *const starts[] = {"__",       "_",          "GI_", "libc_",
                                         "x64_sys_", "arm64_sys_", "sys_"};
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof starts / sizeof starts[0] && !again; i++)
            again = drop_start(&symbol, starts[i]);
    }
    return find_idle(symbol);
}
