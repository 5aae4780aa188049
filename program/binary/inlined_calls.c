/* Of two functions it is known that one called the other one, and not where. Each call that it can
 * have been is looked at: of the callee by its name or address, and through pointers. What all of
 * them are in was open. Without a call that names the callee, something that nobody has told of
 * stands between the two. */
#include "program/binary/inlined_calls.h"

#include <string.h>

#include <dwarf.h>

#include "program/binary/dies.h"

#define LOOKED_MAX 1000000u /* entries of one unit */

struct looking {
    const struct tool_elf_between *between;
    Dwarf_Die function;
    Dwarf_Die common[TOOL_INLINED_MOST];
    uint32_t common_count;
    uint32_t left;
    bool has_any, is_named; /* a call; one that names the callee */
};

const char *tool_die_linked_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
        name = dwarf_formstring(&attribute);
    return name != NULL ? name : dwarf_diename(die);
}

static bool find_function(Dwarf_Die *parent, Dwarf_Addr pc, Dwarf_Die *function, unsigned depth,
                          uint32_t *left)
{
    Dwarf_Die die;
    bool goes_on = depth < TOOL_DIES_DEPTH_MAX && tool_die_first(parent, &die, left);
    for (; goes_on; goes_on = tool_die_next(&die, left)) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram && dwarf_haspc(&die, pc) > 0) {
            *function = die;
            return true;
        }
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
            tool_die_holds_code(tag) && find_function(&die, pc, function, depth + 1, left))
            return true;
    }
    return false;
}

bool tool_die_function_at(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die *function)
{
    uint32_t left = LOOKED_MAX;
    return find_function(unit, pc, function, 0, &left);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name, uint32_t missing)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &value) != 0 ||
        value > UINT32_MAX)
        return missing;
    return (uint32_t)value;
}

uint32_t tool_die_call_line(Dwarf_Die *unit, Dwarf_Die *inlined, const char **file)
{
    Dwarf_Files *files;
    size_t count;
    uint32_t number = number_of(inlined, DW_AT_call_file, UINT32_MAX);
    *file = NULL;
    if (number != UINT32_MAX && dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count)
        *file = dwarf_filesrc(files, number, NULL, NULL);
    if (*file != NULL && strcmp(*file, "???") == 0) /* before DWARF 5, 0 is none */
        *file = NULL;
    return number_of(inlined, DW_AT_call_line, 0);
}

uint32_t tool_die_inlined_at(Dwarf_Die *function, Dwarf_Addr pc,
                             Dwarf_Die inlined[TOOL_INLINED_MOST])
{
    uint32_t count = 0;
    Dwarf_Die parent = *function, die;
    for (uint32_t depth = 0; depth < TOOL_DIES_DEPTH_MAX && dwarf_child(&parent, &die) == 0;
         depth++) {
        bool is_inside = false;
        do {
            int tag = dwarf_tag(&die);
            is_inside = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
                        dwarf_haspc(&die, pc) > 0;
            if (is_inside && tag == DW_TAG_inlined_subroutine) {
                if (count == TOOL_INLINED_MOST)
                    return count;
                inlined[count++] = die;
            }
        } while (!is_inside && dwarf_siblingof(&die, &die) == 0);
        if (!is_inside)
            break;
        parent = die;
    }
    return count;
}

/* -- a call -- */

enum { OTHER, POINTER, NAMED };

static int kind_of(const struct looking *looking, Dwarf_Die *call)
{
    const struct tool_elf_between *between = looking->between;
    Dwarf_Addr target;
    Dwarf_Die callee;
    if (tool_die_has_target(call, &target))
        return between->callee != 0 && target == between->callee ? NAMED : OTHER;
    if (!tool_die_refers(call, DW_AT_call_origin, &callee) &&
        !tool_die_refers(call, DW_AT_abstract_origin, &callee))
        return POINTER;
    for (uint32_t i = 0; i < TOOL_DIE_ORIGINS_MAX; i++) {
        if (between->callee != 0 && dwarf_entrypc(&callee, &target) == 0 &&
            target == between->callee)
            return NAMED;
        const char *name = tool_die_linked_name(&callee);
        if (name != NULL && between->is_named(between->context, name))
            return NAMED;
        if (!tool_die_go_back(&callee))
            break;
    }
    return OTHER;
}

/* Copies of one function are one: each of them says the same of a stack. */
static Dwarf_Off origin_of(Dwarf_Die *copy)
{
    Dwarf_Die origin;
    return dwarf_dieoffset(tool_die_refers(copy, DW_AT_abstract_origin, &origin) ? &origin : copy);
}

static void take_call(struct looking *looking, Dwarf_Die *call)
{
    Dwarf_Addr at = 0;
    Dwarf_Die around[TOOL_INLINED_MOST];
    uint32_t count = 0, same = 0;
    if (tool_die_has_address(call, DW_AT_call_pc, &at))
        count = tool_die_inlined_at(&looking->function, at, around);
    else if (tool_die_has_address(call, DW_AT_call_return_pc, &at) ||
             tool_die_has_address(call, DW_AT_low_pc, &at)) /* GNU's */
        count = tool_die_inlined_at(&looking->function, at - 1, around);
    if (!looking->has_any) {
        memcpy(looking->common, around, count * sizeof *around);
        looking->common_count = count;
    }
    looking->has_any = true;
    while (same < count && same < looking->common_count &&
           origin_of(&around[same]) == origin_of(&looking->common[same]))
        same++;
    looking->common_count = same;
}

static void look_for_calls(struct looking *looking, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    bool goes_on = depth < TOOL_DIES_DEPTH_MAX && tool_die_first(parent, &die, &looking->left);
    for (; goes_on; goes_on = tool_die_next(&die, &looking->left)) {
        int tag = dwarf_tag(&die);
        bool is_call = tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
        int kind = is_call ? kind_of(looking, &die) : OTHER;
        looking->is_named |= kind == NAMED;
        if (kind != OTHER)
            take_call(looking, &die);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block)
            look_for_calls(looking, &die, depth + 1);
    }
}

static bool has_all_calls(Dwarf_Die *function)
{
    return dwarf_hasattr_integrate(function, DW_AT_call_all_calls) ||
           dwarf_hasattr_integrate(function, DW_AT_call_all_source_calls) ||
           dwarf_hasattr_integrate(function, DW_AT_GNU_all_call_sites) ||
           dwarf_hasattr_integrate(function, DW_AT_GNU_all_source_call_sites);
}

void tool_elf_inlined_between(struct tool_elf_lines *lines, const struct tool_elf_between *between,
                              tool_elf_take_inlined take)
{
    struct looking looking = {.between = between, .left = LOOKED_MAX};
    uint64_t offset;
    Dwarf_Die unit;
    Dwarf *dwarf = tool_elf_lines_dwarf(lines);
    if (dwarf == NULL || !tool_elf_lines_unit(lines, between->caller, &offset) ||
        dwarf_offdie(dwarf, offset, &unit) == NULL ||
        !tool_die_function_at(&unit, between->caller, &looking.function) ||
        !has_all_calls(&looking.function))
        return;
    look_for_calls(&looking, &looking.function, 0);
    for (uint32_t i = 0; looking.left > 0 && looking.is_named && i < looking.common_count; i++) {
        const struct tool_elf_inlined inlined = {.end = 1,
                                                 .name = tool_die_linked_name(&looking.common[i])};
        if (inlined.name == NULL || !take(between->context, &inlined))
            return;
    }
}
