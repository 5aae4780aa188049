#include "program/binary/dies.h"

#include <dwarf.h>

struct walking {
    tool_die_look look;
    void *context;
    Dwarf_Die unit;
    uint32_t left;
};

bool tool_die_holds_code(int tag)
{
    return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram ||
           tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
           tag == DW_TAG_class_type;
}

bool tool_die_refers(Dwarf_Die *die, unsigned name, Dwarf_Die *to)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) != NULL && dwarf_formref_die(&attribute, to) != NULL;
}

bool tool_die_go_back(Dwarf_Die *die)
{
    Dwarf_Die other;
    if (!tool_die_refers(die, DW_AT_abstract_origin, &other) &&
        !tool_die_refers(die, DW_AT_specification, &other))
        return false;
    *die = other;
    return true;
}

bool tool_die_has_address(Dwarf_Die *die, unsigned name, Dwarf_Addr *address)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) != NULL && dwarf_formaddr(&attribute, address) == 0;
}

bool tool_die_has_target(Dwarf_Die *call, Dwarf_Addr *target)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *parts;
    size_t count;
    if ((dwarf_attr(call, DW_AT_call_target, &attribute) == NULL &&
         dwarf_attr(call, DW_AT_GNU_call_site_target, &attribute) == NULL) ||
        dwarf_getlocation(&attribute, &parts, &count) != 0 || count != 1 ||
        parts[0].atom != DW_OP_addr)
        return false;
    *target = parts[0].number;
    return true;
}

static bool walk_children(struct walking *walking, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    if (depth == TOOL_DIES_DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return true;
    do {
        if (walking->left-- == 0 || !walking->look(walking->context, &walking->unit, &die))
            return false;
        if (tool_die_holds_code(dwarf_tag(&die)) && !walk_children(walking, &die, depth + 1))
            return false;
    } while (dwarf_siblingof(&die, &die) == 0);
    return true;
}

void tool_dies_walk(Dwarf *dwarf, tool_die_look look, void *context)
{
    struct walking walking = {.look = look, .context = context, .left = TOOL_DIES_MAX};
    Dwarf_Off offset = 0, next;
    size_t header_bytes;
    bool goes_on = true;
    while (goes_on && dwarf_nextcu(dwarf, offset, &next, &header_bytes, NULL, NULL, NULL) == 0 &&
           next > offset) {
        if (dwarf_offdie(dwarf, offset + header_bytes, &walking.unit) != NULL &&
            dwarf_tag(&walking.unit) == DW_TAG_compile_unit)
            goes_on = walk_children(&walking, &walking.unit, 0);
        offset = next;
    }
}
