/* Instructions as bytes that can stand anywhere, with the places of distances to fill in. */
#ifndef TOOL_CODE_MOVE_H
#define TOOL_CODE_MOVE_H

#include "program/binary/code/code.h"

#define TOOL_MOVED_BYTES_MAX  (2u * TTP_PLAN_WINDOW_MAX)
#define TOOL_MOVED_FIXUPS_MAX TTP_PLAN_WINDOW_MAX

struct tool_moved {
    size_t used, fixup_count;
    uint8_t bytes[TOOL_MOVED_BYTES_MAX];
    struct ttp_plan_fixup fixups[TOOL_MOVED_FIXUPS_MAX];
};

/* Appends an instruction: plain ones, returns and jumps as they are, direct branches in their long
 * form. False: there is no room for it. */
bool tool_code_move(const struct tool_image *image, const struct tool_instruction *instruction,
                    struct tool_moved *moved);

/* The condition of a direct branch, as in 0f 8X: 0 to 15. */
uint8_t tool_code_condition(const struct tool_image *image, const struct tool_instruction *branch);

/* Appends a call as the jump to its callee that it is once its return address is pushed, which is
 * left to the stub. False: there is no such form of it, or no room. */
bool tool_code_move_call(const struct tool_image *image, const struct tool_instruction *call,
                         struct tool_moved *moved);

#endif
