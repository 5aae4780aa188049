/* What record says of processes that recorded nothing. */
#ifndef TOOLS_RECORD_UNRECORDED_H
#define TOOLS_RECORD_UNRECORDED_H

#include <stdbool.h>

#include <tracetape/recording.h>

struct tool_record_outcome {
    const char *tried; /* whose functions were to be patched: tool_record_patch_tries */
    const char *shown; /* the trace's name */
    bool calls_given;  /* system calls were to be recorded */
};

/* Which were not, and why; where nothing was recorded, the reason of that. One line, or none. */
void tool_record_say_unrecorded(const ttape_recording *recording,
                                const struct tool_record_outcome *outcome);

#endif
