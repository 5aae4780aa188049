/* How system calls are recorded: by what is loaded into the program, or from outside. */
#ifndef TOOL_RECORD_ENGINE_H
#define TOOL_RECORD_ENGINE_H

#include <stdbool.h>

#include <tracetape/recording.h>

#include "tools/record/engines/record_calls.h"

enum tool_record_engine { TOOL_ENGINE_AUTO, TOOL_ENGINE_IN_PROCESS, TOOL_ENGINE_PTRACE };

bool tool_parse_record_engine(const char *text, void *into); /* enum tool_record_engine */
/* False: no code of this command would be changed, as the runtime is not loaded into it or stands
 * aside there (record_fit.h). */
bool tool_record_loads(const char *command);

/* Nothing can, and a tracer takes nothing from it: a set-user-id program that an ordinary user
 * traces would run without the rights that it is there for. */
bool tool_record_needs_ptrace(const char *command);
/* The metadata say which were asked for. */
void tool_record_keep_choice(ttape_recording *recording, const struct tool_record_calls *calls);

#endif
