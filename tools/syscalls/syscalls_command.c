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

#define WORDS_OF_RECORD 28u

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
static int make_folder(struct tool_sys_command *command)
{
    const char *parent = getenv("TMPDIR"), *name = strrchr(command->argv[0], '/');
    if (asprintf(&command->folder, "%s/tracetape.XXXXXX",
                 parent != NULL && *parent != '\0' ? parent : "/tmp") < 0)
        tool_out_of_memory();
    if (mkdtemp(command->folder) == NULL) {
        int status = tool_fail("cannot make '%s': %s", command->folder, strerror(errno));
        free(command->folder);
        command->folder = NULL;
        return status;
    }
    if (asprintf(&command->trace, "%s/%s.ttape", command->folder,
                 name != NULL ? name + 1 : command->argv[0]) < 0)
        tool_out_of_memory();
    return TOOL_OK;
}

/* "--syscalls=read,!/^e/", as record reads it. */
static char *choice_word(const struct tool_call_choice *choice)
{
    size_t size = sizeof("--syscalls=");
    for (size_t i = 0; i < choice->count; i++)
        size += strlen(choice->words[i]) + 1;
    char *word = tool_allocate(size, 1), *end = stpcpy(word, "--syscalls");
    for (size_t i = 0; i < choice->count; i++)
        end = stpcpy(stpcpy(end, i == 0 ? "=" : ","), choice->words[i]);
    return word;
}

/* Around record, which changes some: what was ignored, or caught, is so again. */
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

static void put_option(char **words, size_t *used, const char *name, const char *value)
{
    if (value == NULL)
        return;
    words[(*used)++] = (char *)name;
    words[(*used)++] = (char *)value;
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

int tool_sys_command_run(struct tool_sys_command *command, bool *is_recorded)
{
    size_t count = 0, used = 0;
    struct sigaction kept[NSIG];
    struct watcher watcher;
    *is_recorded = false;
    if (command->output == NULL && make_folder(command) != TOOL_OK)
        return TOOL_CANNOT;
    if (command->output != NULL)
        command->trace = tool_copy_text(command->output, strlen(command->output));
    while (command->argv[count] != NULL)
        count++;
    char **words = tool_allocate(count + WORDS_OF_RECORD + 1, sizeof(*words));
    char *choice = choice_word(command->choice), *data = NULL, *called = NULL;
    bool is_api = command->api != NULL, has_calls = !is_api || command->choice->count > 0;
    if (is_api && asprintf(&called, "--libcalls=%s", command->api) < 0)
        tool_out_of_memory();
    if (command->data != NULL && asprintf(&data, "--data=%s", command->data) < 0)
        tool_out_of_memory();
    const char *const first[] = {"record", "-q", "-o", command->trace, has_calls ? choice : called};
    for (; used < sizeof(first) / sizeof(*first); used++)
        words[used] = (char *)first[used];
    words[used++] = (char *)"--no-patch"; /* but what is asked for */
    put_option(words, &used, "--engine", command->engine);
    put_option(words, &used, "--measure", command->measure);
    put_option(words, &used, "--max-time", command->duration);
    put_option(words, &used, "--attach", command->attach);
    put_option(words, &used, "--stack-every", command->stack_every);
    put_option(words, &used, "--stack-rate", command->stack_rate);
    if (command->is_watched)
        words[used++] = (char *)"--live";
    if (command->complete)
        words[used++] = (char *)"--complete";
    if (is_api && has_calls)
        words[used++] = called;
    if (is_api && command->stacks)
        put_option(words, &used, "--patch", ".");
    if (has_calls && command->stacks)
        words[used++] = (char *)"--stacks";
    if (command->arguments)
        words[used++] = (char *)"--args";
    if (data != NULL)
        words[used++] = data;
    if (command->attach == NULL)
        words[used++] = (char *)"--";
    else
        count = 0;
    memcpy(words + used, command->argv, count * sizeof(*words));
    int status = command->is_watched ? start_watch(command, &watcher) : TOOL_OK;
    if (status == TOOL_OK) {
        keep_signals(kept);
        status = tool_verb_record((int)(used + count), words);
        restore_signals(kept);
        if (command->is_watched)
            end_watch(&watcher);
    }
    *is_recorded = access(command->trace, F_OK) == 0;
    free(choice);
    free(data);
    free(called);
    free(words);
    return status;
}

void tool_sys_command_close(struct tool_sys_command *command)
{
    if (command->folder != NULL) {
        (void)unlink(command->trace);
        (void)rmdir(command->folder); /* what could not be finished stays in it, and was told */
    }
    free(command->folder);
    free(command->trace);
}
