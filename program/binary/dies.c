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
