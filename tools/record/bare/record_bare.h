/* What the command has of its own: limits and signals. The recorder changes some of them for
 * itself, and gives them back to the command; where nothing can be recorded, as limits leave no
 * room, the command runs as it does alone: this process becomes it. */
#ifndef TOOL_RECORD_BARE_H
#define TOOL_RECORD_BARE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

#include <tracetape/session.h>

#define TOOL_RECORD_LIMITS 4u

struct tool_record_bare {
    char **argv;                   /* of the command; NULL: there is none */
    char why[256];                 /* nothing is recorded; "": it is */
    ttape_session *session;        /* in which the command runs; NULL: it has not begun */
    struct sigaction size_action;  /* what SIGXFSZ did */
    struct sigaction child_action; /* and SIGCHLD */
    struct rlimit limits[TOOL_RECORD_LIMITS];
};

/* From here on a file that may not grow is an error, not the end of this process; soft limits are
 * what the hard ones allow; the command's end is waited for even where the end of children was
 * ignored; and where memory is missing, the command runs to its end all the same. It stays as long
 * as the process. */
void tool_record_bare_prepare(struct tool_record_bare *bare, char **argv);
/* In who becomes the command. */
void tool_record_bare_give_back(const struct tool_record_bare *bare);
/* Whether a recording failed as there is no room: of memory, disk, files, processes. */
bool tool_record_lacks_room(ttape_status status, int os_errno);
/* Remembers why nothing is recorded; returns what the verb returns then. */
int tool_record_bare_choose(struct tool_record_bare *bare, const char *why);
/* Says why, and becomes the command; returns a status where it cannot. */
int tool_record_bare_run(const struct tool_record_bare *bare);

#endif
