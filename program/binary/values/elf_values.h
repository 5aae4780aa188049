/* What functions are given and return, of DWARF and the calling convention of x86-64:
 *
 *   elf_values.c   functions and their parameters, one after another
 *   value_place.c  in which registers or words of the stack the convention puts them
 *   value_type.c   what a type is called, and what kind of value it has
 *   value_fields.c fields of structures, and strings that are objects
 *
 * As elf_symbols.h says, this runs in the helper process only: files may be forged. */
#ifndef TOOL_ELF_VALUES_H
#define TOOL_ELF_VALUES_H

#include <tracetape/types.h>

#include "program/binary/elf_symbols.h"
#include "recorder/arena/patch_plan.h"

#define TOOL_VALUE_TEXT_MAX  128u /* bytes of a name, or of a type's, its end included */
#define TOOL_VALUE_CONSTANTS 64u  /* of an enumeration; of a larger one none is listed */

struct tool_elf_constant {
    int64_t value;
    const char *name; /* in the file */
};

struct tool_elf_value {
    struct ttp_value_place place;
    char name[TOOL_VALUE_TEXT_MAX], type[TOOL_VALUE_TEXT_MAX];
    uint32_t constant_count;
    struct tool_elf_constant constants[TOOL_VALUE_CONSTANTS];
};

/* Values that cannot be told are left out: those behind them are right all the same. What it
 * returns is behind what it is given; of both, fields are behind all that have none. */
struct tool_elf_function_values {
    uint64_t entry;
    uint32_t given, returned;
    struct tool_elf_value values[2 * TTP_VALUES_MAX];
};

typedef void (*tool_elf_take_values)(void *context,
                                     const struct tool_elf_function_values *function);
/* Lists the functions of a module that have code; addresses as its line tables have them. */
void tool_elf_values_list(const struct tool_elf_module *module, tool_elf_take_values take,
                          void *context);

#endif
