/* Preloaded into the recorder: it is killed right before one of the calls by which it changes
 * another process, or stops it: the KILL_AT-th. */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned long seen;

static void count_call(void)
{
    const char *at = getenv("KILL_AT");
    if (at != NULL && ++seen == strtoul(at, NULL, 10))
        (void)raise(SIGKILL);
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list given;
    va_start(given, request);
    pid_t pid = va_arg(given, pid_t);
    void *address = va_arg(given, void *), *data = va_arg(given, void *);
    va_end(given);
    count_call();
    return syscall(SYS_ptrace, request, pid, address, data);
}

ssize_t pwrite64(int file, const void *from, size_t bytes, off64_t at)
{
    count_call();
    return syscall(SYS_pwrite64, file, from, bytes, at);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count,
                          const struct iovec *remote, unsigned long remote_count,
                          unsigned long flags)
{
    count_call();
    return syscall(SYS_process_vm_writev, pid, local, local_count, remote, remote_count, flags);
}
