#include <stdio.h>
#include <string.h>

#include <dwarf.h>

#include "program/binary/values/value_type.h"

#define DEPTH_MAX 16u

bool tool_value_type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) != NULL &&
           dwarf_formref_die(&attribute, type) != NULL;
}

bool tool_value_peel(Dwarf_Die *type, Dwarf_Die *peeled)
{
    *peeled = *type;
    for (uint32_t depth = 0; depth < DEPTH_MAX; depth++) {
        int tag = dwarf_tag(peeled);
        if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
            tag != DW_TAG_restrict_type && tag != DW_TAG_atomic_type)
            return true;
        Dwarf_Die next;
        if (!tool_value_type_of(peeled, &next))
            return false;
        *peeled = next;
    }
    return false;
}

uint64_t tool_value_size(Dwarf_Die *type)
{
    Dwarf_Word size;
    return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

bool tool_value_attribute(Dwarf_Die *die, unsigned name, uint64_t *number)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (dwarf_attr_integrate(die, name, &attribute) == NULL ||
        dwarf_formudata(&attribute, &word) != 0)
        return false;
    *number = word;
    return true;
}

/* -- names -- */

static const char *prefix_of(Dwarf_Die *type)
{
    bool is_c = false;
    Dwarf_Die unit;
    if (dwarf_diecu(type, &unit, NULL, NULL) != NULL) {
        int language = dwarf_srclang(&unit);
        is_c = language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
               language == DW_LANG_C11;
    }
    switch (is_c ? dwarf_tag(type) : 0) {
    case DW_TAG_structure_type: return "struct ";
    case DW_TAG_union_type: return "union ";
    case DW_TAG_enumeration_type: return "enum ";
    default: return "";
    }
}

static void put_name(Dwarf_Die *type, char name[TOOL_VALUE_TEXT_MAX])
{
    const char *own = dwarf_diename(type);
    (void)snprintf(name, TOOL_VALUE_TEXT_MAX, "%s%.100s", prefix_of(type),
                   own != NULL ? own : "{...}");
}

/* Behind a star there is no space. */
static void add_word(char name[TOOL_VALUE_TEXT_MAX], const char *more)
{
    size_t length = strlen(name);
    bool is_near = length > 0 && (name[length - 1] == '*' || name[length - 1] == '&');
    (void)snprintf(name + length, TOOL_VALUE_TEXT_MAX - length, "%s%s", is_near ? "" : " ", more);
}

static void put_type(Dwarf_Die *type, char name[TOOL_VALUE_TEXT_MAX], uint32_t depth);

static void put_inner(Dwarf_Die *type, char name[TOOL_VALUE_TEXT_MAX], uint32_t depth)
{
    Dwarf_Die inner;
    if (depth == DEPTH_MAX)
        strcpy(name, "...");
    else if (tool_value_type_of(type, &inner))
        put_type(&inner, name, depth + 1);
    else
        strcpy(name, "void");
}

static void put_qualified(Dwarf_Die *type, const char *word, char name[TOOL_VALUE_TEXT_MAX],
                          uint32_t depth)
{
    char inner[TOOL_VALUE_TEXT_MAX];
    put_inner(type, inner, depth);
    size_t length = strlen(inner);
    if (length > 0 && (inner[length - 1] == '*' || inner[length - 1] == '&')) {
        memcpy(name, inner, length + 1);
        add_word(name, word);
    } else {
        (void)snprintf(name, TOOL_VALUE_TEXT_MAX, "%s %.*s", word, (int)TOOL_VALUE_TEXT_MAX - 16,
                       inner);
    }
}

static bool is_function(Dwarf_Die *pointer)
{
    Dwarf_Die inner;
    return tool_value_type_of(pointer, &inner) && dwarf_tag(&inner) == DW_TAG_subroutine_type;
}

static void put_type(Dwarf_Die *type, char name[TOOL_VALUE_TEXT_MAX], uint32_t depth)
{
    int tag = dwarf_tag(type);
    switch (tag) {
    case DW_TAG_const_type: put_qualified(type, "const", name, depth); break;
    case DW_TAG_volatile_type: put_qualified(type, "volatile", name, depth); break;
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type: put_inner(type, name, depth); break;
    case DW_TAG_pointer_type:
        if (is_function(type)) {
            strcpy(name, "(*)()");
            break;
        }
        put_inner(type, name, depth);
        add_word(name, "*");
        break;
    case DW_TAG_reference_type:
        put_inner(type, name, depth);
        add_word(name, "&");
        break;
    case DW_TAG_rvalue_reference_type:
        put_inner(type, name, depth);
        add_word(name, "&&");
        break;
    case DW_TAG_array_type:
        put_inner(type, name, depth);
        add_word(name, "[]");
        break;
    default: put_name(type, name); break;
    }
}

void tool_value_type_name(Dwarf_Die *type, char name[TOOL_VALUE_TEXT_MAX])
{
    put_type(type, name, 0);
}

/* -- kinds -- */

static int encoding_of(Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Word encoding;
    return dwarf_attr_integrate(type, DW_AT_encoding, &attribute) != NULL &&
                   dwarf_formudata(&attribute, &encoding) == 0 && encoding < 256
               ? (int)encoding
               : 0;
}

/* A string is what is called char: unsigned char and signed char are bytes. */
static bool is_string(Dwarf_Die *pointer)
{
    Dwarf_Die inner, peeled;
    if (!tool_value_type_of(pointer, &inner) || !tool_value_peel(&inner, &peeled) ||
        dwarf_tag(&peeled) != DW_TAG_base_type)
        return false;
    const char *name = dwarf_diename(&peeled);
    return name != NULL && strcmp(name, "char") == 0 && tool_value_size(&peeled) == 1;
}

/* Forms of a fixed size say nothing of the sign. gcc and gdb take them for unsigned, also in a
 * signed type: a negative constant has a signed form. */
static bool has_unsigned_form(Dwarf_Attribute *attribute)
{
    unsigned form = dwarf_whatform(attribute);
    return form == DW_FORM_udata || form == DW_FORM_data1 || form == DW_FORM_data2 ||
           form == DW_FORM_data4 || form == DW_FORM_data8;
}

static bool constant_of(Dwarf_Die *die, int64_t *value)
{
    Dwarf_Attribute attribute;
    Dwarf_Sword number;
    Dwarf_Word word;
    if (dwarf_attr(die, DW_AT_const_value, &attribute) == NULL)
        return false;
    if (has_unsigned_form(&attribute)) {
        if (dwarf_formudata(&attribute, &word) != 0)
            return false;
        *value = (int64_t)word;
        return true;
    }
    if (dwarf_formsdata(&attribute, &number) != 0)
        return false;
    *value = number;
    return true;
}

static void list_constants(Dwarf_Die *type, struct tool_elf_value *value)
{
    Dwarf_Die die;
    if (dwarf_child(type, &die) != 0)
        return;
    do {
        struct tool_elf_constant constant = {.name = dwarf_diename(&die)};
        if (dwarf_tag(&die) != DW_TAG_enumerator || constant.name == NULL ||
            !constant_of(&die, &constant.value))
            continue;
        if (value->constant_count == TOOL_VALUE_CONSTANTS) {
            value->constant_count = 0;
            return;
        }
        value->constants[value->constant_count++] = constant;
    } while (dwarf_siblingof(&die, &die) == 0);
}

/* Constants may be written in a form of the other sign. */
static void describe_enumeration(Dwarf_Die *type, struct tool_elf_value *value)
{
    Dwarf_Die base, peeled;
    int encoding = tool_value_type_of(type, &base) && tool_value_peel(&base, &peeled)
                       ? encoding_of(&peeled)
                       : encoding_of(type);
    bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    list_constants(type, value);
    for (uint32_t i = 0; encoding == 0 && i < value->constant_count; i++)
        is_signed |= value->constants[i].value < 0;
    value->place.type = is_signed ? TTAPE_VALUE_SIGNED : TTAPE_VALUE_UNSIGNED;
    uint32_t unused = 64 - 8u * value->place.size_bytes;
    for (uint32_t i = 0; unused > 0 && unused < 64 && i < value->constant_count; i++) {
        uint64_t high = (uint64_t)value->constants[i].value << unused;
        value->constants[i].value = is_signed ? (int64_t)high >> unused : (int64_t)(high >> unused);
    }
}

/* A long double is as x87 has it: in 16 bytes. */
static bool is_long_double(Dwarf_Die *type)
{
    const char *name = dwarf_diename(type);
    return name != NULL && strcmp(name, "long double") == 0 && encoding_of(type) == DW_ATE_float &&
           tool_value_size(type) == 16;
}

void tool_value_describe(Dwarf_Die *type, struct tool_elf_value *value)
{
    Dwarf_Die peeled;
    uint64_t size = tool_value_size(type);
    tool_value_type_name(type, value->type);
    value->place.size_bytes = size <= 16 ? (uint8_t)size : 0;
    value->place.type = TTAPE_VALUE_POINTER;
    if (!tool_value_peel(type, &peeled))
        return;
    switch (dwarf_tag(&peeled)) {
    case DW_TAG_enumeration_type: describe_enumeration(&peeled, value); break;
    case DW_TAG_pointer_type:
        value->place.type = is_string(&peeled) ? TTAPE_VALUE_STRING : TTAPE_VALUE_POINTER;
        break;
    case DW_TAG_base_type:
        switch (encoding_of(&peeled)) {
        case DW_ATE_signed:
        case DW_ATE_signed_char: value->place.type = TTAPE_VALUE_SIGNED; break;
        case DW_ATE_float: value->place.type = TTAPE_VALUE_FLOAT; break;
        case DW_ATE_complex_float: value->place.type = TTAPE_VALUE_BYTES; break;
        default: value->place.type = TTAPE_VALUE_UNSIGNED; break;
        }
        if (size > 8 && !is_long_double(&peeled))
            value->place.type = TTAPE_VALUE_BYTES;
        break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_array_type:
    case DW_TAG_ptr_to_member_type: value->place.type = TTAPE_VALUE_BYTES; break;
    default: break;
    }
}
