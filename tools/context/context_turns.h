/* Recursion in a stack: functions that come several times behind each other are shown once, with
 * how often. */
#ifndef TOOL_CONTEXT_TURNS_H
#define TOOL_CONTEXT_TURNS_H

#include <stdint.h>

#include "tools/context/context_view.h"

#define TOOL_TURN_FUNCTIONS_MAX 16u /* of a turn that is looked for: TOOL_SEARCH_TURN_MAX */
#define TOOL_TURN_TIMES_MAX     64u /* that are said where a value does not tell how often */

/* A piece of a stack: so many functions, so many times. What comes once has one function. */
struct tool_context_turn {
    uint32_t first, length, times;
};

/* The stack in pieces, outermost first: room for `depth` of them. Returns how many. */
uint32_t tool_context_turns(const uint64_t *ids, uint32_t depth, struct tool_context_turn *turns);
/* How many of them come more than once. */
uint32_t tool_context_recursions(const uint64_t *ids, uint32_t depth);
/* Each recursion as once, or twice where its times are even: by XOR that is the same value. `into`
 * has room for `depth` ids; returns how many it got. */
uint32_t tool_context_shortest(const uint64_t *ids, uint32_t depth, uint64_t *into);

/* "main > (a > b) × 37 > c": each piece behind `before`, with `between` from the second on. */
void tool_context_put_stack(const struct tool_context_answer *answer, const char *before,
                            const char *between, struct tool_output *out);

#endif
