#define _GNU_SOURCE /* pipe2 */
#include "tools/record/engines/record_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program/binary/plan_file.h"
#include "tools/command/tool.h"

/* What the tracer is told, and what it says. */
struct task {
    uint32_t pid;
    bool is_running;
    char arena[PATH_MAX];
};

struct answer {
    ttape_status status;
    char message[sizeof((ttape_error){0}.message)];
};

static bool read_whole(int file, void *into, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t now = read(file, (char *)into + done, size_bytes - done);
        if (now == 0 || (now < 0 && errno != EINTR))
            return false;
        done += now > 0 ? (size_t)now : 0;
    }
    return true;
}

static bool write_whole(int file, const void *from, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t now = write(file, (const char *)from + done, size_bytes - done);
        if (now < 0 && errno != EINTR)
            return false;
        done += now > 0 ? (size_t)now : 0;
    }
    return true;
}

/* ---- in the tracer ---- */

struct tracing {
    int answer_pipe;
    struct tool_plan_cache plans;
};

static void say_ready(void *context)
{
    const struct tracing *tracing = context;
    const struct answer held = {.status = TTAPE_OK};
    (void)write_whole(tracing->answer_pipe, &held, sizeof(held));
}

static void on_term(int number)
{
    (void)number;
    ttape_trace_leave();
}

/* The terminal's signals are the command's. Where the recorder dies, programs are let go. */
static void prepare(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, term = {.sa_handler = on_term};
    static const int ignored[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGPIPE,
                                  SIGTSTP, SIGTTOU, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
        (void)sigaction(ignored[i], &ignore, NULL);
    (void)sigaction(SIGTERM, &term, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)prctl(PR_SET_NAME, "tracetape-trace");
}

/* Made where the cache has none; it stays. */
static const void *find_plan(void *context, const char *module_path, size_t *size_bytes)
{
    struct tracing *tracing = context;
    const struct tool_plan_wish wish = {.path = module_path, .cache = &tracing->plans};
    struct tool_plan_given given;
    if (tool_plan_give(&wish, &given) != NULL) {
        tool_plan_given_close(&given);
        return NULL;
    }
    *size_bytes = given.size_bytes;
    return given.bytes;
}

static _Noreturn void trace(int task_pipe, int answer_pipe, const ttape_syscall_options *calls,
                            const struct tool_trace_how *how)
{
    struct task task;
    ttape_error err = {0};
    struct answer end;
    ttape_trace_counts counts;
    struct tracing tracing = {.answer_pipe = answer_pipe, .plans = {.fd = -1}};
    prepare();
    if (!read_whole(task_pipe, &task, sizeof(task)))
        _exit(EXIT_SUCCESS);
    if (calls->stacks)
        (void)tool_plan_cache_open(&tracing.plans);
    const ttape_trace_options options = {.size = sizeof(options),
                                         .arena = task.arena,
                                         .pid = task.pid,
                                         .is_running = task.is_running,
                                         .chosen = calls->chosen,
                                         .ready = say_ready,
                                         .stacks = calls->stacks,
                                         .arguments = calls->arguments,
                                         .data_bytes = calls->data_bytes,
                                         .runtime = how->runtime,
                                         .measure = how->measure,
                                         .plan = find_plan,
                                         .context = &tracing};
    end.status = ttape_trace_calls(&options, &counts, &err);
    tool_plan_cache_close(&tracing.plans);
    memcpy(end.message, err.message, sizeof(end.message));
    (void)write_whole(answer_pipe, &end, sizeof(end));
    _exit(EXIT_SUCCESS);
}

/* ---- in the recorder ---- */

bool tool_trace_open(struct tool_record_trace *trace_out, const ttape_syscall_options *calls,
                     const struct tool_trace_how *how)
{
    int task[2] = {-1, -1}, answer[2] = {-1, -1};
    pid_t child = -1;
    if (pipe2(task, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0)
        child = fork();
    if (child == 0) {
        (void)close(task[1]);
        (void)close(answer[0]);
        trace(task[0], answer[1], calls, how);
    }
    int code = errno;
    if (task[0] >= 0)
        (void)close(task[0]);
    if (answer[1] >= 0)
        (void)close(answer[1]);
    *trace_out = (struct tool_record_trace){.tracer = child, .to = task[1], .from = answer[0]};
    if (child > 0)
        return true;
    (void)tool_fail("cannot start the process that traces: %s", strerror(code));
    *trace_out = (struct tool_record_trace){0};
    return false;
}

bool tool_trace_hold(struct tool_record_trace *trace, const char *arena, pid_t pid, bool is_running)
{
    struct task task = {.pid = (uint32_t)pid, .is_running = is_running};
    struct answer answer;
    size_t size = strlen(arena);
    if (size >= sizeof(task.arena)) {
        (void)tool_fail("'%s': the path is too long", arena);
        return false;
    }
    memcpy(task.arena, arena, size + 1);
    if (!write_whole(trace->to, &task, sizeof(task)) ||
        !read_whole(trace->from, &answer, sizeof(answer))) {
        (void)tool_fail("the process that traces has ended");
        return false;
    }
    if (answer.status != TTAPE_OK)
        (void)tool_fail("%s", answer.message);
    return answer.status == TTAPE_OK;
}

void tool_trace_allow(const struct tool_record_trace *trace)
{
    if (trace->tracer > 0)
        (void)prctl(PR_SET_PTRACER, (unsigned long)trace->tracer, 0, 0, 0);
}

void tool_trace_leave(const struct tool_record_trace *trace) { (void)kill(trace->tracer, SIGTERM); }

bool tool_trace_has_ended(const struct tool_record_trace *trace)
{
    struct pollfd answer = {.fd = trace->from, .events = POLLIN};
    return poll(&answer, 1, 0) > 0;
}

void tool_trace_close(struct tool_record_trace *trace)
{
    struct answer answer;
    int status;
    if (trace->tracer <= 0)
        return;
    (void)close(trace->to);
    (void)read_whole(trace->from, &answer, sizeof(answer)); /* its end */
    (void)close(trace->from);
    while (waitpid(trace->tracer, &status, 0) < 0 && errno == EINTR) {
    }
    *trace = (struct tool_record_trace){0};
}
