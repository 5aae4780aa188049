/* What of a program is the application, as against the libraries that come with the system. */
#ifndef TOOL_SYSTEM_MODULE_H
#define TOOL_SYSTEM_MODULE_H

#include <stdbool.h>

#include <tracetape/types.h>

/* A library of the system's, by its path; an executable may lie there, too. */
bool tool_is_system_module(ttape_string path);

#endif
