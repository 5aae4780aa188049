/* Symbol tables become one table, sorted by address, with ends: what contains an address is
 * found by looking back from it, no further than any earlier symbol reaches. */
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "base/ordered.h"
#include "program/binary/elf_symbols.h"
#include "program/process/child.h"

#define MACHINE_ARM 40u
#define RANK_LABEL  64u /* without a size: it gets what is left up to the next symbol */

/* Sections by number: where they end, and whether they hold code. */
struct elf_sections {
    uint64_t *ends; /* 0: holds no code */
    size_t count;
};

static void list_sections(Elf *elf, struct elf_sections *sections)
{
    size_t count = 0;
    *sections = (struct elf_sections){0};
    if (elf_getshdrnum(elf, &count) != 0 || count == 0)
        return;
    sections->ends = tool_child_allocate(count, sizeof(uint64_t));
    sections->count = count;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        size_t number = elf_ndxscn(section);
        if (number < count && gelf_getshdr(section, &header) != NULL &&
            (header.sh_flags & SHF_EXECINSTR) != 0 && (header.sh_flags & SHF_ALLOC) != 0 &&
            header.sh_size <= UINT64_MAX - header.sh_addr)
            sections->ends[number] = header.sh_addr + header.sh_size;
    }
}

/* Order among symbols of one address: functions, resolvers, labels; of these what others see, weak
 * or not, as a C library has a __nanosleep of its own for what all call nanosleep; local ones. */
static bool rank_of(const GElf_Sym *symbol, bool of_data, uint32_t *rank)
{
    static const uint32_t bindings[16] = {
        [STB_LOCAL] = 3, [STB_GLOBAL] = 1, [STB_WEAK] = 1, [STB_GNU_UNIQUE] = 1};
    static const uint32_t types[16] = {[STT_FUNC] = 1, [STT_GNU_IFUNC] = 2, [STT_NOTYPE] = 3};
    uint32_t binding = bindings[GELF_ST_BIND(symbol->st_info)];
    static const uint32_t data_types[16] = {[STT_OBJECT] = 1, [STT_COMMON] = 1};
    uint32_t type = (of_data ? data_types : types)[GELF_ST_TYPE(symbol->st_info)];
    *rank = type * 4 + binding + (symbol->st_size == 0 ? RANK_LABEL : 0);
    return binding != 0 && type != 0;
}

static bool is_label_name(const char *name) { return name[0] != '$' && name[0] != '.'; }

/* What a symbol without a size covers at most: the rest of its section. Of a table of exported
 * names alone most neighbours are unknown: there it is one address. */
static uint64_t reach_of(const struct tool_elf_symbol *symbol, bool dynamic, uint64_t section_end)
{
    return !dynamic && section_end > symbol->start ? section_end - symbol->start : 1;
}

static void take_symbol(struct tool_elf_table *table, const struct tool_elf_file *file,
                        const struct elf_sections *sections, const GElf_Sym *symbol,
                        const char *name, bool dynamic, uint64_t move)
{
    struct tool_elf_symbol made = {
        .start = symbol->st_value, .size_bytes = symbol->st_size, .name = name};
    bool label = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE;
    uint64_t end = symbol->st_shndx < sections->count ? sections->ends[symbol->st_shndx] : 0;
    if (name == NULL || name[0] == '\0' || !rank_of(symbol, table->of_data, &made.rank) ||
        symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
        symbol->st_shndx == SHN_COMMON || (label && (end == 0 || !is_label_name(name))))
        return;
    if (file->head.machine == MACHINE_ARM && !label && !table->of_data)
        made.start &= ~(uint64_t)1; /* bit 0 says which instruction set */
    if (made.size_bytes == 0)
        made.size_bytes = reach_of(&made, dynamic, end);
    made.start += move;
    made.size_bytes =
        made.size_bytes <= UINT64_MAX - made.start ? made.size_bytes : UINT64_MAX - made.start;
    tool_elf_table_put(table, &made);
}

void tool_elf_table_put(struct tool_elf_table *table, const struct tool_elf_symbol *symbol)
{
    tool_child_grow((void **)&table->symbols, &table->capacity, table->count + 1,
                    sizeof(struct tool_elf_symbol));
    table->symbols[table->count++] = *symbol;
}

bool tool_elf_table_add(struct tool_elf_table *table, const struct tool_elf_file *file,
                        bool dynamic, uint64_t move)
{
    bool found = false;
    struct elf_sections sections;
    list_sections(file->elf, &sections);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL ||
            header.sh_type != (dynamic ? SHT_DYNSYM : SHT_SYMTAB))
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        size_t entry_bytes = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
        size_t count = data != NULL && entry_bytes > 0 ? data->d_size / entry_bytes : 0;
        GElf_Sym symbol;
        for (size_t i = 1; i < count && gelf_getsym(data, (int)i, &symbol) != NULL; i++) {
            take_symbol(table, file, &sections, &symbol,
                        elf_strptr(file->elf, header.sh_link, symbol.st_name), dynamic, move);
        }
        found = found || count > 1;
    }
    free(sections.ends);
    return found;
}

/* How much of it is shown: a version behind it ("fopen@@GLIBC_2.2.5") is not. */
static size_t shown_bytes(const char *name)
{
    return name[0] == '\0' ? 0 : 1 + strcspn(name + 1, "@");
}

/* By address; of one address the symbol to be taken comes last. */
static int compare_symbols(const void *a, const void *b)
{
    const struct tool_elf_symbol *one = a, *two = b;
    if (one->start != two->start)
        return one->start < two->start ? -1 : 1;
    if (one->rank != two->rank)
        return one->rank > two->rank ? -1 : 1;
    size_t one_bytes = shown_bytes(one->name), two_bytes = shown_bytes(two->name);
    if (one_bytes != two_bytes)
        return one_bytes > two_bytes ? -1 : 1;
    int order = -strcmp(one->name, two->name);
    return order != 0                          ? order
           : one->size_bytes < two->size_bytes ? -1
                                               : one->size_bytes > two->size_bytes;
}

void tool_elf_table_settle(struct tool_elf_table *table)
{
    uint64_t end = 0, next = UINT64_MAX;
    if (table->count == 0)
        return;
    qsort(table->symbols, table->count, sizeof(struct tool_elf_symbol), compare_symbols);
    for (size_t i = table->count; i-- > 0;) { /* labels reach up to the next symbol */
        struct tool_elf_symbol *symbol = &table->symbols[i];
        if (i + 1 < table->count && table->symbols[i + 1].start > symbol->start)
            next = table->symbols[i + 1].start;
        if (symbol->rank >= RANK_LABEL && symbol->size_bytes > next - symbol->start)
            symbol->size_bytes = next - symbol->start;
    }
    table->ends = tool_child_allocate(table->count, sizeof(uint64_t));
    for (size_t i = 0; i < table->count; i++) {
        uint64_t own = table->symbols[i].start + table->symbols[i].size_bytes;
        end = own > end ? own : end;
        table->ends[i] = end;
    }
}

static const struct tool_elf_symbol *look_back(const struct tool_elf_table *table, size_t count,
                                               uint64_t address, bool labels)
{
    for (size_t i = count; i-- > 0 && table->ends[i] > address;) {
        const struct tool_elf_symbol *symbol = &table->symbols[i];
        if ((symbol->rank >= RANK_LABEL) == labels && address - symbol->start < symbol->size_bytes)
            return symbol;
    }
    return NULL;
}

const struct tool_elf_symbol *tool_elf_table_find(const struct tool_elf_table *table,
                                                  uint64_t address)
{
    struct ttp_bisect s = {.end = table->count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, table->symbols[s.middle].start <= address);
    const struct tool_elf_symbol *symbol = look_back(table, s.first, address, false);
    return symbol != NULL ? symbol : look_back(table, s.first, address, true);
}

void tool_elf_table_close(struct tool_elf_table *table)
{
    free(table->symbols);
    free(table->ends);
    *table = (struct tool_elf_table){0};
}
