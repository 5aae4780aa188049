/* How the command of a recording ended. */
#ifndef RECORD_END_H
#define RECORD_END_H

#include <tracetape/recording.h>

/* Of its wait status: the exit status of `record`; what the metadata say; a line for people, with
 * what to type next. */
int tool_record_exit(int status);
void tool_record_keep_end(ttape_recording *recording, int status);
void tool_record_say_end(const char *output, int status);

/* What recording itself cost, where one trace tells it. */
void tool_record_say_cost(const char *output);

#endif
