#include "tools/io/other_program.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/tool.h"

extern char **environ;

static int start_filter(pid_t *child, char *const arguments[], int from, int into,
                        const char *missing)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code == 0) {
        (void)posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
        (void)posix_spawn_file_actions_addclose(&actions, from);
        if (into >= 0)
            (void)posix_spawn_file_actions_adddup2(&actions, into, STDOUT_FILENO);
        code = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    if (code == ENOENT)
        return tool_fail("%s", missing);
    return code != 0 ? tool_fail("cannot start '%s': %s", arguments[0], strerror(code)) : TOOL_OK;
}

/* The file has no name: the program may stop reading when it likes. */
int tool_filter_run(char *const arguments[], int from, int into, const char *missing)
{
    pid_t child = 0;
    int result = 0;
    if (lseek(from, 0, SEEK_SET) != 0)
        return tool_fail("cannot read back a temporary file: %s", strerror(errno));
    int status = start_filter(&child, arguments, from, into, missing);
    if (status != TOOL_OK)
        return status;
    while (waitpid(child, &result, 0) < 0)
        if (errno != EINTR)
            return tool_fail("cannot wait for '%s': %s", arguments[0], strerror(errno));
    if (WIFSIGNALED(result))
        return tool_fail("'%s' was ended by signal %d", arguments[0], WTERMSIG(result));
    return WEXITSTATUS(result) == 0
               ? TOOL_OK
               : tool_fail("'%s' failed (%d)", arguments[0], WEXITSTATUS(result));
}
