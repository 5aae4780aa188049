/* Options that a folder gives to verbs which are used in it: its file .tracetape, a line per verb.
 *
 *     record --args --libcalls        # as they are typed, and before those that are
 *     report --sort=self --limit=20
 *
 * A file may have come from elsewhere, with a source tree: it has to be the user's own, which
 * nobody else may write, and cannot say what is run or removed, where anything is written, or from
 * whom it comes. */
#ifndef TOOL_DEFAULTS_H
#define TOOL_DEFAULTS_H

#include <stdbool.h>

struct tool_defaults {
    char *text;   /* of the file, taken apart */
    char **words; /* the verb, its options of the file, and then those of the command line; behind
                     each of the file stands the verb again, the very word, so that the option takes
                     none of what follows for its value */
    int count;
};

/* argv[0] is the verb. What is used is said in a line, or why it is not. Returns a tool_exit:
 * TOOL_USAGE where the file says what it cannot. */
int tool_defaults_open(struct tool_defaults *defaults, int argc, char **argv);
void tool_defaults_close(struct tool_defaults *defaults);

#endif
