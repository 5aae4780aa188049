/* Inlined functions, of DWARF: where the code of each copy is, where it is entered, and which line
 * called it. */
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "tools/binary/elf_symbols.h"
#include "tools/command/tool.h"

#define DEPTH_MAX 256u      /* of blocks in one another */
#define DIES_MAX  50000000u /* looked at, for a file that says too much */

struct listing {
    tool_elf_take_inlined take;
    void *context;
    uint32_t dies_left;
    bool is_ended;
};

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &value) != 0 ||
        value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *die)
{
    Dwarf_Files *files;
    size_t count;
    uint32_t number = number_of(die, DW_AT_call_file);
    if (number == 0 || dwarf_getsrcfiles(unit, &files, &count) != 0 || number >= count)
        return NULL;
    return dwarf_filesrc(files, number, NULL, NULL);
}

static void take_one(struct listing *listing, Dwarf_Die *unit, Dwarf_Die *die)
{
    Dwarf_Addr base, start, end;
    Dwarf_Attribute attribute;
    struct tool_elf_inlined inlined = {.name = dwarf_diename(die),
                                       .file = call_file(unit, die),
                                       .line = number_of(die, DW_AT_call_line)};
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL) {
        const char *linked = dwarf_formstring(&attribute);
        inlined.name = linked != NULL ? linked : inlined.name;
    }
    if (inlined.name == NULL)
        return;
    ptrdiff_t at = 0;
    if (dwarf_entrypc(die, &inlined.entry) != 0) /* it has ranges, and none is said to be first */
        inlined.entry = dwarf_ranges(die, 0, &base, &start, &end) > 0 ? start : 0;
    while (!listing->is_ended && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        inlined.start = start;
        inlined.end = end;
        if (start < end)
            listing->is_ended = !listing->take(listing->context, &inlined);
    }
}

static void walk(struct listing *listing, Dwarf_Die *unit, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        if (listing->is_ended || listing->dies_left-- == 0) {
            listing->is_ended = true;
            return;
        }
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_inlined_subroutine)
            take_one(listing, unit, &die);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram ||
            tag == DW_TAG_lexical_block || tag == DW_TAG_namespace ||
            tag == DW_TAG_structure_type || tag == DW_TAG_class_type)
            walk(listing, unit, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

void tool_elf_inlined_list(struct tool_elf_lines *lines, tool_elf_take_inlined take, void *context)
{
    struct listing listing = {.take = take, .context = context, .dies_left = DIES_MAX};
    Dwarf *dwarf = tool_elf_lines_dwarf(lines);
    Dwarf_Off offset = 0, next;
    size_t header_bytes;
    while (dwarf != NULL && !listing.is_ended &&
           dwarf_nextcu(dwarf, offset, &next, &header_bytes, NULL, NULL, NULL) == 0 &&
           next > offset) {
        Dwarf_Die unit;
        if (dwarf_offdie(dwarf, offset + header_bytes, &unit) != NULL &&
            dwarf_tag(&unit) == DW_TAG_compile_unit)
            walk(&listing, &unit, &unit, 0);
        offset = next;
    }
}

struct looking {
    uint64_t address;
    struct tool_elf_inlined *found;
    bool is_found;
};

static bool look(void *context, const struct tool_elf_inlined *inlined)
{
    struct looking *looking = context;
    looking->is_found = inlined->entry == looking->address;
    *looking->found = *inlined;
    return !looking->is_found;
}

bool tool_elf_inlined_at(struct tool_elf_lines *lines, uint64_t address,
                         struct tool_elf_inlined *inlined)
{
    struct looking looking = {.address = address, .found = inlined};
    struct listing listing = {.take = look, .context = &looking, .dies_left = DIES_MAX};
    Dwarf *dwarf = tool_elf_lines_dwarf(lines);
    uint64_t offset;
    Dwarf_Die unit;
    if (dwarf != NULL && tool_elf_lines_unit(lines, address, &offset) &&
        dwarf_offdie(dwarf, offset, &unit) != NULL)
        walk(&listing, &unit, &unit, 0);
    return looking.is_found;
}
