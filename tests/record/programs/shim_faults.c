/* To be preloaded into the recorder: makes its library calls fail, fall short, wait or be its last.
 *
 *   FAULTS   plans, separated by commas: FUNCTION:ACTION:WHEN. Of fcntl only F_SETLEASE. WHEN is N
 *            (the N-th call) or N+ (and all later ones). ACTION is error=ERRNO, short=BYTES (0:
 *            half), delay=MILLISECONDS, kill (before the call), after (kill after it), torn (kill
 *            when half is written), stop
 *   FAULTS_IN   name of the only program that is meant (the environment goes on to its children)
 *   FAULTS_LOG  a file: one line for each call, so that a test knows how many there are
 *
 * Writes to standard descriptors are passed by. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

enum action { NOTHING, FAIL, SHORT, KILL, KILL_AFTER, TORN };

struct plan {
    char function[24];
    enum action action;
    int value, delay, stop;
    long first;
    int for_ever;
};

static struct plan plans[16];
static int plan_count, log_fd = -1;
static long counts[1021];
static int state; /* 0 not looked, 1 looking, 2 meant, 3 not meant */

static void take_plan(const char *text)
{
    struct plan *plan = &plans[plan_count];
    char action[24] = "";
    char plus = 0;
    if (sscanf(text, "%23[^:]:%23[^:]:%ld%c", plan->function, action, &plan->first, &plus) < 3)
        return;
    const char *equals = strchr(action, '=');
    plan->value = equals != NULL ? atoi(equals + 1) : 0;
    plan->for_ever = plus == '+';
    plan->stop = strcmp(action, "stop") == 0;
    plan->delay = strncmp(action, "delay", 5) == 0 ? plan->value : 0;
    if (strncmp(action, "error", 5) == 0)
        plan->action = FAIL;
    else if (strncmp(action, "short", 5) == 0)
        plan->action = SHORT;
    else if (strcmp(action, "kill") == 0)
        plan->action = KILL;
    else if (strcmp(action, "after") == 0)
        plan->action = KILL_AFTER;
    else if (strcmp(action, "torn") == 0)
        plan->action = TORN;
    plan_count++;
}

static int is_meant(void)
{
    char path[512];
    const char *wanted = getenv("FAULTS_IN");
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = '\0';
    const char *name = strrchr(path, '/');
    return wanted == NULL || (name != NULL && strcmp(name + 1, wanted) == 0);
}

static void look(void)
{
    int expected = 0;
    if (!__atomic_compare_exchange_n(&state, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    const char *text = getenv("FAULTS"), *log = getenv("FAULTS_LOG");
    while (text != NULL && *text != '\0' && plan_count < 16) {
        char one[80];
        size_t size = strcspn(text, ",");
        snprintf(one, sizeof(one), "%.*s", (int)(size < 79 ? size : 79), text);
        take_plan(one);
        text += size + (text[size] == ',');
    }
    int meant = is_meant();
    if (meant && log != NULL) /* a number that nobody reaches by counting up */
        log_fd = fcntl((int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600),
                       F_DUPFD_CLOEXEC, 900);
    __atomic_store_n(&state, meant ? 2 : 3, __ATOMIC_RELEASE);
}

static void note(const char *function, long number)
{
    char line[64];
    int size = snprintf(line, sizeof(line), "%s %ld\n", function, number);
    if (log_fd >= 0 && syscall(SYS_write, log_fd, line, (size_t)size) < 0)
        log_fd = -1;
}

static void wait_ms(int milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000l};
    nanosleep(&pause, NULL);
}

static unsigned int slot_of(const char *function)
{
    unsigned int hash = 5381;
    for (; *function != '\0'; function++)
        hash = hash * 33 + (unsigned char)*function;
    return hash % 1021;
}

/* Whether this call is one to disturb; NOTHING for most. */
static struct plan due(const char *function)
{
    struct plan none = {.action = NOTHING};
    if (state < 2)
        look();
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != 2)
        return none;
    long number = __atomic_add_fetch(&counts[slot_of(function)], 1, __ATOMIC_RELAXED);
    note(function, number);
    for (int i = 0; i < plan_count; i++) {
        const struct plan *plan = &plans[i];
        if (strcmp(plan->function, function) != 0 ||
            (plan->for_ever ? number < plan->first : number != plan->first))
            continue;
        if (plan->delay > 0)
            wait_ms(plan->delay);
        if (plan->stop)
            kill(getpid(), SIGSTOP);
        if (plan->action == KILL)
            kill(getpid(), SIGKILL);
        if (plan->action == FAIL)
            errno = plan->value;
        return *plan;
    }
    return none;
}

static void ended(const struct plan *plan)
{
    int kept = errno;
    if (plan->action == KILL_AFTER || plan->action == TORN)
        kill(getpid(), SIGKILL);
    errno = kept;
}

static size_t shorter(const struct plan *plan, size_t size)
{
    if (plan->action != SHORT && plan->action != TORN)
        return size;
    size_t wanted = plan->action == SHORT && plan->value > 0 ? (size_t)plan->value : size / 2;
    return wanted < size && wanted > 0 ? wanted : size;
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (fd <= 2)
        return syscall(SYS_write, fd, data, size);
    struct plan plan = due("write");
    if (plan.action == FAIL)
        return -1;
    ssize_t done = syscall(SYS_write, fd, data, shorter(&plan, size));
    ended(&plan);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    struct plan plan = due("pwrite");
    if (plan.action == FAIL)
        return -1;
    ssize_t done = syscall(SYS_pwrite64, fd, data, shorter(&plan, size), offset);
    ended(&plan);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset)
{
    return pwrite(fd, data, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    struct plan plan = due("writev");
    if (plan.action == FAIL)
        return -1;
    if (plan.action == SHORT || plan.action == TORN)
        count = 1;
    ssize_t done = syscall(SYS_writev, fd, parts, count);
    ended(&plan);
    return done;
}

/* A call with an int for its result, by system call. */
#define BY_CALL(name, number, parameters, ...)                                                     \
    int name parameters                                                                            \
    {                                                                                              \
        struct plan plan = due(#name);                                                             \
        if (plan.action == FAIL)                                                                   \
            return -1;                                                                             \
        int done = (int)syscall(number, __VA_ARGS__);                                              \
        ended(&plan);                                                                              \
        return done;                                                                               \
    }

BY_CALL(fsync, SYS_fsync, (int fd), fd)
BY_CALL(fdatasync, SYS_fdatasync, (int fd), fd)
BY_CALL(ftruncate, SYS_ftruncate, (int fd, off_t size), fd, size)
BY_CALL(ftruncate64, SYS_ftruncate, (int fd, off_t size), fd, size)
BY_CALL(fallocate, SYS_fallocate, (int fd, int mode, off_t at, off_t size), fd, mode, at, size)
BY_CALL(fallocate64, SYS_fallocate, (int fd, int mode, off_t at, off_t size), fd, mode, at, size)
BY_CALL(rename, SYS_rename, (const char *from, const char *to), from, to)
BY_CALL(link, SYS_link, (const char *from, const char *to), from, to)
BY_CALL(unlink, SYS_unlink, (const char *path), path)
BY_CALL(unlinkat, SYS_unlinkat, (int folder, const char *path, int flags), folder, path, flags)
BY_CALL(mkdir, SYS_mkdir, (const char *path, mode_t mode), path, mode)
BY_CALL(mkdirat, SYS_mkdirat, (int folder, const char *path, mode_t mode), folder, path, mode)
BY_CALL(linkat, SYS_linkat, (int a, const char *from, int b, const char *to, int flags), a, from, b,
        to, flags)
BY_CALL(renameat, SYS_renameat, (int a, const char *from, int b, const char *to), a, from, b, to)
BY_CALL(renameat2, SYS_renameat2,
        (int a, const char *from, int b, const char *to, unsigned int flags), a, from, b, to, flags)

/* By the name of its command; only this one is of interest. */
int fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    if (command == F_SETLEASE && due("F_SETLEASE").action == FAIL)
        return -1;
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    return fcntl(fd, command, argument);
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    struct plan plan = due("fallocate");
    if (plan.action == FAIL)
        return plan.value;
    return syscall(SYS_fallocate, fd, 0, at, size) == 0 ? 0 : errno;
}

int posix_fallocate64(int fd, off_t at, off_t size) { return posix_fallocate(fd, at, size); }

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    struct plan plan = due("open");
    if (plan.action == FAIL)
        return -1;
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    ended(&plan);
    return fd;
}

#define WITH_MODE(flags, mode)                                                                     \
    mode_t mode = 0;                                                                               \
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {                                                    \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode = va_arg(list, mode_t);                                                               \
        va_end(list);                                                                              \
    }

int open(const char *path, int flags, ...)
{
    WITH_MODE(flags, mode)
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    WITH_MODE(flags, mode)
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    WITH_MODE(flags, mode)
    return open_at(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    WITH_MODE(flags, mode)
    return open_at(folder, path, flags, mode);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    struct plan plan = due("mmap");
    if (plan.action == FAIL)
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return mmap(at, size, protection, flags, fd, offset);
}

/* These run before anything else does, and inside of dlsym. */
static int memory_due(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2 && due("malloc").action == FAIL;
}

void *malloc(size_t size) { return memory_due() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return memory_due() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size)
{
    return memory_due() ? NULL : __libc_realloc(memory, size);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct plan plan = due("pthread_create");
    if (plan.action == FAIL)
        return plan.value;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, start, argument);
}

/* So that malloc counts from main on, whoever is first. */
__attribute__((constructor)) static void begin(void)
{
    if (state < 2)
        look();
}
