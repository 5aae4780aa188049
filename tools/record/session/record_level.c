/* --then-level: a complete trace is coded anew by a process of its own, which nobody waits for but
 * us, and takes the place of the first one when it is complete. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tracetape/copy.h>

#include "tools/command/signals.h"
#include "tools/command/tool.h"
#include "tools/io/target.h"
#include "tools/record/session/record_level.h"

#define LEAST_NICE   19
#define IO_PROCESS   1 /* of ioprio_set, for which libc has no names */
#define IO_IDLE      (3 << 13)
#define SMALLER_NAME "%s.smaller"

static int write_anew(ttape_reader *reader, struct tool_target *target, int32_t level)
{
    ttape_error err = {0};
    ttape_writer *writer;
    ttape_writer_options options = {
        .size = sizeof options, .level = level, .literal = level == TTAPE_LEVEL_LITERAL};
    ttape_recode_options(reader, &options);
    ttape_status status = ttape_writer_open(&writer, &target->sink, &options, &err);
    if (status == TTAPE_OK)
        status = ttape_recode(writer, reader, NULL, NULL, &err);
    if (status == TTAPE_OK)
        status = ttape_writer_finish(writer, &err);
    ttape_writer_close(writer);
    return status == TTAPE_OK ? tool_target_commit(target) : tool_fail_error(target->path, &err);
}

static int write_file(const char *from, const char *to, int32_t level)
{
    ttape_error err = {0};
    ttape_reader *reader;
    struct tool_target target = {.fd = -1};
    if (ttape_reader_open_path(&reader, from, NULL, &err) != TTAPE_OK)
        return tool_fail_error(from, &err);
    int status = tool_target_open(&target, to, false);
    if (status == TOOL_OK)
        status = write_anew(reader, &target, level);
    tool_target_close(&target);
    ttape_reader_close(reader);
    return status;
}

/* It ends with us, and removes then what it has written. */
static _Noreturn void work(const char *from, const char *to, int32_t level, const sigset_t *mask)
{
    static const int ours[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGBUS};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        (void)signal(ours[i], SIG_DFL);
    tool_signals_catch();
    (void)umask(077); /* as private as the recording is */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)setpriority(PRIO_PROCESS, 0, LEAST_NICE);
    (void)syscall(SYS_ioprio_set, IO_PROCESS, 0, IO_IDLE);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    _exit(write_file(from, to, level));
}

/* Waits for the process that writes. SIGINT, SIGTERM and SIGHUP are passed on to it. Returns its
 * wait status. */
static int wait_for(pid_t child, const sigset_t *signals)
{
    int status = -1;
    pid_t got;
    while ((got = waitpid(child, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        int number = sigwaitinfo(signals, NULL);
        if (number > 0 && number != SIGCHLD)
            (void)kill(child, SIGTERM);
    }
    return got == child ? status : -1;
}

static int convert_level(const char *from, const char *to, int32_t level)
{
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, &before);
    pid_t child = fork();
    if (child == 0)
        work(from, to, level, &before);
    int status = child > 0 ? wait_for(child, &signals) : -1;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

void tool_record_then_level(const char *from, const char *shown, int32_t level, bool is_quiet)
{
    struct stat first, smaller;
    size_t bytes = strlen(from) + sizeof SMALLER_NAME;
    char *to = tool_allocate(bytes, 1);
    (void)snprintf(to, bytes, SMALLER_NAME, from);
    int status = convert_level(from, to, level);
    bool is_done = status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == TOOL_OK;
    /* what convert wrote to may have been there before it, and be no file */
    is_done =
        is_done && lstat(to, &smaller) == 0 && S_ISREG(smaller.st_mode) && stat(from, &first) == 0;
    if (is_done && rename(to, from) != 0) {
        tool_message("cannot rename '%s' to '%s': %s", to, from, strerror(errno));
        (void)unlink(to);
        is_done = false;
    }
    if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == TOOL_LOSS)
        (void)unlink(to); /* it is ours, and not all is in it */
    if (!is_done)
        tool_message("'%s' is whole, and stays as it was recorded: it was not brought to level %d; "
                     "tracetape convert does that at any time",
                     shown, (int)level);
    else if (!is_quiet)
        tool_message("'%s': %llu bytes at level %d, %llu before", shown,
                     (unsigned long long)smaller.st_size, (int)level,
                     (unsigned long long)first.st_size);
    free(to);
}
