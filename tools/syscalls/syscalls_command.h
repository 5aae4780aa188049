/* syscalls -- COMMAND, --attach PID: records it by `record`, into a trace that is kept only where
 * the user gave it a name. */
#ifndef TOOL_SYSCALLS_COMMAND_H
#define TOOL_SYSCALLS_COMMAND_H

#include <stdbool.h>

#include "tools/kernel/kernel_choice.h"

struct tool_sys_command {
    char **argv;          /* of the command */
    const char *output;   /* where the trace stays; NULL: nowhere */
    const char *engine;   /* as of `record`; NULL: its choice */
    const char *api;      /* functions of libraries, in the place of system calls; NULL: none */
    const char *measure;  /* as of `record`; NULL: time only */
    const char *attach;   /* the process id in the place of a command, which argv is then not */
    const char *duration; /* NULL: to the end */
    bool complete;        /* as of `record` */
    bool arguments;       /* with what each call is given, */
    const char *data;     /* and so many bytes of buffers; NULL: none */
    bool stacks;          /* with the stack of each call, */
    const char *stack_every, *stack_rate; /* or of some; NULL: not asked for */
    bool is_watched;                      /* while it is recorded: */
    /* follows the trace, in another process, until `stop_fd` can be read; needs no output */
    void (*watch)(void *context, const char *trace, int stop_fd);
    void *context;
    const struct tool_call_choice *choice;
    char *folder, *trace; /* made by tool_sys_command_run */
};

/* The words behind "--", where they come before any operand; *argc is without them. */
char **tool_sys_command_find(int *argc, char **argv);
/* Runs it, and returns record's status: the command's own. Where the trace is not there afterwards,
 * that was said. */
int tool_sys_command_run(struct tool_sys_command *command, bool *is_recorded);
void tool_sys_command_close(struct tool_sys_command *command);

#endif
