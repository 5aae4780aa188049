/* What a recording is written to: not over the command, beside older ones, or standard output. */
#ifndef TOOL_RECORD_OUTPUT_H
#define TOOL_RECORD_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

/* The command's file, the first in the search path that can be executed; NULL: none. The caller
 * frees it. */
char *tool_record_find_command(const char *name);
/* Whether an output is the file that a command's name stands for, found as execvp finds it. */
bool tool_record_is_command(const char *output, const char *command);

/* Whether there is OUTPUT.recording: of a recorder that is at work, or did not come to its end.
 * Says so, and what to type. */
bool tool_record_is_left(const char *output);
bool tool_record_is_file(const char *output);

/* A trace that has to keep its name is renamed to OUTPUT.old, as the library does it with others.
 * False: there is something else, which stays. */
bool tool_record_put_aside(const char *output);

/* A trace for standard output is recorded into a folder of its own, and written when it is
 * complete. What the command writes goes to standard error meanwhile. */
struct tool_record_stdout {
    char *folder, *path;
    int fd; /* of standard output as it was */
};

int tool_record_stdout_open(struct tool_record_stdout *standard);
/* Returns `status`, or what became of it. */
int tool_record_stdout_close(struct tool_record_stdout *standard, int status);

/* Where a command is recorded that was given no output. The caller frees it. */
char *tool_record_default_output(const char *command);
#endif
