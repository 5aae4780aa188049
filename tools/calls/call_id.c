/* Two decimal numbers, with a letter before each. */
#include "tools/calls/call_id.h"

#include <inttypes.h>
#include <stdio.h>

static bool scan(const char **text, char letter, uint64_t most, uint64_t *value)
{
    const char *at = *text;
    *value = 0;
    if (*at++ != letter || *at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return false;
    *text = at;
    return *value <= most;
}

bool tool_parse_call(const char *text, void *into)
{
    struct tool_call_id *id = into;
    uint64_t stream;
    id->given = scan(&text, 's', UINT32_MAX, &stream) && scan(&text, 'e', UINT64_MAX, &id->event) &&
                *text == '\0';
    id->stream = (uint32_t)stream;
    return id->given;
}

const char *tool_put_call(char *buffer, uint32_t stream, uint64_t event)
{
    snprintf(buffer, TOOL_CALL_ID_BYTES, "s%" PRIu32 "e%" PRIu64, stream, event);
    return buffer;
}
