/* Call frame information (.eh_frame): which ranges of code there are, and for each address in them
 * how to find the caller's frame.
 *
 *     CIE <- FDE: range of code, landing pads, instructions --(run)--> rules, address by address
 *
 * Pure; each FDE takes time for its own bytes and, bounded, those of its CIE. */
#ifndef TOOL_FRAMES_H
#define TOOL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program/binary/frames/image.h"
#include "recorder/arena/plan.h"

#define TOOL_FRAMES_COLUMNS  17u   /* registers by DWARF's numbers, and the return address (16) */
#define TOOL_FRAMES_SAVED    8u    /* states that may be remembered at a time */
#define TOOL_FRAMES_CIE_MAX  1024u /* bytes of a CIE's instructions: they run for each FDE */
#define TOOL_FRAMES_RULE_MAX 96u   /* bytes of rules for one site */

/* A range of code, as an FDE has it. */
struct tool_frame {
    uint32_t start, end;
    bool is_signal;                     /* of a signal frame: it begins one byte early */
    uint64_t landing_pads;              /* address of its table; 0: none */
    const uint8_t *common, *common_end; /* instructions of the CIE */
    const uint8_t *own, *own_end;       /* instructions of the FDE */
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t pointers; /* how DW_CFA_set_loc has its address */
    uint64_t address; /* of the byte at `own` */
    size_t entry_at;  /* the FDE itself: for tool_frames_at */
};

/* Walks over the FDEs; zero it, then call until it returns false. Those that cannot be read are
 * left out, and counted. */
struct tool_frames_walk {
    size_t at;
    uint32_t bad_count;
};
bool tool_frames_next(const struct tool_image *image, struct tool_frames_walk *walk,
                      struct tool_frame *frame);

/* The FDE at a place that the walk gave. */
bool tool_frames_at(const struct tool_image *image, size_t entry_at, struct tool_frame *frame);

/* How a register's value in the caller is found. */
enum tool_rule_kind {
    TOOL_RULE_NONE = 0, /* nothing is said: as it is */
    TOOL_RULE_SAME,
    TOOL_RULE_UNDEFINED,
    TOOL_RULE_OFFSET,     /* in memory, at CFA + value */
    TOOL_RULE_VALUE,      /* CFA + value */
    TOOL_RULE_REGISTER,   /* in the register `value` */
    TOOL_RULE_EXPRESSION, /* in memory, where an expression says */
    TOOL_RULE_CALCULATED  /* what an expression says */
};
struct tool_rule {
    int64_t value;
    const uint8_t *expression;
    uint16_t expression_bytes;
    uint8_t kind;
};

/* All rules that hold from an address on. */
struct tool_rules {
    bool cfa_is_expression;
    uint8_t cfa_register;
    int64_t cfa_offset;
    const uint8_t *cfa_expression;
    uint16_t cfa_expression_bytes;
    struct tool_rule columns[TOOL_FRAMES_COLUMNS];
};

/* Runs an FDE: calls `take` where rules change, with the address from which they hold. False: its
 * instructions are damaged, or `take` returned false; what was given before holds. */
typedef bool (*tool_frames_take)(void *context, uint32_t address, const struct tool_rules *rules);
bool tool_frame_run(const struct tool_frame *frame, tool_frames_take take, void *context);

/* What a row says of these rules; its address is not set. */
struct ttp_plan_row tool_frame_row(const struct tool_frame *frame, const struct tool_rules *rules);

/* The whole state at `address` as a program of call frame instructions (plan.h). Returns its bytes;
 * 0: it is not known, or has more than TOOL_FRAMES_RULE_MAX. */
size_t tool_frame_rules_at(const struct tool_frame *frame, uint32_t address,
                           uint8_t program[TOOL_FRAMES_RULE_MAX]);

#endif
