/* What debug information and a person say of one function's values, as one list. */
#ifndef TOOL_SAID_HANDS_H
#define TOOL_SAID_HANDS_H

#include "program/symbols/symbols.h"
#include "tools/record/values/record_hands.h"

struct tool_record_said {
    struct tool_symbols_values values; /* its texts are of `text` */
    bool is_named;                     /* some value has a name or a type */
    char *text;
};

/* `found` may be NULL. With TTAPE_VALUES_GIVEN or _RETURNED in `wanted` all that it has is taken,
 * and what is said is added. Close it. */
void tool_record_said_make(struct tool_record_said *said, const struct tool_record_hand *hand,
                           const struct tool_symbols_values *found, uint32_t wanted);
void tool_record_said_close(struct tool_record_said *said);

#endif
