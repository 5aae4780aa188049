#include "tools/record/bare/record_bare.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/memory_limit.h"
#include "tools/command/tool.h"
#include "tools/record/record_end.h"

static const int kinds[TOOL_RECORD_LIMITS] = {RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_NOFILE};

/* The command's exit status, when it has ended. */
static int wait_for_command(const ttape_session_state *state)
{
    int status;
    pid_t got = 0;
    if (state->has_command_ended)
        return tool_record_exit(state->exit_code, state->signal_number);
    while (got <= 0 && (got == 0 || errno == EINTR))
        got = waitpid((pid_t)state->pid, &status, 0);
    if (got < 0)
        return 0;
    return WIFEXITED(status) ? tool_record_exit(WEXITSTATUS(status), 0)
                             : tool_record_exit(0, WTERMSIG(status));
}

/* Before the command has begun, this process becomes it. Later it is let go, and waited for: its
 * status is ours. */
static void go_on(void *context)
{
    struct tool_record_bare *bare = context;
    ttape_session_state state;
    if (bare->argv == NULL)
        return;
    if (bare->session == NULL) {
        (void)tool_record_bare_choose(bare, "out of memory");
        _exit(tool_record_bare_run(bare));
    }
    tool_message("recording ends here, as memory is missing: see tracetape recover");
    ttape_recording_set_mode(ttape_session_recording(bare->session), false);
    ttape_session_get_state(bare->session, &state);
    int status = wait_for_command(&state);
    _exit(status != 0 ? status : TOOL_CANNOT);
}

/* Threads would take address space for heaps of their own, 64 MiB each. */
static void save_room(void)
{
#ifdef M_ARENA_MAX
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        (void)mallopt(M_ARENA_MAX, 1);
#endif
}

void tool_record_bare_prepare(struct tool_record_bare *bare, char **argv)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, wait = {.sa_handler = SIG_DFL};
    *bare = (struct tool_record_bare){.argv = argv};
    (void)sigaction(SIGXFSZ, &ignore, &bare->size_action);
    (void)sigaction(SIGCHLD, &wait, &bare->child_action);
    for (uint32_t i = 0; i < TOOL_RECORD_LIMITS; i++) {
        if (getrlimit((unsigned)kinds[i], &bare->limits[i]) != 0)
            bare->limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
        struct rlimit most = {bare->limits[i].rlim_max, bare->limits[i].rlim_max};
        if (bare->limits[i].rlim_cur != most.rlim_cur)
            (void)setrlimit((unsigned)kinds[i], &most);
    }
    save_room();
    tool_memory_on_failure(go_on, bare);
}

void tool_record_bare_give_back(const struct tool_record_bare *bare)
{
    (void)sigaction(SIGXFSZ, &bare->size_action, NULL);
    (void)sigaction(SIGCHLD, &bare->child_action, NULL);
    for (uint32_t i = 0; i < TOOL_RECORD_LIMITS; i++)
        if (bare->limits[i].rlim_cur != bare->limits[i].rlim_max)
            (void)setrlimit((unsigned)kinds[i], &bare->limits[i]);
}

bool tool_record_lacks_room(ttape_status status, int os_errno)
{
    switch (os_errno) {
    case ENOMEM:
    case EAGAIN:
    case EFBIG:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE: return true;
    default: return status == TTAPE_E_MEMORY;
    }
}

int tool_record_bare_choose(struct tool_record_bare *bare, const char *why)
{
    (void)snprintf(bare->why, sizeof bare->why, "%s", why);
    return TOOL_CANNOT;
}

int tool_record_bare_run(const struct tool_record_bare *bare)
{
    tool_message("not recorded: %s", bare->why);
    tool_record_bare_give_back(bare);
    (void)execvp(bare->argv[0], bare->argv);
    int code = errno;
    (void)tool_fail("cannot run '%s': %s", bare->argv[0], strerror(code));
    return code == ENOENT ? TOOL_RECORD_ABSENT : TOOL_RECORD_NO_EXEC;
}
