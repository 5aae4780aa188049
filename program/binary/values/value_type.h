/* The inside of elf_values.h: types, and where the calling convention puts values of them. */
#ifndef TOOL_VALUE_TYPE_H
#define TOOL_VALUE_TYPE_H

#include <elfutils/libdw.h>

#include "program/binary/values/elf_values.h"

/* value_type.c: false: the type is none, or forged. */
bool tool_value_type_of(Dwarf_Die *die, Dwarf_Die *type);
bool tool_value_peel(Dwarf_Die *type, Dwarf_Die *peeled); /* behind typedef, const and their like */
void tool_value_type_name(Dwarf_Die *type, char name[TOOL_VALUE_TEXT_MAX]);
/* Its kind and size, but for where it is. */
void tool_value_describe(Dwarf_Die *type, struct tool_elf_value *value);
uint64_t tool_value_size(Dwarf_Die *type); /* 0: not known */
bool tool_value_attribute(Dwarf_Die *die, unsigned name, uint64_t *number);

/* value_fields.c */
#define TOOL_VALUE_ARGUMENTS 24u            /* values that are no fields */
bool tool_value_is_string(Dwarf_Die *type); /* std::string itself */
/* std::string, std::string_view, or what refers or points to one: the value is its text. */
void tool_value_describe_object(Dwarf_Die *type, struct tool_elf_value *value);
/* Puts fields of the value at `base` behind the `count` that are there, which has room for
 * TTP_VALUES_MAX; returns how many there are then. */
uint32_t tool_value_add_fields(Dwarf_Die *type, struct tool_elf_value *values, uint32_t base,
                               uint32_t count);

/* value_place.c */
struct tool_value_registers {
    uint32_t integers, floats, words; /* that are used */
    bool is_lost; /* something was passed that is not understood: nothing more is known */
};
/* False: it is passed nowhere, or where is not known. */
bool tool_value_pass(struct tool_value_registers *used, Dwarf_Die *type,
                     struct ttp_value_place *place);
bool tool_value_return(Dwarf_Die *type, struct ttp_value_place *place);
/* The caller gives room for what is returned: its address is passed first. */
bool tool_value_is_returned_in_memory(Dwarf_Die *type);

#endif
