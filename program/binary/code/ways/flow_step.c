/* Zydis again: one instruction with all its operands. */
#include "program/binary/code/ways/flow_step.h"

#ifdef TOOL_WITH_ZYDIS
#include <Zydis/Zydis.h>

static uint8_t number_of(ZydisRegister name)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
        return TOOL_STEP_NOTHING;
    return (uint8_t)ZydisRegisterGetId(whole);
}

/* ah, ch, dh and bh are no low bytes. */
static bool is_high(ZydisRegister name)
{
    return name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH;
}

static bool is_general(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           number_of(operand->reg.value) != TOOL_STEP_NOTHING && !is_high(operand->reg.value);
}

static bool is_constant(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static bool is_memory(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static void set_memory(const ZydisDecodedOperand *operand, uint32_t end, struct tool_step *step)
{
    struct tool_step_memory *memory = &step->memory;
    int64_t displacement = operand->mem.disp.value;
    bool by_rip = operand->mem.base == ZYDIS_REGISTER_RIP;
    *memory = (struct tool_step_memory){.base = number_of(operand->mem.base),
                                        .index = number_of(operand->mem.index),
                                        .scale = operand->mem.scale > 0 ? operand->mem.scale : 1,
                                        .displacement = (int32_t)displacement};
    memory->is_thread =
        operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS;
    int64_t place = by_rip ? (int64_t)end + displacement : displacement;
    memory->is_known = (by_rip || operand->mem.base == ZYDIS_REGISTER_NONE) && !memory->is_thread &&
                       place >= 0 && place <= UINT32_MAX;
    memory->place = memory->is_known ? (uint32_t)place : 0;
    memory->displacement = memory->is_known ? 0 : memory->displacement;
    step->has_memory = true;
}

/* Registers, flags and memory that the instruction touches in any way. */
static void set_touched(const ZydisDecodedInstruction *found, const ZydisDecodedOperand *operands,
                        uint32_t end, struct tool_step *step)
{
    for (uint8_t i = 0; i < found->operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        bool is_written = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            uint16_t bit = (uint16_t)(1u << number_of(operand->reg.value));
            bool is_read = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
            step->writes = is_written ? step->writes | bit : step->writes;
            step->reads = is_read ? step->reads | bit : step->reads;
        } else if (is_memory(operand)) {
            bool is_agen = operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN;
            uint8_t base = number_of(operand->mem.base), index = number_of(operand->mem.index);
            step->reads |= is_agen ? (uint16_t)((1u << base) | (1u << index)) : 0;
            step->writes_memory |= is_written && !is_agen;
            if (operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
                set_memory(operand, end, step);
        }
    }
    const ZydisAccessedFlags *flags = found->cpu_flags;
    step->sets_flags =
        flags != NULL && (flags->modified | flags->set_0 | flags->set_1 | flags->undefined) != 0;
}

static void set_compared(const ZydisDecodedOperand *left, const ZydisDecodedOperand *right,
                         struct tool_step *step)
{
    uint64_t whole = right->imm.value.u;
    uint64_t mask = left->size >= 64 ? UINT64_MAX : (UINT64_C(1) << left->size) - 1;
    if (!is_constant(right) || (whole & mask) > UINT32_MAX ||
        (!is_general(left) && !is_memory(left)))
        return;
    step->has_compared = true;
    step->compared_each = (uint8_t)(left->size / 8);
    step->compared_register =
        is_general(left) ? number_of(left->reg.value) : (uint8_t)TOOL_STEP_NOTHING;
    step->compared = (uint32_t)(whole & mask);
}

static void set_move(const ZydisDecodedInstruction *found, const ZydisDecodedOperand *operands,
                     struct tool_step *step)
{
    const ZydisDecodedOperand *to = &operands[0], *from = &operands[1];
    step->is_signed =
        found->mnemonic == ZYDIS_MNEMONIC_MOVSX || found->mnemonic == ZYDIS_MNEMONIC_MOVSXD;
    step->each = (uint8_t)(from->size / 8);
    if (is_memory(to)) {
        step->kind = TOOL_STEP_STORE;
        step->each = (uint8_t)(to->size / 8);
        step->from = is_general(from) ? number_of(from->reg.value) : (uint8_t)TOOL_STEP_NOTHING;
    } else if (is_general(to) && is_constant(from)) {
        step->kind = TOOL_STEP_CONSTANT;
        step->constant = from->imm.value.s;
    } else if (is_general(to) && is_general(from)) {
        step->kind = TOOL_STEP_COPY;
        step->from = number_of(from->reg.value);
    } else if (is_general(to) && is_memory(from)) {
        step->kind = TOOL_STEP_LOAD;
    }
}

/* add, sub, and, or shifts of a register, by another one or by a constant. */
static void set_sum(const ZydisDecodedInstruction *found, const ZydisDecodedOperand *operands,
                    struct tool_step *step)
{
    static const struct {
        ZydisMnemonic mnemonic;
        uint8_t kind;
    } kinds[] = {{ZYDIS_MNEMONIC_ADD, TOOL_STEP_ADD_CONSTANT},
                 {ZYDIS_MNEMONIC_SUB, TOOL_STEP_ADD_CONSTANT},
                 {ZYDIS_MNEMONIC_AND, TOOL_STEP_MASK},
                 {ZYDIS_MNEMONIC_SHL, TOOL_STEP_UP},
                 {ZYDIS_MNEMONIC_SHR, TOOL_STEP_DOWN}};
    bool is_minus = found->mnemonic == ZYDIS_MNEMONIC_SUB;
    if (is_minus)
        set_compared(&operands[0], &operands[1], step);
    if (!is_general(&operands[0]) || operands[0].size < 32)
        return;
    if (found->mnemonic == ZYDIS_MNEMONIC_ADD && is_general(&operands[1])) {
        step->kind = TOOL_STEP_ADD;
        step->from = number_of(operands[1].reg.value);
    }
    if (found->mnemonic == ZYDIS_MNEMONIC_ADD && is_memory(&operands[1]) && operands[0].size == 64)
        step->kind = TOOL_STEP_ADD;
    for (size_t i = 0; is_constant(&operands[1]) && i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].mnemonic == found->mnemonic)
            step->kind = kinds[i].kind;
    int64_t constant = operands[1].imm.value.s;
    step->constant = is_minus && constant != INT64_MIN ? -constant : constant;
}

static void set_kind(const ZydisDecodedInstruction *found, const ZydisDecodedOperand *operands,
                     struct tool_step *step)
{
    switch (found->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD: set_move(found, operands, step); break;
    case ZYDIS_MNEMONIC_CDQE:
        step->kind = TOOL_STEP_COPY;
        step->each = 4;
        step->is_signed = true;
        break;
    case ZYDIS_MNEMONIC_LEA: step->kind = TOOL_STEP_ADDRESS; break;
    case ZYDIS_MNEMONIC_POP:
        step->kind = is_general(&operands[0]) ? TOOL_STEP_POP : TOOL_STEP_OTHER;
        break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR: set_sum(found, operands, step); break;
    case ZYDIS_MNEMONIC_CMP:
        step->kind = TOOL_STEP_COMPARE;
        set_compared(&operands[0], &operands[1], step);
        break;
    case ZYDIS_MNEMONIC_XOR:
        if (is_general(&operands[0]) && is_general(&operands[1]) &&
            operands[0].reg.value == operands[1].reg.value)
            step->kind = TOOL_STEP_CONSTANT;
        else if (is_general(&operands[0]) && is_memory(&operands[1]) && step->memory.is_thread)
            step->kind = TOOL_STEP_GUARD;
        break;
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
        step->kind = is_general(&operands[0]) ? TOOL_STEP_GUARD : TOOL_STEP_OTHER;
        break;
    default:
        if (found->meta.category == ZYDIS_CATEGORY_CMOV && is_general(&operands[1])) {
            step->kind = TOOL_STEP_CHOOSE;
            step->from = number_of(operands[1].reg.value);
        }
        break;
    }
}

static bool decode_instruction(const uint8_t *bytes, size_t size_bytes,
                               ZydisDecodedInstruction *found,
                               ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT])
{
    ZydisDecoder decoder;
    (void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size_bytes, found, operands));
}

struct tool_step tool_step_of(const uint8_t *bytes, size_t size_bytes, uint32_t address)
{
    struct tool_step step = {.reads = UINT16_MAX, .writes = UINT16_MAX, .writes_memory = true};
    ZydisDecodedInstruction found;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT] = {0};
    step.to = step.from = TOOL_STEP_NOTHING;
    step.sets_flags = true;
    if (!decode_instruction(bytes, size_bytes, &found, operands))
        return step;
    step.reads = step.writes = 0;
    step.writes_memory = false;
    set_touched(&found, operands, address + found.length, &step);
    if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        step.to = number_of(operands[0].reg.value);
        step.to_bytes = is_high(operands[0].reg.value) ? 1 : (uint8_t)(operands[0].size / 8);
    }
    set_kind(&found, operands, &step);
    if (found.mnemonic == ZYDIS_MNEMONIC_CDQE) { /* eax, without a word of it */
        step.to = step.from = 0;
        step.to_bytes = 8;
    }
    return step;
}

#else

struct tool_step tool_step_of(const uint8_t *bytes, size_t size_bytes, uint32_t address)
{
    (void)bytes;
    (void)size_bytes;
    (void)address;
    return (struct tool_step){.reads = UINT16_MAX, .writes = UINT16_MAX};
}
#endif
