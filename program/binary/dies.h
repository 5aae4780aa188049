/* The entries of DWARF that code can be in, or that stand beside it: functions with what is in
 * them, of all units. */
#ifndef TOOL_DIES_H
#define TOOL_DIES_H

#include <stdbool.h>

#include <elfutils/libdw.h>

#define TOOL_DIES_DEPTH_MAX 256u      /* of blocks in one another */
#define TOOL_DIES_MAX       50000000u /* looked at, for a file that says too much */

/* May there be code in an entry that stands in one of that tag? */
bool tool_die_holds_code(int tag);

/* Called for each entry; false ends the walk. */
typedef bool (*tool_die_look)(void *context, Dwarf_Die *unit, Dwarf_Die *die);
void tool_dies_walk(Dwarf *dwarf, tool_die_look look, void *context);

#endif
