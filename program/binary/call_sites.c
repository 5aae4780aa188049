/* Two walks: where each function's code is, by its entries (a call names the abstract one, or a
 * declaration), then the calls. */
#include "program/binary/call_sites.h"

#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/ordered.h"
#include "program/binary/dies.h"
#include "program/binary/inlined_calls.h"
#include "program/process/child.h"

struct place {
    Dwarf_Off die;
    uint64_t code;
};
struct named {
    const char *name;
    uint64_t code;
};

struct listing {
    tool_elf_take_call take;
    void *context;
    struct place *places; /* by DIE */
    size_t place_count, place_capacity;
    struct named *named; /* that others link to, by name */
    size_t named_count, named_capacity;
};

static void add_function(struct listing *listing, Dwarf_Die *die)
{
    Dwarf_Addr code;
    Dwarf_Attribute external;
    Dwarf_Die at = *die;
    if (dwarf_entrypc(die, &code) != 0)
        return;
    for (uint32_t i = 0; i < TOOL_DIE_ORIGINS_MAX; i++) {
        tool_child_grow((void **)&listing->places, &listing->place_capacity,
                        listing->place_count + 1, sizeof *listing->places);
        listing->places[listing->place_count++] = (struct place){dwarf_dieoffset(&at), code};
        if (!tool_die_go_back(&at))
            break;
    }
    const char *name = tool_die_linked_name(die);
    if (name == NULL || dwarf_attr_integrate(die, DW_AT_external, &external) == NULL)
        return;
    tool_child_grow((void **)&listing->named, &listing->named_capacity, listing->named_count + 1,
                    sizeof *listing->named);
    listing->named[listing->named_count++] = (struct named){name, code};
}

static int compare_places(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    return one->die < other->die ? -1 : one->die > other->die;
}

static int compare_names(const void *a, const void *b)
{
    const struct named *one = a, *other = b;
    return strcmp(one->name, other->name);
}

static uint64_t code_of(const struct listing *listing, Dwarf_Off die)
{
    struct ttp_bisect s = {.end = listing->place_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, listing->places[s.middle].die < die);
    return s.first < listing->place_count && listing->places[s.first].die == die
               ? listing->places[s.first].code
               : 0;
}

static uint64_t code_named(const struct listing *listing, const char *name)
{
    struct ttp_bisect s = {.end = listing->named_count};
    while (ttp_bisect_next(&s))
        ttp_bisect_turn(&s, strcmp(listing->named[s.middle].name, name) < 0);
    return s.first < listing->named_count && strcmp(listing->named[s.first].name, name) == 0
               ? listing->named[s.first].code
               : 0;
}

/* False: no more are wanted. */
static bool add_call(struct listing *listing, Dwarf_Die *die)
{
    struct tool_elf_call call = {.callee = 0};
    Dwarf_Attribute tail;
    Dwarf_Die callee;
    (void)tool_die_has_target(die, &call.callee);
    if (tool_die_refers(die, DW_AT_call_origin, &callee) ||
        tool_die_refers(die, DW_AT_abstract_origin, &callee)) {
        Dwarf_Die at = callee;
        call.name = tool_die_linked_name(&callee);
        for (uint32_t i = 0; i < TOOL_DIE_ORIGINS_MAX && call.callee == 0; i++) {
            call.callee = code_of(listing, dwarf_dieoffset(&at));
            if (!tool_die_go_back(&at))
                break;
        }
        if (call.callee == 0 && call.name != NULL)
            call.callee = code_named(listing, call.name);
    }
    call.is_tail = dwarf_attr(die, DW_AT_call_tail_call, &tail) != NULL ||
                   dwarf_attr(die, DW_AT_GNU_tail_call, &tail) != NULL;
    bool is_there = tool_die_has_address(die, DW_AT_call_return_pc, &call.end) ||
                    tool_die_has_address(die, DW_AT_low_pc, &call.end) || /* GNU's */
                    tool_die_has_address(die, DW_AT_call_pc, &call.start);
    return !is_there || (call.callee == 0 && call.name == NULL) ||
           listing->take(listing->context, &call);
}

static bool look_for_functions(void *context, Dwarf_Die *unit, Dwarf_Die *die)
{
    (void)unit;
    if (dwarf_tag(die) == DW_TAG_subprogram)
        add_function(context, die);
    return true;
}

static bool look_for_calls(void *context, Dwarf_Die *unit, Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    (void)unit;
    return (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) || add_call(context, die);
}

void tool_elf_calls_list(struct tool_elf_lines *lines, tool_elf_take_call take, void *context)
{
    struct listing listing = {.take = take, .context = context};
    Dwarf *dwarf = tool_elf_lines_dwarf(lines);
    if (dwarf == NULL)
        return;
    tool_dies_walk(dwarf, look_for_functions, &listing);
    if (listing.place_count > 1)
        qsort(listing.places, listing.place_count, sizeof *listing.places, compare_places);
    if (listing.named_count > 1)
        qsort(listing.named, listing.named_count, sizeof *listing.named, compare_names);
    tool_dies_walk(dwarf, look_for_calls, &listing);
    free(listing.places);
    free(listing.named);
}
