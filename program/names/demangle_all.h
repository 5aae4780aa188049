/* Many mangled names at once, in a process of its own: the demangler is not ours, and what it gets
 * may be forged. */
#ifndef TOOL_DEMANGLE_ALL_H
#define TOOL_DEMANGLE_ALL_H

#include <stdbool.h>

#include <tracetape/types.h>

/* Could the demangler know it? */
bool tool_is_mangled(ttape_string name);

/* Puts what each name becomes into readable[], to be freed; NULL: it stays as it is. */
void tool_demangle_all(const ttape_string *names, size_t count, ttape_string *readable);

#endif
