/* Who calls whom in a binary, as its instructions say it: calls and tail calls, direct, through the
 * linker's stubs, and through its table of addresses. Calls through other pointers are only
 * counted. Inlined functions are no calls. Pure. */
#ifndef TOOL_CODE_CALLS_H
#define TOOL_CODE_CALLS_H

#include "program/binary/code/code.h"

enum tool_code_call_kind { TOOL_CALL_DIRECT, TOOL_CALL_LINKED, TOOL_CALL_POINTER };

struct tool_code_call {
    uint32_t address;  /* of the instruction */
    uint32_t function; /* index: that it is in */
    uint32_t callee;   /* index, where it is in this binary; UINT32_MAX: it is not */
    uint8_t kind;      /* enum tool_code_call_kind */
    uint8_t length;    /* of the instruction */
    bool is_tail;      /* a jump: the caller's frame is gone */
    const char *name;  /* of what is linked from elsewhere; NULL: not known */
};

/* Finds all calls, by decoding all functions, in order of addresses. `take` returns false to end
 * it. False: memory is short. */
typedef bool (*tool_code_take_call)(void *context, const struct tool_code_call *call);
bool tool_code_calls(struct tool_code *code, tool_code_take_call take, void *context);

#endif
