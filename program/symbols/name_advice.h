/* How somebody gets the names of a program that was stripped. */
#ifndef TOOL_NAME_ADVICE_H
#define TOOL_NAME_ADVICE_H

#include <stdbool.h>

#include <tracetape/types.h>

/* The debuginfod server of this system's distribution. Static text. */
const char *tool_debuginfod_server(void);

/* "--debuginfod with DEBUGINFOD_URLS=... fetches names, or the package coreutils-dbgsym of
 * debian-debug has them": how to get the debug file of the file at `path`; of one that came with no
 * package, how to keep its symbols. was_asked: with --debuginfod, but not for this file, as nothing
 * is fetched while a program runs. The caller frees it; NULL: memory is short. */
char *tool_name_advice(ttape_string path, bool was_asked);

#endif
