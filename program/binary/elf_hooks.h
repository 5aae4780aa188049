/* Whether an executable tells of its calls itself, and what it was written in. */
#ifndef TOOL_ELF_HOOKS_H
#define TOOL_ELF_HOOKS_H

#include <stdbool.h>

/* It calls compilers' hooks, or the runtime's own API; false: not, or it cannot be read. Symbols
 * only: a program that was linked with the static runtime and stripped is not known by these. */
bool tool_elf_has_hooks(const char *path);

/* It is built to be traced in another way: it calls mcount or __fentry__ (-pg, -mfentry), or has
 * pads for this purpose (-fpatchable-function-entry, XRay). */
bool tool_elf_has_pads(const char *path);

/* Its blocks (clang's trace-pc-guard) tell of themselves to callbacks that are not the library's
 * libtracetape-blocks, so that nothing of them is recorded. Reads section names first, and symbols
 * only of a file with such blocks. */
bool tool_elf_keeps_blocks(const char *path);

/* What it was written in, as far as that decides how it can be traced; by its sections. */
enum tool_elf_language { TOOL_LANGUAGE_OTHER, TOOL_LANGUAGE_GO, TOOL_LANGUAGE_RUST };
enum tool_elf_language tool_elf_language_of(const char *path);

#endif
