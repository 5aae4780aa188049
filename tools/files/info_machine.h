/* info: where a recording was made, and what the command took. */
#ifndef TOOL_INFO_MACHINE_H
#define TOOL_INFO_MACHINE_H

#include <tracetape/reader.h>

#include "tools/command/output.h"

/* Two lines, of a trace of one recording; what is not known is left out. */
void tool_info_print_machine(const ttape_reader *reader, struct tool_output *out);

#endif
