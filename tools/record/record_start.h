/* Starting the command that is recorded. */
#ifndef TOOL_RECORD_START_H
#define TOOL_RECORD_START_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include <tracetape/recording.h>

/* The child, or -1; *code: errno of what failed, in the child too. follows: the kernel is asked
 * when its threads do not run. size_action: what SIGXFSZ did before we changed it. */
pid_t tool_record_start(char **argv, ttape_recording *recording, const char *runtime, bool follows,
                        const struct sigaction *size_action, int *code);

#endif
