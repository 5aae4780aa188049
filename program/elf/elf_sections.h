/* Sections of an ELF file for x86-64 by name, in small reads: nothing else of it is looked at. */
#ifndef TOOL_ELF_SECTIONS_H
#define TOOL_ELF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open file, the heads of its sections, and their names. */
struct tool_elf_sections {
    int fd; /* -1: it cannot be opened */
    uint8_t *heads;
    char *names;
    uint32_t count;
    uint64_t names_bytes;
};

/* False: it cannot be read, or has none. Close it in any case. */
bool tool_elf_sections_open(struct tool_elf_sections *sections, const char *path);
void tool_elf_sections_close(struct tool_elf_sections *sections);
/* The head of the first section of that name; NULL: there is none. */
const uint8_t *tool_elf_section_find(const struct tool_elf_sections *sections, const char *name);
/* How many bytes it has; 0: there is none. */
uint64_t tool_elf_section_bytes(const struct tool_elf_sections *sections, const char *name);
/* Reads its first bytes. Returns how many: `room`, or all that it has; 0: it cannot be read. */
size_t tool_elf_section_read(const struct tool_elf_sections *sections, const char *name, void *into,
                             size_t room);
/* It is copied whole, with a zero behind; the caller frees that. NULL: there is none, it has more
 * than `most` bytes, or memory is short. No bytes: it cannot be read. */
void *tool_elf_section_copy(const struct tool_elf_sections *sections, const char *name, size_t most,
                            size_t *size_bytes);

#endif
