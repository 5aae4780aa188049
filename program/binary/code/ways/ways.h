/* Ways into code that no branch shows: jumps whose targets are calculated, and who may be the one
 * that makes them. Of code whose functions were looked at, and whose direct branches are marked.
 *
 *     groups.c       functions that are parts of one another, as they jump into each other's middle
 *     flow_jumps.c   what each indirect jump of a group may lead to: follows registers
 *                    (flow_facts.c) as instructions say (flow_step.c), from mark to mark
 *     tables.c       reads tables of distances
 *     held.c         addresses that data holds: relocations, words
 *     pads.c         landing pads of exceptions
 *     hidden.c       code that was not decoded, or that is entered within an instruction
 *     rseq.c         restartable sequences
 *     unknown.c      functions that a jump may lead into anywhere
 *     find.c         puts it together
 *
 * What is found are marks, ranges that no window may touch, and functions that are COMPUTED. */
#ifndef TOOL_WAYS_H
#define TOOL_WAYS_H

#include "program/binary/code/code.h"
#include "program/binary/code/ways/flow_facts.h"

/* ---- groups.c ---- */

/* Of each function the first one of its group; and the next one in it, or itself. */
struct tool_groups {
    uint32_t *first, *next;
};
bool tool_groups_open(struct tool_code *code, struct tool_groups *groups);
void tool_groups_close(struct tool_groups *groups);

/* The instruction at an address, of functions that were looked at; NULL: none begins there. */
const struct tool_instruction *tool_code_instruction_at(const struct tool_code *code,
                                                        uint32_t address);
/* The bytes of an instruction that was decoded. */
const uint8_t *tool_code_bytes_of(const struct tool_code *code,
                                  const struct tool_instruction *instruction);
struct tool_step tool_code_step_of(const struct tool_code *code,
                                   const struct tool_instruction *instruction);

/* ---- flow_jumps.c ---- */

/* Follows a group's registers, marks what its jumps by tables lead to; those whose targets are not
 * known make their function TOOL_CODE_UNKNOWN. False: memory is short. */
struct tool_jumps {
    struct tool_code *code;
    const struct tool_groups *groups;
    uint32_t *states; /* of each instruction, plus 1 */
    uint64_t *passed; /* a bit for each instruction */
    struct tool_jumps_state *all;
    size_t state_count, state_capacity;
    uint32_t waiting; /* state that is to be gone on with, plus 1 */
    uint64_t steps_left;
    uint32_t group;
    bool is_again, is_bad; /* a place was found that was passed; a branch leads to nowhere */
};
bool tool_jumps_open(struct tool_code *code, const struct tool_groups *groups,
                     struct tool_jumps *jumps);
bool tool_jumps_follow(struct tool_jumps *jumps, uint32_t group);
void tool_jumps_close(struct tool_jumps *jumps);

/* ---- tables.c ---- */

/* A table of distances: each of its targets, which are instructions of functions. False: one of
 * them is none, so it is not the table, or has another bound; or the table may change. */
typedef bool (*tool_table_take)(void *context, uint32_t target);
bool tool_table_read(struct tool_code *code, const struct tool_fact *targets, tool_table_take take,
                     void *context);

/* A jump goes by this table, and all of its entries are known. */
void tool_table_claim(struct tool_code *code, uint32_t place);
/* Tables of 32-bit distances from themselves that nobody was seen to jump by. */
void tool_tables_rest(struct tool_code *code);

/* ---- the other ways ---- */

void tool_held_mark(struct tool_code *code);
/* Words that relocations put into their places, sorted. */
struct tool_held_word {
    uint64_t place, word;
};
struct tool_held_words {
    struct tool_held_word *all;
    size_t count, capacity;
};
bool tool_held_open(struct tool_code *code, struct tool_held_words *words);
void tool_held_close(struct tool_held_words *words);
/* What is in a word once the file is loaded, as far as the file says; 0: nothing. */
uint64_t tool_held_at(const struct tool_code *code, const struct tool_held_words *words,
                      uint64_t place);
void tool_pads_mark(struct tool_code *code);
bool tool_hidden_mark(struct tool_code *code);
bool tool_rseq_mark(struct tool_code *code);
/* Ranges that are closed; they are sorted when all are there. */
bool tool_closed_add(struct tool_code *code, uint32_t start, uint32_t end, enum ttp_plan_kind why);
void tool_closed_sort(struct tool_code *code);

/* ---- unknown.c ---- */

/* Functions that others may calculate their way into. False: memory is short. */
bool tool_unknown_mark(struct tool_code *code, const struct tool_groups *groups);

#endif
