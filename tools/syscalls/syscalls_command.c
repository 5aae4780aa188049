#define _GNU_SOURCE /* asprintf, pipe2 */
#include "tools/syscalls/syscalls_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/tool.h"

char **tool_sys_command_find(int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            *argc = i;
            return argv + i + 1;
        }
    return NULL;
}

/* A folder of its own, so that nobody else's file has the name. */
static int make_folder(struct tool_sys_command *command, char **argv)
{
    const char *parent = getenv("TMPDIR"), *word = argv != NULL ? argv[0] : "attached";
    const char *name = strrchr(word, '/');
    if (asprintf(&command->folder, "%s/tracetape.XXXXXX",
                 parent != NULL && *parent != '\0' ? parent : "/tmp") < 0)
        tool_out_of_memory();
    if (mkdtemp(command->folder) == NULL) {
        int status = tool_fail("cannot make '%s': %s", command->folder, strerror(errno));
        free(command->folder);
        command->folder = NULL;
        return status;
    }
    if (asprintf(&command->trace, "%s/%s.ttape", command->folder, name != NULL ? name + 1 : word) <
        0)
        tool_out_of_memory();
    return TOOL_OK;
}

/* Around a recording, which changes some: what was ignored, or caught, is so again. */
static void keep_signals(struct sigaction kept[NSIG])
{
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &kept[i]) != 0)
            kept[i] = (struct sigaction){.sa_handler = SIG_DFL}; /* the C library's own */
}

static void restore_signals(const struct sigaction kept[NSIG])
{
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &kept[i], NULL);
}

/* ---- --interval: another process follows the trace ---- */

struct watcher {
    pid_t pid;
    int stop[2]; /* a pipe: what is in it ends the watcher, between two tables */
};

static int start_watch(const struct tool_sys_command *command, struct watcher *watcher)
{
    if (pipe2(watcher->stop, O_CLOEXEC) != 0)
        return tool_fail("cannot make a pipe: %s", strerror(errno));
    watcher->pid = fork();
    if (watcher->pid == 0) {
        (void)signal(SIGINT, SIG_IGN); /* the terminal's: the recorder ends this one */
        (void)close(watcher->stop[1]);
        command->watch(command->context, command->trace, watcher->stop[0]);
        _exit(EXIT_SUCCESS);
    }
    if (watcher->pid > 0)
        return TOOL_OK;
    int status = tool_fail("cannot start a process: %s", strerror(errno));
    (void)close(watcher->stop[0]);
    (void)close(watcher->stop[1]);
    return status;
}

/* Waits for it: a table that it is writing comes to its end. */
static void end_watch(const struct watcher *watcher)
{
    (void)!write(watcher->stop[1], "", 1); /* our own reading end is open, too: no SIGPIPE */
    while (waitpid(watcher->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    (void)close(watcher->stop[0]);
    (void)close(watcher->stop[1]);
}

/* What a table of system calls needs of a recording. */
static bool choose_command(struct tool_sys_command *command)
{
    struct tool_record_session *session = &command->session;
    bool has_calls = command->api == NULL || command->choice->count > 0;
    session->output = command->trace;
    session->quiet = true;
    session->no_patch = true; /* but what is asked for */
    session->live = command->is_watched;
    if (command->arguments)
        (void)tool_parse_values(NULL, &session->patch.values);
    if (has_calls) {
        session->calls.given = true;
        session->calls.choice = *command->choice;
        session->calls.stacks = command->stacks;
    }
    return command->api == NULL ||
           (tool_parse_libcalls(command->api, &session->patch) &&
            (!command->stacks || tool_parse_record_patch(".", &session->patch)));
}

static int record(struct tool_sys_command *command, char **argv)
{
    int count = 0;
    struct sigaction kept[NSIG];
    struct watcher watcher;
    if (!choose_command(command))
        return tool_usage("syscalls", "'%s' is no regular expression", command->api);
    int status = command->is_watched ? start_watch(command, &watcher) : TOOL_OK;
    if (status != TOOL_OK)
        return status;
    while (argv != NULL && argv[count] != NULL)
        count++;
    keep_signals(kept);
    status = tool_record_session_run(&command->session, count, argv);
    command->session.calls.choice = (struct tool_call_choice){0}; /* the caller's */
    restore_signals(kept);
    if (command->is_watched)
        end_watch(&watcher);
    return status;
}

int tool_sys_command_run(struct tool_sys_command *command, char **argv, bool *is_recorded)
{
    *is_recorded = false;
    if (command->output == NULL && make_folder(command, argv) != TOOL_OK)
        return TOOL_CANNOT;
    if (command->output != NULL)
        command->trace = tool_copy_text(command->output, strlen(command->output));
    int status = record(command, argv);
    *is_recorded = access(command->trace, F_OK) == 0;
    return status;
}

int tool_sys_command_close(struct tool_sys_command *command, int status)
{
    if (command->folder != NULL) {
        (void)unlink(command->trace);
        (void)rmdir(command->folder); /* what could not be finished stays in it, and was told */
    }
    free(command->folder);
    free(command->trace);
    return tool_record_session_close(&command->session, status);
}
