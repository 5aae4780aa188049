/* What record says of processes that recorded nothing. */
#ifndef TOOLS_RECORD_UNRECORDED_H
#define TOOLS_RECORD_UNRECORDED_H

#include <stdbool.h>

#include <tracetape/recording.h>

/* "3 processes: 2 linked statically ('a'), 1 ..."; NULL: there are none. The caller frees it. */
char *tool_record_unrecorded(const ttape_recording *recording);
/* What to do about it, to stand behind that; "". `is_patched`: --patch was given. */
const char *tool_record_unrecorded_hint(const ttape_recording *recording, bool is_patched);

#endif
