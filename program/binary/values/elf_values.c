/* Functions and their parameters. Where debug information says in which register a parameter comes,
 * that is right; else the convention says so, in languages that keep to it and for functions that
 * the compiler has not changed for its own use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "program/binary/dies.h"
#include "program/binary/values/value_type.h"
#include "program/process/child.h"

#define NOWHERE UINT32_MAX

struct listing {
    const struct tool_elf_module *module;
    tool_elf_take_values take;
    void *context;
    uint32_t dies_left;
    bool is_conventional; /* the unit's language keeps to the convention */
    struct tool_elf_function_values function;
};

static bool is_conventional(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_ObjC:
    case DW_LANG_ObjC_plus_plus: return true;
    default: return false;
    }
}

/* Copies that a compiler makes for some callers take other arguments than their source says. */
static bool is_changed(const struct listing *listing, Dwarf_Die *die, uint64_t entry)
{
    static const char *const marks[] = {".isra.", ".constprop.", ".part.", ".llvm."};
    Dwarf_Attribute attribute;
    Dwarf_Word convention;
    const struct tool_elf_symbol *symbol =
        tool_elf_table_find(&listing->module->table, entry + listing->module->lines_move);
    for (size_t i = 0; symbol != NULL && i < sizeof marks / sizeof *marks; i++)
        if (strstr(symbol->name, marks[i]) != NULL)
            return true;
    return dwarf_attr_integrate(die, DW_AT_calling_convention, &attribute) != NULL &&
           dwarf_formudata(&attribute, &convention) == 0 && convention == DW_CC_nocall;
}

/* What debug information says of where a parameter is when the function is entered. */
struct said {
    bool is_there; /* anything */
    uint32_t at;   /* a register that arguments come in; NOWHERE: it is none */
};

static struct said where(Dwarf_Die *parameter, uint64_t entry)
{
    static const uint8_t places[] = {[5] = TTP_AT_RDI, [4] = 1, [1] = 2, [2] = 3, [8] = 4, [9] = 5};
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count;
    if (dwarf_attr(parameter, DW_AT_location, &attribute) == NULL ||
        dwarf_getlocation_addr(&attribute, entry, &operations, &count, 1) != 1)
        return (struct said){false, NOWHERE};
    uint32_t atom = operations[0].atom;
    uint64_t number = count != 1                                  ? UINT64_MAX
                      : atom == DW_OP_regx                        ? operations[0].number
                      : atom >= DW_OP_reg0 && atom <= DW_OP_reg31 ? atom - DW_OP_reg0
                                                                  : UINT64_MAX;
    if (number >= 17 && number < 25)
        return (struct said){true, TTP_AT_XMM + (uint32_t)(number - 17)};
    bool is_argument = number < sizeof places && (places[number] != 0 || number == 5);
    return (struct said){true, is_argument ? places[number] : NOWHERE};
}

static void put_name(Dwarf_Die *parameter, char name[TOOL_VALUE_TEXT_MAX])
{
    Dwarf_Attribute attribute;
    const char *own = dwarf_attr_integrate(parameter, DW_AT_name, &attribute) != NULL
                          ? dwarf_formstring(&attribute)
                          : NULL;
    (void)snprintf(name, TOOL_VALUE_TEXT_MAX, "%.100s", own != NULL ? own : "");
}

struct passing {
    struct tool_value_registers used;
    bool is_trusted; /* the convention holds */
    bool is_inside;  /* nothing outside of its unit calls it by its name */
    Dwarf_Die types[TOOL_VALUE_ARGUMENTS];
    bool has_fields[TOOL_VALUE_ARGUMENTS]; /* that are asked for: not those of every method */
};

static void add_parameter(struct listing *listing, struct passing *passing, Dwarf_Die *parameter)
{
    struct tool_elf_function_values *function = &listing->function;
    struct tool_elf_value value;
    Dwarf_Die type;
    memset(&value, 0, sizeof value);
    if (!tool_value_type_of(parameter, &type)) {
        passing->used.is_lost = true;
        return;
    }
    tool_value_describe(&type, &value);
    put_name(parameter, value.name);
    struct said said = where(parameter, function->entry);
    /* of a function that only its own unit calls, what nobody looks at may not be passed */
    bool is_passed = tool_value_pass(&passing->used, &type, &value.place) && passing->is_trusted &&
                     !dwarf_hasattr(parameter, DW_AT_const_value) &&
                     (!passing->is_inside || said.is_there);
    if (value.place.type == TTAPE_VALUE_BYTES) /* it may be in two places */
        said.at = NOWHERE;
    if (said.at != NOWHERE)
        value.place.at = (uint8_t)said.at;
    if ((!is_passed && said.at == NOWHERE) || function->given == TOOL_VALUE_ARGUMENTS)
        return;
    tool_value_describe_object(&type, &value);
    passing->types[function->given] = type;
    passing->has_fields[function->given] =
        value.name[0] != '\0' && !dwarf_hasattr_integrate(parameter, DW_AT_artificial);
    function->values[function->given++] = value;
}

static void add_fields(struct listing *listing, struct passing *passing)
{
    struct tool_elf_function_values *function = &listing->function;
    for (uint32_t i = 0, count = function->given; i < count; i++)
        if (passing->has_fields[i])
            function->given =
                tool_value_add_fields(&passing->types[i], function->values, i, function->given);
}

static bool has_parameters(Dwarf_Die *function)
{
    Dwarf_Die die;
    if (dwarf_child(function, &die) != 0)
        return false;
    do
        if (dwarf_tag(&die) == DW_TAG_formal_parameter)
            return true;
    while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* A copy of what is said elsewhere may leave its parameters there. */
static bool parameters_of(Dwarf_Die *function, Dwarf_Die *first)
{
    static const unsigned names[] = {DW_AT_abstract_origin, DW_AT_specification};
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (has_parameters(function))
        return dwarf_child(function, first) == 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dwarf_attr(function, names[i], &attribute) != NULL &&
            dwarf_formref_die(&attribute, &origin) != NULL && has_parameters(&origin))
            return dwarf_child(&origin, first) == 0;
    return false;
}

static void add_result(struct listing *listing, Dwarf_Die *type, bool is_trusted)
{
    struct tool_elf_function_values *function = &listing->function;
    struct tool_elf_value *value = &function->values[function->given];
    memset(value, 0, sizeof *value);
    tool_value_describe(type, value);
    if (!is_trusted || !tool_value_return(type, &value->place))
        return;
    tool_value_describe_object(type, value);
    function->returned = tool_value_add_fields(type, value, 0, 1);
}

static void take_function(struct listing *listing, Dwarf_Die *die)
{
    struct tool_elf_function_values *function = &listing->function;
    struct passing passing = {.is_trusted = false};
    Dwarf_Addr base, start, end;
    Dwarf_Die type, parameter;
    Dwarf_Addr entry;
    if (dwarf_entrypc(die, &entry) != 0) {
        if (dwarf_ranges(die, 0, &base, &start, &end) <= 0)
            return;
        entry = start;
    }
    function->entry = entry;
    function->given = function->returned = 0;
    passing.is_trusted = listing->is_conventional && !is_changed(listing, die, entry);
    passing.is_inside = !dwarf_hasattr_integrate(die, DW_AT_external);
    bool has_type = tool_value_type_of(die, &type);
    passing.used.integers = has_type && tool_value_is_returned_in_memory(&type);
    int next = parameters_of(die, &parameter) ? 0 : 1;
    for (; next == 0 && listing->dies_left != 0; next = dwarf_siblingof(&parameter, &parameter)) {
        listing->dies_left--;
        if (dwarf_tag(&parameter) == DW_TAG_formal_parameter)
            add_parameter(listing, &passing, &parameter);
    }
    add_fields(listing, &passing);
    if (has_type)
        add_result(listing, &type, passing.is_trusted);
    if (function->given + function->returned != 0)
        listing->take(listing->context, function);
}

static void walk_children(struct listing *listing, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    bool goes_on = depth < TOOL_DIES_DEPTH_MAX && tool_die_first(parent, &die, &listing->dies_left);
    for (; goes_on; goes_on = tool_die_next(&die, &listing->dies_left)) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram && !dwarf_hasattr(&die, DW_AT_declaration))
            take_function(listing, &die);
        else if (tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
                 tag == DW_TAG_class_type)
            walk_children(listing, &die, depth + 1);
    }
}

void tool_elf_values_list(const struct tool_elf_module *module, tool_elf_take_values take,
                          void *context)
{
    struct listing *listing = tool_child_allocate(1, sizeof *listing);
    Dwarf *dwarf = module->lines != NULL ? tool_elf_lines_dwarf(module->lines) : NULL;
    Dwarf_Off offset = 0, next;
    size_t header_bytes;
    listing->module = module;
    listing->take = take;
    listing->context = context;
    listing->dies_left = TOOL_DIES_MAX;
    while (dwarf != NULL && listing->dies_left != 0 &&
           dwarf_nextcu(dwarf, offset, &next, &header_bytes, NULL, NULL, NULL) == 0 &&
           next > offset) {
        Dwarf_Die unit;
        if (dwarf_offdie(dwarf, offset + header_bytes, &unit) != NULL &&
            dwarf_tag(&unit) == DW_TAG_compile_unit) {
            listing->is_conventional = is_conventional(&unit);
            walk_children(listing, &unit, 0);
        }
        offset = next;
    }
    free(listing);
}
