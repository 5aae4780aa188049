/* The name of a call, that every verb takes and prints: "s0e4711" is the call that event 4711 of
 * stream 0 entered. It stays what it is as long as the file. */
#ifndef TOOL_CALL_ID_H
#define TOOL_CALL_ID_H

#include <stdbool.h>
#include <stdint.h>

#define TOOL_CALL_ID_BYTES 40u

struct tool_call_id {
    bool given;
    uint32_t stream;
    uint64_t event;
};

bool tool_parse_call(const char *text, void *into); /* tool_call_id */
/* Into `buffer`, of TOOL_CALL_ID_BYTES; returns it. */
const char *tool_put_call(char *buffer, uint32_t stream, uint64_t event);

#endif
