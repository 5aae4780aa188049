/* What is known of registers and of the frame at one place of a function, by all ways to it.
 *
 *     movzbl (%rdi),%eax         a number, 255 at most
 *     cmp $9,%al ; ja ...        9 at most, behind the branch
 *     lea table(%rip),%rdx       a place
 *     movslq (%rdx,%rax,4),%rax  an entry of that table, of 10
 *     add %rdx,%rax              one of 10 targets
 *     jmp *%rax
 *
 * Less is known at each step: place, word, unknown, anything; entry or targets, anything. */
#ifndef TOOL_FLOW_FACTS_H
#define TOOL_FLOW_FACTS_H

#include "program/binary/code/ways/flow_step.h"

#define TOOL_FACTS_SLOTS  8u
#define TOOL_FACTS_HOLDER (TOOL_FLOW_REGISTERS + TOOL_FACTS_SLOTS)

enum tool_fact_kind {
    TOOL_FACT_ANYTHING = 0, /* it may have been calculated from an address of code */
    TOOL_FACT_UNKNOWN,      /* it is from a way that was not followed */
    TOOL_FACT_WORD,         /* it was given, or stood in memory as it is: where code has its
                             * address that place is marked */
    TOOL_FACT_PLACE,        /* the address, or number, `place` */
    TOOL_FACT_ENTRY,        /* of the table at `place` */
    TOOL_FACT_TARGETS       /* `base`, and an entry of the table at `place` */
};

struct tool_fact {
    uint8_t kind;
    uint8_t each, shift; /* entries: of each so many bytes, and then times 1 << shift */
    bool is_signed;
    bool is_narrow;    /* as a number it is below 2^32 */
    uint8_t low_zeros; /* its lowest so many bits are 0 */
    uint16_t stride;   /* of entries: bytes from one to the next, at least */
    uint32_t place, base;
    uint32_t count; /* of entries that may be meant, stride by stride */
    uint32_t added; /* to what holder `added_to` - 1 has in its low 32 bits; 0: to none */
    uint8_t added_to;
    uint32_t limits[3]; /* of the low 8, 16 and 32 bits: at most this */
    uint32_t same[3];   /* who holds the same low 8, 16, 32 bits: a bit each */
};

/* Words of the frame that were stored lately, by places from the caller's frame or from rbp. */
struct tool_fact_slot {
    bool is_used, by_rbp;
    uint8_t bytes; /* that were stored */
    int32_t place;
};

struct tool_facts {
    struct tool_fact of[TOOL_FACTS_HOLDER]; /* registers, then slots */
    struct tool_fact_slot slots[TOOL_FACTS_SLOTS];
    uint32_t next_slot;
    /* What flags say, until they are set again. */
    bool has_compared, has_bounded;
    uint8_t compared_each;
    uint32_t compared, compared_holders;
    struct tool_step_memory compared_memory; /* where nobody holds it */
    /* And what a branch has said of memory, until something is written. */
    struct tool_step_memory bounded_memory;
    uint8_t bounded_each;
    uint32_t bounded;
};

/* Nothing is known; or, where a function begins, that registers hold what was given. */
void tool_facts_start(struct tool_facts *facts, bool is_given);

/* Keeps what both know; returns whether `kept` knows less now. */
bool tool_facts_meet(struct tool_facts *kept, const struct tool_facts *come);

/* Behind an instruction. cfa: how far rsp is below the caller's frame; is_framed: it is known. */
void tool_facts_step(struct tool_facts *facts, const struct tool_step *step, bool is_framed,
                     int32_t cfa);

/* Behind a call: of a function that keeps the registers that callees keep, or of code that may
 * keep nothing. */
void tool_facts_call(struct tool_facts *facts, bool is_function);

/* Behind a branch that is taken, or is not. */
void tool_facts_branch(struct tool_facts *facts, uint8_t condition, bool is_taken);

/* What is at the address that a memory operand has. */
struct tool_fact tool_facts_address(const struct tool_facts *facts,
                                    const struct tool_step_memory *memory);

#endif
