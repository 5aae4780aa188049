/* What a function's code does, path by path, as compilers' hooks will tell it: which functions are
 * entered (its own, and inlined ones, for which no call exists), and which calls are made in which
 * of them. The code says so itself: a hook is called with the function's address, at its begin and
 * end.
 *
 *     code --follow addresses in registers and in the frame--> enter, call
 */
#ifndef TOOL_CODE_FLOW_H
#define TOOL_CODE_FLOW_H

#include "base/region.h"
#include "program/binary/code/code_calls.h"

#define TOOL_FLOW_NONE_OPEN UINT32_MAX /* no hook has told of a function yet */
#define TOOL_FLOW_GIVEN     6u         /* addresses that a call is given in registers */

struct tool_flow_call {
    const struct tool_code_call *call;
    uint32_t in; /* address of the function, as hooks tell it, or TOOL_FLOW_NONE_OPEN */
    uint32_t given[TOOL_FLOW_GIVEN]; /* 0: no address that is known */
};

/* Code has to do with data: it takes its address, or reads what is there. */
struct tool_flow_datum {
    uint32_t in; /* as of calls; told once more of each function that this is inlined in */
    uint32_t around, inner; /* `in` is inlined in that one; it is in this one, inlined in `in` */
    uint32_t address;
    bool reads;
    const struct tool_code_call *given_to; /* the address is an argument; NULL: nobody's */
};

struct tool_flow_handler {
    /* The function at `address` is entered in the one at `in`. */
    void (*enter)(void *context, uint32_t in, uint32_t address);
    void (*call)(void *context, const struct tool_flow_call *call);
    /* The function's address is taken as a value, and not for hooks alone. */
    void (*take)(void *context, uint32_t address);
    void (*refer)(void *context, const struct tool_flow_datum *datum);
};

enum tool_flow_mark {
    TOOL_FLOW_VISITED = 1,
    TOOL_FLOW_TAKES = 2,    /* it takes a function's address */
    TOOL_FLOW_FOR_HOOK = 4, /* which a hook is given */
    TOOL_FLOW_FOR_OTHER = 8 /* or somebody else */
};

struct tool_flow {
    struct tool_code *code;
    const struct tool_flow_handler *handler;
    void *context;
    struct ttp_region *region;
    struct tool_code_call *calls; /* by address */
    size_t call_count, call_capacity;
    uint32_t *pieces; /* by function: the next one of the same function, plus 1 */
    bool *returns;    /* by function */
    uint8_t *marks;   /* by instruction: enum tool_flow_mark */
    bool has_hooks;
    uint32_t unknown_hooks; /* calls of hooks whose function is not known */
    /* of the function at hand: */
    struct tool_flow_state *states;
    size_t state_count, state_capacity;
    uint32_t waiting; /* a state that is to be gone through, plus 1 */
    struct ttp_key_map by_place;
    uint64_t steps_left;
    bool is_rest;
};

/* Of code that was looked at as a whole. False: memory is short. Close it in any case. */
bool tool_flow_open(struct tool_flow *flow, struct tool_code *code,
                    const struct tool_flow_handler *handler, struct ttp_region *region,
                    void *context);
void tool_flow_close(struct tool_flow *flow);
/* Follows a function, with its pieces; nothing for a piece. */
void tool_flow_follow(struct tool_flow *flow, uint32_t function);

#endif
