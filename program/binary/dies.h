/* The entries of DWARF that code can be in, or that stand beside it: functions with what is in
 * them, of all units. */
#ifndef TOOL_DIES_H
#define TOOL_DIES_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#define TOOL_DIES_DEPTH_MAX  256u      /* of blocks, or names, in one another */
#define TOOL_DIE_ORIGINS_MAX 4u        /* declarations behind one another */
#define TOOL_DIES_MAX        50000000u /* looked at, for a file that says too much */

/* May there be code in an entry that stands in one of that tag? */
bool tool_die_holds_code(int tag);

/* An attribute refers to another entry, or is an address; the target of a call is one address and
 * nothing else. False: it is not so. */
bool tool_die_refers(Dwarf_Die *die, unsigned name, Dwarf_Die *to);
bool tool_die_has_address(Dwarf_Die *die, unsigned name, Dwarf_Addr *address);
bool tool_die_has_target(Dwarf_Die *call, Dwarf_Addr *target);
/* The entry becomes the one that it is another half of; false: it is of none. */
bool tool_die_go_back(Dwarf_Die *die);

/* The first entry in another one, and the one behind it there; false: there is none, or as many
 * were looked at as may be. */
static inline bool tool_die_first(Dwarf_Die *parent, Dwarf_Die *first, uint32_t *left)
{
    bool may = *left != 0 && dwarf_child(parent, first) == 0;
    *left -= may;
    return may;
}
static inline bool tool_die_next(Dwarf_Die *die, uint32_t *left)
{
    bool may = *left != 0 && dwarf_siblingof(die, die) == 0;
    *left -= may;
    return may;
}

/* Called for each entry; false ends the walk. */
typedef bool (*tool_die_look)(void *context, Dwarf_Die *unit, Dwarf_Die *die);
void tool_dies_walk(Dwarf *dwarf, tool_die_look look, void *context);

#endif
