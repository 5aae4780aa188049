/* Zydis: one instruction at a time, without operands unless they are asked for. */
#include <stdio.h>
#include <string.h>

#include "program/binary/code/decode.h"

#ifdef TOOL_WITH_ZYDIS
#include <Zydis/Zydis.h>

#define RESULT_FLAGS                                                                               \
    (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |                   \
     ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

bool tool_decode_is_there(void) { return true; }

static ZydisDecoder new_decoder(void)
{
    ZydisDecoder decoder;
    (void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return decoder;
}

static bool is_loop(ZydisMnemonic mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_LOOP || mnemonic == ZYDIS_MNEMONIC_LOOPE ||
           mnemonic == ZYDIS_MNEMONIC_LOOPNE || mnemonic == ZYDIS_MNEMONIC_JCXZ ||
           mnemonic == ZYDIS_MNEMONIC_JECXZ || mnemonic == ZYDIS_MNEMONIC_JRCXZ;
}

static enum tool_instruction_kind branch_kind(const ZydisDecodedInstruction *found)
{
    bool is_direct = found->raw.imm[0].is_relative;
    bool is_near = found->meta.branch_type != ZYDIS_BRANCH_TYPE_FAR;
    switch (found->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        return is_direct ? TOOL_CODE_CALL : is_near ? TOOL_CODE_CALL_INDIRECT : TOOL_CODE_FIXED;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return is_direct ? TOOL_CODE_JUMP : is_near ? TOOL_CODE_JUMP_INDIRECT : TOOL_CODE_FIXED;
    case ZYDIS_CATEGORY_COND_BR:
        return found->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? TOOL_CODE_FIXED
               : is_loop(found->mnemonic)               ? TOOL_CODE_LOOP
                                                        : TOOL_CODE_BRANCH;
    default: return TOOL_CODE_PLAIN;
    }
}

static enum tool_instruction_kind kind_of(const ZydisDecodedInstruction *found)
{
    switch (found->mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL: return found->length == 2 ? TOOL_CODE_SYSCALL : TOOL_CODE_FIXED;
    case ZYDIS_MNEMONIC_RET: return TOOL_CODE_RETURN;
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2: return TOOL_CODE_STOP;
    case ZYDIS_MNEMONIC_ENDBR32:
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_XBEGIN: return TOOL_CODE_FIXED;
    default: return branch_kind(found);
    }
}

static bool target_of(uint32_t address, uint8_t length, int64_t distance, uint32_t *target)
{
    int64_t to = (int64_t)address + length + distance;
    *target = (uint32_t)to;
    return to >= 0 && to <= UINT32_MAX;
}

static bool has_index(const ZydisDecodedInstruction *found)
{
    return found->raw.sib.index != 4 || found->raw.rex.X != 0;
}

/* How an indirect branch finds where it leads. */
static void set_form(const ZydisDecodedInstruction *found, struct tool_instruction *instruction)
{
    const struct ZydisDecodedInstructionModRm_ *form = &found->raw.modrm;
    bool has_sib = form->mod != 3 && form->rm == 4;
    instruction->by_register = form->mod == 3;
    instruction->has_index = has_sib && has_index(found);
    instruction->by_stack = has_sib && found->raw.sib.base == 4 && found->raw.rex.B == 0;
    instruction->is_untracked = (found->attributes & ZYDIS_ATTRIB_HAS_NOTRACK) != 0;
}

/* Memory is read or written that no operand says. */
static bool is_memory_hidden(const ZydisDecodedInstruction *found)
{
    return found->meta.category == ZYDIS_CATEGORY_STRINGOP ||
           found->meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
           found->mnemonic == ZYDIS_MNEMONIC_XLAT || found->raw.disp.size == 64 ||
           found->mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ||
           found->mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU ||
           found->mnemonic == ZYDIS_MNEMONIC_VMASKMOVDQU ||
           found->meta.category == ZYDIS_CATEGORY_GATHER ||
           found->meta.category == ZYDIS_CATEGORY_SCATTER;
}

/* The general registers of others than the application programmer's, and what processors or
 * kernels may not have. */
static bool is_refused(const ZydisDecodedInstruction *found)
{
    switch (found->meta.category) {
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_INTERRUPT: return true;
    default:
        return found->mnemonic == ZYDIS_MNEMONIC_DIV || found->mnemonic == ZYDIS_MNEMONIC_IDIV ||
               found->mnemonic == ZYDIS_MNEMONIC_CPUID || found->mnemonic == ZYDIS_MNEMONIC_RDTSC ||
               found->mnemonic == ZYDIS_MNEMONIC_RDTSCP || found->mnemonic == ZYDIS_MNEMONIC_XGETBV;
    }
}

/* Does its operand in memory hang on a register that may hold anything? */
static bool is_memory_far(const ZydisDecodedInstruction *found, const ZydisDecoderContext *context,
                          bool *by_frame)
{
    const struct ZydisDecodedInstructionModRm_ *form = &found->raw.modrm;
    bool has_sib = form->rm == 4,
         has_base = form->mod != 0 || (has_sib ? found->raw.sib.base : form->rm) != 5;
    if (has_sib && context->reg_info.id_index != 4)
        return true;
    *by_frame = has_base && context->reg_info.id_base == 5;
    return has_base && context->reg_info.id_base != 4;
}

static void set_faults(const ZydisDecodedInstruction *found, const ZydisDecoderContext *context,
                       bool in_memory, struct tool_instruction *instruction)
{
    bool by_frame = false;
    bool is_looked_at = in_memory && found->mnemonic != ZYDIS_MNEMONIC_LEA &&
                        found->meta.category != ZYDIS_CATEGORY_PREFETCH &&
                        found->meta.category != ZYDIS_CATEGORY_NOP &&
                        found->meta.category != ZYDIS_CATEGORY_WIDENOP;
    instruction->may_fault = is_memory_hidden(found) || is_refused(found) ||
                             (is_looked_at && is_memory_far(found, context, &by_frame));
    instruction->by_frame = by_frame;
}

bool tool_decode(const uint8_t *bytes, size_t size_bytes, uint32_t address,
                 struct tool_instruction *instruction)
{
    ZydisDecoder decoder = new_decoder();
    ZydisDecodedInstruction found;
    ZydisDecoderContext context;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, bytes, size_bytes, &found)))
        return false;
    const struct ZydisDecodedInstructionModRm_ *form = &found.raw.modrm;
    bool has_form = (found.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0;
    bool in_memory = has_form && form->mod != 3;
    *instruction = (struct tool_instruction){
        .address = address, .length = found.length, .kind = (uint8_t)kind_of(&found)};
    instruction->is_nop = found.mnemonic == ZYDIS_MNEMONIC_NOP;
    set_faults(&found, &context, in_memory, instruction);
    if (instruction->kind == TOOL_CODE_JUMP_INDIRECT ||
        instruction->kind == TOOL_CODE_CALL_INDIRECT)
        set_form(&found, instruction);
    if (found.raw.imm[0].is_relative && found.raw.imm[0].size == 16)
        instruction->kind = TOOL_CODE_FIXED; /* processors differ in what it does */
    if (found.raw.imm[0].is_relative)
        return target_of(address, found.length, found.raw.imm[0].value.s, &instruction->target);
    if (in_memory && form->mod == 0 && form->rm == 5) {
        instruction->has_place = true;
        instruction->displacement_at = found.raw.disp.offset;
        instruction->is_address = found.mnemonic == ZYDIS_MNEMONIC_LEA;
        if (found.address_width != 64 || found.raw.disp.size != 32)
            instruction->kind = TOOL_CODE_FIXED;
        /* addresses beyond the file's (of nothing, by damage) are no places of it */
        if (!target_of(address, found.length, found.raw.disp.value, &instruction->target))
            instruction->kind = TOOL_CODE_FIXED;
    } else if (in_memory && found.raw.disp.size == 32 && found.raw.disp.value >= 0) {
        instruction->is_table = form->mod == 0 && form->rm == 4 && found.raw.sib.base == 5 &&
                                found.address_width == 64 && has_index(&found);
        instruction->target = (uint32_t)found.raw.disp.value;
    }
    if (found.raw.imm[0].size >= 32 && found.raw.imm[0].value.u <= UINT32_MAX)
        instruction->constant = (uint32_t)found.raw.imm[0].value.u;
    return true;
}

static bool is_rax(ZydisRegister name)
{
    return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name) == ZYDIS_REGISTER_RAX;
}

/* What is in rax after an instruction that writes it: a constant, or what cannot be said. */
static void constant_of(const ZydisDecodedInstruction *found, const ZydisDecodedOperand *operands,
                        struct tool_instruction_effects *effects)
{
    bool is_whole = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[0].size >= 32 &&
                    is_rax(operands[0].reg.value);
    if (!is_whole)
        return;
    bool is_same = operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                   operands[1].reg.value == operands[0].reg.value;
    if (found->mnemonic == ZYDIS_MNEMONIC_MOV && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        effects->rax = (uint32_t)operands[1].imm.value.u;
        effects->rax_known = operands[0].size == 32 || operands[1].imm.value.u <= UINT32_MAX;
    } else if (found->mnemonic == ZYDIS_MNEMONIC_XOR && is_same) {
        effects->rax_known = true;
    }
}

struct tool_instruction_effects tool_decode_effects(const uint8_t *bytes, size_t size_bytes)
{
    struct tool_instruction_effects effects = {.writes_rax = true, .reads_flags = true};
    ZydisDecoder decoder = new_decoder();
    ZydisDecodedInstruction found;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT] = {0};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size_bytes, &found, operands)))
        return effects;
    effects.writes_rax = found.meta.category == ZYDIS_CATEGORY_CALL;
    effects.reads_flags = false;
    for (uint8_t i = 0; i < found.operand_count; i++)
        effects.writes_rax |= operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                              (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 &&
                              is_rax(operands[i].reg.value);
    if (effects.writes_rax)
        constant_of(&found, operands, &effects);
    if (found.cpu_flags != NULL) {
        const ZydisAccessedFlags *flags = found.cpu_flags;
        effects.reads_flags = (flags->tested & RESULT_FLAGS) != 0;
        effects.writes_flags = ((flags->modified | flags->set_0 | flags->set_1 | flags->undefined) &
                                RESULT_FLAGS) == RESULT_FLAGS;
    }
    return effects;
}

/* The number of the 64-bit register that a register is (a part of); TOOL_FLOW_REGISTERS: none. */
static uint8_t number_of(ZydisRegister name)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
        return TOOL_FLOW_REGISTERS;
    return (uint8_t)ZydisRegisterGetId(whole);
}

/* A place in the frame: a displacement from rsp or rbp alone. */
static bool is_frame(const ZydisDecodedOperand *operand, struct tool_instruction_flow *flow)
{
    if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.index != ZYDIS_REGISTER_NONE)
        return false;
    flow->by_rbp = operand->mem.base == ZYDIS_REGISTER_RBP;
    flow->place = (int32_t)operand->mem.disp.value;
    return flow->by_rbp || operand->mem.base == ZYDIS_REGISTER_RSP;
}

static void flow_of(const ZydisDecodedInstruction *found, const ZydisDecodedOperand *operands,
                    uint32_t address, struct tool_instruction_flow *flow)
{
    const ZydisDecodedOperand *to = &operands[0], *from = &operands[1];
    bool is_move = found->mnemonic == ZYDIS_MNEMONIC_MOV;
    if (found->operand_count_visible != 2 || (!is_move && found->mnemonic != ZYDIS_MNEMONIC_LEA))
        return;
    flow->to = to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size >= 32 ? number_of(to->reg.value)
                                                                         : TOOL_FLOW_REGISTERS;
    flow->from = from->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(from->reg.value)
                                                           : TOOL_FLOW_REGISTERS;
    if (flow->to < TOOL_FLOW_REGISTERS && is_move && flow->from < TOOL_FLOW_REGISTERS) {
        flow->kind = to->size == 64 ? TOOL_FLOW_COPY : TOOL_FLOW_NONE;
    } else if (flow->to < TOOL_FLOW_REGISTERS && is_move &&
               from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        flow->constant = (uint32_t)from->imm.value.u;
        flow->kind = from->imm.value.u <= UINT32_MAX ? TOOL_FLOW_CONSTANT : TOOL_FLOW_NONE;
    } else if (flow->to < TOOL_FLOW_REGISTERS && is_move) {
        flow->kind = to->size == 64 && is_frame(from, flow) ? TOOL_FLOW_LOAD : TOOL_FLOW_NONE;
    } else if (flow->to < TOOL_FLOW_REGISTERS && from->mem.base == ZYDIS_REGISTER_RIP) {
        flow->kind = target_of(address, found->length, from->mem.disp.value, &flow->constant)
                         ? TOOL_FLOW_CONSTANT
                         : TOOL_FLOW_NONE;
    } else if (is_move && to->type == ZYDIS_OPERAND_TYPE_MEMORY &&
               flow->from < TOOL_FLOW_REGISTERS) {
        flow->kind = is_frame(to, flow) ? TOOL_FLOW_STORE : TOOL_FLOW_OUT;
    }
}

/* Programs at fixed places write addresses of 64 bits so: mov $address, memory; push $address. */
static uint32_t stored_by(const ZydisDecodedInstruction *found, const ZydisDecodedOperand *operands)
{
    bool is_push = found->mnemonic == ZYDIS_MNEMONIC_PUSH && found->operand_count_visible == 1;
    bool is_store = found->mnemonic == ZYDIS_MNEMONIC_MOV && found->operand_count_visible == 2 &&
                    operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[0].size == 64;
    const ZydisDecodedOperand *what = &operands[is_push ? 0 : 1];
    if ((!is_push && !is_store) || what->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
        what->imm.value.u > UINT32_MAX)
        return 0;
    return (uint32_t)what->imm.value.u;
}

/* And they add tables' addresses to registers. */
static uint32_t beside_of(ZydisMnemonic mnemonic, const ZydisDecodedOperand *operand)
{
    if (mnemonic == ZYDIS_MNEMONIC_ADD && operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return operand->imm.value.u <= UINT32_MAX ? (uint32_t)operand->imm.value.u : 0;
    if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.base == ZYDIS_REGISTER_RIP ||
        operand->mem.disp.value <= 0 || operand->mem.disp.value > UINT32_MAX)
        return 0;
    return (uint32_t)operand->mem.disp.value;
}

struct tool_instruction_flow tool_decode_flow(const uint8_t *bytes, size_t size_bytes,
                                              uint32_t address)
{
    struct tool_instruction_flow flow = {.writes = UINT16_MAX, .moves_stack = true};
    ZydisDecoder decoder = new_decoder();
    ZydisDecodedInstruction found;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT] = {0};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size_bytes, &found, operands)))
        return flow;
    flow.writes = 0;
    for (uint8_t i = 0; i < found.operand_count; i++) {
        uint8_t number = operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER
                             ? number_of(operands[i].reg.value)
                             : TOOL_FLOW_REGISTERS;
        if (number < TOOL_FLOW_REGISTERS &&
            (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
            flow.writes |= (uint16_t)(1u << number);
        uint32_t beside =
            i < found.operand_count_visible ? beside_of(found.mnemonic, &operands[i]) : 0;
        flow.beside = beside != 0 ? beside : flow.beside;
    }
    flow.moves_stack = (flow.writes & 1u << 4) != 0;
    flow_of(&found, operands, address, &flow);
    flow.stored = stored_by(&found, operands);
    return flow;
}

void tool_decode_text(const uint8_t *bytes, size_t size_bytes, uint32_t address, char *text,
                      size_t text_bytes)
{
    ZydisDecoder decoder = new_decoder();
    ZydisFormatter formatter;
    ZydisDecodedInstruction found;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size_bytes, &found, operands)) ||
        !ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT)) ||
        !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &found, operands,
                                                      found.operand_count_visible, text, text_bytes,
                                                      address, NULL)))
        (void)snprintf(text, text_bytes, "(bad)");
}

#else /* without Zydis: sites are not found, rows are */

bool tool_decode_is_there(void) { return false; }

bool tool_decode(const uint8_t *bytes, size_t size_bytes, uint32_t address,
                 struct tool_instruction *instruction)
{
    (void)bytes;
    (void)size_bytes;
    *instruction = (struct tool_instruction){.address = address};
    return false;
}

struct tool_instruction_effects tool_decode_effects(const uint8_t *bytes, size_t size_bytes)
{
    (void)bytes;
    (void)size_bytes;
    return (struct tool_instruction_effects){.writes_rax = true, .reads_flags = true};
}

struct tool_instruction_flow tool_decode_flow(const uint8_t *bytes, size_t size_bytes,
                                              uint32_t address)
{
    (void)bytes;
    (void)size_bytes;
    (void)address;
    return (struct tool_instruction_flow){.writes = UINT16_MAX, .moves_stack = true};
}

void tool_decode_text(const uint8_t *bytes, size_t size_bytes, uint32_t address, char *text,
                      size_t text_bytes)
{
    (void)bytes;
    (void)size_bytes;
    (void)address;
    (void)snprintf(text, text_bytes, "(bad)");
}
#endif
