/* Helper processes, and whole messages over a socket that may end or stall at any byte.
 *
 * A helper is a plain fork, so it has nothing of its parent's to lose and must do nothing in its
 * name: other descriptors are closed, signal handlers gone, outputs forgotten, and it leaves by
 * _exit only. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sanitized.h"
#include "program/process/child.h"

#ifndef SYS_close_range /* older headers */
#define SYS_close_range 436
#endif

#define END_WAIT_MS 2000 /* for a helper to go */

/* ---- the process ---- */

static void forget_descriptors(int own)
{
    int first = TTP_SANITIZED ? 3 : 0; /* sanitizers tell on the third what they find */
    if ((own > first && syscall(SYS_close_range, (unsigned)first, (unsigned)own - 1, 0u) != 0) ||
        syscall(SYS_close_range, (unsigned)own + 1, ~0u, 0u) != 0) {
        struct rlimit files = {.rlim_cur = 1024}; /* an older kernel */
        (void)getrlimit(RLIMIT_NOFILE, &files);
        for (int fd = first; (rlim_t)fd < files.rlim_cur && fd < 65536; fd++)
            if (fd != own)
                close(fd);
    }
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < (TTP_SANITIZED ? 2 : 3) && nothing >= 0; fd++)
        if (fd != nothing && fd != own)
            (void)dup2(nothing, fd);
    if (nothing > 2)
        close(nothing);
}

/* What the kernel says of this process. */
struct own_state {
    uint64_t mapped_bytes; /* 0: not known */
    uint64_t handled;      /* a bit for each signal that is caught or ignored */
};

static uint64_t field_of(const char *text, const char *name, int base)
{
    const char *at = strstr(text, name);
    return at != NULL ? strtoull(at + strlen(name), NULL, base) : 0;
}

static struct own_state own_state(void)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    if (strstr(text, "\nSigCgt:") == NULL) /* then each is asked for */
        return (struct own_state){.handled = UINT64_MAX};
    return (struct own_state){.mapped_bytes = field_of(text, "\nVmSize:", 10) * 1024,
                              .handled = field_of(text, "\nSigCgt:", 16) |
                                         field_of(text, "\nSigIgn:", 16)};
}

/* An interrupt at the terminal is meant for the parent, which decides; everything else ends us. */
static void reset_signals(const struct own_state *own)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
    uint64_t handled = own->handled;
    sigset_t none;
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        handled &= ~(UINT64_C(1) << (ignored[i] - 1));
        (void)signal(ignored[i], SIG_IGN);
    }
    for (int number = 1; number < NSIG; number++)
        if (handled >> (number - 1) & 1)
            (void)signal(number, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void tool_child_limit(int what, uint64_t value)
{
    struct rlimit now;
    if (getrlimit(what, &now) == 0) {
        now.rlim_cur = value < now.rlim_max ? value : now.rlim_max;
        (void)setrlimit(what, &now);
    }
}

#define GAVE_UP 4 /* exit status */

_Noreturn void tool_child_give_up(void) { _exit(GAVE_UP); }

void *tool_child_allocate(size_t count, size_t size_bytes)
{
    void *memory = calloc(count > 0 ? count : 1, size_bytes);
    if (memory == NULL)
        tool_child_give_up();
    return memory;
}

char *tool_child_copy_text(const char *text, size_t size_bytes)
{
    char *copy = tool_child_allocate(size_bytes + 1, 1);
    if (size_bytes > 0)
        memcpy(copy, text, size_bytes);
    return copy;
}

void tool_child_grow(void **array, size_t *capacity, size_t needed, size_t size_bytes)
{
    if (needed <= *capacity)
        return;
    size_t wanted = (size_t)ttp_next_capacity(*capacity, needed);
    void *grown = reallocarray(*array, wanted, size_bytes);
    if (grown == NULL)
        tool_child_give_up();
    *array = grown;
    *capacity = wanted;
}

bool tool_child_start(struct tool_child *child, uint64_t memory_bytes,
                      void (*work)(int fd, const void *context), const void *context)
{
    int ends[2];
    sigset_t all, before;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    sigfillset(&all); /* no handler of the parent's may run in the child */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        const struct own_state own = own_state();
        reset_signals(&own);
        forget_descriptors(ends[1]);
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        if (own.mapped_bytes > 0 && !TTP_SANITIZED)
            tool_child_limit(RLIMIT_AS, own.mapped_bytes + memory_bytes);
        work(ends[1], context);
        _exit(0);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *child = (struct tool_child){.pid = pid, .fd = ends[0]};
    return true;
}

int tool_child_end(struct tool_child *child, bool kill_it)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    int status = -1;
    pid_t got = 0;
    if (child->pid == 0)
        return -1;
    close(child->fd);
    if (kill_it)
        kill(child->pid, SIGKILL);
    for (int waited = 0; waited <= END_WAIT_MS && got == 0; waited++) {
        got = waitpid(child->pid, &status, WNOHANG);
        if (got < 0 && errno == EINTR)
            got = 0;
        if (got == 0) {
            if (waited == END_WAIT_MS / 2)
                kill(child->pid, SIGKILL);
            nanosleep(&pause, NULL);
        }
    }
    child->pid = 0;
    child->fd = -1;
    return got > 0 ? status : -1;
}

/* ---- messages ---- */

uint64_t tool_child_now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* Waits until the socket is ready; false with errno ETIMEDOUT when the deadline is over. */
static bool wait_for(int fd, short events, uint64_t deadline_ms)
{
    for (;;) {
        int left = -1;
        if (deadline_ms != 0) {
            uint64_t now = tool_child_now_ms();
            uint64_t rest = deadline_ms > now ? deadline_ms - now : 0;
            left = rest < INT_MAX ? (int)rest : INT_MAX;
        }
        struct pollfd waiting = {.fd = fd, .events = events};
        int ready = poll(&waiting, 1, left);
        if (ready > 0)
            return true;
        if (ready == 0) {
            errno = ETIMEDOUT;
            return false;
        }
        if (errno != EINTR)
            return false;
    }
}

bool tool_child_send(int fd, const void *data, size_t size_bytes, uint64_t deadline_ms)
{
    const char *at = data;
    while (size_bytes > 0) {
        ssize_t sent = send(fd, at, size_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(fd, POLLOUT, deadline_ms))
                return false;
            continue;
        }
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return false;
        at += sent;
        size_bytes -= (size_t)sent;
    }
    return true;
}

size_t tool_child_receive_more(int fd, void *data, size_t least, size_t room, uint64_t deadline_ms)
{
    size_t size_bytes = 0;
    while (size_bytes < least) {
        ssize_t got = recv(fd, (char *)data + size_bytes, room - size_bytes, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(fd, POLLIN, deadline_ms))
                return size_bytes;
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? EPIPE : errno;
            return size_bytes;
        }
        size_bytes += (size_t)got;
    }
    return size_bytes;
}

bool tool_child_receive(int fd, void *data, size_t size_bytes, uint64_t deadline_ms)
{
    return tool_child_receive_more(fd, data, size_bytes, size_bytes, deadline_ms) == size_bytes;
}

const char *tool_child_take(struct tool_child_input *from, size_t size)
{
    size_t left = from->end - from->at;
    if (left < size) {
        memmove(from->data, from->data + from->at, left);
        from->at = 0;
        from->end = left + tool_child_receive_more(from->fd, from->data + left, size - left,
                                                   from->room - left, from->deadline_ms);
        if (from->end < size)
            return NULL;
    }
    from->at += size;
    return from->data + from->at - size;
}
