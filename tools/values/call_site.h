/* Where a call was made, which is a value of it (F-SIT-14): in a line "from main.c:12", or "from
 * main+25" where no line is known, "from prog+0x11a0" where no name is. */
#ifndef TOOL_CALL_SITE_H
#define TOOL_CALL_SITE_H

#include <tracetape/reader.h>

#include "tools/command/output.h"

/* "main.c:12", "main+25", "prog+0x11a0": of a site of kind TTAPE_SITE_CALL. */
void tool_put_call_site(struct tool_output *out, const ttape_reader *reader, uint32_t number);

#endif
