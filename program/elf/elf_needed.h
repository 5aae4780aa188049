/* Which libraries a program asks for, where it says that they lie, and how large they are. */
#ifndef TOOL_ELF_NEEDED_H
#define TOOL_ELF_NEEDED_H

#include <stdbool.h>
#include <stdint.h>

/* Calls `take` for each name of a library (DT_NEEDED), in order, and for each folder of
 * DT_RUNPATH or DT_RPATH, as it is written ($ORIGIN stays); names end with NUL and are not kept. */
typedef void (*tool_elf_take_text)(void *context, const char *text);
void tool_elf_needed(const char *path, tool_elf_take_text take_library,
                     tool_elf_take_text take_folder, void *context);

/* Whether it is a program, and no library: the C library asks for a loader as well, but has a name
 * that others ask for it by. */
bool tool_elf_is_program(const char *path);

/* How many functions its table of call frames has (.eh_frame_hdr); 0: it has none. */
uint32_t tool_elf_function_count(const char *path);

#endif
