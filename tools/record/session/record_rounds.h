/* What the recorder does while programs run: it takes what they recorded, round by round, and obeys
 * signals. */
#ifndef RECORD_ROUNDS_H
#define RECORD_ROUNDS_H

#include <signal.h>
#include <stdbool.h>

#include <tracetape/session.h>

#include "tools/record/output/record_send.h"

/* Signals that end or steer the recorder wait until it can take them: the command may run by then.
 */
void tool_record_block_signals(sigset_t *before);
/* From here on signals steer this recording. */
void tool_record_catch(ttape_recording *recording);
/* Until the command and everything that it started and that is traced has ended, or the process
 * that was attached to has, or was let go. Says, unless quiet, what it waits for when the command
 * itself has ended. */
void tool_record_rounds(ttape_session *session, bool is_attached, bool is_quiet,
                        const struct tool_record_send *send);
/* Ctrl-C has come twice: nothing is waited for any more. */
bool tool_record_is_interrupted(void);
/* Whether somebody cut the shared memory off. */
bool tool_record_is_cut(void);
/* Whether somebody removed its file: programs that began since then were not recorded. Asked before
 * the recording ends. */
bool tool_record_is_removed(const ttape_recording *recording);

#endif
