/* Branch values in the program: a cell beside each frame, which the callback of a block adds to and
 * the hook that pushes the frame empties. Nothing of it is there while the program does not ask.
 *
 *     frames   main   parse   term   <- top
 *     cells    c0     c1      c2     of the same stack, by the frame's number */
#ifndef TTP_RUNTIME_BRANCH_H
#define TTP_RUNTIME_BRANCH_H

#include <tracetape/branch.h>

#include "recorder/runtime/state.h"

/* Of the process. */
struct ttp_branch_settings {
    bool is_on;
    ttape_branch_operation operation;
    ttape_branch_scope scope;
};
extern struct ttp_branch_settings ttp_branch_settings;

/* A frame was pushed: its value begins. */
void ttp_branch_entered(const struct ttp_runtime_frame *frame);
/* The innermost frame's value as values of its end; false: there is none. */
bool ttp_branch_end_values(struct ttp_call_values *values);
/* Of a thread's stack that is given up. */
void ttp_branch_close(struct ttp_runtime_stack *stack);

/* branch_number.c: how many calls of the same callback the function's code has before this one;
 * TTP_BRANCH_NO_NUMBER: it lies elsewhere. */
#define TTP_BRANCH_NO_NUMBER UINT32_MAX
#define TTP_CALL_BYTES       5u /* call rel32 */
/* Whether a call of that function is what ends there. */
bool ttp_branch_is_call(uintptr_t end, uintptr_t callback);
uint32_t ttp_branch_number(uintptr_t function, uintptr_t end, uintptr_t callback);
/* The prime of that number; 0: there are no more. */
uint64_t ttp_branch_prime(uint32_t number);
void ttp_branch_find_primes(void);

#endif
