/* Fields of structures, unions and classes, each a value of its own with the name of what it is in:
 * "point.x". Not of the standard library's, whose fields nobody has named for others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "program/binary/dies.h"
#include "program/binary/values/value_type.h"

#define FIELDS_MAX   16u  /* of a value */
#define NESTED_MAX   3u   /* names in one another, and */
#define DEPTH_MAX    8u   /* structures, of which some have no name */
#define DIES_MAX     256u /* looked at, of a value */
#define TEXT_MAX     255u /* bytes of an array of characters */
#define OBJECT_BYTES 16u  /* of what a string's object says of it */

static bool is_structure(Dwarf_Die *type)
{
    int tag = dwarf_tag(type);
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* ---- strings that are objects ---- */

static bool begins(const char *text, const char *with)
{
    return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

/* Whether a field of that name begins there. */
static bool has_field(Dwarf_Die *type, const char *name, uint64_t offset)
{
    Dwarf_Die die;
    uint64_t at;
    if (dwarf_child(type, &die) != 0)
        return false;
    do {
        const char *own = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;
        if (own != NULL && strcmp(own, name) == 0)
            return tool_value_attribute(&die, DW_AT_data_member_location, &at) && at == offset;
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* Compilers leave out what another unit tells. The namespace says whose it is. */
static bool is_declared_string(Dwarf_Die *type)
{
    Dwarf_Die *scopes = NULL;
    bool is_known = false;
    int count = dwarf_hasattr(type, DW_AT_declaration) ? dwarf_getscopes_die(type, &scopes) : 0;
    for (int i = 0; i < count; i++) {
        const char *name =
            dwarf_tag(&scopes[i]) == DW_TAG_namespace ? dwarf_diename(&scopes[i]) : NULL;
        is_known |= name != NULL && strcmp(name, "__cxx11") == 0;
    }
    if (count > 0)
        free(scopes);
    return is_known;
}

/* Objects are as GNU's library lays them out; 0: it is none of them. */
static uint8_t object_of(Dwarf_Die *type)
{
    const char *name = dwarf_diename(type);
    if (begins(name, "basic_string<char,"))
        return (has_field(type, "_M_dataplus", 0) && has_field(type, "_M_string_length", 8)) ||
                       is_declared_string(type)
                   ? TTP_VALUE_STRING_AT
                   : 0;
    return begins(name, "basic_string_view<char,") && has_field(type, "_M_len", 0) &&
                   has_field(type, "_M_str", 8)
               ? TTP_VALUE_VIEW_AT
               : 0;
}

bool tool_value_is_string(Dwarf_Die *type)
{
    Dwarf_Die peeled;
    return tool_value_peel(type, &peeled) && is_structure(&peeled) &&
           object_of(&peeled) == TTP_VALUE_STRING_AT;
}

static bool is_pointing(int tag)
{
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
           tag == DW_TAG_rvalue_reference_type;
}

/* What a type is, or points to. False: nothing that is known. */
static bool find_target(Dwarf_Die *type, Dwarf_Die *target, bool *is_pointed)
{
    Dwarf_Die peeled, inner;
    if (!tool_value_peel(type, &peeled))
        return false;
    *is_pointed = is_pointing(dwarf_tag(&peeled));
    if (!*is_pointed) {
        *target = peeled;
        return true;
    }
    return tool_value_type_of(&peeled, &inner) && tool_value_peel(&inner, target);
}

void tool_value_describe_object(Dwarf_Die *type, struct tool_elf_value *value)
{
    Dwarf_Die target;
    bool is_pointed;
    if (!find_target(type, &target, &is_pointed) || !is_structure(&target))
        return;
    uint8_t object = object_of(&target);
    bool is_pair = value->place.type == TTAPE_VALUE_BYTES; /* of registers */
    if (object == TTP_VALUE_VIEW_AT && is_pair)
        value->place.type = TTP_VALUE_VIEW;
    else if (object != 0 && value->place.type == TTAPE_VALUE_POINTER)
        value->place.type = object;
}

/* ---- fields ---- */

struct fields {
    struct tool_elf_value *values;
    uint32_t base, count, capacity, dies_left;
    bool is_pair; /* it is in registers */
    bool is_pointed;
};

/* Where something is: behind which name, and how far from the structure's beginning. */
struct within {
    const char *name;
    uint64_t offset;
    uint32_t nested, depth;
};

static void add_members(struct fields *f, Dwarf_Die *type, const struct within *within);

/* False: it has no place in each object, or the compiler made it. */
static bool place_of(Dwarf_Die *member, uint64_t *offset)
{
    *offset = 0;
    return !dwarf_hasattr(member, DW_AT_external) && !dwarf_hasattr(member, DW_AT_declaration) &&
           !dwarf_hasattr(member, DW_AT_artificial) &&
           (!dwarf_hasattr(member, DW_AT_data_member_location) ||
            tool_value_attribute(member, DW_AT_data_member_location, offset));
}

static bool is_of_standard_library(Dwarf_Die *type)
{
    const char *file = dwarf_decl_file(type);
    return file != NULL && (strstr(file, "/include/c++/") != NULL ||
                            strstr(file, "/bits/std") != NULL || strstr(file, "/c++/v1/") != NULL);
}

/* Adds a value as it was described, where it lies within what is read. */
static void add_field(struct fields *f, const struct tool_elf_value *value, uint64_t offset)
{
    if (f->count == f->capacity || offset + value->place.size_bytes > TTP_STRUCTURE_BYTES ||
        value->place.size_bytes == 0)
        return;
    struct tool_elf_value *own = &f->values[f->count++];
    *own = *value;
    own->place.offset = (uint16_t)offset;
    own->place.base = (uint8_t)(f->base + 1);
    own->place.is_pointed = f->is_pointed;
}

/* An array of characters is a text; what others are is not told. */
static void add_array(struct fields *f, Dwarf_Die *type, struct tool_elf_value *value,
                      uint64_t offset)
{
    Dwarf_Die inner, element;
    uint64_t size = tool_value_size(type);
    const char *name = NULL;
    if (tool_value_type_of(type, &inner) && tool_value_peel(&inner, &element) &&
        dwarf_tag(&element) == DW_TAG_base_type)
        name = dwarf_diename(&element);
    if (name == NULL || strcmp(name, "char") != 0 || size == 0)
        return;
    value->place.type = TTP_VALUE_TEXT;
    value->place.size_bytes = (uint8_t)(size < TEXT_MAX ? size : TEXT_MAX);
    add_field(f, value, offset);
}

static void add_structure(struct fields *f, Dwarf_Die *type, struct tool_elf_value *value,
                          const struct within *within)
{
    uint8_t object = object_of(type);
    if (object == 0) {
        if (within->nested < NESTED_MAX)
            add_members(f, type, within);
    } else if (!f->is_pair) {
        value->place.type = object;
        value->place.size_bytes = OBJECT_BYTES;
        add_field(f, value, within->offset);
    }
}

/* The lowest one's number. Before DWARF 5 it was said from the other end of what they are in. */
static bool first_bit(Dwarf_Die *member, uint64_t count, uint64_t whole, uint64_t *first)
{
    uint64_t above;
    if (tool_value_attribute(member, DW_AT_data_bit_offset, first))
        return *first <= UINT16_MAX;
    (void)tool_value_attribute(member, DW_AT_byte_size, &whole);
    if (!tool_value_attribute(member, DW_AT_bit_offset, &above) || whole > 8 ||
        above + count > 8 * whole || above > 64)
        return false;
    *first = 8 * whole - above - count;
    return true;
}

static void add_bits(struct fields *f, Dwarf_Die *member, struct tool_elf_value *value,
                     uint64_t offset)
{
    uint64_t first, count;
    if (!tool_value_attribute(member, DW_AT_bit_size, &count) || count == 0 || count > 56 ||
        !first_bit(member, count, value->place.size_bytes, &first) ||
        value->place.type > TTAPE_VALUE_SIGNED)
        return;
    value->place.at = (uint8_t)(first % 8);
    value->place.then = (uint8_t)count;
    value->place.size_bytes = (uint8_t)((first % 8 + count + 7) / 8);
    add_field(f, value, offset + first / 8);
}

static void add_member(struct fields *f, Dwarf_Die *member, const struct within *outer)
{
    struct tool_elf_value value = {.constant_count = 0};
    Dwarf_Die type, peeled;
    uint64_t offset;
    const char *own = dwarf_tag(member) == DW_TAG_member ? dwarf_diename(member) : NULL;
    if (!place_of(member, &offset) || !tool_value_type_of(member, &type) ||
        !tool_value_peel(&type, &peeled) || offset > TTP_STRUCTURE_BYTES)
        return;
    if (own != NULL)
        (void)snprintf(value.name, sizeof value.name, "%.60s.%.60s", outer->name, own);
    const struct within within = {.name = own != NULL ? value.name : outer->name,
                                  .offset = outer->offset + offset,
                                  .nested = outer->nested + (own != NULL),
                                  .depth = outer->depth + 1};
    tool_value_describe(&type, &value);
    if (is_structure(&peeled))
        add_structure(f, &peeled, &value, &within);
    else if (own == NULL)
        return;
    else if (dwarf_hasattr(member, DW_AT_bit_size))
        add_bits(f, member, &value, within.offset);
    else if (dwarf_tag(&peeled) == DW_TAG_array_type)
        add_array(f, &peeled, &value, within.offset);
    else
        add_field(f, &value, within.offset);
}

static void add_members(struct fields *f, Dwarf_Die *type, const struct within *within)
{
    Dwarf_Die die;
    bool goes_on = within->depth < DEPTH_MAX && !is_of_standard_library(type) &&
                   tool_die_first(type, &die, &f->dies_left);
    for (; goes_on; goes_on = tool_die_next(&die, &f->dies_left)) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
            add_member(f, &die, within);
    }
}

uint32_t tool_value_add_fields(Dwarf_Die *type, struct tool_elf_value *values, uint32_t base,
                               uint32_t count)
{
    Dwarf_Die target;
    bool is_pointed;
    const struct tool_elf_value *own = &values[base];
    bool is_pair = own->place.type == TTAPE_VALUE_BYTES;
    if ((!is_pair && own->place.type != TTAPE_VALUE_POINTER) ||
        !find_target(type, &target, &is_pointed) || !is_structure(&target) ||
        (is_pair && is_pointed))
        return count;
    uint32_t room = TTP_VALUES_MAX - count;
    struct fields f = {.values = values,
                       .base = base,
                       .count = count,
                       .capacity = count + (room < FIELDS_MAX ? room : FIELDS_MAX),
                       .dies_left = DIES_MAX,
                       .is_pair = is_pair,
                       .is_pointed = is_pointed};
    add_members(&f, &target, &(struct within){.name = own->name});
    return f.count;
}
