/* Where a variable is, by its debug information: the few operations that compilers use for locals,
 * and words for what is left. */
#include <dwarf.h>

#include "tools/context/core/core_scope.h"

#define DEEP 32u

struct machine {
    struct tool_core_at *at;
    uint64_t stack[DEEP];
    size_t used;
    bool is_value; /* the top is the variable's value, not its address */
    const char *why;
};

static void stop_machine(struct machine *machine, const char *why)
{
    if (machine->why == NULL)
        machine->why = why;
}

static void push_word(struct machine *machine, uint64_t word)
{
    if (machine->used == DEEP)
        stop_machine(machine, "where it is cannot be worked out");
    else
        machine->stack[machine->used++] = word;
}

static uint64_t pop_word(struct machine *machine)
{
    if (machine->used == 0) {
        stop_machine(machine, "where it is cannot be worked out");
        return 0;
    }
    return machine->stack[--machine->used];
}

static uint64_t value_of(struct machine *machine, uint64_t number)
{
    if (number >= TOOL_CORE_DWARF_REGISTERS)
        stop_machine(machine, "it was in a vector register");
    else if (!machine->at->known[number])
        stop_machine(machine, "it was in a register that a later call used");
    else
        return machine->at->registers[number];
    return 0;
}

static bool run_operations(struct machine *machine, const Dwarf_Op *operations, size_t count,
                           bool is_base);

static uint64_t frame_base(struct machine *machine)
{
    struct tool_core_at *at = machine->at;
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count;
    struct machine inner = {.at = at};
    if (dwarf_attr_integrate(&at->function, DW_AT_frame_base, &attribute) == NULL ||
        dwarf_getlocation_addr(&attribute, at->pc - at->bias, &operations, &count, 1) != 1 ||
        !run_operations(&inner, operations, count, true))
        stop_machine(machine,
                     inner.why != NULL ? inner.why : "where its frame begins is not known");
    return inner.used == 0 ? 0 : inner.stack[inner.used - 1];
}

static bool run_binary(struct machine *machine, int atom)
{
    if (atom != DW_OP_plus && atom != DW_OP_minus && atom != DW_OP_and && atom != DW_OP_mul &&
        atom != DW_OP_shl && atom != DW_OP_shr && atom != DW_OP_or && atom != DW_OP_xor)
        return false;
    uint64_t b = pop_word(machine), a = pop_word(machine);
    switch (atom) {
    case DW_OP_plus: push_word(machine, a + b); break;
    case DW_OP_minus: push_word(machine, a - b); break;
    case DW_OP_and: push_word(machine, a & b); break;
    case DW_OP_or: push_word(machine, a | b); break;
    case DW_OP_xor: push_word(machine, a ^ b); break;
    case DW_OP_mul: push_word(machine, a * b); break;
    case DW_OP_shl: push_word(machine, b < 64 ? a << b : 0); break;
    default: push_word(machine, b < 64 ? a >> b : 0); break;
    }
    return true;
}

static void dereference(struct machine *machine, uint64_t bytes)
{
    uint8_t read[8];
    uint64_t address = pop_word(machine);
    if (bytes == 0 || bytes > sizeof read ||
        !tool_core_read(machine->at->core, address, read, bytes))
        stop_machine(machine, "where it is was not in the dump");
    else
        push_word(machine, tool_core_number(read, (uint32_t)bytes));
}

static bool run_ranges(struct machine *machine, const Dwarf_Op *operation, bool is_base)
{
    uint8_t atom = operation->atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
        push_word(machine, (uint64_t)(atom - DW_OP_lit0));
    } else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
        push_word(machine, value_of(machine, (uint64_t)(atom - DW_OP_breg0)) + operation->number);
    } else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
        push_word(machine, value_of(machine, (uint64_t)(atom - DW_OP_reg0)));
        machine->is_value = !is_base; /* a frame base in a register is what it holds */
    } else {
        return false;
    }
    return true;
}

static void run_one(struct machine *machine, const Dwarf_Op *operation, bool is_base)
{
    if (run_ranges(machine, operation, is_base) || run_binary(machine, operation->atom))
        return;
    switch (operation->atom) {
    case DW_OP_addr: push_word(machine, operation->number + machine->at->bias); break;
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts: push_word(machine, operation->number); break;
    case DW_OP_fbreg: push_word(machine, frame_base(machine) + operation->number); break;
    case DW_OP_bregx:
        push_word(machine, value_of(machine, operation->number) + operation->number2);
        break;
    case DW_OP_regx:
        push_word(machine, value_of(machine, operation->number));
        machine->is_value = true;
        break;
    case DW_OP_call_frame_cfa:
        if (!machine->at->has_cfa)
            stop_machine(machine, "the stack could not be walked to its caller");
        push_word(machine, machine->at->cfa);
        break;
    case DW_OP_plus_uconst: push_word(machine, pop_word(machine) + operation->number); break;
    case DW_OP_neg: push_word(machine, 0 - pop_word(machine)); break;
    case DW_OP_deref: dereference(machine, 8); break;
    case DW_OP_deref_size: dereference(machine, operation->number); break;
    case DW_OP_stack_value: machine->is_value = true; break;
    case DW_OP_nop: break;
    case DW_OP_piece:
    case DW_OP_bit_piece: stop_machine(machine, "it is in several pieces"); break;
    case DW_OP_implicit_value: stop_machine(machine, "a constant that is not shown"); break;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        stop_machine(machine, "not kept: the caller may still have it");
        break;
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
        stop_machine(machine, "points to what is not in memory");
        break;
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
        stop_machine(machine, "it is the thread's own variable");
        break;
    default: stop_machine(machine, "where it is cannot be worked out"); break;
    }
}

static bool run_operations(struct machine *machine, const Dwarf_Op *operations, size_t count,
                           bool is_base)
{
    for (size_t i = 0; i < count && machine->why == NULL; i++)
        run_one(machine, &operations[i], is_base);
    if (machine->used == 0)
        stop_machine(machine, "the compiler did not keep it here");
    return machine->why == NULL;
}

static struct tool_core_place constant(Dwarf_Attribute *attribute)
{
    Dwarf_Sword number;
    if (dwarf_formsdata(attribute, &number) != 0)
        return (struct tool_core_place){.why = "a constant that is not shown"};
    return (struct tool_core_place){TOOL_CORE_AS_VALUE, (uint64_t)number, NULL};
}

struct tool_core_place tool_core_find_place(struct tool_core_at *at, Dwarf_Die *variable)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count;
    struct machine machine = {.at = at};
    if (dwarf_attr_integrate(variable, DW_AT_const_value, &attribute) != NULL)
        return constant(&attribute);
    if (dwarf_attr_integrate(variable, DW_AT_location, &attribute) == NULL)
        return (struct tool_core_place){.why = "the compiler did not keep it"};
    int found = dwarf_getlocation_addr(&attribute, at->pc - at->bias, &operations, &count, 1);
    if (found < 0)
        return (struct tool_core_place){.why = "its list of places cannot be read"};
    if (found == 0 || count == 0)
        return (struct tool_core_place){.why = "the compiler did not keep it here"};
    if (!run_operations(&machine, operations, count, false))
        return (struct tool_core_place){.why = machine.why};
    return (struct tool_core_place){machine.is_value ? TOOL_CORE_AS_VALUE : TOOL_CORE_IN_MEMORY,
                                    machine.stack[machine.used - 1], NULL};
}
