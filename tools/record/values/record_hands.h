/* What a person says of a function's values, where no debug information does:
 *
 *     REGEX@arg1/i32,arg2/s,fparg1/64,retval/u8
 *
 * argN is the N-th number or address that it is given, fpargN the N-th floating-point number, in
 * the order of the calling convention; %rdi, %xmm1 and %stack+1 are where a value is, instead of
 * argN or behind it and its type. Behind the slash: i, u, x (signed, unsigned, a pointer) with
 * 8, 16, 32 or 64 bits (64), d as i, c a character, s a string, p a pointer, f32, f64. Without a
 * slash debug information says what it is, and else it is a number of 64 bits. What several of
 * these say of one function adds up.
 */
#ifndef TOOL_RECORD_HANDS_H
#define TOOL_RECORD_HANDS_H

#include <stdbool.h>
#include <stdint.h>

#include <tracetape/types.h>

#include "program/symbols/symbols.h"
#include "recorder/arena/patch_plan.h"
#include "tools/record/rules/record_rules.h"

#define TOOL_HAND_VALUES    24u /* of what a function is given */
#define TOOL_HAND_VARIABLES 8u

/* "var:NAME/x32": where it is in the module at hand; size_bytes 0: it is not there. */
struct tool_record_variable {
    char *name;           /* of the one who parsed it */
    ttape_string text;    /* as of counters, below */
    uint8_t wanted_bytes; /* 0: as many as it has */
    bool is_found;        /* in any module */
    struct ttp_value_place place;
};

struct tool_record_hand {
    struct tool_patterns names;
    uint8_t given, returned;
    bool is_used;                                        /* it is of a function that was found */
    char *text;                                          /* as it was said */
    struct ttp_value_place places[TOOL_HAND_VALUES + 1]; /* what it returns is last */
    uint32_t untyped, characters;                        /* bits by place */
    uint32_t counters; /* bits by enum ttp_value_counter: at both ends of the call */
    struct tool_record_variable variables[TOOL_HAND_VARIABLES]; /* the same */
    uint32_t variable_count;
};

bool tool_record_is_by_hand(const char *text);
/* "cpu-time,page-faults,var:NAME=REGEX". False, with a message where a counter is none of these. */
bool tool_record_hand_measure(const char *text, struct tool_record_hand *hand);
/* Looks for its variables in a module. */
void tool_record_hand_find_variables(struct tool_record_hand *hand, struct tool_symbols *symbols,
                                     struct tool_symbols_module *module);
/* What they are called, as tool_symbols_value_next reads it. */
extern const ttape_string tool_record_counter_texts[TTP_VALUE_COUNTERS];
/* False: it makes no sense. Close it where it does. */
bool tool_record_hand_parse(const char *text, struct tool_record_hand *hand);
void tool_record_hand_close(struct tool_record_hand *hand);
/* What `more` says as well; of one value the later word holds. */
void tool_record_hand_add(struct tool_record_hand *hand, const struct tool_record_hand *more);
/* The place with a value that is there, too; its number, or that of none. */
uint32_t tool_record_hand_find(const struct tool_record_hand *hand,
                               const struct ttp_value_place *place);

#endif
