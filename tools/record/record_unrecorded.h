/* What record says of processes that recorded nothing. */
#ifndef TOOLS_RECORD_UNRECORDED_H
#define TOOLS_RECORD_UNRECORDED_H

#include <stdbool.h>

#include <tracetape/recording.h>

/* `tried`: whose functions were to be patched, as tool_record_patch_tries says.
 *
 * "3 processes: 2 linked statically ('a'), 1 ..."; NULL: there are none. The caller frees it. */
char *tool_record_unrecorded(const ttape_recording *recording, const char *tried);
/* What to do about it, to stand behind that; "". */
const char *tool_record_unrecorded_hint(const ttape_recording *recording, const char *tried);
/* Whether a program was left alone for its rights. */
bool tool_record_keeps_rights(const ttape_recording *recording);

#endif
