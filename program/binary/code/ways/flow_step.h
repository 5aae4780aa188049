/* What an instruction does with addresses that are calculated: one instruction at a time, for who
 * follows registers. Registers by their numbers in instructions (decode.h). */
#ifndef TOOL_FLOW_STEP_H
#define TOOL_FLOW_STEP_H

#include "program/binary/code/decode.h"

#define TOOL_STEP_NOTHING TOOL_FLOW_REGISTERS /* no register */

enum tool_step_kind {
    TOOL_STEP_OTHER = 0,    /* registers that are written hold who knows what */
    TOOL_STEP_CONSTANT,     /* to: `constant` */
    TOOL_STEP_COPY,         /* to: the low `each` bytes of `from` */
    TOOL_STEP_LOAD,         /* to: `each` bytes of memory */
    TOOL_STEP_STORE,        /* `each` bytes of memory: `from`, or nothing that is known */
    TOOL_STEP_ADDRESS,      /* to: the address that the memory operand has */
    TOOL_STEP_ADD,          /* to: to + from; without `from`, a word of memory */
    TOOL_STEP_ADD_CONSTANT, /* to: to + constant */
    TOOL_STEP_MASK,         /* to: to & constant */
    TOOL_STEP_UP,           /* to: to << constant */
    TOOL_STEP_DOWN,         /* to: to >> constant, unsigned */
    TOOL_STEP_GUARD,        /* to: what the C library hides pointers with: xor with a word of the
                             * thread, rotation */
    TOOL_STEP_CHOOSE,       /* to: from, or as it was */
    TOOL_STEP_POP,          /* to: the word at the stack pointer */
    TOOL_STEP_COMPARE       /* nothing is written: `compared` */
};

struct tool_step_memory {
    uint8_t base, index, scale; /* registers; scale: 1, 2, 4 or 8 */
    bool is_known;              /* it is at `place` + index * scale */
    bool is_thread;             /* relative to the thread's own block */
    uint32_t place;
    int32_t displacement;
};

struct tool_step {
    uint8_t kind, to, from;
    uint8_t each;     /* bytes that are read, or stored */
    uint8_t to_bytes; /* 8, 4 (then the upper half becomes 0), or less: the rest stays */
    bool is_signed, has_memory;
    bool writes_memory, sets_flags;
    uint16_t reads, writes; /* registers, a bit each */
    struct tool_step_memory memory;
    int64_t constant;
    /* Flags say how what was in a register (the low compared_each bytes of it, before), or in
     * memory (compared_register is NOTHING), stands to a constant. */
    bool has_compared;
    uint8_t compared_register, compared_each;
    uint32_t compared;
};

/* Of an instruction that could be decoded. */
struct tool_step tool_step_of(const uint8_t *bytes, size_t size_bytes, uint32_t address);

/* Conditions of branches (0f 8X) that compare without sign. */
enum tool_step_condition {
    TOOL_STEP_BELOW = 2,
    TOOL_STEP_NOT_BELOW = 3,
    TOOL_STEP_EQUAL = 4,
    TOOL_STEP_UNEQUAL = 5,
    TOOL_STEP_NOT_ABOVE = 6,
    TOOL_STEP_ABOVE = 7
};

#endif
