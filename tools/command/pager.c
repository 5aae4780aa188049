/* The pager is a child whose standard input is a pipe in place of our standard output. `less` gets
 * -FRX: it ends by itself where everything fits the screen, shows colours, and leaves the screen as
 * it is. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command/options.h"
#include "tools/command/pager.h"

#define COLUMNS_LEAST 20u
#define COLUMNS_USUAL 80u

extern char **environ;

static struct {
    pid_t child; /* 0: no pager */
    bool known, there;
    unsigned columns;
} terminal;

static unsigned ask_columns(void)
{
    struct winsize size;
    const char *text = getenv("COLUMNS");
    uint32_t columns = 0;
    if (text == NULL || !tool_parse_u32(text, &columns))
        columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    columns = columns == 0 ? COLUMNS_USUAL : columns;
    return columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns;
}

static void look_at_terminal(void)
{
    if (!terminal.known) {
        terminal.known = true;
        terminal.there = isatty(STDOUT_FILENO) == 1;
        terminal.columns = terminal.there ? ask_columns() : 0;
    }
}

bool tool_terminal_there(void)
{
    look_at_terminal();
    return terminal.there;
}

unsigned tool_terminal_columns(void)
{
    look_at_terminal();
    return terminal.columns;
}

bool tool_terminal_colours(void)
{
    const char *plain = getenv("NO_COLOR"), *kind = getenv("TERM");
    return tool_terminal_there() && (plain == NULL || *plain == '\0') && kind != NULL &&
           strcmp(kind, "dumb") != 0;
}

/* NULL: none is wanted, or there is none. */
static const char *choose_pager(void)
{
    const char *pager = getenv("TRACETAPE_PAGER");
    pager = pager != NULL ? pager : getenv("PAGER");
    if (pager == NULL)
        pager = system("command -v less >/dev/null 2>&1") == 0 ? "less" : "cat";
    return *pager == '\0' || strcmp(pager, "cat") == 0 ? NULL : pager;
}

static bool start_process(const char *pager, int read_fd, int write_fd)
{
    posix_spawn_file_actions_t actions;
    char shell[] = "sh", option[] = "-c";
    char *command = strdup(pager);
    char *arguments[] = {shell, option, command, NULL};
    bool started = false;
    if (command == NULL || posix_spawn_file_actions_init(&actions) != 0) {
        free(command);
        return false;
    }
    if (posix_spawn_file_actions_adddup2(&actions, read_fd, STDIN_FILENO) == 0 &&
        posix_spawn_file_actions_addclose(&actions, read_fd) == 0 &&
        posix_spawn_file_actions_addclose(&actions, write_fd) == 0)
        started = posix_spawn(&terminal.child, "/bin/sh", &actions, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    free(command);
    terminal.child = started ? terminal.child : 0;
    return started;
}

static void start_pager(void)
{
    int ends[2];
    if (terminal.child != 0 || !tool_terminal_there())
        return;
    const char *pager = choose_pager();
    if (pager == NULL || pipe(ends) != 0)
        return;
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    if (start_process(pager, ends[0], ends[1])) {
        dup2(ends[1], STDOUT_FILENO);
        signal(SIGPIPE, SIG_IGN); /* the pager may be left early: our exit status stays */
        signal(SIGINT, SIG_IGN);  /* it is the pager's */
    }
    close(ends[0]);
    close(ends[1]);
}

void tool_pager_open(struct tool_output *out, bool has_pager)
{
    if (has_pager)
        start_pager();
    tool_output_open(out, STDOUT_FILENO);
}

int tool_pager_close(struct tool_output *out)
{
    int status = tool_output_close(out);
    if (terminal.child == 0)
        return status;
    close(STDOUT_FILENO);
    while (waitpid(terminal.child, NULL, 0) < 0 && errno == EINTR)
        continue;
    terminal.child = 0;
    return status;
}
