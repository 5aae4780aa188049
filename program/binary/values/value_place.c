/* The System V calling convention of x86-64: a value is one or two words of eight bytes, each in a
 * general or in a vector register, or it is in memory. */
#include <string.h>

#include <dwarf.h>

#include "program/binary/values/value_type.h"

#define INTEGERS  6u
#define FLOATS    8u
#define DEPTH_MAX 16u
#define PARTS_MAX 64u /* of a structure of 16 bytes; bit fields count */

enum word_class { NONE, SSE, INTEGER, MEMORY };

struct classes {
    enum word_class words[2];
    bool is_wide;    /* a number of 16 bytes: aligned in memory */
    bool is_unknown; /* forged, or of a kind that is not known */
};

static bool is_c_plus_plus(Dwarf_Die *type)
{
    Dwarf_Die unit;
    if (dwarf_diecu(type, &unit, NULL, NULL) == NULL)
        return false;
    int language = dwarf_srclang(&unit);
    return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
           language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14;
}

static void merge(struct classes *c, uint64_t offset, uint64_t size, enum word_class class)
{
    uint64_t last = size == 0 ? offset : offset + size - 1;
    if (last >= 16)
        class = MEMORY;
    for (uint64_t word = offset / 8; word < 2 && word <= last / 8; word++)
        if (class > c->words[word])
            c->words[word] = class;
    if (last >= 16)
        c->words[0] = MEMORY;
}

/* A field. One that is not aligned, of a packed structure, puts all of it into memory. */
static void put_field(struct classes *c, uint64_t offset, uint64_t size, uint64_t alignment,
                      enum word_class class)
{
    bool is_apart = alignment != 0 && offset % alignment != 0;
    merge(c, offset, size, is_apart ? MEMORY : class);
    if (is_apart)
        c->words[0] = MEMORY;
}

static void classify(struct classes *c, Dwarf_Die *type, uint64_t offset, uint32_t depth);

static void classify_members(struct classes *c, Dwarf_Die *type, uint64_t offset, uint32_t depth)
{
    Dwarf_Die die, inner;
    uint32_t parts = 0;
    if (dwarf_child(type, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        uint64_t at = 0, bits;
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
            dwarf_hasattr(&die, DW_AT_external) || dwarf_hasattr(&die, DW_AT_declaration))
            continue;
        if (parts++ == PARTS_MAX || !tool_value_type_of(&die, &inner)) {
            c->is_unknown = true;
            return;
        }
        if (tool_value_attribute(&die, DW_AT_data_bit_offset, &bits)) {
            merge(c, offset + bits / 8, 1, INTEGER);
            continue;
        }
        if (dwarf_hasattr(&die, DW_AT_data_member_location) &&
            !tool_value_attribute(&die, DW_AT_data_member_location, &at)) {
            c->is_unknown = true; /* a virtual base */
            return;
        }
        if (dwarf_hasattr(&die, DW_AT_bit_size))
            merge(c, offset + at, tool_value_size(&inner), INTEGER);
        else
            classify(c, &inner, offset + at, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void classify_base(struct classes *c, Dwarf_Die *type, uint64_t offset, uint64_t size)
{
    uint64_t encoding = 0;
    const char *name = dwarf_diename(type);
    (void)tool_value_attribute(type, DW_AT_encoding, &encoding);
    bool is_float = encoding == DW_ATE_float || encoding == DW_ATE_complex_float;
    if (is_float && size == 16 && encoding == DW_ATE_float) {
        bool is_x87 = name != NULL && strcmp(name, "long double") == 0;
        c->is_unknown |= !is_x87;
        c->is_wide = true;
        merge(c, offset, 16, MEMORY);
    } else if (is_float) {
        uint64_t part = encoding == DW_ATE_complex_float ? size / 2 : size;
        put_field(c, offset, size, part, size > 16 ? MEMORY : SSE);
        c->is_wide |= size > 16; /* complex long double */
    } else {
        put_field(c, offset, size, size, INTEGER);
        c->is_wide |= size == 16;
    }
}

static void classify(struct classes *c, Dwarf_Die *type, uint64_t offset, uint32_t depth)
{
    Dwarf_Die peeled, inner;
    uint64_t size = tool_value_size(type);
    if (depth == DEPTH_MAX || !tool_value_peel(type, &peeled)) {
        c->is_unknown = true;
        return;
    }
    switch (dwarf_tag(&peeled)) {
    case DW_TAG_base_type: classify_base(c, &peeled, offset, size); break;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: put_field(c, offset, 8, 8, INTEGER); break;
    case DW_TAG_ptr_to_member_type: put_field(c, offset, size, 8, INTEGER); break;
    case DW_TAG_enumeration_type: put_field(c, offset, size, size, INTEGER); break;
    case DW_TAG_unspecified_type: put_field(c, offset, 8, 8, INTEGER); break; /* of nullptr */
    case DW_TAG_array_type: {
        uint64_t element = tool_value_type_of(&peeled, &inner) ? tool_value_size(&inner) : 0;
        if (size > 16 || element == 0)
            merge(c, offset, 17, MEMORY);
        for (uint64_t at = 0; size <= 16 && element != 0 && at + element <= size; at += element)
            classify(c, &inner, offset + at, depth + 1);
        break;
    }
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        if (dwarf_hasattr(&peeled, DW_AT_declaration))
            c->is_unknown = true; /* another unit tells of it */
        else if (size > 16)
            merge(c, offset, size, MEMORY);
        else
            classify_members(c, &peeled, offset, depth);
        break;
    default: c->is_unknown = true; break;
    }
}

/* A destructor, a virtual function, or a constructor that takes one of its own class. */
static bool decides_copying(Dwarf_Die *class, Dwarf_Die *die)
{
    Dwarf_Die parameter, inner, target, peeled;
    const char *own = dwarf_diename(class), *name = dwarf_diename(die);
    if (dwarf_tag(die) != DW_TAG_subprogram || own == NULL || name == NULL ||
        dwarf_hasattr(die, DW_AT_defaulted))
        return false;
    size_t length = strlen(name);
    if (name[0] == '~' || dwarf_hasattr(die, DW_AT_virtuality))
        return true;
    if (strncmp(own, name, length) != 0 || (own[length] != '\0' && own[length] != '<'))
        return false;
    int next = dwarf_child(die, &parameter);
    for (; next == 0; next = dwarf_siblingof(&parameter, &parameter))
        if (tool_value_type_of(&parameter, &inner) &&
            (dwarf_tag(&inner) == DW_TAG_reference_type ||
             dwarf_tag(&inner) == DW_TAG_rvalue_reference_type) &&
            tool_value_type_of(&inner, &target) && tool_value_peel(&target, &peeled) &&
            dwarf_dieoffset(&peeled) == dwarf_dieoffset(class))
            return true;
    return false;
}

/* A C++ class that has a destructor, or says how it is copied, is passed by its address. Newer
 * debug information says so itself. */
static bool is_by_address(Dwarf_Die *type)
{
    Dwarf_Die peeled, die;
    uint64_t convention;
    if (!tool_value_peel(type, &peeled) || !is_c_plus_plus(&peeled) ||
        (dwarf_tag(&peeled) != DW_TAG_structure_type && dwarf_tag(&peeled) != DW_TAG_class_type))
        return false;
    if (tool_value_is_string(&peeled))
        return true;
    if (tool_value_attribute(&peeled, DW_AT_calling_convention, &convention))
        return convention == DW_CC_pass_by_reference;
    if (dwarf_hasattr(&peeled, DW_AT_containing_type))
        return true;
    if (dwarf_child(&peeled, &die) != 0)
        return false;
    do {
        if (decides_copying(&peeled, &die))
            return true;
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

static bool classes_of(Dwarf_Die *type, struct classes *c)
{
    *c = (struct classes){{NONE, NONE}, false, false};
    classify(c, type, 0, 0);
    if (c->words[1] == MEMORY)
        c->words[0] = MEMORY;
    return !c->is_unknown;
}

/* A value on the stack is recorded by its address, or as the word that it is; a long double is read
 * at its address. */
static bool pass_in_memory(struct tool_value_registers *used, uint64_t size, bool is_wide,
                           struct ttp_value_place *place)
{
    used->words += is_wide ? used->words & 1 : 0;
    uint32_t word = used->words;
    used->words += (uint32_t)((size + 7) / 8);
    bool is_word = place->type != TTAPE_VALUE_BYTES && size <= 8;
    if (size > TTP_AT_STACK_WORDS * 8 || word >= TTP_AT_STACK_WORDS) {
        used->is_lost = size > UINT16_MAX;
        return false;
    }
    place->at = (uint8_t)(TTP_AT_STACK + word + (is_word ? 0 : TTP_AT_STACK_WORDS));
    if (!is_word && place->type != TTAPE_VALUE_FLOAT) {
        place->type = TTAPE_VALUE_POINTER;
        place->size_bytes = 8;
    }
    return true;
}

bool tool_value_pass(struct tool_value_registers *used, Dwarf_Die *type,
                     struct ttp_value_place *place)
{
    struct classes c;
    uint8_t *const places[2] = {&place->at, &place->then};
    if (used->is_lost)
        return false;
    if (is_by_address(type)) {
        c = (struct classes){{INTEGER, NONE}, false, false};
        place->type = TTAPE_VALUE_POINTER;
        place->size_bytes = 8;
    } else if (!classes_of(type, &c)) {
        used->is_lost = true;
        return false;
    }
    uint32_t integers = (c.words[0] == INTEGER) + (c.words[1] == INTEGER);
    uint32_t floats = (c.words[0] == SSE) + (c.words[1] == SSE);
    uint64_t size = c.words[1] == NONE ? 8 : 16;
    if (c.words[0] == NONE && c.words[1] == NONE)
        return false;
    if (c.words[0] == MEMORY || used->integers + integers > INTEGERS ||
        used->floats + floats > FLOATS)
        return pass_in_memory(used, c.words[0] == MEMORY ? tool_value_size(type) : size, c.is_wide,
                              place);
    for (uint32_t i = 0; i < 2; i++)
        if (c.words[i] == INTEGER)
            *places[i] = (uint8_t)(TTP_AT_RDI + used->integers++);
        else if (c.words[i] == SSE)
            *places[i] = (uint8_t)(TTP_AT_XMM + used->floats++);
    return true;
}

bool tool_value_is_returned_in_memory(Dwarf_Die *type)
{
    struct classes c;
    return is_by_address(type) || (classes_of(type, &c) && c.words[0] == MEMORY &&
                                   !(c.is_wide && tool_value_size(type) <= 32));
}

bool tool_value_return(Dwarf_Die *type, struct ttp_value_place *place)
{
    struct classes c;
    uint8_t *const places[2] = {&place->at, &place->then};
    uint32_t integers = 0, floats = 0;
    if (tool_value_is_returned_in_memory(type)) {
        *place = (struct ttp_value_place){
            .type = TTAPE_VALUE_POINTER, .size_bytes = 8, .at = TTP_AT_RAX};
        return true;
    }
    if (!classes_of(type, &c) || c.words[0] == MEMORY ||
        (c.words[0] == NONE && c.words[1] == NONE)) /* x87, or nothing */
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (c.words[i] == INTEGER)
            *places[i] = integers++ == 0 ? TTP_AT_RAX : TTP_AT_RDX;
        else if (c.words[i] == SSE)
            *places[i] = (uint8_t)(TTP_AT_XMM + floats++);
    return true;
}
