/* A folder that appears under its final name only when it is complete. */
#ifndef TOOL_EXPORT_FOLDER_H
#define TOOL_EXPORT_FOLDER_H

#include <signal.h>
#include <stdbool.h>

#define TOOL_FOLDER_SIGNALS 3

struct tool_folder {
    const char *path;
    char *temporary; /* beside it; NULL: not there */
    char *inside;    /* the folder to make and fill, in the temporary one */
    bool force;
    struct sigaction before[TOOL_FOLDER_SIGNALS]; /* what signals did before it was opened */
};

/* Makes the temporary folder, not yet the one inside, and keeps signals from ending the command
 * before it is removed. Returns a tool_exit; what failed has been reported. */
int tool_folder_open(struct tool_folder *folder, const char *path, bool force);

/* Gives it its name. An old folder is replaced only when force was given and it holds nothing but
 * files. */
int tool_folder_commit(struct tool_folder *folder);

/* Removes what was not committed. A signal that came meanwhile takes its course now. */
void tool_folder_close(struct tool_folder *folder);

/* The signal that came since tool_folder_open, or 0. */
int tool_folder_interrupted(void);

#endif
