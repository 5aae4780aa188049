/* Whether an executable tells of its calls itself. */
#ifndef TOOL_ELF_HOOKS_H
#define TOOL_ELF_HOOKS_H

#include <stdbool.h>

/* It calls compilers' hooks, or the runtime's own API; false: not, or it cannot be read. Symbols
 * only: a program that was linked with the static runtime and stripped is not known by these. */
bool tool_elf_has_hooks(const char *path);

#endif
