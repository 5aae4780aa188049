/* What the recorder does while programs run: it takes what they recorded, round by round, and obeys
 * signals. */
#ifndef RECORD_ROUNDS_H
#define RECORD_ROUNDS_H

#include <stdbool.h>
#include <sys/types.h>

#include <tracetape/recording.h>

#include "tools/record/engines/record_trace.h"

/* From here on signals steer this recording. */
void tool_record_catch(ttape_recording *recording);
/* Until the command and everything that it started and that is traced has ended. */
void tool_record_rounds(ttape_recording *recording, pid_t child, int *status);
void tool_record_rounds_attached(ttape_recording *recording, const struct tool_record_trace *trace);
/* Whether somebody cut the shared memory off. */
bool tool_record_is_cut(void);

#endif
