/* Linker stubs by name ("memcpy@plt"), for x86-64: a program that takes a library function's
 * address may record the stub's. A stub jumps through a slot, and the relocation of that slot
 * names the symbol. So no layout of the table has to be known, and there are several. */
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "tools/binary/elf_symbols.h"
#include "tools/command/tool.h"

#define STUB_RANK 48u /* after every real symbol of that address, before labels */

/* A slot that is filled with the address of a symbol at run time. */
struct linked_slot {
    uint64_t address;
    const char *name;
};

struct linked_slots {
    struct linked_slot *slots;
    size_t count, capacity;
};

static int compare_slots(const void *a, const void *b)
{
    const struct linked_slot *one = a, *two = b;
    return one->address < two->address ? -1 : one->address > two->address;
}

static void take_relocations(struct linked_slots *slots, Elf *elf, Elf_Scn *section,
                             const GElf_Shdr *header)
{
    GElf_Shdr names;
    Elf_Scn *symbols = elf_getscn(elf, header->sh_link);
    Elf_Data *data = elf_getdata(section, NULL);
    Elf_Data *symbol_data = symbols != NULL ? elf_getdata(symbols, NULL) : NULL;
    if (data == NULL || symbol_data == NULL || gelf_getshdr(symbols, &names) == NULL ||
        names.sh_type != SHT_DYNSYM)
        return;
    size_t count = data->d_size / gelf_fsize(elf, ELF_T_RELA, 1, EV_CURRENT);
    GElf_Rela relocation;
    for (size_t i = 0; i < count && gelf_getrela(data, (int)i, &relocation) != NULL; i++) {
        uint64_t type = GELF_R_TYPE(relocation.r_info);
        GElf_Sym symbol;
        if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
            gelf_getsym(symbol_data, (int)GELF_R_SYM(relocation.r_info), &symbol) == NULL)
            continue;
        const char *name = elf_strptr(elf, names.sh_link, symbol.st_name);
        if (name != NULL && name[0] != '\0') {
            tool_grow((void **)&slots->slots, &slots->capacity, slots->count + 1,
                      sizeof(struct linked_slot));
            slots->slots[slots->count++] = (struct linked_slot){relocation.r_offset, name};
        }
    }
}

/* Takes each stub of a section: the one jump through memory in it, ff 25 and a distance. */
static void take_stubs(struct tool_elf_table *table, const struct linked_slots *slots,
                       const GElf_Shdr *header, const Elf_Data *data)
{
    size_t step = header->sh_entsize == 8 ? 8 : 16;
    const uint8_t *bytes = data->d_buf;
    for (size_t at = 0; bytes != NULL && at + step <= data->d_size; at += step) {
        for (size_t i = at; i + 6 <= at + step; i++) {
            if (bytes[i] != 0xFF || bytes[i + 1] != 0x25)
                continue;
            int32_t distance =
                (int32_t)((uint32_t)bytes[i + 2] | (uint32_t)bytes[i + 3] << 8 |
                          (uint32_t)bytes[i + 4] << 16 | (uint32_t)bytes[i + 5] << 24);
            struct linked_slot key = {.address =
                                          header->sh_addr + i + 6 + (uint64_t)(int64_t)distance};
            const struct linked_slot *slot = bsearch(&key, slots->slots, slots->count,
                                                     sizeof(struct linked_slot), compare_slots);
            if (slot != NULL) {
                tool_elf_table_put(table, &(struct tool_elf_symbol){.start = header->sh_addr + at,
                                                                    .size_bytes = step,
                                                                    .name = slot->name,
                                                                    .rank = STUB_RANK,
                                                                    .suffix = "@plt"});
            }
            break;
        }
    }
}

static bool holds_stubs(Elf *elf, const GElf_Shdr *header)
{
    size_t names;
    const char *name =
        elf_getshdrstrndx(elf, &names) == 0 ? elf_strptr(elf, names, header->sh_name) : NULL;
    return name != NULL && strncmp(name, ".plt", 4) == 0 && header->sh_type == SHT_PROGBITS &&
           (header->sh_flags & SHF_EXECINSTR) != 0 && (header->sh_flags & SHF_COMPRESSED) == 0;
}

void tool_elf_table_add_stubs(struct tool_elf_table *table, const struct tool_elf_file *file)
{
    struct linked_slots slots = {0};
    GElf_Shdr header;
    if (file->head.machine != TOOL_ELF_X86_64 || !file->head.is_64)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section)) != NULL;)
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_RELA)
            take_relocations(&slots, file->elf, section, &header);
    if (slots.count > 0)
        qsort(slots.slots, slots.count, sizeof(struct linked_slot), compare_slots);
    for (Elf_Scn *section = NULL;
         slots.count > 0 && (section = elf_nextscn(file->elf, section)) != NULL;) {
        Elf_Data *data = gelf_getshdr(section, &header) != NULL && holds_stubs(file->elf, &header)
                             ? elf_getdata(section, NULL)
                             : NULL;
        if (data != NULL)
            take_stubs(table, &slots, &header, data);
    }
    free(slots.slots);
}
