/* Where lines begin: debuggers put breakpoints there. */
#ifndef TOOL_ELF_LINE_STARTS_H
#define TOOL_ELF_LINE_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called with each place at which a statement of a line begins, as far as the ELF file in memory
 * says; several may begin at one. `file` is borrowed. False: it has no line tables. */
typedef void (*tool_elf_take_line)(void *context, uint64_t address, const char *file,
                                   uint32_t line);
bool tool_elf_line_starts(uint8_t *bytes, size_t size_bytes, tool_elf_take_line take,
                          void *context);

#endif
