/* The functions that the product calls, each with a question in front: is this the call that goes
 * wrong? Preloaded, the answers come from the environment:
 *
 *   FAULT_BOOK   a file of a page: calls of each kind are counted in it, and what went wrong
 *   FAULT_PLAN   KIND:ACTION:AT or KIND:ACTION:AT+ (for ever); numbers of ttest_fault_kind, _action
 *   FAULT_WHERE  "child": what goes wrong goes wrong in processes that it forks
 *
 * Only the process that opens the book first is meant, from its main on (or those that it forks):
 * neither programs that it starts nor what libraries do before. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* the names with and without 64 are both defined here */
#include "fault_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Allocation by the C library, or by a sanitizer in its place. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void *__interceptor_malloc(size_t size) __attribute__((weak));
extern void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__interceptor_realloc(void *memory, size_t size) __attribute__((weak));
extern void *__interceptor_memalign(size_t alignment, size_t size) __attribute__((weak));

/* Sanitizers allocate before they can check anything. */
#define EARLY __attribute__((no_sanitize("address", "undefined")))

struct book {
    uint64_t counts[TTEST_FAULT_KINDS];
    uint64_t hits, owner;
};

static struct book own_book, *book = &own_book;
static struct {
    enum ttest_fault_kind kind;
    enum ttest_fault_action action;
    uint64_t at;
    bool for_ever, on, in_child;
} plan;
#define THREADS_OWN __thread __attribute__((tls_model("initial-exec")))
static char made_folder[64];
static int holds;
static THREADS_OWN bool interrupted; /* the thread's last call was: its repetition is not */
static THREADS_OWN bool is_running;  /* what comes before is the C library's, or a sanitizer's */

void ttest_faults_begin(enum ttest_fault_kind kind, enum ttest_fault_action action, uint64_t at,
                        bool for_ever)
{
    memset(book->counts, 0, sizeof book->counts);
    book->hits = 0;
    book->owner = (uint64_t)getpid();
    made_folder[0] = '\0';
    plan.kind = kind;
    plan.action = action;
    plan.at = at;
    plan.for_ever = for_ever;
    interrupted = false;
    is_running = true;
    __atomic_store_n(&plan.on, true, __ATOMIC_SEQ_CST);
}

bool ttest_faults_end(void)
{
    __atomic_store_n(&plan.on, false, __ATOMIC_SEQ_CST);
    return book->hits != 0;
}

void ttest_faults_hold(bool held)
{
    (void)__atomic_add_fetch(&holds, held ? 1 : -1, __ATOMIC_SEQ_CST);
}

const char *ttest_faults_folder(void) { return made_folder; }

uint64_t ttest_faults_counted(enum ttest_fault_kind kind) { return book->counts[kind]; }

/* What becomes of this call; sets errno where it fails. */
EARLY static enum ttest_fault_action due(enum ttest_fault_kind kind)
{
    static const int reasons[] = {ENOMEM, EIO,    ENOSPC, EIO, EACCES, EMFILE, ENOSPC,
                                  ENOMEM, EAGAIN, EAGAIN, EIO, EPERM,  EACCES};
    if (!__atomic_load_n(&plan.on, __ATOMIC_RELAXED) ||
        __atomic_load_n(&holds, __ATOMIC_RELAXED) != 0 || !is_running ||
        (book->owner != (uint64_t)getpid()) != plan.in_child)
        return TTEST_COUNT;
    uint64_t call = __atomic_fetch_add(&book->counts[kind], 1, __ATOMIC_RELAXED);
    if (plan.action == TTEST_COUNT || kind != plan.kind || call < plan.at ||
        (call > plan.at && !plan.for_ever))
        return TTEST_COUNT;
    if (plan.action == TTEST_EINTR) {
        interrupted = !interrupted;
        if (!interrupted)
            return TTEST_COUNT;
    }
    __atomic_fetch_add(&book->hits, 1, __ATOMIC_RELAXED);
    if (plan.action != TTEST_SHORT)
        errno = plan.action == TTEST_EINTR ? EINTR : reasons[kind];
    return plan.action;
}

EARLY static bool fails(enum ttest_fault_kind kind)
{
    enum ttest_fault_action action = due(kind);
    return action == TTEST_FAIL || action == TTEST_EINTR;
}

/* How much of a transfer is done; 0: it fails. */
EARLY static size_t share(enum ttest_fault_kind kind, size_t size)
{
    enum ttest_fault_action action = due(kind);
    if (action == TTEST_SHORT)
        return size > 1 ? size / 2 : size;
    return action == TTEST_COUNT ? size : 0;
}

/* Libraries below the product's are meant, too. */
#pragma GCC visibility push(default)

/* ---- allocation ---- */

EARLY void *malloc(size_t size)
{
    if (fails(TTEST_ALLOC))
        return NULL;
    return __interceptor_malloc != NULL ? __interceptor_malloc(size) : __libc_malloc(size);
}

EARLY void *calloc(size_t count, size_t size)
{
    if (fails(TTEST_ALLOC))
        return NULL;
    return __interceptor_calloc != NULL ? __interceptor_calloc(count, size)
                                        : __libc_calloc(count, size);
}

EARLY void *realloc(void *memory, size_t size)
{
    if (fails(TTEST_ALLOC))
        return NULL;
    return __interceptor_realloc != NULL ? __interceptor_realloc(memory, size)
                                         : __libc_realloc(memory, size);
}

EARLY void *aligned_alloc(size_t alignment, size_t size)
{
    if (fails(TTEST_ALLOC))
        return NULL;
    return __interceptor_memalign != NULL ? __interceptor_memalign(alignment, size)
                                          : __libc_memalign(alignment, size);
}

EARLY int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = aligned_alloc(alignment, size);
    if (memory == NULL)
        return ENOMEM;
    *out = memory;
    return 0;
}

/* ---- reading and writing ---- */

ssize_t read(int fd, void *data, size_t size)
{
    size_t part = share(TTEST_READ, size);
    return part == 0 && size != 0 ? -1 : (ssize_t)syscall(SYS_read, fd, data, part);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    size_t part = share(TTEST_READ, size);
    return part == 0 && size != 0 ? -1 : (ssize_t)syscall(SYS_pread64, fd, data, part, offset);
}

ssize_t write(int fd, const void *data, size_t size)
{
    size_t part = fd == STDERR_FILENO ? size : share(TTEST_WRITE, size);
    return part == 0 && size != 0 ? -1 : (ssize_t)syscall(SYS_write, fd, data, part);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    size_t part = share(TTEST_WRITE, size);
    return part == 0 && size != 0 ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, data, part, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    enum ttest_fault_action action = fd == STDERR_FILENO ? TTEST_COUNT : due(TTEST_WRITE);
    if (action == TTEST_FAIL || action == TTEST_EINTR)
        return -1;
    return (ssize_t)syscall(SYS_writev, fd, parts, action == TTEST_SHORT ? 1 : count);
}

/* ---- calls with an int for their result ---- */

#define BY_CALL(name, kind, number, parameters, ...)                                               \
    int name parameters { return fails(kind) ? -1 : (int)syscall(number, __VA_ARGS__); }

BY_CALL(fsync, TTEST_SYNC, SYS_fsync, (int fd), fd)
BY_CALL(fdatasync, TTEST_SYNC, SYS_fdatasync, (int fd), fd)
BY_CALL(ftruncate, TTEST_TRUNCATE, SYS_ftruncate, (int fd, off_t size), fd, size)
BY_CALL(fallocate, TTEST_TRUNCATE, SYS_fallocate, (int fd, int mode, off_t at, off_t size), fd,
        mode, at, size)
BY_CALL(rename, TTEST_NAME, SYS_rename, (const char *from, const char *to), from, to)
BY_CALL(link, TTEST_NAME, SYS_link, (const char *from, const char *to), from, to)
BY_CALL(mkdir, TTEST_NAME, SYS_mkdir, (const char *path, mode_t mode), path, mode)
BY_CALL(mkdirat, TTEST_NAME, SYS_mkdirat, (int folder, const char *path, mode_t mode), folder, path,
        mode)
BY_CALL(linkat, TTEST_NAME, SYS_linkat, (int a, const char *from, int b, const char *to, int flags),
        a, from, b, to, flags)
BY_CALL(renameat, TTEST_NAME, SYS_renameat, (int a, const char *from, int b, const char *to), a,
        from, b, to)
BY_CALL(renameat2, TTEST_NAME, SYS_renameat2,
        (int a, const char *from, int b, const char *to, unsigned flags), a, from, b, to, flags)
BY_CALL(unlink, TTEST_REMOVE, SYS_unlink, (const char *path), path)
BY_CALL(rmdir, TTEST_REMOVE, SYS_rmdir, (const char *path), path)
BY_CALL(unlinkat, TTEST_REMOVE, SYS_unlinkat, (int folder, const char *path, int flags), folder,
        path, flags)

BY_CALL(pipe, TTEST_PROCESS, SYS_pipe, (int ends[2]), ends)
BY_CALL(pipe2, TTEST_PROCESS, SYS_pipe2, (int ends[2], int flags), ends, flags)
BY_CALL(socketpair, TTEST_PROCESS, SYS_socketpair,
        (int domain, int type, int protocol, int ends[2]), domain, type, protocol, ends)
BY_CALL(fstat, TTEST_STAT, SYS_fstat, (int fd, struct stat *out), fd, out)
BY_CALL(stat, TTEST_STAT, SYS_newfstatat, (const char *path, struct stat *out), AT_FDCWD, path, out,
        0)
BY_CALL(lstat, TTEST_STAT, SYS_newfstatat, (const char *path, struct stat *out), AT_FDCWD, path,
        out, AT_SYMLINK_NOFOLLOW)
BY_CALL(fstatat, TTEST_STAT, SYS_newfstatat,
        (int folder, const char *path, struct stat *out, int flags), folder, path, out, flags)
BY_CALL(clock_gettime, TTEST_CLOCK, SYS_clock_gettime, (clockid_t clock, struct timespec *out),
        clock, out)

off_t lseek(int fd, off_t offset, int whence)
{
    return fails(TTEST_STAT) ? -1 : (off_t)syscall(SYS_lseek, fd, offset, whence);
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    int before = errno; /* which it leaves alone */
    bool failed = fails(TTEST_TRUNCATE) || syscall(SYS_fallocate, fd, 0, at, size) != 0;
    int code = failed ? errno : 0;
    errno = before;
    return code;
}

static int open_at(int folder, const char *path, int flags, va_list list)
{
    bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = makes ? va_arg(list, mode_t) : 0;
    return fails(TTEST_OPEN) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int fd = open_at(AT_FDCWD, path, flags, list);
    va_end(list);
    return fd;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int fd = open_at(folder, path, flags, list);
    va_end(list);
    return fd;
}

/* Calls that the C library makes of others, where no name of ours is in between. */
#define NEXT(name, result, kind, failed, parameters, ...)                                          \
    result name parameters                                                                         \
    {                                                                                              \
        typedef result next_function parameters;                                                   \
        static next_function *next;                                                                \
        if (fails(kind))                                                                           \
            return failed;                                                                         \
        if (next == NULL)                                                                          \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                             \
        return next(__VA_ARGS__);                                                                  \
    }

NEXT(posix_spawn, int, TTEST_PROCESS, EAGAIN,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const words[], char *const environment[]),
     pid, path, actions, attributes, words, environment)
NEXT(posix_spawnp, int, TTEST_PROCESS, EAGAIN,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const words[], char *const environment[]),
     pid, path, actions, attributes, words, environment)
NEXT(opendir, DIR *, TTEST_OPEN, NULL, (const char *path), path)
NEXT(fdopendir, DIR *, TTEST_OPEN, NULL, (int fd), fd)
NEXT(mkstemp, int, TTEST_OPEN, -1, (char *path), path)
NEXT(mkstemp64, int, TTEST_OPEN, -1, (char *path), path)
NEXT(fopen, FILE *, TTEST_OPEN, NULL, (const char *path, const char *mode), path, mode)
NEXT(fopen64, FILE *, TTEST_OPEN, NULL, (const char *path, const char *mode), path, mode)
EARLY void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails(TTEST_MAP))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

char *mkdtemp(char *path)
{
    static char *(*next)(char *);
    if (fails(TTEST_NAME))
        return NULL;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "mkdtemp");
    char *made = next(path);
    if (made != NULL)
        (void)snprintf(made_folder, sizeof made_folder, "%s", made);
    return made;
}

pid_t fork(void)
{
    static pid_t (*next)(void);
    if (fails(TTEST_PROCESS))
        return -1;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "fork");
    return next();
}

struct thread_start {
    void *(*start)(void *);
    void *argument;
};

static void *run_thread(void *context)
{
    struct thread_start how = *(struct thread_start *)context;
    free(context);
    is_running = true;
    return how.start(how.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static create *next;
    if (fails(TTEST_THREAD))
        return EAGAIN;
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    struct thread_start *how = __interceptor_malloc != NULL ? __interceptor_malloc(sizeof *how)
                                                            : __libc_malloc(sizeof *how);
    *how = (struct thread_start){start, argument};
    int failed = next(thread, attributes, run_thread, how);
    if (failed != 0)
        free(how);
    return failed;
}

/* The same where offsets of 64 bits are asked for. */
#define ALSO(name) __attribute__((alias(#name)))
ssize_t pread64(int fd, void *data, size_t size, off_t offset) ALSO(pread);
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) ALSO(pwrite);
int ftruncate64(int fd, off_t size) ALSO(ftruncate);
int fallocate64(int fd, int mode, off_t at, off_t size) ALSO(fallocate);
int posix_fallocate64(int fd, off_t at, off_t size) ALSO(posix_fallocate);
int open64(const char *path, int flags, ...) ALSO(open);
off_t lseek64(int fd, off_t offset, int whence) ALSO(lseek);
int fstat64(int fd, struct stat64 *out) __attribute__((alias("fstat")));
int stat64(const char *path, struct stat64 *out) __attribute__((alias("stat")));
int lstat64(const char *path, struct stat64 *out) __attribute__((alias("lstat")));
int fstatat64(int folder, const char *path, struct stat64 *out, int flags)
    __attribute__((alias("fstatat")));
int openat64(int folder, const char *path, int flags, ...) ALSO(openat);
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset) ALSO(mmap);

#ifdef TTEST_PRELOADED

static int (*the_main)(int, char **, char **);

static void take_plan(void)
{
    const char *path = getenv("FAULT_BOOK"), *text = getenv("FAULT_PLAN");
    int fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || text == NULL)
        return;
    struct book *shared = (struct book *)syscall(SYS_mmap, NULL, sizeof *shared,
                                                 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0l);
    (void)syscall(SYS_close, fd);
    if (shared == MAP_FAILED || shared->owner != 0)
        return;
    shared->owner = (uint64_t)getpid();
    book = shared;
    int kind = 0, action = 0;
    unsigned long at = 0;
    char plus = 0;
    if (sscanf(text, "%d:%d:%lu%c", &kind, &action, &at, &plus) < 3)
        abort();
    plan.kind = (enum ttest_fault_kind)kind;
    plan.action = (enum ttest_fault_action)action;
    plan.at = at;
    plan.for_ever = plus == '+';
    plan.in_child = getenv("FAULT_WHERE") != NULL;
}

static int wrapped_main(int count, char **words, char **environment)
{
    take_plan();
    is_running = true;
    __atomic_store_n(&plan.on, book != &own_book, __ATOMIC_SEQ_CST);
    return the_main(count, words, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int count, char **words,
                      void (*init)(void), void (*fini)(void), void (*end)(void), void *stack)
{
    typedef int start(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                      void (*)(void), void *);
    start *next = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    the_main = main;
    return next(wrapped_main, count, words, init, fini, end, stack);
}

#endif
