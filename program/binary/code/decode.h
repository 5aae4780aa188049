/* Instructions, as far as patching and call graphs ask: how long, where they lead, whether they can
 * be moved. The door to Zydis; on a build without it nothing decodes. */
#ifndef TOOL_DECODE_H
#define TOOL_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_INSTRUCTION_MAX 15u

enum tool_instruction_kind {
    TOOL_CODE_PLAIN = 0,
    TOOL_CODE_CALL,          /* to `target` */
    TOOL_CODE_CALL_INDIRECT, /* through memory at `target` where has_place */
    TOOL_CODE_JUMP,          /* to `target`, always */
    TOOL_CODE_JUMP_INDIRECT, /* as calls */
    TOOL_CODE_BRANCH,        /* to `target`, or not */
    TOOL_CODE_LOOP,          /* the same, but it reaches 127 bytes only and has no longer form */
    TOOL_CODE_RETURN,
    TOOL_CODE_SYSCALL,
    TOOL_CODE_STOP, /* nothing is executed behind it */
    TOOL_CODE_FIXED /* it works at its own place only */
};

struct tool_instruction {
    uint32_t address;
    /* Of a direct branch; of memory relative to the instruction (has_place); else a displacement of
     * 32 bits. */
    uint32_t target;
    uint32_t constant; /* an immediate operand of 32 bits or more; 0: none, or it is larger */
    uint8_t length, kind;
    uint8_t displacement_at; /* has_place: where in the instruction its 4 bytes are */
    /* is_address: it takes the place's address; is_table: it reads, by an index, from a table at
     * `target`, which is a fixed place */
    bool has_place : 1, is_table : 1, is_address : 1;
    bool is_nop : 1;
    /* Of indirect jumps and calls: through a register; memory with an index; it may lead to any
     * place (notrack); memory relative to rsp. */
    bool by_register : 1, has_index : 1, is_untracked : 1, by_stack : 1;
    /* The processor may end it with a fault that tells its address: memory through a register that
     * may hold anything, a division, or what is not there. by_frame: but not where rbp is that of
     * the frame. */
    bool may_fault : 1, by_frame : 1;
};

static inline bool tool_instruction_is_call(const struct tool_instruction *instruction)
{
    return instruction->kind == TOOL_CODE_CALL || instruction->kind == TOOL_CODE_CALL_INDIRECT;
}

/* What reading and writing of registers costs time to know. */
struct tool_instruction_effects {
    bool writes_rax, rax_known; /* known: it then holds `rax`, of 32 bits */
    bool reads_flags;
    bool writes_flags; /* all that results are told by, so that none of before is left */
    uint32_t rax;
};

/* What becomes of addresses in general registers and in the frame, for following them. Registers by
 * their numbers in instructions: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, then 8. */
#define TOOL_FLOW_REGISTERS 16u
enum tool_instruction_flow_kind {
    TOOL_FLOW_NONE = 0,
    TOOL_FLOW_CONSTANT, /* to: the address `constant` */
    TOOL_FLOW_COPY,     /* to: what is in `from` */
    TOOL_FLOW_LOAD,     /* to: what is in the frame at `place` */
    TOOL_FLOW_STORE,    /* what is in `from` is kept in the frame at `place` */
    TOOL_FLOW_OUT       /* what is in `from` is stored elsewhere */
};
struct tool_instruction_flow {
    uint16_t writes; /* registers that are written, a bit each */
    uint8_t kind, to, from;
    bool by_rbp;      /* the frame's place is relative to rbp, not to rsp */
    bool moves_stack; /* rsp is another one */
    int32_t place;
    uint32_t constant;
    uint32_t stored; /* an address that is written to memory as it stands; 0: none */
    uint32_t beside; /* what is added to registers for an address: a table's; 0: nothing */
};

/* Whether there is a decoder. */
bool tool_decode_is_there(void);

/* Decodes the instruction at `address`; false: there is none, or its target is beyond 32 bits. */
bool tool_decode(const uint8_t *bytes, size_t size_bytes, uint32_t address,
                 struct tool_instruction *instruction);
/* Of an instruction that could be decoded. */
struct tool_instruction_effects tool_decode_effects(const uint8_t *bytes, size_t size_bytes);

struct tool_instruction_flow tool_decode_flow(const uint8_t *bytes, size_t size_bytes,
                                              uint32_t address);

/* The text of an instruction, in the assembler's own style; "(bad)" where there is none. */
void tool_decode_text(const uint8_t *bytes, size_t size_bytes, uint32_t address, char *text,
                      size_t text_bytes);

#endif
