/* Debuggers do not ask _dl_find_object how to unwind. They are told of stubs as of code that a
 * compiler has made while the program runs (GDB's interface for that, which LLDB knows, too): an
 * ELF file in memory for each area, with nothing but where its stubs are and how to unwind.
 *
 * Both names are static: a program that compiles has some of its own, and debuggers look into each
 * module. Where nobody debugs, the function does nothing. */
#include <elf.h>

#include "recorder/runtime/patch/patch.h"

#define REGISTERED   1u
#define UNREGISTERED 2u

struct jit_code_entry {
    struct jit_code_entry *next, *before;
    const void *file;
    uint64_t file_bytes;
};

struct jit_descriptor {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
};
static __attribute__((used)) struct jit_descriptor __jit_debug_descriptor = {.version = 1};

static __attribute__((noinline, used)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

static struct jit_code_entry entries[TTP_AREAS]; /* of areas, by their numbers */

enum { NO_SECTION, STUBS, UNWINDING, NAMES, SECTIONS };
struct debugger_file {
    Elf64_Ehdr head;
    Elf64_Shdr sections[SECTIONS];
    char names[32];
};
_Static_assert(sizeof(struct debugger_file) <= TTP_DEBUGGER_BYTES, "there is room");
static const char names[] = "\0.text\0.eh_frame\0.shstrtab";
_Static_assert(sizeof(names) <= sizeof(((struct debugger_file *)0)->names), "there is room");

/* It is in front of the table of unwinding, both in the area's data. */
static uint8_t *file_of(const struct ttp_area *area)
{
    return (uint8_t *)area->unwind_head - TTP_DEBUGGER_BYTES;
}

void ttp_debugger_prepare(const struct ttp_area *area)
{
    struct debugger_file *file = (struct debugger_file *)file_of(area);
    uint64_t unwinding = TTP_DEBUGGER_BYTES + TTP_UNWIND_HEAD_BYTES;
    *file = (struct debugger_file){
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                             EV_CURRENT},
                 .e_type = ET_REL,
                 .e_machine = EM_X86_64,
                 .e_version = EV_CURRENT,
                 .e_shoff = offsetof(struct debugger_file, sections),
                 .e_ehsize = sizeof(Elf64_Ehdr),
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shnum = SECTIONS,
                 .e_shstrndx = NAMES},
        .sections = {[STUBS] = {.sh_name = 1,
                                .sh_type = SHT_NOBITS,
                                .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                .sh_addr = area->start,
                                .sh_size = area->end - area->start,
                                .sh_addralign = 1},
                     [UNWINDING] = {.sh_name = 7,
                                    .sh_type = SHT_PROGBITS,
                                    .sh_flags = SHF_ALLOC,
                                    .sh_addr = (uintptr_t)file + unwinding,
                                    .sh_offset = unwinding,
                                    .sh_size = TTP_UNWIND_BYTES,
                                    .sh_addralign = 1},
                     [NAMES] = {.sh_name = 17,
                                .sh_type = SHT_STRTAB,
                                .sh_offset = offsetof(struct debugger_file, names),
                                .sh_size = sizeof(names),
                                .sh_addralign = 1}}};
    for (uint32_t i = 0; i < sizeof(names); i++)
        file->names[i] = names[i];
}

static void tell_debugger(struct jit_code_entry *entry, uint32_t action)
{
    __jit_debug_descriptor.action = action;
    __jit_debug_descriptor.relevant = entry;
    __jit_debug_register_code();
}

void ttp_debugger_add(uint32_t number, const struct ttp_area *area)
{
    struct jit_code_entry *entry = &entries[number], *next = __jit_debug_descriptor.first;
    *entry = (struct jit_code_entry){.next = next,
                                     .file = file_of(area),
                                     .file_bytes = TTP_DEBUGGER_BYTES + TTP_UNWIND_HEAD_BYTES +
                                                   TTP_UNWIND_BYTES};
    if (next != NULL)
        next->before = entry;
    __jit_debug_descriptor.first = entry;
    tell_debugger(entry, REGISTERED);
}

void ttp_debugger_drop(uint32_t number)
{
    struct jit_code_entry *entry = &entries[number];
    if (entry->before != NULL)
        entry->before->next = entry->next;
    else
        __jit_debug_descriptor.first = entry->next;
    if (entry->next != NULL)
        entry->next->before = entry->before;
    tell_debugger(entry, UNREGISTERED);
}
