#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "recorder/session/session_tracer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/session/session_internal.h"

#ifndef SYS_close_range /* older headers */
#define SYS_close_range 436
#endif

/* What the tracer is told, and what it says. */
struct task {
    uint32_t pid;
    bool is_running;
    char arena[PATH_MAX];
};

struct answer {
    ttape_status status;
    ttape_trace_counts counts;
    char message[sizeof((ttape_error){0}.message)];
};

static bool read_whole(int file, void *into, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t now = recv(file, (char *)into + done, size_bytes - done, 0);
        if (now == 0 || (now < 0 && errno != EINTR))
            return false;
        done += now > 0 ? (size_t)now : 0;
    }
    return true;
}

/* Sends all of it; no signal comes where the other side is gone. */
static bool write_whole(int file, const void *from, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t now = send(file, (const char *)from + done, size_bytes - done, MSG_NOSIGNAL);
        if (now < 0 && errno != EINTR)
            return false;
        done += now > 0 ? (size_t)now : 0;
    }
    return true;
}

/* ---- in the process that traces ---- */

struct tracing {
    int socket;
    const ttape_session_options *options;
};

static void say_ready(void *context)
{
    const struct tracing *tracing = context;
    const struct answer held = {.status = TTAPE_OK};
    (void)write_whole(tracing->socket, &held, sizeof held);
}

static const void *find_plan(void *context, const char *module_path, size_t *size_bytes)
{
    const struct tracing *tracing = context;
    return tracing->options->plan == NULL
               ? NULL
               : tracing->options->plan(tracing->options->context, module_path, size_bytes);
}

static void on_term(int number)
{
    (void)number;
    ttape_trace_leave();
}

/* The terminal's signals are the command's. Where the recorder dies, programs are let go: `parent`
 * may have gone before the kernel was asked to tell that. */
static void prepare_child(pid_t parent)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, term = {.sa_handler = on_term};
    static const int ignored[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGPIPE,
                                  SIGTSTP, SIGTTOU, SIGUSR1, SIGUSR2};
    const struct sigaction child = {.sa_handler = SIG_DFL};
    sigset_t term_set;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        (void)sigaction(ignored[i], &ignore, NULL);
    (void)sigaction(SIGTERM, &term, NULL);
    (void)sigaction(SIGCHLD, &child, NULL); /* it waits for what it traces */
    (void)sigemptyset(&term_set);
    (void)sigaddset(&term_set, SIGTERM);
    (void)sigprocmask(SIG_UNBLOCK, &term_set, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)prctl(PR_SET_NAME, "tracetape-trace");
    if (getppid() != parent)
        _exit(EXIT_SUCCESS);
}

/* Files of the caller's would stay open for as long as programs run. Kernels before 5.9 keep them.
 */
static void close_others(int kept)
{
    if (kept > STDERR_FILENO + 1)
        (void)syscall(SYS_close_range, STDERR_FILENO + 1u, (unsigned)kept - 1u, 0u);
    (void)syscall(SYS_close_range, (unsigned)kept + 1u, UINT_MAX, 0u);
}

static _Noreturn void trace(int socket, pid_t parent, const ttape_session_options *session,
                            const ttape_syscall_options *calls, const char *runtime)
{
    struct task task;
    ttape_error err = {0};
    struct answer end = {0};
    struct tracing tracing = {.socket = socket, .options = session};
    prepare_child(parent);
    close_others(socket);
    if (!read_whole(socket, &task, sizeof task))
        _exit(EXIT_SUCCESS);
    const ttape_trace_options options = {.size = sizeof options,
                                         .arena = task.arena,
                                         .pid = task.pid,
                                         .is_running = task.is_running,
                                         .chosen = calls->chosen,
                                         .ready = say_ready,
                                         .stacks = calls->stacks,
                                         .arguments = calls->arguments,
                                         .data_bytes = calls->data_bytes,
                                         .runtime = runtime,
                                         .measure = session->measure,
                                         .plan = find_plan,
                                         .context = &tracing};
    end.status = ttape_trace_calls(&options, &end.counts, &err);
    (void)find_plan(&tracing, NULL, NULL); /* nothing more is asked */
    memcpy(end.message, err.message, sizeof end.message);
    (void)write_whole(socket, &end, sizeof end);
    _exit(EXIT_SUCCESS);
}

/* ---- in the recorder ---- */

ttape_status ttp_tracer_open(struct ttp_session_tracer *tracer,
                             const ttape_session_options *options,
                             const ttape_syscall_options *calls, const char *runtime,
                             ttape_error *err)
{
    int pair[2];
    pid_t parent = getpid(), child = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return ttp_session_fail(err, errno, "start the process that traces");
    child = fork();
    if (child == 0) {
        (void)close(pair[0]);
        trace(pair[1], parent, options, calls, runtime);
    }
    int code = errno;
    (void)close(pair[1]);
    if (child < 0) {
        (void)close(pair[0]);
        return ttp_session_fail(err, code, "start the process that traces");
    }
    *tracer = (struct ttp_session_tracer){.pid = child, .socket = pair[0]};
    return TTAPE_OK;
}

ttape_status ttp_tracer_hold(struct ttp_session_tracer *tracer, const char *arena, pid_t pid,
                             bool is_running, ttape_error *err)
{
    struct task task = {.pid = (uint32_t)pid, .is_running = is_running};
    struct answer answer;
    size_t size = strlen(arena);
    if (size >= sizeof task.arena)
        return ttp_fail_plain(err, TTAPE_E_ARGUMENT, "'%s': the path is too long", arena);
    memcpy(task.arena, arena, size + 1);
    if (!write_whole(tracer->socket, &task, sizeof task) ||
        !read_whole(tracer->socket, &answer, sizeof answer))
        return ttp_fail_plain(err, TTAPE_E_IO, "the process that traces has ended");
    answer.message[sizeof answer.message - 1] = '\0';
    return answer.status == TTAPE_OK ? TTAPE_OK
                                     : ttp_fail_plain(err, answer.status, "%s", answer.message);
}

void ttp_tracer_allow(const struct ttp_session_tracer *tracer)
{
    if (tracer->pid > 0)
        (void)prctl(PR_SET_PTRACER, (unsigned long)tracer->pid, 0, 0, 0);
}

void ttp_tracer_leave(const struct ttp_session_tracer *tracer) { (void)kill(tracer->pid, SIGTERM); }

bool ttp_tracer_has_ended(const struct ttp_session_tracer *tracer)
{
    struct pollfd answer = {.fd = tracer->socket, .events = POLLIN};
    return poll(&answer, 1, 0) > 0;
}

void ttp_tracer_close(struct ttp_session_tracer *tracer, ttape_trace_counts *counts)
{
    struct answer answer;
    int status;
    if (tracer->pid <= 0)
        return;
    (void)shutdown(tracer->socket, SHUT_WR); /* one that was given nothing to trace ends now */
    if (read_whole(tracer->socket, &answer, sizeof answer) && counts != NULL)
        *counts = answer.counts;
    (void)close(tracer->socket);
    while (waitpid(tracer->pid, &status, 0) < 0 && errno == EINTR) {
    }
    *tracer = (struct ttp_session_tracer){0};
}
