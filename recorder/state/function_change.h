/* How `control` hands another choice of functions to who has attached, and hears what became of it:
 * files in the recording's folder, and counters in the arena's head. Who attaches says first that
 * it takes such requests: nobody else can.
 *
 *     file      regular expressions, one a line; none: as at first
 *     answer    a letter, and a sentence: D it was done, F so, and rules of calls are others from
 *               the next flush on, R it is refused */
#ifndef TTP_FUNCTION_CHANGE_H
#define TTP_FUNCTION_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/recording.h>

#define TTP_FUNCTIONS_NAME     "change.functions"
#define TTP_FUNCTIONS_ANSWERED "change.answer"
#define TTP_FUNCTIONS_BYTES    65536u
#define TTP_ANSWER_BYTES       1024u
#define TTP_FUNCTIONS_DONE     'D'
#define TTP_FUNCTIONS_RULES    'F'
#define TTP_FUNCTIONS_REFUSED  'R'

/* control.c: counts a request up, and waits for its answer. */
ttape_status ttp_control_ask_functions(const ttape_control *control, uint64_t wait_ns,
                                       ttape_error *err);
bool ttp_control_takes_functions(const ttape_control *control);

/* control_functions.c, in the thread that makes the recorder's rounds. */
void ttp_functions_take(ttape_recording *recording);
/* What is asked for, to be freed; NULL: nothing. */
char *ttp_functions_asked(ttape_recording *recording);
void ttp_functions_answer(ttape_recording *recording, char what, const char *said);

#endif
