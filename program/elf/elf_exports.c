#include "program/elf/elf_exports.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "program/elf/elf_sections.h"

#define BYTES_MAX (1u << 28) /* of a table */

static bool is_asked(const Elf64_Sym *symbol)
{
    uint32_t type = ELF64_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_NOTYPE) && symbol->st_shndx == SHN_UNDEF;
}

static bool is_exported(const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;
}

static void list(const char *path, bool (*is_it)(const Elf64_Sym *), tool_elf_take_export take,
                 void *context)
{
    struct tool_elf_sections sections;
    size_t symbol_bytes = 0, name_bytes = 0;
    uint8_t *symbols = NULL, *names = NULL;
    if (tool_elf_sections_open(&sections, path)) {
        symbols = tool_elf_section_copy(&sections, ".dynsym", BYTES_MAX, &symbol_bytes);
        names = tool_elf_section_copy(&sections, ".dynstr", BYTES_MAX, &name_bytes);
    }
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbol_bytes; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols + at, sizeof symbol);
        if (symbol.st_name != 0 && symbol.st_name < name_bytes && is_it(&symbol))
            take(context, (const char *)names + symbol.st_name, symbol.st_value);
    }
    tool_elf_sections_close(&sections);
    free(symbols);
    free(names);
}

void tool_elf_asked(const char *path, tool_elf_take_export take, void *context)
{
    list(path, is_asked, take, context);
}

void tool_elf_exported(const char *path, tool_elf_take_export take, void *context)
{
    list(path, is_exported, take, context);
}
