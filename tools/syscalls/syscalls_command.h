/* syscalls -- COMMAND, --attach PID: a recording with system calls, into a trace that is kept only
 * where the user gave it a name. */
#ifndef TOOL_SYSCALLS_COMMAND_H
#define TOOL_SYSCALLS_COMMAND_H

#include <stdbool.h>

#include "tools/kernel/kernel_choice.h"
#include "tools/record/session/record_session.h"

struct tool_sys_command {
    struct tool_record_session session; /* options go straight into it, */
    const char *output;                 /* but for this: where the trace stays; NULL: nowhere */
    const char *api;                    /* functions of libraries, in the place of system calls */
    struct tool_call_choice *choice;    /* of system calls; it stays the caller's */
    bool arguments;                     /* with what each call is given */
    bool stacks;                        /* with the stack of each call */
    bool is_watched;                    /* while it is recorded: */
    /* follows the trace, in another process, until `stop_fd` can be read; needs no output */
    void (*watch)(void *context, const char *trace, int stop_fd);
    void *context;
    char *folder, *trace; /* made by tool_sys_command_run */
};

/* The words behind "--", where they come before any operand; *argc is without them. */
char **tool_sys_command_find(int *argc, char **argv);
/* Records the command of these words, or the process of session.attach (NULL). Returns the
 * command's own status. Where the trace is not there afterwards, that was said. */
int tool_sys_command_run(struct tool_sys_command *command, char **argv, bool *is_recorded);
/* Returns `status`; where nothing could record the command, this process becomes it. */
int tool_sys_command_close(struct tool_sys_command *command, int status);

#endif
