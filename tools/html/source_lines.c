/* Lines that ran: `tracetape lines --json`, in a process of its own. It reads debug information,
 * which may be anybody's, and may take seconds: it can be stopped, and what it dies of ends nothing
 * else. Its numbers are the command's, as it is the command. */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/tool.h"
#include "tools/html/page_files.h"

#define ANSWER_BYTES_MOST (4u << 20)
#define WORD_BYTES        4096u
#define LOOK_MS           100 /* between two looks whether somebody still waits */

extern char **environ;

struct output {
    char *bytes;
    size_t count, capacity;
};

struct running {
    pid_t pid;
    int fds[2]; /* what it says, and what it complains of */
    struct output outputs[2];
};

static ttape_status fail(ttape_error *err, ttape_status status, const char *what)
{
    *err = (ttape_error){.status = status, .offset = TTAPE_ERROR_NO_OFFSET};
    (void)snprintf(err->message, sizeof err->message, "%s", what);
    return status;
}

/* All of the name, and nothing in it is special. */
static bool put_pattern(char *pattern, ttape_string name)
{
    size_t at = 0;
    pattern[at++] = '^';
    for (size_t i = 0; i < name.size_bytes; i++) {
        if (at + 4 > WORD_BYTES || name.data[i] == '\0')
            return false;
        if (strchr(".[\\()*+?{|^$", name.data[i]) != NULL)
            pattern[at++] = '\\';
        pattern[at++] = name.data[i];
    }
    memcpy(pattern + at, "$", 2);
    return true;
}

/* ---- the process ---- */

static bool start(struct running *running, const char *const *words)
{
    int out[2] = {-1, -1}, errors[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    if (pipe2(out, O_CLOEXEC) != 0)
        return false;
    bool is_started = pipe2(errors, O_CLOEXEC) == 0;
    if (is_started && posix_spawn_file_actions_init(&actions) == 0) {
        sigset_t none;
        posix_spawnattr_t how;
        sigemptyset(&none);
        (void)posix_spawnattr_init(&how);
        (void)posix_spawnattr_setsigmask(&how, &none);
        (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
        is_started = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                     posix_spawn_file_actions_adddup2(&actions, out[1], 1) == 0 &&
                     posix_spawn_file_actions_adddup2(&actions, errors[1], 2) == 0 &&
                     posix_spawn(&running->pid, "/proc/self/exe", &actions, &how,
                                 (char *const *)(uintptr_t)words, environ) == 0;
        (void)posix_spawnattr_destroy(&how);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(out[1]);
    if (errors[1] >= 0)
        close(errors[1]);
    running->fds[0] = out[0];
    running->fds[1] = errors[0];
    return is_started;
}

/* What is there of one of its outputs; what is too much is read, and forgotten. */
static void take_answer(struct running *running, size_t which)
{
    char piece[65536];
    struct output *output = &running->outputs[which];
    ssize_t got = read(running->fds[which], piece, sizeof piece);
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0) {
        close(running->fds[which]);
        running->fds[which] = -1;
        return;
    }
    size_t size = (size_t)got, left = ANSWER_BYTES_MOST + 1 - output->count;
    size = size < left ? size : left;
    if (output->capacity - output->count < size) {
        output->capacity = (output->count + size) * 2;
        output->bytes = tool_reallocate(output->bytes, output->capacity, 1);
    }
    memcpy(output->bytes + output->count, piece, size);
    output->count += size;
}

/* False: nobody waits any more. */
static bool listen_to(struct running *running, bool (*stops)(void *context), void *context)
{
    while (running->fds[0] >= 0 || running->fds[1] >= 0) {
        struct pollfd waiting[] = {{running->fds[0], POLLIN, 0}, {running->fds[1], POLLIN, 0}};
        int ready = poll(waiting, 2, LOOK_MS);
        for (size_t i = 0; ready > 0 && i < 2; i++)
            if (waiting[i].revents != 0)
                take_answer(running, i);
        if (stops(context))
            return false;
    }
    return true;
}

/* The last line of what it complained of, without the command's name. */
static const char *last_line(struct output *output)
{
    static const char name[] = "tracetape: ";
    output->bytes = tool_reallocate(output->bytes, output->count + 1, 1);
    while (output->count > 0 && output->bytes[output->count - 1] == '\n')
        output->count--;
    output->bytes[output->count] = '\0';
    const char *line = strrchr(output->bytes, '\n');
    line = line != NULL ? line + 1 : output->bytes;
    return strncmp(line, name, strlen(name)) == 0 ? line + strlen(name) : line;
}

static ttape_status run(const char *const *words, bool (*stops)(void *context), void *context,
                        char **json, size_t *size_bytes, ttape_error *err)
{
    struct running running = {.fds = {-1, -1}};
    int status = -1;
    bool is_started = start(&running, words);
    bool is_through = is_started && listen_to(&running, stops, context);
    if (is_started && !is_through)
        kill(running.pid, SIGKILL);
    while (is_started && waitpid(running.pid, &status, 0) < 0 && errno == EINTR)
        ;
    for (size_t i = 0; i < 2; i++)
        if (running.fds[i] >= 0)
            close(running.fds[i]);
    ttape_status result = TTAPE_OK;
    struct output *said = &running.outputs[0], *complaint = &running.outputs[1];
    bool is_done =
        WIFEXITED(status) && (WEXITSTATUS(status) == TOOL_OK || WEXITSTATUS(status) == TOOL_LOSS);
    if (!is_started)
        result = fail(err, TTAPE_E_MEMORY, "the command cannot be started");
    else if (!is_through)
        result = fail(err, TTAPE_E_STATE, "stopped: nobody waits for it");
    else if (!is_done || said->count == 0)
        result = fail(err, TTAPE_E_NOT_FOUND, last_line(complaint));
    else if (said->count > ANSWER_BYTES_MOST)
        result = fail(err, TTAPE_E_LIMIT, "these are too many lines: 4 MiB at most");
    if (result != TTAPE_OK)
        free(said->bytes);
    *json = result == TTAPE_OK ? said->bytes : NULL;
    *size_bytes = said->count;
    free(complaint->bytes);
    return result;
}

/* ---- what is asked ---- */

/* The trace as another process opens it: standard input is a file without a name. */
static char *path_of(const struct tool_input *input)
{
    char *path = NULL;
    int length = input->fd >= 0
                     ? asprintf(&path, "/proc/%d/fd/%d", (int)getpid(), input->fd)
                     : asprintf(&path, "%s%s", input->name[0] == '-' ? "./" : "", input->name);
    if (length < 0)
        tool_out_of_memory();
    return path;
}

ttape_status view_count_lines(const struct tool_input *input, const char *call, ttape_string name,
                              bool (*stops)(void *context), void *context, char **json,
                              size_t *size_bytes, ttape_error *err)
{
    char pattern[WORD_BYTES], *path = path_of(input);
    const char *words[] = {"tracetape", "lines", "--json", "--frame", call, path, NULL};
    ttape_status status = TTAPE_OK;
    *json = NULL;
    if (call == NULL) {
        words[3] = "--function";
        words[4] = pattern;
        if (!put_pattern(pattern, name))
            status = fail(err, TTAPE_E_ARGUMENT, "the name is too long, or no text");
    }
    if (status == TTAPE_OK)
        status = run(words, stops, context, json, size_bytes, err);
    free(path);
    return status;
}
