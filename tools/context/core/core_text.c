/* A variable's value, as its type says: numbers, texts, the first parts of what has parts. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <dwarf.h>

#include "program/binary/values/value_type.h"
#include "tools/context/core/core_scope.h"

#define BYTES_MOST   4096u
#define TEXT_MOST    80u /* characters of a string */
#define PARTS_MOST   16u
#define NUMBERS_MOST 8u
#define DEPTH_MOST   3u
#define NAMES_MOST   4096u /* of an enumeration that are looked at */

struct value {
    struct tool_core *core;
    const uint8_t *bytes;
    uint64_t size;
};

void tool_core_put(struct tool_core_text *out, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof out->text - out->size;
    va_start(arguments, format);
    int size = vsnprintf(out->text + out->size, room, format, arguments);
    va_end(arguments);
    if (size > 0)
        out->size += (size_t)size < room ? (size_t)size : room - 1;
}

static void put_value(struct tool_core_text *out, Dwarf_Die *type, const struct value *value,
                      uint32_t depth);

static uint64_t number_in(const struct value *value)
{
    return tool_core_number(value->bytes, value->size < 8 ? (uint32_t)value->size : 8);
}

static int64_t signed_in(const struct value *value)
{
    uint64_t number = number_in(value);
    uint32_t bits = value->size < 8 ? 8 * (uint32_t)value->size : 64;
    if (bits < 64 && bits != 0 && (number >> (bits - 1) & 1) != 0)
        number |= ~(uint64_t)0 << bits;
    return (int64_t)number;
}

static void put_character(struct tool_core_text *out, uint8_t byte)
{
    if (byte >= ' ' && byte < 127 && byte != '"' && byte != '\\')
        tool_core_put(out, "%c", byte);
    else
        tool_core_put(out, "\\x%02x", byte);
}

/* Up to a zero, or as many as are there. */
static void put_text(struct tool_core_text *out, const uint8_t *bytes, uint64_t size, bool is_whole)
{
    uint64_t i = 0;
    tool_core_put(out, "\"");
    for (; i < size && i < TEXT_MOST && bytes[i] != 0; i++)
        put_character(out, bytes[i]);
    tool_core_put(out, "\"%s",
                  i < size && bytes[i] != 0 ? "..."
                  : i == size && !is_whole  ? "..."
                                            : "");
}

static void put_real(struct tool_core_text *out, const struct value *value)
{
    float narrow;
    double real;
    long double wide;
    if (value->size == sizeof narrow) {
        memcpy(&narrow, value->bytes, sizeof narrow);
        tool_core_put(out, "%.9g", (double)narrow);
    } else if (value->size == sizeof real) {
        memcpy(&real, value->bytes, sizeof real);
        tool_core_put(out, "%.17g", real);
    } else if (value->size == sizeof wide) {
        memcpy(&wide, value->bytes, sizeof wide);
        tool_core_put(out, "%.21Lg", wide);
    } else {
        tool_core_put(out, "(a number of %" PRIu64 " bytes)", value->size);
    }
}

static uint64_t encoding_of(Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (dwarf_attr_integrate(type, DW_AT_encoding, &attribute) == NULL ||
        dwarf_formudata(&attribute, &word) != 0)
        return 0;
    return word;
}

static void put_base(struct tool_core_text *out, Dwarf_Die *type, const struct value *value)
{
    uint64_t encoding = encoding_of(type);
    bool is_character = encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char;
    if (encoding == DW_ATE_float)
        put_real(out, value);
    else if (value->size > 8)
        tool_core_put(out, "(a number of %" PRIu64 " bytes)", value->size);
    else if (encoding == DW_ATE_boolean)
        tool_core_put(out, "%s", number_in(value) != 0 ? "true" : "false");
    else if (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char)
        tool_core_put(out, "%" PRId64, signed_in(value));
    else
        tool_core_put(out, "%" PRIu64, number_in(value));
    if (is_character && value->size == 1 && value->bytes[0] >= ' ' && value->bytes[0] < 127)
        tool_core_put(out, " '%c'", value->bytes[0]);
}

static bool is_character_type(Dwarf_Die *type)
{
    Dwarf_Die peeled;
    uint64_t encoding;
    if (!tool_value_peel(type, &peeled) || dwarf_tag(&peeled) != DW_TAG_base_type)
        return false;
    encoding = encoding_of(&peeled);
    return tool_value_size(&peeled) == 1 &&
           (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

static void put_pointer(struct tool_core_text *out, Dwarf_Die *type, const struct value *value)
{
    uint8_t bytes[TEXT_MOST + 1];
    uint64_t address = number_in(value), size = 0;
    Dwarf_Die target;
    tool_core_put(out, "0x%" PRIx64, address);
    if (address == 0 || !tool_value_type_of(type, &target) || !is_character_type(&target))
        return;
    while (size < sizeof bytes && tool_core_read(value->core, address + size, &bytes[size], 1) &&
           bytes[size++] != 0)
        ;
    if (size == 0) {
        tool_core_put(out, " (not in the dump)");
        return;
    }
    tool_core_put(out, " ");
    put_text(out, bytes, size, false);
}

static void put_enumeration(struct tool_core_text *out, Dwarf_Die *type, const struct value *value)
{
    Dwarf_Die die;
    Dwarf_Attribute attribute;
    Dwarf_Sword number;
    uint32_t looked = 0;
    int next = dwarf_child(type, &die);
    for (; next == 0 && looked < NAMES_MOST; next = dwarf_siblingof(&die, &die), looked++)
        if (dwarf_tag(&die) == DW_TAG_enumerator &&
            dwarf_attr_integrate(&die, DW_AT_const_value, &attribute) != NULL &&
            dwarf_formsdata(&attribute, &number) == 0 && number == signed_in(value) &&
            dwarf_diename(&die) != NULL) {
            tool_core_put(out, "%s", dwarf_diename(&die));
            return;
        }
    tool_core_put(out, "%" PRId64, signed_in(value));
}

static bool part_at(Dwarf_Die *die, uint64_t *at)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word = 0;
    if (dwarf_hasattr(die, DW_AT_bit_size) || dwarf_hasattr(die, DW_AT_data_bit_offset))
        return false;
    if (dwarf_attr_integrate(die, DW_AT_data_member_location, &attribute) != NULL &&
        dwarf_formudata(&attribute, &word) != 0)
        return false;
    *at = word;
    return true;
}

static void put_parts(struct tool_core_text *out, Dwarf_Die *type, const struct value *value,
                      uint32_t depth)
{
    Dwarf_Die die, inner;
    uint32_t parts = 0;
    int next = depth < DEPTH_MOST ? dwarf_child(type, &die) : 1;
    tool_core_put(out, "{");
    for (; next == 0; next = dwarf_siblingof(&die, &die)) {
        uint64_t at, size;
        if (dwarf_tag(&die) != DW_TAG_member || dwarf_hasattr(&die, DW_AT_external))
            continue;
        if (parts == PARTS_MOST)
            break;
        const char *name = dwarf_diename(&die);
        tool_core_put(out, "%s%s = ", parts++ == 0 ? "" : ", ", name == NULL ? "(no name)" : name);
        size = tool_value_type_of(&die, &inner) ? tool_value_size(&inner) : 0;
        if (size == 0 || !part_at(&die, &at) || at > value->size || size > value->size - at)
            tool_core_put(out, "...");
        else
            put_value(out, &inner, &(struct value){value->core, value->bytes + at, size},
                      depth + 1);
    }
    tool_core_put(out, parts == PARTS_MOST || depth >= DEPTH_MOST ? ", ...}" : "}");
}

static void put_array(struct tool_core_text *out, Dwarf_Die *type, const struct value *value,
                      uint32_t depth)
{
    Dwarf_Die inner;
    uint64_t size = tool_value_type_of(type, &inner) ? tool_value_size(&inner) : 0;
    uint64_t i = 0;
    if (size == 0) {
        tool_core_put(out, "[...]");
        return;
    }
    if (is_character_type(&inner)) {
        put_text(out, value->bytes, value->size, true);
        return;
    }
    tool_core_put(out, "[");
    for (; (i + 1) * size <= value->size && i < NUMBERS_MOST && depth < DEPTH_MOST; i++) {
        tool_core_put(out, i == 0 ? "" : ", ");
        put_value(out, &inner, &(struct value){value->core, value->bytes + i * size, size},
                  depth + 1);
    }
    tool_core_put(out, (i + 1) * size <= value->size ? ", ...]" : "]");
}

static void put_value(struct tool_core_text *out, Dwarf_Die *type, const struct value *value,
                      uint32_t depth)
{
    Dwarf_Die peeled;
    if (!tool_value_peel(type, &peeled)) {
        tool_core_put(out, "(of a type that cannot be read)");
        return;
    }
    switch (dwarf_tag(&peeled)) {
    case DW_TAG_base_type: put_base(out, &peeled, value); break;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_unspecified_type: put_pointer(out, &peeled, value); break;
    case DW_TAG_enumeration_type: put_enumeration(out, &peeled, value); break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type: put_parts(out, &peeled, value, depth); break;
    case DW_TAG_array_type: put_array(out, &peeled, value, depth); break;
    default: tool_core_put(out, "(%" PRIu64 " bytes)", value->size); break;
    }
}

void tool_core_put_value(struct tool_core_text *out, struct tool_core *core, Dwarf_Die *variable,
                         const struct tool_core_place *place)
{
    uint8_t bytes[BYTES_MOST];
    Dwarf_Die type;
    struct value value = {core, bytes, 0};
    if (place->kind == TOOL_CORE_NOWHERE) {
        tool_core_put(out, "(%s)", place->why);
        return;
    }
    value.size = tool_value_type_of(variable, &type) ? tool_value_size(&type) : 0;
    if (value.size == 0) {
        tool_core_put(out, "(of a size that is not known)");
        return;
    }
    if (value.size > BYTES_MOST)
        value.size = BYTES_MOST;
    if (place->kind == TOOL_CORE_AS_VALUE && value.size > 8) {
        tool_core_put(out, "(it is in several pieces)");
        return;
    }
    memcpy(bytes, &place->word, sizeof place->word);
    if (place->kind == TOOL_CORE_IN_MEMORY &&
        !tool_core_read(core, place->word, bytes, value.size)) {
        tool_core_put(out, "(its memory is not in the dump)");
        return;
    }
    put_value(out, &type, &value, 0);
}
