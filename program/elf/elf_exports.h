/* Functions that modules ask one another for, by the tables that the loader reads. */
#ifndef TOOL_ELF_EXPORTS_H
#define TOOL_ELF_EXPORTS_H

#include <stdint.h>

/* Names are not kept. Nothing is called for a file that cannot be read. */
typedef void (*tool_elf_take_export)(void *context, const char *name, uint64_t elf_address);
/* What another module has to have; the address is 0. */
void tool_elf_asked(const char *path, tool_elf_take_export take, void *context);
/* What it has for others, but for functions that choose another one when they are loaded. */
void tool_elf_exported(const char *path, tool_elf_take_export take, void *context);

#endif
