/* How the command of a recording ended. */
#ifndef RECORD_END_H
#define RECORD_END_H

#include <stdbool.h>

#include <tracetape/recording.h>

#define TOOL_RECORD_NO_EXEC 126 /* as shells have it: the command cannot be executed */
#define TOOL_RECORD_ABSENT  127

/* The exit status of `record` where the command has exited, or a signal (not 0) has ended it; a
 * line on that for people, with what to type next. */
int tool_record_exit(int exit_code, int signal_number);
/* The first of several files, where it is there: run.0001.ttape, or a process's, run.PID-0.ttape;
 * else what they are called. To be freed. */
char *tool_record_first_file(const char *output, uint32_t pid, bool are_several);
void tool_record_say_end(const char *output, int exit_code, int signal_number);

/* What was recorded, and what of it was lost; the output has a name for people. With is_kept the
 * file at `path` has the last of it. */
void tool_record_say_events(const char *path, const char *output, bool is_kept,
                            const ttape_recording_status *s);

/* What one trace tells: what recording itself cost; and, where it has no blocks that were wanted,
 * a module whose blocks tell of themselves to somebody else. */
void tool_record_say_trace(const char *output, bool wants_blocks);

#endif
