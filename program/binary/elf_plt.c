/* Linker stubs by name ("memcpy@plt"), for x86-64: a program that takes a library function's
 * address may record the stub's. A stub jumps through a slot, and the relocation of that slot
 * names the symbol. So no layout of the table has to be known, and there are several.
 *
 * And the main of a stripped program, which its first code gives to the C library:
 *
 *     _start:  ... lea main(%rip),%rdi  or  mov $main,%rdi ... call *slot of __libc_start_main
 *
 * How long it is its entry in .eh_frame says. */
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "program/binary/elf_symbols.h"
#include "program/binary/frames/image.h"
#include "program/process/child.h"

#define STUB_RANK 48u /* after every real symbol of that address, before labels */

#define MAIN_RANK   47u /* after every real symbol of that address */
#define START_BYTES 64u /* _start is shorter */
#define STARTER     "__libc_start_main"

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
            tool_child_grow((void **)&slots->slots, &slots->capacity, slots->count + 1,
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

/* Sorted, to be freed. */
static struct linked_slots list_slots(const struct tool_elf_file *file)
{
    struct linked_slots slots = {0};
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section)) != NULL;)
        if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_RELA)
            take_relocations(&slots, file->elf, section, &header);
    if (slots.count > 0)
        qsort(slots.slots, slots.count, sizeof(struct linked_slot), compare_slots);
    return slots;
}

void tool_elf_table_add_stubs(struct tool_elf_table *table, const struct tool_elf_file *file)
{
    GElf_Shdr header;
    if (file->head.machine != TOOL_ELF_X86_64 || !file->head.is_64)
        return;
    struct linked_slots slots = list_slots(file);
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

/* -- main -- */

static int64_t distance_at(const uint8_t *bytes) { return (int32_t)tool_le32(bytes); }

/* Up to `most` bytes of code that are in the file. */
static const Elf_Data *code_at(const struct tool_elf_file *file, uint64_t address, size_t most)
{
    for (uint32_t i = 0; i < file->head.load_count; i++) {
        const struct tool_elf_load *load = &file->head.loads[i];
        uint64_t in = address - load->address;
        if (load->executable && address >= load->address && in < load->file_bytes) {
            uint64_t left = load->file_bytes - in;
            return elf_getdata_rawchunk(file->elf, (int64_t)(load->offset + in),
                                        left < most ? (size_t)left : most, ELF_T_BYTE);
        }
    }
    return NULL;
}

static bool leads_to_starter(const struct tool_elf_file *file, uint64_t address)
{
    struct linked_slots slots = list_slots(file);
    struct linked_slot key = {.address = address};
    const struct linked_slot *slot =
        slots.count == 0 ? NULL
                         : bsearch(&key, slots.slots, slots.count, sizeof key, compare_slots);
    bool is = slot != NULL && strcmp(slot->name, STARTER) == 0;
    free(slots.slots);
    return is;
}

/* What _start puts into rdi in front of its call; 0: not known. */
static uint64_t find_main(const struct tool_elf_file *file, uint64_t start)
{
    const Elf_Data *code = code_at(file, start, START_BYTES);
    uint64_t found = 0;
    const uint8_t *bytes = code != NULL ? code->d_buf : NULL;
    for (size_t at = 0; bytes != NULL && at + 7 <= code->d_size; at++) {
        const uint8_t *here = bytes + at;
        if (here[0] == 0x48 && here[1] == 0x8d && here[2] == 0x3d)
            found = start + at + 7 + (uint64_t)distance_at(here + 3);
        else if (here[0] == 0x48 && here[1] == 0xc7 && here[2] == 0xc7)
            found = tool_le32(here + 3);
        else if (here[0] == 0xff && here[1] == 0x15 && found != 0)
            return leads_to_starter(file, start + at + 6 + (uint64_t)distance_at(here + 2)) ? found
                                                                                            : 0;
    }
    return 0;
}

/* Of entries as compilers make them: distances of four bytes. */
static uint64_t size_in(const Elf_Data *frames, uint64_t address, uint64_t main_address)
{
    const uint8_t *bytes = frames->d_buf;
    for (size_t at = 0; bytes != NULL && at + 16 <= frames->d_size;) {
        uint32_t length = tool_le32(bytes + at);
        if (length < 4 || length > frames->d_size - at - 4)
            return 0;
        if (tool_le32(bytes + at + 4) != 0 && length >= 12 &&
            address + at + 8 + (uint64_t)distance_at(bytes + at + 8) == main_address)
            return tool_le32(bytes + at + 12);
        at += 4 + (size_t)length;
    }
    return 0;
}

static uint64_t size_of(const struct tool_elf_file *file, uint64_t main_address)
{
    GElf_Shdr header;
    size_t names;
    if (elf_getshdrstrndx(file->elf, &names) != 0)
        return 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section)) != NULL;) {
        const char *name = gelf_getshdr(section, &header) != NULL
                               ? elf_strptr(file->elf, names, header.sh_name)
                               : NULL;
        const Elf_Data *data =
            name != NULL && strcmp(name, ".eh_frame") == 0 && header.sh_type != SHT_NOBITS
                ? elf_rawdata(section, NULL)
                : NULL;
        if (data != NULL)
            return size_in(data, header.sh_addr, main_address);
    }
    return 0;
}

void tool_elf_table_add_main(struct tool_elf_table *table, const struct tool_elf_file *file)
{
    GElf_Ehdr header;
    if (file->head.machine != TOOL_ELF_X86_64 || !file->head.is_64 || !file->head.has_interpreter ||
        gelf_getehdr(file->elf, &header) == NULL)
        return;
    uint64_t address = find_main(file, header.e_entry);
    if (address == 0 || code_at(file, address, 1) == NULL)
        return;
    uint64_t size_bytes = size_of(file, address);
    tool_elf_table_put(table,
                       &(struct tool_elf_symbol){.start = address,
                                                 .size_bytes = size_bytes > 0 ? size_bytes : 1,
                                                 .name = "main",
                                                 .rank = MAIN_RANK});
}
